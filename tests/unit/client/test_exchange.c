/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges with servers that do all that servers should not. A server is a thread of ours at a unix
 * socket, which tells when the client has taken what was sent: so replies arrive in the pieces they
 * are written in.
 */
#include "check.h"
#include "host.h"

#include "../../../server/client/exchange.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PIECES_MAX = 6, REPLIES_MAX = 3, OBJECT = 5, DEADLINE_MS = 10000, SHORT_MS = 60 };

/* STALL and HOLD wait for the client to go; HOLD without reading. */
enum after { GO_ON, CLOSE, STALL, HOLD, DRIBBLE, DISTURB };

/* What a server does for one request. */
struct reply {
	const char *pieces[PIECES_MAX]; /* each is sent when the one before was received */
	size_t cut;                     /* the first piece is sent in two, cut here; 0 = whole */
	size_t body;                    /* bytes of the request behind its head */
	bool is_hasty;                  /* replies before it has read them */
	enum after then;                /* what it does afterwards */
};

struct server {
	enum nl_protocol protocol;
	struct reply replies[REPLIES_MAX];
	unsigned count;
	char dir[256];
	char path[300];
	int listener;
	unsigned accepted;
	pthread_t thread;
	pthread_t client;
	struct nl_server address;
	char buffer[NL_HEAD_MAX + (1 << 20)];
};

/* ---- the server's side: asserts nothing ---- */

static bool read_bytes(int fd, size_t count)
{
	char bytes[4096];
	ssize_t got = 1;

	while (count > 0 && got > 0) {
		got = recv(fd, bytes, count < sizeof(bytes) ? count : sizeof(bytes), 0);
		count -= got > 0 ? (size_t)got : 0;
	}
	return count == 0;
}

static bool read_request(int fd, const struct server *server, size_t body)
{
	const char *end = server->protocol == NL_HTTP ? "\r\n\r\n" : "\r\n";
	size_t matched = 0;
	char byte;

	while (end[matched]) {
		if (recv(fd, &byte, 1, 0) != 1)
			return false;
		matched = byte == end[matched] ? matched + 1 : (byte == '\r');
	}
	return read_bytes(fd, body);
}

/* @is_read: and waits until it was received. */
static bool send_piece(int fd, const char *bytes, size_t size, bool is_read)
{
	int unread = 1;

	if (send(fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
		return false;
	while (is_read && ioctl(fd, SIOCOUTQ, &unread) == 0 && unread > 0) {
		char byte;

		/* It will take no more. */
		if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			return false;
		usleep(50);
	}
	return true;
}

static bool send_reply(int fd, const struct reply *reply)
{
	for (size_t i = 0; i < PIECES_MAX && reply->pieces[i]; i++) {
		const char *piece = reply->pieces[i];
		size_t cut = i == 0 ? reply->cut : 0;

		if ((cut > 0 && !send_piece(fd, piece, cut, true)) ||
		    !send_piece(fd, piece + cut, strlen(piece + cut), !reply->is_hasty))
			return false;
	}
	return true;
}

static void wait_for_close(int fd, const struct server *server, bool disturbs)
{
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) != 0) {
		if (disturbs)
			pthread_kill(server->client, SIGUSR1);
		usleep(500);
	}
}

static void wait_for_hangup(int fd)
{
	struct pollfd poll_fd = { .fd = fd };

	while (poll(&poll_fd, 1, -1) != 1)
		;
}

/* Serves replies until one ends the connection; returns the next one's number. */
static unsigned serve_connection(int fd, const struct server *server, unsigned at)
{
	for (; at < server->count; at++) {
		const struct reply *reply = &server->replies[at];

		if (!read_request(fd, server, reply->is_hasty ? 0 : reply->body))
			return at;
		send_reply(fd, reply);
		if (reply->then == DRIBBLE)
			while (send_piece(fd, "x", 1, true))
				;
		if (reply->then == HOLD)
			wait_for_hangup(fd);
		if (reply->then == STALL || reply->then == DISTURB)
			wait_for_close(fd, server, reply->then == DISTURB);
		if (reply->then != GO_ON)
			return at + 1;
	}
	return at;
}

