/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPUS(topology, which) np_topology_cpus((topology), NP_CPUS_##which)
#define NODES(topology, which) np_topology_nodes((topology), NP_NODES_##which)

static const struct host_shape two_nodes = { .node_count = 2, .cores_per_node = 4 };

static void assert_distance(const struct np_topology *topology, unsigned from, unsigned to,
                            unsigned wanted)
{
	unsigned distance = 0;

	check_case("distance from node %u to %u", from, to);
	assert_number(np_topology_node_distance(topology, from, to, &distance), 0);
	assert_number(distance, wanted);
}

/* ---- CPUs and nodes ---- */

static void a_host_is_described_by_its_sets(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	topology = host_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_set(CPUS(topology, ONLINE), "0-7");
	assert_set(CPUS(topology, OFFLINE), "");
	assert_set(CPUS(topology, ISOLATED), "");
	assert_set(CPUS(topology, ALLOWED), "0-7");
	assert_set(CPUS(topology, CPUSET), "0-7");
	assert_set(CPUS(topology, USABLE), "0-7");
	assert_set(CPUS(topology, WITHOUT_NODE), "");
	assert_set(NODES(topology, ONLINE), "0-1");
	assert_set(NODES(topology, WITH_CPUS), "0-1");
	assert_set(NODES(topology, WITH_MEMORY), "0-1");
	assert_set(NODES(topology, ALLOWED), "0-1");
	assert_set(&np_topology_node(topology, 0)->cpus, "0-3");
	assert_set(&np_topology_node(topology, 1)->cpus, "4-7");
	assert_null(np_topology_node(topology, 2));
	assert_number(np_topology_note_count(topology), 0);
	assert_false(np_topology_is_live(topology));
	assert_text(np_topology_origin(topology), host->dir);
	np_topology_free(topology);
	np_topology_free(NULL);
}

static void memory_is_read_when_it_is_asked_for(void **state)
{
	struct host *host = *state;
	const struct np_node *node;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	topology = host_load(host, NP_TOPOLOGY_MEMORY, NULL);
	node = np_topology_node(topology, 1);
	assert_true(node->has_memory_size);
	assert_number(node->memory_bytes, 16777216ll * 1024);
	assert_true(node->has_memory_free);
	assert_number(node->memory_free_bytes, 8388608ll * 1024);
	np_topology_free(topology);

	topology = host_load(host, 0, NULL);
	assert_false(np_topology_node(topology, 1)->has_memory_size);
	np_topology_free(topology);
}

static void memory_that_is_not_told_is_unknown(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_remove(host, NODE_DIR "/node0/meminfo");
	host_write_node(host, 1, "meminfo", "Node 1 MemTotal: 16 kB\n");
	topology = host_load(host, NP_TOPOLOGY_MEMORY, NULL);
	assert_false(np_topology_node(topology, 0)->has_memory_size);
	assert_true(np_topology_node(topology, 1)->has_memory_size);
	assert_false(np_topology_node(topology, 1)->has_memory_free);
	np_topology_free(topology);
}

static void offline_cpus_are_present_but_not_online(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, CPU_DIR "/online", "0-2,4-7\n");
	topology = host_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_set(CPUS(topology, ONLINE), "0-2,4-7");
	assert_set(CPUS(topology, OFFLINE), "3");
	/* The node's list still names it (as captures can), but it is no CPU to run on. */
	assert_set(&np_topology_node(topology, 0)->cpus, "0-2");
	assert_set(&np_topology_group_of(topology, NP_LEVEL_PACKAGE, 0)->cpus, "0-2");
	assert_null(np_topology_group_of(topology, NP_LEVEL_PACKAGE, 3));
	np_topology_free(topology);
}

static void isolated_cpus_are_not_usable(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, CPU_DIR "/isolated", "2-3\n");
	topology = host_load(host, 0, NULL);
	assert_set(CPUS(topology, ISOLATED), "2-3");
	assert_set(CPUS(topology, ALLOWED), "0-7");
	assert_set(CPUS(topology, USABLE), "0-1,4-7");
	np_topology_free(topology);
}

