/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat run: one request after the other, each with its time, into a file when all are done.
 */
#include "cmd.h"
#include "run.h"

#include "../../probe/base/clock.h"

#include <numaprobe/cpulist.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	OPT_SEED = 0x200,
	OPT_ARMS,
	OPT_ORDER,
	OPT_BLOCK,
	OPT_WARMUP,
	OPT_VERIFY,
	OPT_CPU,
	OPT_NOISE,
	OPT_FORCE,
};

enum { WARMUP_MAX = 10000, WARMUP_SHARE = 10, BRIEF_SIZE = 80, TOLD_SIZE = 320 };

#define REQUESTS 100000u

/* Which of the seed's sequences warming up asks for; the measured one is number 0. */
enum { WARMUP_WORKER = 1 };

/* A run of as many requests is longer than a year. */
#define WARMUP_LIMIT (UINT64_C(1) << 40)

struct run_args {
	struct nl_target target;
	struct np_sysroot root;
	const char *file;
	enum nl_trace_form form;
	bool force;
	char **arms; /* --arms, in their order; owned, the texts are not */
	size_t arms_count;
	uint64_t requests;
	uint64_t seed;
	uint64_t block;
	uint64_t warmup; /* UINT64_MAX = not told */
	enum nl_order_kind order;
	enum nl_verify verify;
	double noise_s;
	int cpu; /* -1 = not told */
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write the trace to FILE.nlt, .csv or .csv.gz", 0 },
	{ "force", OPT_FORCE, NULL, 0, "replace FILE where there is one", 0 },
	{ "requests", 'n', "N", 0, "of each arm (100000)", 0 },
	{ "seed", OPT_SEED, "N", 0, "of keys and order (0x6a09e667f3bcc909)", 0 },
	{ "arms", OPT_ARMS, "NAME=PREFIX[@SERVER],...", 0, "compare these", 0 },
	{ "order", OPT_ORDER, "ORDER", 0, "of arms in a block: random, abba, fixed (random)", 0 },
	{ "block", OPT_BLOCK, "N", 0, "keys for each arm before the next N (1)", 0 },
	{ "warmup", OPT_WARMUP, "N", 0, "requests of each arm before (n/10, <= 10000)", 0 },
	{ "verify", OPT_VERIFY, "WHAT", 0, "of each value: stamp (the default), all, off", 0 },
	{ "cpu", OPT_CPU, "N", 0, "run on this CPU", 0 },
	{ "noise", OPT_NOISE, "SECONDS", 0, "look at the CPU's own noise before and after (0.5)",
	  0 },
	{ 0 },
};

static int add_arms(struct run_args *args, char *text, struct np_error *err)
{
	char **grown = reallocarray(args->arms, args->arms_count + 1, sizeof(*grown));

	if (!grown)
		return np_error_sys(err, ENOMEM, "--arms");
	args->arms = grown;
	args->arms[args->arms_count++] = text;
	return 0;
}

static int parse_cpu(const char *text, int *ret, struct np_error *err)
{
	unsigned cpu;
	int rc = np_cli_number("--cpu", text, 0, NP_BITMAP_INDEX_MAX, &cpu, err);

	if (rc == 0)
		*ret = (int)cpu;
	return rc;
}

