/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_connection.h"

#include "exchange.h"

#include "../../probe/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/*
 * Received at once: enough that a value of 256 KiB takes few calls, and little enough that the buffer stays
 * in a second-level cache. A value that is stored is made a piece at a time, as the kernel takes it.
 */
enum { RECEIVED_BYTES = 256 << 10, PATTERN_BYTES = 64 << 10 };

/* ---- what a thread's connections share ---- */

int nl_load_io_open(const struct nl_load_plan *plan, struct nl_load_io *ret, struct np_error *err)
{
	int code;

	*ret = (struct nl_load_io){ .plan = plan, .epoll_fd = epoll_create1(EPOLL_CLOEXEC) };
	code = errno;
	if (ret->epoll_fd < 0) {
		*ret = (struct nl_load_io){ 0 };
		return np_error_sys(err, code, "load: epoll_create1");
	}
	nl_server_text(&plan->target->server, ret->where, sizeof(ret->where));
	ret->received = malloc(RECEIVED_BYTES);
	ret->pattern = malloc(PATTERN_BYTES);
	if (ret->received && ret->pattern)
		return 0;
	nl_load_io_close(ret);
	return np_error_sys(err, ENOMEM, "load: buffers of a thread");
}

void nl_load_io_close(struct nl_load_io *io)
{
	if (io->plan)
		close(io->epoll_fd);
	free(io->received);
	free(io->pattern);
	*io = (struct nl_load_io){ 0 };
}

static int watch(const struct nl_load_io *io, struct nl_load_connection *connection, int operation,
                 uint32_t events, struct np_error *err)
{
	struct epoll_event event = { .events = events, .data = { .ptr = connection } };

	if (epoll_ctl(io->epoll_fd, operation, connection->fd, &event) < 0)
		return np_error_sys(err, errno, "%s: epoll_ctl", io->where);
	return 0;
}

/* ---- opening and opening anew ---- */

static int take_address(struct nl_load_io *io, int fd, struct np_error *err)
{
	io->address_bytes = sizeof(io->address);
	if (getpeername(fd, (struct sockaddr *)&io->address, &io->address_bytes) < 0)
		return np_error_sys(err, errno, "%s: getpeername", io->where);
	return 0;
}

int nl_load_connection_open(struct nl_load_io *io, char *held, struct nl_load_connection *ret,
                            struct np_error *err)
{
	const struct nl_target *target = io->plan->target;
	struct nl_connection opened;
	int rc = nl_connection_open(&target->server, target->protocol, target->deadline_ms, &opened,
	                            err);

	if (rc < 0)
		return rc;
	*ret = (struct nl_load_connection){ .fd = opened.fd, .held = held };
	if (fcntl(ret->fd, F_SETFL, O_NONBLOCK) < 0)
		rc = np_error_sys(err, errno, "%s: fcntl", io->where);
	if (rc == 0)
		rc = take_address(io, ret->fd, err);
	if (rc == 0)
		rc = watch(io, ret, EPOLL_CTL_ADD, EPOLLIN, err);
	if (rc < 0)
		nl_load_connection_close(ret);
	return rc;
}

void nl_load_connection_close(struct nl_load_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}

/* The descriptor leaves the epoll instance as it is closed. */
static int reopen(struct nl_load_io *io, struct nl_load_connection *connection,
                  struct np_error *err)
{
	int one = 1;

	nl_load_connection_close(connection);
	connection->fd =
		socket(io->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (connection->fd < 0)
		return np_error_sys(err, errno, "%s: socket", io->where);
	if (io->address.ss_family != AF_UNIX)
		setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(connection->fd, (const struct sockaddr *)&io->address, io->address_bytes) < 0 &&
	    errno != EINPROGRESS)
		return np_error_sys(err, errno, "%s: connect", io->where);
	io->reconnects++;
	connection->is_connecting = true;
	connection->waits_to_send = false;
	connection->served = 0;
	connection->since_ns = np_now_ns();
	return watch(io, connection, EPOLL_CTL_ADD, EPOLLOUT, err);
}

