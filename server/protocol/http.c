/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects over HTTP/1.1 (RFC 9110, 9112): GET, HEAD, PUT, DELETE, OPTIONS.
 */
#include "dialect.h"
#include "http_answer.h"
#include "http_chunk.h"
#include "http_condition.h"
#include "http_key.h"
#include "http_range.h"
#include "http_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TYPE "application/octet-stream"

/* Values whose length is told by chunks alone are gathered in memory of the connection first. */
enum { NS_HTTP_GATHERED_MAX = 8 << 20 }; /* of one connection */

/* A PUT whose value is coming. */
struct put {
	char key[NS_KEY_MAX];
	size_t key_len;
	uint8_t type;      /* taken, until there is a draft that has it */
	enum ns_mode mode; /* what its conditions came to */
	uint64_t cas;      /* with NS_CAS */
};

struct http {
	struct ns_http_request request;
	struct put put;
	bool is_putting;  /* the bytes that come are the value of put */
	bool is_gathered; /* in chunks */
	struct ns_chunks chunks;
	char *value; /* what has been gathered */
	size_t value_bytes;
	size_t value_room;
};

static void *create(struct ns_session_context *context)
{
	(void)context;
	return calloc(1, sizeof(struct http));
}

static void drop_type(struct http *http, struct ns_session_context *context)
{
	ns_store_type_give(context->store, http->put.type);
	http->put.type = 0;
}

static void drop_value(struct http *http, struct ns_session_context *context)
{
	drop_type(http, context);
	context->gathered_bytes -= http->value_room;
	free(http->value);
	http->value = NULL;
	http->value_bytes = 0;
	http->value_room = 0;
	http->is_putting = false;
	http->is_gathered = false;
}

static void destroy(void *state, struct ns_session_context *context)
{
	struct http *http = state;

	if (http)
		drop_value(http, context);
	free(http);
}

/* ---- refusals ---- */

static const char *allowed(const struct http *http)
{
	return http->request.manner.context->config->http_read_only
	               ? "GET, HEAD, OPTIONS"
	               : "GET, HEAD, PUT, DELETE, OPTIONS";
}

/* A body, if one comes, is not wanted any more. */
static void refuse(struct http *http, unsigned status, const char *why, struct ns_output *output)
{
	ns_count(&http->request.manner.context->counts->http_errors, 1);
	ns_http_request_refuse_body(&http->request);
	ns_http_answer_words(&http->request.manner, status, why,
	                     status == 405 ? allowed(http) : NULL, output);
}

/* The same where what follows is lost, or where it is not worth to wait for it. */
static void refuse_and_close(struct http *http, unsigned status, const char *why,
                             struct ns_output *output)
{
	http->request.manner.keeps_alive = false;
	refuse(http, status, why, output);
}

static void refuse_range(struct http *http, uint64_t bytes, struct ns_output *output)
{
	struct ns_http_answer answer;

	ns_count(&http->request.manner.context->counts->http_errors, 1);
	ns_http_answer_begin(&answer, &http->request.manner, 416);
	ns_http_answer_range(&answer, 0, 0, bytes);
	ns_http_answer_number(&answer, "Content-Length", 0);
	ns_http_answer_end(&answer, output);
}

/* ---- GET and HEAD ---- */

static void answer_unchanged(struct http *http, uint64_t cas, struct ns_output *output)
{
	struct ns_http_answer answer;

	ns_http_answer_begin(&answer, &http->request.manner, 304);
	ns_http_answer_tag(&answer, cas);
	ns_http_answer_end(&answer, output);
}

