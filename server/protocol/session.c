/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heads of requests are gathered in the session's input buffer; what the dialect does not use up stays there.
 * A value goes from the buffer as far as it came together with its head, and the rest of it straight to
 * where it will lie. How the stream is cut makes no difference: the dialect is never shown more than
 * head_max bytes, and what it refuses for length it refuses at that length.
 *
 * What does not fit a head goes to buffers of the tail. There may be none for the moment: then the session
 * waits, what has come stays in its buffer, and it goes on when it is woken.
 *
 * A head is taken when the request has come, before the value has. So a value that does not come along is listed
 * (upload.h), and when all that are listed hold more of an arena than they may, one of them is given up: its room
 * goes back, the rest of it is swallowed, and the dialect is told at its end.
 */
#include "dialect.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { INPUT_BYTES = 16384 }; /* many small requests, or one with the beginning of its value */

struct ns_session {
	const struct ns_dialect *dialect;
	struct ns_session_context *context;
	void *state; /* the dialect's */
	struct ns_output *output;

	char *input;
	size_t first; /* not used up yet */
	size_t end;
	size_t room;

	struct ns_body body; /* while is_in_body */
	uint64_t body_got;
	bool is_in_body;
	struct ns_tail_write *write; /* of the body's tail */
	struct ns_upload upload;     /* of the body, from when more of it had to come */
	struct ns_tail_waiter waiter;

	bool is_amid;    /* part of a request has been taken in */
	bool needs_more; /* what is in the buffer is no whole request */
	bool is_over;
	bool has_ended; /* the peer sends nothing more */
};

static void wake(void *arg)
{
	const struct ns_session *session = arg;

	if (session->waiter.wake)
		session->waiter.wake(session->waiter.arg);
}

void ns_session_on_wake(struct ns_session *session, struct ns_tail_waiter waiter)
{
	session->waiter = waiter;
}

struct ns_session *ns_session_create_speaking(const struct ns_dialect *dialect,
                                              struct ns_session_context *context)
{
	struct ns_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->dialect = dialect;
	session->context = context;
	session->room = INPUT_BYTES;
	session->input = malloc(INPUT_BYTES);
	session->output = ns_output_create(context->thread);
	session->state = dialect->create(context);
	if (session->output)
		ns_output_use_tails(session->output, context->tails,
		                    (struct ns_tail_waiter){ .wake = wake, .arg = session });
	if (session->input && session->output && session->state)
		return session;
	ns_session_free(session);
	return NULL;
}

struct ns_session *ns_session_create(enum ns_session_kind kind, struct ns_session_context *context)
{
	static const struct ns_dialect *const dialects[] = {
		[NS_SESSION_MEMCACHE] = &ns_memcache,
		[NS_SESSION_HTTP] = &ns_http,
		[NS_SESSION_ADMIN] = &ns_admin,
	};

	return ns_session_create_speaking(dialects[kind], context);
}

static void end_write(struct ns_session *session)
{
	if (session->write)
		ns_tail_write_end(session->write);
	session->write = NULL;
}

void ns_session_free(struct ns_session *session)
{
	if (!session)
		return;
	end_write(session);
	ns_upload_end(&session->context->uploads, &session->upload);
	if (session->is_in_body && !session->body.is_dropped && !session->body.memory)
		ns_draft_drop(session->context->thread, &session->body.draft);
	if (session->state)
		session->dialect->free(session->state, session->context);
	ns_output_free(session->output);
	free(session->input);
	free(session);
}

/* ---- values ---- */

static bool has_tail(const struct ns_body *body)
{
	return !body->is_dropped && !body->memory && body->draft.tail_bytes > 0;
}

