/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <worker/steer.h>

static const unsigned cpus[] = { 4, 6, 9 };

static struct ns_steering *create(void)
{
	struct ns_steering *steering = ns_steering_create(cpus, 3);

	assert_non_null(steering);
	return steering;
}

static void a_queue_is_of_the_worker_on_the_cpu_that_its_packets_come_to(void **state)
{
	struct ns_steering *steering = create();

	(void)state;
	assert_number(ns_steering_worker(steering, 8193, 6, 0), 1);
	assert_number(ns_steering_worker(steering, 8194, 9, 0), 2);
	/* For good: the scheduler of interrupts may move it for a while. */
	assert_number(ns_steering_worker(steering, 8193, 4, 0), 1);
	ns_steering_free(steering);
}

static void queues_whose_cpu_has_no_worker_are_dealt_out(void **state)
{
	struct ns_steering *steering = create();

	(void)state;
	for (unsigned i = 0; i < 6; i++)
		assert_number(ns_steering_worker(steering, 100 + i, 77, 0), i % 3);
	for (unsigned i = 0; i < 6; i++)
		assert_number(ns_steering_worker(steering, 100 + i, 77, 0), i % 3);
	ns_steering_free(steering);
}

static void without_a_queue_a_connection_stays_where_it_is(void **state)
{
	struct ns_steering *steering = create();
	bool is_known = true;
	int pair[2];

	(void)state;
	assert_number(ns_steering_worker(steering, 0, 9, 1), 1);
	assert_number(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_number(ns_steering_worker_of(steering, pair[0], 2, &is_known), 2);
	assert_number(is_known, false);
	close(pair[0]);
	close(pair[1]);
	ns_steering_free(steering);
}

static void more_queues_than_are_told_apart_stay_where_they_are(void **state)
{
	struct ns_steering *steering = create();

	(void)state;
	for (unsigned i = 0; i < NS_QUEUES_MAX; i++)
		assert_number(ns_steering_worker(steering, 1 + i, 9, 0), 2);
	assert_number(ns_steering_worker(steering, 1 + NS_QUEUES_MAX, 9, 1), 1);
	ns_steering_free(steering);
}

static bool is_woken(struct ns_steering *steering, unsigned worker)
{
	struct pollfd poll_fd = { .fd = ns_steering_fd(steering, worker), .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1;
}

static int new_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void what_is_handed_over_wakes_the_worker_and_comes_in_order(void **state)
{
	struct ns_steering *steering = create();
	struct ns_handed first = { new_fd(), NS_SESSION_HTTP };
	struct ns_handed second = { new_fd(), NS_SESSION_MEMCACHE };
	struct ns_handed got;

	(void)state;
	assert_number(ns_steering_give(steering, 1, first), 0);
	assert_number(ns_steering_give(steering, 1, second), 0);
	assert_true(is_woken(steering, 1));
	assert_false(is_woken(steering, 0));
	assert_false(ns_steering_take(steering, 0, &got));
	assert_true(ns_steering_take(steering, 1, &got));
	assert_number(got.fd, first.fd);
	assert_number(got.kind, NS_SESSION_HTTP);
	assert_true(ns_steering_take(steering, 1, &got));
	assert_number(got.fd, second.fd);
	assert_false(ns_steering_take(steering, 1, &got));
	close(first.fd);
	close(second.fd);
	ns_steering_free(steering);
}

static void too_many_and_those_that_come_too_late_are_not_taken(void **state)
{
	struct ns_steering *steering = create();
	struct ns_handed handed = { .fd = -1 };

	(void)state;
	for (unsigned i = 0; i < NS_HANDED_MAX; i++)
		assert_number(ns_steering_give(steering, 2, handed), 0);
	assert_number(ns_steering_give(steering, 2, handed), -ENOSPC);
	ns_steering_end(steering, 0);
	assert_number(ns_steering_give(steering, 0, handed), -EPIPE);
	ns_steering_free(steering);
}

static void what_nobody_took_is_closed(void **state)
{
	struct ns_steering *steering = create();
	struct ns_handed handed = { new_fd(), NS_SESSION_HTTP };

	(void)state;
	assert_number(ns_steering_give(steering, 0, handed), 0);
	ns_steering_free(steering);
	assert_number(fcntl(handed.fd, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_is_of_the_worker_on_the_cpu_that_its_packets_come_to),
		cmocka_unit_test(queues_whose_cpu_has_no_worker_are_dealt_out),
		cmocka_unit_test(without_a_queue_a_connection_stays_where_it_is),
		cmocka_unit_test(more_queues_than_are_told_apart_stay_where_they_are),
		cmocka_unit_test(what_is_handed_over_wakes_the_worker_and_comes_in_order),
		cmocka_unit_test(too_many_and_those_that_come_too_late_are_not_taken),
		cmocka_unit_test(what_nobody_took_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
