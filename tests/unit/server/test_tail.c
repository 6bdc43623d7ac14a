/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tails through both engines and without one: what was written comes back, whatever is done in between; what does
 * not is never handed out.
 */
#include "made_pool.h"
#include "own_mounts.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint64_t sizes[] = { 1,      4095,   65535,  65536,  65537,
	                          131072, 262143, 262144, 262145, 1000003 };

static void what_was_written_is_read(void **state)
{
	struct host *host = *state;

	for (unsigned e = 0; e < ENGINES; e++) {
		struct pool pool;
		struct ns_tail_io *io;

		open_pool(host, e == 0 ? "a" : "b", &pool);
		io = open_io(pool.tails, engines[e], 4);
		for (size_t i = 0; io && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			uint64_t bytes = sizes[i];
			uint32_t tail = take(pool.tails, bytes);

			check_case("engine %u, %llu bytes", e, (unsigned long long)bytes);
			assert_number(write_all(io, tail, i, bytes), 0);
			assert_number(read_part(io, tail, i, 0, bytes), 0);
			for (unsigned part = 0; part < 20; part++) {
				uint64_t from = (uint64_t)random() % bytes;
				uint64_t count = 1 + (uint64_t)random() % (bytes - from);

				assert_number(read_part(io, tail, i, from, count), 0);
			}
			ns_tail_unpin(pool.tails, tail);
		}
		assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 0);
		assert_number(ns_tails_pool(pool.tails, 0).errors, 0);
		ns_tail_io_free(io);
		ns_tails_close(pool.tails);
	}
}

static void who_may_wait_reads_and_writes_the_same(void **state)
{
	struct host *host = *state;
	struct pool pool;

	open_pool(host, "pool", &pool);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint64_t bytes = sizes[i];
		uint32_t tail = take(pool.tails, bytes);
		char *there = make_bytes(i, bytes);
		char *back = malloc(bytes);
		uint64_t from = bytes / 3;

		assert_number(ns_tail_write_now(pool.tails, tail, there, bytes), 0);
		assert_number(ns_tail_read_now(pool.tails, tail, 0, back, bytes), 0);
		check_bytes(back, i, 0, bytes);
		assert_number(ns_tail_read_now(pool.tails, tail, from, back, bytes - from), 0);
		check_bytes(back, i, from, bytes - from);
		assert_number(ns_tail_read_now(pool.tails, tail, bytes, back, 1), -EINVAL);
		free(there);
		free(back);
		ns_tail_unpin(pool.tails, tail);
	}
	ns_tails_close(pool.tails);
}

static void a_tail_lives_until_the_last_unpin(void **state)
{
	struct host *host = *state;
	struct pool pool;
	uint32_t tail;

	open_pool(host, "pool", &pool);
	tail = take(pool.tails, 100);
	ns_tail_pin(pool.tails, tail);
	ns_tail_unpin(pool.tails, tail);
	assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 65536);
	ns_tail_unpin(pool.tails, tail);
	assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 0);
	/* Its number and its place are used again. */
	assert_number(take(pool.tails, 100), tail);
	assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 65536);
	ns_tail_unpin(pool.tails, tail);
	ns_tails_close(pool.tails);
}

