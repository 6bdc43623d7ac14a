/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_request.h"

#include <errno.h>

/* Empty lines before a request are tolerated (RFC 9112, 2.2). */
static size_t skip_blank_lines(const char *bytes, size_t count)
{
	size_t at = 0;

	while (count - at >= 2 && bytes[at] == '\r' && bytes[at + 1] == '\n')
		at += 2;
	return at;
}

static bool goes_on(const struct ns_http_head *head)
{
	return !head->wants_close && (head->minor > 0 || head->wants_alive);
}

enum ns_step ns_http_request_take(struct ns_http_request *request,
                                  struct ns_session_context *context, const char *bytes,
                                  size_t count, size_t *used, struct ns_output *output)
{
	size_t blank = request->progress.scanned == 0 ? skip_blank_lines(bytes, count) : 0;
	struct ns_http_fault fault;
	int len;

	*used = blank;
	if (count - blank == 0 || (count - blank == 1 && bytes[blank] == '\r'))
		return NS_STEP_MORE;
	len = ns_http_parse(bytes + blank, count - blank, &request->progress, &request->head,
	                    &fault);
	if (len == -EAGAIN)
		return NS_STEP_MORE;

	request->progress = (struct ns_http_progress){ 0 };
	request->manner = (struct ns_http_manner){ .context = context };
	if (len < 0) {
		ns_count(&context->counts->protocol_errors, 1);
		ns_http_answer_words(&request->manner, fault.status, fault.why, NULL, output);
		return NS_STEP_CLOSE;
	}
	*used = blank + (size_t)len;
	request->manner.is_old = request->head.minor == 0;
	request->manner.is_head = request->head.method == NS_HTTP_HEAD;
	request->manner.keeps_alive =
		goes_on(&request->head) && !ns_state_is_draining(context->server);
	return NS_STEP_DONE;
}

static bool waits_for_word(const struct ns_http_head *head)
{
	return (head->expects_continue || head->expects_other) && head->minor > 0;
}

void ns_http_request_refuse_body(struct ns_http_request *request)
{
	const struct ns_http_head *head = &request->head;
	bool has_body = head->is_chunked || head->length > 0;

	if (has_body &&
	    (head->is_chunked || head->length > NS_HTTP_UNWANTED_MAX || waits_for_word(head)))
		request->manner.keeps_alive = false;
}

enum ns_step ns_http_request_end(const struct ns_http_request *request, struct ns_body *ret_body)
{
	if (!request->manner.keeps_alive)
		return NS_STEP_CLOSE;
	if (request->head.length == 0)
		return NS_STEP_DONE;
	*ret_body = (struct ns_body){ .bytes = request->head.length, .is_dropped = true };
	return NS_STEP_BODY;
}

void ns_http_request_refuse_head(void *state, struct ns_output *output)
{
	static const char text[] = "HTTP/1.1 431 Request Header Fields Too Large\r\n"
				   "Connection: close\r\nContent-Length: 0\r\n\r\n";

	(void)state;
	ns_output_add(output, text, sizeof(text) - 1);
}
