/* SPDX-License-Identifier: BSD-3-Clause */
/* Heads that move, in a store whose arenas are ordinary memory: node 1's is preferred. */
#include "made_store.h"

#include <stdio.h>
#include <store/promote.h>
#include <store/promote_parts.h>

enum { FULL_HEADS = MADE_BLOCK / MADE_HEAD, PREFERRED_NODE = 1 };

struct setting {
	struct made made;
	struct ns_promoter *promoter;
};

static void create_with(struct setting *setting, struct made made, uint64_t rate)
{
	made.config.increment = 1;
	made.config.decay = 0.5;
	setting->made = made;
	made_create(&setting->made);
	setting->promoter = ns_promoter_create(setting->made.store, PREFERRED_NODE, rate);
	assert_non_null(setting->promoter);
}

static void create(struct setting *setting, size_t arenas, size_t blocks)
{
	create_with(setting, made_default(arenas, blocks), 0);
}

static void destroy(struct setting *setting)
{
	ns_promoter_free(setting->promoter);
	made_destroy(&setting->made);
}

/* A promoter that thinks is here keeps what was freed from being used again. */
static uint64_t promote(struct setting *setting)
{
	uint64_t moved = ns_promoter_run(setting->promoter);

	ns_thread_rest(setting->made.thread);
	return moved;
}

/* "PREFIX" and a number; that many bytes, which tell the key. */
static const char *key_of(const char *prefix, int number)
{
	static char key[32];

	(void)snprintf(key, sizeof(key), "%s%d", prefix, number);
	return key;
}

static void make_value(char *value, const char *key, size_t size)
{
	for (size_t i = 0; i < size; i++)
		value[i] = key[i % strlen(key)];
}

static void set(struct made *made, const char *key, size_t size)
{
	char value[MADE_HEAD];
	struct ns_draft draft;
	struct np_error err;
	uint64_t cas;

	make_value(value, key, size);
	assert_np_ok(made_draft(made, key, value, size, &draft, &err), &err);
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 0, &cas), NS_STORED);
}

static void fill(struct made *made, const char *prefix, int count)
{
	for (int i = 0; i < count; i++)
		set(made, key_of(prefix, i), MADE_HEAD);
}

static void read_often(struct made *made, const char *key, int times)
{
	for (int i = 0; i < times; i++) {
		const struct ns_object *object = made_get(made, key);

		assert_non_null(object);
		ns_object_unpin(made->thread, object);
	}
}

/* Where its head is; its bytes are looked at as well. */
static unsigned node_of(struct made *made, const char *key)
{
	const struct ns_object *object = ns_store_peek(made->thread, key, strlen(key), made->now_s);
	char value[MADE_HEAD];
	unsigned node;
	size_t size;
	const char *head;

	check_case("%s", key);
	assert_non_null(object);
	head = ns_object_head(made->store, object, &size);
	assert_number(size, ns_object_bytes(object));
	make_value(value, key, size);
	assert_memory_equal(head, value, size);
	node = made->arenas[object->arena].plan.node;
	ns_object_unpin(made->thread, object);
	return node;
}

/* All objects are in the queues and the index, and hold what the arenas say is taken. */
static void check_sound(struct made *made)
{
	struct ns_counts counts;
	uint64_t objects = 0;

	ns_thread_rest(made->thread);
	counts = made_counts(made);
	for (size_t i = 0; i < made->arena_count; i++) {
		struct ns_arena_counts arena = ns_store_arena(made->store, i);

		assert_number(arena.heads.heads, arena.objects);
		assert_true(ns_heads_are_sound(made->store->arenas[i].heads));
		objects += arena.objects;
	}
	assert_number(counts.objects, objects);
}

