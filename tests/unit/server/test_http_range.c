/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Range and the conditions on tags.
 */
#include "check.h"

#include "protocol/http_condition.h"
#include "protocol/http_range.h"

#include <string.h>

static struct ns_http_text text_of(const char *text)
{
	return (struct ns_http_text){ .text = text, .len = strlen(text) };
}

static void ranges_are_as_the_standard_says(void **state)
{
	static const struct {
		const char *range;
		uint64_t bytes;
		enum ns_http_part part;
		uint64_t first;
		uint64_t count;
	} cases[] = {
		{ "bytes=2-4", 10, NS_HTTP_PART, 2, 3 },
		{ "bytes=0-0", 10, NS_HTTP_PART, 0, 1 },
		{ "bytes=0-9", 10, NS_HTTP_PART, 0, 10 },
		{ "bytes=0-", 10, NS_HTTP_PART, 0, 10 },
		{ "bytes=9-", 10, NS_HTTP_PART, 9, 1 },
		{ "BYTES=2-4", 10, NS_HTTP_PART, 2, 3 },
		{ "bytes= 2-4 ,", 10, NS_HTTP_PART, 2, 3 },
		{ "bytes=,2-4", 10, NS_HTTP_PART, 2, 3 },
		{ "bytes=-3", 10, NS_HTTP_PART, 7, 3 },
		{ "bytes=-10", 10, NS_HTTP_PART, 0, 10 },
		/* larger than there is: cut */
		{ "bytes=5-100", 10, NS_HTTP_PART, 5, 5 },
		{ "bytes=-11", 10, NS_HTTP_PART, 0, 10 },
		{ "bytes=0-18446744073709551615", 10, NS_HTTP_PART, 0, 10 },
		{ "bytes=0-18446744073709551616", 10, NS_HTTP_PART, 0, 10 },
		{ "bytes=-99999999999999999999999", 10, NS_HTTP_PART, 0, 10 },
		{ "bytes=1-99999999999999999999999", 10, NS_HTTP_PART, 1, 9 },
		/* behind the end */
		{ "bytes=10-", 10, NS_HTTP_BEYOND, 0, 0 },
		{ "bytes=50-", 10, NS_HTTP_BEYOND, 0, 0 },
		{ "bytes=10-20", 10, NS_HTTP_BEYOND, 0, 0 },
		{ "bytes=99999999999999999999999-", 10, NS_HTTP_BEYOND, 0, 0 },
		{ "bytes=-0", 10, NS_HTTP_BEYOND, 0, 0 },
		{ "bytes=0-", 0, NS_HTTP_BEYOND, 0, 0 },
		/* no range, or not one */
		{ "bytes=-5", 0, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=4-2", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=0-1,3-4", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=0-,0-,0-,0-,0-", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=,", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=-", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=--1", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=1", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=1-2x", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=1 - 2", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=+1-2", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes=x", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "bytes 1-2", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "lines=1-2", 10, NS_HTTP_WHOLE, 0, 0 },
		{ "", 10, NS_HTTP_WHOLE, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t first = 0;
		uint64_t count = 0;

		check_case("%s of %d", cases[i].range, (int)cases[i].bytes);
		assert_number(
			ns_http_range(text_of(cases[i].range), cases[i].bytes, &first, &count),
			cases[i].part);
		assert_number(first, cases[i].first);
		assert_number(count, cases[i].count);
	}
}

static void a_tag_is_the_cas_in_hexadecimal(void **state)
{
	char buf[NS_HTTP_TAG_SIZE];

	(void)state;
	assert_number(ns_http_tag(0x1f, buf), 4);
	assert_memory_equal(buf, "\"1f\"", 4);
	assert_number(ns_http_tag(UINT64_MAX, buf), 18);
	assert_memory_equal(buf, "\"ffffffffffffffff\"", 18);
}

static struct ns_http_head head_with(enum ns_http_method method, const char *match,
                                     const char *none_match)
{
	struct ns_http_head head = { .method = method };

	if (match)
		head.if_match = (struct ns_http_list){ .lines = { text_of(match) }, .count = 1 };
	if (none_match)
		head.if_none_match =
			(struct ns_http_list){ .lines = { text_of(none_match) }, .count = 1 };
	return head;
}

static void conditions_are_as_the_standard_says(void **state)
{
	static const struct {
		const char *match;
		const char *none_match;
		uint64_t cas; /* 0 = no object */
		enum ns_http_condition get;
		enum ns_http_condition put;
	} cases[] = {
		{ NULL, NULL, 5, NS_HTTP_GO, NS_HTTP_GO },
		{ "*", NULL, 5, NS_HTTP_GO, NS_HTTP_GO },
		{ "*", NULL, 0, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "\"5\"", NULL, 5, NS_HTTP_GO, NS_HTTP_GO },
		{ "\"5\"", NULL, 0, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "\"4\"", NULL, 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "\"4\", \"5\"", NULL, 5, NS_HTTP_GO, NS_HTTP_GO },
		{ ",\"4\",,\"a,b\" , \"5\"", NULL, 5, NS_HTTP_GO, NS_HTTP_GO },
		{ "W/\"5\"", NULL, 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "5", NULL, 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "\"5", NULL, 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "\"05\"", NULL, 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "", NULL, 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ NULL, "*", 5, NS_HTTP_UNCHANGED, NS_HTTP_FAILED },
		{ NULL, "*", 0, NS_HTTP_GO, NS_HTTP_GO },
		{ NULL, "\"5\"", 5, NS_HTTP_UNCHANGED, NS_HTTP_FAILED },
		{ NULL, "W/\"5\"", 5, NS_HTTP_UNCHANGED, NS_HTTP_FAILED },
		{ NULL, "w/\"5\"", 5, NS_HTTP_GO, NS_HTTP_GO },
		{ NULL, "\"4\", W/\"5\"", 5, NS_HTTP_UNCHANGED, NS_HTTP_FAILED },
		{ NULL, "\"4\"", 5, NS_HTTP_GO, NS_HTTP_GO },
		{ NULL, "x, \"5\"", 5, NS_HTTP_GO, NS_HTTP_GO },
		{ "\"5\"", "\"5\"", 5, NS_HTTP_UNCHANGED, NS_HTTP_FAILED },
		{ "\"4\"", "\"4\"", 5, NS_HTTP_FAILED, NS_HTTP_FAILED },
		{ "\"5\"", "\"4\"", 5, NS_HTTP_GO, NS_HTTP_GO },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_http_head get =
			head_with(NS_HTTP_GET, cases[i].match, cases[i].none_match);
		struct ns_http_head put =
			head_with(NS_HTTP_PUT, cases[i].match, cases[i].none_match);

		check_case("%zu", i);
		assert_number(ns_http_condition(&get, cases[i].cas), cases[i].get);
		assert_number(ns_http_condition(&put, cases[i].cas), cases[i].put);
	}
}

static void a_range_counts_for_the_tag_it_was_meant_for(void **state)
{
	static const struct {
		const char *if_range;
		bool counts;
	} cases[] = {
		{ NULL, true },        { "\"5\"", true },
		{ "\"4\"", false },    { "W/\"5\"", false },
		{ "", false },         { "Sat, 29 Oct 1994 19:43:31 GMT", false },
		{ "\"5\", x", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_http_head head = { .method = NS_HTTP_GET };

		check_case("%zu", i);
		if (cases[i].if_range)
			head.if_range = text_of(cases[i].if_range);
		assert_number(ns_http_range_counts(&head, 5), cases[i].counts);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_as_the_standard_says),
		cmocka_unit_test(a_tag_is_the_cas_in_hexadecimal),
		cmocka_unit_test(conditions_are_as_the_standard_says),
		cmocka_unit_test(a_range_counts_for_the_tag_it_was_meant_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
