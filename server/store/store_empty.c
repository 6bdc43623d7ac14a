/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks for a head that no single eviction makes room for: a large one where all blocks are full of small ones
 * or the other way round. The blocks of those who are the next to go are emptied, several at a time, as who lies
 * in them is only found by a walk through the index; no lock is held meanwhile but that of emptying.
 */
#include "store_parts.h"

#include <stdlib.h>

enum {
	BLOCKS_SHARE = 32, /* of an arena that are emptied at a time: one in so many */
	ROUNDS_MAX = 4,    /* each of which walks the index */
	CHOSEN_AT_A_TIME = 16,
};

struct emptier {
	struct ns_thread *thread;
	size_t arena;
	uint64_t block_bytes;
	uint64_t *blocks; /* bit: it is to be emptied */
	size_t count;     /* of such blocks, those that were emptied since with them */
};

static bool is_in_the_way(const struct emptier *emptier, const struct ns_object *object)
{
	uint64_t block = object->head / emptier->block_bytes;

	return object->arena == emptier->arena && object->head != NS_NO_HEAD &&
	       (emptier->blocks[block / 64] >> block % 64 & 1) != 0;
}

/* ---- one bucket ---- */

static size_t unlink_chosen(const struct emptier *emptier, uint64_t bucket,
                            struct ns_object *ret[CHOSEN_AT_A_TIME])
{
	struct ns_index *index = emptier->thread->store->index;
	struct ns_object *next;
	size_t count = 0;

	for (struct ns_object *object = ns_index_first(index, bucket);
	     object != NULL && count < CHOSEN_AT_A_TIME; object = next) {
		next = ns_index_next(object);
		if (!is_in_the_way(emptier, object))
			continue;
		ns_object_unlink(emptier->thread, ns_index_look_for(index, object));
		ret[count++] = object;
	}
	return count;
}

/* A bucket's number has the lock of the hashes in it. Split meanwhile: the rest is found later. */
static void clear_bucket(const struct emptier *emptier, uint64_t bucket)
{
	struct ns_index *index = emptier->thread->store->index;
	struct ns_object *chosen[CHOSEN_AT_A_TIME];
	size_t count;

	do {
		ns_index_lock(index, bucket);
		count = unlink_chosen(emptier, bucket, chosen);
		ns_index_unlock(index, bucket);
		for (size_t i = 0; i < count; i++) {
			ns_room_count_eviction(emptier->thread, chosen[i]);
			ns_object_retire(emptier->thread, chosen[i]);
		}
	} while (count == CHOSEN_AT_A_TIME);
}

/* Looks without the lock first, as most buckets have nobody who must go. */
static void walk_bucket(const struct emptier *emptier, uint64_t bucket)
{
	const struct ns_object *object = ns_index_first(emptier->thread->store->index, bucket);

	while (object != NULL && !is_in_the_way(emptier, object))
		object = ns_index_next(object);
	if (object != NULL)
		clear_bucket(emptier, bucket);
}

/* ---- all of them ---- */

/* The next one to go goes, and the block in which it lay is to be emptied. False: nobody is left. */
static bool choose_one(struct emptier *emptier)
{
	struct ns_store_arena *arena = &emptier->thread->store->arenas[emptier->arena];
	uint64_t offset = NS_NO_HEAD;
	uint64_t block;

	if (!ns_room_evict(emptier->thread, arena, &offset))
		return false;
	if (offset == NS_NO_HEAD)
		return true;
	block = offset / emptier->block_bytes;
	if ((emptier->blocks[block / 64] >> block % 64 & 1) == 0)
		emptier->count++;
	emptier->blocks[block / 64] |= UINT64_C(1) << block % 64;
	return true;
}

/* Returns whether there are any that were not chosen before. */
static bool choose_blocks(struct emptier *emptier)
{
	const struct ns_store *store = emptier->thread->store;
	size_t blocks = store->arenas[emptier->arena].mapped->block_count;
	size_t wanted = emptier->count + (blocks + BLOCKS_SHARE - 1) / BLOCKS_SHARE;
	size_t before = emptier->count;

	for (unsigned i = 0; i < NS_EVICTIONS_MAX && emptier->count < wanted; i++)
		if (!choose_one(emptier))
			break;
	return emptier->count > before;
}

static void walk(const struct emptier *emptier)
{
	const struct ns_index *index = emptier->thread->store->index;

	for (uint64_t bucket = 0; bucket < ns_index_buckets(index); bucket++)
		walk_bucket(emptier, bucket);
}

/* Those in which somebody is still being sent, or received. */
static void keep_the_rest(const struct emptier *emptier)
{
	struct ns_store_arena *arena = &emptier->thread->store->arenas[emptier->arena];

	for (uint32_t block = 0; block < arena->mapped->block_count; block++) {
		if ((emptier->blocks[block / 64] >> block % 64 & 1) == 0)
			continue;
		pthread_mutex_lock(&arena->lock);
		ns_heads_keep(arena->heads, block);
		pthread_mutex_unlock(&arena->lock);
	}
}

static uint64_t empty(struct emptier *emptier, uint64_t bytes)
{
	struct ns_store_arena *arena = &emptier->thread->store->arenas[emptier->arena];
	/* Whoever had the lock before may have emptied enough. */
	uint64_t offset = ns_room_take_free(arena, bytes);

	for (unsigned i = 0; i < ROUNDS_MAX && offset == NS_NO_HEAD; i++) {
		if (!choose_blocks(emptier))
			break;
		walk(emptier);
		(void)ns_store_bury(emptier->thread);
		offset = ns_room_take_free(arena, bytes);
	}
	keep_the_rest(emptier);
	return offset != NS_NO_HEAD ? offset : ns_room_take_free(arena, bytes);
}

uint64_t ns_room_empty(struct ns_thread *thread, size_t arena, uint64_t bytes)
{
	struct ns_store_arena *in = &thread->store->arenas[arena];
	struct emptier emptier = {
		.thread = thread,
		.arena = arena,
		.block_bytes = in->mapped->block_bytes,
		.blocks = calloc(in->mapped->block_count / 64 + 1, sizeof(uint64_t)),
	};
	uint64_t offset;

	if (emptier.blocks == NULL)
		return NS_NO_HEAD;
	pthread_mutex_lock(&in->emptying);
	offset = empty(&emptier, bytes);
	pthread_mutex_unlock(&in->emptying);
	free(emptier.blocks);
	return offset;
}
