/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node's share of the server's RAM: one range of memory in blocks, each of the largest pages that the
 * node had to give, and what became of it. Which arenas there are is planned first (pure), then mapped, then
 * verified.
 */
#ifndef NS_ARENA_H
#define NS_ARENA_H

#include "../../probe/base/sysroot.h"
#include <numaprobe/topology.h>
#include <numastore/server.h>

enum ns_page_kind { NS_PAGES_HUGETLB, NS_PAGES_THP, NS_PAGES_PLAIN, NS_PAGE_KIND_COUNT };

/* "HugeTLB", "THP", "plain". */
const char *ns_page_kind_name(enum ns_page_kind kind);

struct ns_arena_plan {
	unsigned node;
	unsigned distance; /* from the serving node */
	uint64_t bytes;    /* whole blocks */
};

/* Where the server works and where its heads go. The caller ends it with ns_memory_plan_release(). */
struct ns_memory_plan {
	struct np_bitmap serving_nodes; /* workers, index, buffers */
	struct np_bitmap serving_cpus;  /* usable CPUs of these */
	char *reason;                   /* "node 2, of eth0 (evidence: numa_node)" */
	struct ns_arena_plan
		*arenas; /* in the order of allocation: preferred first, then by distance */
	size_t arena_count;
	unsigned far_node; /* the farthest with an arena: of NS_PLACE_FAR */
	char **notes;      /* sentences, as that --perverse has no other node here */
	size_t note_count;
};

/* What a block may have: ns_memory_plan_make(). */
#define NS_BLOCK_SIZE_MIN (UINT64_C(64) << 10)
#define NS_BLOCK_SIZE_MAX (UINT64_C(4) << 30)

/*
 * Pure. @listen_devices: names of the cards that hold the listening address, none for loopback. Nodes
 * without CPUs can hold arenas. Sizes that are not of whole blocks are rounded up.
 *
 *   -EINVAL   contradictions; a node without memory; "auto" that is ambiguous: err lists the candidates
 *   -ENODEV   no such device or node
 *   -ENOMEM   an arena is larger than its node's memory, used or not
 */
int ns_memory_plan_make(const struct ns_config *config, const struct np_topology *topology,
                        const char *const *listen_devices, size_t device_count,
                        struct ns_memory_plan *ret, struct np_error *err);
void ns_memory_plan_release(struct ns_memory_plan *plan);

/* Adds a sentence to its notes. -ENOMEM */
int ns_memory_plan_note(struct ns_memory_plan *plan, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct ns_arena {
	struct ns_arena_plan plan;
	char *base;
	uint64_t block_bytes;
	size_t block_count;
	uint8_t *block_kinds;     /* enum ns_page_kind, as mapped; THP may have become plain */
	uint64_t huge_bytes;      /* of HugeTLB pages, at its beginning */
	uint64_t huge_page_bytes; /* the smallest of these; 0 = none */
	int policy_error;         /* why the kernel did not take our word for the node, errno; 0 */
	bool is_locked;           /* never swapped out: mlocked, or of HugeTLB pages */
	int lock_error; /* why it could not be locked, errno; 0 = it is, or was not to be */
};

/*
 * Maps, binds and populates: HugeTLB pages of the node's pools, the largest that a block takes first, as
 * far as these reach; the rest transparent huge pages, else plain ones. Population fails rather than kills
 * (MADV_POPULATE_WRITE). Where memory policies are refused (a container's seccomp filter) or unknown, the
 * pages lie where the kernel puts them: see policy_error.
 *
 *   -ENOMEM  the node has not that much; err says how much it had
 */
int ns_arena_map(const struct np_sysroot *root, const struct ns_arena_plan *plan,
                 uint64_t block_bytes, bool may_lock, struct ns_arena *ret, struct np_error *err);
void ns_arena_unmap(struct ns_arena *arena);

/* Where the pages are and what they are, read back from the kernel. */
enum { NS_HUGE_SIZES_MAX = 4 };

struct ns_arena_report {
	unsigned node;                       /* that was asked for */
	uint64_t blocks[NS_PAGE_KIND_COUNT]; /* as the kernel tells */
	uint64_t unknown_blocks;             /* THP or plain: it does not tell */
	uint64_t right_bytes;                /* on that node */
	uint64_t wrong_bytes;                /* elsewhere */
	uint64_t *node_bytes;                /* by node, @node_count; owned */
	size_t node_count;
	uint64_t unknown_bytes; /* the kernel did not tell */
	/* HugeTLB pages by their size, in the order of addresses. */
	struct {
		uint64_t page_bytes;
		uint64_t bytes;
	} huge[NS_HUGE_SIZES_MAX];
	size_t huge_count;
};

/* Nodes by move_pages(2), where that is refused by numa_maps; sizes of pages by smaps. -ENOMEM */
int ns_arena_verify(const struct np_sysroot *root, const struct ns_arena *arena,
                    struct ns_arena_report *ret, struct np_error *err);
void ns_arena_report_release(struct ns_arena_report *report);

/*
 * All arenas of the plan and what became of them; what is not as it was asked for becomes the plan's notes.
 * The caller ends *ret with ns_arenas_free(), on failure too.
 *
 *   -ENOMEM  as ns_arena_map(); pages that are not HugeTLB's with config->require_huge
 */
struct ns_arenas {
	struct ns_arena *list;
	struct ns_arena_report *reports;
	size_t count;
};
int ns_arenas_map(const struct np_sysroot *root, const struct ns_config *config,
                  struct ns_memory_plan *plan, struct ns_arenas *ret, struct np_error *err);
void ns_arenas_free(struct ns_arenas *arenas);

#endif
