/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the measuring thread runs: the CPUs that it may use, the one it is on, that one's node.
 */
#ifndef NL_PLACE_H
#define NL_PLACE_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stddef.h>

struct nl_place {
	struct np_bitmap cpus;   /* it may run on */
	struct np_bitmap before; /* on these before it was pinned */
	unsigned cpu;            /* now */
	unsigned node;           /* that CPU's */
};

/*
 * Pins the calling thread to @cpu, unless that is -1, and says where it is then; read back, as success
 * is not obedience. The caller ends *ret with nl_place_release().
 *
 *   -EINVAL  the CPU is offline, not there, or not ours; err has those that are
 *   -ENOMEM; other of sched_setaffinity(2)
 */
int nl_place_take(int cpu, struct nl_place *ret, struct np_error *err);
void nl_place_release(struct nl_place *place);

/* "CPU 1 of node 0", "any of CPUs 0-3, now CPU 1 of node 0". Returns @buf. */
const char *nl_place_text(const struct nl_place *place, char *buf, size_t size);

#endif
