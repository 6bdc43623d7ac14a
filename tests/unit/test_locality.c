/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <stdio.h>

#include "../../probe/lib/topology_data.h"

#include <errno.h>
#include <string.h>

/* Two nodes: CPUs 0-3 and 4-7. */
static const struct host_shape two_nodes = { .node_count = 2, .cores_per_node = 4 };
static const struct host_shape one_node = { .node_count = 1, .cores_per_node = 4 };

struct choice {
	const char *name;
	int numa_node; /* -1 = none */
	const char *local_cpus;
	enum np_evidence evidence;
	const char *nodes;
	const char *cpus;
	enum np_evidence other_evidence;
	const char *other_nodes;
};

#define UNKNOWN NP_EVIDENCE_UNKNOWN
#define NUMA_NODE NP_EVIDENCE_NUMA_NODE
#define LOCAL_CPUS NP_EVIDENCE_LOCAL_CPUS
#define CACHE NP_EVIDENCE_CACHE

/* clang-format off */
static const struct choice on_two_nodes[] = {
	{ "both sources agree", 1, "4-7", NUMA_NODE, "1", "", UNKNOWN, "" },
	{ "numa_node alone", 1, "", NUMA_NODE, "1", "", UNKNOWN, "" },
	{ "local CPUs alone", -1, "4-7", LOCAL_CPUS, "1", "", UNKNOWN, "" },
	{ "nothing is told", -1, "", UNKNOWN, "", "", UNKNOWN, "" },
	{ "all CPUs are local, which says nothing", -1, "0-7", UNKNOWN, "", "", UNKNOWN, "" },
	{ "all CPUs are local, numa_node knows better", 1, "0-7", NUMA_NODE, "1", "", UNKNOWN, "" },
	{ "local to a part of the node", 1, "4-5", CACHE, "1", "4-5", UNKNOWN, "" },
	{ "local to a part of another node", 0, "4-5", CACHE, "1", "4-5", NUMA_NODE, "0" },
	{ "two caches of the node's four CPUs are the node", 1, "4-7", NUMA_NODE, "1", "", UNKNOWN, "" },
	{ "a part of the node that is no cache", 1, "5-6", NUMA_NODE, "1", "", UNKNOWN, "" },
	{ "a part of the node that is no cache, alone", -1, "5-6", LOCAL_CPUS, "1", "", UNKNOWN, "" },
	{ "half a cache", -1, "4", LOCAL_CPUS, "1", "", UNKNOWN, "" },
	{ "the sources contradict", 0, "4-7", NUMA_NODE, "0", "", LOCAL_CPUS, "1" },
	{ "local CPUs of both nodes", -1, "2-5", LOCAL_CPUS, "0-1", "", UNKNOWN, "" },
	{ "local CPUs of both nodes, one of them told", 1, "2-5", NUMA_NODE, "1", "", UNKNOWN, "" },
	{ "a node that is not online", 7, "", UNKNOWN, "", "", NUMA_NODE, "7" },
	{ "a node that is not online, local CPUs help", 7, "4-7", LOCAL_CPUS, "1", "", NUMA_NODE, "7" },
	{ "local CPUs that are not online", -1, "100-200", UNKNOWN, "", "", UNKNOWN, "" },
	{ "local CPUs, some of them not online", -1, "4-200", LOCAL_CPUS, "1", "", UNKNOWN, "" },
};

static const struct choice on_one_node[] = {
	{ "nothing is told, and nothing need be", -1, "", NP_EVIDENCE_SINGLE_NODE, "0", "", UNKNOWN, "" },
	{ "numa_node says it", 0, "0-3", NUMA_NODE, "0", "", UNKNOWN, "" },
	{ "numa_node is wrong", 3, "", NP_EVIDENCE_SINGLE_NODE, "0", "", NUMA_NODE, "3" },
	{ "local to a part of the node", -1, "2-3", CACHE, "0", "2-3", UNKNOWN, "" },
};
/* clang-format on */

static void check_choice(const struct np_topology *topology, const struct choice *choice)
{
	struct np_locality_sources sources = {
		.has_node = choice->numa_node >= 0,
		.numa_node = choice->numa_node >= 0 ? (unsigned)choice->numa_node : 0,
		.local_cpus = set_of(choice->local_cpus),
	};
	struct np_locality locality = { 0 };
	struct np_error err = { 0 };

	check_case("%s", choice->name);
	assert_np_ok(np_locality_choose(topology, &sources, &locality, &err), &err);
	assert_text(np_evidence_name(locality.evidence), np_evidence_name(choice->evidence));
	assert_set(&locality.nodes, choice->nodes);
	assert_set(&locality.cpus, choice->cpus);
	assert_text(np_evidence_name(locality.other_evidence),
	            np_evidence_name(choice->other_evidence));
	assert_set(&locality.other_nodes, choice->other_nodes);
	np_locality_release(&locality);
	np_bitmap_release(&sources.local_cpus);
}