/* Everything in the pool's file becomes something else. */
static void damage(const struct pool *pool)
{
	char path[PATH_MAX + 8];
	char junk[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/tails", pool->path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	memset(junk, 0x5a, sizeof(junk));
	for (off_t at = 0; at < 1 << 20; at += (off_t)sizeof(junk))
		assert_int_equal(pwrite(fd, junk, sizeof(junk), at), sizeof(junk));
	assert_int_equal(fsync(fd), 0);
	close(fd);
}

static void cut_short(const struct pool *pool)
{
	char path[PATH_MAX + 8];

	snprintf(path, sizeof(path), "%s/tails", pool->path);
	assert_int_equal(truncate(path, 70000), 0);
}

static void what_was_changed_from_outside_is_never_handed_out(void **state)
{
	struct host *host = *state;

	for (unsigned e = 0; e < ENGINES * 2; e++) {
		bool is_cut = e >= ENGINES;
		char name[8] = { (char)('a' + e), '\0' };
		struct pool pool;
		struct ns_tail_io *io;
		uint32_t tail;
		char byte;

		check_case("engine %u, %s", e % ENGINES, is_cut ? "cut short" : "overwritten");
		open_pool(host, name, &pool);
		io = open_io(pool.tails, engines[e % ENGINES], 4);
		tail = take(pool.tails, 300000);
		if (io) {
			assert_number(write_all(io, tail, 1, 300000), 0);
			(is_cut ? cut_short : damage)(&pool);
			assert_number(read_part(io, tail, 1, 200000, 100000), -EIO);
			assert_number(ns_tail_read_now(pool.tails, tail, 200000, &byte, 1), -EIO);
			if (!is_cut)
				assert_number(ns_tails_pool(pool.tails, 0).damaged, 2 + 1);
		}
		ns_tail_unpin(pool.tails, tail);
		ns_tail_io_free(io);
		ns_tails_close(pool.tails);
	}
}

static void after_errors_in_a_row_nothing_new_is_put_there(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct pool pool;
	uint32_t tail;
	char byte;

	open_pool(host, "pool", &pool);
	tail = take(pool.tails, 300000);
	damage(&pool);
	for (unsigned i = 0; i < 8; i++) {
		assert_false(ns_tails_pool(pool.tails, 0).is_retired);
		assert_number(ns_tail_read_now(pool.tails, tail, 0, &byte, 1), -EIO);
	}
	assert_true(ns_tails_pool(pool.tails, 0).is_retired);
	ns_tail_unpin(pool.tails, tail);
	assert_fails(ns_tail_take(pool.tails, 1, &tail, &err), -EIO, &err, "no pool is in use");
	ns_tails_close(pool.tails);
}

static void a_read_can_end_while_the_kernel_has_its_buffers(void **state)
{
	struct host *host = *state;

	for (unsigned e = 0; e < ENGINES; e++) {
		struct pool pool;
		struct ns_tail_io *io;
		uint32_t tail;
		unsigned woken = 0;
		struct ns_tail_waiter waiter = { wake, &woken };

		open_pool(host, e == 0 ? "a" : "b", &pool);
		io = open_io(pool.tails, engines[e], 3);
		tail = take(pool.tails, 1000000);
		if (io) {
			assert_number(write_all(io, tail, 3, 1000000), 0);
			for (unsigned i = 0; i < 50; i++) {
				struct ns_tail_read *reads[5];

				for (unsigned r = 0; r < 5; r++)
					reads[r] = ns_tail_read_begin(io, tail, 0, 1000000, waiter);
				if (i % 3 == 0)
					reap(io);
				for (unsigned r = 0; r < 5; r++)
					ns_tail_read_end(reads[(r + i) % 5]);
			}
			/* Nothing is lost by that: all buffers can be had again. */
			assert_number(read_part(io, tail, 3, 0, 1000000), 0);
		}
		ns_tail_unpin(pool.tails, tail);
		ns_tail_io_free(io);
		assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 0);
		ns_tails_close(pool.tails);
	}
}

static void a_write_can_end_in_the_middle(void **state)
{
	struct host *host = *state;

	for (unsigned e = 0; e < ENGINES; e++) {
		struct pool pool;
		struct ns_tail_io *io;
		unsigned woken = 0;
		struct ns_tail_waiter waiter = { wake, &woken };

		open_pool(host, e == 0 ? "a" : "b", &pool);
		io = open_io(pool.tails, engines[e], 2);
		for (unsigned i = 0; io && i < 50; i++) {
			uint32_t tail = take(pool.tails, 1000000);
			struct ns_tail_write *write =
				ns_tail_write_begin(io, tail, 1000000, waiter);

			for (unsigned part = 0; part < i % 8; part++) {
				char *to;
				size_t room = ns_tail_write_room(write, &to);

				memset(to, 'x', room > 0 ? 1 : 0);
				if (room > 0)
					ns_tail_write_filled(write, room);
			}
			ns_tail_write_end(write);
			ns_tail_unpin(pool.tails, tail);
		}
		ns_tail_io_free(io);
		assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 0);
		ns_tails_close(pool.tails);
	}
}

enum { TAILS = 24, BYTES_MAX = 700000 };

/* Tails come and go in a pool that is fragmented so; all are what they were. */
static void tails_keep_their_bytes_while_others_come_and_go(void **state)
{
	struct host *host = *state;

	srandom(11);
	for (unsigned e = 0; e < ENGINES; e++) {
		struct pool pool;
		struct ns_tail_io *io;
		uint32_t tails[TAILS] = { 0 };
		uint64_t bytes[TAILS];
		uint64_t seeds[TAILS];

		open_pool(host, e == 0 ? "a" : "b", &pool);
		io = open_io(pool.tails, engines[e], 5);
		for (unsigned step = 0; io && step < 250; step++) {
			unsigned i = (unsigned)random() % TAILS;

			if (tails[i] == 0) {
				bytes[i] = 1 + (uint64_t)random() % BYTES_MAX;
				seeds[i] = step;
				tails[i] = take(pool.tails, bytes[i]);
				assert_number(write_all(io, tails[i], step, bytes[i]), 0);
			} else if (random() % 2) {
				uint64_t from = (uint64_t)random() % bytes[i];

				assert_number(
					read_part(io, tails[i], seeds[i], from, bytes[i] - from),
					0);
			} else {
				ns_tail_unpin(pool.tails, tails[i]);
				tails[i] = 0;
			}
		}
		for (unsigned i = 0; i < TAILS; i++) {
			if (tails[i])
				ns_tail_unpin(pool.tails, tails[i]);
		}
		ns_tail_io_free(io);
		ns_tails_close(pool.tails);
	}
}