static void nodes_without_cpus_or_without_memory_stay_nodes(void **state)
{
	static const struct host_shape shape = { .node_count = 4, .cores_per_node = 2 };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write_node(host, 1, "cpulist", "\n");
	host_write_node(host, 2, "cpulist", "2-5\n");
	host_write_node(host, 3, "meminfo", "Node 3 MemTotal: 0 kB\nNode 3 MemFree: 0 kB\n");
	host_write(host, NODE_DIR "/has_memory", "0-2\n");
	topology = host_load(host, NP_TOPOLOGY_MEMORY, NULL);
	assert_set(NODES(topology, ONLINE), "0-3");
	assert_set(NODES(topology, WITH_CPUS), "0,2-3");
	assert_set(NODES(topology, WITH_MEMORY), "0-2");
	assert_set(NODES(topology, ALLOWED), "0-2");
	assert_number(np_topology_node(topology, 3)->memory_bytes, 0);
	assert_true(np_topology_node(topology, 3)->has_memory_size);
	np_topology_free(topology);
}

static void sizes_tell_which_nodes_have_memory_where_no_list_does(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write_node(host, 1, "meminfo", "Node 1 MemTotal: 0 kB\n");
	host_remove(host, NODE_DIR "/has_memory");
	topology = host_load(host, 0, NULL);
	assert_set(NODES(topology, WITH_MEMORY), "0");
	np_topology_free(topology);
}

static void a_kernel_without_numa_has_one_node(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_remove(host, NODE_DIR);
	topology = host_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_set(NODES(topology, ONLINE), "0");
	assert_set(NODES(topology, WITH_MEMORY), "0");
	assert_set(&np_topology_node(topology, 0)->cpus, "0-7");
	assert_distance(topology, 0, 0, 10);
	assert_note(topology, "without NUMA support");
	np_topology_free(topology);
}

static void old_kernels_are_read_from_their_folders_and_masks(void **state)
{
	static const char *const newer[] = {
		CPU_DIR "/online",         CPU_DIR "/present",        CPU_DIR "/isolated",
		NODE_DIR "/online",        NODE_DIR "/possible",      NODE_DIR "/has_memory",
		NODE_DIR "/node0/cpulist", NODE_DIR "/node1/cpulist",
	};
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	for (size_t i = 0; i < sizeof(newer) / sizeof(newer[0]); i++)
		host_remove(host, newer[i]);
	host_mkdir(host, CPU_DIR "/cpufreq");
	topology = host_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_set(CPUS(topology, ONLINE), "0-7");
	assert_set(NODES(topology, ONLINE), "0-1");
	assert_set(NODES(topology, WITH_MEMORY), "0-1");
	assert_set(&np_topology_node(topology, 1)->cpus, "4-7");
	np_topology_free(topology);
}

static void a_root_that_is_none_is_named(void **state)
{
	struct host *host = *state;
	struct np_topology_source source = { .root = "/missing/root" };
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	assert_fails(np_topology_load(&source, &topology, &err), -ENOENT, &err, "/missing/root");
	assert_null(topology);
	assert_fails(host_load_fails(host, NP_TOPOLOGY_ALL, NULL, &err), -ENOENT, &err, CPU_DIR);
}

static void two_hosts_can_be_open_at_once(void **state)
{
	static const struct host_shape one_node = { .node_count = 1, .cores_per_node = 2 };
	struct host *first = *state;
	struct host *second;
	void *second_state;
	struct np_topology *of_first;
	struct np_topology *of_second;

	host_create(&second_state);
	second = second_state;
	host_build(first, &two_nodes);
	host_build(second, &one_node);
	of_first = host_load(first, NP_TOPOLOGY_ALL, NULL);
	of_second = host_load(second, NP_TOPOLOGY_ALL, NULL);
	host_destroy(&second_state);
	assert_set(CPUS(of_first, ONLINE), "0-7");
	assert_set(CPUS(of_second, ONLINE), "0-1");
	np_topology_free(of_first);
	assert_set(NODES(of_second, ONLINE), "0");
	np_topology_free(of_second);
}

static void this_host_can_be_read(void **state)
{
	struct np_topology_source source = { .scope = NP_TOPOLOGY_ALL };
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(np_topology_load(&source, &topology, &err), &err);
	assert_true(np_topology_is_live(topology));
	assert_text(np_topology_origin(topology), "this host");
	assert_false(np_bitmap_is_empty(CPUS(topology, ONLINE)));
	assert_false(np_bitmap_is_empty(CPUS(topology, ALLOWED)));
	assert_false(np_bitmap_is_empty(NODES(topology, WITH_MEMORY)));
	np_topology_free(topology);
}

