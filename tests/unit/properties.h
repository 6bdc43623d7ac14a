/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must hold for every host there is, whatever its layout. Each function fails the test with
 * the name of the host.
 */
#ifndef PROPERTIES_H
#define PROPERTIES_H

#include "check.h"

#include <numaprobe/topology.h>

/* Loads the host, and checks its sets, and the ranks and plans for all its nodes and devices. */
void check_host(const char *name, const char *root, const char *xml);

/* Plans services of several roles near the topology's first device, whose node is known. */
void check_services(const char *name, const struct np_topology *topology);

/* Loads it with these device names, ended by NULL; the caller frees it. */
struct np_topology *load_host(const char *name, const char *root, const char *xml, unsigned scope,
                              const char *const devices[]);

#endif
