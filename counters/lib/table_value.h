/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The values of a table, each by its own grammar. Pure. Internal.
 *
 * Each function reads from cursor->at to the end of the text, and where it refuses with -EINVAL it
 * leaves cursor->at where the mistake is.
 */
#ifndef NC_TABLE_VALUE_H
#define NC_TABLE_VALUE_H

#include "table.h"

struct nc_cursor {
	const char *at;
	struct np_error *err;
};

/* A number in @min..@max, decimal or 0x. */
int nc_value_number(struct nc_cursor *cursor, uint64_t min, uint64_t max, uint64_t *ret);

/* "0-11" or "3". */
int nc_value_range(struct nc_cursor *cursor, unsigned max, unsigned *ret_first, unsigned *ret_last);

/* "64/9", or "64" for 64/1. */
int nc_value_fraction(struct nc_cursor *cursor, uint32_t *ret_units, uint32_t *ret_per);

int nc_value_yes_no(struct nc_cursor *cursor, bool *ret);

/* A class of those that PMUs count. */
int nc_value_class(struct nc_cursor *cursor, enum nc_class *ret);

/*
 * Of a list whose items stand between commas: one item, and the comma behind it. A list may end in
 * a comma, as it may go on in the next line.
 */
int nc_value_cpu(struct nc_cursor *cursor, struct nc_cpu_rule *ret);
int nc_value_rate(struct nc_cursor *cursor, uint32_t *ret);
bool nc_value_is_at_end(struct nc_cursor *cursor);

/* PMU patterns and libpfm4's words: only the letters are looked at. @ret has no blanks. */
int nc_value_pattern(struct nc_cursor *cursor, char ret[NC_PATTERN_MAX + 1]);
int nc_value_pfm(struct nc_cursor *cursor, char ret[NC_PFM_MAX + 1]);

/*
 * "event=0x2,umask=0xf" or "@name,umask=0x1", without blanks in @ret. A value "0x1f+0x40" counts up: it is
 * 0x1f + @number * 0x40; *ret_counts_up tells that there was one.
 */
int nc_value_terms(struct nc_cursor *cursor, unsigned number, char ret[NC_TERMS_MAX + 1],
                   bool *ret_counts_up);

#endif
