/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <numarun/plan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Two packages of two nodes of two cores of two CPUs: node 0 has CPUs 0-1,8-9, node 1 2-3,10-11,
 * node 2 4-5,12-13, node 3 6-7,14-15. eth0 is on node 2, eth1 nobody knows where.
 */
static const unsigned distances[] = {
	10, 12, 32, 32, /**/
	12, 10, 32, 32, /**/
	32, 32, 10, 12, /**/
	32, 32, 12, 10,
};

static const struct host_shape shape = {
	.node_count = 4,
	.cores_per_node = 2,
	.threads_per_core = 2,
	.distances = distances,
	.nics = { { "eth0", "0000:81:00.0", 2, NULL }, { "eth1", "0000:82:00.0", -1, NULL } },
};

static const char *const eth0[] = { "eth0", NULL };
static const char *const eth1[] = { "eth1", NULL };

/* Makes the plan for a host that the test may have changed after host_build(). */
static struct nr_plan make(const struct np_topology *topology, const struct nr_request *request)
{
	struct nr_plan plan = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_plan_make(topology, request, &plan, &err), &err);
	return plan;
}

/* The same where it must fail with @code and a text that holds @part; the plan stays untouched. */
static void refuse(const struct np_topology *topology, const struct nr_request *request, int code,
                   const char *part)
{
	struct nr_plan plan = { .wanted_count = 4711 };
	struct np_error err = { 0 };

	assert_fails(nr_plan_make(topology, request, &plan, &err), code, &err, part);
	assert_number(plan.wanted_count, 4711);
	assert_null(plan.picks);
}

static void assert_warning(const struct nr_plan *plan, size_t count, const char *part)
{
	for (size_t i = 0; i < plan->warning_count; i++)
		if (!is_printable_line(plan->warnings[i]))
			fail_msg("not one printable line: %s", plan->warnings[i]);
	assert_number(plan->warning_count, count);
	if (count > 0)
		assert_has(plan->warnings[0], part);
}

/* ---- large hosts ---- */

/* Masks of a fixed size, as cpu_set_t with its 1024 CPUs, would lose the last ones. */
static void a_host_of_more_cpus_than_a_fixed_mask_has(void **state)
{
	static const struct host_shape large = {
		.node_count = 2,
		.cores_per_node = 530,
		.nics = { { "eth0", "0000:81:00.0", 1, NULL } },
	};
	const struct host *host = *state;
	struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .count = 2 };
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &large);
	host_write(host, "proc/self/status",
	           "Cpus_allowed_list:\t0-529,1040-4095\nMems_allowed_list:\t0-1\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	plan = make(topology, &request);
	assert_set(&plan.cpus, "1040-1041");
	assert_set(&plan.nodes, "1");
	nr_plan_release(&plan);

	request = (struct nr_request){ .cpu_choice = NR_CPUS_LIST, .cpus = set_of("3,1059") };
	plan = make(topology, &request);
	assert_set(&plan.cpus, "3,1059");
	assert_set(&plan.nodes, "0-1");
	nr_plan_release(&plan);
	nr_request_release(&request);
	np_topology_free(topology);
}

/* ---- near a device ---- */

static const struct {
	const char *name;
	struct nr_request request;
	const char *cpus;
	const char *nodes;
	size_t pick_count;
	unsigned first_cores; /* of the first pick */
	unsigned spilled_from_cores;
	const char *warning[2]; /* parts of it; NULL = none */
} near_cases[] = {
	{ "the whole first tier", { .count = 0 }, "4-5,12-13", "2", 1, 2, 0, { NULL } },
	{ "one core, one CPU of it", { .count = 1 }, "4", "2", 1, 1, 0, { NULL } },
	{ "two cores", { .count = 2 }, "4-5", "2", 1, 2, 0, { NULL } },
	{ "one core, all its CPUs", { .count = 1, .smt = true }, "4,12", "2", 1, 1, 0, { NULL } },
	{ "two cores, all their CPUs",
	  { .count = 2, .smt = true },
	  "4-5,12-13",
	  "2",
	  1,
	  2,
	  0,
	  { NULL } },
	{ "strict, and enough", { .count = 2, .strict = true }, "4-5", "2", 1, 2, 0, { NULL } },
	{ "the whole second tier", { .tier = 2 }, "6-7,14-15", "3", 1, 2, 0, { NULL } },
	{ "one core of the second tier", { .tier = 2, .count = 1 }, "6", "3", 1, 1, 0, { NULL } },
	{ "the first tier by its number", { .tier = 1, .count = 1 }, "4", "2", 1, 1, 0, { NULL } },
	{ "a spill into the next tier",
	  { .count = 3 },
	  "4-6",
	  "2-3",
	  2,
	  2,
	  2,
	  { "eth0: spilled from tier 1 to tier 2", "6 at distance 12" } },
	{ "a spill with all CPUs of the cores",
	  { .count = 3, .smt = true },
	  "4-6,12-14",
	  "2-3",
	  2,
	  2,
	  2,
	  { "spilled from tier 1 to tier 2", "6,14 at distance 12" } },
	{ "a spill from the second tier",
	  { .tier = 2, .count = 3 },
	  "0,6-7",
	  "0,3",
	  2,
	  2,
	  2,
	  { "spilled from tier 2 to tier 3", "0 at distance 32" } },
	{ "the last tier", { .tier = 3, .count = 3 }, "0-2", "0-1", 1, 3, 0, { NULL } },
};

