/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The orders for gnuplot. Its own tics of a logarithmic axis are whole decades, of which two distributions
 * that are worth a picture rarely span one; so all tics are told to it.
 */
#include "figures.h"
#include "report_words.h"

#include "../../probe/base/gnuplot.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1100, HEIGHT = 680, TEXT_SIZE = 256, LABEL_SIZE = 32 };

/* Blue and vermilion, which everybody can tell apart; b is dashed besides, for paper. */
#define COLOUR_A "#0072B2"
#define COLOUR_B "#D55E00"
#define STYLE_A "linewidth 2 linecolor '" COLOUR_A "' dashtype 1"
#define STYLE_B "linewidth 2 linecolor '" COLOUR_B "' dashtype '-'"

/* From this ratio of its ends on an axis of latencies over time, or of ratios, is logarithmic. */
#define LOG_FROM 5.0

/* From here on even tics would crowd at the upper end of a logarithmic axis. */
#define DECADES_FROM 2.5

/* An axis is at least this wide: what is alike to within a percent shall look so. */
#define WIDTH_LEAST 1.1

struct range {
	double low;
	double high;
};

/* A picture. */
struct view {
	const struct nl_comparison *comparison;
	const struct nl_side *sides[2];
	enum nl_metric metric;
	size_t first_index; /* of its blocks in the file of data */
	char names[2][NL_NAME_TEXT_SIZE];
};

static void widen(struct range *range, double value)
{
	if (!isfinite(value) || value <= 0)
		return;
	range->low = range->low > 0 ? fmin(range->low, value) : value;
	range->high = fmax(range->high, value);
}

/* Some room at both ends, at least as much as @WIDTH_LEAST asks for. */
static void pad(struct range *range)
{
	double factor = pow(range->high / range->low, 0.04);

	if (range->high / range->low * factor * factor < WIDTH_LEAST)
		factor = sqrt(WIDTH_LEAST * range->low / range->high);
	range->low /= factor;
	range->high *= factor;
}

/* ---- tics ---- */

typedef const char *label_of(double value, char buf[LABEL_SIZE]);

/* @us as "20 us", "1.5 ms". */
static const char *latency_label(double us, char buf[LABEL_SIZE])
{
	static const struct {
		double us;
		const char *unit;
	} units[] = { { 1e6, "s" }, { 1e3, "ms" }, { 1, "us" }, { 1e-3, "ns" } };
	size_t i = 0;

	while (i + 1 < sizeof(units) / sizeof(units[0]) && us < units[i].us * 0.9999)
		i++;
	snprintf(buf, LABEL_SIZE, "%.5g %s", us / units[i].us, units[i].unit);
	return buf;
}

static const char *plain_label(double value, char buf[LABEL_SIZE])
{
	snprintf(buf, LABEL_SIZE, "%.5g", value);
	return buf;
}

static void put_tic(FILE *out, double value, const char *label, bool *has_any)
{
	fputs(*has_any ? ", " : "", out);
	np_gnuplot_quote(out, label);
	fprintf(out, " %.9g%s", value, *label ? "" : " 1");
	*has_any = true;
}

/* The first of 1, 2, 5, 10 ... times a power of ten that is not less. */
static double round_up(double value)
{
	double decade = pow(10, floor(log10(value)));
	double mantissa = value / decade;

	if (mantissa <= 1)
		return decade;
	if (mantissa <= 2)
		return 2 * decade;
	return mantissa <= 5 ? 5 * decade : 10 * decade;
}

static void put_even_tics(FILE *out, const struct range *range, label_of *label, bool *has_any)
{
	double step = round_up((range->high - range->low) / 8);
	char text[LABEL_SIZE];

	for (double i = ceil(range->low / step); i * step <= range->high; i++)
		put_tic(out, i * step, label(i * step, text), has_any);
}

/* Of a power of ten: those with a label where less than so many decades are shown; small ones else. */
static const struct {
	double mantissa;
	double decades; /* 0 = never */
} mantissas[] = { { 1, HUGE_VAL }, { 1.5, 0.9 }, { 2, 3 },   { 3, 1.2 }, { 4, 0.9 },
	          { 5, 3 },        { 6, 0 },     { 7, 1.2 }, { 8, 0 },   { 9, 0 } };

static void put_decade_tics(FILE *out, const struct range *range, label_of *label, bool *has_any)
{
	double decades = log10(range->high / range->low);
	int exponent = (int)floor(log10(range->low));
	char text[LABEL_SIZE];

	for (; pow(10, exponent) <= range->high; exponent++)
		for (unsigned i = 0; i < sizeof(mantissas) / sizeof(mantissas[0]); i++) {
			double value = mantissas[i].mantissa * pow(10, exponent);
			bool has_label = decades < mantissas[i].decades;

			if (value < range->low || value > range->high)
				continue;
			if (has_label || mantissas[i].mantissa >= 2)
				put_tic(out, value, has_label ? label(value, text) : "", has_any);
		}
}

