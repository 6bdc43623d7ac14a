/* SPDX-License-Identifier: BSD-3-Clause */
/* Values in the order of time, and the quantiles that their intervals need. */
#include "near.h"

#include "../../../probe/base/resample.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Closed forms for 1 and 2 degrees; else python3 -c 'from scipy.optimize import brentq; from scipy.stats
 * import t; print(brentq(lambda x: t.cdf(x, DEGREES) / PROBABILITY - 1, -200, 200, xtol=1e-15))', as
 * t.ppf() of scipy 1.10 is off by 10^-9 and more.
 */
static void quantiles_of_students_t_are_scipys(void **state)
{
	static const struct {
		double probability, degrees, wanted;
	} rows[] = {
		{ 0.6, 1, 0.32491969623290623 },  { 0.975, 1, 12.706204736174696 },
		{ 0.9999, 1, 3183.098757116829 }, { 0.6, 2, 0.28867513459481287 },
		{ 0.975, 2, 4.302652729749461 },  { 0.9999, 2, 70.70007107496818 },
		{ 0.975, 7, 2.3646242515928 },    { 0.995, 7, 3.4994832973505 },
		{ 0.6, 7, 0.26316686135202 },     { 0.975, 30, 2.0422724563012 },
		{ 0.6, 30, 0.25560536495191 },    { 0.975, 95, 1.9852510035055 },
		{ 0.995, 95, 2.6285756707827 },   { 0.5001, 95, 0.00025132332565202 },
		{ 0.975, 1e5, 1.9599877075346 },  { 0.995, 1e5, 2.5758784699084 },
		{ 1e-12, 7, -104.02182926265 },   { 0.975, INFINITY, 1.959963984540054 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double p = rows[i].probability;
		double found = np_student_quantile(p, rows[i].degrees);

		check_case("%g of %g degrees", p, rows[i].degrees);
		assert_near(found, rows[i].wanted, 1e-9);
		assert_near(np_student_quantile(1 - p, rows[i].degrees), -found,
		            p < 1e-6 ? 1e-4 : 1e-9); /* 1 - 1e-12 is rounded */
	}
}

static void quantiles_at_the_ends_are_infinite_and_in_the_middle_zero(void **state)
{
	static const double degrees[] = { 1, 2.5, 95, 1e9, INFINITY };

	(void)state;
	for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
		assert_true(np_student_quantile(0, degrees[i]) == -INFINITY);
		assert_true(np_student_quantile(1, degrees[i]) == INFINITY);
		assert_true(np_student_quantile(0.5, degrees[i]) == 0);
	}
	assert_true(isnan(np_student_quantile(0.9, 0)));
	assert_true(isnan(np_student_quantile(0.9, NAN)));
}

/* Two ways of computing meet there. */
static void quantiles_do_not_jump_where_degrees_become_many(void **state)
{
	static const double probabilities[] = { 0.5001, 0.6, 0.975, 1 - 1e-9 };

	(void)state;
	for (size_t i = 0; i < sizeof(probabilities) / sizeof(probabilities[0]); i++)
		assert_near(np_student_quantile(probabilities[i], 999999),
		            np_student_quantile(probabilities[i], 1000001), 1e-10);
}

static void normal_quantiles_are_scipys(void **state)
{
	(void)state;
	assert_near(np_normal_quantile(0.975), 1.959963984540054, 1e-14);
	assert_near(np_normal_quantile(0.6), 0.2533471031357997, 1e-14);
	assert_near(np_normal_quantile(1e-12), -7.034483825301131, 1e-14);
	assert_true(np_normal_quantile(0.5) == 0);
}

/* ---- neighbours ---- */

