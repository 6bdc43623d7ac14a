/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers go to figures.dat, the orders to figures.gnuplot, so that whoever wants other pictures
 * has both.
 */
#include "figures.h"
#include "report_words.h"

#include "../../probe/base/gnuplot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <string.h>

const char *nl_figure_name(const struct nl_comparison *comparison, enum nl_metric metric,
                           enum nl_figure figure, char buf[NL_FIGURE_NAME_SIZE])
{
	static const char *const names[] = { "cdf", "ratio", "blocks" };

	snprintf(buf, NL_FIGURE_NAME_SIZE, "%s-%.64s-%s", names[figure],
	         nl_protocol_text(comparison), nl_metric_id(metric));
	for (char *c = buf; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-')
			*c = '_';
	return buf;
}

double nl_nines(double share)
{
	return -log10(1 - share);
}

unsigned nl_curve_length(const struct nl_comparison *comparison, const struct nl_side *side)
{
	unsigned points = comparison->options.curve_points;
	unsigned count = 0;

	if (!side->curve)
		return 0;
	while (count < points &&
	       (count == 0 || (1 - nl_curve_share(count - 1, points)) * (double)side->samples >= 1))
		count++;
	return count;
}

bool nl_figure_is_laid_over(const struct nl_comparison *comparison)
{
	unsigned last = comparison->block_count - 1;
	const uint64_t *a = comparison->a_sides[0].block_starts;
	const uint64_t *b = comparison->b_sides[0].block_starts;

	if (comparison->design == NL_DESIGN_APART || comparison->design == NL_DESIGN_UNKNOWN)
		return true;
	/* At the same time by the wall clock, on two hosts: the clock of the starts is another. */
	return comparison->design == NL_DESIGN_OVERLAPPING && (a[last] < b[0] || b[last] < a[0]);
}

/* ---- figures.dat ---- */

/* gnuplot counts on each block having a line. */
static void end_block(FILE *out, bool is_empty)
{
	fputs(is_empty ? "NaN NaN NaN NaN\n\n\n" : "\n\n", out);
}

static void put_cdf(FILE *out, const struct nl_comparison *comparison, const struct nl_side *side)
{
	unsigned count = nl_curve_length(comparison, side);

	for (unsigned i = 0; i < count; i++)
		fprintf(out, "%.9g %.9g\n", (double)side->curve[i] / 1e3,
		        nl_nines(nl_curve_share(i, comparison->options.curve_points)));
	end_block(out, count == 0);
}

static void put_ratio(FILE *out, const struct nl_comparison *comparison, const struct nl_side *a,
                      const struct nl_side *b)
{
	unsigned counts[2] = { nl_curve_length(comparison, a), nl_curve_length(comparison, b) };
	unsigned count = counts[0] < counts[1] ? counts[0] : counts[1];
	bool is_empty = true;

	for (unsigned i = 0; i < count; i++) {
		if (a->curve[i] == 0 || b->curve[i] == 0)
			continue;
		fprintf(out, "%.9g %.9g\n",
		        nl_nines(nl_curve_share(i, comparison->options.curve_points)),
		        (double)b->curve[i] / (double)a->curve[i]);
		is_empty = false;
	}
	end_block(out, is_empty);
}

/* The ends of the ratio's bar are NaN where an interval has no end. */
static void put_points(FILE *out, const struct nl_side *a, const struct nl_side *b)
{
	bool is_empty = true;

	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		const struct nl_percentile *p = &a->percentiles[i];
		const struct nl_percentile *q = &b->percentiles[i];
		const struct np_share share = nl_percentiles[i].share;

		if (p->ns == 0 || q->ns == 0)
			continue;
		fprintf(out, "%.9g %.9g", nl_nines((double)share.numerator / share.denominator),
		        (double)q->ns / (double)p->ns);
		if (p->low_ns > 0 && p->high_ns > 0 && q->low_ns > 0 && q->high_ns > 0)
			fprintf(out, " %.9g %.9g\n", (double)q->low_ns / (double)p->high_ns,
			        (double)q->high_ns / (double)p->low_ns);
		else
			fputs(" NaN NaN\n", out);
		is_empty = false;
	}
	end_block(out, is_empty);
}

static void put_blocks(FILE *out, const struct nl_comparison *comparison,
                       const struct nl_side *side, uint64_t start_ns)
{
	for (unsigned i = 0; i < comparison->block_count; i++)
		fprintf(out, "%.9g %.9g\n", (double)(side->block_starts[i] - start_ns) / 1e9,
		        (double)side->block_medians[i] / 1e3);
	end_block(out, comparison->block_count == 0);
}

static void put_metric(FILE *out, const struct nl_comparison *comparison, unsigned metric)
{
	const struct nl_side *a = &comparison->a_sides[metric];
	const struct nl_side *b = &comparison->b_sides[metric];
	uint64_t starts_ns[2] = { a->block_starts[0], b->block_starts[0] };

	if (!nl_figure_is_laid_over(comparison)) {
		uint64_t first_ns = starts_ns[0] < starts_ns[1] ? starts_ns[0] : starts_ns[1];

		starts_ns[0] = first_ns;
		starts_ns[1] = first_ns;
	}
	fprintf(out, "# %s: a, b: us, nines; nines, b/a; nines, b/a, low, high; a, b: s, us\n",
	        nl_metric_id((enum nl_metric)metric));
	put_cdf(out, comparison, a);
	put_cdf(out, comparison, b);
	put_ratio(out, comparison, a, b);
	put_points(out, a, b);
	put_blocks(out, comparison, a, starts_ns[0]);
	put_blocks(out, comparison, b, starts_ns[1]);
}

static void put_data(FILE *out, const void *data)
{
	const struct nl_report *report = data;

	for (size_t i = 0; i < report->count; i++)
		for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
			put_metric(out, &report->comparisons[i], metric);
}

int nl_report_draw(const struct nl_report *report, const char *directory, struct np_error *err)
{
	char name[NL_FIGURE_NAME_SIZE];
	int rc = np_gnuplot_prepare(directory, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < report->count; i++)
		for (unsigned k = 0; k < NL_METRIC_COUNT * NL_FIGURE_COUNT; k++)
			np_gnuplot_remove(directory,
			                  nl_figure_name(&report->comparisons[i],
			                                 (enum nl_metric)(k / NL_FIGURE_COUNT),
			                                 (enum nl_figure)(k % NL_FIGURE_COUNT),
			                                 name));
	rc = np_gnuplot_write(directory, NL_FIGURES_DATA, put_data, report, err);
	if (rc == 0)
		rc = np_gnuplot_write(directory, NL_FIGURES_SCRIPT, nl_figures_put_script, report,
		                      err);
	return rc < 0 ? rc : np_gnuplot_run(directory, NL_FIGURES_SCRIPT, err);
}
