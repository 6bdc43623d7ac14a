/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../server/client/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEED UINT64_C(0x243f6a8885a308d3)

enum { ARMS_MAX = 8, PERMUTATIONS = 6 };

static const enum nl_order_kind kinds[] = { NL_ORDER_RANDOM, NL_ORDER_ABBA, NL_ORDER_FIXED };

static struct nl_order_plan plan_of(enum nl_order_kind kind, unsigned arms, uint32_t block,
                                    uint64_t requests)
{
	return (struct nl_order_plan){ .kind = kind,
		                       .arms = arms,
		                       .block = block,
		                       .requests = requests,
		                       .seed = SEED,
		                       .keys = 1000 };
}

/* The arms of the first @count requests, as letters. */
static char *letters(const struct nl_order_plan *plan, size_t count)
{
	char *text = calloc(1, count + 1);
	struct nl_order order;
	uint32_t key;
	unsigned arm;

	assert_non_null(text);
	nl_order_begin(&order, plan);
	for (size_t i = 0; i < count && nl_order_next(&order, &arm, &key); i++)
		text[i] = (char)('a' + arm);
	return text;
}

static uint64_t sequence_hash(const struct nl_order_plan *plan)
{
	uint64_t hash = NL_SEQUENCE_HASH_BASIS;
	struct nl_sequence sequence;

	nl_sequence_begin(&sequence, plan->seed, plan->keys, plan->worker);
	for (uint64_t i = 0; i < plan->requests; i++)
		hash = nl_sequence_hash(hash, nl_sequence_next(&sequence));
	return hash;
}

static void check_arms(const struct nl_order_plan *plan)
{
	uint64_t hashes[ARMS_MAX];
	uint64_t counts[ARMS_MAX] = { 0 };
	struct nl_order order;
	uint32_t key;
	unsigned arm;

	for (unsigned i = 0; i < plan->arms; i++)
		hashes[i] = NL_SEQUENCE_HASH_BASIS;
	nl_order_begin(&order, plan);
	while (nl_order_next(&order, &arm, &key)) {
		assert_true(arm < plan->arms);
		hashes[arm] = nl_sequence_hash(hashes[arm], key);
		counts[arm]++;
	}
	for (unsigned i = 0; i < plan->arms; i++) {
		assert_number(counts[i], plan->requests);
		assert_true(hashes[i] == sequence_hash(plan));
	}
}

static void every_arm_gets_the_whole_sequence(void **state)
{
	static const struct {
		unsigned arms;
		uint32_t block;
		uint64_t requests;
	} cases[] = {
		{ 1, 1, 1 },      { 1, 7, 100 },  { 2, 1, 1000 },      { 2, 3, 1000 },
		{ 3, 100, 1000 }, { 5, 64, 999 }, { 8, 1000000, 100 }, { 2, UINT32_MAX, 10 }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct nl_order_plan plan =
				plan_of(kinds[k], cases[i].arms, cases[i].block, cases[i].requests);

			check_case("%u arms, blocks of %u, %s", cases[i].arms, cases[i].block,
			           nl_order_name(kinds[k]));
			check_arms(&plan);
		}
}

static void all_arms_of_a_block_get_the_same_keys(void **state)
{
	struct nl_order_plan plan = plan_of(NL_ORDER_RANDOM, 3, 4, 10);
	uint32_t first[4] = { 0 };
	struct nl_order order;
	uint32_t key;
	unsigned arm;

	(void)state;
	nl_order_begin(&order, &plan);
	/* Blocks of 4, 4 and, at the end, 2 keys. */
	for (unsigned block = 0; block < 3; block++)
		for (unsigned i = 0; i < 3 * (block < 2 ? 4u : 2u); i++) {
			unsigned at = i % (block < 2 ? 4 : 2);

			assert_true(nl_order_next(&order, &arm, &key));
			if (i == at)
				first[at] = key;
			assert_number(key, first[at]);
		}
	assert_false(nl_order_next(&order, &arm, &key));
	assert_false(nl_order_next(&order, &arm, &key));
}

