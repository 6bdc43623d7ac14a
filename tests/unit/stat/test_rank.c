/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../probe/base/distribution.h"

static const struct np_share shares[] = {
	{ 1, 2 },        { 9, 10 }, { 99, 100 }, { 999, 1000 },
	{ 9999, 10000 }, { 0, 1 },  { 1, 1 },    { 1, 3 },
};

enum { SHARES = sizeof(shares) / sizeof(shares[0]) };

/* 0.999 * 1000 is a little more than 999 as a double, which made the rank one too high elsewhere. */
static void nearest_ranks_are_right_where_products_of_doubles_are_not(void **state)
{
	static const struct {
		uint64_t count, p50, p99, p999, p9999;
	} rows[] = {
		{ 1, 1, 1, 1, 1 },
		{ 10, 5, 10, 10, 10 },
		{ 1000, 500, 990, 999, 1000 },
		{ 1001, 501, 991, 1000, 1001 },
		{ 10000, 5000, 9900, 9990, 9999 },
		{ 16000, 8000, 15840, 15984, 15999 },
		{ 200000, 100000, 198000, 199800, 199980 },
		{ 1000000, 500000, 990000, 999000, 999900 },
		{ 17166137, 8583069, 16994476, 17148971, 17164421 },
		{ UINT64_C(1) << 31, 1073741824, 2126008812, 2145336165, 2147268900 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t count = rows[i].count;

		check_case("of %llu", (unsigned long long)count);
		assert_number(np_nearest_rank((struct np_share){ 1, 2 }, count), rows[i].p50);
		assert_number(np_nearest_rank((struct np_share){ 99, 100 }, count), rows[i].p99);
		assert_number(np_nearest_rank((struct np_share){ 999, 1000 }, count), rows[i].p999);
		assert_number(np_nearest_rank((struct np_share){ 9999, 10000 }, count),
		              rows[i].p9999);
	}
}

/* The definition itself: the least rank with rank / count >= share, but for 1 at least. */
static void the_nearest_rank_is_the_least_with_that_share_below(void **state)
{
	(void)state;
	for (uint64_t count = 1; count <= 3000; count++)
		for (unsigned s = 0; s < SHARES; s++) {
			uint64_t rank = np_nearest_rank(shares[s], count);
			uint64_t wanted = shares[s].numerator * count;

			assert_true(rank >= 1 && rank <= count);
			assert_true(rank * shares[s].denominator >= wanted);
			assert_true(rank == 1 || (rank - 1) * shares[s].denominator < wanted);
		}
}

static void shares_of_large_numbers_do_not_overflow(void **state)
{
	struct np_share share = { UINT32_MAX - 1, UINT32_MAX };

	(void)state;
	assert_number(np_nearest_rank(share, UINT64_C(1) << 31), UINT64_C(1) << 31);
	assert_number(np_nearest_rank(share, UINT64_C(1) << 62),
	              (UINT64_C(1) << 62) - (UINT64_C(1) << 30));
}

static void the_value_of_each_rank_is_found(void **state)
{
	uint64_t values[] = { 4, 7, UINT64_C(1) << 40 };
	uint64_t counts[] = { 2, 1, 3 };
	static const uint64_t wanted[] = {
		4, 4, 7, UINT64_C(1) << 40, UINT64_C(1) << 40, UINT64_C(1) << 40
	};
	struct np_distribution distribution = { values, counts, 3, 6 };

	(void)state;
	for (uint64_t rank = 1; rank <= 6; rank++)
		assert_number(np_distribution_at(&distribution, rank), wanted[rank - 1]);
}

/*
 * python3 -c 'from scipy.stats import binom; print(binom.ppf(PROBABILITY, COUNT, SHARE))'
 */
static void binomial_quantiles_are_scipys(void **state)
{
	static const struct {
		uint64_t count;
		double share;
		double probability;
		uint64_t wanted;
	} rows[] = {
		{ 1, 0.5, 0.5, 0 },
		{ 1, 0.5, 0.25, 0 },
		{ 1, 0.5, 0.51, 1 },
		{ 2, 0.5, 0.75, 1 },
		{ 10, 0.1, 0.025, 0 },
		{ 10, 0.9, 0.975, 10 },
		{ 100, 0.99, 0.025, 97 },
		{ 100, 0.99, 0.975, 100 },
		{ 1000, 0.999, 0.025, 997 },
		{ 1000, 0.999, 0.975, 1000 },
		{ 16000, 0.999, 0.025, 15976 },
		{ 16000, 0.999, 0.975, 15991 },
		{ 17166137, 0.5, 0.025, 8579008 },
		{ 17166137, 0.5, 0.975, 8587129 },
		{ 17166137, 0.999, 0.975, 17149227 },
		{ 17166137, 0.9999, 0.025, 17164339 },
		{ 17166137, 0.9999, 0.975, 17164501 },
		{ UINT64_C(1) << 31, 0.5, 0.025, 1073696411 },
		{ UINT64_C(1) << 31, 0.5, 0.975, 1073787237 },
		{ UINT64_C(1) << 31, 0.9999, 0.025, 2147267991 },
		{ UINT64_C(1) << 31, 0.9999, 0.975, 2147269807 },
		{ UINT64_C(1) << 31, 1e-9, 0.5, 2 },
		{ 1000000, 1e-6, 0.9, 2 },
		{ 50, 0.3, 1e-12, 0 },
		{ 50, 0.3, 1 - 1e-12, 39 },
		{ 1000, 0.2, 1e-30, 71 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check_case("%llu, %g, %g", (unsigned long long)rows[i].count, rows[i].share,
		           rows[i].probability);
		assert_number(
			np_binomial_quantile(rows[i].count, rows[i].share, rows[i].probability),
			rows[i].wanted);
	}
}

static void binomial_quantiles_at_the_ends_are_the_ends(void **state)
{
	(void)state;
	assert_number(np_binomial_quantile(0, 0.5, 0.5), 0);
	assert_number(np_binomial_quantile(9, 0, 0.99), 0);
	assert_number(np_binomial_quantile(9, 1, 0.01), 9);
	assert_number(np_binomial_quantile(9, 0.5, 0), 0);
	assert_number(np_binomial_quantile(9, 0.5, 1), 9);
}

/* With a share of 1/2, probabilities are whole numbers over 2^count: no rounding in the test. */
static void a_probability_that_is_reached_exactly_counts_as_reached(void **state)
{
	(void)state;
	for (unsigned count = 1; count <= 30; count++) {
		uint64_t ways = 1;
		uint64_t sum = 0;

		for (unsigned k = 0; k < count; k++) {
			double all = (double)(UINT64_C(1) << count);

			sum += ways;
			check_case("%u of %u", k, count);
			assert_number(np_binomial_quantile(count, 0.5, (double)sum / all), k);
			assert_number(np_binomial_quantile(count, 0.5, ((double)sum + 0.01) / all),
			              k + 1);
			ways = ways * (count - k) / (k + 1);
		}
	}
}

/*
 * Ranks of a median: David and Nagaraja's table, and python3 -c 'from scipy.stats import binom;
 * print(binom.ppf(.025, N, .5), binom.ppf(.975, N, .5) + 1)'
 */
static void ranks_hold_the_percentile_and_say_where_the_sample_is_too_small(void **state)
{
	static const struct {
		struct np_share share;
		uint64_t count;
		struct np_ranks wanted;
	} rows[] = {
		{ { 1, 2 }, 1, { 0, 0 } },
		{ { 1, 2 }, 5, { 0, 0 } },
		{ { 1, 2 }, 6, { 1, 6 } },
		{ { 1, 2 }, 10, { 2, 9 } },
		{ { 1, 2 }, 100, { 40, 61 } },
		{ { 99, 100 }, 100, { 97, 0 } },
		{ { 99, 100 }, 368, { 360, 368 } },
		{ { 9999, 10000 }, 1000, { 999, 0 } },
		{ { 9999, 10000 }, 17166137, { 17164339, 17164502 } },
		{ { 1, 2 }, 0, { 0, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct np_ranks ranks = np_percentile_ranks(rows[i].share, rows[i].count, 0.95);

		check_case("%u/%u of %llu", rows[i].share.numerator, rows[i].share.denominator,
		           (unsigned long long)rows[i].count);
		assert_number(ranks.low, rows[i].wanted.low);
		assert_number(ranks.high, rows[i].wanted.high);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_ranks_are_right_where_products_of_doubles_are_not),
		cmocka_unit_test(the_nearest_rank_is_the_least_with_that_share_below),
		cmocka_unit_test(shares_of_large_numbers_do_not_overflow),
		cmocka_unit_test(the_value_of_each_rank_is_found),
		cmocka_unit_test(binomial_quantiles_are_scipys),
		cmocka_unit_test(binomial_quantiles_at_the_ends_are_the_ends),
		cmocka_unit_test(a_probability_that_is_reached_exactly_counts_as_reached),
		cmocka_unit_test(ranks_hold_the_percentile_and_say_where_the_sample_is_too_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
