/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room for heads, who has to go for it, and what becomes of those that are out of the index. Room is sought
 * everywhere before anybody goes. Who goes and is still being sent does not give room yet, so others go too,
 * up to a limit.
 */
#include "store_parts.h"

#include <errno.h>

enum { TAIL_EVICTIONS_MAX = 4096 }; /* for one tail: many small ones for a large one */

uint64_t ns_room_take_free(struct ns_store_arena *arena, uint64_t bytes)
{
	uint64_t offset;

	pthread_mutex_lock(&arena->lock);
	offset = ns_heads_take(arena->heads, bytes);
	pthread_mutex_unlock(&arena->lock);
	return offset;
}

void ns_room_give(struct ns_store *store, size_t arena, uint64_t offset, uint64_t bytes)
{
	struct ns_store_arena *in = &store->arenas[arena];

	if (offset == NS_NO_HEAD)
		return;
	pthread_mutex_lock(&in->lock);
	ns_heads_give(in->heads, offset, bytes);
	pthread_mutex_unlock(&in->lock);
}

/* With the arena's lock: nobody can look at the head any more, nor ask for the tail. */
static void give_head(struct ns_thread *thread, struct ns_object *object)
{
	struct ns_store *store = thread->store;

	if (object->tail != 0)
		ns_tail_unpin(store->tails, object->tail);
	if (object->head != NS_NO_HEAD)
		ns_heads_give(store->arenas[object->arena].heads, object->head,
		              ns_head_bytes(store, object));
	ns_dead_list_add(&thread->dead, object);
}

/* Returns whether these were the last pins. */
static bool drop_pins(struct ns_object *object, uint32_t count)
{
	return __atomic_fetch_sub(&object->pins, count, __ATOMIC_ACQ_REL) == count;
}

/* ---- out of the index ---- */

void ns_object_unlink(struct ns_thread *thread, struct ns_slot slot)
{
	struct ns_counts *counts = &thread->counts;

	ns_index_unlink(thread->store->index, slot);
	(void)__atomic_fetch_and(&slot.object->marks, (uint8_t)~NS_MARK_LINKED, __ATOMIC_RELAXED);
	ns_counter_add(&counts->objects, UINT64_MAX); /* the sum over all threads is what counts */
	ns_counter_add(&counts->object_bytes, -ns_object_bytes(slot.object));
}

/* With the arena's lock. */
static void leave_queues(struct ns_thread *thread, struct ns_store_arena *arena,
                         struct ns_object *object)
{
	if (object->fifo.queue != 0) {
		ns_fifo_remove(arena->fifo, object);
		arena->objects--;
	}
	if (drop_pins(object, 1))
		give_head(thread, object);
}

void ns_object_retire(struct ns_thread *thread, struct ns_object *object)
{
	struct ns_store_arena *arena = &thread->store->arenas[object->arena];

	pthread_mutex_lock(&arena->lock);
	leave_queues(thread, arena, object);
	pthread_mutex_unlock(&arena->lock);
}

/*
 * Whoever unlinked it meanwhile takes this lock after that: either the mark is gone by now, or the object
 * is found in the queue there.
 */
void ns_object_settle(struct ns_thread *thread, struct ns_object *object, struct ns_object *old)
{
	struct ns_store_arena *arena = &thread->store->arenas[object->arena];
	bool are_together = old != NULL && old->arena == object->arena;

	pthread_mutex_lock(&arena->lock);
	if (are_together)
		leave_queues(thread, arena, old);
	if ((__atomic_load_n(&object->marks, __ATOMIC_RELAXED) & NS_MARK_LINKED) != 0) {
		ns_fifo_add(arena->fifo, object, object->hash);
		arena->objects++;
	}
	pthread_mutex_unlock(&arena->lock);
	if (old != NULL && !are_together)
		ns_object_retire(thread, old);
}

bool ns_store_bury(struct ns_thread *thread)
{
	struct ns_object *object =
		__atomic_exchange_n(&thread->store->dead, NULL, __ATOMIC_ACQUIRE);
	bool were_any = object != NULL;

	while (object != NULL) {
		struct ns_store_arena *arena = &thread->store->arenas[object->arena];
		struct ns_object *next = object->fifo.next;

		pthread_mutex_lock(&arena->lock);
		give_head(thread, object);
		pthread_mutex_unlock(&arena->lock);
		object = next;
	}
	return were_any;
}

/* ---- eviction ---- */

