/* SPDX-License-Identifier: BSD-3-Clause */
/* incr, decr, delete, touch. */
#include "memcache.h"

#include <errno.h>

void ns_memcache_incr(struct ns_talk *talk, const struct ns_command *command)
{
	uint64_t value = 0;
	uint64_t cas = 0;
	int rc = ns_store_add_number(talk->context->thread, command->key, command->key_len,
	                             command->delta, command->verb == NS_VERB_DECR, 0, &value, &cas,
	                             NULL);
	struct ns_reply reply = { .len = 0 };

	if (rc == 0) {
		ns_reply_number(&reply, value);
		ns_reply_add(&reply, "", 1);
		ns_talk_answer(talk, command, reply.bytes);
	} else if (rc == -ENOENT) {
		ns_talk_answer(talk, command, "NOT_FOUND");
	} else if (rc == -EINVAL) {
		ns_talk_answer(talk, command,
		               "CLIENT_ERROR cannot increment or decrement non-numeric value");
	} else {
		ns_talk_answer(talk, command, "SERVER_ERROR out of memory in incr");
	}
}

void ns_memcache_delete(struct ns_talk *talk, const struct ns_command *command)
{
	int rc = ns_store_delete(talk->context->thread, command->key, command->key_len, 0);

	ns_talk_answer(talk, command, rc == 0 ? "DELETED" : "NOT_FOUND");
}

void ns_memcache_touch(struct ns_talk *talk, const struct ns_command *command)
{
	int rc = ns_store_touch(talk->context->thread, command->key, command->key_len,
	                        ns_talk_expiry(talk, command->exptime));

	ns_talk_count(talk, cmd_touch, 1);
	ns_talk_answer(talk, command, rc == 0 ? "TOUCHED" : "NOT_FOUND");
}
