/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all reports have in common: which words and numbers stand for what.
 */
#ifndef NL_REPORT_WORDS_H
#define NL_REPORT_WORDS_H

#include "analysis.h"
#include "trace.h"

enum { NL_NAME_TEXT_SIZE = 40, NL_TIME_TEXT_SIZE = 40 };

/* "unknown" where the trace does not tell it. Any bytes, as they stand in a trace. */
const char *nl_protocol_text(const struct nl_comparison *comparison);

/* A side's label, safe for a terminal. Returns @buf. */
const char *nl_label_text(const struct nl_input *input, char buf[NL_NAME_TEXT_SIZE]);

/* The name of a side's arm; NULL where the trace has one only. */
const char *nl_arm_name(const struct nl_input *input);

/*
 * goblin-bench's word for |A - 0.5|: negligible below 0.06, small below 0.14, medium below 0.21, else large
 * (the 0.56, 0.64 and 0.71 of Vargha and Delaney 2000).
 */
#define NL_NEGLIGIBLE_BELOW 0.06
#define NL_SMALL_BELOW 0.14
#define NL_MEDIUM_BELOW 0.21
const char *nl_magnitude(double a_faster);

/* 100 * (b - a) / b: positive where a is faster. NAN where b is 0 and a is not. */
double nl_improvement_percent(uint64_t a_ns, uint64_t b_ns);

double nl_shift_ns(const struct nl_effect *effect);

/* The one to judge by, of the mean of the blocks' A: that which allows for blocks that hang together. */
struct np_interval nl_effect_interval(const struct nl_effect *effect);

/*
 * How an arm's percentile and the other's differ, by their order statistics: -1 a is faster, 1 b is, 0 the
 * intervals overlap or one has no end.
 */
int nl_percentile_order(const struct nl_percentile *a, const struct nl_percentile *b);

/* "850 ns", "18.52 us", "1.204 ms", "3.100 s"; negative ones too. Returns @buf. */
const char *nl_latency_text(double ns, char buf[NL_TIME_TEXT_SIZE]);

/* How long a run took: "5.3 s", "98 min 25 s", "6 h 55 min". Returns @buf. */
const char *nl_elapsed_text(uint64_t ns, char buf[NL_TIME_TEXT_SIZE]);

/* "interleaved", "apart", "overlapping", "unknown". */
const char *nl_design_name(enum nl_design design);

#endif
