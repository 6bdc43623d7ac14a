/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <numaprobe/rank.h>
#include <stdio.h>
#include <string.h>

/* Two packages of two nodes of two CPUs: 10 in a node, 12 in a package, 32 across. */
static const unsigned two_by_two[] = {
	10, 12, 32, 32, /**/
	12, 10, 32, 32, /**/
	32, 32, 10, 12, /**/
	32, 32, 12, 10,
};

/* A ring: each node has two neighbours and one that is far. */
static const unsigned ring[] = {
	10, 20, 30, 20, /**/
	20, 10, 20, 30, /**/
	30, 20, 10, 20, /**/
	20, 30, 20, 10,
};

/* What 0 sees is not what is seen from there. */
static const unsigned asymmetric[] = {
	10, 15, 28, 21, /**/
	15, 10, 26, 23, /**/
	23, 26, 10, 15, /**/
	21, 28, 15, 10,
};

/* A node whose firmware says that others are nearer than itself. */
static const unsigned upside_down[] = {
	20, 10, 15, 15, /**/
	10, 20, 15, 15, /**/
	15, 15, 20, 10, /**/
	15, 15, 10, 20,
};

static const unsigned all_ten[] = {
	10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10
};

struct expected_tier {
	int distance; /* -1 = unknown */
	const char *nodes;
	const char *cpus;
};

static const struct {
	const char *name;
	const unsigned *distances;
	const char *nodes; /* of the device */
	const char *cpus;  /* nearer than the rest of the node */
	struct expected_tier tiers[5];
} cases[] = {
	{ "own node, own package, the rest",
	  two_by_two,
	  "2",
	  "",
	  { { 10, "2", "4-5" }, { 12, "3", "6-7" }, { 32, "0-1", "0-3" } } },
	{ "nodes at equal distance form one tier",
	  ring,
	  "1",
	  "",
	  { { 10, "1", "2-3" }, { 20, "0,2", "0-1,4-5" }, { 30, "3", "6-7" } } },
	{ "the row of the device's node counts, not the column",
	  asymmetric,
	  "0",
	  "",
	  { { 10, "0", "0-1" }, { 15, "1", "2-3" }, { 21, "3", "6-7" }, { 28, "2", "4-5" } } },
	{ "with several nodes the nearest counts",
	  ring,
	  "0,2",
	  "",
	  { { 10, "0,2", "0-1,4-5" }, { 20, "1,3", "2-3,6-7" } } },
	{ "on all nodes: one tier", ring, "0-3", "", { { 10, "0-3", "0-7" } } },
	{ "CPUs that share a cache with the device are the first tier",
	  two_by_two,
	  "2",
	  "5",
	  { { 10, "2", "5" }, { 10, "2", "4" }, { 12, "3", "6-7" }, { 32, "0-1", "0-3" } } },
	{ "a cache of the whole node is the node",
	  two_by_two,
	  "2",
	  "4-5",
	  { { 10, "2", "4-5" }, { 12, "3", "6-7" }, { 32, "0-1", "0-3" } } },
	{ "caches in two nodes are one tier",
	  two_by_two,
	  "0,2",
	  "1,5",
	  { { 10, "0,2", "1,5" }, { 10, "0,2", "0,4" }, { 12, "1,3", "2-3,6-7" } } },
	{ "distances are believed, however odd",
	  upside_down,
	  "0",
	  "",
	  { { 10, "1", "2-3" }, { 15, "2-3", "4-7" }, { 20, "0", "0-1" } } },
	{ "no distance differs: one tier", all_ten, "3", "", { { 10, "0-3", "0-7" } } },
};

static void assert_tiers(const struct np_rank *rank, const struct expected_tier *tiers,
                         size_t max_count)
{
	size_t count = 0;

	while (count < max_count && tiers[count].nodes)
		count++;
	for (size_t i = 0; i < count && i < rank->tier_count; i++) {
		assert_number(rank->tiers[i].tier, i + 1);
		assert_set(&rank->tiers[i].cpus, tiers[i].cpus);
		assert_set(&rank->tiers[i].nodes, tiers[i].nodes);
		assert_number(rank->tiers[i].has_distance, tiers[i].distance >= 0);
		if (tiers[i].distance >= 0)
			assert_number(rank->tiers[i].distance, tiers[i].distance);
	}
	assert_number(rank->tier_count, count);
}

