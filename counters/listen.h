/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses to listen on, from the text of --listen to open sockets.
 */
#ifndef NC_LISTEN_H
#define NC_LISTEN_H

#include <numaprobe/error.h>
#include <stddef.h>

enum {
	NC_LISTEN_HOST_MAX = 253, /* the longest name that DNS has */
	NC_LISTEN_SOCKETS_MAX = 16,
	NC_LISTEN_URL_MAX = 96,
};

/* In the range that Prometheus keeps for exporters, 9100 to 9999, and not one of the common ones'. */
#define NC_LISTEN_DEFAULT "127.0.0.1:9914"

struct nc_listen_address {
	char host[NC_LISTEN_HOST_MAX + 1]; /* "" = all addresses of this host */
	char port[6];                      /* decimal; "0" = the kernel chooses */
};

/*
 * HOST:PORT, [IPV6]:PORT, :PORT for all addresses, PORT alone for this host alone (127.0.0.1).
 *
 *   -EINVAL  it is none of these
 */
int nc_listen_parse(const char *text, struct nc_listen_address *ret, struct np_error *err);

struct nc_listen_sockets {
	int fds[NC_LISTEN_SOCKETS_MAX];
	size_t count;
};

/*
 * Listens on all that the host's name stands for, and adds the sockets to *sockets, which the
 * caller ends with nc_listen_close(). An address that this host has not is passed over where
 * another one can be had.
 *
 *   -EADDRINUSE, -EADDRNOTAVAIL, -EACCES ...  of bind(2); err says what would help
 *   -ENOENT  nobody knows the name
 *   -E2BIG   more than NC_LISTEN_SOCKETS_MAX
 */
int nc_listen_open(const struct nc_listen_address *address, struct nc_listen_sockets *sockets,
                   struct np_error *err);
void nc_listen_close(struct nc_listen_sockets *sockets);

/* "http://127.0.0.1:9914", with the port that it really is. Returns @buf. */
const char *nc_listen_url(int fd, char buf[NC_LISTEN_URL_MAX]);

#endif
