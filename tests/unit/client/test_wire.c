/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../server/client/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests ---- */

static const struct {
	enum nl_protocol protocol;
	enum nl_verb verb;
	const char *host;
	const char *wanted;
} requests[] = {
	{ NL_MEMCACHE, NL_GET, "a:1", "get k\r\n" },
	{ NL_MEMCACHE, NL_SET, "a:1", "set k 0 0 1073741824\r\n" },
	{ NL_HTTP, NL_GET, "a:1", "GET k HTTP/1.1\r\nHost: a:1\r\nUser-Agent: numalat\r\n\r\n" },
	{ NL_HTTP, NL_SET, "[::1]:80",
	  "PUT k HTTP/1.1\r\nHost: [::1]:80\r\nUser-Agent: numalat\r\n"
	  "Content-Length: 1073741824\r\n\r\n" },
	{ NL_HTTP, NL_GET, "::1", "GET k HTTP/1.1\r\nHost: [::1]\r\nUser-Agent: numalat\r\n\r\n" },
	{ NL_HTTP, NL_GET, "unix:/run/x",
	  "GET k HTTP/1.1\r\nHost: localhost\r\nUser-Agent: numalat\r\n\r\n" },
};

static void requests_are_those_of_the_protocol(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		char request[NL_REQUEST_MAX];
		size_t size = nl_request_format(requests[i].protocol, requests[i].verb,
		                                requests[i].host, "k", 1073741824, request);

		check_case("%zu", i);
		assert_text(request, requests[i].wanted);
		assert_number(size, strlen(requests[i].wanted));
	}
	assert_text(nl_request_tail(NL_MEMCACHE), "\r\n");
	assert_text(nl_request_tail(NL_HTTP), "");
}

