/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats: memcached's names where we count the same, and no others of its. What it counts and we do
 * not is left out, as a 0 there would be a lie. Names of our own are at the end of the general
 * ones.
 */
#include "memcache.h"

#include <numaprobe/bitmap.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static void stat_seconds(struct ns_talk *talk, const char *name, const struct timeval *time)
{
	ns_talk_stat_text(talk, name, "%lld.%06ld", (long long)time->tv_sec, (long)time->tv_usec);
}

static const char *on_off(bool is_on)
{
	return is_on ? "on" : "off";
}

static const char *yes_no(bool is_so)
{
	return is_so ? "yes" : "no";
}

static const char *steer_name(enum ns_steer steer)
{
	static const char *const names[] = {
		[NS_STEER_NONE] = "none",
		[NS_STEER_CPU] = "cpu",
		[NS_STEER_NAPI] = "napi",
	};

	return names[steer];
}

static uint64_t arena_bytes(const struct ns_server_state *server)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < server->arena_count; i++)
		bytes += server->arenas[i].plan.bytes;
	return bytes;
}

/* Two counters of a pair that is read while it changes: never below 0 for that. */
static uint64_t misses(uint64_t all, uint64_t hits)
{
	return all > hits ? all - hits : 0;
}

/* ---- stats ---- */

static void stat_process(struct ns_talk *talk)
{
	struct rusage usage;

	ns_talk_stat(talk, "pid", (uint64_t)getpid());
	ns_talk_stat(talk, "uptime", talk->context->now_s - UINT64_C(2));
	ns_talk_stat(talk, "time", (uint64_t)ns_talk_time_now(talk));
	ns_talk_stat_text(talk, "version", "%s", NS_MEMCACHE_VERSION);
	ns_talk_stat(talk, "pointer_size", sizeof(void *) * 8);
	if (getrusage(RUSAGE_SELF, &usage) < 0)
		return;
	stat_seconds(talk, "rusage_user", &usage.ru_utime);
	stat_seconds(talk, "rusage_system", &usage.ru_stime);
}

static void stat_connections(struct ns_talk *talk, const struct ns_worker_counts *workers)
{
	const struct ns_server_state *server = talk->context->server;
	bool accepts = !ns_state_is_draining(server);

	ns_talk_stat(talk, "max_connections", server->config->connections_max);
	ns_talk_stat(talk, "curr_connections", workers->connections);
	ns_talk_stat(talk, "total_connections", workers->connections_total);
	ns_talk_stat(talk, "rejected_connections", workers->connections_rejected);
	/* Who is one too many is turned away; nobody stops listening for that. */
	ns_talk_stat(talk, "listen_disabled_num", 0);
	ns_talk_stat(talk, "accepting_conns", accepts);
	ns_talk_stat(talk, "threads", server->worker_count);
	ns_talk_stat(talk, "conn_yields", workers->yields);
	/* Without steering nobody looks. */
	if (server->config->steer != NS_STEER_NONE) {
		ns_talk_stat(talk, "connections_handed", workers->connections_handed);
		ns_talk_stat(talk, "connections_unsteered", workers->connections_unsteered);
	}
	ns_talk_stat(talk, "bytes_read", workers->bytes_read);
	ns_talk_stat(talk, "bytes_written", workers->bytes_written);
	ns_talk_stat(talk, "auth_cmds", workers->auth_cmds);
	ns_talk_stat(talk, "auth_errors", workers->auth_errors);
	ns_talk_stat(talk, "cmd_set", workers->cmd_set);
	ns_talk_stat(talk, "cmd_flush", workers->cmd_flush);
	ns_talk_stat(talk, "cmd_touch", workers->cmd_touch);
	ns_talk_stat(talk, "cmd_meta", workers->cmd_meta);
}

