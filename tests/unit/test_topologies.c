/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other people's machines, from the folder $NUMAKIT_TOPOLOGIES (they are no part of the project):
 * the properties of every host on all of them, and what is known of single ones.
 */
#include "host.h"
#include "properties.h"

#include <glob.h>
#include <limits.h>
#include <numaprobe/rank.h>
#include <numarun/plan.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CANNOT_RUN = 77 };

extern char **environ;

static const char *topologies;
static char unpacked[256]; /* the archives, each in a folder of its name without .tar.* */

/* ---- finding and unpacking ---- */

static void unpack(const char *archive)
{
	const char *name = strrchr(archive, '/') + 1;
	char folder[PATH_MAX];
	char *argv[] = {
		(char[]){ "tar" }, (char[]){ "-xf" }, NULL, (char[]){ "-C" }, folder, NULL
	};
	char file[PATH_MAX];
	int status = -1;
	pid_t pid;

	snprintf(folder, sizeof(folder), "%s/%.*s", unpacked, (int)(strstr(name, ".tar.") - name),
	         name);
	snprintf(file, sizeof(file), "%s", archive);
	argv[2] = file;
	assert_number(mkdir(folder, 0777), 0);
	assert_number(posix_spawnp(&pid, "tar", NULL, NULL, argv, environ), 0);
	assert_number(waitpid(pid, &status, 0), pid);
	if (status != 0)
		fail_msg("tar -xf %s: status %d", archive, status);
}

/* Everything that matches @pattern in the folder; the caller ends it with globfree(). */
static glob_t find(const char *folder, const char *pattern)
{
	char path[PATH_MAX];
	glob_t found = { 0 };

	snprintf(path, sizeof(path), "%s/%s", folder, pattern);
	glob(path, GLOB_BRACE, NULL, &found);
	return found;
}

static int unpack_all(void **state)
{
	glob_t archives = find(topologies, "*/*.tar.{bz2,gz}");

	(void)state;
	make_temporary(unpacked, sizeof(unpacked));
	for (size_t i = 0; i < archives.gl_pathc; i++)
		unpack(archives.gl_pathv[i]);
	globfree(&archives);
	return 0;
}

static int remove_all(void **state)
{
	(void)state;
	remove_tree(unpacked);
	return 0;
}

/* Where a host is: @root or @xml is left empty. */
struct place {
	char root[PATH_MAX];
	char xml[PATH_MAX];
};

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

/* The host of that name, an archive's without .tar.* or an XML's; skips the test without it. */
static struct place locate(const char *name)
{
	struct place place = { 0 };
	glob_t found;
	char pattern[300];

	snprintf(pattern, sizeof(pattern), strstr(name, ".xml") ? "{,*/}%s" : "%s{,/*}/sys", name);
	found = find(strstr(name, ".xml") ? topologies : unpacked, pattern);
	if (found.gl_pathc == 0) {
		globfree(&found);
		print_message("skipped: no %s in %s\n", name, topologies);
		skip();
	}
	if (strstr(name, ".xml"))
		snprintf(place.xml, sizeof(place.xml), "%s", found.gl_pathv[0]);
	else
		snprintf(place.root, sizeof(place.root), "%.*s",
		         (int)(strlen(found.gl_pathv[0]) - strlen("/sys")), found.gl_pathv[0]);
	globfree(&found);
	return place;
}

static struct np_topology *open_host(const char *name, const char *const devices[])
{
	struct place place = locate(name);

	return load_host(name, or_null(place.root), or_null(place.xml),
	                 devices ? NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_GROUPS : NP_TOPOLOGY_ALL,
	                 devices);
}

/* ---- all of them ---- */

static void all_sysfs_trees_have_the_properties(void **state)
{
	glob_t found = find(unpacked, "*{,/*}/sys");

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		*strrchr(found.gl_pathv[i], '/') = '\0';
		check_host(found.gl_pathv[i] + strlen(unpacked) + 1, found.gl_pathv[i], NULL);
	}
	print_message("%zu trees\n", found.gl_pathc);
	globfree(&found);
}

static void all_xml_exports_have_the_properties(void **state)
{
	glob_t found = find(topologies, "{,*/}*.xml");

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++)
		check_host(strrchr(found.gl_pathv[i], '/') + 1, NULL, found.gl_pathv[i]);
	print_message("%zu exports\n", found.gl_pathc);
	globfree(&found);
}

/* ---- where cards are ---- */

