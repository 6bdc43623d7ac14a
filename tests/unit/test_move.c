/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real processes moved on this host, whatever it is: children of the test that hold until they are
 * ended. Moves from node to node need several nodes, and are tested in the emulated machines.
 */
#include "host.h"

#include "../../launcher/lib/affinity.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <numarun/move.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8, ABSENT_CPU = 900, USER = 1000, OTHER_USER = 1001, MIB = 1 << 20 };

static struct np_sysroot root;
static struct np_bitmap inherited; /* the CPUs of this process, and so of its children */
static struct np_bitmap one;       /* the first of these */
static struct np_bitmap memory;    /* all nodes with memory */
static pid_t child = -1;

/* --- children --------------------------------------------------------------------------------- */

/* What a child does before it holds; it says "ready" by a byte to @ready, and never returns. */
typedef void hold_fn(int ready);

static void end_child(void)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	child = -1;
}

static void start_child(hold_fn *hold)
{
	int ends[2];
	char byte;

	assert_number(pipe(ends), 0);
	child = fork_child();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		hold(ends[1]);
		_exit(1);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1 || byte != 'r') {
		close(ends[0]);
		end_child();
		print_message("skipped: the child could not set itself up\n");
		skip();
	}
	close(ends[0]);
}

static void say_ready(int ready)
{
	if (write(ready, "r", 1) != 1)
		_exit(1);
}

static void hold_ready(int ready)
{
	say_ready(ready);
	for (;;)
		pause();
}

static void *idle(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

static void hold_threads(int ready)
{
	for (int i = 0; i < THREADS; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, idle, NULL) != 0)
			_exit(1);
	}
	hold_ready(ready);
}

static void *end_at_once(void *unused)
{
	return unused;
}

static void *make_threads(void *unused)
{
	for (;;) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
			pthread_join(thread, NULL);
	}
	return unused;
}

static void hold_storm(int ready)
{
	for (int i = 0; i < 4; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, make_threads, NULL) != 0)
			_exit(1);
	}
	hold_ready(ready);
}

/* The whole of a child's memory but what it had: written, so that it is there. */
static char *map_written(size_t bytes, int flags, int advice)
{
	char *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (region == MAP_FAILED)
		_exit(1);
	if (advice >= 0)
		madvise(region, bytes, advice);
	for (size_t at = 0; at < bytes; at += 4096)
		region[at] = 1;
	return region;
}

static void hold_pages(int ready)
{
	map_written(16 * MIB, 0, MADV_NOHUGEPAGE);
	hold_ready(ready);
}

static void hold_transparent(int ready)
{
	map_written(16 * MIB, 0, MADV_HUGEPAGE);
	hold_ready(ready);
}

static void hold_huge(int ready)
{
	map_written(4 * MIB, MAP_HUGETLB, -1);
	hold_ready(ready);
}

static void hold_sparse(int ready)
{
	size_t bytes = (size_t)1 << 40;
	char *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (region == MAP_FAILED)
		_exit(1);
	madvise(region, bytes, MADV_NOHUGEPAGE);
	region[0] = 1;
	region[bytes / 2] = 1;
	region[bytes - 1] = 1;
	hold_ready(ready);
}

/* The first thread ends, and its name in /proc has no memory any more. */
static void *hold_when_alone(void *argument)
{
	char path[64];
	char byte;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)getpid());
	for (;;) {
		FILE *file = fopen(path, "r");
		bool gone = !file || fread(&byte, 1, 1, file) != 1;

		if (file)
			fclose(file);
		if (gone)
			hold_ready(*(int *)argument);
		sched_yield();
	}
	return NULL;
}

static void hold_without_first_thread(int ready)
{
	static int end;
	pthread_t thread;

	end = ready;
	map_written(4 * MIB, 0, MADV_NOHUGEPAGE);
	if (pthread_create(&thread, NULL, hold_when_alone, &end) != 0)
		_exit(1);
	/* As pthread_exit() does, without what a sanitizer has to say about its end. */
	syscall(SYS_exit, 0);
}

static atomic_bool changed;

/* By the system call alone: the C library's function would do it for all threads. */
static void become(long user)
{
	if (syscall(SYS_setresuid, user, user, user) < 0)
		_exit(1);
}

