/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat load: many connections at once; how much the server does, and what requests see of it.
 */
#include "cmd.h"
#include "load.h"
#include "load_report.h"
#include "sequence.h"

#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_DURATION = 0x200,
	OPT_WARMUP,
	OPT_RATE,
	OPT_ARRIVALS,
	OPT_KEY_DIST,
	OPT_SET,
	OPT_SEED,
	OPT_CPUS,
	OPT_INTERVAL,
	OPT_VERIFY,
	OPT_MISSES,
};

enum { QUOTE_SIZE = 80 };

#define SECOND_NS UINT64_C(1000000000)

struct load_args {
	struct nl_target target;
	struct nl_load_plan plan;
	bool has_duration;
	bool has_arrivals;
	bool takes_misses;
	uint64_t interval_ns; /* of the live line */
};

static const struct argp_option options[] = {
	{ "connections", 'c', "N", 0, "how many at once (16)", 2 },
	{ "threads", 't', "N", 0, "that the connections are shared out to (1)", 2 },
	{ "duration", OPT_DURATION, "SECONDS", 0, "for how long, behind the warm-up (10)", 2 },
	{ "requests", 'n', "N", 0, "how many requests, in place of --duration", 2 },
	{ "warmup", OPT_WARMUP, "SECONDS", 0, "of the same load before, not counted (1)", 2 },
	{ "rate", OPT_RATE, "N", 0,
	  "open loop: N requests a second, 50K, 1.5M, each at a time of its own, from which its "
	  "latency counts; without it, closed loop: the next one after each reply",
	  2 },
	{ "arrivals", OPT_ARRIVALS, "fixed|poisson", 0, "open loop: how they are spaced (poisson)",
	  2 },
	{ "key-dist", OPT_KEY_DIST, "HOW", 0,
	  "which keys: uniform, zipf:THETA, hot:FRACTION:SHARE, as in hot:0.1:0.9 (uniform)", 3 },
	{ "set", OPT_SET, "SHARE", 0, "0..1 of the requests store an object (0)", 3 },
	{ "seed", OPT_SEED, "N", 0, "of keys and times (0x6a09e667f3bcc909)", 3 },
	{ "verify", OPT_VERIFY, "stamp|off", 0,
	  "look at the first 16 bytes of each value, as numalat populate stored it (off)", 3 },
	{ "misses", OPT_MISSES, "ok|fail", 0, "whether a miss makes the exit status 1 (fail)", 3 },
	{ "cpus", OPT_CPUS, "LIST", 0, "threads run on these CPUs, one each", 4 },
	{ "interval", OPT_INTERVAL, "SECONDS", 0, "of the line that a terminal shows (1)", 4 },
	{ 0 },
};

/* ---- the command line ---- */

/* One of two words: *ret becomes whether it is the first. */
static int parse_choice(const char *option, const char *const words[2], const char *text, bool *ret,
                        struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	if (strcmp(text, words[0]) != 0 && strcmp(text, words[1]) != 0)
		return np_error_set(err, EINVAL, "%s: '%s' is not %s or %s", option,
		                    np_error_quote(text, quoted, sizeof(quoted)), words[0],
		                    words[1]);
	*ret = strcmp(text, words[0]) == 0;
	return 0;
}

static int parse_seconds(const char *option, const char *text, double least, uint64_t *ret_ns,
                         struct np_error *err)
{
	const double limits[2] = { least, NL_LOAD_SECONDS_MAX };
	double seconds;
	int rc = np_cli_decimal(option, "number of seconds", text, limits, &seconds, err);

	if (rc == 0)
		*ret_ns = (uint64_t)(seconds * 1e9);
	return rc;
}

static int parse_share(const char *text, double *ret, struct np_error *err)
{
	static const double limits[2] = { 0, 1 };

	return np_cli_decimal("--set", "share", text, limits, ret, err);
}

static int parse_cpus(const char *text, struct np_bitmap *ret, struct np_error *err)
{
	int rc;

	np_bitmap_release(ret);
	rc = np_cpulist_parse(text, ret, err);
	if (rc == 0 && np_bitmap_is_empty(ret))
		rc = np_error_set(err, EINVAL, "no CPU is in it");
	return rc < 0 ? np_error_wrap(err, rc, "--cpus") : 0;
}

