/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mg, me, mn: reading by meta commands. Answers have the flags in the order of the question, and
 * then what the reader must know: W (it is yours to fetch anew), Z (somebody has been told so), X
 * (it is stale).
 */
#include "memcache.h"

/* What mg found, and what was known of it before this read. */
struct found {
	const struct ns_object *object; /* pinned; NULL = a miss */
	uint32_t read_s;                /* the read before this one */
	bool was_read;
	bool is_new; /* made by N */
	bool is_due; /* R: less time is left than the reader can do with */
};

static const struct ns_object *find(struct ns_talk *talk, const struct ns_command *command,
                                    bool counts)
{
	struct ns_session_context *context = talk->context;

	if (counts)
		return ns_store_get(context->thread, command->key, command->key_len,
		                    context->now_s);
	return ns_store_peek(context->thread, command->key, command->key_len, context->now_s);
}

static void look(struct ns_talk *talk, const struct ns_command *command, struct found *found)
{
	const struct ns_object *object = find(talk, command, false);

	if (object == NULL)
		return;
	found->read_s = __atomic_load_n(&object->read_s, __ATOMIC_RELAXED);
	found->was_read = (ns_object_mark(object, 0, 0) & NS_MARK_FETCHED) != 0;
	ns_object_unpin(talk->context->thread, object);
}

/*
 * An empty object in the place of none, which this reader is to fill and all others wait for. False
 * when there is no room, or its time was over at once; somebody who was faster has made one that
 * will do.
 */
static bool vivify(struct ns_talk *talk, const struct ns_command *command, struct found *found)
{
	struct ns_thread *thread = talk->context->thread;
	struct ns_store_request request = {
		.key = command->key,
		.key_len = command->key_len,
		.expires_s = ns_talk_expiry(talk, command->vivify_exptime),
	};
	struct ns_draft draft;
	uint64_t cas = 0;

	if (ns_draft_begin(thread, &request, &draft, NULL) < 0)
		return false;
	(void)ns_object_mark(draft.object, NS_MARK_WINNER, 0);
	found->is_new = ns_draft_store(thread, &draft, NS_ADD, 0, 0, &cas) == NS_STORED;
	found->object = find(talk, command, false);
	if (found->object == NULL)
		return false;
	(void)ns_object_mark(found->object, NS_MARK_FETCHED, 0);
	return true;
}

/* ---- its answer ---- */

static void add_flag(struct ns_reply *reply, char flag, int64_t value)
{
	char text[2] = { ' ', flag };

	ns_reply_add(reply, text, 2);
	ns_reply_signed(reply, value);
}

static void add_cas(struct ns_reply *reply, const struct ns_object *object)
{
	ns_reply_text(reply, " c");
	ns_reply_number(reply, ns_object_cas(object));
}

static void touch(struct ns_talk *talk, const struct ns_command *command)
{
	(void)ns_store_touch(talk->context->thread, command->key, command->key_len,
	                     ns_talk_expiry(talk, command->exptime));
	ns_talk_count(talk, cmd_touch, 1);
}

static void answer_flag(struct ns_talk *talk, const struct ns_command *command, char flag,
                        struct found *found, struct ns_reply *reply)
{
	const struct ns_object *object = found->object;
	int64_t left_s = ns_talk_time_left(talk, object);
	uint32_t age_s = 0;

	if (ns_reply_echo(reply, command, flag))
		return;
	switch (flag) {
	case 'T':
		touch(talk, command);
		break;
	case 'R':
		found->is_due = left_s >= 0 && left_s < command->recache_s;
		break;
	case 's':
		add_flag(reply, 's', (int64_t)ns_object_bytes(object));
		break;
	case 'f':
		add_flag(reply, 'f', object->flags);
		break;
	case 't':
		add_flag(reply, 't', left_s);
		break;
	case 'c':
		add_cas(reply, object);
		break;
	case 'h':
		add_flag(reply, 'h', found->was_read);
		break;
	case 'l':
		if (found->read_s != 0 && found->read_s < talk->context->now_s)
			age_s = talk->context->now_s - found->read_s;
		add_flag(reply, 'l', age_s);
		break;
	default:
		break;
	}
}

