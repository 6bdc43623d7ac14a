/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping. The pages of one kind are one mapping each, as a process may not have many. Huge pages are asked for
 * without a reservation, as that would be of any node's pool, and populated under MPOL_BIND, where a pool that
 * is empty is an error. Other pages are populated under MPOL_PREFERRED and looked up: under MPOL_BIND the kernel
 * would kill somebody for the last page.
 */
#include "arena.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <numarun/policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

enum { SIZES_MAX = 16, PATH_SIZE = 96 };

/* Of x86 and of ARM with pages of 4 KiB; so many are populated before they are looked up. */
#define HUGE_BYTES ((uint64_t)2 << 20)
#define STEP_BYTES ((uint64_t)64 << 20)

const char *ns_page_kind_name(enum ns_page_kind kind)
{
	static const char *const names[] = {
		[NS_PAGES_HUGETLB] = "HugeTLB",
		[NS_PAGES_THP] = "THP",
		[NS_PAGES_PLAIN] = "plain",
	};

	return names[kind];
}

/* What is of one kind of pages: a block, or as many blocks as a huge page has. */
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

/* Bound or preferring as the mode says, where the kernel lets us. -ENOMEM */
static int set_policy(struct ns_arena *arena, char *at, uint64_t bytes, enum nr_policy_mode mode)
{
	struct nr_policy policy = { .mode = mode };
	int rc = np_bitmap_add(&policy.nodes, arena->plan.node);

	if (rc == 0)
		rc = nr_policy_set_at(at, bytes, &policy, false, NULL);
	nr_policy_release(&policy);
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		arena->policy_error = -rc;
	return 0;
}

/* 0; -EINVAL: not known before Linux 5.14; other: no more memory */
static int populate(char *at, uint64_t bytes)
{
	while (madvise(at, bytes, MADV_POPULATE_WRITE) < 0) {
		if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	return 0;
}

static void set_kinds(struct ns_arena *arena, uint64_t from, uint64_t to, enum ns_page_kind kind)
{
	memset(arena->block_kinds + from / arena->block_bytes, (int)kind,
	       (to - from) / arena->block_bytes);
}

/* ---- HugeTLB ---- */

struct sizes {
	uint64_t list[SIZES_MAX]; /* the largest first */
	size_t count;
};

static int compare_sizes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Of the node's pools, whether anything is in them or not. */
static void list_sizes(const struct np_sysroot *root, unsigned node, struct sizes *ret)
{
	char path[PATH_SIZE];
	char **names;
	int count;

	snprintf(path, sizeof(path), "sys/devices/system/node/node%u/hugepages", node);
	count = np_sysroot_list(root, path, &names, NULL);
	if (count < 0) {
		/* Hidden from us: it is tried. */
		*ret = (struct sizes){ .list = { HUGE_BYTES }, .count = 1 };
		return;
	}
	ret->count = 0;
	for (int i = 0; i < count && ret->count < SIZES_MAX; i++) {
		uint64_t kib;

		if (sscanf(names[i], "hugepages-%" SCNu64 "kB", &kib) == 1 && kib > 0 &&
		    kib <= UINT64_MAX >> 10 && (kib & (kib - 1)) == 0)
			ret->list[ret->count++] = kib << 10;
	}
	free(names);
	qsort(ret->list, ret->count, sizeof(ret->list[0]), compare_sizes);
}

static bool is_populated(char *page)
{
	unsigned char state;

	return mincore(page, 1, &state) == 0 && (state & 1) != 0;
}

/* How many bytes are populated: from the first page on, as populate() goes. */
static uint64_t populated_bytes(char *at, uint64_t bytes, uint64_t page_bytes)
{
	uint64_t low = 0;
	uint64_t high = bytes / page_bytes;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (is_populated(at + middle * page_bytes))
			low = middle + 1;
		else
			high = middle;
	}
	return low * page_bytes;
}

