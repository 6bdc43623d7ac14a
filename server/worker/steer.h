/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Handing accepted connections to the worker whose CPU works off their receive queue (--steer napi). A queue
 * is known by its NAPI id (SO_INCOMING_NAPI_ID, socket(7)); its worker is the one on the CPU that its packets
 * come to, or, where no worker is there, the next in turn, for good.
 */
#ifndef NS_STEER_H
#define NS_STEER_H

#include "../protocol/session.h"

enum {
	NS_QUEUES_MAX =
		256, /* NAPI ids that are told apart; of more, each goes to whoever accepts */
	NS_HANDED_MAX =
		1024, /* connections on their way to one worker; then they stay where they are */
};

struct ns_steering; /* opaque */

/* @cpus: of the workers, which are at least one; borrowed for the call. NULL: no memory, no descriptors */
struct ns_steering *ns_steering_create(const unsigned *cpus, unsigned workers);
/* Closes what was handed over and not taken. Accepts NULL. */
void ns_steering_free(struct ns_steering *steering);

/* Whose connections of that queue are; @napi_id 0, which is none, gives @own. Any thread. */
unsigned ns_steering_worker(struct ns_steering *steering, unsigned napi_id, unsigned cpu,
                            unsigned own);

/* The same for an accepted socket, by what the kernel tells; *ret_known: whether it told a queue. */
unsigned ns_steering_worker_of(struct ns_steering *steering, int fd, unsigned own, bool *ret_known);

struct ns_handed {
	int fd;
	enum ns_session_kind kind;
};

/* -ENOSPC: too many are on their way; -EPIPE: the worker takes no more. The socket stays the caller's then. */
int ns_steering_give(struct ns_steering *steering, unsigned worker, struct ns_handed handed);

/* Becomes readable when something was handed to the worker; it stays so, epoll's edges are what counts. */
int ns_steering_fd(const struct ns_steering *steering, unsigned worker);
/* The oldest of what was handed over; false: there is nothing. */
bool ns_steering_take(struct ns_steering *steering, unsigned worker, struct ns_handed *ret);
/* It takes no more; what came before is still to be taken. */
void ns_steering_end(struct ns_steering *steering, unsigned worker);

#endif