/* Of several who ask at a time one wins. */
static void answer_winner(struct ns_talk *talk, const struct found *found, struct ns_reply *reply)
{
	const struct ns_object *object = found->object;
	uint8_t marks = ns_object_mark(object, 0, 0);
	bool wins = found->is_new;

	if (!wins && !(marks & NS_MARK_WINNER) && ((marks & NS_MARK_STALE) != 0 || found->is_due)) {
		wins = ns_store_win(talk->context->thread, object);
		marks |= NS_MARK_WINNER;
	}
	if (!wins && (marks & NS_MARK_WINNER) != 0)
		ns_reply_text(reply, " Z");
	if (marks & NS_MARK_STALE)
		ns_reply_text(reply, " X");
	if (wins)
		ns_reply_text(reply, " W");
}

static void answer_miss(struct ns_talk *talk, const struct ns_command *command)
{
	struct ns_reply reply = { .len = 0 };

	if (command->is_quiet)
		return;
	ns_reply_text(&reply, "EN");
	ns_reply_echoes(&reply, command);
	ns_reply_text(&reply, "\r\n");
	ns_talk_add(talk, reply.bytes, reply.len);
}

void ns_memcache_mg(struct ns_talk *talk, const struct ns_command *command)
{
	struct found found = { .object = NULL };
	struct ns_reply reply = { .len = 0 };
	bool wants_value = ns_command_has(command, 'v');

	if (ns_command_has(command, 'h') || ns_command_has(command, 'l'))
		look(talk, command, &found);
	found.object = find(talk, command, !ns_command_has(command, 'u'));
	if (found.object == NULL &&
	    !(ns_command_has(command, 'N') && vivify(talk, command, &found))) {
		answer_miss(talk, command);
		return;
	}
	if (wants_value) {
		ns_reply_text(&reply, "VA ");
		ns_reply_number(&reply, ns_object_bytes(found.object));
	} else {
		ns_reply_text(&reply, "HD");
	}
	for (unsigned i = 0; i < command->meta_count; i++)
		answer_flag(talk, command, command->meta[i], &found, &reply);
	answer_winner(talk, &found, &reply);
	ns_reply_text(&reply, "\r\n");
	ns_talk_add(talk, reply.bytes, reply.len);
	if (wants_value)
		ns_talk_value(talk, found.object);
	else
		ns_object_unpin(talk->context->thread, found.object);
}

/* For people who look for a fault; cls is the arena, counted from 1. */
void ns_memcache_me(struct ns_talk *talk, const struct ns_command *command)
{
	const struct ns_object *object = find(talk, command, false);
	struct ns_reply reply = { .len = 0 };
	uint32_t read_s;

	if (object == NULL) {
		ns_talk_say(talk, "EN");
		return;
	}
	read_s = __atomic_load_n(&object->read_s, __ATOMIC_RELAXED);
	ns_reply_text(&reply, "ME ");
	if (command->is_binary_key) {
		char text[NS_BASE64_LEN(NS_KEY_MAX)];

		ns_reply_add(&reply, text, ns_base64_encode(command->key, command->key_len, text));
	} else {
		ns_reply_add(&reply, command->key, command->key_len);
	}
	ns_reply_text(&reply, " exp=");
	ns_reply_signed(&reply, ns_talk_time_left(talk, object));
	ns_reply_text(&reply, " la=");
	ns_reply_number(&reply, read_s != 0 && read_s < talk->context->now_s
	                                ? talk->context->now_s - read_s
	                                : 0);
	ns_reply_text(&reply, " cas=");
	ns_reply_number(&reply, ns_object_cas(object));
	ns_reply_text(&reply,
	              ns_object_mark(object, 0, 0) & NS_MARK_FETCHED ? " fetch=yes" : " fetch=no");
	ns_reply_text(&reply, " cls=");
	ns_reply_number(&reply, object->arena + UINT64_C(1));
	ns_reply_text(&reply, " size=");
	ns_reply_number(&reply, sizeof(*object) + object->key_len + ns_object_bytes(object));
	ns_reply_text(&reply, "\r\n");
	ns_object_unpin(talk->context->thread, object);
	ns_talk_add(talk, reply.bytes, reply.len);
}

/* Ends a row of quiet commands: whatever they had to say is said before this. */
void ns_memcache_mn(struct ns_talk *talk, const struct ns_command *command)
{
	(void)command;
	ns_talk_say(talk, "MN");
}
