/* SPDX-License-Identifier: BSD-3-Clause */
#include "page_mover.h"
#include "../../probe/base/clock.h"

#include "process.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <numaprobe/cpulist.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	STALLS_MAX = 2,        /* attempts in a window that moved nothing */
	UNTOUCHED = INT32_MIN, /* a status that the kernel did not write */
	UNTRIED,               /* that of a page that was in no call yet */
	BRIEF_SIZE = 96,
	OWNER_SIZE = 96,
};

/* pagemap's bit for "in memory" (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGEMAP_PRESENT (UINT64_C(1) << 63)
/*
 * ioctl(PAGEMAP_SCAN) of the same file, Linux 6.7 (include/uapi/linux/fs.h), in our own words as
 * older headers lack it.
 */
struct scan_region {
	uint64_t start;
	uint64_t end;
	uint64_t categories;
};

struct scan {
	uint64_t size;
	uint64_t flags;
	uint64_t start;
	uint64_t end;
	uint64_t walk_end;
	uint64_t regions;
	uint64_t region_count;
	uint64_t pages_max;
	uint64_t category_inverted;
	uint64_t category_mask;
	uint64_t category_anyof_mask;
	uint64_t return_mask;
};

#define SCAN_REQUEST _IOWR('f', 16, struct scan)
#define SCAN_IS_PRESENT (UINT64_C(1) << 3)

/* So much stays together on one node, as it may be one huge page; x86's and most others' size. */
#define BLOCK_BYTES (UINT64_C(2) << 20)

uint64_t nr_move_next_chunk(uint64_t chunk_bytes, uint64_t took_ns)
{
	uint64_t next = chunk_bytes;

	if (took_ns > NR_MOVE_AIM_NS)
		next = chunk_bytes / (took_ns > 2 * (uint64_t)NR_MOVE_AIM_NS ? 4 : 2);
	else if (took_ns < NR_MOVE_AIM_NS / 2)
		next = chunk_bytes * 2;
	if (next < NR_MOVE_CHUNK_MIN)
		return NR_MOVE_CHUNK_MIN;
	return next > NR_MOVE_CHUNK_MAX ? NR_MOVE_CHUNK_MAX : next;
}

/* --- errors ----------------------------------------------------------------------------------- */

/* A filter refuses the call itself, also about ourselves; the kernel never does. */
static bool is_filtered(void)
{
	return syscall(SYS_move_pages, 0, 0UL, NULL, NULL, NULL, 0) < 0 && errno == EPERM;
}

int nr_mover_refuse(const struct nr_mover *mover, struct np_error *err)
{
	char owner[OWNER_SIZE];

	if (is_filtered())
		return np_error_set(err, EPERM,
		                    "process %d: a seccomp filter refuses move_pages(2), as "
		                    "containers have it: run numarun outside, or the container "
		                    "with --cap-add SYS_NICE",
		                    (int)mover->request->pid);
	return np_error_set(
		err, EPERM,
		"process %d belongs to %s or is protected: moving its pages needs that "
		"user, or CAP_SYS_PTRACE",
		(int)mover->request->pid,
		nr_process_owner(mover->root, mover->request->pid, owner, sizeof(owner)));
}

int nr_mover_explain(const struct nr_mover *mover, int code, struct np_error *err)
{
	int pid = (int)mover->request->pid;
	char list[BRIEF_SIZE];

	np_cpulist_named("node", mover->request->nodes, list, sizeof(list));
	if (code == EPERM)
		return nr_mover_refuse(mover, err);
	/* The kernel says EINVAL for a process that has given its memory back. */
	if (code == ESRCH || code == EINVAL)
		return np_error_set(err, ESRCH, "process %d: it ended meanwhile", pid);
	if (code == ENOSYS)
		return np_error_set(err, ENOSYS,
		                    "process %d: this kernel was built without page migration",
		                    pid);
	if (code == ENODEV)
		return np_error_set(err, EINVAL, "process %d: %s: no memory there", pid, list);
	if (code == EACCES)
		return np_error_set(err, EACCES,
		                    "process %d: %s: outside Mems_allowed of its cpuset", pid,
		                    list);
	return np_error_sys(err, code, "process %d: move pages to %s", pid, list);
}

/* --- one call --------------------------------------------------------------------------------- */

static long call_kernel(const struct nr_mover *mover, size_t count, void *const *addresses,
                        const int *nodes, int *status)
{
	/* One of several users of a page may not move it from under the others: MOVE, not ALL. */
	return syscall(SYS_move_pages, mover->tid, count, addresses, nodes, status, MPOL_MF_MOVE);
}

