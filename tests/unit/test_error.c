/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <string.h>

static void an_error_carries_its_code_and_its_text(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	assert_fails(np_error_set(&err, EINVAL, "%s: '%d'", "file", 7), -EINVAL, &err, "file: '7'");
}

static void a_system_error_says_what_the_code_means(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	assert_fails(np_error_sys(&err, ENOENT, "%s", "file"), -ENOENT, &err,
	             "file: No such file or directory");
}

static void an_unknown_code_still_makes_a_sentence(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	assert_fails(np_error_sys(&err, 100000, "file"), -100000, &err, "file: unknown error");
}

static void nobody_need_listen(void **state)
{
	(void)state;
	assert_number(np_error_set(NULL, EINVAL, "x"), -EINVAL);
	assert_number(np_error_sys(NULL, ENOENT, "x"), -ENOENT);
	assert_number(np_error_wrap(NULL, -EPERM, "x"), -EPERM);
}

static void context_is_put_in_front(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	np_error_set(&err, EINVAL, "'x' is no number");
	assert_fails(np_error_wrap(&err, -EINVAL, "%s/%s", "sys", "file"), -EINVAL, &err,
	             "sys/file: 'x' is no number");
}

/* A text of @len times 'a'; it lives until the next call. */
static const char *long_text(size_t len)
{
	static char text[2 * NP_ERROR_TEXT_SIZE];

	memset(text, 'a', len);
	text[len] = '\0';
	return text;
}

static void assert_is_cut(const struct np_error *err)
{
	size_t len = strlen(err->text);

	assert_number(len, NP_ERROR_TEXT_SIZE - 1);
	assert_text(err->text + len - 3, "...");
}

static void a_text_that_just_fits_is_not_marked(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	np_error_set(&err, EINVAL, "%s", long_text(NP_ERROR_TEXT_SIZE - 1));
	assert_text(err.text, long_text(NP_ERROR_TEXT_SIZE - 1));
}

static void a_text_that_was_cut_does_not_look_whole(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	np_error_set(&err, EINVAL, "%s", long_text(NP_ERROR_TEXT_SIZE));
	assert_is_cut(&err);
	np_error_set(&err, EINVAL, "%s", long_text(NP_ERROR_TEXT_SIZE + 400));
	assert_is_cut(&err);
}

static void a_reason_that_was_cut_does_not_look_whole(void **state)
{
	(void)state;
	/* The reason is cut, does not begin, or begins just where the text ends. */
	for (size_t len = NP_ERROR_TEXT_SIZE - 20; len < NP_ERROR_TEXT_SIZE + 4; len++) {
		struct np_error err = { 0 };

		np_error_sys(&err, ENOENT, "%s", long_text(len));
		assert_is_cut(&err);
	}
}

static void a_wrapped_text_that_was_cut_does_not_look_whole(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	np_error_set(&err, EINVAL, "%s", long_text(NP_ERROR_TEXT_SIZE - 10));
	np_error_wrap(&err, -EINVAL, "a context of more than ten bytes");
	assert_is_cut(&err);
	assert_has(err.text, "a context of more than ten bytes: aaaa");

	np_error_set(&err, EINVAL, "inner");
	np_error_wrap(&err, -EINVAL, "%s", long_text(NP_ERROR_TEXT_SIZE + 40));
	assert_is_cut(&err);
}

static const struct {
	const char *text;
	const char *quoted;
} quotes[] = {
	{ "", "" },
	{ "plain text", "plain text" },
	{ "a\nb", "a\\x0ab" },
	{ "\t", "\\x09" },
	{ "\033[2J", "\\x1b[2J" },
	{ "\x7f", "\\x7f" },
	{ "gr\xc3\xbcn", "gr\\xc3\\xbcn" },
	{ "\xff\x01", "\\xff\\x01" },
};

static void what_is_quoted_is_safe_on_a_terminal(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(quotes) / sizeof(quotes[0]); i++) {
		char buf[64];

		assert_text(np_error_quote(quotes[i].text, buf, sizeof(buf)), quotes[i].quoted);
	}
}

static void a_quote_that_does_not_fit_ends_in_dots(void **state)
{
	(void)state;
	/* Whatever the room, it is not overrun, also when an escape stands at its end. */
	for (unsigned size = 8; size <= 40; size++) {
		char buf[64];

		memset(buf, '#', sizeof(buf));
		np_error_quote("aaaaaaa\n\n\n\n\n\n\n\n\n\n\n\n", buf, size);
		assert_true(strlen(buf) < size);
		assert_has(buf, "...");
		assert_number(buf[size], '#');
	}
}

static void a_quote_that_fits_is_whole(void **state)
{
	char buf[16];

	(void)state;
	assert_text(np_error_quote("fifteen letters", buf, sizeof(buf)), "fifteen letters");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_carries_its_code_and_its_text),
		cmocka_unit_test(a_system_error_says_what_the_code_means),
		cmocka_unit_test(an_unknown_code_still_makes_a_sentence),
		cmocka_unit_test(nobody_need_listen),
		cmocka_unit_test(context_is_put_in_front),
		cmocka_unit_test(a_text_that_just_fits_is_not_marked),
		cmocka_unit_test(a_text_that_was_cut_does_not_look_whole),
		cmocka_unit_test(a_reason_that_was_cut_does_not_look_whole),
		cmocka_unit_test(a_wrapped_text_that_was_cut_does_not_look_whole),
		cmocka_unit_test(what_is_quoted_is_safe_on_a_terminal),
		cmocka_unit_test(a_quote_that_does_not_fit_ends_in_dots),
		cmocka_unit_test(a_quote_that_fits_is_whole),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
