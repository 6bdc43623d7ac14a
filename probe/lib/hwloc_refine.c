/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What hwloc knows of this machine and sysfs does not: on some boards (HPE Cray EX235a and its
 * kin) a card hangs off one L3 complex inside a node, and hwloc has a table of them.
 *
 * Loading hwloc costs 10 to 20 ms even without its x86 probing, so it is asked only where its
 * answer could be finer than ours: on hosts with several L3 caches in a node.
 */
#include "hwloc_load.h"
#include "topology_data.h"

#include <errno.h>

static bool has_cache_inside_node(const struct np_topology *topology)
{
	for (size_t i = 0; i < topology->node_count; i++) {
		const struct np_bitmap *cpus = &topology->node[i].cpus;
		unsigned caches = 0;

		for (size_t j = 0; j < topology->group_count[NP_LEVEL_L3]; j++)
			caches += np_bitmap_intersects(&topology->group[NP_LEVEL_L3][j].cpus, cpus);
		if (caches > 1)
			return true;
	}
	return false;
}

static int refine_device(hwloc_topology_t hwloc, const struct np_topology *topology,
                         struct np_device *device, struct np_error *err)
{
	struct np_locality_sources sources = { 0 };
	struct np_locality refined = { 0 };
	hwloc_obj_t pci = hwloc_get_pcidev_by_busidstring(hwloc, device->pci);
	hwloc_obj_t parent = pci ? hwloc_get_non_io_ancestor_obj(hwloc, pci) : NULL;
	int rc;

	if (!parent || !parent->cpuset)
		return 0;
	rc = np_hwloc_add_bitmap(&sources.local_cpus, parent->cpuset);
	if (device->locality.evidence == NP_EVIDENCE_NUMA_NODE) {
		sources.has_node = true;
		sources.numa_node = np_bitmap_next(&device->locality.nodes, 0);
	}
	rc = rc < 0 ? np_error_sys(err, ENOMEM, "device locality")
	            : np_locality_choose(topology, &sources, &refined, err);
	if (rc == 0 && refined.evidence == NP_EVIDENCE_CACHE) {
		np_locality_release(&device->locality);
		device->locality = refined;
		refined = (struct np_locality){ 0 };
	}
	np_locality_release(&refined);
	np_bitmap_release(&sources.local_cpus);
	return rc;
}

static int load_this_host(hwloc_topology_t *ret)
{
	if (np_hwloc_init(ret, NULL) < 0)
		return -ENOMEM;
	hwloc_topology_set_components(*ret, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
	if (hwloc_topology_load(*ret) == 0)
		return 0;
	hwloc_topology_destroy(*ret);
	return -EIO;
}

int np_hwloc_refine(struct np_topology *topology, struct np_error *err)
{
	hwloc_topology_t hwloc;
	int rc = 0;

	/* Without hwloc's word the kernel's stands, so that its failure is none of ours. */
	if (!has_cache_inside_node(topology) || load_this_host(&hwloc) < 0)
		return 0;
	/* HWLOC_XMLFILE and its like can make it describe another machine. */
	if (hwloc_topology_is_thissystem(hwloc))
		for (size_t i = 0; i < topology->device_count && rc == 0; i++)
			if (topology->device[i].pci)
				rc = refine_device(hwloc, topology, &topology->device[i], err);
	hwloc_topology_destroy(hwloc);
	return rc;
}
