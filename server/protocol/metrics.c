/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

struct metric {
	const char *name;
	const char
		*unit; /* at the end of the name, as OpenMetrics wants it; NULL = a plain number */
	const char *help;
	size_t offset;
	bool is_gauge;
	bool is_in_ns; /* printed in seconds */
};

#define COUNTER(field_name, text)                                                                  \
	{                                                                                          \
		.name = "numastore_" #field_name, .help = (text),                                  \
		.offset = offsetof(struct ns_counts, field_name),                                  \
	}
#define BYTES(field_name, text)                                                                    \
	{                                                                                          \
		.name = "numastore_" #field_name, .unit = "bytes", .help = (text),                 \
		.offset = offsetof(struct ns_counts, field_name),                                  \
	}

/* All of NS_COUNTERS. */
static const struct metric store_metrics[] = {
	COUNTER(get_hits, "Keys that were asked for, over memcache or HTTP, and found."),
	COUNTER(get_misses, "Keys that were asked for, over memcache or HTTP, and not found."),
	COUNTER(get_expired, "The part of the misses whose object had expired."),
	COUNTER(get_flushed, "The part of the misses whose object had been flushed."),
	COUNTER(sets, "Values that were stored."),
	COUNTER(deletes, "Keys that were to be deleted."),
	COUNTER(delete_hits, "Keys that were deleted."),
	COUNTER(touches, "Keys that were to be touched."),
	COUNTER(touch_hits, "Keys that were touched."),
	COUNTER(incr_hits, "Numbers that were incremented."),
	COUNTER(incr_misses, "Increments of keys that were not there."),
	COUNTER(decr_hits, "Numbers that were decremented."),
	COUNTER(decr_misses, "Decrements of keys that were not there."),
	COUNTER(cas_hits, "Conditional stores whose condition held."),
	COUNTER(cas_misses, "Conditional stores of keys that were not there."),
	COUNTER(cas_badval, "Conditional stores whose condition did not hold."),
	COUNTER(evictions, "Objects that went to make room."),
	COUNTER(evicted_unfetched, "The part of the evictions that was never read."),
	COUNTER(expired, "Objects that were removed as they had expired or been flushed."),
	COUNTER(local_heads, "Heads sent that lay on the node of the worker that sent them."),
	BYTES(local_bytes, "Bytes sent of heads on the node of the worker that sent them."),
	COUNTER(remote_heads, "Heads sent that lay on another node than the worker's."),
	BYTES(remote_bytes, "Bytes sent of heads on another node than the worker's."),
	COUNTER(out_of_memory, "Values that were refused as there was no room."),
	COUNTER(promotions, "Heads that were moved to a nearer node."),
	BYTES(promoted_bytes, "Bytes that were copied to move heads to a nearer node."),
	{ .name = "numastore_promotion_seconds",
	  .unit = "seconds",
	  .help = "Time spent on moving heads to a nearer node.",
	  .offset = offsetof(struct ns_counts, promotion_ns),
	  .is_in_ns = true },
	COUNTER(too_large, "Values that were refused as an object may not be that large."),
	BYTES(tail_sent_bytes, "Bytes sent of what objects have in pools."),
	COUNTER(tail_evictions, "Objects that went to make room in a pool."),
	COUNTER(tails_lost, "Objects that went as their bytes in a pool were lost or damaged."),
	COUNTER(storage_full, "Values that were refused as there was no room in a pool."),
	COUNTER(storage_failed, "Values that were refused as a pool failed."),
	COUNTER(promotion_blocks, "Blocks that were moved to a nearer node as a whole."),
	COUNTER(demotions, "Heads that were moved away to make room for hotter ones."),
	BYTES(demoted_bytes, "Bytes that were copied to move heads away."),
	COUNTER(promotion_refused_payback,
	        "Heads that stayed as moving them would have cost more than it saves."),
	COUNTER(promotion_refused_rate, "Heads that had to wait as others had used up the rate."),
	COUNTER(promotion_refused_room, "Heads that stayed as no room could be made for them."),
	COUNTER(promotion_scans, "Times that all objects were looked at for heads to move."),
};
#define X(name) +1
static_assert(sizeof(store_metrics) / sizeof(store_metrics[0]) == 0 NS_COUNTERS(X),
              "a counter of the store has no metric");
