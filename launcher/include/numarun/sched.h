/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scheduling policies (sched(7)), and what they do to a program that spins on its core.
 */
#ifndef NUMARUN_SCHED_H
#define NUMARUN_SCHED_H

#include <numarun/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero-initialised leaves the inherited policy alone. */
struct nr_sched {
	bool set;
	int policy;        /* SCHED_OTHER, _BATCH, _IDLE, _FIFO or _RR */
	unsigned priority; /* 1..99 for FIFO and RR, else 0 */
};

/*
 * From this priority on a program is above the threads of the kernel that serve interrupts
 * (kernel/irq/manage.c and sched_set_fifo(): half of the 99 there are).
 */
#define NR_SCHED_IRQ_PRIORITY 50u

/*
 * "other", "batch", "idle", "fifo:10", "rr:10"; without a number fifo and rr have priority 1.
 *
 *   -EINVAL  none of these
 */
int nr_sched_parse(const char *text, struct nr_sched *ret, struct np_error *err);

/* "fifo:10", "other", and "inherited" where none is set; a new string. NULL: no memory. */
char *nr_sched_print(const struct nr_sched *sched);

/* The part of it before the colon, "fifo". Never NULL. */
const char *nr_sched_name(const struct nr_sched *sched);

/*
 * Refuses what starves a program's own helper threads, which inherit policy and CPUs, or the
 * kernel's: a real-time policy on one CPU, or at a priority of NR_SCHED_IRQ_PRIORITY and more. With
 * @forced that becomes a warning of the plan, as is said what the kernel does to hogs. Cores are
 * told apart where the topology has NP_TOPOLOGY_GROUPS.
 *
 *   -EPERM    refused; err says why, and what is safe
 *   -EINVAL  proc/sys/kernel/sched_rt_runtime_us, or its period, is garbage
 *   -ENOMEM
 */
int nr_sched_check(const char *root, const struct np_topology *topology,
                   const struct nr_sched *sched, bool forced, struct nr_plan *plan,
                   struct np_error *err);

/*
 * Sets it for the calling thread, which fork() and exec() pass on, and reads it back. Nothing is
 * changed on failure.
 *
 *   -EPERM  not permitted; err says what would permit it
 *   -EXDEV  the kernel has something else than what was asked
 *   other   of sched_setscheduler(2)
 */
int nr_sched_set(const struct nr_sched *sched, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
