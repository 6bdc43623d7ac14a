/* SPDX-License-Identifier: BSD-3-Clause */
/* Which node serves and which nodes hold arenas, on hosts of all kinds. */
#include "host.h"
#include "properties.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <store/arena.h>
#include <string.h>

enum { NAMES_MAX = 3, NODES_MAX = 6, NOTES_MAX = 3 };

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const unsigned ring[] = { 10, 20, 30, 20, 20, 10, 20, 30, 30, 20, 10, 20, 20, 30, 20, 10 };

/* Four sockets in a ring, cards on nodes 2 and 0 and one that does not tell. */
static const struct host_shape four = {
	.node_count = 4,
	.cores_per_node = 2,
	.distances = ring,
	.nics = { { "eth0", "0000:40:00.0", 2, "4-5" },
	          { "eth1", "0000:01:00.0", 0, "0-1" },
	          { "eth2", "0000:02:00.0", -1, NULL } },
};

static const struct host_shape one = { .node_count = 1, .cores_per_node = 2 };

static struct ns_config config_of(const char *numa)
{
	return (struct ns_config){
		.numa = numa,
		.memory_bytes = 16 * MIB,
		.sub_memory_bytes = 8 * MIB,
		.block_bytes = 2 * MIB,
		.head_bytes = 256 << 10,
	};
}

static int make(const struct host *host, const struct ns_config *config, const char *const *names,
                struct ns_memory_plan *ret, struct np_error *err)
{
	const char *device[] = { config->numa, NULL };
	bool is_device = config->numa && strncmp(config->numa, "eth", 3) == 0;
	struct np_topology *topology = host_load(
		host, is_device ? NP_TOPOLOGY_MEMORY : NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_NICS,
		is_device ? device : NULL);
	size_t count = 0;
	int rc;

	while (names && count < NAMES_MAX && names[count])
		count++;
	rc = ns_memory_plan_make(config, topology, names, count, ret, err);
	np_topology_free(topology);
	return rc;
}

/* "2:10:16M 1:20:8M": node, distance and size of each. */
static void assert_arenas(const struct ns_memory_plan *plan, const char *wanted)
{
	char text[512];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < plan->arena_count; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%u:%u:%lluM",
		                        i > 0 ? " " : "", plan->arenas[i].node,
		                        plan->arenas[i].distance,
		                        (unsigned long long)plan->arenas[i].bytes / MIB);
	assert_string_equal(text, wanted);
}

/* ---- the serving node ---- */

static void the_serving_node_is_the_one_asked_for_or_the_cards(void **state)
{
	static const struct {
		const char *numa;
		const char *names[NAMES_MAX]; /* of cards with the listening address */
		const char *nodes;
		const char *cpus;
		const char *reason;
	} cases[] = {
		{ "1", { NULL }, "1", "2-3", "node 1, as asked for" },
		{ "eth0", { NULL }, "2", "4-5", "node 2, that of eth0 (evidence: " },
		{ "auto", { "eth0" }, "2", "4-5", "node 2, that of eth0 (evidence: " },
		{ NULL, { "eth1", "eth1" }, "0", "0-1", "node 0, that of eth1 (evidence: " },
		{ "auto", { "eth2", "eth0" }, "2", "4-5", "node 2, that of eth0 (evidence: " },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_config config = config_of(cases[i].numa);
		struct ns_memory_plan plan;
		struct np_error err;

		check_case("case %zu", i);
		host_build(*state, &four);
		assert_np_ok(make(*state, &config, cases[i].names, &plan, &err), &err);
		assert_set(&plan.serving_nodes, cases[i].nodes);
		assert_set(&plan.serving_cpus, cases[i].cpus);
		assert_has(plan.reason, cases[i].reason);
		ns_memory_plan_release(&plan);
	}
}

