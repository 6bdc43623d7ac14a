/* SPDX-License-Identifier: BSD-3-Clause */
/* What is worth moving, and in whose place. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <store/promote_plan.h>
#include <store/score.h>

/* ---- scores ---- */

static void a_minute_leaves_its_part_of_a_score(void **state)
{
	static const struct {
		double decay;
		uint32_t seconds;
		float left; /* of 100 */
	} cases[] = {
		{ 0.5, 0, 100 }, { 0.5, 60, 50 },     { 0.5, 120, 25 },  { 0.5, 30, 70.7f },
		{ 0.9, 60, 90 }, { 0.001, 60, 0.1f }, { 0.5, 86400, 0 }, { 0.5, UINT32_MAX, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_score_rules rules = ns_score_rules_make(1, cases[i].decay);
		float left = ns_score_after(&rules, 100, cases[i].seconds);

		check_case("%g after %u s", cases[i].decay, cases[i].seconds);
		assert_true(fabsf(left - cases[i].left) < 0.02f);
	}
}

static void a_score_stays_a_number(void **state)
{
	static const double increments[] = { 1e-300, 1, 1e30, 1e300 };
	static const double decays[] = { 1e-300, 0.5, 1 - 1e-15 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 3; j++) {
			struct ns_score_rules rules = ns_score_rules_make(increments[i], decays[j]);
			struct ns_seen_head head = { .bytes = UINT64_C(1) << 40 };

			check_case("%g, %g", increments[i], decays[j]);
			head.score = ns_score_after(&rules, rules.increment, 1000000);
			assert_true(isfinite(head.score) && head.score >= 0);
			head.score = rules.increment;
			assert_true(isfinite((double)head.score * (double)head.bytes));
		}
	}
}

static void without_a_time_of_reading_nothing_decays(void **state)
{
	struct ns_score_rules rules = ns_score_rules_make(1, 0.5);

	(void)state;
	assert_number(ns_score_at(&rules, 8, 0, 1000), 8);
	assert_number(ns_score_at(&rules, 8, 940, 1000), 4);
	/* Read by somebody whose clock is ahead of ours. */
	assert_number(ns_score_at(&rules, 8, 1001, 1000), 8);
}

/* ---- what pays ---- */

#define FULL UINT64_C(4096)

static void a_move_pays_when_it_saves_more_than_it_copies(void **state)
{
	static const struct {
		const char *name;
		uint64_t bytes;
		uint64_t cold_bytes;
		float score;
		float cold_score; /* < 0: nobody has to go */
		bool pays;
	} cases[] = {
		{ "never read", FULL, 0, 0, -1, false },
		{ "read once", FULL, 0, 1, -1, false },
		{ "read twice", FULL, 0, 2, -1, true },
		{ "small, read twice", 100, 0, 2, -1, false },
		{ "small, read often", 100, 0, 4, -1, true },
		{ "in the place of one that is never read", FULL, FULL, 2, 0, false },
		{ "the same, hotter", FULL, FULL, 3, 0, true },
		{ "in the place of one that is read", FULL, FULL, 6, 2, true },
		{ "saves less than two copies", FULL, FULL, 3.5f, 1.5f, false },
		{ "hot, in the place of one half as hot", FULL, FULL, 1000, 500, false },
		{ "hot, in the place of one not half as hot", FULL, FULL, 1001, 499, true },
		{ "in the place of a much longer one", 100, FULL, 3, 0, false },
		{ "the same, much hotter", 100, FULL, 100, 0, true },
		{ "a longer one that is warm", 100, FULL, 20, 1, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_seen_head head = { .bytes = cases[i].bytes, .score = cases[i].score };
		struct ns_seen_head cold = { .bytes = cases[i].cold_bytes,
			                     .score = cases[i].cold_score };

		check_case("%s", cases[i].name);
		assert_number(ns_move_pays(&head, cases[i].cold_score < 0 ? NULL : &cold),
		              cases[i].pays);
	}
}

/* ---- the best of many ---- */

static int compare_scores(const void *a, const void *b)
{
	float x = *(const float *)a;
	float y = *(const float *)b;

	return (x < y) - (x > y);
}

/* The best of @count random scores, as sorting all of them has it. */
static void check_best(size_t count, size_t max, bool is_of_cold)
{
	float *scores = calloc(count + 1, sizeof(*scores));
	struct ns_best best;

	check_case("%zu of %zu, %s", max, count, is_of_cold ? "cold" : "hot");
	assert_true(ns_best_create(&best, max, is_of_cold));
	for (size_t i = 0; i < count; i++) {
		struct ns_seen_head head = { .hash = i, .score = (float)(i * 7919 % 101) };

		scores[i] = head.score;
		ns_best_offer(&best, &head);
	}
	ns_best_sort(&best);
	qsort(scores, count, sizeof(*scores), compare_scores);
	assert_number(best.count, count < max ? count : max);
	for (size_t i = 0; i < best.count; i++)
		assert_true(best.heads[i].score == scores[is_of_cold ? count - 1 - i : i]);
	ns_best_clear(&best);
	assert_number(best.count, 0);
	ns_best_release(&best);
	free(scores);
}

static void the_best_are_kept_in_order(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 10, 1000 };
	static const size_t maxes[] = { 1, 2, 7, 64 };

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		for (size_t j = 0; j < 4; j++) {
			check_best(counts[i], maxes[j], false);
			check_best(counts[i], maxes[j], true);
		}
	}
}

