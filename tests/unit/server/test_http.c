/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole conversations over HTTP and with the admin port, over a real store: what is answered, and
 * whether the connection goes on. Each is held in one piece and byte by byte.
 */
#include "check.h"

#include "protocol/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a store and those who talk to it ---- */

enum {
	BLOCK_BYTES = 65536,
	BLOCK_COUNT = 8,
	ARENA_BYTES = BLOCK_BYTES * BLOCK_COUNT,
	HEAD_BYTES = 16384
};

struct fixture {
	struct ns_config config;
	struct ns_arena arena;
	struct ns_arena_report report;
	struct ns_memory_plan plan;
	struct ns_store *store;
	struct ns_thread *thread;
	struct ns_worker_counts counts;
	struct ns_server_state server;
	struct ns_session_context context;
};

static void set_up(struct fixture *f)
{
	struct ns_store_setup setup = { .config = &f->config,
		                        .arenas = &f->arena,
		                        .arena_count = 1,
		                        .threads_max = 2,
		                        .hash_seed = 1 };
	struct np_error err = { 0 };

	*f = (struct fixture){ 0 };
	f->config = (struct ns_config){ .block_bytes = BLOCK_BYTES,
		                        .head_bytes = HEAD_BYTES,
		                        .memory_bytes = ARENA_BYTES,
		                        .object_bytes_max = HEAD_BYTES,
		                        .no_evict = true,
		                        .increment = 1,
		                        .decay = 0.5 };
	f->arena.plan = (struct ns_arena_plan){ .distance = 10, .bytes = ARENA_BYTES };
	f->arena.block_bytes = BLOCK_BYTES;
	f->arena.block_count = BLOCK_COUNT;
	f->arena.base = aligned_alloc(BLOCK_BYTES, ARENA_BYTES);
	assert_non_null(f->arena.base);
	assert_np_ok(ns_store_create(&setup, &f->store, &err), &err);
	f->thread = ns_thread_join(f->store, 0);
	assert_non_null(f->thread);
	f->plan.serving_nodes = set_of("0");
	f->server = (struct ns_server_state){ .config = &f->config,
		                              .store = f->store,
		                              .plan = &f->plan,
		                              .arenas = &f->arena,
		                              .reports = &f->report,
		                              .arena_count = 1,
		                              .workers = &f->counts,
		                              .worker_count = 1 };
	f->context = (struct ns_session_context){ .server = &f->server,
		                                  .counts = &f->counts,
		                                  .thread = f->thread,
		                                  .config = &f->config,
		                                  .store = f->store,
		                                  .now_s = ns_store_now_s(f->store),
		                                  .date = "Mon, 30 Nov 2026 20:56:24 GMT" };
}

static void tear_down(struct fixture *f)
{
	ns_thread_rest(f->thread);
	ns_thread_leave(f->thread);
	ns_store_free(f->store);
	np_bitmap_release(&f->plan.serving_nodes);
	free(f->arena.base);
}

/* What was answered to some bytes. */
struct talk {
	char *text; /* terminated */
	size_t len;
	bool is_over;
};

static void take_output(struct ns_session *session, FILE *out)
{
	struct iovec pieces[8];
	unsigned count;

	while ((count = ns_session_output(session, pieces, 8)) > 0) {
		size_t bytes = 0;

		for (unsigned i = 0; i < count; i++) {
			fwrite(pieces[i].iov_base, 1, pieces[i].iov_len, out);
			bytes += pieces[i].iov_len;
		}
		ns_session_sent(session, bytes);
	}
}

