/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The orders for gnuplot: one picture for each kind of thing that was counted, in it one panel for
 * each socket, all to the same scale.
 */
#include "charts_data.h"

#include "../probe/base/gnuplot.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
	COLUMN_WIDTH = 1200,
	TWO_COLUMNS_WIDTH = 1600,
	PANEL_HEIGHT = 230,
	TITLE_HEIGHT = 80,
	KEY_ENTRIES_MAX = 6
};

/* Up to four panels stand one above the other, more in two columns. */
enum { PANELS_IN_A_COLUMN = 4 };

/* A peak that is many times what was reached is told and not drawn: it would flatten the curves. */
#define PEAK_ROOM 4

struct unit {
	double divisor;
	const char *text;
};

static const struct unit byte_units[] = {
	{ 1e9, "GB/s" }, { 1e6, "MB/s" }, { 1e3, "kB/s" }, { 1, "bytes/s" }
};
static const struct unit count_units[] = {
	{ 1e9, "10^9 " }, { 1e6, "10^6 " }, { 1e3, "10^3 " }, { 1, "" }
};
static const struct unit time_units[] = { { 3600, "hours" }, { 60, "minutes" }, { 1, "seconds" } };

static const char *const colours[] = { "#1f6fb4", "#d95f02", "#2a9d4a", "#8e44ad",
	                               "#b8860b", "#17a2b8", "#c2185b", "#6d4c41" };

struct view {
	const struct nc_charts *charts;
	const struct nc_chart_picture *picture; /* NULL = coverage, of all curves */
	const struct unit *time;
	const struct unit *unit;
	double y_max; /* in @unit */
};

/* The first that the value reaches a few of; else the smallest. */
static const struct unit *fitting_unit(const struct unit *units, size_t count, double value,
                                       double least)
{
	size_t i = 0;

	while (i + 1 < count && value < least * units[i].divisor)
		i++;
	return &units[i];
}

static bool is_shown(const struct view *view, const struct nc_chart_curve *curve)
{
	return !view->picture || view->picture == &nc_charts_pictures[curve->chart];
}

static double end_s(const struct nc_charts *charts)
{
	return (double)charts->bins[charts->bin_count - 1].end_ns / 1e9;
}

typedef bool peak_of(const struct nc_peaks *peaks, size_t index, double *ret_bytes_per_s);

static const struct {
	peak_of *peak;
	const char *name;
	const char *dashes;
	const char *look;
} kinds[2] = { { nc_peaks_nominal, "nominal", "2", "dashed" },
	       { nc_peaks_measured, "measured", "4", "dash-dotted" } };

/* The peak of all links behind a curve; false unless it is known of each. */
static bool sum_peaks(const struct nc_charts *charts, const struct nc_chart_curve *curve,
                      peak_of *peak, double *ret)
{
	size_t index = (size_t)(curve - charts->curves);
	double sum = 0;

	if (!charts->about->peaks)
		return false;
	for (size_t i = 0; i < charts->about->series_count; i++) {
		double one;

		if (charts->curve_of[i] != index)
			continue;
		if (!peak(charts->about->peaks, i, &one))
			return false;
		sum += one;
	}
	*ret = sum;
	return sum > 0;
}

/* The peaks that a panel shows, in its unit; 0 = unknown. */
static void find_peaks(const struct view *view, const struct nc_chart_curve *curve,
                       double ret_peaks[2])
{
	for (unsigned i = 0; i < 2; i++) {
		double value;

		ret_peaks[i] = 0;
		if (view->picture && sum_peaks(view->charts, curve, kinds[i].peak, &value))
			ret_peaks[i] = value / view->unit->divisor;
	}
}

/* What the lines are, beside the panel's name: on the lines it would hide the curves. */
static void put_peak_label(FILE *out, const struct view *view, const double peaks[2])
{
	char text[160] = "";

	for (unsigned i = 0; i < 2; i++) {
		size_t used = strlen(text);

		if (peaks[i] > 0)
			snprintf(text + used, sizeof(text) - used, "%s%s peak %.4g %s (%s)",
			         used > 0 ? ", " : "", kinds[i].name, peaks[i], view->unit->text,
			         peaks[i] <= view->y_max ? kinds[i].look : "above");
	}
	fputs("set label 2 ", out);
	np_gnuplot_quote(out, text);
	fputs(" at graph 0, graph 1 left offset 12,0.8 font ',10'\n", out);
}

