/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An exact distribution of whole numbers (nanoseconds): each distinct value and how often it came.
 * 17 million latencies have some 100 thousand distinct values, so what follows from a distribution is
 * had in milliseconds, and is as exact as from the values themselves.
 */
#ifndef NP_DISTRIBUTION_H
#define NP_DISTRIBUTION_H

#include <stddef.h>
#include <stdint.h>

struct np_distribution {
	uint64_t *values; /* ascending, distinct */
	uint64_t *counts; /* of each, > 0 */
	size_t distinct_count;
	uint64_t total; /* of counts; at most 2^31 */
};

void np_distribution_release(struct np_distribution *distribution);

/* Gathers values, in any order. */
struct np_gatherer; /* opaque */

/* The caller ends it with np_gatherer_free(). NULL when memory runs out. */
struct np_gatherer *np_gatherer_create(void);
void np_gatherer_free(struct np_gatherer *gatherer); /* accepts NULL */

/*
 *   -EOVERFLOW  beyond 2^31 values in all; none is added
 *   -ENOMEM     a part may have been added: the gatherer is of no more use
 */
int np_gatherer_add(struct np_gatherer *gatherer, const uint64_t *values, size_t count);

/*
 * What was gathered up to now; more can be added afterwards. The caller ends *ret with
 * np_distribution_release(). -ENOMEM
 */
int np_gatherer_distribution(const struct np_gatherer *gatherer, struct np_distribution *ret);

/* Both together. The caller ends *ret with np_distribution_release(). -ENOMEM, -EOVERFLOW */
int np_distribution_merge(const struct np_distribution *a, const struct np_distribution *b,
                          struct np_distribution *ret);

/* ---- ranks ---- */

/* A share as a fraction, so that ranks are computed in whole numbers: p99.9 is 999 / 1000. */
struct np_share {
	uint32_t numerator;
	uint32_t denominator;
};

/*
 * The rank, from 1, of the nearest-rank percentile among @count > 0 values: the least with at least
 * that share of the values at or below it, max(1, ceil(share * count)).
 */
uint64_t np_nearest_rank(struct np_share share, uint64_t count);

/* The value at that rank, from 1 to total. */
uint64_t np_distribution_at(const struct np_distribution *distribution, uint64_t rank);

/*
 * Ranks low..high whose values hold the percentile of the distribution that the values were drawn
 * from in at least @level (0.95) of all samples, whatever that distribution, if draws are independent:
 * low = q((1 - level) / 2), high = q((1 + level) / 2) + 1, q being the quantile of the binomial
 * distribution (count, share). Where low would be 0 or high beyond @count the sample is too small for
 * that end: 0 (David and Nagaraja, "Order Statistics", 7.1).
 */
struct np_ranks {
	uint64_t low;  /* 0 = there is none */
	uint64_t high; /* 0 = there is none */
};
struct np_ranks np_percentile_ranks(struct np_share share, uint64_t count, double level);

/* The least k with P(X <= k) >= @probability, X binomial. */
uint64_t np_binomial_quantile(uint64_t count, double share, double probability);

/* ---- two distributions ---- */

/*
 * Vargha and Delaney's A = P(a < b) + P(a = b) / 2 over all pairs, exactly: numerator / denominator
 * with denominator = 2 * total of a * total of b. Exchanging a and b gives denominator - numerator.
 */
struct np_superiority {
	uint64_t numerator;
	uint64_t denominator;
};
struct np_superiority np_distribution_superiority(const struct np_distribution *a,
                                                  const struct np_distribution *b);

/* The same over two sorted arrays. */
struct np_superiority np_sorted_superiority(const uint64_t *a, size_t a_count, const uint64_t *b,
                                            size_t b_count);

/*
 * Hodges and Lehmann's shift: the median of all differences b - a, exactly. Doubled, as the median of
 * an even number of differences can lie between two whole numbers. Values up to 2^61.
 */
int64_t np_distribution_twice_shift(const struct np_distribution *a,
                                    const struct np_distribution *b);

#endif
