/* SPDX-License-Identifier: BSD-3-Clause */
#include "made_store.h"

#include <stdio.h>
#include <time.h>

static int set_up(void **state)
{
	struct made *made = malloc(sizeof(*made));

	assert_non_null(made);
	*made = made_default(1, 16);
	made_create(made);
	*state = made;
	return 0;
}

static int tear_down(void **state)
{
	made_destroy(*state);
	free(*state);
	return 0;
}

/* ---- storing ---- */

static void what_was_set_is_got(void **state)
{
	struct made *made = *state;
	const struct ns_object *object;
	struct ns_store_request request = {
		.key = "a", .key_len = 1, .bytes = 3, .flags = 7, .type = 2
	};
	struct ns_draft draft;
	struct np_error err;
	uint64_t cas = 0;

	assert_null(made_value(made, "a"));
	assert_np_ok(ns_draft_begin(made->thread, &request, &draft, &err), &err);
	assert_number(draft.head_bytes, 3);
	memcpy(draft.head, "abc", 3);
	assert_null(made_value(made, "a"));
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 0, &cas), NS_STORED);

	object = made_get(made, "a");
	assert_non_null(object);
	assert_number(object->flags, 7);
	assert_number(object->type, 2);
	assert_true(cas > 0);
	assert_number(ns_object_cas(object), cas);
	assert_number(object->read_s, made->now_s);
	assert_number(ns_object_mark(object, 0, 0), NS_MARK_FETCHED);
	ns_object_unpin(made->thread, object);
	assert_text(made_value(made, "a"), "abc");
}

static void peek_leaves_no_trace(void **state)
{
	struct made *made = *state;
	const struct ns_object *object;

	made_set(made, "a", "1");
	object = ns_store_peek(made->thread, "a", 1, made->now_s + 1000);
	assert_non_null(object);
	assert_true(object->read_s < made->now_s + 1000);
	assert_number(ns_object_mark(object, 0, 0), 0);
	ns_object_unpin(made->thread, object);
	assert_null(ns_store_peek(made->thread, "b", 1, made->now_s));
	assert_number(made_counts(made).get_hits, 0);
	assert_number(made_counts(made).get_misses, 0);
}

static void empty_objects_and_the_longest_keys_are_kept(void **state)
{
	struct made *made = *state;
	char key[NS_KEY_MAX + 2] = "";
	struct ns_draft draft;
	struct np_error err;

	made_set(made, "empty", "");
	assert_text(made_value(made, "empty"), "");
	memset(key, 'k', NS_KEY_MAX);
	made_set(made, key, "long");
	assert_text(made_value(made, key), "long");
	key[NS_KEY_MAX] = 'k';
	assert_fails(made_draft(made, key, "", 0, &draft, &err), -EINVAL, &err,
	             "a key of 251 bytes");
	assert_fails(made_draft(made, "", "", 0, &draft, &err), -EINVAL, &err, "a key of 0 bytes");
}

static void an_object_larger_than_allowed_is_refused(void **state)
{
	struct made *made = *state;
	static char value[MADE_HEAD + 1];
	struct ns_draft draft;
	struct np_error err;

	assert_fails(made_draft(made, "a", value, MADE_HEAD + 1, &draft, &err), -E2BIG, &err,
	             "4097 bytes: at most 4096 are allowed");
	assert_number(made_counts(made).too_large, 1);
	assert_np_ok(made_draft(made, "a", value, MADE_HEAD, &draft, &err), &err);
	ns_draft_drop(made->thread, &draft);
	ns_draft_drop(made->thread, &draft);
}

/* What is there before: nothing, a value, one that expired. */
enum before { NOTHING, VALUE, EXPIRED_VALUE };

