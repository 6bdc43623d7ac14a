/* SPDX-License-Identifier: BSD-3-Clause */
/* Where objects go, and who goes when there is no room. */
#include "made_store.h"

#include <stdio.h>
#include <store/store_parts.h>

enum { FULL_HEADS = MADE_BLOCK / MADE_HEAD };

/* Sets an object of a full head; 0 or as ns_draft_begin(). */
static int set_full(struct made *made, const char *prefix, int number, struct np_error *err)
{
	char key[32];
	static char value[MADE_HEAD];
	struct ns_draft draft;
	uint64_t cas;
	int rc;

	(void)snprintf(key, sizeof(key), "%s%d", prefix, number);
	memset(value, 'v', sizeof(value));
	rc = made_draft(made, key, value, sizeof(value), &draft, err);
	if (rc == 0)
		assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 0, &cas), NS_STORED);
	return rc;
}

static void fill(struct made *made, const char *prefix, int count)
{
	struct np_error err;

	for (int i = 0; i < count; i++)
		assert_np_ok(set_full(made, prefix, i, &err), &err);
}

static uint64_t objects_in(struct made *made, size_t arena)
{
	return ns_store_arena(made->store, arena).objects;
}

/* The node of a key's head. */
static unsigned node_of(struct made *made, const char *key)
{
	const struct ns_object *object = made_get(made, key);
	unsigned node;

	assert_non_null(object);
	node = made->arenas[object->arena].plan.node;
	ns_object_unpin(made->thread, object);
	return node;
}

static void room_is_sought_everywhere_before_anybody_goes(void **state)
{
	struct made made = made_default(3, 2);
	struct np_error err;

	(void)state;
	made_create(&made);
	fill(&made, "a", 6 * FULL_HEADS);
	for (size_t i = 0; i < 3; i++)
		assert_number(objects_in(&made, i), 2 * FULL_HEADS);
	assert_number(made_counts(&made).evictions, 0);

	assert_np_ok(set_full(&made, "b", 0, &err), &err);
	assert_number(made_counts(&made).evictions, 1);
	assert_number(made_counts(&made).evicted_unfetched, 1);
	assert_number(made_counts(&made).objects, 6 * FULL_HEADS);
	assert_number(node_of(&made, "b0"), 1);
	made_destroy(&made);
}

static void nobody_goes_where_nobody_may(void **state)
{
	struct made made = made_default(1, 1);
	struct np_error err;

	(void)state;
	made.config.no_evict = true;
	made_create(&made);
	fill(&made, "a", FULL_HEADS);
	assert_fails(set_full(&made, "b", 0, &err), -ENOSPC, &err,
	             "no room for 4096 bytes on any node, and nothing may be evicted");
	assert_number(made_counts(&made).out_of_memory, 1);
	assert_number(made_counts(&made).objects, FULL_HEADS);

	/* What was flushed has no say. */
	ns_store_flush(made.store, made.now_s);
	assert_np_ok(set_full(&made, "b", 0, &err), &err);
	assert_number(made_counts(&made).evictions, 0);
	made_destroy(&made);
}

static void who_is_being_sent_gives_no_room_yet(void **state)
{
	struct made made = made_default(1, 1);
	const struct ns_object *pinned[FULL_HEADS];
	struct np_error err;

	(void)state;
	made_create(&made);
	fill(&made, "a", FULL_HEADS);
	for (int i = 0; i < FULL_HEADS; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "a%d", i);
		pinned[i] = made_get(&made, key);
		assert_non_null(pinned[i]);
	}
	assert_fails(set_full(&made, "b", 0, &err), -ENOSPC, &err,
	             "nothing that may be evicted makes enough");
	assert_number(made_counts(&made).objects, 0);

	ns_object_unpin(made.thread, pinned[0]);
	assert_np_ok(set_full(&made, "b", 0, &err), &err);
	for (int i = 1; i < FULL_HEADS; i++) {
		size_t size;
		const char *head = ns_object_head(made.store, pinned[i], &size);

		assert_number(size, MADE_HEAD);
		for (size_t j = 0; j < size; j++)
			assert_number(head[j], 'v');
		ns_object_unpin(made.thread, pinned[i]);
	}
	ns_thread_rest(made.thread);
	assert_number(ns_store_arena(made.store, 0).heads.heads, 1);
	made_destroy(&made);
}

static void a_draft_that_is_never_stored_gives_its_room_back(void **state)
{
	struct made made = made_default(1, 1);
	struct ns_draft draft;
	struct np_error err;

	(void)state;
	made_create(&made);
	for (int i = 0; i < 10 * FULL_HEADS; i++) {
		assert_np_ok(made_draft(&made, "a", "12345678", 8, &draft, &err), &err);
		ns_draft_drop(made.thread, &draft);
	}
	assert_number(ns_store_arena(made.store, 0).heads.heads, 0);
	made_destroy(&made);
}

