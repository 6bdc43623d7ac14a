/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libpfm4's encoding of an event of this machine, where that library is installed: loaded when it is
 * first asked, and never linked (docs/decisions/libpfm4-on-demand.md).
 *
 * libpfm4 keeps one state for the whole process and no lock for it: one thread at a time. Whoever
 * else uses it in this process is not disturbed, as its state is never torn down here.
 */
#ifndef NC_LIBPFM4_H
#define NC_LIBPFM4_H

#include <stdbool.h>
#include <stdint.h>

/* The first three fields of perf_event_attr: libpfm4 4.13 knows no config3. */
#define NC_LIBPFM4_CONFIGS 3

struct nc_libpfm4 {
	void *handle; /* NULL: not there, or it could not start */
	int (*encode)(const char *event, int privileges, int os, void *arg);
};

/* A library that is not there is an answer: it then knows no event. Ends with _close(). */
void nc_libpfm4_open(struct nc_libpfm4 *ret);
void nc_libpfm4_close(struct nc_libpfm4 *pfm);

/*
 * False when it does not know the event here: the name is not of a PMU that it finds on this
 * machine. Its idea of the PMU's type is not handed on; it may be of another instance.
 */
bool nc_libpfm4_encode(const struct nc_libpfm4 *pfm, const char *event,
                       uint64_t ret_config[NC_LIBPFM4_CONFIGS]);

#endif