static void stat_keys(struct ns_talk *talk, const struct ns_counts *counts)
{
	const struct {
		const char *name;
		uint64_t value;
	} stats[] = {
		/* Of all protocols, as the hits and misses are. */
		{ "cmd_get", counts->get_hits + counts->get_misses },
		{ "get_hits", counts->get_hits },
		{ "get_misses", counts->get_misses },
		{ "get_expired", counts->get_expired },
		{ "get_flushed", counts->get_flushed },
		{ "delete_misses", misses(counts->deletes, counts->delete_hits) },
		{ "delete_hits", counts->delete_hits },
		{ "incr_misses", counts->incr_misses },
		{ "incr_hits", counts->incr_hits },
		{ "decr_misses", counts->decr_misses },
		{ "decr_hits", counts->decr_hits },
		{ "cas_misses", counts->cas_misses },
		{ "cas_hits", counts->cas_hits },
		{ "cas_badval", counts->cas_badval },
		{ "touch_hits", counts->touch_hits },
		{ "touch_misses", misses(counts->touches, counts->touch_hits) },
		{ "store_too_large", counts->too_large },
		{ "store_no_memory", counts->out_of_memory },
		{ "bytes", counts->object_bytes },
		{ "curr_items", counts->objects },
		{ "total_items", counts->total_objects },
		{ "evictions", counts->evictions },
		{ "evicted_unfetched", counts->evicted_unfetched },
		{ "expired", counts->expired },
		{ "metadata_bytes", counts->metadata_bytes },
		{ "local_heads", counts->local_heads },
		{ "local_bytes", counts->local_bytes },
		{ "remote_heads", counts->remote_heads },
		{ "remote_bytes", counts->remote_bytes },
		{ "promotions", counts->promotions },
		{ "promoted_bytes", counts->promoted_bytes },
		{ "promotion_ns", counts->promotion_ns },
		{ "tail_sent_bytes", counts->tail_sent_bytes },
		{ "tail_evictions", counts->tail_evictions },
		{ "tails_lost", counts->tails_lost },
		{ "storage_full", counts->storage_full },
		{ "storage_failed", counts->storage_failed },
		{ "promotion_max_ns", counts->promotion_max_ns },
		{ "promotion_blocks", counts->promotion_blocks },
		{ "promotion_scans", counts->promotion_scans },
		{ "promotion_refused_payback", counts->promotion_refused_payback },
		{ "promotion_refused_rate", counts->promotion_refused_rate },
		{ "promotion_refused_room", counts->promotion_refused_room },
		{ "demotions", counts->demotions },
		{ "demoted_bytes", counts->demoted_bytes },
	};

	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
		ns_talk_stat(talk, stats[i].name, stats[i].value);
}

static void stat_general(struct ns_talk *talk)
{
	struct ns_session_context *context = talk->context;
	struct ns_worker_counts workers;
	struct ns_counts counts;

	ns_state_sum(context->server, &workers);
	ns_store_count(context->store, &counts);
	stat_process(talk);
	stat_connections(talk, &workers);
	ns_talk_stat(talk, "limit_maxbytes", arena_bytes(context->server));
	stat_keys(talk, &counts);
	ns_talk_stat(talk, "connections_timed_out", workers.connections_timed_out);
	ns_talk_stat(talk, "http_requests", workers.http_requests);
	ns_talk_stat(talk, "http_errors", workers.http_errors);
	ns_talk_stat(talk, "protocol_errors", workers.protocol_errors);
}

/* ---- stats settings ---- */

static void stat_text_or_null(struct ns_talk *talk, const char *name, const char *text)
{
	ns_talk_stat_text(talk, name, "%s", text != NULL ? text : "NULL");
}

/* A 0 that stands for none. */
static void stat_limit(struct ns_talk *talk, const char *name, uint64_t limit)
{
	if (limit == 0)
		ns_talk_stat_text(talk, name, "unlimited");
	else
		ns_talk_stat(talk, name, limit);
}