static struct talk talk_in_pieces(struct fixture *f, enum ns_session_kind kind, const char *bytes,
                                  size_t count, size_t piece)
{
	struct ns_session *session = ns_session_create(kind, &f->context);
	struct talk talk = { 0 };
	FILE *out = open_memstream(&talk.text, &talk.len);
	size_t at = 0;

	assert_non_null(session);
	assert_non_null(out);
	while (!ns_session_is_over(session) && (at < count || ns_session_is_ready(session))) {
		char *room;
		size_t size;

		if (ns_session_is_ready(session)) {
			ns_session_continue(session);
		} else {
			size = ns_session_room(session, &room);
			assert_true(size > 0);
			if (size > piece)
				size = piece;
			if (size > count - at)
				size = count - at;
			memcpy(room, bytes + at, size);
			at += size;
			ns_session_received(session, size);
		}
		take_output(session, out);
	}
	talk.is_over = ns_session_is_over(session);
	ns_session_free(session);
	assert_int_equal(fclose(out), 0);
	return talk;
}

static struct talk talk(struct fixture *f, const char *text)
{
	return talk_in_pieces(f, NS_SESSION_HTTP, text, strlen(text), SIZE_MAX);
}

/* "200 404": the statuses of the answers, in order. */
static void list_statuses(const char *text, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	while ((text = strstr(text, "HTTP/1.1 ")) && len + 5 < size) {
		text += strlen("HTTP/1.1 ");
		/* Texts for people speak of it too. */
		if (*text >= '1' && *text <= '5')
			len += (size_t)snprintf(buf + len, size - len, "%s%.3s", len ? " " : "",
			                        text);
	}
}

/* ---- the tables ---- */

#define HOST "Host: a\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"
#define GET_WITH(path, field) "GET " path " HTTP/1.1\r\n" HOST field "\r\n\r\n"
#define PUT_WITH(path, field) "PUT " path " HTTP/1.1\r\n" HOST field "\r\n"
#define PUT(path) PUT_WITH(path, "Content-Length: 10\r\n") "0123456789"
#define CHUNKED(path) PUT_WITH(path, "Transfer-Encoding: chunked\r\n")
#define DELETE(path) "DELETE " path " HTTP/1.1\r\n" HOST "\r\n"

/* A conversation and the statuses of its answers. */
struct exchange {
	const char *text;
	const char *statuses;
	bool is_over; /* the connection is */
};

