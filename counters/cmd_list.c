/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount list: what the PMUs of this host can count, with the encodings. Opens nothing, and so
 * works for any user and for captured hosts.
 */
#include "cmd.h"
#include "list.h"

#include <errno.h>

enum { OPT_COUNTERS = 0x200, OPT_FAMILIES };

struct list_args {
	struct nc_common *common;
	bool every_counter;
	bool families;
};

static const struct argp_option options[] = {
	{ "counters", OPT_COUNTERS, NULL, 0, "a line for each counter: PMU, CPU, socket, link", 0 },
	{ "families", OPT_FAMILIES, NULL, 0, "the families of processors that there are tables of",
	  0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct list_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_COUNTERS:
		args->every_counter = true;
		return 0;
	case OPT_FAMILIES:
		args->families = true;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(&args->common->err, EINVAL, "list: '%s': takes options alone",
		                     arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->common->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Lists what the PMUs of this host can count.\v"
	       "Nothing is opened: whether the kernel permits it to you, 'numacount explain' tells. "
	       "ENCODING is as perf takes it (perf stat -a -e ENCODING).\n\n"
	       "Exit status: 0 something can be counted, 1 nothing, 2 wrong usage.",
	.children = (const struct argp_child[]){ { &nc_common_argp, 0, NULL, 0 }, { 0 } },
};

static int list_families(const struct nc_common *common, struct np_error *err)
{
	struct nc_tables *tables;
	int status;

	if (nc_tables_load(common->events_file, &tables, err) < 0)
		return nc_cmd_fail(err, NP_EXIT_NO);
	status = nc_cmd_written(common->json ? np_json_write(nc_families_json(tables), stdout)
	                                     : nc_families_print(tables, stdout));
	nc_tables_free(tables);
	return status;
}

static int list_host(const struct list_args *args, const struct nc_host *host, struct np_error *err)
{
	struct nc_counters counters;
	int status, rc;

	if (nc_counters_find(host, (1u << NC_CLASS_COUNT) - 1, &counters, err) < 0)
		return nc_cmd_fail(err, NP_EXIT_NO);
	if (args->common->json)
		rc = np_json_write(nc_list_json(host, &counters), stdout);
	else
		rc = nc_list_print(host, &counters, args->every_counter, stdout);
	status = nc_cmd_written(rc);
	if (status == NP_EXIT_OK && counters.count == 0) {
		np_error_set(err, ENODATA,
		             "no PMU of this host can count memory or links; 'numacount explain' "
		             "tells what else there is");
		status = nc_cmd_fail(err, NP_EXIT_NO);
	}
	nc_counters_release(&counters);
	return status;
}

int nc_cmd_list(struct nc_common *common, int argc, char **argv)
{
	struct list_args args = { .common = common };
	struct np_error *err = &common->err;
	struct nc_host *host;
	int rc = np_cli_parse(&argp, argc, argv, 0, &args, err);
	int status;

	if (rc == 0 && args.families && args.every_counter)
		rc = np_error_set(err, EINVAL, "list: --families and --counters: give one");
	if (rc < 0)
		return nc_cmd_fail(err, NP_EXIT_USAGE);
	if (args.families)
		return list_families(common, err);
	if (nc_common_load(common, &host) < 0)
		return nc_cmd_fail(err, NP_EXIT_NO);
	status = list_host(&args, host, err);
	nc_host_free(host);
	return status;
}
