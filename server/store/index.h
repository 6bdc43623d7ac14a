/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the object of a key is. Buckets of chained objects; a reader walks them without a lock, a writer
 * holds the lock of the hash for as long as it takes to link. Grows by one bucket at a time, while all go on.
 *
 * A chain is sorted by the reversed bits of the hash: when a bucket is split, its chain is cut once, and
 * neither half is out of order or unreachable for a moment.
 *
 * Readers and writers alike are threads that the store's epochs know to be here: an object that was
 * unlinked keeps its chain pointer until the epoch has passed, so a reader in the middle of a chain gets to its end.
 */
#ifndef NS_INDEX_H
#define NS_INDEX_H

#include "store.h"

struct ns_index; /* opaque */

/*
 * For @objects_max objects, for which it reserves addresses, not memory; that will lie on @nodes as
 * ns_near_set() has it. The caller ends *ret with ns_index_free(), which leaves the objects alone and
 * accepts NULL.
 *
 *   -ENOMEM
 */
int ns_index_create(uint64_t objects_max, uint64_t seed, const struct np_bitmap *nodes,
                    struct ns_index **ret, struct np_error *err);
void ns_index_free(struct ns_index *index);

uint64_t ns_index_hash(const struct ns_index *index, const char *key, size_t key_len);

/*
 * The object that is linked, or was when the call began; NULL when there is none. It is not pinned. Who
 * then finds it dead calls again, and will not find the same.
 */
struct ns_object *ns_index_find(const struct ns_index *index, uint64_t hash, const char *key,
                                size_t key_len);

/* ---- writers ---- */

void ns_index_lock(struct ns_index *index, uint64_t hash);
void ns_index_unlock(struct ns_index *index, uint64_t hash);

/* A place in a chain; holds until the lock of its hash is given back. */
struct ns_slot {
	struct ns_object **link;  /* points to the object, or to where it would stand */
	struct ns_object *object; /* NULL when there is none */
};
struct ns_slot ns_index_look(const struct ns_index *index, uint64_t hash, const char *key,
                             size_t key_len);
/* The same for one object, which may be unlinked already. */
struct ns_slot ns_index_look_for(const struct ns_index *index, const struct ns_object *object);

/* Puts @object, whose hash is that of the place, there: instead of what is there, if anything. */
void ns_index_link(struct ns_index *index, struct ns_slot slot, struct ns_object *object);
void ns_index_unlink(struct ns_index *index, struct ns_slot slot);

/* After linking, with no lock held: adds a few buckets when there are too few. */
void ns_index_grow(struct ns_index *index);

/* ---- all of it ---- */

uint64_t ns_index_objects(const struct ns_index *index);
uint64_t ns_index_bytes(const struct ns_index *index);

/* The bucket of a hash, now. With the lock of the hash, or of its bucket's number, it stays that. */
uint64_t ns_index_bucket(const struct ns_index *index, uint64_t hash);
/* Buckets there are; one that is added takes its objects from one with a lower number. */
uint64_t ns_index_buckets(const struct ns_index *index);
/* A bucket's first object, the one after it in the chain. */
struct ns_object *ns_index_first(const struct ns_index *index, uint64_t bucket);
struct ns_object *ns_index_next(const struct ns_object *object);

#endif