/*
 * The server ended it. It may, if it speaks HTTP and no reply has begun: after replies, or tired of
 * waiting for a request.
 */
static int ended(struct nl_load_io *io, struct nl_load_connection *connection, struct np_error *err)
{
	bool has_begun = connection->has_reply || connection->held_bytes > 0;
	bool is_unused = connection->served == 0 && connection->is_busy;

	if (io->plan->target->protocol == NL_HTTP && !has_begun && !is_unused)
		return reopen(io, connection, err);
	return np_error_set(err, EPIPE, "%s: the server ended the connection%s", io->where,
	                    has_begun ? " within a reply" : "");
}

/* ---- sending ---- */

void nl_load_connection_prepare(const struct nl_load_io *io, struct nl_load_connection *connection,
                                enum nl_verb verb, uint32_t key)
{
	const struct nl_target *target = io->plan->target;
	uint64_t bytes = nl_sizes_of(&target->sizes, key);

	nl_key_format(target->protocol, target->prefix, key, connection->key);
	connection->head_bytes = nl_request_format(target->protocol, verb, io->where,
	                                           connection->key, bytes, connection->head);
	connection->value_bytes = verb == NL_SET ? bytes : 0;
	connection->tail_bytes = verb == NL_SET ? strlen(nl_request_tail(target->protocol)) : 0;
	connection->request.verb = verb;
	connection->request.key = key;
}

static uint64_t bytes_to_send(const struct nl_load_connection *connection)
{
	return connection->head_bytes + connection->value_bytes + connection->tail_bytes;
}

/* The next piece, from sent_bytes on. */
static ssize_t send_piece(struct nl_load_io *io, const struct nl_load_connection *connection)
{
	const struct nl_target *target = io->plan->target;
	uint64_t sent = connection->sent_bytes;
	uint64_t value_begin = connection->head_bytes;
	uint64_t value_end = value_begin + connection->value_bytes;
	struct iovec parts[3];
	struct msghdr message = { .msg_iov = parts };

	if (connection->value_bytes == 0 && connection->tail_bytes == 0)
		return send(connection->fd, connection->head + sent, value_begin - sent,
		            MSG_NOSIGNAL);
	if (sent < value_begin) {
		parts[message.msg_iovlen++] = (struct iovec){
			.iov_base = (char *)connection->head + sent,
			.iov_len = value_begin - sent,
		};
		sent = value_begin;
	}
	if (sent < value_end) {
		size_t piece = value_end - sent < PATTERN_BYTES ? value_end - sent : PATTERN_BYTES;

		nl_value_fill(io->pattern, piece, connection->request.key, connection->value_bytes,
		              sent - value_begin);
		parts[message.msg_iovlen++] = (struct iovec){ io->pattern, piece };
		sent += piece;
	}
	if (sent >= value_end)
		parts[message.msg_iovlen++] = (struct iovec){
			.iov_base = (char *)nl_request_tail(target->protocol) + (sent - value_end),
			.iov_len = connection->tail_bytes - (sent - value_end),
		};
	return sendmsg(connection->fd, &message, MSG_NOSIGNAL);
}

static int set_waits_to_send(const struct nl_load_io *io, struct nl_load_connection *connection,
                             bool waits, struct np_error *err)
{
	if (connection->waits_to_send == waits)
		return 0;
	connection->waits_to_send = waits;
	return watch(io, connection, EPOLL_CTL_MOD, waits ? EPOLLIN | EPOLLOUT : EPOLLIN, err);
}

/* As much as the kernel takes. */
static int push(struct nl_load_io *io, struct nl_load_connection *connection, struct np_error *err)
{
	while (connection->sent_bytes < bytes_to_send(connection)) {
		ssize_t count = send_piece(io, connection);

		if (count >= 0)
			connection->sent_bytes += (uint64_t)count;
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return set_waits_to_send(io, connection, true, err);
		else if (errno == EPIPE || errno == ECONNRESET)
			return ended(io, connection, err);
		else if (errno != EINTR)
			return np_error_sys(err, errno, "%s: send", io->where);
	}
	return set_waits_to_send(io, connection, false, err);
}