static void abba_turns_back_in_every_second_block(void **state)
{
	static const struct {
		unsigned arms;
		uint32_t block;
		const char *letters;
	} cases[] = {
		{ 2, 1, "abbaabba" },
		{ 2, 2, "aabbbbaaaabb" },
		{ 3, 1, "abccbaabc" },
		{ 1, 2, "aaaa" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_order_plan plan =
			plan_of(NL_ORDER_ABBA, cases[i].arms, cases[i].block, 1000);
		char *found = letters(&plan, strlen(cases[i].letters));

		assert_text(found, cases[i].letters);
		free(found);
	}
}

static void a_fixed_order_stays_as_named(void **state)
{
	struct nl_order_plan plan = plan_of(NL_ORDER_FIXED, 3, 2, 5);
	char *found = letters(&plan, 100);

	(void)state;
	assert_text(found, "aabbccaabbccabc");
	free(found);
}

static void random_orders_are_equally_frequent(void **state)
{
	enum { BLOCKS = 60000 };
	struct nl_order_plan plan = plan_of(NL_ORDER_RANDOM, 3, 1, BLOCKS);
	char *found = letters(&plan, 3 * (size_t)BLOCKS);
	double expected = (double)BLOCKS / PERMUTATIONS;
	unsigned counts[3][3] = { { 0 } };
	double chi_square = 0;

	(void)state;
	for (size_t i = 0; i < BLOCKS; i++) {
		const char *block = found + 3 * i;

		assert_true(block[0] != block[1] && block[1] != block[2] && block[0] != block[2]);
		counts[block[0] - 'a'][block[1] - 'a']++;
	}
	for (unsigned a = 0; a < 3; a++)
		for (unsigned b = 0; b < 3; b++)
			if (a != b)
				chi_square += (counts[a][b] - expected) *
				              (counts[a][b] - expected) / expected;
	/* 5 degrees of freedom: 20.5 is exceeded once in 1000. */
	assert_true(chi_square < 20.5);
	free(found);
}

static void the_seed_alone_makes_the_order(void **state)
{
	struct nl_order_plan plan = plan_of(NL_ORDER_RANDOM, 4, 1, 100);
	char *one = letters(&plan, 400);
	char *same = letters(&plan, 400);
	char *other;

	(void)state;
	plan.seed++;
	other = letters(&plan, 400);
	assert_text(same, one);
	assert_string_not_equal(other, one);
	free(one);
	free(same);
	free(other);
}

static void another_worker_asks_for_other_keys(void **state)
{
	struct nl_order_plan plan = plan_of(NL_ORDER_FIXED, 1, 1, 1000);
	uint64_t measured = sequence_hash(&plan);

	(void)state;
	plan.worker = 1;
	assert_true(sequence_hash(&plan) != measured);
	check_arms(&plan);
}

static void orders_have_names(void **state)
{
	struct np_error err = { 0 };
	enum nl_order_kind kind;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_np_ok(nl_order_parse(nl_order_name(kinds[i]), &kind, &err), &err);
		assert_number(kind, kinds[i]);
	}
	assert_fails(nl_order_parse("ABBA\n", &kind, &err), -EINVAL, &err,
	             "--order: 'ABBA\\x0a' is none of random, abba, fixed");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_arm_gets_the_whole_sequence),
		cmocka_unit_test(all_arms_of_a_block_get_the_same_keys),
		cmocka_unit_test(abba_turns_back_in_every_second_block),
		cmocka_unit_test(a_fixed_order_stays_as_named),
		cmocka_unit_test(random_orders_are_equally_frequent),
		cmocka_unit_test(the_seed_alone_makes_the_order),
		cmocka_unit_test(another_worker_asks_for_other_keys),
		cmocka_unit_test(orders_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
