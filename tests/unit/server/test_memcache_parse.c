/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "protocol/memcache_parse.h"

#include <stdlib.h>
#include <string.h>

#define FORMAT "CLIENT_ERROR bad command line format"
#define EXPTIME "CLIENT_ERROR invalid exptime argument"
#define DELTA "CLIENT_ERROR invalid numeric delta argument"
#define USAGE "CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]"
#define TOKEN "CLIENT_ERROR bad token in command line format"
#define ONE_FOR_ALL "CLIENT_ERROR invalid or duplicate flag"

#define KEY50 "kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk"
#define KEY250 KEY50 KEY50 KEY50 KEY50 KEY50

/* In a block of just that size, so that a sanitizer sees what is read beyond. */
static struct ns_command parsed(const char *line, size_t len)
{
	char *exact = malloc(len > 0 ? len : 1);
	struct ns_command command;

	assert_non_null(exact);
	memcpy(exact, line, len);
	ns_command_parse(exact, len, &command);
	free(exact);
	command.rest = (struct ns_span){ 0 };
	return command;
}

static struct ns_command parsed_text(const char *line)
{
	check_case("'%s'", line);
	return parsed(line, strlen(line));
}

static void assert_key(const struct ns_command *command, const char *key)
{
	char text[NS_KEY_MAX + 1] = "";

	memcpy(text, command->key, command->key_len);
	assert_text(text, key);
}

/* ---- what is right ---- */

static const struct {
	const char *line;
	enum ns_verb verb;
	uint32_t flags;
	uint64_t bytes;
	int64_t exptime;
	uint64_t cas;
	bool is_quiet;
} sets[] = {
	{ "set k 1 2 3", NS_VERB_SET, 1, 3, 2, 0, false },
	{ "set k 0 0 0", NS_VERB_SET, 0, 0, 0, 0, false },
	{ "set k 4294967295 0 1", NS_VERB_SET, 4294967295, 1, 0, 0, false },
	{ "set k 0 -1 1", NS_VERB_SET, 0, 1, -1, 0, false },
	{ "set k 0 2592001 1", NS_VERB_SET, 0, 1, 2592001, 0, false },
	{ "set k 007 0 03", NS_VERB_SET, 7, 3, 0, 0, false },
	{ "  set  k  1  2  3  ", NS_VERB_SET, 1, 3, 2, 0, false },
	{ "set k 1 2 3 noreply", NS_VERB_SET, 1, 3, 2, 0, true },
	{ "set k 1 2 3 whatever", NS_VERB_SET, 1, 3, 2, 0, false },
	{ "add k 1 2 3", NS_VERB_ADD, 1, 3, 2, 0, false },
	{ "replace k 1 2 3 noreply", NS_VERB_REPLACE, 1, 3, 2, 0, true },
	{ "append k 1 2 3", NS_VERB_APPEND, 1, 3, 2, 0, false },
	{ "prepend k 1 2 3", NS_VERB_PREPEND, 1, 3, 2, 0, false },
	{ "cas k 1 2 3 18446744073709551615", NS_VERB_CAS, 1, 3, 2, UINT64_MAX, false },
	{ "cas k 1 2 3 9 noreply", NS_VERB_CAS, 1, 3, 2, 9, true },
	{ "set k 0 0 2147483644", NS_VERB_SET, 0, 2147483644, 0, 0, false },
};

static void storage_commands_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct ns_command command = parsed_text(sets[i].line);

		assert_text(command.error, NULL);
		assert_number(command.verb, sets[i].verb);
		assert_number(command.has_value, true);
		assert_number(command.value_bytes, sets[i].bytes);
		assert_number(command.flags, sets[i].flags);
		assert_number(command.exptime, sets[i].exptime);
		assert_true(command.cas == sets[i].cas);
		assert_number(command.is_quiet, sets[i].is_quiet);
		assert_key(&command, "k");
	}
}