static void modes_decide_by_what_is_there(void **state)
{
	static const struct {
		enum before before;
		enum ns_mode mode;
		int cas_off; /* added to the cas that is there */
		enum ns_outcome outcome;
	} cases[] = {
		{ NOTHING, NS_SET, 0, NS_STORED },
		{ NOTHING, NS_ADD, 0, NS_STORED },
		{ NOTHING, NS_REPLACE, 0, NS_NOT_STORED },
		{ NOTHING, NS_CAS, 1, NS_NOT_FOUND },
		{ VALUE, NS_SET, 0, NS_STORED },
		{ VALUE, NS_ADD, 0, NS_NOT_STORED },
		{ VALUE, NS_REPLACE, 0, NS_STORED },
		{ VALUE, NS_CAS, 0, NS_STORED },
		{ VALUE, NS_CAS, 1, NS_EXISTS },
		{ EXPIRED_VALUE, NS_SET, 0, NS_STORED },
		{ EXPIRED_VALUE, NS_ADD, 0, NS_STORED },
		{ EXPIRED_VALUE, NS_REPLACE, 0, NS_NOT_STORED },
		{ EXPIRED_VALUE, NS_CAS, 0, NS_NOT_FOUND },
	};
	struct made *made = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t cas = 0;
		bool is_stored = cases[i].outcome == NS_STORED;

		check_case("before %d, mode %d, cas off by %d", cases[i].before, cases[i].mode,
		           cases[i].cas_off);
		(void)ns_store_delete(made->thread, "a", 1, 0);
		if (cases[i].before != NOTHING) {
			made_set(made, "a", "old");
			cas = made_cas(made, "a");
		}
		if (cases[i].before == EXPIRED_VALUE)
			assert_number(ns_store_touch(made->thread, "a", 1, 1), 0);
		assert_number(made_store(made, "a", "new", cases[i].mode,
		                         cas + (unsigned)cases[i].cas_off),
		              cases[i].outcome);
		assert_text(made_value(made, "a"), is_stored                  ? "new"
		                                   : cases[i].before == VALUE ? "old"
		                                                              : NULL);
		ns_thread_rest(made->thread);
	}
	assert_number(ns_store_arena(made->store, 0).heads.heads, made_counts(made).objects);
}

static void cas_numbers_grow_and_can_be_set(void **state)
{
	struct made *made = *state;
	struct ns_draft draft;
	struct np_error err;
	uint64_t first;
	uint64_t cas;

	made_set(made, "a", "1");
	first = made_cas(made, "a");
	made_set(made, "a", "2");
	assert_true(made_cas(made, "a") > first);

	assert_np_ok(made_draft(made, "a", "3", 1, &draft, &err), &err);
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 99999, &cas), NS_STORED);
	assert_number(cas, 99999);
	assert_number(made_cas(made, "a"), 99999);
}

/* What was given in an earlier run is not given again. */
static void cas_numbers_begin_at_the_time_of_day(void **state)
{
	struct made *made = *state;
	struct timespec now;
	uint64_t now_us;

	clock_gettime(CLOCK_REALTIME, &now);
	now_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
	made_set(made, "a", "1");
	assert_true(made_cas(made, "a") <= now_us + 1);
	assert_true(made_cas(made, "a") > now_us - UINT64_C(3600000000));
}

static void a_pin_on_a_draft_outlives_its_storing(void **state)
{
	struct made *made = *state;
	const struct ns_object *object;
	struct ns_draft draft;
	struct np_error err;
	uint64_t cas;
	size_t size;

	assert_np_ok(made_draft(made, "a", "value", 5, &draft, &err), &err);
	object = draft.object;
	ns_object_pin(object);
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 0, &cas), NS_STORED);
	assert_number(ns_store_delete(made->thread, "a", 1, 0), 0);
	ns_thread_rest(made->thread);
	assert_memory_equal(ns_object_head(made->store, object, &size), "value", 5);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 1);
	ns_object_unpin(made->thread, object);
	ns_thread_rest(made->thread);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 0);
}