/* Ranks for a device on @nodes and next to @cpus. */
static struct np_rank rank_for(const struct np_topology *topology, const char *nodes,
                               const char *cpus)
{
	struct np_locality locality = { .evidence = NP_EVIDENCE_NUMA_NODE,
		                        .nodes = set_of(nodes),
		                        .cpus = set_of(cpus),
		                        .other_evidence = NP_EVIDENCE_UNKNOWN };
	struct np_rank rank = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(np_rank_cpus(topology, &locality, &rank, &err), &err);
	np_locality_release(&locality);
	return rank;
}

static void tiers_follow_the_distances(void **state)
{
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct host_shape shape = { .node_count = 4,
			                          .cores_per_node = 2,
			                          .distances = cases[i].distances };
		struct np_topology *topology;
		struct np_rank rank;

		check_case("%s", cases[i].name);
		host_build(host, &shape);
		topology = host_load(host, 0, NULL);
		rank = rank_for(topology, cases[i].nodes, cases[i].cpus);
		assert_tiers(&rank, cases[i].tiers, 5);
		np_rank_release(&rank);
		np_topology_free(topology);
	}
}

static void without_distances_the_devices_own_node_is_first(void **state)
{
	static const struct host_shape shape = { .node_count = 3, .cores_per_node = 1 };
	static const struct expected_tier tiers[] = { { 10, "1", "1" }, { -1, "0,2", "0,2" } };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_rank rank;

	host_build(host, &shape);
	for (unsigned node = 0; node < 3; node++) {
		char path[64];

		snprintf(path, sizeof(path), NODE_DIR "/node%u/distance", node);
		host_remove(host, path);
	}
	topology = host_load(host, 0, NULL);
	rank = rank_for(topology, "1", "");
	assert_tiers(&rank, tiers, 2);
	np_rank_release(&rank);
	np_topology_free(topology);
}

static void an_unknown_locality_is_not_ranked(void **state)
{
	static const struct host_shape shape = { .node_count = 2, .cores_per_node = 1 };
	struct host *host = *state;
	struct np_locality unknown = { .evidence = NP_EVIDENCE_UNKNOWN };
	struct np_rank rank = { .tier_count = 77 };
	struct np_error err = { 0 };
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, 0, NULL);
	assert_fails(np_rank_cpus(topology, &unknown, &rank, &err), -ENODATA, &err, "unknown");
	assert_number(rank.tier_count, 77);
	np_topology_free(topology);
}

static void a_node_without_cpus_is_in_no_tier(void **state)
{
	static const struct host_shape shape = { .node_count = 4,
		                                 .cores_per_node = 2,
		                                 .distances = two_by_two };
	static const struct expected_tier tiers[] = { { 12, "3", "6-7" }, { 32, "0-1", "0-3" } };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_rank rank;

	host_build(host, &shape);
	host_write_node(host, 2, "cpulist", "\n");
	host_write(host, CPU_DIR "/online", "0-3,6-7\n");
	topology = host_load(host, 0, NULL);
	rank = rank_for(topology, "2", "");
	assert_tiers(&rank, tiers, 2);
	np_rank_release(&rank);
	np_topology_free(topology);
}

static void cpus_of_no_node_are_last(void **state)
{
	static const struct host_shape shape = { .node_count = 2, .cores_per_node = 2 };
	static const struct expected_tier tiers[] = { { 10, "1", "2" },
		                                      { 20, "0", "0-1" },
		                                      { -1, "", "3" } };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_rank rank;

	host_build(host, &shape);
	host_write_node(host, 1, "cpulist", "2\n");
	topology = host_load(host, 0, NULL);
	rank = rank_for(topology, "1", "");
	assert_tiers(&rank, tiers, 3);
	np_rank_release(&rank);
	np_topology_free(topology);
}

