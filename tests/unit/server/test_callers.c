/* SPDX-License-Identifier: BSD-3-Clause */
#include "made_pool.h"
#include "made_store.h"

#include <pthread.h>
#include <stdio.h>
#include <worker/callers.h>

enum { CALLING_THREADS = NS_CALLERS_MAX + 8, ROUNDS = 200 };

/* Its thread of node 1 is away: nobody rests in its place. */
static struct ns_callers *create(struct made *made, unsigned threads)
{
	static const struct ns_arena_plan plan = { 1, 10, 0 };
	struct ns_store_setup setup = {
		.config = &made->config,
		.arenas = made->arenas,
		.arena_count = 1,
		.tails = made->tails,
		.far_node = plan.node,
		.threads_max = threads,
		.hash_seed = 42,
	};
	struct ns_callers *callers;
	struct np_error err;

	made->arenas[0] = (struct ns_arena){
		.plan = plan,
		.base = aligned_alloc(MADE_BLOCK, made->block_count * MADE_BLOCK),
		.block_bytes = MADE_BLOCK,
		.block_count = made->block_count,
	};
	assert_non_null(made->arenas[0].base);
	assert_np_ok(ns_store_create(&setup, &made->store, &err), &err);
	callers = ns_callers_create(made->store, 1);
	assert_non_null(callers);
	return callers;
}

static void destroy(struct made *made, struct ns_callers *callers)
{
	ns_callers_free(callers);
	ns_store_free(made->store);
	free(made->arenas[0].base);
}

static void what_is_set_is_got_and_deleted(void **state)
{
	struct made made = made_default(1, 4);
	struct ns_callers *callers = create(&made, 4);
	struct np_error err;
	char *value = NULL;
	size_t size = 99;

	(void)state;
	assert_np_ok(ns_callers_set(callers, "a", 1, "value", 5, &err), &err);
	assert_np_ok(ns_callers_get(callers, "a", 1, &value, &size, &err), &err);
	assert_number(size, 5);
	assert_memory_equal(value, "value", 5);
	free(value);
	assert_np_ok(ns_callers_set(callers, "a", 1, "", 0, &err), &err);
	assert_np_ok(ns_callers_get(callers, "a", 1, &value, &size, &err), &err);
	assert_number(size, 0);
	free(value);
	assert_np_ok(ns_callers_delete(callers, "a", 1, &err), &err);
	assert_fails(ns_callers_get(callers, "a", 1, &value, &size, &err), -ENOENT, &err,
	             "no such key");
	assert_fails(ns_callers_delete(callers, "a", 1, &err), -ENOENT, &err, "no such key");
	destroy(&made, callers);
}

static void keys_and_values_that_cannot_be_are_refused(void **state)
{
	static char long_text[MADE_HEAD + 1];
	struct made made = made_default(1, 4);
	struct ns_callers *callers = create(&made, 4);
	struct np_error err;

	(void)state;
	memset(long_text, 'k', sizeof(long_text));
	assert_fails(ns_callers_set(callers, "", 0, "v", 1, &err), -EINVAL, &err,
	             "a key of 0 bytes");
	assert_fails(ns_callers_set(callers, long_text, NS_KEY_MAX + 1, "v", 1, &err), -EINVAL,
	             &err, "a key of 251 bytes");
	assert_fails(ns_callers_set(callers, "a b", 3, "v", 1, &err), -EINVAL, &err, "byte 32");
	assert_fails(ns_callers_delete(callers, "a\n", 2, &err), -EINVAL, &err, "byte 10");
	assert_fails(ns_callers_set(callers, "a", 1, long_text, sizeof(long_text), &err), -E2BIG,
	             &err, "");
	assert_np_ok(ns_callers_set(callers, long_text, NS_KEY_MAX, "v", 1, &err), &err);
	destroy(&made, callers);
}

struct calling {
	struct ns_callers *callers;
	unsigned number;
	pthread_t id;
	unsigned wrong;
};

