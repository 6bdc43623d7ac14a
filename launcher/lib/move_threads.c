/* SPDX-License-Identifier: BSD-3-Clause */
#include "affinity.h"
#include "process.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/move.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * New threads inherit from those that create them, so that in practice the second pass finds
 * nothing to do; PASSES_MAX is for a process that works against us. But one that is just being
 * created has its creator's old mask already and cannot be seen yet (kernel/fork.c, copy_process()
 * copies first and lists last), and the creator may have to wait for its new CPU before it goes on.
 * Hence some more passes, with time for that, before it is believed that there is nothing to do.
 * The kernel has at most 4 Mi threads (include/linux/threads.h, PID_MAX_LIMIT).
 */
enum {
	PASSES_MAX = 100,
	QUIET_PASSES = 3,
	PAUSE_NS = 10000000,
	THREADS_MAX = 4 << 20,
	BRIEF_SIZE = 96,
	OWNER_SIZE = 96,
	PATH_SIZE = 64
};

struct thread {
	pid_t tid;
	bool fixed;
	bool changed;
	bool inherited;       /* created meanwhile by a thread that had been moved */
	struct np_bitmap old; /* to be put back on failure */
};

/* All threads met so far, by ascending tid. */
struct threads {
	const struct np_sysroot *root;
	pid_t pid;
	const struct np_bitmap *cpus;
	int pass;
	struct thread *list;
	size_t count;
	size_t room;
};

void nr_thread_moves_release(struct nr_thread_moves *moves)
{
	np_bitmap_release(&moves->cut_cpus);
	*moves = (struct nr_thread_moves){ 0 };
}

