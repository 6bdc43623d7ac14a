/* SPDX-License-Identifier: BSD-3-Clause */
#include "pid.h"

#include "../probe/base/clock.h"
#include "../probe/base/sysroot.h"
#include "lib/affinity.h"
#include "lib/tasks.h"
#include "request.h"
#include "show.h"
#include "tell.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <numarun/move.h>
#include <numarun/plan.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BRIEF_SIZE = 96, STATUS_NO = 1, PROGRESS_NS = 200000000 };

/* Set by a signal: the move is to stop where it is. */
static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = interrupt };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/* ---- threads ---- */

static void tell_threads(pid_t pid, const struct nr_thread_moves *moves,
                         const struct np_bitmap *cpus)
{
	char list[BRIEF_SIZE];

	nr_tell(NULL, "process %d: %u thread%s on %s", pid, moves->moved,
	        moves->moved == 1 ? "" : "s", np_cpulist_named("CPU", cpus, list, sizeof(list)));
	if (moves->cut > 0)
		nr_tell(NULL,
		        "process %d: of %u more (%d) the kernel kept %s, the others are "
		        "offline or outside their cpuset",
		        pid, moves->cut, moves->cut_tid,
		        np_cpulist_named("CPU", &moves->cut_cpus, list, sizeof(list)));
	if (moves->strayed > 0)
		nr_tell(NULL,
		        "process %d: %u (%d) set other CPUs again at once: the program pins "
		        "its own threads",
		        pid, moves->strayed, moves->strayed_tid);
	if (moves->fixed > 0)
		nr_tell(NULL, "process %d: %u (%d) are the kernel's own and stay", pid,
		        moves->fixed, moves->fixed_tid);
	if (!moves->settled)
		nr_tell(NULL,
		        "process %d: it makes threads faster than they can be moved; some "
		        "may be elsewhere",
		        pid);
}

static int move_threads(const struct np_sysroot *root, pid_t pid, const struct nr_plan *plan,
                        bool *ret_all, struct np_error *err)
{
	struct nr_thread_moves moves = { 0 };
	int rc = plan->binds_cpus ? nr_move_threads(root, pid, &plan->cpus, &moves, err) : 0;

	if (rc == 0 && plan->binds_cpus) {
		tell_threads(pid, &moves, &plan->cpus);
		*ret_all = moves.cut == 0 && moves.strayed == 0 && moves.settled;
	}
	nr_thread_moves_release(&moves);
	return rc;
}

/* The affinity of all threads, to be put back where the second step is refused. */
struct masks {
	struct nr_task_list threads;
	struct np_bitmap *cpus; /* one for each */
};

static int save_masks(const struct np_sysroot *root, pid_t pid, struct masks *ret)
{
	int rc = nr_tasks_of(root, pid, &ret->threads);

	/* Without the process there is nothing to save, which the move will say. */
	if (rc < 0 || ret->threads.count == 0)
		return rc == -ENOMEM ? rc : 0;
	ret->cpus = calloc(ret->threads.count, sizeof(*ret->cpus));
	if (!ret->cpus)
		return -ENOMEM;
	for (size_t i = 0; i < ret->threads.count && rc != -ENOMEM; i++)
		rc = nr_affinity_read(ret->threads.ids[i], &ret->cpus[i]);
	return rc == -ENOMEM ? rc : 0;
}

static void put_masks_back(const struct masks *masks)
{
	for (size_t i = 0; i < masks->threads.count; i++)
		if (!np_bitmap_is_empty(&masks->cpus[i]))
			nr_affinity_write(masks->threads.ids[i], &masks->cpus[i]);
}

static void release_masks(struct masks *masks)
{
	for (size_t i = 0; masks->cpus && i < masks->threads.count; i++)
		np_bitmap_release(&masks->cpus[i]);
	free(masks->cpus);
	nr_task_list_release(&masks->threads);
}

/* ---- pages ---- */

struct progress {
	bool is_shown; /* on a terminal */
	uint64_t begin_ns;
	uint64_t shown_ns;
};

static bool show_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
	struct progress *progress = context;
	uint64_t now = np_now_ns();
	double elapsed = (double)(now - progress->begin_ns) / 1e9;
	double left;

	if (is_interrupted)
		return false;
	if (!progress->is_shown || now - progress->shown_ns < PROGRESS_NS || done_bytes == 0)
		return true;
	progress->shown_ns = now;
	left = elapsed * ((double)total_bytes / (double)done_bytes - 1);
	fprintf(stderr, "\rpages: %" PRIu64 " of %" PRIu64 " MiB, about %.0f s left   ",
	        done_bytes >> 20, total_bytes >> 20, left);
	return true;
}

/* The nodes that the pages are to be on: those of the memory policy, else those of the CPUs. */
static const struct np_bitmap *target_nodes(const struct nr_plan *plan)
{
	return np_bitmap_is_empty(&plan->policy.nodes) ? &plan->nodes : &plan->policy.nodes;
}

