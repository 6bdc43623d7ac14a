/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What kernel and disk may answer to reads and writes of pools, and who gets staging buffers when there are few.
 * The linker leads pread, pwrite and fallocate here (tests.cmake), as no disk at hand fails when it is asked to;
 * the ring's reads and writes meet a disk that is really full, and files that are cut short (test_tail.c).
 */
#include "made_pool.h"
#include "own_mounts.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- faults ---- */

/* Of the next calls, that many end with an errno, or, without one, after so many bytes. */
struct fault {
	int code;
	size_t most;
	int left; /* atomic */
};

enum { ALWAYS = 1 << 30 };

static struct fault reading;
static struct fault writing;
static struct fault growing;

ssize_t __real_pread(int fd, void *buf, size_t count, off_t offset);
ssize_t __wrap_pread(int fd, void *buf, size_t count, off_t offset);
ssize_t __real_pwrite(int fd, const void *buf, size_t count, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *buf, size_t count, off_t offset);
int __real_fallocate(int fd, int mode, off_t offset, off_t len);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t len);

/* Whether the call fails; else *most is what its result is to be cut to. */
static bool strikes(struct fault *fault, size_t *most)
{
	*most = SIZE_MAX;
	if (__atomic_fetch_sub(&fault->left, 1, __ATOMIC_ACQ_REL) <= 0)
		return false;
	errno = fault->code;
	if (fault->code == 0)
		*most = fault->most;
	return fault->code != 0;
}

/* The whole was done, as O_DIRECT wants whole blocks, and less is told of. */
static ssize_t cut(ssize_t result, size_t most)
{
	return result > 0 && (size_t)result > most ? (ssize_t)most : result;
}

ssize_t __wrap_pread(int fd, void *buf, size_t count, off_t offset)
{
	size_t most;

	return strikes(&reading, &most) ? -1 : cut(__real_pread(fd, buf, count, offset), most);
}

ssize_t __wrap_pwrite(int fd, const void *buf, size_t count, off_t offset)
{
	size_t most;

	return strikes(&writing, &most) ? -1 : cut(__real_pwrite(fd, buf, count, offset), most);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t len)
{
	size_t most;

	return strikes(&growing, &most) ? -1 : __real_fallocate(fd, mode, offset, len);
}

static void let(struct fault *fault, int code, size_t most, int times)
{
	fault->code = code;
	fault->most = most;
	__atomic_store_n(&fault->left, times, __ATOMIC_RELEASE);
}

static void let_all_be_well(void)
{
	let(&reading, 0, 0, 0);
	let(&writing, 0, 0, 0);
	let(&growing, 0, 0, 0);
}

enum { BYTES = 300000 };

/* A pool with one tail in it, written with seed 1, and threads to read it. */
struct fixture {
	struct pool pool;
	struct ns_tail_io *io;
	uint32_t tail;
};

static void fixture_create(const struct host *host, const char *name, struct fixture *f)
{
	let_all_be_well();
	open_pool(host, name, &f->pool);
	f->io = open_io(f->pool.tails, NS_ENGINE_THREADS, 4);
	f->tail = take(f->pool.tails, BYTES);
	assert_number(write_all(f->io, f->tail, 1, BYTES), 0);
}

static void fixture_destroy(struct fixture *f)
{
	wait_until_idle(f->io);
	let_all_be_well();
	ns_tail_unpin(f->pool.tails, f->tail);
	ns_tail_io_free(f->io);
	assert_number(ns_tails_pool(f->pool.tails, 0).used_bytes, 0);
	ns_tails_close(f->pool.tails);
}

/* ---- reads and writes ---- */

static void what_is_interrupted_or_short_is_gone_on_with(void **state)
{
	static const struct {
		int code;
		size_t most;
	} cases[] = { { EINTR, 0 }, { EAGAIN, 0 }, { 0, 4096 }, { 0, 100000 }, { 0, 65536 } };
	struct host *host = *state;
	struct fixture f;
	char *bytes = make_bytes(1, BYTES);

	fixture_create(host, "pool", &f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("errno %d, at most %zu bytes", cases[i].code, cases[i].most);
		let(&writing, cases[i].code, cases[i].most, 2);
		assert_number(write_all(f.io, f.tail, 1, BYTES), 0);
		let(&reading, cases[i].code, cases[i].most, 2);
		assert_number(read_part(f.io, f.tail, 1, 0, BYTES), 0);

		let(&writing, cases[i].code, cases[i].most, 2);
		assert_number(ns_tail_write_now(f.pool.tails, f.tail, bytes, BYTES), 0);
		let(&reading, cases[i].code, cases[i].most, 2);
		memset(bytes, 0, BYTES);
		assert_number(ns_tail_read_now(f.pool.tails, f.tail, 0, bytes, BYTES), 0);
		check_bytes(bytes, 1, 0, BYTES);
	}
	assert_number(ns_tails_pool(f.pool.tails, 0).errors, 0);
	free(bytes);
	fixture_destroy(&f);
}

