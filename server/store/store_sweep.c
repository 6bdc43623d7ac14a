/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has ended: expired, or stored before a flush. A flush only raises the store's generation; each
 * object has the low bits of the one it was linked in. So few bits are enough as objects of old generations
 * are removed by the sweep before their number comes round: where workers do not get to it, each flush does a small
 * part of a sweep.
 *
 * store->flush is one word, so that all see one state: the second from which one more generation holds
 * (UINT32_MAX = none is to come) in the high half, the generation until then in the low half.
 */
#include "store_parts.h"

enum {
	/*
	 * An object may be one generation ahead of a reader whose clock is behind. That one and its own
	 * are alive, all others dead: so many generations behind can be told from that.
	 */
	BEHIND_MAX = NS_GENERATION_COUNT - 2,
	/* A flush makes one, and there may be one to come. */
	BEHIND_MAX_BEFORE_FLUSH = BEHIND_MAX - 2,
	/* More than these, and a flush takes part in the sweep. */
	BEHIND_LEFT_TO_OTHERS = 64,
	/*
	 * So many parts make a walk. What was linked as one began is removed by the next one: twice as many generations,
	 * and those that were left to others, have to be fewer than can be told.
	 */
	PARTS_A_WALK = 512,
	GONE_AT_A_TIME = 16,
};
static_assert(BEHIND_LEFT_TO_OTHERS + 3 * (int)PARTS_A_WALK < (int)BEHIND_MAX_BEFORE_FLUSH,
              "flushes come to the end of generations before the sweep does");

static uint32_t generation_at(uint64_t flush, uint32_t now_s)
{
	return (uint32_t)flush + (now_s >= (uint32_t)(flush >> 32) ? 1 : 0);
}

uint32_t ns_store_generation(const struct ns_store *store, uint32_t now_s)
{
	return generation_at(__atomic_load_n(&store->flush, __ATOMIC_ACQUIRE), now_s);
}

uint8_t ns_object_set_generation(struct ns_object *object, uint32_t generation)
{
	generation %= NS_GENERATION_COUNT;
	object->fifo.generation_high = (generation >> NS_GENERATION_LOW_BITS) & 0x7f;
	return (uint8_t)(generation << NS_GENERATION_SHIFT);
}

/* Modulo NS_GENERATION_COUNT. */
static uint32_t generation_of(const struct ns_object *object)
{
	uint32_t high = object->fifo.generation_high;
	uint32_t low = __atomic_load_n(&object->marks, __ATOMIC_RELAXED) >> NS_GENERATION_SHIFT;

	return high << NS_GENERATION_LOW_BITS | low;
}

enum ns_end ns_object_end(const struct ns_store *store, const struct ns_object *object,
                          uint32_t now_s)
{
	uint32_t expires_s = __atomic_load_n(&object->expires_s, __ATOMIC_RELAXED);
	uint32_t behind =
		(ns_store_generation(store, now_s) - generation_of(object)) % NS_GENERATION_COUNT;

	if (behind != 0 && behind != NS_GENERATION_COUNT - 1)
		return NS_FLUSHED;
	return expires_s != 0 && expires_s <= now_s ? NS_EXPIRED : NS_LIVES;
}

/* ---- one chain ---- */

/* Objects that have ended are collected while the chain is locked, and retired when it is not. */
struct gone {
	struct ns_object *objects[GONE_AT_A_TIME];
	size_t count;
};

static void unlink_gone(struct ns_thread *thread, uint64_t bucket, uint32_t now_s, struct gone *ret)
{
	struct ns_store *store = thread->store;
	struct ns_object *next;

	for (struct ns_object *object = ns_index_first(store->index, bucket);
	     object != NULL && ret->count < GONE_AT_A_TIME; object = next) {
		next = ns_index_next(object);
		if (ns_object_end(store, object, now_s) == NS_LIVES)
			continue;
		ns_object_unlink(thread, ns_index_look_for(store->index, object));
		ret->objects[ret->count++] = object;
	}
}

/* A bucket's number has the lock of the hashes in it. Split meanwhile: the rest is found later. */
static void clean_bucket(struct ns_thread *thread, uint64_t bucket, uint32_t now_s)
{
	struct gone gone;

	do {
		gone.count = 0;
		ns_index_lock(thread->store->index, bucket);
		unlink_gone(thread, bucket, now_s, &gone);
		ns_index_unlock(thread->store->index, bucket);
		for (size_t i = 0; i < gone.count; i++)
			ns_object_retire(thread, gone.objects[i]);
		ns_counter_add(&thread->counts.expired, gone.count);
	} while (gone.count == GONE_AT_A_TIME);
}