static void a_pin_on_a_draft_outlives_its_dropping(void **state)
{
	struct made *made = *state;
	const struct ns_object *object;
	struct ns_draft draft;
	struct np_error err;
	size_t size;

	assert_np_ok(made_draft(made, "a", "value", 5, &draft, &err), &err);
	object = draft.object;
	ns_object_pin(object);
	ns_draft_drop(made->thread, &draft);
	assert_null(draft.object);
	ns_thread_rest(made->thread);
	assert_memory_equal(ns_object_head(made->store, object, &size), "value", 5);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 1);
	ns_object_unpin(made->thread, object);
	ns_thread_rest(made->thread);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 0);
	assert_number(made_counts(made).objects, 0);
}

static void who_has_the_old_value_keeps_it_whole(void **state)
{
	struct made *made = *state;
	const struct ns_object *old;
	size_t size;

	made_set(made, "a", "old value");
	old = made_get(made, "a");
	ns_object_pin(old);
	for (int i = 0; i < 100; i++) {
		made_set(made, "a", "new");
		ns_thread_rest(made->thread);
	}
	assert_memory_equal(ns_object_head(made->store, old, &size), "old value", 9);
	assert_number(size, 9);
	assert_text(made_value(made, "a"), "new");
	assert_number(ns_store_arena(made->store, 0).heads.heads, 2);

	ns_object_unpin(made->thread, old);
	ns_thread_rest(made->thread);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 2);
	ns_object_unpin(made->thread, old);
	ns_thread_rest(made->thread);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 1);
}

static void memory_of_the_dead_is_used_again(void **state)
{
	struct made *made = *state;
	uint64_t bytes;

	made_set(made, "a", "0");
	bytes = made_counts(made).metadata_bytes;
	for (int i = 0; i < 100000; i++) {
		made_set(made, "a", "another value");
		if (i % 64 == 0)
			ns_thread_rest(made->thread);
	}
	assert_number(made_counts(made).metadata_bytes, bytes);
	assert_number(made_counts(made).objects, 1);
	assert_number(made_counts(made).object_bytes, 13);
	assert_number(made_counts(made).total_objects, 100001);
}

/* ---- ends ---- */

static void an_expired_object_is_not_returned_and_goes(void **state)
{
	struct made *made = *state;

	made_set(made, "a", "1");
	made_set(made, "b", "2");
	assert_number(ns_store_touch(made->thread, "a", 1, made->now_s + 10), 0);
	assert_text(made_value_at(made, "a", made->now_s + 9), "1");
	assert_null(made_value_at(made, "a", made->now_s + 10));
	assert_number(made_counts(made).get_expired, 1);
	assert_number(made_counts(made).get_misses, 1);

	/* By the store's own clock it has not expired yet: found expired, it stays after all. */
	ns_thread_rest(made->thread);
	assert_number(made_counts(made).objects, 2);
	assert_number(ns_store_touch(made->thread, "a", 1, 1), 0);
	assert_null(made_value(made, "a"));
	ns_thread_rest(made->thread);
	assert_number(made_counts(made).objects, 1);
	assert_number(made_counts(made).expired, 1);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 1);
	assert_text(made_value(made, "b"), "2");
}

static void the_sweep_removes_what_expired_a_bit_at_a_time(void **state)
{
	struct made *made = *state;
	unsigned calls = 0;

	for (int i = 0; i < 3000; i++) {
		char key[16];

		(void)snprintf(key, sizeof(key), "%d", i);
		made_set(made, key, "v");
		if (i % 3 == 0)
			assert_number(
				ns_store_touch(made->thread, key, strlen(key), made->now_s + 5), 0);
	}
	while (ns_store_sweep(made->thread, made->now_s, 100))
		calls++;
	assert_true(calls > 10);
	assert_number(made_counts(made).objects, 3000);
	while (ns_store_sweep(made->thread, made->now_s + 5, 100))
		;
	assert_number(made_counts(made).objects, 2000);
	assert_number(made_counts(made).expired, 1000);
	assert_null(made_value(made, "0"));
	assert_text(made_value(made, "1"), "v");
}

