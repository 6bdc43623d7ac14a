/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount record: a row for each series and interval, into a file, for as long as wanted.
 */
#include "charts.h"
#include "cmd.h"
#include "measure.h"
#include "rows.h"

#include "../probe/base/gnuplot.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPT_CHARTS = 0x400 };

enum { INTERVAL_MS = 1000, SHORT_INTERVAL_MS = 10 };

#define SECOND_NS UINT64_C(1000000000)

struct record_args {
	struct nc_measure_args measure;
	const char *file;
	enum nc_rows_format format;
	const char *charts_directory; /* NULL = none wanted */
};

struct recording {
	const struct record_args *args;
	struct nc_measure measure;
	struct nc_rows_about about;
	struct nc_rows *rows;
	struct nc_charts *charts; /* NULL = none wanted */
	uint64_t intervals;
	uint64_t lost; /* that passed before we could read */
	uint64_t told; /* of the session's events */
	uint64_t elapsed_ns;
	bool is_full; /* the file takes no more */
	bool shows_progress;
	uint64_t progress_ns; /* when it was last shown */
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write the rows to FILE.csv or FILE.jsonl; - is stdout, CSV",
	  0 },
	{ "charts", OPT_CHARTS, "DIR", 0, "draw the run into DIR afterwards, by gnuplot", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_args *args = state->input;
	struct np_error *err = &args->measure.common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->measure;
		state->child_inputs[1] = args->measure.common;
		return 0;
	case 'o':
		args->file = arg;
		return -nc_rows_format_of(arg, &args->format, err);
	case OPT_CHARTS:
		args->charts_directory = arg;
		return 0;
	case ARGP_KEY_ARG:
		nc_measure_take_command(&args->measure, state);
		return 0;
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
	.args_doc = "[-- PROGRAM [ARGUMENT...]]",
	.doc = "Writes a row for each socket, link and class at every interval, until PROGRAM has "
	       "ended, the time is over, or a signal says stop.\v"
	       "docs/schema/record-1.json says what is in a row. What was not counted is an empty "
	       "cell, null in JSON lines.",
	.children = (const struct argp_child[]){ { &nc_measure_argp, 0, NULL, 0 },
	                                         { &nc_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

static int check(const struct record_args *args)
{
	struct np_error *err = &args->measure.common->err;

	if (!args->file)
		return np_error_set(err, EINVAL, "record: into which file? -o FILE.csv, or .jsonl");
	if (args->measure.common->json)
		return np_error_set(err, EINVAL,
		                    "record: --json: FILE's end tells the format: -o FILE.jsonl");
	return nc_measure_check(&args->measure, err);
}

/* ---- what is seen while it runs ---- */

static void clear_progress(const struct recording *recording)
{
	if (recording->shows_progress && recording->progress_ns > 0)
		fputs("\r\033[K", stderr);
}

/* The rate of some classes over all sockets as "1.23 GB/s"; "-" unless all of it is known. */
static const char *rate_text(const struct recording *recording, const struct nc_sample *sample,
                             nc_classes classes, char buf[32])
{
	double sum = 0;
	size_t count = 0;

	snprintf(buf, 32, "-");
	for (size_t i = 0; i < recording->about.series_count; i++) {
		if (!(NC_CLASS_BIT(recording->about.series[i].what) & classes))
			continue;
		if (!sample->values[i].is_known)
			return buf;
		sum += (double)sample->values[i].delta;
		count++;
	}
	if (count > 0 && sample->interval_ns > 0)
		snprintf(buf, 32, "%.2f GB/s", sum / (double)sample->interval_ns);
	return buf;
}

static void show_progress(struct recording *recording, const struct nc_sample *sample)
{
	uint64_t seconds = sample->elapsed_ns / SECOND_NS;
	char read[32];
	char write[32];
	char out[32];

	if (!recording->shows_progress || sample->elapsed_ns - recording->progress_ns < SECOND_NS)
		return;
	recording->progress_ns = sample->elapsed_ns;
	fprintf(stderr,
	        "\r%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " %" PRIu64
	        " intervals; memory read %s, write %s; interconnect %s\033[K",
	        seconds / 3600, seconds / 60 % 60, seconds % 60, recording->intervals,
	        rate_text(recording, sample,
	                  NC_CLASS_BIT(NC_CLASS_MEMORY_READ) | NC_CLASS_BIT(NC_CLASS_MEMORY_ANY),
	                  read),
	        rate_text(recording, sample, NC_CLASS_BIT(NC_CLASS_MEMORY_WRITE), write),
	        rate_text(recording, sample, NC_CLASS_BIT(NC_CLASS_INTERCONNECT_OUT), out));
}

/* CPUs that took over, PMUs that went: told when it happens. */
static void tell_events(struct recording *recording)
{
	const struct nc_session *session = recording->measure.session;
	uint64_t total;
	size_t kept = nc_session_event_count(session, &total);
	size_t fresh = total - recording->told < kept ? (size_t)(total - recording->told) : kept;

	if (fresh > 0)
		clear_progress(recording);
	for (size_t i = kept - fresh; i < kept; i++)
		fprintf(stderr, "numacount: %s\n", nc_session_event(session, i));
	recording->told = total;
}

static int on_sample(void *context, const struct nc_sample *sample, struct np_error *err)
{
	struct recording *recording = context;
	uint64_t wanted_ns = recording->args->measure.interval_ms * UINT64_C(1000000);
	uint64_t spanned = (sample->interval_ns + wanted_ns / 2) / wanted_ns;
	int rc = nc_rows_write(recording->rows, sample, err);

	if (rc < 0) {
		/* Told now: a program that we run goes on, and may do so for hours. */
		clear_progress(recording);
		nc_cmd_fail(err, NP_EXIT_NO);
		recording->is_full = true;
		return rc;
	}
	if (recording->charts)
		nc_charts_add(recording->charts, sample);
	recording->intervals++;
	recording->lost += spanned > 1 ? spanned - 1 : 0;
	recording->elapsed_ns = sample->elapsed_ns;
	tell_events(recording);
	show_progress(recording, sample);
	return 0;
}

static void print_summary(const struct recording *recording, const struct nc_measure_end *end)
{
	const char *file = recording->args->file;
	uint64_t rows = recording->intervals * recording->about.series_count;

	fprintf(stderr, "numacount: %" PRIu64 " intervals in %.1f s, %" PRIu64 " rows in %s",
	        recording->intervals, (double)recording->elapsed_ns / 1e9, rows,
	        strcmp(file, "-") == 0 ? "standard output" : file);
	if (recording->lost > 0)
		fprintf(stderr,
		        "; %" PRIu64 " intervals lost, read too late: see interval_ns of the rows",
		        recording->lost);
	if (end->signal)
		fprintf(stderr, "; stopped by SIG%s", sigabbrev_np(end->signal));
	fputc('\n', stderr);
}

/* ---- the run ---- */

static void warn_of_interval(const struct record_args *args)
{
	if (args->measure.interval_ms < SHORT_INTERVAL_MS)
		fprintf(stderr,
		        "numacount: warning: -I %u: reading so often costs CPU time, and counters "
		        "that are shared in turns of 1-4 ms may not get a turn in each interval: "
		        "look at coverage\n",
		        args->measure.interval_ms);
}

/* Returns the status that it was given, or a failure where that was none. */
static int draw(const struct recording *recording, int status)
{
	struct np_error err = { 0 };

	if (!recording->charts ||
	    nc_charts_draw(recording->charts, recording->args->charts_directory, &err) == 0)
		return status;
	return nc_cmd_fail(&err, status ? status : NP_EXIT_NO);
}

/* The exit status when something failed: the program's all the same, where it has one. */
static int fail(const struct recording *recording, const struct np_error *err, int status)
{
	status = status ? status : NP_EXIT_NO;
	if (recording->is_full)
		return status;
	nc_cmd_fail(err, status);
	/* What was counted until then is worth a picture. */
	return recording->intervals > 0 ? draw(recording, status) : status;
}

/* Runs, and closes the file whatever happens: the error that is told is the first one. */
static int run(struct recording *recording, struct np_error *err)
{
	const struct nc_measure_args *args = &recording->args->measure;
	struct nc_measure_end end = { 0 };
	struct np_error close_err = { 0 };
	int rc = nc_measure_run(args, &recording->measure, on_sample, recording, &end, err);
	int closed = nc_rows_close(recording->rows, &close_err);

	recording->rows = NULL;
	clear_progress(recording);
	if (rc < 0 || closed < 0)
		return fail(recording, rc < 0 ? err : &close_err, nc_measure_status(&end));
	print_summary(recording, &end);
	return draw(recording, nc_measure_status(&end));
}

static int open_all(struct recording *recording, struct np_error *err)
{
	const struct record_args *args = recording->args;
	int rc = args->charts_directory ? np_gnuplot_prepare(args->charts_directory, err) : 0;

	if (rc < 0)
		return np_error_wrap(err, rc, "record: --charts");
	rc = nc_measure_open(&args->measure, &recording->measure, err);
	if (rc < 0)
		return rc;
	nc_rows_describe(recording->measure.host, recording->measure.session,
	                 recording->measure.peaks, args->measure.interval_ms, &recording->about);
	rc = nc_rows_open(args->file, args->format, &recording->about, &recording->rows, err);
	if (rc == 0 && args->charts_directory)
		rc = nc_charts_create(&recording->about, &recording->charts, err);
	return rc;
}

int nc_cmd_record(struct nc_common *common, int argc, char **argv)
{
	struct record_args args = {
		.measure = { .common = common, .interval_ms = INTERVAL_MS },
	};
	struct recording recording = { .args = &args, .shows_progress = isatty(STDERR_FILENO) };
	int status;

	if (np_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &args, &common->err) < 0 ||
	    check(&args) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_USAGE);

	warn_of_interval(&args);
	if (open_all(&recording, &common->err) < 0)
		status = nc_cmd_fail(&common->err, NP_EXIT_NO);
	else
		status = run(&recording, &common->err);
	nc_charts_free(recording.charts);
	nc_rows_close(recording.rows, NULL);
	nc_measure_close(&recording.measure);
	return status;
}
