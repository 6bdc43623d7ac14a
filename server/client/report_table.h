/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of tables that tell of comparisons and of single arms alike.
 */
#ifndef NL_REPORT_TABLE_H
#define NL_REPORT_TABLE_H

#include "../../probe/base/table.h"
#include "analysis.h"

/* The percentile in @column, in us, and its interval in the next. */
void nl_table_set_percentile(struct np_table *table, size_t column,
                             const struct nl_percentile *percentile);

/* A p-value: "0.0420", "<0.0001". */
void nl_table_set_p(struct np_table *table, size_t column, double p);

/* A table of one row for each metric of whatever @of names, "SIDE"; NULL: there is only one. */
struct np_table *nl_drift_table_create(const char *of);
void nl_drift_table_add(struct np_table *table, enum nl_metric metric, const char *whose,
                        const struct nl_drift *drift);

#define NL_DRIFT_LEGEND                                                                                \
	"\nTREND: of block medians over the whole run, p: Mann and Kendall's. HALVES: A of the first " \
	"against\nthe second half, above 0.5 = it became slower. LAG-1: correlation of neighbouring "  \
	"blocks.\nEFFECTIVE: as many independent requests would tell as much.\n"

#endif
