/* SPDX-License-Identifier: BSD-3-Clause */
#include "list.h"

#include "../probe/base/table.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>

enum { KIND_SIZE = 128, CONFIG_SIZE = 128, UNIT_SIZE = 48 };

/* What counters of one event and one kind of PMU have in common. */
struct row {
	const struct nc_counter *first;
	char kind[KIND_SIZE];
	struct np_bitmap numbers; /* of the PMUs */
	struct np_bitmap sockets;
	size_t counter_count;
};

/* The one of the event's patterns, which stand between commas, that the name is of; false: none. */
static bool find_pattern(const char *patterns, const char *name, char ret[KIND_SIZE])
{
	unsigned number;

	for (const char *at = patterns; *at; at += *at == ',') {
		size_t length = strcspn(at, ",");

		snprintf(ret, KIND_SIZE, "%.*s", (int)length, at);
		if (nc_pmu_matches(ret, name, &number))
			return true;
		at += length;
	}
	return false;
}

/* Makes "a*_b" of "a#_b#" and of "a#x_b_#", in place: perf takes the beginning of a name, and "*". */
static void make_glob(char *pattern)
{
	size_t length = strlen(pattern);
	char *to = pattern;

	if (length > 2 && strcmp(pattern + length - 2, "_#") == 0)
		pattern[length - 2] = '\0';
	for (const char *from = pattern; *from; from++) {
		bool is_hex = from[0] == '#' && from[1] == 'x';

		*to++ = *from == '#' ? '*' : *from;
		from += is_hex;
	}
	*to = '\0';
}

/*
 * "uncore_upi" for uncore_upi_3, which is what perf takes for all of them. A PMU that was found by
 * its alias has the last number of its own name cut off.
 */
static void name_kind(const struct nc_counter *counter, char kind[KIND_SIZE])
{
	char *end;

	if (find_pattern(counter->event->pmu, counter->box, kind)) {
		make_glob(kind);
		return;
	}
	snprintf(kind, KIND_SIZE, "%s", counter->box);
	end = kind + strlen(kind);
	while (end > kind && isdigit((unsigned char)end[-1]))
		end--;
	if (*end && end > kind && end[-1] == '_')
		end[-1] = '\0';
}

static bool pmu_number(const struct nc_counter *counter, unsigned *ret)
{
	const char *alias = counter->pmu->alias;
	bool is_known;

	*ret = NP_BITMAP_INDEX_MAX + 1;
	is_known = nc_pmu_matches(counter->event->pmu, counter->box, ret) ||
	           (alias && nc_pmu_matches(counter->event->pmu, alias, ret));
	return is_known && *ret <= NP_BITMAP_INDEX_MAX;
}

static bool is_of_row(const struct row *row, const struct nc_counter *counter, const char *kind)
{
	return row->first->event == counter->event && row->first->encoder == counter->encoder &&
	       memcmp(row->first->code.config, counter->code.config,
	              sizeof(counter->code.config)) == 0 &&
	       strcmp(row->kind, kind) == 0;
}

static int add_to_row(struct row *row, const struct nc_counter *counter)
{
	unsigned number;

	row->counter_count++;
	if (pmu_number(counter, &number) && np_bitmap_add(&row->numbers, number) < 0)
		return -ENOMEM;
	if (counter->has_socket && np_bitmap_add(&row->sockets, counter->socket) < 0)
		return -ENOMEM;
	return 0;
}

/* By class; within one as the table has the events, which is as they were found. */
static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a;
	const struct row *y = b;

	if (x->first->what != y->first->what)
		return x->first->what < y->first->what ? -1 : 1;
	if (x->first->event != y->first->event)
		return x->first->event < y->first->event ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* A row for each event and kind of PMU; @rows has room for one for each counter. */
static int make_rows(const struct nc_counters *counters, struct row *rows, size_t *ret_count)
{
	size_t count = 0;
	int rc = 0;

	for (size_t i = 0; i < counters->count && rc == 0; i++) {
		const struct nc_counter *counter = &counters->items[i];
		char kind[KIND_SIZE];
		size_t at = 0;

		name_kind(counter, kind);
		while (at < count && !is_of_row(&rows[at], counter, kind))
			at++;
		if (at == count) {
			rows[at].first = counter;
			memcpy(rows[at].kind, kind, sizeof(kind));
			count++;
		}
		rc = add_to_row(&rows[at], counter);
	}
	qsort(rows, count, sizeof(*rows), compare_rows);
	*ret_count = count;
	return rc;
}

/* "0xf02", "0x1b7,config1=0x730000477" */
static const char *config_text(const struct nc_code *code, char buf[CONFIG_SIZE])
{
	int used = snprintf(buf, CONFIG_SIZE, "0x%" PRIx64, code->config[0]);

	for (unsigned i = 1; i < 4; i++)
		if (code->config[i])
			used += snprintf(buf + used, CONFIG_SIZE - (size_t)used,
			                 ",config%u=0x%" PRIx64, i, code->config[i]);
	return buf;
}

/* "64/9 bytes" */
static const char *unit_text(const struct nc_counter *counter, char buf[UNIT_SIZE])
{
	const char *unit = nc_class_unit(counter->what);

	if (counter->per == 1)
		snprintf(buf, UNIT_SIZE, "%" PRIu32 " %s", counter->units, unit);
	else
		snprintf(buf, UNIT_SIZE, "%" PRIu32 "/%" PRIu32 " %s", counter->units, counter->per,
		         unit);
	return buf;
}

