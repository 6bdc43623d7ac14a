/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of nc_session_open() that are of use by themselves. */
#ifndef NC_SESSION_PARTS_H
#define NC_SESSION_PARTS_H

#include <numacount/session.h>

/*
 * A session over counters that are known already, of NC_SOURCE_UNCORE or NC_SOURCE_CORE; it takes
 * the list over, also on failure. Errors as nc_session_open().
 */
int nc_perf_session_open(const struct nc_host *host, enum nc_source source,
                         struct nc_counters *counters, struct nc_session **ret,
                         struct np_error *err);

#endif
