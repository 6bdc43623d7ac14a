/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numaprobe report: CPUs, nodes, distances and network cards, on one page.
 */
#include "cmd.h"

#include "base/json.h"
#include "base/table.h"
#include <numaprobe/cpulist.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { BRIEF_SIZE = 256, COLUMNS_OF_NICS = 6, TIERS_SHOWN = 4 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct np_common *common = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = common;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(&common->err, EINVAL,
		                     "report: '%s': no argument is taken (rank DEVICE ranks one)",
		                     arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &common->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.doc = "Reports CPUs, nodes, distances and network cards, and for each card the CPUs in "
	       "tiers.",
	.children = (const struct argp_child[]){ { &np_common_argp, 0, NULL, 0 }, { 0 } },
};

/* The ranking for each device; one whose node is unknown has no tiers. */
static int rank_devices(const struct np_topology *topology, struct np_rank **ret,
                        struct np_error *err)
{
	size_t count = np_topology_device_count(topology);
	struct np_rank *ranks = calloc(count + 1, sizeof(*ranks));
	int rc = ranks ? 0 : np_error_sys(err, ENOMEM, "ranking");

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = np_rank_cpus(topology, &np_topology_device(topology, i)->locality, &ranks[i],
		                  err);
		if (rc == -ENODATA)
			rc = 0;
	}
	*ret = ranks;
	return rc;
}

static void free_ranks(const struct np_topology *topology, struct np_rank *ranks)
{
	for (size_t i = 0; ranks && i < np_topology_device_count(topology); i++)
		np_rank_release(&ranks[i]);
	free(ranks);
}

/* ---- JSON ---- */

static json_t *groups_json(const struct np_topology *topology, enum np_level level)
{
	json_t *array = json_array();

	for (size_t i = 0; i < np_topology_group_count(topology, level); i++) {
		const struct np_group *group = np_topology_group(topology, level, i);
		json_t *object = json_object();

		if (level != NP_LEVEL_L3)
			np_json_set_member(&object, level == NP_LEVEL_CORE ? "core" : "package",
			                   np_json_number(group->has_id, group->id));
		np_json_set_member(&object, "cpus", np_json_set(&group->cpus));
		if (level == NP_LEVEL_L3)
			json_object_set_new(
				object, "size_bytes",
				np_json_number(group->size_bytes > 0, group->size_bytes));
		np_json_append(&array, object);
	}
	return array;
}

/* One entry for each node of @nodes, in their order; null where the host tells none. */
static json_t *distances_json(const struct np_topology *topology, unsigned from)
{
	json_t *array = json_array();

	np_bitmap_for_each (to, np_topology_nodes(topology, NP_NODES_ONLINE)) {
		unsigned distance = 0;
		int rc = np_topology_node_distance(topology, from, to, &distance);

		np_json_append(&array, np_json_number(rc == 0, distance));
	}
	return array;
}

static json_t *nodes_json(const struct np_topology *topology)
{
	json_t *array = json_array();

	np_bitmap_for_each (index, np_topology_nodes(topology, NP_NODES_ONLINE)) {
		const struct np_node *node = np_topology_node(topology, index);

		np_json_append(
			&array,
			json_pack("{s:i, s:o, s:o, s:o, s:o}", "node", (int)index, "cpus",
		                  np_json_set(&node->cpus), "memory_bytes",
		                  np_json_number(node->has_memory_size, node->memory_bytes),
		                  "memory_free_bytes",
		                  np_json_number(node->has_memory_free, node->memory_free_bytes),
		                  "distances", distances_json(topology, index)));
	}
	return array;
}

static json_t *devices_json(const struct np_topology *topology, const struct np_rank *ranks)
{
	json_t *array = json_array();

	for (size_t i = 0; i < np_topology_device_count(topology); i++) {
		const struct np_device *device = np_topology_device(topology, i);
		json_t *object = np_device_json(device);

		np_json_set_member(&object, "state", np_json_text(device->state));
		np_json_set_member(&object, "speed_bits_per_s",
		                   np_json_number(device->has_speed, device->speed_bps));
		np_json_set_member(&object, "tiers", np_tiers_json(&ranks[i], 0));
		np_json_append(&array, object);
	}
	return array;
}

static json_t *notes_json(const struct np_topology *topology)
{
	json_t *array = json_array();

	for (size_t i = 0; i < np_topology_note_count(topology); i++)
		np_json_append(&array, json_string(np_topology_note(topology, i)));
	return array;
}

static json_t *report_json(const struct np_topology *topology, const struct np_rank *ranks,
                           const struct np_bitmap excluded[NP_EXCLUSION_COUNT])
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema",
	                 "numakit/report/1", "origin", np_json_text(np_topology_origin(topology)),
	                 "cpus", np_json_set(np_topology_cpus(topology, NP_CPUS_ONLINE)),
	                 "packages", groups_json(topology, NP_LEVEL_PACKAGE), "l3_caches",
	                 groups_json(topology, NP_LEVEL_L3), "cores",
	                 groups_json(topology, NP_LEVEL_CORE), "nodes", nodes_json(topology),
	                 "devices", devices_json(topology, ranks), "excluded",
	                 np_excluded_json(excluded), "notes", notes_json(topology));
}