/* L3 caches of two CPUs each, smaller than the nodes; loads the host with them. */
static struct np_topology *load_with_caches(struct host *host, unsigned cpu_count)
{
	for (unsigned cpu = 0; cpu < cpu_count; cpu++) {
		char list[32];

		snprintf(list, sizeof(list), "%u-%u\n", cpu & ~1u, cpu | 1u);
		host_write_cpu(host, cpu, "cache/index3/shared_cpu_list", list);
	}
	return host_load(host, NP_TOPOLOGY_GROUPS, NULL);
}

static void the_best_source_is_chosen_and_a_contradiction_kept(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	topology = load_with_caches(host, 8);
	for (size_t i = 0; i < sizeof(on_two_nodes) / sizeof(on_two_nodes[0]); i++)
		check_choice(topology, &on_two_nodes[i]);
	np_topology_free(topology);
}

static void a_single_node_is_certain(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &one_node);
	topology = load_with_caches(host, 4);
	for (size_t i = 0; i < sizeof(on_one_node) / sizeof(on_one_node[0]); i++)
		check_choice(topology, &on_one_node[i]);
	np_topology_free(topology);
}

static void offline_cpus_do_not_make_a_node_look_divided(void **state)
{
	static const struct choice whole = {
		"the online half of the node", -1, "4-7", LOCAL_CPUS, "1", "", UNKNOWN, ""
	};
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	host_write(host, CPU_DIR "/online", "0-5\n");
	topology = host_load(host, 0, NULL);
	check_choice(topology, &whole);
	np_topology_free(topology);
}

/* ---- several cards ---- */

struct part {
	const char *nodes; /* NULL ends the list */
	const char *cpus;
	enum np_evidence evidence;
	enum np_evidence other_evidence;
	const char *other_nodes;
};

/* clang-format off */
static const struct {
	const char *name;
	struct part parts[4];
	struct part whole;
	bool spans;
} joins[] = {
	{ "one card", { { "1", "4-5", CACHE, NUMA_NODE, "0" } },
	  { "1", "4-5", CACHE, NUMA_NODE, "0" }, false },
	{ "two cards of one node", { { "1", "", NUMA_NODE, UNKNOWN, "" }, { "1", "", NUMA_NODE, UNKNOWN, "" } },
	  { "1", "", NUMA_NODE, UNKNOWN, "" }, false },
	{ "two cards of two nodes", { { "2", "", NUMA_NODE, UNKNOWN, "" }, { "0", "", NUMA_NODE, UNKNOWN, "" } },
	  { "0,2", "", NUMA_NODE, UNKNOWN, "" }, true },
	{ "two cards between the same nodes", { { "0-1", "", LOCAL_CPUS, UNKNOWN, "" }, { "0-1", "", LOCAL_CPUS, UNKNOWN, "" } },
	  { "0-1", "", LOCAL_CPUS, UNKNOWN, "" }, false },
	{ "a card within the nodes of another", { { "0-1", "", LOCAL_CPUS, UNKNOWN, "" }, { "0", "", NUMA_NODE, UNKNOWN, "" } },
	  { "0-1", "", LOCAL_CPUS, UNKNOWN, "" }, true },
	{ "two caches of two nodes", { { "0", "0-1", CACHE, UNKNOWN, "" }, { "1", "6-7", CACHE, UNKNOWN, "" } },
	  { "0-1", "0-1,6-7", CACHE, UNKNOWN, "" }, true },
	{ "a cache and a node", { { "0", "0-1", CACHE, UNKNOWN, "" }, { "0", "", NUMA_NODE, UNKNOWN, "" } },
	  { "0", "", NUMA_NODE, UNKNOWN, "" }, false },
	{ "an unknown card first", { { "", "", UNKNOWN, UNKNOWN, "" }, { "1", "4-5", CACHE, UNKNOWN, "" } },
	  { "", "", UNKNOWN, CACHE, "1" }, false },
	{ "an unknown card last", { { "0", "", NUMA_NODE, UNKNOWN, "" }, { "1", "", LOCAL_CPUS, UNKNOWN, "" }, { "", "", UNKNOWN, NUMA_NODE, "7" } },
	  { "", "", UNKNOWN, LOCAL_CPUS, "0-1,7" }, false },
	{ "unknown cards alone", { { "", "", UNKNOWN, UNKNOWN, "" }, { "", "", UNKNOWN, UNKNOWN, "" } },
	  { "", "", UNKNOWN, UNKNOWN, "" }, false },
	{ "two that are disputed", { { "0", "", NUMA_NODE, LOCAL_CPUS, "1" }, { "0", "0", CACHE, NUMA_NODE, "2" } },
	  { "0", "", NUMA_NODE, LOCAL_CPUS, "1-2" }, false },
	{ "no card", { { .nodes = NULL } }, { "", "", UNKNOWN, UNKNOWN, "" }, false },
};
/* clang-format on */

