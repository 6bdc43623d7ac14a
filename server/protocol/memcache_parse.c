/* SPDX-License-Identifier: BSD-3-Clause */
#include "memcache_parse.h"

#include <string.h>

static const char bad_format[] = "CLIENT_ERROR bad command line format";
static const char bad_exptime[] = "CLIENT_ERROR invalid exptime argument";

enum { WORDS_MAX = 8 };

struct words {
	struct ns_span word[WORDS_MAX];
	size_t count; /* may be more than there is room for */
	struct ns_span rest;
};

struct verb {
	const char *name;
	enum ns_verb verb;
	/* Words with the verb; outside of these the answer is ERROR. 0 = any number. */
	unsigned words_min;
	unsigned words_max;
	bool may_be_quiet; /* its last word may be noreply */
	void (*parse)(struct ns_command *command, const struct words *words);
};

/* ---- words and numbers ---- */

bool ns_span_word(struct ns_span *rest, struct ns_span *ret)
{
	const char *end = rest->bytes + rest->len;
	const char *from = rest->bytes;
	const char *to;

	while (from < end && *from == ' ')
		from++;
	to = from;
	while (to < end && *to != ' ')
		to++;
	*ret = (struct ns_span){ from, (size_t)(to - from) };
	*rest = (struct ns_span){ to, (size_t)(end - to) };
	return to > from;
}

bool ns_span_is(struct ns_span span, const char *text)
{
	return span.len == strlen(text) && memcmp(span.bytes, text, span.len) == 0;
}

static bool is_control(char byte)
{
	return (unsigned char)byte < 0x20 || byte == 0x7f;
}

bool ns_span_is_key(struct ns_span span)
{
	if (span.len == 0 || span.len > NS_KEY_MAX)
		return false;
	for (size_t i = 0; i < span.len; i++)
		if (is_control(span.bytes[i]) || span.bytes[i] == ' ')
			return false;
	return true;
}

bool ns_span_number(struct ns_span span, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;

	if (span.len == 0)
		return false;
	for (size_t i = 0; i < span.len; i++) {
		if (span.bytes[i] < '0' || span.bytes[i] > '9')
			return false;
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(span.bytes[i] - '0'), &number))
			return false;
	}
	if (number > max)
		return false;
	*ret = number;
	return true;
}

bool ns_span_seconds(struct ns_span span, int64_t *ret)
{
	bool is_negative = span.len > 0 && span.bytes[0] == '-';
	uint64_t number;

	if (is_negative)
		span = (struct ns_span){ span.bytes + 1, span.len - 1 };
	if (!ns_span_number(span, INT64_MAX, &number))
		return false;
	*ret = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

bool ns_span_place(struct ns_span span, struct ns_place_rule *ret, size_t *ret_prefix_len)
{
	const char *sign = memrchr(span.bytes, '=', span.len);
	struct ns_place_rule rule = { .prefix = span.bytes };
	struct ns_span where;
	uint64_t node = 0;

	if (sign == NULL || sign - span.bytes > NS_KEY_MAX)
		return false;
	where.bytes = sign + 1;
	where.len = span.len - (size_t)(where.bytes - span.bytes);
	if (ns_span_is(where, "local")) {
		rule.place = NS_PLACE_LOCAL;
	} else if (ns_span_is(where, "far")) {
		rule.place = NS_PLACE_FAR;
	} else {
		if (where.len < 5 || memcmp(where.bytes, "node:", 5) != 0)
			return false;
		where = (struct ns_span){ where.bytes + 5, where.len - 5 };
		if (!ns_span_number(where, UINT32_MAX, &node))
			return false;
		rule.place = NS_PLACE_NODE;
		rule.node = (unsigned)node;
	}
	*ret = rule;
	*ret_prefix_len = (size_t)(sign - span.bytes);
	return true;
}

/* ---- each verb's words ---- */

static void refuse(struct ns_command *command, const char *error)
{
	if (command->error == NULL)
		command->error = error;
}

/* False when it is no key, which is an error by itself. */
static bool take_key(struct ns_command *command, struct ns_span word)
{
	if (!ns_span_is_key(word)) {
		refuse(command, bad_format);
		return false;
	}
	memcpy(command->key, word.bytes, word.len);
	command->key_len = (uint8_t)word.len;
	return true;
}

static bool is_all_digits(struct ns_span word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.bytes[i] < '0' || word.bytes[i] > '9')
			return false;
	return word.len > 0;
}