/* A tail that cannot be begun: the value is swallowed, and the dialect told at its end. */
static void begin_tail(struct ns_session *session)
{
	struct ns_tail_io *io = session->context->tails;
	struct ns_body *body = &session->body;

	if (io)
		session->write = ns_tail_write_begin(
			io, body->draft.object->tail, body->draft.tail_bytes,
			(struct ns_tail_waiter){ .wake = wake, .arg = session });
	if (!session->write)
		body->rc = io ? -ENOMEM : -EIO;
}

static void begin_body(struct ns_session *session, const struct ns_body *body)
{
	session->body = *body;
	session->body_got = 0;
	session->is_in_body = true;
	if (has_tail(body))
		begin_tail(session);
}

/* Where the value's next bytes go, and how many of them; NULL: nowhere, they are swallowed. */
static uint64_t body_place(const struct ns_session *session, char **ret)
{
	const struct ns_body *body = &session->body;
	uint64_t lacking = body->bytes - session->body_got;
	uint64_t room;

	*ret = NULL;
	if (body->is_dropped || body->rc < 0)
		return lacking;
	if (body->memory) {
		*ret = body->memory + session->body_got;
		return lacking;
	}
	if (session->body_got < body->draft.head_bytes) {
		*ret = body->draft.head + session->body_got;
		return body->draft.head_bytes - session->body_got;
	}
	if (!session->write || lacking == 0)
		return 0;
	room = ns_tail_write_room(session->write, ret);
	return room < lacking ? room : lacking;
}

/* So many bytes have been put there. */
static void body_filled(struct ns_session *session, size_t count)
{
	if (session->write && session->body_got >= session->body.draft.head_bytes)
		ns_tail_write_filled(session->write, count);
	session->body_got += count;
	ns_upload_got(&session->context->uploads, &session->upload, count);
	if (session->body_got == session->body.bytes)
		ns_upload_end(&session->context->uploads, &session->upload);
}

/* Whether it is whole, and written; *ret_rc: with what result. */
static bool is_body_done(const struct ns_session *session, int *ret_rc)
{
	*ret_rc = session->body.rc;
	if (session->body_got < session->body.bytes)
		return false;
	if (session->write)
		*ret_rc = ns_tail_write_result(session->write);
	return *ret_rc != -EINPROGRESS;
}

/* In a value, with a pool that has to do something first. */
static bool waits_for_storage(const struct ns_session *session)
{
	char *place;
	int rc;

	if (!session->is_in_body || !session->write)
		return false;
	if (session->body_got == session->body.bytes)
		return !is_body_done(session, &rc);
	return body_place(session, &place) == 0;
}

static void take_step(struct ns_session *session, enum ns_step step)
{
	session->is_amid = step == NS_STEP_MORE;
	if (step == NS_STEP_CLOSE || ns_output_is_broken(session->output))
		session->is_over = true;
}

/* Bytes of the value that are in memory: where, and how many. */
static size_t body_at_hand(const struct ns_session *session, const char **ret)
{
	const struct ns_body *body = &session->body;
	uint64_t lacking = body->bytes - session->body_got;
	size_t count = session->end - session->first;

	*ret = session->input + session->first;
	if (body->source) {
		*ret = body->source + session->body_got;
		return (size_t)lacking;
	}
	return count < lacking ? count : (size_t)lacking;
}

/* False when more of it has to come, or there is no room for it now. */
static bool move_body(struct ns_session *session)
{
	while (session->body_got < session->body.bytes) {
		const char *from;
		size_t part = body_at_hand(session, &from);
		uint64_t room = 0;
		char *to;

		if (part > 0)
			room = body_place(session, &to);
		if (part > room)
			part = (size_t)room;
		if (part == 0)
			return false;
		if (to)
			memcpy(to, from, part);
		if (!session->body.source)
			session->first += part;
		body_filled(session, part);
	}
	return true;
}

/* ---- values that do not come ---- */

static void give_up(struct ns_session *session)
{
	ns_upload_end(&session->context->uploads, &session->upload);
	end_write(session);
	ns_draft_drop(session->context->thread, &session->body.draft);
	session->body.rc = -ETIMEDOUT;
	/* It may be waiting for a buffer, and now need not. */
	wake(session);
}