static void what_is_ambiguous_is_refused_with_the_candidates(void **state)
{
	static const struct {
		const char *numa;
		const char *names[NAMES_MAX];
		int code;
		const char *parts[3];
	} cases[] = {
		{ "auto",
		  { "eth0", "eth1" },
		  -EINVAL,
		  { "nodes 0,2", "eth0 (node 2)", "eth1 (node 0)" } },
		{ "auto", { NULL }, -EINVAL, { "nodes 0-3", "eth0 (node 2)", "--numa NODE" } },
		{ "auto", { "eth2" }, -EINVAL, { "nodes 0-3", "--numa DEV", "on no card" } },
		{ "eth2",
		  { NULL },
		  -EINVAL,
		  { "eth2 does not tell its node", "nodes 0-3", "--numa" } },
		{ "4", { NULL }, -ENODEV, { "--numa 4", "no such node", "" } },
		{ "99999999", { NULL }, -ENODEV, { "--numa 99999999", "no such node", "" } },
		{ "card7", { NULL }, -ENODEV, { "--numa card7", "no such device", "" } },
	};

	host_build(*state, &four);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_config config = config_of(cases[i].numa);
		struct ns_memory_plan plan;
		struct np_error err;

		check_case("case %zu", i);
		assert_fails(make(*state, &config, cases[i].names, &plan, &err), cases[i].code,
		             &err, cases[i].parts[0]);
		assert_has(err.text, cases[i].parts[1]);
		assert_has(err.text, cases[i].parts[2]);
	}
}

static void on_one_node_there_is_nothing_to_choose(void **state)
{
	struct ns_config config = config_of("auto");
	struct ns_memory_plan plan;
	struct np_error err;

	host_build(*state, &one);
	config.perverse = true;
	assert_np_ok(make(*state, &config, NULL, &plan, &err), &err);
	assert_arenas(&plan, "0:10:16M");
	assert_string_equal(plan.reason, "node 0, the only one with CPUs that may be used");
	assert_number(plan.far_node, 0);
	assert_number(plan.note_count, 1);
	assert_string_equal(plan.notes[0], "--perverse changes nothing: no other node has memory");
	ns_memory_plan_release(&plan);
}

/* ---- arenas ---- */

static void arenas_are_in_the_order_of_distance(void **state)
{
	static const struct {
		const char *numa;
		unsigned far_node;
		bool perverse;
		uint64_t sub_bytes;
		const char *arenas;
	} cases[] = {
		{ "0", 2, false, 8 * MIB, "0:10:16M 1:20:8M 3:20:8M 2:30:8M" },
		{ "2", 0, false, 8 * MIB, "2:10:16M 1:20:8M 3:20:8M 0:30:8M" },
		{ "0", 2, true, 8 * MIB, "2:30:16M 0:10:8M 1:20:8M 3:20:8M" },
		{ "1", 3, true, 8 * MIB, "3:30:16M 1:10:8M 0:20:8M 2:20:8M" },
		{ "3", 3, false, 0, "3:10:16M" },
		{ "3", 1, true, 0, "1:30:16M" },
	};

	host_build(*state, &four);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_config config = config_of(cases[i].numa);
		struct ns_memory_plan plan;
		struct np_error err;

		check_case("case %zu", i);
		config.perverse = cases[i].perverse;
		config.sub_memory_bytes = cases[i].sub_bytes;
		assert_np_ok(make(*state, &config, NULL, &plan, &err), &err);
		assert_arenas(&plan, cases[i].arenas);
		assert_number(plan.far_node, cases[i].far_node);
		assert_number(plan.note_count, 0);
		/* Workers stay. */
		assert_set(&plan.serving_nodes, cases[i].numa);
		ns_memory_plan_release(&plan);
	}
}

static void a_node_without_cpus_holds_an_arena_and_one_without_memory_none(void **state)
{
	const char *source = getenv("NUMAKIT_SOURCE");
	struct ns_config config = config_of("0");
	struct np_topology *topology;
	struct ns_memory_plan plan;
	struct np_error err;
	char root[PATH_MAX];

	(void)state;
	if (!source || !*source) {
		print_message("skipped: NUMAKIT_SOURCE is not set\n");
		skip();
	}
	/* Node 2 has no memory, node 4 no CPU; from 1 to 3 it is 40. */
	snprintf(root, sizeof(root), "%s/tests/fixtures/hosts/vm-odd", source);
	topology = load_host("vm-odd", root, NULL, NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_NICS, NULL);
	assert_np_ok(ns_memory_plan_make(&config, topology, NULL, 0, &plan, &err), &err);
	assert_number(plan.arena_count, 4);
	for (size_t i = 0; i < plan.arena_count; i++)
		assert_true(plan.arenas[i].node != 2);
	ns_memory_plan_release(&plan);

	config.numa = "2";
	assert_fails(ns_memory_plan_make(&config, topology, NULL, 0, &plan, &err), -EINVAL, &err,
	             "node 2 has no memory that may be used");
	/* The farthest one does. */
	config.perverse = true;
	assert_np_ok(ns_memory_plan_make(&config, topology, NULL, 0, &plan, &err), &err);
	assert_set(&plan.serving_nodes, "2");
	ns_memory_plan_release(&plan);
	config.numa = "4";
	assert_fails(ns_memory_plan_make(&config, topology, NULL, 0, &plan, &err), -EINVAL, &err,
	             "node 4 has no CPU that may be used");
	np_topology_free(topology);
}