static void *serve(void *data)
{
	struct server *server = data;
	unsigned at = 0;

	while (at < server->count) {
		int fd = accept(server->listener, NULL, NULL);

		if (fd < 0)
			break;
		__atomic_add_fetch(&server->accepted, 1, __ATOMIC_RELAXED);
		at = serve_connection(fd, server, at);
		close(fd);
	}
	return NULL;
}

/* ---- the client's side ---- */

static struct server *start(enum nl_protocol protocol, const struct reply *replies, unsigned count)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct server *server = calloc(1, sizeof(*server));

	assert_non_null(server);
	server->protocol = protocol;
	server->count = count;
	memcpy(server->replies, replies, count * sizeof(*replies));
	server->client = pthread_self();
	make_temporary(server->dir, sizeof(server->dir));
	snprintf(server->path, sizeof(server->path), "%s/socket", server->dir);
	snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", server->path);
	server->address.host = server->path;
	server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_number(bind(server->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_number(listen(server->listener, 8), 0);
	assert_number(pthread_create(&server->thread, NULL, serve, server), 0);
	return server;
}

static void stop(struct server *server)
{
	shutdown(server->listener, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->listener);
	remove_tree(server->dir);
	free(server);
}

static struct nl_connection connect_to(const struct server *server, unsigned deadline_ms)
{
	struct nl_connection connection;
	struct np_error err = { 0 };

	assert_np_ok(nl_connection_open(&server->address, server->protocol, deadline_ms,
	                                &connection, &err),
	             &err);
	return connection;
}

static int get(struct server *server, struct nl_connection *connection, uint64_t bytes,
               struct nl_timing *timing, struct np_error *err)
{
	const char *key = server->protocol == NL_HTTP ? "/k" : "k";
	char request[NL_REQUEST_MAX];
	const char *value = NULL;
	struct nl_get get = {
		.key = key,
		.request = request,
		.object_bytes = bytes,
		.buffer = server->buffer,
	};
	int rc;

	get.request_bytes =
		nl_request_format(server->protocol, NL_GET, "localhost", key, 0, request);
	rc = nl_exchange_get(connection, &get, timing, &value, err);
	if (rc < 0)
		return rc;
	assert_true(value >= server->buffer &&
	            value + bytes <= server->buffer + NL_HEAD_MAX + bytes);
	assert_memory_equal(value, "hello", bytes < OBJECT ? bytes : OBJECT);
	assert_true(timing->start_ns > 0 && timing->response_ns > 0);
	assert_true(timing->response_ns <= timing->payload_ns);
	assert_true(timing->payload_ns <= timing->total_ns);
	return 0;
}

#define VALUE "VALUE k 0 5\r\n"
#define MEMCACHE VALUE "hello\r\nEND\r\n"
#define HEAD "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
#define HTTP HEAD "hello"

/* ---- replies that are right ---- */

static const struct {
	enum nl_protocol protocol;
	struct reply reply;
} good[] = {
	{ NL_MEMCACHE, { .pieces = { MEMCACHE } } },
	{ NL_MEMCACHE, { .pieces = { VALUE, "hello\r\nEND\r\n" } } },
	{ NL_MEMCACHE, { .pieces = { VALUE, "hello", "\r\nEND\r\n" } } },
	{ NL_MEMCACHE, { .pieces = { "VALUE k 9 5\r\nhello\r\nEND\r\n" } } },
	{ NL_MEMCACHE, { .pieces = { "VALUE k 4294967295 5\r\nhello\r\nEND\r\n" } } },
	{ NL_MEMCACHE, { .pieces = { "VALUE k 0 5 77\r\nhello\r\nEND\r\n" } } },
	{ NL_HTTP, { .pieces = { HTTP } } },
	{ NL_HTTP, { .pieces = { HEAD, "hello" } } },
	{ NL_HTTP, { .pieces = { "HTTP/1.1 100 Continue\r\n\r\n", HTTP } } },
};

static void replies_are_received_however_they_are_split(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		for (size_t cut = 0; cut < strlen(good[i].reply.pieces[0]); cut++) {
			struct reply reply = good[i].reply;
			struct server *server;
			struct nl_connection connection;
			struct nl_timing timing;
			struct np_error err = { 0 };

			reply.cut = cut;
			server = start(good[i].protocol, &reply, 1);
			connection = connect_to(server, DEADLINE_MS);
			check_case("reply %zu cut at %zu", i, cut);
			assert_np_ok(get(server, &connection, OBJECT, &timing, &err), &err);
			assert_number(connection.reconnects, 0);
			nl_connection_close(&connection);
			stop(server);
		}
	}
}

