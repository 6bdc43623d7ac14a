/* SPDX-License-Identifier: BSD-3-Clause */
/* When a worker looks again and again instead of sleeping. */
#include "check.h"

#include <worker/poll.h>

static void it_polls_once_something_came_soon_and_as_long_as_that_goes_on(void **state)
{
	struct ns_poll poll = { 0 };

	(void)state;
	assert_false(ns_poll_pays(&poll));
	ns_poll_slept(&poll, false);
	assert_false(ns_poll_pays(&poll));
	ns_poll_slept(&poll, true);
	for (unsigned i = 0; i < 5000; i++) {
		assert_true(ns_poll_pays(&poll));
		ns_poll_ended(&poll, true);
	}
}

static void each_time_in_vain_doubles_what_must_come_soon_before_the_next(void **state)
{
	struct ns_poll poll = { 0 };

	(void)state;
	for (unsigned in_vain = 0; in_vain < 15; in_vain++) {
		unsigned doubt = in_vain < NS_POLL_DOUBT_MAX ? in_vain : NS_POLL_DOUBT_MAX;
		unsigned soon = 0;

		for (; !ns_poll_pays(&poll); soon++)
			ns_poll_slept(&poll, true);
		assert_number(soon, 1U << doubt);
		ns_poll_ended(&poll, false);
	}
}

static void one_that_comes_late_begins_the_count_anew(void **state)
{
	struct ns_poll poll = { .doubt = 2 };

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		ns_poll_slept(&poll, true);
	ns_poll_slept(&poll, false);
	for (unsigned i = 0; i < 3; i++) {
		ns_poll_slept(&poll, true);
		assert_false(ns_poll_pays(&poll));
	}
	ns_poll_slept(&poll, true);
	assert_true(ns_poll_pays(&poll));
}

/* A peer on the worker's own CPU: whatever it polls is in vain, and all that it sleeps for comes soon. */
static void where_it_is_always_in_vain_it_is_hardly_tried(void **state)
{
	struct ns_poll poll = { 0 };
	unsigned polls = 0;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		if (ns_poll_pays(&poll)) {
			ns_poll_ended(&poll, false);
			polls++;
		}
		ns_poll_slept(&poll, true);
	}
	assert_in_range(polls, 1, NS_POLL_DOUBT_MAX + 100000 / (1 << NS_POLL_DOUBT_MAX) + 1);
}

static void what_is_caught_takes_the_doubt_away(void **state)
{
	struct ns_poll poll = { 0 };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		while (!ns_poll_pays(&poll))
			ns_poll_slept(&poll, true);
		ns_poll_ended(&poll, false);
	}
	assert_number(poll.doubt, 3);
	while (!ns_poll_pays(&poll))
		ns_poll_slept(&poll, true);
	for (unsigned i = 0; i < 8 + 4 + 2; i++) {
		assert_number(poll.doubt, i < 8 ? 3 : i < 8 + 4 ? 2 : 1);
		ns_poll_ended(&poll, true);
	}
	assert_number(poll.doubt, 0);
	assert_true(ns_poll_pays(&poll));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_polls_once_something_came_soon_and_as_long_as_that_goes_on),
		cmocka_unit_test(each_time_in_vain_doubles_what_must_come_soon_before_the_next),
		cmocka_unit_test(one_that_comes_late_begins_the_count_anew),
		cmocka_unit_test(where_it_is_always_in_vain_it_is_hardly_tried),
		cmocka_unit_test(what_is_caught_takes_the_doubt_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
