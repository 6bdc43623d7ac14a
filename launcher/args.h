/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun's command line, as it was typed: numactl's options with numactl's meanings, and ours.
 */
#ifndef NR_ARGS_H
#define NR_ARGS_H

#include <numarun/plan.h>
#include <stdbool.h>

/* Exit statuses of our own, as env(1) and timeout(1) have them; else the program's. */
enum nr_exit { NR_EXIT_FAILED = 125, NR_EXIT_NOT_EXECUTABLE = 126, NR_EXIT_NOT_FOUND = 127 };

/* A set as typed. --all counts for the sets that stand behind it, as in numactl. */
struct nr_set_arg {
	enum nr_cpu_choice choice; /* LIST or NODES; for memory it says nothing */
	const char *option;        /* "--membind", for messages; NULL = not given */
	const char *text;          /* NULL for an option without a set (--localalloc, --far) */
	bool all;
};

struct nr_args {
	enum nr_cpu_choice cpu_choice;
	/* Every -N and -C, to be checked; the last one counts. Freed by nr_args_release(). */
	struct nr_set_arg *cpus;
	size_t cpus_count;
	const char *near;
	bool has_near_node;
	unsigned near_node;
	unsigned tier;
	unsigned count;
	bool smt;
	bool strict;

	enum nr_policy_mode policy_mode;
	struct nr_set_arg memory;
	bool far;
	bool balancing;

	bool show;
	bool hardware;
	bool dry_run;
	bool explain;
	const char *root;
	const char *xml;
	char **command; /* the program and its arguments, in argv; NULL = none */

	bool all;               /* seen so far */
	const char *last_nodes; /* what "same" stands for */
	struct np_error err;
};

/*
 * Fills *ret from the command line; --help and --version print and exit.
 *
 *   -EINVAL  a wrong one; ret->err says what
 */
int nr_args_parse(int argc, char **argv, struct nr_args *ret);
void nr_args_release(struct nr_args *args);

#endif