static void stat_settings(struct ns_talk *talk)
{
	const struct ns_server_state *server = talk->context->server;
	const struct ns_config *config = server->config;

	ns_talk_stat(talk, "maxbytes", arena_bytes(server));
	ns_talk_stat(talk, "maxconns", config->connections_max);
	ns_talk_stat_text(talk, "tcpport", "%d", server->ports[NS_SESSION_MEMCACHE]);
	ns_talk_stat(talk, "udpport", 0);
	stat_text_or_null(talk, "inter", config->listen_address);
	ns_talk_stat_text(talk, "evictions", "%s", on_off(!config->no_evict));
	stat_text_or_null(talk, "domain_socket", config->memcache_socket);
	ns_talk_stat_text(talk, "umask", "%o", config->memcache_socket_mode);
	ns_talk_stat_text(talk, "shutdown_command", "no");
	ns_talk_stat(talk, "num_threads", server->worker_count);
	ns_talk_stat(talk, "reqs_per_event", NS_TURN_COMMANDS_MAX);
	ns_talk_stat_text(talk, "cas_enabled", "yes");
	ns_talk_stat_text(talk, "binding_protocol", "ascii");
	ns_talk_stat_text(talk, "auth_enabled_sasl", "no");
	ns_talk_stat_text(talk, "auth_enabled_ascii", "%s", yes_no(talk->context->auth != NULL));
	ns_talk_stat(talk, "item_size_max", config->object_bytes_max);
	ns_talk_stat_text(talk, "flush_enabled", "yes");
	ns_talk_stat_text(talk, "dump_enabled", "no");
	ns_talk_stat(talk, "idle_timeout", config->idle_timeout_ms / 1000);
	ns_talk_stat_text(talk, "ssl_enabled", "no");
	ns_talk_stat_text(talk, "steer", "%s", steer_name(config->steer));
	ns_talk_stat(talk, "poll_us", config->poll_us);
	stat_text_or_null(talk, "numa", config->numa);
	ns_talk_stat(talk, "memory_bytes", config->memory_bytes);
	ns_talk_stat(talk, "sub_memory_bytes", config->sub_memory_bytes);
	ns_talk_stat(talk, "block_bytes", config->block_bytes);
	ns_talk_stat(talk, "head_bytes", config->head_bytes);
	stat_limit(talk, "objects_max", config->objects_max);
	ns_talk_stat_text(talk, "perverse", "%s", yes_no(config->perverse));
	ns_talk_stat_text(talk, "promotion", "%s", on_off(!config->no_promotion));
	ns_talk_stat_text(talk, "increment", "%g", config->increment);
	ns_talk_stat_text(talk, "decay", "%g", config->decay);
	stat_limit(talk, "promotion_rate", config->promotion_rate);
	ns_talk_stat_text(talk, "require_huge", "%s", yes_no(config->require_huge));
	ns_talk_stat_text(talk, "lock_memory", "%s", yes_no(config->lock_memory));
}

/* ---- stats placement, items: by arena; slabs ---- */

/* In one word, as clients cut a line at its blanks. */
static void stat_arena(struct ns_talk *talk, size_t arena)
{
	const struct ns_server_state *server = talk->context->server;
	const struct ns_arena_plan *plan = &server->arenas[arena].plan;
	const struct ns_arena_report *report = &server->reports[arena];
	struct ns_arena_counts counts = ns_store_arena(talk->context->store, arena);
	char name[32];

	(void)snprintf(name, sizeof(name), "arena:%zu", arena);
	ns_talk_stat_text(
		talk, name,
		"node=%u,distance=%u,bytes=%llu,hugetlb_blocks=%llu,thp_blocks=%llu,"
		"plain_blocks=%llu,unknown_blocks=%llu,on_node_bytes=%llu,elsewhere_bytes=%llu,"
		"unknown_bytes=%llu,heads=%llu,head_bytes=%llu,free_bytes=%llu,objects=%llu,"
		"locked=%s",
		plan->node, plan->distance, (unsigned long long)plan->bytes,
		(unsigned long long)report->blocks[NS_PAGES_HUGETLB],
		(unsigned long long)report->blocks[NS_PAGES_THP],
		(unsigned long long)report->blocks[NS_PAGES_PLAIN],
		(unsigned long long)report->unknown_blocks, (unsigned long long)report->right_bytes,
		(unsigned long long)report->wrong_bytes, (unsigned long long)report->unknown_bytes,
		(unsigned long long)counts.heads.heads,
		(unsigned long long)counts.heads.taken_bytes,
		(unsigned long long)counts.heads.free_bytes, (unsigned long long)counts.objects,
		yes_no(server->arenas[arena].is_locked));
}

