/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be counted, by meaning. The names are words of the JSON, CSV and metrics contracts.
 */
#ifndef NUMACOUNT_CLASS_H
#define NUMACOUNT_CLASS_H

#ifdef __cplusplus
extern "C" {
#endif

enum nc_class {
	/* Memory controllers of a socket: every transfer, DMA included, that reached DRAM. Bytes. */
	NC_CLASS_MEMORY_READ,
	NC_CLASS_MEMORY_WRITE,
	NC_CLASS_MEMORY_ANY, /* reads and writes together, where the hardware does not tell them apart */

	/* Links between sockets, as the socket sees them: data alone, without headers. Bytes. */
	NC_CLASS_INTERCONNECT_OUT,
	NC_CLASS_INTERCONNECT_IN,
	NC_CLASS_INTERCONNECT_OUT_FLITS, /* with headers and all else; flits, for the utilisation */
	NC_CLASS_INTERCONNECT_CLOCK,     /* clocks of the link */

	/* Requests for this socket's memory, by who asked. Bytes. */
	NC_CLASS_HOME_READ_LOCAL,
	NC_CLASS_HOME_READ_REMOTE,
	NC_CLASS_HOME_WRITE_LOCAL,
	NC_CLASS_HOME_WRITE_REMOTE,

	/* Loads of this socket's cores that missed all caches: a ratio, no bandwidth. Loads. */
	NC_CLASS_LOADS_LOCAL,
	NC_CLASS_LOADS_REMOTE,

	/* resctrl's memory bandwidth monitoring: this socket's CPUs alone, no DMA. Bytes. */
	NC_CLASS_CPU_MEMORY_TOTAL,
	NC_CLASS_CPU_MEMORY_LOCAL,
	NC_CLASS_CPU_MEMORY_REMOTE, /* total less local, of one moment */

	/* Page allocations by where the asking CPU was: no accesses, no bandwidth. Pages. */
	NC_CLASS_PAGES_LOCAL,
	NC_CLASS_PAGES_REMOTE,

	NC_CLASS_OTHER, /* of a table of the user's own; counts */

	NC_CLASS_COUNT
};

/* "memory_read" and so on; never NULL. */
const char *nc_class_name(enum nc_class what);

/* "bytes", "flits", "clocks", "loads", "pages" or "counts". */
const char *nc_class_unit(enum nc_class what);

/* The class of that name; NC_CLASS_COUNT when there is none. */
enum nc_class nc_class_find(const char *name);

/* A set of classes: bit 1u << class. */
typedef unsigned nc_classes;

#define NC_CLASS_BIT(what) (1u << (what))

/* What a session counts unless told otherwise: memory, links and their clock. */
#define NC_CLASSES_DEFAULT                                                                         \
	(NC_CLASS_BIT(NC_CLASS_MEMORY_READ) | NC_CLASS_BIT(NC_CLASS_MEMORY_WRITE) |                \
	 NC_CLASS_BIT(NC_CLASS_MEMORY_ANY) | NC_CLASS_BIT(NC_CLASS_INTERCONNECT_OUT) |             \
	 NC_CLASS_BIT(NC_CLASS_INTERCONNECT_IN) | NC_CLASS_BIT(NC_CLASS_INTERCONNECT_CLOCK) |      \
	 NC_CLASS_BIT(NC_CLASS_OTHER))

#define NC_CLASSES_HOME                                                                            \
	(NC_CLASS_BIT(NC_CLASS_HOME_READ_LOCAL) | NC_CLASS_BIT(NC_CLASS_HOME_READ_REMOTE) |        \
	 NC_CLASS_BIT(NC_CLASS_HOME_WRITE_LOCAL) | NC_CLASS_BIT(NC_CLASS_HOME_WRITE_REMOTE))

#define NC_CLASSES_LOADS (NC_CLASS_BIT(NC_CLASS_LOADS_LOCAL) | NC_CLASS_BIT(NC_CLASS_LOADS_REMOTE))

#ifdef __cplusplus
}
#endif

#endif