static struct ns_session *session_of(struct ns_upload *upload)
{
	return (struct ns_session *)(void *)((char *)upload - offsetof(struct ns_session, upload));
}

/* Of an arena, for values that come to one worker and are not whole yet. */
static uint64_t upload_share(const struct ns_session_context *context, uint8_t arena)
{
	uint64_t all = ns_store_arena_bytes(context->store, arena);

	return all / NS_UPLOAD_SHARE / context->server->worker_count;
}

/* More of it has to come. */
static void list_upload(struct ns_session *session)
{
	struct ns_uploads *uploads = &session->context->uploads;
	struct ns_upload *upload = &session->upload;
	const struct ns_body *body = &session->body;
	struct ns_upload *slowest;
	uint64_t share;

	if (upload->is_listed || body->is_dropped || body->memory || body->source || body->rc < 0)
		return;
	upload->arena = body->draft.object->arena;
	upload->head_bytes = body->draft.head_bytes;
	ns_upload_begin(uploads, upload);
	share = upload_share(session->context, upload->arena);
	while (uploads->head_bytes[upload->arena] > share &&
	       (slowest = ns_uploads_slowest(uploads, upload)) != NULL)
		give_up(session_of(slowest));
}

void ns_sessions_hurry(struct ns_session_context *context)
{
	bool is_wanted = context->tails && ns_tail_io_is_wanted(context->tails);
	struct ns_upload *next;

	for (struct ns_upload *at = context->uploads.first; at; at = next) {
		struct ns_session *session = session_of(at);
		bool is_slow = at->was_seen && at->got_bytes < NS_UPLOAD_STEP_BYTES;

		next = at->next;
		at->was_seen = true;
		at->got_bytes = 0;
		if (is_wanted && session->write && !ns_tail_write_pause(session->write) && is_slow)
			give_up(session);
	}
}

static bool go_on_with_body(struct ns_session *session)
{
	int rc;

	if (!move_body(session)) {
		list_upload(session);
		return false;
	}
	if (!is_body_done(session, &rc))
		return false;
	if (rc < 0)
		ns_store_write_failed(session->context->thread, rc);
	end_write(session);
	session->body.rc = rc;
	session->is_in_body = false;
	take_step(session, session->dialect->finish(session->state, session->context,
	                                            &session->body, session->output));
	return true;
}

/* ---- requests ---- */

static void refuse_head(struct ns_session *session)
{
	session->dialect->refuse(session->state, session->output);
	session->is_over = true;
}

static void take_request(struct ns_session *session)
{
	const struct ns_dialect *dialect = session->dialect;
	size_t all = session->end - session->first;
	size_t shown = all < dialect->head_max ? all : dialect->head_max;
	struct ns_body body = { 0 };
	size_t used = 0;
	bool was_amid = session->is_amid;
	enum ns_step step =
		dialect->take(session->state, session->context, session->input + session->first,
	                      shown, &used, session->output, &body);

	session->first += used;
	take_step(session, step);
	if (step == NS_STEP_BODY)
		begin_body(session, &body);
	if (step != NS_STEP_MORE)
		return;
	if (used == 0 && shown == dialect->head_max)
		refuse_head(session);
	/* What is left behind something that was used up has not been looked at, or not all of it. */
	session->needs_more = used == 0;
	session->is_amid = was_amid || used > 0 || session->first < session->end;
}

static void go_on(struct ns_session *session)
{
	unsigned commands = 0;

	session->needs_more = false;
	while (!session->is_over && !session->needs_more) {
		if (session->is_in_body) {
			if (!go_on_with_body(session))
				break;
			continue;
		}
		if (session->first == session->end || commands == NS_TURN_COMMANDS_MAX ||
		    ns_output_is_full(session->output))
			break;
		take_request(session);
		commands++;
	}
	if (session->is_over || session->first == session->end) {
		session->first = 0;
		session->end = 0;
	}
}