/* With the arena's lock; pinned. NULL: nobody is left */
static struct ns_object *choose(struct ns_store_arena *arena,
                                struct ns_object *(*evict)(struct ns_fifo *))
{
	struct ns_object *object = evict(arena->fifo);

	if (object == NULL)
		return NULL;
	arena->objects--;
	ns_object_pin(object); /* it has the index's pin, as it was in a queue */
	return object;
}

void ns_room_count_eviction(struct ns_thread *thread, const struct ns_object *object)
{
	struct ns_store *store = thread->store;

	if (ns_object_end(store, object, ns_store_now_s(store)) != NS_LIVES) {
		ns_counter_add(&thread->counts.expired, 1);
		return;
	}
	ns_counter_add(&thread->counts.evictions, 1);
	if ((__atomic_load_n(&object->marks, __ATOMIC_RELAXED) & NS_MARK_FETCHED) == 0)
		ns_counter_add(&thread->counts.evicted_unfetched, 1);
}

/* Ends our pin, and the index's if nobody unlinked it before; returns whether it is dead. */
static bool dispose(struct ns_thread *thread, struct ns_object *object)
{
	struct ns_index *index = thread->store->index;
	uint64_t hash = object->hash;
	struct ns_slot slot;

	ns_index_lock(index, hash);
	slot = ns_index_look_for(index, object);
	if (slot.object != NULL)
		ns_object_unlink(thread, slot);
	ns_index_unlock(index, hash);
	if (slot.object == NULL)
		return drop_pins(object, 1);
	ns_room_count_eviction(thread, object);
	return drop_pins(object, 2);
}

/* Times the bytes of a head: so many are evicted one by one before blocks are emptied for it. */
enum { BYTES_GONE_MAX = 4 };

/* Where they are being emptied already, nobody else has to go in vain. */
enum { EVICTIONS_WHILE_EMPTYING = 4096 };

/* Until there is room, nobody, or more has gone than should be needed if it lay together. */
static uint64_t evict_for(struct ns_thread *thread, struct ns_store_arena *arena, uint64_t bytes,
                          unsigned budget)
{
	uint64_t gone_bytes = 0;
	uint64_t offset;

	pthread_mutex_lock(&arena->lock);
	while ((offset = ns_heads_take(arena->heads, bytes)) == NS_NO_HEAD &&
	       gone_bytes < BYTES_GONE_MAX * bytes && budget-- > 0) {
		struct ns_object *object = choose(arena, ns_fifo_evict);
		bool is_dead;

		if (object == NULL)
			break;
		pthread_mutex_unlock(&arena->lock);
		is_dead = dispose(thread, object);
		pthread_mutex_lock(&arena->lock);
		if (!is_dead)
			continue;
		gone_bytes += ns_head_bytes(thread->store, object);
		give_head(thread, object);
	}
	pthread_mutex_unlock(&arena->lock);
	return offset;
}

static bool evict_one(struct ns_thread *thread, struct ns_store_arena *arena,
                      struct ns_object *(*evict)(struct ns_fifo *), uint64_t *ret_emptied)
{
	struct ns_object *object;

	pthread_mutex_lock(&arena->lock);
	object = choose(arena, evict);
	if (object != NULL && ret_emptied != NULL) {
		*ret_emptied = object->head;
		if (object->head != NS_NO_HEAD)
			(void)ns_heads_empty(arena->heads, object->head);
	}
	pthread_mutex_unlock(&arena->lock);
	if (object == NULL)
		return false;
	if (dispose(thread, object)) {
		pthread_mutex_lock(&arena->lock);
		give_head(thread, object);
		pthread_mutex_unlock(&arena->lock);
	}
	return true;
}

bool ns_room_evict(struct ns_thread *thread, struct ns_store_arena *arena, uint64_t *ret_emptied)
{
	return evict_one(thread, arena, ns_fifo_evict, ret_emptied);
}

bool ns_room_evict_one(struct ns_thread *thread, size_t arena)
{
	return ns_room_evict(thread, &thread->store->arenas[arena], NULL);
}

void ns_room_keep_to_limit(struct ns_thread *thread, size_t arena)
{
	struct ns_store *store = thread->store;
	unsigned budget = NS_EVICTIONS_MAX;

	if (store->no_evict)
		return;
	for (size_t i = 0; i <= store->arena_count; i++) {
		size_t which = i == 0 ? arena : i - 1;

		while (ns_index_objects(store->index) > store->objects_max && budget-- > 0)
			if (!evict_one(thread, &store->arenas[which], ns_fifo_evict, NULL))
				break;
	}
}

