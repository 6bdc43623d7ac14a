/* SPDX-License-Identifier: BSD-3-Clause */
/* The process is walked mapping by mapping, and each in windows (page_mover.h), in some passes. */
#include "../../probe/base/clock.h"
#include "numa_maps.h"
#include "page_mover.h"
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PASSES_MAX = 5, BUSY_WAIT_NS = 20000000, PATH_SIZE = 64, BRIEF_SIZE = 96 };

const char *nr_move_limits(void)
{
	return "the memory policy of a running process cannot be changed from outside: Linux has "
	       "no call for that, and pages that are new from now on follow the process's own";
}

/* --- the walk --------------------------------------------------------------------------------- */

static int set_full(struct nr_mover *mover)
{
	char list[BRIEF_SIZE];

	mover->moves->end = NR_MOVE_FULL;
	np_error_set(&mover->moves->why, ENOMEM, "process %d: %s: no free memory left there",
	             (int)mover->request->pid,
	             np_cpulist_named("node", mover->request->nodes, list, sizeof(list)));
	return 1;
}

static int walk_mapping(struct nr_mover *mover, const struct nr_mapping *mapping,
                        struct np_error *err)
{
	uint64_t base = mover->moves->page_bytes;
	bool is_huge = mapping->page_bytes > base;
	struct np_bitmap open = { 0 };
	uint64_t window;
	int rc = 0;

	mover->page_bytes = is_huge ? mapping->page_bytes : base;
	window = mover->page_bytes * NR_MOVER_WINDOW_PAGES;
	/* A pool of huge pages that is empty says nothing about the node's other memory. */
	if (is_huge && np_bitmap_copy(&open, &mover->open) < 0)
		return np_error_sys(err, ENOMEM, "nodes to move to");
	for (uint64_t at = mapping->start; rc == 0 && at < mapping->end;) {
		uint64_t next;

		at = nr_mover_skip_hole(mover, at, mapping->end);
		if (at == mapping->end)
			break;
		at -= at % mover->page_bytes;
		/* Windows end at multiples of their size, so that none parts a huge page. */
		next = (at / window + 1) * window;
		if (next > mapping->end || next < at)
			next = mapping->end;
		rc = nr_mover_walk_window(mover, at, next, err);
		at = next;
		if (rc == 0 && !is_huge && np_bitmap_is_empty(&mover->open))
			rc = set_full(mover);
	}
	if (is_huge) {
		np_bitmap_release(&mover->open);
		mover->open = open;
	}
	return rc;
}

static int walk(struct nr_mover *mover, const struct nr_mappings *mappings, struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < mappings->count && rc == 0; i++)
		if (mover->first_pass || mappings->list[i].away_bytes > 0)
			rc = walk_mapping(mover, &mappings->list[i], err);
	return rc;
}

/* Says why in terms of the process: each of its files in /proc can be refused or vanish. */
static int read_mappings(const struct nr_mover *mover, pid_t tid, struct nr_mappings *ret,
                         struct np_error *err)
{
	int rc = nr_mappings_read(mover->root, tid, mover->request->nodes, ret, err);

	if (rc == -EACCES || rc == -EPERM)
		return nr_mover_refuse(mover, err);
	if (rc < 0 && rc != -ENOMEM && nr_process_check(mover->root, tid, NULL) < 0)
		return nr_mover_explain(mover, ESRCH, err);
	return rc;
}

static void wait_for_busy_pages(void)
{
	const struct timespec pause = { .tv_nsec = BUSY_WAIT_NS };

	nanosleep(&pause, NULL);
}

/*
 * Passes until one finds nothing to move: pages appear meanwhile on nodes that the process's own
 * policy chooses, and busy ones become free.
 */
static int walk_again(struct nr_mover *mover, struct np_error *err)
{
	int rc = 0;

	mover->first_pass = false;
	for (int pass = 1; pass < PASSES_MAX && rc == 0; pass++) {
		struct nr_mappings mappings = { 0 };
		struct nr_mover_left before = mover->left;
		uint64_t moved = mover->moves->moved;

		if (before.busy > 0)
			wait_for_busy_pages();
		rc = read_mappings(mover, mover->tid, &mappings, err);
		if (rc < 0)
			return rc;
		mover->left = (struct nr_mover_left){ 0 };
		rc = walk(mover, &mappings, err);
		nr_mappings_release(&mappings);
		if (rc != 0) /* of a pass that was not finished, only what it moved counts */
			mover->left = before;
		else if (mover->moves->moved == moved && mover->left.busy == 0)
			break;
	}
	return rc;
}