/* ---- who makes room ---- */

static void every_size_has_a_class(void **state)
{
	(void)state;
	assert_number(ns_size_class(4096, true), 0);
	assert_number(ns_size_class(1, false), 1);
	assert_number(ns_size_class(100, false), ns_size_class(127, false));
	assert_number(ns_size_class(128, false), ns_size_class(127, false) + 1);
	assert_true(ns_size_class(UINT64_C(1) << 32, false) < NS_SIZE_CLASSES);
	assert_true(ns_size_class(UINT64_MAX, false) < NS_SIZE_CLASSES);
}

static void create_cold(struct ns_best cold[NS_SIZE_CLASSES])
{
	for (size_t i = 0; i < NS_SIZE_CLASSES; i++)
		assert_true(ns_best_create(&cold[i], 100, true));
}

static void release_cold(struct ns_best cold[NS_SIZE_CLASSES])
{
	for (size_t i = 0; i < NS_SIZE_CLASSES; i++)
		ns_best_release(&cold[i]);
}

static void offer(struct ns_best *cold, uint64_t hash, uint64_t bytes, float score, bool is_slot)
{
	struct ns_seen_head head = {
		.hash = hash, .bytes = bytes, .score = score, .is_slot = is_slot
	};

	ns_best_offer(&cold[ns_size_class(bytes, is_slot)], &head);
}

static void room_is_made_by_who_is_large_and_cold_enough(void **state)
{
	static const struct {
		const char *name;
		struct ns_seen_head hot;
		uint64_t partner; /* 0 = none */
	} cases[] = {
		{ "packed, of its class", { .bytes = 1000, .score = 100 }, 2 },
		{ "packed, of the next class", { .bytes = 1020, .score = 100 }, 4 },
		{ "packed, too large", { .bytes = 3000, .score = 100 }, 0 },
		{ "packed, not hot enough", { .bytes = 1000, .score = 1 }, 0 },
		{ "a slot is a slot", { .bytes = 4096, .score = 100, .is_slot = true }, 5 },
	};
	struct ns_best cold[NS_SIZE_CLASSES];
	struct ns_seen_head found;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("%s", cases[i].name);
		create_cold(cold);
		offer(cold, 1, 900, 0, false);  /* colder, too small */
		offer(cold, 2, 1010, 1, false); /* fits */
		offer(cold, 3, 1010, 2, false);
		offer(cold, 4, 1500, 1, false);
		offer(cold, 5, 4094, 0, true); /* a few bytes short of a slot, and has one */
		for (size_t j = 0; j < NS_SIZE_CLASSES; j++)
			ns_best_sort(&cold[j]);
		assert_number(ns_partner_find(cold, &cases[i].hot, &found), cases[i].partner != 0);
		if (cases[i].partner != 0)
			assert_number(found.hash, cases[i].partner);
		release_cold(cold);
	}
}

static void nobody_makes_room_twice(void **state)
{
	struct ns_seen_head hot = { .bytes = 1000, .score = 100 };
	struct ns_best cold[NS_SIZE_CLASSES];
	struct ns_seen_head found;

	(void)state;
	create_cold(cold);
	for (uint64_t i = 0; i < 5; i++)
		offer(cold, i, i % 2 == 0 ? 900 : 1010, (float)i, false);
	for (size_t i = 0; i < NS_SIZE_CLASSES; i++)
		ns_best_sort(&cold[i]);
	assert_true(ns_partner_find(cold, &hot, &found));
	assert_number(found.hash, 1);
	assert_true(ns_partner_find(cold, &hot, &found));
	assert_number(found.hash, 3);
	assert_false(ns_partner_find(cold, &hot, &found));
	/* Those that were too small are still there, the coldest first. */
	hot.bytes = 900;
	for (uint64_t i = 0; i < 5; i += 2) {
		assert_true(ns_partner_find(cold, &hot, &found));
		assert_number(found.hash, i);
	}
	assert_false(ns_partner_find(cold, &hot, &found));
	release_cold(cold);
}

/* ---- blocks ---- */

