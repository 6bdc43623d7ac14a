/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the store's files share. The life of an object:
 *
 *   draft      one pin, known to its maker only
 *   linked     the index has a pin, taken over from the draft; NS_MARK_LINKED; in its arena's queues
 *   unlinked   whoever took it out of the index, under the bucket's lock, owns the index's pin, takes it
 *              out of the queues and then unpins it; readers may go on
 *   dead       the last pin is gone, and with it who may look at the head: it goes back to the arena
 *   past       no thread can be in the middle of it in a chain any more: the object goes back to its memory
 *
 * An object in a queue has the index's pin, so who holds the arena's lock may pin it. No lock is taken
 * while another one is held, but that of the memory of objects within that of one class, that of the
 * tails within an arena's, and all within an arena's lock of emptying.
 */
#ifndef NS_STORE_PARTS_H
#define NS_STORE_PARTS_H

#include "index.h"
#include "object.h"
#include "score.h"
#include "store.h"

#include <pthread.h>
#include <stdalign.h>

/* In ns_object.marks, beside those of store.h. */
enum {
	NS_MARKS_SHOWN = 7,      /* the caller's */
	NS_MARK_LINKED = 8,      /* changed under the bucket's lock */
	NS_GENERATION_SHIFT = 4, /* the rest: how many flushes there were when it was linked, ... */
	NS_GENERATION_LOW_BITS = 4, /* ... so many bits of it; others are in fifo.generation_high */
	NS_GENERATION_COUNT = 2048, /* of all of them, modulo this */
};

enum {
	NS_EVICTIONS_MAX = 32768,   /* for one object, before blocks are emptied for it */
	NS_SWEEP_FOR_ROOM = 4096,   /* objects looked at for one, where none may be evicted */
	NS_LOOKS_FOR_ROOM = 262144, /* the same, where blocks are emptied: some tens of ms */
	NS_EXPIRED_SEEN_MAX = 64,   /* that a thread remembers until it rests */
	NS_RULES_MAX = 256,
};

/* Without objects_max there are at most so many bytes of arenas to an object, as objects take RAM too. */
#define NS_BYTES_AN_OBJECT 64u

/* What there are bits for. */
#define NS_OBJECT_BYTES_MAX (UINT64_C(1) << 40)
/* An object's limit where there are tails, unless object_bytes_max says. */
#define NS_OBJECT_BYTES_WITH_TAIL (UINT64_C(1) << 30)

/* ---- arenas ---- */

/* Of blocks; see store_empty.c. Its lock is taken before all others. */
struct ns_emptying {
	pthread_mutex_t lock;
	uint64_t *blocks;      /* bit: it is to be emptied */
	size_t count;          /* of such blocks, those that were emptied since with them */
	uint64_t bucket;       /* of the index: the next one to be looked at */
	uint32_t is_under_way; /* atomic; written with the lock */
};

struct ns_store_arena {
	alignas(64) pthread_mutex_t lock; /* of what follows; never taken by a reader */
	struct ns_heads *heads;
	struct ns_fifo *fifo;
	uint64_t objects; /* in the queues */
	alignas(64) struct ns_emptying emptying;
	/* Does not change. */
	alignas(64) const struct ns_arena *mapped;
};

/* ---- the dead ---- */

/* Linked by fifo.next, as they are in no queue; the epoch's stamp is kept in cas. */
struct ns_dead_list {
	struct ns_object *first;
	struct ns_object *last;
};

/* ---- threads ---- */

struct ns_thread {
	alignas(64) struct ns_store *store;
	struct ns_thread *next; /* of all there ever were */
	uint32_t is_taken;      /* atomic */
	unsigned node;
	int place; /* in the epochs */
	unsigned local_arena;
	struct ns_dead_list dead;    /* not stamped yet */
	struct ns_dead_list stamped; /* oldest first */
	unsigned expired_count;
	uint64_t expired[NS_EXPIRED_SEEN_MAX]; /* hashes of what was found expired */
	/* Written by this thread alone, relaxed; read by all. */
	alignas(64) struct ns_counts counts;
	/* By arena; then, as many, what they were at the last reset. */
	struct ns_served served[];
};

