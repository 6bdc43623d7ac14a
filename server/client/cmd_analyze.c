/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat analyze: do two traces, or two arms of one, differ, by how much, and how sure is that?
 */
#include "cmd.h"
#include "report.h"
#include "selection.h"

#include "../../probe/base/clock.h"
#include "../../probe/base/gnuplot.h"
#include "../../probe/base/json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	OPT_BLOCKS = 0x200,
	OPT_REPETITIONS,
	OPT_SEED,
	OPT_LEVEL,
	OPT_COMMON,
	OPT_UNPAIRED,
	OPT_FORMAT,
	OPT_OUTPUT_DIR,
	OPT_CHARTS,
	OPT_LABELS,
	OPT_ARMS,
};

enum { BLOCKS_MAX = 10000, REPETITIONS_MIN = 100, REPETITIONS_MAX = 10000000, CURVE_POINTS = 400 };

/* Of labels; they stand at the head of columns. */
enum { LABEL_MAX = 24 };

#define SECOND_NS UINT64_C(1000000000)

enum format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_CSV, FORMAT_JSON };

static const char *const format_names[] = { "text", "markdown", "csv", "json" };

struct analyze_args {
	struct nl_common *common;
	struct nl_selection_args selection;
	struct nl_analysis_options options;
	enum format format;
	bool has_format;
	const char *output_directory; /* NULL = none, or of a run directory its own */
	const char *charts_directory; /* NULL = none */
};

static const struct argp_option options[] = {
	{ "labels", OPT_LABELS, "A,B", 0, "what the two are called (A,B; local,remote; the arms)",
	  0 },
	{ "arms", OPT_ARMS, "A,B", 0, "which two arms, by their names", 0 },
	{ "common", OPT_COMMON, NULL, 0, "of unequal lengths, compare the rows that both have", 0 },
	{ "unpaired", OPT_UNPAIRED, NULL, 0, "compare requests for different keys", 0 },
	{ "blocks", OPT_BLOCKS, "N", 0, "contiguous parts that intervals rest on (96)", 1 },
	{ "bootstrap-reps", OPT_REPETITIONS, "N", 0, "bootstraps and permutations (20000)", 1 },
	{ "seed", OPT_SEED, "N", 0, "of their random numbers (0x9e3779b97f4a7c15)", 1 },
	{ "level", OPT_LEVEL, "SHARE", 0, "confidence of intervals (0.95)", 1 },
	{ "format", OPT_FORMAT, "FORMAT", 0, "text, markdown, csv (of effects) or json", 2 },
	{ "output-dir", OPT_OUTPUT_DIR, "DIR", 0,
	  "write CSV, JSON and Markdown into DIR (of a run directory: its analysis/)", 2 },
	{ "charts", OPT_CHARTS, "DIR", 0, "draw into DIR, by gnuplot", 2 },
	{ 0 },
};

/* ---- the command line ---- */

static int parse_format(struct analyze_args *args, const char *text)
{
	for (unsigned i = 0; i < sizeof(format_names) / sizeof(format_names[0]); i++) {
		if (strcmp(text, format_names[i]) == 0) {
			args->format = (enum format)i;
			args->has_format = true;
			return 0;
		}
	}
	return np_error_set(&args->common->err, EINVAL,
	                    "--format: '%s' is none of text, markdown, csv, json", text);
}

/* Splits "a,b" in place, each of 1..@most characters. */
static int parse_two(const char *option, char *text, size_t most, const char *ret[2],
                     struct np_error *err)
{
	char *comma = strchr(text, ',');

	if (!comma || comma == text || !comma[1] || strchr(comma + 1, ','))
		return np_error_set(err, EINVAL, "%s: '%s' is not two names, like local,remote",
		                    option, text);
	*comma = '\0';
	ret[0] = text;
	ret[1] = comma + 1;
	for (unsigned i = 0; i < 2; i++) {
		if (strlen(ret[i]) > most)
			return np_error_set(err, EINVAL, "%s: '%s' is longer than %zu characters",
			                    option, ret[i], most);
		for (const char *c = ret[i]; *c; c++) {
			if (!isprint((unsigned char)*c))
				return np_error_set(err, EINVAL, "%s: '%s' is not plain text",
				                    option, ret[i]);
		}
	}
	return 0;
}