static void a_read_that_fails_is_lost_and_the_next_one_is_not(void **state)
{
	static const struct {
		int code;
		size_t most;
	} cases[] = { { EIO, 0 }, { ENXIO, 0 }, { EINVAL, 0 }, { 0, 1000 }, { 0, 0 } };
	struct host *host = *state;
	struct fixture f;
	char byte;

	fixture_create(host, "pool", &f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("errno %d, at most %zu bytes", cases[i].code, cases[i].most);
		let(&reading, cases[i].code, cases[i].most, 1);
		assert_number(read_part(f.io, f.tail, 1, 0, 65536), -EIO);
		wait_until_idle(f.io);
		let(&reading, cases[i].code, cases[i].most, 1);
		assert_number(ns_tail_read_now(f.pool.tails, f.tail, 0, &byte, 1), -EIO);
		let_all_be_well();
		assert_number(read_part(f.io, f.tail, 1, 0, BYTES), 0);
		assert_number(ns_tails_pool(f.pool.tails, 0).errors, 2 * (i + 1));
	}
	assert_false(ns_tails_pool(f.pool.tails, 0).is_retired);
	assert_number(ns_tails_pool(f.pool.tails, 0).damaged, 0);
	fixture_destroy(&f);
}

static void a_write_that_fails_takes_the_rest_and_says_why(void **state)
{
	static const struct {
		int code;
		int rc;
		size_t most;
	} cases[] = {
		{ EIO, -EIO, 0 },       { EROFS, -EIO, 0 }, { ENOSPC, -ENOSPC, 0 },
		{ EDQUOT, -ENOSPC, 0 }, { 0, -EIO, 1000 },
	};
	struct host *host = *state;
	struct fixture f;
	char *bytes = make_bytes(2, BYTES);

	fixture_create(host, "pool", &f);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t tail = take(f.pool.tails, BYTES);

		check_case("errno %d, at most %zu bytes", cases[i].code, cases[i].most);
		let(&writing, cases[i].code, cases[i].most, 1);
		assert_number(write_all(f.io, tail, 2, BYTES), cases[i].rc);
		wait_until_idle(f.io);
		let(&writing, cases[i].code, cases[i].most, 1);
		assert_number(ns_tail_write_now(f.pool.tails, tail, bytes, BYTES), cases[i].rc);
		let_all_be_well();
		ns_tail_unpin(f.pool.tails, tail);
		assert_number(read_part(f.io, f.tail, 1, 0, BYTES), 0);
	}
	assert_number(ns_tails_pool(f.pool.tails, 0).errors, 2 * 5);
	assert_false(ns_tails_pool(f.pool.tails, 0).is_retired);
	free(bytes);
	fixture_destroy(&f);
}

static void what_is_new_goes_to_the_pool_that_works(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char paths[2][PATH_MAX];
	const char *list[2] = { paths[0], paths[1] };
	struct ns_tails *tails;
	uint32_t tail[2];
	char *bytes = make_bytes(3, BYTES);
	unsigned bad;

	let_all_be_well();
	for (unsigned i = 0; i < 2; i++) {
		snprintf(paths[i], PATH_MAX, "%s/pool%u", host->dir, i);
		assert_np_ok(ns_pool_prepare(paths[i], &err), &err);
	}
	assert_np_ok(ns_tails_open(list, 2, &tails, &err), &err);
	tail[0] = take(tails, BYTES);
	assert_number(ns_tail_write_now(tails, tail[0], bytes, BYTES), 0);
	bad = ns_tails_pool(tails, 0).used_bytes > 0 ? 0 : 1;

	let(&writing, EIO, 0, 8);
	for (unsigned i = 0; i < 8; i++)
		assert_number(ns_tail_write_now(tails, tail[0], bytes, BYTES), -EIO);
	assert_true(ns_tails_pool(tails, bad).is_retired);
	tail[1] = take(tails, BYTES);
	assert_true(ns_tails_pool(tails, 1 - bad).used_bytes > 0);
	assert_number(ns_tail_write_now(tails, tail[1], bytes, BYTES), 0);

	/* What lies in the other one can be read, which brings it not back. */
	assert_number(ns_tail_read_now(tails, tail[0], 0, bytes, BYTES), 0);
	check_bytes(bytes, 3, 0, BYTES);
	assert_true(ns_tails_pool(tails, bad).is_retired);
	ns_tail_unpin(tails, tail[0]);
	ns_tail_unpin(tails, tail[1]);
	free(bytes);
	ns_tails_close(tails);
}

