/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of tails share. A tail's units and where they lie do not change while anybody has it pinned; its
 * checksums are written once, by its writer, before the object that has it can be found.
 */
#ifndef NS_TAILS_PARTS_H
#define NS_TAILS_PARTS_H

#include "pool.h"

enum { NS_CHUNK_UNITS = NS_TAIL_CHUNK_BYTES / NS_TAIL_UNIT_BYTES, NS_BUFFER_ALIGNMENT = 4096 };
_Static_assert((int)NS_UNITS_A_RUN == (int)NS_CHUNK_UNITS, "a run is what one read gets");

struct ns_tail {
	struct ns_pool *pool;
	uint64_t bytes;
	uint32_t pins;  /* under the lock */
	uint32_t count; /* of units */
	uint64_t *sums; /* one for each unit: XXH3 of its bytes that are part of the tail */
	uint32_t units[];
};

/* Of a number that is pinned; once more pinned. Ends with ns_tail_release(). */
struct ns_tail *ns_tail_hold(struct ns_tails *tails, uint32_t tail);
void ns_tail_release(struct ns_tails *tails, uint32_t tail);

/*
 * A piece of a tail that lies in one piece: from @unit on, at most @most units.
 */
struct ns_tail_run {
	uint32_t units;
	uint64_t offset; /* in the pool's file */
	uint64_t bytes;  /* in the file: whole units */
};
struct ns_tail_run ns_tail_run_at(const struct ns_tail *tail, uint32_t unit, uint32_t most);

/* How many of a unit's bytes are the tail's: all but of the last one. */
uint32_t ns_tail_unit_bytes(const struct ns_tail *tail, uint32_t unit);

/* Notes the checksums of units that are in @bytes, which has whole units; clears what is behind the tail's end. */
void ns_tail_seal(struct ns_tail *tail, uint32_t unit, uint32_t count, char *bytes);
/*
 * How a read of units into @bytes went, @rc being the kernel's word: 0 when they are what was sealed, else -EIO.
 * Counts it.
 */
int ns_tail_check(struct ns_tail *tail, uint32_t unit, uint32_t count, const char *bytes, int rc);

#endif
