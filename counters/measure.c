/* SPDX-License-Identifier: BSD-3-Clause */
#include "measure.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_SOURCE = 0x300, OPT_FALLBACK, OPT_HOME, OPT_DURATION, OPT_PEAK, OPT_MEASURED };

enum { INTERVAL_MS_MAX = 3600 * 1000 };

#define DURATION_S_MIN 1e-3
#define DURATION_S_MAX (10 * 366 * 86400.0)
#define PEAK_GB_MIN 1e-3
#define PEAK_GB_MAX 1e6

static const struct argp_option options[] = {
	{ "interval", 'I', "MS", 0, "read the counters every MS milliseconds", 20 },
	{ "duration", OPT_DURATION, "S", 0, "end after S seconds", 20 },
	{ "source", OPT_SOURCE, "NAME", 0,
	  "count by this source and no other: uncore, resctrl, core, numastat", 21 },
	{ "allow-fallback", OPT_FALLBACK, NULL, 0,
	  "where no uncore counter can be had, take the next best source", 21 },
	{ "home", OPT_HOME, NULL, 0,
	  "count requests for each socket's memory by who asked, too (more counters)", 21 },
	{ "peak", OPT_PEAK, "GB/S", 0,
	  "the same as a number: what a link carries at most in one direction", 22 },
	{ "measured", OPT_MEASURED, "FILE", 0,
	  "a bandwidth matrix that was measured, for percentages of what a link really carries",
	  22 },
	{ 0 },
};

static int parse_source(const char *name, struct nc_session_options *options_of,
                        struct np_error *err)
{
	char quoted[80];

	options_of->source = nc_source_find(name);
	options_of->has_source = true;
	if (options_of->source == NC_SOURCE_COUNT)
		return np_error_set(err, EINVAL,
		                    "--source: '%s' is none of uncore, resctrl, core, numastat",
		                    np_error_quote(name, quoted, sizeof(quoted)));
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nc_measure_args *args = state->input;
	static const double durations[] = { DURATION_S_MIN, DURATION_S_MAX };
	static const double peaks[] = { PEAK_GB_MIN, PEAK_GB_MAX };
	struct np_error *err = &args->common->err;
	double gigabytes = 0;
	int rc;

	switch (key) {
	case 'I':
		return -np_cli_number("--interval", arg, 1, INTERVAL_MS_MAX, &args->interval_ms,
		                      err);
	case OPT_DURATION:
		return -np_cli_decimal("--duration", "number", arg, durations, &args->duration_s,
		                       err);
	case OPT_SOURCE:
		return -parse_source(arg, &args->options, err);
	case OPT_FALLBACK:
		args->options.allows_fallback = true;
		return 0;
	case OPT_HOME:
		args->options.what = NC_CLASSES_DEFAULT | NC_CLASSES_HOME;
		return 0;
	case OPT_PEAK:
		rc = np_cli_decimal("--peak", "number", arg, peaks, &gigabytes, err);
		args->peak.link_bytes_per_s = gigabytes * 1e9;
		return -rc;
	case OPT_MEASURED:
		args->peak.measured_file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp nc_measure_argp = { .options = options, .parser = parse };

void nc_measure_take_command(struct nc_measure_args *args, struct argp_state *state)
{
	args->command = state->argv + state->next - 1;
	state->next = state->argc;
}

int nc_measure_check(const struct nc_measure_args *args, struct np_error *err)
{
	if (args->command && args->duration_s > 0)
		return np_error_set(err, EINVAL,
		                    "--duration and a program both say when to end: give one");
	if (args->peak.measured_file && args->peak.link_bytes_per_s > 0)
		return np_error_set(err, EINVAL, "--peak and --measured: give one");
	if (args->options.has_source && args->options.allows_fallback)
		return np_error_set(err, EINVAL, "--source and --allow-fallback: give one");
	return 0;
}

int nc_measure_open(const struct nc_measure_args *args, struct nc_measure *ret,
                    struct np_error *err)
{
	struct nc_measure measure = { 0 };
	int rc = nc_common_load(args->common, &measure.host);

	if (rc < 0) {
		if (err != &args->common->err)
			*err = args->common->err;
		return rc;
	}
	rc = nc_session_open(measure.host, &args->options, &measure.session, err);
	if (rc == 0)
		rc = nc_peaks_create(measure.host, nc_session_series(measure.session),
		                     nc_session_series_count(measure.session), &args->peak,
		                     &measure.peaks, err);
	if (rc < 0)
		nc_measure_close(&measure);
	else
		*ret = measure;
	return rc;
}

void nc_measure_close(struct nc_measure *measure)
{
	nc_peaks_free(measure->peaks);
	nc_session_close(measure->session);
	nc_host_free(measure->host);
	*measure = (struct nc_measure){ 0 };
}