/* ---- input ---- */

/* In a value that is wholly here: nothing more of it has to come for it to be stored. */
static bool is_body_here(const struct ns_session *session)
{
	return session->is_in_body &&
	       (session->body.source || session->body_got == session->body.bytes);
}

bool ns_session_is_ready(const struct ns_session *session)
{
	if (session->is_over || ns_output_is_full(session->output) || waits_for_storage(session))
		return false;
	return is_body_here(session) || (!session->needs_more && session->first < session->end);
}

bool ns_session_wants_input(const struct ns_session *session)
{
	return !session->is_over && !session->has_ended && !ns_session_is_ready(session) &&
	       !ns_output_is_full(session->output) && !waits_for_storage(session);
}

/* A request that is not whole is moved to the front; a long one gets a longer buffer, to head_max. */
static bool make_room(struct ns_session *session)
{
	size_t kept = session->end - session->first;
	char *input;

	if (session->room - session->end >= session->room / 2)
		return true;
	if (session->first > 0) {
		memmove(session->input, session->input + session->first, kept);
		session->first = 0;
		session->end = kept;
	}
	if (session->end < session->room)
		return true;
	input = realloc(session->input, session->room * 2);
	if (!input)
		return false;
	session->input = input;
	session->room *= 2;
	return true;
}

/* For the rest of the value: where it will lie; what is swallowed goes to the buffer, empty now. */
static size_t body_room(struct ns_session *session, char **ret)
{
	uint64_t room = body_place(session, ret);

	if (*ret)
		return room < SIZE_MAX ? (size_t)room : SIZE_MAX;
	*ret = session->input;
	return room < session->room ? (size_t)room : session->room;
}

size_t ns_session_room(struct ns_session *session, char **ret)
{
	if (!ns_session_wants_input(session))
		return 0;
	if (session->is_in_body)
		return body_room(session, ret);
	if (!make_room(session)) {
		session->is_over = true;
		return 0;
	}
	*ret = session->input + session->end;
	return session->room - session->end;
}

void ns_session_received(struct ns_session *session, size_t count)
{
	if (session->is_in_body)
		body_filled(session, count);
	else
		session->end += count;
	go_on(session);
}

void ns_session_continue(struct ns_session *session)
{
	go_on(session);
}

void ns_session_ended(struct ns_session *session)
{
	session->has_ended = true;
}

/* ---- output ---- */

unsigned ns_session_output(struct ns_session *session, struct iovec *pieces, unsigned max)
{
	return ns_output_pieces(session->output, pieces, max);
}

bool ns_session_has_output(const struct ns_session *session)
{
	return !ns_output_is_empty(session->output);
}

void ns_session_pause(struct ns_session *session)
{
	ns_output_pause(session->output);
}

void ns_session_sent(struct ns_session *session, size_t count)
{
	ns_output_sent(session->output, count);
}

bool ns_session_is_over(const struct ns_session *session)
{
	if (session->is_over || ns_output_is_broken(session->output))
		return true;
	/* All that came whole is answered; the rest will not come. */
	return session->has_ended && !is_body_here(session) &&
	       (session->needs_more || session->first == session->end);
}

enum ns_waiting ns_session_waiting(const struct ns_session *session)
{
	if (!ns_output_is_empty(session->output))
		return ns_output_waits_for_storage(session->output) ? NS_IN_STORAGE : NS_SENDING;
	if (session->is_in_body)
		return waits_for_storage(session) ? NS_IN_STORAGE : NS_IN_BODY;
	return session->is_amid || session->first < session->end ? NS_IN_HEAD : NS_IDLE;
}

size_t ns_session_bytes(const struct ns_session *session)
{
	return sizeof(*session) + session->room + ns_output_bytes(session->output);
}