/* ---- distances ---- */

/* Nodes 0, 3 and 7 online, each with two CPUs. */
static void build_sparse(const struct host *host)
{
	static const unsigned nodes[] = { 0, 3, 7 };
	char text[64];

	host_write(host, CPU_DIR "/online", "0-5\n");
	host_write(host, NODE_DIR "/online", "0,3,7\n");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "%u-%u\n", 2 * i, 2 * i + 1);
		host_write_node(host, nodes[i], "cpulist", text);
		/* From each node all three differ, and so do both directions. */
		snprintf(text, sizeof(text), "%u %u %u\n", 10 + 10 * i, 11 + 10 * i, 12 + 10 * i);
		host_write_node(host, nodes[i], "distance", text);
	}
}

static void columns_stand_for_the_online_nodes(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;
	unsigned distance = 99;

	build_sparse(host);
	topology = host_load(host, 0, NULL);
	assert_distance(topology, 0, 3, 11);
	assert_distance(topology, 0, 7, 12);
	assert_distance(topology, 7, 0, 30);
	assert_distance(topology, 7, 3, 31);
	assert_number(np_topology_node_distance(topology, 0, 1, &distance), -ERANGE);
	assert_number(np_topology_node_distance(topology, 1, 0, &distance), -ERANGE);
	assert_number(distance, 99);
	np_topology_free(topology);
}

static void columns_for_every_possible_node_are_told_apart(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	build_sparse(host);
	host_write(host, NODE_DIR "/possible", "0-7\n");
	host_write_node(host, 0, "distance", "10 91 92 13 94 95 96 17\n");
	topology = host_load(host, 0, NULL);
	assert_distance(topology, 0, 0, 10);
	assert_distance(topology, 0, 3, 13);
	assert_distance(topology, 0, 7, 17);
	assert_distance(topology, 3, 7, 22); /* this row has a column for each online node */
	np_topology_free(topology);
}

static void missing_distances_are_unknown(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;
	unsigned distance = 99;

	host_build(host, &two_nodes);
	host_remove(host, NODE_DIR "/node0/distance");
	topology = host_load(host, 0, NULL);
	assert_number(np_topology_node_distance(topology, 0, 1, &distance), -ENODATA);
	assert_number(distance, 99);
	assert_distance(topology, 1, 0, 20);
	assert_note(topology, "does not tell the distances of 2 of 4 pairs");
	np_topology_free(topology);
}

static void odd_distances_are_kept_and_noted(void **state)
{
	static const unsigned distances[] = { 12, 28, 23, 10 };
	static const struct host_shape shape = { .node_count = 2,
		                                 .cores_per_node = 1,
		                                 .distances = distances };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, 0, NULL);
	assert_distance(topology, 0, 1, 28);
	assert_distance(topology, 1, 0, 23);
	assert_note(topology, "0 to 1 is 28, back is 23");
	assert_note(topology, "distance to itself is not 10");
	np_topology_free(topology);
}

static void unreachable_nodes_are_noted(void **state)
{
	static const unsigned distances[] = { 10, 255, 4294967295u, 10 };
	static const struct host_shape shape = { .node_count = 2,
		                                 .cores_per_node = 1,
		                                 .distances = distances };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, 0, NULL);
	assert_distance(topology, 0, 1, 255);
	assert_distance(topology, 1, 0, 4294967295u);
	assert_note(topology, "unreachable");
	np_topology_free(topology);
}

static void cpus_in_two_nodes_and_in_none_are_noted(void **state)
{
	static const struct host_shape shape = { .node_count = 3, .cores_per_node = 2 };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write_node(host, 2, "cpulist", "3-4\n"); /* 3 is node 1's, 5 is nobody's now */
	topology = host_load(host, 0, NULL);
	assert_set(CPUS(topology, WITHOUT_NODE), "5");
	assert_note(topology, "nodes 1 and 2 claim the same CPUs");
	assert_note(topology, "5 belong");
	np_topology_free(topology);
}

/* ---- groups ---- */

