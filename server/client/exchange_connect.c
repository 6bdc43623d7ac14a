/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections to a server, within a deadline. */
#include "exchange.h"

#include "../../probe/base/clock.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/*
 * A wait for the server is cut into this many, and the clock is looked at after each: so a request ends
 * within a twentieth of its deadline, however late in it the server stops.
 */
enum { SLICES = 20 };

#define MS_NS UINT64_C(1000000)

static int set_timeout(int fd, int option, uint64_t ns)
{
	struct timeval timeout = {
		.tv_sec = (time_t)(ns / (1000 * MS_NS)),
		.tv_usec = (suseconds_t)(ns % (1000 * MS_NS) / 1000),
	};

	/* 0 would mean for ever. */
	if (timeout.tv_sec == 0 && timeout.tv_usec == 0)
		timeout.tv_usec = 1;
	return setsockopt(fd, SOL_SOCKET, option, &timeout, sizeof(timeout)) < 0 ? -errno : 0;
}

/* For requests: many small ones, and waits that end. */
static int set_options(int fd, int family, unsigned deadline_ms)
{
	const uint64_t slice_ns = deadline_ms * MS_NS / SLICES;
	const int on = 1;
	int rc = set_timeout(fd, SO_RCVTIMEO, slice_ns);

	if (rc == 0)
		rc = set_timeout(fd, SO_SNDTIMEO, slice_ns);
	if (rc == 0 && family != AF_UNIX &&
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		rc = -errno;
	return rc;
}

/* The socket, or a negative errno. SO_SNDTIMEO holds for connect(2) too: socket(7). */
static int connect_to(int family, const struct sockaddr *address, socklen_t size, uint64_t end_ns)
{
	uint64_t now_ns = np_now_ns();
	int fd;
	int rc;

	if (now_ns >= end_ns)
		return -ETIMEDOUT;
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rc = set_timeout(fd, SO_SNDTIMEO, end_ns - now_ns);
	if (rc == 0 && connect(fd, address, size) < 0)
		rc = errno == EINPROGRESS || errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

static int connect_unix(const char *path, uint64_t end_ns)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	return connect_to(AF_UNIX, (const struct sockaddr *)&address, sizeof(address), end_ns);
}

static int look_up(const struct nl_server *server, struct addrinfo **ret, struct np_error *err)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	int rc = getaddrinfo(server->host, server->port, &hints, ret);
	int code = errno;

	if (rc == 0)
		return 0;
	if (rc == EAI_SYSTEM)
		return np_error_sys(err, code, "%s: looking it up", server->host);
	return np_error_set(err, rc == EAI_MEMORY ? ENOMEM : EHOSTUNREACH, "%s: looking it up: %s",
	                    server->host, gai_strerror(rc));
}

/* The first address that takes us. */
static int connect_tcp(const struct nl_server *server, uint64_t end_ns, int *ret_family,
                       struct np_error *err)
{
	struct addrinfo *addresses = NULL;
	int fd = look_up(server, &addresses, err);

	if (fd < 0)
		return fd;
	fd = -EHOSTUNREACH;
	for (const struct addrinfo *a = addresses; a && fd < 0 && fd != -EINTR; a = a->ai_next) {
		fd = connect_to(a->ai_family, a->ai_addr, a->ai_addrlen, end_ns);
		*ret_family = a->ai_family;
	}
	freeaddrinfo(addresses);
	return fd;
}

static int explain(const struct nl_connection *connection, int rc, struct np_error *err)
{
	char server[NL_SERVER_TEXT_SIZE];

	nl_server_text(connection->server, server, sizeof(server));
	if (rc == -ETIMEDOUT)
		return np_error_set(err, ETIMEDOUT, "%s: no connection within %g s", server,
		                    connection->deadline_ms / 1e3);
	if (rc == -ECONNREFUSED || (rc == -ENOENT && !connection->server->port))
		return np_error_sys(err, -rc, "%s: no server listens there", server);
	return np_error_sys(err, -rc, "%s: connecting", server);
}

int nl_connection_open(const struct nl_server *server, enum nl_protocol protocol,
                       unsigned deadline_ms, struct nl_connection *ret, struct np_error *err)
{
	uint64_t end_ns = np_now_ns() + deadline_ms * MS_NS;
	struct nl_connection connection = {
		.server = server,
		.protocol = protocol,
		.deadline_ms = deadline_ms,
	};
	struct np_error found = { 0 };
	int family = AF_UNIX;
	int rc;

	if (server->port)
		connection.fd = connect_tcp(server, end_ns, &family, &found);
	else
		connection.fd = connect_unix(server->host, end_ns);
	if (found.code)
		return np_error_set(err, found.code, "%s", found.text);
	if (connection.fd < 0)
		return explain(&connection, connection.fd, err);
	rc = set_options(connection.fd, family, deadline_ms);
	if (rc < 0) {
		explain(&connection, rc, err);
		nl_connection_close(&connection);
		return rc;
	}
	*ret = connection;
	return 0;
}

void nl_connection_close(struct nl_connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
}
