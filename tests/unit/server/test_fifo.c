/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <stdlib.h>
#include <store/store.h>
#include <string.h>

enum { OBJECTS_MAX = 10000, NOBODY = -1 };

/* Object number n has cas n + 1, counts for one unit of 64 bytes unless told, and hashes well. */
struct queues {
	struct ns_fifo *fifo;
	struct ns_object *objects;
};

static uint64_t hash_of(uint64_t number)
{
	uint64_t hash = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ hash >> 32;
}

/* Room for @units; the small queue's share is a tenth of it. */
static struct queues queues_create(unsigned units)
{
	struct queues queues = { .fifo = ns_fifo_create(units * UINT64_C(64),
		                                        (size_t)OBJECTS_MAX * 4),
		                 .objects = calloc(OBJECTS_MAX, sizeof(struct ns_object)) };

	assert_non_null(queues.fifo);
	assert_non_null(queues.objects);
	for (unsigned i = 0; i < OBJECTS_MAX; i++) {
		queues.objects[i].cas = i + 1;
		queues.objects[i].hash = hash_of(i);
		queues.objects[i].fifo.bytes = 1;
	}
	return queues;
}

static void queues_free(struct queues *queues)
{
	ns_fifo_free(queues->fifo);
	free(queues->objects);
}

static void add(struct queues *queues, unsigned number)
{
	ns_fifo_add(queues->fifo, &queues->objects[number], queues->objects[number].hash);
	assert_true(queues->objects[number].fifo.queue != 0);
}

static void add_range(struct queues *queues, unsigned first, unsigned last)
{
	for (unsigned number = first; number <= last; number++)
		add(queues, number);
}

static void touch(struct queues *queues, unsigned number, unsigned times)
{
	while (times-- > 0)
		ns_fifo_touch(&queues->objects[number].fifo);
}

static int evict(struct queues *queues)
{
	struct ns_object *object = ns_fifo_evict(queues->fifo);

	if (object == NULL)
		return NOBODY;
	assert_number(object->fifo.queue, 0);
	return (int)object->cas - 1;
}

#define assert_go(queues, ...)                                                                     \
	assert_go_((queues), (const int[]){ __VA_ARGS__ },                                         \
	           sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

/* These are the next ones that go, in that order. */
static void assert_go_(struct queues *queues, const int *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		check_case("the one that goes at %zu", i);
		assert_number(evict(queues), wanted[i]);
	}
}

/* ---- order ---- */

static void who_is_never_read_goes_in_the_order_of_coming(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	assert_go(&queues, NOBODY);
	add_range(&queues, 0, 4);
	assert_go(&queues, 0, 1, 2, 3, 4, NOBODY, NOBODY);
	queues_free(&queues);
}

static void one_read_does_not_keep_a_newcomer_and_two_do(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	add_range(&queues, 0, 5);
	touch(&queues, 1, 1);
	touch(&queues, 2, 2);
	touch(&queues, 4, 3);
	/* 2 and 4 are in the main queue then, unread. */
	assert_go(&queues, 0, 1, 3, 5, 2, 4, NOBODY);
	queues_free(&queues);
}

static void reads_are_counted_to_three(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	touch(&queues, 0, 100);
	assert_number(queues.objects[0].fifo.reads, 3);
	queues_free(&queues);
}

static void adding_keeps_the_reads(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	touch(&queues, 0, 2);
	add_range(&queues, 0, 1);
	assert_number(queues.objects[0].fifo.reads, 2);
	assert_go(&queues, 1, 0, NOBODY);
	queues_free(&queues);
}

/* Puts these into the main queue: read twice, they stay there when a large one goes, @last + 1. */
static void settle_in_main(struct queues *queues, unsigned first, unsigned last)
{
	for (unsigned number = first; number <= last; number++) {
		add(queues, number);
		touch(queues, number, 2);
	}
	queues->objects[last + 1].fifo.bytes = OBJECTS_MAX;
	add(queues, last + 1);
	assert_go(queues, (int)last + 1);
}

static void in_the_main_queue_each_read_is_another_round(void **state)
{
	struct queues queues = queues_create(100);

	(void)state;
	settle_in_main(&queues, 0, 3);
	touch(&queues, 0, 2);
	touch(&queues, 1, 1);
	touch(&queues, 3, 1);
	/* 0 and 1 go round, 2 goes; 3 and 0 go round, 1 goes; 3 goes; 0 is left. */
	assert_go(&queues, 2, 1, 3, 0, NOBODY);
	queues_free(&queues);
}