static void *call(void *arg)
{
	struct calling *calling = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		char key[16];
		char *value;
		size_t size;
		int len = snprintf(key, sizeof(key), "k%u", calling->number);

		if (ns_callers_set(calling->callers, key, (size_t)len, key, (size_t)len, NULL) <
		            0 ||
		    ns_callers_get(calling->callers, key, (size_t)len, &value, &size, NULL) < 0) {
			calling->wrong++;
			continue;
		}
		if (size != (size_t)len || memcmp(value, key, size) != 0)
			calling->wrong++;
		free(value);
	}
	return NULL;
}

static void more_threads_than_places_wait_for_each_other(void **state)
{
	struct made made = made_default(1, 16);
	struct ns_callers *callers = create(&made, 3); /* fewer than they would take */
	struct calling calling[CALLING_THREADS] = { 0 };

	(void)state;
	for (unsigned i = 0; i < CALLING_THREADS; i++) {
		calling[i].callers = callers;
		calling[i].number = i;
		assert_number(pthread_create(&calling[i].id, NULL, call, &calling[i]), 0);
	}
	for (unsigned i = 0; i < CALLING_THREADS; i++) {
		pthread_join(calling[i].id, NULL);
		check_case("thread %u", i);
		assert_number(calling[i].wrong, 0);
	}
	destroy(&made, callers);
}

/* ---- a disk that is slow ---- */

enum {
	OVERWRITES = 40000,
	OVERWRITTEN_BYTES_MAX = 4 << 20,
	SLOW_BYTES = 2 * NS_TAIL_CHUNK_BYTES,
};

/* Does what others can do in the time that one read or write takes. */
static struct ns_thread *other;

static void overwrite(void)
{
	struct ns_store_request request = { .key = "b", .key_len = 1 };

	for (int i = 0; other != NULL && i < OVERWRITES; i++) {
		struct ns_draft draft;
		uint64_t cas;

		assert_number(ns_draft_begin(other, &request, &draft, NULL), 0);
		assert_number(ns_draft_store(other, &draft, NS_SET, 0, 0, &cas), NS_STORED);
		ns_thread_rest(other);
	}
}

ssize_t __real_pread(int fd, void *to, size_t count, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t count, off_t offset);
ssize_t __wrap_pread(int fd, void *to, size_t count, off_t offset)
{
	overwrite();
	return __real_pread(fd, to, count, offset);
}

ssize_t __real_pwrite(int fd, const void *from, size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *from, size_t count, off_t offset)
{
	overwrite();
	return __real_pwrite(fd, from, count, offset);
}

static void who_waits_for_a_disk_keeps_no_memory_from_others(void **state)
{
	struct made made = made_default(1, 4);
	struct pool pool;
	struct ns_callers *callers;
	struct host *host = *state;
	char *bytes = make_bytes(1, SLOW_BYTES);
	struct np_error err;
	char *value = NULL;
	size_t size;

	open_pool(host, "pool", &pool);
	made.tails = pool.tails;
	callers = create(&made, 4);
	other = ns_thread_join(made.store, 1);
	assert_np_ok(ns_callers_set(callers, "a", 1, bytes, SLOW_BYTES, &err), &err);
	assert_np_ok(ns_callers_get(callers, "a", 1, &value, &size, &err), &err);
	assert_number(size, SLOW_BYTES);
	assert_memory_equal(value, bytes, size);
	assert_true(made_counts(&made).metadata_bytes < OVERWRITTEN_BYTES_MAX);
	ns_thread_leave(other);
	other = NULL;
	free(value);
	free(bytes);
	destroy(&made, callers);
	ns_tails_close(pool.tails);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_is_got_and_deleted),
		cmocka_unit_test(keys_and_values_that_cannot_be_are_refused),
		cmocka_unit_test(more_threads_than_places_wait_for_each_other),
		host_test(who_waits_for_a_disk_keeps_no_memory_from_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