static int parse_arrivals(const char *text, struct load_args *args, struct np_error *err)
{
	static const char *const words[2] = { "fixed", "poisson" };
	bool is_fixed = false;
	int rc = parse_choice("--arrivals", words, text, &is_fixed, err);

	args->has_arrivals = true;
	if (rc == 0)
		args->plan.arrivals = is_fixed ? NL_ARRIVALS_FIXED : NL_ARRIVALS_POISSON;
	return rc;
}

/* How much, and for how long. */
static int parse_amount(int key, const char *text, struct load_args *args, struct np_error *err)
{
	struct nl_load_plan *plan = &args->plan;

	switch (key) {
	case 'c':
		return np_cli_number("--connections", text, 1, NL_LOAD_CONNECTIONS_MAX,
		                     &plan->connections, err);
	case 't':
		return np_cli_number("--threads", text, 1, NL_LOAD_THREADS_MAX, &plan->threads,
		                     err);
	case OPT_DURATION:
		args->has_duration = true;
		return parse_seconds("--duration", text, 0.001, &plan->duration_ns, err);
	case 'n':
		return nl_cmd_u64("--requests", text, 1, NL_LOAD_REQUESTS_MAX, &plan->requests,
		                  err);
	case OPT_WARMUP:
		return parse_seconds("--warmup", text, 0, &plan->warmup_ns, err);
	case OPT_RATE:
		return nl_load_rate_parse("--rate", text, &plan->rate_per_s, err);
	case OPT_ARRIVALS:
		return parse_arrivals(text, args, err);
	default:
		return 1;
	}
}