#undef X

static const struct metric object_metrics[] = {
	{ .name = "numastore_objects",
	  .help = "Objects that are stored.",
	  .offset = offsetof(struct ns_counts, objects),
	  .is_gauge = true },
	{ .name = "numastore_object_bytes",
	  .unit = "bytes",
	  .help = "Bytes of the values that are stored.",
	  .offset = offsetof(struct ns_counts, object_bytes),
	  .is_gauge = true },
	{ .name = "numastore_metadata_bytes",
	  .unit = "bytes",
	  .help = "Memory of keys and of the index, beside the heads.",
	  .offset = offsetof(struct ns_counts, metadata_bytes),
	  .is_gauge = true },
	{ .name = "numastore_promotion_longest_seconds",
	  .unit = "seconds",
	  .help = "Time that the longest move of a head or a block took.",
	  .offset = offsetof(struct ns_counts, promotion_max_ns),
	  .is_gauge = true,
	  .is_in_ns = true },
	{ .name = "numastore_stored_objects",
	  .help = "Objects that were ever stored.",
	  .offset = offsetof(struct ns_counts, total_objects) },
};

#undef COUNTER
#undef BYTES
#define COUNTER(field_name, text)                                                                  \
	{                                                                                          \
		.name = "numastore_" #field_name, .help = (text),                                  \
		.offset = offsetof(struct ns_worker_counts, field_name),                           \
	}
#define BYTES(metric_name, field_name, text)                                                       \
	{                                                                                          \
		.name = "numastore_" metric_name, .unit = "bytes", .help = (text),                 \
		.offset = offsetof(struct ns_worker_counts, field_name),                           \
	}

/* All of NS_WORKER_COUNTERS. */
static const struct metric worker_metrics[] = {
	{ .name = "numastore_open_connections",
	  .help = "Connections that are open.",
	  .offset = offsetof(struct ns_worker_counts, connections),
	  .is_gauge = true },
	{ .name = "numastore_connections",
	  .help = "Connections that were accepted.",
	  .offset = offsetof(struct ns_worker_counts, connections_total) },
	COUNTER(connections_rejected,
	        "Connections that were closed at once, as there were too many."),
	COUNTER(connections_timed_out, "Connections that were closed as a deadline had passed."),
	BYTES("read_bytes", bytes_read, "Bytes that came from peers."),
	BYTES("written_bytes", bytes_written, "Bytes that went to peers."),
	COUNTER(cmd_set, "Storage commands of memcache."),
	COUNTER(cmd_touch, "Touching commands of memcache."),
	COUNTER(cmd_flush, "Flushing commands of memcache."),
	COUNTER(cmd_meta, "Meta commands of memcache."),
	COUNTER(auth_cmds, "Attempts to authenticate."),
	COUNTER(auth_errors, "Attempts to authenticate that failed."),
	COUNTER(http_requests, "Requests over HTTP that were understood."),
	COUNTER(http_errors, "Requests over HTTP that were answered by a status from 400 on."),
	COUNTER(protocol_errors, "What peers sent that no protocol knows."),
	COUNTER(yields, "Times that a connection had to wait for others after many commands."),
	COUNTER(connections_handed,
	        "Connections that were handed to the worker of their receive queue."),
	COUNTER(connections_unsteered,
	        "Connections that steering had no queue for, or that came in on another CPU."),
};
#define X(name) +1
static_assert(sizeof(worker_metrics) / sizeof(worker_metrics[0]) == 0 NS_WORKER_COUNTERS(X),
              "a counter of the workers has no metric");
#undef X

/* ---- the text ---- */

