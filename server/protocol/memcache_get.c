/* SPDX-License-Identifier: BSD-3-Clause */
/* get, gets, gat, gats: one key at a time. */
#include "memcache.h"

void ns_memcache_get(struct ns_talk *talk, const struct ns_command *command, struct ns_span key)
{
	struct ns_session_context *context = talk->context;
	bool touches = command->verb == NS_VERB_GAT || command->verb == NS_VERB_GATS;
	bool wants_cas = command->verb == NS_VERB_GETS || command->verb == NS_VERB_GATS;
	struct ns_reply reply = { .len = 0 };
	const struct ns_object *object;

	/* Found first and touched then: a time that is past ends it only after this. */
	object = ns_store_get(context->thread, key.bytes, key.len, context->now_s);
	if (touches) {
		(void)ns_store_touch(context->thread, key.bytes, key.len,
		                     ns_talk_expiry(talk, command->exptime));
		ns_talk_count(talk, cmd_touch, 1);
	}
	if (object == NULL)
		return;
	ns_reply_add(&reply, "VALUE ", 6);
	ns_reply_add(&reply, key.bytes, key.len);
	ns_reply_add(&reply, " ", 1);
	ns_reply_number(&reply, object->flags);
	ns_reply_add(&reply, " ", 1);
	ns_reply_number(&reply, ns_object_bytes(object));
	if (wants_cas) {
		ns_reply_add(&reply, " ", 1);
		ns_reply_number(&reply, ns_object_cas(object));
	}
	ns_reply_add(&reply, "\r\n", 2);
	ns_talk_add(talk, reply.bytes, reply.len);
	ns_talk_value(talk, object);
}
