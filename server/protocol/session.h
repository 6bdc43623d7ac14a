/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection's conversation, without the connection: bytes in, bytes out. No sockets, no clock and no
 * waiting, so that any stream in any pieces can be put through it; the worker moves the bytes.
 *
 * Output is a list of pieces: small ones are copied into the session's own buffer, values are pinned objects
 * and are sent from where they lie. Input of a value goes straight to where it will lie.
 */
#ifndef NS_SESSION_H
#define NS_SESSION_H

#include "state.h"
#include "upload.h"
#include <sys/uio.h>

/* Limits on what one peer can make us keep. */
enum {
	NS_LINE_MAX = 8192,             /* a memcache command line, an HTTP request line */
	NS_HEAD_LINES_MAX = 32768,      /* an HTTP head */
	NS_OUTPUT_PIECES_MAX = 1024,    /* queued; then no more input is taken */
	NS_OUTPUT_COPIED_MAX = 262144,  /* bytes of small pieces, likewise */
	NS_OUTPUT_PINNED_MAX = 1 << 20, /* bytes of heads that stay where they are, likewise */
	NS_GATHERED_MAX = 64 << 20,     /* of gathered_bytes, unless one value alone is longer */
	NS_TURN_COMMANDS_MAX = 64,      /* served before others get their turn */
	NS_TAIL_BUFFERS = 64, /* of NS_TAIL_CHUNK_BYTES, for pools, of all sessions of a worker */
	NS_UPLOAD_SHARE = 2, /* values that are not whole have one in so many of an arena's bytes */
	NS_UPLOAD_STEP_BYTES = 4096 /* a second, by who has a buffer that others wait for */
};

/* What all sessions of a worker share. */
struct ns_session_context {
	struct ns_server_state
		*server; /* server.h of the worker: settings, statistics; opaque here */
	struct ns_worker_counts *counts; /* its own, of server->workers */
	struct ns_thread *thread;
	struct ns_tail_io *tails; /* NULL: there are no pools */
	const struct ns_config *config;
	struct ns_store *store;
	uint32_t now_s; /* of the store's clock, kept by the worker each turn */
	char date[32];  /* HTTP's Date, kept by the worker each second; not terminated by CRLF */
	struct ns_uploads uploads;
	uint64_t gathered_bytes; /* of values in chunks or to be appended, of all its connections */
	const char *auth; /* contents of the auth file, "user:password" a line; NULL = open */
	bool is_from_afar; /* the peer of the next session is on another machine; set before it is created */
};

/* Whether so much more may be counted in gathered_bytes. One value alone always may. */
static inline bool ns_session_may_gather(const struct ns_session_context *context, uint64_t bytes)
{
	return context->gathered_bytes == 0 || context->gathered_bytes + bytes <= NS_GATHERED_MAX;
}

enum ns_session_kind { NS_SESSION_MEMCACHE, NS_SESSION_HTTP, NS_SESSION_ADMIN };

struct ns_session; /* opaque */

struct ns_session *ns_session_create(enum ns_session_kind kind, struct ns_session_context *context);
/* Called, out of ns_tail_io_reap(), when one that waited for its pools can go on: then it has another turn. */
void ns_session_on_wake(struct ns_session *session, struct ns_tail_waiter waiter);
/* Unpins and drops whatever it holds, in the middle of a value too. Accepts NULL. */
void ns_session_free(struct ns_session *session);

/*
 * Where the next bytes of the peer go: room of at least 1 byte; 0 when none are wanted now (ns_session_wants_input()).
 * Stays valid until ns_session_received().
 */
size_t ns_session_room(struct ns_session *session, char **ret);

/*
 * So many bytes have been put there. Goes as far as they reach, but for NS_TURN_COMMANDS_MAX
 * commands at most; ns_session_is_ready() says that more could be done without more bytes.
 */
void ns_session_received(struct ns_session *session, size_t count);
bool ns_session_is_ready(const struct ns_session *session);
void ns_session_continue(struct ns_session *session);

/* The peer will send no more. */
void ns_session_ended(struct ns_session *session);

/* The first pieces of what is to be sent; returns how many, at most @max. */
unsigned ns_session_output(struct ns_session *session, struct iovec *pieces, unsigned max);
/* There is output, at hand or on its way from a pool. Nothing of a peer is read before it has that. */
bool ns_session_has_output(const struct ns_session *session);
/* So many bytes of them are sent. */
void ns_session_sent(struct ns_session *session, size_t count);

bool ns_session_wants_input(const struct ns_session *session);
/* To be closed once the output is sent (quit, an error that loses the step). */
bool ns_session_is_over(const struct ns_session *session);

/* The peer reads nothing: what was read ahead for it is given back, and read again when it is needed. */
void ns_session_pause(struct ns_session *session);

/*
 * Once a second, for all sessions of the context: where others wait for buffers of pools, those that have one give
 * it back. Who has begun to fill it and hardly goes on loses his value with it, and is told so at its end.
 */
void ns_sessions_hurry(struct ns_session_context *context);

/* What it waits for, for deadlines. */
enum ns_waiting { NS_IDLE, NS_IN_HEAD, NS_IN_BODY, NS_SENDING, NS_IN_STORAGE };
enum ns_waiting ns_session_waiting(const struct ns_session *session);

/* Bytes that it keeps beside the pinned objects. */
size_t ns_session_bytes(const struct ns_session *session);

#endif