static const struct {
	const char *line;
	enum ns_verb verb;
	bool is_quiet;
} plain[] = {
	{ "get a", NS_VERB_GET, false },
	{ "gets a b", NS_VERB_GETS, false },
	{ "bget a", NS_VERB_GET, false },
	{ "gat 0 a", NS_VERB_GAT, false },
	{ "gats -1 a b", NS_VERB_GATS, false },
	{ "get a noreply", NS_VERB_GET, false },
	{ "incr a 1", NS_VERB_INCR, false },
	{ "decr a 18446744073709551615 noreply", NS_VERB_DECR, true },
	{ "delete a", NS_VERB_DELETE, false },
	{ "delete a 0", NS_VERB_DELETE, false },
	{ "delete a noreply", NS_VERB_DELETE, true },
	{ "delete a 0 noreply", NS_VERB_DELETE, true },
	{ "delete noreply", NS_VERB_DELETE, false },
	{ "touch a 0", NS_VERB_TOUCH, false },
	{ "touch a 10 noreply", NS_VERB_TOUCH, true },
	{ "flush_all", NS_VERB_FLUSH_ALL, false },
	{ "flush_all noreply", NS_VERB_FLUSH_ALL, true },
	{ "flush_all 10", NS_VERB_FLUSH_ALL, false },
	{ "flush_all -1 noreply", NS_VERB_FLUSH_ALL, true },
	{ "verbosity 1", NS_VERB_VERBOSITY, false },
	{ "verbosity 1 noreply", NS_VERB_VERBOSITY, true },
	{ "version", NS_VERB_VERSION, false },
	{ "version please", NS_VERB_VERSION, false },
	{ "quit", NS_VERB_QUIT, false },
	{ "stats", NS_VERB_STATS, false },
	{ "stats settings", NS_VERB_STATS, false },
	{ "shutdown graceful", NS_VERB_SHUTDOWN, false },
	{ "cache_memlimit 64", NS_VERB_CACHE_MEMLIMIT, false },
	{ "place a=local", NS_VERB_PLACE, false },
	{ "mn", NS_VERB_MN, false },
	{ "me a", NS_VERB_ME, false },
	{ "get \xc3\xa4", NS_VERB_GET, false },
};

static void other_commands_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		struct ns_command command = parsed_text(plain[i].line);

		assert_text(command.error, NULL);
		assert_number(command.verb, plain[i].verb);
		assert_number(command.is_quiet, plain[i].is_quiet);
		assert_number(command.has_value, false);
	}
}

static void the_longest_key_is_taken(void **state)
{
	struct ns_command command = parsed_text("delete " KEY250);

	(void)state;
	assert_text(command.error, NULL);
	assert_key(&command, KEY250);
}

/* ---- what is wrong ---- */

