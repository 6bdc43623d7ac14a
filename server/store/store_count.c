/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters: each thread writes its own, the sum is made when somebody asks. A reset notes down the sums of
 * that moment, as only its own thread may write a counter.
 */
#include "store_parts.h"

/* What begins at 0 again with a reset; the others tell what there is. */
#define RESET_COUNTERS(X) NS_COUNTERS(X) X(total_objects)

static uint64_t load(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void sum(const struct ns_store *store, struct ns_counts *ret)
{
	*ret = (struct ns_counts){ 0 };
	for (const struct ns_thread *thread = __atomic_load_n(&store->threads, __ATOMIC_ACQUIRE);
	     thread != NULL; thread = thread->next) {
#define X(name) ret->name += load(&thread->counts.name);
		RESET_COUNTERS(X)
		X(objects)
		X(object_bytes)
#undef X
	}
}

/* A sum of threads that go on meanwhile can miss the one half of a pair: never below 0 for that. */
static uint64_t at_least_0(uint64_t number)
{
	return (int64_t)number < 0 ? 0 : number;
}

void ns_store_count(const struct ns_store *store, struct ns_counts *ret)
{
	sum(store, ret);
#define X(name) ret->name = at_least_0(ret->name - load(&store->reset.name));
	RESET_COUNTERS(X)
#undef X
	ret->objects = at_least_0(ret->objects);
	ret->object_bytes = at_least_0(ret->object_bytes);
	ret->promotion_max_ns = load(&store->promotion_max_ns);
	ret->metadata_bytes = ns_object_memory_bytes(store->memory) + ns_index_bytes(store->index);
}

static void reset_served(const struct ns_store *store, struct ns_thread *thread)
{
	struct ns_served *reset = &thread->served[store->arena_count];

	for (size_t i = 0; i < store->arena_count; i++) {
		__atomic_store_n(&reset[i].bytes, load(&thread->served[i].bytes), __ATOMIC_RELAXED);
		__atomic_store_n(&reset[i].heads, load(&thread->served[i].heads), __ATOMIC_RELAXED);
	}
}

void ns_store_reset_counts(struct ns_store *store)
{
	struct ns_counts now;

	sum(store, &now);
#define X(name) __atomic_store_n(&store->reset.name, now.name, __ATOMIC_RELAXED);
	RESET_COUNTERS(X)
#undef X
	__atomic_store_n(&store->promotion_max_ns, 0, __ATOMIC_RELAXED);
	for (struct ns_thread *thread = __atomic_load_n(&store->threads, __ATOMIC_ACQUIRE);
	     thread != NULL; thread = thread->next)
		reset_served(store, thread);
}

static void add_served(const struct ns_store *store, const struct ns_thread *thread, size_t arena,
                       struct ns_served *ret)
{
	const struct ns_served *served = &thread->served[arena];
	const struct ns_served *reset = &thread->served[store->arena_count + arena];

	ret->bytes += at_least_0(load(&served->bytes) - load(&reset->bytes));
	ret->heads += at_least_0(load(&served->heads) - load(&reset->heads));
}

struct ns_served ns_store_served(const struct ns_store *store, unsigned serving, unsigned memory)
{
	struct ns_served served = { 0 };

	for (const struct ns_thread *thread = __atomic_load_n(&store->threads, __ATOMIC_ACQUIRE);
	     thread != NULL; thread = thread->next) {
		if (thread->node != serving)
			continue;
		for (size_t i = 0; i < store->arena_count; i++)
			if (store->arenas[i].mapped->plan.node == memory)
				add_served(store, thread, i, &served);
	}
	return served;
}

size_t ns_store_arena_count(const struct ns_store *store)
{
	return store->arena_count;
}

uint64_t ns_store_arena_bytes(const struct ns_store *store, size_t arena)
{
	const struct ns_arena *mapped = store->arenas[arena].mapped;

	return (uint64_t)mapped->block_bytes * mapped->block_count;
}

struct ns_arena_counts ns_store_arena(const struct ns_store *store, size_t arena)
{
	struct ns_store_arena *of = &store->arenas[arena];
	struct ns_arena_counts counts = { .node = of->mapped->plan.node };

	pthread_mutex_lock(&of->lock);
	counts.heads = ns_heads_count(of->heads);
	counts.objects = of->objects;
	pthread_mutex_unlock(&of->lock);
	return counts;
}
