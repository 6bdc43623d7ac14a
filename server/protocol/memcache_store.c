/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set, add, replace, cas, append, prepend and ms: where the value goes when its line has come, and
 * what is done with it when it is whole.
 */
#include "memcache.h"

#include <errno.h>
#include <stdlib.h>

enum storing { STORE_SET, STORE_ADD, STORE_REPLACE, STORE_CAS, STORE_APPEND, STORE_PREPEND };

/* What the outcomes are called: memcache's words and meta's. */
static const char *const outcome_words[] = {
	[NS_STORED] = "STORED",
	[NS_NOT_STORED] = "NOT_STORED",
	[NS_EXISTS] = "EXISTS",
	[NS_NOT_FOUND] = "NOT_FOUND",
};
static const char *const outcome_codes[] = {
	[NS_STORED] = "HD",
	[NS_NOT_STORED] = "NS",
	[NS_EXISTS] = "EX",
	[NS_NOT_FOUND] = "NF",
};

const char *ns_memcache_refusal(int rc)
{
	if (rc == -E2BIG)
		return "SERVER_ERROR object too large for cache";
	return rc == -EIO ? "SERVER_ERROR storage failed"
	                  : "SERVER_ERROR out of memory storing object";
}

/*
 * False when meta's mode is none. A cas number counts only where something else could be replaced.
 */
static bool storing_of_meta(const struct ns_command *command, enum storing *ret)
{
	switch (command->mode) {
	case 0:
	case 'S':
		*ret = command->has_cas ? STORE_CAS : STORE_SET;
		return true;
	case 'R':
		*ret = command->has_cas ? STORE_CAS : STORE_REPLACE;
		return true;
	case 'E':
		*ret = STORE_ADD;
		return true;
	case 'A':
		*ret = STORE_APPEND;
		return true;
	case 'P':
		*ret = STORE_PREPEND;
		return true;
	default:
		return false;
	}
}

static bool storing_of(const struct ns_command *command, enum storing *ret)
{
	switch (command->verb) {
	case NS_VERB_ADD:
		*ret = STORE_ADD;
		return true;
	case NS_VERB_REPLACE:
		*ret = STORE_REPLACE;
		return true;
	case NS_VERB_CAS:
		*ret = STORE_CAS;
		return true;
	case NS_VERB_APPEND:
		*ret = STORE_APPEND;
		return true;
	case NS_VERB_PREPEND:
		*ret = STORE_PREPEND;
		return true;
	case NS_VERB_MS:
		return storing_of_meta(command, ret);
	default:
		*ret = STORE_SET;
		return true;
	}
}

static struct ns_store_request request_of(const struct ns_talk *talk,
                                          const struct ns_command *command)
{
	return (struct ns_store_request){
		.key = command->key,
		.key_len = command->key_len,
		.bytes = command->value_bytes,
		.flags = command->flags,
		.expires_s = ns_talk_expiry(talk, command->exptime),
	};
}

/* noreply is silent about what the store refuses; meta's q is not. */
static void say_refusal(struct ns_talk *talk, const struct ns_command *command, const char *text)
{
	if (command->verb == NS_VERB_MS || !command->is_quiet)
		ns_talk_say(talk, text);
}

/* ---- the line has come ---- */

/*
 * append and prepend: the value is copied behind or before another one, so it goes to memory first.
 */
static int begin_memory(struct ns_talk *talk, const struct ns_command *command)
{
	/* Together with what is there it must fit a head, so by itself too. */
	if (command->value_bytes > talk->context->config->head_bytes ||
	    command->value_bytes > talk->context->config->object_bytes_max)
		return -E2BIG;
	if (!ns_session_may_gather(talk->context, command->value_bytes))
		return -ENOMEM;
	talk->state->memory = malloc(command->value_bytes > 0 ? command->value_bytes : 1);
	if (talk->state->memory == NULL)
		return -ENOMEM;
	talk->state->memory_bytes = command->value_bytes;
	talk->context->gathered_bytes += command->value_bytes;
	talk->body->memory = talk->state->memory;
	return 0;
}

/* Who would have replaced a value must not find the old one later. */
static void forget_old(struct ns_talk *talk, const struct ns_command *command, enum storing storing)
{
	if (storing == STORE_SET)
		(void)ns_store_delete(talk->context->thread, command->key, command->key_len, 0);
}

static int begin(struct ns_talk *talk, const struct ns_command *command, enum storing storing)
{
	struct ns_store_request request = request_of(talk, command);
	struct ns_session_context *context = talk->context;
	int rc;

	if (storing == STORE_APPEND || storing == STORE_PREPEND)
		return begin_memory(talk, command);
	rc = ns_draft_begin(context->thread, &request, &talk->body->draft, NULL);
	if (rc < 0)
		forget_old(talk, command, storing);
	return rc;
}

enum ns_step ns_memcache_begin_value(struct ns_talk *talk, const struct ns_command *command)
{
	struct ns_memcache *state = talk->state;
	enum storing storing;
	int rc;

