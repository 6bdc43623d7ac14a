/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks: which of the sorted values is a percentile, and between which two it is to be sought. */
#include "distribution.h"

#include <math.h>
#include <stdbool.h>

/*
 * In whole numbers: 0.999 as a double is a little more than 999/1000, so that ceil(0.999 * 1000) is
 * 1000 in some ways of writing it, and a rank too high.
 */
uint64_t np_nearest_rank(struct np_share share, uint64_t count)
{
	unsigned __int128 product = (unsigned __int128)share.numerator * count;
	uint64_t rank = (uint64_t)((product + share.denominator - 1) / share.denominator);

	return rank > 0 ? rank : 1;
}

uint64_t np_distribution_at(const struct np_distribution *distribution, uint64_t rank)
{
	size_t i = 0;
	uint64_t passed = 0;

	for (; i + 1 < distribution->distinct_count; i++) {
		passed += distribution->counts[i];
		if (passed >= rank)
			break;
	}
	return distribution->values[i];
}

/* ---- the binomial distribution ---- */

/*
 * Probabilities are in units of that of the most probable number, from which their neighbours follow
 * by small factors: nothing is lost to logarithms of factorials of millions. What is further off than
 * end_low and end_high is too little to change any sum.
 */
struct binomial {
	uint64_t count;
	long double odds; /* share / (1 - share) */
	uint64_t end_low;
	uint64_t end_high;
	long double weight_low; /* of end_low */
	long double weight_high;
	long double total;
};

static long double weight_above(const struct binomial *x, uint64_t k, long double weight)
{
	return weight * (long double)(x->count - k) * x->odds / (long double)(k + 1);
}

static long double weight_below(const struct binomial *x, uint64_t k, long double weight)
{
	return weight * (long double)k / ((long double)(x->count - k + 1) * x->odds);
}

static struct binomial binomial_create(uint64_t count, double share, long double least)
{
	struct binomial x = { .count = count, .odds = share / (1.0L - share), .total = 1 };
	uint64_t mode = (uint64_t)((long double)(count + 1) * share);

	x.end_low = x.end_high = mode < count ? mode : count;
	x.weight_low = x.weight_high = 1;
	while (x.end_low > 0 && x.weight_low >= least) {
		x.weight_low = weight_below(&x, x.end_low--, x.weight_low);
		x.total += x.weight_low;
	}
	while (x.end_high < count && x.weight_high >= least) {
		x.weight_high = weight_above(&x, x.end_high++, x.weight_high);
		x.total += x.weight_high;
	}
	return x;
}

/* The least k with P(X <= k) >= @probability, added up from the low end. */
static uint64_t seek_from_low(const struct binomial *x, long double probability)
{
	uint64_t k = x->end_low;
	long double weight = x->weight_low;
	long double sum = weight;

	while (k < x->end_high && sum < probability * x->total) {
		weight = weight_above(x, k++, weight);
		sum += weight;
	}
	return k;
}

/* The least k with P(X > k) <= @rest, added up from the high end. */
static uint64_t seek_from_high(const struct binomial *x, long double rest)
{
	uint64_t k = x->end_high;
	long double weight = x->weight_high;
	long double sum = weight;

	while (k > x->end_low && sum <= rest * x->total) {
		weight = weight_below(x, k--, weight);
		sum += weight;
	}
	return k;
}

uint64_t np_binomial_quantile(uint64_t count, double share, double probability)
{
	/* A probability that is reached exactly is to count as reached, whatever was rounded. */
	static const long double slack = 1e-15L;
	static const long double negligible = 1e-22L;
	bool is_low = probability <= 0.5;
	long double tail = is_low ? probability : 1.0L - probability;
	struct binomial x;

	if (count == 0 || share <= 0 || probability <= 0)
		return 0;
	if (share >= 1 || probability >= 1)
		return count;

	x = binomial_create(count, share, negligible * tail);
	return is_low ? seek_from_low(&x, tail * (1 - slack))
	              : seek_from_high(&x, tail * (1 + slack));
}

struct np_ranks np_percentile_ranks(struct np_share share, uint64_t count, double level)
{
	double tail = (1 - level) / 2;
	double p = (double)share.numerator / share.denominator;
	struct np_ranks ranks = { 0 };

	if (count == 0)
		return ranks;
	ranks.low = np_binomial_quantile(count, p, tail);
	ranks.high = np_binomial_quantile(count, p, 1 - tail) + 1;
	if (ranks.high > count)
		ranks.high = 0;
	return ranks;
}
