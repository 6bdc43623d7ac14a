/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walsh averages of one sample. There are n (n + 1) / 2 of them, but in a sorted sample those at or
 * below a limit are counted in n steps; so the one of any rank is sought by bisection, and none
 * is ever stored.
 */
#include "resample.h"

#include "sort.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_MAX = 200 };

/* ---- Walsh averages ---- */

/* Halves first, so that no sum overflows. */
static double walsh_average(double a, double b)
{
	return a / 2 + b / 2;
}

/* How many averages of sorted[i] and sorted[j], i <= j, are at or below @limit? */
static uint64_t count_walsh(const double *sorted, size_t count, double limit)
{
	uint64_t averages = 0;
	size_t end = count; /* sorted[0..end) make averages with sorted[i] that are */

	for (size_t i = 0; i < count; i++) {
		while (end > i && walsh_average(sorted[i], sorted[end - 1]) > limit)
			end--;
		if (end <= i)
			break;
		averages += end - i;
	}
	return averages;
}

/* The average of that rank, from 1. */
static double walsh_at(const double *sorted, size_t count, uint64_t rank)
{
	uint64_t low = np_key_of_double(sorted[0]);
	uint64_t high = np_key_of_double(sorted[count - 1]);

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (count_walsh(sorted, count, np_double_of_key(middle)) >= rank)
			high = middle;
		else
			low = middle + 1;
	}
	return np_double_of_key(low) + 0.0; /* no -0 */
}

/* ---- Wilcoxon's signed-rank statistic, the sum of some of the ranks 1..n ---- */

/*
 * The largest c with P(sum < c) <= @tail, from the probabilities of all sums up to half the greatest:
 * with each rank, a sum comes from the same without it and from the lesser one with it, half each.
 */
static int count_exactly(size_t n, double tail, uint64_t *ret)
{
	size_t end = n * (n + 1) / 4 + 1;
	double *p = calloc(end, sizeof(*p));
	double below = 0;
	uint64_t c = 0;

	if (!p)
		return -ENOMEM;
	p[0] = 1;
	for (size_t rank = 1; rank <= n; rank++)
		for (size_t sum = end; sum-- > 0;)
			p[sum] = (p[sum] + (sum >= rank ? p[sum - rank] : 0)) / 2;

	while (c < end && below + p[c] <= tail)
		below += p[c++];
	free(p);
	*ret = c;
	return 0;
}

static uint64_t count_nearly(double n, double tail)
{
	double c =
		n * (n + 1) / 4 + np_normal_quantile(tail) * sqrt(n * (n + 1) * (2 * n + 1) / 24);

	return c > 0 ? (uint64_t)c : 0;
}

int np_walsh_location(const double *values, size_t count, double level, struct np_location *ret)
{
	struct np_location location = { .estimate = NAN };
	double tail = (1 - level) / 2;
	uint64_t averages = (uint64_t)count * (count + 1) / 2;
	uint64_t c = 0;
	double *sorted;
	int rc = 0;

	if (count == 0) {
		*ret = location;
		return 0;
	}
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, values, count * sizeof(*sorted));
	np_sort_double(sorted, count);

	location.estimate = walsh_average(walsh_at(sorted, count, (averages + 1) / 2),
	                                  walsh_at(sorted, count, averages / 2 + 1));
	if (count <= EXACT_MAX)
		rc = count_exactly(count, tail, &c);
	else
		c = count_nearly((double)count, tail);
	if (rc == 0 && c > 0) {
		location.has_interval = true;
		location.interval.low = walsh_at(sorted, count, c);
		location.interval.high = walsh_at(sorted, count, averages + 1 - c);
	}
	free(sorted);
	if (rc == 0)
		*ret = location;
	return rc;
}
