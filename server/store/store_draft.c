/* SPDX-License-Identifier: BSD-3-Clause */
/* Storing: an object is made apart, then linked in the place of what its key had before. */
#include "store_parts.h"

#include <errno.h>
#include <string.h>

static int check_size(struct ns_thread *thread, const struct ns_store_request *request,
                      struct np_error *err)
{
	const struct ns_store *store = thread->store;

	if (request->key_len == 0 || request->key_len > NS_KEY_MAX)
		return np_error_set(err, EINVAL, "a key of %zu bytes: 1 to %d are allowed",
		                    request->key_len, NS_KEY_MAX);
	if (request->bytes > store->object_bytes_max) {
		ns_counter_add(&thread->counts.too_large, 1);
		return np_error_set(err, E2BIG, "an object of %llu bytes: at most %llu are allowed",
		                    (unsigned long long)request->bytes,
		                    (unsigned long long)store->object_bytes_max);
	}
	return 0;
}

static int refuse(struct ns_thread *thread, size_t arena, uint64_t bytes, struct np_error *err)
{
	const struct ns_store *store = thread->store;
	const char *why = "nothing that may be evicted makes enough";

	if (store->no_evict)
		why = "nothing may be evicted";
	else if (ns_room_is_emptying(store, arena == NS_ANY_ARENA ? 0 : arena))
		why = "blocks are still being emptied: try again";
	ns_counter_add(&thread->counts.out_of_memory, 1);
	if (arena == NS_ANY_ARENA)
		return np_error_set(err, ENOSPC, "no room for %llu bytes on any node, and %s",
		                    (unsigned long long)bytes, why);
	return np_error_set(err, ENOSPC, "no room for %llu bytes on node %u, and %s",
	                    (unsigned long long)bytes, store->arenas[arena].mapped->plan.node, why);
}

/* Without eviction there is no room for one object more either, unless it replaces one. */
static bool is_over_limit(struct ns_thread *thread, const struct ns_store_request *request)
{
	struct ns_store *store = thread->store;
	uint64_t hash;

	if (!store->no_evict || ns_index_objects(store->index) < store->objects_max)
		return false;
	hash = ns_index_hash(store->index, request->key, request->key_len);
	return ns_index_find(store->index, hash, request->key, request->key_len) == NULL;
}

/* What eviction goes by, in units of 64 bytes; an empty object counts too. */
static uint32_t fifo_units(uint64_t head_bytes)
{
	return head_bytes == 0 ? 1 : (uint32_t)((head_bytes + 63) / 64);
}

static void fill(struct ns_object *object, struct ns_store *store,
                 const struct ns_store_request *request, const struct ns_room *room)
{
	memset(object, 0, offsetof(struct ns_object, key));
	object->bytes_low = (uint32_t)request->bytes;
	object->fifo.object_bytes_high = (request->bytes >> 32) & 0x1ff;
	object->fifo.bytes = fifo_units(ns_head_bytes(store, object));
	object->hash = ns_index_hash(store->index, request->key, request->key_len);
	object->head = room->offset;
	object->arena = (uint8_t)room->arena;
	object->key_len = (uint8_t)request->key_len;
	object->flags = request->flags;
	object->expires_s = request->expires_s;
	object->type = request->type;
	ns_store_type_share(store, object->type);
	object->pins = 1;
	memcpy(object->key, request->key, request->key_len);
}

/* For what does not fit the head. */
static int take_tail(struct ns_thread *thread, struct ns_draft *draft, struct np_error *err)
{
	int rc;

	if (draft->tail_bytes == 0)
		return 0;
	rc = ns_tail_room_take(thread, draft->object->arena, draft->tail_bytes,
	                       &draft->object->tail, err);
	if (rc < 0)
		ns_store_write_failed(thread, rc);
	return rc;
}

int ns_draft_begin(struct ns_thread *thread, const struct ns_store_request *request,
                   struct ns_draft *ret, struct np_error *err)
{
	struct ns_store *store = thread->store;
	size_t arena = ns_store_arena_of_key(thread, request->key, request->key_len);
	uint64_t bytes = request->bytes < store->head_bytes ? request->bytes : store->head_bytes;
	struct ns_draft draft = { .head_bytes = bytes, .tail_bytes = request->bytes - bytes };
	struct ns_room room;
	int rc = check_size(thread, request, err);

	if (rc < 0)
		return rc;
	if (is_over_limit(thread, request) || !ns_room_take(thread, arena, bytes, &room))
		return refuse(thread, arena, bytes, err);
	draft.object = ns_object_take(store->memory, request->key_len);
	if (draft.object == NULL) {
		ns_room_give(store, room.arena, room.offset, bytes);
		ns_counter_add(&thread->counts.out_of_memory, 1);
		return np_error_set(err, ENOMEM, "no memory for one more object");
	}
	fill(draft.object, store, request, &room);
	if (room.offset != NS_NO_HEAD)
		draft.head = store->arenas[room.arena].mapped->base + room.offset;
	rc = take_tail(thread, &draft, err);
	if (rc < 0)
		ns_draft_drop(thread, &draft);
	else
		*ret = draft;
	return rc;
}

/*
 * Nobody else has ever seen it, so no epoch has to pass; but for those whom its maker gave a pin, and then it goes
 * when they are done.
 */
