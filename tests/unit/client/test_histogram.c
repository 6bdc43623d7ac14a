/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../probe/base/rng.h"
#include "../../../server/client/histogram.h"

#include <math.h>
#include <stdlib.h>

static const struct np_share shares[] = {
	{ 0, 1 },      { 1, 2 },        { 9, 10 },         { 99, 100 },
	{ 999, 1000 }, { 9999, 10000 }, { 99999, 100000 }, { 1, 1 },
};

enum { SHARE_COUNT = sizeof(shares) / sizeof(shares[0]), SAMPLE_COUNT = 100000 };

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Values of all magnitudes: 0 to 63 bits. */
static uint64_t draw_any(struct np_rng *rng)
{
	return np_rng_next(rng) >> (1 + np_rng_below(rng, 63));
}

static uint64_t draw_latency(struct np_rng *rng)
{
	return (uint64_t)(20000 * exp(np_rng_normal(rng)));
}

static uint64_t draw_tied(struct np_rng *rng)
{
	return np_rng_below(rng, 7);
}

static const struct {
	const char *name;
	uint64_t (*draw)(struct np_rng *rng);
} sources[] = {
	{ "all magnitudes", draw_any },
	{ "latencies", draw_latency },
	{ "many ties", draw_tied },
};

/* No less than the exact one, and within 1 part in 1024 of it. */
static void check_percentiles(const struct nl_histogram *histogram, const uint64_t *sorted,
                              size_t count)
{
	for (size_t i = 0; i < SHARE_COUNT; i++) {
		uint64_t exact = sorted[np_nearest_rank(shares[i], count) - 1];
		uint64_t found = nl_histogram_at(histogram, shares[i]);

		assert_true(found >= exact);
		assert_true(found - exact <= exact / 1024);
		assert_true(found <= sorted[count - 1]);
	}
}

static void percentiles_are_those_of_the_sorted_values_within_a_part_in_1024(void **state)
{
	static const size_t counts[] = { 1, 2, 3, 1000, SAMPLE_COUNT };
	uint64_t *values = calloc(SAMPLE_COUNT, sizeof(*values));
	struct nl_histogram *histogram = nl_histogram_create();
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 1);
	for (size_t s = 0; s < sizeof(sources) / sizeof(sources[0]); s++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			double sum = 0;

			check_case("%s, %zu values", sources[s].name, counts[c]);
			nl_histogram_clear(histogram);
			for (size_t i = 0; i < counts[c]; i++) {
				values[i] = sources[s].draw(&rng);
				sum += (double)values[i];
				nl_histogram_add(histogram, values[i]);
			}
			qsort(values, counts[c], sizeof(*values), compare);
			check_percentiles(histogram, values, counts[c]);
			assert_number(nl_histogram_count(histogram), counts[c]);
			assert_number(nl_histogram_min(histogram), values[0]);
			assert_number(nl_histogram_max(histogram), values[counts[c] - 1]);
			assert_true(fabs(nl_histogram_mean(histogram) * (double)counts[c] - sum) <=
			            1e-9 * sum);
		}
	}
	nl_histogram_free(histogram);
	free(values);
}

/* Alone in a histogram, each value is its own percentile, as it is never beyond max. */
static void every_power_of_two_and_its_neighbours_have_a_bucket(void **state)
{
	struct nl_histogram *histogram = nl_histogram_create();

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t value = (UINT64_C(1) << bit) + (uint64_t)off;

			nl_histogram_clear(histogram);
			nl_histogram_add(histogram, value);
			assert_true(nl_histogram_at(histogram, shares[1]) == value);
			/* With a greater one beside it, it is its bucket's end. */
			nl_histogram_add(histogram, UINT64_MAX);
			assert_true(nl_histogram_at(histogram, shares[1]) >= value);
			assert_true(nl_histogram_at(histogram, shares[1]) - value <= value / 1024);
		}
	}
	nl_histogram_free(histogram);
}

static void values_below_2048_are_exact(void **state)
{
	struct nl_histogram *histogram = nl_histogram_create();

	(void)state;
	nl_histogram_add(histogram, UINT64_MAX);
	for (uint64_t value = 2047; value-- > 0;) {
		nl_histogram_add(histogram, value);
		assert_number(nl_histogram_at(histogram, (struct np_share){ 0, 1 }), value);
	}
	nl_histogram_free(histogram);
}

static void an_empty_one_has_zeros(void **state)
{
	struct nl_histogram *histogram = nl_histogram_create();

	(void)state;
	for (int round = 0; round < 2; round++) {
		assert_number(nl_histogram_count(histogram), 0);
		assert_number(nl_histogram_min(histogram), 0);
		assert_number(nl_histogram_max(histogram), 0);
		assert_number(nl_histogram_at(histogram, shares[1]), 0);
		assert_true(nl_histogram_mean(histogram) == 0);
		nl_histogram_add(histogram, 5);
		nl_histogram_clear(histogram);
	}
	nl_histogram_free(histogram);
	nl_histogram_free(NULL);
}

static void a_merged_one_is_as_if_all_had_gone_into_one(void **state)
{
	struct nl_histogram *parts[2] = { nl_histogram_create(), nl_histogram_create() };
	struct nl_histogram *empty = nl_histogram_create();
	struct nl_histogram *all = nl_histogram_create();
	struct np_rng rng;

	(void)state;
	np_rng_seed(&rng, 2);
	for (int i = 0; i < SAMPLE_COUNT; i++) {
		uint64_t value = draw_any(&rng);

		nl_histogram_add(parts[i % 3 == 0], value);
		nl_histogram_add(all, value);
	}
	nl_histogram_merge(parts[0], parts[1]);
	nl_histogram_merge(parts[0], empty);
	assert_number(nl_histogram_count(parts[0]), nl_histogram_count(all));
	assert_true(nl_histogram_min(parts[0]) == nl_histogram_min(all));
	assert_true(nl_histogram_max(parts[0]) == nl_histogram_max(all));
	assert_true(nl_histogram_mean(parts[0]) == nl_histogram_mean(all));
	for (size_t i = 0; i < SHARE_COUNT; i++)
		assert_true(nl_histogram_at(parts[0], shares[i]) ==
		            nl_histogram_at(all, shares[i]));
	nl_histogram_merge(empty, all);
	assert_true(nl_histogram_min(empty) == nl_histogram_min(all));
	nl_histogram_free(parts[0]);
	nl_histogram_free(parts[1]);
	nl_histogram_free(empty);
	nl_histogram_free(all);
}

static void a_mean_of_values_whose_sum_has_more_than_64_bits_is_right(void **state)
{
	struct nl_histogram *histogram = nl_histogram_create();

	(void)state;
	for (int i = 0; i < 1000; i++)
		nl_histogram_add(histogram, UINT64_C(1) << 63);
	nl_histogram_merge(histogram, histogram);
	assert_true(nl_histogram_mean(histogram) == 0x1p63);
	nl_histogram_free(histogram);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_are_those_of_the_sorted_values_within_a_part_in_1024),
		cmocka_unit_test(every_power_of_two_and_its_neighbours_have_a_bucket),
		cmocka_unit_test(values_below_2048_are_exact),
		cmocka_unit_test(an_empty_one_has_zeros),
		cmocka_unit_test(a_merged_one_is_as_if_all_had_gone_into_one),
		cmocka_unit_test(a_mean_of_values_whose_sum_has_more_than_64_bits_is_right),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
