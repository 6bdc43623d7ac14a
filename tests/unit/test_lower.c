/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interfaces that stand on others, and virtual functions: where they are is where their cards are.
 */
#include "host.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define VIRTUAL_NET "sys/devices/virtual/net"

/* Three nodes, each with a card, and a second one on the first node. */
static const struct host_shape shape = {
	.node_count = 3,
	.cores_per_node = 2,
	.nics = { { "eth0", "0000:01:00.0", 0, "0-1\n" },
	          { "eth1", "0000:01:00.1", 0, "0-1\n" },
	          { "eth2", "0000:41:00.0", 2, "4-5\n" },
	          { "eth3", "0000:81:00.0", -1, "0-5\n" } },
};

/* Where the folder of an interface is, below sys/devices. */
static void folder_of(const char *name, char *buf, size_t size)
{
	snprintf(buf, size, "virtual/net/%s", name);
	for (size_t i = 0; i < HOST_NICS_MAX; i++)
		if (strcmp(shape.nics[i].name, name) == 0)
			snprintf(buf, size, "pci%.7s/%s/net/%s", shape.nics[i].pci,
			         shape.nics[i].pci, name);
}

static void put_under(const struct host *host, const char *upper, const char *lower)
{
	char path[PATH_MAX];
	char folder[128];
	char target[160];

	folder_of(lower, folder, sizeof(folder));
	snprintf(path, sizeof(path), VIRTUAL_NET "/%s/lower_%s", upper, lower);
	snprintf(target, sizeof(target), "../../../%s", folder);
	host_link(host, path, target);
}

/* A virtual interface on those of @lowers, "eth0 eth1"; "" for none. */
static void stack(const struct host *host, const char *name, const char *lowers)
{
	char path[PATH_MAX];
	char target[128];
	char lower[32];
	int used;

	snprintf(path, sizeof(path), VIRTUAL_NET "/%s/operstate", name);
	host_write(host, path, "up\n");
	snprintf(path, sizeof(path), NET_DIR "/%s", name);
	snprintf(target, sizeof(target), "../../devices/virtual/net/%s", name);
	host_link(host, path, target);
	for (; sscanf(lowers, "%31s%n", lower, &used) == 1; lowers += used)
		put_under(host, name, lower);
}

static void assert_place(const struct host *host, const char *name, const char *nodes,
                         const char *evidence, bool spans)
{
	const char *const devices[] = { name, NULL };
	struct np_topology *topology = host_load(host, 0, devices);
	const struct np_device *device = np_topology_device(topology, 0);

	assert_number(np_topology_device_count(topology), 1);
	assert_text(device->name, name);
	assert_set(&device->locality.nodes, nodes);
	assert_text(np_evidence_name(device->locality.evidence), evidence);
	assert_number(device->locality.spans_nodes, spans);
	assert_text(device->pci, NULL);
	np_topology_free(topology);
}

static void assert_refused(const struct host *host, const char *name, const char *part)
{
	const char *const devices[] = { name, NULL };
	struct np_error err = { 0 };

	assert_fails(host_load_fails(host, 0, devices, &err), -ENODEV, &err, part);
	assert_has(err.text, "virtual");
}

static void an_interface_is_where_its_cards_are(void **state)
{
	static const struct {
		const char *name;
		const char *lowers;
		const char *nodes;
		bool spans;
	} stacks[] = {
		{ "bond0", "eth0 eth1", "0", false },  /* two cards of one node */
		{ "bond1", "eth0 eth2", "0,2", true }, /* of two */
		{ "bond1.7", "bond1", "0,2", true },   /* a VLAN on a bond */
		{ "macvlan0", "eth2", "2", false },
		{ "br0", "tap0 eth2", "2", false },          /* a bridge over a tap and a card */
		{ "br1", "bond0 br0 bond1.7", "0,2", true }, /* several ways to one card */
	};
	struct host *host = *state;

	host_build(host, &shape);
	stack(host, "tap0", "");
	for (size_t i = 0; i < sizeof(stacks) / sizeof(stacks[0]); i++) {
		check_case("%s", stacks[i].name);
		stack(host, stacks[i].name, stacks[i].lowers);
		assert_place(host, stacks[i].name, stacks[i].nodes, "numa_node", stacks[i].spans);
	}
}

static void the_weakest_evidence_of_the_cards_counts(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	stack(host, "bond0", "eth0 eth3");
	host_write(host, "sys/devices/pci0000:81/0000:81:00.0/local_cpulist", "2-3\n");
	assert_place(host, "bond0", "0-1", "local_cpus", true);
	host_remove(host, "sys/devices/pci0000:81/0000:81:00.0/numa_node");
	assert_place(host, "bond0", "0-1", "local_cpus", true);
}

