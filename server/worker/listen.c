/* SPDX-License-Identifier: BSD-3-Clause */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024 };

struct address {
	struct sockaddr_storage address; /* its port is not set yet */
	socklen_t size;
	int port; /* of memcache there; 0: the one of all */
};

struct addresses {
	struct address list[NS_LISTEN_ADDRESSES_MAX];
	size_t count;
};

/* ---- which addresses ---- */

static int cut_port(const char *entry, char *text, int *ret_port, struct np_error *err)
{
	char *end;
	long port = strtol(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || port < 1 || port > UINT16_MAX)
		return np_error_set(err, EINVAL, "listening on '%s': '%s' is no port in 1..65535",
		                    entry, text);
	*ret_port = (int)port;
	return 0;
}

int ns_listen_cut(char *entry, const char **ret_host, int *ret_port, struct np_error *err)
{
	char *colon = strrchr(entry, ':');
	char *bracket = entry[0] == '[' ? strchr(entry, ']') : NULL;
	char *host = entry;
	int port = 0;
	int rc = 0;

	if (bracket && (bracket[1] == ':' || bracket[1] == '\0')) {
		colon = bracket[1] == ':' ? bracket + 1 : NULL;
		*bracket = '\0';
		host++;
	} else if (colon && colon != strchr(entry, ':')) {
		colon = NULL; /* IPv6, all of it */
	}
	if (colon) {
		rc = cut_port(host, colon + 1, &port, err);
		*colon = '\0';
	}
	if (rc == 0 && *host == '\0')
		return np_error_set(err, EINVAL,
		                    "listening: an empty address; * stands for all there are");
	if (rc < 0)
		return rc;
	*ret_host = host;
	*ret_port = port;
	return 0;
}

static int add_host(const char *host, int port, struct addresses *addresses, struct np_error *err)
{
	bool is_all = strcmp(host, "*") == 0;
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | (is_all ? AI_ADDRCONFIG : 0),
	};
	struct addrinfo *infos;
	int rc = getaddrinfo(is_all ? NULL : host, "0", &hints, &infos);

	if (rc != 0)
		return np_error_set(err, ENOENT, "listening: '%s': %s", host, gai_strerror(rc));
	rc = 0;
	for (const struct addrinfo *info = infos; info && rc == 0; info = info->ai_next) {
		struct address *to = &addresses->list[addresses->count];

		if (addresses->count == NS_LISTEN_ADDRESSES_MAX) {
			rc = np_error_set(err, E2BIG, "listening: more than %d addresses",
			                  NS_LISTEN_ADDRESSES_MAX);
			break;
		}
		memcpy(&to->address, info->ai_addr, info->ai_addrlen);
		to->size = info->ai_addrlen;
		to->port = port;
		addresses->count++;
	}
	freeaddrinfo(infos);
	return rc;
}

static int find_addresses(const char *hosts, struct addresses *ret, struct np_error *err)
{
	char *text = strdup(hosts);
	char *rest = text;
	const char *host;
	char *entry;
	int port;
	int rc = 0;

	if (!text)
		return np_error_sys(err, ENOMEM, "listening");
	while (rc == 0 && (entry = strsep(&rest, ",")) != NULL) {
		rc = ns_listen_cut(entry, &host, &port, err);
		if (rc == 0)
			rc = add_host(host, port, ret, err);
	}
	free(text);
	return rc;
}

static void set_port(struct address *address, int port)
{
	if (address->address.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&address->address)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)&address->address)->sin_port = htons((uint16_t)port);
}

static int port_of(int fd)
{
	struct address at = { .size = sizeof(at.address) };

	if (getsockname(fd, (struct sockaddr *)&at.address, &at.size) < 0)
		return 0;
	if (at.address.ss_family == AF_INET6)
		return ntohs(((struct sockaddr_in6 *)&at.address)->sin6_port);
	return ntohs(((struct sockaddr_in *)&at.address)->sin_port);
}

static const char *host_of(const struct address *address, char *buf, socklen_t size)
{
	if (getnameinfo((const struct sockaddr *)&address->address, address->size, buf, size, NULL,
	                0, NI_NUMERICHOST) != 0)
		return "?";
	return buf;
}

/* ---- one socket ---- */

static int explain(int code, const struct address *address, int port, struct np_error *err)
{
	char buf[INET6_ADDRSTRLEN + 16];
	const char *host = host_of(address, buf, sizeof(buf));

	switch (code) {
	case EADDRINUSE:
		return np_error_set(err, code,
		                    "port %d of %s is in use by another program: choose another "
		                    "one, or stop that one (ss -ltnp tells which it is)",
		                    port, host);
	case EADDRNOTAVAIL:
		return np_error_set(err, code,
		                    "%s: no interface of this host has that address (ip address "
		                    "lists those there are)",
		                    host);
	case EACCES:
		return np_error_set(
			err, code,
			"port %d of %s: ports below net.ipv4.ip_unprivileged_port_start "
			"are root's or need CAP_NET_BIND_SERVICE",
			port, host);
	default:
		return np_error_sys(err, code, "listening on port %d of %s", port, host);
	}
}

