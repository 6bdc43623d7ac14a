/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Charts: what is gathered of a run, short and long, and that gnuplot draws it. Without gnuplot all
 * are skipped but those of what is written for it.
 */
#include "host.h"

#include "../../../counters/charts.h"
#include "../../../counters/charts_data.h"
#include "../../../probe/base/gnuplot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INTERVAL_NS UINT64_C(100000000)

/* Two sockets with two links each; the links of a socket are one curve. */
static const struct nc_series series[] = {
	{ .what = NC_CLASS_MEMORY_READ, .name = "memory_read", .has_socket = true },
	{ .what = NC_CLASS_MEMORY_READ, .name = "memory_read", .has_socket = true, .socket = 1 },
	{ .what = NC_CLASS_INTERCONNECT_OUT,
	  .name = "interconnect_out",
	  .has_socket = true,
	  .has_link = true },
	{ .what = NC_CLASS_INTERCONNECT_OUT,
	  .name = "interconnect_out",
	  .has_socket = true,
	  .has_link = true,
	  .link = 1 },
	{ .what = NC_CLASS_INTERCONNECT_CLOCK,
	  .name = "interconnect_clock",
	  .has_socket = true,
	  .has_link = true },
	{ .what = NC_CLASS_OTHER, .name = "it's `so`", .has_socket = true },
};

enum { SERIES = sizeof(series) / sizeof(series[0]), CURVES = 4 };

static const struct nc_rows_about about = {
	.source = NC_SOURCE_UNCORE,
	.series = series,
	.series_count = SERIES,
	.counter_count = SERIES,
	.interval_ms = 100,
	.host = "host-1'; system \"touch ran\"; `touch ran`; '",
	.cpu = "a\nb\xff",
};

static struct nc_charts *charts_of(unsigned samples,
                                   void change(unsigned sample, struct nc_value *values))
{
	struct np_error err = { 0 };
	struct nc_charts *charts = NULL;

	assert_np_ok(nc_charts_create(&about, &charts, &err), &err);
	for (unsigned i = 1; i <= samples; i++) {
		struct nc_value values[SERIES];
		struct nc_sample sample = { .time_ns = 1764519513000000000,
			                    .elapsed_ns = i * INTERVAL_NS,
			                    .interval_ns = INTERVAL_NS,
			                    .values = values };

		for (unsigned k = 0; k < SERIES; k++)
			values[k] =
				(struct nc_value){ true,        UINT64_C(100) * (k + 1), 0, 1, 1,
				                   NC_NOTE_NONE };
		if (change)
			change(i, values);
		nc_charts_add(charts, &sample);
	}
	return charts;
}

static void links_of_a_socket_are_one_curve_and_clocks_none(void **state)
{
	struct nc_charts *charts = charts_of(3, NULL);

	(void)state;
	assert_number(charts->curve_count, CURVES);
	assert_number(charts->bin_count, 3);
	assert_number(charts->curves[0].cells[2].most, 1000);
	assert_number(charts->curves[1].cells[2].most, 2000);
	assert_number(charts->curves[2].cells[2].most, 3000 + 4000);
	assert_number(charts->curves[2].cells[2].amount, 300 + 400);
	assert_true(!charts->curves[2].was_partly_covered);
	nc_charts_free(charts);
}

static void rise(unsigned sample, struct nc_value *values)
{
	values[0].delta = sample;
}