static void packages_caches_and_cores_hold_their_cpus(void **state)
{
	static const struct host_shape shape = { .node_count = 2,
		                                 .cores_per_node = 2,
		                                 .threads_per_core = 2 };
	struct host *host = *state;
	const struct np_group *group;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
	assert_number(np_topology_group_count(topology, NP_LEVEL_PACKAGE), 2);
	assert_number(np_topology_group_count(topology, NP_LEVEL_L3), 2);
	assert_number(np_topology_group_count(topology, NP_LEVEL_CORE), 4);

	group = np_topology_group_of(topology, NP_LEVEL_PACKAGE, 7);
	assert_set(&group->cpus, "2-3,6-7");
	assert_true(group->has_id);
	assert_number(group->id, 1);
	group = np_topology_group_of(topology, NP_LEVEL_L3, 4);
	assert_set(&group->cpus, "0-1,4-5");
	assert_number(group->size_bytes, 16384 * 1024);
	group = np_topology_group(topology, NP_LEVEL_CORE, 3);
	assert_set(&group->cpus, "3,7");
	assert_number(group->id, 1);
	assert_null(np_topology_group_of(topology, NP_LEVEL_CORE, 8));
	assert_null(np_topology_group_of(topology, NP_LEVEL_CORE, UINT32_MAX));
	np_topology_free(topology);
}

static void groups_that_were_not_asked_for_are_unknown(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	topology = host_load(host, 0, NULL);
	assert_number(np_topology_group_count(topology, NP_LEVEL_PACKAGE), 0);
	assert_null(np_topology_group_of(topology, NP_LEVEL_CORE, 0));
	np_topology_free(topology);
}

/* In all these the same groups must come out: the files' names changed over the years. */
static const struct {
	const char *name;
	const char *absent[4];
} generations[] = {
	{ "today's", { 0 } },
	{ "before Linux 5.5", { "topology/package_cpus_list", "topology/core_cpus_list" } },
	{ "masks alone",
	  { "topology/package_cpus_list", "topology/core_cpus_list", "topology/core_siblings_list",
	    "topology/thread_siblings_list" } },
	{ "cache masks alone", { "cache/index3/shared_cpu_list" } },
};

static void every_generation_of_topology_files_is_understood(void **state)
{
	static const struct host_shape shape = { .node_count = 2,
		                                 .cores_per_node = 2,
		                                 .threads_per_core = 2 };
	struct host *host = *state;

	for (size_t g = 0; g < sizeof(generations) / sizeof(generations[0]); g++) {
		struct np_topology *topology;
		char path[128];

		host_build(host, &shape);
		for (size_t i = 0; i < 4 && generations[g].absent[i]; i++)
			for (unsigned cpu = 0; cpu < 8; cpu++) {
				snprintf(path, sizeof(path), CPU_DIR "/cpu%u/%s", cpu,
				         generations[g].absent[i]);
				host_remove(host, path);
			}
		check_case("%s", generations[g].name);
		topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
		assert_set(&np_topology_group_of(topology, NP_LEVEL_PACKAGE, 2)->cpus, "2-3,6-7");
		assert_set(&np_topology_group_of(topology, NP_LEVEL_CORE, 2)->cpus, "2,6");
		assert_set(&np_topology_group_of(topology, NP_LEVEL_L3, 2)->cpus, "2-3,6-7");
		np_topology_free(topology);
	}
}

static void the_l3_is_found_by_its_level_not_by_its_folder(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	for (unsigned cpu = 0; cpu < 8; cpu++) {
		host_write_cpu(host, cpu, "cache/index3/level", "4\n"); /* a memory-side cache */
		host_write_cpu(host, cpu, "cache/index1/level", "3\n");
		host_write_cpu(host, cpu, "cache/index1/size", "8M\n");
		host_write_cpu(host, cpu, "cache/index1/shared_cpu_list", cpu < 4 ? "0-3" : "4-7");
	}
	topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
	assert_number(np_topology_group_count(topology, NP_LEVEL_L3), 2);
	assert_number(np_topology_group(topology, NP_LEVEL_L3, 0)->size_bytes, 8 << 20);
	np_topology_free(topology);
}

