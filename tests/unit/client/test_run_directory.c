/* SPDX-License-Identifier: BSD-3-Clause */
/* Run directories: which of the cases have a trace, and which of several is taken. */
#include "host.h"

#include "../../../server/client/run_directory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void find(const struct host *host, struct nl_run_directory *directory)
{
	struct np_error err = { 0 };

	assert_np_ok(nl_run_directory_find(host->dir, directory, &err), &err);
}

static void assert_under(const struct host *host, const char *found, const char *wanted)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", host->dir, wanted);
	assert_text(found, path);
}

static void all_four_cases_are_found(void **state)
{
	struct host *host = *state;
	struct nl_run_directory directory;

	host_write(host, "01-normal-memcache/samples.nlt", "");
	host_write(host, "02-normal-http/samples.csv", "");
	host_write(host, "03-perverse-memcache/samples.csv.gz", "");
	host_write(host, "04-perverse-http/samples.nlt", "");
	find(host, &directory);

	assert_text(directory.pairs[0].protocol, "memcache");
	assert_under(host, directory.pairs[0].local, "01-normal-memcache/samples.nlt");
	assert_under(host, directory.pairs[0].remote, "03-perverse-memcache/samples.csv.gz");
	assert_text(directory.pairs[1].protocol, "http");
	assert_under(host, directory.pairs[1].local, "02-normal-http/samples.csv");
	assert_under(host, directory.pairs[1].remote, "04-perverse-http/samples.nlt");
	nl_run_directory_release(&directory);
}

static void our_own_form_is_taken_first(void **state)
{
	struct host *host = *state;
	struct nl_run_directory directory;

	host_write(host, "02-normal-http/samples.csv.gz", "");
	host_write(host, "02-normal-http/samples.csv", "");
	host_write(host, "04-perverse-http/samples.csv.gz", "");
	host_write(host, "04-perverse-http/samples.csv", "");
	host_write(host, "04-perverse-http/samples.nlt", "");
	find(host, &directory);

	assert_under(host, directory.pairs[1].local, "02-normal-http/samples.csv");
	assert_under(host, directory.pairs[1].remote, "04-perverse-http/samples.nlt");
	nl_run_directory_release(&directory);
}

static void a_pair_may_lack_what_it_lacks(void **state)
{
	struct host *host = *state;
	struct nl_run_directory directory;

	host_write(host, "01-normal-memcache/samples.nlt", "");
	host_mkdir(host, "03-perverse-memcache");
	host_write(host, "02-normal-http/samples.nlt", "");
	host_write(host, "04-perverse-http/samples.nlt", "");
	find(host, &directory);

	assert_false(nl_run_pair_is_whole(&directory.pairs[0]));
	assert_non_null(directory.pairs[0].local);
	assert_null(directory.pairs[0].remote);
	assert_true(nl_run_pair_is_whole(&directory.pairs[1]));
	assert_text(nl_run_case_name(&directory.pairs[0], true), "03-perverse-memcache");
	assert_text(nl_run_case_name(&directory.pairs[1], false), "02-normal-http");
	nl_run_directory_release(&directory);
}

static void two_halves_are_no_pair(void **state)
{
	struct host *host = *state;
	struct nl_run_directory directory = { 0 };
	struct np_error err = { 0 };

	host_write(host, "01-normal-memcache/samples.nlt", "");
	host_write(host, "04-perverse-http/samples.nlt", "");

	assert_fails(nl_run_directory_find(host->dir, &directory, &err), -ENOENT, &err,
	             "no run directory: neither 01-normal-memcache and 03-perverse-memcache nor ");
	assert_null(directory.pairs[0].protocol);
}

static void what_cannot_be_looked_at_is_named(void **state)
{
	struct host *host = *state;
	struct nl_run_directory directory;
	struct np_error err = { 0 };

	host_link(host, "01-normal-memcache", "01-normal-memcache");

	assert_fails(nl_run_directory_find(host->dir, &directory, &err), -ELOOP, &err,
	             "01-normal-memcache/samples.nlt: ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(all_four_cases_are_found),
		host_test(our_own_form_is_taken_first),
		host_test(a_pair_may_lack_what_it_lacks),
		host_test(two_halves_are_no_pair),
		host_test(what_cannot_be_looked_at_is_named),
	};

	return cmocka_run_group_tests_name("run_directory", tests, NULL, NULL);
}
