/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/index.h>
#include <string.h>

enum { KEY_LEN = 8, FIRST_BUCKETS = 1024, OBJECTS_MAX = 100000 };

struct index_test {
	struct ns_index *index;
	struct ns_object *objects[OBJECTS_MAX];
	size_t object_count;
};

static int set_up(void **state)
{
	struct index_test *test = calloc(1, sizeof(*test));
	struct np_error err;

	assert_non_null(test);
	assert_np_ok(ns_index_create(1 << 20, 7, NULL, &test->index, &err), &err);
	*state = test;
	return 0;
}

static int tear_down(void **state)
{
	struct index_test *test = *state;

	ns_index_free(test->index);
	for (size_t i = 0; i < test->object_count; i++)
		free(test->objects[i]);
	free(test);
	return 0;
}

static void make_key(char *key, size_t number)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%0*zu", KEY_LEN, number);
	memcpy(key, text, KEY_LEN);
}

/* The test's to free. */
static struct ns_object *make_object(struct index_test *test, size_t number, uint64_t hash)
{
	struct ns_object *object = calloc(1, sizeof(*object) + KEY_LEN);

	assert_non_null(object);
	object->key_len = KEY_LEN;
	object->hash = hash;
	object->pins = 1;
	make_key(object->key, number);
	assert_true(test->object_count < OBJECTS_MAX);
	test->objects[test->object_count++] = object;
	return object;
}

static void link_object(struct ns_index *index, struct ns_object *object)
{
	ns_index_lock(index, object->hash);
	ns_index_link(index, ns_index_look(index, object->hash, object->key, object->key_len),
	              object);
	ns_index_unlock(index, object->hash);
	ns_index_grow(index);
}

static void unlink_object(struct ns_index *index, const struct ns_object *object)
{
	struct ns_slot slot;

	ns_index_lock(index, object->hash);
	slot = ns_index_look_for(index, object);
	assert_ptr_equal(slot.object, object);
	ns_index_unlink(index, slot);
	ns_index_unlock(index, object->hash);
}

/* By number, with the hash that the index gives its key. */
static struct ns_object *add(struct index_test *test, size_t number)
{
	char key[KEY_LEN];
	struct ns_object *object;

	make_key(key, number);
	object = make_object(test, number, ns_index_hash(test->index, key, KEY_LEN));
	link_object(test->index, object);
	return object;
}

static struct ns_object *find(const struct ns_index *index, size_t number)
{
	char key[KEY_LEN];

	make_key(key, number);
	return ns_index_find(index, ns_index_hash(index, key, KEY_LEN), key, KEY_LEN);
}

static void a_key_is_found_from_linking_to_unlinking(void **state)
{
	struct index_test *test = *state;
	struct ns_object *object;

	assert_null(find(test->index, 1));
	object = add(test, 1);
	assert_ptr_equal(find(test->index, 1), object);
	assert_null(find(test->index, 2));
	assert_number(ns_index_objects(test->index), 1);

	unlink_object(test->index, object);
	assert_null(find(test->index, 1));
	assert_number(ns_index_objects(test->index), 0);
}

static void a_key_gets_another_object_in_place(void **state)
{
	struct index_test *test = *state;
	struct ns_object *old = add(test, 1);
	struct ns_object *object = add(test, 1);

	assert_ptr_equal(find(test->index, 1), object);
	assert_number(ns_index_objects(test->index), 1);
	assert_null(ns_index_look_for(test->index, old).object);
}

static void keys_of_the_same_hash_are_told_apart(void **state)
{
	struct index_test *test = *state;
	struct ns_object *objects[8];

	for (size_t i = 0; i < 8; i++) {
		objects[i] = make_object(test, i, 0xabcdef);
		link_object(test->index, objects[i]);
	}
	for (size_t i = 0; i < 8; i++)
		assert_ptr_equal(ns_index_find(test->index, 0xabcdef, objects[i]->key, KEY_LEN),
		                 objects[i]);
	unlink_object(test->index, objects[3]);
	assert_null(ns_index_find(test->index, 0xabcdef, objects[3]->key, KEY_LEN));
	assert_ptr_equal(ns_index_find(test->index, 0xabcdef, objects[4]->key, KEY_LEN),
	                 objects[4]);
}

