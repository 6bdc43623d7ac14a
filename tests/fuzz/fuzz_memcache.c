/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command line of memcache's text protocol. Whatever it says, what was made of it lies within the
 * limits, an error is one line, and what was understood is the same when it is written down again.
 */
#include "fuzz.h"

#include "../../server/protocol/memcache_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check_error(const struct ns_command *command)
{
	const char *error = command->error;

	if (error == NULL)
		return;
	if (strcmp(error, "ERROR") != 0 && strncmp(error, "CLIENT_ERROR ", 13) != 0)
		fuzz_fail("an error of another kind", error);
	for (const char *at = error; *at != '\0'; at++)
		if (!isprint((unsigned char)*at))
			fuzz_fail("an error that is no line", error);
}

static void check_limits(const struct ns_command *command, const char *line)
{
	if (command->key_len > NS_KEY_MAX || command->opaque_len > NS_OPAQUE_MAX ||
	    command->meta_count > NS_META_FLAGS_MAX)
		fuzz_fail("more than there is room for", line);
	if (command->has_value && command->value_bytes >= NS_VALUE_SANE_MAX)
		fuzz_fail("a value that nobody would swallow", line);
	if (command->has_value && command->ends_connection)
		fuzz_fail("a value follows, and nothing does", line);
	if (command->ends_connection && command->error == NULL)
		fuzz_fail("ends the connection without a word", line);
	if (command->verb == NS_VERB_UNKNOWN && command->error == NULL)
		fuzz_fail("not known, and yet no error", line);
	for (unsigned i = 0; i < command->meta_count; i++)
		if (!ns_command_has(command, command->meta[i]))
			fuzz_fail("a flag that is listed and not there", line);
	if (command->is_binary_key || command->error != NULL)
		return;
	if (command->key_len > 0 &&
	    !ns_span_is_key((struct ns_span){ command->key, command->key_len }))
		fuzz_fail("a key that is none", line);
}

static void check_rest(const struct ns_command *command, const char *line, size_t len)
{
	struct ns_span rest = command->rest;
	struct ns_span word;
	struct ns_place_rule rule;
	size_t prefix_len;

	if (rest.bytes != NULL && (rest.bytes < line || rest.bytes + rest.len > line + len))
		fuzz_fail("the rest lies outside of the line", "");
	while (rest.bytes != NULL && ns_span_word(&rest, &word)) {
		if (word.len == 0 || memchr(word.bytes, ' ', word.len) != NULL)
			fuzz_fail("a word that is none", "");
		if (ns_span_place(word, &rule, &prefix_len) && prefix_len >= word.len)
			fuzz_fail("a prefix longer than its rule", "");
	}
}

/* A storage command that was understood, written down and understood again. */
static void check_again(const struct ns_command *command, const char *line)
{
	char again[NS_KEY_MAX + 128];
	struct ns_command second;
	int len;

	if (command->verb != NS_VERB_SET || command->error != NULL)
		return;
	len = snprintf(again, sizeof(again), "set %.*s %u %lld %llu%s", command->key_len,
	               command->key, command->flags, (long long)command->exptime,
	               (unsigned long long)command->value_bytes,
	               command->is_quiet ? " noreply" : "");
	ns_command_parse(again, (size_t)len, &second);
	if (second.error != NULL || second.key_len != command->key_len ||
	    memcmp(second.key, command->key, command->key_len) != 0 ||
	    second.flags != command->flags || second.exptime != command->exptime ||
	    second.value_bytes != command->value_bytes || second.is_quiet != command->is_quiet)
		fuzz_fail("not the same again", line);
}

static void check_base64(const char *bytes, size_t len)
{
	char decoded[NS_KEY_MAX];
	char text[NS_BASE64_LEN(NS_KEY_MAX)];
	int count = ns_base64_decode((struct ns_span){ bytes, len }, decoded, sizeof(decoded));

	if (count < 0)
		return;
	if (ns_base64_encode(decoded, (size_t)count, text) != len || memcmp(text, bytes, len) != 0)
		fuzz_fail("two texts for the same key", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ns_command command;
	char *line = malloc(size > 0 ? size : 1); /* of just that size, unterminated */

	if (line == NULL)
		return 0;
	if (size > 0)
		memcpy(line, data, size);
	ns_command_parse(line, size, &command);
	check_error(&command);
	check_limits(&command, "");
	check_rest(&command, line, size);
	check_again(&command, "");
	check_base64(line, size);
	free(line);
	return 0;
}