static void print_head(FILE *out, const char *name, const char *type, const char *unit,
                       const char *help)
{
	fprintf(out, "# HELP %s %s\n", name, help);
	fprintf(out, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(out, "# UNIT %s %s\n", name, unit);
}

static void print_metrics(FILE *out, const struct metric *metrics, size_t count, const void *counts)
{
	for (size_t i = 0; i < count; i++) {
		const struct metric *metric = &metrics[i];
		uint64_t value = *(const uint64_t *)((const char *)counts + metric->offset);

		print_head(out, metric->name, metric->is_gauge ? "gauge" : "counter", metric->unit,
		           metric->help);
		fprintf(out, "%s%s ", metric->name, metric->is_gauge ? "" : "_total");
		if (metric->is_in_ns)
			fprintf(out, "%" PRIu64 ".%09" PRIu64 "\n", value / 1000000000,
			        value % 1000000000);
		else
			fprintf(out, "%" PRIu64 "\n", value);
	}
}

static void print_server(FILE *out, const struct ns_metrics_page *page)
{
	print_head(out, "numastore_build", "info", NULL, "Always 1; the program's version.");
	fprintf(out, "numastore_build_info{version=\"%s\"} 1\n", page->version);
	print_head(out, "numastore_start_time_seconds", "gauge", "seconds",
	           "When the server began, in seconds since 1970.");
	fprintf(out, "numastore_start_time_seconds %" PRId64 "\n", page->state->started_s);
	print_head(out, "numastore_workers", "gauge", NULL, "Threads that serve.");
	fprintf(out, "numastore_workers %u\n", page->state->worker_count);
	print_head(out, "numastore_draining", "gauge", NULL,
	           "1 once the server was told to stop and only ends what it has begun.");
	fprintf(out, "numastore_draining %d\n", page->is_draining ? 1 : 0);
}

static void print_served(FILE *out, const struct ns_metrics_page *page)
{
	static const char format[] = "numastore_served_%s_total{serving_node=\"%u\",memory_node="
				     "\"%u\"} %" PRIu64 "\n";

	print_head(out, "numastore_served_bytes", "counter", "bytes",
	           "Bytes sent of heads, by the worker's node and the node where the head lay.");
	for (size_t i = 0; i < page->served_count; i++)
		fprintf(out, format, "bytes", page->served[i].serving, page->served[i].memory,
		        page->served[i].served.bytes);
	print_head(out, "numastore_served_heads", "counter", NULL,
	           "Heads sent, by the worker's node and the node where the head lay.");
	for (size_t i = 0; i < page->served_count; i++)
		fprintf(out, format, "heads", page->served[i].serving, page->served[i].memory,
		        page->served[i].served.heads);
}

/* ---- arenas ---- */

/* One number of every arena; what it is, is chosen by @which. */
struct arena_metric {
	const char *name;
	const char *unit;
	const char *help;
	uint64_t (*value)(const struct ns_arena_counts *arena);
};

#define ARENA_VALUE(field)                                                                         \
	static uint64_t value_of_##field(const struct ns_arena_counts *arena)                      \
	{                                                                                          \
		return arena->heads.field;                                                         \
	}
ARENA_VALUE(free_blocks)
ARENA_VALUE(slot_blocks)
ARENA_VALUE(packed_blocks)
ARENA_VALUE(heads)
ARENA_VALUE(taken_bytes)
ARENA_VALUE(free_bytes)
#undef ARENA_VALUE

static uint64_t value_of_objects(const struct ns_arena_counts *arena)
{
	return arena->objects;
}

static const struct arena_metric arena_metrics[] = {
	{ "numastore_arena_free_blocks", "blocks", "Blocks of an arena that hold nothing.",
	  value_of_free_blocks },
	{ "numastore_arena_slot_blocks", "blocks", "Blocks of an arena for full heads.",
	  value_of_slot_blocks },
	{ "numastore_arena_packed_blocks", "blocks",
	  "Blocks of an arena into which shorter heads are packed.", value_of_packed_blocks },
	{ "numastore_arena_heads", NULL, "Heads in an arena.", value_of_heads },
	{ "numastore_arena_taken_bytes", "bytes", "Bytes of the heads in an arena.",
	  value_of_taken_bytes },
	{ "numastore_arena_free_bytes", "bytes", "Bytes of an arena that heads can still get.",
	  value_of_free_bytes },
	{ "numastore_arena_objects", NULL, "Objects whose head is in an arena.", value_of_objects },
};

static void print_arenas(FILE *out, const struct ns_metrics_page *page)
{
	const struct ns_server_state *state = page->state;

	print_head(out, "numastore_arena_bytes", "gauge", "bytes", "Size of a node's arena.");
	for (size_t i = 0; i < state->arena_count; i++)
		fprintf(out, "numastore_arena_bytes{node=\"%u\"} %" PRIu64 "\n",
		        state->arenas[i].plan.node, state->arenas[i].plan.bytes);
	print_head(out, "numastore_arena_distance", "gauge", NULL,
	           "Distance from the serving node to the arena's, 10 being the same node.");
	for (size_t i = 0; i < state->arena_count; i++)
		fprintf(out, "numastore_arena_distance{node=\"%u\"} %u\n",
		        state->arenas[i].plan.node, state->arenas[i].plan.distance);

	for (size_t m = 0; m < sizeof(arena_metrics) / sizeof(arena_metrics[0]); m++) {
		const struct arena_metric *metric = &arena_metrics[m];

		print_head(out, metric->name, "gauge", metric->unit, metric->help);
		for (size_t i = 0; i < page->arena_count; i++)
			fprintf(out, "%s{node=\"%u\"} %" PRIu64 "\n", metric->name,
			        page->arenas[i].node, metric->value(&page->arenas[i]));
	}
}

/* ---- what was verified of the arenas' pages ---- */

static void print_kinds(FILE *out, const struct ns_arena_report *report)
{
	for (unsigned kind = 0; kind < NS_PAGE_KIND_COUNT; kind++)
		fprintf(out,
		        "numastore_arena_verified_blocks{node=\"%u\",pages=\"%s\"} %" PRIu64 "\n",
		        report->node, ns_page_kind_name((enum ns_page_kind)kind),
		        report->blocks[kind]);
	if (report->unknown_blocks > 0)
		fprintf(out,
		        "numastore_arena_verified_blocks{node=\"%u\",pages=\"unknown\"} %" PRIu64
		        "\n",
		        report->node, report->unknown_blocks);
}

static void print_places(FILE *out, const struct ns_arena_report *report)
{
	static const char name[] = "numastore_arena_verified_bytes";

	fprintf(out, "%s{node=\"%u\",place=\"on_node\"} %" PRIu64 "\n", name, report->node,
	        report->right_bytes);
	fprintf(out, "%s{node=\"%u\",place=\"elsewhere\"} %" PRIu64 "\n", name, report->node,
	        report->wrong_bytes);
	fprintf(out, "%s{node=\"%u\",place=\"unknown\"} %" PRIu64 "\n", name, report->node,
	        report->unknown_bytes);
}

static void print_nodes(FILE *out, const struct ns_arena_report *report)
{
	for (size_t node = 0; node < report->node_count; node++) {
		if (report->node_bytes[node] > 0)
			fprintf(out,
			        "numastore_arena_node_bytes{node=\"%u\",found_node=\"%zu\"} "
			        "%" PRIu64 "\n",
			        report->node, node, report->node_bytes[node]);
	}
}

static void print_reports(FILE *out, const struct ns_server_state *state)
{
	static const struct {
		const char *name;
		const char *unit;
		const char *help;
		void (*print)(FILE *out, const struct ns_arena_report *report);
	} families[] = {
		{ "numastore_arena_verified_blocks", "blocks",
		  "Blocks of an arena by the kind of their pages, as the kernel told at the start.",
		  print_kinds },
		{ "numastore_arena_verified_bytes", "bytes",
		  "Bytes of an arena on its node, on others, and of pages that the kernel did not "
		  "tell of.",
		  print_places },
		{ "numastore_arena_node_bytes", "bytes",
		  "Bytes of an arena by the node that the kernel found them on.", print_nodes },
	};

	if (!state->reports)
		return;
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		print_head(out, families[f].name, "gauge", families[f].unit, families[f].help);
		for (size_t i = 0; i < state->arena_count; i++)
			families[f].print(out, &state->reports[i]);
	}
}

