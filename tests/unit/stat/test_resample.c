/* SPDX-License-Identifier: BSD-3-Clause */
#include "near.h"

#include "../../../probe/base/resample.h"

#include <errno.h>

static void fill_normal(double *values, size_t count, double mean, uint64_t seed)
{
	struct np_rng rng;

	np_rng_seed(&rng, seed);
	for (size_t i = 0; i < count; i++)
		values[i] = mean + np_rng_normal(&rng);
}

static void means_variances_and_medians_are_those_of_the_definition(void **state)
{
	static const struct {
		double values[5];
		size_t count;
		double mean, variance, median;
	} rows[] = {
		{ { 4 }, 1, 4, NAN, 4 },
		{ { 1, 2 }, 2, 1.5, 0.5, 1.5 },
		{ { 5, 5, 5 }, 3, 5, 0, 5 },
		{ { 9, 1, 5, 3 }, 4, 4.5, 35 / 3.0, 4 },
		{ { -1, 7, 0, 2, 2 }, 5, 2, 9.5, 2 },
		{ { 1e15, 1e15 + 1, 1e15 + 2 }, 3, 1e15 + 1, 1, 1e15 + 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double scratch[5];

		check_case("row %zu", i);
		assert_near(np_mean(rows[i].values, rows[i].count), rows[i].mean, 1e-15);
		assert_near(np_median(rows[i].values, scratch, rows[i].count), rows[i].median, 0);
		if (rows[i].count > 1)
			assert_near(np_variance(rows[i].values, rows[i].count), rows[i].variance,
			            1e-14);
		else
			assert_true(isnan(np_variance(rows[i].values, rows[i].count)));
	}
	assert_true(isnan(np_mean(NULL, 0)));
	assert_true(isnan(np_median(NULL, NULL, 0)));
	assert_true(isnan(np_variance(NULL, 0)));
}

static struct np_interval bootstrap(const double *values, size_t count, uint64_t seed)
{
	struct np_interval interval = { 0 };
	struct np_rng rng;

	np_rng_seed(&rng, seed);
	assert_number(np_bootstrap_mean(values, count, 2000, 0.95, &rng, &interval), 0);
	return interval;
}

static void a_bootstrap_is_the_same_by_the_same_seed_alone(void **state)
{
	double values[96];
	struct np_interval first;
	struct np_interval again;
	struct np_interval other;

	(void)state;
	fill_normal(values, 96, 3, 1);
	first = bootstrap(values, 96, 11);
	again = bootstrap(values, 96, 11);
	other = bootstrap(values, 96, 12);
	assert_true(first.low == again.low && first.high == again.high);
	assert_true(first.low != other.low && first.high != other.high);
}

/* About 1.96 standard errors to each side: 2000 draws leave some 3 % of doubt; 20 % is allowed. */
static void a_bootstrap_interval_is_as_wide_as_the_standard_error_tells(void **state)
{
	double values[96];
	double error;
	struct np_interval interval;

	(void)state;
	fill_normal(values, 96, 3, 1);
	error = sqrt(np_variance(values, 96) / 96);
	interval = bootstrap(values, 96, 5);
	assert_near(np_mean(values, 96) - interval.low, 1.96 * error, 0.2);
	assert_near(interval.high - np_mean(values, 96), 1.96 * error, 0.2);
}

static void a_bootstrap_of_equal_values_is_a_point(void **state)
{
	static const double values[] = { 0.5, 0.5, 0.5 };

	(void)state;
	for (size_t count = 1; count <= 3; count++) {
		struct np_interval interval = bootstrap(values, count, 1);

		assert_true(interval.low == 0.5 && interval.high == 0.5);
	}
}

/* Of one value 0 and one value 1 the means are 0, 1/2 and 1; one repetition has but one mean. */
static void a_bootstrap_interval_is_interpolated(void **state)
{
	static const double values[] = { 0, 1 };
	struct np_interval interval;
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 4);
	assert_number(np_bootstrap_mean(values, 2, 1, 0.95, &rng, &interval), 0);
	assert_true(interval.low == interval.high);
	np_rng_seed(&rng, 4);
	do {
		assert_number(np_bootstrap_mean(values, 2, 2, 0.9, &rng, &interval), 0);
	} while (interval.low == interval.high);
	/* Two means that are 1/2 or 1 apart: 5 % and 95 % of the way from one to the other. */
	assert_near(fmod((interval.low - 0.025) * 40, 1), 0, 0.1);
	assert_true(interval.high - interval.low == 0.45 ||
	            fabs(interval.high - interval.low - 0.9) < 1e-12 ||
	            fabs(interval.high - interval.low - 0.45) < 1e-12);
}

