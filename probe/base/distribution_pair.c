/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two distributions against each other: walks through both at once that take no branch on the
 * values, which come in an order that no processor foresees.
 */
#include "distribution.h"

#include <stdbool.h>

/* ---- superiority ---- */

/*
 * Counts each pair with b < a twice and each tie once; the numerator is what is left of all pairs,
 * counted twice.
 */
struct np_superiority np_distribution_superiority(const struct np_distribution *a,
                                                  const struct np_distribution *b)
{
	uint64_t all = 2 * a->total * b->total;
	uint64_t not_below = 0;
	uint64_t passed_a = 0;
	uint64_t passed_b = 0;
	size_t i = 0;
	size_t j = 0;

	while (i < a->distinct_count && j < b->distinct_count) {
		bool takes_a = a->values[i] <= b->values[j];
		bool takes_b = b->values[j] <= a->values[i];
		uint64_t count_a = takes_a ? a->counts[i] : 0;
		uint64_t count_b = takes_b ? b->counts[j] : 0;

		not_below += count_a * (2 * passed_b + count_b);
		passed_a += count_a;
		passed_b += count_b;
		i += takes_a;
		j += takes_b;
	}
	not_below += 2 * (a->total - passed_a) * b->total;
	return (struct np_superiority){ .numerator = all - not_below, .denominator = all };
}

/* Where each a comes among the b: before those that are alike, or after them. */
struct places {
	size_t i;
	size_t j;
	uint64_t sum; /* of the number of b before each a[0..i) */
};

static void places_step(struct places *places, bool takes_b)
{
	places->sum += takes_b ? 0 : places->j;
	places->j += takes_b;
	places->i += !takes_b;
}

struct np_superiority np_sorted_superiority(const uint64_t *a, size_t a_count, const uint64_t *b,
                                            size_t b_count)
{
	struct places before = { 0 };
	struct places after = { 0 };
	uint64_t all = 2 * (uint64_t)a_count * b_count;

	/* Two walks in one loop: each waits for its own loads, and neither for the other's. */
	while (before.i < a_count && before.j < b_count && after.i < a_count && after.j < b_count) {
		places_step(&before, b[before.j] < a[before.i]);
		places_step(&after, b[after.j] <= a[after.i]);
	}
	while (before.i < a_count && before.j < b_count)
		places_step(&before, b[before.j] < a[before.i]);
	while (after.i < a_count && after.j < b_count)
		places_step(&after, b[after.j] <= a[after.i]);

	before.sum += (uint64_t)(a_count - before.i) * b_count;
	after.sum += (uint64_t)(a_count - after.i) * b_count;
	return (struct np_superiority){ .numerator = all - before.sum - after.sum,
		                        .denominator = all };
}

/* ---- shift ---- */

static int64_t difference(const struct np_distribution *a, size_t i,
                          const struct np_distribution *b, size_t j)
{
	return (int64_t)b->values[j] - (int64_t)a->values[i];
}

/* How many pairs have b - a <= @shift? */
static uint64_t count_at_most(const struct np_distribution *a, const struct np_distribution *b,
                              int64_t shift)
{
	uint64_t pairs = 0;
	uint64_t passed_a = 0;
	uint64_t passed_b = 0;
	size_t i = 0;
	size_t j = 0;

	while (i < a->distinct_count && j < b->distinct_count) {
		bool takes_b = difference(a, i, b, j) <= shift;
		uint64_t count_a = takes_b ? 0 : a->counts[i];

		pairs += count_a * passed_b;
		passed_a += count_a;
		passed_b += takes_b ? b->counts[j] : 0;
		j += takes_b;
		i += !takes_b;
	}
	return pairs + (a->total - passed_a) * b->total;
}

/* The least difference above @shift; there is one. */
static int64_t next_difference(const struct np_distribution *a, const struct np_distribution *b,
                               int64_t shift)
{
	int64_t least = INT64_MAX;
	size_t j = 0;

	for (size_t i = 0; i < a->distinct_count; i++) {
		while (j < b->distinct_count && difference(a, i, b, j) <= shift)
			j++;
		if (j == b->distinct_count)
			break;
		if (difference(a, i, b, j) < least)
			least = difference(a, i, b, j);
	}
	return least;
}

int64_t np_distribution_twice_shift(const struct np_distribution *a,
                                    const struct np_distribution *b)
{
	uint64_t pairs = a->total * b->total;
	uint64_t rank = (pairs + 1) / 2; /* of the median, or of the lower of the two */
	int64_t low;
	int64_t high;

	if (pairs == 0)
		return 0;

	/* The least shift with as many pairs at or below it. */
	low = difference(a, a->distinct_count - 1, b, 0);
	high = difference(a, 0, b, b->distinct_count - 1);
	while (low < high) {
		int64_t middle = low + (high - low) / 2;

		if (count_at_most(a, b, middle) >= rank)
			high = middle;
		else
			low = middle + 1;
	}

	if (pairs % 2 == 0 && count_at_most(a, b, low) == rank)
		return low + next_difference(a, b, low);
	return 2 * low;
}
