/* SPDX-License-Identifier: BSD-3-Clause */
/* The store as a whole: made, ended, and its clock. */
#include "store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* memcached's clock begins at 2 as well, so that 1 can be "expired at once". */
enum { FIRST_SECOND = 2 };

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/*
 * Of before the first. They begin beyond those of an earlier run, whose numbers clients may remember (as ETags, say):
 * it would have had to give more than a million a second.
 */
static uint64_t cas_at_first(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint32_t ns_store_now_s(const struct ns_store *store)
{
	return (uint32_t)((clock_ns() - store->started_ns) / 1000000000) + FIRST_SECOND;
}

static int set_up_arena(struct ns_store_arena *arena, const struct ns_arena *mapped,
                        uint64_t head_bytes)
{
	uint64_t bytes = mapped->block_bytes * mapped->block_count;

	pthread_mutex_init(&arena->lock, NULL);
	pthread_mutex_init(&arena->emptying.lock, NULL);
	arena->emptying.blocks = calloc(mapped->block_count / 64 + 1, sizeof(uint64_t));
	arena->mapped = mapped;
	arena->heads =
		ns_heads_create(mapped->base, mapped->block_bytes, mapped->block_count, head_bytes);
	/* Who went is remembered for objects of 1 KiB: smaller ones are forgotten the sooner. */
	arena->fifo = ns_fifo_create(bytes, (size_t)(bytes / 1024));
	return arena->heads != NULL && arena->fifo != NULL && arena->emptying.blocks != NULL
	               ? 0
	               : -ENOMEM;
}

/* objects_max and the limits on their bytes, from what the arenas hold. */
static void set_limits(struct ns_store *store, const struct ns_store_setup *setup)
{
	const struct ns_config *config = setup->config;
	uint64_t arena_bytes = 0;

	for (size_t i = 0; i < setup->arena_count; i++)
		arena_bytes += setup->arenas[i].block_bytes * setup->arenas[i].block_count;
	store->head_bytes = config->head_bytes;
	store->object_bytes_max = config->object_bytes_max;
	store->tails = setup->tails;
	if (store->object_bytes_max == 0 && store->tails != NULL)
		store->object_bytes_max = NS_OBJECT_BYTES_WITH_TAIL;
	if (store->object_bytes_max > NS_OBJECT_BYTES_MAX)
		store->object_bytes_max = NS_OBJECT_BYTES_MAX;
	/* Without tails, the head is all there is. */
	if (store->object_bytes_max == 0 ||
	    (store->tails == NULL && store->object_bytes_max > store->head_bytes))
		store->object_bytes_max = store->head_bytes;
	store->objects_max = config->objects_max;
	if (store->objects_max == 0)
		store->objects_max = arena_bytes / NS_BYTES_AN_OBJECT + 1;
	store->no_evict = config->no_evict;
	if (!config->no_promotion && setup->arena_count > 1)
		store->scores = ns_score_rules_make(config->increment, config->decay);
	store->far_node = setup->far_node;
	store->threads_max = setup->threads_max;
}

static int set_up_parts(struct ns_store *store, const struct ns_store_setup *setup,
                        struct np_error *err)
{
	int rc = ns_index_create(store->objects_max, setup->hash_seed, setup->nodes, &store->index,
	                         err);

	if (rc < 0)
		return rc;
	store->memory = ns_object_memory_create(setup->nodes);
	store->epochs = ns_epochs_create(setup->threads_max + 1); /* one for sweep.own */
	store->arenas = aligned_alloc(alignof(struct ns_store_arena),
	                              setup->arena_count * sizeof(*store->arenas));
	if (store->memory == NULL || store->epochs == NULL || store->arenas == NULL)
		return np_error_set(err, ENOMEM, "no memory for a store");
	memset(store->arenas, 0, setup->arena_count * sizeof(*store->arenas));
	for (; store->arena_count < setup->arena_count; store->arena_count++) {
		const struct ns_arena *mapped = &setup->arenas[store->arena_count];

		if (set_up_arena(&store->arenas[store->arena_count], mapped, store->head_bytes) <
		    0) {
			store->arena_count++;
			return np_error_set(err, ENOMEM, "no memory to manage the arena of node %u",
			                    mapped->plan.node);
		}
	}
	store->sweep.own = ns_thread_join(store, setup->arenas[0].plan.node);
	if (store->sweep.own == NULL)
		return np_error_set(err, ENOMEM, "no memory for a thread of the store");
	ns_thread_go(store->sweep.own);
	return ns_store_place(store, setup->config->rules, setup->config->rule_count, err);
}

int ns_store_create(const struct ns_store_setup *setup, struct ns_store **ret, struct np_error *err)
{
	struct ns_store *store;
	int rc;

	if (setup->arena_count == 0 || setup->arena_count > UINT8_MAX)
		return np_error_set(err, EINVAL, "%zu arenas: a store has 1 to %d",
		                    setup->arena_count, UINT8_MAX);
	store = aligned_alloc(alignof(struct ns_store), sizeof(*store));
	if (store == NULL)
		return np_error_set(err, ENOMEM, "no memory for a store");
	memset(store, 0, sizeof(*store));
	pthread_mutex_init(&store->lock, NULL);
	pthread_mutex_init(&store->sweep.lock, NULL);
	pthread_mutex_init(&store->types.lock, NULL);
	store->started_ns = clock_ns();
	store->cas = cas_at_first();
	store->flush = (uint64_t)UINT32_MAX << 32;
	set_limits(store, setup);
	rc = set_up_parts(store, setup, err);
	if (rc < 0) {
		ns_store_free(store);
		return rc;
	}
	*ret = store;
	return 0;
}

void ns_store_free(struct ns_store *store)
{
	struct ns_thread *next;

	if (store == NULL)
		return;
	for (size_t i = 0; i < store->arena_count; i++) {
		ns_fifo_free(store->arenas[i].fifo);
		ns_heads_free(store->arenas[i].heads);
		pthread_mutex_destroy(&store->arenas[i].lock);
		pthread_mutex_destroy(&store->arenas[i].emptying.lock);
		free(store->arenas[i].emptying.blocks);
	}
	free(store->arenas);
	ns_rules_free(store->rules);
	ns_rules_free(store->old_rules);
	ns_index_free(store->index);
	ns_object_memory_free(store->memory);
	ns_epochs_free(store->epochs);
	for (struct ns_thread *thread = store->threads; thread != NULL; thread = next) {
		next = thread->next;
		free(thread);
	}
	pthread_mutex_destroy(&store->types.lock);
	pthread_mutex_destroy(&store->sweep.lock);
	pthread_mutex_destroy(&store->lock);
	free(store);
}
