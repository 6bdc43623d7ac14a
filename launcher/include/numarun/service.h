/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One plan over all roles of a service. Pure, as plan.h.
 */
#ifndef NUMARUN_SERVICE_H
#define NUMARUN_SERVICE_H

#include <numarun/plan.h>
#include <numarun/roles.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One program to run. */
struct nr_placed {
	size_t role;         /* its place in struct nr_roles */
	unsigned instance;   /* of that role, from 0 */
	struct nr_plan plan; /* its warnings do not name the role */
};

struct nr_service {
	struct nr_placed *placed; /* in the order of starting: role by role, then by instance */
	size_t count;
};

/*
 * Fills *ret, which the caller ends with nr_service_release(). It borrows from @topology, which was
 * loaded with NP_TOPOLOGY_GROUPS and the devices of nr_roles_devices(), in their order. @held are
 * CPUs that others hold, NULL for none.
 *
 * Roles choose in this order: those near a device before those that are not, by the tier that they
 * begin with; those with a count before those without; then in the file's order. Each instance gets
 * cores of its own, in as few L3 caches as its choice allows. Roles with neither device nor count
 * share whatever cores are left at the end.
 *
 * avoid holds both ways and is never given up: the two roles have no L3 cache in common, or where
 * none is told no node.
 *
 *   -EINVAL  a set of nodes in mem that cannot be used, and why
 *   -ERANGE  a tier that does not exist, or too few cores: err says who took how many
 *   -EBUSY   too few cores because of an avoid, which err names
 *   -ENODATA the node of a role's device is unknown
 *   -ENOMEM
 */
int nr_service_plan(const struct np_topology *topology, const struct nr_roles *roles,
                    const struct np_bitmap *held, struct nr_service *ret, struct np_error *err);

void nr_service_release(struct nr_service *service);

#ifdef __cplusplus
}
#endif

#endif
