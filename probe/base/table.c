/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <errno.h>
#include <libsmartcols.h>
#include <numaprobe/cpulist.h>
#include <stdarg.h>
#include <stdlib.h>

struct np_table {
	struct libscols_table *table;
	struct libscols_line *line; /* the last row */
	size_t column_count;
	bool failed;
};

struct np_table *np_table_create(const struct np_column *columns, size_t count)
{
	struct np_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->column_count = count;
	table->table = scols_new_table();
	if (!table->table) {
		free(table);
		return NULL;
	}
	/* Nothing is cut to the terminal's width: a list of CPUs cut short is a wrong list. */
	/* What could steer a terminal was escaped where it was read. */
	scols_table_enable_noencoding(table->table, 1);
	scols_table_set_termforce(table->table, SCOLS_TERMFORCE_NEVER);
	for (size_t i = 0; i < count; i++)
		if (!scols_table_new_column(table->table, columns[i].name, 0,
		                            columns[i].is_right ? SCOLS_FL_RIGHT : 0))
			table->failed = true;
	return table;
}

void np_table_free(struct np_table *table)
{
	if (!table)
		return;
	scols_unref_table(table->table);
	free(table);
}

void np_table_add_row(struct np_table *table)
{
	if (!table || table->failed)
		return;
	table->line = scols_table_new_line(table->table, NULL);
	table->failed = !table->line;
	for (size_t i = 0; i < table->column_count && !table->failed; i++)
		table->failed = scols_line_set_data(table->line, i, "-") < 0;
}

void np_table_set(struct np_table *table, size_t column, const char *fmt, ...)
{
	va_list args;
	char *text;
	int len;

	if (!table || table->failed)
		return;
	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	table->failed = len < 0 || scols_line_refer_data(table->line, column, text) < 0;
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
		table->failed = true;
	free(list);
}

int np_table_print(struct np_table *table, FILE *out)
{
	char *text;
	int rc;

	if (!table || table->failed)
		return -ENOMEM;
	if (scols_print_table_to_string(table->table, &text) < 0)
		return -ENOMEM;
	rc = fputs(text, out) == EOF || fputc('\n', out) == EOF ? -errno : 0;
	free(text);
	return rc;
}
