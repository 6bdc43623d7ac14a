/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_schedule.h"

enum { EXACT_SKIP = 1000000 };

void nl_schedule_begin(struct nl_schedule *schedule, enum nl_arrivals arrivals, double per_second,
                       uint64_t start_ns, uint64_t seed)
{
	*schedule = (struct nl_schedule){
		.arrivals = arrivals,
		.interval_ns = 1e9 / per_second,
		.start_ns = start_ns,
	};
	np_rng_seed(&schedule->rng, seed);
	/* Threads that all began together would send in bursts. */
	schedule->phase_ns = schedule->interval_ns * np_rng_unit(&schedule->rng);
	schedule->after_ns = arrivals == NL_ARRIVALS_FIXED
	                             ? schedule->phase_ns
	                             : schedule->interval_ns * np_rng_exponential(&schedule->rng);
}

void nl_schedule_take(struct nl_schedule *schedule)
{
	schedule->taken++;
	/* Fixed times are multiples, not sums, so that rounding does not add up. */
	if (schedule->arrivals == NL_ARRIVALS_FIXED)
		schedule->after_ns =
			schedule->phase_ns + schedule->interval_ns * (double)schedule->taken;
	else
		schedule->after_ns += schedule->interval_ns * np_rng_exponential(&schedule->rng);
}

uint64_t nl_schedule_skip(struct nl_schedule *schedule, uint64_t until_ns)
{
	uint64_t before = schedule->taken;
	uint64_t next_ns = nl_schedule_next_ns(schedule);
	double expected =
		until_ns > next_ns ? (double)(until_ns - next_ns) / schedule->interval_ns : 0;

	/* All but the last few at once. */
	if (schedule->arrivals == NL_ARRIVALS_FIXED || expected > EXACT_SKIP) {
		uint64_t many = expected > 2 ? (uint64_t)expected - 1 : 0;

		schedule->taken += many;
		schedule->after_ns += schedule->interval_ns * (double)many;
	}
	while (nl_schedule_next_ns(schedule) < until_ns)
		nl_schedule_take(schedule);
	return schedule->taken - before;
}
