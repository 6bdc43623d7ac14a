/* SPDX-License-Identifier: BSD-3-Clause */
#include "charts_data.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct nc_chart_picture nc_charts_pictures[] = {
	{ "memory", "Memory bandwidth, all transfers",
	  NC_CLASS_BIT(NC_CLASS_MEMORY_READ) | NC_CLASS_BIT(NC_CLASS_MEMORY_WRITE) |
	          NC_CLASS_BIT(NC_CLASS_MEMORY_ANY) },
	{ "interconnect", "Interconnect, data over all links of a socket",
	  NC_CLASS_BIT(NC_CLASS_INTERCONNECT_OUT) | NC_CLASS_BIT(NC_CLASS_INTERCONNECT_IN) },
	{ "home", "Requests for a socket's memory, by who asked", NC_CLASSES_HOME },
	{ "loads", "Loads that missed all caches", NC_CLASSES_LOADS },
	{ "cpu_memory", "Memory bandwidth of CPUs, without DMA",
	  NC_CLASS_BIT(NC_CLASS_CPU_MEMORY_TOTAL) | NC_CLASS_BIT(NC_CLASS_CPU_MEMORY_LOCAL) |
	          NC_CLASS_BIT(NC_CLASS_CPU_MEMORY_REMOTE) },
	{ "pages", "Page allocations, by where the asking CPU was",
	  NC_CLASS_BIT(NC_CLASS_PAGES_LOCAL) | NC_CLASS_BIT(NC_CLASS_PAGES_REMOTE) },
	{ "other", "Other events", NC_CLASS_BIT(NC_CLASS_OTHER) },
};

const unsigned nc_charts_picture_count = sizeof(nc_charts_pictures) / sizeof(nc_charts_pictures[0]);

bool nc_charts_same_panel(const struct nc_series *a, const struct nc_series *b)
{
	if (a->has_socket != b->has_socket)
		return false;
	return a->has_socket ? a->socket == b->socket : a->node == b->node;
}

/* The picture of a class; nc_charts_picture_count when it is in none. */
static unsigned picture_of(enum nc_class what)
{
	unsigned i = 0;

	while (i < nc_charts_picture_count && !(nc_charts_pictures[i].classes & NC_CLASS_BIT(what)))
		i++;
	return i;
}

static size_t find_curve(const struct nc_charts *charts, const struct nc_series *series)
{
	size_t i = 0;

	for (; i < charts->curve_count; i++) {
		const struct nc_series *first = charts->curves[i].series;

		if (first->what == series->what && nc_charts_same_panel(first, series) &&
		    strcmp(first->name, series->name) == 0)
			break;
	}
	return i;
}

static void add_curves(struct nc_charts *charts)
{
	const struct nc_rows_about *about = charts->about;

	for (size_t i = 0; i < about->series_count; i++) {
		const struct nc_series *series = &about->series[i];
		unsigned picture = picture_of(series->what);

		charts->curve_of[i] = SIZE_MAX;
		if (picture == nc_charts_picture_count)
			continue;
		charts->curve_of[i] = find_curve(charts, series);
		if (charts->curve_of[i] < charts->curve_count)
			continue;
		charts->curves[charts->curve_count].series = series;
		charts->curves[charts->curve_count].chart = picture;
		charts->curve_count++;
	}
}

int nc_charts_create(const struct nc_rows_about *about, struct nc_charts **ret,
                     struct np_error *err)
{
	struct nc_charts *charts = calloc(1, sizeof(*charts));

	if (charts) {
		charts->about = about;
		charts->samples_per_bin = 1;
		charts->curves = calloc(about->series_count + 1, sizeof(*charts->curves));
		charts->curve_of = calloc(about->series_count + 1, sizeof(*charts->curve_of));
	}
	if (!charts || !charts->curves || !charts->curve_of) {
		nc_charts_free(charts);
		return np_error_set(err, ENOMEM, "charts: no memory");
	}
	add_curves(charts);
	*ret = charts;
	return 0;
}