static void a_package_that_the_firmware_does_not_number_has_no_id(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	for (unsigned cpu = 0; cpu < 8; cpu++)
		host_write_cpu(host, cpu, "topology/physical_package_id", "-1\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
	assert_false(np_topology_group(topology, NP_LEVEL_PACKAGE, 0)->has_id);
	np_topology_free(topology);
}

/* ---- devices ---- */

static const struct host_shape with_nics = {
	.node_count = 2,
	.cores_per_node = 4,
	.nics = { { "eth10", "0000:81:00.0", 1, "4-7\n" },
	          { "eth2", "0000:01:00.0", 0, "0-3\n" },
	          { "ib0", "0000:41:00.0", -1, "0-7\n" } },
};

static void nics_are_sorted_by_number_without_virtual_ones(void **state)
{
	static const char *const sorted[] = { "eth2", "eth10", "ib0" };
	struct host *host = *state;
	const struct np_device *device;
	struct np_topology *topology;

	host_build(host, &with_nics);
	host_write(host, NET_DIR "/bonding_masters", "bond0\n");
	topology = host_load(host, NP_TOPOLOGY_NICS, NULL);
	assert_number(np_topology_device_count(topology), 3);
	for (size_t i = 0; i < 3; i++)
		assert_text(np_topology_device(topology, i)->name, sorted[i]);

	device = np_topology_device(topology, 1);
	assert_text(np_device_kind_name(device->kind), "net");
	assert_text(device->pci, "0000:81:00.0");
	assert_text(device->state, "up");
	assert_true(device->has_speed);
	assert_number(device->speed_bps, 100000000000ll);
	assert_text(np_evidence_name(device->locality.evidence), "numa_node");
	assert_set(&device->locality.nodes, "1");
	assert_text(np_evidence_name(np_topology_device(topology, 2)->locality.evidence),
	            "unknown");
	np_topology_free(topology);
}

static void a_host_without_network_cards_is_a_host(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_remove(host, "sys/class");
	topology = host_load(host, NP_TOPOLOGY_ALL, NULL);
	assert_number(np_topology_device_count(topology), 0);
	np_topology_free(topology);
}

static void devices_come_in_the_order_in_which_they_were_asked_for(void **state)
{
	static const char *const devices[] = { "ib0", "81:00.0", "netdev:eth2", "eth2", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &with_nics);
	topology = host_load(host, 0, devices);
	assert_number(np_topology_device_count(topology), 4);
	assert_text(np_topology_device(topology, 0)->name, "ib0");
	assert_text(np_topology_device(topology, 1)->name, "0000:81:00.0");
	assert_text(np_device_kind_name(np_topology_device(topology, 1)->kind), "pci");
	assert_set(&np_topology_device(topology, 1)->locality.nodes, "1");
	assert_text(np_topology_device(topology, 2)->name, "eth2");
	assert_text(np_topology_device(topology, 3)->name, "eth2");
	np_topology_free(topology);
}

static void a_device_that_is_not_there_is_named_with_those_that_are(void **state)
{
	static const char *const missing[] = { "eth9", NULL };
	static const char *const missing_pci[] = { "c1:00.0", NULL };
	static const char *const missing_disk[] = { "block:sda", NULL };
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &with_nics);
	assert_fails(host_load_fails(host, 0, missing, &err), -ENOENT, &err, "'eth9'");
	assert_has(err.text, "eth2");
	assert_has(err.text, "eth10");
	assert_has(err.text, "ib0");
	assert_has_not(err.text, "lo");
	assert_fails(host_load_fails(host, 0, missing_pci, &err), -ENOENT, &err, "0000:c1:00.0");
	assert_fails(host_load_fails(host, 0, missing_disk, &err), -ENOENT, &err, "block:sda");
}

/* Names with control characters must come out quoted, wherever they come from. */
static void odd_names_that_the_user_gives_are_quoted(void **state)
{
	static const char *const odd[] = { "\033[31mred\n", "netdev:\033[31mred\n",
		                           "block:\033[31mred\n" };
	struct host *host = *state;

	host_build(host, &with_nics);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		const char *const devices[] = { odd[i], NULL };
		struct np_error err = { 0 };

		check_case("%s", odd[i]);
		assert_fails(host_load_fails(host, 0, devices, &err), -ENOENT, &err,
		             "\\x1b[31mred");
	}
}

