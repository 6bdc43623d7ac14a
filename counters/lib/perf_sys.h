/* SPDX-License-Identifier: BSD-3-Clause */
/* The system calls of perf events, each with its error in the result: 0 or more, or -errno. */
#ifndef NC_PERF_SYS_H
#define NC_PERF_SYS_H

#include <linux/perf_event.h>
#include <numacount/counter.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * struct perf_event_attr with config3, which it has since Linux 6.3 (PERF_ATTR_SIZE_VER8), whatever
 * headers we are built with.
 */
union nc_perf_attr {
	struct perf_event_attr attr;
	uint64_t words[17];
};

/*
 * A counter of a whole CPU or box; one that leads a group waits for nc_perf_sys_enable(). No
 * exclude bits: drivers of boxes refuse them (PERF_PMU_CAP_NO_EXCLUDE). @type is that of the PMU
 * now, as it is a new one after a driver was loaded again.
 */
void nc_perf_attr_fill(const struct nc_code *code, uint32_t type, bool leads,
                       union nc_perf_attr *ret);

/* @leader is the file of the group's first counter, or -1. Returns the new file. */
int nc_perf_sys_open(union nc_perf_attr *attr, unsigned cpu, int leader);

/* Enables a group by its leader. */
int nc_perf_sys_enable(int fd);

/* read(2); the length. */
ssize_t nc_perf_sys_read(int fd, uint64_t *buf, size_t size);

/* The present text of a file of sysfs that is kept open; its length. */
ssize_t nc_perf_sys_look(int fd, char *buf, size_t size);

#endif
