/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * S3-FIFO (Yang, Zhang, Qiu, Yue and Vigfusson, "FIFO queues are all you need for cache eviction", SOSP
 * 2023): who goes when room is needed. Two queues and a memory of who went; a read only raises a
 * counter of two bits in the object itself. The caller has a lock for all but ns_fifo_touch().
 */
#ifndef NS_FIFO_H
#define NS_FIFO_H

#include <stddef.h>
#include <stdint.h>

struct ns_object;

/* In the object; touched by readers without a lock. */
struct ns_fifo_link {
	struct ns_object *next;
	struct ns_object *previous;
	uint32_t bytes; /* that it counts for, in units of 64 */
	uint8_t queue;  /* 0 = in none */
	uint8_t reads;  /* 0..3, relaxed atomic */
	/* No business of the queues: they fill what would be a gap, and do not change once the object is linked. */
	uint16_t object_bytes_high : 9; /* see ns_object_bytes() */
	uint16_t generation_high : 7;   /* see store_sweep.c */
};

struct ns_fifo; /* opaque */

/* For about @objects at a time: the size of its memory of who went. NULL: no memory. */
struct ns_fifo *ns_fifo_create(uint64_t bytes, size_t objects);
void ns_fifo_free(struct ns_fifo *fifo);

static inline void ns_fifo_touch(struct ns_fifo_link *link)
{
	uint8_t reads = __atomic_load_n(&link->reads, __ATOMIC_RELAXED);

	if (reads < 3)
		__atomic_store_n(&link->reads, (uint8_t)(reads + 1), __ATOMIC_RELAXED);
}

/* @hash of its key tells whether it went not long ago. */
void ns_fifo_add(struct ns_fifo *fifo, struct ns_object *object, uint64_t hash);
void ns_fifo_remove(struct ns_fifo *fifo, struct ns_object *object);

/* Puts @to in the place of @from, which leaves: the same object, moved. */
void ns_fifo_replace(struct ns_fifo *fifo, struct ns_object *from, struct ns_object *to);

/* Chooses who goes, takes it out of the queues and remembers its hash. NULL when there is nobody. */
struct ns_object *ns_fifo_evict(struct ns_fifo *fifo);
/* The same, of those with a tail alone. */
struct ns_object *ns_fifo_evict_tail(struct ns_fifo *fifo);

#endif
