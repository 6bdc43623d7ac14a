/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <dlfcn.h>
#include <errno.h>
#include <libsmartcols.h>
#include <numaprobe/cpulist.h>
#include <stdarg.h>
#include <stdlib.h>

/*
 * Loaded when a table is drawn: numarun, which draws one for --counters alone, would pay for it at
 * every start, and keep it in memory while it watches.
 */
#define LIBRARY "libsmartcols.so.1"

#define FUNCTIONS(X)                                                                               \
	X(new_table)                                                                               \
	X(unref_table)                                                                             \
	X(table_enable_noencoding)                                                                 \
	X(table_set_termforce)                                                                     \
	X(table_new_column)                                                                        \
	X(table_new_line)                                                                          \
	X(line_set_data)                                                                           \
	X(line_refer_data)                                                                         \
	X(print_table_to_string)

struct library {
	void *handle;
#define X(name) __typeof__(scols_##name) *name;
	FUNCTIONS(X)
#undef X
};

struct np_table {
	struct library scols;
	struct libscols_table *table;
	struct libscols_line *line; /* the last row */
	size_t column_count;
	int code; /* errno of the first failure; 0 = none */
};

static bool load(struct library *scols)
{
	scols->handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!scols->handle)
		return false;
#define X(name) *(void **)&scols->name = dlsym(scols->handle, "scols_" #name);
	FUNCTIONS(X)
#undef X
#define X(name) &&scols->name
	return true FUNCTIONS(X);
#undef X
}

static void fail(struct np_table *table, bool has_failed)
{
	if (has_failed)
		table->code = ENOMEM;
}

static void begin(struct np_table *table, const struct np_column *columns)
{
	const struct library *scols = &table->scols;

	table->table = scols->new_table();
	fail(table, !table->table);
	if (table->code)
		return;
	/* Nothing is cut to the terminal's width: a list of CPUs cut short is a wrong list. */
	/* What could steer a terminal was escaped where it was read. */
	scols->table_enable_noencoding(table->table, 1);
	scols->table_set_termforce(table->table, SCOLS_TERMFORCE_NEVER);
	for (size_t i = 0; i < table->column_count; i++)
		fail(table, !scols->table_new_column(table->table, columns[i].name, 0,
		                                     columns[i].is_right ? SCOLS_FL_RIGHT : 0));
}

struct np_table *np_table_create(const struct np_column *columns, size_t count)
{
	struct np_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->column_count = count;
	if (load(&table->scols))
		begin(table, columns);
	else
		table->code = ELIBACC;
	return table;
}

void np_table_free(struct np_table *table)
{
	if (!table)
		return;
	if (table->table)
		table->scols.unref_table(table->table);
	if (table->scols.handle)
		dlclose(table->scols.handle);
	free(table);
}

void np_table_add_row(struct np_table *table)
{
	if (!table || table->code)
		return;
	table->line = table->scols.table_new_line(table->table, NULL);
	fail(table, !table->line);
	for (size_t i = 0; i < table->column_count && !table->code; i++)
		fail(table, table->scols.line_set_data(table->line, i, "-") < 0);
}

void np_table_set(struct np_table *table, size_t column, const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	if (!table || table->code)
		return;
	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	fail(table, len < 0 || table->scols.line_refer_data(table->line, column, text) < 0);
}

void np_table_set_list(struct np_table *table, size_t column, const struct np_bitmap *set,
                       const char *none)
{
	char *list;

	if (np_bitmap_is_empty(set)) {
		np_table_set(table, column, "%s", none);
		return;
	}
	list = np_cpulist_print(set);
	if (list)
		np_table_set(table, column, "%s", list);
	else if (table)
		fail(table, true);
	free(list);
}

int np_table_print(struct np_table *table, FILE *out)
{
	char *text;
	int rc;

	if (!table || table->code)
		return table ? -table->code : -ENOMEM;
	if (table->scols.print_table_to_string(table->table, &text) < 0)
		return -ENOMEM;
	rc = fputs(text, out) == EOF || fputc('\n', out) == EOF ? -errno : 0;
	free(text);
	return rc;
}
