/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement.h"

#include "../probe/base/table.h"

#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>

enum { ARENA, NODE, DISTANCE, BYTES, HUGE, THP, PLAIN, VERIFIED, LOCKED };

static void set_verified(struct np_table *table, const struct ns_arena_report *report)
{
	uint64_t all = report->right_bytes + report->wrong_bytes + report->unknown_bytes;

	if (report->unknown_bytes == all)
		return; /* "-": nobody knows */
	if (report->right_bytes == all)
		np_table_set(table, VERIFIED, "all on node %u", report->node);
	else
		np_table_set(table, VERIFIED, "%.1f%% on node %u",
		             100.0 * (double)report->right_bytes / (double)all, report->node);
}

static void add_arena(struct np_table *table, const struct ns_server_state *state, size_t i)
{
	const struct ns_arena *arena = &state->arenas[i];
	const struct ns_arena_report *report = &state->reports[i];

	np_table_add_row(table);
	np_table_set(table, ARENA, "%zu", i);
	np_table_set(table, NODE, "%u", arena->plan.node);
	np_table_set(table, DISTANCE, "%u", arena->plan.distance);
	np_table_set(table, BYTES, "%" PRIu64 "M", arena->plan.bytes >> 20);
	np_table_set(table, HUGE, "%" PRIu64, report->blocks[NS_PAGES_HUGETLB]);
	np_table_set(table, THP, "%" PRIu64, report->blocks[NS_PAGES_THP]);
	np_table_set(table, PLAIN, "%" PRIu64, report->blocks[NS_PAGES_PLAIN]);
	set_verified(table, report);
	np_table_set(table, LOCKED, "%s", arena->is_locked ? "yes" : "no");
}

static void print_workers(const struct ns_server_state *state, FILE *out)
{
	struct np_bitmap cpus = { 0 };
	char *list;

	for (unsigned i = 0; i < state->worker_count; i++)
		(void)np_bitmap_add(&cpus, state->worker_cpus[i]);
	list = np_cpulist_print(&cpus);
	fprintf(out, "%u worker%s on CPU%s %s of %s\n", state->worker_count,
	        state->worker_count == 1 ? "" : "s", np_bitmap_count(&cpus) == 1 ? "" : "s",
	        list ? list : "?", state->plan->reason);
	free(list);
	np_bitmap_release(&cpus);
}

int ns_placement_print(const struct ns_server_state *state, FILE *out)
{
	static const struct np_column columns[] = {
		[ARENA] = { "ARENA", true },       [NODE] = { "NODE", true },
		[DISTANCE] = { "DISTANCE", true }, [BYTES] = { "SIZE", true },
		[HUGE] = { "HUGETLB", true },      [THP] = { "THP", true },
		[PLAIN] = { "PLAIN", true },       [VERIFIED] = { "VERIFIED", false },
		[LOCKED] = { "LOCKED", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (size_t i = 0; i < state->arena_count; i++)
		add_arena(table, state, i);
	rc = np_table_print(table, out);
	np_table_free(table);
	if (rc == 0)
		print_workers(state, out);
	return rc;
}
