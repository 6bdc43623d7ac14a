/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan in the words of other tools: what they can express, and in comments what they cannot.
 */
#ifndef NR_EXPORT_H
#define NR_EXPORT_H

#include <numarun/plan.h>
#include <numarun/sched.h>
#include <stdio.h>

enum nr_export_format {
	NR_EXPORT_SYSTEMD, /* a [Service] section (systemd.exec(5)) */
	NR_EXPORT_TASKSET, /* these four: a line for sh */
	NR_EXPORT_NUMACTL,
	NR_EXPORT_SLURM,
	NR_EXPORT_DOCKER,
	NR_EXPORT_COUNT
};

/* "systemd, taskset, numactl, slurm or docker"; for messages and help. */
#define NR_EXPORT_NAMES "systemd, taskset, numactl, slurm or docker"

/* -EINVAL  not one of NR_EXPORT_NAMES */
int nr_export_parse(const char *name, enum nr_export_format *ret, struct np_error *err);

/*
 * Prints comments, which begin with "# ", and then the section or the line. Words of the command are
 * quoted so that the tool gives the program exactly these. @role heads it where there are several,
 * NULL is ok; so is a @sched that sets nothing. Without a command (NULL or empty) the word PROGRAM
 * stands for it.
 *
 *   -ENOMEM
 *   other    of write(2)
 */
int nr_export(enum nr_export_format format, const struct nr_plan *plan,
              const struct nr_sched *sched, const char *role, char *const command[], FILE *out);

#endif
