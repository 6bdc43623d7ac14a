/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters by hand, of the kernel's software events: cpu-clock counts 10^9 a second on each CPU, on
 * any machine, so that it can stand for a box of which it is known what it counted.
 */
#ifndef SOFTWARE_H
#define SOFTWARE_H

#include "../../../counters/lib/perf_sys.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/* One counter of NC_CLASS_MEMORY_READ, cpu-clock, one byte a count. */
static inline struct nc_counter software_counter(const struct nc_pmu *pmu, unsigned cpu,
                                                 unsigned socket, unsigned group)
{
	return (struct nc_counter){
		.what = NC_CLASS_MEMORY_READ,
		.name = "cpu-clock",
		.box = pmu->name,
		.units = 1,
		.per = 1,
		.has_socket = true,
		.socket = socket,
		.pmu = pmu,
		.cpu = cpu,
		.code = { PERF_TYPE_SOFTWARE, { PERF_COUNT_SW_CPU_CLOCK } },
		.group = group,
	};
}

/* A list that nc_counters_release() frees. */
static inline struct nc_counters software_list(const struct nc_counter *items, size_t count)
{
	struct nc_counters counters = { .items = calloc(count, sizeof(*items)), .count = count };

	assert_non_null(counters.items);
	memcpy(counters.items, items, count * sizeof(*items));
	return counters;
}

static inline uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Lets that much time pass: what the events count. */
static inline void pass_time_ns(uint64_t ns)
{
	struct timespec rest = { .tv_sec = (time_t)(ns / NS_PER_S),
		                 .tv_nsec = (long)(ns % NS_PER_S) };

	while (nanosleep(&rest, &rest) < 0)
		;
}

/* Skips the test where the machine has one CPU, or the kernel permits no counting. */
static inline void need_counting(void)
{
	struct nc_code code = { PERF_TYPE_SOFTWARE, { PERF_COUNT_SW_CPU_CLOCK } };
	union nc_perf_attr attr;

	nc_perf_attr_fill(&code, code.type, true, &attr);
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		int fd = nc_perf_sys_open(&attr, cpu, -1);

		if (fd < 0) {
			print_message("skipped: a software event on CPU %u: %s\n", cpu,
			              strerror(-fd));
			skip();
		}
		close(fd);
	}
}

#endif