/* ---- pools ---- */

struct pool_metric {
	const char *name;
	const char *unit;
	const char *help;
	bool is_counter;
	size_t offset; /* of a uint64_t in ns_pool_state */
};

#define POOL(field_name, unit_text, counts, text)                                                  \
	{                                                                                          \
		.name = "numastore_pool_" #field_name, .unit = (unit_text), .help = (text),        \
		.is_counter = (counts), .offset = offsetof(struct ns_pool_state, field_name),      \
	}

static const struct pool_metric pool_metrics[] = {
	POOL(file_bytes, "bytes", false, "Bytes that a pool's file has grown to."),
	POOL(used_bytes, "bytes", false, "Bytes of a pool that objects have."),
	POOL(reads, NULL, true, "Reads of a pool."),
	POOL(writes, NULL, true, "Writes to a pool."),
	POOL(read_bytes, "bytes", true, "Bytes read of a pool."),
	POOL(written_bytes, "bytes", true, "Bytes written to a pool."),
	POOL(errors, NULL, true, "Reads and writes of a pool that failed."),
	POOL(damaged, NULL, true, "Pieces of a pool that came back other than they were written."),
};

/* With what the format does not take as it is (OpenMetrics, "Escaping") put in its way. */
static void print_label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

static void print_flags(FILE *out, const struct ns_metrics_page *page)
{
	print_head(out, "numastore_pool_direct", "gauge", NULL,
	           "1 where a pool is read and written past the page cache.");
	for (size_t i = 0; i < page->pool_count; i++)
		fprintf(out, "numastore_pool_direct{pool=\"%zu\"} %d\n", i,
		        page->pools[i].is_direct ? 1 : 0);
	print_head(out, "numastore_pool_retired", "gauge", NULL,
	           "1 once a pool has failed so often that nothing new is put there.");
	for (size_t i = 0; i < page->pool_count; i++)
		fprintf(out, "numastore_pool_retired{pool=\"%zu\"} %d\n", i,
		        page->pools[i].is_retired ? 1 : 0);
}

