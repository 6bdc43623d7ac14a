/* SPDX-License-Identifier: BSD-3-Clause */
#include "clock.h"

#include <time.h>

static int64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

uint64_t np_now_ns(void)
{
	return (uint64_t)read_clock(CLOCK_MONOTONIC);
}

uint64_t np_raw_ns(void)
{
	return (uint64_t)read_clock(CLOCK_MONOTONIC_RAW);
}

int64_t np_time_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}
