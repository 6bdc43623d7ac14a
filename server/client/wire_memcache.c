/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies of memcache's text protocol: memcached's doc/protocol.txt, "Retrieval command" and "Storage
 * commands".
 */
#include "wire_reply.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define VALUE "VALUE "

/* "\r\nEND\r\n" */
enum { TAIL_BYTES = 7 };

/* A part of a line. */
struct word {
	const char *text;
	size_t size;
};

static bool is_word(struct word word, const char *text)
{
	return word.size == strlen(text) && memcmp(word.text, text, word.size) == 0;
}

static bool begins_with(struct word line, const char *text)
{
	return line.size >= strlen(text) && memcmp(line.text, text, strlen(text)) == 0;
}

/* The first word of *line, which is then what follows the blank behind it. */
static struct word take_word(struct word *line)
{
	const char *blank = memchr(line->text, ' ', line->size);
	struct word word = *line;

	if (blank) {
		word.size = (size_t)(blank - line->text);
		line->text = blank + 1;
		line->size -= word.size + 1;
	} else {
		line->text += line->size;
		line->size = 0;
	}
	return word;
}

static int refuse(struct word line, const char *why, struct np_error *err)
{
	char quoted[NL_REPLY_TEXT_SIZE];

	return np_error_set(err, EPROTO, "the server's '%s' %s",
	                    nl_reply_quote(line.text, line.size, quoted, sizeof(quoted)), why);
}

/* "VALUE KEY FLAGS BYTES" or "... BYTES CAS". */
static int parse_value(struct word line, const char *key, struct nl_reply *ret,
                       struct np_error *err)
{
	struct word rest = line;
	struct word flags;
	struct word bytes;
	uint64_t number;

	take_word(&rest);
	if (!is_word(take_word(&rest), key))
		return refuse(line, "is the value of another key", err);
	flags = take_word(&rest);
	bytes = take_word(&rest);
	if (!nl_digits_parse(flags.text, flags.size, UINT32_MAX, &number) ||
	    !nl_digits_parse(bytes.text, bytes.size, NL_LENGTH_MAX, &ret->body_bytes) ||
	    (bytes.text + bytes.size < rest.text &&
	     !nl_digits_parse(rest.text, rest.size, UINT64_MAX, &number)))
		return refuse(line, "is not VALUE, key, flags and length", err);
	ret->kind = NL_REPLY_VALUE;
	ret->tail_bytes = TAIL_BYTES;
	return 0;
}

static bool is_refusal(struct word line, enum nl_verb verb)
{
	return is_word(line, "ERROR") || begins_with(line, "ERROR ") ||
	       begins_with(line, "CLIENT_ERROR") || begins_with(line, "SERVER_ERROR") ||
	       (verb == NL_SET && (is_word(line, "NOT_STORED") || is_word(line, "EXISTS") ||
	                           is_word(line, "NOT_FOUND")));
}

static int parse_line(struct word line, enum nl_verb verb, const char *key, struct nl_reply *ret,
                      struct np_error *err)
{
	if (verb == NL_GET && begins_with(line, VALUE))
		return parse_value(line, key, ret, err);
	if (verb == NL_GET && is_word(line, "END"))
		ret->kind = NL_REPLY_MISS;
	else if (verb == NL_SET && is_word(line, "STORED"))
		ret->kind = NL_REPLY_STORED;
	else if (is_refusal(line, verb))
		ret->kind = NL_REPLY_REFUSED;
	else if (begins_with(line, "HTTP/"))
		return refuse(line, "is HTTP: -P http speaks it", err);
	else
		return refuse(line, verb == NL_GET ? "is no reply to get" : "is no reply to set",
		              err);
	return 0;
}

int nl_reply_parse_memcache(enum nl_verb verb, const char *key, const char *bytes, size_t size,
                            struct nl_reply *ret, struct np_error *err)
{
	const char *end = memchr(bytes, '\n', size);
	struct word line = { .text = bytes };
	int rc;

	if (!end)
		return 0;
	line.size = (size_t)(end - bytes);
	if (line.size == 0 || end[-1] != '\r')
		return refuse(line, "does not end in CR and LF", err);
	line.size--;
	rc = parse_line(line, verb, key, ret, err);
	if (rc < 0)
		return rc;
	ret->head_bytes = (size_t)(end - bytes) + 1;
	nl_reply_quote(line.text, line.size, ret->text, sizeof(ret->text));
	return 0;
}
