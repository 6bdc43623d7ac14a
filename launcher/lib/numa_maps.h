/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mappings of a process: /proc/PID/maps knows where they end, /proc/PID/numa_maps how large
 * their pages are, where these are, and which memory policy they follow (proc(5); the kernel's
 * fs/proc/task_mmu.c and, for policies, mpol_to_str() in mm/mempolicy.c).
 */
#ifndef NR_NUMA_MAPS_H
#define NR_NUMA_MAPS_H

#include "../../probe/base/sysroot.h"

#include <numarun/policy.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A line of numa_maps; the pointers lead into it, and nothing ends in NUL. */
struct nr_numa_line {
	uint64_t start;
	const char *policy; /* "bind:0", "prefer (many)=static:1,3", "default" */
	size_t policy_len;
	const char *nodes; /* the list in policy, "" without one */
	size_t nodes_len;
	uint64_t page_bytes; /* 0: no page of it is in memory */
	bool has_file;       /* of a file, so that its pages may be the page cache's */
	bool is_huge;        /* of hugetlbfs */
	const char *rest;    /* behind policy, for nr_numa_line_pages() */
	size_t rest_len;
};

/*
 * Parses one line, without its newline. Pure: no allocation, any bytes.
 *
 *   -EINVAL  not such a line
 */
int nr_numa_line_parse(const char *line, size_t len, struct nr_numa_line *ret);

/*
 * Takes the next "N<node>=<pages>" off @line->rest; pages are of page_bytes. False at the end.
 * Damaged words are passed over.
 */
bool nr_numa_line_pages(struct nr_numa_line *line, unsigned *ret_node, uint64_t *ret_pages);

/*
 * The policy that the kernel's words stand for. The caller releases *ret.
 *
 *   -EINVAL  no policy that is known
 *   -ENOMEM
 */
int nr_numa_policy_parse(const char *text, size_t len, struct nr_policy *ret);

/*
 * Parses one line of maps. *ret_special: not memory of the process but of the kernel, mapped into
 * each ([vdso], [vvar], [vsyscall], [uprobes]).
 *
 *   -EINVAL  not such a line
 */
int nr_maps_line_parse(const char *line, size_t len, uint64_t *ret_start, uint64_t *ret_end,
                       bool *ret_special);

/* The kernel's vm.max_map_count is 65530 unless raised; far beyond is damage. */
#define NR_MAPPINGS_MAX (4u << 20)

enum { NR_MAPPING_POLICY_SIZE = 64 };

struct nr_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t page_bytes;
	uint64_t away_bytes; /* on nodes outside the set that was asked about */
};

/* The mappings that have pages in memory, by ascending address. */
struct nr_mappings {
	struct nr_mapping *list;
	size_t count;
	size_t room;
	uint64_t total_bytes;        /* of the pages in memory */
	unsigned policies_elsewhere; /* mappings whose policy names nodes outside the set */
	char policy_elsewhere[NR_MAPPING_POLICY_SIZE]; /* the first of these policies */
};

/*
 * Reads those of the process or thread @id. A mapping that comes or goes in between is left out.
 * On success the caller ends *ret with nr_mappings_release().
 *
 *   -ESRCH   no such process
 *   -EACCES  another user's
 *   -ENOSYS  a kernel without numa_maps
 *   -ENOMEM, -E2BIG, or of read(2)
 */
int nr_mappings_read(const struct np_sysroot *root, pid_t id, const struct np_bitmap *nodes,
                     struct nr_mappings *ret, struct np_error *err);
void nr_mappings_release(struct nr_mappings *mappings);

#endif
