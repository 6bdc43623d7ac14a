/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount stat [-- PROGRAM]: totals for each socket, over a program's run or until stopped.
 */
#include "charts.h"
#include "measure.h"
#include "report.h"

#include "../probe/base/gnuplot.h"
#include "../probe/base/json.h"

#include <errno.h>
#include <stdlib.h>

enum { OPT_CHARTS = 0x400, INTERVAL_MS = 1000 };

struct stat_args {
	struct nc_measure_args measure;
	const char *output; /* a file; NULL = as nc_cmd_stat() chooses */
	const char *charts; /* a directory; NULL = none */
	bool shows_intervals;
};

/* What a run needs while it goes on. */
struct run {
	const struct stat_args *args;
	struct nc_measure measure;
	struct nc_tally *tally;
	struct nc_rows_about about;
	struct nc_charts *charts; /* NULL = none */
	FILE *live;               /* where intervals are shown; NULL = nowhere */
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "write the result to FILE", 19 },
	{ "charts", OPT_CHARTS, "DIR", 0, "draw the run over time, with gnuplot, into DIR", 19 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->measure;
		state->child_inputs[1] = args->measure.common;
		return 0;
	case 'o':
		args->output = arg;
		return 0;
	case OPT_CHARTS:
		args->charts = arg;
		return 0;
	case ARGP_KEY_ARG:
		nc_measure_take_command(&args->measure, state);
		return 0;
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->measure.common->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[-- PROGRAM [ARGUMENT...]]",
	.doc = "Counts what crosses memory controllers and links while PROGRAM runs, or until Ctrl-C "
	       "or --duration, and prints totals, rates and the busiest interval of each socket.\v"
	       "The whole machine is counted, not the program alone: these counters belong to no "
	       "process. With a program the tables go to standard error; JSON goes to standard "
	       "output.",
	.children = (const struct argp_child[]){ { &nc_measure_argp, 0, NULL, 0 },
	                                         { &nc_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

static struct nc_report report_of(const struct run *run)
{
	const struct nc_measure_args *args = &run->args->measure;

	return (struct nc_report){
		.host = run->measure.host,
		.session = run->measure.session,
		.tally = run->tally,
		.peaks = run->measure.peaks,
		.interval_ms = args->interval_ms,
		.command = args->command,
	};
}

static int take_sample(void *context, const struct nc_sample *sample, struct np_error *err)
{
	struct run *run = context;
	struct nc_report report = report_of(run);

	nc_tally_add(run->tally, sample);
	if (run->live && nc_report_print_sample(&report, sample, run->live) < 0)
		return np_error_sys(err, errno ? errno : EIO, "standard error");
	if (run->charts)
		nc_charts_add(run->charts, sample);
	return 0;
}

/* ---- what is opened before the program starts, so that a refusal is told before it ---- */

static int open_output(const struct stat_args *args, FILE **ret, struct np_error *err)
{
	bool is_json = args->measure.common->json;

	*ret = is_json || !args->measure.command ? stdout : stderr;
	if (!args->output)
		return 0;
	*ret = fopen(args->output, "we");
	if (!*ret)
		return np_error_sys(err, errno, "%s", args->output);
	return 0;
}

static int begin_charts(struct run *run, struct np_error *err)
{
	const struct nc_measure *measure = &run->measure;

	if (!run->args->charts)
		return 0;
	nc_rows_describe(measure->host, measure->session, measure->peaks,
	                 run->args->measure.interval_ms, &run->about);
	return nc_charts_create(&run->about, &run->charts, err);
}

/* ---- the run ---- */

static int write_report(const struct run *run, FILE *out, struct np_error *err)
{
	struct nc_report report = report_of(run);
	const char *name = run->args->output ? run->args->output : nc_cmd_stream_name(out);
	int rc;

	if (run->args->measure.common->json)
		rc = np_json_write(nc_report_json(&report), out);
	else
		rc = nc_report_print(&report, out);
	if (run->args->output && fclose(out) == EOF && rc == 0)
		rc = -errno;
	return rc < 0 ? np_error_sys(err, -rc, "%s", name) : nc_report_check(&report, err);
}

static int count(struct run *run, struct nc_measure_end *end, struct np_error *err)
{
	FILE *out = stdout;
	int counted;
	int rc = nc_tally_create(nc_session_series(run->measure.session),
	                         nc_session_series_count(run->measure.session), &run->tally, err);

	if (rc == 0)
		rc = open_output(run->args, &out, err);
	if (rc == 0)
		rc = begin_charts(run, err);
	if (rc < 0)
		return rc;
	nc_tally_expect_sockets(run->tally, np_bitmap_count(nc_host_sockets(run->measure.host)));
	run->live = run->args->shows_intervals ? stderr : NULL;
	counted = nc_measure_run(&run->args->measure, &run->measure, take_sample, run, end, err);
	if (counted < 0 && nc_tally_intervals(run->tally) == 0)
		return counted;
	/* What was counted until then is told, whatever ended it. */
	rc = write_report(run, out, counted < 0 ? NULL : err);
	if (counted < 0)
		return counted;
	if (rc == 0 && run->charts)
		rc = nc_charts_draw(run->charts, run->args->charts, err);
	return rc;
}

int nc_cmd_stat(struct nc_common *common, int argc, char **argv)
{
	struct stat_args args = { .measure = { .common = common } };
	struct run run = { .args = &args };
	struct nc_measure_end end = { 0 };
	int rc;
	int status;

	if (np_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &args, &common->err) < 0 ||
	    nc_measure_check(&args.measure, &common->err) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_USAGE);
	args.shows_intervals = args.measure.interval_ms > 0;
	if (!args.measure.interval_ms)
		args.measure.interval_ms = INTERVAL_MS;
	if ((args.charts && np_gnuplot_prepare(args.charts, &common->err) < 0) ||
	    nc_measure_open(&args.measure, &run.measure, &common->err) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_NO);
	rc = count(&run, &end, &common->err);
	status = nc_measure_status(&end);
	if (rc < 0)
		status = nc_cmd_fail(&common->err, status ? status : NP_EXIT_NO);
	nc_charts_free(run.charts);
	nc_tally_free(run.tally);
	nc_measure_close(&run.measure);
	return status;
}