int nl_load_connection_send(struct nl_load_io *io, struct nl_load_connection *connection,
                            struct np_error *err)
{
	connection->is_busy = true;
	connection->sent_bytes = 0;
	connection->has_reply = false;
	connection->held_bytes = 0;
	return connection->is_connecting ? 0 : push(io, connection, err);
}

/* ---- receiving ---- */

/* A server that does not understand memcache's commands may take a value for the next ones. */
static int check_reply(const struct nl_load_io *io, const struct nl_load_connection *connection,
                       struct np_error *err)
{
	const struct nl_load_request *request = &connection->request;
	const struct nl_target *target = io->plan->target;
	uint64_t bytes = nl_sizes_of(&target->sizes, request->key);
	const struct nl_reply *reply = &connection->reply;

	if (reply->kind == NL_REPLY_REFUSED && target->protocol == NL_MEMCACHE &&
	    strncmp(reply->text, "SERVER_ERROR", strlen("SERVER_ERROR")) != 0)
		return np_error_set(err, EREMOTEIO, "%s: '%s': the server refused: %s", io->where,
		                    connection->key, reply->text);
	if (reply->kind == NL_REPLY_VALUE && io->plan->verifies && reply->body_bytes != bytes)
		return np_error_set(
			err, EBADMSG, "%s: '%s': a value of %llu bytes came, %llu were expected",
			io->where, connection->key, (unsigned long long)reply->body_bytes,
			(unsigned long long)bytes);
	return 0;
}

/*
 * Reads the head from what came, together with what was held of it. Returns how many of the new bytes
 * belong to it; all of them, where it is not whole yet.
 */
static ssize_t take_head(const struct nl_load_io *io, struct nl_load_connection *connection,
                         const char *bytes, size_t size, struct np_error *err)
{
	size_t before = connection->held_bytes;
	size_t room = NL_HEAD_MAX - before;
	const char *head = bytes;
	size_t head_size = size;
	int rc;

	if (before > 0) {
		size_t taken = size < room ? size : room;

		memcpy(connection->held + before, bytes, taken);
		head = connection->held;
		head_size = before + taken;
	}
	rc = nl_reply_parse(io->plan->target->protocol, connection->request.verb, connection->key,
	                    head, head_size, &connection->reply, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "%s: '%s'", io->where, connection->key);
	if (connection->reply.kind != NL_REPLY_MORE) {
		connection->has_reply = true;
		connection->missing = connection->reply.body_bytes + connection->reply.tail_bytes;
		rc = check_reply(io, connection, err);
		return rc < 0 ? rc : (ssize_t)(connection->reply.head_bytes - before);
	}
	/* A head that fills the room and has no end was refused. */
	if (before == 0)
		memcpy(connection->held, bytes, size);
	connection->held_bytes = before > 0 ? head_size : size;
	return (ssize_t)size;
}

/* Looks at the part of the stamp that is in @bytes, which stand at @offset of the value. */
static int check_stamp(const struct nl_load_io *io, const struct nl_load_connection *connection,
                       const char *bytes, size_t size, struct np_error *err)
{
	const struct nl_reply *reply = &connection->reply;
	uint64_t offset = reply->body_bytes + reply->tail_bytes - connection->missing;
	uint64_t end = reply->body_bytes < NL_STAMP_BYTES ? reply->body_bytes : NL_STAMP_BYTES;
	int64_t wrong;

	if (reply->kind != NL_REPLY_VALUE || offset >= end)
		return 0;
	if (size > end - offset)
		size = (size_t)(end - offset);
	wrong = nl_value_check(bytes, size, connection->request.key, reply->body_bytes, offset);
	if (wrong < 0)
		return 0;
	return np_error_set(err, EBADMSG,
	                    "%s: '%s': byte %llu of the value is not what numalat populate stored",
	                    io->where, connection->key,
	                    (unsigned long long)offset + (unsigned long long)wrong);
}

