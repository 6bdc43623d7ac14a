/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a process that runs already: its threads to other CPUs, its pages to other nodes.
 *
 * What cannot be changed from outside is the memory policy: Linux has no call that sets that of
 * another process. numa_maps shows it, and nr_move_pages() tells where it points away from the
 * nodes that the pages went to; nr_move_limits() has the sentence for the user.
 *
 * The host's /proc is read through a root, the calls act on the live host: a root other than "/" is
 * of use to tests only. All functions may be called from any thread; none prints.
 */
#ifndef NUMARUN_MOVE_H
#define NUMARUN_MOVE_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct np_sysroot;

/* What became of each thread that was met; the caller ends it with nr_thread_moves_release(). */
struct nr_thread_moves {
	unsigned seen;    /* the sum of the five below */
	unsigned moved;   /* may run on the CPUs asked for and on no other; read back */
	unsigned cut;     /* the kernel kept a part: the others are offline or outside the cpuset */
	unsigned strayed; /* on other CPUs again: set so meanwhile by itself or by somebody else */
	unsigned fixed;   /* the kernel moves them for nobody, as io_uring's workers */
	unsigned ended;   /* ended meanwhile */
	pid_t cut_tid;    /* one of each kind, 0 = none */
	pid_t strayed_tid;
	pid_t fixed_tid;
	struct np_bitmap cut_cpus; /* what the cut threads may use, together */
	/*
	 * The last pass over the threads found none that was still to be moved. False only where
	 * something else sets new threads' affinity as fast as we do.
	 */
	bool settled;
};

/*
 * Sets the affinity of every thread of @pid, also of those that are created meanwhile, and reads
 * each back. On failure all threads that were changed have their old affinity again.
 *
 *   -ESRCH   no such process, or it has ended
 *   -EPERM   another user's, or a kernel thread; err names the user and what helps
 *   -EINVAL  a thread can use none of these CPUs
 *   -ENOMEM
 */
int nr_move_threads(const struct np_sysroot *root, pid_t pid, const struct np_bitmap *cpus,
                    struct nr_thread_moves *ret, struct np_error *err);
void nr_thread_moves_release(struct nr_thread_moves *moves);

/*
 * Called between two move_pages(2), while nothing of the process is held. @done_bytes of
 * @total_bytes have been looked at; the total is an estimate, done never exceeds it. False stops
 * the move: what has been moved stays moved.
 */
typedef bool nr_move_progress_fn(void *context, uint64_t done_bytes, uint64_t total_bytes);

struct nr_page_request {
	pid_t pid;
	const struct np_bitmap *nodes; /* the pages shall be on these; one on any of them stays */
	nr_move_progress_fn *progress; /* may be NULL */
	void *context;                 /* for progress */
};

enum nr_move_end {
	NR_MOVE_DONE,
	NR_MOVE_INTERRUPTED, /* the progress function said so */
	NR_MOVE_FULL,        /* no target node has room left */
	NR_MOVE_ENDED,       /* the process ended, or the memory it had */
	NR_MOVE_REFUSED /* the kernel refused later what it had allowed, as after a setuid exec */
};

enum { NR_MOVE_POLICY_SIZE = 64 };

/*
 * Pages are counted in those of @page_bytes: a huge page of 2 MiB counts as 512 of 4 KiB. Where
 * the move was stopped, the total is that of numa_maps(5) and the parts do not add up to it.
 */
struct nr_page_moves {
	enum nr_move_end end;
	struct np_error why; /* for FULL, ENDED and REFUSED */
	uint64_t page_bytes;
	uint64_t pages; /* in memory; swapped-out ones are not, and stay where they are */
	uint64_t there; /* on a target node already */
	uint64_t moved; /* read back */
	uint64_t
		shared; /* with other processes: moving these needs MPOL_MF_MOVE_ALL and CAP_SYS_NICE,
	                    and would move them for all; not done */
	uint64_t busy;   /* in use by the kernel at each attempt: under I/O, pinned … */
	uint64_t failed; /* anything else, as no huge page of that size on the target node */
	int failed_code; /* why, of one of those; positive errno */
	uint64_t bytes_moved;
	uint64_t calls;      /* move_pages(2) that moved */
	uint64_t longest_ns; /* the longest of them: no thread waited longer for a page at a time */
	uint64_t took_ns;
	/*
	 * Mappings whose policy puts new pages elsewhere, and the first such policy as numa_maps
	 * has it ("bind:0"). A thread's own policy shows for the first thread only.
	 */
	unsigned policies_elsewhere;
	char policy_elsewhere[NR_MOVE_POLICY_SIZE];
};

/*
 * Moves the pages of @request->pid onto its target nodes, in small steps that last about 10 ms, so
 * that the process is never held up for long. With several targets each gets the same share; 2 MiB
 * that are together stay together, as they may be one huge page. Once the first page has been moved
 * it returns 0, and ret->end says how it ended; before:
 *
 *   -ESRCH   no such process, or it has ended
 *   -EPERM   another user's, a kernel thread, or a seccomp filter; err says which, and what helps
 *   -EINVAL  no target, or a target that has no memory
 *   -EACCES  a target outside Mems_allowed of that process's cpuset
 *   -ENOSYS  a kernel without NUMA or page migration
 *   -ENOMEM  for ourselves, not on the targets
 */
int nr_move_pages(const struct np_sysroot *root, const struct nr_page_request *request,
                  struct nr_page_moves *ret, struct np_error *err);

/* What no move changes, one sentence for the user. */
const char *nr_move_limits(void);

#ifdef __cplusplus
}
#endif

#endif
