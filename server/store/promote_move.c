/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving: a copy of the object, in the old one's place if that is still there. What others may change in an
 * object is taken over under the bucket's lock, where they change it. Who sets a mark without it on the
 * old one just then sees that it is not linked any more: see ns_store_win().
 */
#include "promote_parts.h"

#include <string.h>

static bool is_settled(const struct ns_store *store, const struct ns_object *object, uint32_t now_s)
{
	uint8_t marks = __atomic_load_n(&object->marks, __ATOMIC_RELAXED);

	return (marks & NS_MARK_LINKED) != 0 && (marks & NS_MARK_STALE) == 0 &&
	       ns_object_end(store, object, now_s) == NS_LIVES;
}

bool ns_move_may(const struct ns_thread *thread, const struct ns_object *object, uint32_t now_s)
{
	return object->head != NS_NO_HEAD && is_settled(thread->store, object, now_s) &&
	       ns_store_arena_of_key(thread, object->key, object->key_len) == NS_ANY_ARENA;
}

struct ns_object *ns_move_pin(struct ns_thread *thread, const struct ns_seen_head *seen,
                              uint32_t now_s)
{
	const struct ns_index *index = thread->store->index;
	struct ns_object *object = ns_index_first(index, ns_index_bucket(index, seen->hash));

	while (object != NULL && (object->hash != seen->hash || object->arena != seen->arena ||
	                          object->head != seen->offset))
		object = ns_index_next(object);
	if (object == NULL || !ns_move_may(thread, object, now_s) || !ns_object_try_pin(object))
		return NULL;
	return object;
}

/* ---- one object ---- */

static struct ns_object *copy_object(struct ns_store *store, const struct ns_object *from,
                                     const struct ns_room *room)
{
	struct ns_object *object = ns_object_take(store->memory, from->key_len);

	if (object == NULL)
		return NULL;
	memset(object, 0, offsetof(struct ns_object, key));
	object->hash = from->hash;
	object->head = room->offset;
	object->arena = (uint8_t)room->arena;
	object->bytes_low = from->bytes_low;
	object->fifo.object_bytes_high = from->fifo.object_bytes_high;
	object->fifo.bytes = from->fifo.bytes;
	object->fifo.generation_high =
		from->fifo.generation_high; /* the rest comes with the marks */
	object->key_len = from->key_len;
	object->type = from->type;
	ns_store_type_share(store, object->type);
	object->flags = from->flags;
	object->pins = 1; /* ours until it is settled */
	memcpy(object->key, from->key, from->key_len);
	ns_object_share_tail(store, object, from);
	return object;
}

/* With the bucket's lock. */
static void take_over(struct ns_object *object, struct ns_object *from)
{
	object->cas = __atomic_load_n(&from->cas, __ATOMIC_RELAXED);
	object->expires_s = __atomic_load_n(&from->expires_s, __ATOMIC_RELAXED);
	object->read_s = __atomic_load_n(&from->read_s, __ATOMIC_RELAXED);
	__atomic_load(&from->score, &object->score, __ATOMIC_RELAXED);
	object->fifo.reads = __atomic_load_n(&from->fifo.reads, __ATOMIC_RELAXED);
	/* With the generation that it was linked in, so that a flush holds for it too. */
	object->marks =
		__atomic_fetch_and(&from->marks, (uint8_t)~NS_MARK_LINKED, __ATOMIC_RELAXED);
}

static bool publish(struct ns_store *store, struct ns_object *object, struct ns_object *old,
                    uint32_t now_s)
{
	uint64_t hash = old->hash;
	struct ns_slot slot;
	bool is_there;

	ns_index_lock(store->index, hash);
	slot = ns_index_look_for(store->index, old);
	is_there = slot.object != NULL && is_settled(store, old, now_s);
	if (is_there) {
		take_over(object, old);
		object->pins = 2; /* the index's too */
		ns_index_link(store->index, slot, object);
	}
	ns_index_unlock(store->index, hash);
	return is_there;
}

static void drop(struct ns_thread *thread, struct ns_object *object, uint64_t head_bytes)
{
	struct ns_draft draft = { .object = object, .head_bytes = head_bytes };

	ns_draft_drop(thread, &draft);
}

bool ns_move_to(struct ns_thread *thread, struct ns_object *object, const struct ns_room *room,
                uint32_t now_s)
{
	struct ns_store *store = thread->store;
	struct ns_object *moved = copy_object(store, object, room);
	size_t bytes;
	const char *head = ns_object_head(store, object, &bytes);
	bool is_there;

	if (moved == NULL) {
		ns_room_give(store, room->arena, room->offset, bytes);
		ns_object_unpin(thread, object);
		return false;
	}
	memcpy(store->arenas[room->arena].mapped->base + room->offset, head, bytes);
	is_there = publish(store, moved, object, now_s);
	if (is_there) {
		ns_object_settle(thread, moved, object);
		ns_object_unpin(thread, moved);
	} else {
		drop(thread, moved, bytes);
	}
	ns_object_unpin(thread, object);
	return is_there;
}

/* ---- a block ---- */

/* All of them or none. */
static bool pin_all(struct ns_thread *thread, const struct ns_block_move *move, uint32_t now_s)
{
	const struct ns_store *store = thread->store;

	for (uint32_t i = 0; i < move->count; i++) {
		struct ns_seen_head seen = {
			.hash = move->slots[i].hash,
			.offset = move->offset + i * store->head_bytes,
			.arena = (uint8_t)move->from,
		};

		move->objects[i] = ns_move_pin(thread, &seen, now_s);
		if (move->objects[i] != NULL) {
			move->bytes[i] = ns_head_bytes(store, move->objects[i]);
			if (ns_heads_fills_slot(store->arenas[move->from].heads, move->bytes[i]))
				continue;
			ns_object_unpin(thread, move->objects[i]);
		}
		while (i-- > 0)
			ns_object_unpin(thread, move->objects[i]);
		return false;
	}
	return true;
}

static uint64_t take_block(struct ns_thread *thread, const struct ns_block_move *move)
{
	struct ns_store_arena *arena = &thread->store->arenas[move->to];
	uint64_t offset;

	pthread_mutex_lock(&arena->lock);
	offset = ns_heads_take_block(arena->heads, move->bytes, move->count);
	pthread_mutex_unlock(&arena->lock);
	return offset;
}

uint32_t ns_move_block(struct ns_thread *thread, const struct ns_block_move *move, uint32_t now_s,
                       uint64_t *bytes)
{
	uint64_t head_bytes = thread->store->head_bytes;
	uint32_t count = 0;
	uint64_t offset;

	if (!pin_all(thread, move, now_s))
		return 0;
	offset = take_block(thread, move);
	if (offset == NS_NO_HEAD && ns_store_bury(thread))
		offset = take_block(thread, move);
	for (uint32_t i = 0; i < move->count; i++) {
		struct ns_room room = { .arena = move->to, .offset = offset + i * head_bytes };

		if (offset == NS_NO_HEAD) {
			ns_object_unpin(thread, move->objects[i]);
		} else if (ns_move_to(thread, move->objects[i], &room, now_s)) {
			*bytes += move->bytes[i];
			count++;
		}
	}
	return count;
}