/* ---- growing ---- */

static void a_file_that_cannot_grow_is_told(void **state)
{
	static const struct {
		int code;
		int times;
		int rc;
	} cases[] = {
		{ EINTR, 3, 0 },
		{ EOPNOTSUPP, ALWAYS, 0 }, /* it is made longer without */
		{ ENOSPC, 1, 0 },          /* a step is too much */
		{ ENOSPC, ALWAYS, -ENOSPC },
		{ EDQUOT, ALWAYS, -ENOSPC },
		{ EFBIG, ALWAYS, -ENOSPC },
		{ EIO, ALWAYS, -EIO },
		{ ENOMEM, ALWAYS, -ENOMEM },
	};
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[2] = { (char)('a' + i), '\0' };
		struct np_error err = { 0 };
		struct pool pool;
		uint32_t tail;
		char *bytes = make_bytes(4, BYTES);
		int rc;

		check_case("errno %d, %d times", cases[i].code, cases[i].times);
		let_all_be_well();
		open_pool(host, name, &pool);
		let(&growing, cases[i].code, 0, cases[i].times);
		rc = ns_tail_take(pool.tails, BYTES, &tail, &err);
		assert_number(rc, cases[i].rc);
		if (rc < 0) {
			assert_number(ns_tails_pool(pool.tails, 0).file_bytes, 0);
			let_all_be_well();
			tail = take(pool.tails, BYTES);
		}
		assert_number(ns_tail_write_now(pool.tails, tail, bytes, BYTES), 0);
		assert_number(ns_tail_read_now(pool.tails, tail, 0, bytes, BYTES), 0);
		check_bytes(bytes, 4, 0, BYTES);
		ns_tail_unpin(pool.tails, tail);
		free(bytes);
		ns_tails_close(pool.tails);
	}
}

