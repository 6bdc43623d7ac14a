/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What figures.c writes and figures_script.c has drawn, of each protocol and metric: how latencies are
 * distributed, how the sides' percentiles compare, and how both went over time.
 */
#ifndef NL_FIGURES_H
#define NL_FIGURES_H

#include "report.h"

/* The two files in the directory, and how the pictures' names begin. */
#define NL_FIGURES_SCRIPT "figures.gnuplot"
#define NL_FIGURES_DATA "figures.dat"

enum nl_figure { NL_FIGURE_CDF, NL_FIGURE_RATIO, NL_FIGURE_BLOCKS, NL_FIGURE_COUNT };

enum { NL_FIGURE_NAME_SIZE = 128 };

/* "cdf-memcache-response_ttfb", without anything in it that a file's name should not have. Returns @buf. */
const char *nl_figure_name(const struct nl_comparison *comparison, enum nl_metric metric,
                           enum nl_figure figure, char buf[NL_FIGURE_NAME_SIZE]);

/* The blocks of data of one comparison's metric, in this order. */
enum nl_figure_data {
	NL_DATA_CDF, /* of a, then b: latency in us, number of nines of the share */
	NL_DATA_CDF_B,
	NL_DATA_RATIO,  /* nines, b / a */
	NL_DATA_POINTS, /* nines, b / a, least, greatest that the intervals allow */
	NL_DATA_BLOCKS, /* of a, then b: seconds, median in us */
	NL_DATA_BLOCKS_B,
	NL_DATA_COUNT
};

/* The greatest number of nines that is drawn, as of nl_curve_share(). */
#define NL_NINES_MAX 5.0

/* -log10(1 - share): 0.9 is one, 0.99 two. */
double nl_nines(double share);

/* How many points of a side's curve are drawn: to where not one sample is left beyond. */
unsigned nl_curve_length(const struct nl_comparison *comparison, const struct nl_side *side);

/*
 * Whether both sides' blocks are drawn from each one's own start: they did not run at the same time, or
 * their clocks do not tell.
 */
bool nl_figure_is_laid_over(const struct nl_comparison *comparison);

/* Writes the script; @data is a struct nl_report. */
void nl_figures_put_script(FILE *out, const void *data);

#endif
