/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices, tiers and excluded CPUs as the programs show them, in JSON and in words.
 */
#ifndef NP_OUTPUT_H
#define NP_OUTPUT_H

#include <jansson.h>
#include <numaprobe/rank.h>
#include <numaprobe/topology.h>
#include <stdio.h>

/* "numakit/rank/1" and its parts; NULL when memory runs out. @only_tier 0 = all of them. */
json_t *np_rank_json(const struct np_device *device, const struct np_rank *rank,
                     unsigned only_tier);
json_t *np_tiers_json(const struct np_rank *rank, unsigned only_tier);
json_t *np_excluded_json(const struct np_bitmap excluded[NP_EXCLUSION_COUNT]);
json_t *np_device_json(const struct np_device *device);

/* The device in one line, "eth0: PCI 0000:00:03.0, node 2 (evidence: numa_node)". */
void np_device_print(const struct np_device *device, FILE *out);

/* "not ranked: CPU 3 (offline), CPUs 5-6 (isolated)", or nothing. */
void np_excluded_print(const struct np_bitmap excluded[NP_EXCLUSION_COUNT], FILE *out);

#endif