static void the_limit_on_objects_is_kept(void **state)
{
	struct made made = made_default(2, 4);

	(void)state;
	made.config.objects_max = 10;
	made_create(&made);
	fill(&made, "a", 10);
	fill(&made, "a", 10);
	assert_number(made_counts(&made).evictions, 0);
	fill(&made, "b", 25);
	assert_number(made_counts(&made).objects, 10);
	assert_number(made_counts(&made).evictions, 25);
	assert_number(ns_store_arena(made.store, 0).heads.heads, 10);
	made_destroy(&made);
}

static void the_limit_on_objects_refuses_where_nobody_may_go(void **state)
{
	struct made made = made_default(1, 4);
	struct np_error err;

	(void)state;
	made.config.objects_max = 10;
	made.config.no_evict = true;
	made_create(&made);
	fill(&made, "a", 10);
	assert_fails(set_full(&made, "b", 0, &err), -ENOSPC, &err, "nothing may be evicted");
	assert_np_ok(set_full(&made, "a", 3, &err), &err);
	assert_number(made_counts(&made).objects, 10);
	made_destroy(&made);
}

static void empty_objects_have_a_limit_too(void **state)
{
	struct made made = made_default(1, 1);

	(void)state;
	made_create(&made);
	for (int i = 0; i < 5000; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "%d", i);
		made_set(&made, key, "");
	}
	assert_number(made_counts(&made).objects, MADE_BLOCK / 64 + 1);
	made_destroy(&made);
}

/* ---- placing ---- */

/* Small objects until there is no room, then again in another order: blocks are mixed well. */
static int fill_with_small(struct made *made, size_t value_bytes)
{
	char value[MADE_HEAD];
	char key[32];
	uint64_t random = 1;
	int count = 0;

	memset(value, 's', sizeof(value));
	value[value_bytes] = '\0';
	while (made_counts(made).evictions == 0) {
		(void)snprintf(key, sizeof(key), "s%d", count++);
		made_set(made, key, value);
	}
	for (int i = 0; i < count; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		(void)snprintf(key, sizeof(key), "s%d", (int)((random >> 33) % (unsigned)count));
		made_set(made, key, value);
		ns_thread_rest(made->thread);
	}
	return count;
}

static void a_full_head_gets_in_where_all_is_full_of_small_ones(void **state)
{
	struct made made = made_default(1, 64);
	struct np_error err;
	int count;

	(void)state;
	made_create(&made);
	count = fill_with_small(&made, 20);
	for (int i = 0; i < FULL_HEADS; i++) {
		assert_np_ok(set_full(&made, "b", i, &err), &err);
		ns_thread_rest(made.thread);
	}
	for (int i = 0; i < FULL_HEADS; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "b%d", i);
		assert_number(node_of(&made, key), 1);
	}
	/* For one block of them two were emptied, and not all that was there has gone. */
	assert_true(made_counts(&made).objects > (uint64_t)count * 9 / 10);
	made_destroy(&made);
}

static void no_call_has_to_empty_blocks_all_alone(void **state)
{
	(void)state;
	for (int alone = 0; alone < 2; alone++) {
		struct made made = made_default(1, 192);
		struct np_error err;
		unsigned tries = 0;
		int count;

		check_case(alone ? "he comes once more" : "he tries until it works");
		made.config.objects_max = 1 << 20;
		made_create(&made);
		count = fill_with_small(&made, 20);
		assert_true(count > NS_LOOKS_FOR_ROOM);
		assert_fails(set_full(&made, "b", 0, &err), -ENOSPC, &err,
		             "blocks are still being emptied: try again");
		/* Others who store go on with it, and so does the sweep. */
		while (alone && ns_room_is_emptying(made.store, 0)) {
			(void)ns_store_sweep(made.thread, made.now_s, 100);
			assert_true(tries++ < 40000);
		}
		while (set_full(&made, "b", 0, &err) < 0) {
			assert_false(alone);
			assert_true(tries++ < 100);
		}
		assert_number(node_of(&made, "b0"), 1);
		assert_true(made_counts(&made).objects > (uint64_t)count * 3 / 4);
		made_destroy(&made);
	}
}

static void a_small_one_gets_in_where_all_is_full_of_full_heads(void **state)
{
	struct made made = made_default(1, 64);
	char value[3001];

	(void)state;
	made_create(&made);
	fill(&made, "a", 64 * FULL_HEADS);
	memset(value, 'v', 3000);
	value[3000] = '\0';
	for (int i = 0; i < 20; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "b%d", i);
		made_set(&made, key, value);
		ns_thread_rest(made.thread);
		assert_string_equal(made_value(&made, key), value);
	}
	assert_true(made_counts(&made).objects > UINT64_C(60) * FULL_HEADS);
	made_destroy(&made);
}

