/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the command line to a topology with just what is needed, and a request for the plan.
 */
#ifndef NR_REQUEST_H
#define NR_REQUEST_H

#include "args.h"

/* Loads what @args need; the caller frees it with np_topology_free(). Errors as np_topology_load().
 */
int nr_args_load(const struct nr_args *args, struct np_topology **ret, struct np_error *err);

/* np_topology_load() with hwloc's own banners about damaged descriptions kept off. */
int nr_load_quietly(const struct np_topology_source *source, struct np_topology **ret,
                    struct np_error *err);

/*
 * Fills *ret, zeroed, from the sets as typed; the caller releases it. Errors as nr_set_parse_*(),
 * and -ENODATA for a device whose node is unknown.
 */
int nr_args_request(const struct nr_args *args, const struct np_topology *topology,
                    struct nr_request *ret, struct np_error *err);

#endif
