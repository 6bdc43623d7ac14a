/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A store to test with, on one to three made-up nodes whose arenas are ordinary memory: node 1 is
 * preferred and serves, then come 0 (at distance 20) and 2 (at 30).
 */
#ifndef MADE_STORE_H
#define MADE_STORE_H

#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <store/store.h>
#include <string.h>

enum { MADE_BLOCK = 64 << 10, MADE_HEAD = 4096, MADE_THREADS = 8 };

struct made {
	struct ns_config config; /* to be changed before made_create() */
	struct ns_arena arenas[3];
	size_t arena_count;
	size_t block_count;     /* of each arena */
	struct ns_tails *tails; /* to be set before made_create(), and the caller's; NULL: none */
	struct ns_store *store;
	struct ns_thread *thread; /* of node 1 */
	uint32_t now_s;
};

static inline struct made made_default(size_t arena_count, size_t block_count)
{
	return (struct made){
		.config = { .block_bytes = MADE_BLOCK, .head_bytes = MADE_HEAD },
		.arena_count = arena_count,
		.block_count = block_count,
	};
}

static inline void made_create(struct made *made)
{
	static const struct ns_arena_plan plans[] = { { 1, 10, 0 }, { 0, 20, 0 }, { 2, 30, 0 } };
	struct ns_store_setup setup = {
		.config = &made->config,
		.arenas = made->arenas,
		.arena_count = made->arena_count,
		.tails = made->tails,
		.far_node = plans[made->arena_count - 1].node,
		.threads_max = MADE_THREADS,
		.hash_seed = 42,
	};
	struct np_error err;

	for (size_t i = 0; i < made->arena_count; i++) {
		struct ns_arena *arena = &made->arenas[i];

		*arena = (struct ns_arena){
			.plan = plans[i],
			.base = aligned_alloc(MADE_BLOCK, made->block_count * MADE_BLOCK),
			.block_bytes = MADE_BLOCK,
			.block_count = made->block_count,
		};
		assert_non_null(arena->base);
	}
	assert_np_ok(ns_store_create(&setup, &made->store, &err), &err);
	made->thread = ns_thread_join(made->store, 1);
	assert_non_null(made->thread);
	made->now_s = ns_store_now_s(made->store);
}

static inline void made_destroy(struct made *made)
{
	ns_thread_leave(made->thread);
	ns_store_free(made->store);
	for (size_t i = 0; i < made->arena_count; i++)
		free(made->arenas[i].base);
}

/* Begins an object with that value; 0 or as ns_draft_begin(). */
static inline int made_draft(struct made *made, const char *key, const char *value, size_t size,
                             struct ns_draft *ret, struct np_error *err)
{
	struct ns_store_request request = { .key = key, .key_len = strlen(key), .bytes = size };
	int rc = ns_draft_begin(made->thread, &request, ret, err);

	if (rc == 0 && size > 0)
		memcpy(ret->head, value, size);
	return rc;
}

static inline enum ns_outcome made_store(struct made *made, const char *key, const char *value,
                                         enum ns_mode mode, uint64_t cas)
{
	struct ns_draft draft;
	struct np_error err;
	uint64_t new_cas;

	assert_np_ok(made_draft(made, key, value, strlen(value), &draft, &err), &err);
	return ns_draft_store(made->thread, &draft, mode, cas, 0, &new_cas);
}

static inline void made_set(struct made *made, const char *key, const char *value)
{
	assert_number(made_store(made, key, value, NS_SET, 0), NS_STORED);
}

/* The value as text, "" for an empty one, NULL for none; good until the next call. */
static inline const char *made_value_at(struct made *made, const char *key, uint32_t now_s)
{
	static char text[MADE_HEAD + 1];
	const struct ns_object *object = ns_store_get(made->thread, key, strlen(key), now_s);
	const char *head;
	size_t size;

	if (object == NULL)
		return NULL;
	head = ns_object_head(made->store, object, &size);
	memcpy(text, head, size);
	text[size] = '\0';
	ns_object_unpin(made->thread, object);
	return text;
}

static inline const char *made_value(struct made *made, const char *key)
{
	return made_value_at(made, key, made->now_s);
}

static inline const struct ns_object *made_get(struct made *made, const char *key)
{
	return ns_store_get(made->thread, key, strlen(key), made->now_s);
}

static inline uint64_t made_cas(struct made *made, const char *key)
{
	const struct ns_object *object = made_get(made, key);
	uint64_t cas;

	assert_non_null(object);
	cas = ns_object_cas(object);
	ns_object_unpin(made->thread, object);
	return cas;
}

static inline struct ns_counts made_counts(struct made *made)
{
	struct ns_counts counts;

	ns_store_count(made->store, &counts);
	return counts;
}

#endif