static int ask(struct nr_mover *mover, int *ret_nodes, struct np_error *err)
{
	if (call_kernel(mover, mover->count, mover->addresses, NULL, ret_nodes) < 0)
		return nr_mover_explain(mover, errno, err);
	return 0;
}

static bool is_target(const struct nr_mover *mover, int node)
{
	return node >= 0 && np_bitmap_has(mover->request->nodes, (unsigned)node);
}

/* A page that is elsewhere, and that it makes sense to try once more. */
static bool is_movable(const struct nr_mover *mover, size_t i)
{
	int status = mover->status[i];

	return mover->now[i] >= 0 && !is_target(mover, mover->now[i]) &&
	       (status >= 0 || status == UNTRIED || status == UNTOUCHED || status == -EBUSY ||
	        status == -EAGAIN);
}

static uint64_t block_of(const struct nr_mover *mover, size_t i)
{
	return (uintptr_t)mover->addresses[i] / BLOCK_BYTES;
}

/*
 * Chooses the target for the block of page @first: the open one that was given least so far. All of a block
 * has the same, lest two calls send one huge page here and there.
 */
static void choose_target(struct nr_mover *mover, size_t first)
{
	uint64_t block = block_of(mover, first);
	unsigned best = np_bitmap_next(&mover->open, 0);

	if (block == mover->block && np_bitmap_has(&mover->open, mover->block_target))
		return;
	np_bitmap_for_each (node, &mover->open)
		if (mover->given[node] < mover->given[best])
			best = node;
	for (size_t i = first; i < mover->count && block_of(mover, i) == block; i++)
		mover->given[best] += is_movable(mover, i) ? mover->page_bytes : 0;
	mover->block = block;
	mover->block_target = best;
}

/* Fills a call with pages from *next on: one target, at most a chunk. Returns their number. */
static size_t fill_call(struct nr_mover *mover, size_t *next)
{
	bool one_block = np_bitmap_count(&mover->open) > 1;
	size_t count = 0;

	for (; *next < mover->count; ++*next) {
		if (!is_movable(mover, *next))
			continue;
		if (count == 0)
			choose_target(mover, *next);
		else if (count * mover->page_bytes >= mover->chunk_bytes ||
		         (one_block && block_of(mover, *next) != mover->block))
			break;
		mover->call_addresses[count] = mover->addresses[*next];
		mover->call_nodes[count] = (int)mover->block_target;
		mover->call_status[count] = UNTOUCHED;
		mover->call_index[count++] = *next;
	}
	return count;
}

/* Moves what fill_call() has put together. Errors that are the pages' own are left in status. */
static int do_call(struct nr_mover *mover, size_t count, struct np_error *err)
{
	uint64_t start_ns = np_now_ns();
	long rc = call_kernel(mover, count, mover->call_addresses, mover->call_nodes,
	                      mover->call_status);
	int code = rc < 0 ? errno : 0;
	uint64_t took_ns = np_now_ns() - start_ns;

	mover->moves->calls++;
	if (took_ns > mover->moves->longest_ns)
		mover->moves->longest_ns = took_ns;
	mover->chunk_bytes = nr_move_next_chunk(mover->chunk_bytes, took_ns);
	for (size_t i = 0; i < count; i++) {
		mover->status[mover->call_index[i]] = mover->call_status[i];
		if (mover->call_status[i] == -ENOMEM)
			code = ENOMEM;
	}
	if (code == ENOMEM)
		np_bitmap_remove(&mover->open, mover->block_target);
	if (code == 0 || code == ENOMEM || code == EAGAIN || code == EBUSY || code == ENOENT)
		return 0;
	return nr_mover_explain(mover, code, err);
}

/* --- one window ------------------------------------------------------------------------------- */

/* Returns 1 to stop. */
static int report_progress(struct nr_mover *mover, uint64_t more_bytes)
{
	const struct nr_page_request *request = mover->request;

	if (mover->first_pass)
		mover->done_bytes += more_bytes;
	if (mover->done_bytes > mover->total_bytes)
		mover->done_bytes = mover->total_bytes;
	if (!request->progress ||
	    request->progress(request->context, mover->done_bytes, mover->total_bytes))
		return 0;
	mover->moves->end = NR_MOVE_INTERRUPTED;
	return 1;
}

/* The entries of a window; where they cannot be had, as if all pages were in memory. */
static void read_pagemap(struct nr_mover *mover, uint64_t start, size_t pages)
{
	size_t size = pages * sizeof(*mover->pagemap_entries);
	ssize_t got = -1;

	if (mover->pagemap >= 0 && mover->page_bytes == mover->moves->page_bytes)
		got = pread(mover->pagemap, mover->pagemap_entries, size,
		            (off_t)(start / mover->page_bytes * sizeof(uint64_t)));
	if (got != (ssize_t)size)
		memset(mover->pagemap_entries, 0xff, size);
}