static void a_flush_takes_what_is_there_and_nothing_later(void **state)
{
	struct made *made = *state;
	struct ns_draft draft;
	struct np_error err;
	uint64_t cas;

	made_set(made, "a", "1");
	assert_np_ok(made_draft(made, "c", "3", 1, &draft, &err), &err);
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 1 << 30, &cas), NS_STORED);
	ns_store_flush(made->store, made->now_s);
	made_set(made, "b", "2");

	assert_null(made_value(made, "a"));
	assert_null(made_value(made, "c"));
	assert_text(made_value(made, "b"), "2");
	assert_number(made_counts(made).get_flushed, 2);
	assert_number(made_store(made, "a", "x", NS_REPLACE, 0), NS_NOT_STORED);
	assert_number(made_store(made, "a", "x", NS_ADD, 0), NS_STORED);
	while (ns_store_sweep(made->thread, made->now_s, 100))
		;
	assert_number(made_counts(made).objects, 2);
}

static void a_flush_to_come_takes_what_is_there_then(void **state)
{
	struct made *made = *state;
	uint32_t at_s = made->now_s + 1000;

	made_set(made, "a", "1");
	ns_store_flush(made->store, at_s);
	made_set(made, "b", "2");
	assert_text(made_value_at(made, "a", at_s - 1), "1");
	assert_text(made_value_at(made, "b", at_s - 1), "2");
	assert_null(made_value_at(made, "a", at_s));
	assert_null(made_value_at(made, "b", at_s));

	/* Another one takes its place. */
	ns_store_flush(made->store, made->now_s);
	made_set(made, "c", "3");
	assert_null(made_value(made, "a"));
	assert_text(made_value_at(made, "c", at_s), "3");
}

static void set_number(struct made *made, int number)
{
	char key[16];

	(void)snprintf(key, sizeof(key), "%d", number);
	made_set(made, key, "v");
	if (number % 64 == 0)
		ns_thread_rest(made->thread);
}

static bool is_there(struct made *made, int number)
{
	char key[16];

	(void)snprintf(key, sizeof(key), "%d", number);
	return number >= 0 && made_value(made, key) != NULL;
}

/* More than generations can be told, and with nobody who sweeps but the flushes. */
static void any_number_of_flushes_leaves_only_what_came_after(void **state)
{
	static const int behind[] = { 1, 2, 15, 16, 17, 512, 1024, 2046, 2047, 2048, 2049, 4096 };
	enum { FLUSHES = 10000, COUNT = sizeof(behind) / sizeof(behind[0]) };
	struct made *made = *state;

	for (int i = 0; i < FLUSHES; i++) {
		set_number(made, i);
		assert_true(is_there(made, i));
		ns_store_flush(made->store, made->now_s);
		/* Each is looked at once only, as who is found to be gone is removed. */
		for (int j = 0; j < COUNT; j++) {
			int number = i + 1 - behind[j];

			if (number % COUNT == j)
				assert_false(is_there(made, number));
		}
	}
	made_set(made, "last", "v");
	for (int i = 0; i < FLUSHES; i++)
		assert_false(is_there(made, i));
	assert_text(made_value(made, "last"), "v");
}

/* What one has removed shows how far it went. */
static void no_flush_has_to_remove_all_there_was(void **state)
{
	enum { OBJECTS = 20000, FLUSHES = 1500, PART_MAX = OBJECTS / 20 };
	struct made *made = *state;
	uint64_t before = 0;
	uint64_t there;

	for (int i = 0; i < OBJECTS; i++)
		set_number(made, i);
	there = made_counts(made).objects;
	assert_true(there > OBJECTS / 2);
	for (int i = 0; i < FLUSHES; i++) {
		uint64_t removed;

		set_number(made, OBJECTS + i);
		ns_store_flush(made->store, made->now_s);
		removed = made_counts(made).expired - before;
		assert_true(removed < PART_MAX);
		before += removed;
	}
	assert_true(before >= there);
	/* A sweep that was in the middle when the last one came is not over before all have gone. */
	while (ns_store_sweep(made->thread, made->now_s, 100))
		;
	assert_number(made_counts(made).objects, 0);
}

