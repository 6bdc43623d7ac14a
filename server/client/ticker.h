/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Progress on a terminal that the measured thread does not notice: it stores a number now and then, a
 * thread on another CPU reads it once a second and writes the line.
 */
#ifndef NL_TICKER_H
#define NL_TICKER_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

/* Alone in its cache line. */
struct nl_counter {
	alignas(64) _Atomic uint64_t done;
	char rest[64 - sizeof(uint64_t)];
};

static inline void nl_counter_set(struct nl_counter *counter, uint64_t done)
{
	atomic_store_explicit(&counter->done, done, memory_order_relaxed);
}

struct nl_ticker; /* opaque */

/*
 * Starts a thread on @cpus, with all signals blocked, that shows how much of @total is done. @counter
 * and @out must outlive it. The caller ends *ret with nl_ticker_stop(). -ENOMEM; of pthread_create(3)
 */
int nl_ticker_start(const struct nl_counter *counter, uint64_t total, const struct np_bitmap *cpus,
                    FILE *out, struct nl_ticker **ret, struct np_error *err);

/* Clears the line and waits for the thread's end. Accepts NULL. */
void nl_ticker_stop(struct nl_ticker *ticker);

/* "1:02:03". Returns @buf. */
const char *nl_clock_text(uint64_t seconds, char *buf, size_t size);

#endif
