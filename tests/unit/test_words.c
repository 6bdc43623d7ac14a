/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../launcher/lib/words.h"
#include "../../probe/base/nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 6 };

static const struct {
	const char *text;
	const char *words[WORDS_MAX];
} good[] = {
	{ "", { NULL } },
	{ " \t\n ", { NULL } },
	{ "memcached -t 4", { "memcached", "-t", "4" } },
	{ "  a\tb\nc  ", { "a", "b", "c" } },
	{ "'a b' \"c d\"", { "a b", "c d" } },
	{ "'' \"\"", { "", "" } },
	{ "a''b", { "ab" } },
	{ "a'b 'c\" d\"", { "ab c d" } },
	{ "a\\ b", { "a b" } },
	{ "\\'a", { "'a" } },
	{ "'a\\'", { "a\\" } },
	{ "\"a\\\"b\\\\c\\$d\\`e\"", { "a\"b\\c$d`e" } },
	{ "\"a\\b \\'\"", { "a\\b \\'" } },
	{ "sh -c 'a ; b | c & (d) > e < f'", { "sh", "-c", "a ; b | c & (d) > e < f" } },
	{ "\\| \"&\" ';'", { "|", "&", ";" } },
	/* Nothing is expanded. */
	{ "$HOME ${X} `id` *.c ?", { "$HOME", "${X}", "`id`", "*.c", "?" } },
	{ "~ {a,b} [c] !d a=b", { "~", "{a,b}", "[c]", "!d", "a=b" } },
	{ "a#b '#' \\#", { "a#b", "#", "#" } },
	{ "\xc3\xa9 \x01", { "\xc3\xa9", "\x01" } },
};

static void words_are_quoted_as_for_a_shell(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct np_error err = { 0 };
		char **words = NULL;
		int count;
		int k = 0;

		check_case("'%s'", good[i].text);
		count = nr_words_split(good[i].text, &words, &err);
		assert_np_ok(count, &err);
		for (; good[i].words[k]; k++)
			assert_text(words[k], good[i].words[k]);
		assert_null(words[k]);
		assert_number(count, k);
		free(words);
	}
}

static const struct {
	const char *text;
	const char *why;
} bad[] = {
	{ "a | b", "an unquoted '|': no shell runs this; quote it where it is meant, or run "
	           "sh -c '...'" },
	{ "a|b", "'|'" },
	{ "a && b", "'&'" },
	{ "a ; b",
	  "an unquoted ';': no shell runs this, and a comment stands on a line of its own" },
	{ "a > b", "'>'" },
	{ "a 2>b", "'>'" },
	{ "a < b", "'<'" },
	{ "(a)", "'('" },
	{ "a )", "')'" },
	{ "a # b",
	  "a word that begins with an unquoted '#': a comment stands on a line of its own" },
	{ "'a", "the quote ' is not closed" },
	{ "a \"b c", "the quote \" is not closed" },
	{ "'a\\'b'", "the quote ' is not closed" },
	{ "a\\", "ends in a backslash" },
	{ "\"a\\", "ends in a backslash" },
};

static void what_only_a_shell_understands_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct np_error err = { 0 };
		char **words = NULL;

		check_case("'%s'", bad[i].text);
		assert_fails(nr_words_split(bad[i].text, &words, &err), -EINVAL, &err, bad[i].why);
		assert_null(words);
	}
}

/* Cut anywhere, a text is scanned in two steps as in one. */
static void quoting_goes_on_in_the_next_piece(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		const char *text = good[i].text;

		for (size_t cut = 0; cut <= strlen(text); cut++) {
			struct nr_quoting quoting = { 0 };
			struct np_error err = { 0 };
			char *head = strndup(text, cut);

			check_case("'%s' cut at %zu", text, cut);
			assert_np_ok(nr_words_scan(head, &quoting, &err), &err);
			assert_np_ok(nr_words_scan(text + cut, &quoting, &err), &err);
			assert_false(nr_quoting_is_open(&quoting));
			free(head);
		}
	}
}

static const struct {
	const char *typed;
	const char *nearest; /* NULL = none */
} typed[] = {
	{ "command", "command" },
	{ "kommand", "command" },
	{ "Command", "command" },
	{ "cmd", NULL },
	{ "cuont", "count" },
	{ "cores", NULL },
	{ "counts", "count" },
	{ "inst", NULL },
	{ "neer", "near" },
	{ "x", NULL },
	{ "", NULL },
	{ "ff", "if" },
	{ "commandcommandcommandcommandcommandcommandcommandcommandcommandcommandcommand", NULL },
};

static void the_nearest_name_is_found_where_it_can_be_meant(void **state)
{
	static const char *const names[] = { "near", "command", "count", "instances", "if" };

	(void)state;
	for (size_t i = 0; i < sizeof(typed) / sizeof(typed[0]); i++) {
		check_case("'%s'", typed[i].typed);
		assert_text(np_nearest_name(typed[i].typed, names, 5), typed[i].nearest);
	}
	assert_null(np_nearest_name("near", NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_quoted_as_for_a_shell),
		cmocka_unit_test(what_only_a_shell_understands_is_refused),
		cmocka_unit_test(quoting_goes_on_in_the_next_piece),
		cmocka_unit_test(the_nearest_name_is_found_where_it_can_be_meant),
	};

	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
