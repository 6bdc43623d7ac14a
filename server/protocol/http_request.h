/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of a request, for the dialects that are HTTP: its head is taken off the stream, what is
 * no request is answered, and a body that nobody wants is got rid of.
 */
#ifndef NS_HTTP_REQUEST_H
#define NS_HTTP_REQUEST_H

#include "dialect.h"
#include "http_answer.h"
#include "http_parse.h"

/* A body nobody wants is read over up to here; behind a longer one the connection ends. */
enum { NS_HTTP_UNWANTED_MAX = 1 << 20 };

struct ns_http_request {
	struct ns_http_progress progress;
	struct ns_http_manner manner;
	struct ns_http_head head; /* its texts point into the bytes that were taken */
};

/*
 * NS_STEP_DONE: there is a head, @used bytes long with the blank lines before it, and nothing is
 * answered yet. NS_STEP_CLOSE: answered, as what came is no request. Or NS_STEP_MORE.
 */
enum ns_step ns_http_request_take(struct ns_http_request *request,
                                  struct ns_session_context *context, const char *bytes,
                                  size_t count, size_t *used, struct ns_output *output);

/*
 * Before the answer is written: the body, if there is one, is not wanted. If it is too long to be
 * read over, of unknown length, or may never come (Expect), the connection ends with the answer.
 */
void ns_http_request_refuse_body(struct ns_http_request *request);

/* After it: what is next. */
enum ns_step ns_http_request_end(const struct ns_http_request *request, struct ns_body *ret_body);

/* A dialect's refuse(). ns_http_request_take() sees to long heads itself, with a better answer. */
void ns_http_request_refuse_head(void *state, struct ns_output *output);

#endif
