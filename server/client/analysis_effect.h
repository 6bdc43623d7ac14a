/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One metric of two arms against each other: gathered block by block, then intervals and tests over the
 * blocks. Pure, but for the caller's generator.
 */
#ifndef NL_ANALYSIS_EFFECT_H
#define NL_ANALYSIS_EFFECT_H

#include "analysis.h"

struct nl_matching {
	bool is_paired;
	unsigned block_count;
	unsigned block;         /* the present one */
	double *block_a;        /* nl_matching_finish() hands them over */
	double *block_paired;   /* P(a_i < b_i) + P(a_i = b_i) / 2 within each block */
	uint64_t paired_halves; /* 2 * rows where a < b, + rows where a = b */
	uint64_t rows;          /* up to now */
};

/* The caller ends *ret with nl_matching_end(), also after an error. -ENOMEM */
int nl_matching_begin(bool is_paired, unsigned block_count, struct nl_matching *ret);
void nl_matching_end(struct nl_matching *matching);

/* A block of both: first as sent, where is_paired; then sorted, which ends the block. */
void nl_matching_add_raw(struct nl_matching *matching, const uint64_t *a, const uint64_t *b,
                         size_t count);
void nl_matching_add_sorted(struct nl_matching *matching, const uint64_t *a, const uint64_t *b,
                            size_t count);

/*
 * The two distributions and the medians of the blocks complete it. Draws from @rng for the blocks' A, then
 * for the pairs where they are known, then for the two permutation tests, blocks' A first.
 * The caller ends *ret with nl_effect_release(). -ENOMEM, -EINVAL
 */
struct nl_matched {
	const struct np_distribution *a;
	const struct np_distribution *b;
	const uint64_t *a_medians;
	const uint64_t *b_medians;
};
int nl_matching_finish(struct nl_matching *matching, const struct nl_matched *matched,
                       const struct nl_analysis_options *options, struct np_rng *rng,
                       struct nl_effect *ret);

void nl_effect_release(struct nl_effect *effect);

#endif