enum { THREADS = 3, SHARED_STEPS = 60 };

struct sharer {
	struct ns_tails *tails;
	enum ns_tail_engine engine;
	uint64_t seed;
	unsigned mistakes;
};

static void *share(void *arg)
{
	struct sharer *sharer = arg;
	struct ns_tail_io *io = open_io(sharer->tails, sharer->engine, 3);

	for (unsigned step = 0; io && step < SHARED_STEPS; step++) {
		uint64_t seed = sharer->seed + step;
		uint64_t bytes = 1 + seed * 7919 % 500000;
		uint32_t tail;

		if (ns_tail_take(sharer->tails, bytes, &tail, NULL) < 0) {
			sharer->mistakes++;
			continue;
		}
		sharer->mistakes += write_all(io, tail, seed, bytes) != 0;
		ns_tail_pin(sharer->tails, tail);
		sharer->mistakes += read_part(io, tail, seed, bytes / 2, bytes - bytes / 2) != 0;
		ns_tail_unpin(sharer->tails, tail);
		(void)ns_tails_pool(sharer->tails, 0);
		ns_tail_unpin(sharer->tails, tail);
	}
	ns_tail_io_free(io);
	return NULL;
}

static void threads_share_pools(void **state)
{
	struct host *host = *state;
	struct sharer sharers[THREADS];
	pthread_t threads[THREADS];
	struct pool pool;

	open_pool(host, "pool", &pool);
	for (unsigned i = 0; i < THREADS; i++) {
		sharers[i] = (struct sharer){ .tails = pool.tails,
			                      .engine = engines[i % ENGINES],
			                      .seed = (uint64_t)i * SHARED_STEPS };
		assert_int_equal(pthread_create(&threads[i], NULL, share, &sharers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_number(sharers[i].mistakes, 0);
	}
	assert_number(ns_tails_pool(pool.tails, 0).used_bytes, 0);
	assert_number(ns_tails_pool(pool.tails, 0).errors, 0);
	ns_tails_close(pool.tails);
}

static void a_full_disk_refuses_and_goes_on(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char dir[PATH_MAX];
	struct pool pool;
	uint32_t tail;
	uint32_t other;
	char *bytes;

	snprintf(dir, sizeof(dir), "%s/small", host->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	own_mounts_or_skip();
	own_mounts_tmpfs(dir, "size=1m");
	open_pool(host, "small/pool", &pool);
	tail = take(pool.tails, 600000);
	bytes = make_bytes(5, 600000);
	assert_number(ns_tail_write_now(pool.tails, tail, bytes, 600000), 0);
	assert_fails(ns_tail_take(pool.tails, 600000, &other, &err), -ENOSPC, &err, "600000");
	assert_false(ns_tails_pool(pool.tails, 0).is_retired);
	/* What is given back can be had again. */
	ns_tail_unpin(pool.tails, tail);
	tail = take(pool.tails, 600000);
	assert_number(ns_tail_write_now(pool.tails, tail, bytes, 600000), 0);
	assert_number(ns_tail_read_now(pool.tails, tail, 0, bytes, 600000), 0);
	check_bytes(bytes, 5, 0, 600000);
	ns_tail_unpin(pool.tails, tail);
	free(bytes);
	ns_tails_close(pool.tails);
	assert_int_equal(umount(dir), 0);
}

static void a_directory_that_vanishes_takes_nothing_along(void **state)
{
	struct host *host = *state;
	struct pool pool;
	char command[PATH_MAX + 16];
	char *bytes = make_bytes(9, 200000);
	uint32_t tail;

	open_pool(host, "pool", &pool);
	snprintf(command, sizeof(command), "rm -r '%s'", pool.path);
	assert_int_equal(system(command), 0);
	/* The open file is ours until we close it. */
	tail = take(pool.tails, 200000);
	assert_number(ns_tail_write_now(pool.tails, tail, bytes, 200000), 0);
	assert_number(ns_tail_read_now(pool.tails, tail, 0, bytes, 200000), 0);
	check_bytes(bytes, 9, 0, 200000);
	ns_tail_unpin(pool.tails, tail);
	ns_tails_close(pool.tails);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(what_was_written_is_read),
		host_test(who_may_wait_reads_and_writes_the_same),
		host_test(a_tail_lives_until_the_last_unpin),
		host_test(what_was_changed_from_outside_is_never_handed_out),
		host_test(after_errors_in_a_row_nothing_new_is_put_there),
		host_test(a_read_can_end_while_the_kernel_has_its_buffers),
		host_test(a_write_can_end_in_the_middle),
		host_test(tails_keep_their_bytes_while_others_come_and_go),
		host_test(threads_share_pools),
		host_test(a_full_disk_refuses_and_goes_on),
		host_test(a_directory_that_vanishes_takes_nothing_along),
	};

	return cmocka_run_group_tests_name("tail", tests, NULL, NULL);
}
