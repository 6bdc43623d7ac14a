/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What charts.c gathers, charts_draw.c writes and charts_script.c has drawn.
 */
#ifndef NC_CHARTS_DATA_H
#define NC_CHARTS_DATA_H

#include "charts.h"

#include <stdio.h>

/* A picture 1000 dots wide shows no more. Even, as two bins become one when all are used. */
enum { NC_CHARTS_BINS = 800 };

/* What a curve did in a bin. */
struct nc_chart_cell {
	double amount;      /* of the intervals that are known, in the class's unit */
	uint64_t known_ns;  /* their length; 0 = a gap */
	double covered_ns;  /* coverage times length, of all intervals */
	double least, most; /* of the known intervals, per second */
};

/* A socket's class (of other events: a name), links added up. */
struct nc_chart_curve {
	const struct nc_series *series; /* the first of those that it adds up */
	unsigned chart;                 /* of nc_charts_pictures */
	bool was_partly_covered;
	struct nc_chart_cell cells[NC_CHARTS_BINS];
};

struct nc_chart_bin {
	uint64_t start_ns, end_ns; /* since the session began */
};

struct nc_charts {
	const struct nc_rows_about *about;
	int64_t start_time_ns; /* CLOCK_REALTIME when the session began */
	struct nc_chart_curve *curves;
	size_t curve_count;
	size_t *curve_of; /* for each series; curve_count = it is not drawn */
	struct nc_chart_bin bins[NC_CHARTS_BINS];
	size_t bin_count;
	unsigned samples_per_bin;
	unsigned samples_in_last;
};

/* A kind of picture: which classes are its curves. */
struct nc_chart_picture {
	const char *file;
	const char *title;
	nc_classes classes;
};

extern const struct nc_chart_picture nc_charts_pictures[];
extern const unsigned nc_charts_picture_count;

/* Whether two series are drawn in one panel: of the same socket, or node where there is none. */
bool nc_charts_same_panel(const struct nc_series *a, const struct nc_series *b);

/* Whether a curve is unknown in any bin. */
bool nc_charts_has_gaps(const struct nc_charts *charts, const struct nc_chart_curve *curve);

/* The two files in the directory. */
#define NC_CHARTS_SCRIPT "charts.gnuplot"
#define NC_CHARTS_DATA "charts.dat"

/* The picture that is of no class. */
#define NC_CHARTS_COVERAGE "coverage"

/*
 * Writes the script of @data, a struct nc_charts. The blocks of the data file are three times as many as
 * there are curves, in their order: what was counted, coverage, gaps.
 */
void nc_charts_put_script(FILE *out, const void *data);

#endif
