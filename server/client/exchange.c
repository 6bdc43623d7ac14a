/* SPDX-License-Identifier: BSD-3-Clause */
#include "exchange.h"

#include "../../probe/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { EXPECTED_MAX = NL_KEY_MAX + 40, CACHE_LINE = 64 };

/* A receive of HTTP, as goblin-bench has it. */
#define PIECE_MAX ((size_t)64 << 10)

/* The longest page of an error that is read for the sake of keeping the connection. */
#define PAGE_MAX (UINT64_C(1) << 20)

#define TAIL "\r\nEND\r\n"

/*
 * The value of a memcache reply that fits one Ethernet segment (1500 bytes less IPv4, TCP and time stamps)
 * comes along with its head, as there is nothing between the two that could be timed but a system call of our
 * own.
 */
#define SEGMENT_BYTES 1448u

/* A request on its way, and what has come of its reply. */
struct exchange {
	struct nl_connection *connection;
	const char *key;
	enum nl_verb verb;
	char *bytes; /* the reply, from its beginning */
	size_t room;
	size_t got;
	/* The head that memcache gives to a get; empty where it cannot be told beforehand. */
	size_t expected_size;
	char expected[EXPECTED_MAX];
	uint64_t expected_bytes; /* of the value */
	struct nl_reply reply;
	bool knows_head;
	uint64_t start_ns;
	uint64_t response_ns; /* since start; 0 = nothing has come */
	uint64_t now_ns;      /* when the last receive ended, since start */
};

static bool is_late(const struct exchange *x)
{
	return x->now_ns > x->connection->deadline_ms * UINT64_C(1000000);
}

/* ---- errors ---- */

static uint64_t reply_bytes(const struct exchange *x)
{
	return x->reply.head_bytes + x->reply.body_bytes + x->reply.tail_bytes;
}

/* "128 of 1055 bytes of the reply" */
static void describe_progress(const struct exchange *x, char *buf, size_t size)
{
	uint64_t all = x->knows_head ? reply_bytes(x) : 0;

	if (!x->knows_head && x->expected_size > 0)
		all = x->expected_size + x->expected_bytes + strlen(TAIL);
	if (all > 0)
		snprintf(buf, size, "%zu of %" PRIu64 " bytes of the reply", x->got, all);
	else
		snprintf(buf, size, "%zu bytes of a reply", x->got);
}

/* Puts server and key before what is known, or says it; ends the connection unless it was a miss. */
static int fail(struct exchange *x, int rc, struct np_error *err)
{
	struct nl_connection *connection = x->connection;
	char server[NL_SERVER_TEXT_SIZE];
	char progress[80];

	describe_progress(x, progress, sizeof(progress));
	nl_server_text(connection->server, server, sizeof(server));
	if (rc != -ENOENT)
		nl_connection_close(connection);
	connection->is_stale = rc == -EPIPE && x->got == 0 && connection->served > 0 &&
	                       connection->protocol == NL_HTTP;
	switch (rc) {
	case -EPROTO:
	case -EBADMSG:
	case -EREMOTEIO:
		return np_error_wrap(err, rc, "%s: key %s", server, x->key);
	case -ENOENT:
		return np_error_set(err, ENOENT, "%s: key %s: it is not there", server, x->key);
	case -ETIMEDOUT:
		return np_error_set(err, ETIMEDOUT, "%s: key %s: %s within the deadline of %g s",
		                    server, x->key, progress, connection->deadline_ms / 1e3);
	case -EPIPE:
		return np_error_set(err, EPIPE,
		                    "%s: key %s: the server ended the connection after %s", server,
		                    x->key, progress);
	default:
		return np_error_sys(err, -rc, "%s: key %s: after %s", server, x->key, progress);
	}
}

/* ---- sending and receiving ---- */

/* What has become of a call that did not do what it should: 0 = it is to be called again. */
static int judge_failure(struct exchange *x)
{
	const volatile sig_atomic_t *stop = x->connection->stop;
	int code = errno;

	x->now_ns = np_raw_ns() - x->start_ns;
	if (code == EAGAIN || (code == EINTR && stop && *stop == 0))
		return is_late(x) ? -ETIMEDOUT : 0;
	return code == ECONNRESET ? -EPIPE : -code;
}

