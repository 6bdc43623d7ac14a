/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../server/client/arms.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static char host[] = "127.0.0.1";
static char port[] = "11211";

static const struct nl_target target = { .protocol = NL_MEMCACHE,
	                                 .prefix = "own-",
	                                 .keys = 120,
	                                 .server = { .host = host, .port = port } };

/* "name prefix host port, ..." */
static void print_arms(const struct nl_arms *arms, char *buf, size_t size)
{
	*buf = '\0';
	for (unsigned i = 0; i < arms->count; i++) {
		const struct nl_arm *arm = &arms->arms[i];
		size_t used = strlen(buf);

		snprintf(buf + used, size - used, "%s%s %s %s %s", i > 0 ? ", " : "", arm->name,
		         arm->prefix, arm->server.host, arm->server.port ? arm->server.port : "-");
	}
}

static void arms_are_names_prefixes_and_servers(void **state)
{
	static const struct {
		const char *text;
		const char *arms;
	} cases[] = {
		{ "local=l-", "local l- 127.0.0.1 11211" },
		{ "local=l-,far=f-", "local l- 127.0.0.1 11211, far f- 127.0.0.1 11211" },
		{ "a=x-@127.0.0.1:7001,b=x-@h:7002", "a x- 127.0.0.1 7001, b x- h 7002" },
		{ "a=u@x-@unix:/run/m", "a u@x- /run/m -" },
		{ "a=p=q", "a p=q 127.0.0.1 11211" },
		{ "a=x@[::1]:7001", "a x ::1 7001" },
		{ "A-z_0.9=x", "A-z_0.9 x 127.0.0.1 11211" },
		/* 120 keys: x120 is none of x's, and numbers do not begin with 0. */
		{ "a=x,b=x12", "a x 127.0.0.1 11211, b x12 127.0.0.1 11211" },
		{ "a=x,b=x0", "a x 127.0.0.1 11211, b x0 127.0.0.1 11211" },
		{ "a=x,b=x1-", "a x 127.0.0.1 11211, b x1- 127.0.0.1 11211" },
		{ "a=x,b=x1@h", "a x 127.0.0.1 11211, b x1 h 11211" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_arms arms = { 0 };
		struct np_error err = { 0 };
		char text[256];
		int rc = nl_arms_parse(cases[i].text, &target, &arms, &err);

		check_case("%s", cases[i].text);
		assert_np_ok(rc, &err);
		print_arms(&arms, text, sizeof(text));
		assert_text(text, cases[i].arms);
		nl_arms_release(&arms);
		assert_number(arms.count, 0);
	}
}

static void what_is_no_arm_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *part;
	} cases[] = {
		{ "", "'' is not NAME=PREFIX[@SERVER]" },
		{ "local", "'local' is not NAME=PREFIX[@SERVER]" },
		{ "a=x,", "'' is not NAME=PREFIX[@SERVER]" },
		{ "=x", "'' is no name of an arm" },
		{ "a b=x", "'a b' is no name of an arm" },
		{ "a/b=x", "'a/b' is no name of an arm" },
		{ "a\n=x", "'a\\x0a' is no name of an arm" },
		{ "0123456789012345678901234567890123456789012345678901234567890123=x",
		  "is no name of an arm: 1 to 63" },
		{ "a=x y", "--arms: " },
		{ "a=x@h:0", "--arms: " },
		{ "a=x,a=y", "there are two named 'a'" },
		{ "a=x,b=x", "'a' and 'b' ask for the same objects: 'x' at 127.0.0.1:11211" },
		{ "a=x,b=x1", "'a' and 'b' ask for the same objects: 'x1' at 127.0.0.1:11211" },
		{ "a=x11,b=x", "'a' and 'b' ask for the same objects" },
		{ "a=x,b=x@127.0.0.1:11211", "'a' and 'b' ask for the same objects" },
		{ "a=x@unix:/s,b=x@unix:/s", "ask for the same objects: 'x' at unix:/s" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_arms arms = { 0 };
		struct np_error err = { 0 };
		int rc = nl_arms_parse(cases[i].text, &target, &arms, &err);

		check_case("%s", cases[i].text);
		assert_fails(rc, -EINVAL, &err, cases[i].part);
		nl_arms_release(&arms);
	}
}

static void several_texts_add_up_and_are_distinct(void **state)
{
	struct nl_arms arms = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nl_arms_parse("a=x", &target, &arms, &err), &err);
	assert_np_ok(nl_arms_parse("b=x@127.0.0.1:7001,c=y", &target, &arms, &err), &err);
	assert_number(arms.count, 3);
	assert_fails(nl_arms_parse("b=z", &target, &arms, &err), -EINVAL, &err, "two named 'b'");
	assert_number(arms.count, 3);
	nl_arms_release(&arms);
}

static void there_are_no_more_arms_than_a_trace_can_have(void **state)
{
	struct nl_arms arms = { 0 };
	struct np_error err = { 0 };
	char text[32];

	(void)state;
	for (unsigned i = 0; i < NL_TRACE_ARMS_MAX; i++) {
		snprintf(text, sizeof(text), "n%u=p%u-", i, i);
		assert_np_ok(nl_arms_parse(text, &target, &arms, &err), &err);
	}
	assert_fails(nl_arms_parse("more=x", &target, &arms, &err), -EINVAL, &err,
	             "more than 64 arms");
	assert_number(arms.count, NL_TRACE_ARMS_MAX);
	nl_arms_release(&arms);
}

static void without_arms_there_is_one_without_a_name(void **state)
{
	struct nl_arms arms = { 0 };
	struct np_error err = { 0 };
	char text[256];

	(void)state;
	assert_np_ok(nl_arms_set_single(&target, &arms, &err), &err);
	print_arms(&arms, text, sizeof(text));
	assert_text(text, " own- 127.0.0.1 11211");
	nl_arms_release(&arms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arms_are_names_prefixes_and_servers),
		cmocka_unit_test(what_is_no_arm_is_refused),
		cmocka_unit_test(several_texts_add_up_and_are_distinct),
		cmocka_unit_test(there_are_no_more_arms_than_a_trace_can_have),
		cmocka_unit_test(without_arms_there_is_one_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