static void odd_names_that_the_tree_holds_are_quoted(void **state)
{
	static const char *const missing[] = { "eth9", NULL };
	static const char *const broken[] = { "\033[31mred\n", NULL };
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &with_nics);
	host_link(host, NET_DIR "/\033[31mred\n", "../../devices/pci0000:01/red");
	assert_fails(host_load_fails(host, 0, missing, &err), -ENOENT, &err, "\\x1b[31mred");

	host_write(host, "sys/devices/pci0000:01/red/numa_node", "bananas\n");
	assert_fails(host_load_fails(host, 0, broken, &err), -EINVAL, &err, "'bananas'");
	host_link(host, NET_DIR "/\033[31mred\n", "../../devices/pci0000:01/\033[32m\n");
	host_write(host, "sys/devices/pci0000:01/\033[32m\n/numa_node", "bananas\n");
	assert_fails(host_load_fails(host, 0, broken, &err), -EINVAL, &err, "'bananas'");
}

static void odd_names_of_virtual_interfaces_are_quoted(void **state)
{
	static const char *const devices[] = { "\033[31mred\n", NULL };
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &with_nics);
	host_link(host, NET_DIR "/\033[31mred\n", "../../devices/virtual/net/\033[31mred\n");
	assert_fails(host_load_fails(host, 0, devices, &err), -ENODEV, &err, "\\x1b[31mred");
}

static void a_virtual_interface_is_near_to_nothing(void **state)
{
	static const char *const lo[] = { "lo", NULL };
	struct host *host = *state;
	struct np_topology_source source = { .root = host->dir, .devices = lo, .device_count = 1 };
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	host_build(host, &with_nics);
	assert_fails(host_load_fails(host, 0, lo, &err), -ENODEV, &err, "'lo' is virtual");

	/* Unless the user says where it is to be taken to be. */
	source.has_device_node = true;
	source.device_node = 1;
	assert_np_ok(np_topology_load(&source, &topology, &err), &err);
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	assert_text(np_evidence_name(np_topology_device(topology, 0)->locality.evidence),
	            "override");
	np_topology_free(topology);
}

static void the_users_node_overrides_for_the_first_device_alone(void **state)
{
	static const char *const devices[] = { "eth10", "eth10" };
	struct host *host = *state;
	struct np_topology_source source = { .root = host->dir,
		                             .devices = devices,
		                             .device_count = 2,
		                             .has_device_node = true,
		                             .device_node = 0 };
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	host_build(host, &with_nics);
	assert_np_ok(np_topology_load(&source, &topology, &err), &err);
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "0");
	assert_set(&np_topology_device(topology, 0)->locality.other_nodes, "1");
	assert_set(&np_topology_device(topology, 1)->locality.nodes, "1");
	np_topology_free(topology);

	topology = NULL;
	source.device_node = 2;
	assert_fails(np_topology_load(&source, &topology, &err), -ERANGE, &err, "node 2");
	assert_null(topology);
}

static void a_virtio_interface_is_where_its_pci_parent_is(void **state)
{
	static const char *const devices[] = { "eth0", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, "sys/devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0/numa_node", "1\n");
	host_write(host, "sys/devices/pci0000:c0/0000:c0:00.0/numa_node", "0\n");
	host_write(host, "sys/devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0/virtio0/net/eth0/speed",
	           "-1\n");
	host_link(host, NET_DIR "/eth0",
	          "../../devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0/virtio0/net/eth0");
	topology = host_load(host, 0, devices);
	assert_text(np_topology_device(topology, 0)->pci, "0000:c1:00.0");
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	assert_false(np_topology_device(topology, 0)->has_speed);
	assert_text(np_topology_device(topology, 0)->state, NULL);
	np_topology_free(topology);
}

static void a_device_that_tells_nothing_asks_its_bridge(void **state)
{
	static const char *const devices[] = { "eth0", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, "sys/devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0/numa_node", "-1\n");
	host_write(host, "sys/devices/pci0000:c0/0000:c0:00.0/numa_node", "1\n");
	host_link(host, NET_DIR "/eth0",
	          "../../devices/pci0000:c0/0000:c0:00.0/0000:c1:00.0/net/eth0");
	topology = host_load(host, 0, devices);
	assert_text(np_topology_device(topology, 0)->pci, "0000:c1:00.0");
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	np_topology_free(topology);
}

static void old_kernels_have_a_folder_with_a_link_in_it(void **state)
{
	static const char *const devices[] = { "eth0", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, "sys/devices/pci0000:00/0000:00:05.0/numa_node", "1\n");
	host_link(host, NET_DIR "/eth0/device", "../../../devices/pci0000:00/0000:00:05.0");
	topology = host_load(host, NP_TOPOLOGY_NICS, NULL);
	assert_number(np_topology_device_count(topology), 1);
	assert_text(np_topology_device(topology, 0)->pci, "0000:00:05.0");
	np_topology_free(topology);
	topology = host_load(host, 0, devices);
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	np_topology_free(topology);
}