static void a_long_run_takes_the_bins_of_a_short_one_and_loses_nothing(void **state)
{
	static const unsigned samples[] = { 1, 799, 800, 801, 1599, 1600, 1601, 100000 };

	(void)state;
	for (unsigned i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		struct nc_charts *charts = charts_of(samples[i], rise);
		const struct nc_chart_cell *cells = charts->curves[0].cells;
		double amount = 0;
		uint64_t known_ns = 0;

		check_case("%u samples", samples[i]);
		assert_true(charts->bin_count <= NC_CHARTS_BINS);
		assert_true(charts->bin_count >= NC_CHARTS_BINS / 2 || samples[i] < NC_CHARTS_BINS);
		for (size_t bin = 0; bin < charts->bin_count; bin++) {
			amount += cells[bin].amount;
			known_ns += cells[bin].known_ns;
			assert_true(charts->bins[bin].end_ns > charts->bins[bin].start_ns);
			assert_true(bin == 0 ||
			            charts->bins[bin].start_ns == charts->bins[bin - 1].end_ns);
		}
		assert_number(amount, (uint64_t)samples[i] * (samples[i] + 1) / 2);
		assert_number(known_ns, samples[i] * INTERVAL_NS);
		assert_number(charts->bins[charts->bin_count - 1].end_ns, samples[i] * INTERVAL_NS);
		assert_number(cells[0].least, 10);
		assert_number(cells[charts->bin_count - 1].most, 10 * samples[i]);
		nc_charts_free(charts);
	}
}

/* A link is unknown for three intervals, and multiplexed after. */
static void lose_a_link(unsigned sample, struct nc_value *values)
{
	if (sample >= 4 && sample <= 6)
		values[3] = (struct nc_value){ .note = NC_NOTE_BUSY };
	if (sample == 7)
		values[3].coverage = 0.5;
}

static void an_unknown_link_makes_the_socket_unknown_and_not_smaller(void **state)
{
	struct nc_charts *charts = charts_of(10, lose_a_link);
	const struct nc_chart_curve *curve = &charts->curves[2];

	(void)state;
	assert_number(curve->cells[2].known_ns, INTERVAL_NS);
	assert_number(curve->cells[4].known_ns, 0);
	assert_number(curve->cells[4].amount, 0);
	assert_number(curve->cells[6].covered_ns, INTERVAL_NS / 2);
	assert_true(curve->was_partly_covered);
	assert_true(nc_charts_has_gaps(charts, curve));
	assert_true(!nc_charts_has_gaps(charts, &charts->curves[0]));
	nc_charts_free(charts);
}

static void needs_gnuplot(void)
{
	struct np_error err = { 0 };

	if (np_gnuplot_check(&err) == 0)
		return;
	printf("skipped: %s\n", err.text);
	skip();
}

static bool is_there(const struct host *host, const char *name)
{
	char path[512];
	struct stat found;

	snprintf(path, sizeof(path), "%s/%s", host->dir, name);
	return stat(path, &found) == 0 && found.st_size > 0;
}

static char *draw(const struct host *host, const struct nc_charts *charts, char directory[512])
{
	struct np_error err = { 0 };
	char *text;

	snprintf(directory, 512, "%s/pictures", host->dir);
	assert_np_ok(np_gnuplot_prepare(directory, &err), &err);
	assert_np_ok(nc_charts_draw(charts, directory, &err), &err);
	assert_np_ok(np_sysroot_read(&host->root, "pictures/charts.dat", &text, &err), &err);
	return text;
}

static void pictures_are_drawn_with_gaps_where_nothing_is_known(void **state)
{
	static const char *const files[] = { "memory.svg",       "memory.png",   "interconnect.svg",
		                             "interconnect.png", "coverage.svg", "coverage.png",
		                             "other.svg",        "other.png" };
	struct nc_charts *charts;
	char directory[512];
	char name[64];
	char *data;

	needs_gnuplot();
	charts = charts_of(10, lose_a_link);
	data = draw(*state, charts, directory);
	for (unsigned i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		check_case("%s", files[i]);
		snprintf(name, sizeof(name), "pictures/%s", files[i]);
		assert_true(is_there(*state, name));
	}
	assert_has(data, "# socket 0, interconnect_out, bytes/s\n0 7000 7000 7000\n");
	assert_has(data, "0.3 7000 7000 7000\n\n0.6 7000 7000 7000\n");
	assert_has(data, "# socket 0, interconnect_out, when it is unknown\n0.3\n0.6\n");
	/* What stands in a name is never run. */
	assert_true(!is_there(*state, "pictures/ran"));
	free(data);
	nc_charts_free(charts);
}

