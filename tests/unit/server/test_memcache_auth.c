/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"
#include "protocol/memcache.h"

static const char file[] = "user:pass\nother:p:w\r\n:nobody\nno colon\nempty:\nlast:one";

static const struct {
	const char *user;
	const char *password;
	bool is_known;
} pairs[] = {
	{ "user", "pass", true }, { "other", "p:w", true },   { "last", "one", true },
	{ "user", "pas", false }, { "user", "passw", false }, { "user", "p:w", false },
	{ "use", "pass", false }, { "user:", "pass", false }, { "nobody", "nobody", false },
	{ "no", "colon", false }, { "last", "on", false },    { "empty", "x", false },
};

static void only_whole_pairs_of_the_file_are_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct ns_span user = { pairs[i].user, strlen(pairs[i].user) };
		struct ns_span password = { pairs[i].password, strlen(pairs[i].password) };

		check_case("%s %s", pairs[i].user, pairs[i].password);
		assert_number(ns_memcache_knows(file, user, password), pairs[i].is_known);
		assert_number(ns_memcache_knows("", user, password), false);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_whole_pairs_of_the_file_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
