/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Foreign processes that were pinned onto CPUs which a run wants for itself: no registry knows
 * them, and no lock keeps them off.
 *
 * A thread counts as pinned when somebody narrowed its CPUs (Cpus_allowed_list of
 * /proc/PID/task/TID/status, proc(5)) to fewer than are online, and not to those that the caller
 * itself was started on: a container's or a slice's cpuset is the same for all in it.
 */
#ifndef NR_PINNED_H
#define NR_PINNED_H

#include "process.h"

struct nr_pinned {
	pid_t pid;
	char name[NR_PROCESS_NAME_SIZE]; /* printable ASCII */
	struct np_bitmap cpus;           /* of its threads that are pinned onto wanted CPUs */
	unsigned thread_count;           /* how many these are */
};

/* What is sought. */
struct nr_pinned_query {
	const struct np_bitmap *wanted;
	const struct np_bitmap *online;
	const struct np_bitmap *inherited; /* the caller's own CPUs, before it narrowed them */
	pid_t self;                        /* passed over */
};

/*
 * The processes with such threads, by PID, in *ret, which the caller ends with nr_pinned_free().
 * All threads of the first NR_PINNED_THREADS_MAX are looked at. Kernel threads are passed over, and
 * so is what ends meanwhile or does not show itself (hidepid=2).
 *
 *   -ENOENT  no /proc
 *   -ENOMEM
 */
int nr_pinned_find(const struct np_sysroot *root, const struct nr_pinned_query *query,
                   struct nr_pinned **ret, size_t *ret_count, struct np_error *err);
void nr_pinned_free(struct nr_pinned *pinned, size_t count);

/* The threads of one process that are looked at. */
#define NR_PINNED_THREADS_MAX 4096

#endif
