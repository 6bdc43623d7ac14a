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
	locality->spans_nodes = false;
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

/* ---- several cards under one interface ---- */

static enum np_evidence weaker(enum np_evidence a, enum np_evidence b)
{
	return a > b ? a : b;
}

/* Adds @nodes to those that another source tells, which may be the first. */
static int add_other(struct np_locality *locality, enum np_evidence evidence,
                     const struct np_bitmap *nodes)
{
	bool is_first = locality->other_evidence == NP_EVIDENCE_UNKNOWN;

	locality->other_evidence = is_first ? evidence : weaker(locality->other_evidence, evidence);
	return np_bitmap_or(&locality->other_nodes, nodes);
}

/* Adds a card to those of known place. */
static int add_part(struct np_locality *locality, const struct np_locality *part)
{
	bool is_first = np_bitmap_is_empty(&locality->nodes);

	locality->evidence = is_first ? part->evidence : weaker(locality->evidence, part->evidence);
	locality->spans_nodes |= !is_first && !np_bitmap_equal(&locality->nodes, &part->nodes);
	if (np_bitmap_or(&locality->cpus, &part->cpus) < 0)
		return -ENOMEM;
	return np_bitmap_or(&locality->nodes, &part->nodes);
}

/* Some cards are of unknown place: what is known of the others becomes the other source. */
static int forget(struct np_locality *locality)
{
	int rc = 0;

	if (!np_bitmap_is_empty(&locality->nodes))
		rc = add_other(locality, locality->evidence, &locality->nodes);
	locality->evidence = NP_EVIDENCE_UNKNOWN;
	locality->spans_nodes = false;
	np_bitmap_release(&locality->nodes);
	return rc;
}

int np_locality_join(const struct np_locality *parts, size_t count, struct np_locality *ret,
                     struct np_error *err)
{
	bool is_unknown = count == 0;
	int rc = 0;

	ret->evidence = NP_EVIDENCE_UNKNOWN;
	ret->other_evidence = NP_EVIDENCE_UNKNOWN;
	for (size_t i = 0; i < count && rc == 0; i++) {
		if (np_bitmap_is_empty(&parts[i].nodes))
			is_unknown = true;
		else
			rc = add_part(ret, &parts[i]);
		if (rc == 0 && parts[i].other_evidence != NP_EVIDENCE_UNKNOWN)
			rc = add_other(ret, parts[i].other_evidence, &parts[i].other_nodes);
	}
	if (rc == 0 && is_unknown)
		rc = forget(ret);
	if (ret->evidence != NP_EVIDENCE_CACHE)
		np_bitmap_release(&ret->cpus);
	return rc < 0 ? np_error_sys(err, ENOMEM, "device locality") : 0;
}
