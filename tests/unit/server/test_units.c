/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "tail/units.h"

#include <stdlib.h>
#include <string.h>

static void a_row_is_taken_as_long_as_there_is_room(void **state)
{
	struct ns_units *units = ns_units_create();
	uint32_t list[130];

	(void)state;
	assert_int_equal(ns_units_grow(units, 130), 0);
	assert_true(ns_units_take(units, 100, list));
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(list[i], i);
	/* What is given back is taken when what lies behind is used up. */
	ns_units_give(units, 10, list + 5);
	assert_true(ns_units_take(units, 35, list));
	assert_int_equal(list[0], 100);
	assert_int_equal(list[29], 129);
	assert_int_equal(list[30], 5);
	ns_units_free(units);
}

static void too_many_are_refused_and_none_is_taken(void **state)
{
	struct ns_units *units = ns_units_create();
	uint32_t list[70];

	(void)state;
	assert_false(ns_units_take(units, 1, list));
	assert_int_equal(ns_units_grow(units, 65), 0);
	assert_false(ns_units_take(units, 66, list));
	assert_int_equal(ns_units_free_count(units), 65);
	assert_true(ns_units_take(units, 65, list));
	assert_false(ns_units_take(units, 1, list));
	assert_int_equal(ns_units_grow(units, 66), 0);
	assert_true(ns_units_take(units, 1, list));
	assert_int_equal(list[0], 65);
	ns_units_free(units);
}

static void a_hole_for_a_whole_chunk_goes_before_smaller_ones(void **state)
{
	struct ns_units *units = ns_units_create();
	uint32_t all[128];
	uint32_t list[16];

	(void)state;
	assert_int_equal(ns_units_grow(units, 128), 0);
	assert_true(ns_units_take(units, 128, all));
	/* Holes: 3, 5 and 6, 10 to 13, 70 to 75. */
	ns_units_give(units, 1, &all[3]);
	ns_units_give(units, 2, &all[5]);
	ns_units_give(units, 4, &all[10]);
	ns_units_give(units, 6, &all[70]);
	assert_true(ns_units_take(units, 8, list));
	assert_int_equal(list[0], 10);
	assert_int_equal(list[3], 13);
	assert_int_equal(list[4], 70);
	assert_int_equal(list[7], 73);
	/* The row goes on, and then those that are left do. */
	assert_true(ns_units_take(units, 5, list));
	assert_int_equal(list[0], 74);
	assert_int_equal(list[1], 75);
	assert_int_equal(list[2], 3);
	assert_int_equal(list[3], 5);
	assert_int_equal(list[4], 6);
	assert_int_equal(ns_units_free_count(units), 0);
	ns_units_free(units);
}

enum { MOST = 1000, TAKEN_MAX = 64 };

/* Against a plain list of who has which. */
static void no_unit_is_ever_had_twice(void **state)
{
	struct ns_units *units = ns_units_create();
	static uint32_t lists[TAKEN_MAX][MOST];
	uint32_t counts[TAKEN_MAX] = { 0 };
	bool is_taken[MOST + 20] = { false };
	uint32_t size = 0;
	uint32_t used = 0;

	(void)state;
	srandom(7);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned who = (unsigned)random() % TAKEN_MAX;
		uint32_t count = 1 + (uint32_t)random() % 40;

		if (size < MOST && random() % 50 == 0)
			assert_int_equal(ns_units_grow(units, size += (uint32_t)random() % 20), 0);
		if (size > MOST)
			break;
		if (counts[who] > 0) {
			ns_units_give(units, counts[who], lists[who]);
			for (uint32_t i = 0; i < counts[who]; i++)
				is_taken[lists[who][i]] = false;
			used -= counts[who];
			counts[who] = 0;
		} else if (ns_units_take(units, count, lists[who])) {
			counts[who] = count;
			used += count;
			for (uint32_t i = 0; i < count; i++) {
				assert_true(lists[who][i] < size);
				assert_false(is_taken[lists[who][i]]);
				is_taken[lists[who][i]] = true;
			}
		} else {
			assert_true(count > size - used);
		}
		assert_int_equal(ns_units_free_count(units), size - used);
	}
	ns_units_free(units);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_is_taken_as_long_as_there_is_room),
		cmocka_unit_test(too_many_are_refused_and_none_is_taken),
		cmocka_unit_test(a_hole_for_a_whole_chunk_goes_before_smaller_ones),
		cmocka_unit_test(no_unit_is_ever_had_twice),
	};

	return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
