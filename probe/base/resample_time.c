/* SPDX-License-Identifier: BSD-3-Clause */
/* Values in the order of time: what neighbours have in common, and where it goes with all of them. */
#include "resample.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

double np_lag1_correlation(const double *values, size_t count)
{
	double mean = np_mean(values, count);
	double products = 0;
	double squares = 0;

	if (count < 3)
		return 0;
	for (size_t i = 0; i < count; i++)
		squares += (values[i] - mean) * (values[i] - mean);
	for (size_t i = 1; i < count; i++)
		products += (values[i - 1] - mean) * (values[i] - mean);
	return squares > 0 ? products / squares : 0;
}

/* ---- a mean's interval ---- */

enum { GROUPS_MIN = 8 };

/* One-sided 5 % of the normal distribution. */
#define SIGNIFICANT_Z 1.6449
#define CORRELATION_MAX 0.9

/* Means of @groups contiguous parts, as even as can be. */
static void average_groups(const double *values, size_t count, size_t groups, double *ret)
{
	for (size_t g = 0; g < groups; g++) {
		size_t start = g * count / groups;
		size_t end = (g + 1) * count / groups;

		ret[g] = np_mean(values + start, end - start);
	}
}

/*
 * By how much the standard error of the mean is larger for what neighbours still have in common: as if
 * each value hung together with the one before it alone (a first-order autoregression). An estimate of
 * such a correlation r from few values is too low, by (1 + 3 r) / count on average (Marriott and Pope,
 * "Bias in the estimation of autocorrelations", 1954).
 */
static double correlated_factor(double correlation, size_t count)
{
	double r = correlation + (1 + 3 * correlation) / (double)count;

	if (count < GROUPS_MIN || r < 0)
		return 1;
	if (r > CORRELATION_MAX)
		r = CORRELATION_MAX;
	return sqrt((1 + r) / (1 - r));
}

int np_correlated_mean(const double *values, size_t count, double level, struct np_interval *ret,
                       size_t *ret_merged)
{
	double mean = np_mean(values, count);
	size_t merged = 1;
	size_t groups = count;
	double *means;
	double correlation;
	double half;

	if (count < 2)
		return -EINVAL;
	means = malloc(count * sizeof(*means));
	if (!means)
		return -ENOMEM;

	for (;;) {
		size_t next = merged + 1 + merged / 16; /* one more, until that takes too long */

		average_groups(values, count, groups, means);
		correlation = np_lag1_correlation(means, groups);
		if (correlation <= SIGNIFICANT_Z / sqrt((double)groups) ||
		    count / next < GROUPS_MIN)
			break;
		merged = next;
		groups = count / merged;
	}
	half = np_student_quantile((1 + level) / 2, (double)(groups - 1)) *
	       sqrt(np_variance(means, groups) / (double)groups) *
	       correlated_factor(correlation, groups);
	free(means);
	*ret = (struct np_interval){ .low = mean - half, .high = mean + half };
	*ret_merged = merged;
	return 0;
}
