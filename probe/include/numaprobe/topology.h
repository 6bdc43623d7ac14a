/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The NUMA layout of one host, read once and then immutable: share it freely between threads, and
 * load it again to see a hotplugged CPU, node or card.
 *
 * CPUs and nodes are OS indexes everywhere. What the host does not tell is said to be unknown by a
 * flag or an error code, never given as zero.
 */
#ifndef NUMAPROBE_TOPOLOGY_H
#define NUMAPROBE_TOPOLOGY_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <numaprobe/locality.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct np_topology; /* opaque */

/* What to read besides nodes, their distances and the sets of CPUs: each costs time. */
enum np_topology_scope {
	NP_TOPOLOGY_MEMORY = 1 << 0, /* memory sizes: one file a node */
	NP_TOPOLOGY_GROUPS = 1 << 1, /* packages, L3 caches, cores: a few files a CPU */
	/* All network interfaces on hardware, and bonds, bridges, VLANs … that stand on such. */
	NP_TOPOLOGY_NICS = 1 << 2,
	/* Leave the distances out, a file a node, where nothing will be ranked. */
	NP_TOPOLOGY_WITHOUT_DISTANCES = 1 << 3,
	NP_TOPOLOGY_ALL = NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_GROUPS | NP_TOPOLOGY_NICS,
};

/* Where to read from, and what. Zero-initialised means "this machine, nodes and CPUs alone". */
struct np_topology_source {
	const char *root;      /* directory that stands for "/"; NULL = "/" */
	const char *hwloc_xml; /* hwloc export to use instead of root's sysfs */
	unsigned scope;        /* np_topology_scope flags */
	/*
	 * Devices to read (see locality.h for how they are named) where NP_TOPOLOGY_NICS would read
	 * too many; the topology then has exactly these, in this order. Not together with it.
	 */
	const char *const *devices;
	size_t device_count;
	/* The user's word on where devices[0] is, which overrides the host's: evidence OVERRIDE. */
	bool has_device_node;
	unsigned device_node;
};

/*
 * Reads the layout into *ret; the caller owns it and ends it with np_topology_free().
 *
 *   -ENOENT  the root has neither CPUs nor nodes, or the device is not there; err names it and,
 *            for a network interface, those that are there
 *   -EINVAL  a file does not parse; err names the file and quotes its content. Also: the XML is not
 *            one that hwloc can read
 *   -ENODEV  the device is virtual and stands on no hardware, so nothing can be local to it unless
 *            device_node says so
 *   -E2BIG   more than 4096 interfaces are under the device, a network interface
 *   -ERANGE  device_node is not online
 *   -ENOMEM
 *   other    what open(2) and read(2) gave; err names the file
 */
int np_topology_load(const struct np_topology_source *from, struct np_topology **ret,
                     struct np_error *err);

/* Accepts NULL. */
void np_topology_free(struct np_topology *topology);

/* True when it describes this machine, so that binding by it makes sense. */
bool np_topology_is_live(const struct np_topology *topology);

/* "this host", or the directory or file that was read; lives as long as @topology. */
const char *np_topology_origin(const struct np_topology *topology);

enum np_cpu_set {
	NP_CPUS_ONLINE,   /* sys/devices/system/cpu/online */
	NP_CPUS_OFFLINE,  /* present, not online */
	NP_CPUS_ISOLATED, /* cpu/isolated: the scheduler does not balance onto them */
	/*
	 * Online CPUs that this process may use now (its affinity mask, which the kernel keeps
	 * inside the cpuset). From a captured tree: the Cpus_allowed_list or cpuset found there,
	 * else all that are online.
	 */
	NP_CPUS_ALLOWED,
	/*
	 * Online CPUs of the cpuset cgroup, where it can be read; else all that are online. Wider
	 * than NP_CPUS_ALLOWED when the process inherited a narrower affinity mask.
	 */
	NP_CPUS_CPUSET,
	NP_CPUS_USABLE,       /* allowed and not isolated: what a ranking chooses from */
	NP_CPUS_WITHOUT_NODE, /* online, in no node's list */
	NP_CPU_SET_COUNT
};

/* The set lives as long as @topology. */
const struct np_bitmap *np_topology_cpus(const struct np_topology *topology, enum np_cpu_set which);

enum np_node_set {
	NP_NODES_ONLINE,
	NP_NODES_WITH_CPUS,   /* at least one online CPU */
	NP_NODES_WITH_MEMORY, /* node/has_memory, or a MemTotal above zero */
	/*
	 * Nodes with memory that this process may allocate from (Mems_allowed_list of
	 * proc/self/status); all nodes with memory where that is not told.
	 */
	NP_NODES_ALLOWED,
	NP_NODE_SET_COUNT
};

const struct np_bitmap *np_topology_nodes(const struct np_topology *topology,
                                          enum np_node_set which);

struct np_node {
	unsigned node;
	struct np_bitmap cpus; /* its online CPUs */
	bool has_memory_size;  /* the two below are known */
	uint64_t memory_bytes;
	bool has_memory_free;
	uint64_t memory_free_bytes; /* at the time of loading */
};

/* NULL when there is no such node online. Lives as long as @topology. */
const struct np_node *np_topology_node(const struct np_topology *topology, unsigned node);

/* A distance from which on a node cannot be reached (ACPI, SLIT). */
#define NP_DISTANCE_UNREACHABLE 255u

/*
 * The firmware's relative memory latency from @initiator to @target, where 10 means local (ACPI
 * SLIT, sysfs nodeN/distance). It is a hint by the vendor, not a measurement: rank with it, never
 * report it as nanoseconds. It need not be symmetric. See NP_DISTANCE_UNREACHABLE too.
 *
 *   -ERANGE   no such node
 *   -ENODATA  the host publishes no distance for this pair
 */
int np_topology_node_distance(const struct np_topology *topology, unsigned initiator,
                              unsigned target, unsigned *ret_distance);

/* Nodes that hold @cpu, added to *ret; more than one on hosts with broken firmware. -ENOMEM. */
int np_topology_nodes_of_cpus(const struct np_topology *topology, const struct np_bitmap *cpus,
                              struct np_bitmap *ret);

enum np_level { NP_LEVEL_PACKAGE, NP_LEVEL_L3, NP_LEVEL_CORE, NP_LEVEL_COUNT };

/* CPUs that share a package, an L3 cache or a core. Read with NP_TOPOLOGY_GROUPS. */
struct np_group {
	bool has_id;
	unsigned id;           /* the kernel's or hwloc's OS index, unique for packages only */
	uint64_t size_bytes;   /* of an L3; 0 = unknown */
	struct np_bitmap cpus; /* online ones */
};

/* Sorted by their lowest CPU. */
size_t np_topology_group_count(const struct np_topology *topology, enum np_level level);
const struct np_group *np_topology_group(const struct np_topology *topology, enum np_level level,
                                         size_t index);

/* NULL when the host does not tell, or groups were not read. */
const struct np_group *np_topology_group_of(const struct np_topology *topology, enum np_level level,
                                            unsigned cpu);

/* Devices: those of NP_TOPOLOGY_NICS, sorted by name, or those asked for, in their order. */
size_t np_topology_device_count(const struct np_topology *topology);
const struct np_device *np_topology_device(const struct np_topology *topology, size_t index);

/*
 * What is odd about this host's description (asymmetric distances, CPUs in two nodes …), one
 * sentence each. Lives as long as @topology.
 */
size_t np_topology_note_count(const struct np_topology *topology);
const char *np_topology_note(const struct np_topology *topology, size_t index);

#ifdef __cplusplus
}
#endif

#endif