/* ---- changes ---- */

static void a_key_is_deleted_once(void **state)
{
	struct made *made = *state;
	uint64_t cas;

	made_set(made, "a", "1");
	cas = made_cas(made, "a");
	assert_number(ns_store_delete(made->thread, "b", 1, 0), -ENOENT);
	assert_number(ns_store_delete(made->thread, "a", 1, cas + 1), -EEXIST);
	assert_text(made_value(made, "a"), "1");
	assert_number(ns_store_delete(made->thread, "a", 1, cas), 0);
	assert_null(made_value(made, "a"));
	assert_number(ns_store_delete(made->thread, "a", 1, 0), -ENOENT);
	assert_number(made_counts(made).deletes, 4);
	assert_number(made_counts(made).delete_hits, 1);
	assert_number(ns_store_arena(made->store, 0).heads.heads, 0);
}

static void touch_changes_the_time_and_nothing_else(void **state)
{
	struct made *made = *state;
	uint64_t cas;

	assert_number(ns_store_touch(made->thread, "a", 1, 0), -ENOENT);
	made_set(made, "a", "1");
	cas = made_cas(made, "a");
	assert_number(ns_store_touch(made->thread, "a", 1, made->now_s + 5), 0);
	assert_number(made_cas(made, "a"), cas);
	assert_null(made_value_at(made, "a", made->now_s + 5));
	assert_number(ns_store_touch(made->thread, "a", 1, 0), 0);
	assert_text(made_value_at(made, "a", made->now_s + 5), "1");
	assert_number(made_counts(made).touches, 3);
	assert_number(made_counts(made).touch_hits, 2);
}

static int extend(struct made *made, const char *key, const char *bytes, bool in_front,
                  uint64_t cas)
{
	struct np_error err;
	uint64_t new_cas;

	return ns_store_extend(made->thread, key, strlen(key), bytes, strlen(bytes), in_front, cas,
	                       &new_cas, &err);
}

static void a_value_grows_at_both_ends(void **state)
{
	struct made *made = *state;
	static char large[MADE_HEAD];
	uint64_t cas;

	assert_number(extend(made, "a", "x", false, 0), -ENOENT);
	made_set(made, "a", "");
	assert_number(ns_store_touch(made->thread, "a", 1, made->now_s + 5), 0);
	assert_number(extend(made, "a", "", false, 0), 0);
	assert_number(extend(made, "a", "middle", false, 0), 0);
	assert_number(extend(made, "a", " end", false, 0), 0);
	cas = made_cas(made, "a");
	assert_number(extend(made, "a", "begin ", true, cas + 1), -EEXIST);
	assert_number(extend(made, "a", "begin ", true, cas), 0);
	assert_text(made_value(made, "a"), "begin middle end");
	assert_true(made_cas(made, "a") > cas);
	assert_null(made_value_at(made, "a", made->now_s + 5));

	memset(large, 'x', MADE_HEAD - 1);
	assert_number(extend(made, "a", large, false, 0), -E2BIG);
	assert_text(made_value(made, "a"), "begin middle end");
}

