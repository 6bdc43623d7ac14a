/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool to test with, in a folder of the test's, and what a caller of tails does all day: writes and reads that
 * go on whenever they are called, in pieces of any size. Bytes tell what they are of: their seed and place.
 */
#ifndef MADE_POOL_H
#define MADE_POOL_H

#include "host.h"

#include "tail/tail.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const enum ns_tail_engine engines[] = { NS_ENGINE_URING, NS_ENGINE_THREADS };
enum { ENGINES = 2 };

struct pool {
	char path[PATH_MAX];
	struct ns_tails *tails;
};

static inline void open_pool(const struct host *host, const char *name, struct pool *pool)
{
	const char *path = pool->path;
	struct np_error err = { 0 };

	snprintf(pool->path, sizeof(pool->path), "%s/%s", host->dir, name);
	assert_np_ok(ns_pool_prepare(path, &err), &err);
	assert_np_ok(ns_tails_open(&path, 1, &pool->tails, &err), &err);
}

/* NULL where the kernel refuses rings. */
static inline struct ns_tail_io *open_io(struct ns_tails *tails, enum ns_tail_engine engine,
                                         unsigned buffers)
{
	struct ns_tail_io *io = NULL;
	struct np_error err = { 0 };
	int rc = ns_tail_io_create(tails, engine, buffers, &io, &err);

	if (engine == NS_ENGINE_URING && (rc == -EPERM || rc == -ENOSYS)) {
		print_message("skipped: %s\n", err.text);
		return NULL;
	}
	assert_np_ok(rc, &err);
	assert_int_equal(ns_tail_io_engine(io), engine);
	return io;
}

static inline char byte_of(uint64_t seed, uint64_t at)
{
	uint64_t x = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ at * UINT64_C(0xd1342543de82ef95);

	return (char)(x >> 32 ^ x);
}

static inline char *make_bytes(uint64_t seed, uint64_t count)
{
	char *bytes = malloc(count + 1);

	assert_non_null(bytes);
	for (uint64_t i = 0; i < count; i++)
		bytes[i] = byte_of(seed, i);
	return bytes;
}

static inline void check_bytes(const char *bytes, uint64_t seed, uint64_t from, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		if (bytes[i] != byte_of(seed, from + i))
			fail_msg("byte %llu of %llu differs", (unsigned long long)(from + i),
			         (unsigned long long)count);
	}
}

/* Whom the library may call, which is only while it reaps. */
static _Thread_local bool is_reaping;

static inline void wake(void *arg)
{
	assert_true(is_reaping);
	(*(unsigned *)arg)++;
}

static inline void reap(struct ns_tail_io *io)
{
	is_reaping = true;
	ns_tail_io_reap(io);
	is_reaping = false;
}

/* Until who waits is called. */
static inline void wait_for(struct ns_tail_io *io, const unsigned *woken)
{
	unsigned before = *woken;

	while (*woken == before) {
		struct pollfd event = { .fd = ns_tail_io_fd(io), .events = POLLIN };

		assert_int_equal(poll(&event, 1, 60000), 1);
		reap(io);
	}
}

/* What has ended may be under way still. */
static inline void wait_until_idle(struct ns_tail_io *io)
{
	while (ns_tail_io_is_busy(io)) {
		struct pollfd event = { .fd = ns_tail_io_fd(io), .events = POLLIN };

		assert_int_equal(poll(&event, 1, 60000), 1);
		reap(io);
	}
}

static inline uint32_t take(struct ns_tails *tails, uint64_t bytes)
{
	struct np_error err = { 0 };
	uint32_t tail = 0;

	assert_np_ok(ns_tail_take(tails, bytes, &tail, &err), &err);
	assert_true(tail > 0);
	return tail;
}

static inline int write_all(struct ns_tail_io *io, uint32_t tail, uint64_t seed, uint64_t count)
{
	unsigned woken = 0;
	struct ns_tail_waiter waiter = { wake, &woken };
	struct ns_tail_write *write = ns_tail_write_begin(io, tail, count, waiter);
	uint64_t at = 0;
	int rc;

	assert_non_null(write);
	while (at < count) {
		char *to;
		size_t room = ns_tail_write_room(write, &to);
		size_t part = 1 + (size_t)random() % 100000;

		if (room == 0) {
			wait_for(io, &woken);
			continue;
		}
		if (part > room)
			part = room;
		for (size_t i = 0; i < part; i++)
			to[i] = byte_of(seed, at + i);
		ns_tail_write_filled(write, part);
		at += part;
	}
	while ((rc = ns_tail_write_result(write)) == -EINPROGRESS)
		wait_for(io, &woken);
	ns_tail_write_end(write);
	return rc;
}

static inline int read_part(struct ns_tail_io *io, uint32_t tail, uint64_t seed, uint64_t from,
                            uint64_t count)
{
	unsigned woken = 0;
	struct ns_tail_waiter waiter = { wake, &woken };
	struct ns_tail_read *read = ns_tail_read_begin(io, tail, from, count, waiter);
	int rc = 0;

	assert_non_null(read);
	while (count > 0) {
		const char *bytes;
		ssize_t part = ns_tail_read_next(read, &bytes);
		size_t used;

		if (part < 0) {
			rc = (int)part;
			break;
		}
		if (part == 0) {
			wait_for(io, &woken);
			continue;
		}
		assert_true((uint64_t)part <= count);
		used = 1 + (size_t)random() % (size_t)part;
		check_bytes(bytes, seed, from, used);
		ns_tail_read_used(read, used);
		from += used;
		count -= used;
	}
	ns_tail_read_end(read);
	return rc;
}

#endif
