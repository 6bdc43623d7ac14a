/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses a device's node among sources of different worth. Pure.
 */
#include "topology_data.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>

enum { BRIEF_SIZE = 96 };

int np_locality_override(const struct np_topology *topology, unsigned node,
                         struct np_locality *locality, struct np_error *err)
{
	struct np_bitmap nodes = { 0 };
	char list[BRIEF_SIZE];

	if (!np_topology_node(topology, node))
		return np_error_set(err, ERANGE, "node %u does not exist; this host has %s", node,
		                    np_cpulist_named("node",
		                                     np_topology_nodes(topology, NP_NODES_ONLINE),
		                                     list, sizeof(list)));
	if (np_bitmap_add(&nodes, node) < 0)
		return np_error_sys(err, ENOMEM, "node %u", node);

	np_bitmap_release(&locality->cpus);
	np_bitmap_release(&locality->other_nodes);
	locality->other_evidence = NP_EVIDENCE_UNKNOWN;
	if (locality->evidence != NP_EVIDENCE_UNKNOWN &&
	    !np_bitmap_equal(&locality->nodes, &nodes)) {
		locality->other_evidence = locality->evidence;
		locality->other_nodes = locality->nodes;
	} else {
		np_bitmap_release(&locality->nodes);
	}
	locality->nodes = nodes;
	locality->evidence = NP_EVIDENCE_OVERRIDE;
	return 0;
}

/* What the local CPUs say, once reduced to those that are online. */
struct local_view {
	struct np_bitmap cpus;
	struct np_bitmap nodes; /* that hold them */
	bool is_told;           /* they are some CPUs, but not all */
	bool is_cache; /* they are a part of a node's CPUs, and share L3 caches of their own */
};

/* Do these CPUs share their L3 caches with no other? Not told means no. */
static bool holds_whole_caches(const struct np_topology *topology, const struct np_bitmap *cpus)
{
	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *cache = np_topology_group_of(topology, NP_LEVEL_L3, cpu);

		if (!cache || !np_bitmap_is_subset(&cache->cpus, cpus))
			return false;
	}
	return true;
}

static int view_local(const struct np_topology *topology, const struct np_bitmap *local_cpus,
                      struct local_view *ret)
{
	const struct np_bitmap *online = &topology->cpus[NP_CPUS_ONLINE];

	if (np_bitmap_copy(&ret->cpus, local_cpus) < 0)
		return -ENOMEM;
	np_bitmap_and(&ret->cpus, online);
	if (np_topology_nodes_of_cpus(topology, &ret->cpus, &ret->nodes) < 0)
		return -ENOMEM;

	ret->is_told = !np_bitmap_is_empty(&ret->cpus) && !np_bitmap_is_subset(online, &ret->cpus);
	ret->is_cache =
		!np_bitmap_is_empty(&ret->nodes) && holds_whole_caches(topology, &ret->cpus);
	np_bitmap_for_each (index, &ret->nodes) {
		const struct np_node *node = np_topology_node(topology, index);

		ret->is_cache &= np_bitmap_is_subset(&ret->cpus, &node->cpus) &&
		                 !np_bitmap_equal(&ret->cpus, &node->cpus);
	}
	return 0;
}

static int choose(const struct np_topology *topology, const struct np_locality_sources *sources,
                  const struct local_view *local, struct np_locality *ret)
{
	bool node_exists = sources->has_node && np_topology_node(topology, sources->numa_node);

	ret->other_evidence = NP_EVIDENCE_UNKNOWN;
	if (local->is_told && local->is_cache) {
		ret->evidence = NP_EVIDENCE_CACHE;
		if (np_bitmap_copy(&ret->cpus, &local->cpus) < 0)
			return -ENOMEM;
		return np_bitmap_copy(&ret->nodes, &local->nodes);
	}
	if (node_exists) {
		ret->evidence = NP_EVIDENCE_NUMA_NODE;
		return np_bitmap_add(&ret->nodes, sources->numa_node);
	}
	if (topology->node_count == 1) {
		ret->evidence = NP_EVIDENCE_SINGLE_NODE;
		return np_bitmap_add(&ret->nodes, topology->node[0].node);
	}
	if (local->is_told && !np_bitmap_is_empty(&local->nodes)) {
		ret->evidence = NP_EVIDENCE_LOCAL_CPUS;
		return np_bitmap_copy(&ret->nodes, &local->nodes);
	}
	ret->evidence = NP_EVIDENCE_UNKNOWN;
	return 0;
}

/* Records the source that says something else than what was chosen. */
static int note_other(const struct np_locality_sources *sources, const struct local_view *local,
                      struct np_locality *ret)
{
	if (sources->has_node && !np_bitmap_has(&ret->nodes, sources->numa_node)) {
		ret->other_evidence = NP_EVIDENCE_NUMA_NODE;
		return np_bitmap_add(&ret->other_nodes, sources->numa_node);
	}
	if (ret->evidence == NP_EVIDENCE_NUMA_NODE && local->is_told &&
	    !np_bitmap_is_empty(&local->nodes) &&
	    !np_bitmap_has(&local->nodes, sources->numa_node)) {
		ret->other_evidence = NP_EVIDENCE_LOCAL_CPUS;
		return np_bitmap_copy(&ret->other_nodes, &local->nodes);
	}
	return 0;
}

int np_locality_choose(const struct np_topology *topology,
                       const struct np_locality_sources *sources, struct np_locality *ret,
                       struct np_error *err)
{
	struct local_view local = { 0 };
	int rc = view_local(topology, &sources->local_cpus, &local);

	if (rc == 0)
		rc = choose(topology, sources, &local, ret);
	if (rc == 0)
		rc = note_other(sources, &local, ret);
	np_bitmap_release(&local.cpus);
	np_bitmap_release(&local.nodes);
	return rc < 0 ? np_error_sys(err, ENOMEM, "device locality") : 0;
}
