/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where each online CPU sits: its socket (physical_package_id) and its die in there (die_id).
 * Source: Documentation/ABI/stable/sysfs-devices-system-cpu.
 */
#ifndef NC_PLACES_H
#define NC_PLACES_H

#include "../../probe/base/sysroot.h"
#include "notes.h"

struct nc_place {
	bool has_socket;
	unsigned socket;
	unsigned die; /* 0 where the kernel knows of none */
};

struct nc_places {
	struct np_bitmap online;
	struct np_bitmap sockets; /* with CPUs that are online */
	struct nc_place *cpus;    /* by CPU; those that are offline have no socket */
	size_t cpu_count;
};

/*
 * Fills *ret, which the caller ends with nc_places_release(), also after a failure.
 *
 *   -ENOENT  there is no CPU below sys/devices/system/cpu: this is the root of no host
 *   -ENOMEM
 */
int nc_places_read(const struct np_sysroot *root, struct nc_places *ret, struct nc_notes *notes,
                   struct np_error *err);
void nc_places_release(struct nc_places *places);

/* NULL for a CPU that is offline or whose socket is not known. */
const struct nc_place *nc_places_of(const struct nc_places *places, unsigned cpu);

#endif
