/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparisons to be reported: the figures that goblin-store's documentation publishes of its run
 * 20260714T104600Z-outer-ns (docs/numa-first-byte-latency.md), made up where it tells none. The traces
 * behind them are files of a few rows.
 */
#ifndef PUBLISHED_H
#define PUBLISHED_H

#include "check.h"

#include "../../../server/client/report.h"

enum { PUBLISHED_BLOCKS = 96, PUBLISHED_POINTS = 501 };
#define PUBLISHED_SAMPLES UINT64_C(17166137)
#define PUBLISHED_KEY_HASH UINT64_C(0xf1691d253d2f550e)

/* What a trace of a comparison tells of itself. */
struct published_trace {
	struct nl_trace_about about;
	struct nl_trace_end end;
	const json_t *outcome;
};

struct published {
	char dir[256]; /* temporary */
	struct nl_comparison comparisons[2];
	struct nl_report report; /* of both: memcache, http */
};

void published_create(struct published *published);
void published_release(struct published *published);

/*
 * Puts another trace behind @side of a comparison; with @is_shared behind both sides, as of arms of one
 * run.
 */
void published_retrace(struct published *published, struct nl_comparison *comparison, unsigned side,
                       const struct published_trace *trace, bool is_shared);

/* What @print writes of the report, a new string that the caller frees. */
char *published_print(const struct nl_report *report,
                      int print(const struct nl_report *report, FILE *out));

#endif