/* has_value: we stay in step by swallowing. ends: nobody knows what follows. */
static const struct {
	const char *line;
	const char *error;
	bool has_value;
	bool ends;
} wrong[] = {
	{ "", "ERROR", false, false },
	{ "   ", "ERROR", false, false },
	{ "zzz", "ERROR", false, false },
	{ "GET a", "ERROR", false, false },
	{ "get", "ERROR", false, false },
	{ "gets ", "ERROR", false, false },
	{ "gat", "ERROR", false, false },
	{ "gat 0", "ERROR", false, false },
	{ "gat x k", EXPTIME, false, false },
	{ "gats 9223372036854775808 k", EXPTIME, false, false },
	{ "get\tk", "ERROR", false, false },
	{ "get k\tv", FORMAT, false, false },
	{ "get k\r", FORMAT, false, false },
	{ "get a\x01z", FORMAT, false, false },
	{ "get a\x7fz", FORMAT, false, false },
	{ "mn\r", "ERROR", false, false },
	{ "set", "ERROR", false, false },
	{ "set k 0 0", "ERROR", false, false },
	{ "set k 0 0 3 noreply x", "ERROR", false, false },
	{ "set " KEY250 "k 0 0 3", FORMAT, true, false },
	{ "set a\x01z 0 0 3", FORMAT, true, false },
	{ "set a\rz 0 0 3", FORMAT, true, false },
	{ "set k -1 0 3", FORMAT, true, false },
	{ "set k 4294967296 0 3", FORMAT, true, false },
	{ "set k x 0 3", FORMAT, true, false },
	{ "set k 0 x 3", FORMAT, true, false },
	{ "set k 0 9223372036854775808 3", FORMAT, true, false },
	{ "set k 0 0 -1", FORMAT, false, false },
	{ "set k 0 0 +1", FORMAT, false, false },
	{ "set k 0 0 abc", FORMAT, false, false },
	{ "set k 0 0 5x", FORMAT, false, false },
	{ "set k 0 0 0x5", FORMAT, false, false },
	{ "set k 0 0 2147483645", FORMAT, false, true },
	{ "set k 0 0 2147483647", FORMAT, false, true },
	{ "set k 0 0 4294967296", FORMAT, false, true },
	{ "set k 0 0 4294967297", FORMAT, false, true },
	{ "set k 0 0 18446744073709551617", FORMAT, false, true },
	{ "cas k 0 0 3", "ERROR", false, false },
	{ "cas k 0 0 3 x", FORMAT, true, false },
	{ "cas k 0 0 3 -1", FORMAT, true, false },
	{ "cas k 0 0 3 18446744073709551616", FORMAT, true, false },
	{ "incr k", "ERROR", false, false },
	{ "incr k x", DELTA, false, false },
	{ "incr k -1", DELTA, false, false },
	{ "incr k 18446744073709551616", DELTA, false, false },
	{ "incr " KEY250 "k 1", FORMAT, false, false },
	{ "incr k 1 2 3", "ERROR", false, false },
	{ "delete", "ERROR", false, false },
	{ "delete k 5", USAGE, false, false },
	{ "delete k 0 foo", USAGE, false, false },
	{ "delete k foo noreply", USAGE, false, false },
	{ "delete k 1 2 3", "ERROR", false, false },
	{ "delete " KEY250 "k", FORMAT, false, false },
	{ "touch k", "ERROR", false, false },
	{ "touch k x", EXPTIME, false, false },
	{ "touch k 1 noreply x", "ERROR", false, false },
	{ "flush_all x", EXPTIME, false, false },
	{ "flush_all 1 2 3", "ERROR", false, false },
	{ "verbosity", "ERROR", false, false },
	{ "verbosity x", FORMAT, false, false },
	{ "verbosity noreply", FORMAT, false, false },
	{ "verbosity 1 2 3", "ERROR", false, false },
	{ "cache_memlimit", "ERROR", false, false },
	{ "cache_memlimit x", "ERROR", false, false },
	{ "place", "ERROR", false, false },
	{ "debugtime 1", "ERROR", false, false },
	{ "misbehave", "ERROR", false, false },
	{ "mg", "ERROR", false, false },
	{ "mg k v v", "CLIENT_ERROR duplicate flag", false, false },
	{ "mg k !", "CLIENT_ERROR invalid flag", false, false },
	{ "mg k \xc3v", "CLIENT_ERROR invalid flag", false, false },
	{ "mg k W", "CLIENT_ERROR invalid flag", false, false },
	{ "mg k [", "CLIENT_ERROR invalid flag", false, false },
	{ "mg k O123456789012345678901234567890123", "CLIENT_ERROR opaque token too long", false,
	  false },
	{ "mg k v b", "CLIENT_ERROR error decoding key", false, false },
	{ "mg a2V5= b", "CLIENT_ERROR error decoding key", false, false },
	{ "mg ==== b", "CLIENT_ERROR error decoding key", false, false },
	{ "mg a2V= b", "CLIENT_ERROR error decoding key", false, false },
	{ "mg a=V5 b", "CLIENT_ERROR error decoding key", false, false },
	{ "mg k N", TOKEN, false, false },
	{ "mg k Tx", TOKEN, false, false },
	{ "mg k C-1", TOKEN, false, false },
	{ "mg k a b c d e f g h i j k l m n o p q r s t u",
	  "CLIENT_ERROR options flags are too long", false, false },
	{ "mg " KEY250 "k v", FORMAT, false, false },
	{ "ms", "ERROR", false, false },
	{ "ms k", FORMAT, false, false },
	{ "ms k S3", FORMAT, false, false },
	{ "ms k -1", FORMAT, false, false },
	{ "ms k abc", FORMAT, false, false },
	{ "ms k 4294967297", FORMAT, false, true },
	{ "ms " KEY250 "k 3", FORMAT, true, false },
	{ "ms k 3 M", "CLIENT_ERROR incorrect length for M token", true, false },
	{ "ms k 3 MEADD", "CLIENT_ERROR incorrect length for M token", true, false },
	{ "ms k 3 F4294967296", FORMAT, true, false },
	{ "ms k 3 F-1", FORMAT, true, false },
	{ "ms k 3 b", "CLIENT_ERROR error decoding key", true, false },
	{ "ms k 3 T", TOKEN, true, false },
	{ "ms k 3 q q", "CLIENT_ERROR duplicate flag", true, false },
	{ "md k !", ONE_FOR_ALL, false, false },
	{ "md k q q", ONE_FOR_ALL, false, false },
	{ "md k Cx", ONE_FOR_ALL, false, false },
	{ "md k O123456789012345678901234567890123", "CLIENT_ERROR opaque token too long", false,
	  false },
	{ "ma k Dx", ONE_FOR_ALL, false, false },
	{ "ma k D", ONE_FOR_ALL, false, false },
	{ "ma k J-1", ONE_FOR_ALL, false, false },
	{ "ma k Mincr", ONE_FOR_ALL, false, false },
	{ "me", FORMAT, false, false },
	{ "me " KEY250 "k", FORMAT, false, false },
};