/* ---- text ---- */

static void print_size(char *buf, size_t size, bool known, uint64_t bytes)
{
	if (!known)
		snprintf(buf, size, "-");
	else if (bytes == 0)
		snprintf(buf, size, "none");
	else if (bytes >= UINT64_C(10) << 30)
		snprintf(buf, size, "%.1f GiB", (double)bytes / (1 << 30));
	else
		snprintf(buf, size, "%" PRIu64 " MiB", bytes >> 20);
}

/* "2 packages", "1 L3 cache of 16 MiB": the count of groups and, when all are alike, their size. */
static void print_groups(const struct np_topology *topology, enum np_level level, const char *noun)
{
	size_t count = np_topology_group_count(topology, level);
	uint64_t bytes = count ? np_topology_group(topology, level, 0)->size_bytes : 0;

	if (count == 0) {
		printf(", %ss unknown", noun);
		return;
	}
	printf(", %zu %s%s", count, noun, count > 1 ? "s" : "");
	for (size_t i = 1; i < count; i++)
		if (np_topology_group(topology, level, i)->size_bytes != bytes)
			return;
	if (bytes > 0)
		printf(" of %" PRIu64 " MiB", bytes >> 20);
}

static void print_head(const struct np_topology *topology)
{
	const struct np_bitmap *cpus = np_topology_cpus(topology, NP_CPUS_ONLINE);
	const struct np_bitmap *nodes = np_topology_nodes(topology, NP_NODES_ONLINE);
	char list[BRIEF_SIZE];

	printf("host:  %s\n", np_topology_origin(topology));
	printf("cpus:  %u online (%s)", np_bitmap_count(cpus),
	       np_cpulist_brief(cpus, list, sizeof(list)));
	print_groups(topology, NP_LEVEL_CORE, "core");
	print_groups(topology, NP_LEVEL_PACKAGE, "package");
	print_groups(topology, NP_LEVEL_L3, "L3 cache");
	printf("\nnodes: %u (%s), ", np_bitmap_count(nodes),
	       np_cpulist_brief(nodes, list, sizeof(list)));
	printf("%u with CPUs, %u with memory\n",
	       np_bitmap_count(np_topology_nodes(topology, NP_NODES_WITH_CPUS)),
	       np_bitmap_count(np_topology_nodes(topology, NP_NODES_WITH_MEMORY)));
}

/* The ids of the packages that the CPUs are in. */
static void print_packages(const struct np_topology *topology, const struct np_bitmap *cpus,
                           char *buf, size_t size)
{
	struct np_bitmap packages = { 0 };

	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *package =
			np_topology_group_of(topology, NP_LEVEL_PACKAGE, cpu);

		if (package && package->has_id && package->id <= NP_BITMAP_INDEX_MAX &&
		    np_bitmap_add(&packages, package->id) < 0)
			break;
	}
	snprintf(buf, size, "-");
	if (!np_bitmap_is_empty(&packages))
		np_cpulist_brief(&packages, buf, size);
	np_bitmap_release(&packages);
}