/* As of a variable of the shell that is not set. */
static int refuse_empty(struct analyze_args *args, const char *what)
{
	return np_error_set(&args->common->err, EINVAL, "%s: an empty name", what);
}

static int take_path(struct analyze_args *args, const char *path)
{
	const char **paths = args->selection.paths;

	if (paths[1])
		return np_error_set(&args->common->err, EINVAL,
		                    "analyze: '%s': it takes two traces, one with several arms, "
		                    "or a run directory",
		                    path);
	paths[paths[0] ? 1 : 0] = path;
	return *path ? 0 : refuse_empty(args, "analyze");
}

/* Options with a value; ARGP_ERR_UNKNOWN for others. */
static error_t parse_value(struct analyze_args *args, int key, char *arg)
{
	static const double levels[2] = { 0.5, 0.9999 };
	struct np_error *err = &args->common->err;

	switch (key) {
	case OPT_BLOCKS:
		return -np_cli_number("--blocks", arg, 2, BLOCKS_MAX, &args->options.blocks, err);
	case OPT_REPETITIONS:
		return -np_cli_number("--bootstrap-reps", arg, REPETITIONS_MIN, REPETITIONS_MAX,
		                      &args->options.repetitions, err);
	case OPT_SEED:
		return -nl_cmd_u64("--seed", arg, 0, UINT64_MAX, &args->options.seed, err);
	case OPT_LEVEL:
		return -np_cli_decimal("--level", "share", arg, levels, &args->options.level, err);
	case OPT_FORMAT:
		return -parse_format(args, arg);
	case OPT_LABELS:
		return -parse_two("--labels", arg, LABEL_MAX, args->selection.labels, err);
	case OPT_ARMS:
		return -parse_two("--arms", arg, NL_ARM_NAME_MAX, args->selection.arms, err);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct analyze_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_COMMON:
		args->options.takes_common = true;
		return 0;
	case OPT_UNPAIRED:
		args->options.is_unpaired = true;
		return 0;
	case OPT_OUTPUT_DIR:
		args->output_directory = arg;
		return *arg ? 0 : -refuse_empty(args, "--output-dir");
	case OPT_CHARTS:
		args->charts_directory = arg;
		if (!*arg)
			return -refuse_empty(args, "--charts");
		args->options.curve_points = CURVE_POINTS;
		return 0;
	case ARGP_KEY_ARG:
		return -take_path(args, arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->common->err);
		return 0;
	default:
		return parse_value(args, key, arg);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "A B\nTRACE\nRUN_DIR",
	.doc = "Tells whether two traces differ, by how much, and how sure that is: of two traces, of two "
	       "arms of one TRACE, or of the cases in RUN_DIR (01-normal-memcache, 02-normal-http, "
	       "03-perverse-memcache, 04-perverse-http, each with samples.nlt, samples.csv or "
	       "samples.csv.gz).\v"
	       "Positive improvements, and an A above 0.5, mean that the first is faster. Exit "
	       "status: 0 analysed, whether they differ or not, 1 a trace is bad, or was cut "
	       "short, 2 wrong usage.",
	.children = (const struct argp_child[]){ { &nl_common_argp, 0, NULL, 0 }, { 0 } },
};

static int check(struct analyze_args *args)
{
	struct np_error *err = &args->common->err;

	if (!args->selection.paths[0])
		return np_error_set(err, EINVAL,
		                    "analyze: of what? two traces, one with several arms, or a run "
		                    "directory");
	if (args->common->json && args->has_format && args->format != FORMAT_JSON)
		return np_error_set(err, EINVAL, "analyze: --json and --format %s: one of them",
		                    format_names[args->format]);
	if (args->common->json)
		args->format = FORMAT_JSON;
	if (args->selection.labels[0] &&
	    strcmp(args->selection.labels[0], args->selection.labels[1]) == 0)
		return np_error_set(err, EINVAL, "--labels: '%s' twice", args->selection.labels[0]);
	return 0;
}

/* ---- what is seen while it works ---- */

struct watch {
	bool is_terminal;
	size_t count; /* comparisons */
	size_t index; /* the present one */
	uint64_t began_ns;
	uint64_t shown_ns; /* 0 = nothing was */
};

static void clear_line(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

static void show_opening(const char *path)
{
	char quoted[64];

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\rreading %s\033[K", np_error_quote(path, quoted, sizeof(quoted)));
}

static void show_progress(void *data, double share)
{
	struct watch *watch = data;
	uint64_t now = np_now_ns();
	double done = ((double)watch->index + share) / (double)watch->count;

	if (!watch->is_terminal || now - watch->began_ns < SECOND_NS ||
	    now - watch->shown_ns < SECOND_NS / 5 || done <= 0)
		return;
	watch->shown_ns = now;
	fprintf(stderr, "\ranalysed %.0f %%, about %.0f s left\033[K", 100 * done,
	        (double)(now - watch->began_ns) / 1e9 * (1 - done) / done);
}

/* ---- the analysis ---- */

struct analysis {
	const struct analyze_args *args;
	struct nl_selection selection;
	struct nl_comparison comparisons[NL_RUN_PROTOCOLS];
	size_t count;
	/* Names that can be opened fit. */
	char source[2 * PATH_MAX];                             /* what the report calls it */
	char output_directory[PATH_MAX + sizeof("/analysis")]; /* "" = none */
	bool made_directory;
	bool made_charts_directory;
	int status;
};

static void fail(struct analysis *analysis, const struct np_error *err)
{
	clear_line();
	analysis->status = nl_cmd_fail(err, NP_EXIT_NO);
}

/* Pairs of a run directory that lack a case; only half a pair is a fault. */
static void tell_left_out(struct analysis *analysis)
{
	for (unsigned i = 0; i < NL_RUN_PROTOCOLS; i++) {
		const struct nl_run_pair *pair = &analysis->selection.directory.pairs[i];
		struct np_error err = { 0 };

		if (!analysis->selection.is_run_directory || nl_run_pair_is_whole(pair))
			continue;
		if (pair->local || pair->remote) {
			np_error_set(&err, ENOENT, "%s is left out: %s has no trace",
			             pair->protocol, nl_run_case_name(pair, pair->local != NULL));
			fail(analysis, &err);
		} else {
			np_error_set(&err, ENOENT, "%s is left out: neither %s nor %s has a trace",
			             pair->protocol, nl_run_case_name(pair, false),
			             nl_run_case_name(pair, true));
			nl_cmd_fail(&err, NP_EXIT_OK);
		}
	}
}

static void tell_incomplete(struct analysis *analysis, const struct nl_trace *trace)
{
	const struct nl_trace_end *end = nl_trace_end(trace);
	struct np_error err = { 0 };

	if (end->is_complete)
		return;
	np_error_set(&err, EBADMSG,
	             "%s is not complete: %s; its %" PRIu64 " requests were analysed",
	             nl_trace_path(trace), end->why ? end->why : "its end is not told", end->rows);
	fail(analysis, &err);
}

/* A pair that is bad does not keep the other from being analysed. */
static void compare_pair(struct analysis *analysis, const struct nl_pair *pair, struct watch *watch)
{
	struct nl_comparison *comparison = &analysis->comparisons[analysis->count];
	const struct nl_progress progress = { show_progress, watch };
	struct np_error err = { 0 };
	int rc;

	if (pair->rc < 0) {
		fail(analysis, &pair->err);
		return;
	}
	rc = nl_compare(&pair->a, &pair->b, &analysis->args->options, &progress, comparison, &err);
	if (rc < 0) {
		if (pair->protocol)
			np_error_wrap(&err, rc, "%s", pair->protocol);
		fail(analysis, &err);
		return;
	}
	if (pair->protocol)
		comparison->protocol = pair->protocol;
	analysis->count++;
	tell_incomplete(analysis, pair->a.trace);
	if (pair->b.trace != pair->a.trace)
		tell_incomplete(analysis, pair->b.trace);
}

static void compare_all(struct analysis *analysis)
{
	struct watch watch = {
		.is_terminal = isatty(STDERR_FILENO),
		.count = analysis->selection.count,
		.began_ns = np_now_ns(),
	};

	for (size_t i = 0; i < analysis->selection.count; i++) {
		watch.index = i;
		compare_pair(analysis, &analysis->selection.pairs[i], &watch);
	}
	clear_line();
}

/* ---- output ---- */

static int print(const struct nl_report *report, enum format format)
{
	switch (format) {
	case FORMAT_MARKDOWN:
		return nl_report_markdown(report, stdout);
	case FORMAT_CSV:
		return nl_report_effects_csv(report, stdout);
	case FORMAT_JSON:
		return np_json_write(nl_report_json(report), stdout);
	default:
		return nl_report_text(report, stdout);
	}
}

/* Files first: what is printed then is known to be kept. */
static void put_out(struct analysis *analysis)
{
	const struct analyze_args *args = analysis->args;
	const struct nl_report report = { analysis->source, analysis->comparisons,
		                          analysis->count };
	struct np_error err = { 0 };
	int status;

	if (analysis->output_directory[0] &&
	    nl_report_write(&report, analysis->output_directory, &err) < 0)
		fail(analysis, &err);
	if (args->charts_directory && nl_report_draw(&report, args->charts_directory, &err) < 0)
		fail(analysis, &err);
	status = nl_cmd_written(print(&report, args->format));
	analysis->status = analysis->status ? analysis->status : status;
}

/* Sees that the figures can be kept, before they are computed. */
static int prepare_directory(struct analysis *analysis, struct np_error *err)
{
	const char *wanted = analysis->args->output_directory;
	const char *directory = wanted ? wanted : analysis->args->selection.paths[0];
	int length;
	int rc = 0;

	if (!wanted && !analysis->selection.is_run_directory)
		return 0;
	length = snprintf(analysis->output_directory, sizeof(analysis->output_directory), "%s%s",
	                  directory, wanted ? "" : "/analysis");
	if (length < 0 || (size_t)length >= sizeof(analysis->output_directory))
		return np_error_sys(err, ENAMETOOLONG, "%s", directory);
	analysis->made_directory = mkdir(analysis->output_directory, 0777) == 0;
	if ((!analysis->made_directory && errno != EEXIST) ||
	    access(analysis->output_directory, W_OK | X_OK) < 0)
		rc = np_error_sys(err, errno, "%s", analysis->output_directory);
	if (rc < 0 && !wanted)
		rc = np_error_set(err, -rc, "%s: %s; --output-dir DIR writes elsewhere",
		                  analysis->output_directory, strerror(-rc));
	return rc;
}

static int prepare(struct analysis *analysis, struct np_error *err)
{
	const struct analyze_args *args = analysis->args;
	const char *const *paths = args->selection.paths;
	const char *charts = args->charts_directory;
	bool had_charts = charts && access(charts, F_OK) == 0;
	int rc = charts ? np_gnuplot_prepare(charts, err) : 0;

	if (rc < 0)
		return np_error_wrap(err, rc, "analyze: --charts");
	analysis->made_charts_directory = charts && !had_charts;
	rc = nl_selection_open(&args->selection, &analysis->selection, err);
	if (rc < 0)
		return rc;
	snprintf(analysis->source, sizeof(analysis->source), "%s%s%s", paths[0],
	         paths[1] ? " " : "", paths[1] ? paths[1] : "");
	return prepare_directory(analysis, err);
}

static void release(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->count; i++)
		nl_comparison_release(&analysis->comparisons[i]);
	nl_selection_close(&analysis->selection);
	/* Nothing was written: nothing was there before. */
	if (analysis->count == 0 && analysis->made_directory)
		rmdir(analysis->output_directory);
	if (analysis->count == 0 && analysis->made_charts_directory)
		rmdir(analysis->args->charts_directory);
}

int nl_cmd_analyze(struct nl_common *common, int argc, char **argv)
{
	struct analyze_args args = {
		.common = common,
		.selection = { .opening = show_opening },
		.options = {
			.blocks = 96,
			.repetitions = 20000,
			.seed = UINT64_C(0x9e3779b97f4a7c15),
			.level = 0.95,
		},
	};
	struct analysis analysis = { .args = &args };

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 || check(&args) < 0)
		return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
	if (prepare(&analysis, &common->err) < 0) {
		fail(&analysis, &common->err);
	} else {
		tell_left_out(&analysis);
		compare_all(&analysis);
		if (analysis.count > 0)
			put_out(&analysis);
	}
	release(&analysis);
	return analysis.status;
}
