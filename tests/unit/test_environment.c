/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <numarun/environment.h>
#include <stdlib.h>
#include <string.h>

static struct np_device eth0 = { .name = (char[]){ "eth0" } };

/* The value of @name in @environment, NULL when it is not there; more than once fails the test. */
static const char *value_of(char *const environment[], const char *name)
{
	size_t len = strlen(name);
	const char *value = NULL;

	for (char *const *e = environment; *e; e++) {
		if (strncmp(*e, name, len) != 0 || (*e)[len] != '=')
			continue;
		if (value)
			fail_msg("%s stands there twice", name);
		value = *e + len + 1;
	}
	return value;
}

static size_t count(char *const environment[])
{
	size_t n = 0;

	while (environment[n])
		n++;
	return n;
}

static void a_program_finds_its_placement_in_its_environment(void **state)
{
	char *outer[] = { (char[]){ "HOME=/root" }, (char[]){ "PATH=/bin" }, NULL };
	struct nr_plan plan = { .cpus = set_of("20-23"),
		                .nodes = set_of("10-11"),
		                .policy = { .mode = NR_POLICY_BIND, .nodes = set_of("2") },
		                .near = &eth0 };
	char **inner = nr_environment_make(&plan, NULL, NULL, outer);

	(void)state;
	assert_non_null(inner);
	assert_text(value_of(inner, "NUMARUN_CPUS"), "20-23");
	assert_text(value_of(inner, "NUMARUN_NODES"), "10-11");
	assert_text(value_of(inner, "NUMARUN_MEM"), "bind:2");
	assert_text(value_of(inner, "NUMARUN_NEAR"), "eth0");
	assert_text(value_of(inner, "HOME"), "/root");
	assert_text(value_of(inner, "PATH"), "/bin");
	assert_number(count(inner), 6);
	free(inner);
	np_bitmap_release(&plan.cpus);
	np_bitmap_release(&plan.nodes);
	nr_policy_release(&plan.policy);
}

static void a_nested_run_does_not_show_its_parents_placement(void **state)
{
	char *outer[] = { (char[]){ "NUMARUN_NEAR=eth9" },
		          (char[]){ "A=1" },
		          (char[]){ "NUMARUN_CPUS=0-127" },
		          (char[]){ "NUMARUN_ROLE=sender" },
		          (char[]){ "NUMARUN_=x" },
		          (char[]){ "NUMARUN_FUTURE=1" },
		          (char[]){ "NUMARUN=kept" },
		          (char[]){ "XNUMARUN_CPUS=kept" },
		          (char[]){ "B=2" },
		          NULL };
	struct nr_plan plan = { .cpus = set_of("3") };
	char **inner = nr_environment_make(&plan, NULL, NULL, outer);

	(void)state;
	assert_non_null(inner);
	assert_text(value_of(inner, "NUMARUN_CPUS"), "3");
	assert_text(value_of(inner, "NUMARUN_NODES"), "");
	assert_text(value_of(inner, "NUMARUN_MEM"), "inherited");
	assert_text(value_of(inner, "NUMARUN_NEAR"), NULL);
	assert_text(value_of(inner, "NUMARUN_ROLE"), NULL);
	assert_text(value_of(inner, "NUMARUN_FUTURE"), NULL);
	assert_text(value_of(inner, "NUMARUN_"), NULL);
	assert_text(value_of(inner, "NUMARUN"), "kept");
	assert_text(value_of(inner, "XNUMARUN_CPUS"), "kept");
	/* What is not ours keeps its order. */
	assert_text(inner[0], "A=1");
	assert_text(inner[3], "B=2");
	assert_number(count(inner), 7);
	free(inner);
	np_bitmap_release(&plan.cpus);
}

static void an_empty_environment_gets_ours(void **state)
{
	char *outer[] = { NULL };
	struct nr_plan plan = { 0 };
	char **inner = nr_environment_make(&plan, NULL, NULL, outer);

	(void)state;
	assert_non_null(inner);
	assert_text(value_of(inner, "NUMARUN_CPUS"), "");
	assert_number(count(inner), 3);
	free(inner);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_finds_its_placement_in_its_environment),
		cmocka_unit_test(a_nested_run_does_not_show_its_parents_placement),
		cmocka_unit_test(an_empty_environment_gets_ours),
	};

	return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
