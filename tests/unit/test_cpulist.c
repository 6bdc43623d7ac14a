/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>

/* Lists as kernels, users and old files write them, with the form in which we print them. */
static const struct {
	const char *text;
	const char *list;
} good_lists[] = {
	{ "", "" },
	{ "\n", "" },
	{ " \t\n", "" },
	{ "0", "0" },
	{ "0\n", "0" },
	{ "0-3", "0-3" },
	{ "0-3,8-11\n", "0-3,8-11" },
	{ "  0-3,7 ", "0-3,7" },
	{ "3-3", "3" },
	{ "7,3,5", "3,5,7" },
	{ "0-3,2-5", "0-5" },
	{ "1,1,1", "1" },
	{ "007", "7" },
	{ "32767", "32767" },
	{ "0,2,4-6,63-64,1023", "0,2,4-6,63-64,1023" },
};

static void lists_are_read_and_printed_in_the_kernels_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good_lists) / sizeof(good_lists[0]); i++) {
		struct np_bitmap set = { 0 };
		struct np_error err = { 0 };

		check_case("list '%s'", good_lists[i].text);
		assert_np_ok(np_cpulist_parse(good_lists[i].text, &set, &err), &err);
		assert_set(&set, good_lists[i].list);
		assert_number(err.code, 0);
		np_bitmap_release(&set);
	}
}

static const struct {
	const char *text;
	const char *quoted; /* what the message shows of it */
	const char *why;
} bad_lists[] = {
	{ "x", "'x'", "a number is missing" },
	{ "4 bananas", "'4 bananas'", "behind the list" },
	{ "-1", "'-1'", "a number is missing" },
	{ "+1", "'+1'", "a number is missing" },
	{ "0x10", "'0x10'", "behind the list" },
	{ "1.5", "'1.5'", "behind the list" },
	{ ",", "','", "a number is missing" },
	{ "1,", "'1,'", "a number is missing" },
	{ ",1", "',1'", "a number is missing" },
	{ "1,,2", "'1,,2'", "a number is missing" },
	{ "1-", "'1-'", "a number is missing" },
	{ "1--2", "'1--2'", "a number is missing" },
	{ "1-2-3", "'1-2-3'", "behind the list" },
	{ "3-1", "'3-1'", "runs backwards" },
	{ "1 2", "'1 2'", "behind the list" },
	{ "1, 2", "'1, 2'", "a number is missing" },
	{ "1\n2", "'1\\x0a2'", "behind the list" },
	{ "0-7:2/4", "'0-7:2/4'", "behind the list" },
	{ "32768", "'32768'", "too large" },
	{ "0-32768", "'0-32768'", "too large" },
	{ "99999999999999999999", "'99999999999999999999'", "too large" },
	{ "18446744073709551616", "'18446744073709551616'", "too large" },
	{ "1\033[31m", "'1\\x1b[31m'", "behind the list" },
	{ "\xff\xfe", "'\\xff\\xfe'", "a number is missing" },
};

static void bad_lists_are_quoted_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_lists) / sizeof(bad_lists[0]); i++) {
		struct np_bitmap set = { 0 };
		struct np_error err = { 0 };

		check_case("list %s", bad_lists[i].quoted);
		assert_fails(np_cpulist_parse(bad_lists[i].text, &set, &err), -EINVAL, &err,
		             bad_lists[i].quoted);
		assert_has(err.text, bad_lists[i].why);
		np_bitmap_release(&set);
	}
}

static void a_list_is_added_to_what_is_there(void **state)
{
	struct np_bitmap set = set_of("9");

	(void)state;
	assert_number(np_cpulist_parse("1-2", &set, NULL), 0);
	assert_set(&set, "1-2,9");
	np_bitmap_release(&set);
}

static void a_long_bad_list_gives_a_short_message(void **state)
{
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };
	char *text = malloc(100001);

	(void)state;
	assert_non_null(text);
	memset(text, '9', 100000);
	text[100000] = '\0';
	assert_fails(np_cpulist_parse(text, &set, &err), -EINVAL, &err, "'99999");
	assert_has(err.text, "...");
	assert_has(err.text, "too large");
	np_bitmap_release(&set);
	free(text);
}