static void *become_other_user(void *unused)
{
	become(OTHER_USER);
	atomic_store(&changed, true);
	return idle(unused);
}

static void hold_two_users(int ready)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, become_other_user, NULL) != 0)
		_exit(1);
	while (!atomic_load(&changed))
		sched_yield();
	become(USER);
	hold_ready(ready);
}

/* Runs @act in a child of its own and hands over its code and text. */
typedef int act_fn(struct np_error *err);

static int in_child(act_fn *act, struct np_error *ret)
{
	struct {
		int rc;
		struct np_error err;
	} outcome = { 0 };
	int ends[2];
	pid_t pid;

	assert_number(pipe(ends), 0);
	pid = fork_child();
	if (pid == 0) {
		outcome.rc = act(&outcome.err);
		_exit(write(ends[1], &outcome, sizeof(outcome)) != sizeof(outcome));
	}
	close(ends[1]);
	assert_number(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
	close(ends[0]);
	assert_number(waitpid(pid, NULL, 0), pid);
	*ret = outcome.err;
	return outcome.rc;
}

static int as_user(act_fn *act, struct np_error *err)
{
	if (syscall(SYS_setresuid, USER, USER, USER) < 0)
		return np_error_sys(err, errno, "setresuid");
	return act(err);
}

static void skip_unless_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("skipped: only root can be several users\n");
	skip();
}

/* --- helpers ---------------------------------------------------------------------------------- */

static int prepare(void **state)
{
	struct np_error err = { 0 };
	bool found;

	(void)state;
	if (np_sysroot_open(NULL, &root, &err) < 0 || nr_affinity_read(0, &inherited) < 0 ||
	    np_bitmap_add(&one, np_bitmap_next(&inherited, 0)) < 0 ||
	    np_sysroot_read_list_optional(&root, "sys/devices/system/node/has_memory", &memory,
	                                  &found, &err) < 0)
		return -1;
	return found ? 0 : np_bitmap_add(&memory, 0);
}

static int finish(void **state)
{
	(void)state;
	np_sysroot_close(&root);
	np_bitmap_release(&inherited);
	np_bitmap_release(&one);
	np_bitmap_release(&memory);
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	end_child();
	return 0;
}

/* Every thread of @pid that still runs may use @cpus and no others; returns how many there are. */
static unsigned assert_threads_on(pid_t pid, const struct np_bitmap *cpus)
{
	char path[64];
	char **names;
	struct np_error err = { 0 };
	unsigned count = 0;
	int found;

	snprintf(path, sizeof(path), "proc/%d/task", (int)pid);
	found = np_sysroot_list(&root, path, &names, &err);
	assert_np_ok(found, &err);
	for (int i = 0; i < found; i++) {
		struct np_bitmap now = { 0 };

		if (nr_affinity_read((pid_t)strtol(names[i], NULL, 10), &now) == 0) {
			check_case("thread %s of %d", names[i], (int)pid);
			assert_true(np_bitmap_equal(&now, cpus));
			count++;
		}
		np_bitmap_release(&now);
	}
	free(names);
	return count;
}

/* Starts a child with THREADS threads beside its first, more where a sanitizer adds one. */
static unsigned start_threads(void)
{
	unsigned count;

	start_child(hold_threads);
	count = assert_threads_on(child, &inherited);
	assert_true(count > THREADS);
	return count;
}

static struct nr_page_moves move_pages_ok(const struct np_bitmap *nodes)
{
	struct nr_page_request request = { .pid = child, .nodes = nodes };
	struct nr_page_moves moves = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_move_pages(&root, &request, &moves, &err), &err);
	assert_number(moves.end, NR_MOVE_DONE);
	assert_number(moves.pages,
	              moves.there + moves.moved + moves.shared + moves.busy + moves.failed);
	return moves;
}

