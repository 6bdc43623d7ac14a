/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <numarun/policy.h>
#include <stdlib.h>

static const struct {
	enum nr_policy_mode mode;
	bool balancing;
	const char *nodes;
	const char *text;
} cases[] = {
	{ NR_POLICY_KEEP, false, "", "inherited" },
	{ NR_POLICY_DEFAULT, false, "", "default" },
	{ NR_POLICY_LOCAL, false, "", "local" },
	{ NR_POLICY_PREFERRED, false, "2", "preferred:2" },
	{ NR_POLICY_PREFERRED_MANY, false, "0,2-3", "preferred-many:0,2-3" },
	{ NR_POLICY_BIND, false, "2", "bind:2" },
	{ NR_POLICY_BIND, true, "0-1", "bind:0-1 (balancing)" },
	{ NR_POLICY_INTERLEAVE, false, "0-7", "interleave:0-7" },
	{ NR_POLICY_WEIGHTED, false, "0,8", "weighted-interleave:0,8" },
};

static void a_policy_is_printed_with_its_nodes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nr_policy policy = { .mode = cases[i].mode,
			                    .balancing = cases[i].balancing,
			                    .nodes = set_of(cases[i].nodes) };
		char *text = nr_policy_print(&policy);

		assert_text(text, cases[i].text);
		free(text);
		nr_policy_release(&policy);
		assert_number(policy.mode, NR_POLICY_KEEP);
	}
}

static void keeping_the_policy_asks_the_kernel_nothing(void **state)
{
	static const struct nr_policy keep = { .mode = NR_POLICY_KEEP };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nr_policy_set(&keep, &err), &err);
}

/* Reads the policy, or skips the test where this host refuses to tell it. */
static struct nr_policy read_policy(void)
{
	struct nr_policy policy = { 0 };
	struct np_error err = { 0 };
	int rc = nr_policy_get(&policy, &err);

	if (rc == -EPERM || rc == -ENOSYS) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	assert_np_ok(rc, &err);
	return policy;
}

static void what_is_set_is_read_back(void **state)
{
	static const enum nr_policy_mode modes[] = { NR_POLICY_BIND, NR_POLICY_PREFERRED,
		                                     NR_POLICY_INTERLEAVE, NR_POLICY_LOCAL,
		                                     NR_POLICY_DEFAULT };
	struct nr_policy before = read_policy();

	(void)state;
	nr_policy_release(&before);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		bool has_nodes = modes[i] != NR_POLICY_LOCAL && modes[i] != NR_POLICY_DEFAULT;
		struct nr_policy wanted = { .mode = modes[i],
			                    .nodes = set_of(has_nodes ? "0" : "") };
		struct nr_policy got;
		struct np_error err = { 0 };
		int rc = nr_policy_set(&wanted, &err);

		check_case("%s", nr_policy_mode_name(modes[i]));
		if (rc == -EPERM) {
			print_message("skipped: %s\n", err.text);
			nr_policy_release(&wanted);
			skip();
		}
		assert_np_ok(rc, &err);
		got = read_policy();
		assert_text(nr_policy_mode_name(got.mode), nr_policy_mode_name(modes[i]));
		assert_set(&got.nodes, has_nodes ? "0" : "");
		nr_policy_release(&wanted);
		nr_policy_release(&got);
	}
}

static void nodes_that_do_not_exist_are_refused_with_their_names(void **state)
{
	struct nr_policy policy = { .mode = NR_POLICY_BIND, .nodes = set_of("900-901") };
	struct nr_policy before = read_policy();
	struct np_error err = { 0 };
	int rc = nr_policy_set(&policy, &err);

	(void)state;
	nr_policy_release(&policy);
	nr_policy_release(&before);
	if (rc == -EPERM) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	assert_fails(rc, -EINVAL, &err, "bind");
	assert_has(err.text, "900-901");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_policy_is_printed_with_its_nodes),
		cmocka_unit_test(keeping_the_policy_asks_the_kernel_nothing),
		cmocka_unit_test(what_is_set_is_read_back),
		cmocka_unit_test(nodes_that_do_not_exist_are_refused_with_their_names),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
