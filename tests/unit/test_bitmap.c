/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void a_zeroed_set_is_empty(void **state)
{
	struct np_bitmap set = { 0 };

	(void)state;
	assert_true(np_bitmap_is_empty(&set));
	assert_number(np_bitmap_count(&set), 0);
	assert_number(np_bitmap_next(&set, 0), NP_BITMAP_END);
	assert_number(np_bitmap_last(&set), NP_BITMAP_END);
	assert_false(np_bitmap_has(&set, 0));
	np_bitmap_remove(&set, 7);
	np_bitmap_release(&set);
}

static void members_are_found_at_the_edges_of_words(void **state)
{
	static const unsigned edges[] = { 0, 1, 63, 64, 65, 127, 128, 8191, 8192 };
	struct np_bitmap set = { 0 };
	unsigned expected = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
		assert_number(np_bitmap_add(&set, edges[i]), 0);

	np_bitmap_for_each (member, &set)
		assert_number(member, edges[expected++]);
	assert_number(expected, sizeof(edges) / sizeof(edges[0]));
	assert_number(np_bitmap_count(&set), expected);
	assert_number(np_bitmap_last(&set), 8192);
	assert_false(np_bitmap_has(&set, 62));
	assert_false(np_bitmap_has(&set, 100000));
	np_bitmap_release(&set);
	assert_true(np_bitmap_is_empty(&set));
}

static void a_range_takes_both_its_ends(void **state)
{
	struct np_bitmap set = { 0 };

	(void)state;
	assert_number(np_bitmap_add_range(&set, 60, 130), 0);
	assert_set(&set, "60-130");
	assert_number(np_bitmap_count(&set), 71);
	np_bitmap_release(&set);
}

static void an_index_beyond_the_limit_is_refused_and_changes_nothing(void **state)
{
	struct np_bitmap set = set_of("3");

	(void)state;
	assert_number(np_bitmap_add(&set, NP_BITMAP_INDEX_MAX + 1), -ERANGE);
	assert_number(np_bitmap_add(&set, UINT32_MAX), -ERANGE);
	assert_number(np_bitmap_add_range(&set, 5, NP_BITMAP_INDEX_MAX + 1), -ERANGE);
	assert_set(&set, "3");
	assert_number(np_bitmap_add(&set, NP_BITMAP_INDEX_MAX), 0);
	assert_set(&set, "3,32767");
	np_bitmap_release(&set);
}

static void iteration_ends_after_the_largest_index(void **state)
{
	struct np_bitmap set = { 0 };
	unsigned seen = 0;

	(void)state;
	assert_number(np_bitmap_add(&set, NP_BITMAP_INDEX_MAX), 0);
	np_bitmap_for_each (member, &set)
		seen += member == NP_BITMAP_INDEX_MAX;
	assert_number(seen, 1);
	assert_number(np_bitmap_next(&set, UINT32_MAX), NP_BITMAP_END);
	np_bitmap_release(&set);
}

/* Both orders of sizes: a set must not look behind the words of the other. */
static const struct {
	const char *left;
	const char *right;
	const char *either;
	const char *both;
	const char *left_alone;
	bool is_subset; /* left of right */
} pairs[] = {
	{ "", "", "", "", "", true },
	{ "", "5", "5", "", "", true },
	{ "5", "", "5", "", "5", false },
	{ "1-3", "2-4", "1-4", "2-3", "1", false },
	{ "2", "1-500", "1-500", "2", "", true },
	{ "1-500", "2", "1-500", "2", "1,3-500", false },
	{ "0,900", "0", "0,900", "0", "900", false },
	{ "0", "0,900", "0,900", "0", "", true },
	{ "64-127", "0-63", "0-127", "", "64-127", false },
};

static void set_arithmetic_agrees_with_the_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct np_bitmap left = set_of(pairs[i].left);
		struct np_bitmap right = set_of(pairs[i].right);
		struct np_bitmap got = { 0 };

		check_case("pair '%s' '%s'", pairs[i].left, pairs[i].right);
		assert_number(np_bitmap_copy(&got, &left), 0);
		assert_number(np_bitmap_or(&got, &right), 0);
		assert_set(&got, pairs[i].either);

		assert_number(np_bitmap_copy(&got, &left), 0);
		np_bitmap_and(&got, &right);
		assert_set(&got, pairs[i].both);

		assert_number(np_bitmap_copy(&got, &left), 0);
		np_bitmap_and_not(&got, &right);
		assert_set(&got, pairs[i].left_alone);

		assert_number(np_bitmap_is_subset(&left, &right), pairs[i].is_subset);
		assert_number(np_bitmap_intersects(&left, &right), *pairs[i].both != '\0');
		assert_number(np_bitmap_equal(&left, &right),
		              strcmp(pairs[i].left, pairs[i].right) == 0);
		np_bitmap_release(&left);
		np_bitmap_release(&right);
		np_bitmap_release(&got);
	}
}

static void equality_ignores_room_that_was_made(void **state)
{
	struct np_bitmap small = set_of("1");
	struct np_bitmap large = set_of("1,5000");

	(void)state;
	np_bitmap_remove(&large, 5000);
	assert_true(np_bitmap_equal(&small, &large));
	assert_true(np_bitmap_equal(&large, &small));
	np_bitmap_release(&small);
	np_bitmap_release(&large);
}

static void copying_forgets_what_was_there(void **state)
{
	struct np_bitmap set = set_of("1,5000");
	struct np_bitmap other = set_of("2");

	(void)state;
	assert_number(np_bitmap_copy(&set, &other), 0);
	assert_set(&set, "2");
	assert_number(np_bitmap_copy(&set, &set), 0);
	assert_set(&set, "2");
	np_bitmap_release(&set);
	np_bitmap_release(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_zeroed_set_is_empty),
		cmocka_unit_test(members_are_found_at_the_edges_of_words),
		cmocka_unit_test(a_range_takes_both_its_ends),
		cmocka_unit_test(an_index_beyond_the_limit_is_refused_and_changes_nothing),
		cmocka_unit_test(iteration_ends_after_the_largest_index),
		cmocka_unit_test(set_arithmetic_agrees_with_the_table),
		cmocka_unit_test(equality_ignores_room_that_was_made),
		cmocka_unit_test(copying_forgets_what_was_there),
	};

	return cmocka_run_group_tests_name("bitmap", tests, NULL, NULL);
}