static void near_takes_cores_from_the_nearest_tiers(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	for (size_t i = 0; i < sizeof(near_cases) / sizeof(near_cases[0]); i++) {
		struct nr_request request = near_cases[i].request;
		struct nr_plan plan;

		check_case("%s", near_cases[i].name);
		request.cpu_choice = NR_CPUS_NEAR;
		plan = make(topology, &request);
		assert_number(plan.binds_cpus, true);
		assert_number(plan.may_shrink, false);
		assert_set(&plan.cpus, near_cases[i].cpus);
		assert_set(&plan.nodes, near_cases[i].nodes);
		assert_text(plan.near->name, "eth0");
		assert_number(plan.pick_count, near_cases[i].pick_count);
		assert_number(plan.picks[0].core_count, near_cases[i].first_cores);
		assert_number(plan.spilled_from_cores, near_cases[i].spilled_from_cores);
		assert_text(nr_policy_mode_name(plan.policy.mode), "local");
		for (size_t w = 0; w < 2; w++)
			assert_warning(&plan, near_cases[i].warning[0] != NULL,
			               near_cases[i].warning[w]);
		nr_plan_release(&plan);
		nr_plan_release(&plan);
	}
	np_topology_free(topology);
}

static void a_spill_over_all_tiers_warns_for_each(void **state)
{
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .count = 8 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	plan = make(topology, &request);
	assert_set(&plan.cpus, "0-7");
	assert_number(plan.pick_count, 3);
	assert_number(plan.picks[2].distance, 32);
	assert_warning(&plan, 2, "to tier 2");
	assert_has(plan.warnings[1], "to tier 3");
	assert_has(plan.warnings[1], "CPUs 0-3 at distance 32");
	nr_plan_release(&plan);
	np_topology_free(topology);
}

static const struct {
	const char *name;
	struct nr_request request;
	int code;
	const char *part;
} refused[] = {
	{ "strict, and too few",
	  { .count = 3, .strict = true },
	  -EXDEV,
	  "eth0: tier 1 has 2 of the 3 cores asked for (CPUs 4-5), and --strict" },
	{ "more cores than there are",
	  { .count = 9 },
	  -ERANGE,
	  "eth0: 9 cores asked for, 8 can be used" },
	{ "more cores than there are from a tier on",
	  { .tier = 2, .count = 7 },
	  -ERANGE,
	  "7 cores asked for, 6 can be used from that tier on" },
	{ "a tier that does not exist", { .tier = 4 }, -ERANGE, "no tier 4, the last one is 3" },
	{ "a huge tier", { .tier = UINT32_MAX }, -ERANGE, "the last one is 3" },
};

static void near_refuses_what_there_is_not(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct nr_request request = refused[i].request;

		check_case("%s", refused[i].name);
		request.cpu_choice = NR_CPUS_NEAR;
		refuse(topology, &request, refused[i].code, refused[i].part);
	}
	np_topology_free(topology);
}

static void near_a_device_of_unknown_place_is_refused_with_the_remedy(void **state)
{
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth1);
	refuse(topology, &request, -ENODATA, "eth1: its NUMA node is unknown");
	refuse(topology, &request, -ENODATA, "--near-node");
	np_topology_free(topology);
}