static bool is_whole(const struct nl_load_connection *connection)
{
	return connection->has_reply && connection->missing == 0 &&
	       (connection->reply.closes || connection->sent_bytes == bytes_to_send(connection));
}

/* The reply is there. A connection that goes no further is opened anew. */
static int finish(struct nl_load_io *io, struct nl_load_connection *connection,
                  enum nl_load_event *ret, struct np_error *err)
{
	connection->is_busy = false;
	connection->has_reply = false;
	connection->held_bytes = 0;
	connection->served++;
	*ret = NL_LOAD_REPLIED;
	return connection->reply.closes ? reopen(io, connection, err) : 0;
}

static int take(struct nl_load_io *io, struct nl_load_connection *connection, size_t size,
                struct np_error *err)
{
	const char *bytes = io->received;
	int rc;

	if (!connection->is_busy || (connection->has_reply && connection->missing == 0))
		return np_error_set(err, EPROTO, "%s: the server sent what nobody asked for",
		                    io->where);
	if (!connection->has_reply) {
		ssize_t taken = take_head(io, connection, bytes, size, err);

		if (taken < 0)
			return (int)taken;
		bytes += taken;
		size -= (size_t)taken;
	}
	if (!connection->has_reply)
		return 0;
	if (io->plan->verifies) {
		rc = check_stamp(io, connection, bytes, size, err);
		if (rc < 0)
			return rc;
	}
	/* A page of an error whose end is not told: the connection ends behind it. */
	if (connection->reply.closes && connection->reply.kind != NL_REPLY_VALUE &&
	    size > connection->missing)
		size = connection->missing;
	if (size > connection->missing)
		return np_error_set(err, EPROTO, "%s: '%s': the reply is longer than it says",
		                    io->where, connection->key);
	connection->missing -= size;
	return 0;
}

static int receive(struct nl_load_io *io, struct nl_load_connection *connection,
                   enum nl_load_event *ret, struct np_error *err)
{
	ssize_t count;
	int rc;

	/* A full buffer is the one case in which there is surely more. */
	do {
		count = recv(connection->fd, io->received, RECEIVED_BYTES, 0);
		if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
			return 0;
		if (count == 0 || (count < 0 && errno == ECONNRESET))
			return ended(io, connection, err);
		if (count < 0)
			return np_error_sys(err, errno, "%s: recv", io->where);
		rc = take(io, connection, (size_t)count, err);
		if (rc < 0)
			return rc;
		if (is_whole(connection))
			return finish(io, connection, ret, err);
	} while (count == RECEIVED_BYTES);
	return 0;
}

/* ---- events ---- */

static int finish_connecting(struct nl_load_io *io, struct nl_load_connection *connection,
                             enum nl_load_event *ret, struct np_error *err)
{
	socklen_t size = sizeof(int);
	int code = 0;
	int rc;

	if (getsockopt(connection->fd, SOL_SOCKET, SO_ERROR, &code, &size) < 0)
		code = errno;
	if (code)
		return np_error_sys(err, code, "%s: connect", io->where);
	connection->is_connecting = false;
	rc = watch(io, connection, EPOLL_CTL_MOD, EPOLLIN, err);
	if (rc < 0)
		return rc;
	if (connection->is_busy)
		return nl_load_connection_send(io, connection, err);
	*ret = NL_LOAD_CONNECTED;
	return 0;
}

int nl_load_connection_handle(struct nl_load_io *io, struct nl_load_connection *connection,
                              uint32_t epoll_events, enum nl_load_event *ret, struct np_error *err)
{
	int rc;

	*ret = NL_LOAD_NOTHING;
	if (connection->is_connecting)
		return finish_connecting(io, connection, ret, err);
	if (connection->waits_to_send && (epoll_events & EPOLLOUT)) {
		rc = push(io, connection, err);
		if (rc < 0 || connection->is_connecting)
			return rc;
		if (connection->is_busy && is_whole(connection))
			return finish(io, connection, ret, err);
	}
	if (epoll_events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		return receive(io, connection, ret, err);
	return 0;
}