static inline void ns_counter_add(uint64_t *counter, uint64_t amount)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + amount,
	                 __ATOMIC_RELAXED);
}

/* ---- the store ---- */

struct ns_rules; /* store_place.c */

/* One sweep at a time; see store_sweep.c. */
struct ns_sweep {
	pthread_mutex_t lock;
	uint64_t bucket;
	uint32_t generation;   /* when the walk began */
	uint32_t clean;        /* nothing older than this generation is linked */
	struct ns_thread *own; /* for walks of ns_store_flush() */
};

struct ns_type {
	uint32_t users; /* atomic; from 0 with the lock only */
	uint8_t len;    /* of the text; both change with the lock, and without users */
	char text[NS_TYPE_TEXT_MAX + 1];
};

struct ns_types {
	pthread_mutex_t lock;
	struct ns_type list[NS_TYPES_MAX]; /* a number is a place, from 1 */
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what is written often stands apart
struct ns_store {
	/* Do not change. */
	struct ns_index *index;
	struct ns_object_memory *memory;
	struct ns_epochs *epochs;
	struct ns_store_arena *arenas;
	size_t arena_count;
	uint64_t head_bytes;
	uint64_t object_bytes_max;
	uint64_t objects_max;
	int64_t started_ns;
	struct ns_tails *tails; /* NULL: none */
	struct ns_score_rules scores;
	unsigned far_node;
	unsigned threads_max;
	bool no_evict;

	struct ns_rules *rules;    /* atomic */
	struct ns_thread *threads; /* atomic; only ever grows */
	uint64_t flush;            /* atomic: store_sweep.c */

	alignas(64) uint64_t cas;           /* atomic: the last one given */
	alignas(64) struct ns_object *dead; /* atomic: a stack, pushed to by readers */