static void a_card_of_unknown_place_makes_the_whole_unknown(void **state)
{
	static const char *const bond[] = { "bond0", NULL };
	struct host *host = *state;
	const struct np_locality *locality;
	struct np_topology *topology;

	host_build(host, &shape);
	stack(host, "bond0", "eth2 eth3");
	assert_place(host, "bond0", "", "unknown", false);
	/* What is known of the other card is shown. */
	topology = host_load(host, 0, bond);
	locality = &np_topology_device(topology, 0)->locality;
	assert_text(np_evidence_name(locality->other_evidence), "numa_node");
	assert_set(&locality->other_nodes, "2");
	np_topology_free(topology);
}

static void without_hardware_under_it_an_interface_is_near_to_nothing(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	stack(host, "tap0", "");
	stack(host, "veth1", "");
	stack(host, "bond0", "");
	stack(host, "br0", "tap0 veth1");
	stack(host, "br0.5", "br0");
	assert_refused(host, "tap0", "'tap0' is virtual");
	assert_refused(host, "bond0", "bond0): no hardware");
	assert_refused(host, "br0", "under it (tap0, veth1)");
	assert_refused(host, "br0.5", "under it (br0)");
}

static void a_loop_of_links_ends(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	stack(host, "a", "b");
	stack(host, "b", "c b");
	stack(host, "c", "a");
	assert_refused(host, "a", "under it (b)");
	put_under(host, "c", "eth2");
	assert_place(host, "a", "2", "numa_node", false);
}

static void a_card_that_is_gone_counts_for_nothing(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	stack(host, "bond0", "eth0 eth2");
	host_remove(host, "sys/devices/pci0000:41");
	assert_place(host, "bond0", "0", "numa_node", false);
	host_remove(host, "sys/devices/pci0000:01");
	assert_refused(host, "bond0", "eth0, eth2");
}

static void links_that_lead_to_no_device_count_for_nothing(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	stack(host, "bond0", "eth0");
	host_write(host, VIRTUAL_NET "/bond0/lower_file", "eth2\n");
	host_mkdir(host, VIRTUAL_NET "/bond0/lower_folder");
	host_link(host, VIRTUAL_NET "/bond0/lower_out", "/etc");
	host_link(host, VIRTUAL_NET "/bond0/lower_up", "../../../../../../../..");
	host_link(host, VIRTUAL_NET "/bond0/upper_eth2",
	          "../../../pci0000:41/0000:41:00.0/net/eth2");
	assert_place(host, "bond0", "0", "numa_node", false);
}

static void more_interfaces_than_there_can_be_are_refused(void **state)
{
	static const char *const bridge[] = { "br0", NULL };
	struct host *host = *state;
	struct np_error err = { 0 };
	struct np_topology *topology;

	host_build(host, &shape);
	stack(host, "br0", "eth2");
	for (unsigned i = 0; i < 4096; i++) {
		char path[PATH_MAX];
		char target[64];

		snprintf(path, sizeof(path), VIRTUAL_NET "/tap%u", i);
		host_mkdir(host, path);
		snprintf(path, sizeof(path), VIRTUAL_NET "/br0/lower_tap%u", i);
		snprintf(target, sizeof(target), "../tap%u", i);
		host_link(host, path, target);
	}
	assert_fails(host_load_fails(host, 0, bridge, &err), -E2BIG, &err,
	             "device 'br0': more than 4096 interfaces");

	/* The others are reported all the same. */
	topology = host_load(host, NP_TOPOLOGY_NICS, NULL);
	assert_number(np_topology_device_count(topology), 4);
	assert_note(topology, "br0 is left out: more than 4096");
	np_topology_free(topology);

	host_remove(host, VIRTUAL_NET "/br0/lower_tap7");
	assert_place(host, "br0", "2", "numa_node", false);
}

static void a_damaged_card_below_is_named(void **state)
{
	static const char *const bond[] = { "bond0", NULL };
	struct host *host = *state;
	struct np_error err = { 0 };

	host_build(host, &shape);
	stack(host, "bond0", "eth0 eth2");
	host_write(host, "sys/devices/pci0000:41/0000:41:00.0/numa_node", "bananas\n");
	assert_fails(host_load_fails(host, 0, bond, &err), -EINVAL, &err, "0000:41:00.0/numa_node");
}

static void the_users_node_stands_above_that_of_the_cards(void **state)
{
	static const char *const bond[] = { "bond0", NULL };
	struct host *host = *state;
	struct np_topology_source source = { .root = host->dir,
		                             .devices = bond,
		                             .device_count = 1,
		                             .has_device_node = true,
		                             .device_node = 1 };
	const struct np_locality *locality;
	struct np_topology *topology;
	struct np_error err = { 0 };

	host_build(host, &shape);
	stack(host, "bond0", "eth0 eth2");
	assert_np_ok(np_topology_load(&source, &topology, &err), &err);
	locality = &np_topology_device(topology, 0)->locality;
	assert_set(&locality->nodes, "1");
	assert_set(&locality->other_nodes, "0,2");
	assert_false(locality->spans_nodes);
	np_topology_free(topology);
}

