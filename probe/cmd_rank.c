/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numaprobe rank DEVICE: the CPUs in tiers, nearest to the device first.
 */
#include "cmd.h"

#include "base/json.h"
#include "base/table.h"
#include <numaprobe/cpulist.h>

#include <errno.h>
#include <stdlib.h>

enum { OPT_TIER = 0x200, OPT_CPUS, OPT_NODE };

struct rank_args {
	struct np_common *common;
	const char *device;
	unsigned tier; /* 0 = all */
	bool cpus_only;
	bool has_node;
	unsigned node;
};

static const struct argp_option options[] = {
	{ "tier", OPT_TIER, "N", 0, "only tier N; 1 is the best", 0 },
	{ "cpus", OPT_CPUS, NULL, 0, "print the CPU list alone, a line for each tier", 0 },
	{ "node", OPT_NODE, "NODE", 0, "take the device to be on NODE, whatever the host says", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct rank_args *args = state->input;
	struct np_error *err = &args->common->err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->common;
		return 0;
	case OPT_TIER:
		return -np_cli_number("--tier", arg, 1, NP_BITMAP_INDEX_MAX, &args->tier, err);
	case OPT_NODE:
		args->has_node = true;
		return -np_cli_number("--node", arg, 0, NP_BITMAP_INDEX_MAX, &args->node, err);
	case OPT_CPUS:
		args->cpus_only = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->device)
			return -np_error_set(err, EINVAL, "rank: '%s': one device is enough", arg);
		args->device = arg;
		return 0;
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DEVICE",
	.doc = "Ranks the CPUs for a device: those at equal distance form a tier.\v"
	       "DEVICE is a network interface, a PCI address, or one of numactl's netdev:DEV, "
	       "pci:ADDRESS, block:DISK, file:PATH and ip:HOST.",
	.children = (const struct argp_child[]){ { &np_common_argp, 0, NULL, 0 }, { 0 } },
};

static int check(struct rank_args *args)
{
	struct np_error *err = &args->common->err;

	if (!args->device)
		return np_error_set(err, EINVAL,
		                    "rank: which device? (numaprobe report lists them)");
	if (args->cpus_only && args->common->json)
		return np_error_set(err, EINVAL, "rank: --cpus and --json: give one");
	return np_common_check(args->common);
}

static int print_cpus(const struct np_rank *rank, unsigned only_tier)
{
	for (size_t i = 0; i < rank->tier_count; i++) {
		char *cpus;

		if (only_tier && rank->tiers[i].tier != only_tier)
			continue;
		cpus = np_cpulist_print(&rank->tiers[i].cpus);
		if (!cpus)
			return -ENOMEM;
		puts(cpus);
		free(cpus);
	}
	return 0;
}

/* How many cores have a CPU in the tier. */
static unsigned count_cores(const struct np_topology *topology, const struct np_bitmap *cpus)
{
	unsigned cores = 0;

	for (size_t i = 0; i < np_topology_group_count(topology, NP_LEVEL_CORE); i++)
		cores += np_bitmap_intersects(&np_topology_group(topology, NP_LEVEL_CORE, i)->cpus,
		                              cpus);
	return cores;
}

static int print_table(const struct np_topology *topology, const struct np_rank *rank,
                       unsigned only_tier)
{
	static const struct np_column columns[] = {
		{ "TIER", true },   { "DISTANCE", true }, { "CORES", true },
		{ "NODES", false }, { "CPUS", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (size_t i = 0; i < rank->tier_count; i++) {
		const struct np_tier *tier = &rank->tiers[i];
		unsigned cores = count_cores(topology, &tier->cpus);

		if (only_tier && tier->tier != only_tier)
			continue;
		np_table_add_row(table);
		np_table_set(table, 0, "%u", tier->tier);
		if (tier->has_distance)
			np_table_set(table, 1, "%u", tier->distance);
		if (cores > 0)
			np_table_set(table, 2, "%u", cores);
		np_table_set_list(table, 3, &tier->nodes, "-");
		np_table_set_list(table, 4, &tier->cpus, "-");
	}
	rc = np_table_print(table, stdout);
	np_table_free(table);
	return rc;
}

static int print_text(const struct np_topology *topology, const struct np_device *device,
                      const struct np_rank *rank, unsigned only_tier)
{
	int rc;

	np_device_print(device, stdout);
	rc = print_table(topology, rank, only_tier);
	np_excluded_print(rank->excluded, stdout);
	return rc;
}

/* With an unknown locality the answer is no, but the document still says what is known. */
static int refuse_unknown(const struct rank_args *args, const struct np_topology *topology,
                          const struct np_device *device, struct np_error *err)
{
	struct np_rank empty = { 0 };

	if (args->common->json && np_rank_excluded(topology, empty.excluded) == 0)
		np_json_write(np_rank_json(device, &empty, 0), stdout);
	np_rank_release(&empty);
	np_error_set(err, ENODATA,
	             "%s: its NUMA node is unknown, the firmware tells none: name it with --node",
	             device->name);
	return np_cmd_fail(err, NP_EXIT_NO);
}

static int print_rank(const struct rank_args *args, const struct np_topology *topology,
                      const struct np_device *device)
{
	struct np_error *err = &args->common->err;
	struct np_rank rank = { 0 };
	int rc = np_rank_cpus(topology, &device->locality, &rank, err);
	int status;

	if (rc == -ENODATA)
		return refuse_unknown(args, topology, device, err);
	if (rc < 0)
		return np_cmd_fail(err, NP_EXIT_NO);
	if (rank.tier_count == 0) {
		np_error_set(err, ERANGE, "%s: no CPU of this host can be used", device->name);
		status = np_cmd_fail(err, NP_EXIT_NO);
	} else if (args->tier > rank.tier_count) {
		np_error_set(err, ERANGE, "%s: no tier %u, the last one is %zu", device->name,
		             args->tier, rank.tier_count);
		status = np_cmd_fail(err, NP_EXIT_NO);
	} else if (args->common->json) {
		status = np_cmd_written(
			np_json_write(np_rank_json(device, &rank, args->tier), stdout));
	} else if (args->cpus_only) {
		status = np_cmd_written(print_cpus(&rank, args->tier));
	} else {
		status = np_cmd_written(print_text(topology, device, &rank, args->tier));
	}
	np_rank_release(&rank);
	return status;
}

int np_cmd_rank(struct np_common *common, int argc, char **argv)
{
	struct rank_args args = { .common = common };
	struct np_topology_source source = { .scope = NP_TOPOLOGY_GROUPS };
	struct np_topology *topology;
	int status;

	if (np_cli_parse(&argp, argc, argv, 0, &args, &common->err) < 0 || check(&args) < 0)
		return np_cmd_fail(&common->err, NP_EXIT_USAGE);

	source.root = common->root;
	source.hwloc_xml = common->xml;
	source.devices = &args.device;
	source.device_count = 1;
	source.has_device_node = args.has_node;
	source.device_node = args.node;
	if (np_topology_load(&source, &topology, &common->err) < 0)
		return np_cmd_fail(&common->err, NP_EXIT_NO);
	status = print_rank(&args, topology, np_topology_device(topology, 0));
	np_topology_free(topology);
	return status;
}
