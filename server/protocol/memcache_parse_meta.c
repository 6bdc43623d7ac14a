/* SPDX-License-Identifier: BSD-3-Clause */
/* Meta commands' flags: a letter each, with an argument that follows it at once. */
#include "memcache_parse.h"

#include <string.h>

static const char bad_token[] = "CLIENT_ERROR bad token in command line format";
static const char bad_format[] = "CLIENT_ERROR bad command line format";

/*
 * Letters that are lawful with any meta command; which of them mean anything is the command's
 * business.
 */
static const char lawful[] = "CDEFIJLMNOPRTbcfhklqstuvx";

/* ---- base64 ---- */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t ns_base64_encode(const char *bytes, size_t len, char *ret)
{
	size_t out = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t group = (uint32_t)(unsigned char)bytes[i] << 16;

		if (i + 1 < len)
			group |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
		if (i + 2 < len)
			group |= (unsigned char)bytes[i + 2];
		ret[out++] = digits[group >> 18];
		ret[out++] = digits[group >> 12 & 63];
		ret[out++] = i + 1 < len ? digits[group >> 6 & 63] : '=';
		ret[out++] = i + 2 < len ? digits[group & 63] : '=';
	}
	return out;
}

/* The bytes of one group of four digits, 1 to 3 of them; 0 when it is none. */
static size_t decode_group(const char *text, bool is_last, unsigned char ret[3])
{
	size_t padding = is_last && text[3] == '=' ? (text[2] == '=' ? 2 : 1) : 0;
	uint32_t group = 0;

	for (size_t i = 0; i < 4; i++) {
		const char *digit =
			i >= 4 - padding ? digits : memchr(digits, text[i], sizeof(digits) - 1);

		if (digit == NULL)
			return 0;
		group = group << 6 | (uint32_t)(digit - digits);
	}
	/* Bits that no byte has must be 0: else two texts would be one key. */
	if (padding > 0 && (group & ((1U << 8 * padding) - 1)) != 0)
		return 0;
	ret[0] = (unsigned char)(group >> 16);
	ret[1] = (unsigned char)(group >> 8);
	ret[2] = (unsigned char)group;
	return 3 - padding;
}

int ns_base64_decode(struct ns_span text, char *ret, size_t max)
{
	size_t out = 0;

	if (text.len == 0 || text.len % 4 != 0)
		return -1;
	for (size_t i = 0; i < text.len; i += 4) {
		unsigned char bytes[3];
		size_t count = decode_group(text.bytes + i, i + 4 == text.len, bytes);

		if (count == 0 || out + count > max)
			return -1;
		memcpy(ret + out, bytes, count);
		out += count;
	}
	return (int)out;
}

/* ---- flags ---- */

static const char *decode_key(struct ns_command *command)
{
	struct ns_span text = { command->key, command->key_len };
	char key[NS_KEY_MAX];
	int len = ns_base64_decode(text, key, sizeof(key));

	if (len < 0)
		return "CLIENT_ERROR error decoding key";
	memcpy(command->key, key, (size_t)len);
	command->key_len = (uint8_t)len;
	command->is_binary_key = true;
	return NULL;
}

static const char *take_opaque(struct ns_command *command, struct ns_span argument)
{
	if (argument.len > NS_OPAQUE_MAX)
		return "CLIENT_ERROR opaque token too long";
	memcpy(command->opaque, argument.bytes, argument.len);
	command->opaque_len = (uint8_t)argument.len;
	return NULL;
}

static const char *take_mode(struct ns_command *command, struct ns_span argument)
{
	if (argument.len != 1)
		return "CLIENT_ERROR incorrect length for M token";
	command->mode = argument.bytes[0];
	return NULL;
}

static const char *take_client_flags(struct ns_command *command, struct ns_span argument)
{
	uint64_t flags;

	if (!ns_span_number(argument, UINT32_MAX, &flags))
		return bad_format;
	command->flags = (uint32_t)flags;
	return NULL;
}

static const char *take_number(struct ns_span argument, uint64_t *ret, const char *error)
{
	return ns_span_number(argument, UINT64_MAX, ret) ? NULL : error;
}

static const char *take_seconds(struct ns_span argument, int64_t *ret)
{
	return ns_span_seconds(argument, ret) ? NULL : bad_token;
}

/* NULL, or what is wrong with it. */
static const char *take_flag(struct ns_command *command, char flag, struct ns_span argument)
{
	switch (flag) {
	case 'b':
		return decode_key(command);
	case 'q':
		command->is_quiet = true;
		return NULL;
	case 'O':
		return take_opaque(command, argument);
	case 'M':
		return take_mode(command, argument);
	case 'F':
		return take_client_flags(command, argument);
	case 'N':
		return take_seconds(argument, &command->vivify_exptime);
	case 'R':
		return take_seconds(argument, &command->recache_s);
	case 'T':
		command->has_exptime = true;
		return take_seconds(argument, &command->exptime);
	case 'C':
		command->has_cas = true;
		return take_number(argument, &command->cas, bad_token);
	case 'E':
		return take_number(argument, &command->set_cas, bad_token);
	case 'D':
		return take_number(argument, &command->delta,
		                   "CLIENT_ERROR invalid numeric delta value");
	case 'J':
		return take_number(argument, &command->initial,
		                   "CLIENT_ERROR invalid numeric initial value");
	default:
		return NULL;
	}
}

static const char *take_word(struct ns_command *command, struct ns_span word)
{
	char flag = word.bytes[0];
	struct ns_span argument = { word.bytes + 1, word.len - 1 };

	if (memchr(lawful, flag, sizeof(lawful) - 1) == NULL)
		return "CLIENT_ERROR invalid flag";
	if (ns_command_has(command, flag))
		return "CLIENT_ERROR duplicate flag";
	command->seen |= UINT64_C(1) << (flag - 'A');
	command->meta[command->meta_count++] = flag;
	return take_flag(command, flag, argument);
}

/* What 1.6.18 says for any flag that md and ma cannot do with, but one. */
static const char *in_words_of(enum ns_verb verb, const char *error)
{
	bool says_one_thing = verb == NS_VERB_MD || verb == NS_VERB_MA;

	if (says_one_thing && strcmp(error, "CLIENT_ERROR opaque token too long") != 0)
		return "CLIENT_ERROR invalid or duplicate flag";
	return error;
}

void ns_command_parse_meta(struct ns_command *command, struct ns_span rest)
{
	struct ns_span left = rest;
	struct ns_span word;
	unsigned count = 0;

	while (ns_span_word(&left, &word))
		count++;
	if (count > NS_META_FLAGS_MAX) {
		command->error = "CLIENT_ERROR options flags are too long";
		return;
	}
	while (command->error == NULL && ns_span_word(&rest, &word))
		command->error = take_word(command, word);
	if (command->error != NULL)
		command->error = in_words_of(command->verb, command->error);
}