/* All nodes are targets, so that all pages are there; at least so many bytes. */
static void assert_all_there(uint64_t bytes)
{
	struct nr_page_moves moves = move_pages_ok(&memory);

	assert_true(moves.pages * moves.page_bytes >= bytes);
	assert_number(moves.there, moves.pages);
	assert_number(moves.moved, 0);
	assert_number(moves.calls, 0);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void all_threads_are_moved_and_read_back(void **state)
{
	struct nr_thread_moves moves = { 0 };
	struct np_error err = { 0 };

	unsigned count = start_threads();

	(void)state;
	assert_np_ok(nr_move_threads(&root, child, &one, &moves, &err), &err);
	assert_number(moves.seen, count);
	assert_number(moves.moved, count);
	assert_true(moves.settled);
	assert_number(assert_threads_on(child, &one), count);
	nr_thread_moves_release(&moves);
	assert_np_ok(nr_move_threads(&root, child, &inherited, &moves, &err), &err);
	assert_number(assert_threads_on(child, &inherited), count);
	nr_thread_moves_release(&moves);
}

static void threads_that_come_and_go_are_all_caught(void **state)
{
	struct nr_thread_moves moves = { 0 };
	struct np_error err = { 0 };

	(void)state;
	start_child(hold_storm);
	for (int round = 0; round < 10; round++) {
		const struct np_bitmap *cpus = round % 2 ? &inherited : &one;

		assert_np_ok(nr_move_threads(&root, child, cpus, &moves, &err), &err);
		assert_true(moves.settled);
		assert_number(moves.cut + moves.strayed + moves.fixed, 0);
		for (int look = 0; look < 20; look++)
			assert_true(assert_threads_on(child, cpus) >= 5);
		nr_thread_moves_release(&moves);
	}
}

static void cpus_that_the_kernel_drops_are_counted(void **state)
{
	struct nr_thread_moves moves = { 0 };
	struct np_error err = { 0 };
	struct np_bitmap cpus = { 0 };
	unsigned count;

	(void)state;
	assert_number(np_bitmap_copy(&cpus, &one), 0);
	assert_number(np_bitmap_add(&cpus, ABSENT_CPU), 0);
	count = start_threads();
	assert_np_ok(nr_move_threads(&root, child, &cpus, &moves, &err), &err);
	assert_number(moves.cut, count);
	assert_number(moves.moved, 0);
	assert_true(moves.cut_tid > 0);
	assert_true(np_bitmap_equal(&moves.cut_cpus, &one));
	assert_true(moves.settled);
	nr_thread_moves_release(&moves);
	np_bitmap_release(&cpus);
}

static void cpus_that_nobody_can_use_are_refused(void **state)
{
	struct nr_thread_moves moves = { 0 };
	struct np_error err = { 0 };
	struct np_bitmap cpus = set_of("900");
	struct np_bitmap none = { 0 };
	unsigned count = start_threads();

	(void)state;
	assert_fails(nr_move_threads(&root, child, &cpus, &moves, &err), -EINVAL, &err,
	             "can use none of CPU 900");
	assert_fails(nr_move_threads(&root, child, &none, &moves, &err), -EINVAL, &err, "no CPU");
	assert_number(assert_threads_on(child, &inherited), count);
	assert_number(moves.seen, 0);
	np_bitmap_release(&cpus);
}

static int move_threads_of_child(struct np_error *err)
{
	struct nr_thread_moves moves = { 0 };

	return nr_move_threads(&root, child, &one, &moves, err);
}

static int move_pages_of_child(struct np_error *err)
{
	struct nr_page_request request = { .pid = child, .nodes = &memory };
	struct nr_page_moves moves = { 0 };

	return nr_move_pages(&root, &request, &moves, err);
}

static int user_moves_threads(struct np_error *err)
{
	return as_user(move_threads_of_child, err);
}

static int user_moves_pages(struct np_error *err)
{
	return as_user(move_pages_of_child, err);
}

static void another_users_process_is_refused_by_name(void **state)
{
	struct np_error err = { 0 };
	unsigned count;

	(void)state;
	skip_unless_root();
	count = start_threads();
	assert_fails(in_child(user_moves_threads, &err), -EPERM, &err, "belongs to user 0 (root)");
	assert_has(err.text, "CAP_SYS_NICE");
	assert_fails(in_child(user_moves_pages, &err), -EPERM, &err, "belongs to user 0 (root)");
	assert_has(err.text, "CAP_SYS_PTRACE");
	assert_number(assert_threads_on(child, &inherited), count);
}

static void a_refusal_halfway_puts_the_first_threads_back(void **state)
{
	struct np_error err = { 0 };

	(void)state;
	skip_unless_root();
	start_child(hold_two_users);
	assert_fails(in_child(user_moves_threads, &err), -EPERM, &err, "belongs to user ");
	assert_true(assert_threads_on(child, &inherited) >= 2);
}

/* --- which process ---------------------------------------------------------------------------- */

static int move_both(pid_t pid, struct np_error *err, struct np_error *pages_err)
{
	struct nr_thread_moves threads = { 0 };
	struct nr_page_request request = { .pid = pid, .nodes = &memory };
	struct nr_page_moves pages = { 0 };
	int rc = nr_move_threads(&root, pid, &one, &threads, err);

	assert_number(nr_move_pages(&root, &request, &pages, pages_err), rc);
	return rc;
}

static void a_process_that_ended_is_told(void **state)
{
	struct np_error err = { 0 };
	struct np_error pages_err = { 0 };
	siginfo_t info;
	pid_t pid;

	(void)state;
	start_child(hold_ready);
	pid = child;
	kill(child, SIGKILL);
	assert_number(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_fails(move_both(pid, &err, &pages_err), -ESRCH, &err, "has ended");
	end_child();
	assert_fails(move_both(pid, &err, &pages_err), -ESRCH, &err, "no such process");
	assert_has(pages_err.text, "no such process");
	assert_fails(move_both(0, &err, &pages_err), -ESRCH, &err, "no such process");
	assert_fails(move_both(-5, &err, &pages_err), -ESRCH, &err, "process -5");
}

static void kernel_threads_are_refused(void **state)
{
	struct host *host = *state;
	struct nr_thread_moves threads = { 0 };
	struct nr_page_request request = { .pid = 2, .nodes = &memory };
	struct nr_page_moves pages = { 0 };
	struct np_error err = { 0 };

	host_write(host, "proc/2/stat",
	           "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1\n");
	assert_fails(nr_move_threads(&host->root, 2, &one, &threads, &err), -EPERM, &err,
	             "process 2 is a kernel thread");
	assert_fails(nr_move_pages(&host->root, &request, &pages, &err), -EPERM, &err,
	             "process 2 is a kernel thread");
}

/* --- pages ------------------------------------------------------------------------------------ */

static void pages_that_are_there_already_stay(void **state)
{
	(void)state;
	start_child(hold_pages);
	assert_all_there(16 * MIB);
}

static void transparent_huge_pages_count_as_what_they_hold(void **state)
{
	(void)state;
	start_child(hold_transparent);
	assert_all_there(16 * MIB);
}

static void huge_pages_count_as_what_they_hold(void **state)
{
	long free_pages = 0;

	(void)state;
	np_sysroot_read_long(&root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", 0,
	                     1 << 30, &free_pages, NULL);
	if (free_pages < 2) {
		print_message("skipped: no 2 free huge pages on this host\n");
		skip();
	}
	start_child(hold_huge);
	assert_all_there(4 * MIB);
}

static void a_mapping_of_a_terabyte_costs_what_is_in_it(void **state)
{
	(void)state;
	start_child(hold_sparse);
	assert_all_there(3 * 4096);
}

static void a_process_whose_first_thread_ended_still_has_its_pages(void **state)
{
	(void)state;
	start_child(hold_without_first_thread);
	assert_all_there(4 * MIB);
}

struct watch {
	unsigned calls;
	unsigned stop_after; /* 0 = never */
	uint64_t done;
	uint64_t total;
	bool lawful;
};

static bool watch_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	struct watch *watch = context;

	watch->lawful = watch->lawful && done_bytes >= watch->done && done_bytes <= total_bytes;
	watch->done = done_bytes;
	watch->total = total_bytes;
	return ++watch->calls != watch->stop_after;
}

static void progress_is_told_and_can_stop_the_move(void **state)
{
	struct watch watch = { .lawful = true };
	struct nr_page_request request = { .nodes = &memory,
		                           .progress = watch_progress,
		                           .context = &watch };
	struct nr_page_moves moves = { 0 };
	struct np_error err = { 0 };

	(void)state;
	start_child(hold_pages);
	request.pid = child;
	assert_np_ok(nr_move_pages(&root, &request, &moves, &err), &err);
	assert_true(watch.lawful);
	assert_true(watch.calls >= 2);
	assert_true(watch.done >= 16 * MIB);
	watch = (struct watch){ .lawful = true, .stop_after = 1 };
	assert_np_ok(nr_move_pages(&root, &request, &moves, &err), &err);
	assert_number(moves.end, NR_MOVE_INTERRUPTED);
	assert_number(watch.calls, 1);
	assert_true(moves.pages >= moves.there + moves.moved);
	assert_true(moves.pages * moves.page_bytes >= 16 * MIB);
}

static void targets_without_memory_are_refused(void **state)
{
	struct np_bitmap nodes = set_of("900");
	struct np_bitmap none = { 0 };
	struct nr_page_request request = { .nodes = &nodes };
	struct nr_page_moves moves = { 0 };
	struct np_error err = { 0 };

	(void)state;
	start_child(hold_ready);
	request.pid = child;
	assert_fails(nr_move_pages(&root, &request, &moves, &err), -EINVAL, &err,
	             "node 900: no memory to move pages to; nodes with memory are");
	request.nodes = &none;
	assert_fails(nr_move_pages(&root, &request, &moves, &err), -EINVAL, &err, "no node");
	np_bitmap_release(&nodes);
}

static void targets_outside_the_processs_cpuset_are_refused(void **state)
{
	struct host *host = *state;
	struct np_bitmap nodes = set_of("1-2");
	struct nr_page_request request = { .pid = 77, .nodes = &nodes };
	struct nr_page_moves moves = { 0 };
	struct np_error err = { 0 };

	host_write(host, "sys/devices/system/node/has_memory", "0-3\n");
	host_write(host, "proc/77/stat", "77 (x) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2\n");
	host_write(host, "proc/77/status", "Name:\tx\nMems_allowed_list:\t0-1\nUid:\t5\n");
	assert_fails(nr_move_pages(&host->root, &request, &moves, &err), -EACCES, &err,
	             "node 2: outside Mems_allowed of process 77 (0-1)");
	host_write(host, "proc/77/status", "Name:\tx\nMems_allowed_list:\tx\nUid:\t5\n");
	assert_number(nr_move_pages(&host->root, &request, &moves, &err), -EINVAL);
	assert_has(err.text, "proc/77/status");
	np_bitmap_release(&nodes);
}

/* EBUSY in place of the outcome: filters cannot be set here. */
static int move_pages_under_filter(struct np_error *err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_move_pages, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		return -EBUSY;
	return move_pages_of_child(err);
}

static void a_filter_is_told_from_missing_rights(void **state)
{
	struct np_error err = { 0 };
	int rc;

	(void)state;
	start_child(hold_pages);
	rc = in_child(move_pages_under_filter, &err);
	if (rc == -EBUSY) {
		print_message("skipped: seccomp filters cannot be set here\n");
		skip();
	}
	assert_fails(rc, -EPERM, &err, "seccomp filter refuses move_pages(2)");
}

static void the_sentence_about_policies_names_the_reason(void **state)
{
	(void)state;
	assert_has(nr_move_limits(), "policy");
	assert_has(nr_move_limits(), "cannot be changed from outside");
}

#define move_test(f) cmocka_unit_test_teardown(f, clean_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		move_test(all_threads_are_moved_and_read_back),
		move_test(threads_that_come_and_go_are_all_caught),
		move_test(cpus_that_the_kernel_drops_are_counted),
		move_test(cpus_that_nobody_can_use_are_refused),
		move_test(another_users_process_is_refused_by_name),
		move_test(a_refusal_halfway_puts_the_first_threads_back),
		move_test(a_process_that_ended_is_told),
		host_test(kernel_threads_are_refused),
		move_test(pages_that_are_there_already_stay),
		move_test(transparent_huge_pages_count_as_what_they_hold),
		move_test(huge_pages_count_as_what_they_hold),
		move_test(a_mapping_of_a_terabyte_costs_what_is_in_it),
		move_test(a_process_whose_first_thread_ended_still_has_its_pages),
		move_test(progress_is_told_and_can_stop_the_move),
		move_test(targets_without_memory_are_refused),
		host_test(targets_outside_the_processs_cpuset_are_refused),
		move_test(a_filter_is_told_from_missing_rights),
		move_test(the_sentence_about_policies_names_the_reason),
	};

	return cmocka_run_group_tests_name("move", tests, prepare, finish);
}