static int parse_seconds(const char *text, double *ret, struct np_error *err)
{
	static const double limits[] = { 0, 3600 };

	return np_cli_decimal("--noise", "number of seconds", text, limits, ret, err);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct run_args *args = state->input;
	struct np_error *err = &args->target.common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->target;
		state->child_inputs[1] = args->target.common;
		return 0;
	case 'o':
		args->file = arg;
		return -nl_trace_form_of(arg, &args->form, err);
	case OPT_FORCE:
		args->force = true;
		return 0;
	case 'n':
		return -nl_cmd_u64("--requests", arg, 1, NL_TRACE_ROWS_MAX, &args->requests, err);
	case OPT_SEED:
		return -nl_cmd_u64("--seed", arg, 0, UINT64_MAX, &args->seed, err);
	case OPT_ARMS:
		return -add_arms(args, arg, err);
	case OPT_ORDER:
		return -nl_order_parse(arg, &args->order, err);
	case OPT_BLOCK:
		return -nl_cmd_u64("--block", arg, 1, UINT32_MAX, &args->block, err);
	case OPT_WARMUP:
		return -nl_cmd_u64("--warmup", arg, 0, WARMUP_LIMIT, &args->warmup, err);
	case OPT_VERIFY:
		return -nl_verify_parse(arg, &args->verify, err);
	case OPT_CPU:
		return -parse_cpu(arg, &args->cpu, err);
	case OPT_NOISE:
		return -parse_seconds(arg, &args->noise_s, err);
	case ARGP_KEY_ARG:
		return -np_error_set(err, EINVAL, "run: '%s': it takes no argument", arg);
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
	.doc = "Asks for objects that numalat populate stored, one after the other on one "
	       "connection, and keeps the time of every request.\v"
	       "With arms each block of keys is asked of every arm, so that all see the same keys at "
	       "the same time of the run: numalat analyze FILE then compares them.\n\n"
	       "A signal, a miss or an answer that is wrong ends the run early; what was measured "
	       "until then is in FILE, marked as not complete, and the exit status is 1.",
	.children = (const struct argp_child[]){ { &nl_target_argp, 0, NULL, 0 },
	                                         { &nl_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

/* ---- the plan ---- */

static int take_arms(const struct run_args *args, struct nl_arms *ret, struct np_error *err)
{
	int rc = 0;

	if (args->arms_count == 0)
		return nl_arms_set_single(&args->target, ret, err);
	for (size_t i = 0; rc == 0 && i < args->arms_count; i++)
		rc = nl_arms_parse(args->arms[i], &args->target, ret, err);
	return rc;
}

/* What is to be done, of the options alone. */
static int plan(struct run_args *args, struct nl_run *run, struct np_error *err)
{
	uint64_t warmup = args->requests / WARMUP_SHARE;
	int rc;

	if (!args->file || strcmp(args->file, "-") == 0)
		return np_error_set(err, EINVAL,
		                    "run: into which file? -o FILE.nlt, .csv or .csv.gz");
	rc = nl_target_check(&args->target);
	if (rc == 0)
		rc = take_arms(args, &run->arms, err);
	if (rc < 0)
		return rc;
	if (args->requests * run->arms.count > NL_TRACE_ROWS_MAX)
		return np_error_set(err, EINVAL,
		                    "--requests: %" PRIu64 " of %u arms are more than the %" PRIu64
		                    " rows that a trace can have",
		                    args->requests, run->arms.count, NL_TRACE_ROWS_MAX);
	run->target = &args->target;
	run->is_pinned = args->cpu >= 0;
	run->verify = args->verify;
	run->warmup = args->warmup < UINT64_MAX ? args->warmup
	              : warmup < WARMUP_MAX     ? warmup
	                                        : WARMUP_MAX;
	run->order = (struct nl_order_plan){ .kind = args->order,
		                             .arms = run->arms.count,
		                             .block = (uint32_t)args->block,
		                             .requests = args->requests,
		                             .seed = args->seed,
		                             .keys = args->target.keys };
	return 0;
}

/* ---- before and after ---- */

static void warn(const char *text)
{
	fprintf(stderr, "numalat: warning: %s\n", text);
}

/* Where we run, and memory for the rows there. */
static int prepare(const struct run_args *args, struct nl_run *run, struct np_error *err)
{
	int rc = nl_place_take(args->cpu, &run->place, err);
	char text[TOLD_SIZE];
	char cpus[BRIEF_SIZE];

	if (rc < 0)
		return rc;
	if (np_bitmap_count(&run->place.cpus) > 1) {
		snprintf(text, sizeof(text),
		         "the client may move between %s: --cpu N or numarun keeps it on one",
		         np_cpulist_named("CPU", &run->place.cpus, cpus, sizeof(cpus)));
		warn(text);
	}
	rc = nl_samples_create(&args->root, nl_run_rows(run), (int)run->place.node, &run->samples,
	                       err);
	if (rc == 0 && !run->samples.is_locked)
		warn(run->samples.unlocked.text);
	return rc;
}

static int look_at_noise(const struct run_args *args, const volatile sig_atomic_t *stop,
                         struct nl_noise *ret, bool *ret_known, struct np_error *err)
{
	int rc;

	if (args->noise_s <= 0 || *stop)
		return 0;
	rc = nl_noise_measure(&args->root, (uint64_t)(args->noise_s * 1e9), stop, ret, err);
	*ret_known = rc == 0;
	return rc == -EINTR ? 0 : rc;
}

static struct nl_run_usage read_usage(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return (struct nl_run_usage){ .voluntary = (uint64_t)usage.ru_nvcsw,
		                      .involuntary = (uint64_t)usage.ru_nivcsw,
		                      .minor_faults = (uint64_t)usage.ru_minflt,
		                      .major_faults = (uint64_t)usage.ru_majflt };
}

/* What was used since @before. */
static struct nl_run_usage used_since(const struct nl_run_usage *before)
{
	struct nl_run_usage now = read_usage();

	now.voluntary -= before->voluntary;
	now.involuntary -= before->involuntary;
	now.minor_faults -= before->minor_faults;
	now.major_faults -= before->major_faults;
	return now;
}

/* A thread that shows progress, on CPUs that the measured one does not use; NULL = none is wanted. */
static struct nl_ticker *start_ticker(const struct nl_run *run, const struct nl_counter *counter)
{
	struct nl_ticker *ticker = NULL;
	struct np_bitmap cpus = { 0 };
	struct np_error err = { 0 };

	if (!isatty(STDERR_FILENO))
		return NULL;
	if (np_bitmap_copy(&cpus, &run->place.before) == 0)
		np_bitmap_remove(&cpus, run->place.cpu);
	if (np_bitmap_is_empty(&cpus))
		fprintf(stderr,
		        "numalat: no progress is shown: CPU %u is the only one, and measures\n",
		        run->place.cpu);
	else if (nl_ticker_start(counter, nl_run_rows(run), &cpus, stderr, &ticker, &err) < 0)
		warn(err.text);
	np_bitmap_release(&cpus);
	return ticker;
}

/* ---- the run ---- */

static int warm_up(struct nl_run *run, struct nl_runner *runner, struct np_error *err)
{
	struct nl_order_plan plan = run->order;
	struct nl_order order;
	int rc;

	plan.requests = run->warmup;
	plan.worker = WARMUP_WORKER;
	nl_order_begin(&order, &plan);
	rc = nl_runner_run(runner, &order, NULL, NULL, err);
	return rc < 0 ? np_error_wrap(err, rc, "warming up") : 0;
}

static int measure(struct nl_run *run, struct nl_runner *runner, struct np_error *err)
{
	struct nl_counter counter = { 0 };
	struct nl_ticker *ticker = start_ticker(run, &counter);
	struct nl_run_usage before;
	struct nl_order order;
	int rc;

	nl_order_begin(&order, &run->order);
	run->began_ns = np_time_ns();
	before = read_usage();
	rc = nl_runner_run(runner, &order, &run->samples, &counter, err);
	run->usage = used_since(&before);
	nl_ticker_stop(ticker);
	return rc;
}

/* All that is between the connection's begin and its end. What ends it early is in run->why. */
static int run_requests(const struct run_args *args, struct nl_run *run, struct np_error *err)
{
	const volatile sig_atomic_t *stop = nl_cmd_stop_on_signal();
	struct nl_runner runner;
	int rc = nl_runner_open(&args->target, &run->arms, stop, &runner, err);

	if (rc < 0)
		return rc;
	runner.verify = args->verify;
	rc = look_at_noise(args, stop, &run->noise_before, &run->has_noise_before, err);
	if (rc == 0)
		rc = warm_up(run, &runner, err);
	if (rc == 0 && measure(run, &runner, &run->why) < 0 && run->samples.count == 0)
		rc = np_error_set(err, run->why.code, "%s", run->why.text);
	run->reconnects = nl_runner_reconnects(&runner);
	nl_runner_close(&runner);
	if (rc == 0)
		look_at_noise(args, stop, &run->noise_after, &run->has_noise_after, NULL);
	return rc;
}

/* ---- the end ---- */

/* The status of a run whose rows are in the file. */
static int tell_end(const struct run_args *args, const struct nl_run *run)
{
	struct np_error err;

	if (!run->why.code)
		return NP_EXIT_OK;
	np_error_set(&err, run->why.code, "%s; %" PRIu64 " of %" PRIu64 " rows are in %s",
	             run->why.text, run->samples.count, nl_run_rows(run), args->file);
	return nl_cmd_fail(&err, NP_EXIT_NO);
}

static int summarize(const struct run_args *args, const struct nl_run *run, int status)
{
	struct np_error err = { 0 };
	int rc = args->target.common->json ? nl_run_print_json(run, args->file, &err)
	                                   : nl_run_print_text(run, args->file, &err);

	return rc < 0 ? nl_cmd_fail(&err, NP_EXIT_NO) : status;
}

static int run_all(const struct run_args *args, struct nl_run *run)
{
	struct np_error *err = &args->target.common->err;
	int rc = nl_run_check_file(args->file, args->form, args->force, nl_run_rows(run), err);

	if (rc == 0)
		rc = prepare(args, run, err);
	if (rc == 0)
		rc = run_requests(args, run, err);
	if (rc == 0)
		rc = nl_run_write(run, args->file, args->form, err);
	if (rc < 0)
		return nl_cmd_fail(err, NP_EXIT_NO);
	return summarize(args, run, tell_end(args, run));
}

int nl_cmd_run(struct nl_common *common, int argc, char **argv)
{
	struct run_args args = { .requests = REQUESTS,
		                 .seed = NL_SEQUENCE_SEED,
		                 .block = 1,
		                 .warmup = UINT64_MAX,
		                 .noise_s = 0.5,
		                 .cpu = -1,
		                 .root = { .fd = -1 } };
	struct nl_run run = { 0 };
	int status;

	nl_target_default(&args.target, common);
	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 ||
	    plan(&args, &run, &common->err) < 0)
		status = nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	else if (np_sysroot_open(NULL, &args.root, &common->err) < 0)
		status = nl_cmd_fail(&common->err, NP_EXIT_NO);
	else
		status = run_all(&args, &run);
	nl_samples_release(&run.samples);
	nl_place_release(&run.place);
	nl_arms_release(&run.arms);
	nl_target_release(&args.target);
	np_sysroot_close(&args.root);
	free(args.arms);
	return status;
}
