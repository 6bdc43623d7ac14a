/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heads of requests are gathered in the session's input buffer; what the dialect does not use up stays there.
 * A value goes from the buffer as far as it came together with its head, and the rest of it straight to
 * where it will lie. How the stream is cut makes no difference: the dialect is never shown more than
 * head_max bytes, and what it refuses for length it refuses at that length.
 */
#include "dialect.h"

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

	bool is_amid;    /* part of a request has been taken in */
	bool needs_more; /* what is in the buffer is no whole request */
	bool is_over;
	bool has_ended; /* the peer sends nothing more */
};

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

void ns_session_free(struct ns_session *session)
{
	if (!session)
		return;
	if (session->is_in_body && !session->body.is_dropped && !session->body.memory)
		ns_draft_drop(session->context->thread, &session->body.draft);
	if (session->state)
		session->dialect->free(session->state, session->context);
	ns_output_free(session->output);
	free(session->input);
	free(session);
}

/* ---- values ---- */

/* Where the value's next byte goes; NULL: nowhere. */
static char *body_end(const struct ns_session *session)
{
	const struct ns_body *body = &session->body;

	if (body->is_dropped)
		return NULL;
	return (body->memory ? body->memory : body->draft.head) + session->body_got;
}

static void begin_body(struct ns_session *session, const struct ns_body *body)
{
	session->body = *body;
	session->body_got = 0;
	session->is_in_body = true;
	/* NEEDSWORK: the rest of it goes to SSD, once there are tails; until then the store takes none. */
	if (!body->is_dropped && !body->memory && body->bytes > body->draft.head_bytes)
		session->is_over = true;
}

static void take_step(struct ns_session *session, enum ns_step step)
{
	session->is_amid = step == NS_STEP_MORE;
	if (step == NS_STEP_CLOSE || ns_output_is_broken(session->output))
		session->is_over = true;
}

/* The value's part that is in the buffer; false when more of it has to come. */
static bool go_on_with_body(struct ns_session *session)
{
	uint64_t lacking = session->body.bytes - session->body_got;
	size_t part = session->end - session->first;
	char *to = body_end(session);

	if (part > lacking)
		part = (size_t)lacking;
	if (to && part > 0)
		memcpy(to, session->input + session->first, part);
	session->first += part;
	session->body_got += part;
	if (session->body_got < session->body.bytes)
		return false;
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

bool ns_session_is_ready(const struct ns_session *session)
{
	return !session->is_over && !session->needs_more && session->first < session->end &&
	       !ns_output_is_full(session->output);
}

bool ns_session_wants_input(const struct ns_session *session)
{
	return !session->is_over && !session->has_ended && !ns_session_is_ready(session) &&
	       !ns_output_is_full(session->output);
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
	uint64_t lacking = session->body.bytes - session->body_got;

	*ret = body_end(session);
	if (*ret)
		return lacking < SIZE_MAX ? (size_t)lacking : SIZE_MAX;
	*ret = session->input;
	return lacking < session->room ? (size_t)lacking : session->room;
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
		session->body_got += count;
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

unsigned ns_session_output(const struct ns_session *session, struct iovec *pieces, unsigned max)
{
	return ns_output_pieces(session->output, pieces, max);
}

void ns_session_sent(struct ns_session *session, size_t count)
{
	ns_output_sent(session->output, count);
}

bool ns_session_is_over(const struct ns_session *session)
{
	if (session->is_over)
		return true;
	/* All that came whole is answered; the rest will not come. */
	return session->has_ended && (session->needs_more || session->first == session->end);
}

enum ns_waiting ns_session_waiting(const struct ns_session *session)
{
	if (!ns_output_is_empty(session->output))
		return NS_SENDING;
	if (session->is_in_body)
		return NS_IN_BODY;
	return session->is_amid || session->first < session->end ? NS_IN_HEAD : NS_IDLE;
}

size_t ns_session_bytes(const struct ns_session *session)
{
	return sizeof(*session) + session->room + ns_output_bytes(session->output);
}