static void print_then_parse_gives_the_set_back(void **state)
{
	unsigned short seed[3] = { 17, 4, 2024 };

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		struct np_bitmap set = { 0 };
		struct np_bitmap back = { 0 };
		struct np_error err = { 0 };
		unsigned runs = (unsigned)nrand48(seed) % 12;
		unsigned span = 1u << (unsigned)nrand48(seed) % 14;
		char *text;

		for (unsigned r = 0; r < runs; r++) {
			unsigned first = (unsigned)nrand48(seed) % span;
			unsigned len = (unsigned)nrand48(seed) % 70;

			assert_number(np_bitmap_add_range(&set, first, first + len), 0);
		}
		text = np_cpulist_print(&set);
		assert_non_null(text);
		assert_np_ok(np_cpulist_parse(text, &back, &err), &err);
		if (!np_bitmap_equal(&set, &back))
			fail_msg("round %u: '%s' reads back as another set", round, text);
		free(text);
		np_bitmap_release(&set);
		np_bitmap_release(&back);
	}
}

static const struct {
	const char *text;
	const char *list;
} good_masks[] = {
	{ "0", "" },
	{ "00000000", "" },
	{ "00000000,00000000", "" },
	{ "1", "0" },
	{ "f", "0-3" },
	{ "F", "0-3" },
	{ "ffffffff\n", "0-31" },
	{ "00000001,00000000", "32" },
	{ "f,0000ff01", "0,8-15,32-35" },
	{ "1,0", "32" },
	{ "80000000,00000000,00000001", "0,95" },
};

static void masks_are_read_from_the_right(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good_masks) / sizeof(good_masks[0]); i++) {
		struct np_bitmap set = { 0 };
		struct np_error err = { 0 };

		check_case("mask '%s'", good_masks[i].text);
		assert_np_ok(np_cpumask_parse(good_masks[i].text, &set, &err), &err);
		assert_set(&set, good_masks[i].list);
		np_bitmap_release(&set);
	}
}

static const struct {
	const char *text;
	const char *why;
} bad_masks[] = {
	{ "", "empty" },
	{ "\n", "empty" },
	{ ",", "not hexadecimal" },
	{ ",f", "not hexadecimal" },
	{ "f,", "not hexadecimal" },
	{ "f,,f", "not hexadecimal" },
	{ "0x0f", "not hexadecimal" },
	{ "-1", "not hexadecimal" },
	{ "f f", "not hexadecimal" },
	{ "g", "not hexadecimal" },
	{ "0-3", "not hexadecimal" },
	{ "123456789", "longer than 8 digits" },
};

static void bad_masks_are_quoted_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_masks) / sizeof(bad_masks[0]); i++) {
		struct np_bitmap set = { 0 };
		struct np_error err = { 0 };

		check_case("mask '%s'", bad_masks[i].text);
		assert_fails(np_cpumask_parse(bad_masks[i].text, &set, &err), -EINVAL, &err,
		             bad_masks[i].why);
		assert_has(err.text, "is not a mask");
		np_bitmap_release(&set);
	}
}

static void a_mask_of_more_cpus_than_a_set_takes_is_refused(void **state)
{
	static const size_t groups = 40000;
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };
	char *text = malloc(2 * groups + 2);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < groups; i++)
		memcpy(text + 2 * i, "0,", 2);
	strcpy(text + 2 * groups, "1");
	assert_fails(np_cpumask_parse(text, &set, &err), -EINVAL, &err, "too long");
	np_bitmap_release(&set);
	free(text);
}

static void a_list_that_fits_is_shown_whole_and_a_longer_one_is_marked(void **state)
{
	struct np_bitmap set = set_of("0-3,8-11,99");
	char exact[sizeof("0-3,8-11,99")];
	char small[10];

	(void)state;
	assert_text(np_cpulist_brief(&set, exact, sizeof(exact)), "0-3,8-11,99");
	assert_text(np_cpulist_brief(&set, small, sizeof(small)), "0-3,8-...");
	np_bitmap_release(&set);
	assert_text(np_cpulist_brief(&set, small, sizeof(small)), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_read_and_printed_in_the_kernels_form),
		cmocka_unit_test(bad_lists_are_quoted_with_the_reason),
		cmocka_unit_test(a_list_is_added_to_what_is_there),
		cmocka_unit_test(a_long_bad_list_gives_a_short_message),
		cmocka_unit_test(print_then_parse_gives_the_set_back),
		cmocka_unit_test(masks_are_read_from_the_right),
		cmocka_unit_test(bad_masks_are_quoted_with_the_reason),
		cmocka_unit_test(a_mask_of_more_cpus_than_a_set_takes_is_refused),
		cmocka_unit_test(a_list_that_fits_is_shown_whole_and_a_longer_one_is_marked),
	};

	return cmocka_run_group_tests_name("cpulist", tests, NULL, NULL);
}
