/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stddef.h>
#include <worker/timers.h>

static void deadlines_come_due_in_the_order_in_which_they_were_set(void **state)
{
	struct ns_deadlines list;
	struct ns_deadline a = { 0 };
	struct ns_deadline b = { 0 };

	(void)state;
	ns_deadlines_init(&list, 100);
	assert_number(ns_deadlines_first_ns(&list), INT64_MAX);
	assert_null(ns_deadlines_due(&list, INT64_MAX - 1));
	ns_deadline_set(&list, &a, 1000);
	ns_deadline_set(&list, &b, 1050);

	assert_number(ns_deadlines_first_ns(&list), 1100);
	assert_null(ns_deadlines_due(&list, 1099));
	assert_ptr_equal(ns_deadlines_due(&list, 1100), &a);
	ns_deadline_clear(&a);
	assert_null(ns_deadlines_due(&list, 1149));
	assert_ptr_equal(ns_deadlines_due(&list, 1150), &b);
	ns_deadline_clear(&b);
	assert_number(ns_deadlines_first_ns(&list), INT64_MAX);
}

static void setting_one_again_puts_it_behind_the_others(void **state)
{
	struct ns_deadlines list;
	struct ns_deadline all[3] = { 0 };

	(void)state;
	ns_deadlines_init(&list, 10);
	for (size_t i = 0; i < 3; i++)
		ns_deadline_set(&list, &all[i], (int64_t)i);
	ns_deadline_set(&list, &all[0], 5);

	assert_number(ns_deadlines_first_ns(&list), 11);
	ns_deadline_clear(&all[1]); /* from the middle, and twice */
	ns_deadline_clear(&all[1]);
	assert_ptr_equal(ns_deadlines_due(&list, 100), &all[2]);
	ns_deadline_clear(&all[2]);
	assert_ptr_equal(ns_deadlines_due(&list, 100), &all[0]);
	assert_null(ns_deadlines_due(&list, 14));
}

static void a_deadline_moves_to_another_list_and_out_of_all(void **state)
{
	struct ns_deadlines idle;
	struct ns_deadlines never;
	struct ns_deadline deadline = { 0 };

	(void)state;
	ns_deadlines_init(&idle, 10);
	ns_deadlines_init(&never, 0);
	ns_deadline_set(&idle, &deadline, 0);
	ns_deadline_set(&never, &deadline, 0);

	assert_null(deadline.next);
	assert_number(ns_deadlines_first_ns(&idle), INT64_MAX);
	assert_number(ns_deadlines_first_ns(&never), INT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines_come_due_in_the_order_in_which_they_were_set),
		cmocka_unit_test(setting_one_again_puts_it_behind_the_others),
		cmocka_unit_test(a_deadline_moves_to_another_list_and_out_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