static int print_nodes(const struct np_topology *topology)
{
	static const struct np_column columns[] = {
		{ "NODE", true }, { "PACKAGE", true }, { "MEMORY", true },
		{ "FREE", true }, { "CPUS", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	np_bitmap_for_each (index, np_topology_nodes(topology, NP_NODES_ONLINE)) {
		const struct np_node *node = np_topology_node(topology, index);
		char text[BRIEF_SIZE];

		np_table_add_row(table);
		np_table_set(table, 0, "%u", index);
		print_packages(topology, &node->cpus, text, sizeof(text));
		np_table_set(table, 1, "%s", text);
		print_size(text, sizeof(text), node->has_memory_size, node->memory_bytes);
		np_table_set(table, 2, "%s", text);
		print_size(text, sizeof(text), node->has_memory_free, node->memory_free_bytes);
		np_table_set(table, 3, "%s", text);
		np_table_set_list(table, 4, &node->cpus, "none");
	}
	rc = np_table_print(table, stdout);
	np_table_free(table);
	return rc;
}

/* The matrix in numactl's form, which people know; the row is the CPU's node. */
static void print_distances(const struct np_topology *topology)
{
	const struct np_bitmap *nodes = np_topology_nodes(topology, NP_NODES_ONLINE);

	if (np_bitmap_count(nodes) < 2)
		return;
	fputs("\ndistances (10 = local; row: CPU, column: memory)\nnode", stdout);
	np_bitmap_for_each (to, nodes)
		printf(" %3u", to);
	putchar('\n');
	np_bitmap_for_each (from, nodes) {
		printf("%3u:", from);
		np_bitmap_for_each (to, nodes) {
			unsigned distance;

			if (np_topology_node_distance(topology, from, to, &distance) == 0)
				printf(" %3u", distance);
			else
				fputs("   -", stdout);
		}
		putchar('\n');
	}
}

static void set_tiers(struct np_table *table, const struct np_rank *rank)
{
	char tiers[BRIEF_SIZE] = "";
	char cpus[BRIEF_SIZE];
	size_t used = 0;

	for (size_t i = 0; i < rank->tier_count && i < TIERS_SHOWN && used < sizeof(tiers); i++)
		used += (size_t)snprintf(tiers + used, sizeof(tiers) - used, "%s%s",
		                         i > 0 ? " / " : "",
		                         np_cpulist_brief(&rank->tiers[i].cpus, cpus, 64));
	if (rank->tier_count > TIERS_SHOWN && used < sizeof(tiers))
		snprintf(tiers + used, sizeof(tiers) - used, " / ...");
	if (rank->tier_count > 0)
		np_table_set(table, COLUMNS_OF_NICS - 1, "%s", tiers);
}

static int print_nics(const struct np_topology *topology, const struct np_rank *ranks)
{
	static const struct np_column columns[COLUMNS_OF_NICS] = {
		{ "NIC", false }, { "PCI", false },      { "LINK", false },
		{ "NODE", true }, { "EVIDENCE", false }, { "CPUS BY TIER, NEAREST FIRST", false },
	};
	struct np_table *table;
	char text[BRIEF_SIZE];
	int rc;

	if (np_topology_device_count(topology) == 0) {
		puts("\nno network card was found");
		return 0;
	}
	putchar('\n');
	table = np_table_create(columns, COLUMNS_OF_NICS);
	for (size_t i = 0; i < np_topology_device_count(topology); i++) {
		const struct np_device *device = np_topology_device(topology, i);
		const struct np_locality *locality = &device->locality;

		np_table_add_row(table);
		np_table_set(table, 0, "%s", device->name);
		if (device->pci)
			np_table_set(table, 1, "%s", device->pci);
		if (device->has_speed)
			np_table_set(table, 2, "%s %g Gb/s", device->state ? device->state : "",
			             (double)device->speed_bps / 1e9);
		else if (device->state)
			np_table_set(table, 2, "%s", device->state);
		if (!np_bitmap_is_empty(&locality->nodes))
			np_table_set(table, 3, "%s",
			             np_cpulist_brief(&locality->nodes, text, sizeof(text)));
		np_table_set(table, 4, "%s%s", np_evidence_name(locality->evidence),
		             locality->other_evidence != NP_EVIDENCE_UNKNOWN ? " (disputed)" : "");
		set_tiers(table, &ranks[i]);
	}
	rc = np_table_print(table, stdout);
	np_table_free(table);
	return rc;
}

/* The devices of which a row of the table does not tell all. */
static void print_remarks(const struct np_topology *topology)
{
	for (size_t i = 0; i < np_topology_device_count(topology); i++) {
		const struct np_device *device = np_topology_device(topology, i);

		if (device->locality.other_evidence != NP_EVIDENCE_UNKNOWN ||
		    device->locality.spans_nodes) {
			fputs("note: ", stdout);
			np_device_print(device, stdout);
		}
	}
}

static int print_text(const struct np_topology *topology, const struct np_rank *ranks,
                      const struct np_bitmap excluded[NP_EXCLUSION_COUNT])
{
	int rc;

	print_head(topology);
	putchar('\n');
	rc = print_nodes(topology);
	if (rc < 0)
		return rc;
	print_distances(topology);
	rc = print_nics(topology, ranks);
	np_excluded_print(excluded, stdout);
	print_remarks(topology);
	for (size_t i = 0; i < np_topology_note_count(topology); i++)
		printf("note: %s\n", np_topology_note(topology, i));
	return rc;
}

int np_cmd_report(struct np_common *common, int argc, char **argv)
{
	struct np_topology_source source = { .scope = NP_TOPOLOGY_ALL };
	struct np_bitmap excluded[NP_EXCLUSION_COUNT] = { 0 };
	struct np_topology *topology;
	struct np_rank *ranks = NULL;
	int status;

	if (np_cli_parse(&argp, argc, argv, 0, common, &common->err) < 0 ||
	    np_common_check(common) < 0)
		return np_cmd_fail(&common->err, NP_EXIT_USAGE);

	source.root = common->root;
	source.hwloc_xml = common->xml;
	if (np_topology_load(&source, &topology, &common->err) < 0)
		return np_cmd_fail(&common->err, NP_EXIT_NO);
	if (rank_devices(topology, &ranks, &common->err) < 0)
		status = np_cmd_fail(&common->err, NP_EXIT_NO);
	else if (np_rank_excluded(topology, excluded) < 0)
		status = np_cmd_written(-ENOMEM);
	else if (common->json)
		status = np_cmd_written(
			np_json_write(report_json(topology, ranks, excluded), stdout));
	else
		status = np_cmd_written(print_text(topology, ranks, excluded));

	for (size_t i = 0; i < NP_EXCLUSION_COUNT; i++)
		np_bitmap_release(&excluded[i]);
	free_ranks(topology, ranks);
	np_topology_free(topology);
	return status;
}