static void numbers_are_counted_up_and_down(void **state)
{
	static const struct {
		const char *value;
		uint64_t delta;
		bool decrement;
		int rc;
		const char *after;
	} cases[] = {
		{ "5", 3, false, 0, "8" },
		{ "99", 1, false, 0, "100" },
		{ "18446744073709551615", 1, false, 0, "0                   " },
		{ "10", 1, true, 0, "9 " },
		{ "9 ", 1, false, 0, "10" },
		{ "5", 10, true, 0, "0" },
		{ "007", 1, false, 0, "8  " },
		{ "18446744073709551616", 1, false, -EINVAL, NULL },
		{ "", 1, false, -EINVAL, NULL },
		{ " ", 1, false, -EINVAL, NULL },
		{ "-1", 1, false, -EINVAL, NULL },
		{ "1x", 1, false, -EINVAL, NULL },
		{ "x", 1, true, -EINVAL, NULL },
	};
	struct made *made = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t number = 77;
		uint64_t cas;
		struct np_error err;
		int rc;

		check_case("'%s' %c %llu", cases[i].value, cases[i].decrement ? '-' : '+',
		           (unsigned long long)cases[i].delta);
		made_set(made, "n", cases[i].value);
		rc = ns_store_add_number(made->thread, "n", 1, cases[i].delta, cases[i].decrement,
		                         0, &number, &cas, &err);
		assert_number(rc, cases[i].rc);
		if (rc == 0) {
			assert_text(made_value(made, "n"), cases[i].after);
			assert_number(number, strtoull(cases[i].after, NULL, 10));
			assert_number(made_cas(made, "n"), cas);
		} else {
			assert_text(made_value(made, "n"), cases[i].value);
			assert_number(number, 77);
		}
	}
	assert_number(made_counts(made).incr_hits, 5);
	assert_number(made_counts(made).decr_hits, 2);
}

static void numbers_ask_for_the_cas_and_the_key(void **state)
{
	struct made *made = *state;
	struct np_error err;
	uint64_t number;
	uint64_t cas;

	assert_fails(ns_store_add_number(made->thread, "n", 1, 1, false, 0, &number, &cas, &err),
	             -ENOENT, &err, "no such key");
	assert_fails(ns_store_add_number(made->thread, "n", 1, 1, true, 0, &number, &cas, &err),
	             -ENOENT, &err, "no such key");
	assert_number(made_counts(made).incr_misses, 1);
	assert_number(made_counts(made).decr_misses, 1);
	made_set(made, "n", "1");
	cas = made_cas(made, "n");
	assert_fails(
		ns_store_add_number(made->thread, "n", 1, 1, false, cas + 1, &number, &cas, &err),
		-EEXIST, &err, "cas");
	assert_np_ok(ns_store_add_number(made->thread, "n", 1, 1, false, cas, &number, &cas, &err),
	             &err);
	assert_number(number, 2);
}

static void invalidation_marks_and_renews_the_cas(void **state)
{
	struct made *made = *state;
	const struct ns_object *object;
	uint64_t cas;

	assert_number(ns_store_invalidate(made->thread, "a", 1, 0, 0), -ENOENT);
	made_set(made, "a", "1");
	cas = made_cas(made, "a");
	assert_number(ns_store_invalidate(made->thread, "a", 1, cas + 1, 0), -EEXIST);
	object = made_get(made, "a");
	assert_number(ns_object_mark(object, NS_MARK_WINNER, 0), NS_MARK_FETCHED);
	assert_number(ns_store_invalidate(made->thread, "a", 1, cas, made->now_s + 30), 0);
	assert_number(ns_object_mark(object, 0, NS_MARK_STALE), NS_MARK_FETCHED | NS_MARK_STALE);
	assert_number(ns_object_mark(object, 0, 0), NS_MARK_FETCHED);
	assert_true(ns_object_cas(object) > cas);
	assert_number(object->expires_s, made->now_s + 30);
	assert_number(ns_store_invalidate(made->thread, "a", 1, 0, UINT32_MAX), 0);
	assert_number(object->expires_s, made->now_s + 30);
	ns_object_unpin(made->thread, object);
	assert_text(made_value(made, "a"), "1");
}

static void marks_of_a_draft_are_kept(void **state)
{
	struct made *made = *state;
	const struct ns_object *object;
	struct ns_draft draft;
	struct np_error err;
	uint64_t cas;

	assert_np_ok(made_draft(made, "a", "1", 1, &draft, &err), &err);
	(void)ns_object_mark(draft.object, NS_MARK_STALE, 0);
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 0, &cas), NS_STORED);
	object = made_get(made, "a");
	assert_number(ns_object_mark(object, 0, 0), NS_MARK_STALE | NS_MARK_FETCHED);
	ns_object_unpin(made->thread, object);
}

