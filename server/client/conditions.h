/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Under which conditions a trace was taken, as far as it tells: where the client ran, and what that CPU
 * does by itself. Pure; a trace that tells nonsense tells nothing.
 */
#ifndef NL_CONDITIONS_H
#define NL_CONDITIONS_H

#include "trace.h"

enum nl_told { NL_NOT_TOLD, NL_TOLD_NO, NL_TOLD_YES };

/* Of the measurements before and after the run, the worse. */
struct nl_noise_told {
	bool is_known;
	uint64_t gaps; /* all of them */
	uint64_t duration_ns;
	uint64_t gap_max_ns;  /* 0 = there was none */
	uint64_t late_p99_ns; /* 0 = not known */
};

struct nl_conditions {
	enum nl_told is_pinned;
	bool has_cpu;
	uint64_t cpu;           /* that the client did not leave */
	enum nl_told is_locked; /* the memory of the samples */
	struct nl_noise_told noise;
};

void nl_conditions_read(const struct nl_trace *trace, struct nl_conditions *ret);

/* {"pinned", "cpu", "locked", "noise": {...}}, null where it is not told; NULL: no memory. */
json_t *nl_conditions_json(const struct nl_conditions *conditions);

#endif
