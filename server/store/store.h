/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys to objects. Objects do not change once they are stored: a SET, an append and a promotion make a new one
 * and put it in the old one's place, and whoever is sending the old one sends it to its end. Reading takes no
 * lock; writers of the same bucket have one for as long as it takes to link.
 */
#ifndef NS_STORE_H
#define NS_STORE_H

#include "../tail/tail.h"
#include "arena.h"
#include "epoch.h"
#include "fifo.h"
#include "heads.h"

#include <assert.h>
#include <stddef.h>

enum { NS_KEY_MAX = 250 };

/* Written once before it is linked, but for what is marked atomic. */
struct ns_object {
	struct ns_object *chain; /* atomic: next in the bucket */
	struct ns_fifo_link fifo;
	uint64_t hash;      /* of the key */
	uint64_t cas;       /* atomic: ns_object_cas(); unique, > 0; a promotion keeps it */
	uint64_t head;      /* offset in its arena; NS_NO_HEAD for 0 bytes */
	uint32_t bytes_low; /* of the whole object: see ns_object_bytes() */
	uint8_t arena;      /* place in the store's list */
	uint8_t key_len;
	uint8_t type;       /* of content, for HTTP: place in the store's table; 0 = not told */
	uint8_t marks;      /* atomic: NS_MARK_... */
	uint32_t flags;     /* memcache's */
	uint32_t expires_s; /* atomic: on the store's clock; 0 = never */
	uint32_t read_s;    /* atomic: when last read or touched, else stored */
	float score;        /* atomic: how hot it was then, score.h */
	uint32_t pins;      /* atomic: 0 = dead; the index has one */
	uint32_t tail;      /* its number, tail/tail.h; 0 = all of it is in RAM */
	char key[];         /* key_len bytes, not terminated */
};

/* With its share of the index, a pointer: what an object costs beside its key and its value. */
enum { NS_METADATA_MAX = 96 };
static_assert(offsetof(struct ns_object, key) + sizeof(void *) <= NS_METADATA_MAX,
              "an object's metadata has become too large");

enum {
	NS_MARK_STALE = 1,   /* meta delete or set with I: the next reader is told to fetch anew */
	NS_MARK_WINNER = 2,  /* somebody was told so already */
	NS_MARK_FETCHED = 4, /* read since it was stored */
};

static inline uint64_t ns_object_bytes(const struct ns_object *object)
{
	return (uint64_t)object->fifo.object_bytes_high << 32 | object->bytes_low;
}

/* It changes once an object is stored only when it is marked stale: ns_store_invalidate(). */
static inline uint64_t ns_object_cas(const struct ns_object *object)
{
	return __atomic_load_n(&object->cas, __ATOMIC_ACQUIRE);
}

struct ns_store; /* opaque */

/* Not server.h's: what is left of it once memory is planned and mapped. Borrowed. */
struct ns_store_setup {
	const struct ns_config *config;
	struct ns_arena *arenas; /* in the order of allocation; the store does not unmap them */
	size_t arena_count;
	struct ns_tails
		*tails; /* outlives the store; NULL: objects are as long as a head at most */
	const struct np_bitmap *nodes; /* of index and objects; NULL = where the kernel puts them */
	unsigned far_node;
	unsigned threads_max; /* that will use it at a time */
	uint64_t hash_seed;
};
int ns_store_create(const struct ns_store_setup *setup, struct ns_store **ret,
                    struct np_error *err);
void ns_store_free(struct ns_store *store); /* nobody uses it any more */

/* A thread that uses the store; its counters are its own, summed up by ns_store_count(). */
struct ns_thread;
struct ns_thread *ns_thread_join(struct ns_store *store,
                                 unsigned node); /* NULL: too many, no memory */
void ns_thread_leave(struct ns_thread *thread);

/* Once a turn of its loop, holding no object that is not pinned: frees what can be freed. */
void ns_thread_rest(struct ns_thread *thread);
/* Around sleeping. */
void ns_thread_go(struct ns_thread *thread);
void ns_thread_come(struct ns_thread *thread);

/* Seconds since the store began, plus 2: what expires_s counts in. One read a turn is enough. */
uint32_t ns_store_now_s(const struct ns_store *store);

/* ---- reading ---- */

/*
 * Finds, pins and counts; NULL when it is not there or has expired. No lock. The caller ends it with
 * ns_object_unpin(), from any thread that joined.
 */
const struct ns_object *ns_store_get(struct ns_thread *thread, const char *key, size_t key_len,
                                     uint32_t now_s);
/* The same without counting as a read, for looking. */
const struct ns_object *ns_store_peek(struct ns_thread *thread, const char *key, size_t key_len,
                                      uint32_t now_s);
void ns_object_pin(const struct ns_object *object); /* one that is pinned already, once more */
void ns_object_unpin(struct ns_thread *thread, const struct ns_object *object);

