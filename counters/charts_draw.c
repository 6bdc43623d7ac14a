/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers go to charts.dat, the orders to charts.gnuplot, so that whoever wants other pictures
 * has both.
 */
#include "charts_data.h"

#include "../probe/base/gnuplot.h"

#include <errno.h>

/* ---- charts.dat ---- */

/* A bin is a step from its start to its end. */
static void put_step(FILE *out, const struct nc_chart_bin *bin, const double values[3])
{
	double ends[2] = { (double)bin->start_ns / 1e9, (double)bin->end_ns / 1e9 };

	for (unsigned i = 0; i < 2; i++)
		fprintf(out, "%.9g %.9g %.9g %.9g\n", ends[i], values[0], values[1], values[2]);
}

static void put_curve(FILE *out, const struct nc_charts *charts, const struct nc_chart_curve *curve)
{
	bool has_any = false;
	bool is_lifted = false;

	for (size_t i = 0; i < charts->bin_count; i++) {
		const struct nc_chart_cell *cell = &curve->cells[i];
		double mean;

		if (cell->known_ns == 0) {
			is_lifted = has_any;
			continue;
		}
		/* An empty line lifts the pen. */
		if (is_lifted)
			fputc('\n', out);
		mean = cell->amount * 1e9 / (double)cell->known_ns;
		put_step(out, &charts->bins[i], (const double[]){ mean, cell->least, cell->most });
		has_any = true;
		is_lifted = false;
	}
	if (!has_any)
		fputs("0 NaN NaN NaN\n", out);
}

static void put_coverage(FILE *out, const struct nc_charts *charts,
                         const struct nc_chart_curve *curve)
{
	for (size_t i = 0; i < charts->bin_count; i++) {
		const struct nc_chart_bin *bin = &charts->bins[i];
		double share = curve->cells[i].covered_ns / (double)(bin->end_ns - bin->start_ns);

		put_step(out, bin, (const double[]){ share, share, share });
	}
}

static bool is_gap(const struct nc_charts *charts, const struct nc_chart_curve *curve, size_t bin)
{
	return bin < charts->bin_count && curve->cells[bin].known_ns == 0;
}

bool nc_charts_has_gaps(const struct nc_charts *charts, const struct nc_chart_curve *curve)
{
	size_t bin = 0;

	while (bin < charts->bin_count && !is_gap(charts, curve, bin))
		bin++;
	return bin < charts->bin_count;
}

/* Each gap as a line from its start to its end. */
static void put_gaps(FILE *out, const struct nc_charts *charts, const struct nc_chart_curve *curve)
{
	if (!nc_charts_has_gaps(charts, curve))
		fputs("0\n", out);
	for (size_t i = 0; i < charts->bin_count; i++) {
		if (!is_gap(charts, curve, i))
			continue;
		fprintf(out, "%.9g\n", (double)charts->bins[i].start_ns / 1e9);
		while (is_gap(charts, curve, i + 1))
			i++;
		fprintf(out, "%.9g\n\n", (double)charts->bins[i].end_ns / 1e9);
	}
}

static void put_name(FILE *out, const struct nc_series *series)
{
	if (series->has_socket)
		fprintf(out, "# socket %u", series->socket);
	else
		fprintf(out, "# node %u", series->node);
	fprintf(out, ", %s", nc_class_name(series->what));
}

/* Three times as many blocks as there are curves: what was counted, coverage, gaps. */
static void put_data(FILE *out, const void *data)
{
	const struct nc_charts *charts = data;

	fputs("# seconds, mean, least and greatest per second; a bin is two lines, a gap is empty\n",
	      out);
	for (size_t i = 0; i < charts->curve_count; i++) {
		put_name(out, charts->curves[i].series);
		fprintf(out, ", %s/s\n", nc_class_unit(charts->curves[i].series->what));
		put_curve(out, charts, &charts->curves[i]);
		fputs("\n\n", out);
	}
	for (size_t i = 0; i < charts->curve_count; i++) {
		put_name(out, charts->curves[i].series);
		fputs(", coverage\n", out);
		put_coverage(out, charts, &charts->curves[i]);
		fputs("\n\n", out);
	}
	for (size_t i = 0; i < charts->curve_count; i++) {
		put_name(out, charts->curves[i].series);
		fputs(", when it is unknown\n", out);
		put_gaps(out, charts, &charts->curves[i]);
		fputs("\n\n", out);
	}
}

int nc_charts_draw(const struct nc_charts *charts, const char *directory, struct np_error *err)
{
	int rc;

	if (charts->bin_count == 0 || charts->curve_count == 0)
		return np_error_set(err, ENODATA, "charts: no interval was counted");
	for (unsigned i = 0; i < nc_charts_picture_count; i++)
		np_gnuplot_remove(directory, nc_charts_pictures[i].file);
	np_gnuplot_remove(directory, NC_CHARTS_COVERAGE);
	rc = np_gnuplot_write(directory, NC_CHARTS_DATA, put_data, charts, err);
	if (rc == 0)
		rc = np_gnuplot_write(directory, NC_CHARTS_SCRIPT, nc_charts_put_script, charts,
		                      err);
	return rc < 0 ? rc : np_gnuplot_run(directory, NC_CHARTS_SCRIPT, err);
}