static void the_small_queue_keeps_its_tenth(void **state)
{
	struct queues queues = queues_create(40); /* 4 of them */

	(void)state;
	settle_in_main(&queues, 0, 9);
	add_range(&queues, 20, 25);
	/* 22 makes three that are left, less than the share. */
	assert_go(&queues, 20, 21, 22, 0, 1, 2);
	queues_free(&queues);
}

static void the_main_queue_goes_first_when_it_has_more_than_its_share(void **state)
{
	struct queues queues = queues_create(10); /* 1 and 9 */

	(void)state;
	settle_in_main(&queues, 0, 8);
	add_range(&queues, 20, 22);
	touch(&queues, 20, 2);
	/* 20 goes over, which makes 10 there. */
	assert_go(&queues, 0, 21, 22, 1);
	queues_free(&queues);
}

static void shares_are_counted_in_bytes(void **state)
{
	struct queues queues = queues_create(100); /* 10 and 90 */

	(void)state;
	settle_in_main(&queues, 0, 1);
	queues.objects[20].fifo.bytes = 9;
	add(&queues, 20);
	assert_go(&queues, 0);
	add(&queues, 21);
	assert_go(&queues, 20, 1, 21, NOBODY);
	queues_free(&queues);
}

static void a_queue_of_favourites_holds_nobody_up(void **state)
{
	struct queues queues = queues_create(OBJECTS_MAX);

	(void)state;
	settle_in_main(&queues, 0, 200);
	settle_in_main(&queues, 300, 500);
	settle_in_main(&queues, 600, 800);
	for (unsigned i = 0; i <= 800; i++)
		touch(&queues, i, 3);
	/* 201 of the first hundreds and 55 of the next were passed over, once each. */
	assert_number(evict(&queues), 355);
	assert_number(queues.objects[0].fifo.reads, 2);
	assert_number(queues.objects[354].fifo.reads, 2);
	assert_number(queues.objects[356].fifo.reads, 3);
	queues_free(&queues);
}

/* ---- who went ---- */

static void who_comes_back_soon_joins_the_main_queue(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	add_range(&queues, 0, 9);
	assert_go(&queues, 0);
	add(&queues, 0);
	assert_go(&queues, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, NOBODY);
	queues_free(&queues);
}

