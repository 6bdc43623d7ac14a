/* SPDX-License-Identifier: BSD-3-Clause */
/* Means, and what draws of random numbers tell of them. */
#include "resample.h"

#include "sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	FLIP_EXACT_MAX = 20,
	FLIP_HALF_MAX = FLIP_EXACT_MAX / 2,
	FLIP_HALF_SUMS = 1 << FLIP_HALF_MAX
};

double np_mean(const double *values, size_t count)
{
	double sum = 0;
	double left = 0;

	if (count == 0)
		return NAN;
	for (size_t i = 0; i < count; i++)
		sum += values[i];
	/* What rounding left of the values' distances from their mean. */
	for (size_t i = 0; i < count; i++)
		left += values[i] - sum / (double)count;
	return (sum + left) / (double)count;
}

double np_variance(const double *values, size_t count)
{
	double mean = np_mean(values, count);
	double sum = 0;

	if (count < 2)
		return NAN;
	for (size_t i = 0; i < count; i++)
		sum += (values[i] - mean) * (values[i] - mean);
	return sum / (double)(count - 1);
}

double np_median(const double *values, double *scratch, size_t count)
{
	if (count == 0)
		return NAN;
	memcpy(scratch, values, count * sizeof(*values));
	np_sort_double(scratch, count);
	return scratch[(count - 1) / 2] / 2 + scratch[count / 2] / 2;
}

/* ---- bootstrap ---- */

/* Between two neighbours, as numpy.percentile(sorted, 100 * share). */
static double interpolate(const double *sorted, size_t count, double share)
{
	double position = share * (double)(count - 1);
	size_t i = (size_t)position;
	double part = position - (double)i;

	if (i + 1 >= count)
		return sorted[count - 1];
	return sorted[i] + (sorted[i + 1] - sorted[i]) * part;
}

int np_bootstrap_mean(const double *values, size_t count, unsigned repetitions, double level,
                      struct np_rng *rng, struct np_interval *ret)
{
	double *means;

	if (count == 0 || repetitions == 0)
		return -EINVAL;
	means = malloc(repetitions * sizeof(*means));
	if (!means)
		return -ENOMEM;

	for (unsigned r = 0; r < repetitions; r++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += values[np_rng_below(rng, count)];
		means[r] = sum / (double)count;
	}
	np_sort_double(means, repetitions);
	ret->low = interpolate(means, repetitions, (1 - level) / 2);
	ret->high = interpolate(means, repetitions, (1 + level) / 2);
	free(means);
	return 0;
}

/* ---- sign flips ---- */

/* The sums of all patterns of signs of up to FLIP_HALF_MAX values; returns their number. */
static size_t sum_patterns(const double *values, size_t count, double *ret)
{
	size_t sums = 1;

	ret[0] = 0;
	for (size_t i = 0; i < count; i++, sums *= 2)
		for (size_t s = 0; s < sums; s++) {
			ret[sums + s] = ret[s] - values[i];
			ret[s] += values[i];
		}
	return sums;
}

static double flip_all(const double *values, size_t count, double least)
{
	double first[FLIP_HALF_SUMS];
	double second[FLIP_HALF_SUMS];
	size_t first_count = sum_patterns(values, count / 2, first);
	size_t second_count = sum_patterns(values + count / 2, count - count / 2, second);
	size_t hits = 0;

	for (size_t i = 0; i < first_count; i++)
		for (size_t j = 0; j < second_count; j++)
			hits += fabs(first[i] + second[j]) >= least;
	return (double)hits / (double)(first_count * second_count);
}

static double flip_some(const double *values, size_t count, double least, unsigned repetitions,
                        struct np_rng *rng)
{
	static const double signs[] = { 1, -1 };
	unsigned hits = 0;

	for (unsigned r = 0; r < repetitions; r++) {
		double sum = 0;
		uint64_t bits = 0;

		for (size_t i = 0; i < count; i++) {
			bits = i % 64 == 0 ? np_rng_next(rng) : bits >> 1;
			sum += signs[bits & 1] * values[i];
		}
		hits += fabs(sum) >= least;
	}
	return (hits + 1.0) / (repetitions + 1.0);
}

double np_sign_flip_test(const double *values, size_t count, unsigned repetitions,
                         struct np_rng *rng)
{
	/* Sums that are the same but for rounding count as the same. */
	static const double slack = 1e-12;
	double sum = 0;
	double sum_of_sizes = 0;
	double least;

	for (size_t i = 0; i < count; i++) {
		sum += values[i];
		sum_of_sizes += fabs(values[i]);
	}
	least = fabs(sum) - slack * sum_of_sizes;
	return count <= FLIP_EXACT_MAX ? flip_all(values, count, least)
	                               : flip_some(values, count, least, repetitions, rng);
}