static void what_stands_on_cards_is_listed_with_them(void **state)
{
	static const char *const names[] = { "bond0", "bond0.7", "eth0", "eth1", "eth2", "eth3" };
	static const char *const missing[] = { "bond9", NULL };
	struct host *host = *state;
	struct np_topology *topology;
	struct np_error err = { 0 };

	host_build(host, &shape);
	stack(host, "tap0", "");
	stack(host, "br0", "tap0");
	stack(host, "bond0", "eth0 eth2");
	stack(host, "bond0.7", "bond0");
	host_write(host, VIRTUAL_NET "/bond0/speed", "200000\n");
	topology = host_load(host, NP_TOPOLOGY_NICS, NULL);
	assert_number(np_topology_device_count(topology), 6);
	for (size_t i = 0; i < 6; i++)
		assert_text(np_topology_device(topology, i)->name, names[i]);
	assert_text(np_topology_device(topology, 0)->state, "up");
	assert_number(np_topology_device(topology, 0)->speed_bps, 200000000000ll);
	np_topology_free(topology);

	assert_fails(host_load_fails(host, 0, missing, &err), -ENOENT, &err, "bond0, bond0.7");
	assert_has_not(err.text, "br0");
}

/* ---- virtual functions ---- */

/* eth9 on a virtual function of eth2's card; @node NULL = it has no such file. */
static void add_function(const struct host *host, const char *node)
{
	host_mkdir(host, "sys/devices/pci0000:41/0000:41:02.0/net/eth9");
	if (node)
		host_write(host, "sys/devices/pci0000:41/0000:41:02.0/numa_node", node);
	host_link(host, "sys/devices/pci0000:41/0000:41:02.0/physfn", "../0000:41:00.0");
	host_link(host, NET_DIR "/eth9", "../../devices/pci0000:41/0000:41:02.0/net/eth9");
}

static void a_virtual_function_is_where_its_physical_function_is(void **state)
{
	static const struct {
		const char *node;
		const char *nodes;
	} functions[] = { { NULL, "2" }, { "-1\n", "2" }, { "1\n", "1" } };
	static const char *const eth9[] = { "eth9", NULL };
	struct host *host = *state;

	host_build(host, &shape);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		const struct np_device *device;
		struct np_topology *topology;

		check_case("numa_node %s", functions[i].node ? functions[i].node : "absent");
		host_remove(host, "sys/devices/pci0000:41/0000:41:02.0");
		add_function(host, functions[i].node);
		topology = host_load(host, 0, eth9);
		device = np_topology_device(topology, 0);
		assert_set(&device->locality.nodes, functions[i].nodes);
		assert_text(np_evidence_name(device->locality.evidence), "numa_node");
		assert_text(device->pci, "0000:41:02.0");
		np_topology_free(topology);
	}
	stack(host, "bond0", "eth0");
	host_link(host, VIRTUAL_NET "/bond0/lower_eth9",
	          "../../../pci0000:41/0000:41:02.0/net/eth9");
	host_remove(host, "sys/devices/pci0000:41/0000:41:02.0/numa_node");
	assert_place(host, "bond0", "0,2", "numa_node", true);
}

static void a_physical_function_that_is_gone_leaves_the_bridge_to_ask(void **state)
{
	static const char *const eth9[] = { "eth9", NULL };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	add_function(host, "-1\n");
	host_remove(host, "sys/devices/pci0000:41/0000:41:00.0");
	host_write(host, "sys/devices/pci0000:41/numa_node", "1\n");
	topology = host_load(host, 0, eth9);
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	np_topology_free(topology);

	/* As does a link that leads to no device, or is none. */
	host_link(host, "sys/devices/pci0000:41/0000:41:02.0/physfn", "/etc");
	topology = host_load(host, 0, eth9);
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	np_topology_free(topology);
	host_write(host, "sys/devices/pci0000:41/0000:41:02.0/physfn", "0000:41:00.0\n");
	topology = host_load(host, 0, eth9);
	assert_set(&np_topology_device(topology, 0)->locality.nodes, "1");
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(an_interface_is_where_its_cards_are),
		host_test(the_weakest_evidence_of_the_cards_counts),
		host_test(a_card_of_unknown_place_makes_the_whole_unknown),
		host_test(without_hardware_under_it_an_interface_is_near_to_nothing),
		host_test(a_loop_of_links_ends),
		host_test(a_card_that_is_gone_counts_for_nothing),
		host_test(links_that_lead_to_no_device_count_for_nothing),
		host_test(more_interfaces_than_there_can_be_are_refused),
		host_test(a_damaged_card_below_is_named),
		host_test(the_users_node_stands_above_that_of_the_cards),
		host_test(what_stands_on_cards_is_listed_with_them),
		host_test(a_virtual_function_is_where_its_physical_function_is),
		host_test(a_physical_function_that_is_gone_leaves_the_bridge_to_ask),
	};

	return cmocka_run_group_tests_name("lower", tests, NULL, NULL);
}