static void what_is_wrong_is_named_and_the_step_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct ns_command command = parsed_text(wrong[i].line);

		/* Keys of get are looked at one by one, by whoever answers them. */
		if (command.verb != NS_VERB_GET || command.error != NULL)
			assert_text(command.error, wrong[i].error);
		assert_number(command.has_value, wrong[i].has_value);
		assert_number(command.ends_connection, wrong[i].ends);
	}
}

static void a_nul_ends_no_word(void **state)
{
	static const char get[] = "get a\0b";
	static const char set[] = "set a\0b 0 0 3";
	struct ns_command command;

	(void)state;
	command = parsed(get, sizeof(get) - 1);
	assert_text(command.error, FORMAT);
	command = parsed(set, sizeof(set) - 1);
	assert_text(command.error, FORMAT);
	assert_number(command.has_value, true);
	assert_number(command.value_bytes, 3);
}

static void noreply_is_known_with_an_error_too(void **state)
{
	(void)state;
	assert_number(parsed_text("set a 0 0 abc noreply").is_quiet, true);
	assert_number(parsed_text("incr a x noreply").is_quiet, true);
	assert_number(parsed_text("delete a foo noreply").is_quiet, true);
	assert_number(parsed_text("set a 0 0 noreply").is_quiet, true);
	assert_number(parsed_text("incr a noreply").is_quiet, true);
	assert_number(parsed_text("touch a noreply").is_quiet, true);
	assert_number(parsed_text("set a 0 0 3 noreply x").is_quiet, false);
}