static void the_longest_request_has_room(void **state)
{
	char request[NL_REQUEST_MAX];
	char host[260];
	char key[NL_KEY_MAX + 1];

	(void)state;
	memset(host, 'h', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	memset(key, 'k', sizeof(key));
	key[NL_KEY_MAX] = '\0';
	for (enum nl_protocol protocol = NL_MEMCACHE; protocol <= NL_HTTP; protocol++) {
		size_t size = nl_request_format(protocol, NL_SET, host, key, UINT64_MAX, request);

		assert_true(size < NL_REQUEST_MAX);
		assert_number(strlen(request), size);
		assert_text(request + size - 2, "\r\n");
	}
}

/* ---- replies ---- */

struct good {
	enum nl_verb verb;
	enum nl_reply_kind kind;
	const char *head;
	uint64_t body_bytes;
	const char *text; /* NULL = the first line */
	bool closes;
};

/* To a request for "k". */
static const struct good memcache[] = {
	{ NL_GET, NL_REPLY_VALUE, "VALUE k 0 0\r\n", 0, NULL, false },
	{ NL_GET, NL_REPLY_VALUE, "VALUE k 0 1024\r\n", 1024, NULL, false },
	{ NL_GET, NL_REPLY_VALUE, "VALUE k 4294967295 1024\r\n", 1024, NULL, false },
	{ NL_GET, NL_REPLY_VALUE, "VALUE k 0 1024 18446744073709551615\r\n", 1024, NULL, false },
	{ NL_GET, NL_REPLY_VALUE, "VALUE k 0 9223372036854775807\r\n", INT64_MAX, NULL, false },
	{ NL_GET, NL_REPLY_MISS, "END\r\n", 0, NULL, false },
	{ NL_GET, NL_REPLY_REFUSED, "ERROR\r\n", 0, NULL, false },
	{ NL_GET, NL_REPLY_REFUSED, "ERROR Too many open connections\r\n", 0, NULL, false },
	{ NL_GET, NL_REPLY_REFUSED, "SERVER_ERROR out of memory writing get response\r\n", 0, NULL,
	  false },
	{ NL_GET, NL_REPLY_REFUSED, "CLIENT_ERROR \x1b[2J\r\n", 0, "CLIENT_ERROR \\x1b[2J", false },
	{ NL_SET, NL_REPLY_STORED, "STORED\r\n", 0, NULL, false },
	{ NL_SET, NL_REPLY_REFUSED, "NOT_STORED\r\n", 0, NULL, false },
	{ NL_SET, NL_REPLY_REFUSED, "SERVER_ERROR object too large for cache\r\n", 0, NULL, false },
};

#define OK "HTTP/1.1 200 OK\r\n"

static const struct good http[] = {
	{ NL_GET, NL_REPLY_VALUE, OK "Content-Length: 5\r\n\r\n", 5, "HTTP/1.1 200 OK", false },
	{ NL_GET, NL_REPLY_VALUE, "HTTP/1.1 200\r\nContent-Length:5\r\n\r\n", 5, "HTTP/1.1 200",
	  false },
	{ NL_GET, NL_REPLY_VALUE, OK "Server: x\r\ncONTENT-lENGTH: \t 0005 \t\r\nEmpty:\r\n\r\n", 5,
	  "HTTP/1.1 200 OK", false },
	{ NL_GET, NL_REPLY_VALUE, OK "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 5,
	  "HTTP/1.1 200 OK", false },
	{ NL_GET, NL_REPLY_VALUE, OK "Content-Length: 9223372036854775807\r\n\r\n", INT64_MAX,
	  "HTTP/1.1 200 OK", false },
	{ NL_GET, NL_REPLY_VALUE, OK "Content-Length: 5\r\nConnection: close\r\n\r\n", 5,
	  "HTTP/1.1 200 OK", true },
	{ NL_GET, NL_REPLY_VALUE, OK "Connection: upgrade , Close\r\nContent-Length: 5\r\n\r\n", 5,
	  "HTTP/1.1 200 OK", true },
	{ NL_GET, NL_REPLY_VALUE, OK "Connection: keep-alive, closed\r\nContent-Length: 5\r\n\r\n",
	  5, "HTTP/1.1 200 OK", false },
	{ NL_GET, NL_REPLY_VALUE, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", 5,
	  "HTTP/1.0 200 OK", true },
	{ NL_GET, NL_REPLY_VALUE,
	  "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n" OK
	  "Content-Length: 5\r\n\r\n",
	  5, "HTTP/1.1 200 OK", false },
	{ NL_GET, NL_REPLY_MISS, "HTTP/1.1 404 Not Found\r\nContent-Length: 153\r\n\r\n", 153,
	  "HTTP/1.1 404 Not Found", false },
	/* Pages whose end is not known end the connection. */
	{ NL_GET, NL_REPLY_MISS, "HTTP/1.1 404 Not Found\r\n\r\n", 0, "HTTP/1.1 404 Not Found",
	  true },
	{ NL_GET, NL_REPLY_MISS, "HTTP/1.1 404 X\r\nTransfer-Encoding: chunked\r\n\r\n", 0,
	  "HTTP/1.1 404 X", true },
	{ NL_GET, NL_REPLY_REFUSED, "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\n", 5,
	  "HTTP/1.1 206 Partial Content", false },
	{ NL_GET, NL_REPLY_REFUSED, "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 0,
	  "HTTP/1.1 204 No Content", false },
	{ NL_GET, NL_REPLY_REFUSED, "HTTP/1.1 304 Not Modified\r\n\r\n", 0,
	  "HTTP/1.1 304 Not Modified", false },
	{ NL_GET, NL_REPLY_REFUSED, "HTTP/1.1 500 \xff\r\nContent-Length: 0\r\n\r\n", 0,
	  "HTTP/1.1 500 \\xff", false },
	{ NL_SET, NL_REPLY_STORED, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", 0,
	  "HTTP/1.1 201 Created", false },
	{ NL_SET, NL_REPLY_STORED, "HTTP/1.1 204 No Content\r\n\r\n", 0, "HTTP/1.1 204 No Content",
	  false },
	{ NL_SET, NL_REPLY_STORED, OK "Content-Length: 3\r\n\r\n", 3, "HTTP/1.1 200 OK", false },
	{ NL_SET, NL_REPLY_REFUSED, "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\n", 3,
	  "HTTP/1.1 404 Not Found", false },
	{ NL_SET, NL_REPLY_REFUSED, "HTTP/1.1 405 Not Allowed\r\nContent-Length: 9\r\n\r\n", 9,
	  "HTTP/1.1 405 Not Allowed", false },
};

/* Parses the first bytes from a block of just that size, so that reading beyond it is found. */
static int parse(enum nl_protocol protocol, enum nl_verb verb, const char *bytes, size_t size,
                 struct nl_reply *ret, struct np_error *err)
{
	char *block = malloc(size > 0 ? size : 1);
	int rc;

	assert_non_null(block);
	memcpy(block, bytes, size);
	rc = nl_reply_parse(protocol, verb, "k", block, size, ret, err);
	free(block);
	return rc;
}

static void check_good(enum nl_protocol protocol, const struct good *good)
{
	size_t size = strlen(good->head);
	struct np_error err = { 0 };
	struct nl_reply reply = { 0 };
	static const char behind[3] = { '\r', '\n', '\n' };
	char *followed = malloc(size + sizeof(behind));
	char first[NL_REPLY_TEXT_SIZE] = "";

	for (size_t cut = 0; cut < size; cut++) {
		check_case("'%s' cut at %zu", good->head, cut);
		assert_np_ok(parse(protocol, good->verb, good->head, cut, &reply, &err), &err);
		assert_number(reply.kind, NL_REPLY_MORE);
	}
	/* Whatever follows is not its business. */
	memcpy(followed, good->head, size);
	memcpy(followed + size, behind, sizeof(behind));
	memcpy(first, good->head, strcspn(good->head, "\r"));
	for (size_t more = 0; more <= 3; more++) {
		check_case("'%s' and %zu", good->head, more);
		assert_np_ok(parse(protocol, good->verb, followed, size + more, &reply, &err),
		             &err);
		assert_number(reply.kind, good->kind);
		assert_number(reply.head_bytes, size);
		assert_number(reply.body_bytes, good->body_bytes);
		assert_number(reply.tail_bytes,
		              protocol == NL_MEMCACHE && good->kind == NL_REPLY_VALUE ? 7 : 0);
		assert_number(reply.closes, good->closes);
		assert_text(reply.text, good->text ? good->text : first);
	}
	free(followed);
}

static void replies_are_understood_when_they_are_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(memcache) / sizeof(memcache[0]); i++)
		check_good(NL_MEMCACHE, &memcache[i]);
	for (size_t i = 0; i < sizeof(http) / sizeof(http[0]); i++)
		check_good(NL_HTTP, &http[i]);
}

