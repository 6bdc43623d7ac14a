/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heads of HTTP requests, and the keys of their paths: each must be read the same in one piece and
 * byte by byte, and what two servers could understand differently must be refused.
 */
#include "check.h"

#include "protocol/http_key.h"
#include "protocol/http_parse.h"
#include "protocol/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tools ---- */

struct outcome {
	int rc;
	struct ns_http_head head;
	struct ns_http_fault fault;
};

static struct outcome parse_at_once(const char *bytes, size_t count)
{
	struct ns_http_progress progress = { 0 };
	struct outcome outcome = { 0 };

	outcome.rc = ns_http_parse(bytes, count, &progress, &outcome.head, &outcome.fault);
	return outcome;
}

/* Each call sees one byte more, at another address: nothing may be kept of the last one. */
static struct outcome parse_bytewise(const char *bytes, size_t count)
{
	struct ns_http_progress progress = { 0 };
	struct outcome outcome = { .rc = -EAGAIN };
	char *copy = NULL;

	for (size_t i = 1; i <= count && outcome.rc == -EAGAIN; i++) {
		free(copy);
		copy = malloc(i);
		assert_non_null(copy);
		memcpy(copy, bytes, i);
		outcome.rc = ns_http_parse(copy, i, &progress, &outcome.head, &outcome.fault);
	}
	free(copy);
	return outcome;
}

static void check_refused_bytes(const char *bytes, size_t count, unsigned status, const char *why)
{
	struct outcome whole = parse_at_once(bytes, count);
	struct outcome pieces = parse_bytewise(bytes, count);

	assert_number(whole.rc, -EPROTO);
	assert_number(whole.fault.status, status);
	assert_has(whole.fault.why, why);
	assert_number(pieces.rc, -EPROTO);
	assert_number(pieces.fault.status, status);
	assert_text(pieces.fault.why, whole.fault.why);
}

static struct ns_http_head head_of(const char *text)
{
	struct outcome outcome = parse_at_once(text, strlen(text));

	assert_number(outcome.rc, strlen(text));
	assert_number(parse_bytewise(text, strlen(text)).rc, strlen(text));
	return outcome.head;
}

/* A copy, which the caller frees. */
static char *text_of(struct ns_http_text text)
{
	char *copy = strndup(text.text ? text.text : "(none)", text.text ? text.len : 6);

	assert_non_null(copy);
	return copy;
}

#define assert_slice(slice, wanted)                                                                \
	do {                                                                                       \
		char *copy_ = text_of(slice);                                                      \
		assert_text(copy_, (wanted));                                                      \
		free(copy_);                                                                       \
	} while (0)

/* ---- what is a request ---- */

static void a_plain_get_is_read(void **state)
{
	struct ns_http_head head = head_of("GET /a/b HTTP/1.1\r\nHost: x:8080\r\n"
	                                   "User-Agent: y\r\nAccept: */*\r\n\r\n");

	(void)state;
	assert_number(head.method, NS_HTTP_GET);
	assert_number(head.minor, 1);
	assert_slice(head.path, "/a/b");
	assert_false(head.has_length || head.is_chunked || head.wants_close);
}

