/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis_effect.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int nl_matching_begin(bool is_paired, unsigned block_count, struct nl_matching *ret)
{
	*ret = (struct nl_matching){
		.is_paired = is_paired,
		.block_count = block_count,
		.block_a = calloc(block_count, sizeof(*ret->block_a)),
		.block_paired = calloc(block_count, sizeof(*ret->block_paired)),
	};
	return ret->block_a && ret->block_paired ? 0 : -ENOMEM;
}

void nl_matching_end(struct nl_matching *matching)
{
	free(matching->block_a);
	free(matching->block_paired);
	matching->block_a = NULL;
	matching->block_paired = NULL;
}

static double share_of(struct np_superiority superiority)
{
	return (double)superiority.numerator / (double)superiority.denominator;
}

void nl_matching_add_raw(struct nl_matching *matching, const uint64_t *a, const uint64_t *b,
                         size_t count)
{
	uint64_t halves = 0;

	for (size_t i = 0; i < count; i++)
		halves += (uint64_t)(a[i] < b[i]) + (uint64_t)(a[i] <= b[i]);
	matching->block_paired[matching->block] = (double)halves / (2 * (double)count);
	matching->paired_halves += halves;
}

void nl_matching_add_sorted(struct nl_matching *matching, const uint64_t *a, const uint64_t *b,
                            size_t count)
{
	matching->block_a[matching->block] = share_of(np_sorted_superiority(a, count, b, count));
	matching->rows += count;
	matching->block++;
}

/* One block tells nothing of how much blocks vary. */
static int bootstrap(const double *values, unsigned count,
                     const struct nl_analysis_options *options, struct np_rng *rng,
                     struct np_interval *ret)
{
	*ret = (struct np_interval){ NAN, NAN };
	return count < 2 ? 0
	                 : np_bootstrap_mean(values, count, options->repetitions, options->level,
	                                     rng, ret);
}

static int fill_blocked(const struct nl_matching *matching,
                        const struct nl_analysis_options *options, struct np_rng *rng,
                        struct nl_effect *effect)
{
	const double *values = matching->block_a;
	unsigned count = matching->block_count;
	int rc;

	effect->blocked = np_mean(values, count);
	effect->blocked_least = values[0];
	effect->blocked_greatest = values[0];
	for (unsigned i = 1; i < count; i++) {
		effect->blocked_least = fmin(effect->blocked_least, values[i]);
		effect->blocked_greatest = fmax(effect->blocked_greatest, values[i]);
	}
	rc = bootstrap(values, count, options, rng, &effect->blocked_interval);
	effect->correlated_interval = (struct np_interval){ NAN, NAN };
	effect->merged_blocks = 0;
	if (rc < 0 || count < 2)
		return rc;
	rc = np_correlated_mean(values, count, options->level, &effect->correlated_interval,
	                        &effect->merged_blocks);
	/* Student's t does not know that a share is within 0..1. */
	effect->correlated_interval.low = fmax(effect->correlated_interval.low, 0);
	effect->correlated_interval.high = fmin(effect->correlated_interval.high, 1);
	return rc;
}

static int fill_paired(const struct nl_matching *matching,
                       const struct nl_analysis_options *options, struct np_rng *rng,
                       struct nl_effect *effect)
{
	effect->is_paired = matching->is_paired;
	if (!matching->is_paired)
		return 0;
	effect->paired = (double)matching->paired_halves / (2 * (double)matching->rows);
	return bootstrap(matching->block_paired, matching->block_count, options, rng,
	                 &effect->paired_interval);
}

/* @differences has room for a value of each block. */
static int fill_tests(const struct nl_matching *matching, const struct nl_matched *matched,
                      const struct nl_analysis_options *options, struct np_rng *rng,
                      double *differences, struct nl_effect *effect)
{
	unsigned count = matching->block_count;

	for (unsigned i = 0; i < count; i++)
		differences[i] = matching->block_a[i] - 0.5;
	effect->permutation_p = np_sign_flip_test(differences, count, options->repetitions, rng);
	/* Latencies are below 2^61: the difference has a sign and room. */
	for (unsigned i = 0; i < count; i++)
		differences[i] =
			(double)((int64_t)matched->b_medians[i] - (int64_t)matched->a_medians[i]);
	effect->shift_permutation_p =
		np_sign_flip_test(differences, count, options->repetitions, rng);
	return np_walsh_location(differences, count, options->level, &effect->block_shift);
}

int nl_matching_finish(struct nl_matching *matching, const struct nl_matched *matched,
                       const struct nl_analysis_options *options, struct np_rng *rng,
                       struct nl_effect *ret)
{
	double *differences = calloc(matching->block_count, sizeof(*differences));
	struct nl_effect effect = { 0 };
	int rc = differences ? fill_blocked(matching, options, rng, &effect) : -ENOMEM;

	if (rc == 0)
		rc = fill_paired(matching, options, rng, &effect);
	if (rc == 0)
		rc = fill_tests(matching, matched, options, rng, differences, &effect);
	free(differences);
	if (rc < 0)
		return rc;
	effect.superiority = np_distribution_superiority(matched->a, matched->b);
	effect.a_faster = share_of(effect.superiority);
	effect.twice_shift_ns = np_distribution_twice_shift(matched->a, matched->b);
	effect.block_a = matching->block_a;
	matching->block_a = NULL;
	*ret = effect;
	return 0;
}

void nl_effect_release(struct nl_effect *effect)
{
	free(effect->block_a);
	effect->block_a = NULL;
}
