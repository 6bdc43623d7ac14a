/* SPDX-License-Identifier: BSD-3-Clause */
/* md and ma: what ms is to set, these are to delete, incr and decr. */
#include "memcache.h"

#include <errno.h>

/* How often what somebody else changes meanwhile is tried again. */
enum { TRIES_MAX = 16 };

static void answer(struct ns_talk *talk, const struct ns_command *command, const char *code)
{
	struct ns_reply reply = { .len = 0 };

	ns_reply_text(&reply, code);
	ns_reply_echoes(&reply, command);
	ns_reply_text(&reply, "\r\n");
	ns_talk_add(talk, reply.bytes, reply.len);
}

/* EX, NF, or a refusal. */
static void answer_failure(struct ns_talk *talk, const struct ns_command *command, int rc)
{
	if (rc == -ENOENT)
		answer(talk, command, "NF");
	else if (rc == -EEXIST)
		answer(talk, command, "EX");
	else
		ns_talk_say(talk, ns_memcache_refusal(rc));
}

static const struct ns_object *peek(struct ns_talk *talk, const struct ns_command *command)
{
	return ns_store_peek(talk->context->thread, command->key, command->key_len,
	                     talk->context->now_s);
}

/* ---- md ---- */

/* UINT32_MAX: as it is. */
static uint32_t expiry_of(const struct ns_talk *talk, const struct ns_command *command)
{
	return command->has_exptime ? ns_talk_expiry(talk, command->exptime) : UINT32_MAX;
}

/* md with x: the key stays, with neither value nor flags. */
static int try_empty(struct ns_talk *talk, const struct ns_command *command)
{
	struct ns_thread *thread = talk->context->thread;
	struct ns_store_request request = { .key = command->key, .key_len = command->key_len };
	const struct ns_object *object = peek(talk, command);
	struct ns_draft draft;
	uint64_t cas;
	int rc;

	if (object == NULL)
		return -ENOENT;
	cas = ns_object_cas(object);
	request.expires_s = __atomic_load_n(&object->expires_s, __ATOMIC_RELAXED);
	ns_object_unpin(thread, object);
	if (command->has_cas && command->cas != cas)
		return -EEXIST;
	if (command->has_exptime && ns_command_has(command, 'I'))
		request.expires_s = ns_talk_expiry(talk, command->exptime);
	rc = ns_draft_begin(thread, &request, &draft, NULL);
	if (rc < 0)
		return rc;
	if (ns_command_has(command, 'I'))
		(void)ns_object_mark(draft.object, NS_MARK_STALE, 0);
	return ns_draft_store(thread, &draft, NS_CAS, cas, command->set_cas, &cas) == NS_STORED
	               ? 0
	               : -EAGAIN;
}

static int empty(struct ns_talk *talk, const struct ns_command *command)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; i < TRIES_MAX && rc == -EAGAIN; i++)
		rc = try_empty(talk, command);
	return rc == -EAGAIN ? -EEXIST : rc;
}

/* No object has the number 0, and the store takes it for none. */
static int refuse_zero(struct ns_talk *talk, const struct ns_command *command)
{
	const struct ns_object *object = peek(talk, command);

	if (object == NULL)
		return -ENOENT;
	ns_object_unpin(talk->context->thread, object);
	return -EEXIST;
}

void ns_memcache_md(struct ns_talk *talk, const struct ns_command *command)
{
	struct ns_thread *thread = talk->context->thread;
	int rc;

	if (command->has_cas && command->cas == 0)
		rc = refuse_zero(talk, command);
	else if (ns_command_has(command, 'x'))
		rc = empty(talk, command);
	else if (ns_command_has(command, 'I'))
		rc = ns_store_invalidate(thread, command->key, command->key_len, command->cas,
		                         expiry_of(talk, command));
	else
		rc = ns_store_delete(thread, command->key, command->key_len, command->cas);
	if (rc < 0)
		answer_failure(talk, command, rc);
	else if (!command->is_quiet)
		answer(talk, command, "HD");
}

/* ---- ma ---- */

static bool mode_of(const struct ns_command *command, bool *ret_decrement)
{
	switch (command->mode) {
	case 0:
	case 'I':
	case '+':
		*ret_decrement = false;
		return true;
	case 'D':
	case '-':
		*ret_decrement = true;
		return true;
	default:
		return false;
	}
}