#define EJFAT "seed003-ejfat2-16n.xml"
#define TURIN "prrte-turin-4gpu.xml"
#define TIOGA "mpibind-eas-tioga.xml"
#define BUTTE "mpibind-coral-butte-hwloc1.xml"
#define CORONA "mpibind-epyc-corona.xml"
#define MANY_VFS "hwloc-16intel64-manyVFs.xml"
#define TWENTY_FOUR "hwloc-192em64t-24n8c2t.xml"
#define FOUR_BY_TWO "hwloc-96em64t-4n4d3ca2co-pci.xml"
#define DUAL_PERSONALITY "hwloc-24em64t-2n6c2t-pci.xml"
#define COD "hwloc-28intel64-2p2g7c-CoDgroups.v1.xml"
#define COD_WITHOUT_GROUPS "hwloc-28intel64-2p2g7c-CoD.nogroups.v1tov2.xml"
#define NVME_AND_MORE "32em64t-2n8c+dax+nvme+mic+dimms"
#define MINUS_ONE "40intel64-2g2n4c+pcilocality"
#define GHW "ghw-2n-82pci"

static const struct {
	const char *host;
	const char *device;
	const char *nodes;
	enum np_evidence evidence;
	const char *cpus; /* nearer than the rest of the node */
} cards[] = {
	{ EJFAT, "enp193s0f0np0", "10", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ EJFAT, "enp193s0f1np1", "10", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ EJFAT, "c1:00.1", "10", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "eno6", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "ib3x", "1", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "ib2x", "2", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "eno4np0", "3", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "eno5np1", "3", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "ib1x", "6", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TURIN, "ib0", "7", NP_EVIDENCE_LOCAL_CPUS, "" },
	/* Each of these hangs off one L3 of its node. */
	{ TIOGA, "hsi0", "3", NP_EVIDENCE_CACHE, "56-63,120-127" },
	{ TIOGA, "hsi1", "1", NP_EVIDENCE_CACHE, "24-31,88-95" },
	{ TIOGA, "hsi2", "0", NP_EVIDENCE_CACHE, "8-15,72-79" },
	{ TIOGA, "hsi3", "2", NP_EVIDENCE_CACHE, "40-47,104-111" },
	{ TIOGA, "ens2", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ BUTTE, "hsi0", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ BUTTE, "hsi3", "8", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ BUTTE, "enP5p1s0f0", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ CORONA, "enp3s0f1", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ CORONA, "hsi0", "3", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ "mpibind-g4dnmetal.xml", "eth0", "1", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ MANY_VFS, "eth5", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ MANY_VFS, "eth7", "1", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TWENTY_FOUR, "eth1", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TWENTY_FOUR, "eth5", "4", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ TWENTY_FOUR, "ib0", "6", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ FOUR_BY_TWO, "eth1", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ FOUR_BY_TWO, "eth3", "1", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ FOUR_BY_TWO, "eth5", "2", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ FOUR_BY_TWO, "eth7", "3", NP_EVIDENCE_LOCAL_CPUS, "" },
	/* Two interfaces of one PCI function. */
	{ DUAL_PERSONALITY, "eth2", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ DUAL_PERSONALITY, "ib0", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ DUAL_PERSONALITY, "05:00.0", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	/* The same box, once told by half a package and once by all of it. */
	{ COD, "enp6s0", "0", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ COD_WITHOUT_GROUPS, "enp6s0", "0-1", NP_EVIDENCE_LOCAL_CPUS, "" },
	{ "hwloc-64intel64-3g2n+2n-irregulargroups+pci.xml", "eth0", "0", NP_EVIDENCE_LOCAL_CPUS,
	  "" },
	{ NVME_AND_MORE, "eth0", "0", NP_EVIDENCE_NUMA_NODE, "" },
	{ NVME_AND_MORE, "ib0", "1", NP_EVIDENCE_NUMA_NODE, "" },
	{ MINUS_ONE, "eth0", "", NP_EVIDENCE_UNKNOWN, "" },
	{ MINUS_ONE, "eth3", "", NP_EVIDENCE_UNKNOWN, "" },
	{ "fakepcilocalities", "eth3", "0", NP_EVIDENCE_NUMA_NODE, "" },
	{ "fakepcilocalities", "ib0", "1", NP_EVIDENCE_NUMA_NODE, "" },
	{ "2pa-pcidomain32bits", "ens3", "0", NP_EVIDENCE_SINGLE_NODE, "" },
	/* Two functions of one card on two nodes, with a virtual function each. */
	{ GHW, "05:00.0", "0", NP_EVIDENCE_NUMA_NODE, "" },
	{ GHW, "05:00.1", "1", NP_EVIDENCE_NUMA_NODE, "" },
	{ GHW, "pci:05:10.0", "0", NP_EVIDENCE_NUMA_NODE, "" },
	{ GHW, "pci:05:10.1", "1", NP_EVIDENCE_NUMA_NODE, "" },
	{ GHW, "01:00.0", "", NP_EVIDENCE_UNKNOWN, "" },
};

static void cards_are_where_they_are_known_to_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cards) / sizeof(cards[0]); i++) {
		const char *const devices[] = { cards[i].device, NULL };
		struct np_topology *topology = open_host(cards[i].host, devices);
		const struct np_locality *locality = &np_topology_device(topology, 0)->locality;

		check_case("%s: %s", cards[i].host, cards[i].device);
		assert_set(&locality->nodes, cards[i].nodes);
		assert_text(np_evidence_name(locality->evidence),
		            np_evidence_name(cards[i].evidence));
		assert_set(&locality->cpus, cards[i].cpus);
		np_topology_free(topology);
	}
}