void ns_store_sweep_hash(struct ns_thread *thread, uint64_t hash, uint32_t now_s)
{
	clean_bucket(thread, ns_index_bucket(thread->store->index, hash), now_s);
}

/* Looks without the lock first, as most buckets have nothing for us. Returns how many it looked at. */
static size_t sweep_bucket(struct ns_thread *thread, uint64_t bucket, uint32_t now_s)
{
	struct ns_store *store = thread->store;
	bool is_clean = true;
	size_t count = 1;

	for (struct ns_object *object = ns_index_first(store->index, bucket); object != NULL;
	     object = ns_index_next(object)) {
		count++;
		if (ns_object_end(store, object, now_s) != NS_LIVES)
			is_clean = false;
	}
	if (!is_clean)
		clean_bucket(thread, bucket, now_s);
	return count;
}

/* ---- all of them ---- */

/* What is judged by the caller's clock and linked by the store's is clean by both. */
static uint32_t generation_by_both(const struct ns_store *store, uint32_t now_s)
{
	uint32_t clock_s = ns_store_now_s(store);

	return ns_store_generation(store, now_s < clock_s ? now_s : clock_s);
}

/*
 * With the sweep's lock. A bucket that is added behind our back gets its objects from one with a lower
 * number, and comes after all that there are now: none is left out. After a flush in the middle of a walk there is
 * another one to be done.
 */
static bool walk(struct ns_thread *thread, uint32_t now_s, size_t most)
{
	struct ns_store *store = thread->store;
	struct ns_sweep *sweep = &store->sweep;
	size_t looked_at = 0;

	while (looked_at < most) {
		if (sweep->bucket == 0)
			sweep->generation = generation_by_both(store, now_s);
		looked_at += sweep_bucket(thread, sweep->bucket++, now_s);
		if (sweep->bucket < ns_index_buckets(store->index))
			continue;
		sweep->bucket = 0;
		sweep->clean = sweep->generation;
		if (sweep->clean == generation_by_both(store, now_s))
			return false;
	}
	return true;
}

bool ns_store_sweep(struct ns_thread *thread, uint32_t now_s, size_t most)
{
	struct ns_sweep *sweep = &thread->store->sweep;
	bool is_more;

	ns_room_go_on(thread, (unsigned)(most < NS_LOOKS_FOR_ROOM ? most : NS_LOOKS_FOR_ROOM));
	if (pthread_mutex_trylock(&sweep->lock) != 0)
		return false;
	is_more = walk(thread, now_s, most);
	pthread_mutex_unlock(&sweep->lock);
	return is_more;
}

/* ---- flush ---- */

static uint32_t generations_behind(const struct ns_store *store, uint32_t now_s)
{
	return ns_store_generation(store, now_s) - store->sweep.clean;
}

/*
 * With the sweep's lock: no object is left that the generations to come could take for a new one. The loop ends
 * after its first turn unless the index grew many times over within a few flushes.
 */
static void make_room_for_generations(struct ns_store *store, uint32_t now_s)
{
	struct ns_thread *own = store->sweep.own;
	uint64_t all = ns_index_buckets(store->index) + ns_index_objects(store->index);

	if (generations_behind(store, now_s) <= BEHIND_LEFT_TO_OTHERS)
		return;
	ns_thread_come(own);
	do {
		(void)walk(own, now_s, all / PARTS_A_WALK + 1);
		ns_thread_rest(own);
	} while (generations_behind(store, now_s) > BEHIND_MAX_BEFORE_FLUSH);
	ns_thread_go(own);
}

void ns_store_flush(struct ns_store *store, uint32_t at_s)
{
	uint32_t now_s = ns_store_now_s(store);
	uint32_t generation;

	pthread_mutex_lock(&store->sweep.lock);
	make_room_for_generations(store, now_s);
	/* One that was to come and is past has come. One that is still to come is replaced. */
	generation = ns_store_generation(store, now_s);
	if (at_s <= now_s) {
		generation++;
		at_s = UINT32_MAX;
	}
	__atomic_store_n(&store->flush, (uint64_t)at_s << 32 | generation, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&store->sweep.lock);
}