static void put_peak_lines(FILE *out, const struct view *view, const double peaks[2])
{
	for (unsigned i = 0; i < 2; i++)
		if (peaks[i] > 0 && peaks[i] <= view->y_max)
			fprintf(out,
			        ", \\\n  %.9g with lines linewidth 1 dashtype %s linecolor "
			        "'#555555' notitle",
			        peaks[i], kinds[i].dashes);
}

/* "read" in the picture of memory, "memory read" in that of coverage, or the user's event's name. */
static void put_curve_title(FILE *out, const struct view *view, const struct nc_chart_curve *curve)
{
	const char *name = nc_class_name(curve->series->what);
	char text[64];

	if (curve->series->what == NC_CLASS_OTHER) {
		np_gnuplot_quote(out, np_error_quote(curve->series->name, text, sizeof(text)));
		return;
	}
	if (view->picture && strncmp(name, view->picture->file, strlen(view->picture->file)) == 0)
		name += strlen(view->picture->file) + 1;
	snprintf(text, sizeof(text), "%s", name);
	for (char *c = text; *c; c++)
		if (*c == '_')
			*c = ' ';
	np_gnuplot_quote(out, text);
}

/* Grey behind a panel's curves, from bottom to top, where one of them is unknown. */
static void put_panel_gaps(FILE *out, const struct view *view, const struct nc_chart_curve *curve)
{
	const struct nc_charts *charts = view->charts;

	fprintf(out,
	        "'" NC_CHARTS_DATA
	        "' index %zu using ($1/%g):(%.9g) with filledcurves y1=0 fillstyle solid "
	        "noborder fillcolor '#e4e4e4' notitle, \\\n  ",
	        2 * charts->curve_count + (size_t)(curve - charts->curves), view->time->divisor,
	        view->y_max);
}

static void put_panel_curve(FILE *out, const struct view *view, const struct nc_chart_curve *curve,
                            unsigned number)
{
	const struct nc_charts *charts = view->charts;
	size_t index = (size_t)(curve - charts->curves);
	const char *colour = colours[number % (sizeof(colours) / sizeof(colours[0]))];
	double divisor = view->unit->divisor;

	if (!view->picture)
		index += charts->curve_count;
	if (number > 0)
		fputs(", \\\n  ", out);
	if (view->picture && charts->samples_per_bin > 1)
		fprintf(out,
		        "'" NC_CHARTS_DATA
		        "' index %zu using ($1/%g):($3/%g):($4/%g) with filledcurves "
		        "fillstyle transparent solid 0.18 noborder fillcolor '%s' notitle, \\\n  ",
		        index, view->time->divisor, divisor, divisor, colour);
	fprintf(out,
	        "'" NC_CHARTS_DATA "' index %zu using ($1/%g):($2/%g) with lines linewidth 1.5 ",
	        index, view->time->divisor, divisor);
	fprintf(out, "linecolor '%s' title ", colour);
	put_curve_title(out, view, curve);
}

/* The next curve of a panel behind @curve, or the first with NULL; NULL = no more. */
static const struct nc_chart_curve *next_of_panel(const struct view *view,
                                                  const struct nc_chart_curve *panel,
                                                  const struct nc_chart_curve *curve)
{
	const struct nc_charts *charts = view->charts;
	const struct nc_chart_curve *end = charts->curves + charts->curve_count;

	for (curve = curve ? curve + 1 : charts->curves; curve < end; curve++)
		if (is_shown(view, curve) && nc_charts_same_panel(curve->series, panel->series))
			return curve;
	return NULL;
}

