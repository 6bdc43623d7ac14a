/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunked bodies, in pieces of every size.
 */
#include "check.h"

#include "protocol/http_chunk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct body {
	enum ns_chunk_step end; /* NS_CHUNK_MORE: it has none yet */
	size_t used;
	size_t len;
	char value[256];
};

/* @piece bytes at a time. */
static struct body decode(const char *bytes, size_t count, size_t piece)
{
	struct ns_chunks chunks = { 0 };
	struct body body = { .end = NS_CHUNK_MORE };

	while (body.used < count) {
		size_t left = count - body.used;
		struct ns_http_text data = { 0 };
		size_t used;

		body.end = ns_chunks_take(&chunks, bytes + body.used, left < piece ? left : piece,
		                          &used, &data);
		body.used += used;
		if (body.end == NS_CHUNK_END || body.end == NS_CHUNK_BAD)
			break;
		if (body.end != NS_CHUNK_DATA)
			continue;
		assert_true(body.len + data.len < sizeof(body.value));
		memcpy(body.value + body.len, data.text, data.len);
		body.len += data.len;
		body.end = NS_CHUNK_MORE;
	}
	return body;
}

static void bodies_are_undone_in_pieces_of_any_size(void **state)
{
	static const struct {
		const char *text;
		const char *value;
	} cases[] = {
		{ "0\r\n\r\n", "" },
		{ "3\r\nabc\r\n0\r\n\r\n", "abc" },
		{ "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde" },
		{ "A\r\n0123456789\r\n0\r\n\r\n", "0123456789" },
		{ "a\r\n01\r\n\r\n6789\r\n0\r\n\r\n", "01\r\n\r\n6789" },
		{ "0000000000000003\r\nabc\r\n000\r\n\r\n", "abc" },
		{ "3;name=value\r\nabc\r\n0;x\r\n\r\n", "abc" },
		{ "3 \t;name=\"v;\"\r\nabc\r\n0 \r\n\r\n", "abc" },
		{ "3\r\nabc\r\n0\r\nTrailer: x\r\nOther: y\r\n\r\n", "abc" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t count = strlen(cases[i].text);
		char text[256];

		/* What follows is the next request's. */
		snprintf(text, sizeof(text), "%sGET", cases[i].text);
		for (size_t piece = 1; piece <= count + 3; piece++) {
			struct body body = decode(text, count + 3, piece);

			check_case("%zu, in pieces of %zu", i, piece);
			assert_number(body.end, NS_CHUNK_END);
			assert_number(body.used, count);
			assert_number(body.len, strlen(cases[i].value));
			assert_memory_equal(body.value, cases[i].value, body.len);
		}
		for (size_t part = 0; part < count; part++)
			assert_number(decode(text, part, part + 1).end, NS_CHUNK_MORE);
	}
}

static void what_is_not_chunked_is_refused(void **state)
{
	static const char *const cases[] = {
		"\r\n",
		"x\r\n",
		"-1\r\n",
		"+1\r\n",
		"0x1\r\n",
		" 1\r\n",
		";a\r\n",
		"1\nabc",
		"1\r\rabc",
		"1 2\r\nab",
		"1;\x01\r\na",
		"1;a\nb\r\na",
		"3\r\nabcd\r\n",
		"3\r\nabc\n0\r\n\r\n",
		"3\r\nabc\r0\r\n\r\n",
		"3\r\nabc0\r\n\r\n",
		"3\r\nabc\r\n\r\n0\r\n\r\n",
		"10000000000000000\r\n",
		"00000000000000003\r\nabc",
		"fffffffffffffffff\r\n",
		"0\r\nA: b\n\r\n",
		"0\r\nA: \x02\r\n\r\n",
		"0\r\n\rx",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t count = strlen(cases[i]);

		check_case("%zu: %s", i, cases[i]);
		assert_number(decode(cases[i], count, count).end, NS_CHUNK_BAD);
		assert_number(decode(cases[i], count, 1).end, NS_CHUNK_BAD);
	}
}

static void the_largest_size_does_not_overflow(void **state)
{
	static const char text[] = "ffffffffffffffff\r\nab";
	struct ns_chunks chunks = { 0 };
	struct ns_http_text data;
	size_t used;

	(void)state;
	assert_number(ns_chunks_take(&chunks, text, sizeof(text) - 1, &used, &data), NS_CHUNK_DATA);
	assert_number(data.len, 2);
	assert_true(chunks.left == UINT64_MAX - 2);
}

/* How many bytes of @filler are taken after @before. */
static size_t taken(const char *before, char filler)
{
	struct ns_chunks chunks = { 0 };
	struct ns_http_text data;
	size_t used;
	size_t count = 0;

	ns_chunks_take(&chunks, before, strlen(before), &used, &data);
	while (count < 1000000 &&
	       ns_chunks_take(&chunks, &filler, 1, &used, &data) == NS_CHUNK_MORE)
		count++;
	return count;
}

static void extensions_and_trailers_are_bounded(void **state)
{
	(void)state;
	assert_number(taken("1;", 'a'), NS_CHUNK_EXTENSIONS_MAX);
	assert_number(taken("1 ", ' '), NS_CHUNK_EXTENSIONS_MAX);
	assert_number(taken("0\r\n", 'a'), NS_CHUNK_TRAILERS_MAX);
}

static void many_small_extensions_are_bounded_too(void **state)
{
	static const char text[] = "1;aaaaaaa\r\nx\r\n";
	struct ns_chunks chunks = { 0 };
	unsigned count = 0;

	(void)state;
	for (; count < 100000; count++) {
		struct ns_http_text data;
		size_t used;
		size_t part;

		if (ns_chunks_take(&chunks, text, sizeof(text) - 1, &used, &data) == NS_CHUNK_BAD)
			break;
		assert_number(
			ns_chunks_take(&chunks, text + used, sizeof(text) - 1 - used, &part, &data),
			NS_CHUNK_MORE);
	}
	assert_number(count, NS_CHUNK_EXTENSIONS_MAX / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_are_undone_in_pieces_of_any_size),
		cmocka_unit_test(what_is_not_chunked_is_refused),
		cmocka_unit_test(the_largest_size_does_not_overflow),
		cmocka_unit_test(extensions_and_trailers_are_bounded),
		cmocka_unit_test(many_small_extensions_are_bounded_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