static int send_all(struct exchange *x, struct iovec *parts, size_t count)
{
	while (count > 0) {
		const struct msghdr message = { .msg_iov = parts, .msg_iovlen = count };
		ssize_t sent = sendmsg(x->connection->fd, &message, MSG_NOSIGNAL);

		if (sent < 0) {
			int rc = judge_failure(x);

			if (rc < 0)
				return rc;
			continue;
		}
		while (count > 0 && (size_t)sent >= parts->iov_len) {
			sent -= (ssize_t)parts->iov_len;
			parts++;
			count--;
		}
		if (count > 0) {
			parts->iov_base = (char *)parts->iov_base + sent;
			parts->iov_len -= (size_t)sent;
		}
		x->now_ns = np_raw_ns() - x->start_ns;
		if (count > 0 && is_late(x))
			return -ETIMEDOUT;
	}
	return 0;
}

/* The measured one, in which the clock is not looked at; a part that is left goes the long way. */
static int send_request(struct exchange *x, const char *request, size_t size)
{
	ssize_t sent = send(x->connection->fd, request, size, MSG_NOSIGNAL);
	struct iovec rest;

	if (sent == (ssize_t)size)
		return 0;
	if (sent < 0) {
		int rc = judge_failure(x);

		if (rc < 0)
			return rc;
		sent = 0;
	}
	rest.iov_base = (char *)request + sent;
	rest.iov_len = size - (size_t)sent;
	return send_all(x, &rest, 1);
}

/* Receives up to @size bytes, and at least one, to @to. */
static int receive_to(struct exchange *x, char *to, size_t size)
{
	for (;;) {
		ssize_t count = recv(x->connection->fd, to, size, 0);
		int rc;

		if (count > 0) {
			x->now_ns = np_raw_ns() - x->start_ns;
			if (x->response_ns == 0)
				x->response_ns = x->now_ns;
			x->got += (size_t)count;
			return is_late(x) ? -ETIMEDOUT : 0;
		}
		if (count == 0)
			return -EPIPE;
		rc = judge_failure(x);
		if (rc < 0)
			return rc;
	}
}

static int receive(struct exchange *x, size_t size)
{
	return receive_to(x, x->bytes + x->got, size);
}

/* ---- heads ---- */

/*
 * What memcache will answer, so that just that much is received. By hand, as it stands between two
 * requests.
 */
static void expect_value(struct exchange *x, const char *key, uint64_t bytes)
{
	char digits[24];
	size_t count = 0;
	size_t length = strlen(key);
	char *at = x->expected;

	length = length > NL_KEY_MAX ? NL_KEY_MAX : length;
	at = mempcpy(at, "VALUE ", 6);
	at = mempcpy(at, key, length);
	at = mempcpy(at, " 0 ", 3);
	x->expected_bytes = bytes;
	do {
		digits[count++] = (char)('0' + bytes % 10);
		bytes /= 10;
	} while (bytes > 0);
	while (count > 0)
		*at++ = digits[--count];
	at = mempcpy(at, "\r\n", 2);
	x->expected_size = (size_t)(at - x->expected);
}

static bool is_as_expected(const struct exchange *x)
{
	return x->expected_size > 0 && x->got >= x->expected_size &&
	       memcmp(x->bytes, x->expected, x->expected_size) == 0;
}

/*
 * How much the next receive of a head may bring: what is expected, and if that was not it, byte by byte,
 * as a value may follow at once.
 */
static size_t head_piece(const struct exchange *x)
{
	size_t room = x->room - x->got;
	uint64_t whole = x->expected_size + x->expected_bytes + strlen(TAIL);
	size_t piece = whole <= SEGMENT_BYTES ? (size_t)whole : x->expected_size;

	if (x->expected_size == 0)
		return room < PIECE_MAX ? room : PIECE_MAX;
	return x->got < piece ? piece - x->got : 1;
}

/* More than was told: two replies to one request. A page without a length may be as long as it likes. */
static int check_excess(const struct exchange *x, struct np_error *err)
{
	if (x->got <= reply_bytes(x) || (x->reply.closes && x->reply.kind != NL_REPLY_VALUE))
		return 0;
	return np_error_set(err, EPROTO,
	                    "the server sent %" PRIu64 " bytes more than the reply's %" PRIu64,
	                    x->got - reply_bytes(x), reply_bytes(x));
}