static void the_value_is_a_receive_of_its_own_in_memcache_beyond_a_segment(void **state)
{
	/* A reply of 1448 bytes, and one of a byte more. */
	enum { FITS = 1448 - sizeof("VALUE k 0 1425\r\n\r\nEND\r\n") + 1 };
	char fits[1500];
	char larger[1500];
	const struct {
		enum nl_protocol protocol;
		struct reply reply;
		uint64_t bytes;
		bool is_apart;
	} cases[] = {
		{ NL_MEMCACHE, { .pieces = { MEMCACHE } }, OBJECT, false },
		{ NL_MEMCACHE, { .pieces = { fits } }, FITS, false },
		{ NL_MEMCACHE, { .pieces = { larger } }, FITS + 1, true },
		{ NL_HTTP, { .pieces = { HTTP } }, OBJECT, false },
		{ NL_HTTP, { .pieces = { HEAD, "hello" } }, OBJECT, true },
	};

	(void)state;
	snprintf(fits, sizeof(fits), "VALUE k 0 %d\r\nhello%*s\r\nEND\r\n", FITS, FITS - OBJECT,
	         "");
	snprintf(larger, sizeof(larger), "VALUE k 0 %d\r\nhello%*s\r\nEND\r\n", FITS + 1,
	         FITS + 1 - OBJECT, "");
	assert_number(strlen(fits), 1448);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct server *server = start(cases[i].protocol, &cases[i].reply, 1);
		struct nl_connection connection = connect_to(server, DEADLINE_MS);
		struct nl_timing timing;
		struct np_error err = { 0 };

		check_case("reply %u", i);
		assert_np_ok(get(server, &connection, cases[i].bytes, &timing, &err), &err);
		assert_number(timing.payload_ns > timing.response_ns, cases[i].is_apart);
		nl_connection_close(&connection);
		stop(server);
	}
}

static void a_value_of_no_bytes_has_the_times_of_its_head(void **state)
{
	static const struct reply empty[] = {
		{ .pieces = { "VALUE k 0 0\r\n", "\r\nEND\r\n" } },
		{ .pieces = { "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" } }
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct server *server = start(i > 0 ? NL_HTTP : NL_MEMCACHE, &empty[i], 1);
		struct nl_connection connection = connect_to(server, DEADLINE_MS);
		struct nl_timing timing;
		struct np_error err = { 0 };

		assert_np_ok(get(server, &connection, 0, &timing, &err), &err);
		assert_number(timing.payload_ns, timing.response_ns);
		nl_connection_close(&connection);
		stop(server);
	}
}

