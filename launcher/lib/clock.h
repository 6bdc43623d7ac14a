/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's clocks in nanoseconds. */
#ifndef NR_CLOCK_H
#define NR_CLOCK_H

#include <stdint.h>

/* For how long: CLOCK_MONOTONIC. */
uint64_t nr_now_ns(void);

/* For when, since 1970: CLOCK_REALTIME. */
int64_t nr_time_ns(void);

#endif