/*
 * What stands there as a length decides whether we can stay in step: a number that we would
 * swallow, one that nobody should be believed about, or no number, and then no value either.
 */
static void take_length(struct ns_command *command, struct ns_span word)
{
	command->has_value = ns_span_number(word, NS_VALUE_SANE_MAX - 1, &command->value_bytes);
	if (!command->has_value) {
		refuse(command, bad_format);
		command->ends_connection = is_all_digits(word);
	}
}

static void parse_get(struct ns_command *command, const struct words *words)
{
	command->rest = words->rest;
}

static void parse_gat(struct ns_command *command, const struct words *words)
{
	command->rest = words->rest;
	(void)ns_span_word(&command->rest, &(struct ns_span){ 0 });
	if (!ns_span_seconds(words->word[1], &command->exptime))
		refuse(command, bad_exptime);
}

static void parse_set(struct ns_command *command, const struct words *words)
{
	uint64_t flags = 0;

	take_length(command, words->word[4]);
	(void)take_key(command, words->word[1]);
	if (!ns_span_number(words->word[2], UINT32_MAX, &flags) ||
	    !ns_span_seconds(words->word[3], &command->exptime))
		refuse(command, bad_format);
	command->flags = (uint32_t)flags;
	if (command->verb == NS_VERB_CAS &&
	    !ns_span_number(words->word[5], UINT64_MAX, &command->cas))
		refuse(command, bad_format);
}

static void parse_incr(struct ns_command *command, const struct words *words)
{
	if (take_key(command, words->word[1]) &&
	    !ns_span_number(words->word[2], UINT64_MAX, &command->delta))
		refuse(command, "CLIENT_ERROR invalid numeric delta argument");
}

static void parse_delete(struct ns_command *command, const struct words *words)
{
	size_t extra = words->count - 2 - (command->is_quiet ? 1 : 0);

	if (extra > 1 || (extra == 1 && !ns_span_is(words->word[2], "0")))
		refuse(command,
		       "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]");
	(void)take_key(command, words->word[1]);
}

static void parse_touch(struct ns_command *command, const struct words *words)
{
	if (take_key(command, words->word[1]) &&
	    !ns_span_seconds(words->word[2], &command->exptime))
		refuse(command, bad_exptime);
}

static void parse_flush(struct ns_command *command, const struct words *words)
{
	command->has_exptime = words->count > (command->is_quiet ? 2U : 1U);
	if (command->has_exptime && !ns_span_seconds(words->word[1], &command->exptime))
		refuse(command, bad_exptime);
}

static void parse_verbosity(struct ns_command *command, const struct words *words)
{
	/* memccapable wants no answer to "verbosity noreply". */
	if (ns_span_is(words->word[1], "noreply"))
		command->is_quiet = true;
	if (!ns_span_number(words->word[1], UINT32_MAX, &command->delta))
		refuse(command, bad_format);
}

static void parse_memlimit(struct ns_command *command, const struct words *words)
{
	if (!ns_span_number(words->word[1], UINT32_MAX, &command->delta))
		refuse(command, "ERROR");
}

static void parse_rest(struct ns_command *command, const struct words *words)
{
	command->rest = words->rest;
}

static void parse_meta(struct ns_command *command, const struct words *words)
{
	struct ns_span rest = words->rest;

	(void)ns_span_word(&rest, &(struct ns_span){ 0 });
	if (!take_key(command, words->word[1]) && command->verb != NS_VERB_MS)
		return;
	if (command->verb == NS_VERB_MS) {
		if (words->count < 3) {
			refuse(command, bad_format);
			return;
		}
		take_length(command, words->word[2]);
		(void)ns_span_word(&rest, &(struct ns_span){ 0 });
	}
	if (command->error == NULL)
		ns_command_parse_meta(command, rest);
}

static void parse_me(struct ns_command *command, const struct words *words)
{
	if (words->count < 2)
		refuse(command, bad_format);
	else
		parse_meta(command, words);
}

