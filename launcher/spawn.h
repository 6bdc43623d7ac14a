/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Starts one program as a child with its placement, so that a failure in the child, up to exec(),
 * comes back as an error of the parent.
 */
#ifndef NR_SPAWN_H
#define NR_SPAWN_H

#include <numaprobe/error.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct nr_claim;
struct nr_sched;

struct nr_spawn {
	char *const *command;
	char *const *environment;
	const struct nr_sched *sched; /* NULL: as inherited */
	const struct nr_claim *claim; /* slots that the child holds too; NULL = none */
	const sigset_t *signals;      /* the child's signal mask */
	bool ignores_children;        /* it gets SIGCHLD ignored, as we were started */
	bool own_group;               /* a process group of its own, nothing to read from */
	int output;                   /* the child's standard output and error; -1 = as ours */
	int errors;
};

/*
 * Forks and executes; the calling thread's affinity and memory policy are the child's. When this
 * process dies, the child gets SIGTERM. *ret_pid is the child, which runs.
 *
 *   -ENOENT, -EACCES, -ENOEXEC  as nr_exec()
 *   other                       of fork(2), or as nr_sched_set()
 */
int nr_spawn(const struct nr_spawn *spawn, pid_t *ret_pid, struct np_error *err);

#endif