/* The bytes in RAM, and how many there are. */
const char *ns_object_head(const struct ns_store *store, const struct ns_object *object,
                           size_t *ret_bytes);

/* How many there are on SSD. */
uint64_t ns_object_tail_bytes(const struct ns_store *store, const struct ns_object *object);
struct ns_tails *ns_store_tails(const struct ns_store *store); /* NULL: none */

/* Bytes of it were sent from @thread: local or remote, by where its head is. */
void ns_thread_served(struct ns_thread *thread, const struct ns_object *object, uint64_t bytes);
/* The same of its tail, which is neither. */
void ns_thread_served_tail(struct ns_thread *thread, uint64_t bytes);

/*
 * Its tail cannot be read: it goes, unless its key has another one by now. @rc: why, kept for
 * ns_store_last_loss(). It stays the caller's to unpin.
 */
void ns_store_lose(struct ns_thread *thread, const struct ns_object *object, int rc);
/* A draft's tail could not be written, or (-ETIMEDOUT) its room was taken from it: counted, by why. */
void ns_store_write_failed(struct ns_thread *thread, int rc);
/* -errno of the last one that was lost; 0: none was. */
int ns_store_last_loss(const struct ns_store *store);

/* ---- storing ---- */

/* An object that is being received. Ends with ns_draft_store() or ns_draft_drop(). */
struct ns_draft {
	struct ns_object *object; /* pinned by the draft, in no bucket */
	char *head;               /* where its first bytes go */
	uint64_t head_bytes;
	uint64_t tail_bytes; /* the rest, to be written to the object's tail before it is stored */
};

struct ns_store_request {
	const char *key;
	size_t key_len;
	uint64_t bytes;
	uint32_t flags;
	uint32_t expires_s;
	uint8_t type;
};

/*
 * Takes room for the head where the key's prefix says, else in the first arena that has some, evicting there if
 * need be. What does not fit a head has a tail, for which others with tails go.
 *
 *   -E2BIG   larger than an object may be
 *   -ENOSPC  no room, in memory or in a pool, and nothing could be evicted; or nothing yet: where all is full of
 *            heads of another kind (heads.h) whole blocks are emptied, in so many calls that none takes long
 *   -EIO     no pool is in use any more
 *   -ENOMEM
 */
int ns_draft_begin(struct ns_thread *thread, const struct ns_store_request *request,
                   struct ns_draft *ret, struct np_error *err);
void ns_draft_drop(struct ns_thread *thread, struct ns_draft *draft);

enum ns_mode { NS_SET, NS_ADD, NS_REPLACE, NS_CAS };
enum ns_outcome { NS_STORED, NS_NOT_STORED, NS_EXISTS, NS_NOT_FOUND };

/*
 * Links it. @cas: with NS_CAS the number that the key must have; @set_cas: the new number, 0 = the next.
 * On anything but NS_STORED the draft is dropped. *ret_cas becomes the new number.
 */
enum ns_outcome ns_draft_store(struct ns_thread *thread, struct ns_draft *draft, enum ns_mode mode,
                               uint64_t cas, uint64_t set_cas, uint64_t *ret_cas);

/*
 * append, prepend: the bytes are in RAM already. -ENOENT: no such key; -EEXIST: @cas, unless 0, differs; -E2BIG: together
 * they are longer than a head, so always where there is a tail; else as ns_draft_begin().
 */
int ns_store_extend(struct ns_thread *thread, const char *key, size_t key_len, const char *bytes,
                    size_t count, bool in_front, uint64_t cas, uint64_t *ret_cas,
                    struct np_error *err);

/*
 * incr, decr: wraps at 2^64, floors at 0. *ret_value is the new number; the text keeps its length on decr, padded
 * with blanks. -ENOENT; -EINVAL: it is no decimal number; -EEXIST: @cas differs
 */
int ns_store_add_number(struct ns_thread *thread, const char *key, size_t key_len, uint64_t delta,
                        bool decrement, uint64_t cas, uint64_t *ret_value, uint64_t *ret_cas,
                        struct np_error *err);

/* 0; -ENOENT; -EEXIST: @cas, unless 0, is not the key's */
int ns_store_delete(struct ns_thread *thread, const char *key, size_t key_len, uint64_t cas);
/* Marks it stale instead, with a new cas and, unless UINT32_MAX, a new time. */
int ns_store_invalidate(struct ns_thread *thread, const char *key, size_t key_len, uint64_t cas,
                        uint32_t expires_s);
int ns_store_touch(struct ns_thread *thread, const char *key, size_t key_len, uint32_t expires_s);
/* Sets and clears marks; returns those before. */
uint8_t ns_object_mark(const struct ns_object *object, uint8_t set, uint8_t clear);
/*
 * NS_MARK_WINNER on one that is pinned, and on the one that it is by now if it was moved since it was found: true for
 * one of all who ask.
 */
bool ns_store_win(struct ns_thread *thread, const struct ns_object *object);