static void a_block_is_hot_when_most_of_its_heads_are(void **state)
{
	static const struct {
		const char *name;
		float scores[8]; /* < 0: not seen */
		bool is_whole;
		bool is_hot;
	} cases[] = {
		{ "all hot", { 9, 9, 9, 9, 9, 9, 9, 9 }, true, true },
		{ "two of eight cold", { 9, 9, 0, 9, 9, 9, 0, 9 }, true, true },
		{ "three of eight cold", { 9, 9, 0, 9, 0, 9, 0, 9 }, true, false },
		{ "one very hot head", { 1e6f, 0, 0, 0, 0, 0, 0, 0 }, true, false },
		{ "a head that may not move", { 9, 9, 9, -1, 9, 9, 9, 9 }, false, false },
	};
	struct ns_slot_map map;
	struct ns_seen_head block;

	(void)state;
	assert_true(ns_slot_map_create(&map, FULL, 8 * FULL, 3));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t scan = (uint32_t)i + 1;
		float sum = 0;

		check_case("%s", cases[i].name);
		for (uint64_t j = 0; j < 8; j++) {
			struct ns_seen_head head = { .hash = j,
				                     .offset = (16 + j) * FULL,
				                     .score = cases[i].scores[j] };

			sum += head.score;
			if (head.score >= 0)
				ns_slot_map_note(&map, &head, scan);
		}
		assert_number(ns_slot_map_sum(&map, 2, scan, &block), cases[i].is_whole);
		assert_false(ns_slot_map_sum(&map, 1, scan, &block));
		if (!cases[i].is_whole)
			continue;
		assert_number(ns_slot_map_is_hot(&map, 2), cases[i].is_hot);
		assert_true(ns_slot_map_sum(&map, 2, scan, &block));
		assert_true(fabsf(block.score - sum / 8) < 0.01f);
		assert_number(block.bytes, 8 * FULL);
		assert_number(block.offset, 16 * FULL);
		assert_number(ns_slot_map_block(&map, block.offset)[5].hash, 5);
	}
	ns_slot_map_release(&map);
}

/* ---- who was moved ---- */

static void who_was_moved_stays_for_a_while(void **state)
{
	struct ns_moved moved;

	(void)state;
	assert_true(ns_moved_create(&moved, 16));
	assert_false(ns_moved_lately(&moved, 0, 2));
	ns_moved_note(&moved, 0x100000003, 100);
	assert_true(ns_moved_lately(&moved, 0x100000003, 100));
	assert_true(ns_moved_lately(&moved, 0x100000003, 100 + NS_STAYS_S - 1));
	assert_false(ns_moved_lately(&moved, 0x100000003, 100 + NS_STAYS_S));
	assert_false(ns_moved_lately(&moved, 0x200000003, 100));
	ns_moved_note(&moved, 0x200000013, 101);
	assert_false(ns_moved_lately(&moved, 0x100000003, 101));
	ns_moved_release(&moved);
}

/* ---- the rate ---- */

static void no_more_than_the_rate_is_copied(void **state)
{
	const int64_t second_ns = 1000000000;
	uint64_t copied = 0;
	struct ns_rate rate;

	(void)state;
	ns_rate_begin(&rate, 1000000, 0);
	for (int64_t now_ns = 0; now_ns < 10 * second_ns; now_ns += second_ns / 1000) {
		if (ns_rate_wait_ns(&rate, now_ns) > 0)
			continue;
		copied += 4096;
		ns_rate_take(&rate, 4096);
	}
	assert_true(copied > 9900000 && copied < 10200000);
}

static void what_is_too_much_at_once_is_waited_for(void **state)
{
	struct ns_rate rate;

	(void)state;
	ns_rate_begin(&rate, 1000, 0);
	assert_number(ns_rate_wait_ns(&rate, 0), 0);
	ns_rate_take(&rate, 2100); /* of 100 that there are */
	assert_true(labs((long)ns_rate_wait_ns(&rate, 0) - 2000000000) < 10);
	assert_true(labs((long)ns_rate_wait_ns(&rate, 1000000000) - 1000000000) < 10);
	assert_number(ns_rate_wait_ns(&rate, 2000000010), 0);
	/* Nothing is saved up beyond a tenth of a second. */
	assert_number(ns_rate_wait_ns(&rate, INT64_C(1000000000000)), 0);
	ns_rate_take(&rate, 101);
	assert_true(ns_rate_wait_ns(&rate, INT64_C(1000000000000)) > 0);
}

static void without_a_rate_nothing_waits(void **state)
{
	struct ns_rate rate;

	(void)state;
	ns_rate_begin(&rate, 0, 0);
	ns_rate_take(&rate, UINT64_MAX);
	assert_number(ns_rate_wait_ns(&rate, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minute_leaves_its_part_of_a_score),
		cmocka_unit_test(a_score_stays_a_number),
		cmocka_unit_test(without_a_time_of_reading_nothing_decays),
		cmocka_unit_test(a_move_pays_when_it_saves_more_than_it_copies),
		cmocka_unit_test(the_best_are_kept_in_order),
		cmocka_unit_test(every_size_has_a_class),
		cmocka_unit_test(room_is_made_by_who_is_large_and_cold_enough),
		cmocka_unit_test(nobody_makes_room_twice),
		cmocka_unit_test(a_block_is_hot_when_most_of_its_heads_are),
		cmocka_unit_test(who_was_moved_stays_for_a_while),
		cmocka_unit_test(no_more_than_the_rate_is_copied),
		cmocka_unit_test(what_is_too_much_at_once_is_waited_for),
		cmocka_unit_test(without_a_rate_nothing_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
