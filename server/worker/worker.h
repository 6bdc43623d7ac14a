/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread on one CPU, with connections of its own: epoll, edges, no epoll_ctl() once a connection is there.
 * Its memory is of the node of its CPU, as it allocates all of it itself after it is pinned.
 */
#ifndef NS_WORKER_H
#define NS_WORKER_H

#include "listen.h"
#include "steer.h"

/*
 * How long a peer may take, beside the config's idle_timeout_ms and deadline_ms. Heads, values and answers are given so long for each NS_DEADLINE_STEP_BYTES, so that
 * who sends or reads a byte now and then is not kept for ever.
 */
enum {
	NS_HTTP_IDLE_MS = 60000, /* unless idle_timeout_ms says; memcache's is none then */
	NS_STORAGE_MS = 30000,   /* for a pool to go on */
	NS_LINGER_MS = 2000,     /* for the peer to end its side */
	NS_DRAIN_MS = 5000,      /* from ns_server_stop() on */
	NS_DEADLINE_STEP_BYTES = 16384,
};

/* Of the admin port at a time, beside connections_max: who watches is not kept out by who uses it. */
enum { NS_ADMIN_CONNECTIONS_MAX = 32 };

/* Borrowed; the same for all workers but for the first five. */
struct ns_worker_setup {
	unsigned index; /* in state's lists */
	unsigned cpu;
	unsigned node;
	struct ns_listener *listeners;
	size_t listener_count;

	struct ns_server_state *state;
	enum ns_tail_engine engine; /* where there are pools */
	const char *auth;
	struct ns_steering *steering; /* NULL: connections stay where they are accepted */
	int stop_fd; /* an eventfd, written to when all are to stop, and to stop at once */
	uint32_t *connections;       /* atomic: of all workers, but for ... */
	uint32_t *admin_connections; /* ... these */
};

/*
 * Pins the calling thread and serves until it is told to stop and has drained. The state's is_draining, and
 * is_ending, are set by whoever writes to stop_fd.
 *
 *   -EXDEV   the kernel keeps the thread elsewhere
 *   -ENOSYS, -EPERM  no io_uring, with NS_ENGINE_URING
 *   -ENOMEM, -EMFILE ...
 */
int ns_worker_run(const struct ns_worker_setup *setup, struct np_error *err);

#endif