/* ---- counters and types ---- */

static void a_reset_begins_again_and_keeps_what_there_is(void **state)
{
	struct made *made = *state;

	made_set(made, "a", "12345");
	assert_text(made_value(made, "a"), "12345");
	assert_null(made_value(made, "b"));
	assert_number(made_counts(made).get_hits, 1);
	assert_number(made_counts(made).get_misses, 1);
	assert_number(made_counts(made).sets, 1);

	ns_store_reset_counts(made->store);
	assert_number(made_counts(made).get_hits, 0);
	assert_number(made_counts(made).sets, 0);
	assert_number(made_counts(made).objects, 1);
	assert_number(made_counts(made).object_bytes, 5);
	assert_null(made_value(made, "b"));
	assert_number(made_counts(made).get_misses, 1);
}

static void counters_of_a_thread_that_left_go_on(void **state)
{
	struct made *made = *state;
	struct ns_thread *thread = ns_thread_join(made->store, 5);

	assert_null(ns_store_get(thread, "a", 1, made->now_s));
	ns_thread_leave(thread);
	assert_number(made_counts(made).get_misses, 1);
	thread = ns_thread_join(made->store, 5);
	assert_null(ns_store_get(thread, "a", 1, made->now_s));
	ns_thread_leave(thread);
	assert_number(made_counts(made).get_misses, 2);
}

static void no_more_threads_join_than_were_announced(void **state)
{
	struct made *made = *state;
	struct ns_thread *threads[MADE_THREADS - 1];

	for (size_t i = 0; i < MADE_THREADS - 1; i++) {
		threads[i] = ns_thread_join(made->store, 1);
		assert_non_null(threads[i]);
	}
	assert_null(ns_thread_join(made->store, 1));
	for (size_t i = 0; i < MADE_THREADS - 1; i++)
		ns_thread_leave(threads[i]);
}

/* The number; 0: there is none. */
static uint8_t take_type(struct made *made, const char *text, size_t len)
{
	uint8_t type = 0;
	int rc = ns_store_type_take(made->store, text, len, &type);

	assert_number(rc, type != 0 ? 0 : len == 0 || len > NS_TYPE_TEXT_MAX ? -EINVAL : -ENOSPC);
	return type;
}

static void types_are_numbered_once(void **state)
{
	struct made *made = *state;
	char text[NS_TYPE_TEXT_MAX + 1];
	uint8_t html = take_type(made, "text/html; more", 9);

	assert_true(html > 0);
	assert_text(ns_store_type_text(made->store, html), "text/html");
	assert_number(take_type(made, "text/html", 9), html);
	assert_true(take_type(made, "text", 4) != html);
	assert_null(ns_store_type_text(made->store, 0));
	assert_number(take_type(made, "", 0), 0);
	memset(text, 'x', sizeof(text));
	assert_number(take_type(made, text, NS_TYPE_TEXT_MAX + 1), 0);
	assert_true(take_type(made, text, NS_TYPE_TEXT_MAX) != 0);

	for (int i = 3; i < NS_TYPES_MAX; i++) {
		int len = snprintf(text, sizeof(text), "type/%d", i);

		assert_number(take_type(made, text, (size_t)len), i + 1);
	}
	assert_number(take_type(made, "one/more", 8), 0);
	assert_number(take_type(made, "type/254", 8), 255);
	assert_text(ns_store_type_text(made->store, 255), "type/254");
}

/* Stores an object of that type; false: there is no number for it. */
static bool set_typed(struct made *made, const char *key, const char *type)
{
	struct ns_store_request request = { .key = key, .key_len = strlen(key), .bytes = 1 };
	struct np_error err = { 0 };
	struct ns_draft draft;

	request.type = take_type(made, type, strlen(type));
	if (request.type == 0)
		return false;
	assert_np_ok(ns_draft_begin(made->thread, &request, &draft, &err), &err);
	ns_store_type_give(made->store, request.type);
	draft.head[0] = 'x';
	assert_number(ns_draft_store(made->thread, &draft, NS_SET, 0, 0, NULL), NS_STORED);
	return true;
}