static size_t find_place(const struct threads *threads, pid_t tid)
{
	size_t low = 0;
	size_t high = threads->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (threads->list[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_known(const struct threads *threads, pid_t tid)
{
	size_t place = find_place(threads, tid);

	return place < threads->count && threads->list[place].tid == tid;
}

/* Takes over thread->old. */
static int remember(struct threads *threads, const struct thread *thread)
{
	size_t place = find_place(threads, thread->tid);

	if (threads->count == THREADS_MAX)
		return -ENOMEM;
	if (threads->count == threads->room) {
		size_t room = threads->room ? threads->room * 2 : 64;
		struct thread *list = realloc(threads->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		threads->list = list;
		threads->room = room;
	}
	memmove(threads->list + place + 1, threads->list + place,
	        (threads->count - place) * sizeof(*threads->list));
	threads->list[place] = *thread;
	threads->count++;
	return 0;
}

static int explain(const struct threads *threads, pid_t tid, int code, struct np_error *err)
{
	char list[BRIEF_SIZE];
	char owner[OWNER_SIZE];

	np_cpulist_named("CPU", threads->cpus, list, sizeof(list));
	if (code == EPERM)
		return np_error_set(err, EPERM,
		                    "process %d: thread %d belongs to %s: moving it needs that "
		                    "user, or CAP_SYS_NICE",
		                    (int)threads->pid, (int)tid,
		                    nr_process_owner(threads->root, tid, owner, sizeof(owner)));
	if (code == EINVAL)
		return np_error_set(err, EINVAL,
		                    "process %d: thread %d can use none of %s: they are offline "
		                    "or outside its cpuset",
		                    (int)threads->pid, (int)tid, list);
	return np_error_sys(err, code, "process %d: bind thread %d to %s", (int)threads->pid,
	                    (int)tid, list);
}

static bool is_fixed(const struct threads *threads, pid_t tid)
{
	struct nr_process process;

	return nr_process_read(threads->root, tid, &process, NULL) == 0 &&
	       nr_process_is_fixed(&process);
}

/*
 * Sets the affinity of a thread whose old one is known. Returns 1 when that made a difference: a
 * mask that the kernel cuts down to what the thread has already must not count as progress.
 */
static int write_affinity(struct threads *threads, struct thread *thread)
{
	struct np_bitmap now = { 0 };
	int rc = nr_affinity_write(thread->tid, threads->cpus);

	if (rc == -EINVAL && is_fixed(threads, thread->tid)) {
		thread->fixed = true;
		return 0;
	}
	if (rc == 0)
		rc = nr_affinity_read(thread->tid, &now);
	if (rc == 0)
		thread->changed = !np_bitmap_equal(&now, &thread->old);
	np_bitmap_release(&now);
	return rc == 0 ? thread->changed : rc;
}

/* Moves a thread not met before. Returns 1 when it was still to be moved, 0 when it was not. */
static int move_thread(struct threads *threads, pid_t tid, struct np_error *err)
{
	struct thread thread = { .tid = tid };
	int rc = nr_affinity_read(tid, &thread.old);

	if (rc == 0 && np_bitmap_equal(&thread.old, threads->cpus))
		thread.inherited = threads->pass > 0;
	else if (rc == 0)
		rc = write_affinity(threads, &thread);
	if (rc >= 0 && remember(threads, &thread) < 0) {
		if (thread.changed)
			nr_affinity_write(tid, &thread.old);
		rc = -ENOMEM;
	}
	if (rc >= 0)
		return rc;
	np_bitmap_release(&thread.old);
	return rc == -ESRCH ? 0 : explain(threads, tid, -rc, err);
}

/* One pass over the threads there are. Returns how many were still to be moved. */
static int move_all(struct threads *threads, struct np_error *err)
{
	char path[PATH_SIZE];
	char **names;
	int count;
	int moved = 0;
	int rc = 0;

	snprintf(path, sizeof(path), "proc/%d/task", (int)threads->pid);
	count = np_sysroot_list(threads->root, path, &names, err);
	if (count == -ENOENT || count == -ESRCH)
		return np_error_set(err, ESRCH, "process %d: it ended meanwhile",
		                    (int)threads->pid);
	if (count < 0)
		return count;
	for (int i = 0; i < count && rc >= 0; i++) {
		long tid = strtol(names[i], NULL, 10);

		if (tid <= 0 || tid > INT32_MAX || is_known(threads, (pid_t)tid))
			continue;
		rc = move_thread(threads, (pid_t)tid, err);
		moved += rc > 0;
	}
	free(names);
	return rc < 0 ? rc : moved;
}

static int move_until_quiet(struct threads *threads, bool *ret_settled, struct np_error *err)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int quiet = 0;

	for (; quiet < QUIET_PASSES && threads->pass < PASSES_MAX; threads->pass++) {
		int moved;

		if (quiet > 0)
			nanosleep(&pause, NULL);
		moved = move_all(threads, err);
		if (moved < 0)
			return moved;
		quiet = moved > 0 ? 0 : quiet + 1;
	}
	*ret_settled = quiet == QUIET_PASSES;
	return 0;
}

/* Those that only ever were where we moved their creator get what the first thread had. */
static void put_back(const struct threads *threads)
{
	for (size_t i = 0; i < threads->count; i++) {
		const struct thread *thread = &threads->list[i];

		if (thread->changed)
			nr_affinity_write(thread->tid, &thread->old);
		else if (thread->inherited)
			nr_affinity_write(thread->tid, &threads->list[0].old);
	}
}

static int count_thread(const struct threads *threads, const struct thread *thread,
                        struct nr_thread_moves *ret)
{
	struct np_bitmap now = { 0 };
	int rc = nr_affinity_read(thread->tid, &now);

	ret->seen++;
	if (rc == -ESRCH) {
		ret->ended++;
		return 0;
	}
	if (rc < 0)
		return rc;
	if (thread->fixed) {
		ret->fixed++;
		ret->fixed_tid = thread->tid;
	} else if (np_bitmap_equal(&now, threads->cpus)) {
		ret->moved++;
	} else if (np_bitmap_is_subset(&now, threads->cpus)) {
		ret->cut++;
		ret->cut_tid = thread->tid;
		rc = np_bitmap_or(&ret->cut_cpus, &now);
	} else {
		ret->strayed++;
		ret->strayed_tid = thread->tid;
	}
	np_bitmap_release(&now);
	return rc;
}

static int count_threads(const struct threads *threads, struct nr_thread_moves *ret,
                         struct np_error *err)
{
	for (size_t i = 0; i < threads->count; i++) {
		int rc = count_thread(threads, &threads->list[i], ret);

		if (rc < 0)
			return np_error_sys(err, -rc, "process %d: read back the CPUs of thread %d",
			                    (int)threads->pid, (int)threads->list[i].tid);
	}
	if (ret->seen == ret->ended)
		return np_error_set(err, ESRCH, "process %d: it ended meanwhile",
		                    (int)threads->pid);
	return 0;
}

int nr_move_threads(const struct np_sysroot *root, pid_t pid, const struct np_bitmap *cpus,
                    struct nr_thread_moves *ret, struct np_error *err)
{
	struct threads threads = { .root = root, .pid = pid, .cpus = cpus };
	struct nr_thread_moves moves = { 0 };
	int rc;

	if (np_bitmap_is_empty(cpus))
		return np_error_set(err, EINVAL, "process %d: no CPU to move it to", (int)pid);
	rc = nr_process_check(root, pid, err);
	if (rc == 0)
		rc = move_until_quiet(&threads, &moves.settled, err);
	if (rc == 0)
		rc = count_threads(&threads, &moves, err);
	if (rc < 0) {
		put_back(&threads);
		nr_thread_moves_release(&moves);
	} else {
		*ret = moves;
	}
	for (size_t i = 0; i < threads.count; i++)
		np_bitmap_release(&threads.list[i].old);
	free(threads.list);
	return rc;
}
