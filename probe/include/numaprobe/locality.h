/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a device sits, and what that rests on.
 */
#ifndef NUMAPROBE_LOCALITY_H
#define NUMAPROBE_LOCALITY_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct np_topology;

/* The evidence for a device's nodes, best first. */
enum np_evidence {
	NP_EVIDENCE_OVERRIDE,    /* the user said so */
	NP_EVIDENCE_CACHE,       /* hwloc or local_cpulist: CPUs of an L3 smaller than the node */
	NP_EVIDENCE_NUMA_NODE,   /* sysfs numa_node of the device or its nearest PCI ancestor */
	NP_EVIDENCE_SINGLE_NODE, /* the host has one node */
	NP_EVIDENCE_LOCAL_CPUS,  /* local_cpulist, or hwloc's cpuset: some CPUs but not all */
	NP_EVIDENCE_UNKNOWN,     /* the firmware does not tell */
};

/* "numa_node" and so on: a word of the JSON contract. Never NULL. */
const char *np_evidence_name(enum np_evidence evidence);

struct np_locality {
	enum np_evidence evidence;
	struct np_bitmap nodes; /* empty when unknown; more than one when it sits between nodes */
	/* It stands on several cards (a bond, a bridge …), and these are not on the same nodes. */
	bool spans_nodes;
	struct np_bitmap
		cpus; /* CPUs nearer than the rest of the node; empty = all of its nodes' */
	/*
	 * What a weaker source says, where it says something else; UNKNOWN when no source
	 * contradicts. (Firmware is wrong often enough that both are shown.)
	 */
	enum np_evidence other_evidence;
	struct np_bitmap other_nodes;
};

enum np_device_kind { NP_DEVICE_NET, NP_DEVICE_BLOCK, NP_DEVICE_PCI };

const char *np_device_kind_name(enum np_device_kind kind);

struct np_device {
	enum np_device_kind kind;
	char *name;     /* interface, disk or PCI address; what is not printable ASCII as \xHH */
	char *pci;      /* "0000:c1:00.1", NULL when it is no PCI function, nor in one */
	char *state;    /* operstate of a network interface, or NULL */
	bool has_speed; /* the link is up and its driver tells */
	uint64_t speed_bps; /* bits per second, decimal (sysfs speed is in Mbit/s) */
	struct np_locality locality;
};

/*
 * How a user names a device ("device specification" in the man pages), numactl's forms included:
 *
 *   eth0, netdev:eth0       a network interface
 *   0000:c1:00.1, c1:00.1,  a PCI function, pci:[domain:]bus:device[.function]
 *   pci:c1:00.1
 *   block:sda               a block device
 *   file:PATH               the block device that PATH's file system is on
 *   ip:ADDRESS              the interface that packets to ADDRESS leave by
 *
 * The last two are looked up on this machine, so they do not work with a root or an XML.
 */

/* Leaves it empty; the struct itself is the caller's. */
void np_locality_release(struct np_locality *locality);

#ifdef __cplusplus
}
#endif

#endif