/* @axis is "x" or "y". */
static void put_axis(FILE *out, const char *axis, const struct range *range, label_of *label,
                     bool is_log)
{
	bool has_any = false;

	fprintf(out, "%s logscale %s\nset %srange [%.9g:%.9g]\nset %stics (",
	        is_log ? "set" : "unset", axis, axis, range->low, range->high, axis);
	if (!is_log || range->high / range->low < DECADES_FROM)
		put_even_tics(out, range, label, &has_any);
	else
		put_decade_tics(out, range, label, &has_any);
	fputs(")\n", out);
}

/* Of shares, by number of nines. */
static void put_nines_axis(FILE *out, const char *axis, bool has_percent)
{
	static const char *const shares[] = { "90", "99", "99.9", "99.99", "99.999" };

	fprintf(out, "unset logscale %s\nset %srange [0:%g]\nset %stics (", axis, axis,
	        NL_NINES_MAX, axis);
	/* A label of a tic is a format. */
	fprintf(out, "%s %.9g", has_percent ? "'0 %%' 0, '50 %%'" : "'least' 0, 'p50'",
	        nl_nines(0.5));
	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		fprintf(out, ", '%s%s%s' %u", has_percent ? "" : "p", shares[i],
		        has_percent ? " %%" : "", i + 1);
	fputs(")\n", out);
}

/* ---- what all pictures have ---- */

static void put_label(FILE *out, const char *what, const char *text)
{
	fprintf(out, "set %s ", what);
	np_gnuplot_quote(out, text);
	fputc('\n', out);
}

/* "\n" is a line's end in gnuplot's double quotes only. */
static void put_title(FILE *out, const struct view *view, const char *title, const char *note)
{
	char text[TEXT_SIZE];

	snprintf(text, sizeof(text), "%s%.64s, %s: %s",
	         view->comparison->protocol ? "" : "protocol ", nl_protocol_text(view->comparison),
	         nl_metric_label(view->metric), title);
	fputs("set title ", out);
	np_gnuplot_quote(out, text);
	fputs(" . \"\\n\" . ", out);
	np_gnuplot_quote(out, note);
	fputc('\n', out);
}

/* "'figures.dat' index 3 using " */
static void put_source(FILE *out, const struct view *view, enum nl_figure_data data)
{
	fprintf(out, "'" NL_FIGURES_DATA "' index %zu using ", view->first_index + (size_t)data);
}

/* A side's name as the title of a curve. */
static void put_name(FILE *out, const struct view *view, unsigned side)
{
	fputs(" title ", out);
	np_gnuplot_quote(out, view->names[side]);
}

typedef void put_plot(FILE *out, const struct view *view);

/* The same plot into both files. */
static void put_files(FILE *out, const struct view *view, enum nl_figure figure, put_plot *plot)
{
	static const char *const types[] = { "svg", "png" };
	char name[NL_FIGURE_NAME_SIZE];

	for (unsigned i = 0; i < 2; i++) {
		fprintf(out, "set terminal @%s size %d,%d noenhanced font 'sans,13'\n", types[i],
		        WIDTH, HEIGHT);
		fprintf(out, "set output '%s.%s'\n",
		        nl_figure_name(view->comparison, view->metric, figure, name), types[i]);
		plot(out, view);
		fputs("set output\n", out);
	}
	fputc('\n', out);
}

/* ---- distributions ---- */

static void plot_cdf(FILE *out, const struct view *view)
{
	fputs("plot ", out);
	put_source(out, view, NL_DATA_CDF);
	fputs("1:2 with lines " STYLE_A, out);
	put_name(out, view, 0);
	fputs(", \\\n  ", out);
	put_source(out, view, NL_DATA_CDF_B);
	fputs("1:2 with lines " STYLE_B, out);
	put_name(out, view, 1);
	fputc('\n', out);
}

