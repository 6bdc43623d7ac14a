/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memcached's ASCII authentication: the first command is a set of any key, whose value is "user
 * password". Until it was right nothing else is done, and nothing long is kept.
 */
#include "memcache.h"

#include <stdlib.h>

enum { LOGIN_BYTES_MAX = 1024 };

enum ns_step ns_memcache_login(struct ns_talk *talk, struct ns_span line)
{
	struct ns_memcache *state = talk->state;
	struct ns_span rest = line;
	struct ns_span word[5] = { 0 };
	uint64_t bytes = 0;

	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		(void)ns_span_word(&rest, &word[i]);
	if (!ns_span_is(word[0], "set") || !ns_span_number(word[4], UINT64_MAX, &bytes)) {
		ns_talk_say(talk, "CLIENT_ERROR unauthenticated");
		return NS_STEP_DONE;
	}
	/* Somebody's long value: not ours to swallow, nor to take for commands. */
	if (bytes > LOGIN_BYTES_MAX) {
		ns_talk_say(talk, "CLIENT_ERROR unauthenticated");
		return NS_STEP_CLOSE;
	}
	state->memory = malloc(bytes + 1);
	if (state->memory == NULL) {
		ns_talk_say(talk, "SERVER_ERROR out of memory");
		return NS_STEP_CLOSE;
	}
	state->is_login = true;
	state->command.value_bytes = bytes;
	*talk->body = (struct ns_body){ .bytes = bytes, .memory = state->memory };
	return NS_STEP_BODY;
}

void ns_memcache_end_login(struct ns_talk *talk)
{
	struct ns_memcache *state = talk->state;
	struct ns_span rest = { state->memory, state->command.value_bytes };
	struct ns_span user;
	struct ns_span password;

	(void)ns_span_word(&rest, &user);
	if (!ns_span_word(&rest, &password)) {
		ns_talk_say(talk, "CLIENT_ERROR bad authentication token format");
		return;
	}
	ns_talk_count(talk, auth_cmds, 1);
	state->may_all = ns_memcache_knows(talk->context->auth, user, password);
	if (!state->may_all)
		ns_talk_count(talk, auth_errors, 1);
	ns_talk_say(talk, state->may_all ? "STORED" : "CLIENT_ERROR authentication failure");
}
