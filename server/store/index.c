/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Orders: a writer publishes a pointer (the head of a bucket, an object's chain) with release after all that
 * it leads to is written; readers load it with acquire. The number of buckets is published with release after the
 * new bucket's head, and before the old chain is cut with release: a reader who ran into the cut sees the new
 * number when it looks again.
 */
#include "index.h"

#include "near.h"

#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	STRIPES = 1024,       /* locks; also the buckets at first, so a split stays within a lock */
	SPINS_MAX = 256,      /* before the CPU is given to whoever holds the lock */
	SPLITS_AT_A_TIME = 4, /* more than one: growth catches up */
	HUGE_PAGE_BYTES = 2 << 20,
};

struct stripe {
	alignas(64) uint32_t is_locked; /* atomic */
};

struct ns_index {
	/* For readers, one line: the count changes only while it grows. */
	alignas(64) struct ns_object **buckets; /* atomic; addresses of buckets_max of them */
	uint64_t bucket_count;                  /* atomic */
	uint64_t buckets_max;
	uint64_t seed;
	alignas(64) uint64_t objects; /* atomic */
	uint32_t is_growing;          /* atomic: a lock that is only tried */
	struct stripe stripes[STRIPES];
};

int ns_index_create(uint64_t objects_max, uint64_t seed, const struct np_bitmap *nodes,
                    struct ns_index **ret, struct np_error *err)
{
	struct ns_index *index = aligned_alloc(alignof(struct ns_index), sizeof(*index));
	size_t size;
	void *buckets;

	if (index == NULL)
		return np_error_set(err, ENOMEM, "no memory for an index");
	memset(index, 0, sizeof(*index));
	index->seed = seed;
	index->bucket_count = STRIPES;
	index->buckets_max = STRIPES;
	while (index->buckets_max < objects_max && index->buckets_max < UINT64_C(1) << 40)
		index->buckets_max *= 2;

	size = index->buckets_max * sizeof(struct ns_object *);
	buckets = mmap(NULL, size, PROT_READ | PROT_WRITE,
	               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buckets == MAP_FAILED) {
		int code = errno;

		free(index);
		return np_error_sys(err, code,
		                    "%llu MiB of addresses for the index (fewer objects need less)",
		                    (unsigned long long)(size >> 20));
	}
	/* Each look-up touches a bucket at random: with small pages each is a TLB miss too. */
	if (size >= HUGE_PAGE_BYTES)
		(void)madvise(buckets, size, MADV_HUGEPAGE);
	ns_near_set(buckets, size, nodes);
	index->buckets = buckets;
	*ret = index;
	return 0;
}

void ns_index_free(struct ns_index *index)
{
	if (index == NULL)
		return;
	munmap(index->buckets, index->buckets_max * sizeof(struct ns_object *));
	free(index);
}

uint64_t ns_index_hash(const struct ns_index *index, const char *key, size_t key_len)
{
	return XXH3_64bits_withSeed(key, key_len, index->seed);
}

static uint64_t highest_power(uint64_t count)
{
	return UINT64_C(1) << (63 - __builtin_clzll(count));
}

/* With N buckets, P the power of two at or below: those below N - P are split already. */
static uint64_t bucket_of(uint64_t hash, uint64_t count)
{
	uint64_t power = highest_power(count);
	uint64_t bucket = hash & (2 * power - 1);

	return bucket < count ? bucket : bucket & (power - 1);
}

/* Whether a comes before b by their bits from the lowest on. */
static bool is_before(uint64_t a, uint64_t b)
{
	uint64_t differing = a ^ b;

	return (b & differing & -differing) != 0;
}

static bool has_key(const struct ns_object *object, uint64_t hash, const char *key, size_t key_len)
{
	return object->hash == hash && object->key_len == key_len &&
	       memcmp(object->key, key, key_len) == 0;
}

struct ns_object *ns_index_first(const struct ns_index *index, uint64_t bucket)
{
	return __atomic_load_n(&index->buckets[bucket], __ATOMIC_ACQUIRE);
}

struct ns_object *ns_index_next(const struct ns_object *object)
{
	return __atomic_load_n(&object->chain, __ATOMIC_ACQUIRE);
}

uint64_t ns_index_buckets(const struct ns_index *index)
{
	return __atomic_load_n(&index->bucket_count, __ATOMIC_ACQUIRE);
}

uint64_t ns_index_bucket(const struct ns_index *index, uint64_t hash)
{
	return bucket_of(hash, ns_index_buckets(index));
}