static void put_cdf(FILE *out, const struct view *view)
{
	struct range range = { 0 };
	char note[TEXT_SIZE];

	for (unsigned side = 0; side < 2; side++) {
		unsigned count = nl_curve_length(view->comparison, view->sides[side]);

		if (count == 0)
			return;
		widen(&range, (double)view->sides[side]->curve[0] / 1e3);
		widen(&range, (double)view->sides[side]->curve[count - 1] / 1e3);
	}
	if (range.high <= 0)
		return;
	pad(&range);
	snprintf(note, sizeof(note), "%" PRIu64 " requests of each", view->comparison->samples);
	put_title(out, view, "share of requests that took at most so long", note);
	put_axis(out, "x", &range, latency_label, true);
	put_nines_axis(out, "y", true);
	put_label(out, "xlabel", "latency, logarithmic");
	put_label(out, "ylabel", "share of requests, by number of nines");
	put_files(out, view, NL_FIGURE_CDF, plot_cdf);
}

/* ---- ratio of percentiles ---- */

static bool is_endless(const struct nl_percentile *percentile)
{
	return percentile->low_ns == 0 || percentile->high_ns == 0;
}

static bool any_endless(const struct view *view)
{
	for (unsigned i = 0; i < 2 * NL_PERCENTILE_COUNT; i++)
		if (is_endless(&view->sides[i % 2]->percentiles[i / 2]))
			return true;
	return false;
}

static void plot_ratio(FILE *out, const struct view *view)
{
	fputs("plot 1 with lines linewidth 1.5 linecolor '#333333' dashtype 3 notitle, \\\n  ",
	      out);
	put_source(out, view, NL_DATA_RATIO);
	fputs("1:2 with lines linewidth 2 linecolor '" COLOUR_A "' title 'all percentiles', \\\n  ",
	      out);
	put_source(out, view, NL_DATA_POINTS);
	fputs("1:2:3:4 with yerrorbars linewidth 2 linecolor '" COLOUR_B
	      "' pointtype 7 pointsize 1 title 'with interval', \\\n  ",
	      out);
	/* Where an interval has no end there is no bar, and the point is hollow. */
	put_source(out, view, NL_DATA_POINTS);
	fprintf(out,
	        "1:($3 == $3 ? NaN : $2) with points linewidth 2 linecolor '" COLOUR_B
	        "' pointtype 6 pointsize 1.2 title '%s'\n",
	        any_endless(view) ? "too few samples for one" : "");
}

/* Of what is drawn, as in figures.c, and of 1. */
static struct range ratio_range(const struct view *view)
{
	const struct nl_side *a = view->sides[0];
	const struct nl_side *b = view->sides[1];
	unsigned counts[2] = { nl_curve_length(view->comparison, a),
		               nl_curve_length(view->comparison, b) };
	struct range range = { 1, 1 };

	for (unsigned i = 0; i < counts[0] && i < counts[1]; i++)
		if (a->curve[i] > 0)
			widen(&range, (double)b->curve[i] / (double)a->curve[i]);
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		const struct nl_percentile *p = &a->percentiles[i];
		const struct nl_percentile *q = &b->percentiles[i];

		if (p->ns > 0)
			widen(&range, (double)q->ns / (double)p->ns);
		if (!is_endless(p) && !is_endless(q)) {
			widen(&range, (double)q->low_ns / (double)p->high_ns);
			widen(&range, (double)q->high_ns / (double)p->low_ns);
		}
	}
	return range;
}

static void put_ratio(FILE *out, const struct view *view)
{
	struct range range = ratio_range(view);
	char text[TEXT_SIZE];
	bool is_log;

	pad(&range);
	is_log = range.high / range.low >= LOG_FROM;
	snprintf(
		text, sizeof(text),
		"above 1 %s is faster; bars: what the %g %% intervals of both allow, requests taken "
		"for independent",
		view->names[0], 100 * view->comparison->options.level);
	put_title(out, view, "ratio of percentiles", text);
	put_nines_axis(out, "x", false);
	put_axis(out, "y", &range, plain_label, is_log);
	put_label(out, "xlabel", "percentile, by number of nines");
	snprintf(text, sizeof(text), "%s / %s%s", view->names[1], view->names[0],
	         is_log ? ", logarithmic" : "");
	put_label(out, "ylabel", text);
	put_files(out, view, NL_FIGURE_RATIO, plot_ratio);
}

/* ---- blocks over time ---- */

static const struct {
	double s;
	const char *text;
} time_units[] = {
	{ 3600, "hours" }, { 60, "minutes" }, { 1, "seconds" }, { 1e-3, "milliseconds" }
};

enum { TIME_UNITS = sizeof(time_units) / sizeof(time_units[0]) };

/* From the first drawn start to the last, in seconds. */
static double last_start_s(const struct view *view)
{
	unsigned last = view->comparison->block_count - 1;
	uint64_t starts_ns[2] = { view->sides[0]->block_starts[0],
		                  view->sides[1]->block_starts[0] };
	double most = 0;

	for (unsigned side = 0; side < 2; side++) {
		uint64_t start_ns = nl_figure_is_laid_over(view->comparison) ? starts_ns[side]
		                    : starts_ns[0] < starts_ns[1]            ? starts_ns[0]
		                                                             : starts_ns[1];

		most = fmax(most, (double)(view->sides[side]->block_starts[last] - start_ns) / 1e9);
	}
	return most;
}

