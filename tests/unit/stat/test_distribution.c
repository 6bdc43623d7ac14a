/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../probe/base/distribution.h"
#include "../../../probe/base/rng.h"
#include "../../../probe/base/sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where counters end and the list begins. */
#define DENSE_END (UINT64_C(1) << 24)

static struct np_distribution gather(const uint64_t *values, size_t count, size_t step)
{
	struct np_gatherer *gatherer = np_gatherer_create();
	struct np_distribution distribution = { 0 };

	assert_non_null(gatherer);
	for (size_t i = 0; i < count; i += step)
		assert_number(
			np_gatherer_add(gatherer, values + i, count - i < step ? count - i : step),
			0);
	assert_number(np_gatherer_distribution(gatherer, &distribution), 0);
	np_gatherer_free(gatherer);
	return distribution;
}

/* It is the run lengths of the values, sorted. */
static void assert_distribution_of(const struct np_distribution *distribution,
                                   const uint64_t *values, size_t count)
{
	uint64_t *sorted = malloc((2 * count + 1) * sizeof(*sorted));
	size_t place = 0;

	assert_non_null(sorted);
	memcpy(sorted, values, count * sizeof(*sorted));
	np_sort_u64(sorted, sorted + count, count);
	assert_number(distribution->total, count);
	for (size_t i = 0; i < distribution->distinct_count; i++) {
		assert_true(distribution->counts[i] > 0);
		if (i > 0)
			assert_true(distribution->values[i - 1] < distribution->values[i]);
		for (uint64_t n = 0; n < distribution->counts[i]; n++) {
			assert_true(place < count);
			assert_true(sorted[place++] == distribution->values[i]);
		}
	}
	assert_number(place, count);
	free(sorted);
}

static void values_of_any_size_are_gathered_exactly(void **state)
{
	static const struct {
		const char *name;
		uint64_t from;
		uint64_t range;
		size_t count;
		size_t step;
	} rows[] = {
		{ "one", 5, 1, 1, 1 },
		{ "one zero", 0, 1, 1, 1 },
		{ "ties", 0, 7, 1000, 3 },
		{ "latencies", 100000, 200000, 50000, 777 },
		{ "around a page's end", 4090, 12, 500, 500 },
		{ "around the end of the counters", DENSE_END - 5, 10, 2000, 100 },
		{ "beyond 2^32", UINT64_C(1) << 40, 1000, 5000, 5000 },
		{ "hostile", 0, UINT64_C(1) << 60, 300000, 100000 },
		{ "long with ties", DENSE_END, 40, 300000, 300000 },
	};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		uint64_t *values = malloc(rows[r].count * sizeof(*values));
		struct np_distribution distribution;
		struct np_rng rng;

		check_case("%s", rows[r].name);
		assert_non_null(values);
		np_rng_seed(&rng, r);
		for (size_t i = 0; i < rows[r].count; i++)
			values[i] = rows[r].from + np_rng_below(&rng, rows[r].range);
		distribution = gather(values, rows[r].count, rows[r].step);
		assert_distribution_of(&distribution, values, rows[r].count);
		np_distribution_release(&distribution);
		free(values);
	}
}

static void more_can_be_added_after_a_look(void **state)
{
	static const uint64_t values[] = {
		3, DENSE_END + 9, 3, 70000, DENSE_END + 9, DENSE_END, 3
	};
	struct np_gatherer *gatherer = np_gatherer_create();

	(void)state;
	assert_non_null(gatherer);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct np_distribution distribution;

		assert_number(np_gatherer_add(gatherer, &values[i], 1), 0);
		assert_number(np_gatherer_distribution(gatherer, &distribution), 0);
		assert_distribution_of(&distribution, values, i + 1);
		np_distribution_release(&distribution);
	}
	np_gatherer_free(gatherer);
}

static void nothing_gathered_is_an_empty_distribution(void **state)
{
	struct np_distribution distribution = gather(NULL, 0, 1);
	struct np_distribution merged;

	(void)state;
	assert_number(distribution.distinct_count, 0);
	assert_number(distribution.total, 0);
	assert_number(np_distribution_merge(&distribution, &distribution, &merged), 0);
	assert_number(merged.total, 0);
	np_distribution_release(&distribution);
	np_distribution_release(&distribution);
	np_distribution_release(&merged);
	np_gatherer_free(NULL);
}

/* The values are not looked at, so there need not be 16 GiB of them. */
static void more_than_2_to_the_31_values_are_refused(void **state)
{
	struct np_gatherer *gatherer = np_gatherer_create();
	uint64_t value = 8;
	struct np_distribution distribution;

	(void)state;
	assert_non_null(gatherer);
	assert_number(np_gatherer_add(gatherer, &value, 1), 0);
	assert_number(np_gatherer_add(gatherer, &value, UINT64_C(1) << 31), -EOVERFLOW);
	assert_number(np_gatherer_add(gatherer, &value, SIZE_MAX), -EOVERFLOW);
	assert_number(np_gatherer_distribution(gatherer, &distribution), 0);
	assert_number(distribution.total, 1);
	np_distribution_release(&distribution);
	np_gatherer_free(gatherer);
}

static void a_merger_adds_counts_and_is_refused_beyond_2_to_the_31(void **state)
{
	uint64_t a_values[] = { 1, 5, 9 };
	uint64_t a_counts[] = { 2, 3, UINT64_C(1) << 30 };
	uint64_t b_values[] = { 0, 5, 20 };
	uint64_t b_counts[] = { 4, 1, (UINT64_C(1) << 30) - 10 };
	static const uint64_t values[] = { 0, 1, 5, 9, 20 };
	static const uint64_t counts[] = { 4, 2, 4, UINT64_C(1) << 30, (UINT64_C(1) << 30) - 10 };
	struct np_distribution a = { a_values, a_counts, 3, (UINT64_C(1) << 30) + 5 };
	struct np_distribution b = { b_values, b_counts, 3, (UINT64_C(1) << 30) - 5 };
	struct np_distribution merged;

	(void)state;
	assert_number(np_distribution_merge(&a, &b, &merged), 0);
	assert_number(merged.distinct_count, 5);
	assert_number(merged.total, UINT64_C(1) << 31);
	for (unsigned i = 0; i < 5; i++) {
		assert_number(merged.values[i], values[i]);
		assert_number(merged.counts[i], counts[i]);
	}
	np_distribution_release(&merged);

	b.counts[0]++;
	b.total++;
	assert_number(np_distribution_merge(&a, &b, &merged), -EOVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_any_size_are_gathered_exactly),
		cmocka_unit_test(more_can_be_added_after_a_look),
		cmocka_unit_test(nothing_gathered_is_an_empty_distribution),
		cmocka_unit_test(more_than_2_to_the_31_values_are_refused),
		cmocka_unit_test(a_merger_adds_counts_and_is_refused_beyond_2_to_the_31),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
