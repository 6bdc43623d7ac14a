/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a verdict: whether the two differ (verdict_effect.c), and what that is worth
 * (verdict.c). What is not the case, or not told by the traces, is not mentioned.
 */
#ifndef NL_VERDICT_VIEW_H
#define NL_VERDICT_VIEW_H

#include "analysis.h"
#include "conditions.h"
#include <stdio.h>

/* With fewer, even blocks that all say the same would do so by chance in more than one of 20 runs. */
#define NL_BLOCKS_LEAST 6

struct nl_verdict_view {
	const struct nl_comparison *comparison;
	const struct nl_side *sides[2]; /* of a and b, [metric] */
	const struct nl_input *inputs[2];
	const char *names[2];
	struct nl_conditions conditions[2];
	bool has_one_trace; /* so that there is one client */
	FILE *out;
};

/* What can be said of one metric. */
enum nl_finding {
	NL_FINDING_TOO_FEW, /* blocks */
	NL_FINDING_NONE,
	NL_FINDING_TORN, /* all pairs, and pairs within blocks, say different things */
	NL_FINDING_A,    /* is faster */
	NL_FINDING_B,
};

enum nl_finding nl_verdict_find(const struct nl_verdict_view *view, unsigned metric);

/* One is faster. */
bool nl_finding_is_difference(enum nl_finding finding);
bool nl_verdict_finds_any(const struct nl_verdict_view *view);

/*
 * Whether all figures of a metric are those of another before it, as of response and payload TTFB where
 * each value comes with its head: what was said of that one need not be said again.
 */
bool nl_verdict_is_repeated(const struct nl_verdict_view *view, unsigned metric);

/* Whether requests hang together, so that intervals that take them for independent are too narrow. */
bool nl_verdict_is_dependent(const struct nl_verdict_view *view, unsigned metric);

/* A line for each metric: which side is faster, how sure that is, by how much, and the tail. */
void nl_verdict_say_effects(const struct nl_verdict_view *view);

/* ", " before all but the first, and " and " before the last, of @count. */
const char *nl_verdict_joint(unsigned i, unsigned count);

#endif
