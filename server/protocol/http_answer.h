/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What HTTP answers look like: a head put together on the stack, and texts for people. What does
 * not fit the output any more ends the session (output.h), so nothing here fails.
 */
#ifndef NS_HTTP_ANSWER_H
#define NS_HTTP_ANSWER_H

#include "output.h"

enum { NS_HTTP_ANSWER_MAX = 1024 }; /* with a Content-Type of NS_TYPE_TEXT_MAX */

/* How the request at hand is to be answered. */
struct ns_http_manner {
	const struct ns_session_context *context;
	bool is_old;      /* HTTP/1.0 */
	bool is_head;     /* the value is left out, its length is told */
	bool keeps_alive; /* the connection goes on */
};

struct ns_http_answer {
	size_t len;
	char text[NS_HTTP_ANSWER_MAX];
};

/* Status line, Server, Date, and Connection when it is not what the peer expects. */
void ns_http_answer_begin(struct ns_http_answer *answer, const struct ns_http_manner *manner,
                          unsigned status);
/* A field that does not fit is left out. */
void ns_http_answer_field(struct ns_http_answer *answer, const char *name, const char *value,
                          size_t len);
void ns_http_answer_number(struct ns_http_answer *answer, const char *name, uint64_t value);
/* "Content-Range: bytes first-last/all"; with @count 0 that of a 416, a star for the part. */
void ns_http_answer_range(struct ns_http_answer *answer, uint64_t first, uint64_t count,
                          uint64_t all);
void ns_http_answer_tag(struct ns_http_answer *answer, uint64_t cas);
void ns_http_answer_end(struct ns_http_answer *answer, struct ns_output *output);

/* A whole answer of a few words, for people. @allow: the field Allow, or NULL. */
void ns_http_answer_words(const struct ns_http_manner *manner, unsigned status, const char *words,
                          const char *allow, struct ns_output *output);

#endif
