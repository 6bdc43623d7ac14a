/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd.h"

#include <errno.h>
#include <string.h>

enum { OPT_ROOT = 0x100, OPT_EVENTS, OPT_FAMILY, OPT_JSON };

static const struct argp_option options[] = {
	{ "root", OPT_ROOT, "DIR", 0, "describe the host whose /sys and /proc are under DIR", 10 },
	{ "events", OPT_EVENTS, "FILE", 0, "event tables of your own, before those built in", 10 },
	{ "family", OPT_FAMILY, "NAME", 0, "take the processor to be of this family", 10 },
	{ "json", OPT_JSON, NULL, 0, "print JSON (docs/schema/)", 10 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nc_common *common = state->input;

	switch (key) {
	case OPT_ROOT:
		common->root = arg;
		return 0;
	case OPT_EVENTS:
		common->events_file = arg;
		return 0;
	case OPT_FAMILY:
		common->family = arg;
		return 0;
	case OPT_JSON:
		common->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp nc_common_argp = { .options = options, .parser = parse };

int nc_common_load(struct nc_common *common, struct nc_host **ret)
{
	const struct nc_host_source from = {
		.root = common->root,
		.events_file = common->events_file,
		.family = common->family,
	};

	return nc_host_load(&from, ret, &common->err);
}

int nc_cmd_fail(const struct np_error *err, int status)
{
	fprintf(stderr, "numacount: %s\n", err->text);
	return status;
}

const char *nc_cmd_stream_name(const FILE *out)
{
	return out == stderr ? "standard error" : "standard output";
}

int nc_cmd_written(int rc)
{
	struct np_error err = { 0 };

	return np_cli_written(rc, &err) < 0 ? nc_cmd_fail(&err, NP_EXIT_NO) : NP_EXIT_OK;
}