/* Rather than a signal, whose default is the end of the process. */
static void a_limit_of_file_size_is_a_full_disk(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct rlimit before;
	struct rlimit limit;
	struct pool pool;
	uint32_t tail;
	int rc;

	let_all_be_well();
	open_pool(host, "pool", &pool);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 1 << 20;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	rc = ns_tail_take(pool.tails, 2 << 20, &tail, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_fails(rc, -ENOSPC, &err, "2097152");
	tail = take(pool.tails, 2 << 20);
	ns_tail_unpin(pool.tails, tail);
	ns_tails_close(pool.tails);
}

static void make_file(const char *path, bool is_full)
{
	static const char zeros[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (is_full && write(fd, zeros, sizeof(zeros)) > 0)
		;
	close(fd);
}

/* The promise of space is broken from outside. */
static void a_disk_that_is_full_after_all_is_told(void **state)
{
	struct host *host = *state;
	char dir[PATH_MAX];
	char file[PATH_MAX + 16];
	char filler[PATH_MAX + 16];

	let_all_be_well();
	snprintf(dir, sizeof(dir), "%s/small", host->dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	own_mounts_or_skip();
	own_mounts_tmpfs(dir, "size=2m");
	for (unsigned e = 0; e < ENGINES; e++) {
		struct pool pool;
		struct ns_tail_io *io;
		uint32_t tail;
		int fd;

		check_case("engine %u", e);
		open_pool(host, e == 0 ? "small/a" : "small/b", &pool);
		snprintf(file, sizeof(file), "%s/tails", pool.path);
		snprintf(filler, sizeof(filler), "%s/filler", dir);
		io = open_io(pool.tails, engines[e], 2);
		tail = take(pool.tails, BYTES);
		if (io) {
			fd = open(file, O_WRONLY | O_CLOEXEC);
			assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			                           0, 4 << 20),
			                 0);
			close(fd);
			make_file(filler, true);
			assert_number(write_all(io, tail, 5, BYTES), -ENOSPC);
			assert_true(ns_tails_pool(pool.tails, 0).errors > 0);
			assert_false(ns_tails_pool(pool.tails, 0).is_retired);
			assert_int_equal(unlink(filler), 0);
			assert_number(write_all(io, tail, 5, BYTES), 0);
			assert_number(read_part(io, tail, 5, 0, BYTES), 0);
		}
		ns_tail_unpin(pool.tails, tail);
		ns_tail_io_free(io);
		ns_tails_close(pool.tails);
	}
	assert_int_equal(umount(dir), 0);
}

/* ---- buffers ---- */

enum { READERS = 12 };

struct reader {
	struct ns_tail_read *read;
	uint64_t at;
	unsigned woken;
	unsigned place; /* in the order in which they got something, from 1 */
};

/* Uses what is at hand. Whether anything was. */
static bool go_on(struct reader *reader, uint64_t seed, unsigned *arrived)
{
	const char *bytes;
	ssize_t part = ns_tail_read_next(reader->read, &bytes);

	assert_true(part >= 0);
	if (part == 0)
		return false;
	if (reader->place == 0)
		reader->place = ++*arrived;
	check_bytes(bytes, seed, reader->at, (uint64_t)part);
	ns_tail_read_used(reader->read, (size_t)part);
	reader->at += (uint64_t)part;
	return true;
}

enum { LONG = 1000000 };

/* All of them, each once a round, until all have all. */
static void go_on_in_turn(struct ns_tail_io *io, struct reader *readers, uint64_t seed)
{
	unsigned left = READERS;
	unsigned arrived = 0;

	while (left > 0) {
		struct pollfd event = { .fd = ns_tail_io_fd(io), .events = POLLIN };
		bool has_gone_on = false;

		for (unsigned r = 0; r < READERS; r++) {
			if (readers[r].at < LONG && go_on(&readers[r], seed, &arrived)) {
				has_gone_on = true;
				left -= readers[r].at == LONG;
			}
		}
		if (has_gone_on)
			continue;
		assert_true(ns_tail_io_is_busy(io));
		assert_int_equal(poll(&event, 1, 60000), 1);
		reap(io);
	}
}

static void take_turns(struct ns_tail_io *io, uint32_t tail, unsigned buffers)
{
	struct reader readers[READERS] = { 0 };

	assert_number(write_all(io, tail, 6, LONG), 0);
	for (unsigned r = 0; r < READERS; r++) {
		struct ns_tail_waiter waiter = { wake, &readers[r].woken };

		readers[r].read = ns_tail_read_begin(io, tail, 0, LONG, waiter);
		assert_non_null(readers[r].read);
	}
	go_on_in_turn(io, readers, 6);
	for (unsigned r = 0; r < READERS; r++) {
		/* With one buffer there is but one order. */
		if (buffers == 1)
			assert_number(readers[r].place, r + 1);
		ns_tail_read_end(readers[r].read);
	}
}

static void readers_with_few_buffers_take_turns(void **state)
{
	static const unsigned buffers[] = { 1, 2, 5 };
	struct host *host = *state;

	let_all_be_well();
	for (unsigned i = 0; i < 3 * ENGINES; i++) {
		char name[2] = { (char)('a' + i), '\0' };
		struct pool pool;
		struct ns_tail_io *io;
		uint32_t tail;

		check_case("engine %u, %u buffers", i % ENGINES, buffers[i / ENGINES]);
		open_pool(host, name, &pool);
		io = open_io(pool.tails, engines[i % ENGINES], buffers[i / ENGINES]);
		tail = take(pool.tails, LONG);
		if (io)
			take_turns(io, tail, buffers[i / ENGINES]);
		ns_tail_unpin(pool.tails, tail);
		ns_tail_io_free(io);
		ns_tails_close(pool.tails);
	}
}

/* Two wait for the only buffer; one of them gives up, and the buffer is the other's. */
static void who_gives_up_is_passed_over(void **state)
{
	struct host *host = *state;

	let_all_be_well();
	for (unsigned e = 0; e < ENGINES; e++) {
		unsigned woken[3] = { 0 };
		struct ns_tail_read *reads[2];
		struct ns_tail_write *write;
		struct pool pool;
		struct ns_tail_io *io;
		uint32_t tail;
		uint32_t other;
		char *to;
		const char *bytes;

		check_case("engine %u", e);
		open_pool(host, e == 0 ? "a" : "b", &pool);
		io = open_io(pool.tails, engines[e], 1);
		tail = take(pool.tails, 1000);
		other = take(pool.tails, 1000);
		if (io) {
			assert_number(write_all(io, tail, 7, 1000), 0);
			for (unsigned r = 0; r < 2; r++)
				reads[r] = ns_tail_read_begin(
					io, tail, 0, 1000,
					(struct ns_tail_waiter){ wake, &woken[r] });
			write = ns_tail_write_begin(io, other, 1000,
			                            (struct ns_tail_waiter){ wake, &woken[2] });
			assert_number(ns_tail_write_room(write, &to), 0);
			assert_number(ns_tail_read_next(reads[0], &bytes), 0);
			wait_for(io, &woken[0]);
			assert_number(ns_tail_read_next(reads[0], &bytes), 1000);
			check_bytes(bytes, 7, 0, 1000);
			ns_tail_read_end(reads[1]);
			ns_tail_read_end(reads[0]);
			/* Nobody is called before the next reaping, and then who still waits. */
			assert_number(woken[2], 0);
			wait_for(io, &woken[2]);
			assert_number(ns_tail_write_room(write, &to), 1000);
			assert_number(woken[1], 0);
			ns_tail_write_end(write);
			assert_false(ns_tail_io_is_busy(io));
		}
		ns_tail_unpin(pool.tails, tail);
		ns_tail_unpin(pool.tails, other);
		ns_tail_io_free(io);
		ns_tails_close(pool.tails);
	}
}

/* The peer takes its time to send the rest of a value that is lost already. */
static void a_write_that_failed_keeps_no_buffer(void **state)
{
	struct host *host = *state;
	struct fixture f;
	unsigned woken = 0;
	struct ns_tail_waiter waiter = { wake, &woken };
	struct ns_tail_write *write;
	struct ns_tail_io *io;
	uint32_t tail;
	char *to;
	size_t room;

	fixture_create(host, "pool", &f);
	io = open_io(f.pool.tails, NS_ENGINE_THREADS, 2);
	tail = take(f.pool.tails, 2000000);
	write = ns_tail_write_begin(io, tail, 2000000, waiter);
	let(&writing, EIO, 0, 1);
	/* One chunk goes, and the other buffer is there to be filled. */
	room = ns_tail_write_room(write, &to);
	memset(to, 'x', room);
	ns_tail_write_filled(write, room);
	assert_true(ns_tail_write_room(write, &to) > 0);
	ns_tail_write_filled(write, 1);
	while (ns_tail_write_result(write) == -EINPROGRESS)
		wait_for(io, &woken);
	assert_true(ns_tail_write_room(write, &to) > 0);
	memset(to, 'x', 1000);
	ns_tail_write_filled(write, 1000);
	assert_number(read_part(io, f.tail, 1, 0, BYTES), 0);
	assert_number(ns_tail_write_result(write), -EIO);
	ns_tail_write_end(write);
	ns_tail_unpin(f.pool.tails, tail);
	ns_tail_io_free(io);
	fixture_destroy(&f);
}

/* Else the end of its last unit would be what the buffer had of another's. */
static void a_write_of_another_length_than_the_tail_is_refused(void **state)
{
	static const uint64_t counts[] = { 1, BYTES - 1, BYTES + 1, 2 * (uint64_t)BYTES };
	struct host *host = *state;
	struct fixture f;
	char *bytes = make_bytes(1, 2 * (uint64_t)BYTES);

	fixture_create(host, "pool", &f);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		check_case("%llu bytes", (unsigned long long)counts[i]);
		assert_number(write_all(f.io, f.tail, 8, counts[i]), -EINVAL);
		assert_number(ns_tail_write_now(f.pool.tails, f.tail, bytes, counts[i]), -EINVAL);
		assert_number(read_part(f.io, f.tail, 1, 0, BYTES), 0);
	}
	free(bytes);
	fixture_destroy(&f);
}