static void a_bootstrap_of_nothing_is_refused(void **state)
{
	double value = 1;
	struct np_interval interval;
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 1);
	assert_number(np_bootstrap_mean(&value, 0, 100, 0.95, &rng, &interval), -EINVAL);
	assert_number(np_bootstrap_mean(&value, 1, 0, 0.95, &rng, &interval), -EINVAL);
}

/* ---- sign flips ---- */

static double enumerate(const double *values, size_t count)
{
	double observed = 0;
	size_t hits = 0;

	for (size_t i = 0; i < count; i++)
		observed += values[i];
	for (size_t pattern = 0; pattern < (size_t)1 << count; pattern++) {
		double sum = 0;

		for (size_t i = 0; i < count; i++)
			sum += pattern >> i & 1 ? -values[i] : values[i];
		hits += fabs(sum) >= fabs(observed) - 1e-9;
	}
	return (double)hits / (double)((size_t)1 << count);
}

static void few_signs_are_flipped_in_all_ways(void **state)
{
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 9);
	for (size_t count = 0; count <= 12; count++)
		for (unsigned round = 0; round < 20; round++) {
			double values[12];

			check_case("%zu values, round %u", count, round);
			for (size_t i = 0; i < count; i++)
				values[i] = round % 2 ? np_rng_normal(&rng) + 0.5
				                      : (double)np_rng_below(&rng, 7) / 10 - 0.2;
			assert_true(np_sign_flip_test(values, count, 1, &rng) ==
			            enumerate(values, count));
		}
}

/* Of n values above 0, no pattern but the given one and its opposite has as large a sum. */
static void p_is_two_patterns_of_all_where_all_values_are_of_one_sign(void **state)
{
	double values[20];
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 9);
	for (size_t count = 1; count <= 20; count++) {
		values[count - 1] = -0.1 * (double)count;
		assert_true(np_sign_flip_test(values, count, 1, &rng) == ldexp(2, -(int)count));
	}
}

static void many_signs_are_flipped_at_random_by_the_seed(void **state)
{
	double values[96];
	struct np_rng rng;
	double first;

	(void)state;
	fill_normal(values, 96, 0.1, 3);
	np_rng_seed(&rng, 1);
	first = np_sign_flip_test(values, 96, 5000, &rng);
	assert_true(first > 0.01 && first < 1);
	assert_true(np_sign_flip_test(values, 96, 5000, &rng) != first);
	np_rng_seed(&rng, 1);
	assert_true(np_sign_flip_test(values, 96, 5000, &rng) == first);

	fill_normal(values, 96, 9, 3);
	assert_true(np_sign_flip_test(values, 96, 999, &rng) == 0.001);
	for (size_t i = 0; i < 96; i++)
		values[i] = 0;
	assert_true(np_sign_flip_test(values, 96, 999, &rng) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(means_variances_and_medians_are_those_of_the_definition),
		cmocka_unit_test(a_bootstrap_is_the_same_by_the_same_seed_alone),
		cmocka_unit_test(a_bootstrap_interval_is_as_wide_as_the_standard_error_tells),
		cmocka_unit_test(a_bootstrap_of_equal_values_is_a_point),
		cmocka_unit_test(a_bootstrap_interval_is_interpolated),
		cmocka_unit_test(a_bootstrap_of_nothing_is_refused),
		cmocka_unit_test(few_signs_are_flipped_in_all_ways),
		cmocka_unit_test(p_is_two_patterns_of_all_where_all_values_are_of_one_sign),
		cmocka_unit_test(many_signs_are_flipped_at_random_by_the_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