struct ns_object *ns_index_find(const struct ns_index *index, uint64_t hash, const char *key,
                                size_t key_len)
{
	uint64_t bucket = ns_index_bucket(index, hash);

	for (;;) {
		uint64_t seen = bucket;
		struct ns_object *object = ns_index_first(index, bucket);

		for (; object != NULL && !is_before(hash, object->hash);
		     object = ns_index_next(object))
			if (has_key(object, hash, key, key_len))
				return object;

		/* Not there, or moved away under our hands to a bucket that is new. */
		bucket = ns_index_bucket(index, hash);
		if (bucket == seen)
			return NULL;
	}
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

void ns_index_lock(struct ns_index *index, uint64_t hash)
{
	uint32_t *lock = &index->stripes[hash % STRIPES].is_locked;
	unsigned spins = 0;

	while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {
			relax();
			if (++spins % SPINS_MAX == 0)
				sched_yield();
		}
	}
}

void ns_index_unlock(struct ns_index *index, uint64_t hash)
{
	__atomic_store_n(&index->stripes[hash % STRIPES].is_locked, 0, __ATOMIC_RELEASE);
}

/* Under a lock the pointers of its chains do not change: relaxed loads would do. */
struct ns_slot ns_index_look(const struct ns_index *index, uint64_t hash, const char *key,
                             size_t key_len)
{
	struct ns_slot slot = {
		.link = &index->buckets[ns_index_bucket(index, hash)],
	};
	struct ns_object *object = __atomic_load_n(slot.link, __ATOMIC_ACQUIRE);

	for (; object != NULL && !is_before(hash, object->hash); object = ns_index_next(object)) {
		if (has_key(object, hash, key, key_len)) {
			slot.object = object;
			return slot;
		}
		slot.link = &object->chain;
	}
	return slot;
}

struct ns_slot ns_index_look_for(const struct ns_index *index, const struct ns_object *object)
{
	struct ns_slot slot = ns_index_look(index, object->hash, object->key, object->key_len);

	if (slot.object != object)
		slot.object = NULL;
	return slot;
}

void ns_index_link(struct ns_index *index, struct ns_slot slot, struct ns_object *object)
{
	struct ns_object *next = slot.object != NULL ? ns_index_next(slot.object)
	                                             : __atomic_load_n(slot.link, __ATOMIC_RELAXED);

	object->chain = next;
	__atomic_store_n(slot.link, object, __ATOMIC_RELEASE);
	if (slot.object == NULL)
		(void)__atomic_fetch_add(&index->objects, 1, __ATOMIC_RELAXED);
}

void ns_index_unlink(struct ns_index *index, struct ns_slot slot)
{
	__atomic_store_n(slot.link, ns_index_next(slot.object), __ATOMIC_RELEASE);
	(void)__atomic_fetch_sub(&index->objects, 1, __ATOMIC_RELAXED);
}

/* The objects of bucket N - P whose hash has bit P become those of bucket N. */
static void split(struct ns_index *index, uint64_t count)
{
	uint64_t power = highest_power(count);
	uint64_t from = count - power;
	struct ns_object **cut = &index->buckets[from];
	struct ns_object *object;

	ns_index_lock(index, from);
	for (object = ns_index_first(index, from); object != NULL && (object->hash & power) == 0;
	     object = ns_index_next(object))
		cut = &object->chain;
	__atomic_store_n(&index->buckets[count], object, __ATOMIC_RELEASE);
	__atomic_store_n(&index->bucket_count, count + 1, __ATOMIC_RELEASE);
	__atomic_store_n(cut, NULL, __ATOMIC_RELEASE);
	ns_index_unlock(index, from);
}

void ns_index_grow(struct ns_index *index)
{
	uint64_t count = ns_index_buckets(index);
	uint64_t wanted = ns_index_objects(index);

	if (wanted > index->buckets_max)
		wanted = index->buckets_max;
	if (count >= wanted || __atomic_exchange_n(&index->is_growing, 1, __ATOMIC_ACQUIRE))
		return;
	count = ns_index_buckets(index);
	for (unsigned i = 0; i < SPLITS_AT_A_TIME && count < wanted; i++)
		split(index, count++);
	__atomic_store_n(&index->is_growing, 0, __ATOMIC_RELEASE);
}

uint64_t ns_index_objects(const struct ns_index *index)
{
	return __atomic_load_n(&index->objects, __ATOMIC_RELAXED);
}

uint64_t ns_index_bytes(const struct ns_index *index)
{
	return sizeof(*index) + ns_index_buckets(index) * sizeof(struct ns_object *);
}
