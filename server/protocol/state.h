/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a running server knows of itself, for `stats` and /metrics. Counters are written by one worker each and
 * added up when asked for.
 */
#ifndef NS_STATE_H
#define NS_STATE_H

#include "../store/store.h"

/* Of one worker, relaxed atomic: written by it, read by all. */
/* clang-format off: one a line */
#define NS_WORKER_COUNTERS(X)                                                                      \
	X(connections)                                                                             \
	X(connections_total)                                                                       \
	X(connections_rejected)                                                                    \
	X(connections_timed_out)                                                                   \
	X(bytes_read)                                                                              \
	X(bytes_written)                                                                           \
	X(cmd_set)                                                                                 \
	X(cmd_touch)                                                                               \
	X(cmd_flush)                                                                               \
	X(cmd_meta)                                                                                \
	X(auth_cmds)                                                                               \
	X(auth_errors)                                                                             \
	X(http_requests)                                                                           \
	X(http_errors)                                                                             \
	X(protocol_errors)                                                                         \
	X(yields)                                                                                  \
	X(connections_handed)                                                                      \
	X(connections_unsteered)
/* clang-format on */

struct ns_worker_counts {
#define X(name) uint64_t name;
	NS_WORKER_COUNTERS(X)
#undef X
};

static inline void ns_count(uint64_t *counter, uint64_t amount)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount,
	                 __ATOMIC_RELAXED);
}

struct ns_server_state {
	const struct ns_config *config;
	struct ns_store *store;
	int64_t started_s; /* since 1970 */
	const struct ns_memory_plan *plan;
	const struct ns_arena *arenas;
	const struct ns_arena_report *reports; /* one for each arena, as verified */
	size_t arena_count;
	const int *ports; /* that are listened on, by ns_session_kind; 0 = none */
	struct ns_worker_counts *workers;
	unsigned worker_count;
	const unsigned *worker_cpus; /* OS indexes, one for each worker */
	bool is_draining;            /* atomic */
	bool is_ending;              /* atomic: peers are not waited for */
	enum ns_tail_engine engine; /* atomic: what workers found; AUTO before, and without pools */
	/* Relaxed atomics: sums at the last reset. */
	struct ns_worker_counts reset;
};

/* No new requests are taken: it ends once those that have begun are answered. */
static inline bool ns_state_is_draining(const struct ns_server_state *state)
{
	return __atomic_load_n(&state->is_draining, __ATOMIC_RELAXED);
}

/* "uring", "threads", "auto". */
const char *ns_state_engine_name(enum ns_tail_engine engine);

/* Since the last reset, but for the connections that there are. */
void ns_state_sum(const struct ns_server_state *state, struct ns_worker_counts *ret);
/* From any thread. */
void ns_state_reset_counts(struct ns_server_state *state);

#endif