static void an_engine_is_found_or_the_lack_is_told(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tail_io *io;
	struct fixture f;

	fixture_create(host, "pool", &f);
	assert_np_ok(ns_tail_io_create(f.pool.tails, NS_ENGINE_AUTO, 1, &io, &err), &err);
	assert_true(ns_tail_io_engine(io) != NS_ENGINE_AUTO);
	assert_number(read_part(io, f.tail, 1, 0, BYTES), 0);
	ns_tail_io_free(io);
	assert_fails(ns_tail_io_create(f.pool.tails, NS_ENGINE_AUTO, 0, &io, &err), -EINVAL, &err,
	             "staging buffer");
	fixture_destroy(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(what_is_interrupted_or_short_is_gone_on_with),
		host_test(a_read_that_fails_is_lost_and_the_next_one_is_not),
		host_test(a_write_that_fails_takes_the_rest_and_says_why),
		host_test(what_is_new_goes_to_the_pool_that_works),
		host_test(a_file_that_cannot_grow_is_told),
		host_test(a_limit_of_file_size_is_a_full_disk),
		host_test(a_disk_that_is_full_after_all_is_told),
		host_test(readers_with_few_buffers_take_turns),
		host_test(who_gives_up_is_passed_over),
		host_test(a_write_that_failed_keeps_no_buffer),
		host_test(a_write_of_another_length_than_the_tail_is_refused),
		host_test(an_engine_is_found_or_the_lack_is_told),
	};

	return cmocka_run_group_tests_name("tail_io", tests, NULL, NULL);
}
