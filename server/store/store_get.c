/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading: no lock, no waiting. An object that is found is pinned unless its count is 0 already; the pin's
 * acquire pairs with the release of the last unpin, so what is seen of a dead object includes its unlinking.
 */
#include "store_parts.h"

bool ns_object_try_pin(struct ns_object *object)
{
	uint32_t pins = __atomic_load_n(&object->pins, __ATOMIC_ACQUIRE);

	while (pins != 0)
		if (__atomic_compare_exchange_n(&object->pins, &pins, pins + 1, true,
		                                __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* A dead one was unlinked before, and what replaced it linked: one more look finds that. */
static struct ns_object *find(struct ns_thread *thread, uint64_t hash, const char *key,
                              size_t key_len)
{
	struct ns_object *object;

	do
		object = ns_index_find(thread->store->index, hash, key, key_len);
	while (object != NULL && !ns_object_try_pin(object));
	return object;
}

/* Removing it takes locks, and waits until the thread rests. Beyond the limit the sweep finds it. */
static void remember_expired(struct ns_thread *thread, uint64_t hash)
{
	if (thread->expired_count < NS_EXPIRED_SEEN_MAX)
		thread->expired[thread->expired_count++] = hash;
}

static void count_miss(struct ns_thread *thread, enum ns_end end)
{
	ns_counter_add(&thread->counts.get_misses, 1);
	if (end == NS_EXPIRED)
		ns_counter_add(&thread->counts.get_expired, 1);
	else if (end == NS_FLUSHED)
		ns_counter_add(&thread->counts.get_flushed, 1);
}

/* A read at the same time may be lost, or the score decay twice. */
static void raise_score(const struct ns_store *store, struct ns_object *object, uint32_t now_s)
{
	float score;

	if (store->scores.increment == 0)
		return;
	score = ns_object_score(store, object, now_s) + store->scores.increment;
	if (score > NS_SCORE_MAX)
		score = NS_SCORE_MAX;
	__atomic_store(&object->score, &score, __ATOMIC_RELAXED);
}

/* Of what is not in the pin's line only what changes is written. */
static void count_hit(struct ns_thread *thread, struct ns_object *object, uint32_t now_s)
{
	ns_counter_add(&thread->counts.get_hits, 1);
	ns_fifo_touch(&object->fifo);
	raise_score(thread->store, object, now_s);
	if (__atomic_load_n(&object->read_s, __ATOMIC_RELAXED) != now_s)
		__atomic_store_n(&object->read_s, now_s, __ATOMIC_RELAXED);
	if ((__atomic_load_n(&object->marks, __ATOMIC_RELAXED) & NS_MARK_FETCHED) == 0)
		(void)__atomic_fetch_or(&object->marks, NS_MARK_FETCHED, __ATOMIC_RELAXED);
}

/* Pinned, unless it has ended: *ret_end tells. */
static struct ns_object *find_living(struct ns_thread *thread, const char *key, size_t key_len,
                                     uint32_t now_s, enum ns_end *ret_end)
{
	uint64_t hash = ns_index_hash(thread->store->index, key, key_len);
	struct ns_object *object = find(thread, hash, key, key_len);

	*ret_end = NS_LIVES;
	if (object == NULL)
		return NULL;
	*ret_end = ns_object_end(thread->store, object, now_s);
	if (*ret_end == NS_LIVES)
		return object;
	ns_object_unpin(thread, object);
	remember_expired(thread, hash);
	return NULL;
}

const struct ns_object *ns_store_get(struct ns_thread *thread, const char *key, size_t key_len,
                                     uint32_t now_s)
{
	enum ns_end end;
	struct ns_object *object = find_living(thread, key, key_len, now_s, &end);

	if (object != NULL)
		count_hit(thread, object, now_s);
	else
		count_miss(thread, end);
	return object;
}

const struct ns_object *ns_store_peek(struct ns_thread *thread, const char *key, size_t key_len,
                                      uint32_t now_s)
{
	enum ns_end end;

	return find_living(thread, key, key_len, now_s, &end);
}

void ns_object_pin(const struct ns_object *object)
{
	(void)__atomic_fetch_add(&ns_object_own(object)->pins, 1, __ATOMIC_RELAXED);
}

/* Release: what was read of the head was read before it can be used again. */
void ns_object_unpin(struct ns_thread *thread, const struct ns_object *object)
{
	struct ns_object *own = ns_object_own(object);
	struct ns_object **dead = &thread->store->dead;
	struct ns_object *next;

	if (__atomic_fetch_sub(&own->pins, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	next = __atomic_load_n(dead, __ATOMIC_RELAXED);
	do
		own->fifo.next = next;
	while (!__atomic_compare_exchange_n(dead, &next, own, true, __ATOMIC_RELEASE,
	                                    __ATOMIC_RELAXED));
}

uint64_t ns_head_bytes(const struct ns_store *store, const struct ns_object *object)
{
	uint64_t bytes = ns_object_bytes(object);

	return bytes < store->head_bytes ? bytes : store->head_bytes;
}

uint64_t ns_object_tail_bytes(const struct ns_store *store, const struct ns_object *object)
{
	return ns_object_bytes(object) - ns_head_bytes(store, object);
}

const char *ns_object_head(const struct ns_store *store, const struct ns_object *object,
                           size_t *ret_bytes)
{
	*ret_bytes = (size_t)ns_head_bytes(store, object);
	if (object->head == NS_NO_HEAD)
		return "";
	return store->arenas[object->arena].mapped->base + object->head;
}

/* With those that are not the caller's. */
static uint8_t change_marks(const struct ns_object *object, uint8_t set, uint8_t clear)
{
	uint8_t *marks = &ns_object_own(object)->marks;
	uint8_t before = __atomic_load_n(marks, __ATOMIC_ACQUIRE);
	uint8_t after;

	do
		after = (uint8_t)((before & ~(clear & NS_MARKS_SHOWN)) | (set & NS_MARKS_SHOWN));
	while (!__atomic_compare_exchange_n(marks, &before, after, true, __ATOMIC_ACQ_REL,
	                                    __ATOMIC_ACQUIRE));
	return before;
}

uint8_t ns_object_mark(const struct ns_object *object, uint8_t set, uint8_t clear)
{
	return change_marks(object, set, clear) & NS_MARKS_SHOWN;
}

/*
 * Whoever takes marks over to another object unlinks this one in the same step, under the bucket's lock, and keeps its
 * number. One that is not linked and has no such successor was replaced or is gone, and nobody else finds it.
 */
bool ns_store_win(struct ns_thread *thread, const struct ns_object *object)
{
	struct ns_index *index = thread->store->index;
	uint8_t before = change_marks(object, NS_MARK_WINNER, 0);
	struct ns_slot slot;

	if ((before & (NS_MARK_WINNER | NS_MARK_LINKED)) == NS_MARK_LINKED)
		return true;
	if ((before & NS_MARK_WINNER) != 0)
		return false;
	ns_index_lock(index, object->hash);
	slot = ns_index_look(index, object->hash, object->key, object->key_len);
	if (slot.object != NULL && ns_object_cas(slot.object) == ns_object_cas(object))
		before = change_marks(slot.object, NS_MARK_WINNER, 0);
	ns_index_unlock(index, object->hash);
	return (before & NS_MARK_WINNER) == 0;
}

void ns_thread_served(struct ns_thread *thread, const struct ns_object *object, uint64_t bytes)
{
	const struct ns_arena *memory = thread->store->arenas[object->arena].mapped;

	ns_counter_add(&thread->served[object->arena].bytes, bytes);
	ns_counter_add(&thread->served[object->arena].heads, 1);
	if (memory->plan.node == thread->node) {
		ns_counter_add(&thread->counts.local_heads, 1);
		ns_counter_add(&thread->counts.local_bytes, bytes);
	} else {
		ns_counter_add(&thread->counts.remote_heads, 1);
		ns_counter_add(&thread->counts.remote_bytes, bytes);
	}
}

void ns_thread_served_tail(struct ns_thread *thread, uint64_t bytes)
{
	ns_counter_add(&thread->counts.tail_sent_bytes, bytes);
}