/* The pages of the window that are in memory, as far as pagemap tells. */
static void collect(struct nr_mover *mover, uint64_t start, uint64_t end)
{
	size_t pages = (size_t)((end - start) / mover->page_bytes);

	read_pagemap(mover, start, pages);
	mover->count = 0;
	for (size_t i = 0; i < pages; i++) {
		uintptr_t address = (uintptr_t)(start + i * mover->page_bytes);

		if (!(mover->pagemap_entries[i] & PAGEMAP_PRESENT))
			continue;
		mover->status[mover->count] = UNTRIED;
		/* An address in another process, which nobody here follows. */
		mover->addresses[mover->count++] =
			(void *)address; // NOLINT(performance-no-int-to-ptr)
	}
}

static size_t count_movable(const struct nr_mover *mover)
{
	size_t count = 0;

	for (size_t i = 0; i < mover->count; i++)
		count += is_movable(mover, i);
	return count;
}

/* One attempt at all that is elsewhere. Returns 1 to stop. */
static int attempt(struct nr_mover *mover, struct np_error *err)
{
	int rc = 0;

	for (size_t next = 0; rc == 0 && !np_bitmap_is_empty(&mover->open);) {
		size_t count = fill_call(mover, &next);

		if (count == 0)
			break;
		rc = do_call(mover, count, err);
		if (rc == 0)
			rc = report_progress(mover, 0);
	}
	return rc;
}

/* Tries again while that helps: what aborts a call leaves the pages behind it unattempted. */
static int move_window(struct nr_mover *mover, struct np_error *err)
{
	size_t left = count_movable(mover);
	int rc = 0;

	for (int stalls = 0; rc == 0 && left > 0 && stalls < STALLS_MAX;) {
		size_t was = left;
		int asked;

		rc = attempt(mover, err);
		/* Also after a failure, for what had been moved before it. */
		asked = ask(mover, mover->now, rc < 0 ? NULL : err);
		if (asked < 0) {
			mover->count = 0;
			return asked;
		}
		left = count_movable(mover);
		stalls += left >= was;
		if (np_bitmap_is_empty(&mover->open))
			break;
	}
	return rc;
}

static void count_page(struct nr_mover *mover, size_t i, uint64_t pages)
{
	struct nr_page_moves *moves = mover->moves;
	int status = mover->status[i];

	if (mover->before[i] < 0 || mover->now[i] < 0)
		return;
	if (is_target(mover, mover->before[i])) {
		/* On later passes they have been counted, as there or as moved. */
		moves->there += mover->first_pass ? pages : 0;
	} else if (is_target(mover, mover->now[i])) {
		moves->moved += pages;
	} else if (status == -EACCES) {
		mover->left.shared += pages;
	} else if (!is_movable(mover, i)) {
		mover->left.failed += pages;
		moves->failed_code = -status;
	} else if (np_bitmap_is_empty(&mover->open)) {
		mover->left.failed += pages;
		moves->failed_code = ENOMEM;
	} else if (status != UNTRIED) { /* that it still is where the move was stopped */
		mover->left.busy += pages;
	}
}

/* Returns 1 to stop. */
int nr_mover_walk_window(struct nr_mover *mover, uint64_t start, uint64_t end, struct np_error *err)
{
	uint64_t bytes;
	int rc;

	collect(mover, start, end);
	bytes = mover->count * mover->page_bytes;
	if (mover->count == 0)
		return report_progress(mover, 0);
	rc = ask(mover, mover->before, err);
	if (rc < 0)
		return rc;
	memcpy(mover->now, mover->before, mover->count * sizeof(*mover->now));
	rc = move_window(mover, err);
	for (size_t i = 0; i < mover->count; i++)
		count_page(mover, i, mover->page_bytes / mover->moves->page_bytes);
	return rc ? rc : report_progress(mover, bytes);
}

uint64_t nr_mover_skip_hole(const struct nr_mover *mover, uint64_t at, uint64_t end)
{
	struct scan_region region = { 0 };
	struct scan scan = {
		.size = sizeof(scan),
		.start = at,
		.end = end,
		.regions = (uintptr_t)&region,
		.region_count = 1,
		.pages_max = 1,
		.category_mask = SCAN_IS_PRESENT,
		.return_mask = SCAN_IS_PRESENT,
	};
	long found = mover->pagemap < 0 ? -1 : ioctl(mover->pagemap, SCAN_REQUEST, &scan);

	if (found < 0)
		return at;
	return found == 0 || region.start >= end ? end : region.start > at ? region.start : at;
}
