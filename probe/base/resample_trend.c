/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Theil and Sen's slope, and Mann and Kendall's test. The slopes of all pairs are looked at several
 * times instead of being stored: their median is found digit by digit, each time by counting how many
 * slopes have which digit next.
 */
#include "resample.h"

#include "sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGIT_BITS = 16, DIGIT_VALUES = 1 << DIGIT_BITS, KEY_BITS = 64 };

/* Both zeros are the same. */
static uint64_t slope_key(const double *values, size_t i, size_t j)
{
	return np_key_of_double((values[j] - values[i]) / (double)(j - i) + 0.0);
}

/* Counts the digits at bit @shift of those slopes whose higher bits are @prefix's. */
static void count_digits(const double *values, size_t count, unsigned shift, uint64_t prefix,
                         uint64_t *ret_counts)
{
	uint64_t mask = shift + DIGIT_BITS < KEY_BITS ? ~UINT64_C(0) << (shift + DIGIT_BITS) : 0;

	memset(ret_counts, 0, DIGIT_VALUES * sizeof(*ret_counts));
	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			uint64_t key = slope_key(values, i, j);

			if ((key & mask) == prefix)
				ret_counts[(key >> shift) & (DIGIT_VALUES - 1)]++;
		}
}

/* The slope of that rank, from 1, and how many are at or below it. */
static uint64_t select_slope(const double *values, size_t count, uint64_t rank,
                             uint64_t *digit_counts, uint64_t *ret_at_most)
{
	uint64_t prefix = 0;
	uint64_t below = 0;
	uint64_t digit = 0;

	for (unsigned shift = KEY_BITS; shift > 0;) {
		shift -= DIGIT_BITS;
		count_digits(values, count, shift, prefix, digit_counts);
		for (digit = 0; below + digit_counts[digit] < rank; digit++)
			below += digit_counts[digit];
		prefix |= digit << shift;
	}
	*ret_at_most = below + digit_counts[digit];
	return prefix;
}

static uint64_t next_slope(const double *values, size_t count, uint64_t key)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++) {
			uint64_t other = slope_key(values, i, j);

			if (other > key && other < least)
				least = other;
		}
	return least;
}

static double median_slope(const double *values, size_t count, uint64_t *digit_counts)
{
	uint64_t pairs = (uint64_t)count * (count - 1) / 2;
	uint64_t at_most;
	uint64_t lower = select_slope(values, count, (pairs + 1) / 2, digit_counts, &at_most);
	uint64_t upper = lower;

	if (pairs % 2 == 0 && at_most == pairs / 2)
		upper = next_slope(values, count, lower);
	return np_double_of_key(lower) / 2 + np_double_of_key(upper) / 2;
}

/* Pairs that rise less pairs that fall. */
static int64_t rises_less_falls(const double *values, size_t count)
{
	int64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			sum += (values[j] > values[i]) - (values[j] < values[i]);
	return sum;
}

static double variance_term(double n)
{
	return n * (n - 1) * (2 * n + 5) / 18;
}

/* Of rises_less_falls() where there is no trend; less for each group of equal values. */
static double variance_without_trend(const double *sorted, size_t count)
{
	double variance = variance_term((double)count);

	for (size_t start = 0; start < count;) {
		size_t end = start + 1;

		while (end < count && sorted[end] == sorted[start])
			end++;
		variance -= variance_term((double)(end - start));
		start = end;
	}
	return variance;
}

static double mann_kendall_p(const double *values, double *scratch, size_t count)
{
	double distance = fabs((double)rises_less_falls(values, count)) - 1;
	double variance;

	memcpy(scratch, values, count * sizeof(*values));
	np_sort_double(scratch, count);
	variance = variance_without_trend(scratch, count);
	if (distance <= 0 || variance <= 0)
		return 1;
	return erfc(distance / sqrt(2 * variance));
}

int np_trend_fit(const double *values, size_t count, struct np_trend *ret)
{
	struct np_trend trend = { .slope = 0, .p = 1 };
	uint64_t *digit_counts;
	double *scratch;
	int rc = -ENOMEM;

	if (count > NP_TREND_VALUES_MAX)
		return -E2BIG;
	if (count < 2) {
		*ret = trend;
		return 0;
	}
	digit_counts = malloc(DIGIT_VALUES * sizeof(*digit_counts));
	scratch = malloc(count * sizeof(*scratch));
	if (digit_counts && scratch) {
		trend.slope = median_slope(values, count, digit_counts);
		trend.p = mann_kendall_p(values, scratch, count);
		*ret = trend;
		rc = 0;
	}
	free(digit_counts);
	free(scratch);
	return rc;
}
