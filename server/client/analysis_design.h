/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the two arms ran, and what follows from it for the design of the run.
 */
#ifndef NL_ANALYSIS_DESIGN_H
#define NL_ANALYSIS_DESIGN_H

#include "analysis.h"

/* CLOCK_MONOTONIC_RAW. */
struct nl_extent {
	uint64_t start_ns;    /* of the first request */
	uint64_t compared_ns; /* the last byte of the last one that is compared */
	uint64_t end_ns;      /* the last byte of the arm's last one */
	uint64_t *block_starts;
	unsigned block_count;
};

/*
 * Reads an arm's starts; its first @rows are compared, in @block_count blocks. The caller ends *ret with
 * nl_extent_release(). -EBADMSG, -ENOMEM
 */
int nl_extent_read(const struct nl_input *input, uint64_t rows, unsigned block_count,
                   struct nl_extent *ret, struct np_error *err);
void nl_extent_release(struct nl_extent *extent);

/* Sets a side's block_starts. -ENOMEM */
int nl_extent_copy_starts(const struct nl_extent *extent, struct nl_side *side);

/* Sets comparison->design, a_first and gap_ns; its inputs are known. Pure. */
void nl_design_tell(const struct nl_extent *a, const struct nl_extent *b,
                    struct nl_comparison *comparison);

/* Sets comparison->turns, of two arms of one trace. -EBADMSG, -ENOMEM */
int nl_design_count_turns(struct nl_comparison *comparison, struct np_error *err);

#endif