static void add_line(struct np_table *table, const struct row *row)
{
	const struct nc_counter *first = row->first;
	const char *terms = first->event->terms;
	char buf[CONFIG_SIZE];

	np_table_add_row(table);
	np_table_set(table, 0, "%s", nc_class_name(first->what));
	np_table_set(table, 1, "%s", first->name);
	np_table_set_list(table, 2, &row->numbers, "-");
	np_table_set_list(table, 3, &row->sockets, "-");
	np_table_set(table, 4, "%zu", row->counter_count);
	np_table_set(table, 5, "%s/%s/", row->kind, *terms == '@' ? terms + 1 : terms);
	np_table_set(table, 6, "%s", config_text(&first->code, buf));
	np_table_set(table, 7, "%s", nc_encoder_name(first->encoder));
	np_table_set(table, 8, "%s", unit_text(first, buf));
}

static int print_kinds(const struct nc_counters *counters, FILE *out)
{
	static const struct np_column columns[] = {
		{ "CLASS", false },   { "EVENT", false },   { "PMUS", false },
		{ "SOCKETS", false }, { "COUNTERS", true }, { "ENCODING", false },
		{ "CONFIG", false },  { "ENCODER", false }, { "A COUNT IS", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	struct row *rows = calloc(counters->count + 1, sizeof(*rows));
	size_t count = 0;
	int rc = rows ? make_rows(counters, rows, &count) : -ENOMEM;

	for (size_t i = 0; i < count; i++) {
		add_line(table, &rows[i]);
		np_bitmap_release(&rows[i].numbers);
		np_bitmap_release(&rows[i].sockets);
	}
	free(rows);
	if (rc == 0)
		rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_counters(const struct nc_counters *counters, FILE *out)
{
	static const struct np_column columns[] = {
		{ "PMU", false },   { "CPU", true },  { "SOCKET", true },  { "DIE", true },
		{ "LINK", true },   { "PEER", true }, { "GROUP", true },   { "CLASS", false },
		{ "EVENT", false }, { "TYPE", true }, { "CONFIG", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	char buf[CONFIG_SIZE];
	int rc;

	for (size_t i = 0; i < counters->count; i++) {
		const struct nc_counter *counter = &counters->items[i];

		np_table_add_row(table);
		np_table_set(table, 0, "%s", counter->box);
		np_table_set(table, 1, "%u", counter->cpu);
		if (counter->has_socket) {
			np_table_set(table, 2, "%u", counter->socket);
			np_table_set(table, 3, "%u", counter->die);
		}
		if (counter->has_link)
			np_table_set(table, 4, "%u", counter->link);
		if (counter->has_peer)
			np_table_set(table, 5, "%u", counter->peer);
		np_table_set(table, 6, "%u", counter->group);
		np_table_set(table, 7, "%s", nc_class_name(counter->what));
		np_table_set(table, 8, "%s", counter->name);
		np_table_set(table, 9, "%" PRIu32, counter->code.type);
		np_table_set(table, 10, "%s", config_text(&counter->code, buf));
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static void print_family_names(const struct nc_tables *tables, FILE *out)
{
	fputs("families (--families tells more):", out);
	for (size_t i = 0; i < nc_tables_count(tables); i++)
		fprintf(out, " %s", nc_tables_family(tables, i)->name);
	fputc('\n', out);
}

static void print_head(const struct nc_host *host, FILE *out)
{
	const struct nc_family *family = nc_host_family(host);
	char text[256];
	char safe[300];

	nc_cpu_text(nc_host_cpu(host), text, sizeof(text));
	fprintf(out, "processor: %s\n", np_error_quote(text, safe, sizeof(safe)));
	if (family)
		fprintf(out, "family:    %s, %s%s\n", family->name, family->title,
		        family->is_untested ? " (untested: known from documents alone)" : "");
	else
		fputs("family:    -\n", out);
	fprintf(out, "sockets:   %s\n",
	        np_cpulist_brief(nc_host_sockets(host), text, sizeof(text)));
}

int nc_list_print(const struct nc_host *host, const struct nc_counters *counters,
                  bool every_counter, FILE *out)
{
	int rc = 0;

	print_head(host, out);
	if (counters->count > 0) {
		fputc('\n', out);
		rc = every_counter ? print_counters(counters, out) : print_kinds(counters, out);
	}
	if (counters->problem_count + nc_host_note_count(host) > 0 || !nc_host_family(host))
		fputc('\n', out);
	for (size_t i = 0; i < counters->problem_count; i++)
		fprintf(out, "problem: %s\n", counters->problems[i]);
	for (size_t i = 0; i < nc_host_note_count(host); i++)
		fprintf(out, "note: %s\n", nc_host_note(host, i));
	if (!nc_host_family(host))
		print_family_names(nc_host_tables(host), out);
	return rc;
}

int nc_families_print(const struct nc_tables *tables, FILE *out)
{
	static const struct np_column columns[] = {
		{ "FAMILY", false }, { "EVENTS", true }, { "LINKS", false },
		{ "TESTED", false }, { "TABLE", false }, { "PROCESSORS", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (size_t i = 0; i < nc_tables_count(tables); i++) {
		const struct nc_family *family = nc_tables_family(tables, i);

		np_table_add_row(table);
		np_table_set(table, 0, "%s", family->name);
		np_table_set(table, 1, "%zu", family->event_count);
		if (family->link_name)
			np_table_set(table, 2, "%s", family->link_name);
		np_table_set(table, 3, "%s", family->is_untested ? "no" : "yes");
		np_table_set(table, 4, "%s", family->file);
		np_table_set(table, 5, "%s", family->title);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}