static void print_pool_info(FILE *out, const struct ns_metrics_page *page)
{
	print_head(out, "numastore_pool", "info", NULL, "Always 1; a pool's directory.");
	for (size_t i = 0; i < page->pool_count; i++) {
		fprintf(out, "numastore_pool_info{pool=\"%zu\",directory=\"", i);
		print_label(out, page->pools[i].path);
		fputs("\"} 1\n", out);
	}
	print_head(out, "numastore_storage", "info", NULL,
	           "Always 1; how pools are read and written.");
	fprintf(out, "numastore_storage_info{engine=\"%s\"} 1\n",
	        ns_state_engine_name(page->engine));
}

static void print_pools(FILE *out, const struct ns_metrics_page *page)
{
	if (page->pool_count == 0)
		return;
	print_pool_info(out, page);
	print_flags(out, page);
	for (size_t m = 0; m < sizeof(pool_metrics) / sizeof(pool_metrics[0]); m++) {
		const struct pool_metric *metric = &pool_metrics[m];
		const char *end = metric->is_counter ? "_total" : "";

		print_head(out, metric->name, metric->is_counter ? "counter" : "gauge",
		           metric->unit, metric->help);
		for (size_t i = 0; i < page->pool_count; i++)
			fprintf(out, "%s%s{pool=\"%zu\"} %" PRIu64 "\n", metric->name, end, i,
			        *(const uint64_t *)(const void *)((const char *)&page->pools[i] +
			                                          metric->offset));
	}
}

void ns_metrics_print(FILE *out, const struct ns_metrics_page *page)
{
	print_server(out, page);
	print_metrics(out, worker_metrics, sizeof(worker_metrics) / sizeof(worker_metrics[0]),
	              &page->workers);
	print_metrics(out, object_metrics, sizeof(object_metrics) / sizeof(object_metrics[0]),
	              &page->counts);
	print_metrics(out, store_metrics, sizeof(store_metrics) / sizeof(store_metrics[0]),
	              &page->counts);
	print_served(out, page);
	print_arenas(out, page);
	print_reports(out, page->state);
	print_pools(out, page);
	fputs("# EOF\n", out);
}
