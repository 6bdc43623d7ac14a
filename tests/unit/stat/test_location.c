/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

#include "../../../probe/base/resample.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/* All averages, sorted; the caller frees them. */
static double *averages_of(const double *values, size_t count, size_t *ret_count)
{
	double *averages = malloc((count * (count + 1) / 2 + 1) * sizeof(*averages));
	size_t n = 0;

	assert_non_null(averages);
	for (size_t i = 0; i < count; i++)
		for (size_t j = i; j < count; j++)
			averages[n++] = (values[i] + values[j]) / 2;
	qsort(averages, n, sizeof(*averages), compare);
	*ret_count = n;
	return averages;
}

/*
 * Hollander and Wolfe's table 3.1 (Hamilton depression scale before and after a tranquilizer), their
 * examples 3.3 and 3.4: estimate -0.46, and -0.786 to -0.010 at 96.1 %.
 */
static void the_estimate_and_interval_of_a_textbook_are_found(void **state)
{
	static const double values[] = { -0.952, 0.147,  -1.022, -0.430, -0.620,
		                         -0.590, -0.490, 0.080,  -0.010 };
	struct np_location location;

	(void)state;
	assert_number(np_walsh_location(values, 9, 0.96, &location), 0);
	assert_near(location.estimate, -0.46, 1e-12);
	assert_true(location.has_interval);
	assert_near(location.interval.low, -0.786, 1e-12);
	assert_near(location.interval.high, -0.010, 1e-12);
}

/*
 * Which average from either end is the interval's, at 95 %; the critical values of Wilcoxon's
 * statistic plus 1 in every table, and for 50 values and more
 *
 *   python3 -c 'import itertools, sys; n = int(sys.argv[1]); w = [1] + [0] * (n * (n + 1) // 2)
 *   for r in range(1, n + 1):
 *    for t in range(len(w) - 1, r - 1, -1): w[t] += w[t - r]
 *   print(sum(40 * b <= 2**n for b in itertools.accumulate(w)))' N
 *
 * Beyond 200, floor(n (n + 1) / 4 - 1.959964 sqrt(n (n + 1) (2 n + 1) / 24)).
 */
static void intervals_end_at_the_ranks_of_wilcoxons_distribution(void **state)
{
	static const struct {
		size_t count;
		size_t rank; /* from 1; 0 = there is no interval */
	} rows[] = {
		{ 1, 0 },      { 5, 0 },      { 6, 1 },      { 7, 3 },
		{ 8, 4 },      { 9, 6 },      { 10, 9 },     { 15, 26 },
		{ 20, 53 },    { 25, 90 },    { 50, 435 },   { 96, 1792 },
		{ 100, 1956 }, { 200, 8445 }, { 201, 8532 }, { 300, 19627 },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		size_t count = rows[r].count;
		double values[300];
		struct np_location location;
		struct np_rng rng;
		size_t n;
		double *averages;

		check_case("%zu values", count);
		np_rng_seed(&rng, r);
		for (size_t i = 0; i < count; i++)
			values[i] = np_rng_normal(&rng);
		averages = averages_of(values, count, &n);

		assert_number(np_walsh_location(values, count, 0.95, &location), 0);

		assert_near(location.estimate, (averages[(n - 1) / 2] + averages[n / 2]) / 2,
		            1e-15);
		assert_number(location.has_interval, rows[r].rank > 0);
		if (rows[r].rank > 0) {
			assert_true(location.interval.low == averages[rows[r].rank - 1]);
			assert_true(location.interval.high == averages[n - rows[r].rank]);
		}
		free(averages);
	}
}

static void values_with_ties_and_of_both_signs_have_their_median_average(void **state)
{
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 77);
	for (unsigned round = 0; round < 200; round++) {
		double values[40];
		size_t count = 1 + np_rng_below(&rng, 40);
		struct np_location location;
		size_t n;
		double *averages;

		check_case("round %u, %zu values", round, count);
		for (size_t i = 0; i < count; i++)
			values[i] = (double)np_rng_below(&rng, 1 + round / 10) - 5;
		averages = averages_of(values, count, &n);
		assert_number(np_walsh_location(values, count, 0.9, &location), 0);
		assert_true(location.estimate == (averages[(n - 1) / 2] + averages[n / 2]) / 2);
		free(averages);
	}
}

static void of_equal_values_the_interval_is_a_point_and_zero_has_no_sign(void **state)
{
	double values[20] = { 0 };
	struct np_location location;

	(void)state;
	values[3] = -0.0;
	assert_number(np_walsh_location(values, 20, 0.95, &location), 0);
	assert_true(location.estimate == 0 && !signbit(location.estimate));
	assert_true(location.has_interval);
	assert_true(location.interval.low == 0 && !signbit(location.interval.low));
	assert_true(location.interval.high == 0);
}

static void of_no_value_there_is_no_estimate(void **state)
{
	struct np_location location;

	(void)state;
	assert_number(np_walsh_location(NULL, 0, 0.95, &location), 0);
	assert_true(isnan(location.estimate));
	assert_false(location.has_interval);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_estimate_and_interval_of_a_textbook_are_found),
		cmocka_unit_test(intervals_end_at_the_ranks_of_wilcoxons_distribution),
		cmocka_unit_test(values_with_ties_and_of_both_signs_have_their_median_average),
		cmocka_unit_test(of_equal_values_the_interval_is_a_point_and_zero_has_no_sign),
		cmocka_unit_test(of_no_value_there_is_no_estimate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
