/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../probe/base/rng.h"
#include "../../../probe/base/sort.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 20000 };

static uint64_t random_below(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)i;
	return np_rng_below(rng, limit);
}

static uint64_t random_any(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)i;
	(void)limit;
	return np_rng_next(rng);
}

static uint64_t sorted(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)rng;
	return i * limit;
}

static uint64_t reversed(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)rng;
	return (COUNT_MAX - i) * limit;
}

static uint64_t equal(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)rng;
	(void)i;
	return limit;
}

/* Differs in the bits from 33 to 43 alone, with others set in all. */
static uint64_t one_digit(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)i;
	return limit | np_rng_below(rng, 2048) << 33;
}

/* Sorted but for the last one. */
static uint64_t late(struct np_rng *rng, size_t i, uint64_t limit)
{
	(void)rng;
	return i % limit == limit - 1 ? 0 : i;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void whole_numbers_come_out_as_by_qsort(void **state)
{
	static const struct {
		const char *name;
		uint64_t (*make)(struct np_rng *rng, size_t i, uint64_t limit);
		uint64_t limit;
	} kinds[] = {
		{ "latencies", random_below, 1 << 22 },
		{ "ties", random_below, 5 },
		{ "beyond 2^32", random_below, UINT64_C(1) << 60 },
		{ "any", random_any, 0 },
		{ "sorted", sorted, 3 },
		{ "reversed", reversed, 7 },
		{ "equal", equal, 150000 },
		{ "zero", equal, 0 },
		{ "greatest", equal, UINT64_MAX },
		{ "one digit", one_digit, 0x800000ff },
		{ "the last one first", late, 100 },
	};
	static const size_t counts[] = { 0, 1, 2, 3, 63, 64, 65, 100, 2047, COUNT_MAX };
	uint64_t *values = malloc(COUNT_MAX * sizeof(*values));
	uint64_t *wanted = malloc(COUNT_MAX * sizeof(*wanted));
	uint64_t *scratch = malloc(COUNT_MAX * sizeof(*scratch));
	struct np_rng rng;

	(void)state;
	assert_true(values && wanted && scratch);
	np_rng_seed(&rng, 1);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			size_t count = counts[c];

			check_case("%zu values, %s", count, kinds[k].name);
			for (size_t i = 0; i < count; i++)
				values[i] = kinds[k].make(&rng, i, kinds[k].limit);
			memcpy(wanted, values, count * sizeof(*wanted));
			qsort(wanted, count, sizeof(*wanted), compare);

			np_sort_u64(values, scratch, count);

			assert_memory_equal(values, wanted, count * sizeof(*values));
		}
	free(values);
	free(wanted);
	free(scratch);
}

static void doubles_are_sorted_with_their_signs(void **state)
{
	double values[] = { 2.5, -1, 0, 1e300, -1e300, 0.5, -1, INFINITY, -INFINITY };
	static const double wanted[] = { -INFINITY, -1e300, -1, -1, 0, 0.5, 2.5, 1e300, INFINITY };

	(void)state;
	np_sort_double(values, sizeof(values) / sizeof(values[0]));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(values[i] == wanted[i]);
}

static void keys_of_doubles_have_their_order_and_lead_back(void **state)
{
	static const double values[] = { -INFINITY, -1e300, -2, -1,    -5e-324, -0.0,
		                         0.0,       5e-324, 1,  1.5e5, 1e300,   INFINITY };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		assert_true(np_double_of_key(np_key_of_double(values[i])) == values[i]);
		if (i > 0)
			assert_true(np_key_of_double(values[i - 1]) < np_key_of_double(values[i]));
	}
	assert_true(np_key_of_double(0.0) == np_key_of_double(-0.0) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_come_out_as_by_qsort),
		cmocka_unit_test(doubles_are_sorted_with_their_signs),
		cmocka_unit_test(keys_of_doubles_have_their_order_and_lead_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
