/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ladder of sources, best first, and for each why it cannot be had here.
 */
#ifndef NUMACOUNT_SOURCE_H
#define NUMACOUNT_SOURCE_H

#include <numacount/host.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nc_source {
	NC_SOURCE_UNCORE,   /* PMUs of memory controllers and links */
	NC_SOURCE_RESCTRL,  /* memory bandwidth monitoring by L3 */
	NC_SOURCE_CORE,     /* loads of cores that went to remote DRAM: a ratio */
	NC_SOURCE_NUMASTAT, /* page allocations: locality of allocations, no bandwidth */
	NC_SOURCE_COUNT
};

const char *nc_source_name(enum nc_source source);  /* "uncore", "resctrl", "core", "numastat" */
const char *nc_source_title(enum nc_source source); /* what it counts, in a few words */
enum nc_source nc_source_find(const char *name);    /* NC_SOURCE_COUNT when there is none */

enum nc_availability {
	NC_AVAILABLE,
	NC_UNAVAILABLE,
	NC_UNTRIED, /* a captured host: what it needs is there, whether the kernel would permit it... */
};

struct nc_source_state {
	enum nc_availability availability;
	char finds[256];  /* what is there, "8 uncore_imc, 3 uncore_upi on sockets 0-1"; or "" */
	char reason[512]; /* why not; "" when available */
	char remedy[256]; /* what would help; "" when nothing would */
};

/*
 * Looks at every source, @ret by enum nc_source. On this machine it opens one counter of each kind
 * for a moment, as only the kernel knows whether it would be permitted; nothing else is touched.
 * A source that is not there is an answer, no error.
 *
 *   -ENOMEM
 */
int nc_sources_look(const struct nc_host *host, struct nc_source_state ret[NC_SOURCE_COUNT],
                    struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