/* ---- sizes ---- */

static void sizes_are_of_whole_blocks(void **state)
{
	struct ns_config config = config_of("0");
	struct ns_memory_plan plan;
	struct np_error err;

	host_build(*state, &four);
	config.memory_bytes = 15 * MIB + 1;
	config.sub_memory_bytes = 1;
	assert_np_ok(make(*state, &config, NULL, &plan, &err), &err);
	assert_arenas(&plan, "0:10:16M 1:20:2M 3:20:2M 2:30:2M");
	assert_number(plan.note_count, 2);
	assert_string_equal(plan.notes[0], "--memory is rounded up to 16 MiB, whole blocks");
	assert_string_equal(plan.notes[1], "--sub-memory is rounded up to 2 MiB, whole blocks");
	ns_memory_plan_release(&plan);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	static const struct {
		uint64_t memory_bytes;
		uint64_t sub_bytes;
		uint64_t block_bytes;
		uint64_t head_bytes;
		int code;
		const char *part;
	} cases[] = {
		{ 8 * GIB, 0, 8 * GIB, 4096, -EINVAL, "--block 8G: it must be" },
		{ 8 * GIB, 0, 3 * MIB, 4096, -EINVAL, "power of two, 64K to 4G" },
		{ 8 * GIB, 0, 32768, 4096, -EINVAL, "--block 32K: it must be" },
		{ 8 * GIB, 0, 0, 4096, -EINVAL, "--block 0 bytes: it must be" },
		{ 8 * GIB, 0, UINT64_C(1) << 63, 4096, -EINVAL, "64K to 4G" },
		{ 16 * MIB, 0, 2 * MIB, 4 * MIB, -EINVAL,
		  "--ram-head 4M: it must be a power of two, from 4K to the 2M of a block" },
		{ 16 * MIB, 0, 2 * MIB, 2048, -EINVAL, "--ram-head 2K: " },
		{ 16 * MIB, 0, 2 * MIB, 12288, -EINVAL, "--ram-head 12K: " },
		{ MIB, 0, 2 * MIB, 4096, -EINVAL, "--memory 1M is less than a block of 2M" },
		{ UINT64_MAX, 0, 2 * MIB, 4096, -EINVAL,
		  "--memory 18446744073709551615 bytes: no node" },
		{ 16 * MIB, UINT64_MAX, 2 * MIB, 4096, -EINVAL,
		  "--sub-memory 18446744073709551615 bytes: no node" },
		{ UINT64_C(1) << 49, 0, 65536, 4096, -EINVAL, "too many blocks" },
		{ 64 * GIB, 0, 2 * MIB, 4096, -ENOMEM, "node 0 has 8192 MiB of memory in all" },
		{ 8 * GIB, 9 * GIB, 2 * MIB, 4096, -ENOMEM, "node 1 has 8192 MiB" },
		{ 8 * GIB, 9 * GIB, 2 * MIB, 4096, -ENOMEM,
		  "arena of 9216 MiB: make --sub-memory" },
	};

	host_build(*state, &four);
	for (unsigned node = 0; node < 4; node++)
		host_write_node(*state, node, "meminfo", "Node 0 MemTotal: 8388608 kB\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_config config = config_of("0");
		struct ns_memory_plan plan;
		struct np_error err;

		check_case("case %zu", i);
		config.memory_bytes = cases[i].memory_bytes;
		config.sub_memory_bytes = cases[i].sub_bytes;
		config.block_bytes = cases[i].block_bytes;
		config.head_bytes = cases[i].head_bytes;
		assert_fails(make(*state, &config, NULL, &plan, &err), cases[i].code, &err,
		             cases[i].part);
	}
}

/* ---- every host there is ---- */