static void cpus_that_two_nodes_claim_are_ranked_once(void **state)
{
	static const struct host_shape shape = { .node_count = 2, .cores_per_node = 4 };
	static const struct expected_tier tiers[] = { { 10, "0", "0-3" }, { 20, "1", "4-7" } };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_rank rank;

	host_build(host, &shape);
	host_write_node(host, 1, "cpulist", "2-7\n");
	topology = host_load(host, 0, NULL);
	rank = rank_for(topology, "0", "");
	assert_tiers(&rank, tiers, 2);
	np_rank_release(&rank);
	np_topology_free(topology);
}

static void every_cpu_that_is_left_out_has_one_reason(void **state)
{
	static const struct host_shape shape = { .node_count = 2, .cores_per_node = 8 };
	static const struct expected_tier tiers[] = { { 10, "0", "0-1" }, { 20, "1", "8-9" } };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_rank rank;

	/*
	 * 0-11 are in the cpuset, of which the affinity leaves 0-1,3,8-9; 3 is isolated, and so is
	 * 13, which nothing else would name; 14 and 15 are offline.
	 */
	host_build(host, &shape);
	host_write(host, CPU_DIR "/online", "0-13\n");
	host_write(host, CPU_DIR "/isolated", "3,13,15\n");
	host_write(host, "proc/self/status", "Cpus_allowed_list:\t0-1,3,8-9\n");
	host_write(host, "proc/self/cgroup", "0::/job\n");
	host_write(host, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	host_write(host, "sys/fs/cgroup/job/cpuset.cpus.effective", "0-11\n");

	topology = host_load(host, 0, NULL);
	rank = rank_for(topology, "0", "");
	assert_tiers(&rank, tiers, 2);
	assert_set(&rank.excluded[NP_EXCLUDED_OFFLINE], "14-15");
	assert_set(&rank.excluded[NP_EXCLUDED_ISOLATED], "3,13");
	assert_set(&rank.excluded[NP_EXCLUDED_CPUSET], "12");
	assert_set(&rank.excluded[NP_EXCLUDED_AFFINITY], "2,4-7,10-11");
	np_rank_release(&rank);
	np_topology_free(topology);
}

static void a_host_with_no_usable_cpu_has_no_tier(void **state)
{
	static const struct host_shape shape = { .node_count = 1, .cores_per_node = 2 };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_rank rank;

	host_build(host, &shape);
	host_write(host, CPU_DIR "/isolated", "0-1\n");
	topology = host_load(host, 0, NULL);
	rank = rank_for(topology, "0", "");
	assert_number(rank.tier_count, 0);
	assert_set(&rank.excluded[NP_EXCLUDED_ISOLATED], "0-1");
	np_rank_release(&rank);
	np_rank_release(&rank);
	np_topology_free(topology);
}

static void reasons_have_the_names_of_the_contract(void **state)
{
	(void)state;
	assert_text(np_exclusion_name(NP_EXCLUDED_OFFLINE), "offline");
	assert_text(np_exclusion_name(NP_EXCLUDED_ISOLATED), "isolated");
	assert_text(np_exclusion_name(NP_EXCLUDED_CPUSET), "cpuset");
	assert_text(np_exclusion_name(NP_EXCLUDED_AFFINITY), "affinity");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(tiers_follow_the_distances),
		host_test(without_distances_the_devices_own_node_is_first),
		host_test(an_unknown_locality_is_not_ranked),
		host_test(a_node_without_cpus_is_in_no_tier),
		host_test(cpus_of_no_node_are_last),
		host_test(cpus_that_two_nodes_claim_are_ranked_once),
		host_test(every_cpu_that_is_left_out_has_one_reason),
		host_test(a_host_with_no_usable_cpu_has_no_tier),
		host_test(reasons_have_the_names_of_the_contract),
	};

	return cmocka_run_group_tests_name("rank", tests, NULL, NULL);
}