/* ---- taking ---- */

/* The arenas from first on, at most count: one that a rule names, or all in order. */
struct choice {
	size_t first;
	size_t count;
	uint64_t bytes;
};

static bool take_free(struct ns_store *store, const struct choice *choice, struct ns_room *ret)
{
	for (size_t i = choice->first; i < choice->first + choice->count; i++) {
		uint64_t offset = ns_room_take_free(&store->arenas[i], choice->bytes);

		if (offset == NS_NO_HEAD)
			continue;
		*ret = (struct ns_room){ .arena = i, .offset = offset };
		return true;
	}
	return false;
}

static bool take_by_eviction(struct ns_thread *thread, const struct choice *choice,
                             struct ns_room *ret)
{
	struct ns_store *store = thread->store;
	unsigned looks = NS_LOOKS_FOR_ROOM;

	for (size_t i = choice->first; i < choice->first + choice->count; i++) {
		unsigned budget =
			ns_room_is_emptying(store, i) ? EVICTIONS_WHILE_EMPTYING : NS_EVICTIONS_MAX;
		uint64_t offset = evict_for(thread, &store->arenas[i], choice->bytes, budget);

		if (offset == NS_NO_HEAD)
			offset = ns_room_empty(thread, i, choice->bytes, &looks);
		if (offset == NS_NO_HEAD)
			continue;
		*ret = (struct ns_room){ .arena = i, .offset = offset };
		return true;
	}
	return false;
}

bool ns_room_take(struct ns_thread *thread, size_t arena, uint64_t bytes, struct ns_room *ret)
{
	struct ns_store *store = thread->store;
	struct choice choice = { .first = arena, .count = 1, .bytes = bytes };

	if (arena == NS_ANY_ARENA)
		choice = (struct choice){ .count = store->arena_count, .bytes = bytes };
	if (bytes == 0) {
		*ret = (struct ns_room){ .arena = choice.first, .offset = NS_NO_HEAD };
		return true;
	}
	if (take_free(store, &choice, ret))
		return true;
	if (ns_store_bury(thread) && take_free(store, &choice, ret))
		return true;
	if (!store->no_evict)
		return take_by_eviction(thread, &choice, ret);
	/* What has ended may go all the same. */
	(void)ns_store_sweep(thread, ns_store_now_s(store), NS_SWEEP_FOR_ROOM);
	return take_free(store, &choice, ret);
}

/* ---- tails ---- */

/* What the largest pool has come to: nothing longer will ever find room. */
static bool is_beyond_pools(const struct ns_tails *tails, uint64_t bytes)
{
	for (size_t i = 0; i < ns_tails_pool_count(tails); i++) {
		struct ns_pool_state pool = ns_tails_pool(tails, i);

		if (!pool.is_retired && pool.file_bytes >= bytes)
			return false;
	}
	return true;
}

/* In the arena that the head is for first, so that it has as many of them as before. */
static bool evict_tail(struct ns_thread *thread, size_t arena)
{
	struct ns_store *store = thread->store;

	for (size_t i = 0; i < store->arena_count; i++) {
		size_t which = (arena + i) % store->arena_count;

		if (!evict_one(thread, &store->arenas[which], ns_fifo_evict_tail, NULL))
			continue;
		ns_counter_add(&thread->counts.tail_evictions, 1);
		return true;
	}
	return false;
}

int ns_tail_room_take(struct ns_thread *thread, size_t arena, uint64_t bytes, uint32_t *ret,
                      struct np_error *err)
{
	struct ns_store *store = thread->store;
	int rc = ns_tail_take(store->tails, bytes, ret, err);

	/* What readers were the last to hold, and what has ended, gives room without anybody's going. */
	if (rc == -ENOSPC && ns_store_bury(thread))
		rc = ns_tail_take(store->tails, bytes, ret, err);
	if (rc == -ENOSPC && store->no_evict) {
		(void)ns_store_sweep(thread, ns_store_now_s(store), NS_SWEEP_FOR_ROOM);
		rc = ns_tail_take(store->tails, bytes, ret, err);
	}
	if (rc != -ENOSPC || store->no_evict || is_beyond_pools(store->tails, bytes))
		return rc;
	for (unsigned gone = 0; rc == -ENOSPC && gone < TAIL_EVICTIONS_MAX; gone++) {
		if (!evict_tail(thread, arena))
			break;
		rc = ns_tail_take(store->tails, bytes, ret, err);
	}
	return rc;
}