	*talk->body = (struct ns_body){ .bytes = command->value_bytes };
	state->command = *command;
	if (!state->is_dropped && !storing_of(command, &storing)) {
		ns_talk_say(talk, "CLIENT_ERROR invalid mode for ms M token");
		state->is_dropped = true;
	}
	if (!state->is_dropped) {
		rc = begin(talk, command, storing);
		if (rc < 0)
			say_refusal(talk, command, ns_memcache_refusal(rc));
		state->is_dropped = rc < 0;
	}
	talk->body->is_dropped = state->is_dropped;
	return NS_STEP_BODY;
}

/* ---- the value is whole ---- */

static void answer(struct ns_talk *talk, enum ns_outcome outcome, uint64_t cas)
{
	const struct ns_command *command = &talk->state->command;
	struct ns_reply reply = { .len = 0 };

	if (command->verb != NS_VERB_MS) {
		ns_talk_answer(talk, command, outcome_words[outcome]);
		return;
	}
	if (command->is_quiet && outcome == NS_STORED)
		return;
	ns_reply_text(&reply, outcome_codes[outcome]);
	for (unsigned i = 0; i < command->meta_count; i++) {
		if (ns_reply_echo(&reply, command, command->meta[i]))
			continue;
		if (command->meta[i] == 'c') {
			ns_reply_add(&reply, " c", 2);
			ns_reply_number(&reply, cas);
		}
	}
	ns_reply_add(&reply, "\r\n", 2);
	ns_talk_add(talk, reply.bytes, reply.len);
}

static void end_draft(struct ns_talk *talk, enum ns_mode mode)
{
	struct ns_memcache *state = talk->state;
	const struct ns_command *command = &state->command;
	uint64_t cas = 0;
	enum ns_outcome outcome = ns_draft_store(talk->context->thread, &state->draft, mode,
	                                         command->cas, command->set_cas, &cas);

	state->draft = (struct ns_draft){ 0 };
	answer(talk, outcome, outcome == NS_STORED ? cas : 0);
}

/*
 * ms with I and an older number than the key has: it is stored, as somebody who is late with it
 * knew more than nothing, but it stays as stale, as old and as much promised to somebody as what it
 * replaces (protocol.txt, "Meta Set"). Another change at that very moment wins.
 */
static void mark_if_late(struct ns_talk *talk)
{
	struct ns_memcache *state = talk->state;
	struct ns_session_context *context = talk->context;
	struct ns_command *command = &state->command;
	const struct ns_object *there =
		ns_store_peek(context->thread, command->key, command->key_len, context->now_s);
	uint64_t cas;

	if (there == NULL)
		return;
	cas = ns_object_cas(there);
	/* 0 is nobody's number. */
	if (command->cas != 0 && command->cas < cas) {
		uint8_t kept = ns_object_mark(there, 0, 0) & NS_MARK_WINNER;

		(void)ns_object_mark(state->draft.object, NS_MARK_STALE | kept, 0);
		state->draft.object->expires_s =
			__atomic_load_n(&there->expires_s, __ATOMIC_RELAXED);
		command->cas = cas;
	}
	ns_object_unpin(context->thread, there);
}

/* append with meta's N: what is not there yet begins with this. */
static bool begins_with(struct ns_talk *talk)
{
	struct ns_memcache *state = talk->state;
	struct ns_store_request request = request_of(talk, &state->command);

	request.expires_s = ns_talk_expiry(talk, state->command.vivify_exptime);
	if (ns_draft_begin(talk->context->thread, &request, &state->draft, NULL) < 0)
		return false;
	if (request.bytes > 0)
		memcpy(state->draft.head, state->memory, request.bytes);
	end_draft(talk, NS_ADD);
	return true;
}

static void end_memory(struct ns_talk *talk, bool in_front)
{
	struct ns_memcache *state = talk->state;
	const struct ns_command *command = &state->command;
	uint64_t cas = 0;
	int rc = ns_store_extend(talk->context->thread, command->key, command->key_len,
	                         state->memory, command->value_bytes, in_front, command->cas, &cas,
	                         NULL);

	if (rc == -ENOENT && ns_command_has(command, 'N') && begins_with(talk))
		return;
	if (rc == 0)
		answer(talk, NS_STORED, cas);
	else if (rc == -ENOENT)
		answer(talk, NS_NOT_STORED, 0);
	else if (rc == -EEXIST)
		answer(talk, NS_EXISTS, 0);
	else
		say_refusal(talk, command, ns_memcache_refusal(rc));
}

void ns_memcache_end_value(struct ns_talk *talk)
{
	const struct ns_command *command = &talk->state->command;
	enum storing storing = STORE_SET;

	(void)storing_of(command, &storing);
	ns_talk_count(talk, cmd_set, 1);
	/* The draft goes with the rest of the value. */
	if (talk->state->storage_rc < 0) {
		forget_old(talk, command, storing);
		say_refusal(talk, command, ns_memcache_refusal(talk->state->storage_rc));
		return;
	}
	switch (storing) {
	case STORE_SET:
		end_draft(talk, NS_SET);
		break;
	case STORE_ADD:
		end_draft(talk, NS_ADD);
		break;
	case STORE_REPLACE:
		end_draft(talk, NS_REPLACE);
		break;
	case STORE_CAS:
		if (ns_command_has(command, 'I'))
			mark_if_late(talk);
		end_draft(talk, NS_CAS);
		break;
	case STORE_APPEND:
	case STORE_PREPEND:
		end_memory(talk, storing == STORE_PREPEND);
		break;
	}
}
