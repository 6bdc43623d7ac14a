/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One metric of one arm, read block by block: the distribution of each half of the trace, the blocks'
 * medians and means, and the figures that follow from them.
 */
#ifndef NL_ANALYSIS_SIDE_H
#define NL_ANALYSIS_SIDE_H

#include "analysis.h"

#include <errno.h>

/* The longest latency: what np_distribution_twice_shift() takes. 73 years. */
#define NL_LATENCY_NS_MAX (UINT64_C(1) << 61)

/*
 * The first row of block @i; block @blocks, which there is not, begins at @rows. The same as of
 * numpy.linspace(0, rows, blocks + 1) cut to whole numbers, as goblin-store's analysis has it: in
 * floating point, as whole numbers (i * rows / blocks) give another row where the product is a
 * whole number and its rounded factor lies just below. No block is empty while rows >= blocks.
 */
uint64_t nl_block_edge(uint64_t rows, unsigned blocks, unsigned i);

/* The most rows that a block has. */
uint64_t nl_block_rows_max(uint64_t rows, unsigned blocks);

struct nl_reading {
	const struct nl_input *input;
	uint64_t rows; /* that are read of the arm */
	unsigned block_count;
	unsigned block; /* the present one */
	struct nl_cursor *cursor;
	struct np_gatherer *halves[2];
	double *means;     /* of the blocks */
	uint64_t *medians; /* of the blocks; nl_reading_finish() hands them over */
	uint64_t *values;  /* the present block's; as sent, then sorted */
	size_t count;
};

/* The caller ends *ret with nl_reading_end(), also after an error. @block_count <= @rows. */
int nl_reading_begin(const struct nl_input *input, enum nl_metric metric, uint64_t rows,
                     unsigned block_count, struct nl_reading *ret, struct np_error *err);
void nl_reading_end(struct nl_reading *reading);

/* Reads the next block's values, in the order of sending. -EBADMSG */
int nl_reading_next(struct nl_reading *reading, struct np_error *err);

/* Sorts them; @scratch has room for a block. -EBADMSG: beyond NL_LATENCY_NS_MAX; -ENOMEM, -EOVERFLOW */
int nl_reading_sort(struct nl_reading *reading, uint64_t *scratch, struct np_error *err);

/*
 * After the last block: all figures but block_starts. The caller ends *ret_side with nl_side_release()
 * and *ret_all, the distribution of all rows, with np_distribution_release(). -ENOMEM
 */
int nl_reading_finish(struct nl_reading *reading, const struct nl_analysis_options *options,
                      struct nl_side *ret_side, struct np_distribution *ret_all,
                      struct np_error *err);

void nl_side_release(struct nl_side *side);

/* Here, so that whoever reads a caller, as analyzers do, sees that it fails. */
static inline int nl_analysis_no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "analysis");
}

#endif
