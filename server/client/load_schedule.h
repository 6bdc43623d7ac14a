/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When requests are meant to be sent in an open loop, whatever becomes of the ones before: evenly
 * spaced, or a Poisson process. Pure.
 */
#ifndef NL_LOAD_SCHEDULE_H
#define NL_LOAD_SCHEDULE_H

#include "../../probe/base/rng.h"

#include <stdint.h>

enum nl_arrivals { NL_ARRIVALS_FIXED, NL_ARRIVALS_POISSON };

struct nl_schedule {
	enum nl_arrivals arrivals;
	double interval_ns; /* between two, on average */
	uint64_t start_ns;
	double phase_ns; /* FIXED: of the first */
	uint64_t taken;  /* how many went before */
	double after_ns; /* since the start, of the next */
	struct np_rng rng;
};

/* @per_second > 0. The first is up to an interval (FIXED), or an exponential time, after @start_ns. */
void nl_schedule_begin(struct nl_schedule *schedule, enum nl_arrivals arrivals, double per_second,
                       uint64_t start_ns, uint64_t seed);

/* When the next one is due; the clock is that of start_ns. */
static inline uint64_t nl_schedule_next_ns(const struct nl_schedule *schedule)
{
	return schedule->start_ns + (uint64_t)schedule->after_ns;
}

/* That one is taken: on to the one after it. */
void nl_schedule_take(struct nl_schedule *schedule);

/*
 * Takes all that are due before @until_ns and returns how many they were. Of more than a million of a
 * Poisson process it is the number to be expected, which is within 1 part in 250 (4 standard
 * deviations) of what would have come.
 */
uint64_t nl_schedule_skip(struct nl_schedule *schedule, uint64_t until_ns);

#endif
