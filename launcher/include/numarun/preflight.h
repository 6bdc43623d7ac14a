/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Will what the program needs fit where the plan puts it? Asked before it starts, as a program that
 * does not fit is killed later, without a reason.
 */
#ifndef NUMARUN_PREFLIGHT_H
#define NUMARUN_PREFLIGHT_H

#include <numarun/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the program will use. Zero-initialised asks for nothing. */
struct nr_need {
	uint64_t memory_bytes; /* besides its huge pages; 0 = not told */
	uint64_t huge_count;   /* pages of hugetlbfs or MAP_HUGETLB; 0 = none */
	uint64_t huge_bytes;   /* the size of one; 0 = the host's default */
};

/*
 * A size as text: "512M", "1G", "4096", "2MiB"; K, M, G, T are powers of 1024, alone, with iB or B.
 *
 *   -EINVAL  not a size, zero, or too large for 64 bits
 */
int nr_need_parse_size(const char *text, uint64_t *ret_bytes, struct np_error *err);

/*
 * A number of huge pages, of the default size or with it behind: "8", "4:1G". Sets the two fields
 * of *ret; which sizes there are is the host's to say. -EINVAL
 */
int nr_need_parse_huge(const char *text, struct nr_need *ret, struct np_error *err);

/*
 * Compares the need with what the plan's nodes, the cgroup (memory and hugetlb, either version) and
 * the host have, read below @root (NULL = "/"). What can go well, but not where the plan wants it,
 * becomes a warning of the plan; what cannot is refused.
 *
 * The plan's nodes are those of its memory policy; for local, default and inherited those of the
 * CPUs, and all that are allowed where these have no memory. Distances in the warnings need a
 * topology that has them.
 *
 *   -EXDEV   it cannot fit; err says where, what there is and what helps
 *   -EINVAL  a page size that this host does not have, or a file that is garbage; err names it
 *   -ENOMEM  this process itself is out of memory
 *   other    of open(2) and read(2)
 */
int nr_preflight(const char *root, const struct np_topology *topology, const struct nr_need *need,
                 struct nr_plan *plan, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