/* Of what, and all else. */
static int parse_manner(int key, const char *text, struct load_args *args, struct np_error *err)
{
	static const char *const verify_words[2] = { "stamp", "off" };
	static const char *const misses_words[2] = { "ok", "fail" };
	struct nl_load_plan *plan = &args->plan;

	switch (key) {
	case OPT_KEY_DIST:
		return nl_load_keys_parse("--key-dist", text, &plan->keys, err);
	case OPT_SET:
		return parse_share(text, &plan->set_share, err);
	case OPT_SEED:
		return nl_cmd_u64("--seed", text, 0, UINT64_MAX, &plan->seed, err);
	case OPT_VERIFY:
		return parse_choice("--verify", verify_words, text, &plan->verifies, err);
	case OPT_MISSES:
		return parse_choice("--misses", misses_words, text, &args->takes_misses, err);
	case OPT_CPUS:
		return parse_cpus(text, &plan->cpus, err);
	case OPT_INTERVAL:
		return parse_seconds("--interval", text, 0.1, &args->interval_ns, err);
	default:
		return 1;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct load_args *args = state->input;
	struct np_error *err = &args->target.common->err;
	int rc;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->target;
		state->child_inputs[1] = args->target.common;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(err, EINVAL, "load: '%s': it takes no argument", arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, err);
		return 0;
	default:
		rc = parse_amount(key, arg, args, err);
		if (rc > 0)
			rc = parse_manner(key, arg, args, err);
		return rc > 0 ? ARGP_ERR_UNKNOWN : -rc;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Asks a server for objects by many connections at once, and tells how many requests it "
	       "did and how long they took.\v"
	       "In a closed loop a server that stalls is asked less, and the stall is seen by one request "
	       "of each connection; in an open loop (--rate) by all that were due meanwhile.",
	.children = (const struct argp_child[]){ { &nl_target_argp, 0, NULL, 0 },
	                                         { &nl_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

static int check(struct load_args *args)
{
	struct np_error *err = &args->target.common->err;
	struct nl_load_plan *plan = &args->plan;

	if (plan->requests && args->has_duration)
		return np_error_set(err, EINVAL, "load: --duration or --requests, not both");
	if (args->has_arrivals && plan->rate_per_s <= 0)
		return np_error_set(
			err, EINVAL,
			"--arrivals: a closed loop has none; --rate makes it an open one");
	if (plan->requests)
		plan->duration_ns = 0;
	nl_load_keys_prepare(&plan->keys, args->target.keys);
	if (nl_load_plan_check(plan, err) < 0)
		return -EINVAL;
	return nl_target_check(&args->target);
}

/* ---- what is seen while it runs ---- */

struct progress {
	const struct load_args *args;
	bool is_shown;
	bool is_dirty; /* a line stands there */
	struct nl_load_moment last;
};

static void show(void *data, const struct nl_load_moment *now)
{
	struct progress *progress = data;
	const struct nl_load_moment *last = &progress->last;
	uint64_t replies = now->replies - last->replies;
	double seconds = (double)(now->elapsed_ns - last->elapsed_ns) / 1e9;
	uint64_t at = now->elapsed_ns / SECOND_NS;

	if (!progress->is_shown || now->elapsed_ns - last->elapsed_ns < progress->args->interval_ns)
		return;
	fprintf(stderr, "\r%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 "%s %.0f requests/s, %.1f MB/s",
	        at / 3600, at / 60 % 60, at % 60, now->is_warm_up ? " warm-up," : "",
	        (double)replies / seconds, (double)(now->bytes - last->bytes) / seconds / 1e6);
	if (replies > 0)
		fprintf(stderr, ", mean %.1f us",
		        (double)(now->latency_ns - last->latency_ns) / (double)replies / 1e3);
	if (now->behind_ns > SECOND_NS / 1000)
		fprintf(stderr, ", %.3f s behind", (double)now->behind_ns / 1e9);
	fputs("\033[K", stderr);
	progress->is_dirty = true;
	progress->last = *now;
}

static void clear(const struct progress *progress)
{
	if (progress->is_dirty)
		fputs("\r\033[K", stderr);
}

/* ---- how it ends ---- */

static int print(const struct load_args *args, const struct nl_load_result *result)
{
	if (args->target.common->json)
		return nl_cmd_written(
			np_json_write(nl_load_report_json(&args->plan, result), stdout));
	return nl_cmd_written(nl_load_report_print(&args->plan, result, stdout));
}

/* The first thing that went wrong with the requests, in one line; 0 = none. */
static int judge(const struct load_args *args, const struct nl_load_result *result,
                 struct np_error *err)
{
	const struct nl_load_count *counts = result->tally.counts;
	uint64_t refused = counts[NL_GET].refused + counts[NL_SET].refused;

	if (!result->is_complete)
		return np_error_set(err, EIO, "load: not complete: %s", result->why);
	if (refused > 0)
		return np_error_set(err, EREMOTEIO,
		                    "load: the server refused %" PRIu64 " of %" PRIu64
		                    " requests: %s",
		                    refused, nl_load_requests(result), result->tally.refusal);
	if (counts[NL_GET].misses > 0 && !args->takes_misses)
		return np_error_set(err, ENOENT,
		                    "load: %" PRIu64 " of %" PRIu64
		                    " GETs were misses: 'numalat populate' stores the objects; "
		                    "--misses ok only counts them",
		                    counts[NL_GET].misses, counts[NL_GET].requests);
	return 0;
}

static int run(const struct load_args *args, struct np_error *err)
{
	struct progress progress = { .args = args, .is_shown = isatty(STDERR_FILENO) };
	struct nl_load_result result;
	int status;
	int rc = nl_load_run(&args->plan, nl_cmd_stop_on_signal(), show, &progress, &result, err);

	clear(&progress);
	if (rc < 0)
		return nl_cmd_fail(err, NP_EXIT_NO);
	status = print(args, &result);
	if (judge(args, &result, err) < 0)
		status = nl_cmd_fail(err, NP_EXIT_NO);
	nl_load_result_release(&result);
	return status;
}

int nl_cmd_load(struct nl_common *common, int argc, char **argv)
{
	struct load_args args = {
		.plan = {
			.target = &args.target,
			.connections = 16,
			.threads = 1,
			.warmup_ns = SECOND_NS,
			.duration_ns = 10 * SECOND_NS,
			.arrivals = NL_ARRIVALS_POISSON,
			.keys = { .kind = NL_KEYS_UNIFORM },
			.seed = NL_SEQUENCE_SEED,
		},
		.interval_ns = SECOND_NS,
	};
	int status;

	nl_target_default(&args.target, common);
	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 || check(&args) < 0)
		status = nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	else
		status = run(&args, &common->err);
	nl_load_plan_release(&args.plan);
	nl_target_release(&args.target);
	return status;
}
