/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources that are files: what is there to be read, or why nothing is.
 */
#ifndef NC_SOURCES_H
#define NC_SOURCES_H

#include <numacount/counter.h>
#include <numacount/source.h>

#include "../../probe/base/sysroot.h"

/*
 * Fill ret->finds, or ret->reason and ret->remedy; ret->availability is NC_AVAILABLE for a captured
 * host, too. -ENOMEM alone.
 */
int nc_resctrl_look(const struct nc_host *host, struct nc_source_state *ret, struct np_error *err);
int nc_numastat_look(const struct nc_host *host, struct nc_source_state *ret, struct np_error *err);

/* Says no, in words; printf style, with the remedy's text as it is. Returns -ENODATA. */
int nc_refuse(struct nc_source_state *state, const char *remedy, const char *fmt, ...)
	NP_PRINTF(3, 4);

/* Records a refusal as "REASON: REMEDY" and returns -ENODATA. */
int nc_refused(const struct nc_source_state *state, struct np_error *err);

/* Adds a copy of @counter. -ENOMEM */
int nc_append_counter(struct nc_counters *counters, const struct nc_counter *counter,
                      struct np_error *err);

#endif