static void after_a_miss_the_connection_goes_on(void **state)
{
	static const struct reply memcache[] = { { .pieces = { "EN", "D\r\n" } },
		                                 { .pieces = { MEMCACHE } } };
	static const struct reply http[] = {
		{ .pieces = { "HTTP/1.1 404 Not Found\r\nContent-Length: 12\r\n\r\nno ", "such ",
		              "page" } },
		{ .pieces = { HTTP } }
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct server *server =
			start(i > 0 ? NL_HTTP : NL_MEMCACHE, i > 0 ? http : memcache, 2);
		struct nl_connection connection = connect_to(server, DEADLINE_MS);
		struct nl_timing timing;
		struct np_error err = { 0 };

		assert_fails(get(server, &connection, OBJECT, &timing, &err), -ENOENT, &err,
		             i > 0 ? "/socket: key /k: it is not there" : "key k: it is not");
		assert_np_ok(get(server, &connection, OBJECT, &timing, &err),
		             &(struct np_error){ 0 });
		assert_number(connection.reconnects, 0);
		nl_connection_close(&connection);
		stop(server);
	}
}

/* A server that says it closes is connected to again, before the next request's clock starts. */
static const struct reply closing[] = {
	{ .pieces = { "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello" },
	  .then = CLOSE },
	{ .pieces = { "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello" }, .then = CLOSE },
	{ .pieces = { "HTTP/1.1 404 Not Found\r\n\r\nas long as you like" }, .then = CLOSE },
};

static void a_server_that_closes_is_connected_to_again(void **state)
{
	struct server *server = start(NL_HTTP, closing, 3);
	struct nl_connection connection = connect_to(server, DEADLINE_MS);
	struct nl_timing timing;
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(get(server, &connection, OBJECT, &timing, &err), &err);
	assert_number(connection.reconnects, 0);
	assert_np_ok(get(server, &connection, OBJECT, &timing, &err), &err);
	assert_number(connection.reconnects, 1);
	assert_fails(get(server, &connection, OBJECT, &timing, &err), -ENOENT, &err, "not there");
	assert_number(connection.reconnects, 2);
	assert_number(connection.fd, -1);
	stop(server);
}

/* One that says nothing: the request was lost with the connection, and is made again, once. */
static const struct reply silent[] = {
	{ .pieces = { HEAD "hello" }, .then = CLOSE },
	{ .pieces = { HEAD "hello" }, .then = CLOSE },
	{ .then = CLOSE },
};

static void a_server_that_ended_an_idle_connection_is_asked_again(void **state)
{
	struct server *server = start(NL_HTTP, silent, 3);
	struct nl_connection connection = connect_to(server, DEADLINE_MS);
	struct nl_timing timing;
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(get(server, &connection, OBJECT, &timing, &err), &err);
	assert_np_ok(get(server, &connection, OBJECT, &timing, &err), &err);
	assert_number(connection.reconnects, 1);
	assert_number(err.code, 0);
	assert_fails(get(server, &connection, OBJECT, &timing, &err), -EPIPE, &err,
	             "the server ended the connection after 0 bytes of a reply");
	assert_number(connection.reconnects, 2);
	assert_number(__atomic_load_n(&server->accepted, __ATOMIC_RELAXED), 3);
	stop(server);
}

/* ---- replies that are wrong ---- */