static const struct {
	const char *host;
	size_t count;
} card_counts[] = {
	{ NVME_AND_MORE, 3 }, /* not its VLAN and bridge */
	{ MINUS_ONE, 5 },     { "fakepcilocalities", 5 },
	{ GHW, 0 },           { EJFAT, 2 },
	{ TURIN, 7 },         { TIOGA, 5 },
	{ BUTTE, 6 },         { CORONA, 3 },
	{ MANY_VFS, 6 },      { TWENTY_FOUR, 7 },
	{ FOUR_BY_TWO, 8 },   { DUAL_PERSONALITY, 4 },
};

static void every_card_is_found_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(card_counts) / sizeof(card_counts[0]); i++) {
		struct np_topology *topology = open_host(card_counts[i].host, NULL);

		check_case("%s", card_counts[i].host);
		assert_number(np_topology_device_count(topology), card_counts[i].count);
		np_topology_free(topology);
	}
}

/* ---- tiers ---- */

struct tier {
	const char *nodes;
	int distance; /* -1 = unknown */
	const char *cpus;
};

static void assert_tiers(const struct np_rank *rank, const struct tier *tiers, size_t count)
{
	for (size_t i = 0; i < count && i < rank->tier_count; i++) {
		assert_set(&rank->tiers[i].cpus, tiers[i].cpus);
		assert_set(&rank->tiers[i].nodes, tiers[i].nodes);
		assert_number(rank->tiers[i].has_distance, tiers[i].distance >= 0);
		if (tiers[i].distance >= 0)
			assert_number(rank->tiers[i].distance, tiers[i].distance);
	}
	assert_number(rank->tier_count, count);
}

