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

/*
 * Pure. @listen_devices: names of the cards that hold the listening address, none for loopback. Nodes
 * without CPUs can hold arenas.
 *
 *   -EINVAL   contradictions; a node without memory; "auto" that is ambiguous: err lists the candidates
 *   -ENODEV   no such device or node
 */
int ns_memory_plan_make(const struct ns_config *config, const struct np_topology *topology,
                        const char *const *listen_devices, size_t device_count,
                        struct ns_memory_plan *ret, struct np_error *err);
void ns_memory_plan_release(struct ns_memory_plan *plan);

struct ns_arena {
	struct ns_arena_plan plan;
	char *base;
	uint64_t block_bytes;
	size_t block_count;
	uint8_t *block_kinds; /* enum ns_page_kind, as mapped */
	bool is_locked;
};

/*
 * Maps, binds and populates, block by block: HugeTLB pages of the node's pool, where that has none left
 * transparent huge pages, else plain ones. Population fails rather than kills (MADV_POPULATE_WRITE).
 *
 *   -ENOMEM  the node has not that much; err says how much it had
 *   -EPERM   policy calls are refused (a container's seccomp filter)
 */
int ns_arena_map(const struct ns_arena_plan *plan, uint64_t block_bytes, bool may_lock,
                 struct ns_arena *ret, struct np_error *err);
void ns_arena_unmap(struct ns_arena *arena);

/* Where the pages are and what they are, read back from the kernel. */
struct ns_arena_report {
	unsigned node;                       /* that was asked for */
	uint64_t blocks[NS_PAGE_KIND_COUNT]; /* as the kernel tells */
	uint64_t right_bytes;                /* on that node */
	uint64_t wrong_bytes;                /* elsewhere */
	uint64_t *node_bytes;                /* by node, @node_count; owned */
	size_t node_count;
	uint64_t unknown_bytes; /* the kernel did not tell */
};
int ns_arena_verify(const struct np_sysroot *root, const struct ns_arena *arena,
                    struct ns_arena_report *ret, struct np_error *err);
void ns_arena_report_release(struct ns_arena_report *report);

#endif