/* --- setting up ------------------------------------------------------------------------------- */

static int check_memory(const struct np_sysroot *root, const struct np_bitmap *nodes,
                        struct np_error *err)
{
	struct np_bitmap with_memory = { 0 };
	struct np_bitmap without = { 0 };
	char list[BRIEF_SIZE];
	char others[BRIEF_SIZE];
	bool found;
	int rc = np_sysroot_read_list_optional(root, "sys/devices/system/node/has_memory",
	                                       &with_memory, &found, err);

	if (rc == 0 && np_bitmap_copy(&without, nodes) < 0)
		rc = np_error_sys(err, ENOMEM, "nodes to move to");
	np_bitmap_and_not(&without, &with_memory);
	if (rc == 0 && found && !np_bitmap_is_empty(&without))
		rc = np_error_set(err, EINVAL,
		                  "%s: no memory to move pages to; nodes with memory are %s",
		                  np_cpulist_named("node", &without, list, sizeof(list)),
		                  np_cpulist_brief(&with_memory, others, sizeof(others)));
	np_bitmap_release(&with_memory);
	np_bitmap_release(&without);
	return rc;
}

/* Mems_allowed_list of a process, added to *ret; nothing where its status has no such line. */
static int read_allowed(const struct np_sysroot *root, pid_t pid, struct np_bitmap *ret,
                        struct np_error *err)
{
	static const char key[] = "\nMems_allowed_list:";
	char path[PATH_SIZE];
	char *text;
	char *line;
	int rc;

	snprintf(path, sizeof(path), "proc/%d/status", (int)pid);
	rc = np_sysroot_read(root, path, &text, err);
	if (rc < 0)
		return rc == -ENOENT ? -ESRCH : rc;
	rc = 0;
	line = strstr(text, key);
	if (line) {
		line += sizeof(key) - 1;
		line[strcspn(line, "\n")] = '\0';
		rc = np_cpulist_parse(line, ret, err);
	}
	free(text);
	return rc < 0 ? np_error_wrap(err, rc, "%s/%s", root->path, path) : 0;
}

static int check_allowed(const struct np_sysroot *root, const struct nr_page_request *request,
                         struct np_error *err)
{
	struct np_bitmap allowed = { 0 };
	struct np_bitmap outside = { 0 };
	char list[BRIEF_SIZE];
	char others[BRIEF_SIZE];
	int rc = read_allowed(root, request->pid, &allowed, err);

	if (rc == 0 && np_bitmap_copy(&outside, request->nodes) < 0)
		rc = np_error_sys(err, ENOMEM, "nodes to move to");
	np_bitmap_and_not(&outside, &allowed);
	if (rc == 0 && !np_bitmap_is_empty(&allowed) && !np_bitmap_is_empty(&outside))
		rc = np_error_set(err, EACCES,
		                  "%s: outside Mems_allowed of process %d (%s): its cpuset has to "
		                  "allow it first",
		                  np_cpulist_named("node", &outside, list, sizeof(list)),
		                  (int)request->pid,
		                  np_cpulist_brief(&allowed, others, sizeof(others)));
	np_bitmap_release(&allowed);
	np_bitmap_release(&outside);
	return rc;
}

static int check(const struct np_sysroot *root, const struct nr_page_request *request,
                 struct np_error *err)
{
	int rc;

	if (np_bitmap_is_empty(request->nodes))
		return np_error_set(err, EINVAL, "process %d: no node to move its pages to",
		                    (int)request->pid);
	rc = nr_process_check(root, request->pid, err);
	if (rc == 0)
		rc = check_memory(root, request->nodes, err);
	if (rc == 0)
		rc = check_allowed(root, request, err);
	return rc;
}

/* Reads the mappings of the process through @tid; 0 where it shows none. */
static int try_thread(struct nr_mover *mover, pid_t tid, struct nr_mappings *ret,
                      struct np_error *err)
{
	int rc = read_mappings(mover, tid, ret, err);

	if (rc < 0)
		return rc;
	mover->tid = tid;
	return ret->count > 0;
}