static void blocks_of_which_something_is_sent_are_left_alone(void **state)
{
	struct made made = made_default(1, 2);
	const struct ns_object *pinned[2];
	struct np_error err;

	(void)state;
	made_create(&made);
	(void)fill_with_small(&made, 1000);
	/* One in each block. */
	for (int block = 0; block < 2; block++) {
		pinned[block] = NULL;
		for (int i = 0; pinned[block] == NULL; i++) {
			char key[16];

			(void)snprintf(key, sizeof(key), "s%d", i);
			pinned[block] = made_get(&made, key);
			if (pinned[block] == NULL ||
			    (int)(pinned[block]->head / MADE_BLOCK) == block)
				continue;
			ns_object_unpin(made.thread, pinned[block]);
			pinned[block] = NULL;
		}
	}
	assert_fails(set_full(&made, "b", 0, &err), -ENOSPC, &err, "nothing that may be evicted");
	/* What else was there has gone, and small ones find their place. */
	made_set(&made, "c", "small");
	assert_string_equal(made_value(&made, "c"), "small");
	ns_object_unpin(made.thread, pinned[1]);
	assert_np_ok(set_full(&made, "b", 0, &err), &err);
	assert_number(pinned[0]->head / MADE_BLOCK, 0);
	ns_object_unpin(made.thread, pinned[0]);
	ns_thread_rest(made.thread);
	made_destroy(&made);
}

static void rules_are_told_the_longest_prefix_first(void **state)
{
	static const struct ns_place_rule rules[] = { { "a", NS_PLACE_LOCAL, 0 },
		                                      { "abc", NS_PLACE_FAR, 0 },
		                                      { "", NS_PLACE_NODE, 0 } };
	static const struct ns_place_rule told[] = { { "abc", NS_PLACE_FAR, 2 },
		                                     { "a", NS_PLACE_LOCAL, 1 },
		                                     { "", NS_PLACE_NODE, 0 } };
	struct made made = made_default(3, 1);
	struct ns_place_rule rule;

	(void)state;
	made_create(&made);
	assert_false(ns_store_rule(made.thread, 0, &rule));
	assert_np_ok(ns_store_place(made.store, rules, 3, NULL), NULL);
	for (size_t i = 0; i < 3; i++) {
		assert_true(ns_store_rule(made.thread, i, &rule));
		assert_string_equal(rule.prefix, told[i].prefix);
		assert_number(rule.place, told[i].place);
		assert_number(rule.node, told[i].node);
	}
	assert_false(ns_store_rule(made.thread, 3, &rule));
	made_destroy(&made);
}

static void the_longest_prefix_places_a_key(void **state)
{
	static const struct ns_place_rule rules[] = {
		{ "far:", NS_PLACE_FAR, 0 },      { "node", NS_PLACE_NODE, 0 },
		{ "node:two", NS_PLACE_NODE, 2 }, { "local", NS_PLACE_LOCAL, 0 },
		{ "twice", NS_PLACE_NODE, 0 },    { "twice", NS_PLACE_NODE, 2 },
	};
	static const struct {
		const char *key;
		unsigned node;
	} cases[] = {
		{ "other", 1 },  { "far:a", 2 },  { "far", 1 },
		{ "node", 0 },   { "node:x", 0 }, { "node:two-or-more", 2 },
		{ "local:", 1 }, { "twice", 2 },
	};
	struct made made = made_default(3, 2);

	(void)state;
	made.config.rules = rules;
	made.config.rule_count = sizeof(rules) / sizeof(rules[0]);
	made_create(&made);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("%s", cases[i].key);
		made_set(&made, cases[i].key, "v");
		assert_number(node_of(&made, cases[i].key), cases[i].node);
	}
	made_destroy(&made);
}

static void local_is_the_node_of_the_thread_else_the_nearest(void **state)
{
	static const struct ns_place_rule rule = { "", NS_PLACE_LOCAL, 0 };
	static const unsigned nodes[][2] = { { 0, 0 }, { 1, 1 }, { 2, 2 }, { 7, 1 } };
	struct made made = made_default(3, 2);

	(void)state;
	made_create(&made);
	assert_np_ok(ns_store_place(made.store, &rule, 1, NULL), NULL);
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		struct ns_thread *own = made.thread;

		check_case("thread of node %u", nodes[i][0]);
		made.thread = ns_thread_join(made.store, nodes[i][0]);
		made_set(&made, "a", "v");
		assert_number(node_of(&made, "a"), nodes[i][1]);
		ns_thread_leave(made.thread);
		made.thread = own;
		ns_thread_rest(own);
	}
	made_destroy(&made);
}

