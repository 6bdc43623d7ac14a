/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd.h"

#include <errno.h>
#include <string.h>

enum { OPT_ROOT = 0x100, OPT_XML, OPT_JSON };

static const struct argp_option options[] = {
	{ "root", OPT_ROOT, "DIR", 0, "describe the host whose /sys and /proc are under DIR", 10 },
	{ "xml", OPT_XML, "FILE", 0, "describe the host of an hwloc XML export", 10 },
	{ "json", OPT_JSON, NULL, 0, "print JSON (docs/schema/)", 10 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct np_common *common = state->input;

	switch (key) {
	case OPT_ROOT:
		common->root = arg;
		return 0;
	case OPT_XML:
		common->xml = arg;
		return 0;
	case OPT_JSON:
		common->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp np_common_argp = { .options = options, .parser = parse };

int np_common_check(struct np_common *common)
{
	if (common->root && common->xml)
		return np_error_set(&common->err, EINVAL,
		                    "--root and --xml both say which host: give one");
	return 0;
}

int np_cmd_fail(const struct np_error *err, int status)
{
	fprintf(stderr, "numaprobe: %s\n", err->text);
	return status;
}

int np_cmd_written(int rc)
{
	struct np_error err = { 0 };

	return np_cli_written(rc, &err) < 0 ? np_cmd_fail(&err, NP_EXIT_NO) : NP_EXIT_OK;
}
