/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping. A piece is a block, or as many blocks as a huge page has. Huge pages are asked for without a reservation,
 * as that would be of any node's pool, and populated under MPOL_BIND, where a pool that is empty is an
 * error. Other pages are populated under MPOL_PREFERRED and looked up: under MPOL_BIND the kernel would kill
 * somebody for the last page.
 */
#include "arena.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <numarun/policy.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* x86's, and that of ARM with pages of 4 KiB. */
#define HUGE_BYTES ((uint64_t)2 << 20)

const char *ns_page_kind_name(enum ns_page_kind kind)
{
	static const char *const names[] = {
		[NS_PAGES_HUGETLB] = "HugeTLB",
		[NS_PAGES_THP] = "THP",
		[NS_PAGES_PLAIN] = "plain",
	};

	return names[kind];
}

static uint64_t piece_bytes_of(uint64_t block_bytes)
{
	return block_bytes > HUGE_BYTES ? block_bytes : HUGE_BYTES;
}

/* A range of addresses that begins with a piece, and nothing in it. */
static char *reserve(uint64_t bytes, uint64_t alignment)
{
	char *base = mmap(NULL, bytes + alignment, PROT_NONE,
	                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t before;

	if (base == MAP_FAILED)
		return NULL;
	before = alignment - (uintptr_t)base % alignment;
	if (before == alignment)
		before = 0;
	if (before > 0)
		munmap(base, before);
	munmap(base + before + bytes, alignment - before);
	return base + before;
}

/* Bound or preferring as the mode says; kernels without NUMA have nothing to say about it. */
static int set_policy(char *at, uint64_t bytes, enum nr_policy_mode mode, unsigned node,
                      struct np_error *err)
{
	struct nr_policy policy = { .mode = mode };
	int rc = np_bitmap_add(&policy.nodes, node);

	if (rc == 0)
		rc = nr_policy_set_at(at, bytes, &policy, false, err);
	nr_policy_release(&policy);
	return rc == -ENOSYS ? 0 : rc;
}

static int populate(char *at, uint64_t bytes)
{
	while (madvise(at, bytes, MADV_POPULATE_WRITE) < 0) {
		if (errno == EINVAL) {
			/* Before Linux 5.14. */
			memset(at, 0, bytes);
			return 0;
		}
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

static int node_of(const char *at)
{
	int node = -1;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0UL, at, MPOL_F_NODE | MPOL_F_ADDR) < 0)
		return -1;
	return node;
}

/* 0; -ENOMEM: that node's pool has not as many; -EPERM */
static int map_huge(char *at, uint64_t bytes, unsigned node, struct np_error *err)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE | MAP_HUGETLB |
	                  MAP_HUGE_2MB;
	int rc;

	if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		return -ENOMEM;
	rc = set_policy(at, bytes, NR_POLICY_BIND, node, err);
	/* An old kernel has no call that fails instead of killing us: no such pages then. */
	if (rc == 0 && madvise(at, bytes, MADV_POPULATE_WRITE) < 0)
		rc = -ENOMEM;
	return rc;
}

/* 0; -ENOMEM: that node has not as much; -EPERM */
static int map_pages(char *at, uint64_t bytes, unsigned node, struct np_error *err)
{
	int found;
	int rc;

	if (mmap(at, bytes, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(at, bytes, MADV_HUGEPAGE);
	rc = set_policy(at, bytes, NR_POLICY_PREFERRED, node, err);
	if (rc == 0 && populate(at, bytes) < 0)
		rc = -ENOMEM;
	if (rc < 0)
		return rc;
	found = node_of(at + bytes - 1);
	return found >= 0 && (unsigned)found != node ? -ENOMEM : 0;
}

static int map_piece(const struct ns_arena *arena, char *at, uint64_t bytes, enum ns_page_kind *ret,
                     struct np_error *err)
{
	unsigned node = arena->plan.node;
	int rc = -ENOMEM;

	*ret = NS_PAGES_HUGETLB;
	if (bytes % HUGE_BYTES == 0)
		rc = map_huge(at, bytes, node, err);
	if (rc == 0 || rc == -EPERM)
		return rc;
	/* What the kernel made of it is known when it is verified. */
	*ret = NS_PAGES_THP;
	return map_pages(at, bytes, node, err);
}

static int map_pieces(struct ns_arena *arena, struct np_error *err)
{
	uint64_t piece_bytes = piece_bytes_of(arena->block_bytes);
	uint64_t all = arena->plan.bytes;

	for (uint64_t at = 0; at < all; at += piece_bytes) {
		uint64_t bytes = all - at < piece_bytes ? all - at : piece_bytes;
		enum ns_page_kind kind;
		int rc = map_piece(arena, arena->base + at, bytes, &kind, err);

		if (rc == -ENOMEM)
			return np_error_set(err, ENOMEM,
			                    "node %u has not the memory for an arena of %llu MiB: "
			                    "after %llu MiB it had no more",
			                    arena->plan.node, (unsigned long long)all >> 20,
			                    (unsigned long long)at >> 20);
		if (rc < 0)
			return rc;
		memset(arena->block_kinds + at / arena->block_bytes, (int)kind,
		       bytes / arena->block_bytes);
	}
	return 0;
}

int ns_arena_map(const struct ns_arena_plan *plan, uint64_t block_bytes, bool may_lock,
                 struct ns_arena *ret, struct np_error *err)
{
	struct ns_arena arena = {
		.plan = *plan,
		.block_bytes = block_bytes,
		.block_count = plan->bytes / block_bytes,
	};
	int rc;

	arena.block_kinds = calloc(arena.block_count, 1);
	if (!arena.block_kinds)
		return np_error_sys(err, ENOMEM, "arena of node %u", plan->node);
	arena.base = reserve(plan->bytes, piece_bytes_of(block_bytes));
	if (!arena.base)
		rc = np_error_sys(err, ENOMEM, "arena of node %u: addresses for %llu MiB",
		                  plan->node, (unsigned long long)plan->bytes >> 20);
	else
		rc = map_pieces(&arena, err);
	if (rc < 0) {
		ns_arena_unmap(&arena);
		return rc;
	}
	arena.is_locked = may_lock && mlock(arena.base, plan->bytes) == 0;
	*ret = arena;
	return 0;
}

void ns_arena_unmap(struct ns_arena *arena)
{
	if (arena->base)
		munmap(arena->base, arena->plan.bytes);
	free(arena->block_kinds);
	*arena = (struct ns_arena){ 0 };
}
