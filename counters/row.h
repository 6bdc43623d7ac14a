/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of one row, as rows.h writes them. No file, no clock; what never changes in a series'
 * rows is made once, and the rest is put into the caller's buffer digit by digit: at ten intervals a
 * second printf() would cost more than the counting.
 */
#ifndef NC_ROW_H
#define NC_ROW_H

#include "rows.h"

/* A row without its fixed part is never longer. */
#define NC_ROW_BYTES_MAX 512u

/* What a series could carry, in bytes/s. */
struct nc_row_limits {
	bool has_nominal;
	bool has_measured;
	double nominal_bytes_per_s;
	double measured_bytes_per_s;
};

struct nc_row {
	enum nc_rows_format format;
	const char *fixed; /* of nc_row_fixed() */
	const struct nc_sample *sample;
	const struct nc_value *value;
	bool is_bytes;
	struct nc_row_limits limits;
	enum nc_source source;
};

/* CSV's first line, with its newline, in a new string; the caller frees it. NULL: no memory. */
char *nc_row_columns(void);

/* The cells from socket to unit in a new string, which the caller frees. NULL: no memory. */
char *nc_row_fixed(enum nc_rows_format format, const struct nc_series *series,
                   enum nc_source source);

/* Puts the row with its newline at @at; returns the place behind it. */
char *nc_row_put(char *at, const struct nc_row *row);

#endif