/* As much of it as the pool has, in whole pieces; what is left has no memory. Returns how much. */
static uint64_t map_huge(struct ns_arena *arena, char *at, uint64_t bytes, uint64_t page_bytes)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE | MAP_HUGETLB |
	                  __builtin_ctzll(page_bytes) << MAP_HUGE_SHIFT;
	uint64_t piece = piece_bytes_of(arena->block_bytes);
	uint64_t got = 0;
	int rc;

	if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		return 0;
	rc = set_policy(arena, at, bytes, NR_POLICY_BIND);
	if (rc == 0)
		rc = populate(at, bytes);
	if (rc == 0)
		return bytes;
	/* An old kernel has no call that fails instead of killing us: no such pages then. */
	if (rc != -EINVAL)
		got = populated_bytes(at, bytes, page_bytes) / piece * piece;
	if (got > 0 && populate(at, got) < 0)
		got = 0;
	(void)mmap(at + got, bytes - got, PROT_NONE,
	           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	return got;
}

static void map_all_huge(struct ns_arena *arena, const struct np_sysroot *root)
{
	uint64_t piece = piece_bytes_of(arena->block_bytes);
	struct sizes sizes;

	list_sizes(root, arena->plan.node, &sizes);
	for (size_t i = 0; i < sizes.count; i++) {
		uint64_t page = sizes.list[i];
		uint64_t bytes = (arena->plan.bytes - arena->huge_bytes) / page * page;

		if (page > piece)
			continue;
		/* Pages smaller than a block fill whole ones. */
		bytes = bytes / arena->block_bytes * arena->block_bytes;
		if (bytes > 0)
			bytes = map_huge(arena, arena->base + arena->huge_bytes, bytes, page);
		if (bytes == 0)
			continue;
		set_kinds(arena, arena->huge_bytes, arena->huge_bytes + bytes, NS_PAGES_HUGETLB);
		arena->huge_bytes += bytes;
		arena->huge_page_bytes = page;
	}
}

/* ---- other pages ---- */

/* A line of a node's meminfo, in bytes; 0 without it. */
static uint64_t meminfo_bytes(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? (uint64_t)strtoull(at + strlen(name), NULL, 10) << 10 : 0;
}

/* What the node has free, and what it keeps of files and can give up. UINT64_MAX: not told */
static uint64_t free_bytes_of(const struct np_sysroot *root, unsigned node)
{
	char path[PATH_SIZE];
	uint64_t bytes;
	char *text;

	snprintf(path, sizeof(path), "sys/devices/system/node/node%u/meminfo", node);
	if (np_sysroot_read(root, path, &text, NULL) < 0)
		return UINT64_MAX;
	bytes = meminfo_bytes(text, "MemFree:") + meminfo_bytes(text, "Active(file):") +
	        meminfo_bytes(text, "Inactive(file):") + meminfo_bytes(text, "SReclaimable:");
	free(text);
	return bytes;
}

static int refuse(const struct ns_arena *arena, uint64_t has_bytes, struct np_error *err)
{
	return np_error_set(err, ENOMEM,
	                    "node %u has not the memory for an arena of %" PRIu64 " MiB: %" PRIu64
	                    " MiB in HugeTLB pages and %" PRIu64
	                    " MiB in others: ask for less (--memory, --sub-memory)",
	                    arena->plan.node, arena->plan.bytes >> 20, arena->huge_bytes >> 20,
	                    has_bytes >> 20);
}

static int node_of(const char *at)
{
	int node = -1;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0UL, at, MPOL_F_NODE | MPOL_F_ADDR) < 0)
		return -1;
	return node;
}

static bool is_elsewhere(const struct ns_arena *arena, const char *at)
{
	int node = node_of(at);

	return node >= 0 && (unsigned)node != arena->plan.node;
}

/*
 * A node whose memory is full of files gives it up for pages that are moved there, not for new ones that
 * would rather be there. And nobody is killed for it.
 */
