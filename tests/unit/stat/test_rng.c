/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../probe/base/rng.h"

#include <math.h>

enum { DRAWS = 200000 };

/*
 * The authors' own test values: xoshiro256++ of state 1, 2, 3, 4, and splitmix64 of seed 1234567, as
 * the Rust crates rand_xoshiro and many others quote them.
 */
static void the_sequence_is_that_of_the_authors(void **state)
{
	static const uint64_t wanted[] = {
		41943041U,
		58720359U,
		3588806011781223U,
		3591011842654386U,
		9228616714210784205U,
		9973669472204895162U,
		14011001112246962877U,
		12406186145184390807U,
		15849039046786891736U,
		10450023813501588000U,
	};
	struct np_rng rng = { { 1, 2, 3, 4 } };

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		assert_true(np_rng_next(&rng) == wanted[i]);
}

static void the_seed_fills_the_state(void **state)
{
	static const uint64_t wanted[] = { 6457827717110365317U, 3203168211198807973U,
		                           9817491932198370423U, 4593380528125082431U };
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 1234567);
	for (unsigned i = 0; i < 4; i++)
		assert_true(rng.state[i] == wanted[i]);
}

static void the_same_seed_gives_the_same_and_another_one_others(void **state)
{
	struct np_rng a;
	struct np_rng b;
	struct np_rng c;
	unsigned alike = 0;

	(void)state;
	np_rng_seed(&a, 0);
	np_rng_seed(&b, 0);
	np_rng_seed(&c, 1);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t x = np_rng_next(&a);

		assert_true(x == np_rng_next(&b));
		alike += x == np_rng_next(&c);
	}
	assert_number(alike, 0);
}

/* Chi square of 20 to 1000 cells, whose mean is cells - 1: 5 standard deviations are allowed. */
static void draws_below_a_limit_are_even(void **state)
{
	static const unsigned limits[] = { 2, 3, 7, 96, 1000 };

	(void)state;
	for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++) {
		unsigned counts[1000] = { 0 };
		unsigned limit = limits[l];
		double expected = (double)DRAWS / limit;
		double chi_square = 0;
		struct np_rng rng;

		check_case("limit %u", limit);
		np_rng_seed(&rng, 42);
		for (unsigned i = 0; i < DRAWS; i++) {
			uint64_t x = np_rng_below(&rng, limit);

			assert_true(x < limit);
			counts[x]++;
		}
		for (unsigned i = 0; i < limit; i++)
			chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
		assert_true(chi_square < limit - 1 + 5 * sqrt(2.0 * (limit - 1)));
	}
}

/*
 * Below 3 * 2^62, a product alone gives multiples of 3 twice as often as the others, and a remainder the
 * lowest third.
 */
static void draws_below_a_limit_near_2_to_the_64_are_even(void **state)
{
	const uint64_t limit = UINT64_C(3) << 62;
	unsigned counts[3] = { 0 };
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 7);
	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t x = np_rng_below(&rng, limit);

		assert_true(x < limit);
		counts[x % 3]++;
	}
	for (unsigned i = 0; i < 3; i++)
		assert_true(fabs(counts[i] - DRAWS / 3.0) < 5 * sqrt(DRAWS * 2 / 9.0));
}

static void below_one_there_is_but_zero(void **state)
{
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 3);
	for (unsigned i = 0; i < 100; i++)
		assert_number(np_rng_below(&rng, 1), 0);
}

struct moments {
	double mean;
	double square;
	double least;
	double greatest;
};

static struct moments moments_of(double (*draw)(struct np_rng *rng))
{
	struct moments m = { .least = INFINITY, .greatest = -INFINITY };
	struct np_rng rng;

	np_rng_seed(&rng, 2024);
	for (unsigned i = 0; i < DRAWS; i++) {
		double x = draw(&rng);

		m.mean += x / DRAWS;
		m.square += x * x / DRAWS;
		m.least = fmin(m.least, x);
		m.greatest = fmax(m.greatest, x);
	}
	return m;
}

/* Means and mean squares of 200 000 draws, to 5 of their standard errors. */
static void distributions_have_their_moments(void **state)
{
	static const struct {
		const char *name;
		double (*draw)(struct np_rng *rng);
		double mean, square, mean_error, square_error, least, greatest;
	} rows[] = {
		{ "unit", np_rng_unit, 0.5, 1 / 3.0, 0.289, 0.299, 0, 1 },
		{ "exponential", np_rng_exponential, 1, 2, 1, 4.48, 0, 40 },
		{ "normal", np_rng_normal, 0, 1, 1, 1.42, -9, 9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct moments m = moments_of(rows[i].draw);

		check_case("%s", rows[i].name);
		assert_true(fabs(m.mean - rows[i].mean) < 5 * rows[i].mean_error / sqrt(DRAWS));
		assert_true(fabs(m.square - rows[i].square) <
		            5 * rows[i].square_error / sqrt(DRAWS));
		assert_true(m.least >= rows[i].least);
		assert_true(m.greatest < rows[i].greatest);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_sequence_is_that_of_the_authors),
		cmocka_unit_test(the_seed_fills_the_state),
		cmocka_unit_test(the_same_seed_gives_the_same_and_another_one_others),
		cmocka_unit_test(draws_below_a_limit_are_even),
		cmocka_unit_test(draws_below_a_limit_near_2_to_the_64_are_even),
		cmocka_unit_test(below_one_there_is_but_zero),
		cmocka_unit_test(distributions_have_their_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
