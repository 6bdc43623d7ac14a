/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which CPUs are best for a device, in tiers. Pure: from the topology and the locality alone, so
 * equal hosts always give equal answers.
 */
#ifndef NUMAPROBE_RANK_H
#define NUMAPROBE_RANK_H

#include <numaprobe/locality.h>
#include <numaprobe/topology.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CPUs that are equally good for the device. */
struct np_tier {
	unsigned tier;     /* 1 = best */
	bool has_distance; /* false: the host publishes none, or these CPUs are in no node */
	unsigned distance; /* of the device's node to these nodes (SLIT, 10 = local) */
	struct np_bitmap nodes;
	struct np_bitmap cpus;
};

enum np_exclusion {
	NP_EXCLUDED_OFFLINE,
	NP_EXCLUDED_ISOLATED, /* isolcpus=: nothing is balanced onto them */
	NP_EXCLUDED_CPUSET,   /* outside the cpuset cgroup */
	NP_EXCLUDED_AFFINITY, /* outside the affinity mask that was inherited */
	NP_EXCLUSION_COUNT
};

/* "offline" and so on: a word of the JSON contract. Never NULL. */
const char *np_exclusion_name(enum np_exclusion reason);

struct np_rank {
	struct np_tier *tiers; /* best first, none of them empty */
	size_t tier_count;
	struct np_bitmap excluded[NP_EXCLUSION_COUNT]; /* CPUs in no tier; each by one reason */
};

/*
 * Orders every usable CPU by (sharing a cache with the device, distance from the device's node).
 * Distances are taken from the row of the device's node, as they need not be symmetric; with
 * several nodes the nearest counts. The caller ends *ret with np_rank_release().
 *
 *   -ENODATA  the locality is unknown
 *   -ENOMEM
 */
int np_rank_cpus(const struct np_topology *topology, const struct np_locality *locality,
                 struct np_rank *ret, struct np_error *err);

/* NP_EXCLUSION_COUNT sets that the caller releases: why each unusable CPU is unusable. -ENOMEM. */
int np_rank_excluded(const struct np_topology *topology,
                     struct np_bitmap ret_excluded[NP_EXCLUSION_COUNT]);

void np_rank_release(struct np_rank *rank);

#ifdef __cplusplus
}
#endif

#endif
