/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use libnumaprobe: prints the CPUs of each tier for a network card.
 *
 *   cc rank_nic.c $(pkg-config --cflags --libs libnumaprobe) && ./a.out eth0
 */
#include <numaprobe/cpulist.h>
#include <numaprobe/rank.h>
#include <numaprobe/topology.h>
#include <stdio.h>

static int fail(const struct np_error *err)
{
	fprintf(stderr, "rank_nic: %s\n", err->text);
	return 1;
}

int main(int argc, char **argv)
{
	struct np_topology_source source = { 0 };
	struct np_topology *topology;
	struct np_rank rank;
	struct np_error err;
	char cpus[256];
	int status = 0;

	if (argc != 2) {
		fputs("usage: rank_nic DEVICE\n", stderr);
		return 2;
	}
	source.devices = (const char *const *)&argv[1];
	source.device_count = 1;
	if (np_topology_load(&source, &topology, &err) < 0)
		return fail(&err);

	if (np_rank_cpus(topology, &np_topology_device(topology, 0)->locality, &rank, &err) < 0) {
		status = fail(&err);
	} else {
		for (size_t i = 0; i < rank.tier_count; i++)
			printf("tier %u: %s\n", rank.tiers[i].tier,
			       np_cpulist_brief(&rank.tiers[i].cpus, cpus, sizeof(cpus)));
		np_rank_release(&rank);
	}
	np_topology_free(topology);
	return status;
}
