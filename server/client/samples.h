/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of a run while it runs: memory that is mapped once, on the node of the CPU that measures,
 * touched before the first request and locked, so that keeping a row is a store and no more. One
 * thread.
 */
#ifndef NL_SAMPLES_H
#define NL_SAMPLES_H

#include "../../probe/base/sysroot.h"
#include "trace.h"

/*
 * A row in 32 bytes: three words of 48 bits of time, whose upper 16 bits hold the arm and the two
 * halves of the key.
 */
struct nl_sample {
	uint64_t start_ns;
	uint64_t response_arm;
	uint64_t payload_key_low;
	uint64_t total_key_high;
};

enum { NL_SAMPLE_TIME_BITS = 48 };

/* 78 hours, far above any deadline. */
#define NL_SAMPLE_TIME_MAX ((UINT64_C(1) << NL_SAMPLE_TIME_BITS) - 1)

struct nl_samples {
	struct nl_sample *rows; /* a mapping; NULL = none */
	uint64_t capacity;
	uint64_t count;
	size_t bytes;             /* of the mapping */
	bool is_locked;           /* cannot be swapped out */
	struct np_error unlocked; /* else: why, and what helps */
	struct np_bitmap
		nodes;      /* where its pages are, of those that were looked at; empty = unknown */
	unsigned looked;    /* pages */
	unsigned elsewhere; /* of these, not on the node that was wanted */
};

/*
 * Memory for @capacity > 0 rows, on @node if it can be (-1 = wherever the kernel puts it). @root tells
 * how much is free. The caller ends *ret with nl_samples_release().
 *
 *   -ENOMEM  err tells how much it needs and how much there is
 */
int nl_samples_create(const struct np_sysroot *root, uint64_t capacity, int node,
                      struct nl_samples *ret, struct np_error *err);
void nl_samples_release(struct nl_samples *samples); /* twice is ok */

/* Keeps a row; there is room for it. Times beyond NL_SAMPLE_TIME_MAX are kept as that. */
static inline void nl_samples_add(struct nl_samples *samples, const struct nl_row *row)
{
	struct nl_sample *sample = &samples->rows[samples->count++];
	uint64_t times[] = { row->response_ns, row->payload_ns, row->total_ns };

	for (unsigned i = 0; i < 3; i++)
		if (times[i] > NL_SAMPLE_TIME_MAX)
			times[i] = NL_SAMPLE_TIME_MAX;
	sample->start_ns = row->start_ns;
	sample->response_arm = times[0] | (uint64_t)row->arm << NL_SAMPLE_TIME_BITS;
	sample->payload_key_low = times[1] | (uint64_t)(row->key & 0xffff) << NL_SAMPLE_TIME_BITS;
	sample->total_key_high = times[2] | (uint64_t)(row->key >> 16) << NL_SAMPLE_TIME_BITS;
}

/* Row @i < count. */
struct nl_row nl_samples_get(const struct nl_samples *samples, uint64_t i);

#endif
