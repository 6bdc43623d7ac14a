/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The noise floor of the CPU that a client runs on: what takes it away from a program that does
 * nothing but read the clock, and how late it wakes from a timer. No latency below this can be told
 * from the host's own doings.
 */
#ifndef NL_NOISE_H
#define NL_NOISE_H

#include "../../probe/base/sysroot.h"
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct nl_noise {
	int cpu; /* at the end; -1 = it moved meanwhile */
	uint64_t duration_ns;
	/* Spinning on the clock. */
	uint64_t reads;
	uint64_t read_ns;      /* median time between two reads */
	uint64_t threshold_ns; /* a longer gap counts as an interruption */
	uint64_t gaps;
	uint64_t gap_ns;     /* all of them together */
	uint64_t gap_p50_ns; /* of the gaps; 0 when there is none */
	uint64_t gap_p99_ns;
	uint64_t gap_max_ns;
	/* Sleeping until a time. */
	uint64_t wakeups;
	uint64_t late_p50_ns;
	uint64_t late_p99_ns;
	uint64_t late_max_ns;
	uint64_t switches; /* that were forced on us: involuntary context switches */
	bool knows_steal;  /* proc/stat tells it */
	uint64_t steal_ns; /* of this CPU, taken by the hypervisor */
};

/*
 * Spins for two thirds of the time and sleeps in steps of a millisecond for the rest; in the calling
 * thread, where it is. *stop, if not NULL, ends it early. Allocates before it begins.
 * -EINTR: stopped before there was anything; -ENOMEM
 */
int nl_noise_measure(const struct np_sysroot *root, uint64_t duration_ns,
                     const volatile sig_atomic_t *stop, struct nl_noise *ret, struct np_error *err);

/* The members of "numakit/noise/1" without the schema; NULL: no memory. */
json_t *nl_noise_json(const struct nl_noise *noise);

#endif