/* What workers of each serving node sent from each arena's node. */
static void stat_served(struct ns_talk *talk, size_t arena)
{
	const struct ns_server_state *server = talk->context->server;
	unsigned memory = server->arenas[arena].plan.node;
	const struct np_bitmap *nodes = &server->plan->serving_nodes;
	char name[64];

	np_bitmap_for_each (node, nodes) {
		struct ns_served served = ns_store_served(talk->context->store, node, memory);

		(void)snprintf(name, sizeof(name), "served:%u:%u", node, memory);
		ns_talk_stat(talk, name, served.bytes);
		(void)snprintf(name, sizeof(name), "served_heads:%u:%u", node, memory);
		ns_talk_stat(talk, name, served.heads);
	}
}

/* The prefix comes last, as there may be commas in it. */
static void stat_rules(struct ns_talk *talk)
{
	static const char *const places[] = {
		[NS_PLACE_LOCAL] = "local",
		[NS_PLACE_FAR] = "far",
		[NS_PLACE_NODE] = "node",
	};
	struct ns_place_rule rule;
	char name[32];

	for (size_t i = 0; ns_store_rule(talk->context->thread, i, &rule); i++) {
		(void)snprintf(name, sizeof(name), "rule:%zu", i);
		ns_talk_stat_text(talk, name, "place=%s,node=%u,prefix=%s", places[rule.place],
		                  rule.node, rule.prefix);
	}
}

static void stat_placement(struct ns_talk *talk)
{
	const struct ns_server_state *server = talk->context->server;

	ns_talk_stat(talk, "arenas", server->arena_count);
	for (size_t i = 0; i < server->arena_count; i++)
		stat_arena(talk, i);
	for (size_t i = 0; i < server->arena_count; i++)
		stat_served(talk, i);
	stat_rules(talk);
}

static void stat_of_arena(struct ns_talk *talk, const char *prefix, size_t arena, const char *what,
                          uint64_t value)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%s%zu:%s", prefix, arena + 1, what);
	ns_talk_stat(talk, name, value);
}

/* Where memcached has classes of sizes we have arenas. */
static void stat_items(struct ns_talk *talk)
{
	for (size_t i = 0; i < ns_store_arena_count(talk->context->store); i++) {
		struct ns_arena_counts counts = ns_store_arena(talk->context->store, i);

		if (counts.objects == 0)
			continue;
		stat_of_arena(talk, "items:", i, "number", counts.objects);
		stat_of_arena(talk, "items:", i, "mem_requested", counts.heads.taken_bytes);
	}
}

/* Monitors expect a lot of each class of sizes, and there are none. */
static void stat_slabs(struct ns_talk *talk)
{
	ns_talk_stat(talk, "active_slabs", 0);
	ns_talk_stat(talk, "total_malloced", arena_bytes(talk->context->server));
}

static void stat_sizes(struct ns_talk *talk)
{
	ns_talk_stat_text(talk, "sizes_status", "disabled");
}