/* ma with N on a miss: the number to begin with. -EAGAIN: somebody was faster */
static int begin_number(struct ns_talk *talk, const struct ns_command *command, uint64_t *ret_cas)
{
	struct ns_reply number = { .len = 0 };
	struct ns_store_request request = {
		.key = command->key,
		.key_len = command->key_len,
		.expires_s = ns_talk_expiry(talk, command->vivify_exptime),
	};
	struct ns_draft draft;
	int rc;

	ns_reply_number(&number, command->initial);
	request.bytes = number.len;
	rc = ns_draft_begin(talk->context->thread, &request, &draft, NULL);
	if (rc < 0)
		return rc;
	memcpy(draft.head, number.bytes, number.len);
	return ns_draft_store(talk->context->thread, &draft, NS_ADD, 0, command->set_cas,
	                      ret_cas) == NS_STORED
	               ? 0
	               : -EAGAIN;
}

static int change(struct ns_talk *talk, const struct ns_command *command, bool decrement,
                  uint64_t *ret_value, uint64_t *ret_cas)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; i < TRIES_MAX && rc == -EAGAIN; i++) {
		rc = ns_store_add_number(talk->context->thread, command->key, command->key_len,
		                         command->delta, decrement, command->cas, ret_value,
		                         ret_cas, NULL);
		if (rc == -ENOENT && ns_command_has(command, 'N')) {
			*ret_value = command->initial;
			rc = begin_number(talk, command, ret_cas);
		}
	}
	return rc == -EAGAIN ? -EEXIST : rc;
}

/* T counts from where it stands: a t before it tells the time that was left. */
static void answer_flag(struct ns_talk *talk, const struct ns_command *command, char flag,
                        const struct ns_object *object, struct ns_reply *reply)
{
	if (ns_reply_echo(reply, command, flag))
		return;
	if (flag == 'T') {
		(void)ns_store_touch(talk->context->thread, command->key, command->key_len,
		                     ns_talk_expiry(talk, command->exptime));
		ns_talk_count(talk, cmd_touch, 1);
	} else if (flag == 't' && object != NULL) {
		ns_reply_text(reply, " t");
		ns_reply_signed(reply, ns_talk_time_left(talk, object));
	}
}

static void answer_number(struct ns_talk *talk, const struct ns_command *command, uint64_t value,
                          uint64_t cas)
{
	const struct ns_object *object = peek(talk, command);
	struct ns_reply number = { .len = 0 };
	struct ns_reply reply = { .len = 0 };
	bool wants_value = ns_command_has(command, 'v');

	ns_reply_number(&number, value);
	ns_reply_text(&reply, wants_value ? "VA " : "HD");
	if (wants_value)
		ns_reply_number(&reply, number.len);
	for (unsigned i = 0; i < command->meta_count; i++) {
		if (command->meta[i] == 'c') {
			ns_reply_text(&reply, " c");
			ns_reply_number(&reply, cas);
		} else {
			answer_flag(talk, command, command->meta[i], object, &reply);
		}
	}
	ns_reply_text(&reply, "\r\n");
	if (wants_value) {
		ns_reply_add(&reply, number.bytes, number.len);
		ns_reply_text(&reply, "\r\n");
	}
	if (object != NULL)
		ns_object_unpin(talk->context->thread, object);
	if (!command->is_quiet)
		ns_talk_add(talk, reply.bytes, reply.len);
}

void ns_memcache_ma(struct ns_talk *talk, const struct ns_command *command)
{
	uint64_t value = 0;
	uint64_t cas = 0;
	bool decrement;
	int rc;

	if (!mode_of(command, &decrement)) {
		ns_talk_say(talk, "CLIENT_ERROR invalid mode for ma M token");
		return;
	}
	rc = change(talk, command, decrement, &value, &cas);
	if (rc == -EINVAL) {
		ns_talk_say(talk, "CLIENT_ERROR cannot increment or decrement non-numeric value");
		return;
	}
	if (rc < 0)
		answer_failure(talk, command, rc);
	else
		answer_number(talk, command, value, cas);
}