static void what_was_counted_all_the_time_needs_no_picture_of_that(void **state)
{
	struct nc_charts *charts;
	char directory[512];

	needs_gnuplot();
	charts = charts_of(2000, NULL);
	free(draw(*state, charts, directory));
	assert_true(is_there(*state, "pictures/memory.svg"));
	assert_true(!is_there(*state, "pictures/coverage.svg"));
	nc_charts_free(charts);
}

static void all_unknown(unsigned sample, struct nc_value *values)
{
	(void)sample;
	for (unsigned i = 0; i < SERIES; i++)
		values[i] = (struct nc_value){ .note = NC_NOTE_GONE };
}

static void a_run_of_which_nothing_is_known_is_drawn_too(void **state)
{
	struct nc_charts *charts;
	char directory[512];

	needs_gnuplot();
	charts = charts_of(5, all_unknown);
	free(draw(*state, charts, directory));
	assert_true(is_there(*state, "pictures/memory.png"));
	nc_charts_free(charts);
}

static void a_run_without_an_interval_has_no_charts(void **state)
{
	struct np_error err = { 0 };
	struct nc_charts *charts = charts_of(0, NULL);

	assert_fails(nc_charts_draw(charts, ((const struct host *)*state)->dir, &err), -ENODATA,
	             &err, "charts: no interval was counted");
	nc_charts_free(charts);
	nc_charts_free(NULL);
}

static void without_gnuplot_the_package_is_named(void **state)
{
	struct np_error err = { 0 };
	char path[4096];

	snprintf(path, sizeof(path), "%s", getenv("PATH") ? getenv("PATH") : "");
	setenv("PATH", ((const struct host *)*state)->dir, 1);
	assert_fails(np_gnuplot_prepare("unused", &err), -ENOENT, &err,
	             "gnuplot is not in PATH, charts need it: install gnuplot-nox");
	setenv("PATH", path, 1);
	assert_number(access("unused", F_OK), -1);
}

static void a_directory_that_cannot_be_is_named(void **state)
{
	const struct host *host = *state;
	struct np_error err = { 0 };
	char path[512];

	needs_gnuplot();
	snprintf(path, sizeof(path), "%s/missing/pictures", host->dir);
	assert_fails(np_gnuplot_prepare(path, &err), -ENOENT, &err, "missing/pictures: No such");
	host_write(host, "file", "");
	snprintf(path, sizeof(path), "%s/file", host->dir);
	err = (struct np_error){ 0 };
	assert_fails(np_gnuplot_prepare(path, &err), -ENOTDIR, &err, "file: Not a directory");
}

static void gnuplots_complaint_is_told(void **state)
{
	const struct host *host = *state;
	struct np_error err = { 0 };

	needs_gnuplot();
	host_write(host, "bad.gnuplot", "set nonsense\n");
	assert_fails(np_gnuplot_run(host->dir, "bad.gnuplot", &err), -EIO, &err,
	             "gnuplot: exit status");
	err = (struct np_error){ 0 };
	assert_fails(np_gnuplot_run(host->dir, "missing.gnuplot", &err), -EIO, &err,
	             "missing.gnuplot");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_of_a_socket_are_one_curve_and_clocks_none),
		cmocka_unit_test(a_long_run_takes_the_bins_of_a_short_one_and_loses_nothing),
		cmocka_unit_test(an_unknown_link_makes_the_socket_unknown_and_not_smaller),
		host_test(pictures_are_drawn_with_gaps_where_nothing_is_known),
		host_test(what_was_counted_all_the_time_needs_no_picture_of_that),
		host_test(a_run_of_which_nothing_is_known_is_drawn_too),
		host_test(a_run_without_an_interval_has_no_charts),
		host_test(without_gnuplot_the_package_is_named),
		host_test(a_directory_that_cannot_be_is_named),
		host_test(gnuplots_complaint_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