static int receive_head(struct exchange *x, struct np_error *err)
{
	enum nl_protocol protocol = x->connection->protocol;
	int rc;

	do {
		if (x->got == x->room)
			return np_error_set(err, EPROTO, "the reply's head is too long");
		rc = receive(x, head_piece(x));
		if (rc < 0)
			return rc;
		if (is_as_expected(x)) {
			x->reply = (struct nl_reply){
				.kind = NL_REPLY_VALUE,
				.head_bytes = x->expected_size,
				.body_bytes = x->expected_bytes,
				.tail_bytes = strlen(TAIL),
			};
			break;
		}
		rc = nl_reply_parse(protocol, x->verb, x->key, x->bytes, x->got, &x->reply, err);
		if (rc < 0)
			return rc;
	} while (x->reply.kind == NL_REPLY_MORE);
	x->knows_head = true;
	return check_excess(x, err);
}

/* Reads what stands behind a head that brought no value, so that the next reply can be read. */
static int skip_page(struct exchange *x)
{
	size_t left;
	int rc = 0;

	if (x->reply.body_bytes > PAGE_MAX)
		x->reply.closes = true;
	if (x->reply.closes)
		return 0;
	while (rc == 0 && x->got < reply_bytes(x)) {
		left = (size_t)reply_bytes(x) - x->got;
		rc = receive_to(x, x->bytes, left < x->room ? left : x->room);
	}
	return rc;
}

/* What a head says that is neither the value nor stored. */
static int end_without(struct exchange *x, struct np_error *err)
{
	int rc;

	if (x->reply.kind == NL_REPLY_REFUSED)
		return np_error_set(err, EREMOTEIO, "the server says: %s", x->reply.text);
	rc = skip_page(x);
	return rc < 0 ? rc : -ENOENT;
}

/* ---- get ---- */

/* From the head on to the end. Memcache's value and tail come in as few receives as they can. */
static int receive_value(struct exchange *x, uint64_t *ret_payload_ns, struct np_error *err)
{
	const struct nl_reply *reply = &x->reply;
	uint64_t size = reply_bytes(x);
	int rc = 0;

	if (reply->body_bytes != x->expected_bytes)
		return np_error_set(err, EBADMSG,
		                    "the value has %" PRIu64 " bytes, where %" PRIu64
		                    " were expected",
		                    reply->body_bytes, x->expected_bytes);
	/* Numbers with no end of zeros before them. */
	if (size > x->room)
		return np_error_set(err, EPROTO, "the reply's head is too long");
	/* 0 = it is still to come. */
	*ret_payload_ns = x->got > reply->head_bytes ? x->now_ns : 0;
	if (reply->body_bytes == 0)
		*ret_payload_ns = x->response_ns;
	while (rc == 0 && x->got < size) {
		size_t left = (size_t)size - x->got;

		if (x->connection->protocol == NL_HTTP && left > PIECE_MAX)
			left = PIECE_MAX;
		rc = receive(x, left);
		if (*ret_payload_ns == 0)
			*ret_payload_ns = x->now_ns;
	}
	if (rc == 0 && memcmp(x->bytes + size - reply->tail_bytes, TAIL, reply->tail_bytes) != 0)
		return np_error_set(err, EPROTO, "the value is not followed by its END");
	return rc;
}

static int reconnect(struct nl_connection *connection, struct np_error *err)
{
	const struct nl_connection before = *connection;
	int rc = nl_connection_open(connection->server, connection->protocol,
	                            connection->deadline_ms, connection, err);

	if (rc < 0)
		return rc;
	connection->reconnects = before.reconnects + 1;
	connection->stop = before.stop;
	return 0;
}

/* After a failure, which is forgotten then. */
static bool is_to_be_tried_again(const struct nl_connection *connection, struct np_error *err)
{
	if (connection->is_stale && err)
		*err = (struct np_error){ 0 };
	return connection->is_stale;
}

static int get_value(struct exchange *x, const struct nl_get *get, struct nl_timing *ret,
                     struct np_error *err)
{
	int rc = send_request(x, get->request, get->request_bytes);