static void tell_pages(pid_t pid, const struct nr_page_moves *moves, const struct np_bitmap *nodes)
{
	static const char *const ends[] = {
		[NR_MOVE_INTERRUPTED] = "interrupted",
		[NR_MOVE_FULL] = "no target node has room left",
		[NR_MOVE_ENDED] = "it ended meanwhile",
		[NR_MOVE_REFUSED] = "the kernel refused to go on",
	};
	uint64_t there = moves->there + moves->moved;
	char list[BRIEF_SIZE];

	nr_tell(NULL,
	        "process %d: %" PRIu64 " of %" PRIu64 " pages on %s (%" PRIu64
	        " moved, %.1f MiB in %.1f s; %" PRIu64 " were there); longest step %.1f ms",
	        pid, there, moves->pages, np_cpulist_named("node", nodes, list, sizeof(list)),
	        moves->moved, (double)moves->bytes_moved / (1 << 20), (double)moves->took_ns / 1e9,
	        moves->there, (double)moves->longest_ns / 1e6);
	if (moves->shared > 0)
		nr_tell(NULL,
		        "process %d: %" PRIu64 " pages are shared with other processes and "
		        "stay where they are",
		        pid, moves->shared);
	if (moves->busy + moves->failed > 0)
		nr_tell(NULL,
		        "process %d: %" PRIu64 " pages were busy, %" PRIu64 " could not be moved",
		        pid, moves->busy, moves->failed);
	if (moves->end != NR_MOVE_DONE && *moves->why.text)
		nr_tell(NULL, "stopped: %s", moves->why.text);
	else if (moves->end != NR_MOVE_DONE)
		nr_tell(NULL, "process %d: stopped: %s", pid, ends[moves->end]);
	if (moves->policies_elsewhere > 0)
		nr_tell(NULL,
		        "process %d: new pages will go elsewhere: its policy is %s, which cannot "
		        "be changed from outside",
		        pid, moves->policy_elsewhere);
}

static int move_pages(const struct np_sysroot *root, pid_t pid, const struct nr_plan *plan,
                      bool *ret_all, struct np_error *err)
{
	struct progress progress = { .is_shown = isatty(STDERR_FILENO), .begin_ns = np_now_ns() };
	struct nr_page_request request = {
		.pid = pid,
		.nodes = target_nodes(plan),
		.progress = show_progress,
		.context = &progress,
	};
	struct nr_page_moves moves = { 0 };
	int rc;

	catch_signals();
	rc = nr_move_pages(root, &request, &moves, err);
	if (progress.is_shown && progress.shown_ns)
		fputs("\r\033[K", stderr);
	if (rc < 0)
		return np_error_wrap(err, rc, "--migrate");
	tell_pages(pid, &moves, request.nodes);
	*ret_all = *ret_all && moves.end == NR_MOVE_DONE;
	return 0;
}

/* Threads, then pages; where the pages are refused the threads are put back. */
static int move_both(const struct np_sysroot *root, const struct nr_args *args,
                     const struct nr_plan *plan, bool *ret_all, struct np_error *err)
{
	pid_t pid = (pid_t)args->pid;
	struct masks masks = { 0 };
	int rc = save_masks(root, pid, &masks);

	if (rc < 0)
		np_error_sys(err, ENOMEM, "process %d", pid);
	else
		rc = move_threads(root, pid, plan, ret_all, err);
	if (rc == 0 && args->migrate) {
		rc = move_pages(root, pid, plan, ret_all, err);
		if (rc < 0 && plan->binds_cpus)
			put_masks_back(&masks);
	}
	release_masks(&masks);
	return rc;
}

static int move(const struct nr_args *args, const struct nr_plan *plan, struct np_error *err)
{
	struct np_sysroot root;
	bool all = true;
	int rc = np_sysroot_open(NULL, &root, err);

	if (rc < 0)
		return nr_fail(err, NR_EXIT_FAILED);
	rc = move_both(&root, args, plan, &all, err);
	np_sysroot_close(&root);
	if (rc < 0)
		return nr_fail(err, NR_EXIT_FAILED);
	/* Said where a policy was asked for, which no call can give to another process. */
	if (args->memory.option)
		nr_tell(NULL, "%s", nr_move_limits());
	return all ? 0 : STATUS_NO;
}

int nr_run_pid(const struct nr_args *args, const struct np_topology *topology)
{
	struct nr_request request = { 0 };
	struct nr_plan plan = { 0 };
	struct np_error err = { 0 };
	int rc = nr_args_request(args, topology, &request, &err);
	int status = NR_EXIT_FAILED;

	if (rc == 0)
		rc = nr_plan_make(topology, &request, &plan, &err);
	nr_request_release(&request);
	if (rc < 0)
		return nr_fail(&err, status);
	for (size_t i = 0; i < plan.warning_count; i++)
		nr_tell(NULL, "%s", plan.warnings[i]);
	if (args->explain)
		nr_show_plan(&plan, stderr);
	if (!plan.binds_cpus && !args->migrate) {
		np_error_set(&err, EINVAL, "%s: %s", args->memory.option, nr_move_limits());
		nr_fail(&err, status);
	} else if (args->dry_run) {
		status = nr_written(nr_show_plan_json(&plan, NULL, stdout));
	} else {
		status = move(args, &plan, &err);
	}
	nr_plan_release(&plan);
	return status;
}
