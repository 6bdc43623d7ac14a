/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks for a head that no single eviction makes room for: a large one where all blocks are full of small ones
 * or the other way round. The blocks of those who are the next to go are emptied, several at a time, as who lies
 * in them is only found by a walk through the index. One call walks a part of the way; those who need room
 * next go on from there, and the sweep does where nobody comes any more. No lock is held meanwhile but that of emptying.
 *
 * Nothing is taken of a block that is emptied, so all who are in it were linked, or drafts, before the walk began.
 */
#include "store_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCKS_SHARE = 32,  /* of an arena that are emptied at a time: one in so many */
	CHOICES_MAX = 4096, /* who goes until the blocks are chosen */
	ROUNDS_MAX = 4,     /* of one call, each of which walks the index */
	LOOKS_AT_A_TIME = 2048,
	BUCKETS_A_LOOK = 8, /* a line of the cache */
	CHOSEN_AT_A_TIME = 16,
};

struct emptier {
	struct ns_thread *thread;
	size_t arena;
	struct ns_emptying *state;
	unsigned *looks; /* that are left */
};

static struct ns_store_arena *arena_of(const struct emptier *emptier)
{
	return &emptier->thread->store->arenas[emptier->arena];
}

static uint64_t block_of(const struct emptier *emptier, uint64_t offset)
{
	return offset / arena_of(emptier)->mapped->block_bytes;
}

static bool is_chosen(const struct emptier *emptier, uint64_t block)
{
	return (emptier->state->blocks[block / 64] >> block % 64 & 1) != 0;
}

static bool is_in_the_way(const struct emptier *emptier, const struct ns_object *object)
{
	return object->arena == emptier->arena && object->head != NS_NO_HEAD &&
	       is_chosen(emptier, block_of(emptier, object->head));
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

/* Looks without the lock first, as most buckets have nobody who must go. Returns how many there were. */
static unsigned walk_bucket(const struct emptier *emptier, uint64_t bucket)
{
	const struct ns_object *object = ns_index_first(emptier->thread->store->index, bucket);
	bool is_clear = true;
	unsigned count = 0;

	for (; object != NULL; object = ns_index_next(object), count++)
		if (is_in_the_way(emptier, object))
			is_clear = false;
	if (!is_clear)
		clear_bucket(emptier, bucket);
	return count;
}

/* ---- a round ---- */

/* The next one to go goes, and the block in which it lay is to be emptied. False: nobody is left. */
static bool choose_one(const struct emptier *emptier)
{
	struct ns_emptying *state = emptier->state;
	uint64_t offset = NS_NO_HEAD;
	uint64_t block;

	if (!ns_room_evict(emptier->thread, arena_of(emptier), &offset))
		return false;
	if (offset == NS_NO_HEAD)
		return true;
	block = block_of(emptier, offset);
	if (!is_chosen(emptier, block))
		state->count++;
	state->blocks[block / 64] |= UINT64_C(1) << block % 64;
	return true;
}

/* Chooses blocks; false: nobody is left who could go. */
static bool begin(const struct emptier *emptier)
{
	struct ns_emptying *state = emptier->state;
	size_t blocks = arena_of(emptier)->mapped->block_count;
	size_t wanted = (blocks + BLOCKS_SHARE - 1) / BLOCKS_SHARE;

	for (unsigned i = 0; i < CHOICES_MAX && state->count < wanted; i++)
		if (!choose_one(emptier))
			break;
	state->bucket = 0;
	__atomic_store_n(&state->is_under_way, state->count > 0, __ATOMIC_RELAXED);
	return state->count > 0;
}

static void keep_block(const struct emptier *emptier, uint32_t block)
{
	struct ns_store_arena *arena = arena_of(emptier);

	pthread_mutex_lock(&arena->lock);
	ns_heads_keep(arena->heads, block);
	pthread_mutex_unlock(&arena->lock);
}

/* Blocks in which somebody is still being sent, or received, are as they were. */
static void end(const struct emptier *emptier)
{
	struct ns_emptying *state = emptier->state;
	size_t blocks = arena_of(emptier)->mapped->block_count;

	for (uint32_t block = 0; block < blocks; block++)
		if (is_chosen(emptier, block))
			keep_block(emptier, block);
	memset(state->blocks, 0, (blocks / 64 + 1) * sizeof(state->blocks[0]));
	state->count = 0;
	__atomic_store_n(&state->is_under_way, 0, __ATOMIC_RELAXED);
}

/*
 * A few steps of the walk. A bucket that is added meanwhile gets its objects from one with a lower number, and comes
 * after all there are now. Returns whether it is over.
 */
static bool step(const struct emptier *emptier)
{
	const struct ns_index *index = emptier->thread->store->index;
	struct ns_emptying *state = emptier->state;
	unsigned most = *emptier->looks < LOOKS_AT_A_TIME ? *emptier->looks : LOOKS_AT_A_TIME;
	unsigned looks = 0;

	while (looks < most && state->bucket < ns_index_buckets(index)) {
		looks += walk_bucket(emptier, state->bucket);
		looks += ++state->bucket % BUCKETS_A_LOOK == 0;
	}
	*emptier->looks -= looks < *emptier->looks ? looks : *emptier->looks;
	return state->bucket >= ns_index_buckets(index);
}

/* ---- what others call ---- */

/* With the lock of emptying. */
static uint64_t empty(const struct emptier *emptier, uint64_t bytes)
{
	struct ns_store_arena *arena = arena_of(emptier);
	/* Whoever had the lock before may have emptied enough. */
	uint64_t offset = ns_room_take_free(arena, bytes);
	unsigned rounds = 0;

	while (offset == NS_NO_HEAD && *emptier->looks > 0) {
		bool is_over;

		if (!emptier->state->is_under_way && (rounds++ == ROUNDS_MAX || !begin(emptier)))
			break;
		is_over = step(emptier);
		(void)ns_store_bury(emptier->thread);
		if (is_over)
			end(emptier);
		offset = ns_room_take_free(arena, bytes);
	}
	return offset;
}

uint64_t ns_room_empty(struct ns_thread *thread, size_t arena, uint64_t bytes, unsigned *looks)
{
	struct ns_emptying *state = &thread->store->arenas[arena].emptying;
	struct emptier emptier = {
		.thread = thread,
		.arena = arena,
		.state = state,
		.looks = looks,
	};
	uint64_t offset;

	pthread_mutex_lock(&state->lock);
	offset = empty(&emptier, bytes);
	pthread_mutex_unlock(&state->lock);
	return offset;
}

bool ns_room_is_emptying(const struct ns_store *store, size_t arena)
{
	return __atomic_load_n(&store->arenas[arena].emptying.is_under_way, __ATOMIC_RELAXED) != 0;
}

void ns_room_go_on(struct ns_thread *thread, unsigned looks)
{
	struct ns_store *store = thread->store;

	for (size_t i = 0; i < store->arena_count; i++) {
		struct ns_emptying *state = &store->arenas[i].emptying;
		struct emptier emptier = {
			.thread = thread,
			.arena = i,
			.state = state,
			.looks = &looks,
		};

		if (!ns_room_is_emptying(store, i) || pthread_mutex_trylock(&state->lock) != 0)
			continue;
		while (looks > 0 && state->is_under_way)
			if (step(&emptier))
				end(&emptier);
		pthread_mutex_unlock(&state->lock);
	}
}
