/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices and localities as data: their words, and their end.
 */
#include "topology_data.h"

#include <stdlib.h>
#include <string.h>

/* 255 bytes is the longest name of a file, each at most \\xHH. */
enum { NAME_SIZE = 255 * 4 + 8 };

const char *np_evidence_name(enum np_evidence evidence)
{
	static const char *const names[] = {
		[NP_EVIDENCE_OVERRIDE] = "override",     [NP_EVIDENCE_CACHE] = "cache",
		[NP_EVIDENCE_NUMA_NODE] = "numa_node",   [NP_EVIDENCE_SINGLE_NODE] = "single_node",
		[NP_EVIDENCE_LOCAL_CPUS] = "local_cpus", [NP_EVIDENCE_UNKNOWN] = "unknown",
	};

	return names[evidence];
}

const char *np_device_kind_name(enum np_device_kind kind)
{
	static const char *const names[] = {
		[NP_DEVICE_NET] = "net",
		[NP_DEVICE_BLOCK] = "block",
		[NP_DEVICE_PCI] = "pci",
	};

	return names[kind];
}

void np_locality_release(struct np_locality *locality)
{
	np_bitmap_release(&locality->nodes);
	np_bitmap_release(&locality->cpus);
	np_bitmap_release(&locality->other_nodes);
}

void np_device_release(struct np_device *device)
{
	free(device->name);
	free(device->pci);
	free(device->state);
	np_locality_release(&device->locality);
}

char *np_device_name(const char *raw)
{
	char quoted[NAME_SIZE];

	return strdup(np_error_quote(raw, quoted, sizeof(quoted)));
}
