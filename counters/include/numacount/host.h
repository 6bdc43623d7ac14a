/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host has to count with: its processor's family, its PMUs, its sockets. Read once from
 * sysfs, works as any user and over a captured root, and is then immutable.
 *
 * Sockets are the kernel's physical_package_id, never the number of a PMU.
 */
#ifndef NUMACOUNT_HOST_H
#define NUMACOUNT_HOST_H

#include <numacount/tables.h>
#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nc_host_source {
	const char *root;        /* directory that stands for "/"; NULL = "/" */
	const char *events_file; /* tables of the user's; NULL = none */
	const char *family; /* the family's name, whatever the processor says; NULL = by cpuinfo */
};

/* One file of format/: where the bits of a term go, least significant first. */
struct nc_format {
	const char *name;
	unsigned field;         /* 0 config, 1 config1, 2 config2, 3 config3 */
	unsigned char bits[64]; /* bits[i] = where bit i of the value goes */
	unsigned bit_count;
};

struct nc_pmu {
	const char *name;      /* in sys/bus/event_source/devices */
	const char *alias;     /* its alias file: "uncore_type_8_0"; NULL = none */
	unsigned type;         /* perf_event_attr.type */
	bool has_cpus;         /* it has a cpumask or cpus file; without, every online CPU counts */
	bool is_core;          /* counts by CPU: the file is "cpus", or there is none */
	struct np_bitmap cpus; /* where it is to be opened */
	struct nc_format *formats;
	size_t format_count;
};

struct nc_host; /* opaque */

/*
 * The caller ends *ret with nc_host_free(). A host without PMUs, or with an unknown processor, is
 * an answer and no error.
 *
 *   -EINVAL  the user's table is wrong, or no family has that name; a damaged sysfs file makes a
 *            note instead (nc_host_note), and its PMU is left out
 *   other    as nc_tables_load() and open(2)
 */
int nc_host_load(const struct nc_host_source *from, struct nc_host **ret, struct np_error *err);
void nc_host_free(struct nc_host *host); /* accepts NULL */

/* True when the root is "/". */
bool nc_host_is_live(const struct nc_host *host);
const char *nc_host_root(const struct nc_host *host); /* as it was given; NULL = "/" */

const struct nc_cpu *nc_host_cpu(const struct nc_host *host);
const struct nc_tables *nc_host_tables(const struct nc_host *host);
/* NULL when no table knows the processor. */
const struct nc_family *nc_host_family(const struct nc_host *host);

size_t nc_host_pmu_count(const struct nc_host *host);
const struct nc_pmu *nc_host_pmu(const struct nc_host *host, size_t index);

const struct np_bitmap *nc_host_online(const struct nc_host *host);  /* CPUs */
const struct np_bitmap *nc_host_sockets(const struct nc_host *host); /* ids of those with CPUs */

/* False for a CPU that is offline or whose socket the host does not tell. */
bool nc_host_socket_of(const struct nc_host *host, unsigned cpu, unsigned *ret_socket,
                       unsigned *ret_die);

/* What is odd about this host's description, one sentence each. Lives as long as @host. */
size_t nc_host_note_count(const struct nc_host *host);
const char *nc_host_note(const struct nc_host *host, size_t index);

#ifdef __cplusplus
}
#endif

#endif
