/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of many connections of a thread that waits for all of them by epoll: it never blocks, and takes
 * one request after the other. In the steady state a small request is one send(2) and one recv(2).
 *
 * An HTTP server may end a connection, after a reply with "Connection: close" or while nothing is asked
 * on it; it is then opened anew, and a request that was sent on it without a byte of a reply is sent
 * again, its times staying what they were. Any other end is an error.
 */
#ifndef NL_LOAD_CONNECTION_H
#define NL_LOAD_CONNECTION_H

#include "load_plan.h"
#include "wire.h"

#include <sys/socket.h>

/* What the connections of a thread have in common. */
struct nl_load_io {
	const struct nl_load_plan *plan;
	char where[NL_SERVER_TEXT_SIZE]; /* the server, for messages and for HTTP */
	int epoll_fd;
	struct sockaddr_storage address; /* of the server */
	socklen_t address_bytes;
	char *received; /* values go through here and are not kept */
	char *pattern;  /* and what is stored comes from here */
	uint64_t reconnects;
};

/* @connections of a thread will use it. The caller ends it with nl_load_io_close(). -ENOMEM, of epoll_create1(2) */
int nl_load_io_open(const struct nl_load_plan *plan, struct nl_load_io *ret, struct np_error *err);
void nl_load_io_close(struct nl_load_io *io); /* accepts one that is zeroed */

struct nl_load_request {
	enum nl_verb verb;
	uint32_t key;
	bool is_counted;      /* sent after the warm-up */
	uint64_t intended_ns; /* when it was meant to be sent */
	uint64_t sent_ns;
};

struct nl_load_connection {
	int fd;
	bool is_busy;       /* with a request */
	bool is_connecting; /* takes one all the same: it is sent as soon as that is done */
	bool waits_to_send; /* the kernel has no room */
	uint64_t since_ns;  /* connecting, or idle, since then */
	uint64_t served;    /* replies since it was opened */
	struct nl_load_request request;

	/* The worker's list of idle ones. */
	struct nl_load_connection *next;
	bool is_listed;

	/* What is sent: the head, the value, the tail. */
	char key[NL_KEY_MAX + 1];
	char head[NL_REQUEST_MAX];
	size_t head_bytes;
	uint64_t value_bytes;
	size_t tail_bytes;
	uint64_t sent_bytes;

	/* What comes. */
	struct nl_reply reply;
	bool has_reply;   /* its head is whole */
	uint64_t missing; /* bytes behind it that have not come */
	char *held;       /* the beginning of a head, NL_HEAD_MAX bytes */
	size_t held_bytes;
};

/*
 * Connects and waits for that, as nl_connection_open(); @held has NL_HEAD_MAX bytes. The caller ends
 * it with nl_load_connection_close().
 */
int nl_load_connection_open(struct nl_load_io *io, char *held, struct nl_load_connection *ret,
                            struct np_error *err);
void nl_load_connection_close(struct nl_load_connection *connection); /* twice is ok */

/* Formats a request of @verb for @key, to be sent next. */
void nl_load_connection_prepare(const struct nl_load_io *io, struct nl_load_connection *connection,
                                enum nl_verb verb, uint32_t key);

/* Sends it, at least begins to; its times are set. Errors as below. */
int nl_load_connection_send(struct nl_load_io *io, struct nl_load_connection *connection,
                            struct np_error *err);

enum nl_load_event {
	NL_LOAD_NOTHING,   /* go on waiting */
	NL_LOAD_CONNECTED, /* again, and nothing is to be sent */
	NL_LOAD_REPLIED, /* the reply is whole; is_connecting tells whether the connection goes on */
};

/*
 * Does what epoll says can be done.
 *
 *   -EPIPE       the server ended the connection
 *   -EPROTO      its reply is none
 *   -EBADMSG     the value is wrong, where that is looked at
 *   -EREMOTEIO   it does not understand us; err has its words
 *   other        of connect(2), send(2), recv(2)
 */
int nl_load_connection_handle(struct nl_load_io *io, struct nl_load_connection *connection,
                              uint32_t epoll_events, enum nl_load_event *ret, struct np_error *err);

#endif
