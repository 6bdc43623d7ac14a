/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of text, drawn by libsmartcols as lscpu and lsblk draw theirs.
 */
#ifndef NP_TABLE_H
#define NP_TABLE_H

#include <numaprobe/bitmap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct np_table; /* opaque */

struct np_column {
	const char *name;
	bool is_right; /* numbers */
};

/*
 * The caller ends it with np_table_free(), NULL is ok. NULL when memory runs out; the functions
 * below take that NULL and do nothing, and np_table_print() then answers -ENOMEM.
 */
struct np_table *np_table_create(const struct np_column *columns, size_t count);
void np_table_free(struct np_table *table);

/* Begins a row; its cells are "-" until set. */
void np_table_add_row(struct np_table *table);

/* Sets a cell of the last row, printf style. */
void np_table_set(struct np_table *table, size_t column, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The same with a set as a list; @none stands for the empty one. */
void np_table_set_list(struct np_table *table, size_t column, const struct np_bitmap *set,
                       const char *none);

/*
 *   -ENOMEM   now, or in any of the calls before
 *   -ELIBACC  libsmartcols is not there
 *   other     of write(2)
 */
int np_table_print(struct np_table *table, FILE *out);

#endif
