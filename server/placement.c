/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement.h"

#include "../probe/base/table.h"
#include "size.h"

#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>

enum { ARENA, NODE, DISTANCE, BYTES, BLOCKS, HUGE, PAGE, THP, PLAIN, VERIFIED, LOCKED };

/* Those of HugeTLB: "2M", "1G,2M". */
static void set_page_sizes(struct np_table *table, const struct ns_arena_report *report)
{
	char all[NS_HUGE_SIZES_MAX * NS_SIZE_TEXT_MAX];
	size_t len = 0;

	for (size_t i = 0; i < report->huge_count; i++) {
		char text[NS_SIZE_TEXT_MAX];

		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s", i > 0 ? "," : "",
		                        ns_size_text(report->huge[i].page_bytes, text));
	}
	if (len > 0)
		np_table_set(table, PAGE, "%s", all);
}

/* What became of the rest is "-" where the kernel does not tell. */
static void set_blocks(struct np_table *table, const struct ns_arena_report *report)
{
	np_table_set(table, HUGE, "%" PRIu64, report->blocks[NS_PAGES_HUGETLB]);
	set_page_sizes(table, report);
	if (report->unknown_blocks > 0)
		return;
	np_table_set(table, THP, "%" PRIu64, report->blocks[NS_PAGES_THP]);
	np_table_set(table, PLAIN, "%" PRIu64, report->blocks[NS_PAGES_PLAIN]);
}

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
	char text[NS_SIZE_TEXT_MAX];

	np_table_add_row(table);
	np_table_set(table, ARENA, "%zu", i);
	np_table_set(table, NODE, "%u", arena->plan.node);
	np_table_set(table, DISTANCE, "%u", arena->plan.distance);
	np_table_set(table, BYTES, "%s", ns_size_text(arena->plan.bytes, text));
	np_table_set(table, BLOCKS, "%zu", arena->block_count);
	set_blocks(table, report);
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

/* They are in the order in which they fill. */
static void print_layout(const struct ns_server_state *state, FILE *out)
{
	char block[NS_SIZE_TEXT_MAX];
	char head[NS_SIZE_TEXT_MAX];

	fprintf(out, "blocks of %s, heads of %s; index, keys and buffers on node %u\n",
	        ns_size_text(state->config->block_bytes, block),
	        ns_size_text(state->config->head_bytes, head),
	        np_bitmap_next(&state->plan->serving_nodes, 0));
}

/* As they were given; the longest prefix wins. */
static void print_rules(const struct ns_server_state *state, FILE *out)
{
	const struct ns_config *config = state->config;

	for (size_t i = 0; i < config->rule_count; i++) {
		const struct ns_place_rule *rule = &config->rules[i];

		fprintf(out, "keys that begin with '%s' live ", rule->prefix);
		if (rule->place == NS_PLACE_LOCAL)
			fprintf(out, "on their worker's node\n");
		else
			fprintf(out, "on node %u\n",
			        rule->place == NS_PLACE_FAR ? state->plan->far_node : rule->node);
	}
}

int ns_placement_print(const struct ns_server_state *state, FILE *out)
{
	static const struct np_column columns[] = {
		[ARENA] = { "ARENA", true },       [NODE] = { "NODE", true },
		[DISTANCE] = { "DISTANCE", true }, [BYTES] = { "SIZE", true },
		[BLOCKS] = { "BLOCKS", true },     [HUGE] = { "HUGETLB", true },
		[PAGE] = { "PAGE", true },         [THP] = { "THP", true },
		[PLAIN] = { "PLAIN", true },       [VERIFIED] = { "VERIFIED", false },
		[LOCKED] = { "LOCKED", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (size_t i = 0; i < state->arena_count; i++)
		add_arena(table, state, i);
	rc = np_table_print(table, out);
	np_table_free(table);
	if (rc < 0)
		return rc;
	print_layout(state, out);
	print_workers(state, out);
	print_rules(state, out);
	return 0;
}