static void check_plan(const struct np_topology *topology, const struct ns_config *config,
                       const struct ns_memory_plan *plan)
{
	const struct np_bitmap *nodes = np_topology_nodes(topology, NP_NODES_ALLOWED);
	struct np_bitmap seen = { 0 };

	assert_number(plan->arena_count, np_bitmap_count(nodes));
	for (size_t i = 0; i < plan->arena_count; i++) {
		const struct ns_arena_plan *arena = &plan->arenas[i];

		assert_true(np_bitmap_has(nodes, arena->node));
		assert_false(np_bitmap_has(&seen, arena->node));
		assert_number(np_bitmap_add(&seen, arena->node), 0);
		assert_number(arena->bytes,
		              i == 0 ? config->memory_bytes : config->sub_memory_bytes);
		if (i > 1)
			assert_true(arena->distance >= plan->arenas[i - 1].distance);
		if (config->perverse)
			assert_true(arena->distance <= plan->arenas[0].distance);
	}
	if (!config->perverse)
		assert_true(np_bitmap_has(&plan->serving_nodes, plan->arenas[0].node));
	assert_true(np_bitmap_has(&seen, plan->far_node));
	np_bitmap_release(&seen);
}

static unsigned check_all_nodes(const char *name, const char *root, const char *xml)
{
	struct np_topology *topology =
		load_host(name, root, xml, NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_NICS, NULL);
	const struct np_bitmap *nodes = np_topology_nodes(topology, NP_NODES_ALLOWED);
	unsigned made = 0;

	np_bitmap_for_each (node, nodes) {
		for (int perverse = 0; perverse < 2; perverse++) {
			char numa[16];
			struct ns_config config = config_of(numa);
			struct ns_memory_plan plan;
			struct np_error err;
			int rc;

			check_case("%s node %u", name, node);
			snprintf(numa, sizeof(numa), "%u", node);
			config.perverse = perverse == 1;
			config.memory_bytes = config.sub_memory_bytes = 2 * MIB;
			rc = ns_memory_plan_make(&config, topology, NULL, 0, &plan, &err);
			if (rc < 0) {
				assert_fails(rc, -EINVAL, &err, "no CPU that may be used");
				continue;
			}
			made++;
			check_plan(topology, &config, &plan);
			ns_memory_plan_release(&plan);
		}
	}
	np_topology_free(topology);
	return made;
}

static glob_t find_hosts(const char *variable, const char *pattern)
{
	const char *dir = getenv(variable);
	char text[PATH_MAX];
	glob_t found = { 0 };

	snprintf(text, sizeof(text), "%s/%s", dir ? dir : "", pattern);
	if (!dir || !*dir || glob(text, GLOB_BRACE, NULL, &found) != 0) {
		print_message("skipped: no %s in %s\n", pattern, variable);
		skip();
	}
	return found;
}

static void fixture_hosts_get_an_arena_on_each_node_with_memory(void **state)
{
	glob_t found = find_hosts("NUMAKIT_SOURCE", "tests/fixtures/hosts/*/sys");
	unsigned made = 0;

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		*strrchr(found.gl_pathv[i], '/') = '\0';
		made += check_all_nodes(strrchr(found.gl_pathv[i], '/') + 1, found.gl_pathv[i],
		                        NULL);
	}
	assert_true(made > 0);
	globfree(&found);
}

static void exported_hosts_get_an_arena_on_each_node_with_memory(void **state)
{
	glob_t found = find_hosts("NUMAKIT_TOPOLOGIES", "{,*/}*.xml");
	unsigned made = 0;

	(void)state;
	for (size_t i = 0; i < found.gl_pathc; i++)
		made += check_all_nodes(strrchr(found.gl_pathv[i], '/') + 1, NULL,
		                        found.gl_pathv[i]);
	print_message("%zu exports, %u plans\n", found.gl_pathc, made);
	globfree(&found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(the_serving_node_is_the_one_asked_for_or_the_cards),
		host_test(what_is_ambiguous_is_refused_with_the_candidates),
		host_test(on_one_node_there_is_nothing_to_choose),
		host_test(arenas_are_in_the_order_of_distance),
		cmocka_unit_test(a_node_without_cpus_holds_an_arena_and_one_without_memory_none),
		host_test(sizes_are_of_whole_blocks),
		host_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(fixture_hosts_get_an_arena_on_each_node_with_memory),
		cmocka_unit_test(exported_hosts_get_an_arena_on_each_node_with_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
