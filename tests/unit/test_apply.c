/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On this host, whatever it is. Every test gives the process its old affinity and policy back.
 */
#include "check.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/apply.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

/* A CPU that hosts of our time do not have; the tests that need it skip where there is one. */
enum { ABSENT_CPU = 900 };

static struct np_bitmap inherited;

static int remember(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	np_bitmap_release(&inherited);
	assert_np_ok(nr_affinity_get(&inherited, &err), &err);
	return 0;
}

static int put_back(void **state)
{
	static const struct nr_policy standard = { .mode = NR_POLICY_DEFAULT };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nr_affinity_set(&inherited, &err), &err);
	nr_policy_set(&standard, NULL);
	np_bitmap_release(&inherited);
	return 0;
}

/* Fails unless the affinity is what it was before. */
static void assert_inherited(void)
{
	struct np_bitmap now = { 0 };
	struct np_error err = { 0 };
	char *wanted = np_cpulist_print(&inherited);

	assert_np_ok(nr_affinity_get(&now, &err), &err);
	assert_non_null(wanted);
	assert_set(&now, wanted);
	free(wanted);
	np_bitmap_release(&now);
}

static void skip_if_there(unsigned index, const struct np_bitmap *set, const char *what)
{
	if (!np_bitmap_has(set, index))
		return;
	print_message("skipped: this host has a %s %u\n", what, index);
	skip();
}

static void the_affinity_is_that_of_the_library(void **state)
{
	cpu_set_t *set = CPU_ALLOC(NP_BITMAP_INDEX_MAX);
	size_t size = CPU_ALLOC_SIZE(NP_BITMAP_INDEX_MAX);

	(void)state;
	assert_non_null(set);
	CPU_ZERO_S(size, set);
	assert_number(sched_getaffinity(0, size, set), 0);
	assert_number(np_bitmap_count(&inherited), CPU_COUNT_S(size, set));
	np_bitmap_for_each (cpu, &inherited)
		assert_true(CPU_ISSET_S(cpu, size, set));
	CPU_FREE(set);
}

static void cpus_are_bound_and_read_back(void **state)
{
	struct nr_plan plan = { .binds_cpus = true };
	struct nr_applied applied = { 0 };
	struct np_bitmap now = { 0 };
	struct np_error err = { 0 };
	unsigned last = np_bitmap_last(&inherited);

	(void)state;
	assert_number(np_bitmap_add(&plan.cpus, last), 0);
	assert_np_ok(nr_apply(&plan, &applied, &err), &err);
	assert_true(np_bitmap_equal(&applied.cpus, &plan.cpus));
	assert_np_ok(nr_affinity_get(&now, &err), &err);
	assert_true(np_bitmap_equal(&now, &plan.cpus));
	nr_applied_release(&applied);
	np_bitmap_release(&plan.cpus);
	np_bitmap_release(&now);
}

static void a_plan_that_binds_nothing_changes_nothing(void **state)
{
	struct nr_plan plan = { 0 };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nr_apply(&plan, &applied, &err), &err);
	assert_true(np_bitmap_equal(&applied.cpus, &inherited));
	assert_inherited();
	nr_applied_release(&applied);
}

static void cpus_that_the_kernel_drops_are_told_and_the_old_ones_put_back(void **state)
{
	unsigned first = np_bitmap_next(&inherited, 0);
	struct nr_plan plan = { .binds_cpus = true };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };
	char text[64];

	(void)state;
	skip_if_there(ABSENT_CPU, &inherited, "CPU");
	assert_number(np_bitmap_add(&plan.cpus, first), 0);
	assert_number(np_bitmap_add(&plan.cpus, ABSENT_CPU), 0);
	snprintf(text, sizeof(text), "bind to CPUs %u,900: the kernel kept %u,", first, first);
	assert_fails(nr_apply(&plan, &applied, &err), -EXDEV, &err, text);
	assert_true(np_bitmap_is_empty(&applied.cpus));
	assert_inherited();
	np_bitmap_release(&plan.cpus);
}