static const struct {
	enum nl_protocol protocol;
	struct reply reply;
	int code;
	const char *why;
} bad[] = {
	{ NL_MEMCACHE,
	  { .pieces = { "VALUE k 0 6\r\nhello!\r\nEND\r\n" } },
	  -EBADMSG,
	  "key k: the value has 6 bytes, where 5 were expected" },
	{ NL_MEMCACHE,
	  { .pieces = { "VALUE k 0 9223372036854775807\r\nhello" } },
	  -EBADMSG,
	  "the value has 9223372036854775807 bytes" },
	{ NL_MEMCACHE,
	  { .pieces = { "VALUE x 0 5\r\nhello\r\nEND\r\n" } },
	  -EPROTO,
	  "key k: the server's 'VALUE x 0 5' is the value of another key" },
	{ NL_MEMCACHE,
	  { .pieces = { VALUE "hello\r\nEXD\r\n" } },
	  -EPROTO,
	  "the value is not followed by its END" },
	{ NL_MEMCACHE,
	  { .pieces = { "SERVER_ERROR busy\r\n" } },
	  -EREMOTEIO,
	  "the server says: SERVER_ERROR busy" },
	{ NL_MEMCACHE, { .pieces = { "\x80\x01\x02\r\n" } }, -EPROTO, "'\\x80\\x01\\x02'" },
	{ NL_MEMCACHE,
	  { .then = CLOSE },
	  -EPIPE,
	  "the server ended the connection after 0 of 25 bytes of the reply" },
	{ NL_MEMCACHE, { .pieces = { "VAL" }, .then = CLOSE }, -EPIPE, "after 3 of 25 bytes" },
	{ NL_MEMCACHE,
	  { .pieces = { VALUE "he" }, .then = CLOSE },
	  -EPIPE,
	  "after 15 of 25 bytes" },
	{ NL_MEMCACHE,
	  { .pieces = { "VALUE k 10 5\r\nhe" }, .then = CLOSE },
	  -EPIPE,
	  "after 16 of 26 bytes" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhell" } },
	  -EBADMSG,
	  "key /k: the value has 4 bytes, where 5 were expected" },
	{ NL_HTTP,
	  { .pieces = { HTTP "!" } },
	  -EPROTO,
	  "the server sent 1 bytes more than the reply's 43" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 404 X\r\nContent-Length: 1\r\n\r\nab" } },
	  -EPROTO,
	  "the server sent 1 bytes more" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" } },
	  -EPROTO,
	  "in chunks" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\n\r\nhello" } },
	  -EREMOTEIO,
	  "the server says: HTTP/1.1 206 Partial Content" },
	{ NL_HTTP, { .pieces = { "ERROR\r\n" } }, -EPROTO, "'ERROR' is no status line" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 200 OK\r\n" }, .then = CLOSE },
	  -EPIPE,
	  "after 17 bytes of a reply" },
	{ NL_HTTP, { .pieces = { HEAD "he" }, .then = CLOSE }, -EPIPE, "after 40 of 43 bytes" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 404 X\r\nContent-Length: 9\r\n\r\nab" }, .then = CLOSE },
	  -EPIPE,
	  "after 39 of 46 bytes" },
};

static void wrong_replies_are_named_and_end_the_connection(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct server *server = start(bad[i].protocol, &bad[i].reply, 1);
		struct nl_connection connection = connect_to(server, DEADLINE_MS);
		struct nl_timing timing;
		struct np_error err = { 0 };

		check_case("reply %zu", i);
		assert_fails(get(server, &connection, OBJECT, &timing, &err), bad[i].code, &err,
		             bad[i].why);
		assert_has(err.text, server->path);
		assert_number(connection.fd, -1);
		stop(server);
	}
}

static void an_endless_head_is_refused(void **state)
{
	static const char *const begins[] = { "x", "VALUE k 0", "VALUE k ",
		                              "HTTP/1.1 200 OK\r\nA: " };
	const size_t size = NL_HEAD_MAX + 5000;
	char *head = malloc(size + 1);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct reply reply = { .pieces = { head } };
		struct server *server;
		struct nl_connection connection;
		struct nl_timing timing;
		struct np_error err = { 0 };

		memset(head, '0', size);
		head[size] = '\0';
		memcpy(head, begins[i], strlen(begins[i]));
		/* A head that is whole, and has a number in it of thousands of zeros. */
		if (i == 2)
			memcpy(head + NL_HEAD_MAX - 80, " 5\r\nhello\r\nEND\r\n", 17);
		server = start(i == 3 ? NL_HTTP : NL_MEMCACHE, &reply, 1);
		connection = connect_to(server, DEADLINE_MS);
		check_case("'%s...'", begins[i]);
		if (i == 2)
			assert_np_ok(get(server, &connection, OBJECT, &timing, &err), &err);
		else
			assert_fails(get(server, &connection, OBJECT, &timing, &err), -EPROTO, &err,
			             "head ");
		nl_connection_close(&connection);
		stop(server);
	}
	free(head);
}