static void neighbours_correlate_as_by_the_definition(void **state)
{
	static const struct {
		double values[6];
		size_t count;
		double wanted;
	} rows[] = {
		{ { 1 }, 0, 0 },
		{ { 1, 2 }, 2, 0 },
		{ { 7, 7, 7, 7 }, 4, 0 },
		{ { 1, 2, 3 }, 3, 0 },
		{ { 1, 2, 3, 4 }, 4, 0.25 },
		{ { 1, -1, 1, -1, 1, -1 }, 6, -5 / 6.0 },
		{ { 1, 1, 1, -1, -1, -1 }, 6, 3 / 6.0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check_case("row %zu", i);
		assert_near(np_lag1_correlation(rows[i].values, rows[i].count), rows[i].wanted,
		            1e-14);
	}
}

static void fill_autoregression(double *values, size_t count, double coefficient, uint64_t seed)
{
	double last = 0;
	struct np_rng rng;

	np_rng_seed(&rng, seed);
	for (size_t i = 0; i < count; i++) {
		last = coefficient * last + np_rng_normal(&rng);
		values[i] = last;
	}
}

/* By the formula of the header: an alternating sequence has r < 0, and nothing is added. */
static void the_interval_of_values_apart_is_students(void **state)
{
	double values[10];
	struct np_interval interval;
	size_t merged;
	double half;

	(void)state;
	for (size_t i = 0; i < 10; i++)
		values[i] = i % 2 ? 3 : 5;
	assert_number(np_correlated_mean(values, 10, 0.95, &interval, &merged), 0);
	half = 2.2621571627982 * sqrt(10 / 9.0 / 10); /* t(9) at 0.975 */
	assert_number(merged, 1);
	assert_near(interval.low, 4 - half, 1e-12);
	assert_near(interval.high, 4 + half, 1e-12);
}

static void values_that_hang_together_are_merged_and_their_interval_is_wider(void **state)
{
	static const size_t counts[] = { 16, 96, 1000 };

	(void)state;
	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		size_t count = counts[c];
		double values[1000];
		double width;
		struct np_interval interval;
		size_t merged;

		check_case("%zu values", count);
		fill_autoregression(values, count, 0.97, 4);
		width = 2 * 1.96 * sqrt(np_variance(values, count) / (double)count);
		assert_number(np_correlated_mean(values, count, 0.95, &interval, &merged), 0);
		assert_true(merged > 1);
		assert_true(count / merged >= 8);
		assert_true(interval.high - interval.low > 1.5 * width);
		assert_near((interval.low + interval.high) / 2, np_mean(values, count), 1e-9);
	}
}

static void fewer_than_16_values_are_not_merged_and_one_is_refused(void **state)
{
	double values[15];
	struct np_interval interval;
	size_t merged;

	(void)state;
	for (size_t i = 0; i < 15; i++)
		values[i] = (double)i;
	for (size_t count = 2; count <= 15; count++) {
		assert_number(np_correlated_mean(values, count, 0.95, &interval, &merged), 0);
		assert_number(merged, 1);
		assert_true(interval.low < interval.high);
	}
	assert_number(np_correlated_mean(values, 1, 0.95, &interval, &merged), -EINVAL);
	assert_number(np_correlated_mean(values, 0, 0.95, &interval, &merged), -EINVAL);
}

static void the_interval_of_equal_values_is_a_point(void **state)
{
	static const double values[] = { 2, 2, 2, 2 };
	struct np_interval interval;
	size_t merged;

	(void)state;
	assert_number(np_correlated_mean(values, 4, 0.95, &interval, &merged), 0);
	assert_true(interval.low == 2 && interval.high == 2);
}

/* 300 autoregressions of 96 values: 95 % intervals, of which 90 % are to hold the true mean of 0. */
static void intervals_hold_the_mean_of_values_that_hang_together(void **state)
{
	static const double coefficients[] = { 0, 0.3, 0.6 };

	(void)state;
	for (size_t c = 0; c < sizeof(coefficients) / sizeof(coefficients[0]); c++) {
		unsigned hits = 0;

		for (unsigned run = 0; run < 300; run++) {
			double values[196];
			struct np_interval interval;
			size_t merged;

			/* The first hundred forget where they started. */
			fill_autoregression(values, 196, coefficients[c], run);
			assert_number(
				np_correlated_mean(values + 100, 96, 0.95, &interval, &merged), 0);
			hits += interval.low <= 0 && interval.high >= 0;
		}
		check_case("coefficient %g: %u of 300", coefficients[c], hits);
		assert_true(hits >= 270);
	}
}

/* ---- trend ---- */

/*
 * python3: scipy.stats.theilslopes(x)[0]; S, the rises less the falls, is 48, its variance 481.333, and
 * p = 2 * norm.sf(47 / 481.333 ** .5)
 */
