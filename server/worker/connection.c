/* SPDX-License-Identifier: BSD-3-Clause */
#include "connection.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	STEPS_A_TURN = 8,            /* reads or batches of commands */
	PIECES_A_CALL = 128,         /* of sendmsg(2) */
	SEND_BYTES_A_TURN = 1 << 20, /* then others get theirs, however fast the peer reads */
	LINGER_BYTES_A_TURN =
		256 << 10, /* of last words that are thrown away, until NS_LINGER_MS is over */
};

/* Neither a socket of the file system nor the loopback interface; what cannot be told is from afar. */
static bool is_from_afar(int fd)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t size = sizeof(peer);
	const struct sockaddr_in *ip4 = (const void *)&peer;
	const struct sockaddr_in6 *ip6 = (const void *)&peer;

	if (getpeername(fd, (struct sockaddr *)&peer, &size) < 0)
		return true;
	if (peer.ss_family == AF_INET)
		return ntohl(ip4->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET;
	if (peer.ss_family != AF_INET6)
		return peer.ss_family != AF_UNIX;
	if (IN6_IS_ADDR_V4MAPPED(&ip6->sin6_addr))
		return ip6->sin6_addr.s6_addr[12] != IN_LOOPBACKNET;
	return !IN6_IS_ADDR_LOOPBACK(&ip6->sin6_addr);
}

struct ns_connection *ns_connection_create(int fd, enum ns_session_kind kind,
                                           struct ns_session_context *context)
{
	struct ns_connection *connection = calloc(1, sizeof(*connection));

	if (!connection)
		return NULL;
	connection->source = NS_SOURCE_CONNECTION;
	connection->kind = kind;
	connection->fd = fd;
	connection->counts = context->counts;
	connection->can_write = true;
	context->is_from_afar = is_from_afar(fd);
	connection->session = ns_session_create(kind, context);
	if (!connection->session) {
		free(connection);
		return NULL;
	}
	return connection;
}

void ns_connection_free(struct ns_connection *connection)
{
	ns_deadline_clear(&connection->deadline);
	ns_session_free(connection->session);
	close(connection->fd);
	free(connection);
}

bool ns_connection_is_idle(const struct ns_connection *connection)
{
	return connection->is_lingering ||
	       (ns_session_waiting(connection->session) == NS_IDLE && !connection->can_read);
}

/* As much as the socket takes. 0; 1 when there is more and others go first; or -errno of a connection that is lost. */
static int send_output(struct ns_connection *connection)
{
	struct iovec pieces[PIECES_A_CALL];
	size_t all = 0;

	while (connection->can_write) {
		struct msghdr message = { .msg_iov = pieces };
		ssize_t sent;

		message.msg_iovlen = ns_session_output(connection->session, pieces, PIECES_A_CALL);
		if (message.msg_iovlen == 0)
			return 0;
		if (all >= SEND_BYTES_A_TURN)
			return 1;
		sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent >= 0) {
			ns_count(&connection->counts->bytes_written, (uint64_t)sent);
			connection->gave_bytes += (uint64_t)sent;
			connection->has_given = true;
			ns_session_sent(connection->session, (size_t)sent);
			all += (size_t)sent;
		} else if (errno == EAGAIN) {
			connection->can_write = false;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

/* 0, or -errno of a connection that is lost. */
static int receive(struct ns_connection *connection)
{
	char *to;
	size_t room = ns_session_room(connection->session, &to);
	ssize_t got;

	if (room == 0)
		return 0;
	got = recv(connection->fd, to, room, MSG_DONTWAIT);
	if (got > 0) {
		ns_count(&connection->counts->bytes_read, (uint64_t)got);
		connection->got_bytes += (uint64_t)got;
		/* Less than there was room for: that was all, and more makes a new edge (epoll(7)). */
		connection->can_read = (size_t)got == room || connection->has_hung_up;
		ns_session_received(connection->session, (size_t)got);
	} else if (got == 0) {
		connection->can_read = false;
		connection->has_hung_up = true;
		ns_session_ended(connection->session);
	} else if (errno == EAGAIN) {
		connection->can_read = false;
	} else if (errno != EINTR) {
		return -errno;
	}
	return 0;
}

/* Until the peer ends its side too: closing with bytes unread would reset what it has not read yet. */
static enum ns_turn linger(struct ns_connection *connection)
{
	char words[4096];
	size_t left = LINGER_BYTES_A_TURN;

	while (connection->can_read && left >= sizeof(words)) {
		ssize_t got = recv(connection->fd, words, sizeof(words), MSG_DONTWAIT);

		if (got > 0)
			left -= (size_t)got;
		else if (got < 0 && errno == EAGAIN)
			connection->can_read = false;
		else if (got == 0 || errno != EINTR)
			return NS_TURN_END;
	}
	return connection->can_read ? NS_TURN_AGAIN : NS_TURN_WAIT;
}

static enum ns_turn end(struct ns_connection *connection)
{
	/* What the peer sent last is read: nothing can be lost. */
	if (connection->has_hung_up && !connection->can_read)
		return NS_TURN_END;
	if (shutdown(connection->fd, SHUT_WR) < 0)
		return NS_TURN_END;
	connection->is_lingering = true;
	connection->got_bytes = 0;
	connection->can_read = true;
	return linger(connection);
}

enum ns_turn ns_connection_end(struct ns_connection *connection)
{
	int left = 0;

	if (ioctl(connection->fd, SIOCOUTQ, &left) < 0 || left == 0)
		return NS_TURN_END;
	return connection->is_lingering ? NS_TURN_WAIT : end(connection);
}

enum ns_turn ns_connection_turn(struct ns_connection *connection)
{
	struct ns_session *session = connection->session;

	if (connection->is_lingering)
		return linger(connection);
	for (unsigned step = 0; step < STEPS_A_TURN; step++) {
		int rc = send_output(connection);

		if (rc != 0)
			return rc < 0 ? NS_TURN_END : NS_TURN_AGAIN;
		/* Who does not read is not read from; nor is who waits for the rest of an answer. */
		if (ns_session_has_output(session))
			return NS_TURN_WAIT;
		if (ns_session_is_over(session))
			return end(connection);
		if (ns_session_is_ready(session)) {
			ns_count(&connection->counts->yields, 1);
			ns_session_continue(session);
		} else if (!connection->can_read || !ns_session_wants_input(session)) {
			return NS_TURN_WAIT;
		} else if (receive(connection) < 0) {
			return NS_TURN_END;
		}
	}
	return NS_TURN_AGAIN;
}