/* All that is stored before @at_s (now or later) is gone then. */
void ns_store_flush(struct ns_store *store, uint32_t at_s);

/*
 * Removes expired objects, at most @most looked at; returns whether there is more to look at. As many again are looked
 * at where blocks are being emptied.
 */
bool ns_store_sweep(struct ns_thread *thread, uint32_t now_s, size_t most);

/* ---- content types of HTTP ---- */

enum {
	NS_TYPES_MAX = 255, /* at a time; those of no object make room for others */
	NS_TYPE_TEXT_MAX = 127
};

/*
 * The number of a type's text, kept for the caller until ns_store_type_give(); an object that is made with it keeps
 * it too. It takes a lock. -EINVAL: empty, or too long; -ENOSPC: all numbers are in use
 */
int ns_store_type_take(struct ns_store *store, const char *text, size_t len, uint8_t *ret);
void ns_store_type_give(struct ns_store *store, uint8_t type); /* 0: nothing */
/* Of an object that the caller has pinned, or of a number that it has taken; NULL for 0. */
const char *ns_store_type_text(const struct ns_store *store, uint8_t type);

/* ---- placing ---- */

/* Replaces the rules, for what is stored from now on. -EINVAL: a node without an arena */
int ns_store_place(struct ns_store *store, const struct ns_place_rule *rules, size_t count,
                   struct np_error *err);

/*
 * The rule at that place, in the order in which they are tried: the longest prefix first. False: there are
 * no more. @ret->node is the node where its keys go that @thread stores; the prefix is good until it rests.
 */
bool ns_store_rule(const struct ns_thread *thread, size_t at, struct ns_place_rule *ret);

/* ---- counters ---- */

/* Of tails. */
/* clang-format off: one a line */
#define NS_TAIL_COUNTERS(X)                                                                        \
	X(tail_sent_bytes)                                                                         \
	X(tail_evictions)                                                                          \
	X(tails_lost)                                                                              \
	X(storage_full)                                                                            \
	X(storage_failed)
/* clang-format on */
/* clang-format off: one a line */
#define NS_PROMOTION_COUNTERS(X)                                                                   \
	X(promotion_blocks)                                                                        \
	X(promotion_scans)                                                                         \
	X(promotion_refused_payback)                                                               \
	X(promotion_refused_rate)                                                                  \
	X(promotion_refused_room)                                                                  \
	X(demotions)                                                                               \
	X(demoted_bytes)
/* clang-format on */

/* clang-format off: one a line */
#define NS_COUNTERS(X)                                                                             \
	X(get_hits)                                                                                \
	X(get_misses)                                                                              \
	X(get_expired)                                                                             \
	X(get_flushed)                                                                             \
	X(sets)                                                                                    \
	X(deletes)                                                                                 \
	X(delete_hits)                                                                             \
	X(touches)                                                                                 \
	X(touch_hits)                                                                              \
	X(incr_hits)                                                                               \
	X(incr_misses)                                                                             \
	X(decr_hits)                                                                               \
	X(decr_misses)                                                                             \
	X(cas_hits)                                                                                \
	X(cas_misses)                                                                              \
	X(cas_badval)                                                                              \
	X(evictions)                                                                               \
	X(evicted_unfetched)                                                                       \
	X(expired)                                                                                 \
	X(local_heads)                                                                             \
	X(local_bytes)                                                                             \
	X(remote_heads)                                                                            \
	X(remote_bytes)                                                                            \
	X(out_of_memory)                                                                           \
	X(promotions)                                                                              \
	X(promoted_bytes)                                                                          \
	X(promotion_ns)                                                                            \
	X(too_large)                                                                               \
	NS_TAIL_COUNTERS(X)                                                                        \
	NS_PROMOTION_COUNTERS(X)
/* clang-format on */

struct ns_counts {
#define X(name) uint64_t name;
	NS_COUNTERS(X)
#undef X
	uint64_t objects;
	uint64_t object_bytes;     /* of values */
	uint64_t metadata_bytes;   /* of objects without their heads, and of the index */
	uint64_t total_objects;    /* ever stored */
	uint64_t promotion_max_ns; /* the longest move of a head or a block */
};
void ns_store_count(const struct ns_store *store, struct ns_counts *ret);
void ns_store_reset_counts(struct ns_store *store);

/* Of heads that workers of node @serving sent from memory of node @memory. */
struct ns_served {
	uint64_t bytes;
	uint64_t heads; /* whole or in part */
};
struct ns_served ns_store_served(const struct ns_store *store, unsigned serving, unsigned memory);

struct ns_arena_counts {
	unsigned node;
	struct ns_heads_counts heads;
	uint64_t objects;
};
size_t ns_store_arena_count(const struct ns_store *store);
uint64_t ns_store_arena_bytes(const struct ns_store *store, size_t arena); /* taken or not */
struct ns_arena_counts ns_store_arena(const struct ns_store *store, size_t arena);

#endif
