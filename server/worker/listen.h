/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the server listens. Each worker has a socket of its own for each address and port (SO_REUSEPORT), so that
 * connections are dealt out by the kernel and stay where they were dealt; a unix socket is shared.
 */
#ifndef NS_LISTEN_H
#define NS_LISTEN_H

#include "connection.h"

enum {
	NS_LISTEN_ADDRESSES_MAX = 16, /* of one port */
	NS_LISTEN_TEXT_MAX = 160,
};

struct ns_listener {
	enum ns_source source;
	int fd;
	enum ns_session_kind kind;
	bool is_shared; /* by all workers */
	bool may_have_more;
};

struct ns_listeners {
	struct ns_listener *list; /* the first worker's, then the second's ... */
	size_t count_a_worker;
	unsigned worker_count;
	int ports[NS_SESSION_ADMIN + 1]; /* by kind, of the first address; 0 = off */
	char *socket_path;               /* made by us, to be removed; or NULL */
};

/*
 * Cuts an entry of config->listen_address, which it changes: HOST, HOST:PORT, IPv6 with a port in brackets.
 * *ret_port is 0 where none is told. -EINVAL
 */
int ns_listen_cut(char *entry, const char **ret_host, int *ret_port, struct np_error *err);

/*
 * Listens for all workers, at once. The caller ends it with ns_listeners_close(), twice is ok. With
 * a host name in config->listen_address, or several apart by commas, on all addresses of them; a port
 * there is memcache's. With NS_STEER_CPU the kernel is told each worker's CPU, of @cpus.
 *
 *   -EINVAL  no host, or no port in 1..65535
 *   -EADDRINUSE, -EADDRNOTAVAIL, -EACCES ...  of bind(2); err says what would help
 *   -ENOENT  nobody knows the name
 *   -E2BIG   more than NS_LISTEN_ADDRESSES_MAX
 */
int ns_listeners_open(const struct ns_config *config, const unsigned *cpus, unsigned workers,
                      struct ns_listeners *ret, struct np_error *err);
void ns_listeners_close(struct ns_listeners *listeners);

/* "memcache listens on 127.0.0.1:11211", IPv6 in brackets. @index: in the first worker's. Returns @buf. */
const char *ns_listener_text(const struct ns_listeners *listeners, size_t index,
                             char buf[NS_LISTEN_TEXT_MAX]);

#endif