/* A head that ends at the limit leaves no room for the value's END. */
static void a_head_that_leaves_no_room_is_refused(void **state)
{
	char *head = malloc(NL_HEAD_MAX + 20);
	struct reply reply = { .pieces = { head } };
	struct server *server;
	struct nl_connection connection;
	struct nl_timing timing;
	struct np_error err = { 0 };

	(void)state;
	memset(head, '0', NL_HEAD_MAX);
	memcpy(head, "VALUE k ", 8);
	memcpy(head + NL_HEAD_MAX - 50, " 5\r\nhello\r\nEND\r\n", 17);
	server = start(NL_MEMCACHE, &reply, 1);
	connection = connect_to(server, DEADLINE_MS);
	assert_fails(get(server, &connection, OBJECT, &timing, &err), -EPROTO, &err,
	             "the reply's head is too long");
	stop(server);
	free(head);
}

/* ---- servers that are slow ---- */

static const struct {
	enum nl_protocol protocol;
	struct reply reply;
	uint64_t bytes;
	const char *why;
} slow[] = {
	{ NL_MEMCACHE,
	  { .then = STALL },
	  5,
	  "key k: 0 of 25 bytes of the reply within the deadline of 0.06 s" },
	{ NL_MEMCACHE, { .pieces = { VALUE "he" }, .then = STALL }, 5, "15 of 25 bytes" },
	{ NL_HTTP, { .then = STALL }, 5, "0 bytes of a reply within the deadline" },
	{ NL_HTTP, { .pieces = { HEAD "he" }, .then = STALL }, 5, "40 of 43 bytes" },
	{ NL_MEMCACHE,
	  { .pieces = { "VALUE k 0 1048576\r\n" }, .then = DRIBBLE },
	  1 << 20,
	  " of 1048602 bytes of the reply within the deadline" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 404 X\r\nContent-Length: 1048576\r\n\r\n" }, .then = DRIBBLE },
	  5,
	  " of 1048619 bytes of the reply within" },
};

static void a_server_that_stalls_or_dribbles_meets_the_deadline(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(slow) / sizeof(slow[0]); i++) {
		struct server *server = start(slow[i].protocol, &slow[i].reply, 1);
		struct nl_connection connection = connect_to(server, SHORT_MS);
		struct nl_timing timing;
		struct np_error err = { 0 };

		check_case("server %zu", i);
		assert_fails(get(server, &connection, slow[i].bytes, &timing, &err), -ETIMEDOUT,
		             &err, slow[i].why);
		assert_number(connection.fd, -1);
		stop(server);
	}
}

static void ignore(int number)
{
	(void)number;
}

static void a_signal_ends_the_wait(void **state)
{
	static const struct reply disturbing = { .then = DISTURB };
	const struct sigaction action = { .sa_handler = ignore };
	struct server *server = start(NL_MEMCACHE, &disturbing, 1);
	struct nl_connection connection = connect_to(server, DEADLINE_MS);
	struct nl_timing timing;
	struct np_error err = { 0 };

	(void)state;
	assert_number(sigaction(SIGUSR1, &action, NULL), 0);
	assert_fails(get(server, &connection, OBJECT, &timing, &err), -EINTR, &err,
	             "after 0 of 25 bytes of the reply: Interrupted system call");
	stop(server);
}

