/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a source to a topology: hands over to the loader that knows where the facts come from.
 */
#include "topology_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_devices(const void *a, const void *b)
{
	const struct np_device *left = a;
	const struct np_device *right = b;

	/* By number inside a name too, so that eth2 stands before eth10. */
	return strverscmp(left->name, right->name);
}

static void sort_devices(struct np_topology *topology)
{
	if (topology->device_count > 0)
		qsort(topology->device, topology->device_count, sizeof(*topology->device),
		      compare_devices);
}

int np_topology_load(const struct np_topology_source *from, struct np_topology **ret,
                     struct np_error *err)
{
	struct np_topology *topology = calloc(1, sizeof(*topology));
	int rc;

	if (!topology)
		return np_error_sys(err, ENOMEM, "topology");
	rc = from->hwloc_xml ? np_hwloc_load(from, topology, err)
	                     : np_sysfs_load(from, topology, err);
	if (rc == 0 && from->device_count > 0 && from->has_device_node)
		rc = np_locality_override(topology, from->device_node,
		                          &topology->device[0].locality, err);
	if (rc == 0 && from->scope & NP_TOPOLOGY_NICS)
		sort_devices(topology);
	if (rc == 0)
		rc = np_topology_finish(topology, from->scope, err);
	if (rc < 0) {
		np_topology_free(topology);
		return rc;
	}
	*ret = topology;
	return 0;
}