static void a_trend_is_that_of_theil_sen_mann_and_kendall(void **state)
{
	static const double values[] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
	struct np_trend trend;

	(void)state;
	assert_number(np_trend_fit(values, 16, &trend), 0);
	assert_near(trend.slope, 0.4, 1e-15);
	assert_near(trend.p, 0.03217149066350132, 1e-12);
}

static double brute_slope(const double *values, size_t count)
{
	static double slopes[60 * 59 / 2];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = i + 1; j < count; j++)
			slopes[n++] = (values[j] - values[i]) / (double)(j - i);
	qsort(slopes, n, sizeof(*slopes), compare);
	return (slopes[(n - 1) / 2] + slopes[n / 2]) / 2;
}

static void the_slope_is_the_median_of_all_slopes(void **state)
{
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 6);
	for (unsigned round = 0; round < 60; round++) {
		double values[60];
		size_t count = 2 + np_rng_below(&rng, 59);
		struct np_trend trend;

		check_case("round %u, %zu values", round, count);
		for (size_t i = 0; i < count; i++)
			values[i] = round % 2 ? np_rng_normal(&rng) * 1e5
			                      : (double)np_rng_below(&rng, 1 + round) - 10;
		assert_number(np_trend_fit(values, count, &trend), 0);
		assert_near(trend.slope, brute_slope(values, count), 1e-15);
		assert_true(trend.p > 0 && trend.p <= 1);
	}
}

static void a_trend_of_few_or_equal_values_is_none(void **state)
{
	static const double values[] = { 4, 4, 4, 4, 4 };

	(void)state;
	for (size_t count = 0; count <= 5; count++) {
		struct np_trend trend = { NAN, NAN };

		assert_number(np_trend_fit(values, count, &trend), 0);
		assert_true(trend.slope == 0 && !signbit(trend.slope));
		assert_true(trend.p == 1);
	}
}

static void a_steady_rise_is_a_trend_and_its_reverse_the_opposite(void **state)
{
	double rise[96];
	double fall[96];
	struct np_trend up;
	struct np_trend down;

	(void)state;
	for (size_t i = 0; i < 96; i++) {
		rise[i] = 1e5 + 3 * (double)i;
		fall[i] = 1e5 - 3 * (double)i;
	}
	assert_number(np_trend_fit(rise, 96, &up), 0);
	assert_number(np_trend_fit(fall, 96, &down), 0);
	assert_true(up.slope == 3 && down.slope == -3);
	assert_true(up.p == down.p && up.p < 1e-30);
}

static void a_trend_of_too_many_values_is_refused(void **state)
{
	double *values = calloc(NP_TREND_VALUES_MAX + 1, sizeof(*values));
	struct np_trend trend;

	(void)state;
	assert_non_null(values);
	assert_number(np_trend_fit(values, NP_TREND_VALUES_MAX + 1, &trend), -E2BIG);
	free(values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_of_students_t_are_scipys),
		cmocka_unit_test(quantiles_at_the_ends_are_infinite_and_in_the_middle_zero),
		cmocka_unit_test(quantiles_do_not_jump_where_degrees_become_many),
		cmocka_unit_test(normal_quantiles_are_scipys),
		cmocka_unit_test(neighbours_correlate_as_by_the_definition),
		cmocka_unit_test(the_interval_of_values_apart_is_students),
		cmocka_unit_test(values_that_hang_together_are_merged_and_their_interval_is_wider),
		cmocka_unit_test(fewer_than_16_values_are_not_merged_and_one_is_refused),
		cmocka_unit_test(the_interval_of_equal_values_is_a_point),
		cmocka_unit_test(intervals_hold_the_mean_of_values_that_hang_together),
		cmocka_unit_test(a_trend_is_that_of_theil_sen_mann_and_kendall),
		cmocka_unit_test(the_slope_is_the_median_of_all_slopes),
		cmocka_unit_test(a_trend_of_few_or_equal_values_is_none),
		cmocka_unit_test(a_steady_rise_is_a_trend_and_its_reverse_the_opposite),
		cmocka_unit_test(a_trend_of_too_many_values_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