/* A reader that stands on an object when it is unlinked, or replaced, goes on from there. */
static void the_rest_of_a_chain_is_reached_from_what_was_unlinked(void **state)
{
	struct index_test *test = *state;
	struct ns_object *objects[4];
	size_t seen = 0;
	struct ns_object *at;

	for (size_t i = 0; i < 4; i++) {
		objects[i] = make_object(test, i, 5);
		link_object(test->index, objects[i]);
	}
	at = ns_index_first(test->index, 5);
	unlink_object(test->index, at);
	unlink_object(test->index, ns_index_first(test->index, 5));
	for (; at != NULL; at = ns_index_next(at))
		seen++;
	assert_number(seen, 4);
}

static void it_grows_with_the_objects_and_all_are_found(void **state)
{
	struct index_test *test = *state;
	const size_t count = 20000;
	size_t met = 0;

	assert_number(ns_index_buckets(test->index), FIRST_BUCKETS);
	for (size_t i = 0; i < count; i++) {
		add(test, i);
		if (i % 1000 != 0)
			continue;
		for (size_t j = 0; j <= i; j++)
			assert_ptr_equal(find(test->index, j), test->objects[j]);
	}
	assert_number(ns_index_buckets(test->index), count);
	for (uint64_t bucket = 0; bucket < count; bucket++) {
		for (const struct ns_object *object = ns_index_first(test->index, bucket);
		     object != NULL; object = ns_index_next(object)) {
			assert_number(ns_index_bucket(test->index, object->hash), bucket);
			met++;
		}
	}
	assert_number(met, count);
}

static void it_grows_no_further_than_it_was_made_for(void **state)
{
	static struct index_test small;
	const size_t count = 3 * (size_t)FIRST_BUCKETS;
	struct np_error err;

	(void)state;
	assert_np_ok(ns_index_create(1, 7, NULL, &small.index, &err), &err);
	for (size_t i = 0; i < count; i++)
		add(&small, i);
	assert_number(ns_index_buckets(small.index), FIRST_BUCKETS);
	for (size_t i = 0; i < count; i++)
		assert_ptr_equal(find(small.index, i), small.objects[i]);
	ns_index_free(small.index);
	for (size_t i = 0; i < small.object_count; i++)
		free(small.objects[i]);
}

/* ---- while it changes ---- */

enum { GROWING_KEYS = 30000, GROWING_READERS = 3 };

struct growing {
	struct ns_index *index;
	size_t linked;    /* atomic: keys below are there for good */
	unsigned missing; /* atomic */
};

static void *look_on(void *data)
{
	struct growing *growing = data;
	size_t linked;
	size_t number = 0;

	do {
		linked = __atomic_load_n(&growing->linked, __ATOMIC_ACQUIRE);
		for (unsigned i = 0; i < 64 && linked > 0; i++) {
			number = (number * 1103515245 + 12345) % linked;
			if (find(growing->index, number) == NULL)
				__atomic_fetch_add(&growing->missing, 1, __ATOMIC_RELAXED);
		}
	} while (linked < GROWING_KEYS);
	return NULL;
}

/* Between the keys that stay, others come and go. */
static void readers_find_every_key_while_buckets_are_split(void **state)
{
	struct index_test *test = *state;
	struct growing growing = { .index = test->index };
	pthread_t threads[GROWING_READERS];

	for (int i = 0; i < GROWING_READERS; i++)
		assert_number(pthread_create(&threads[i], NULL, look_on, &growing), 0);
	for (size_t i = 0; i < GROWING_KEYS; i++) {
		struct ns_object *passing = add(test, GROWING_KEYS + i);

		add(test, i);
		unlink_object(test->index, passing);
		if (i % 3 == 0)
			add(test, i / 2); /* in place of the one that is there */
		__atomic_store_n(&growing.linked, i + 1, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < GROWING_READERS; i++)
		pthread_join(threads[i], NULL);
	assert_number(growing.missing, 0);
	assert_number(ns_index_objects(test->index), GROWING_KEYS);
}

#define index_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		index_test(a_key_is_found_from_linking_to_unlinking),
		index_test(a_key_gets_another_object_in_place),
		index_test(keys_of_the_same_hash_are_told_apart),
		index_test(the_rest_of_a_chain_is_reached_from_what_was_unlinked),
		index_test(it_grows_with_the_objects_and_all_are_found),
		cmocka_unit_test(it_grows_no_further_than_it_was_made_for),
		index_test(readers_find_every_key_while_buckets_are_split),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