static void a_plan_that_may_shrink_shrinks(void **state)
{
	unsigned first = np_bitmap_next(&inherited, 0);
	struct nr_plan plan = { .binds_cpus = true, .may_shrink = true };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };

	(void)state;
	skip_if_there(ABSENT_CPU, &inherited, "CPU");
	assert_number(np_bitmap_add(&plan.cpus, first), 0);
	assert_number(np_bitmap_add(&plan.cpus, ABSENT_CPU), 0);
	assert_np_ok(nr_apply(&plan, &applied, &err), &err);
	assert_number(np_bitmap_count(&applied.cpus), 1);
	assert_true(np_bitmap_has(&applied.cpus, first));
	nr_applied_release(&applied);
	np_bitmap_release(&plan.cpus);
}

static void cpus_none_of_which_can_be_used_are_refused(void **state)
{
	struct nr_plan plan = { .binds_cpus = true, .may_shrink = true };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };

	(void)state;
	skip_if_there(ABSENT_CPU, &inherited, "CPU");
	assert_number(np_bitmap_add(&plan.cpus, ABSENT_CPU), 0);
	assert_fails(nr_apply(&plan, &applied, &err), -EINVAL, &err, "900: none");
	assert_inherited();
	np_bitmap_release(&plan.cpus);
}

/* Skips where a filter refuses memory policies, as containers have it. */
static void skip_without_policies(void)
{
	static const struct nr_policy local = { .mode = NR_POLICY_LOCAL };
	struct np_error err = { 0 };

	if (nr_policy_set(&local, &err) == 0)
		return;
	print_message("skipped: %s\n", err.text);
	skip();
}

static void a_policy_is_set_and_read_back(void **state)
{
	struct nr_plan plan = { .policy = { .mode = NR_POLICY_LOCAL } };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };

	(void)state;
	skip_without_policies();
	assert_np_ok(nr_apply(&plan, &applied, &err), &err);
	assert_text(nr_policy_mode_name(applied.policy.mode), "local");
	nr_applied_release(&applied);
}

static void a_policy_that_fails_puts_the_affinity_back(void **state)
{
	struct nr_plan plan = { .binds_cpus = true,
		                .policy = { .mode = NR_POLICY_BIND, .nodes = set_of("900") } };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };
	int rc;

	(void)state;
	skip_without_policies();
	assert_number(np_bitmap_add(&plan.cpus, np_bitmap_next(&inherited, 0)), 0);
	rc = nr_apply(&plan, &applied, &err);
	assert_fails(rc, -EINVAL, &err, "memory policy bind");
	assert_has(err.text, "900");
	assert_inherited();
	assert_true(np_bitmap_is_empty(&applied.cpus));
	np_bitmap_release(&plan.cpus);
	nr_policy_release(&plan.policy);
}

static void nodes_that_the_kernel_drops_are_told(void **state)
{
	struct nr_plan plan = { .policy = { .mode = NR_POLICY_BIND, .nodes = set_of("0,900") } };
	struct nr_applied applied = { 0 };
	struct np_error err = { 0 };
	int rc;

	(void)state;
	skip_without_policies();
	rc = nr_apply(&plan, &applied, &err);
	/* Kernels whose nodemask ends before 900 refuse it; all others drop it without a word. */
	assert_fails(rc, rc == -EINVAL ? -EINVAL : -EXDEV, &err, "0,900");
	if (rc == -EXDEV)
		assert_has(err.text, "the kernel kept bind:0");
	nr_policy_release(&plan.policy);
}

#define apply_test(f) cmocka_unit_test_setup_teardown(f, remember, put_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		apply_test(the_affinity_is_that_of_the_library),
		apply_test(cpus_are_bound_and_read_back),
		apply_test(a_plan_that_binds_nothing_changes_nothing),
		apply_test(cpus_that_the_kernel_drops_are_told_and_the_old_ones_put_back),
		apply_test(a_plan_that_may_shrink_shrinks),
		apply_test(cpus_none_of_which_can_be_used_are_refused),
		apply_test(a_policy_is_set_and_read_back),
		apply_test(a_policy_that_fails_puts_the_affinity_back),
		apply_test(nodes_that_the_kernel_drops_are_told),
	};

	return cmocka_run_group_tests_name("apply", tests, NULL, NULL);
}
