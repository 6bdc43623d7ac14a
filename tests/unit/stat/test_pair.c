/* SPDX-License-Identifier: BSD-3-Clause */
/* Two distributions against each other, next to looking at each pair. */
#include "check.h"

#include "../../../probe/base/distribution.h"
#include "../../../probe/base/rng.h"
#include "../../../probe/base/sort.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 100, ROUNDS = 12 };

struct sample {
	uint64_t values[COUNT_MAX]; /* sorted */
	size_t count;
	struct np_distribution distribution;
};

static void sample_finish(struct sample *sample)
{
	uint64_t scratch[COUNT_MAX];
	struct np_gatherer *gatherer = np_gatherer_create();

	assert_non_null(gatherer);
	np_sort_u64(sample->values, scratch, sample->count);
	assert_number(np_gatherer_add(gatherer, sample->values, sample->count), 0);
	assert_number(np_gatherer_distribution(gatherer, &sample->distribution), 0);
	np_gatherer_free(gatherer);
}

static int compare_differences(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t brute_twice_shift(const struct sample *a, const struct sample *b)
{
	static int64_t differences[COUNT_MAX * COUNT_MAX];
	size_t count = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			differences[count++] = (int64_t)b->values[j] - (int64_t)a->values[i];
	qsort(differences, count, sizeof(*differences), compare_differences);
	return differences[(count - 1) / 2] + differences[count / 2];
}

static uint64_t brute_numerator(const struct sample *a, const struct sample *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->count; i++)
		for (size_t j = 0; j < b->count; j++)
			sum += (a->values[i] < b->values[j]) * 2U + (a->values[i] == b->values[j]);
	return sum;
}

static void assert_pair(struct sample *a, struct sample *b)
{
	struct np_superiority gathered;
	struct np_superiority sorted;
	struct np_superiority exchanged;

	sample_finish(a);
	sample_finish(b);
	gathered = np_distribution_superiority(&a->distribution, &b->distribution);
	sorted = np_sorted_superiority(a->values, a->count, b->values, b->count);
	exchanged = np_distribution_superiority(&b->distribution, &a->distribution);

	assert_number(gathered.denominator, 2 * a->count * b->count);
	assert_number(gathered.numerator, brute_numerator(a, b));
	assert_number(sorted.denominator, gathered.denominator);
	assert_number(sorted.numerator, gathered.numerator);
	assert_number(gathered.numerator + exchanged.numerator, gathered.denominator);
	assert_number(np_distribution_twice_shift(&a->distribution, &b->distribution),
	              brute_twice_shift(a, b));
	assert_number(np_distribution_twice_shift(&b->distribution, &a->distribution),
	              -brute_twice_shift(a, b));
	np_distribution_release(&a->distribution);
	np_distribution_release(&b->distribution);
}

static void random_samples_are_compared_as_pair_by_pair(void **state)
{
	static const uint64_t limits[] = {
		1, 2, 3, 10, 100, 1 << 20, UINT64_C(1) << 33, UINT64_C(1) << 61
	};
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 5);
	for (size_t l = 0; l < sizeof(limits) / sizeof(limits[0]); l++)
		for (unsigned round = 0; round < ROUNDS; round++) {
			struct sample a = { .count = 1 + np_rng_below(&rng, COUNT_MAX) };
			struct sample b = { .count = 1 + np_rng_below(&rng, COUNT_MAX) };

			check_case("below %llu, round %u, %zu x %zu", (unsigned long long)limits[l],
			           round, a.count, b.count);
			for (size_t i = 0; i < a.count; i++)
				a.values[i] = np_rng_below(&rng, limits[l]);
			for (size_t i = 0; i < b.count; i++)
				b.values[i] = np_rng_below(&rng, limits[l]);
			assert_pair(&a, &b);
		}
}

static void special_samples_are_compared_as_pair_by_pair(void **state)
{
	static const uint64_t most = UINT64_C(1) << 61;
	const struct {
		const char *name;
		size_t a_count, b_count;
		uint64_t a_start, a_step, b_start, b_step;
	} rows[] = {
		{ "one each, equal", 1, 1, 7, 0, 7, 0 },
		{ "one each, less", 1, 1, 6, 0, 7, 0 },
		{ "one against many", 1, 99, 50, 0, 0, 1 },
		{ "all equal", 60, 99, 3, 0, 3, 0 },
		{ "apart", 50, 50, 0, 1, 1000, 1 },
		{ "apart, the other way", 50, 50, 1000, 1, 0, 1 },
		{ "between each other", 50, 50, 0, 2, 1, 2 },
		{ "the same", 100, 100, 10, 3, 10, 3 },
		{ "as far apart as can be", 3, 2, 0, 0, most, 0 },
		{ "as far apart as can be, the other way", 3, 2, most, 0, 0, 0 },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct sample a = { .count = rows[r].a_count };
		struct sample b = { .count = rows[r].b_count };

		check_case("%s", rows[r].name);
		for (size_t i = 0; i < a.count; i++)
			a.values[i] = rows[r].a_start + i * rows[r].a_step;
		for (size_t i = 0; i < b.count; i++)
			b.values[i] = rows[r].b_start + i * rows[r].b_step;
		assert_pair(&a, &b);
	}
}

/* 2^31 values each: the denominator is 2^63, and no product may be larger. */
static void the_largest_distributions_do_not_overflow(void **state)
{
	uint64_t a_values[] = { 10, 20 };
	uint64_t b_values[] = { 20, 35 };
	uint64_t counts[] = { UINT64_C(1) << 30, UINT64_C(1) << 30 };
	struct np_distribution a = { a_values, counts, 2, UINT64_C(1) << 31 };
	struct np_distribution b = { b_values, counts, 2, UINT64_C(1) << 31 };
	struct np_superiority superiority = np_distribution_superiority(&a, &b);

	(void)state;
	assert_true(superiority.denominator == UINT64_C(1) << 63);
	/* Of 4 equal parts three have a below b, and one a tie. */
	assert_true(superiority.numerator == UINT64_C(7) << 60);
	/* Differences 0, 10, 15, 25. */
	assert_number(np_distribution_twice_shift(&a, &b), 25);
}

static void of_nothing_the_shift_and_both_parts_of_a_are_zero(void **state)
{
	struct np_distribution none = { 0 };
	struct np_superiority superiority = np_sorted_superiority(NULL, 0, NULL, 0);

	(void)state;
	assert_number(superiority.denominator, 0);
	assert_number(superiority.numerator, 0);
	superiority = np_distribution_superiority(&none, &none);
	assert_number(superiority.denominator, 0);
	assert_number(np_distribution_twice_shift(&none, &none), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_samples_are_compared_as_pair_by_pair),
		cmocka_unit_test(special_samples_are_compared_as_pair_by_pair),
		cmocka_unit_test(the_largest_distributions_do_not_overflow),
		cmocka_unit_test(of_nothing_the_shift_and_both_parts_of_a_are_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