/* Ten at a time make nine who are remembered; the one who comes back does so as the tenth. */
static void who_comes_back_late_is_a_newcomer(void **state)
{
	static const struct {
		unsigned gone_since;
		bool is_remembered;
	} cases[] = { { 1, true }, { 8, true }, { 9, false }, { 30, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct queues queues = queues_create(10);
		unsigned next = 10;

		check_case("%u gone since", cases[i].gone_since);
		add_range(&queues, 0, 10);
		assert_go(&queues, 0);
		for (unsigned j = 1; j <= cases[i].gone_since; j++) {
			add(&queues, ++next);
			assert_go(&queues, (int)j);
		}
		add(&queues, 0);
		add(&queues, ++next);
		for (unsigned j = next - 10; j < next; j++)
			assert_go(&queues, (int)j);
		assert_number(evict(&queues), cases[i].is_remembered ? (int)next : 0);
		queues_free(&queues);
	}
}

static void who_went_from_the_main_queue_is_not_remembered(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	settle_in_main(&queues, 0, 0);
	assert_go(&queues, 0);
	add_range(&queues, 10, 19);
	add(&queues, 0);
	add(&queues, 20);
	assert_go(&queues, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 0, 20);
	queues_free(&queues);
}

/* ---- leaving and moving ---- */

static void who_is_removed_is_in_no_queue(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	settle_in_main(&queues, 0, 2);
	add_range(&queues, 10, 14);
	ns_fifo_remove(queues.fifo, &queues.objects[1]);
	ns_fifo_remove(queues.fifo, &queues.objects[10]);
	ns_fifo_remove(queues.fifo, &queues.objects[12]);
	ns_fifo_remove(queues.fifo, &queues.objects[14]);
	assert_number(queues.objects[12].fifo.queue, 0);
	assert_go(&queues, 11, 13, 0, 2, NOBODY);
	add(&queues, 12);
	assert_go(&queues, 12, NOBODY);
	queues_free(&queues);
}

static void who_is_moved_keeps_place_and_reads(void **state)
{
	struct queues queues = queues_create(10);

	(void)state;
	settle_in_main(&queues, 0, 2);
	add_range(&queues, 10, 12);
	touch(&queues, 11, 2);
	for (unsigned i = 0; i < 3; i++) {
		struct ns_object *to[] = { &queues.objects[20 + i], &queues.objects[30 + i] };

		to[0]->fifo.bytes = 2;
		ns_fifo_replace(queues.fifo, &queues.objects[i], to[0]);
		ns_fifo_replace(queues.fifo, &queues.objects[10 + i], to[1]);
		assert_number(queues.objects[i].fifo.queue, 0);
		assert_number(queues.objects[10 + i].fifo.queue, 0);
	}
	assert_number(queues.objects[31].fifo.reads, 2);
	assert_go(&queues, 30, 32, 20, 21, 22, 31, NOBODY);
	queues_free(&queues);
}

/* ---- long traces ---- */

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Key n is asked for in proportion to 1 / (n + 1). */
struct zipf {
	uint64_t sums[OBJECTS_MAX];
	unsigned keys;
	uint64_t seed;
};

static void zipf_init(struct zipf *zipf, unsigned keys, uint64_t seed)
{
	uint64_t sum = 0;

	zipf->keys = keys;
	zipf->seed = seed;
	for (unsigned i = 0; i < keys; i++)
		zipf->sums[i] = sum += UINT64_C(1000000000) / (i + 1);
}

static unsigned zipf_next(struct zipf *zipf)
{
	uint64_t at = (next_random(&zipf->seed) >> 8) % zipf->sums[zipf->keys - 1];
	unsigned low = 0;
	unsigned high = zipf->keys - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (zipf->sums[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The paper's algorithm for objects of one size, with queues that are copied about. */
struct plain {
	struct {
		unsigned keys[OBJECTS_MAX]; /* the oldest first */
		unsigned count;
	} small, main;
	unsigned reads[OBJECTS_MAX];
	unsigned gone_at[OBJECTS_MAX]; /* 0 = not remembered */
	unsigned gone;
	unsigned room;
};

static unsigned shift(unsigned *keys, unsigned *count)
{
	unsigned key = keys[0];

	memmove(keys, keys + 1, --*count * sizeof(*keys));
	return key;
}

static int plain_evict_main(struct plain *plain)
{
	for (;;) {
		unsigned key = shift(plain->main.keys, &plain->main.count);

		if (plain->reads[key] == 0)
			return (int)key;
		plain->reads[key]--;
		plain->main.keys[plain->main.count++] = key;
	}
}

static int plain_evict(struct plain *plain)
{
	unsigned main_room = plain->room - plain->room / 10;

	while (plain->small.count > 0 &&
	       (plain->small.count >= plain->room / 10 || plain->main.count == 0)) {
		unsigned key = shift(plain->small.keys, &plain->small.count);

		if (plain->reads[key] <= 1) {
			plain->gone_at[key] = ++plain->gone;
			return (int)key;
		}
		plain->reads[key] = 0;
		plain->main.keys[plain->main.count++] = key;
		if (plain->main.count > main_room)
			break;
	}
	return plain_evict_main(plain);
}

static void plain_add(struct plain *plain, unsigned key)
{
	unsigned all = plain->small.count + plain->main.count;
	unsigned remembered = all - all / 10;
	unsigned went = plain->gone_at[key];

	if (remembered < plain->main.count)
		remembered = plain->main.count;
	plain->reads[key] = 0;
	plain->gone_at[key] = 0;
	if (went > 0 && plain->gone - went < remembered)
		plain->main.keys[plain->main.count++] = key;
	else
		plain->small.keys[plain->small.count++] = key;
}

static void the_same_go_as_by_the_plain_algorithm(void **state)
{
	static const unsigned rooms[] = { 10, 37, 100, 500 };
	struct plain *plain = malloc(sizeof(*plain));
	struct zipf *zipf = malloc(sizeof(*zipf));

	(void)state;
	assert_non_null(plain);
	assert_non_null(zipf);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct queues queues = queues_create(rooms[i]);
		unsigned count = 0;

		check_case("room for %u", rooms[i]);
		memset(plain, 0, sizeof(*plain));
		plain->room = rooms[i];
		zipf_init(zipf, 2000, 42 + i);
		for (unsigned request = 0; request < 20000; request++) {
			unsigned key = zipf_next(zipf);

			if (queues.objects[key].fifo.queue != 0) {
				touch(&queues, key, 1);
				plain->reads[key] += plain->reads[key] < 3;
				continue;
			}
			if (count == rooms[i])
				assert_number(evict(&queues), plain_evict(plain));
			else
				count++;
			queues.objects[key].fifo.reads = 0;
			add(&queues, key);
			plain_add(plain, key);
		}
		queues_free(&queues);
	}
	free(zipf);
	free(plain);
}

/* Hits of a cache of @room objects; without @queues, of one queue. */
static unsigned hits_of(struct queues *queues, struct zipf *zipf, unsigned room, unsigned requests)
{
	unsigned *ring = calloc(room, sizeof(*ring)); /* of one queue: who came when */
	bool *is_there = calloc(zipf->keys, sizeof(*is_there));
	unsigned count = 0;
	unsigned hits = 0;

	assert_non_null(ring);
	assert_non_null(is_there);
	for (unsigned request = 0; request < requests; request++) {
		unsigned key = zipf_next(zipf);

		if (is_there[key]) {
			hits++;
			touch(queues, key, 1);
			continue;
		}
		if (count >= room)
			is_there[queues->fifo == NULL ? ring[count % room]
			                              : (unsigned)evict(queues)] = false;
		ring[count++ % room] = key;
		is_there[key] = true;
		queues->objects[key].fifo.reads = 0;
		if (queues->fifo != NULL)
			add(queues, key);
	}
	free(is_there);
	free(ring);
	return hits;
}

static void more_is_found_than_with_one_queue(void **state)
{
	static const struct {
		unsigned room;
		unsigned hits; /* of 200000 */
		unsigned hits_of_one_queue;
	} cases[] = {
		{ 100, 101055, 68489 },
		{ 1000, 146584, 125934 },
	};
	struct zipf *zipf = malloc(sizeof(*zipf));

	(void)state;
	assert_non_null(zipf);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct queues queues = queues_create(cases[i].room);

		check_case("room for %u", cases[i].room);
		zipf_init(zipf, OBJECTS_MAX, 1);
		assert_number(hits_of(&queues, zipf, cases[i].room, 200000), cases[i].hits);
		ns_fifo_free(queues.fifo);
		queues.fifo = NULL;
		zipf_init(zipf, OBJECTS_MAX, 1);
		assert_number(hits_of(&queues, zipf, cases[i].room, 200000),
		              cases[i].hits_of_one_queue);
		queues_free(&queues);
	}
	free(zipf);
}

static void those_with_tails_are_found_among_all_and_go_in_order(void **state)
{
	struct queues queues = queues_create(1000);
	struct ns_object *object;

	(void)state;
	for (unsigned number = 0; number < 900; number += 100)
		queues.objects[number].tail = 1;
	add_range(&queues, 0, 899);
	touch(&queues, 0, 1); /* goes round once more */
	for (unsigned number = 100; number < 900; number += 100)
		assert_ptr_equal(ns_fifo_evict_tail(queues.fifo), &queues.objects[number]);
	assert_ptr_equal(ns_fifo_evict_tail(queues.fifo), &queues.objects[0]);
	assert_null(ns_fifo_evict_tail(queues.fifo));
	for (unsigned count = 0; count < 891; count++) {
		object = ns_fifo_evict(queues.fifo);
		assert_non_null(object);
		assert_number(object->tail, 0);
	}
	assert_null(ns_fifo_evict(queues.fifo));
	queues_free(&queues);
}

static void of_room_for_heads_those_with_tails_give_their_share(void **state)
{
	struct queues queues = queues_create(1000);
	unsigned with_tail = 0;

	(void)state;
	for (unsigned number = 0; number < 1000; number += 4)
		queues.objects[number].tail = 1;
	add_range(&queues, 0, 999);
	for (unsigned count = 0; count < 400; count++)
		with_tail += ns_fifo_evict(queues.fifo)->tail;
	assert_in_range(with_tail, 98, 102);
	for (unsigned count = 400; count < 1000; count++)
		with_tail += ns_fifo_evict(queues.fifo)->tail;
	assert_number(with_tail, 250);
	assert_null(ns_fifo_evict(queues.fifo));
	queues_free(&queues);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_never_read_goes_in_the_order_of_coming),
		cmocka_unit_test(one_read_does_not_keep_a_newcomer_and_two_do),
		cmocka_unit_test(reads_are_counted_to_three),
		cmocka_unit_test(adding_keeps_the_reads),
		cmocka_unit_test(in_the_main_queue_each_read_is_another_round),
		cmocka_unit_test(the_small_queue_keeps_its_tenth),
		cmocka_unit_test(the_main_queue_goes_first_when_it_has_more_than_its_share),
		cmocka_unit_test(shares_are_counted_in_bytes),
		cmocka_unit_test(a_queue_of_favourites_holds_nobody_up),
		cmocka_unit_test(who_comes_back_soon_joins_the_main_queue),
		cmocka_unit_test(who_comes_back_late_is_a_newcomer),
		cmocka_unit_test(who_went_from_the_main_queue_is_not_remembered),
		cmocka_unit_test(who_is_removed_is_in_no_queue),
		cmocka_unit_test(who_is_moved_keeps_place_and_reads),
		cmocka_unit_test(the_same_go_as_by_the_plain_algorithm),
		cmocka_unit_test(more_is_found_than_with_one_queue),
		cmocka_unit_test(those_with_tails_are_found_among_all_and_go_in_order),
		cmocka_unit_test(of_room_for_heads_those_with_tails_give_their_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
