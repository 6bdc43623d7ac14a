/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table on its way from text to struct nc_tables: table_file.c takes the lines apart into keys
 * and values, table_draft.c puts a family together from them, table_value.c reads each value.
 * Internal.
 */
#ifndef NC_TABLE_H
#define NC_TABLE_H

#include <numacount/tables.h>

/* Far beyond every real table: bounds for what a foreign file can make us hold. */
enum {
	NC_TABLE_BYTES_MAX = 1 << 20,
	NC_FAMILIES_MAX = 64,
	NC_EVENTS_MAX = 512, /* of one family */
	NC_RULES_MAX = 32,
	NC_RATES_MAX = 16,
	NC_NAME_MAX = 63,
	NC_PATTERN_MAX = 127,
	NC_TERMS_MAX = 127,
	NC_PFM_MAX = 127,
	NC_TEXT_MAX = 1000,
	NC_COUNTERS_MAX = 64,
	NC_LINK_MAX = 255,
	NC_NUMBERS_MAX = 63, /* the last number of "numbers = 0-11" */
};

struct nc_kept; /* a string that lives as long as its tables */

struct nc_tables {
	struct nc_family *families;
	size_t count;
	struct nc_kept *kept;
};

/* A table of the library's own, made from counters/events/ when it is built. */
struct nc_builtin {
	const char *name;
	const unsigned char *text;
	size_t size;
};

extern const struct nc_builtin nc_builtin_tables[];
extern const size_t nc_builtin_table_count;

/* A copy that lives as long as @tables; NULL when there is no memory. */
const char *nc_table_keep(struct nc_tables *tables, const char *text);

/* Frees what a family owns itself: all but its strings. */
void nc_family_release(struct nc_family *family);

/* Adds the families of a text to @tables. On failure they may hold some of them. */
int nc_table_read(struct nc_tables *tables, const char *name, const char *text, size_t size,
                  struct np_error *err);

#endif