/* Takes over the pin. */
static void answer_object(struct http *http, struct ns_session_context *context,
                          const struct ns_object *object, uint64_t cas, struct ns_output *output)
{
	const struct ns_http_head *head = &http->request.head;
	const char *type = ns_store_type_text(context->store, object->type);
	uint64_t all = ns_object_bytes(object);
	enum ns_http_part part = NS_HTTP_WHOLE;
	struct ns_http_answer answer;
	uint64_t first = 0;
	uint64_t count = all;

	if (head->range.text && head->method == NS_HTTP_GET && ns_http_range_counts(head, cas))
		part = ns_http_range(head->range, all, &first, &count);
	if (part == NS_HTTP_BEYOND) {
		refuse_range(http, all, output);
		ns_object_unpin(context->thread, object);
		return;
	}
	if (!type)
		type = DEFAULT_TYPE;
	ns_http_answer_begin(&answer, &http->request.manner, part == NS_HTTP_PART ? 206 : 200);
	ns_http_answer_number(&answer, "Content-Length", count);
	ns_http_answer_tag(&answer, cas);
	ns_http_answer_field(&answer, "Accept-Ranges", "bytes", 5);
	if (part == NS_HTTP_PART)
		ns_http_answer_range(&answer, first, count, all);
	ns_http_answer_field(&answer, "Content-Type", type, strlen(type));
	ns_http_answer_end(&answer, output);
	if (head->method == NS_HTTP_GET && count > 0)
		ns_output_add_object(output, context->store, object, first, count);
	else
		ns_object_unpin(context->thread, object);
}

static void get(struct http *http, struct ns_session_context *context, struct ns_output *output)
{
	const struct ns_http_head *head = &http->request.head;
	const struct ns_object *object;
	struct ns_http_fault fault;
	char key[NS_KEY_MAX];
	size_t key_len;
	uint64_t cas;

	if (ns_http_key(head->path, key, &key_len, &fault) < 0) {
		refuse(http, fault.status, fault.why, output);
		return;
	}
	object = head->method == NS_HTTP_GET
	                 ? ns_store_get(context->thread, key, key_len, context->now_s)
	                 : ns_store_peek(context->thread, key, key_len, context->now_s);
	if (!object) {
		refuse(http, 404, "no such key", output);
		return;
	}
	cas = ns_object_cas(object);
	switch (ns_http_condition(head, cas)) {
	case NS_HTTP_GO:
		answer_object(http, context, object, cas, output);
		return;
	case NS_HTTP_UNCHANGED:
		answer_unchanged(http, cas, output);
		break;
	case NS_HTTP_FAILED:
		refuse(http, 412, "the object's tag is another", output);
		break;
	}
	ns_object_unpin(context->thread, object);
}

/* ---- DELETE and OPTIONS ---- */

static void answer_empty(struct http *http, unsigned status, uint64_t cas, struct ns_output *output)
{
	struct ns_http_answer answer;

	ns_http_answer_begin(&answer, &http->request.manner, status);
	if (cas)
		ns_http_answer_tag(&answer, cas);
	if (status != 204)
		ns_http_answer_number(&answer, "Content-Length", 0);
	ns_http_answer_end(&answer, output);
}

/* The cas of the key's object; 0 = there is none. */
static uint64_t look_up(struct ns_session_context *context, const char *key, size_t key_len)
{
	const struct ns_object *object =
		ns_store_peek(context->thread, key, key_len, context->now_s);
	uint64_t cas;

	if (!object)
		return 0;
	cas = ns_object_cas(object);
	ns_object_unpin(context->thread, object);
	return cas;
}

static bool is_conditional(const struct ns_http_head *head)
{
	return head->if_match.count > 0 || head->if_none_match.count > 0;
}

static void remove_key(struct http *http, struct ns_session_context *context,
                       struct ns_output *output)
{
	const struct ns_http_head *head = &http->request.head;
	struct ns_http_fault fault;
	char key[NS_KEY_MAX];
	size_t key_len;
	uint64_t cas = 0;
	int rc = 0;

	if (ns_http_key(head->path, key, &key_len, &fault) < 0) {
		refuse(http, fault.status, fault.why, output);
		return;
	}
	/* What the conditions were true of is what is deleted, and nothing that came in between. */
	if (is_conditional(head)) {
		cas = look_up(context, key, key_len);
		if (cas == 0)
			rc = -ENOENT;
		else if (ns_http_condition(head, cas) != NS_HTTP_GO)
			rc = -EEXIST;
	}
	if (rc == 0)
		rc = ns_store_delete(context->thread, key, key_len, cas);
	if (rc == 0)
		answer_empty(http, 204, 0, output);
	else if (rc == -EEXIST)
		refuse(http, 412, "the object's tag is another", output);
	else
		refuse(http, 404, "no such key", output);
}