static unsigned time_unit(double s)
{
	unsigned i = 0;

	while (i + 1 < TIME_UNITS && s < 3 * time_units[i].s)
		i++;
	return i;
}

static void plot_blocks(FILE *out, const struct view *view)
{
	double unit_s = time_units[time_unit(last_start_s(view))].s;

	fputs("plot ", out);
	put_source(out, view, NL_DATA_BLOCKS);
	fprintf(out, "($1/%g):2 with linespoints " STYLE_A " pointtype 7 pointsize 0.7", unit_s);
	put_name(out, view, 0);
	fputs(", \\\n  ", out);
	put_source(out, view, NL_DATA_BLOCKS_B);
	fprintf(out, "($1/%g):2 with linespoints " STYLE_B " pointtype 6 pointsize 0.8", unit_s);
	put_name(out, view, 1);
	fputc('\n', out);
}

/* What time 0 is. */
static void put_time_axis(FILE *out, const struct view *view)
{
	const struct nl_comparison *comparison = view->comparison;
	double last_s = last_start_s(view);
	unsigned unit = time_unit(last_s);
	double most = last_s > 0 ? last_s / time_units[unit].s : 1;
	unsigned first = comparison->a_first ? 0 : 1;
	char gap[NL_TIME_TEXT_SIZE];
	char text[TEXT_SIZE];

	if (comparison->design == NL_DESIGN_APART)
		snprintf(text, sizeof(text),
		         "%s since each one's own start: %s was begun %s after %s had ended",
		         time_units[unit].text, view->names[1 - first],
		         nl_elapsed_text(comparison->gap_ns, gap), view->names[first]);
	else
		snprintf(text, sizeof(text), "%s since %s", time_units[unit].text,
		         nl_figure_is_laid_over(comparison)
		                 ? "each one's own start, as their clocks cannot be compared"
		                 : "the first request");
	put_label(out, "xlabel", text);
	fprintf(out,
	        "unset logscale x\nset xrange [%.9g:%.9g]\nset xtics auto\nset format x '%%g'\n",
	        -0.02 * most, 1.02 * most);
}

static void put_blocks(FILE *out, const struct view *view)
{
	struct range range = { 0 };
	bool is_log;

	for (unsigned i = 0; i < view->comparison->block_count; i++)
		for (unsigned side = 0; side < 2; side++)
			widen(&range, (double)view->sides[side]->block_medians[i] / 1e3);
	if (range.high <= 0)
		return;
	pad(&range);
	is_log = range.high / range.low >= LOG_FROM;
	put_title(out, view, "median of each block over time",
	          is_log ? "" : "the axis of latency does not begin at 0");
	put_time_axis(out, view);
	put_axis(out, "y", &range, latency_label, is_log);
	put_label(out, "ylabel",
	          is_log ? "median latency of a block, logarithmic" : "median latency of a block");
	put_files(out, view, NL_FIGURE_BLOCKS, plot_blocks);
}

void nl_figures_put_script(FILE *out, const void *data)
{
	const struct nl_report *report = data;

	fputs("# gnuplot " NL_FIGURES_SCRIPT
	      ", in this folder, draws the pictures from " NL_FIGURES_DATA " again.\n",
	      out);
	fputs("svg = \"svg background 'white'\"\n"
	      "png = strstrt(GPVAL_TERMINALS, 'pngcairo') > 0 ? 'pngcairo' : 'png'\n"
	      "set border 3 linecolor '#333333'\n"
	      "set tics nomirror out\n"
	      "set grid linecolor '#dddddd' linetype 1 linewidth 0.5\n"
	      "set key tmargin right horizontal\n"
	      "set datafile missing 'NaN'\n\n",
	      out);
	for (size_t i = 0; i < report->count; i++)
		for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
			const struct nl_comparison *comparison = &report->comparisons[i];
			struct view view = {
				.comparison = comparison,
				.sides = { &comparison->a_sides[metric],
				           &comparison->b_sides[metric] },
				.metric = (enum nl_metric)metric,
				.first_index = (i * NL_METRIC_COUNT + metric) * NL_DATA_COUNT,
			};

			nl_label_text(&comparison->a, view.names[0]);
			nl_label_text(&comparison->b, view.names[1]);
			put_cdf(out, &view);
			put_ratio(out, &view);
			put_blocks(out, &view);
		}
}