void ns_draft_drop(struct ns_thread *thread, struct ns_draft *draft)
{
	struct ns_store *store = thread->store;
	struct ns_object *object = draft->object;

	if (object == NULL)
		return;
	if (__atomic_load_n(&object->pins, __ATOMIC_ACQUIRE) > 1) {
		ns_object_unpin(thread, object);
		*draft = (struct ns_draft){ 0 };
		return;
	}
	if (object->tail != 0)
		ns_tail_unpin(store->tails, object->tail);
	ns_room_give(store, object->arena, object->head, draft->head_bytes);
	ns_object_free(store, object);
	*draft = (struct ns_draft){ 0 };
}

static enum ns_outcome judge(const struct ns_terms *terms, const struct ns_object *living)
{
	if (terms->expected != NULL)
		return living == terms->expected && ns_object_cas(living) == terms->cas ? NS_STORED
		                                                                        : NS_EXISTS;
	switch (terms->mode) {
	case NS_SET:
		return NS_STORED;
	case NS_ADD:
		return living == NULL ? NS_STORED : NS_NOT_STORED;
	case NS_REPLACE:
		return living != NULL ? NS_STORED : NS_NOT_STORED;
	case NS_CAS:
		if (living == NULL)
			return NS_NOT_FOUND;
		return ns_object_cas(living) == terms->cas ? NS_STORED : NS_EXISTS;
	}
	return NS_NOT_STORED;
}

/* With the bucket's lock, under which a key's numbers grow. */
static uint64_t link_in(struct ns_thread *thread, struct ns_object *object, struct ns_slot slot,
                        uint64_t set_cas, uint32_t now_s)
{
	struct ns_store *store = thread->store;
	uint32_t generation = ns_store_generation(store, now_s);
	uint64_t cas = set_cas;

	if (cas == 0)
		cas = __atomic_add_fetch(&store->cas, 1, __ATOMIC_RELAXED);
	object->cas = cas;
	/* One is the index's now; ours goes on until it is settled. */
	(void)__atomic_fetch_add(&object->pins, 1, __ATOMIC_RELAXED);
	object->read_s = now_s;
	object->marks = (uint8_t)((object->marks & NS_MARKS_SHOWN) | NS_MARK_LINKED |
	                          ns_object_set_generation(object, generation));
	/* Whoever was read goes on as one that was. */
	if (slot.object != NULL) {
		object->fifo.reads = __atomic_load_n(&slot.object->fifo.reads, __ATOMIC_RELAXED);
		object->score = ns_object_score(store, slot.object, now_s);
		(void)__atomic_fetch_and(&slot.object->marks, (uint8_t)~NS_MARK_LINKED,
		                         __ATOMIC_RELAXED);
	}
	ns_index_link(store->index, slot, object);
	return cas;
}

static void count_stored(struct ns_thread *thread, const struct ns_object *object,
                         const struct ns_object *old)
{
	struct ns_counts *counts = &thread->counts;

	ns_counter_add(&counts->total_objects, 1);
	ns_counter_add(&counts->objects, old == NULL ? 1 : 0);
	ns_counter_add(&counts->object_bytes,
	               ns_object_bytes(object) - (old != NULL ? ns_object_bytes(old) : 0));
}

enum ns_outcome ns_draft_link(struct ns_thread *thread, struct ns_draft *draft,
                              const struct ns_terms *terms, uint64_t *ret_cas)
{
	struct ns_store *store = thread->store;
	struct ns_object *object = draft->object;
	uint32_t now_s = ns_store_now_s(store);
	uint64_t hash = object->hash;
	uint64_t cas = 0;
	enum ns_outcome outcome;
	struct ns_object *living;
	struct ns_slot slot;

	ns_index_lock(store->index, hash);
	slot = ns_index_look(store->index, hash, object->key, object->key_len);
	living = slot.object;
	if (living != NULL && ns_object_end(store, living, now_s) != NS_LIVES)
		living = NULL;
	outcome = judge(terms, living);
	/* A touch may have come since the draft was begun. */
	if (outcome == NS_STORED && terms->expected != NULL)
		object->expires_s = __atomic_load_n(&living->expires_s, __ATOMIC_RELAXED);
	if (outcome == NS_STORED)
		cas = link_in(thread, object, slot, terms->set_cas, now_s);
	ns_index_unlock(store->index, hash);
	if (outcome != NS_STORED) {
		ns_draft_drop(thread, draft);
		return outcome;
	}

	count_stored(thread, object, slot.object);
	ns_object_settle(thread, object, slot.object);
	if (slot.object == NULL) {
		ns_index_grow(store->index);
		ns_room_keep_to_limit(thread, object->arena);
	}
	ns_object_unpin(thread, object);
	*draft = (struct ns_draft){ 0 };
	if (ret_cas != NULL)
		*ret_cas = cas;
	return NS_STORED;
}

static uint64_t *cas_counter(struct ns_counts *counts, enum ns_outcome outcome)
{
	switch (outcome) {
	case NS_STORED:
		return &counts->cas_hits;
	case NS_NOT_FOUND:
		return &counts->cas_misses;
	default:
		return &counts->cas_badval;
	}
}

enum ns_outcome ns_draft_store(struct ns_thread *thread, struct ns_draft *draft, enum ns_mode mode,
                               uint64_t cas, uint64_t set_cas, uint64_t *ret_cas)
{
	struct ns_terms terms = { .mode = mode, .cas = cas, .set_cas = set_cas };
	enum ns_outcome outcome = ns_draft_link(thread, draft, &terms, ret_cas);

	ns_counter_add(&thread->counts.sets, 1);
	if (mode == NS_CAS)
		ns_counter_add(cas_counter(&thread->counts, outcome), 1);
	return outcome;
}