/* The tiers for a device, or where that is NULL for node @node. */
static void check_tiers(const char *host, const char *device, unsigned node,
                        const struct tier *tiers, size_t count)
{
	const char *const devices[] = { device, NULL };
	struct np_topology *topology = open_host(host, device ? devices : NULL);
	struct np_locality on_node = { .evidence = NP_EVIDENCE_OVERRIDE,
		                       .other_evidence = NP_EVIDENCE_UNKNOWN };
	struct np_rank rank = { 0 };
	struct np_error err = { 0 };

	check_case("%s: %s", host, device ? device : "a node");
	assert_number(np_bitmap_add(&on_node.nodes, node), 0);
	assert_np_ok(np_rank_cpus(topology,
	                          device ? &np_topology_device(topology, 0)->locality : &on_node,
	                          &rank, &err),
	             &err);
	assert_tiers(&rank, tiers, count);
	np_rank_release(&rank);
	np_locality_release(&on_node);
	np_topology_free(topology);
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void ejfat_2_has_the_published_tiers(void **state)
{
	static const struct tier tiers[] = { { "10", 10, "80-87" },
		                             { "11", 11, "88-95" },
		                             { "8-9,12-15", 12, "64-79,96-127" },
		                             { "0-7", 32, "0-63" } };

	(void)state;
	check_tiers(EJFAT, "enp193s0f1np1", 0, tiers, COUNT(tiers));
}

static void sparse_nodes_have_their_distances_by_position(void **state)
{
	static const struct tier tiers[] = { { "45", 10, "30-35" },
		                             { "2,33-34,73", 16, "12-29,42-47" },
		                             { "0-1,72", 22, "0-11,36-41" } };

	(void)state;
	check_tiers("48amd64-4pa2n6c-sparse", NULL, 45, tiers, COUNT(tiers));
}

static void cpus_of_an_offline_node_come_last(void **state)
{
	/* Its row has a column for the offline node too: 10 is the second one. */
	static const struct tier tiers[] = { { "1", 10, "5,7,9,11,13,15,17,19" },
		                             { "", -1, "4,6,8,10,12,14,16,18,20" } };
	struct np_topology *topology = open_host("offline-cpu0-node0", NULL);

	(void)state;
	assert_set(np_topology_cpus(topology, NP_CPUS_OFFLINE), "0-3,21-23");
	np_topology_free(topology);
	check_tiers("offline-cpu0-node0", NULL, 1, tiers, COUNT(tiers));
}

static void nodes_that_all_hold_every_cpu_collapse(void **state)
{
	static const struct tier tiers[] = { { "0-7", 10, "0-7" } };

	(void)state;
	check_tiers("8em64t-2s2ca2c-buggynuma", NULL, 3, tiers, COUNT(tiers));
}

static void an_asymmetric_row_is_used_as_it_is(void **state)
{
	static const struct tier from_0[] = { { "0", 10, "0-15" },  { "1", 15, "16-31" },
		                              { "2", 17, "32-47" }, { "3", 21, "48-63" },
		                              { "5", 26, "80-95" }, { "4", 28, "64-79" } };
	static const struct tier from_4[] = { { "4", 10, "64-79" },
		                              { "3,5", 15, "48-63,80-95" },
		                              { "0,2", 23, "0-15,32-47" },
		                              { "1", 26, "16-31" } };

	(void)state;
	check_tiers("made-snc3-asym-slit.xml", NULL, 0, from_0, COUNT(from_0));
	check_tiers("made-snc3-asym-slit.xml", NULL, 4, from_4, COUNT(from_4));
}

static void without_distances_the_cards_own_node_is_first(void **state)
{
	static const struct tier tiers[] = { { "1", 10, "8-15" }, { "0", -1, "0-7" } };

	(void)state;
	check_tiers(MANY_VFS, "eth6", 0, tiers, COUNT(tiers));
}

static void a_card_of_one_l3_has_that_as_its_first_tier(void **state)
{
	static const struct tier tiers[] = { { "3", 10, "56-63,120-127" },
		                             { "3", 10, "48-55,112-119" },
		                             { "0-2", 12, "0-47,64-111" } };

	(void)state;
	check_tiers(TIOGA, "hsi0", 0, tiers, COUNT(tiers));
}

static void a_ring_has_a_farthest_node(void **state)
{
	static const struct tier tiers[] = { { "1", 10, "16-31" },
		                             { "0,2", 20, "0-15,32-47" },
		                             { "3", 30, "48-63" } };

	(void)state;
	check_tiers("seed004-pgsql-4s-slit-lies.xml", NULL, 1, tiers, COUNT(tiers));
}

/* ---- single facts ---- */

static void assert_distance(const struct np_topology *topology, unsigned from, unsigned to,
                            unsigned wanted)
{
	unsigned distance = 0;

	check_case("distance from node %u to %u", from, to);
	assert_number(np_topology_node_distance(topology, from, to, &distance), 0);
	assert_number(distance, wanted);
}

static void the_firmwares_matrix_is_taken_among_four(void **state)
{
	struct np_topology *topology = open_host("hwloc-16amd64-4distances.xml", NULL);

	(void)state;
	for (unsigned from = 0; from < 8; from++)
		for (unsigned to = 0; to < 8; to++)
			assert_distance(topology, from, to, from == to ? 10 : 20);
	np_topology_free(topology);
}

static void an_old_export_keeps_its_nodes_and_distances(void **state)
{
	struct np_topology *topology = open_host(BUTTE, NULL);

	(void)state;
	assert_set(np_topology_nodes(topology, NP_NODES_ONLINE), "0,8,252-255");
	assert_set(np_topology_nodes(topology, NP_NODES_WITH_CPUS), "0,8");
	assert_set(np_topology_nodes(topology, NP_NODES_WITH_MEMORY), "0,8,252-255");
	assert_distance(topology, 0, 8, 40);
	assert_distance(topology, 8, 252, 80);
	assert_distance(topology, 255, 255, 10);
	np_topology_free(topology);
}

static void what_is_odd_of_a_made_up_host_is_noted(void **state)
{
	struct np_topology *topology = open_host("fakeheterocpunuma", NULL);

	(void)state;
	assert_set(np_topology_nodes(topology, NP_NODES_WITH_CPUS), "0-1,3-5");
	assert_distance(topology, 0, 5, 50);
	assert_distance(topology, 5, 0, 40);
	assert_note(topology, "asymmetric");
	assert_note(topology, "claim the same CPUs");
	assert_set(np_topology_cpus(topology, NP_CPUS_WITHOUT_NODE), "4-7");
	assert_note(topology, "4-7 belong");
	np_topology_free(topology);
}

static void a_cgroup_of_v2_limits_cpus_and_nodes(void **state)
{
	struct np_topology *topology = open_host("32amd64-4s2n4c-cgroup2", NULL);

	(void)state;
	assert_set(np_topology_cpus(topology, NP_CPUS_ALLOWED), "0-5");
	assert_set(np_topology_cpus(topology, NP_CPUS_CPUSET), "0-5");
	assert_set(np_topology_nodes(topology, NP_NODES_ALLOWED), "0-5");
	assert_set(np_topology_nodes(topology, NP_NODES_ONLINE), "0-7");
	np_topology_free(topology);
}

static void memory_and_cpus_are_on_different_nodes(void **state)
{
	struct nr_request request = { .cpu_choice = NR_CPUS_NODES,
		                      .nodes = set_of("1"),
		                      .far = true };
	struct np_topology *topology = open_host("fakememinitiators-1np2c+1npp+gi", NULL);
	struct nr_plan plan = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_set(np_topology_nodes(topology, NP_NODES_WITH_CPUS), "0-3");
	assert_set(np_topology_nodes(topology, NP_NODES_WITH_MEMORY), "5-10");
	/* From node 1 nodes 5 and 6 are at 21, 7 at 28, 8 at 11, 9 at 14, 10 at 17. */
	assert_np_ok(nr_plan_make(topology, &request, &plan, &err), &err);
	assert_set(&plan.policy.nodes, "7");
	assert_number(plan.far_distance, 28);
	nr_plan_release(&plan);
	nr_request_release(&request);
	np_topology_free(topology);
}

static void a_link_of_one_gigabit_is_read(void **state)
{
	struct np_topology *topology = open_host(NVME_AND_MORE, NULL);

	(void)state;
	assert_text(np_topology_device(topology, 0)->name, "eth0");
	assert_true(np_topology_device(topology, 0)->has_speed);
	assert_number(np_topology_device(topology, 0)->speed_bps, 1000000000);
	assert_false(np_topology_device(topology, 1)->has_speed);
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_sysfs_trees_have_the_properties),
		cmocka_unit_test(all_xml_exports_have_the_properties),
		cmocka_unit_test(cards_are_where_they_are_known_to_be),
		cmocka_unit_test(every_card_is_found_and_nothing_else),
		cmocka_unit_test(ejfat_2_has_the_published_tiers),
		cmocka_unit_test(sparse_nodes_have_their_distances_by_position),
		cmocka_unit_test(cpus_of_an_offline_node_come_last),
		cmocka_unit_test(nodes_that_all_hold_every_cpu_collapse),
		cmocka_unit_test(an_asymmetric_row_is_used_as_it_is),
		cmocka_unit_test(without_distances_the_cards_own_node_is_first),
		cmocka_unit_test(a_card_of_one_l3_has_that_as_its_first_tier),
		cmocka_unit_test(a_ring_has_a_farthest_node),
		cmocka_unit_test(the_firmwares_matrix_is_taken_among_four),
		cmocka_unit_test(an_old_export_keeps_its_nodes_and_distances),
		cmocka_unit_test(what_is_odd_of_a_made_up_host_is_noted),
		cmocka_unit_test(a_cgroup_of_v2_limits_cpus_and_nodes),
		cmocka_unit_test(memory_and_cpus_are_on_different_nodes),
		cmocka_unit_test(a_link_of_one_gigabit_is_read),
	};

	topologies = getenv("NUMAKIT_TOPOLOGIES");
	if (!topologies || !*topologies || access(topologies, R_OK | X_OK) < 0) {
		printf("skipped: NUMAKIT_TOPOLOGIES is %s\n",
		       !topologies || !*topologies ? "not set" : "no folder that can be read");
		return CANNOT_RUN;
	}
	return cmocka_run_group_tests_name("topologies", tests, unpack_all, remove_all);
}
