/* SPDX-License-Identifier: BSD-3-Clause */
#include "run_directory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct protocol {
	const char *name;
	const char *cases[2]; /* local, remote */
} protocols[NL_RUN_PROTOCOLS] = {
	{ "memcache", { "01-normal-memcache", "03-perverse-memcache" } },
	{ "http", { "02-normal-http", "04-perverse-http" } },
};

static const char *const traces[] = { "samples.nlt", "samples.csv", "samples.csv.gz" };

const char *nl_run_case_name(const struct nl_run_pair *pair, bool is_remote)
{
	const struct protocol *protocol = protocols;

	while (strcmp(protocol->name, pair->protocol) != 0)
		protocol++;
	return protocol->cases[is_remote];
}

/* *ret becomes NULL where the case has no trace. */
static int find_trace(const char *directory, const char *name, char **ret, struct np_error *err)
{
	*ret = NULL;
	for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		struct stat status;
		char *path;
		int code;

		if (asprintf(&path, "%s/%s/%s", directory, name, traces[i]) < 0)
			return np_error_sys(err, ENOMEM, "%s", directory);
		if (stat(path, &status) == 0) {
			*ret = path;
			return 0;
		}
		code = errno;
		if (code != ENOENT)
			np_error_sys(err, code, "%s", path);
		free(path);
		if (code != ENOENT)
			return -code;
	}
	return 0;
}

static int find_pair(const char *directory, const struct protocol *protocol,
                     struct nl_run_pair *pair, struct np_error *err)
{
	int rc = find_trace(directory, protocol->cases[0], &pair->local, err);

	pair->protocol = protocol->name;
	return rc < 0 ? rc : find_trace(directory, protocol->cases[1], &pair->remote, err);
}

int nl_run_directory_find(const char *path, struct nl_run_directory *ret, struct np_error *err)
{
	struct nl_run_directory directory = { 0 };
	bool has_whole = false;
	int rc = 0;

	for (unsigned i = 0; i < NL_RUN_PROTOCOLS && rc == 0; i++) {
		rc = find_pair(path, &protocols[i], &directory.pairs[i], err);
		has_whole = has_whole || nl_run_pair_is_whole(&directory.pairs[i]);
	}
	if (rc == 0 && !has_whole)
		rc = np_error_set(err, ENOENT,
		                  "%s: no run directory: neither %s and %s nor %s and %s have "
		                  "samples.nlt, samples.csv or samples.csv.gz",
		                  path, protocols[0].cases[0], protocols[0].cases[1],
		                  protocols[1].cases[0], protocols[1].cases[1]);
	if (rc < 0)
		nl_run_directory_release(&directory);
	else
		*ret = directory;
	return rc;
}

void nl_run_directory_release(struct nl_run_directory *directory)
{
	for (unsigned i = 0; i < NL_RUN_PROTOCOLS; i++) {
		free(directory->pairs[i].local);
		free(directory->pairs[i].remote);
		directory->pairs[i].local = NULL;
		directory->pairs[i].remote = NULL;
	}
}