static const struct {
	enum nl_protocol protocol;
	enum nl_verb verb;
	const char *head;
	const char *why;
} bad[] = {
	{ NL_MEMCACHE, NL_GET, "\r\n", "the server's '' is no reply to get" },
	{ NL_MEMCACHE, NL_GET, "END\n", "'END' does not end in CR and LF" },
	{ NL_MEMCACHE, NL_GET, "\n", "does not end in CR and LF" },
	{ NL_MEMCACHE, NL_GET, "END \r\n", "'END ' is no reply to get" },
	{ NL_MEMCACHE, NL_GET, "end\r\n", "'end' is no reply to get" },
	{ NL_MEMCACHE, NL_GET, "STORED\r\n", "'STORED' is no reply to get" },
	{ NL_MEMCACHE, NL_GET, "ERRORS\r\n", "'ERRORS' is no reply to get" },
	{ NL_MEMCACHE, NL_GET, "\x80\x01\r\n", "'\\x80\\x01' is no reply to get" },
	{ NL_MEMCACHE, NL_GET, "HTTP/1.1 400 Bad Request\r\n", "is HTTP: -P http speaks it" },
	{ NL_MEMCACHE, NL_SET, "END\r\n", "'END' is no reply to set" },
	{ NL_MEMCACHE, NL_SET, "VALUE k 0 5\r\n", "is no reply to set" },
	{ NL_MEMCACHE, NL_GET, "VALUE kk 0 5\r\n", "'VALUE kk 0 5' is the value of another key" },
	{ NL_MEMCACHE, NL_GET, "VALUE  0 5\r\n", "another key" },
	{ NL_MEMCACHE, NL_GET, "VALUE k\r\n", "is not VALUE, key, flags and length" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 \r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 5 \r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k  0 5\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 5 x\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 5 1 2\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k -1 5\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 4294967296 5\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 -5\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 0x5\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 9223372036854775808\r\n", "is not VALUE" },
	{ NL_MEMCACHE, NL_GET, "VALUE k 0 99999999999999999999999999\r\n", "is not VALUE" },
	{ NL_HTTP, NL_GET, "ERROR\r\n", "'ERROR' is no status line of HTTP/1.0 or 1.1" },
	{ NL_HTTP, NL_GET, "HTTP/2 200\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "http/1.1 200 OK\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.2 200 OK\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1  200 OK\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 20 OK\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 2000\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 099 x\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 600 x\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 +20 x\r\n", "is no status line" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 200 OK\n", "does not end in CR and LF" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 200 O\rK\r\n", "'HTTP/1.1 200 O\\x0dK' has control bytes" },
	{ NL_HTTP, NL_GET, OK "A: b\n\r\n", "does not end in CR and LF" },
	{ NL_HTTP, NL_GET, OK "A\r\n", "'A' is no field of a head" },
	{ NL_HTTP, NL_GET, OK ": b\r\n", "is no field" },
	{ NL_HTTP, NL_GET, OK "A : b\r\n", "is no field" },
	{ NL_HTTP, NL_GET, OK "A: b\r\n folded\r\n", "is no field" },
	{ NL_HTTP, NL_GET, OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
	  "'6' is a second Content-Length that differs from the first" },
	{ NL_HTTP, NL_GET, OK "Content-Length: 5, 5\r\n\r\n", "'5, 5' is no Content-Length" },
	{ NL_HTTP, NL_GET, OK "Content-Length: +5\r\n\r\n", "is no Content-Length" },
	{ NL_HTTP, NL_GET, OK "Content-Length: -5\r\n\r\n", "is no Content-Length" },
	{ NL_HTTP, NL_GET, OK "Content-Length: 5 5\r\n\r\n", "is no Content-Length" },
	{ NL_HTTP, NL_GET, OK "Content-Length:\r\n\r\n", "is no Content-Length" },
	{ NL_HTTP, NL_GET, OK "Content-Length: 9223372036854775808\r\n\r\n",
	  "is no Content-Length" },
	{ NL_HTTP, NL_GET, OK "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	  "the server sends the value in chunks, whose length is not known beforehand" },
	{ NL_HTTP, NL_GET, OK "transfer-encoding: x\r\n\r\n", "in chunks" },
	{ NL_HTTP, NL_GET, OK "\r\n", "does not tell the value's length" },
	{ NL_HTTP, NL_GET, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200", NULL },
};

/* No part of a wrong reply is taken for a whole one either. */
static void what_is_no_reply_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		size_t size = strlen(bad[i].head);

		for (size_t cut = 0; cut <= size; cut++) {
			struct np_error err = { 0 };
			struct nl_reply reply = { .kind = NL_REPLY_MORE };
			int rc =
				parse(bad[i].protocol, bad[i].verb, bad[i].head, cut, &reply, &err);

			check_case("'%s' cut at %zu", bad[i].head, cut);
			if (cut == size && bad[i].why)
				assert_fails(rc, -EPROTO, &err, bad[i].why);
			else
				assert_true(rc == -EPROTO ||
				            (rc == 0 && reply.kind == NL_REPLY_MORE));
		}
	}
}

static void a_nul_is_a_byte_as_any_other(void **state)
{
	struct nl_reply reply = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_fails(parse(NL_MEMCACHE, NL_GET, "END\0\r\n", 6, &reply, &err), -EPROTO, &err,
	             "'END\\x00' is no reply");
	assert_fails(parse(NL_HTTP, NL_GET, OK "A: \0\r\n", sizeof(OK) - 1 + 6, &reply, &err),
	             -EPROTO, &err, "'A: \\x00' has control bytes in it");
}

/* Heads are read up to NL_HEAD_MAX and no further. */
static void a_head_without_an_end_is_refused(void **state)
{
	static const char end[4] = { '\r', '\n', '\r', '\n' };
	static const char begin[] = OK "A: ";
	const size_t size = NL_HEAD_MAX + 100;
	char *head = malloc(size);
	struct nl_reply reply = { 0 };
	struct np_error err = { 0 };

	(void)state;
	memset(head, 'x', size);
	assert_np_ok(parse(NL_MEMCACHE, NL_GET, head, NL_HEAD_MAX - 1, &reply, &err), &err);
	assert_number(reply.kind, NL_REPLY_MORE);
	assert_fails(parse(NL_MEMCACHE, NL_GET, head, NL_HEAD_MAX, &reply, &err), -EPROTO, &err,
	             "no end within 16384 bytes: 'xxx");
	memcpy(head, begin, sizeof(begin) - 1);
	assert_np_ok(parse(NL_HTTP, NL_GET, head, NL_HEAD_MAX - 1, &reply, &err), &err);
	assert_fails(parse(NL_HTTP, NL_GET, head, size, &reply, &err), -EPROTO, &err,
	             "no end within 16384 bytes: 'HTTP/1.1 200 OK\\x0d\\x0aA: xx");
	/* The end just behind the limit. */
	memcpy(head + NL_HEAD_MAX - 3, end, sizeof(end));
	assert_fails(parse(NL_HTTP, NL_SET, head, size, &reply, &err), -EPROTO, &err, "no end");
	memcpy(head + NL_HEAD_MAX - 4, end, sizeof(end));
	assert_np_ok(parse(NL_HTTP, NL_SET, head, size, &reply, &err), &err);
	assert_number(reply.head_bytes, NL_HEAD_MAX);
	free(head);
}

static void a_long_line_is_cut_when_it_is_shown(void **state)
{
	char line[300];
	struct nl_reply reply = { 0 };
	struct np_error err = { 0 };

	(void)state;
	memset(line, '\xff', sizeof(line));
	memcpy(line, "SERVER_ERROR ", 13);
	memcpy(line + sizeof(line) - 2, "\r\n", 2);
	assert_np_ok(parse(NL_MEMCACHE, NL_GET, line, sizeof(line), &reply, &err), &err);
	assert_number(reply.kind, NL_REPLY_REFUSED);
	assert_true(is_printable_line(reply.text));
	assert_text(reply.text + strlen(reply.text) - 7, "\\xff...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_those_of_the_protocol),
		cmocka_unit_test(the_longest_request_has_room),
		cmocka_unit_test(replies_are_understood_when_they_are_whole),
		cmocka_unit_test(what_is_no_reply_is_refused),
		cmocka_unit_test(a_nul_is_a_byte_as_any_other),
		cmocka_unit_test(a_head_without_an_end_is_refused),
		cmocka_unit_test(a_long_line_is_cut_when_it_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