/*
 * A first thread that ended before the others (pthread_exit() in main) has no memory any more:
 * then any other thread stands for the process.
 */
static int find_memory(struct nr_mover *mover, struct nr_mappings *ret, struct np_error *err)
{
	pid_t pid = mover->request->pid;
	char path[PATH_SIZE];
	char **names;
	int count;
	int rc = try_thread(mover, pid, ret, err);

	if (rc != 0)
		return rc < 0 ? rc : 0;
	snprintf(path, sizeof(path), "proc/%d/task", (int)pid);
	count = np_sysroot_list(mover->root, path, &names, err);
	if (count == -ENOENT)
		return nr_mover_explain(mover, ESRCH, err);
	if (count < 0)
		return count;
	for (int i = 0; i < count && rc == 0; i++) {
		nr_mappings_release(ret);
		rc = try_thread(mover, (pid_t)strtol(names[i], NULL, 10), ret, err);
		if (rc == -ESRCH)
			rc = 0;
	}
	free(names);
	if (rc == 0)
		return np_error_set(err, ESRCH, "process %d has no memory any more: it is ending",
		                    (int)pid);
	return rc < 0 ? rc : 0;
}

static void finish(struct nr_mover *mover, const struct nr_mappings *mappings)
{
	struct nr_page_moves *moves = mover->moves;
	uint64_t estimate = mover->total_bytes / moves->page_bytes;

	moves->shared = mover->left.shared;
	moves->busy = mover->left.busy;
	moves->failed = mover->left.failed;
	moves->pages = moves->there + moves->moved + moves->shared + moves->busy + moves->failed;
	if (moves->end != NR_MOVE_DONE && moves->pages < estimate)
		moves->pages = estimate;
	moves->bytes_moved = moves->moved * moves->page_bytes;
	moves->policies_elsewhere = mappings->policies_elsewhere;
	memcpy(moves->policy_elsewhere, mappings->policy_elsewhere,
	       sizeof(moves->policy_elsewhere));
}

static int move(struct nr_mover *mover, struct np_error *err)
{
	struct nr_page_moves *moves = mover->moves;
	struct nr_mappings mappings = { 0 };
	struct np_error why = { 0 };
	char path[PATH_SIZE];
	int rc = find_memory(mover, &mappings, err);

	if (rc < 0)
		return rc;
	snprintf(path, sizeof(path), "proc/%d/pagemap", (int)mover->tid);
	mover->pagemap = openat(mover->root->fd, path, O_RDONLY | O_CLOEXEC);
	mover->total_bytes = mappings.total_bytes;
	rc = walk(mover, &mappings, &why);
	if (rc == 0)
		rc = walk_again(mover, &why);
	if (mover->pagemap >= 0)
		close(mover->pagemap);
	finish(mover, &mappings);
	nr_mappings_release(&mappings);
	if (rc >= 0)
		return 0;
	if (moves->moved == 0) {
		if (err)
			*err = why;
		return rc;
	}
	moves->end = rc == -ESRCH ? NR_MOVE_ENDED : NR_MOVE_REFUSED;
	moves->why = why;
	return 0;
}

int nr_move_pages(const struct np_sysroot *root, const struct nr_page_request *request,
                  struct nr_page_moves *ret, struct np_error *err)
{
	struct nr_page_moves moves = { .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE) };
	uint64_t start_ns = np_now_ns();
	struct nr_mover *mover;
	int rc = check(root, request, err);

	if (rc < 0)
		return rc;
	mover = calloc(1, sizeof(*mover));
	if (!mover)
		return np_error_sys(err, ENOMEM, "move pages");
	mover->root = root;
	mover->request = request;
	mover->given = calloc(np_bitmap_last(request->nodes) + 1, sizeof(*mover->given));
	mover->chunk_bytes = NR_MOVE_CHUNK_FIRST;
	mover->first_pass = true;
	mover->block = UINT64_MAX;
	mover->moves = &moves;
	rc = mover->given && np_bitmap_copy(&mover->open, request->nodes) == 0
	             ? move(mover, err)
	             : np_error_sys(err, ENOMEM, "move pages");
	np_bitmap_release(&mover->open);
	free(mover->given);
	free(mover);
	moves.took_ns = np_now_ns() - start_ns;
	if (rc == 0)
		*ret = moves;
	return rc;
}