/* As of a client that was suspended and goes on, or is traced. */
static void a_signal_that_is_no_stop_ends_nothing(void **state)
{
	static const struct reply disturbing = { .then = DISTURB };
	const struct sigaction action = { .sa_handler = ignore };
	const volatile sig_atomic_t stops = 0;
	struct server *server = start(NL_MEMCACHE, &disturbing, 1);
	struct nl_connection connection = connect_to(server, SHORT_MS);
	struct nl_timing timing;
	struct np_error err = { 0 };

	(void)state;
	connection.stop = &stops;
	assert_number(sigaction(SIGUSR1, &action, NULL), 0);
	assert_fails(get(server, &connection, OBJECT, &timing, &err), -ETIMEDOUT, &err,
	             "0 of 25 bytes of the reply within the deadline");
	stop(server);
}

/* ---- storing ---- */

static const struct {
	enum nl_protocol protocol;
	struct reply reply;
	size_t bytes;
	int code;
	const char *why;
} sets[] = {
	{ NL_MEMCACHE, { .pieces = { "STO", "RED\r\n" }, .body = 7 }, 5, 0, NULL },
	{ NL_MEMCACHE, { .pieces = { "STORED\r\n" }, .body = 2 }, 0, 0, NULL },
	{ NL_MEMCACHE, { .pieces = { "STORED\r\n" }, .body = (1 << 20) + 2 }, 1 << 20, 0, NULL },
	{ NL_MEMCACHE,
	  { .pieces = { "SERVER_ERROR out of memory\r\n" }, .body = 7 },
	  5,
	  -EREMOTEIO,
	  "key k: the server says: SERVER_ERROR out of memory" },
	{ NL_MEMCACHE, { .pieces = { "NOT_STORED\r\n" }, .body = 7 }, 5, -EREMOTEIO, "NOT_STORED" },
	{ NL_MEMCACHE, { .pieces = { "END\r\n" }, .body = 7 }, 5, -EPROTO, "is no reply to set" },
	{ NL_MEMCACHE,
	  { .pieces = { "STORED\r\nSTORED\r\n" }, .body = 7 },
	  5,
	  -EPROTO,
	  "8 bytes more" },
	{ NL_MEMCACHE, { .body = 7, .then = CLOSE }, 5, -EPIPE, "after 0 bytes of a reply" },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n", "ok" }, .body = 5 },
	  5,
	  0,
	  NULL },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n" }, .body = 5 },
	  5,
	  0,
	  NULL },
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 405 Not Allowed\r\n\r\n" }, .body = 5 },
	  5,
	  -EREMOTEIO,
	  "the server says: HTTP/1.1 405 Not Allowed" },
	/* Answers and hangs up at the head, with most of the value on its way. */
	{ NL_HTTP,
	  { .pieces = { "HTTP/1.1 413 Too Large\r\n\r\n" }, .is_hasty = true, .then = CLOSE },
	  1 << 20,
	  -EREMOTEIO,
	  "413 Too Large" },
};

static void objects_are_stored_or_it_is_told_why_not(void **state)
{
	char *value = calloc(1, 1 << 20);

	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct server *server = start(sets[i].protocol, &sets[i].reply, 1);
		struct nl_connection connection = connect_to(server, DEADLINE_MS);
		struct np_error err = { 0 };
		int rc;

		check_case("server %zu", i);
		rc = nl_exchange_set(&connection, "k", value, sets[i].bytes, &err);
		if (sets[i].code == 0)
			assert_np_ok(rc, &err);
		else
			assert_fails(rc, sets[i].code, &err, sets[i].why);
		nl_connection_close(&connection);
		stop(server);
	}
	free(value);
}

/* A server that reads the head and no more: what is sent fills the socket's buffers. */
static void a_server_that_does_not_read_meets_the_deadline(void **state)
{
	static const struct reply idle = { .is_hasty = true, .then = HOLD };
	struct server *server = start(NL_MEMCACHE, &idle, 1);
	struct nl_connection connection = connect_to(server, SHORT_MS);
	struct np_error err = { 0 };
	char *value = calloc(1, 1 << 24);

	(void)state;
	assert_fails(nl_exchange_set(&connection, "k", value, 1 << 24, &err), -ETIMEDOUT, &err,
	             "0 bytes of a reply within the deadline");
	assert_number(connection.fd, -1);
	stop(server);
	free(value);
}