static void methods_and_targets_are_told_apart(void **state)
{
	static const struct {
		const char *line;
		enum ns_http_method method;
		const char *path;
	} cases[] = {
		{ "GET / HTTP/1.1", NS_HTTP_GET, "/" },
		{ "HEAD /a HTTP/1.1", NS_HTTP_HEAD, "/a" },
		{ "PUT /a%20b HTTP/1.1", NS_HTTP_PUT, "/a%20b" },
		{ "DELETE /a?b=c HTTP/1.1", NS_HTTP_DELETE, "/a" },
		{ "GET /a?b?c/d HTTP/1.1", NS_HTTP_GET, "/a" },
		{ "OPTIONS * HTTP/1.1", NS_HTTP_OPTIONS, "*" },
		{ "OPTIONS /a HTTP/1.1", NS_HTTP_OPTIONS, "/a" },
		{ "POST /a HTTP/1.1", NS_HTTP_FOREIGN, "/a" },
		{ "TRACE /a HTTP/1.1", NS_HTTP_FOREIGN, "/a" },
		{ "PATCH /a HTTP/1.1", NS_HTTP_FOREIGN, "/a" },
		{ "CONNECT a:80 HTTP/1.1", NS_HTTP_FOREIGN, "a:80" },
		{ "get /a HTTP/1.1", NS_HTTP_UNKNOWN, "/a" },
		{ "BREW /a HTTP/1.1", NS_HTTP_UNKNOWN, "/a" },
		{ "GET http://a/b?c HTTP/1.1", NS_HTTP_GET, "/b" },
		{ "GET HTTP://a.b:80 HTTP/1.1", NS_HTTP_GET, "/" },
		{ "GET http://[::1]:80?c HTTP/1.1", NS_HTTP_GET, "/" },
		{ "GET //a HTTP/1.1", NS_HTTP_GET, "//a" },
		{ "GET /a HTTP/1.7", NS_HTTP_GET, "/a" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_http_head head;
		char text[128];

		check_case("%s", cases[i].line);
		snprintf(text, sizeof(text), "%s\r\nHost: a\r\n\r\n", cases[i].line);
		head = head_of(text);
		assert_number(head.method, cases[i].method);
		assert_slice(head.path, cases[i].path);
	}
}

static void fields_are_read(void **state)
{
	struct ns_http_head head =
		head_of("PUT /a HTTP/1.1\r\nhOST:\ta \r\ncontent-length:007\r\n"
	                "Connection: foo, Close\r\nExpect: 100-Continue\r\n"
	                "If-Match: \"1\", \"2\"\r\nif-match:\"3\"\r\nIf-None-Match: *\r\n"
	                "Range: bytes=0-1\r\nIf-Range: \"4\"\r\nContent-Type: text/plain \t\r\n"
	                "Content-Range: x\r\nContent-Encoding: gzip\r\nEmpty:\r\n\r\n");

	(void)state;
	assert_number(head.length, 7);
	assert_true(head.has_length && head.wants_close && head.expects_continue);
	assert_false(head.expects_other || head.wants_alive || head.is_chunked);
	assert_number(head.if_match.count, 2);
	assert_slice(head.if_match.lines[0], "\"1\", \"2\"");
	assert_slice(head.if_match.lines[1], "\"3\"");
	assert_slice(head.if_none_match.lines[0], "*");
	assert_slice(head.range, "bytes=0-1");
	assert_slice(head.if_range, "\"4\"");
	assert_slice(head.content_type, "text/plain");
	assert_slice(head.content_range, "x");
	assert_slice(head.content_encoding, "gzip");
}

static void old_versions_need_no_host(void **state)
{
	struct ns_http_head head = head_of("GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");

	(void)state;
	assert_number(head.minor, 0);
	assert_true(head.wants_alive);
	head = head_of("GET /a HTTP/1.0\r\n\r\n");
	assert_false(head.wants_alive);
}

static void what_follows_the_head_is_left_alone(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b";
	struct outcome outcome = parse_at_once(text, sizeof(text) - 1);

	(void)state;
	assert_number(outcome.rc, sizeof(text) - 1 - 6);
}

static void a_part_of_a_head_is_no_error(void **state)
{
	static const char text[] = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		assert_number(parse_at_once(text, i).rc, -EAGAIN);
}

/* ---- what is none ---- */

#define HOST "Host: a\r\n"

static const struct {
	const char *text;
	unsigned status;
	const char *why;
} bad_heads[] = {
	/* the first line */
	{ "get a\r\n", 400, "no request line" },
	{ "GET /\r\n", 400, "no request line" },
	{ "GET\r\n", 400, "no request line" },
	{ "GET  / HTTP/1.1\r\n", 400, "no request line" },
	{ "GET /  HTTP/1.1\r\n", 400, "does not end in HTTP/1.1" },
	{ "GET / HTTP/1.1 \r\n", 400, "does not end in HTTP/1.1" },
	{ "GET /a b HTTP/1.1\r\n", 400, "does not end in HTTP/1.1" },
	{ "GET / http/1.1\r\n", 400, "does not end in HTTP/1.1" },
	{ "GET / HTTP/1\r\n", 400, "does not end in HTTP/1.1" },
	{ "GET / HTTP/1.10\r\n", 400, "does not end in HTTP/1.1" },
	{ "GET / HTTP/x.1\r\n", 400, "does not end in HTTP/1.1" },
	{ "GET / HTTP/2.0\r\n", 505, "HTTP/1.1 and HTTP/1.0" },
	{ "GET / HTTP/0.9\r\n", 505, "HTTP/1.1 and HTTP/1.0" },
	{ "GET a HTTP/1.1\r\n", 400, "no path" },
	{ "GET * HTTP/1.1\r\n", 400, "no path" },
	{ "GET ?a HTTP/1.1\r\n", 400, "no path" },
	{ "GET ftp://a/b HTTP/1.1\r\n", 400, "no path" },
	{ "GET https://a/b HTTP/1.1\r\n", 400, "no path" },
	{ "GET http:///b HTTP/1.1\r\n", 400, "no host" },
	{ "GET http://a@b/c HTTP/1.1\r\n", 400, "no host" },
	{ "GET /a#b HTTP/1.1\r\n", 400, "%XX" },
	{ "GET /\xc3\xa4 HTTP/1.1\r\n", 400, "%XX" },
	{ "GET /a\tb HTTP/1.1\r\n", 400, "%XX" },
	{ "GET /a\x7f HTTP/1.1\r\n", 400, "%XX" },
	{ "GET /a\rb HTTP/1.1\r\n", 400, "%XX" },
	{ "G(T / HTTP/1.1\r\n", 400, "no word" },
	{ "GET\t/ HTTP/1.1\r\n", 400, "no request line" },
	{ " GET / HTTP/1.1\r\n", 400, "no HTTP" },
	{ "\x16\x03\x01", 400, "no HTTP" },
	{ "\x80", 400, "no HTTP" },
	{ "GET / HTTP/1.1\n", 400, "CR LF" },
	{ "GET / HTTP/1.1\r\r\n", 400, "does not end in HTTP/1.1" },

	/* lines of the head */
	{ "GET / HTTP/1.1\r\nHost: a\n\r\n", 400, "CR LF" },
	{ "GET / HTTP/1.1\r\nHost: a\r\n\n", 400, "CR LF" },
	{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, "NAME: VALUE" },
	{ "GET / HTTP/1.1\r\nHost\r\n\r\n", 400, "NAME: VALUE" },
	{ "GET / HTTP/1.1\r\n: a\r\n\r\n", 400, "NAME: VALUE" },
	{ "GET / HTTP/1.1\r\nHo(st: a\r\n\r\n", 400, "NAME: VALUE" },
	{ "GET / HTTP/1.1\r\n" HOST " b\r\n\r\n", 400, "folded" },
	{ "GET / HTTP/1.1\r\n" HOST "X: b\r\n\tc\r\n\r\n", 400, "folded" },
	{ "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400, "folded" },
	{ "GET / HTTP/1.1\r\n" HOST "X: b\rc\r\n\r\n", 400, "control byte" },
	{ "GET / HTTP/1.1\r\n" HOST "X: b\x01\r\n\r\n", 400, "control byte" },
	{ "GET / HTTP/1.1\r\n" HOST "X: b\x7f\r\n\r\n", 400, "control byte" },

	/* Host */
	{ "GET / HTTP/1.1\r\n\r\n", 400, "no Host" },
	{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400, "more than one Host" },
	{ "GET / HTTP/1.0\r\n" HOST "Host: b\r\n\r\n", 400, "more than one Host" },
	{ "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "Host is no name" },
	{ "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "Host is no name" },
	{ "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400, "Host is no name" },

	/* where the body ends */
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: +3\r\n\r\n", 400, "no number" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", 400, "no number" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 0x3\r\n\r\n", 400, "no number" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3 3\r\n\r\n", 400, "no number" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3, 3\r\n\r\n", 400, "no number" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400, "empty" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 18446744073709551616\r\n\r\n", 400,
	  "no number" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 4\r\n\r\n", 400,
	  "more than one" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3\r\nContent-Length: 3\r\n\r\n", 400,
	  "more than one" },
	{ "PUT / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  400, "beside" },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	  "Content-Length: 3\r\n\r\n",
	  400, "beside" },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip\r\n\r\n", 501, "chunked" },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "chunked" },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: xchunked\r\n\r\n", 501, "chunked" },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n", 501, "chunked" },
	{ "PUT / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
	  "Transfer-Encoding: chunked\r\n\r\n",
	  400, "more than one" },
	{ "PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400, "in HTTP/1.0" },

	/* what may be there once */
	{ "GET / HTTP/1.1\r\n" HOST "Range: bytes=0-1\r\nRange: bytes=2-3\r\n\r\n", 400, "twice" },
	{ "GET / HTTP/1.1\r\n" HOST "If-Match: 1\r\nIf-Match: 2\r\nIf-Match: 3\r\n"
	  "If-Match: 4\r\nIf-Match: 5\r\n\r\n",
	  431, "too many lines" },
};

static void bad_heads_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_heads) / sizeof(bad_heads[0]); i++) {
		check_case("%zu: %s", i, bad_heads[i].text);
		check_refused_bytes(bad_heads[i].text, strlen(bad_heads[i].text),
		                    bad_heads[i].status, bad_heads[i].why);
	}
}

static void a_nul_is_refused_wherever_it_is(void **state)
{
	static const char in_path[] = "GET /a\0b HTTP/1.1\r\n";
	static const char in_value[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n";
	static const char in_name[] = "GET / HTTP/1.1\r\nHo\0st: a\r\n\r\n";
	static const char in_other[] = "GET / HTTP/1.1\r\n" HOST "X: a\0\r\n\r\n";

	(void)state;
	check_refused_bytes(in_path, sizeof(in_path) - 1, 400, "%XX");
	check_refused_bytes(in_value, sizeof(in_value) - 1, 400, "control byte");
	check_refused_bytes(in_name, sizeof(in_name) - 1, 400, "NAME: VALUE");
	check_refused_bytes(in_other, sizeof(in_other) - 1, 400, "control byte");
}

/* ---- limits ---- */

/* @count times @unit after @before, and @after; the caller frees it. */
static char *repeat(const char *before, const char *unit, size_t count, const char *after)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	fputs(before, out);
	for (size_t i = 0; i < count; i++)
		fputs(unit, out);
	fputs(after, out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void check_limit(char *text, unsigned status)
{
	if (status)
		check_refused_bytes(text, strlen(text), status, "too");
	else
		assert_number(parse_at_once(text, strlen(text)).rc, strlen(text));
	free(text);
}

static void limits_hold_to_the_byte(void **state)
{
	/* "GET /" and " HTTP/1.1" are 14 bytes, what stands around X's value is 32. */
	static const char end[] = " HTTP/1.1\r\n" HOST "\r\n";

	(void)state;
	check_limit(repeat("GET /", "a", NS_LINE_MAX - 14, end), 0);
	check_limit(repeat("GET /", "a", NS_LINE_MAX - 13, end), 414);
	check_limit(repeat("GET /", "a", 20000, ""), 414);
	/* Too long comes first, as it does when the end has not come yet. */
	check_limit(repeat("GET /", "a", 20000, "\n"), 414);
	check_limit(repeat("GET / HTTP/1.1\r\n" HOST, "X: y\r\n", NS_HTTP_FIELDS_MAX - 1, "\r\n"),
	            0);
	check_limit(repeat("GET / HTTP/1.1\r\n" HOST, "X: y\r\n", NS_HTTP_FIELDS_MAX, "\r\n"), 431);
	check_limit(
		repeat("GET / HTTP/1.1\r\n" HOST "X: ", "y", NS_HEAD_LINES_MAX - 32, "\r\n\r\n"),
		0);
	check_limit(
		repeat("GET / HTTP/1.1\r\n" HOST "X: ", "y", NS_HEAD_LINES_MAX - 31, "\r\n\r\n"),
		431);
	check_limit(repeat("GET / HTTP/1.1\r\n" HOST "X: ", "y", 40000, ""), 431);
}

/* ---- keys ---- */

static void paths_become_keys(void **state)
{
	static const struct {
		const char *path;
		const char *key; /* NULL: refused */
		unsigned status;
	} cases[] = {
		{ "/", "/", 0 },
		{ "/a/b", "/a/b", 0 },
		{ "/%41%c3%A4", "/A\xc3\xa4", 0 },
		{ "/a%2Fb", "/a/b", 0 },
		{ "/%2541", "/%41", 0 },
		{ "/a%3Fb", "/a?b", 0 },
		{ "/a+b", "/a+b", 0 },
		{ "/...", "/...", 0 },
		{ "/.a/b.", "/.a/b.", 0 },
		{ "//", "//", 0 },
		{ "/%00", NULL, 400 },
		{ "/%0d%0aX:", NULL, 400 },
		{ "/%7f", NULL, 400 },
		{ "/a%20b", NULL, 400 },
		{ "/%zz", NULL, 400 },
		{ "/%4", NULL, 400 },
		{ "/%", NULL, 400 },
		{ "/%%41", NULL, 400 },
		{ "/../../etc/passwd", NULL, 400 },
		{ "/a/..", NULL, 400 },
		{ "/./a", NULL, 400 },
		{ "/%2e%2E/a", NULL, 400 },
		{ "/a%2f..", NULL, 400 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_http_text path = { .text = cases[i].path, .len = strlen(cases[i].path) };
		struct ns_http_fault fault = { 0 };
		char key[NS_KEY_MAX];
		size_t len = 0;
		int rc = ns_http_key(path, key, &len, &fault);

		check_case("%s", cases[i].path);
		assert_number(rc, cases[i].key ? 0 : -EPROTO);
		assert_number(fault.status, cases[i].status);
		if (cases[i].key) {
			assert_number(len, strlen(cases[i].key));
			assert_memory_equal(key, cases[i].key, len);
		}
	}
}

static void a_key_is_at_most_250_bytes_after_decoding(void **state)
{
	char *fits = repeat("/", "%41", NS_KEY_MAX - 1, "");
	char *does_not = repeat("/", "%41", NS_KEY_MAX, "");
	struct ns_http_text path = { .text = fits, .len = strlen(fits) };
	struct ns_http_fault fault;
	char key[NS_KEY_MAX];
	size_t len;

	(void)state;
	assert_number(ns_http_key(path, key, &len, &fault), 0);
	assert_number(len, NS_KEY_MAX);
	path = (struct ns_http_text){ .text = does_not, .len = strlen(does_not) };
	assert_number(ns_http_key(path, key, &len, &fault), -EPROTO);
	assert_number(fault.status, 414);
	free(fits);
	free(does_not);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_get_is_read),
		cmocka_unit_test(methods_and_targets_are_told_apart),
		cmocka_unit_test(fields_are_read),
		cmocka_unit_test(old_versions_need_no_host),
		cmocka_unit_test(what_follows_the_head_is_left_alone),
		cmocka_unit_test(a_part_of_a_head_is_no_error),
		cmocka_unit_test(bad_heads_are_refused),
		cmocka_unit_test(a_nul_is_refused_wherever_it_is),
		cmocka_unit_test(limits_hold_to_the_byte),
		cmocka_unit_test(paths_become_keys),
		cmocka_unit_test(a_key_is_at_most_250_bytes_after_decoding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