	alignas(64) pthread_mutex_t lock; /* of joining, of rules that were replaced, of orphans */
	struct ns_rules *old_rules;
	struct ns_dead_list orphans; /* stamped, of threads that sleep or left */
	uint32_t has_orphans;        /* atomic */
	int last_loss;               /* relaxed atomic: -errno */
	uint64_t promotion_max_ns;   /* relaxed atomic */
	struct ns_counts reset;      /* relaxed atomics: sums at the last reset */
	struct ns_sweep sweep;
	struct ns_types types;
};

/* The index and the pins are the store's to change in objects that others may only look at. */
static inline struct ns_object *ns_object_own(const struct ns_object *object)
{
	union {
		const struct ns_object *others;
		struct ns_object *own;
	} same = { .others = object };

	return same.own;
}

/* Now. */
static inline float ns_object_score(const struct ns_store *store, const struct ns_object *object,
                                    uint32_t now_s)
{
	float score;

	__atomic_load(&object->score, &score, __ATOMIC_RELAXED);
	return ns_score_at(&store->scores, score,
	                   __atomic_load_n(&object->read_s, __ATOMIC_RELAXED), now_s);
}

/* store_get.c */

/* false: it is dead. The thread is here, so its memory is still that object's. */
bool ns_object_try_pin(struct ns_object *object);

/* store_sweep.c */

/* How many flushes there were, at that time. */
uint32_t ns_store_generation(const struct ns_store *store, uint32_t now_s);
/* Of an object that is to be linked: before its marks are there. Its low bits are returned, for the marks. */
uint8_t ns_object_set_generation(struct ns_object *object, uint32_t generation);

enum ns_end { NS_LIVES, NS_EXPIRED, NS_FLUSHED };
enum ns_end ns_object_end(const struct ns_store *store, const struct ns_object *object,
                          uint32_t now_s);

/* Unlinks what has ended among the objects of the hash's bucket. */
void ns_store_sweep_hash(struct ns_thread *thread, uint64_t hash, uint32_t now_s);

/* store_place.c */

#define NS_ANY_ARENA SIZE_MAX

/* Where a key has to live, by the rules. */
size_t ns_store_arena_of_key(const struct ns_thread *thread, const char *key, size_t key_len);
size_t ns_store_arena_of_node(const struct ns_store *store, unsigned node);
void ns_rules_free(struct ns_rules *rules); /* and all that it replaced */

/* store_room.c */

struct ns_room {
	size_t arena;
	uint64_t offset;
};

/* For a head in that arena, or any; evicts if need be. */
bool ns_room_take(struct ns_thread *thread, size_t arena, uint64_t bytes, struct ns_room *ret);
void ns_room_give(struct ns_store *store, size_t arena, uint64_t offset, uint64_t bytes);
/* The same in that arena without evicting: NS_NO_HEAD when there is none. */
uint64_t ns_room_take_free(struct ns_store_arena *arena, uint64_t bytes);
/* The next one to go in that arena goes; false when nobody is left. */
bool ns_room_evict_one(struct ns_thread *thread, size_t arena);
uint64_t ns_head_bytes(const struct ns_store *store, const struct ns_object *object);

/* Unlinks objects that have tails until there is one to be had; as ns_draft_begin(). */
int ns_tail_room_take(struct ns_thread *thread, size_t arena, uint64_t bytes, uint32_t *ret,
                      struct np_error *err);
/* For an object that takes another one's place, the same in all but where its head is. */
static inline void ns_object_share_tail(const struct ns_store *store, struct ns_object *object,
                                        const struct ns_object *other)
{
	object->tail = other->tail;
	if (object->tail != 0)
		ns_tail_pin(store->tails, object->tail);
}

/* After one was linked: evicts until there are no more than objects_max, first in @arena. */
void ns_room_keep_to_limit(struct ns_thread *thread, size_t arena);

/*
 * The next one to go goes; false when nobody is left. Unless @ret_emptied is NULL its block comes to be emptied,
 * and *ret_emptied is where its head was, or NS_NO_HEAD.
 */
bool ns_room_evict(struct ns_thread *thread, struct ns_store_arena *arena, uint64_t *ret_emptied);
void ns_room_count_eviction(struct ns_thread *thread, const struct ns_object *object);

/* store_empty.c */

/*
 * Makes whole blocks of the arena free, and takes room there; NS_NO_HEAD when it could not, or not yet. Looks at about
 * *looks objects at most, and takes as many off.
 */
uint64_t ns_room_empty(struct ns_thread *thread, size_t arena, uint64_t bytes, unsigned *looks);
/* Whether blocks of it are being emptied, for who comes later. */
bool ns_room_is_emptying(const struct ns_store *store, size_t arena);
/* Goes on with what is under way in any arena. */
void ns_room_go_on(struct ns_thread *thread, unsigned looks);

/* With the lock of its bucket: out of the index. Then, without, ns_object_retire(). */
void ns_object_unlink(struct ns_thread *thread, struct ns_slot slot);
/* The thread has unlinked it: out of the queues, and the index's pin is gone. */
void ns_object_retire(struct ns_thread *thread, struct ns_object *object);
/* Now that it is linked: into the queues, unless it is unlinked by now. @old: what it replaced, or NULL */
void ns_object_settle(struct ns_thread *thread, struct ns_object *object, struct ns_object *old);

/* Gives back the heads of what readers were the last to hold; returns whether there were any. */
bool ns_store_bury(struct ns_thread *thread);

/* store_draft.c */

struct ns_terms {
	enum ns_mode mode;
	uint64_t cas;
	uint64_t set_cas;
	/* Only in place of this one, with that cas; else NS_EXISTS. When it expires is taken over from it. */
	const struct ns_object *expected;
};
enum ns_outcome ns_draft_link(struct ns_thread *thread, struct ns_draft *draft,
                              const struct ns_terms *terms, uint64_t *ret_cas);

/* store_type.c: one more user of a number that has some */
void ns_store_type_share(struct ns_store *store, uint8_t type);

/* store_thread.c */

/* Nobody can look at it any more. */
void ns_object_free(struct ns_store *store, struct ns_object *object);
void ns_dead_list_add(struct ns_dead_list *list, struct ns_object *object);

#endif