static void a_disk_is_where_its_controller_is(void **state)
{
	static const char *const devices[] = { "block:nvme0n1", "block:nvme0n1p1", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, "sys/devices/pci0000:80/0000:80:01.0/numa_node", "1\n");
	host_link(host, "sys/class/block/nvme0n1",
	          "../../devices/pci0000:80/0000:80:01.0/nvme/nvme0/nvme0n1");
	host_link(host, "sys/class/block/nvme0n1p1",
	          "../../devices/pci0000:80/0000:80:01.0/nvme/nvme0/nvme0n1/nvme0n1p1");
	topology = host_load(host, 0, devices);
	for (size_t i = 0; i < 2; i++) {
		assert_text(np_device_kind_name(np_topology_device(topology, i)->kind), "block");
		assert_set(&np_topology_device(topology, i)->locality.nodes, "1");
	}
	np_topology_free(topology);
}

static void a_long_pci_domain_is_an_address_too(void **state)
{
	static const char *const devices[] = { "10000:e1:00.0", "eth0", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, "sys/devices/pci10000:e0/10000:e1:00.0/numa_node", "1\n");
	host_link(host, "sys/bus/pci/devices/10000:e1:00.0",
	          "../../../devices/pci10000:e0/10000:e1:00.0");
	host_link(host, NET_DIR "/eth0", "../../devices/pci10000:e0/10000:e1:00.0/net/eth0");
	topology = host_load(host, 0, devices);
	assert_text(np_topology_device(topology, 0)->pci, "10000:e1:00.0");
	assert_text(np_topology_device(topology, 1)->pci, "10000:e1:00.0");
	assert_set(&np_topology_device(topology, 1)->locality.nodes, "1");
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_host_is_described_by_its_sets),
		host_test(memory_is_read_when_it_is_asked_for),
		host_test(memory_that_is_not_told_is_unknown),
		host_test(offline_cpus_are_present_but_not_online),
		host_test(isolated_cpus_are_not_usable),
		host_test(nodes_without_cpus_or_without_memory_stay_nodes),
		host_test(sizes_tell_which_nodes_have_memory_where_no_list_does),
		host_test(a_kernel_without_numa_has_one_node),
		host_test(old_kernels_are_read_from_their_folders_and_masks),
		host_test(a_root_that_is_none_is_named),
		host_test(two_hosts_can_be_open_at_once),
		host_test(this_host_can_be_read),
		host_test(columns_stand_for_the_online_nodes),
		host_test(columns_for_every_possible_node_are_told_apart),
		host_test(missing_distances_are_unknown),
		host_test(odd_distances_are_kept_and_noted),
		host_test(unreachable_nodes_are_noted),
		host_test(cpus_in_two_nodes_and_in_none_are_noted),
		host_test(packages_caches_and_cores_hold_their_cpus),
		host_test(groups_that_were_not_asked_for_are_unknown),
		host_test(every_generation_of_topology_files_is_understood),
		host_test(the_l3_is_found_by_its_level_not_by_its_folder),
		host_test(a_package_that_the_firmware_does_not_number_has_no_id),
		host_test(nics_are_sorted_by_number_without_virtual_ones),
		host_test(a_host_without_network_cards_is_a_host),
		host_test(devices_come_in_the_order_in_which_they_were_asked_for),
		host_test(a_device_that_is_not_there_is_named_with_those_that_are),
		host_test(odd_names_that_the_user_gives_are_quoted),
		host_test(odd_names_that_the_tree_holds_are_quoted),
		host_test(odd_names_of_virtual_interfaces_are_quoted),
		host_test(a_virtual_interface_is_near_to_nothing),
		host_test(the_users_node_overrides_for_the_first_device_alone),
		host_test(a_virtio_interface_is_where_its_pci_parent_is),
		host_test(a_device_that_tells_nothing_asks_its_bridge),
		host_test(old_kernels_have_a_folder_with_a_link_in_it),
		host_test(a_disk_is_where_its_controller_is),
		host_test(a_long_pci_domain_is_an_address_too),
	};

	return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
