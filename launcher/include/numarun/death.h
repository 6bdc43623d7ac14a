/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why a signal ended a program, where the kernel leaves a trace of it: the counters of its
 * out-of-memory killer, the limits of the cgroup and the pools of huge pages, before and after.
 */
#ifndef NUMARUN_DEATH_H
#define NUMARUN_DEATH_H

#include <numarun/plan.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct nr_vitals; /* opaque */

/*
 * Reads, below @root (NULL = "/"), what nr_death_explain() will compare with: of the nodes that may
 * be allocated from, and of the cgroup that @pid is in (0 = the caller; its children begin there).
 * The caller ends *ret with nr_vitals_free(). A failure means no explanations later, and is no
 * reason not to run the program.
 *
 *   -EINVAL  a file that is garbage; err names it
 *   -ESRCH   no such process
 *   -ENOMEM
 *   other    of open(2) and read(2)
 */
int nr_vitals_load(const char *root, const struct np_topology *topology, pid_t pid,
                   struct nr_vitals **ret, struct np_error *err);

/* Accepts NULL. */
void nr_vitals_free(struct nr_vitals *vitals);

/*
 * Explains the end of a program that ran under @plan since @before was read, by its status from
 * waitpid(2), in one sentence that begins with "killed by": a new string in *ret that the caller
 * frees, or NULL where nothing is known that the status does not say itself. It claims no more than
 * the counters show: they tell that something was killed, not always that it was this program, and
 * the dead give back what they had before it can be counted.
 *
 * Errors as nr_vitals_load().
 */
int nr_death_explain(const char *root, const struct nr_vitals *before, const struct nr_plan *plan,
                     int wait_status, char **ret, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
