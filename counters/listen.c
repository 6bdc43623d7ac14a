/* SPDX-License-Identifier: BSD-3-Clause */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64, PORT_MAX = 65535, DIGITS_MAX = 5 };

static int parse_port(const char *text, const char *port, struct nc_listen_address *ret,
                      struct np_error *err)
{
	size_t digits = strspn(port, "0123456789");

	if (digits == 0 || port[digits] != '\0' || digits > DIGITS_MAX || atoi(port) > PORT_MAX)
		return np_error_set(err, EINVAL, "--listen: '%s': '%s' is no port in 0..65535",
		                    text, port);
	snprintf(ret->port, sizeof(ret->port), "%s", port);
	return 0;
}

int nc_listen_parse(const char *text, struct nc_listen_address *ret, struct np_error *err)
{
	const char *colon = strrchr(text, ':');
	struct nc_listen_address address = { .host = "127.0.0.1" };
	const char *host = text;
	size_t host_len;

	if (colon) {
		host_len = (size_t)(colon - text);
		if (text[0] == '[' && host_len >= 2 && colon[-1] == ']') {
			host++;
			host_len -= 2;
		} else if (memchr(text, ':', host_len)) {
			return np_error_set(err, EINVAL,
			                    "--listen: '%s': an IPv6 address wants brackets, "
			                    "[ADDRESS]:PORT",
			                    text);
		}
		if (host_len > NC_LISTEN_HOST_MAX)
			return np_error_set(err, EINVAL,
			                    "--listen: a host name has at most %d "
			                    "bytes, this one %zu",
			                    NC_LISTEN_HOST_MAX, host_len);
		memcpy(address.host, host, host_len);
		address.host[host_len] = '\0';
	}
	if (parse_port(text, colon ? colon + 1 : text, &address, err) < 0)
		return -EINVAL;
	*ret = address;
	return 0;
}

static int explain(int code, const struct nc_listen_address *address, struct np_error *err)
{
	const char *host = *address->host ? address->host : "all addresses";
	const char *port = address->port;

	switch (code) {
	case EADDRINUSE:
		return np_error_set(err, code,
		                    "port %s of %s is in use by another program: choose another "
		                    "one with --listen (ss -ltnp tells who has it)",
		                    port, host);
	case EADDRNOTAVAIL:
		return np_error_set(err, code,
		                    "%s: no interface of this host has that address (ip address "
		                    "lists those there are)",
		                    host);
	case EACCES:
		return np_error_set(err, code,
		                    "port %s of %s: ports below "
		                    "net.ipv4.ip_unprivileged_port_start are root's or need "
		                    "CAP_NET_BIND_SERVICE",
		                    port, host);
	default:
		return np_error_sys(err, code, "listening on port %s of %s", port, host);
	}
}

/* A listening socket, or a negative errno. */
static int open_one(const struct addrinfo *info)
{
	const int on = 1;
	int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	/* So that a restart need not wait for the last connections to be forgotten. */
	rc = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (rc == 0 && info->ai_family == AF_INET6)
		rc = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (rc == 0)
		rc = bind(fd, info->ai_addr, info->ai_addrlen);
	if (rc == 0)
		rc = listen(fd, BACKLOG);
	if (rc == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* Whether the lack of an address is no matter where another one can be had. */
static bool is_lack(int code)
{
	return code == -EADDRNOTAVAIL || code == -EAFNOSUPPORT;
}

static int open_all(const struct nc_listen_address *address, const struct addrinfo *infos,
                    struct nc_listen_sockets *sockets, struct np_error *err)
{
	size_t before = sockets->count;
	int lack = -EADDRNOTAVAIL;

	for (const struct addrinfo *info = infos; info; info = info->ai_next) {
		int fd;

		if (sockets->count == NC_LISTEN_SOCKETS_MAX)
			return np_error_set(err, E2BIG, "--listen: at most %d addresses",
			                    NC_LISTEN_SOCKETS_MAX);
		fd = open_one(info);
		if (fd >= 0)
			sockets->fds[sockets->count++] = fd;
		else if (is_lack(fd))
			lack = fd;
		else
			return explain(-fd, address, err);
	}
	return sockets->count > before ? 0 : explain(-lack, address, err);
}

int nc_listen_open(const struct nc_listen_address *address, struct nc_listen_sockets *sockets,
                   struct np_error *err)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	struct addrinfo *infos;
	int rc = getaddrinfo(*address->host ? address->host : NULL, address->port, &hints, &infos);

	if (rc != 0)
		return np_error_set(err, ENOENT, "--listen: '%s': %s", address->host,
		                    gai_strerror(rc));
	rc = open_all(address, infos, sockets, err);
	freeaddrinfo(infos);
	return rc;
}

void nc_listen_close(struct nc_listen_sockets *sockets)
{
	while (sockets->count > 0)
		close(sockets->fds[--sockets->count]);
}

const char *nc_listen_url(int fd, char buf[NC_LISTEN_URL_MAX])
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof(address);
	char host[64] = "?";
	char port[8] = "?";

	if (getsockname(fd, (struct sockaddr *)&address, &size) == 0)
		getnameinfo((struct sockaddr *)&address, size, host, sizeof(host), port,
		            sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(buf, NC_LISTEN_URL_MAX,
	         address.ss_family == AF_INET6 ? "http://[%s]:%s" : "http://%s:%s", host, port);
	return buf;
}