/* Counts, by worker: who is at the other end is nobody's business. */
static void stat_conns(struct ns_talk *talk)
{
	const struct ns_server_state *server = talk->context->server;
	char name[64];

	for (unsigned i = 0; i < server->worker_count; i++) {
		const struct ns_worker_counts *worker = &server->workers[i];

		(void)snprintf(name, sizeof(name), "worker:%u:cpu", i);
		ns_talk_stat(talk, name, server->worker_cpus[i]);
		(void)snprintf(name, sizeof(name), "worker:%u:connections", i);
		ns_talk_stat(talk, name, __atomic_load_n(&worker->connections, __ATOMIC_RELAXED));
		(void)snprintf(name, sizeof(name), "worker:%u:total_connections", i);
		ns_talk_stat(talk, name,
		             __atomic_load_n(&worker->connections_total, __ATOMIC_RELAXED));
	}
}

/* ---- stats pools ---- */

static void stat_of_pool(struct ns_talk *talk, size_t pool, const char *what, uint64_t value)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "pool:%zu:%s", pool, what);
	ns_talk_stat(talk, name, value);
}

static void stat_pool(struct ns_talk *talk, const struct ns_tails *tails, size_t index)
{
	const struct ns_pool_state pool = ns_tails_pool(tails, index);
	const struct {
		const char *name;
		uint64_t value;
	} stats[] = {
		{ "file_bytes", pool.file_bytes }, { "used_bytes", pool.used_bytes },
		{ "reads", pool.reads },           { "writes", pool.writes },
		{ "read_bytes", pool.read_bytes }, { "written_bytes", pool.written_bytes },
		{ "errors", pool.errors },         { "damaged", pool.damaged },
		{ "direct", pool.is_direct },      { "retired", pool.is_retired },
	};
	char name[64];

	(void)snprintf(name, sizeof(name), "pool:%zu:directory", index);
	ns_talk_stat_text(talk, name, "%s", pool.path);
	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++)
		stat_of_pool(talk, index, stats[i].name, stats[i].value);
}

static void stat_pools(struct ns_talk *talk)
{
	const struct ns_server_state *server = talk->context->server;
	const struct ns_store *store = talk->context->store;
	const struct ns_tails *tails = ns_store_tails(store);
	size_t count = tails != NULL ? ns_tails_pool_count(tails) : 0;
	int loss = ns_store_last_loss(store);

	ns_talk_stat(talk, "pools", count);
	if (tails == NULL)
		return;
	ns_talk_stat_text(talk, "engine", "%s",
	                  ns_state_engine_name(__atomic_load_n(&server->engine, __ATOMIC_RELAXED)));
	ns_talk_stat(talk, "staging_bytes_max",
	             (uint64_t)server->worker_count * NS_TAIL_BUFFERS * NS_TAIL_CHUNK_BYTES);
	ns_talk_stat_text(talk, "last_loss", "%s", loss < 0 ? strerrorname_np(-loss) : "-");
	for (size_t i = 0; i < count; i++)
		stat_pool(talk, tails, i);
}

void ns_memcache_stats(struct ns_talk *talk, const struct ns_command *command)
{
	static const struct {
		const char *name;
		void (*tell)(struct ns_talk *talk);
	} kinds[] = {
		{ "", stat_general },
		{ "settings", stat_settings },
		{ "items", stat_items },
		{ "slabs", stat_slabs },
		{ "sizes", stat_sizes },
		{ "conns", stat_conns },
		{ "placement", stat_placement },
		{ "pools", stat_pools },
	};
	struct ns_span rest = command->rest;
	struct ns_span kind;

	(void)ns_span_word(&rest, &kind);
	if (ns_span_is(kind, "reset")) {
		ns_store_reset_counts(talk->context->store);
		ns_state_reset_counts(talk->context->server);
		ns_talk_say(talk, "RESET");
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!ns_span_is(kind, kinds[i].name))
			continue;
		kinds[i].tell(talk);
		ns_talk_say(talk, "END");
		return;
	}
	ns_talk_say(talk, "ERROR");
}
