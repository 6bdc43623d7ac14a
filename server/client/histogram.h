/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Latencies counted in buckets that are fine near 0 and coarse far out, as HdrHistogram has them: a
 * value is known to 1 part in 1024, memory is fixed (about 450 KiB), and adding costs a few
 * nanoseconds. For live figures and for `load`; `run` keeps every sample instead.
 */
#ifndef NL_HISTOGRAM_H
#define NL_HISTOGRAM_H

#include "../../probe/base/distribution.h"
#include <stdint.h>

struct nl_histogram; /* opaque; one writer */

struct nl_histogram *nl_histogram_create(void); /* NULL: no memory */
void nl_histogram_free(struct nl_histogram *histogram);

void nl_histogram_add(struct nl_histogram *histogram, uint64_t ns);
void nl_histogram_merge(struct nl_histogram *into, const struct nl_histogram *from);
void nl_histogram_clear(struct nl_histogram *histogram);

uint64_t nl_histogram_count(const struct nl_histogram *histogram);
uint64_t nl_histogram_min(const struct nl_histogram *histogram); /* exactly; 0 when empty */
uint64_t nl_histogram_max(const struct nl_histogram *histogram); /* exactly */
double nl_histogram_mean(const struct nl_histogram *histogram);

/* The greatest value of the bucket with the nearest-rank percentile, never beyond max. 0 when empty. */
uint64_t nl_histogram_at(const struct nl_histogram *histogram, struct np_share share);

#endif
