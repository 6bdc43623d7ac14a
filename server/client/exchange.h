/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection, and one request after the other on it, each with its time: the measured path of
 * `run`, and how `populate` stores. Nothing is allocated here and nothing printed; the clock is
 * CLOCK_MONOTONIC_RAW.
 */
#ifndef NL_EXCHANGE_H
#define NL_EXCHANGE_H

#include "wire.h"

#include <signal.h>

struct nl_connection {
	const struct nl_server *server;
	enum nl_protocol protocol;
	unsigned deadline_ms;
	int fd;              /* -1 = closed */
	uint64_t served;     /* replies since it was opened */
	bool is_stale;       /* the server had ended it, as HTTP allows, before our request came */
	uint64_t reconnects; /* by HTTP servers that end a connection now and then */
	/*
	 * A signal ends a wait where this is not 0; NULL = any does. Set by the caller after opening: without
	 * it whoever is suspended and continued, or traced, would fail (signal(7), "Interruption of
	 * system calls ... by stop signals").
	 */
	const volatile sig_atomic_t *stop;
};

/*
 * Connects, with TCP_NODELAY. The caller ends it with nl_connection_close(). @server must outlive it.
 *
 *   -ETIMEDOUT     within deadline_ms
 *   -ECONNREFUSED, other of getaddrinfo(3), connect(2); err names the server
 */
int nl_connection_open(const struct nl_server *server, enum nl_protocol protocol,
                       unsigned deadline_ms, struct nl_connection *ret, struct np_error *err);
void nl_connection_close(struct nl_connection *connection);

/*
 * When, in nanoseconds: start of the clock, the others since start. Memcache's head is received to
 * its exact length, so that the value is in a receive of its own, unless the whole reply fits one Ethernet
 * segment; HTTP's is received as it comes. Where the receive that ends the head brings a part of the value too, payload
 * is when that receive ended: response, mostly.
 */
struct nl_timing {
	uint64_t start_ns;
	uint64_t response_ns; /* the first byte of the reply was received */
	uint64_t payload_ns;  /* the first byte of the value; response_ns for a value of 0 bytes */
	uint64_t total_ns;    /* the last byte */
};

struct nl_get {
	const char *key;     /* as nl_key_format() made it */
	const char *request; /* formatted before: the clock starts at its sending */
	size_t request_bytes;
	uint64_t object_bytes; /* expected; a reply of another size is -EBADMSG */
	char *buffer; /* for the value: object_bytes, and NL_HEAD_MAX more before it for our use */
};

/*
 * Sends a GET and receives the whole reply. *ret_value points to the value within the buffer. Where an
 * HTTP server ended a connection between two requests, it is opened anew and asked again, once, and
 * the clock starts with that (RFC 9112, 9.3.1 and 9.5).
 *
 *   -ENOENT      a miss
 *   -EBADMSG     another size than expected
 *   -EPROTO      no reply to this
 *   -ETIMEDOUT   the deadline passed
 *   -EPIPE       the server ended the connection
 *   -EINTR       a signal came while it waited
 *   -EREMOTEIO   the server refused; err has its words
 *   other        of send(2), recv(2)
 * After all but -ENOENT the connection is of no more use.
 */
int nl_exchange_get(struct nl_connection *connection, const struct nl_get *get,
                    struct nl_timing *ret, const char **ret_value, struct np_error *err);

/* Stores one object, made by nl_value_fill(), of @value's bytes; errors and second try as above. */
int nl_exchange_set(struct nl_connection *connection, const char *key, const char *value,
                    uint64_t bytes, struct np_error *err);

#endif