static const char *type_of(struct made *made, const char *key)
{
	const struct ns_object *object =
		ns_store_get(made->thread, key, strlen(key), ns_store_now_s(made->store));
	const char *text;

	assert_non_null(object);
	text = ns_store_type_text(made->store, object->type);
	ns_object_unpin(made->thread, object);
	return text;
}

/* A peer that sends a new one each time takes no place for ever. */
static void types_that_no_object_has_make_room(void **state)
{
	struct made *made = *state;
	char text[32];

	assert_true(set_typed(made, "kept", "text/kept"));
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof(text), "junk/%d", i);
		assert_true(set_typed(made, "key", text));
		assert_text(type_of(made, "key"), text);
		ns_thread_rest(made->thread);
	}
	assert_text(type_of(made, "kept"), "text/kept");
}

static void a_type_is_kept_as_long_as_an_object_has_it(void **state)
{
	struct made *made = *state;
	char text[32];
	char key[32];

	for (int i = 0; i < NS_TYPES_MAX; i++) {
		snprintf(text, sizeof(text), "type/%d", i);
		snprintf(key, sizeof(key), "key%d", i);
		assert_true(set_typed(made, key, text));
	}
	assert_false(set_typed(made, "more", "one/more"));
	assert_true(set_typed(made, "more", "type/7"));
	/* An append makes another object of the same type. */
	assert_number(ns_store_extend(made->thread, "key9", 4, "y", 1, false, 0, NULL, NULL), 0);
	ns_thread_rest(made->thread);
	assert_false(set_typed(made, "more", "one/more"));

	assert_number(ns_store_delete(made->thread, "key3", 4, 0), 0);
	ns_thread_rest(made->thread);
	ns_thread_rest(made->thread);
	assert_true(set_typed(made, "more", "one/more"));
	assert_text(type_of(made, "more"), "one/more");
	assert_text(type_of(made, "key9"), "type/9");
	assert_text(type_of(made, "key254"), "type/254");
}

#define store_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(what_was_set_is_got),
		store_test(peek_leaves_no_trace),
		store_test(empty_objects_and_the_longest_keys_are_kept),
		store_test(an_object_larger_than_allowed_is_refused),
		store_test(modes_decide_by_what_is_there),
		store_test(cas_numbers_grow_and_can_be_set),
		store_test(cas_numbers_begin_at_the_time_of_day),
		store_test(a_pin_on_a_draft_outlives_its_storing),
		store_test(a_pin_on_a_draft_outlives_its_dropping),
		store_test(who_has_the_old_value_keeps_it_whole),
		store_test(memory_of_the_dead_is_used_again),
		store_test(an_expired_object_is_not_returned_and_goes),
		store_test(the_sweep_removes_what_expired_a_bit_at_a_time),
		store_test(a_flush_takes_what_is_there_and_nothing_later),
		store_test(a_flush_to_come_takes_what_is_there_then),
		store_test(any_number_of_flushes_leaves_only_what_came_after),
		store_test(no_flush_has_to_remove_all_there_was),
		store_test(a_key_is_deleted_once),
		store_test(touch_changes_the_time_and_nothing_else),
		store_test(a_value_grows_at_both_ends),
		store_test(numbers_are_counted_up_and_down),
		store_test(numbers_ask_for_the_cas_and_the_key),
		store_test(invalidation_marks_and_renews_the_cas),
		store_test(marks_of_a_draft_are_kept),
		store_test(a_reset_begins_again_and_keeps_what_there_is),
		store_test(counters_of_a_thread_that_left_go_on),
		store_test(no_more_threads_join_than_were_announced),
		store_test(types_are_numbered_once),
		store_test(types_that_no_object_has_make_room),
		store_test(a_type_is_kept_as_long_as_an_object_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