/* Bound there, or -errno. */
static int bind_one(const struct address *address, bool is_shared_port)
{
	const int on = 1;
	int fd = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (rc == 0 && is_shared_port)
		rc = setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (rc == 0 && address->address.ss_family == AF_INET6)
		rc = setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	/* Connections inherit them. A peer that has vanished would keep its place for ever. */
	if (rc == 0)
		rc = setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (rc == 0)
		rc = setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	if (rc == 0)
		rc = bind(fd, (const struct sockaddr *)&address->address, address->size);
	if (rc == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* SO_REUSEPORT would let us in beside another server of the same user: that must not be. */
static int check_is_free(const struct address *address)
{
	int fd = bind_one(address, false);
	int rc = 0;

	if (fd < 0)
		return fd;
	if (listen(fd, 1) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* @cpu: whose packets it is to be preferred for; -1: any */
static int listen_one(const struct address *address, int cpu)
{
	int fd = bind_one(address, true);
	int rc;

	if (fd < 0)
		return fd;
	if ((cpu < 0 || setsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, sizeof(cpu)) == 0) &&
	    listen(fd, BACKLOG) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

/* ---- all of them ---- */

/* A place for the worker's next one. */
static struct ns_listener *add_listener(struct ns_listeners *listeners, unsigned worker,
                                        size_t index, enum ns_session_kind kind, int fd)
{
	size_t a_worker = (size_t)NS_LISTEN_ADDRESSES_MAX * (NS_SESSION_ADMIN + 1);
	struct ns_listener *listener = &listeners->list[worker * a_worker + index];

	*listener = (struct ns_listener){ .source = NS_SOURCE_LISTENER, .fd = fd, .kind = kind };
	return listener;
}

/* What is opened, and for whom. */
struct opening {
	const struct ns_config *config;
	const unsigned *cpus; /* of the workers */
	struct addresses addresses;
};

static int cpu_of(const struct opening *opening, unsigned worker)
{
	return opening->config->steer == NS_STEER_CPU ? (int)opening->cpus[worker] : -1;
}

/* One address, for all workers; *port becomes the one it is, where any was asked for. */
static int open_address(struct ns_listeners *listeners, const struct opening *opening,
                        struct address *address, enum ns_session_kind kind, int *port)
{
	int rc = 0;

	if (*port != NS_ANY_PORT) {
		set_port(address, *port);
		rc = check_is_free(address);
	}
	for (unsigned worker = 0; worker < listeners->worker_count && rc == 0; worker++) {
		int fd = listen_one(address, cpu_of(opening, worker));

		if (fd < 0) {
			rc = fd;
			break;
		}
		add_listener(listeners, worker, listeners->count_a_worker, kind, fd);
		if (*port == NS_ANY_PORT) {
			*port = port_of(fd);
			set_port(address, *port);
		}
	}
	listeners->count_a_worker++;
	return rc;
}

/* Named before, as two names can be of one address; with the port, where they may have several. */
static bool is_repeated(const struct addresses *addresses, size_t index, bool with_port)
{
	const struct address *address = &addresses->list[index];

	for (size_t i = 0; i < index; i++) {
		const struct address *before = &addresses->list[i];

		if (before->size == address->size &&
		    memcmp(&before->address, &address->address, address->size) == 0 &&
		    (!with_port || before->port == address->port))
			return true;
	}
	return false;
}

static int open_port(struct ns_listeners *listeners, const struct opening *opening, int port,
                     enum ns_session_kind kind, struct np_error *err)
{
	const struct addresses *addresses = &opening->addresses;
	bool has_own_ports = kind == NS_SESSION_MEMCACHE;

	for (size_t i = 0; i < addresses->count && port != 0; i++) {
		struct address address = addresses->list[i];
		int own = has_own_ports && address.port ? address.port : port;
		int rc;

		if (is_repeated(addresses, i, has_own_ports))
			continue;
		rc = open_address(listeners, opening, &address, kind, &own);
		if (rc < 0)
			return explain(-rc, &address, own, err);
		if (i == 0)
			listeners->ports[kind] = own;
		/* All that may have any get the same. */
		if (port == NS_ANY_PORT && !(has_own_ports && address.port))
			port = own;
	}
	return 0;
}

/* What a server that was killed left behind is in the way of bind(2); one that lives is not ours to remove. */
static int remove_stale(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat info;
	int rc = -EADDRINUSE;

	if (fd < 0)
		return -errno;
	if (lstat(address->sun_path, &info) < 0)
		rc = errno == ENOENT ? 0 : -errno;
	else if (S_ISSOCK(info.st_mode) &&
	         connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	         errno == ECONNREFUSED)
		rc = unlink(address->sun_path) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

static int open_unix(const char *path, mode_t mode)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;
	int rc;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	rc = remove_stale(&address);
	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* The mode first, so that it is never wider than asked; then once more, past the umask. */
	if (fchmod(fd, mode) == 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
	    chmod(path, mode) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	rc = -errno;
	close(fd);
	return rc;
}

static int open_socket(struct ns_listeners *listeners, const struct ns_config *config,
                       struct np_error *err)
{
	const char *path = config->memcache_socket;
	int fd = open_unix(path, config->memcache_socket_mode);

	if (fd == -EADDRINUSE)
		return np_error_set(
			err, EADDRINUSE,
			"%s is there already, and it is in use or no socket: remove it, "
			"or choose another name",
			path);
	if (fd < 0)
		return np_error_sys(err, -fd, "listening on %s", path);
	for (unsigned worker = 0; worker < listeners->worker_count; worker++)
		add_listener(listeners, worker, listeners->count_a_worker, NS_SESSION_MEMCACHE, fd)
			->is_shared = true;
	listeners->count_a_worker++;
	listeners->socket_path = strdup(path);
	return listeners->socket_path ? 0 : np_error_sys(err, ENOMEM, "%s", path);
}

/* The workers' lists move together, now that it is known how long they are. */
static void close_ranks(struct ns_listeners *listeners)
{
	size_t a_worker = (size_t)NS_LISTEN_ADDRESSES_MAX * (NS_SESSION_ADMIN + 1);

	for (unsigned worker = 1; worker < listeners->worker_count; worker++)
		memmove(listeners->list + worker * listeners->count_a_worker,
		        listeners->list + worker * a_worker,
		        listeners->count_a_worker * sizeof(*listeners->list));
}

static int open_all(struct ns_listeners *listeners, struct opening *opening, struct np_error *err)
{
	const struct ns_config *config = opening->config;
	int memcache_port = config->memcache_socket ? 0 : config->memcache_port;
	int rc = find_addresses(config->listen_address, &opening->addresses, err);

	if (rc == 0 && config->memcache_socket)
		rc = open_socket(listeners, config, err);
	if (rc == 0)
		rc = open_port(listeners, opening, memcache_port, NS_SESSION_MEMCACHE, err);
	if (rc == 0)
		rc = open_port(listeners, opening, config->http_port, NS_SESSION_HTTP, err);
	if (rc == 0)
		rc = open_port(listeners, opening, config->admin_port, NS_SESSION_ADMIN, err);
	return rc;
}

int ns_listeners_open(const struct ns_config *config, const unsigned *cpus, unsigned workers,
                      struct ns_listeners *ret, struct np_error *err)
{
	size_t most = (size_t)workers * NS_LISTEN_ADDRESSES_MAX * (NS_SESSION_ADMIN + 1);
	struct ns_listeners listeners = { .worker_count = workers };
	struct opening opening = { .config = config, .cpus = cpus };
	int rc;

	listeners.list = calloc(most, sizeof(*listeners.list));
	if (!listeners.list)
		return np_error_sys(err, ENOMEM, "listening");
	for (size_t i = 0; i < most; i++)
		listeners.list[i].fd = -1;
	rc = open_all(&listeners, &opening, err);
	close_ranks(&listeners);
	*ret = listeners;
	if (rc < 0)
		ns_listeners_close(ret);
	return rc;
}

void ns_listeners_close(struct ns_listeners *listeners)
{
	size_t count = listeners->count_a_worker * listeners->worker_count;

	for (size_t i = 0; listeners->list && i < count; i++) {
		struct ns_listener *listener = &listeners->list[i];

		if (listener->fd >= 0 && (!listener->is_shared || i < listeners->count_a_worker))
			close(listener->fd);
	}
	if (listeners->socket_path)
		unlink(listeners->socket_path);
	free(listeners->socket_path);
	free(listeners->list);
	*listeners = (struct ns_listeners){ 0 };
}

const char *ns_listener_text(const struct ns_listeners *listeners, size_t index,
                             char buf[NS_LISTEN_TEXT_MAX])
{
	static const char *const names[] = {
		[NS_SESSION_MEMCACHE] = "memcache",
		[NS_SESSION_HTTP] = "HTTP",
		[NS_SESSION_ADMIN] = "admin",
	};
	const struct ns_listener *listener = &listeners->list[index];
	struct address at = { .size = sizeof(at.address) };
	char host[INET6_ADDRSTRLEN + 16];
	bool is_v6;

	if (listener->is_shared) {
		snprintf(buf, NS_LISTEN_TEXT_MAX, "%s listens on %s", names[listener->kind],
		         listeners->socket_path);
		return buf;
	}
	(void)getsockname(listener->fd, (struct sockaddr *)&at.address, &at.size);
	is_v6 = at.address.ss_family == AF_INET6;
	snprintf(buf, NS_LISTEN_TEXT_MAX, "%s listens on %s%s%s:%d", names[listener->kind],
	         is_v6 ? "[" : "", host_of(&at, host, sizeof(host)), is_v6 ? "]" : "",
	         port_of(listener->fd));
	return buf;
}
