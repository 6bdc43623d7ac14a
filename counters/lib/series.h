/* SPDX-License-Identifier: BSD-3-Clause */
/* Which counters add up to one series. Pure. */
#ifndef NC_SERIES_H
#define NC_SERIES_H

#include <numacount/session.h>

struct nc_series_list {
	struct nc_series *items; /* sorted by class, socket, link; those without a socket last */
	size_t count;
	size_t *of; /* for each counter the index of its series */
};

/*
 * Links are a series each (also those of equal number on two dies, when they lead elsewhere), all
 * other counters one a socket and class, and one a node where a node is of no socket. Counters of
 * NC_CLASS_OTHER are told apart by their event. Names point into @counters. The caller ends *ret
 * with nc_series_release(). -ENOMEM.
 */
int nc_series_build(const struct nc_counters *counters, struct nc_series_list *ret,
                    struct np_error *err);
void nc_series_release(struct nc_series_list *list);

#endif
