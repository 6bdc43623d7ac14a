/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands about the server as a whole. place is our own. */
#include "memcache.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMLIMIT_MIN_MB = 8, RULES_MAX = 128 };

void ns_memcache_flush_all(struct ns_talk *talk, const struct ns_command *command)
{
	uint32_t now_s = talk->context->now_s;
	uint32_t at_s = now_s;

	/* A time that is past, and a negative one, are now. */
	if (command->has_exptime && command->exptime != 0)
		at_s = ns_talk_expiry(talk, command->exptime);
	ns_store_flush(talk->context->store, at_s > now_s ? at_s : now_s);
	ns_talk_count(talk, cmd_flush, 1);
	ns_talk_answer(talk, command, "OK");
}

/* There is nothing that would be more or less verbose. */
void ns_memcache_verbosity(struct ns_talk *talk, const struct ns_command *command)
{
	ns_talk_answer(talk, command, "OK");
}

void ns_memcache_version(struct ns_talk *talk, const struct ns_command *command)
{
	(void)command;
	ns_talk_say(talk, "VERSION " NS_MEMCACHE_VERSION);
}

/* Memory is mapped and verified at start, and stays as it is. */
void ns_memcache_memlimit(struct ns_talk *talk, const struct ns_command *command)
{
	ns_talk_answer(talk, command,
	               command->delta < MEMLIMIT_MIN_MB
	                       ? "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m"
	                       : "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust");
}

void ns_memcache_shutdown(struct ns_talk *talk, const struct ns_command *command)
{
	(void)command;
	ns_talk_say(talk, "ERROR: shutdown not enabled");
}

/* ---- place PREFIX=local|far|node:N ... ---- */

struct rules {
	struct ns_place_rule rules[RULES_MAX];
	size_t count;
	char *texts; /* of the prefixes, terminated */
};

/* NULL, or what is wrong. The caller frees texts either way. */
static const char *parse_rules(struct ns_span rest, struct rules *ret)
{
	struct ns_span word;
	char *text;

	ret->count = 0;
	ret->texts = text = malloc(rest.len + 1);
	if (text == NULL)
		return "SERVER_ERROR out of memory";
	while (ns_span_word(&rest, &word)) {
		size_t len;

		if (ret->count == RULES_MAX)
			return "CLIENT_ERROR at most 128 rules of placing";
		if (!ns_span_place(word, &ret->rules[ret->count], &len))
			return "CLIENT_ERROR usage: place PREFIX=local|far|node:N ... or place none";
		memcpy(text, word.bytes, len);
		text[len] = '\0';
		ret->rules[ret->count++].prefix = text;
		/* A word has its '=' more than its prefix, so there is room for all ends. */
		text += len + 1;
	}
	return NULL;
}

void ns_memcache_place(struct ns_talk *talk, const struct ns_command *command)
{
	struct ns_span rest = command->rest;
	struct ns_span word;
	struct rules rules = { .count = 0 };
	struct np_error err = { 0 };
	char line[sizeof(err.text) + 32];
	const char *wrong = NULL;

	/* It says where other people's data goes from now on: not for everybody on the network. */
	if (talk->state->is_from_afar && talk->context->auth == NULL) {
		ns_talk_say(talk, "CLIENT_ERROR place is for this machine, else for those whom an "
		                  "auth file knows");
		return;
	}
	/* "none" alone has no '=', so it cannot be a rule. */
	(void)ns_span_word(&rest, &word);
	if (!ns_span_is(word, "none") || ns_span_word(&rest, &word))
		wrong = parse_rules(command->rest, &rules);
	if (wrong == NULL &&
	    ns_store_place(talk->context->store, rules.rules, rules.count, &err) < 0) {
		(void)snprintf(line, sizeof(line), "CLIENT_ERROR %s", err.text);
		wrong = line;
	}
	free(rules.texts);
	ns_talk_say(talk, wrong != NULL ? wrong : "OK");
}
