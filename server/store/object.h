/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for objects without their heads: slots in steps of 8 bytes, as long as the key makes them, in pages of one
 * size each. From any thread.
 */
#ifndef NS_OBJECT_H
#define NS_OBJECT_H

#include "store.h"

struct ns_object_memory; /* opaque */

/* On @nodes, as ns_near_set() has it; they must outlive it. NULL: no memory */
struct ns_object_memory *ns_object_memory_create(const struct np_bitmap *nodes);
/* With all objects in it. Accepts NULL. */
void ns_object_memory_free(struct ns_object_memory *memory);

/* Room for a key of that length, 1 to NS_KEY_MAX; what is in it is not defined. NULL: no memory */
struct ns_object *ns_object_take(struct ns_object_memory *memory, size_t key_len);
/* @key_len: as it was taken with. */
void ns_object_give(struct ns_object_memory *memory, struct ns_object *object, size_t key_len);

/* That the kernel gave. */
uint64_t ns_object_memory_bytes(const struct ns_object_memory *memory);

#endif