/* Most frequent first: they are looked at in this order. */
static const struct verb verbs[] = {
	{ "get", NS_VERB_GET, 2, 0, false, parse_get },
	{ "set", NS_VERB_SET, 5, 6, true, parse_set },
	{ "mg", NS_VERB_MG, 2, 0, false, parse_meta },
	{ "ms", NS_VERB_MS, 2, 0, false, parse_meta },
	{ "gets", NS_VERB_GETS, 2, 0, false, parse_get },
	{ "bget", NS_VERB_GET, 2, 0, false, parse_get },
	{ "gat", NS_VERB_GAT, 3, 0, false, parse_gat },
	{ "gats", NS_VERB_GATS, 3, 0, false, parse_gat },
	{ "add", NS_VERB_ADD, 5, 6, true, parse_set },
	{ "replace", NS_VERB_REPLACE, 5, 6, true, parse_set },
	{ "append", NS_VERB_APPEND, 5, 6, true, parse_set },
	{ "prepend", NS_VERB_PREPEND, 5, 6, true, parse_set },
	{ "cas", NS_VERB_CAS, 6, 7, true, parse_set },
	{ "incr", NS_VERB_INCR, 3, 4, true, parse_incr },
	{ "decr", NS_VERB_DECR, 3, 4, true, parse_incr },
	{ "delete", NS_VERB_DELETE, 2, 4, true, parse_delete },
	{ "touch", NS_VERB_TOUCH, 3, 4, true, parse_touch },
	{ "md", NS_VERB_MD, 2, 0, false, parse_meta },
	{ "ma", NS_VERB_MA, 2, 0, false, parse_meta },
	{ "mn", NS_VERB_MN, 0, 0, false, NULL },
	{ "me", NS_VERB_ME, 0, 0, false, parse_me },
	{ "flush_all", NS_VERB_FLUSH_ALL, 1, 3, true, parse_flush },
	{ "verbosity", NS_VERB_VERBOSITY, 2, 3, true, parse_verbosity },
	{ "version", NS_VERB_VERSION, 0, 0, false, NULL },
	{ "stats", NS_VERB_STATS, 0, 0, false, parse_rest },
	{ "cache_memlimit", NS_VERB_CACHE_MEMLIMIT, 2, 3, true, parse_memlimit },
	{ "shutdown", NS_VERB_SHUTDOWN, 0, 0, false, NULL },
	{ "place", NS_VERB_PLACE, 2, 0, false, parse_rest },
	{ "quit", NS_VERB_QUIT, 0, 0, false, NULL },
};

static const struct verb *find_verb(struct ns_span word)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (ns_span_is(word, verbs[i].name))
			return &verbs[i];
	return NULL;
}

/* ---- the line ---- */

static void split(struct ns_span line, struct words *ret)
{
	struct ns_span word;

	ret->count = 0;
	ret->rest = line;
	if (ns_span_word(&ret->rest, &word))
		ret->word[ret->count++] = word;
	line = ret->rest;
	while (ret->count < WORDS_MAX && ns_span_word(&line, &word))
		ret->word[ret->count++] = word;
}

/*
 * Somebody speaks HTTP to us, through a browser that was tricked perhaps: nothing in what follows
 * must be taken for a command.
 */
static bool is_http(struct ns_span line)
{
	const char *blank = memrchr(line.bytes, ' ', line.len);
	size_t left = blank != NULL ? (size_t)(line.bytes + line.len - blank) : 0;

	return left > 5 && memcmp(blank, " HTTP/", 6) == 0;
}

static bool has_control(struct ns_span line)
{
	for (size_t i = 0; i < line.len; i++)
		if (is_control(line.bytes[i]))
			return true;
	return false;
}

void ns_command_parse(const char *line, size_t len, struct ns_command *ret)
{
	struct ns_span whole = { line, len };
	const struct verb *verb;
	struct words words;

	memset(ret, 0, offsetof(struct ns_command, meta));
	ret->delta = 1;
	split(whole, &words);
	verb = words.count > 0 ? find_verb(words.word[0]) : NULL;
	if (verb == NULL) {
		ret->error = "ERROR";
		if ((len > 0 && (unsigned char)line[0] == 0x80) || is_http(whole))
			ret->verb = NS_VERB_QUIT;
		return;
	}
	ret->verb = verb->verb;
	if (words.count < verb->words_min ||
	    (verb->words_max != 0 && words.count > verb->words_max)) {
		ret->error = "ERROR";
		return;
	}
	/* Where a number should stand it is a wish too; but the key of "delete noreply" is none. */
	ret->is_quiet = verb->may_be_quiet && words.count > (verb->words_min < 2 ? 1U : 2U) &&
	                ns_span_is(words.word[words.count - 1], "noreply");
	if (has_control(words.rest))
		refuse(ret, bad_format);
	if (verb->parse != NULL)
		verb->parse(ret, &words);
}