static void tell_options(struct http *http, struct ns_output *output)
{
	const char *methods = allowed(http);
	struct ns_http_answer answer;

	ns_http_answer_begin(&answer, &http->request.manner, 204);
	ns_http_answer_field(&answer, "Allow", methods, strlen(methods));
	ns_http_answer_end(&answer, output);
}

/* ---- PUT ---- */

static void refuse_draft(struct http *http, int rc, struct ns_output *output)
{
	if (rc == -E2BIG)
		refuse_and_close(http, 413,
		                 http->is_gathered
		                         ? "larger than an object may be here that comes in "
		                           "chunks, or at all"
		                         : "larger than an object may be here",
		                 output);
	else if (rc == -EBUSY)
		refuse(http, 503, "too many values come in chunks just now: send Content-Length",
		       output);
	else if (rc == -ENOSPC)
		refuse(http, 507, "no room, and nothing that could make room", output);
	else if (rc == -ETIMEDOUT)
		refuse(http, 503, "it came so slowly that others had to get its room", output);
	else if (rc == -EIO)
		refuse(http, 500, "storage failed: the object is not stored", output);
	else
		refuse(http, 503, "out of memory", output);
}

static int begin_draft(struct http *http, struct ns_session_context *context, uint64_t bytes,
                       struct ns_draft *ret)
{
	struct ns_store_request request = { .key = http->put.key,
		                            .key_len = http->put.key_len,
		                            .bytes = bytes,
		                            .type = http->put.type };

	int rc = ns_draft_begin(context->thread, &request, ret, NULL);

	drop_type(http, context);
	return rc;
}

/* The value is in the draft. */
static void store(struct http *http, struct ns_session_context *context, struct ns_draft *draft,
                  struct ns_output *output)
{
	const struct put *put = &http->put;
	/* Without a condition the store does not tell; another may come between. */
	bool is_new = put->mode == NS_ADD ||
	              (put->mode == NS_SET && look_up(context, put->key, put->key_len) == 0);
	uint64_t cas = 0;

	if (ns_draft_store(context->thread, draft, put->mode, put->cas, 0, &cas) == NS_STORED)
		answer_empty(http, is_new ? 201 : 204, cas, output);
	else
		refuse(http, 412, "another was faster: the conditions hold no more", output);
}

static size_t gathered_max(const struct ns_session_context *context)
{
	uint64_t most = context->config->object_bytes_max;

	return most > 0 && most < NS_HTTP_GATHERED_MAX ? (size_t)most : NS_HTTP_GATHERED_MAX;
}

/* 0; -E2BIG, -EBUSY, -ENOMEM */
static int gather(struct http *http, struct ns_session_context *context, struct ns_http_text data)
{
	size_t most = gathered_max(context);
	size_t room = http->value_room ? http->value_room : 4096;
	char *value;

	if (data.len > most - http->value_bytes)
		return -E2BIG;
	while (room < http->value_bytes + data.len)
		room *= 2;
	if (room != http->value_room) {
		if (!ns_session_may_gather(context, room - http->value_room))
			return -EBUSY;
		value = realloc(http->value, room);
		if (!value)
			return -ENOMEM;
		http->value = value;
		context->gathered_bytes += room - http->value_room;
		http->value_room = room;
	}
	memcpy(http->value + http->value_bytes, data.text, data.len);
	http->value_bytes += data.len;
	return 0;
}

static enum ns_step end_gathering(struct http *http, struct ns_session_context *context)
{
	drop_value(http, context);
	return http->request.manner.keeps_alive ? NS_STEP_DONE : NS_STEP_CLOSE;
}

/* What is gathered becomes an object: it goes on as a body that is here already. */
static enum ns_step store_gathered(struct http *http, struct ns_session_context *context,
                                   struct ns_output *output, struct ns_body *ret_body)
{
	struct ns_draft draft;
	int rc = begin_draft(http, context, http->value_bytes, &draft);

	http->request.head.is_chunked = false; /* the body is read */
	http->is_gathered = false;
	if (rc < 0) {
		refuse_draft(http, rc, output);
		return end_gathering(http, context);
	}
	*ret_body = (struct ns_body){ .bytes = http->value_bytes,
		                      .draft = draft,
		                      .source = http->value };
	return NS_STEP_BODY;
}

