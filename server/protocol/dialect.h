/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a protocol is to a session: memcache, HTTP and the admin port are three of these. The session has the
 * buffers, the limits and the output; a dialect understands one request at a time.
 */
#ifndef NS_DIALECT_H
#define NS_DIALECT_H

#include "output.h"

/* What a dialect made of the bytes at hand. */
enum ns_step {
	NS_STEP_MORE,  /* no whole request yet: more bytes are needed */
	NS_STEP_DONE,  /* @used bytes were a request, and it is answered */
	NS_STEP_BODY,  /* @used bytes were the head; a value of body_bytes follows */
	NS_STEP_CLOSE, /* answered, and the connection cannot go on */
};

/* Where the value that follows goes. */
struct ns_body {
	uint64_t bytes;        /* still to come */
	bool is_dropped;       /* swallowed: the answer is given already, or there is no room */
	struct ns_draft draft; /* unless is_dropped or bytes go to memory */
	char *memory; /* of append and prepend, which are small: malloc'ed, the dialect's */
	/*
	 * The value is here already, as it came in chunks: its bytes, the dialect's, to stay until finish().
	 * None of them come from the peer; the session moves them into the draft, which can have a tail.
	 */
	const char *source;
	/*
	 * To finish(): 0; -ENOSPC, -EIO, -ENOMEM of a tail that could not be written; -ETIMEDOUT: it came slowly, and
	 * others had need of its room (then the draft is gone).
	 */
	int rc;
};

struct ns_dialect {
	const char *name;
	/* State of one connection (auth, the request whose body is coming); NULL: no memory. */
	void *(*create)(struct ns_session_context *context);
	void (*free)(void *state, struct ns_session_context *context);

	/*
	 * Looks at the bytes that have come. They are not terminated. *used is how many it has consumed, with NS_STEP_MORE
	 * too (blank lines, parts of a chunked body that it took itself).
	 */
	enum ns_step (*take)(void *state, struct ns_session_context *context, const char *bytes,
	                     size_t count, size_t *used, struct ns_output *output,
	                     struct ns_body *ret_body);

	/* The value is whole, and on SSD as far as it belongs there, or body->rc is not 0: answers. */
	enum ns_step (*finish)(void *state, struct ns_session_context *context,
	                       struct ns_body *body, struct ns_output *output);

	/* The longest head that it could still complete; beyond it, refuse() answers and it closes. */
	size_t head_max;
	void (*refuse)(void *state, struct ns_output *output);
};

/* A session that speaks it; ns_session_create() is this with one of those below. NULL: no memory */
struct ns_session *ns_session_create_speaking(const struct ns_dialect *dialect,
                                              struct ns_session_context *context);

extern const struct ns_dialect ns_memcache;
extern const struct ns_dialect ns_http;
extern const struct ns_dialect ns_admin;

#endif