static void isolated_and_offline_cpus_are_passed_over(void **state)
{
	static const struct nr_request all = { .cpu_choice = NR_CPUS_NEAR };
	static const struct nr_request two = { .cpu_choice = NR_CPUS_NEAR, .count = 2 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	host_write(host, CPU_DIR "/online", "0-12,14-15\n");
	host_write(host, CPU_DIR "/isolated", "4\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	plan = make(topology, &all);
	assert_set(&plan.cpus, "5,12");
	nr_plan_release(&plan);
	/* A core of which one CPU is left is a core. */
	plan = make(topology, &two);
	assert_set(&plan.cpus, "5,12");
	assert_warning(&plan, 0, NULL);
	nr_plan_release(&plan);
	np_topology_free(topology);
}

static void cores_of_one_cache_are_taken_before_those_of_another(void **state)
{
	static const struct host_shape one_node = {
		.node_count = 1,
		.cores_per_node = 8,
		.nics = { { "eth0", "0000:81:00.0", 0, NULL } },
	};
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .count = 5 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &one_node);
	for (unsigned cpu = 0; cpu < 8; cpu++)
		host_write_cpu(host, cpu, "cache/index3/shared_cpu_list",
		               cpu % 2 ? "1,3,5,7\n" : "0,2,4,6\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	plan = make(topology, &request);
	assert_set(&plan.cpus, "0-2,4,6");
	nr_plan_release(&plan);
	np_topology_free(topology);
}

static void a_device_on_a_node_without_usable_cpus_goes_to_the_nearest(void **state)
{
	static const struct nr_request lenient = { .cpu_choice = NR_CPUS_NEAR, .count = 1 };
	static const struct nr_request strict = { .cpu_choice = NR_CPUS_NEAR, .strict = true };
	static const struct nr_request second = { .cpu_choice = NR_CPUS_NEAR, .tier = 2 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	host_write(host, CPU_DIR "/isolated", "4-5,12-13\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	plan = make(topology, &lenient);
	assert_set(&plan.cpus, "6");
	assert_warning(&plan, 1, "no CPU of its node 2 can be used; the nearest is node 3");
	nr_plan_release(&plan);
	plan = make(topology, &second);
	assert_set(&plan.cpus, "0-3,8-11");
	nr_plan_release(&plan);
	refuse(topology, &strict, -EXDEV, "no CPU of its node 2 can be used");
	np_topology_free(topology);
}

static void cpus_of_no_node_are_not_called_a_node(void **state)
{
	static const struct host_shape two = {
		.node_count = 2,
		.cores_per_node = 2,
		.nics = { { "eth0", "0000:81:00.0", 0, NULL } },
	};
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .count = 1 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &two);
	host_write_node(host, 1, "cpulist", "\n");
	host_write(host, "proc/self/status", "Cpus_allowed_list:\t2-3\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	plan = make(topology, &request);
	assert_set(&plan.cpus, "2");
	assert_set(&plan.nodes, "");
	assert_warning(&plan, 1, "no CPU of its node 0 can be used");
	assert_has_not(plan.warnings[0], "4294967295");
	nr_plan_release(&plan);
	np_topology_free(topology);
}

static void where_no_cpu_can_be_used_near_is_refused(void **state)
{
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write(host, CPU_DIR "/isolated", "0-15\n");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	refuse(topology, &request, -ERANGE, "eth0: no CPU can be used");
	np_topology_free(topology);
}

/* ---- what others have ---- */

static const struct {
	const char *name;
	struct nr_request request;
	const char *avoid;
	const char *cpus;
	unsigned first_tier;
	bool spilled;
	const char *warning; /* NULL = none */
} avoid_cases[] = {
	{ "a core is taken as a whole", { .count = 1 }, "12", "5", 1, false, NULL },
	{ "all that is left of the tier", { .count = 0 }, "4", "5,13", 1, false, NULL },
	{ "a tier without a free core is passed over",
	  { .count = 1 },
	  "4-5",
	  "6",
	  1,
	  true,
	  "eth0: spilled from tier 1 to tier 2 for 1 of the 1 cores asked for: CPU 6" },
	{ "the same without a count",
	  { .count = 0 },
	  "4-5",
	  "6-7,14-15",
	  1,
	  true,
	  "eth0: spilled from tier 1, whose cores others have, to tier 2: CPUs 6-7,14-15 at "
	  "distance 12" },
	{ "two tiers without a free core",
	  { .count = 0 },
	  "4-7",
	  "0-3,8-11",
	  1,
	  true,
	  "whose cores others have, to tier 3" },
	{ "a tier between", { .count = 2 }, "5-7", "0,4", 1, true, "to tier 3 for 1 of the 2" },
	{ "the second tier", { .count = 1, .tier = 2 }, "6", "7", 2, false, NULL },
};

static void cores_that_others_have_are_passed_over(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	for (size_t i = 0; i < sizeof(avoid_cases) / sizeof(avoid_cases[0]); i++) {
		struct nr_request request = avoid_cases[i].request;
		struct nr_plan plan;

		check_case("%s", avoid_cases[i].name);
		request.cpu_choice = NR_CPUS_NEAR;
		request.avoid = set_of(avoid_cases[i].avoid);
		plan = make(topology, &request);
		assert_set(&plan.cpus, avoid_cases[i].cpus);
		assert_number(plan.first_tier, avoid_cases[i].first_tier);
		assert_number(plan.spilled, avoid_cases[i].spilled);
		assert_warning(&plan, avoid_cases[i].warning != NULL, avoid_cases[i].warning);
		for (size_t k = 0; k < plan.pick_count; k++)
			assert_true(plan.picks[k].core_count > 0);
		nr_plan_release(&plan);
		nr_request_release(&request);
	}
	np_topology_free(topology);
}

static void what_others_left_may_be_too_little(void **state)
{
	struct host *host = *state;
	struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .strict = true };
	struct np_topology *topology;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, eth0);
	request.avoid = set_of("4-5");
	refuse(topology, &request, -EXDEV, "eth0: others have all cores of tier 1, and --strict");
	nr_request_release(&request);
	request = (struct nr_request){ .cpu_choice = NR_CPUS_NEAR, .count = 7 };
	request.avoid = set_of("0,4");
	refuse(topology, &request, -ERANGE,
	       "eth0: 7 cores asked for, 6 can be used (others have the rest)");
	nr_request_release(&request);
	request = (struct nr_request){ .cpu_choice = NR_CPUS_NEAR };
	request.avoid = set_of("0-7");
	refuse(topology, &request, -ERANGE, "eth0: no core can be used (others have the rest)");
	nr_request_release(&request);
	np_topology_free(topology);
}

static void near_goes_by_the_device_that_is_named(void **state)
{
	static const char *const both[] = { "eth1", "eth0", NULL };
	static const struct nr_request second = { .cpu_choice = NR_CPUS_NEAR, .device = 1 };
	static const struct nr_request third = { .cpu_choice = NR_CPUS_NEAR, .device = 2 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, both);
	plan = make(topology, &second);
	assert_text(plan.near->name, "eth0");
	assert_set(&plan.cpus, "4-5,12-13");
	nr_plan_release(&plan);
	refuse(topology, &third, -EINVAL, "loaded without");
	np_topology_free(topology);
}

/* A bond of eth0, on node 2, and a card of node 0. */
static void near_a_device_that_spans_nodes_is_warned_of_once(void **state)
{
	static const char *const bond[] = { "bond0", NULL };
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR };
	static const struct nr_request spilling = { .cpu_choice = NR_CPUS_NEAR, .count = 5 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	host_link(host, NET_DIR "/bond0", "../../devices/virtual/net/bond0");
	host_link(host, "sys/devices/virtual/net/bond0/lower_eth0",
	          "../../../pci0000:81/0000:81:00.0/net/eth0");
	host_write(host, "sys/devices/pci0000:01/0000:01:00.0/numa_node", "0\n");
	host_mkdir(host, "sys/devices/pci0000:01/0000:01:00.0/net/eth9");
	host_link(host, "sys/devices/virtual/net/bond0/lower_eth9",
	          "../../../pci0000:01/0000:01:00.0/net/eth9");
	topology = host_load(host, NP_TOPOLOGY_GROUPS, bond);
	plan = make(topology, &request);
	assert_set(&plan.cpus, "0-1,4-5,8-9,12-13");
	assert_warning(&plan, 1, "bond0: spans nodes 0,2");
	nr_plan_release(&plan);
	/* A reason to refuse comes first. */
	plan = make(topology, &spilling);
	assert_warning(&plan, 2, "spilled from tier 1");
	assert_has(plan.warnings[1], "spans nodes 0,2");
	nr_plan_release(&plan);
	np_topology_free(topology);
}

/* ---- other choices of CPUs ---- */

static void keeping_the_affinity_binds_nothing(void **state)
{
	static const struct nr_request request = { 0 };
	struct host *host = *state;
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	host_write(host, "proc/self/status", "Cpus_allowed_list:\t0,4\n");
	topology = host_load(host, 0, NULL);
	plan = make(topology, &request);
	assert_number(plan.binds_cpus, false);
	assert_set(&plan.cpus, "0,4");
	assert_set(&plan.nodes, "0,2");
	assert_text(nr_policy_mode_name(plan.policy.mode), "inherited");
	assert_null(plan.near);
	nr_plan_release(&plan);
	np_topology_free(topology);
}

static void a_list_of_cpus_is_taken_as_it_is(void **state)
{
	struct host *host = *state;
	struct nr_request request = { .cpu_choice = NR_CPUS_LIST, .cpus = set_of("3-4") };
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	topology = host_load(host, 0, NULL);
	plan = make(topology, &request);
	assert_number(plan.binds_cpus, true);
	assert_number(plan.may_shrink, false);
	assert_set(&plan.cpus, "3-4");
	assert_set(&plan.nodes, "1-2");
	assert_text(nr_policy_mode_name(plan.policy.mode), "inherited");
	nr_plan_release(&plan);
	np_topology_free(topology);
	nr_request_release(&request);
}

static void nodes_stand_for_their_online_cpus(void **state)
{
	struct host *host = *state;
	struct nr_request request = { .cpu_choice = NR_CPUS_NODES, .nodes = set_of("1,3") };
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	host_write(host, CPU_DIR "/online", "0-14\n");
	topology = host_load(host, 0, NULL);
	plan = make(topology, &request);
	assert_set(&plan.cpus, "2-3,6-7,10-11,14");
	assert_set(&plan.nodes, "1,3");
	assert_number(plan.may_shrink, true); /* to what the cpuset leaves, as numactl -N */
	nr_plan_release(&plan);

	request.strict = true;
	plan = make(topology, &request);
	assert_number(plan.may_shrink, false);
	nr_plan_release(&plan);
	np_topology_free(topology);
	nr_request_release(&request);
}

static void several_isolated_cpus_are_warned_of(void **state)
{
	struct host *host = *state;
	struct nr_request request = { .cpu_choice = NR_CPUS_LIST, .cpus = set_of("3-5") };
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	host_write(host, CPU_DIR "/isolated", "4-7\n");
	topology = host_load(host, 0, NULL);
	plan = make(topology, &request);
	assert_warning(&plan, 1, "isolated");
	assert_has(plan.warnings[0], "CPUs 4-5");
	nr_plan_release(&plan);
	nr_request_release(&request);

	/* On one CPU nothing need be balanced. */
	request = (struct nr_request){ .cpu_choice = NR_CPUS_LIST, .cpus = set_of("4") };
	plan = make(topology, &request);
	assert_warning(&plan, 0, NULL);
	nr_plan_release(&plan);
	np_topology_free(topology);
	nr_request_release(&request);
}

/* ---- memory ---- */

static void a_policy_that_was_asked_for_is_kept(void **state)
{
	struct host *host = *state;
	struct nr_request request = {
		.cpu_choice = NR_CPUS_NEAR,
		.policy = { .mode = NR_POLICY_BIND, .balancing = true, .nodes = set_of("2-3") },
	};
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &shape);
	topology = host_load(host, 0, eth0);
	plan = make(topology, &request);
	assert_text(nr_policy_mode_name(plan.policy.mode), "bind");
	assert_number(plan.policy.balancing, true);
	assert_set(&plan.policy.nodes, "2-3");
	nr_plan_release(&plan);
	np_topology_free(topology);
	nr_request_release(&request);
}

static const struct {
	const char *name;
	enum nr_cpu_choice choice;
	const char *cpus;
	const char *has_memory;
	const char *mems_allowed;
	const char *node;
	unsigned distance;
} far_cases[] = {
	{ "the lowest of those equally far", NR_CPUS_NEAR, "", "0-3", "0-3", "0", 32 },
	{ "not one without memory", NR_CPUS_NEAR, "", "1-3", "0-3", "1", 32 },
	{ "not one that is not allowed", NR_CPUS_NEAR, "", "0-3", "1-3", "1", 32 },
	{ "the only other one", NR_CPUS_NEAR, "", "0-3", "2-3", "3", 12 },
	{ "far from the nearest of several nodes", NR_CPUS_LIST, "0,6", "0-3", "0-3", "1", 12 },
	{ "far from the node on the other side", NR_CPUS_LIST, "0", "0-3", "0-3", "2", 32 },
};

static void far_is_the_farthest_node_with_memory(void **state)
{
	struct host *host = *state;

	host_build(host, &shape);
	for (size_t i = 0; i < sizeof(far_cases) / sizeof(far_cases[0]); i++) {
		struct nr_request request = { .cpu_choice = far_cases[i].choice,
			                      .cpus = set_of(far_cases[i].cpus),
			                      .far = true };
		char status[64];
		struct np_topology *topology;
		struct nr_plan plan;

		check_case("%s", far_cases[i].name);
		snprintf(status, sizeof(status), "Mems_allowed_list:\t%s\n",
		         far_cases[i].mems_allowed);
		host_write(host, "proc/self/status", status);
		host_write(host, NODE_DIR "/has_memory", far_cases[i].has_memory);
		topology = host_load(host, 0, eth0);
		plan = make(topology, &request);
		assert_text(nr_policy_mode_name(plan.policy.mode), "bind");
		assert_set(&plan.policy.nodes, far_cases[i].node);
		assert_number(plan.has_far_distance, true);
		assert_number(plan.far_distance, far_cases[i].distance);
		nr_plan_release(&plan);
		np_topology_free(topology);
		nr_request_release(&request);
	}
}

static void far_follows_the_row_of_the_cpus_node(void **state)
{
	static const unsigned asymmetric[] = { 10, 28, 21, 23, 10, 15, 21, 15, 10 };
	static const struct host_shape three = { .node_count = 3,
		                                 .cores_per_node = 1,
		                                 .distances = asymmetric };
	struct host *host = *state;
	struct nr_request request = { .cpu_choice = NR_CPUS_LIST,
		                      .cpus = set_of("1"),
		                      .far = true };
	struct np_topology *topology;
	struct nr_plan plan;

	host_build(host, &three);
	topology = host_load(host, 0, NULL);
	plan = make(topology, &request);
	assert_set(&plan.policy.nodes, "0");
	assert_number(plan.far_distance, 23);
	nr_plan_release(&plan);
	np_topology_free(topology);
	nr_request_release(&request);
}

static void far_is_refused_where_no_other_node_has_memory(void **state)
{
	static const struct nr_request near = { .cpu_choice = NR_CPUS_NEAR, .far = true };
	static const struct nr_request everywhere = { .far = true };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_write(host, NODE_DIR "/has_memory", "2\n");
	topology = host_load(host, 0, eth0);
	refuse(topology, &near, -EINVAL, "--far: no node but the CPUs' own (2)");
	np_topology_free(topology);

	host_write(host, NODE_DIR "/has_memory", "0-3\n");
	topology = host_load(host, 0, eth0);
	refuse(topology, &everywhere, -EINVAL, "--far: no node but the CPUs' own (0-3)");
	np_topology_free(topology);
}

static void far_is_refused_where_no_distance_is_known(void **state)
{
	static const struct nr_request request = { .cpu_choice = NR_CPUS_NEAR, .far = true };
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &shape);
	host_remove(host, NODE_DIR "/node2/distance");
	topology = host_load(host, 0, eth0);
	refuse(topology, &request, -EINVAL, "known distance");
	np_topology_free(topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_host_of_more_cpus_than_a_fixed_mask_has),
		host_test(near_takes_cores_from_the_nearest_tiers),
		host_test(a_spill_over_all_tiers_warns_for_each),
		host_test(near_refuses_what_there_is_not),
		host_test(near_a_device_of_unknown_place_is_refused_with_the_remedy),
		host_test(isolated_and_offline_cpus_are_passed_over),
		host_test(cores_of_one_cache_are_taken_before_those_of_another),
		host_test(a_device_on_a_node_without_usable_cpus_goes_to_the_nearest),
		host_test(cpus_of_no_node_are_not_called_a_node),
		host_test(where_no_cpu_can_be_used_near_is_refused),
		host_test(cores_that_others_have_are_passed_over),
		host_test(what_others_left_may_be_too_little),
		host_test(near_goes_by_the_device_that_is_named),
		host_test(near_a_device_that_spans_nodes_is_warned_of_once),
		host_test(keeping_the_affinity_binds_nothing),
		host_test(a_list_of_cpus_is_taken_as_it_is),
		host_test(nodes_stand_for_their_online_cpus),
		host_test(several_isolated_cpus_are_warned_of),
		host_test(a_policy_that_was_asked_for_is_kept),
		host_test(far_is_the_farthest_node_with_memory),
		host_test(far_follows_the_row_of_the_cpus_node),
		host_test(far_is_refused_where_no_other_node_has_memory),
		host_test(far_is_refused_where_no_distance_is_known),
	};

	return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