static enum ns_step take_chunks(struct http *http, struct ns_session_context *context,
                                struct ns_http_text bytes, size_t *used, struct ns_output *output,
                                struct ns_body *ret_body)
{
	for (;;) {
		struct ns_http_text data;
		size_t part;
		int rc = 0;

		switch (ns_chunks_take(&http->chunks, bytes.text, bytes.len, &part, &data)) {
		case NS_CHUNK_MORE:
			*used += part;
			/* One that says that it is too long is not waited for. */
			if (ns_chunks_due(&http->chunks) <=
			    gathered_max(context) - http->value_bytes)
				return NS_STEP_MORE;
			rc = -E2BIG;
			break;
		case NS_CHUNK_DATA:
			rc = gather(http, context, data);
			break;
		case NS_CHUNK_END:
			*used += part;
			return store_gathered(http, context, output, ret_body);
		case NS_CHUNK_BAD:
			refuse_and_close(http, 400, "the chunks of the body are no chunks", output);
			return end_gathering(http, context);
		}
		if (rc < 0) {
			http->request.manner.keeps_alive = false;
			refuse_draft(http, rc, output);
			return end_gathering(http, context);
		}
		*used += part;
		bytes.text += part;
		bytes.len -= part;
	}
}

/* Turns the conditions into what the store can hold to while it links. False: refused. */
static bool settle_conditions(struct http *http, struct ns_session_context *context,
                              struct ns_output *output)
{
	const struct ns_http_head *head = &http->request.head;
	struct put *put = &http->put;
	uint64_t cas;

	put->mode = NS_SET;
	put->cas = 0;
	if (!is_conditional(head))
		return true;
	cas = look_up(context, put->key, put->key_len);
	if (ns_http_condition(head, cas) != NS_HTTP_GO) {
		refuse(http, 412, cas ? "the object's tag is another" : "no such key", output);
		return false;
	}
	if (ns_http_list_is_star(&head->if_match) && head->if_none_match.count == 0) {
		put->mode = NS_REPLACE;
	} else if (cas != 0) {
		put->mode = NS_CAS;
		put->cas = cas;
	} else {
		put->mode = NS_ADD;
	}
	return true;
}

/* What is told of an object without one is not kept. False: refused. */
static bool take_type(struct http *http, struct ns_session_context *context,
                      struct ns_output *output)
{
	struct ns_http_text type = http->request.head.content_type;
	int rc;

	http->put.type = 0;
	if (type.len == 0 || ns_http_is(type, DEFAULT_TYPE))
		return true;
	rc = ns_store_type_take(context->store, type.text, type.len, &http->put.type);
	if (rc == -EINVAL)
		refuse(http, 415, "a Content-Type of more than 127 bytes would be lost", output);
	else if (rc < 0)
		refuse(http, 507,
		       "objects have 255 other types, which is the most: send another "
		       "Content-Type, or none",
		       output);
	return rc == 0;
}

/* False: refused. */
static bool read_put(struct http *http, struct ns_session_context *context,
                     struct ns_output *output)
{
	const struct ns_http_head *head = &http->request.head;
	struct put *put = &http->put;
	struct ns_http_fault fault;

	if (!head->has_length && !head->is_chunked) {
		refuse_and_close(http, 411, "PUT needs Content-Length, or chunks", output);
		return false;
	}
	if (head->content_range.text) {
		refuse(http, 400, "an object is stored as a whole: no Content-Range", output);
		return false;
	}
	if (head->content_encoding.len > 0 && !ns_http_is(head->content_encoding, "identity")) {
		refuse(http, 415, "Content-Encoding would be lost: only identity", output);
		return false;
	}
	if (ns_http_key(head->path, put->key, &put->key_len, &fault) < 0) {
		refuse(http, fault.status, fault.why, output);
		return false;
	}
	return settle_conditions(http, context, output) && take_type(http, context, output);
}

static void invite_body(const struct http *http, struct ns_output *output)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (http->request.head.expects_continue && !http->request.manner.is_old)
		ns_output_add(output, text, sizeof(text) - 1);
}

