/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A socket and its session: moves bytes between the two as far as both go, a turn at a time. It never waits;
 * events are edges, and what they said is kept until the socket says otherwise.
 */
#ifndef NS_CONNECTION_H
#define NS_CONNECTION_H

#include "../protocol/session.h"
#include "timers.h"

/* What an event is about; begins every struct that is registered with epoll. */
enum ns_source {
	NS_SOURCE_STOP,
	NS_SOURCE_LISTENER,
	NS_SOURCE_CONNECTION,
	NS_SOURCE_STORAGE,
	NS_SOURCE_INBOX
};

struct ns_connection {
	enum ns_source source;
	int fd;
	enum ns_session_kind kind;
	struct ns_session *session;
	struct ns_worker_counts *counts;
	void *worker; /* whose it is */

	bool can_read;
	bool can_write;
	bool has_hung_up; /* the peer has ended its side: read to the end */
	bool is_lingering; /* all is sent and our side ended: the peer's last words are thrown away */
	bool has_last_deadline; /* of lingering, which nothing prolongs */
	bool is_queued;         /* for another turn */
	bool is_dead;           /* to be freed at the end of the round */

	struct ns_deadline deadline;
	enum ns_waiting waiting; /* that the deadline is for */
	uint64_t got_bytes;      /* since it was set */
	uint64_t gave_bytes;
	bool has_given; /* since the last tick */

	struct ns_connection *queue_next;
	struct ns_connection *next; /* all of the worker */
	struct ns_connection *previous;
};

/* Takes over @fd, which does not block. NULL: no memory, and @fd stays the caller's. */
struct ns_connection *ns_connection_create(int fd, enum ns_session_kind kind,
                                           struct ns_session_context *context);
void ns_connection_free(struct ns_connection *connection);

enum ns_turn {
	NS_TURN_WAIT,  /* until an event or the deadline */
	NS_TURN_AGAIN, /* more could be done; others first */
	NS_TURN_END,   /* to be freed */
};
enum ns_turn ns_connection_turn(struct ns_connection *connection);

/* Of one that is idle: at once when all that was sent has arrived, else once the peer has had time for it. */
enum ns_turn ns_connection_end(struct ns_connection *connection);

/* Nothing of a request has come, and nothing is to be sent. */
bool ns_connection_is_idle(const struct ns_connection *connection);

#endif
