/* SPDX-License-Identifier: BSD-3-Clause */
#include "state.h"

const char *ns_state_engine_name(enum ns_tail_engine engine)
{
	static const char *const names[] = {
		[NS_ENGINE_AUTO] = "auto",
		[NS_ENGINE_URING] = "uring",
		[NS_ENGINE_THREADS] = "threads",
	};

	return names[engine];
}

static void sum(const struct ns_server_state *state, struct ns_worker_counts *ret)
{
	*ret = (struct ns_worker_counts){ 0 };
	for (unsigned i = 0; i < state->worker_count; i++) {
		const struct ns_worker_counts *counts = &state->workers[i];

#define X(name) ret->name += __atomic_load_n(&counts->name, __ATOMIC_RELAXED);
		NS_WORKER_COUNTERS(X)
#undef X
	}
}

void ns_state_sum(const struct ns_server_state *state, struct ns_worker_counts *ret)
{
	sum(state, ret);
#define X(name) ret->name -= __atomic_load_n(&state->reset.name, __ATOMIC_RELAXED);
	NS_WORKER_COUNTERS(X)
#undef X
}

/* Only its worker may write a counter, so the sums of this moment are noted down. */
void ns_state_reset_counts(struct ns_server_state *state)
{
	struct ns_worker_counts now;

	sum(state, &now);
	now.connections = 0;
#define X(name) __atomic_store_n(&state->reset.name, now.name, __ATOMIC_RELAXED);
	NS_WORKER_COUNTERS(X)
#undef X
}
