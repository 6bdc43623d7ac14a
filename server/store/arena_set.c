/* SPDX-License-Identifier: BSD-3-Clause */
/* The arenas of a plan together, and what is to be said of them when they are not as asked for. */
#include "arena.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int check_huge(const struct ns_arena *arena, const struct ns_arena_report *report,
                      struct np_error *err)
{
	uint64_t huge = report->blocks[NS_PAGES_HUGETLB];

	if (huge == arena->block_count)
		return 0;
	return np_error_set(err, ENOMEM,
	                    "node %u: only %" PRIu64 " of %zu blocks are of HugeTLB pages: reserve "
	                    "more of them on that node (its nr_hugepages), or leave out "
	                    "--require-huge",
	                    arena->plan.node, huge, arena->block_count);
}

static int map_one(const struct np_sysroot *root, const struct ns_config *config,
                   const struct ns_arena_plan *plan, struct ns_arenas *arenas, struct np_error *err)
{
	struct ns_arena *arena = &arenas->list[arenas->count];
	struct ns_arena_report *report = &arenas->reports[arenas->count];
	int rc = ns_arena_map(root, plan, config->block_bytes, config->lock_memory, arena, err);

	if (rc < 0)
		return rc;
	arenas->count++;
	rc = ns_arena_verify(root, arena, report, err);
	if (rc == 0 && config->require_huge)
		rc = check_huge(arena, report, err);
	return rc;
}

/* ---- notes ---- */

static const struct ns_arena *find_unbound(const struct ns_arenas *arenas)
{
	for (size_t i = 0; i < arenas->count; i++) {
		if (arenas->list[i].policy_error != 0)
			return &arenas->list[i];
	}
	return NULL;
}

static const struct ns_arena *find_unlocked(const struct ns_arenas *arenas)
{
	for (size_t i = 0; i < arenas->count; i++) {
		if (arenas->list[i].lock_error != 0)
			return &arenas->list[i];
	}
	return NULL;
}

/* One for all arenas, as the reason is the process's. */
static int note_policy(struct ns_memory_plan *plan, const struct ns_arenas *arenas)
{
	const struct ns_arena *arena = find_unbound(arenas);

	if (!arena || arena->policy_error == ENOSYS)
		return 0;
	if (arena->policy_error == EPERM)
		return ns_memory_plan_note(plan, "memory policies are refused, as a container's "
		                                 "seccomp filter does: arenas lie where the "
		                                 "kernel puts them");
	return ns_memory_plan_note(plan,
	                           "memory cannot be bound to node %u (%s): it lies where the "
	                           "kernel puts it",
	                           arena->plan.node, strerror(arena->policy_error));
}

static int note_lock(struct ns_memory_plan *plan, const struct ns_arenas *arenas)
{
	const struct ns_arena *arena = find_unlocked(arenas);
	struct rlimit limit;

	if (!arena)
		return 0;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
		return ns_memory_plan_note(plan, "memory is not locked and may be swapped out: %s",
		                           strerror(arena->lock_error));
	return ns_memory_plan_note(plan,
	                           "memory is not locked and may be swapped out: at most %llu KiB "
	                           "may be locked (ulimit -l, LimitMEMLOCK=)",
	                           (unsigned long long)limit.rlim_cur >> 10);
}

static int note_places(struct ns_memory_plan *plan, const struct ns_arenas *arenas)
{
	for (size_t i = 0; i < arenas->count; i++) {
		const struct ns_arena_report *report = &arenas->reports[i];
		int rc = 0;

		if (report->wrong_bytes > 0)
			rc = ns_memory_plan_note(
				plan, "arena of node %u: %" PRIu64 " MiB of it lie on other nodes",
				report->node, report->wrong_bytes >> 20);
		if (rc == 0 && report->unknown_bytes > 0)
			rc = ns_memory_plan_note(plan,
			                         "arena of node %u: the kernel does not tell where "
			                         "%" PRIu64 " MiB of it lie",
			                         report->node, report->unknown_bytes >> 20);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int ns_arenas_map(const struct np_sysroot *root, const struct ns_config *config,
                  struct ns_memory_plan *plan, struct ns_arenas *ret, struct np_error *err)
{
	int rc = 0;

	*ret = (struct ns_arenas){
		.list = calloc(plan->arena_count, sizeof(*ret->list)),
		.reports = calloc(plan->arena_count, sizeof(*ret->reports)),
	};
	if (!ret->list || !ret->reports)
		return np_error_sys(err, ENOMEM, "arenas");
	for (size_t i = 0; i < plan->arena_count && rc == 0; i++)
		rc = map_one(root, config, &plan->arenas[i], ret, err);
	if (rc < 0)
		return rc;
	if (note_policy(plan, ret) < 0 || note_lock(plan, ret) < 0 || note_places(plan, ret) < 0)
		return np_error_sys(err, ENOMEM, "arenas");
	return 0;
}

void ns_arenas_free(struct ns_arenas *arenas)
{
	for (size_t i = 0; i < arenas->count; i++) {
		ns_arena_report_release(&arenas->reports[i]);
		ns_arena_unmap(&arenas->list[i]);
	}
	free(arenas->list);
	free(arenas->reports);
	*arenas = (struct ns_arenas){ 0 };
}