static void a_rule_keeps_its_keys_on_its_node(void **state)
{
	static const struct ns_place_rule rule = { "far", NS_PLACE_FAR, 0 };
	struct made made = made_default(2, 1);

	(void)state;
	made_create(&made);
	assert_np_ok(ns_store_place(made.store, &rule, 1, NULL), NULL);
	fill(&made, "far", 3 * FULL_HEADS);
	assert_number(objects_in(&made, 0), 0);
	assert_number(objects_in(&made, 1), FULL_HEADS);

	/* From now on; what is there stays where it is. */
	assert_np_ok(ns_store_place(made.store, NULL, 0, NULL), NULL);
	fill(&made, "far2-", FULL_HEADS);
	assert_number(objects_in(&made, 0), FULL_HEADS);
	assert_number(objects_in(&made, 1), FULL_HEADS);
	made_destroy(&made);
}

static void a_rule_that_cannot_be_kept_changes_nothing(void **state)
{
	static const struct ns_place_rule good = { "a", NS_PLACE_NODE, 0 };
	static const struct ns_place_rule bad[] = { { "a", NS_PLACE_NODE, 1 },
		                                    { "b", NS_PLACE_NODE, 5 } };
	static struct ns_place_rule many[257];
	struct made made = made_default(2, 1);
	struct np_error err;

	(void)state;
	made_create(&made);
	assert_np_ok(ns_store_place(made.store, &good, 1, &err), &err);
	assert_fails(ns_store_place(made.store, bad, 2, &err), -EINVAL, &err,
	             "place 'b': node 5 has no arena");
	for (size_t i = 0; i < 257; i++)
		many[i] = good;
	assert_fails(ns_store_place(made.store, many, 257, &err), -EINVAL, &err, "at most 256");
	made_set(&made, "a", "v");
	assert_number(node_of(&made, "a"), 0);
	made_destroy(&made);
}

static void what_is_served_is_counted_by_node(void **state)
{
	static const struct ns_place_rule rule = { "far", NS_PLACE_FAR, 0 };
	struct made made = made_default(3, 1);
	const struct ns_object *object;
	struct ns_counts counts;

	(void)state;
	made_create(&made);
	assert_np_ok(ns_store_place(made.store, &rule, 1, NULL), NULL);
	made_set(&made, "far", "12345");
	made_set(&made, "near", "123");
	object = made_get(&made, "far");
	ns_thread_served(made.thread, object, 5);
	ns_object_unpin(made.thread, object);
	object = made_get(&made, "near");
	ns_thread_served(made.thread, object, 3);
	ns_thread_served(made.thread, object, 2);
	ns_object_unpin(made.thread, object);

	counts = made_counts(&made);
	assert_number(counts.local_heads, 2);
	assert_number(counts.local_bytes, 5);
	assert_number(counts.remote_heads, 1);
	assert_number(counts.remote_bytes, 5);
	assert_number(ns_store_served(made.store, 1, 1).bytes, 5);
	assert_number(ns_store_served(made.store, 1, 2).bytes, 5);
	assert_number(ns_store_served(made.store, 1, 0).bytes, 0);
	assert_number(ns_store_served(made.store, 2, 2).bytes, 0);
	made_destroy(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room_is_sought_everywhere_before_anybody_goes),
		cmocka_unit_test(nobody_goes_where_nobody_may),
		cmocka_unit_test(who_is_being_sent_gives_no_room_yet),
		cmocka_unit_test(a_draft_that_is_never_stored_gives_its_room_back),
		cmocka_unit_test(the_limit_on_objects_is_kept),
		cmocka_unit_test(the_limit_on_objects_refuses_where_nobody_may_go),
		cmocka_unit_test(empty_objects_have_a_limit_too),
		cmocka_unit_test(a_full_head_gets_in_where_all_is_full_of_small_ones),
		cmocka_unit_test(no_call_has_to_empty_blocks_all_alone),
		cmocka_unit_test(a_small_one_gets_in_where_all_is_full_of_full_heads),
		cmocka_unit_test(blocks_of_which_something_is_sent_are_left_alone),
		cmocka_unit_test(rules_are_told_the_longest_prefix_first),
		cmocka_unit_test(the_longest_prefix_places_a_key),
		cmocka_unit_test(local_is_the_node_of_the_thread_else_the_nearest),
		cmocka_unit_test(a_rule_keeps_its_keys_on_its_node),
		cmocka_unit_test(a_rule_that_cannot_be_kept_changes_nothing),
		cmocka_unit_test(what_is_served_is_counted_by_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
