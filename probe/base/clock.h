/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's clocks in nanoseconds. */
#ifndef NP_CLOCK_H
#define NP_CLOCK_H

#include <stdint.h>

/* For how long: CLOCK_MONOTONIC. */
uint64_t np_now_ns(void);

/* The same of CLOCK_MONOTONIC_RAW, which no adjustment of the clock's rate touches. */
uint64_t np_raw_ns(void);

/* For when, since 1970: CLOCK_REALTIME. */
int64_t np_time_ns(void);

#endif