static bool move_here(const struct ns_arena *arena, char *at, uint64_t bytes)
{
	struct np_bitmap nodes = { 0 };
	long rc = -1;

	if (np_bitmap_add(&nodes, arena->plan.node) == 0)
		rc = syscall(SYS_mbind, at, bytes, MPOL_BIND, nodes.words,
		             nodes.word_count * 64 + 1, MPOL_MF_MOVE | MPOL_MF_STRICT);
	np_bitmap_release(&nodes);
	return rc == 0;
}

static int populate_or_touch(char *at, uint64_t bytes)
{
	int rc = populate(at, bytes);

	if (rc == -EINVAL)
		memset(at, 0, bytes);
	return rc == -EINVAL ? 0 : rc;
}

/*
 * Huge pages that are split on the way lose their pages of zeros (Linux 6.12): these are populated again,
 * and bound they would be a reason to kill.
 */
static int bring_here(struct ns_arena *arena, char *at, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (!move_here(arena, at, bytes) || set_policy(arena, at, bytes, NR_POLICY_PREFERRED) < 0 ||
	    populate_or_touch(at, bytes) < 0)
		return -ENOMEM;
	for (uint64_t i = 0; i < bytes; i += page) {
		if (is_elsewhere(arena, at + i))
			return -ENOMEM;
	}
	return 0;
}

static int populate_step(struct ns_arena *arena, char *at, uint64_t bytes)
{
	if (populate_or_touch(at, bytes) < 0)
		return -ENOMEM;
	if (arena->policy_error == 0 && is_elsewhere(arena, at + bytes - 1))
		return bring_here(arena, at, bytes);
	return 0;
}

static int map_pages(struct ns_arena *arena, const struct np_sysroot *root, struct np_error *err)
{
	char *at = arena->base + arena->huge_bytes;
	uint64_t all = arena->plan.bytes - arena->huge_bytes;
	uint64_t free_bytes = free_bytes_of(root, arena->plan.node);

	if (all == 0)
		return 0;
	if (all > free_bytes)
		return refuse(arena, free_bytes, err);
	if (mmap(at, all, PROT_READ | PROT_WRITE,
	         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		return np_error_sys(err, errno, "arena of node %u", arena->plan.node);
	(void)madvise(at, all, MADV_HUGEPAGE);
	if (set_policy(arena, at, all, NR_POLICY_PREFERRED) < 0)
		return np_error_sys(err, ENOMEM, "arena of node %u", arena->plan.node);
	for (uint64_t done = 0; done < all; done += STEP_BYTES) {
		uint64_t bytes = all - done < STEP_BYTES ? all - done : STEP_BYTES;

		if (populate_step(arena, at + done, bytes) < 0)
			return refuse(arena, done, err);
	}
	/* What the kernel made of it is known when it is verified. */
	set_kinds(arena, arena->huge_bytes, arena->plan.bytes, NS_PAGES_THP);
	return 0;
}

/* HugeTLB pages are never swapped, and to lock them would count against the limit. */
static void lock(struct ns_arena *arena)
{
	uint64_t bytes = arena->plan.bytes - arena->huge_bytes;

	if (bytes > 0 && mlock(arena->base + arena->huge_bytes, bytes) < 0)
		arena->lock_error = errno;
}

/* ---- all of it ---- */

int ns_arena_map(const struct np_sysroot *root, const struct ns_arena_plan *plan,
                 uint64_t block_bytes, bool may_lock, struct ns_arena *ret, struct np_error *err)
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
	if (!arena.base) {
		rc = np_error_sys(err, ENOMEM, "arena of node %u: addresses for %" PRIu64 " MiB",
		                  plan->node, plan->bytes >> 20);
	} else {
		map_all_huge(&arena, root);
		rc = map_pages(&arena, root, err);
	}
	if (rc < 0) {
		ns_arena_unmap(&arena);
		return rc;
	}
	if (may_lock)
		lock(&arena);
	arena.is_locked =
		arena.lock_error == 0 && (may_lock || arena.huge_bytes == arena.plan.bytes);
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
