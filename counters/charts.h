/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Charts of a run over time, drawn by gnuplot: what was counted in each socket, and what share of
 * the time it was counted.
 *
 * The samples are gathered while the run goes on, into a fixed number of bins that grow with it: the
 * pictures of ten hours cost as much memory, and are as legible, as those of ten seconds. A bin
 * shows the mean of what is known of it, and its least and greatest interval; one of which nothing
 * is known is a gap.
 */
#ifndef NC_CHARTS_H
#define NC_CHARTS_H

#include "rows.h"

struct nc_charts; /* opaque */

/* The caller ends *ret with nc_charts_free(). @about must outlive it. -ENOMEM */
int nc_charts_create(const struct nc_rows_about *about, struct nc_charts **ret,
                     struct np_error *err);
void nc_charts_free(struct nc_charts *charts); /* accepts NULL */

/* Takes in a sample of the series that @about told. Allocates nothing. */
void nc_charts_add(struct nc_charts *charts, const struct nc_sample *sample);

/*
 * Writes charts.dat and charts.gnuplot into the directory and lets gnuplot draw them: memory.svg
 * and .png, interconnect.svg and .png and so on, of what there is, and coverage where it was below
 * 1. Those that a run before left there are removed.
 *
 *   -ENODATA  nothing was sampled
 *   -errno of open(2), write(2), and as np_gnuplot_run()
 */
int nc_charts_draw(const struct nc_charts *charts, const char *directory, struct np_error *err);

#endif