static struct np_locality locality_of(const struct part *part)
{
	return (struct np_locality){
		.evidence = part->evidence,
		.nodes = set_of(part->nodes),
		.cpus = set_of(part->cpus),
		.other_evidence = part->other_evidence,
		.other_nodes = set_of(part->other_nodes),
	};
}

static void several_cards_are_where_all_of_them_are(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(joins) / sizeof(joins[0]); i++) {
		const struct part *whole = &joins[i].whole;
		struct np_locality parts[4];
		struct np_locality joined = { 0 };
		struct np_error err = { 0 };
		size_t count = 0;

		check_case("%s", joins[i].name);
		for (; joins[i].parts[count].nodes; count++)
			parts[count] = locality_of(&joins[i].parts[count]);
		assert_np_ok(np_locality_join(parts, count, &joined, &err), &err);
		assert_set(&joined.nodes, whole->nodes);
		assert_set(&joined.cpus, whole->cpus);
		assert_text(np_evidence_name(joined.evidence), np_evidence_name(whole->evidence));
		assert_text(np_evidence_name(joined.other_evidence),
		            np_evidence_name(whole->other_evidence));
		assert_set(&joined.other_nodes, whole->other_nodes);
		assert_number(joined.spans_nodes, joins[i].spans);
		np_locality_release(&joined);
		while (count > 0)
			np_locality_release(&parts[--count]);
	}
}

/* ---- the user's word ---- */

/* Overrides what was chosen from @numa_node and @local_cpus by node 0. */
static void override(const struct np_topology *topology, const char *name, int numa_node,
                     const char *local_cpus, enum np_evidence other, const char *other_nodes)
{
	struct np_locality_sources sources = {
		.has_node = numa_node >= 0,
		.numa_node = numa_node >= 0 ? (unsigned)numa_node : 0,
		.local_cpus = set_of(local_cpus),
	};
	struct np_locality locality = { 0 };
	struct np_error err = { 0 };

	check_case("%s", name);
	assert_np_ok(np_locality_choose(topology, &sources, &locality, &err), &err);
	assert_np_ok(np_locality_override(topology, 0, &locality, &err), &err);
	assert_text(np_evidence_name(locality.evidence), "override");
	assert_set(&locality.nodes, "0");
	assert_set(&locality.cpus, "");
	assert_text(np_evidence_name(locality.other_evidence), np_evidence_name(other));
	assert_set(&locality.other_nodes, other_nodes);
	np_locality_release(&locality);
	np_bitmap_release(&sources.local_cpus);
}

static void the_users_word_overrides_and_keeps_what_it_contradicts(void **state)
{
	struct host *host = *state;
	struct np_topology *topology;

	host_build(host, &two_nodes);
	topology = load_with_caches(host, 8);
	override(topology, "agrees", 0, "", UNKNOWN, "");
	override(topology, "contradicts numa_node", 1, "", NUMA_NODE, "1");
	override(topology, "contradicts a cache", 1, "4-5", CACHE, "1");
	override(topology, "nothing was known", -1, "", UNKNOWN, "");
	np_topology_free(topology);
}

static void a_node_that_does_not_exist_overrides_nothing(void **state)
{
	struct host *host = *state;
	struct np_locality locality = { .evidence = UNKNOWN };
	struct np_error err = { 0 };
	struct np_topology *topology;

	host_build(host, &two_nodes);
	topology = host_load(host, 0, NULL);
	assert_fails(np_locality_override(topology, 2, &locality, &err), -ERANGE, &err, "node 2");
	assert_number(locality.evidence, UNKNOWN);
	np_topology_free(topology);
}

static void every_word_of_the_contract_has_a_name(void **state)
{
	(void)state;
	assert_text(np_evidence_name(NP_EVIDENCE_OVERRIDE), "override");
	assert_text(np_evidence_name(NP_EVIDENCE_CACHE), "cache");
	assert_text(np_evidence_name(NP_EVIDENCE_NUMA_NODE), "numa_node");
	assert_text(np_evidence_name(NP_EVIDENCE_SINGLE_NODE), "single_node");
	assert_text(np_evidence_name(NP_EVIDENCE_LOCAL_CPUS), "local_cpus");
	assert_text(np_evidence_name(NP_EVIDENCE_UNKNOWN), "unknown");
	assert_text(np_device_kind_name(NP_DEVICE_NET), "net");
	assert_text(np_device_kind_name(NP_DEVICE_BLOCK), "block");
	assert_text(np_device_kind_name(NP_DEVICE_PCI), "pci");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(the_best_source_is_chosen_and_a_contradiction_kept),
		host_test(a_single_node_is_certain),
		host_test(offline_cpus_do_not_make_a_node_look_divided),
		host_test(several_cards_are_where_all_of_them_are),
		host_test(the_users_word_overrides_and_keeps_what_it_contradicts),
		host_test(a_node_that_does_not_exist_overrides_nothing),
		host_test(every_word_of_the_contract_has_a_name),
	};

	return cmocka_run_group_tests_name("locality", tests, NULL, NULL);
}
