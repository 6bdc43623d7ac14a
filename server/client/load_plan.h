/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What `load` is asked to do, and how that is shared out among its threads. Pure.
 */
#ifndef NL_LOAD_PLAN_H
#define NL_LOAD_PLAN_H

#include "load_keys.h"
#include "load_schedule.h"
#include "target.h"

#include <numaprobe/bitmap.h>

enum { NL_LOAD_CONNECTIONS_MAX = 65536, NL_LOAD_THREADS_MAX = 1024 };

#define NL_LOAD_SECONDS_MAX 1e6
#define NL_LOAD_RATE_MAX 1e9
#define NL_LOAD_REQUESTS_MAX (UINT64_C(1) << 40)

struct nl_load_plan {
	const struct nl_target *target;
	unsigned connections;
	unsigned threads;
	uint64_t warmup_ns;
	uint64_t duration_ns; /* after the warm-up; 0 = until so many requests */
	uint64_t requests;    /* after the warm-up; 0 = for duration_ns */

	/*
	 * Open loop: a request is meant to be sent at a time that does not depend on replies, and its
	 * latency counts from then. 0 = closed loop: the next one is sent when a reply is complete.
	 */
	double rate_per_s; /* of all threads */
	enum nl_arrivals arrivals;

	struct nl_load_keys keys;
	double set_share; /* of the requests; the others are GETs */
	uint64_t seed;
	bool verifies; /* the stamp at the beginning of each value that comes */
	struct np_bitmap
		cpus; /* thread i runs on the i-th of them; empty = where the kernel likes */
};

/* "100000", "250K", "1.5M" a second (1000-based), or -EINVAL with "@option: ..." */
int nl_load_rate_parse(const char *option, const char *text, double *ret, struct np_error *err);

/* Whether it can be done as it stands. -EINVAL: err names the option */
int nl_load_plan_check(const struct nl_load_plan *plan, struct np_error *err);

void nl_load_plan_release(struct nl_load_plan *plan);

/* The part of @total that a thread has: all parts differ by 1 at most. */
uint64_t nl_load_part(uint64_t total, unsigned threads, unsigned thread);

/* A thread's rate: as its connections. */
double nl_load_part_rate(const struct nl_load_plan *plan, unsigned thread);

/* A seed for one thread's generator of one @purpose, different for each. */
uint64_t nl_load_part_seed(const struct nl_load_plan *plan, unsigned thread, unsigned purpose);

/* The CPU of a thread; -1 = it has none of its own. */
int nl_load_part_cpu(const struct nl_load_plan *plan, unsigned thread);

#endif
