/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intervals and tests over a modest number of finite values (blocks of a run, repeated runs). All random
 * draws come from the caller's generator: the same seed gives the same result. Pure.
 */
#ifndef NP_RESAMPLE_H
#define NP_RESAMPLE_H

#include "rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct np_interval {
	double low;
	double high;
};

/* NAN for none. */
double np_mean(const double *values, size_t count);

/* Of @count - 1 degrees of freedom; NAN for fewer than 2 values. */
double np_variance(const double *values, size_t count);

/* The median of values; sorts a copy in @scratch, which has room for @count. NAN for none. */
double np_median(const double *values, double *scratch, size_t count);

/*
 * Percentile bootstrap of the mean: @repetitions means of @count values drawn with replacement;
 * the interval is between their (1 - level) / 2 and (1 + level) / 2 quantiles, with linear
 * interpolation as numpy.percentile. -ENOMEM; -EINVAL for no value or no repetition
 */
int np_bootstrap_mean(const double *values, size_t count, unsigned repetitions, double level,
                      struct np_rng *rng, struct np_interval *ret);

/*
 * Two-sided sign-flip permutation test of mean(values) = 0: p-value. All 2^count sign patterns for
 * count <= 20, exactly; else @repetitions random ones, (hits + 1) / (repetitions + 1).
 */
double np_sign_flip_test(const double *values, size_t count, unsigned repetitions,
                         struct np_rng *rng);

/*
 * One-sample Hodges-Lehmann estimate, the median of all Walsh averages (v_i + v_j) / 2, i <= j, and
 * its distribution-free interval from Wilcoxon's signed-rank distribution (exact up to 200 values,
 * normal beyond; Hollander and Wolfe, "Nonparametric Statistical Methods", 3.2-3.3). Where the values are too few
 * for the level, has_interval is false. Any number of values: no average is stored. -ENOMEM
 */
struct np_location {
	double estimate;
	struct np_interval interval;
	bool has_interval;
};
int np_walsh_location(const double *values, size_t count, double level, struct np_location *ret);

/*
 * Quantiles of the standard normal distribution and of Student's t, to 1e-9 of themselves;
 * infinite for probabilities of 0 and 1. NAN where @degrees is not above 0.
 */
double np_normal_quantile(double probability);
double np_student_quantile(double probability, double degrees);

/*
 * The mean's interval where neighbours may hang together: adjacent values are averaged, two, three, four …
 * at a time, until what is left shows no significant lag-1 correlation, that is above
 * 1.645 / sqrt(their number), 5 % one-sided (or 8 are left), and Student's t is used over those. Beyond
 * 16 at a time the steps are larger than one.
 * @ret_merged says how many values went into each, or one more where the values cannot be shared evenly.
 *
 * The test overlooks small correlations, and 8 averages may still have a large one, so the standard error
 * is multiplied by sqrt((1 + r) / (1 - r)), r being the lag-1 correlation of what is left, less its
 * bias, within 0..0.9 (of fewer than 8 values nothing can be said, and nothing is added). Simulated
 * 2000 times, with differences of the means of 96 blocks of two first-order autoregressions of
 * 20000 rows, 95 % intervals held 0 in 95 to 96 % (coefficients 0 to 0.99) and 93 % (0.999), those of
 * np_bootstrap_mean() in 94 % (0 to 0.9), 86 % (0.99) and 41 % (0.999).
 * -ENOMEM; -EINVAL for fewer than 2 values
 */
int np_correlated_mean(const double *values, size_t count, double level, struct np_interval *ret,
                       size_t *ret_merged);

/* ---- over time ---- */

/* Correlation of neighbours; 0 where all values are alike or there are fewer than 3. */
double np_lag1_correlation(const double *values, size_t count);

enum { NP_TREND_VALUES_MAX = 16384 };

/*
 * Theil and Sen's slope per step, the median of all pairs' slopes, and Mann and Kendall's two-sided p
 * (normal approximation with correction for ties and continuity). Slope 0 and p 1 for fewer than 2 values.
 * Takes the more time the more pairs there are: about two seconds at the limit.
 * -ENOMEM; -E2BIG beyond NP_TREND_VALUES_MAX
 */
struct np_trend {
	double slope;
	double p;
};
int np_trend_fit(const double *values, size_t count, struct np_trend *ret);

#endif
