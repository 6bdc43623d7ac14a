/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include "../../probe/base/array.h"
#include "../../probe/base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct nc_kept {
	struct nc_kept *next;
	char text[];
};

const char *nc_table_keep(struct nc_tables *tables, const char *text)
{
	size_t size = strlen(text) + 1;
	struct nc_kept *kept = malloc(sizeof(*kept) + size);

	if (!kept)
		return NULL;
	memcpy(kept->text, text, size);
	kept->next = tables->kept;
	tables->kept = kept;
	return kept->text;
}

void nc_family_release(struct nc_family *family)
{
	free((void *)family->rules);
	free((void *)family->events);
	free((void *)family->link_rates_mt);
}

static void release(struct nc_tables *tables)
{
	struct nc_kept *next;

	for (size_t i = 0; i < tables->count; i++)
		nc_family_release(&tables->families[i]);
	free(tables->families);
	for (struct nc_kept *kept = tables->kept; kept; kept = next) {
		next = kept->next;
		free(kept);
	}
}

void nc_tables_free(struct nc_tables *tables)
{
	if (!tables)
		return;
	release(tables);
	free(tables);
}

/* ---- reading ---- */

/* Moves the families of @from behind those of @tables, but for those that are there by name. */
static int merge(struct nc_tables *tables, struct nc_tables *from)
{
	struct nc_kept **end = &from->kept;

	for (size_t i = 0; i < from->count; i++) {
		struct nc_family *family = &from->families[i];
		void *families = tables->families;

		if (nc_tables_find_name(tables, family->name))
			continue;
		if (np_array_grow(&families, tables->count, sizeof(*family)) < 0)
			return -ENOMEM;
		tables->families = families;
		tables->families[tables->count++] = *family;
		*family = (struct nc_family){ 0 };
	}
	while (*end)
		end = &(*end)->next;
	*end = tables->kept;
	tables->kept = from->kept;
	from->kept = NULL;
	return 0;
}

static int add_builtin(struct nc_tables *tables, struct np_error *err)
{
	struct nc_tables builtin = { 0 };
	int rc = 0;

	for (size_t i = 0; i < nc_builtin_table_count && rc == 0; i++) {
		const struct nc_builtin *table = &nc_builtin_tables[i];

		rc = nc_table_read(&builtin, "built in", (const char *)table->text, table->size,
		                   err);
		if (rc < 0)
			np_error_wrap(err, rc, "%s.ini", table->name);
	}
	if (rc == 0 && merge(tables, &builtin) < 0)
		rc = np_error_sys(err, ENOMEM, "event tables");
	release(&builtin);
	return rc;
}

int nc_tables_parse(const char *name, const char *text, size_t size, struct nc_tables **ret,
                    struct np_error *err)
{
	struct nc_tables *tables = calloc(1, sizeof(*tables));
	int rc;

	if (!tables)
		return np_error_sys(err, ENOMEM, "%s", name);
	rc = nc_table_read(tables, name, text, size, err);
	if (rc < 0) {
		nc_tables_free(tables);
		return rc;
	}
	*ret = tables;
	return 0;
}

static int read_file(struct nc_tables *tables, const char *file, struct np_error *err)
{
	char *text;
	ssize_t size = np_file_read("events file", file, NC_TABLE_BYTES_MAX, &text, err);
	int rc;

	if (size < 0)
		return (int)size;
	rc = nc_table_read(tables, file, text, (size_t)size, err);
	free(text);
	return rc;
}

int nc_tables_load(const char *file, struct nc_tables **ret, struct np_error *err)
{
	struct nc_tables *tables = calloc(1, sizeof(*tables));
	int rc = tables ? 0 : np_error_sys(err, ENOMEM, "event tables");

	if (rc == 0 && file)
		rc = read_file(tables, file, err);
	if (rc == 0)
		rc = add_builtin(tables, err);
	if (rc < 0) {
		nc_tables_free(tables);
		return rc;
	}
	*ret = tables;
	return 0;
}

/* ---- looking up ---- */

size_t nc_tables_count(const struct nc_tables *tables)
{
	return tables->count;
}

const struct nc_family *nc_tables_family(const struct nc_tables *tables, size_t index)
{
	return index < tables->count ? &tables->families[index] : NULL;
}

static bool applies(const struct nc_cpu_rule *rule, const struct nc_cpu *cpu)
{
	return rule->vendor == cpu->vendor && rule->family == cpu->family &&
	       rule->model_first <= cpu->model && cpu->model <= rule->model_last &&
	       rule->stepping_first <= cpu->stepping && cpu->stepping <= rule->stepping_last;
}

const struct nc_family *nc_tables_find_cpu(const struct nc_tables *tables, const struct nc_cpu *cpu)
{
	for (size_t i = 0; i < tables->count; i++)
		for (size_t k = 0; k < tables->families[i].rule_count; k++)
			if (applies(&tables->families[i].rules[k], cpu))
				return &tables->families[i];
	return NULL;
}

const struct nc_family *nc_tables_find_name(const struct nc_tables *tables, const char *name)
{
	for (size_t i = 0; i < tables->count; i++)
		if (strcmp(tables->families[i].name, name) == 0)
			return &tables->families[i];
	return NULL;
}
