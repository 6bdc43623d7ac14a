/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <store/epoch.h>

static void what_was_unlinked_is_past_once_all_have_said_so(void **state)
{
	struct ns_epochs *epochs = ns_epochs_create(4);
	int a = ns_epoch_join(epochs);
	int b = ns_epoch_join(epochs);
	uint64_t stamp = ns_epoch_stamp(epochs);

	(void)state;
	assert_false(ns_epoch_is_past(epochs, stamp));
	ns_epoch_quiesce(epochs, a);
	assert_false(ns_epoch_is_past(epochs, stamp));
	ns_epoch_quiesce(epochs, b);
	assert_true(ns_epoch_is_past(epochs, stamp));
	assert_false(ns_epoch_is_past(epochs, ns_epoch_stamp(epochs)));
	ns_epochs_free(epochs);
}

static void who_is_away_or_left_holds_nothing_up(void **state)
{
	struct ns_epochs *epochs = ns_epochs_create(4);
	int a = ns_epoch_join(epochs);
	int b = ns_epoch_join(epochs);
	uint64_t stamp = ns_epoch_stamp(epochs);

	(void)state;
	ns_epoch_go(epochs, a);
	assert_false(ns_epoch_is_past(epochs, stamp));
	ns_epoch_leave(epochs, b);
	assert_true(ns_epoch_is_past(epochs, stamp));
	ns_epochs_free(epochs);
}

static void who_comes_back_holds_only_what_is_unlinked_from_then_on(void **state)
{
	struct ns_epochs *epochs = ns_epochs_create(4);
	int a = ns_epoch_join(epochs);
	uint64_t before;
	uint64_t after;

	(void)state;
	ns_epoch_go(epochs, a);
	before = ns_epoch_stamp(epochs);
	ns_epoch_come(epochs, a);
	after = ns_epoch_stamp(epochs);
	assert_true(ns_epoch_is_past(epochs, before));
	assert_false(ns_epoch_is_past(epochs, after));
	ns_epochs_free(epochs);
}

static void there_are_so_many_places_and_one_that_was_left_can_be_taken(void **state)
{
	struct ns_epochs *epochs = ns_epochs_create(2);
	int a = ns_epoch_join(epochs);

	(void)state;
	assert_number(a, 0);
	assert_number(ns_epoch_join(epochs), 1);
	assert_number(ns_epoch_join(epochs), -1);
	ns_epoch_leave(epochs, a);
	assert_number(ns_epoch_join(epochs), 0);
	ns_epochs_free(epochs);
}

/* Readers follow a pointer to a number that is 1 as long as it may be looked at. */
enum { READERS = 3, SWAPS = 5000, WAITING_MAX = 64 };

struct shared {
	struct ns_epochs *epochs;
	uint32_t *number; /* atomic */
	bool is_over;     /* atomic */
	unsigned wrong;   /* atomic */
};

static void *read_on(void *data)
{
	struct shared *shared = data;
	int place = ns_epoch_join(shared->epochs);

	for (unsigned turn = 0; !__atomic_load_n(&shared->is_over, __ATOMIC_RELAXED); turn++) {
		if (*__atomic_load_n(&shared->number, __ATOMIC_ACQUIRE) != 1)
			__atomic_fetch_add(&shared->wrong, 1, __ATOMIC_RELAXED);
		if (turn % 16 == 0) {
			ns_epoch_go(shared->epochs, place);
			ns_epoch_come(shared->epochs, place);
		} else {
			ns_epoch_quiesce(shared->epochs, place);
		}
	}
	ns_epoch_leave(shared->epochs, place);
	return NULL;
}

static uint32_t *make_number(void)
{
	uint32_t *number = malloc(sizeof(*number));

	assert_non_null(number);
	*number = 1;
	return number;
}

struct waiting {
	uint32_t *number;
	uint64_t stamp;
};

static void end_past(struct shared *shared, struct waiting *waiting, unsigned *count)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < *count; i++) {
		if (!ns_epoch_is_past(shared->epochs, waiting[i].stamp)) {
			waiting[kept++] = waiting[i];
			continue;
		}
		*waiting[i].number = 0;
		free(waiting[i].number);
	}
	*count = kept;
}

static void readers_never_see_what_is_past(void **state)
{
	struct shared shared = { .epochs = ns_epochs_create(READERS), .number = make_number() };
	struct waiting waiting[WAITING_MAX];
	unsigned count = 0;
	pthread_t threads[READERS];

	(void)state;
	for (int i = 0; i < READERS; i++)
		assert_number(pthread_create(&threads[i], NULL, read_on, &shared), 0);
	for (int i = 0; i < SWAPS; i++) {
		waiting[count].number =
			__atomic_exchange_n(&shared.number, make_number(), __ATOMIC_ACQ_REL);
		waiting[count++].stamp = ns_epoch_stamp(shared.epochs);
		do
			end_past(&shared, waiting, &count);
		while (count == WAITING_MAX);
	}
	__atomic_store_n(&shared.is_over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < READERS; i++)
		pthread_join(threads[i], NULL);
	end_past(&shared, waiting, &count);

	assert_number(count, 0);
	assert_number(shared.wrong, 0);
	free(shared.number);
	ns_epochs_free(shared.epochs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_unlinked_is_past_once_all_have_said_so),
		cmocka_unit_test(who_is_away_or_left_holds_nothing_up),
		cmocka_unit_test(who_comes_back_holds_only_what_is_unlinked_from_then_on),
		cmocka_unit_test(there_are_so_many_places_and_one_that_was_left_can_be_taken),
		cmocka_unit_test(readers_never_see_what_is_past),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
