/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inside of struct np_topology, and what its two loaders (sysfs_*.c and hwloc_*.c) build it
 * with. Nothing here is exported.
 */
#ifndef NP_TOPOLOGY_DATA_H
#define NP_TOPOLOGY_DATA_H

#include "../base/sysroot.h"
#include "cpuset.h"

#include <numaprobe/topology.h>

struct np_topology {
	bool live;
	char *origin;
	struct np_bitmap cpus[NP_CPU_SET_COUNT];
	struct np_bitmap nodes[NP_NODE_SET_COUNT];

	struct np_node *node; /* node_count of them, sorted by index */
	size_t node_count;
	unsigned *distance; /* node_count rows of node_count columns; 0 = unknown */

	struct np_group *group[NP_LEVEL_COUNT];
	size_t group_count[NP_LEVEL_COUNT];
	unsigned *group_of_cpu[NP_LEVEL_COUNT]; /* cpu -> index + 1; 0 = in none */
	size_t cpu_count;                       /* entries of group_of_cpu: last online CPU + 1 */

	struct np_device *device;
	size_t device_count;

	char **note;
	size_t note_count;
};

/* Four times what Linux can be built for (NODES_SHIFT 10); their distances take 64 MiB. */
enum { NP_NODE_COUNT_MAX = 4096 };

/*
 * Makes room for the nodes of @online and their distances, all unknown.
 *
 *   -EINVAL  more than NP_NODE_COUNT_MAX
 *   -ENOMEM
 */
int np_topology_create_nodes(struct np_topology *topology, const struct np_bitmap *online,
                             struct np_error *err);

/* Makes the empty group tables, once NP_CPUS_ONLINE is known. -ENOMEM. */
int np_topology_create_groups(struct np_topology *topology, struct np_error *err);

/* The row or column of @node in the distance matrix, or node_count when there is no such node. */
size_t np_topology_node_row(const struct np_topology *topology, unsigned node);

/* Adds a group of @like's id, size and CPUs (those online), copied. -ENOMEM. */
int np_topology_add_group(struct np_topology *topology, enum np_level level,
                          const struct np_group *like, struct np_error *err);

/* Makes room for one more device, zeroed, and returns it; NULL when memory runs out. */
struct np_device *np_topology_add_device(struct np_topology *topology);

int np_topology_add_note(struct np_topology *topology, struct np_error *err, const char *fmt, ...)
	NP_PRINTF(3, 4);

/* What follows from the parts: derived sets, sorted groups and devices, notes. Call it last. */
int np_topology_finish(struct np_topology *topology, unsigned scope, struct np_error *err);

/* The loaders. Each fills a zeroed *topology; on failure the caller frees it. */
int np_sysfs_load(const struct np_topology_source *from, struct np_topology *topology,
                  struct np_error *err);
int np_hwloc_load(const struct np_topology_source *from, struct np_topology *topology,
                  struct np_error *err);

/* The parts of the sysfs loader. */
int np_sysfs_read_cpus(const struct np_sysroot *root, struct np_topology *topology,
                       struct np_error *err);
int np_sysfs_read_nodes(const struct np_sysroot *root, unsigned scope, struct np_topology *topology,
                        struct np_error *err);
int np_sysfs_read_allowed(const struct np_sysroot *root, struct np_topology *topology,
                          struct np_error *err);

int np_sysfs_read_groups(const struct np_sysroot *root, struct np_topology *topology,
                         struct np_error *err);
int np_sysfs_read_nics(const struct np_sysroot *root, struct np_topology *topology,
                       struct np_error *err);
int np_sysfs_read_device(const struct np_sysroot *root, const char *text, bool virtual_too,
                         struct np_topology *topology, struct np_error *err);

/*
 * The device's own folder ("sys/devices/pci0000:c0/…/net/eth0"), a new string, behind an entry of a
 * class or bus folder, which is a link there, or in old kernels a folder with a link "device" in
 * it. The folder need not be there.
 *
 *   -ENOENT           no such entry, or it leads to no device
 *   -EINVAL, -ENOTDIR it is no link
 *   -ENOMEM, other    of reading it
 */
int np_sysfs_resolve(const struct np_sysroot *root, const char *dir, const char *entry, char **ret,
                     struct np_error *err);

/* Is this the folder of a device without hardware? */
bool np_sysfs_is_virtual(const char *folder);

/*
 * The folders of the cards that the device of @folder stands on: its own when it is hardware, else
 * those that its lower_* links lead to, through other virtual interfaces too, each once. Returns
 * how many; what is gone meanwhile, or virtual with nothing under it, is none.
 *
 *   -E2BIG   thousands of interfaces are under it; err does not name the device
 *   -ENOMEM, or what reading a folder gave
 */
int np_sysfs_list_cards(const struct np_sysroot *root, const char *folder, char ***ret_cards,
                        struct np_error *err);
void np_sysfs_free_cards(char **cards, int count);

/* The interfaces right under that of @folder, "eth0, eth1", as far as they fit; "" for none. */
void np_sysfs_name_lowers(const struct np_sysroot *root, const char *folder, char *buf,
                          size_t size);

/*
 * Lets this machine's hwloc correct the localities of the devices: it knows boards whose cards are
 * local to one L3 inside a node, which no sysfs file tells. Does nothing where no node has more
 * than one L3.
 */
int np_hwloc_refine(struct np_topology *topology, struct np_error *err);

/*
 * Chooses among the sources, best first (design: Locality). @numa_node: has_node false = -1 or no
 * file. @local_cpus: empty = no file. Fills *ret, zeroed by the caller.
 */
struct np_locality_sources {
	bool has_node;
	unsigned numa_node;
	struct np_bitmap local_cpus;
};
int np_locality_choose(const struct np_topology *topology,
                       const struct np_locality_sources *sources, struct np_locality *ret,
                       struct np_error *err);

/*
 * Where that is which stands on several cards: on the nodes of all of them, by the weakest of their
 * evidence. CPUs of caches count when all cards tell such. While one of them is of unknown place,
 * all of it is, and the nodes that are known are the other source. Fills *ret, zeroed by the
 * caller. -ENOMEM.
 */
int np_locality_join(const struct np_locality *parts, size_t count, struct np_locality *ret,
                     struct np_error *err);

/*
 * Replaces *locality by the user's word, evidence OVERRIDE; what was there before is kept as the
 * other source when it differs.
 *
 *   -ERANGE  no such node online
 *   -ENOMEM
 */
int np_locality_override(const struct np_topology *topology, unsigned node,
                         struct np_locality *locality, struct np_error *err);

/* The line behind this one, NULL at the end. */
const char *np_next_line(const char *line);

void np_device_release(struct np_device *device);

/*
 * A name from the host in the form in which we show it, a new string: interfaces may be called
 * nearly anything, and a captured tree may hold escapes for the terminal. NULL: out of memory.
 */
char *np_device_name(const char *raw);

/* "no device 'eth9' …; there are: eth0, eth1" with code -ENOENT. */
int np_device_not_found(const char *name, const char *candidates, struct np_error *err);

#endif
