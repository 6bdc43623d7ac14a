/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processor a host has, by /proc/cpuinfo.
 */
#ifndef NC_CPU_H
#define NC_CPU_H

#include "../../probe/base/sysroot.h"

#include <numacount/tables.h>

/*
 * Reads the file's first processor. A file that is absent, cannot be read or is of a kind that is
 * not known gives NC_VENDOR_UNKNOWN, with what it says of itself in the title.
 *
 *   -ENOMEM
 */
int nc_cpu_read(const struct np_sysroot *root, struct nc_cpu *ret, struct np_error *err);

#endif