static void put_panel(FILE *out, const struct view *view, const struct nc_chart_curve *first)
{
	const struct nc_chart_curve *curve = NULL;
	double peaks[2];
	unsigned count = 0;

	while ((curve = next_of_panel(view, first, curve)))
		count++;
	fprintf(out, "set label 1 '%s %u' at graph 0, graph 1 left offset 0,0.8 font ',13'\n",
	        first->series->has_socket ? "socket" : "node",
	        first->series->has_socket ? first->series->socket : first->series->node);
	fputs(count > KEY_ENTRIES_MAX
	              ? "set rmargin 26; set key outside right top vertical font ',9'\n"
	              : "set rmargin 3; set key at graph 1, graph 1.01 right bottom horizontal "
	                "maxrows 1 samplen 2 font ',11'\n",
	      out);
	find_peaks(view, first, peaks);
	put_peak_label(out, view, peaks);
	fputs("plot \\\n  ", out);
	while (view->picture && (curve = next_of_panel(view, first, curve)))
		if (nc_charts_has_gaps(view->charts, curve))
			put_panel_gaps(out, view, curve);
	curve = NULL;
	count = 0;
	while ((curve = next_of_panel(view, first, curve)))
		put_panel_curve(out, view, curve, count++);
	put_peak_lines(out, view, peaks);
	fputs("\n", out);
}

/* Whether the curve is the first of its panel. */
static bool begins_panel(const struct view *view, const struct nc_chart_curve *curve)
{
	const struct nc_chart_curve *curves = view->charts->curves;

	for (const struct nc_chart_curve *other = curves; other < curve; other++)
		if (is_shown(view, other) && nc_charts_same_panel(other->series, curve->series))
			return false;
	return is_shown(view, curve);
}

static size_t count_panels(const struct view *view)
{
	size_t count = 0;

	for (size_t i = 0; i < view->charts->curve_count; i++)
		count += begins_panel(view, &view->charts->curves[i]);
	return count;
}

static bool any_gaps(const struct view *view)
{
	const struct nc_charts *charts = view->charts;

	for (size_t i = 0; view->picture && i < charts->curve_count; i++)
		if (is_shown(view, &charts->curves[i]) &&
		    nc_charts_has_gaps(charts, &charts->curves[i]))
			return true;
	return false;
}

/* gnuplot's variable @name. */
static void put_variable(FILE *out, const char *name, const char *text)
{
	fprintf(out, "%s = ", name);
	np_gnuplot_quote(out, text);
	fputc('\n', out);
}

/* What; of which host, processor and source; and when, and what a step of the line is. */
static void put_titles(FILE *out, const struct view *view)
{
	const struct nc_charts *charts = view->charts;
	const struct nc_rows_about *about = charts->about;
	time_t seconds = (time_t)(charts->start_time_ns / 1000000000);
	const char *cpu = about->family ? about->family->title : about->cpu;
	char step[96] = "";
	char start[64] = "";
	char text[1024];
	struct tm local;

	put_variable(out, "title",
	             view->picture ? view->picture->title
	                           : "Coverage: share of the time that was counted");
	snprintf(text, sizeof(text), "%s%s%s, source %s",
	         *about->host ? about->host : "host unknown", *cpu ? ", " : "", cpu,
	         nc_source_name(about->source));
	put_variable(out, "of", text);
	if (localtime_r(&seconds, &local))
		strftime(start, sizeof(start), "%Y-%m-%d %H:%M:%S %z", &local);
	if (charts->samples_per_bin > 1)
		snprintf(step, sizeof(step), "; line: mean of %u intervals, band: least to most",
		         charts->samples_per_bin);
	snprintf(text, sizeof(text), "from %s, every %u ms%s%s", start, about->interval_ms,
	         view->picture ? step : "", any_gaps(view) ? "; grey: unknown" : "");
	put_variable(out, "when", text);
}

static void put_picture(FILE *out, const struct view *view, const char *type)
{
	const char *file = view->picture ? view->picture->file : NC_CHARTS_COVERAGE;
	size_t panels = count_panels(view);
	size_t across = panels > PANELS_IN_A_COLUMN ? 2 : 1;
	size_t down = (panels + across - 1) / across;

	fprintf(out, "set terminal @%s size %d,%zu noenhanced font 'sans,12'\n", type,
	        across > 1 ? TWO_COLUMNS_WIDTH : COLUMN_WIDTH,
	        TITLE_HEIGHT + (down < 2 ? 2 : down) * PANEL_HEIGHT);
	fprintf(out, "set output '%s.%s'\n", file, type);
	fprintf(out,
	        "set multiplot layout %zu,%zu title title . \"\\n\" . of . \"\\n\" . when font 'sans,12'\n",
	        down, across);
	for (size_t i = 0, panel = 0; i < view->charts->curve_count; i++) {
		if (!begins_panel(view, &view->charts->curves[i]))
			continue;
		/* The lowest of each column names the unit of time. */
		fputs(++panel + across > panels ? "set bmargin 3\n" : "set bmargin 1.6\n", out);
		fprintf(out, "set xlabel '%s' offset 0,0.5\n",
		        panel + across > panels ? view->time->text : "");
		put_panel(out, view, &view->charts->curves[i]);
	}
	fputs("unset multiplot\nset output\n\n", out);
}