void nc_charts_free(struct nc_charts *charts)
{
	if (!charts)
		return;
	free(charts->curve_of);
	free(charts->curves);
	free(charts);
}

static void merge_cell(struct nc_chart_cell *into, const struct nc_chart_cell *cell)
{
	if (cell->known_ns > 0) {
		bool is_first = into->known_ns == 0;

		into->least = is_first ? cell->least : fmin(into->least, cell->least);
		into->most = is_first ? cell->most : fmax(into->most, cell->most);
	}
	into->amount += cell->amount;
	into->known_ns += cell->known_ns;
	into->covered_ns += cell->covered_ns;
}

/* All bins are used: two become one. */
static void double_bins(struct nc_charts *charts)
{
	const struct nc_chart_cell empty = { 0 };

	for (size_t bin = 0; bin < NC_CHARTS_BINS / 2; bin++) {
		charts->bins[bin].start_ns = charts->bins[2 * bin].start_ns;
		charts->bins[bin].end_ns = charts->bins[2 * bin + 1].end_ns;
	}
	for (size_t i = 0; i < charts->curve_count; i++) {
		struct nc_chart_cell *cells = charts->curves[i].cells;

		for (size_t bin = 0; bin < NC_CHARTS_BINS / 2; bin++) {
			cells[bin] = cells[2 * bin];
			merge_cell(&cells[bin], &cells[2 * bin + 1]);
		}
		for (size_t bin = NC_CHARTS_BINS / 2; bin < NC_CHARTS_BINS; bin++)
			cells[bin] = empty;
	}
	charts->bin_count = NC_CHARTS_BINS / 2;
	charts->samples_per_bin *= 2;
}

/* Makes room for one more sample in the last bin. */
static void extend_bins(struct nc_charts *charts, const struct nc_sample *sample)
{
	if (charts->bin_count == 0 || charts->samples_in_last == charts->samples_per_bin) {
		if (charts->bin_count == NC_CHARTS_BINS)
			double_bins(charts);
		charts->bins[charts->bin_count++].start_ns =
			sample->elapsed_ns - sample->interval_ns;
		charts->samples_in_last = 0;
	}
	charts->bins[charts->bin_count - 1].end_ns = sample->elapsed_ns;
	charts->samples_in_last++;
}

/* The curve's value in one sample: all its series must be known. */
static void add_to_curve(struct nc_charts *charts, size_t index, const struct nc_sample *sample)
{
	struct nc_chart_curve *curve = &charts->curves[index];
	double length_ns = (double)sample->interval_ns;
	struct nc_chart_cell cell = { 0 };
	double coverage = 1;
	bool is_known = true;

	for (size_t i = 0; i < charts->about->series_count; i++) {
		const struct nc_value *value = &sample->values[i];

		if (charts->curve_of[i] != index)
			continue;
		is_known = is_known && value->is_known;
		coverage = fmin(coverage, value->coverage);
		cell.amount += (double)value->delta;
	}
	cell.covered_ns = coverage * length_ns;
	if (is_known) {
		cell.known_ns = sample->interval_ns;
		cell.least = cell.most = cell.amount * 1e9 / length_ns;
	} else {
		cell.amount = 0;
	}
	if (coverage < 1)
		curve->was_partly_covered = true;
	merge_cell(&curve->cells[charts->bin_count - 1], &cell);
}

void nc_charts_add(struct nc_charts *charts, const struct nc_sample *sample)
{
	if (sample->interval_ns == 0 || sample->interval_ns > sample->elapsed_ns)
		return;
	if (charts->bin_count == 0)
		charts->start_time_ns = sample->time_ns - (int64_t)sample->elapsed_ns;
	extend_bins(charts, sample);
	for (size_t i = 0; i < charts->curve_count; i++)
		add_to_curve(charts, i, sample);
}