/* ---- connecting ---- */

static int listen_tcp(int backlog, char port[8])
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_number(bind(fd, (struct sockaddr *)&address, size), 0);
	if (backlog >= 0)
		assert_number(listen(fd, backlog), 0);
	assert_number(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	snprintf(port, 8, "%u", ntohs(address.sin_port));
	return fd;
}

static void a_name_is_looked_up(void **state)
{
	char host[] = "localhost";
	char port[8];
	int listener = listen_tcp(4, port);
	const struct nl_server server = { .host = host, .port = port };
	struct nl_connection connection;
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nl_connection_open(&server, NL_HTTP, DEADLINE_MS, &connection, &err), &err);
	nl_connection_close(&connection);
	nl_connection_close(&connection);
	close(listener);
}

static void where_nobody_listens_it_is_told(void **state)
{
	char host[] = "127.0.0.1";
	char path[] = "/nonexistent/socket";
	char port[8];
	int unheard = listen_tcp(-1, port);
	const struct nl_server server = { .host = host, .port = port };
	const struct nl_server absent = { .host = path };
	struct nl_connection connection;
	struct np_error err = { 0 };

	(void)state;
	assert_fails(nl_connection_open(&server, NL_HTTP, DEADLINE_MS, &connection, &err),
	             -ECONNREFUSED, &err, ": no server listens there: Connection refused");
	assert_fails(nl_connection_open(&absent, NL_HTTP, DEADLINE_MS, &connection, &err), -ENOENT,
	             &err, "unix:/nonexistent/socket: no server listens there: No such file");
	close(unheard);
}

/* A full queue of connections, to which the kernel answers nothing. */
static void connecting_has_a_deadline(void **state)
{
	enum { TRIES = 16 };
	char host[] = "127.0.0.1";
	char port[8];
	int listener = listen_tcp(0, port);
	const struct nl_server server = { .host = host, .port = port };
	struct nl_connection connections[TRIES];
	struct np_error err = { 0 };
	unsigned count = 0;
	int rc = 0;

	(void)state;
	while (count < TRIES && rc == 0) {
		rc = nl_connection_open(&server, NL_HTTP, SHORT_MS, &connections[count], &err);
		count += rc == 0;
	}
	assert_fails(rc, -ETIMEDOUT, &err, ": no connection within 0.06 s");
	while (count > 0)
		nl_connection_close(&connections[--count]);
	close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_are_received_however_they_are_split),
		cmocka_unit_test(the_value_is_a_receive_of_its_own_in_memcache_beyond_a_segment),
		cmocka_unit_test(a_value_of_no_bytes_has_the_times_of_its_head),
		cmocka_unit_test(after_a_miss_the_connection_goes_on),
		cmocka_unit_test(a_server_that_closes_is_connected_to_again),
		cmocka_unit_test(a_server_that_ended_an_idle_connection_is_asked_again),
		cmocka_unit_test(wrong_replies_are_named_and_end_the_connection),
		cmocka_unit_test(an_endless_head_is_refused),
		cmocka_unit_test(a_head_that_leaves_no_room_is_refused),
		cmocka_unit_test(a_server_that_stalls_or_dribbles_meets_the_deadline),
		cmocka_unit_test(a_signal_ends_the_wait),
		cmocka_unit_test(a_signal_that_is_no_stop_ends_nothing),
		cmocka_unit_test(objects_are_stored_or_it_is_told_why_not),
		cmocka_unit_test(a_server_that_does_not_read_meets_the_deadline),
		cmocka_unit_test(a_name_is_looked_up),
		cmocka_unit_test(where_nobody_listens_it_is_told),
		cmocka_unit_test(connecting_has_a_deadline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