static double greatest(const struct view *view)
{
	const struct nc_charts *charts = view->charts;
	double most = 0;

	for (size_t i = 0; i < charts->curve_count; i++)
		for (size_t bin = 0; is_shown(view, &charts->curves[i]) && bin < charts->bin_count;
		     bin++)
			if (charts->curves[i].cells[bin].known_ns > 0)
				most = fmax(most, charts->curves[i].cells[bin].most);
	return most;
}

/* The peaks that are near enough to be drawn make the picture higher. */
static double with_peaks(const struct view *view, double most)
{
	double top = most;

	for (size_t i = 0; i < view->charts->curve_count; i++)
		for (unsigned kind = 0; kind < 2; kind++) {
			const struct nc_chart_curve *curve = &view->charts->curves[i];
			double peak;

			if (is_shown(view, curve) &&
			    sum_peaks(view->charts, curve, kinds[kind].peak, &peak) &&
			    peak <= PEAK_ROOM * most)
				top = fmax(top, peak);
		}
	return top;
}

/* The unit of what a picture shows, all of whose classes have the same. */
static const char *class_unit(const struct view *view)
{
	const struct nc_chart_curve *curve = view->charts->curves;

	while (!is_shown(view, curve))
		curve++;
	return nc_class_unit(curve->series->what);
}

/* Chooses unit and height, and writes what both files of the picture have in common. */
static void put_view(FILE *out, struct view *view)
{
	static const struct unit share = { 1, "share of the time" };

	view->unit = &share;
	view->y_max = 1.05;
	fputs("set ylabel '", out);
	if (view->picture) {
		const char *name = class_unit(view);
		bool is_bytes = strcmp(name, "bytes") == 0;
		double most = greatest(view);

		view->unit = fitting_unit(is_bytes ? byte_units : count_units, 4, most, 0.5);
		view->y_max = 1.05 * with_peaks(view, most) / view->unit->divisor;
		fprintf(out, "%s%s%s'\n", view->unit->text, is_bytes ? "" : name,
		        is_bytes ? "" : " per second");
	} else {
		fprintf(out, "%s'\n", view->unit->text);
	}
	if (view->y_max <= 0)
		view->y_max = 1;
	put_titles(out, view);
	fprintf(out, "set yrange [0:%.9g]\n", view->y_max);
	put_picture(out, view, "svg");
	put_picture(out, view, "png");
}

void nc_charts_put_script(FILE *out, const void *data)
{
	const struct nc_charts *charts = data;
	struct view view = { .charts = charts,
		             .time = fitting_unit(time_units, 3, end_s(charts), 3) };
	bool is_covered = true;

	fputs("# gnuplot " NC_CHARTS_SCRIPT
	      ", in this folder, draws the pictures from " NC_CHARTS_DATA " again.\n",
	      out);
	fputs("svg = \"svg background 'white'\"\n"
	      "png = strstrt(GPVAL_TERMINALS, 'pngcairo') > 0 ? 'pngcairo' : 'png'\n"
	      "set border 3 linecolor '#333333'\n"
	      "set tics nomirror out\n"
	      "set grid linecolor '#dddddd' linetype 1 linewidth 0.5\n"
	      "set lmargin 11\nset tmargin 2.2\n"
	      "set format y '%g'\n",
	      out);
	fprintf(out, "set xrange [%.9g:%.9g]\n\n",
	        (double)charts->bins[0].start_ns / 1e9 / view.time->divisor,
	        end_s(charts) / view.time->divisor);
	for (unsigned i = 0; i < nc_charts_picture_count; i++) {
		view.picture = &nc_charts_pictures[i];
		if (count_panels(&view) > 0)
			put_view(out, &view);
	}
	for (size_t i = 0; i < charts->curve_count; i++)
		is_covered = is_covered && !charts->curves[i].was_partly_covered;
	view.picture = NULL;
	if (!is_covered)
		put_view(out, &view);
}