	if (rc == 0)
		rc = receive_head(x, err);
	if (rc == 0 && x->reply.kind != NL_REPLY_VALUE)
		rc = end_without(x, err);
	if (rc == 0)
		rc = receive_value(x, &ret->payload_ns, err);
	if (rc < 0)
		return rc;
	ret->start_ns = x->start_ns;
	ret->response_ns = x->response_ns;
	ret->total_ns = x->now_ns;
	return 0;
}

static int try_get(struct nl_connection *connection, const struct nl_get *get,
                   struct nl_timing *ret, const char **ret_value, struct np_error *err)
{
	struct exchange x = {
		.connection = connection,
		.verb = NL_GET,
		.key = get->key,
		.bytes = get->buffer,
		.room = NL_HEAD_MAX + (size_t)get->object_bytes,
		.expected_bytes = get->object_bytes,
	};
	struct nl_timing timing;
	int rc = connection->fd < 0 ? reconnect(connection, err) : 0;

	if (rc < 0)
		return rc;
	if (connection->protocol == NL_MEMCACHE) {
		expect_value(&x, get->key, get->object_bytes);
		/* The value begins a cache line, where the buffer does. */
		x.bytes += -x.expected_size % CACHE_LINE;
		x.room -= -x.expected_size % CACHE_LINE;
	}
	x.start_ns = np_raw_ns();
	rc = get_value(&x, get, &timing, err);
	if (x.reply.closes)
		nl_connection_close(connection);
	if (rc < 0)
		return fail(&x, rc, err);
	connection->served++;
	*ret = timing;
	*ret_value = x.bytes + x.reply.head_bytes;
	return 0;
}

int nl_exchange_get(struct nl_connection *connection, const struct nl_get *get,
                    struct nl_timing *ret, const char **ret_value, struct np_error *err)
{
	int rc = try_get(connection, get, ret, ret_value, err);

	if (rc == 0 || !is_to_be_tried_again(connection, err))
		return rc;
	return try_get(connection, get, ret, ret_value, err);
}

/* ---- set ---- */

static int set_value(struct exchange *x, struct iovec *parts, size_t count, struct np_error *err)
{
	int sent = send_all(x, parts, count);
	int rc;

	/* Who refuses a value may say so, and end the connection, before all of it is sent. */
	if (sent < 0 && sent != -EPIPE)
		return sent;
	rc = receive_head(x, err);
	if (rc < 0)
		return rc;
	if (x->reply.kind != NL_REPLY_STORED)
		return end_without(x, err);
	return sent < 0 ? sent : skip_page(x);
}

static int try_set(struct nl_connection *connection, const char *key, const char *value,
                   uint64_t bytes, struct np_error *err)
{
	const char *tail = nl_request_tail(connection->protocol);
	char server[NL_SERVER_TEXT_SIZE];
	char request[NL_REQUEST_MAX];
	char reply[NL_HEAD_MAX];
	struct exchange x = {
		.connection = connection,
		.verb = NL_SET,
		.key = key,
		.bytes = reply,
		.room = sizeof(reply),
	};
	/* sendmsg(2) takes what it only reads by pointers to what is not const. */
	struct iovec parts[] = {
		{ .iov_base = request },
		{ .iov_base = (char *)value, .iov_len = (size_t)bytes },
		{ .iov_base = (char *)tail, .iov_len = strlen(tail) },
	};
	int rc = connection->fd < 0 ? reconnect(connection, err) : 0;

	if (rc < 0)
		return rc;
	nl_server_text(connection->server, server, sizeof(server));
	parts[0].iov_len =
		nl_request_format(connection->protocol, NL_SET, server, key, bytes, request);
	x.start_ns = np_raw_ns();
	rc = set_value(&x, parts, sizeof(parts) / sizeof(parts[0]), err);
	if (x.reply.closes)
		nl_connection_close(connection);
	if (rc < 0)
		return fail(&x, rc, err);
	connection->served++;
	return 0;
}

int nl_exchange_set(struct nl_connection *connection, const char *key, const char *value,
                    uint64_t bytes, struct np_error *err)
{
	int rc = try_set(connection, key, value, bytes, err);

	if (rc == 0 || !is_to_be_tried_again(connection, err))
		return rc;
	return try_set(connection, key, value, bytes, err);
}