static void a_hot_head_moves_to_where_there_is_room(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;
	struct ns_counts counts;

	(void)state;
	create(&setting, 2, 1);
	fill(made, "a", FULL_HEADS);
	fill(made, "b", 3);
	assert_number(node_of(made, "b1"), 0);
	read_often(made, "b1", 5);
	assert_number(ns_store_delete(made->thread, "a7", 2, 0), 0);
	assert_number(promote(&setting), 1);
	assert_number(node_of(made, "b1"), PREFERRED_NODE);
	assert_number(node_of(made, "b0"), 0);
	counts = made_counts(made);
	assert_number(counts.promotions, 1);
	assert_number(counts.promoted_bytes, MADE_HEAD);
	assert_number(counts.promotion_scans, 1);
	assert_number(counts.demotions, 0);
	assert_number(counts.objects, FULL_HEADS + 2);
	assert_number(counts.total_objects, FULL_HEADS + 3);
	assert_true(counts.promotion_ns > 0);
	assert_true(counts.promotion_max_ns > 0 && counts.promotion_max_ns <= counts.promotion_ns);
	check_sound(made);
	assert_number(promote(&setting), 0);
	ns_store_reset_counts(made->store);
	assert_number(made_counts(made).promotions, 0);
	assert_number(made_counts(made).promotion_max_ns, 0);
	destroy(&setting);
}

static void without_room_the_coldest_changes_places(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;
	struct ns_counts counts;

	(void)state;
	create(&setting, 3, 1);
	fill(made, "a", FULL_HEADS);
	fill(made, "b", 2);
	for (int i = 0; i < FULL_HEADS; i++)
		read_often(made, key_of("a", i), i == 5 ? 1 : 3);
	read_often(made, "b1", 20);
	assert_number(promote(&setting), 1);
	assert_number(node_of(made, "b1"), PREFERRED_NODE);
	assert_number(node_of(made, "a5"), 0);
	for (int i = 0; i < FULL_HEADS; i++)
		assert_number(node_of(made, key_of("a", i)), i == 5 ? 0 : PREFERRED_NODE);
	counts = made_counts(made);
	assert_number(counts.promotions, 1);
	assert_number(counts.demotions, 1);
	assert_number(counts.demoted_bytes, MADE_HEAD);
	assert_number(counts.evictions, 0);
	check_sound(made);

	/* Who had to go is hot now, and stays for a while all the same. */
	read_often(made, "a5", 500);
	assert_number(promote(&setting), 0);
	assert_number(node_of(made, "a5"), 0);
	destroy(&setting);
}

