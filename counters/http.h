/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The HTTP side of `serve`: GET and HEAD of /metrics and of a page that links it, by libmicrohttpd
 * in a thread for each socket. What a client can take is limited: see the numbers below.
 */
#ifndef NC_HTTP_H
#define NC_HTTP_H

#include <numaprobe/error.h>
#include <stddef.h>

enum {
	NC_HTTP_CONNECTIONS_MAX = 64,         /* of a socket; more wait to be accepted */
	NC_HTTP_ADDRESS_CONNECTIONS_MAX = 16, /* of one client address; more are closed */
	NC_HTTP_IDLE_S_MAX = 10,              /* without a byte from or to the client */
	NC_HTTP_REQUEST_BYTES_MAX = 16384,    /* of a request's line and headers, about */
};

struct nc_http_page {
	char *text; /* of malloc(3); passes to the caller */
	size_t size;
	const char *type; /* Content-Type; static */
};

/*
 * Makes the page of /metrics for a client's Accept header, NULL = none. It is called from any of
 * the threads. On failure the client gets status 503 and err's text.
 */
typedef int nc_http_metrics(void *context, const char *accept, struct nc_http_page *ret,
                            struct np_error *err);

struct nc_http; /* opaque */

/*
 * Serves on at most NC_LISTEN_SOCKETS_MAX listening sockets, which it takes over, whatever the result. The caller ends *ret with
 * nc_http_stop(). All signals that the caller handles must be blocked, as threads are started.
 *
 *   -errno of what could not be had
 */
int nc_http_start(const int *sockets, size_t count, nc_http_metrics *metrics, void *context,
                  struct nc_http **ret, struct np_error *err);

/* Ends connections and threads, and closes the sockets. Accepts NULL. */
void nc_http_stop(struct nc_http *http);

#endif