/* @rest: what has come behind the head. */
static enum ns_step take_put(struct http *http, struct ns_session_context *context,
                             struct ns_http_text rest, size_t *used, struct ns_output *output,
                             struct ns_body *ret_body)
{
	uint64_t bytes = http->request.head.length;
	struct ns_draft draft;
	int rc;

	if (!read_put(http, context, output))
		return ns_http_request_end(&http->request, ret_body);
	if (http->request.head.is_chunked) {
		http->is_putting = true;
		http->is_gathered = true;
		http->chunks = (struct ns_chunks){ 0 };
		invite_body(http, output);
		return take_chunks(http, context, rest, used, output, ret_body);
	}
	rc = begin_draft(http, context, bytes, &draft);
	if (rc < 0) {
		refuse_draft(http, rc, output);
		return ns_http_request_end(&http->request, ret_body);
	}
	if (bytes == 0) {
		store(http, context, &draft, output);
		return ns_http_request_end(&http->request, ret_body);
	}
	http->is_putting = true;
	invite_body(http, output);
	*ret_body = (struct ns_body){ .bytes = bytes, .draft = draft };
	return NS_STEP_BODY;
}

static enum ns_step finish(void *state, struct ns_session_context *context, struct ns_body *body,
                           struct ns_output *output)
{
	struct http *http = state;

	/* Read over: the answer went out before. */
	if (!http->is_putting || body->is_dropped)
		return NS_STEP_DONE;
	http->request.head.length = 0; /* the body is read */
	/* What was true of its head may have changed since. */
	if (ns_state_is_draining(context->server))
		http->request.manner.keeps_alive = false;
	if (body->rc == 0) {
		store(http, context, &body->draft, output);
	} else {
		ns_draft_drop(context->thread, &body->draft);
		refuse_draft(http, body->rc, output);
	}
	return end_gathering(http, context);
}

/* ---- the dialect ---- */

static bool is_refused(struct http *http, struct ns_session_context *context,
                       struct ns_output *output)
{
	const struct ns_http_head *head = &http->request.head;
	bool is_write = head->method == NS_HTTP_PUT || head->method == NS_HTTP_DELETE;

	if (head->expects_other && head->minor > 0)
		refuse(http, 417, "the only expectation met here is 100-continue", output);
	else if (head->method == NS_HTTP_UNKNOWN)
		refuse(http, 501, "no such method", output);
	else if (head->method == NS_HTTP_FOREIGN)
		refuse(http, 405, "not a method for objects", output);
	else if (is_write && context->config->http_read_only)
		refuse(http, 405, "this server is read-only over HTTP", output);
	else
		return false;
	return true;
}

// NOLINTNEXTLINE(readability-function-size): the dialect's signature
static enum ns_step take(void *state, struct ns_session_context *context, const char *bytes,
                         size_t count, size_t *used, struct ns_output *output,
                         struct ns_body *ret_body)
{
	struct http *http = state;
	struct ns_http_text rest = { .text = bytes, .len = count };
	enum ns_step step;

	*used = 0;
	if (http->is_gathered)
		return take_chunks(http, context, rest, used, output, ret_body);
	step = ns_http_request_take(&http->request, context, bytes, count, used, output);
	if (step != NS_STEP_DONE)
		return step;

	ns_count(&context->counts->http_requests, 1);
	rest.text += *used;
	rest.len -= *used;
	if (is_refused(http, context, output))
		return ns_http_request_end(&http->request, ret_body);
	if (http->request.head.method == NS_HTTP_PUT)
		return take_put(http, context, rest, used, output, ret_body);
	ns_http_request_refuse_body(&http->request);
	if (http->request.head.method == NS_HTTP_DELETE)
		remove_key(http, context, output);
	else if (http->request.head.method == NS_HTTP_OPTIONS)
		tell_options(http, output);
	else
		get(http, context, output);
	return ns_http_request_end(&http->request, ret_body);
}

const struct ns_dialect ns_http = {
	.name = "HTTP",
	.create = create,
	.free = destroy,
	.take = take,
	.finish = finish,
	.head_max = NS_HEAD_LINES_MAX,
	.refuse = ns_http_request_refuse_head,
};
