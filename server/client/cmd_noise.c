/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat noise: what the host takes away from a program that does nothing, on the CPU that is to
 * measure latencies.
 */
#include "cmd.h"
#include "noise_text.h"
#include "place.h"

#include "../../probe/base/json.h"

#include <errno.h>
#include <stdio.h>

enum { OPT_DURATION = 0x200, OPT_CPU, OPT_ROOT };

/* The largest CPU number there can be. */
#define CPU_MAX NP_BITMAP_INDEX_MAX

struct noise_args {
	struct nl_common *common;
	double duration_s;
	int cpu; /* -1 = wherever the kernel puts us */
	const char *root;
};

static const struct argp_option options[] = {
	{ "duration", OPT_DURATION, "SECONDS", 0, "how long to look (3)", 0 },
	{ "cpu", OPT_CPU, "N", 0, "on this CPU; without it, where the kernel puts us", 0 },
	{ "root", OPT_ROOT, "DIR", 0, "read /proc below DIR", 0 },
	{ 0 },
};

static int parse_cpu(const char *text, int *ret, struct np_error *err)
{
	unsigned cpu;
	int rc = np_cli_number("--cpu", text, 0, CPU_MAX, &cpu, err);

	if (rc == 0)
		*ret = (int)cpu;
	return rc;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const double seconds[] = { 0.001, 86400 };
	struct noise_args *args = state->input;
	struct np_error *err = &args->common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_DURATION:
		return -np_cli_decimal("--duration", "number of seconds", arg, seconds,
		                       &args->duration_s, err);
	case OPT_CPU:
		return -parse_cpu(arg, &args->cpu, err);
	case OPT_ROOT:
		args->root = arg;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(err, EINVAL, "noise: '%s': it takes no argument", arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Reads the clock without a pause, and sleeps until given times, to see what the host "
	       "takes away from this CPU by itself: interrupts, other programs, the hypervisor.\v"
	       "A signal ends it early, with what was seen until then.",
	.children = (const struct argp_child[]){ { &nl_common_argp, 0, NULL, 0 }, { 0 } },
};

static json_t *document(const struct nl_noise *noise)
{
	json_t *object = json_object();
	json_t *members = nl_noise_json(noise);

	np_json_set_member(&object, "schema", json_string("numakit/noise/1"));
	if (!members || json_object_update(object, members) < 0) {
		json_decref(object);
		object = NULL;
	}
	json_decref(members);
	return object;
}

static int print(const struct nl_common *common, const struct nl_noise *noise)
{
	if (common->json)
		return nl_cmd_written(np_json_write(document(noise), stdout));
	nl_noise_print(noise, stdout);
	return nl_cmd_written(0);
}

static int measure(const struct noise_args *args, struct nl_noise *ret)
{
	struct np_error *err = &args->common->err;
	struct nl_place place = { 0 };
	struct np_sysroot root;
	int rc = np_sysroot_open(args->root, &root, err);

	if (rc < 0)
		return rc;
	rc = nl_place_take(args->cpu, &place, err);
	if (rc == 0)
		rc = nl_noise_measure(&root, (uint64_t)(args->duration_s * 1e9),
		                      nl_cmd_stop_on_signal(), ret, err);
	nl_place_release(&place);
	np_sysroot_close(&root);
	return rc;
}

int nl_cmd_noise(struct nl_common *common, int argc, char **argv)
{
	struct noise_args args = { .common = common, .duration_s = 3, .cpu = -1 };
	struct nl_noise noise = { 0 };

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0)
		return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	if (measure(&args, &noise) < 0)
		return nl_cmd_fail(&common->err, NP_EXIT_NO);
	return print(common, &noise);
}