static const struct exchange exchanges[] = {
	/* the methods */
	{ GET("/a"), "404", false },
	{ PUT("/a") GET("/a"), "201 200", false },
	{ PUT("/a") PUT("/a") GET("/a"), "201 204 200", false },
	{ PUT("/a") "HEAD /a HTTP/1.1\r\n" HOST "\r\n" GET("/a"), "201 200 200", false },
	{ "HEAD /a HTTP/1.1\r\n" HOST "\r\n" GET("/a"), "404 404", false },
	{ PUT("/a") DELETE("/a") DELETE("/a") GET("/a"), "201 204 404 404", false },
	{ PUT_WITH("/a", "Content-Length: 0\r\n") GET("/a"), "201 200", false },
	{ "OPTIONS * HTTP/1.1\r\n" HOST "\r\n" GET("/a"), "204 404", false },
	{ "OPTIONS /a HTTP/1.1\r\n" HOST "\r\n", "204", false },
	{ "TRACE /a HTTP/1.1\r\n" HOST "\r\n" GET("/a"), "405 404", false },
	{ "POST /a HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc" GET("/a"), "405 404", false },
	{ "BREW /a HTTP/1.1\r\n" HOST "\r\n" GET("/a"), "501 404", false },
	{ "get /a HTTP/1.1\r\n" HOST "\r\n", "501", false },

	/* the connection */
	{ "\r\n\r\n" GET("/a") "\r\n" GET("/a"), "404 404", false },
	{ GET("/a") GET("/b") GET("/c"), "404 404 404", false },
	{ GET_WITH("/a", "Connection: close") GET("/b"), "404", true },
	{ "GET /a HTTP/1.0\r\n\r\n" GET("/b"), "404", true },
	{ "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" GET("/b"), "404 404", false },
	{ GET("http://x/a?b"), "404", false },

	/* bodies that nobody wants */
	{ GET_WITH("/a", "Content-Length: 3") "abc" GET("/a"), "404 404", false },
	{ GET_WITH("/a", "Content-Length: 9999999") "abc", "404", true },
	{ GET_WITH("/a", "Transfer-Encoding: chunked") "0\r\n\r\n", "404", true },

	/* ranges */
	{ PUT("/a") GET_WITH("/a", "Range: bytes=2-4"), "201 206", false },
	{ PUT("/a") GET_WITH("/a", "Range: bytes=50-") GET("/a"), "201 416 200", false },
	{ PUT("/a") GET_WITH("/a", "Range: bytes=4-2"), "201 200", false },
	{ PUT("/a") GET_WITH("/a", "Range: bytes=0-18446744073709551616"), "201 206", false },
	{ PUT("/a") GET_WITH("/a", "Range: bytes=-0"), "201 416", false },
	{ PUT("/a") GET_WITH("/a", "Range: bytes=0-1,3-4"), "201 200", false },
	{ PUT("/a") "HEAD /a HTTP/1.1\r\n" HOST "Range: bytes=2-4\r\n\r\n", "201 200", false },
	{ PUT("/a") GET_WITH("/a", "Range: bytes=2-4\r\nIf-Range: \"x\""), "201 200", false },

	/* conditions */
	{ PUT("/a") GET_WITH("/a", "If-None-Match: *") GET("/a"), "201 304 200", false },
	{ PUT("/a") GET_WITH("/a", "If-Match: \"x\"") GET("/a"), "201 412 200", false },
	{ GET_WITH("/a", "If-Match: \"x\""), "404", false },
	{ PUT_WITH("/a", "If-None-Match: *\r\nContent-Length: 1\r\n") "x" GET("/a"), "201 200",
	  false },
	{ PUT("/a") PUT_WITH("/a", "If-None-Match: *\r\nContent-Length: 1\r\n") "x" GET("/a"),
	  "201 412 200", false },
	{ PUT_WITH("/a", "If-Match: *\r\nContent-Length: 1\r\n") "x" GET("/a"), "412 404", false },
	{ PUT("/a") PUT_WITH("/a", "If-Match: *\r\nContent-Length: 1\r\n") "x", "201 204", false },
	{ PUT("/a") "DELETE /a HTTP/1.1\r\n" HOST "If-Match: \"x\"\r\n\r\n" GET("/a"),
	  "201 412 200", false },
	{ PUT("/a") "DELETE /a HTTP/1.1\r\n" HOST "If-Match: *\r\n\r\n" GET("/a"), "201 204 404",
	  false },

	/* values that come in chunks */
	{ CHUNKED("/a") "3\r\nabc\r\n0\r\n\r\n" GET("/a"), "201 200", false },
	{ CHUNKED("/a") "0\r\n\r\n" CHUNKED("/a") "1;x\r\na\r\n0\r\nT: y\r\n\r\n" GET("/a"),
	  "201 204 200", false },
	{ CHUNKED("/a") "10000000000000000\r\na", "400", true },
	{ CHUNKED("/a") "3\r\nabcd\r\n0\r\n\r\n", "400", true },
	{ CHUNKED("/a") "3\nabc\r\n0\r\n\r\n", "400", true },

	/* expectations */
	{ PUT_WITH("/a", "Expect: 100-continue\r\nContent-Length: 3\r\n") "abc" GET("/a"),
	  "100 201 200", false },
	{ CHUNKED("/a") "0\r\n\r\n" PUT_WITH("/a", "Expect: 100-continue\r\n"
	                                           "Transfer-Encoding: chunked\r\n") "0\r\n\r\n",
	  "201 100 204", false },
	{ "PUT /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc", "201", true },
	{ PUT_WITH("/a", "Expect: foo\r\nContent-Length: 3\r\n"), "417", true },
	{ GET_WITH("/a", "Expect: foo") GET("/a"), "417 404", false },
	{ PUT_WITH("/a", "Expect: 100-continue\r\nIf-Match: *\r\nContent-Length: 3\r\n"), "412",
	  true },

	/* what cannot be stored */
	{ PUT_WITH("/a", ""), "411", true },
	{ PUT_WITH("/a", "Content-Length: 16385\r\n"), "413", true },
	{ PUT_WITH("/a", "Content-Length: 18446744073709551615\r\n"), "413", true },
	{ CHUNKED("/a") "4001\r\n", "413", true }, /* as soon as it is told */
	{ PUT_WITH("/a", "Content-Range: bytes 0-2/3\r\nContent-Length: 3\r\n") "abc" GET("/a"),
	  "400 404", false },
	{ PUT_WITH("/a", "Content-Encoding: gzip\r\nContent-Length: 3\r\n") "abc" GET("/a"),
	  "415 404", false },

	/* keys */
	{ GET("/../../etc/passwd") GET("/a"), "400 404", false },
	{ GET("/%00") GET("/%zz") GET("/%0a") GET("/a"), "400 400 400 404", false },
	{ PUT("/%zz") GET("/a"), "400 404", false },
	{ PUT("/%61") GET("/a"), "201 200", false },

	/* what is no request: the connection ends */
	{ "get a\r\n" GET("/a"), "400", true },
	{ "GET /\r\n", "400", true },
	{ "GET / HTTP/1.1\r\n\r\n" GET("/a"), "400", true },
	{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "400", true },
	{ "GET / HTTP/2.0\r\n", "505", true },
	{ "GET / HTTP/1.1\n", "400", true },
	{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400", true },
	{ GET_WITH("/", "X: a\r\n b"), "400", true },
	{ GET_WITH("/", "X: a\rb"), "400", true },
	{ PUT_WITH("/", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") "abc", "400", true },
	{ PUT_WITH("/", "Content-Length: 3\r\nContent-Length: 4\r\n") "abcd", "400", true },
	{ PUT_WITH("/", "Content-Length: +3\r\n") "abc", "400", true },
	{ PUT_WITH("/", "Content-Length: -1\r\n"), "400", true },
	{ PUT_WITH("/", "Content-Length: 18446744073709551616\r\n"), "400", true },
	{ PUT_WITH("/", "Transfer-Encoding: gzip\r\n"), "501", true },
	{ "\x80\x01", "400", true },
};

static void check_exchange(const struct exchange *exchange, size_t piece)
{
	struct fixture f;
	struct talk answers;
	char statuses[64];

	set_up(&f);
	answers =
		talk_in_pieces(&f, NS_SESSION_HTTP, exchange->text, strlen(exchange->text), piece);
	list_statuses(answers.text, statuses, sizeof(statuses));
	assert_text(statuses, exchange->statuses ? exchange->statuses : "");
	assert_number(answers.is_over, exchange->is_over);
	/* Whoever is sent away is told so. */
	assert_number(strstr(answers.text, "Connection: close\r\n") != NULL, exchange->is_over);
	free(answers.text);
	tear_down(&f);
}

static void every_request_has_its_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(exchanges) / sizeof(exchanges[0]); i++) {
		check_case("%zu, at once: %s", i, exchanges[i].text);
		check_exchange(&exchanges[i], SIZE_MAX);
		check_case("%zu, byte by byte: %s", i, exchanges[i].text);
		check_exchange(&exchanges[i], 1);
	}
}

/* ---- to the byte ---- */

/* The tag of the only answer that has one, with its quotes. */
static char *tag_of(const char *text)
{
	const char *tag = strstr(text, "ETag: ");
	const char *end;
	char *copy;

	assert_non_null(tag);
	end = strstr(tag, "\r\n");
	assert_non_null(end);
	copy = strndup(tag + 6, (size_t)(end - tag - 6));
	assert_non_null(copy);
	return copy;
}

static void an_object_comes_back_with_its_type_and_tag(void **state)
{
	struct fixture f;
	struct talk stored;
	struct talk got;
	char wanted[512];
	char *tag;

	(void)state;
	set_up(&f);
	stored = talk(&f,
	              PUT_WITH("/a", "Content-Type: text/x; y=z\r\nContent-Length: 3\r\n") "abc");
	tag = tag_of(stored.text);
	got = talk(&f, GET("/a"));

	snprintf(wanted, sizeof(wanted),
	         "HTTP/1.1 200 OK\r\nServer: numastore\r\nDate: Mon, 30 Nov 2026 20:56:24 GMT\r\n"
	         "Content-Length: 3\r\nETag: %s\r\nAccept-Ranges: bytes\r\n"
	         "Content-Type: text/x; y=z\r\n\r\nabc",
	         tag);
	assert_text(got.text, wanted);
	free(stored.text);
	free(got.text);
	free(tag);
	tear_down(&f);
}

static void a_part_comes_with_its_place(void **state)
{
	struct fixture f;
	struct talk got;

	(void)state;
	set_up(&f);
	got = talk(&f, PUT("/a") GET_WITH("/a", "Range: bytes=-3"));
	assert_has(got.text, "Content-Length: 3\r\n");
	assert_has(got.text, "Content-Range: bytes 7-9/10\r\n");
	assert_has(got.text, "Content-Type: application/octet-stream\r\n\r\n789");
	free(got.text);
	got = talk(&f, GET_WITH("/a", "Range: bytes=10-"));
	assert_has(got.text, "Content-Range: bytes */10\r\n");
	free(got.text);
	tear_down(&f);
}

static void a_tag_holds_until_the_next_store(void **state)
{
	struct fixture f;
	struct talk got;
	char text[512];
	char statuses[32];
	char *tag;

	(void)state;
	set_up(&f);
	got = talk(&f, PUT("/a"));
	tag = tag_of(got.text);
	free(got.text);
	snprintf(text, sizeof(text),
	         GET_WITH("/a", "If-None-Match: W/%s")
	                 PUT_WITH("/a", "If-Match: %s\r\nContent-Length: 1\r\n") "x" PUT_WITH(
				 "/a", "If-Match: %s\r\nContent-Length: 1\r\n") "y" GET("/a"),
	         tag, tag, tag);
	got = talk(&f, text);
	list_statuses(got.text, statuses, sizeof(statuses));
	assert_text(statuses, "304 204 412 200");
	assert_text(got.text + got.len - 5, "\r\n\r\nx");
	free(got.text);
	free(tag);
	tear_down(&f);
}

static void what_is_over_the_limit_in_chunks_is_refused(void **state)
{
	static const char head[] = CHUNKED("/a") "4001\r\n";
	size_t count = sizeof(head) - 1 + HEAD_BYTES + 1;
	char *text = malloc(count);
	struct fixture f;
	struct talk got;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', count);
	memcpy(text, head, sizeof(head) - 1);
	set_up(&f);
	got = talk_in_pieces(&f, NS_SESSION_HTTP, text, count, 1000);
	assert_has(got.text, "HTTP/1.1 413 ");
	assert_true(got.is_over);
	free(got.text);
	got = talk(&f, GET("/a"));
	assert_has(got.text, "HTTP/1.1 404 ");
	free(got.text);
	free(text);
	tear_down(&f);
}

static void a_value_that_breaks_off_is_not_stored(void **state)
{
	struct fixture f;
	struct talk got;

	(void)state;
	set_up(&f);
	free(talk(&f, PUT_WITH("/a", "Content-Length: 10\r\n") "012").text);
	free(talk(&f, CHUNKED("/a") "a\r\n012").text);
	got = talk(&f, GET("/a"));
	assert_has(got.text, "HTTP/1.1 404 ");
	free(got.text);
	tear_down(&f);
}

static void a_read_only_server_says_so(void **state)
{
	struct fixture f;
	struct talk got;
	char statuses[32];

	(void)state;
	set_up(&f);
	f.config.http_read_only = true;
	got = talk(&f, PUT("/a") DELETE("/a") GET("/a"));
	list_statuses(got.text, statuses, sizeof(statuses));
	assert_text(statuses, "405 405 404");
	assert_has(got.text, "Allow: GET, HEAD, OPTIONS\r\n");
	free(got.text);
	tear_down(&f);
}

static void give(struct ns_session *session, const char *text)
{
	char *room;

	assert_true(ns_session_room(session, &room) >= strlen(text));
	memcpy(room, text, strlen(text));
	ns_session_received(session, strlen(text));
}

static void a_value_that_came_while_the_server_drains_ends_its_connection(void **state)
{
	struct ns_session *session;
	struct fixture f;
	char *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	assert_non_null(out);
	set_up(&f);
	session = ns_session_create(NS_SESSION_HTTP, &f.context);
	assert_non_null(session);
	give(session, PUT_WITH("/a", "Content-Length: 3\r\n") "a");
	assert_false(ns_session_is_over(session));
	f.server.is_draining = true;
	give(session, "bc");
	take_output(session, out);
	fclose(out);
	assert_has(text, "HTTP/1.1 201 Created\r\n");
	assert_has(text, "Connection: close\r\n");
	assert_true(ns_session_is_over(session));
	ns_session_free(session);
	free(text);
	tear_down(&f);
}

static void a_type_that_would_be_lost_is_refused(void **state)
{
	struct fixture f;
	struct talk got;
	char text[512];
	char statuses[32];

	(void)state;
	set_up(&f);
	snprintf(text, sizeof(text),
	         PUT_WITH("/a", "Content-Type: %0127d\r\nContent-Length: 1\r\n") "x" PUT_WITH(
			 "/a", "Content-Type: %0128d\r\nContent-Length: 1\r\n") "y" GET("/a"),
	         1, 2);
	got = talk(&f, text);
	list_statuses(got.text, statuses, sizeof(statuses));
	assert_text(statuses, "201 415 200");
	assert_text(got.text + got.len - 5, "\r\n\r\nx");
	free(got.text);
	tear_down(&f);
}

/* ---- the admin port ---- */

static struct talk ask(struct fixture *f, const char *text)
{
	return talk_in_pieces(f, NS_SESSION_ADMIN, text, strlen(text), SIZE_MAX);
}

static void the_admin_port_tells_health_and_metrics(void **state)
{
	struct fixture f;
	struct talk got;
	char statuses[64];

	(void)state;
	set_up(&f);
	got = ask(&f, GET("/healthz") GET("/metrics") "HEAD /metrics HTTP/1.1\r\n" HOST "\r\n" GET(
			      "/a") PUT("/metrics") "BREW / HTTP/1.1\r\n" HOST "\r\n");
	list_statuses(got.text, statuses, sizeof(statuses));
	assert_text(statuses, "200 200 200 404 405 501");
	assert_has(got.text, "\r\n\r\nok\n");
	assert_has(got.text, "application/openmetrics-text");
	assert_has(got.text, "\n# EOF\n");
	assert_has(got.text, "Allow: GET, HEAD\r\n");
	assert_false(got.is_over);
	free(got.text);

	f.server.is_draining = true;
	got = ask(&f, GET("/healthz"));
	assert_has(got.text, "HTTP/1.1 503 ");
	assert_has(got.text, "\r\n\r\ndraining\n");
	free(got.text);
	tear_down(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_request_has_its_answer),
		cmocka_unit_test(an_object_comes_back_with_its_type_and_tag),
		cmocka_unit_test(a_part_comes_with_its_place),
		cmocka_unit_test(a_tag_holds_until_the_next_store),
		cmocka_unit_test(what_is_over_the_limit_in_chunks_is_refused),
		cmocka_unit_test(a_value_that_breaks_off_is_not_stored),
		cmocka_unit_test(a_read_only_server_says_so),
		cmocka_unit_test(a_value_that_came_while_the_server_drains_ends_its_connection),
		cmocka_unit_test(a_type_that_would_be_lost_is_refused),
		cmocka_unit_test(the_admin_port_tells_health_and_metrics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