static void what_does_not_pay_stays(void **state)
{
	static const struct {
		const char *name;
		int hot_reads;
		int cold_reads; /* of all in the preferred arena; -1: one of them is not there */
		bool moves;
	} cases[] = {
		{ "never read, and room", 0, -1, false },
		{ "read once, and room", 1, -1, false },
		{ "read twice, and room", 2, -1, true },
		{ "read twice, no room", 2, 0, false },
		{ "read three times, no room", 3, 0, true },
		{ "twice as hot", 20, 10, false },
		{ "more than twice as hot", 21, 10, true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct setting setting;
		struct made *made = &setting.made;
		bool has_moved;

		create(&setting, 2, 1);
		fill(made, "a", FULL_HEADS);
		fill(made, "b", 1);
		for (int j = 0; j < FULL_HEADS; j++)
			read_often(made, key_of("a", j), cases[i].cold_reads);
		read_often(made, "b0", cases[i].hot_reads);
		if (cases[i].cold_reads < 0)
			assert_number(ns_store_delete(made->thread, "a0", 2, 0), 0);
		(void)promote(&setting);
		has_moved = node_of(made, "b0") == PREFERRED_NODE;
		check_case("%s", cases[i].name);
		assert_number(has_moved, cases[i].moves);
		assert_number(made_counts(made).promotion_refused_payback,
		              !cases[i].moves && cases[i].hot_reads > 0);
		destroy(&setting);
	}
}

static void short_heads_change_places_with_such_as_are_long_enough(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;
	int count = 0;

	(void)state;
	create(&setting, 2, 1);
	do
		set(made, key_of("a", count), count % 2 == 0 ? 300 : 900);
	while (node_of(made, key_of("a", count++)) == PREFERRED_NODE);
	set(made, "b", 700);
	assert_number(node_of(made, "b"), 0);
	read_often(made, "b", 30);
	assert_number(promote(&setting), 1);
	assert_number(node_of(made, "b"), PREFERRED_NODE);
	assert_number(made_counts(made).demotions, 1);
	assert_number(made_counts(made).demoted_bytes, 900);
	for (int i = 0; i < count; i++)
		(void)node_of(made, key_of("a", i));
	check_sound(made);
	destroy(&setting);
}

static void nobody_is_evicted_while_there_is_room_elsewhere(void **state)
{
	static const struct {
		const char *name;
		int in_last; /* heads in the last arena */
		bool no_evict;
		int evictions;
		bool moves;
		int refused;
	} cases[] = {
		{ "room elsewhere", FULL_HEADS - 1, false, 0, true, 0 },
		{ "no room", FULL_HEADS, false, 1, true, 0 },
		{ "no room, and nobody may go", FULL_HEADS, true, 0, false, 1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made plain = made_default(3, 1);
		struct setting setting;
		struct made *made = &setting.made;

		plain.config.no_evict = cases[i].no_evict;
		create_with(&setting, plain, 0);
		fill(made, "a", FULL_HEADS);
		fill(made, "b", FULL_HEADS);
		fill(made, "c", cases[i].in_last);
		read_often(made, "b3", 20);
		assert_number(promote(&setting), cases[i].moves);
		assert_number(node_of(made, "b3"), cases[i].moves ? PREFERRED_NODE : 0);
		check_case("%s", cases[i].name);
		assert_number(made_counts(made).evictions, cases[i].evictions);
		assert_number(made_counts(made).promotion_refused_room, cases[i].refused);
		check_sound(made);
		destroy(&setting);
	}
}

static void keys_with_a_place_are_never_moved(void **state)
{
	static const struct ns_place_rule rules[] = { { "far-", NS_PLACE_FAR, 0 },
		                                      { "near-", NS_PLACE_NODE, 1 } };
	struct made plain = made_default(2, 1);
	struct setting setting;
	struct made *made = &setting.made;

	(void)state;
	plain.config.rules = rules;
	plain.config.rule_count = 2;
	create_with(&setting, plain, 0);
	set(made, "far-1", MADE_HEAD);
	read_often(made, "far-1", 50);
	assert_number(promote(&setting), 0);
	assert_number(node_of(made, "far-1"), 0);

	/* Nor do they make room. */
	fill(made, "near-", FULL_HEADS);
	set(made, "b", MADE_HEAD);
	read_often(made, "b", 50);
	assert_number(promote(&setting), 0);
	assert_number(node_of(made, "b"), 0);
	for (int i = 0; i < FULL_HEADS; i++)
		assert_number(node_of(made, key_of("near-", i)), PREFERRED_NODE);

	/* Without the rules they do. */
	assert_np_ok(ns_store_place(made->store, NULL, 0, NULL), NULL);
	assert_number(promote(&setting), 2);
	assert_number(node_of(made, "far-1"), PREFERRED_NODE);
	check_sound(made);
	destroy(&setting);
}

static void no_more_than_the_rate_allows_is_moved(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;

	(void)state;
	create_with(&setting, made_default(2, 2), 1); /* byte a second */
	fill(made, "a", 2 * FULL_HEADS);
	fill(made, "b", 3);
	for (int i = 0; i < 3; i++)
		read_often(made, key_of("b", i), 10 + i);
	for (int i = 0; i < 3; i++)
		assert_number(ns_store_delete(made->thread, key_of("a", i), 2, 0), 0);
	assert_number(promote(&setting), 1);
	assert_number(node_of(made, "b2"), PREFERRED_NODE); /* the hottest */
	assert_number(made_counts(made).promotion_refused_rate, 2);
	assert_number(promote(&setting), 0);
	assert_number(made_counts(made).promotion_refused_rate, 4);
	destroy(&setting);
}

/* ---- blocks ---- */

static void a_hot_block_moves_in_one_go(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;

	(void)state;
	create(&setting, 2, 2);
	fill(made, "a", 2 * FULL_HEADS);
	fill(made, "b", 2 * FULL_HEADS);
	for (int i = 0; i < FULL_HEADS; i++)
		read_often(made, key_of("b", i), 10);
	for (int i = 0; i < FULL_HEADS; i++)
		assert_number(
			ns_store_delete(made->thread, key_of("a", i), strlen(key_of("a", i)), 0),
			0);
	assert_number(promote(&setting), FULL_HEADS);
	assert_number(made_counts(made).promotion_blocks, 1);
	assert_number(made_counts(made).promotions, FULL_HEADS);
	assert_number(made_counts(made).promoted_bytes, MADE_BLOCK);
	for (int i = 0; i < 2 * FULL_HEADS; i++)
		assert_number(node_of(made, key_of("b", i)), i < FULL_HEADS ? PREFERRED_NODE : 0);
	assert_number(ns_store_arena(made->store, 1).heads.free_blocks, 1);
	check_sound(made);
	destroy(&setting);
}

static void a_hot_block_changes_places_with_the_coldest(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;

	(void)state;
	create(&setting, 2, 3);
	fill(made, "a", 3 * FULL_HEADS);
	fill(made, "b", 2 * FULL_HEADS);
	for (int i = 0; i < 3 * FULL_HEADS; i++)
		read_often(made, key_of("a", i), i / FULL_HEADS == 1 ? 1 : 5);
	for (int i = 0; i < FULL_HEADS; i++)
		read_often(made, key_of("b", i), 20);
	assert_number(promote(&setting), FULL_HEADS);
	assert_number(made_counts(made).promotion_blocks, 1);
	assert_number(made_counts(made).demotions, FULL_HEADS);
	assert_number(made_counts(made).evictions, 0);
	for (int i = 0; i < 2 * FULL_HEADS; i++)
		assert_number(node_of(made, key_of("b", i)), i < FULL_HEADS ? PREFERRED_NODE : 0);
	for (int i = 0; i < 3 * FULL_HEADS; i++)
		assert_number(node_of(made, key_of("a", i)),
		              i / FULL_HEADS == 1 ? 0 : PREFERRED_NODE);
	check_sound(made);
	destroy(&setting);
}

/* ---- what happens while a head is copied ---- */

/* Begins a move of "b" from the second arena to the first, and leaves the end to the caller. */
struct half_moved {
	struct setting setting;
	struct ns_object *object;
	struct ns_room room;
};

static void begin_move(struct half_moved *half)
{
	struct made *made = &half->setting.made;
	const struct ns_object *found;
	struct ns_seen_head seen;

	create(&half->setting, 2, 1);
	fill(made, "a", FULL_HEADS);
	set(made, "b", MADE_HEAD);
	read_often(made, "b", 5);
	assert_number(ns_store_delete(made->thread, "a0", 2, 0), 0);
	found = made_get(made, "b");
	seen = (struct ns_seen_head){ .hash = found->hash, .offset = found->head, .arena = 1 };
	ns_object_unpin(made->thread, found);
	half->object = ns_move_pin(made->thread, &seen, made->now_s);
	assert_ptr_equal(half->object, found);
	half->room = (struct ns_room){
		.offset = ns_room_take_free(&made->store->arenas[0], MADE_HEAD),
	};
	assert_true(half->room.offset != NS_NO_HEAD);
}

static bool end_move(struct half_moved *half)
{
	struct made *made = &half->setting.made;

	return ns_move_to(made->thread, half->object, &half->room, made->now_s);
}

static void do_nothing(struct made *made)
{
	(void)made;
}

static void touch(struct made *made)
{
	assert_number(ns_store_touch(made->thread, "b", 1, 12345), 0);
}

static void win(struct made *made)
{
	const struct ns_object *object = made_get(made, "b");

	(void)ns_object_mark(object, NS_MARK_WINNER, 0);
	ns_object_unpin(made->thread, object);
}

static void overwrite(struct made *made)
{
	set(made, "b", MADE_HEAD - 1);
}

static void delete (struct made *made)
{
	assert_number(ns_store_delete(made->thread, "b", 1, 0), 0);
}

static void invalidate(struct made *made)
{
	assert_number(ns_store_invalidate(made->thread, "b", 1, 0, UINT32_MAX), 0);
}

static void flush(struct made *made)
{
	ns_store_flush(made->store, made->now_s);
}

static void expire(struct made *made)
{
	assert_number(ns_store_touch(made->thread, "b", 1, 1), 0);
}

static void what_others_do_meanwhile_is_not_lost(void **state)
{
	static const struct {
		const char *name;
		void (*change)(struct made *made);
		uint64_t bytes; /* 0: it is not there afterwards */
		uint32_t expires_s;
		uint8_t marks;
		bool moves;
	} cases[] = {
		{ "nothing", do_nothing, MADE_HEAD, 0, NS_MARK_FETCHED, true },
		{ "touch", touch, MADE_HEAD, 12345, NS_MARK_FETCHED, true },
		{ "a mark", win, MADE_HEAD, 0, NS_MARK_FETCHED | NS_MARK_WINNER, true },
		{ "set", overwrite, MADE_HEAD - 1, 0, NS_MARK_FETCHED, false },
		{ "delete", delete, 0, 0, 0, false },
		{ "invalidate", invalidate, MADE_HEAD, 0, NS_MARK_FETCHED | NS_MARK_STALE, false },
		{ "flush", flush, 0, 0, 0, false },
		{ "expire", expire, 0, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct half_moved half;
		struct made *made = &half.setting.made;
		const struct ns_object *object;
		uint64_t cas;

		begin_move(&half);
		cases[i].change(made);
		cas = ns_object_cas(half.object);
		check_case("%s", cases[i].name);
		assert_number(end_move(&half), cases[i].moves);
		object = made_get(made, "b");
		assert_number(object != NULL, cases[i].bytes > 0);
		if (object != NULL) {
			assert_number(ns_object_bytes(object), cases[i].bytes);
			assert_number(object->expires_s, cases[i].expires_s);
			assert_number(ns_object_mark(object, 0, 0), cases[i].marks);
			if (cases[i].moves)
				assert_number(ns_object_cas(object), cas);
			ns_object_unpin(made->thread, object);
		}
		if (cases[i].moves)
			assert_number(node_of(made, "b"), PREFERRED_NODE);
		check_sound(made);
		destroy(&half.setting);
	}
}

static void one_of_two_wins_of_whom_one_found_it_before_it_moved(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		struct half_moved half;
		struct made *made = &half.setting.made;
		const struct ns_object *found[2];

		check_case("%s asks first", first == 0 ? "who found the old one" : "the other one");
		begin_move(&half);
		found[0] = made_get(made, "b");
		assert_true(end_move(&half));
		found[1] = made_get(made, "b");
		assert_ptr_not_equal(found[0], found[1]);
		assert_true(ns_store_win(made->thread, found[first]));
		assert_false(ns_store_win(made->thread, found[1 - first]));
		assert_false(ns_store_win(made->thread, found[first]));
		for (int i = 0; i < 2; i++)
			ns_object_unpin(made->thread, found[i]);
		check_sound(made);
		destroy(&half.setting);
	}
}

static void an_eviction_meanwhile_has_its_way(void **state)
{
	struct half_moved half;
	struct made *made = &half.setting.made;

	(void)state;
	begin_move(&half);
	assert_true(ns_room_evict_one(made->thread, 1)); /* nobody else is there */
	assert_false(end_move(&half));
	assert_null(made_get(made, "b"));
	check_sound(made);
	destroy(&half.setting);
}

static void who_reads_the_old_one_sees_it_whole(void **state)
{
	struct half_moved half;
	struct made *made = &half.setting.made;
	const struct ns_object *held;
	char value[MADE_HEAD];
	const char *head;
	size_t size;

	(void)state;
	begin_move(&half);
	held = made_get(made, "b");
	assert_true(end_move(&half));
	assert_number(node_of(made, "b"), PREFERRED_NODE);
	ns_thread_rest(made->thread);

	/* Nothing that is stored now gets its room. */
	fill(made, "c", FULL_HEADS);
	head = ns_object_head(made->store, held, &size);
	make_value(value, "b", MADE_HEAD);
	assert_number(size, MADE_HEAD);
	assert_memory_equal(head, value, size);
	assert_number(held->arena, 1);
	assert_number(ns_store_arena(made->store, 1).objects, FULL_HEADS - 1);
	assert_number(ns_store_arena(made->store, 1).heads.heads, FULL_HEADS);

	ns_object_unpin(made->thread, held);
	ns_thread_rest(made->thread);
	assert_number(ns_store_arena(made->store, 1).heads.heads, FULL_HEADS - 1);
	check_sound(made);
	destroy(&half.setting);
}

static void a_moved_object_goes_with_the_flush_that_it_was_before(void **state)
{
	struct half_moved half;
	struct made *made = &half.setting.made;

	(void)state;
	begin_move(&half);
	ns_store_flush(made->store, made->now_s + 100);
	assert_true(end_move(&half));
	assert_non_null(made_value_at(made, "b", made->now_s));
	assert_null(made_value_at(made, "b", made->now_s + 100));
	destroy(&half.setting);
}

/* ---- scores ---- */

static float score_of(struct made *made, const char *key, uint32_t now_s)
{
	const struct ns_object *object = ns_store_peek(made->thread, key, strlen(key), now_s);
	float score = ns_object_score(made->store, object, now_s);

	ns_object_unpin(made->thread, object);
	return score;
}

static void reads_raise_a_score_that_decays(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;

	(void)state;
	create(&setting, 2, 1);
	set(made, "k", 10);
	assert_number(score_of(made, "k", made->now_s), 0);
	read_often(made, "k", 8);
	assert_number(score_of(made, "k", made->now_s), 8);
	assert_number(score_of(made, "k", made->now_s + 60), 4);
	assert_non_null(made_value_at(made, "k", made->now_s + 120));
	assert_number(score_of(made, "k", made->now_s + 120), 3);
	destroy(&setting);
}

static void a_touch_is_no_read_and_keeps_nothing_hot(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;
	uint32_t then_s;

	(void)state;
	create(&setting, 2, 1);
	set(made, "k", 10);
	read_often(made, "k", 64);
	for (unsigned minute = 0; minute < 3; minute++) {
		made->store->started_ns -= 60 * INT64_C(1000000000);
		assert_number(ns_store_touch(made->thread, "k", 1, 0), 0);
	}
	then_s = ns_store_now_s(made->store);
	/* Eight, but for seconds that this took. */
	assert_true(score_of(made, "k", then_s) < 9 && score_of(made, "k", then_s) > 2);
	destroy(&setting);
}

static void who_overwrites_a_key_takes_its_score_over(void **state)
{
	struct setting setting;
	struct made *made = &setting.made;

	(void)state;
	create(&setting, 2, 1);
	set(made, "k", 10);
	read_often(made, "k", 8);
	set(made, "k", 20);
	assert_number(score_of(made, "k", made->now_s), 8);
	assert_number(ns_store_delete(made->thread, "k", 1, 0), 0);
	set(made, "k", 20);
	assert_number(score_of(made, "k", made->now_s), 0);
	destroy(&setting);
}

static void without_promotion_no_scores_are_kept(void **state)
{
	static const struct {
		size_t arenas;
		bool no_promotion;
	} cases[] = { { 1, false }, { 2, true } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made made = made_default(cases[i].arenas, 1);

		made.config.increment = 1;
		made.config.decay = 0.5;
		made.config.no_promotion = cases[i].no_promotion;
		made_create(&made);
		made_set(&made, "k", "v");
		read_often(&made, "k", 5);
		assert_number(score_of(&made, "k", made.now_s), 0);
		assert_null(ns_promoter_create(made.store, 1, 0));
		made_destroy(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hot_head_moves_to_where_there_is_room),
		cmocka_unit_test(without_room_the_coldest_changes_places),
		cmocka_unit_test(what_does_not_pay_stays),
		cmocka_unit_test(short_heads_change_places_with_such_as_are_long_enough),
		cmocka_unit_test(nobody_is_evicted_while_there_is_room_elsewhere),
		cmocka_unit_test(keys_with_a_place_are_never_moved),
		cmocka_unit_test(no_more_than_the_rate_allows_is_moved),
		cmocka_unit_test(a_hot_block_moves_in_one_go),
		cmocka_unit_test(a_hot_block_changes_places_with_the_coldest),
		cmocka_unit_test(what_others_do_meanwhile_is_not_lost),
		cmocka_unit_test(one_of_two_wins_of_whom_one_found_it_before_it_moved),
		cmocka_unit_test(an_eviction_meanwhile_has_its_way),
		cmocka_unit_test(who_reads_the_old_one_sees_it_whole),
		cmocka_unit_test(a_moved_object_goes_with_the_flush_that_it_was_before),
		cmocka_unit_test(reads_raise_a_score_that_decays),
		cmocka_unit_test(a_touch_is_no_read_and_keeps_nothing_hot),
		cmocka_unit_test(who_overwrites_a_key_takes_its_score_over),
		cmocka_unit_test(without_promotion_no_scores_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