static void other_protocols_end_the_connection(void **state)
{
	static const char *const lines[] = {
		"GET / HTTP/1.0", "POST /a HTTP/1.1", "DELETE /a HTTP/1.1", "M-SEARCH * HTTP/1.1",
		"\x80",           "\x80\x01 a b",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_number(parsed_text(lines[i]).verb, NS_VERB_QUIT);
	assert_number(parsed_text("PUT a").verb, NS_VERB_UNKNOWN);
	assert_number(parsed_text("get HTTP/1.0").verb, NS_VERB_GET);
}

/* ---- meta ---- */

static void meta_flags_and_their_arguments_are_read(void **state)
{
	struct ns_command command = parsed_text("ms k 7 c T30 F5 C9 E11 MA I q k Oabc N60 s");

	(void)state;
	assert_text(command.error, NULL);
	assert_number(command.value_bytes, 7);
	assert_number(command.has_exptime, true);
	assert_number(command.exptime, 30);
	assert_number(command.flags, 5);
	assert_number(command.has_cas, true);
	assert_number(command.cas, 9);
	assert_number(command.set_cas, 11);
	assert_number(command.mode, 'A');
	assert_number(command.vivify_exptime, 60);
	assert_number(command.is_quiet, true);
	assert_number(command.meta_count, 12);
	assert_memory_equal(command.meta, "cTFCEMIqkONs", 12);
	assert_number(command.opaque_len, 3);
	assert_memory_equal(command.opaque, "abc", 3);
	assert_number(ns_command_has(&command, 'I'), true);
	assert_number(ns_command_has(&command, 'v'), false);
}

static void ma_begins_with_one_and_zero(void **state)
{
	struct ns_command command = parsed_text("ma k");

	(void)state;
	assert_number(command.delta, 1);
	assert_number(command.initial, 0);
	command = parsed_text("ma k D5 J18446744073709551615 N0 M-");
	assert_text(command.error, NULL);
	assert_number(command.delta, 5);
	assert_true(command.initial == UINT64_MAX);
	assert_number(command.mode, '-');
}

static void an_opaque_of_32_bytes_is_taken(void **state)
{
	struct ns_command command = parsed_text("mg k O12345678901234567890123456789012");

	(void)state;
	assert_text(command.error, NULL);
	assert_number(command.opaque_len, 32);
}

static void a_key_in_base64_is_decoded(void **state)
{
	struct ns_command command = parsed_text("mg AAEgfw== v b");

	(void)state;
	assert_text(command.error, NULL);
	assert_number(command.is_binary_key, true);
	assert_number(command.key_len, 4);
	assert_memory_equal(command.key, "\0\1 \x7f", 4);
}

static void base64_goes_there_and_back(void **state)
{
	char bytes[NS_KEY_MAX];
	char text[NS_BASE64_LEN(NS_KEY_MAX)];
	char back[NS_KEY_MAX];

	(void)state;
	for (size_t len = 1; len <= sizeof(bytes); len++) {
		struct ns_span span = { text, 0 };

		check_case("%zu bytes", len);
		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)(i * 7 + len * 13);
		span.len = ns_base64_encode(bytes, len, text);
		assert_number(span.len, NS_BASE64_LEN(len));
		assert_number(ns_base64_decode(span, back, sizeof(back)), len);
		assert_memory_equal(back, bytes, len);
		assert_number(ns_base64_decode(span, back, len - 1), -1);
	}
}

/* ---- rules of placing ---- */

static const struct {
	const char *text;
	long prefix_len; /* -1 = it is none */
	enum ns_place place;
	unsigned node;
} rules[] = {
	{ "a=local", 1, NS_PLACE_LOCAL, 0 },
	{ "=far", 0, NS_PLACE_FAR, 0 },
	{ "a=b=node:12", 3, NS_PLACE_NODE, 12 },
	{ "local", -1, NS_PLACE_LOCAL, 0 },
	{ "a=", -1, NS_PLACE_LOCAL, 0 },
	{ "a=nearby", -1, NS_PLACE_LOCAL, 0 },
	{ "a=node:", -1, NS_PLACE_LOCAL, 0 },
	{ "a=node:x", -1, NS_PLACE_LOCAL, 0 },
	{ "a=node:4294967296", -1, NS_PLACE_LOCAL, 0 },
	{ KEY250 "k=local", -1, NS_PLACE_LOCAL, 0 },
};

static void rules_of_placing_are_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct ns_span span = { rules[i].text, strlen(rules[i].text) };
		struct ns_place_rule rule = { 0 };
		size_t len = 0;

		check_case("'%s'", rules[i].text);
		assert_number(ns_span_place(span, &rule, &len), rules[i].prefix_len >= 0);
		if (rules[i].prefix_len < 0)
			continue;
		assert_number(len, rules[i].prefix_len);
		assert_number(rule.place, rules[i].place);
		assert_number(rule.node, rules[i].node);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(storage_commands_are_read),
		cmocka_unit_test(other_commands_are_read),
		cmocka_unit_test(the_longest_key_is_taken),
		cmocka_unit_test(what_is_wrong_is_named_and_the_step_is_kept),
		cmocka_unit_test(a_nul_ends_no_word),
		cmocka_unit_test(noreply_is_known_with_an_error_too),
		cmocka_unit_test(other_protocols_end_the_connection),
		cmocka_unit_test(meta_flags_and_their_arguments_are_read),
		cmocka_unit_test(ma_begins_with_one_and_zero),
		cmocka_unit_test(an_opaque_of_32_bytes_is_taken),
		cmocka_unit_test(a_key_in_base64_is_decoded),
		cmocka_unit_test(base64_goes_there_and_back),
		cmocka_unit_test(rules_of_placing_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
