/* SPDX-License-Identifier: BSD-3-Clause */
#include "report_table.h"

#include <math.h>
#include <stdio.h>

enum { CELL_SIZE = 32 };

static const char *end_text(uint64_t ns, char buf[CELL_SIZE])
{
	if (ns == 0)
		return "-";
	snprintf(buf, CELL_SIZE, "%.3f", (double)ns / 1e3);
	return buf;
}

void nl_table_set_percentile(struct np_table *table, size_t column,
                             const struct nl_percentile *percentile)
{
	char ends[2][CELL_SIZE];

	np_table_set(table, column, "%.3f", (double)percentile->ns / 1e3);
	if (percentile->low_ns > 0 || percentile->high_ns > 0)
		np_table_set(table, column + 1, "%s, %s", end_text(percentile->low_ns, ends[0]),
		             end_text(percentile->high_ns, ends[1]));
}

void nl_table_set_p(struct np_table *table, size_t column, double p)
{
	if (p < 0.0001)
		np_table_set(table, column, "<0.0001");
	else if (isfinite(p))
		np_table_set(table, column, "%.4f", p);
}

struct np_table *nl_drift_table_create(const char *of)
{
	const struct np_column columns[] = {
		{ "", false },     { of ? of : "", false }, { "BLOCK MEDIANS us", true },
		{ "TREND", true }, { "p", true },           { "HALVES", true },
		{ "LAG-1", true }, { "EFFECTIVE", true },
	};

	return np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
}

static void set_real(struct np_table *table, size_t column, int decimals, double value)
{
	if (isfinite(value))
		np_table_set(table, column, "%.*f", decimals, value);
}

void nl_drift_table_add(struct np_table *table, enum nl_metric metric, const char *whose,
                        const struct nl_drift *drift)
{
	np_table_add_row(table);
	np_table_set(table, 0, "%s", nl_metric_label(metric));
	np_table_set(table, 1, "%s", whose);
	np_table_set(table, 2, "%.3f to %.3f", (double)drift->least_block_ns / 1e3,
	             (double)drift->greatest_block_ns / 1e3);
	if (isfinite(drift->trend_percent))
		np_table_set(table, 3, "%+.2f%%", drift->trend_percent);
	nl_table_set_p(table, 4, drift->trend.p);
	set_real(table, 5, 4, drift->halves);
	set_real(table, 6, 3, drift->lag1);
	set_real(table, 7, 0, drift->effective_samples);
}
