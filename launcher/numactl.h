/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun called under the name numactl: numactl's options and no others, one exit status for all
 * failures, and policies for shared memory. A link "numactl" in PATH lets scripts that call numactl
 * go on unchanged.
 */
#ifndef NR_NUMACTL_H
#define NR_NUMACTL_H

#include "args.h"

#include <numarun/shared_policy.h>

/* All failures of numactl's own; the program's status is passed on. */
enum { NR_NUMACTL_FAILED = 1 };

/* What is done with shared memory, in the order of the options. */
enum nr_numactl_step {
	NR_STEP_POLICY, /* the one memory policy */
	NR_STEP_TOUCH,
	NR_STEP_VERIFY,
	NR_STEP_DUMP,
	NR_STEP_DUMP_NODES,
};

struct nr_numactl_args {
	struct nr_args base; /* CPUs, memory policy, --show, --hardware and the program */

	struct nr_shared_request shared;
	const char *shared_option; /* "--file" or "--shm"; NULL = a program is to be run */
	const char *range_option;  /* the last of --length, --offset … that came before it */
	bool huge;
	bool strict;                 /* seen so far */
	bool policy_is_strict;       /* --strict stood before the policy */
	bool done;                   /* --show was seen: numactl reads no further */
	enum nr_numactl_step *steps; /* freed by nr_numactl_main() */
	size_t step_count;
};

/* Is this argv[0], which may be NULL, numactl or a path that ends in it? */
bool nr_is_numactl(const char *argv0);

/*
 * The whole program under that name. @launch does what is asked of CPUs, memory, --show and
 * --hardware, prints its own errors and returns 0 or another status; or it becomes the program.
 */
int nr_numactl_main(int argc, char **argv, int (*launch)(struct nr_args *args));

/* Carries out the steps, and prints what they ask for; on failure err says why. */
int nr_numactl_shared(const struct nr_numactl_args *args, struct np_error *err);

#endif
