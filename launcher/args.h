/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun's command line, as it was typed: numactl's options with numactl's meanings, and ours.
 */
#ifndef NR_ARGS_H
#define NR_ARGS_H

#include "export.h"

#include <numarun/irq.h>
#include <numarun/plan.h>
#include <numarun/preflight.h>
#include <numarun/sched.h>
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
	/* Every -N and -C, to be checked; the last one counts. Freed by nr_args_release(). */
	struct nr_set_arg *cpus;
	size_t cpus_count;
	struct nr_set_arg memory;
	const char *last_nodes; /* what "same" stands for */

	/* Texts as typed, some for parsers elsewhere; NULL = not given. */
	const char *near;
	const char *roles_file;
	const char *registry;
	const char *verify_file;
	const char *counters_file;
	const char *root;
	const char *xml;
	/* The program and its arguments, or with --roles the roles to start, in argv; NULL = none. */
	char **command;

	uint64_t verify_every_ns; /* 0 = not given */
	struct nr_need need;      /* --mem-size, --huge-pages; zero = not given */
	struct nr_sched sched;

	enum nr_export_format export_format; /* with exports */
	enum nr_cpu_choice cpu_choice;
	enum nr_policy_mode policy_mode;
	enum nr_fallback fallback;
	enum nr_irq_mode irq_mode;
	unsigned near_node;
	unsigned tier;
	unsigned count;
	unsigned pid; /* 0 = none */

	bool has_near_node;
	bool smt;
	bool strict;
	bool far;
	bool balancing;
	bool all; /* seen so far */
	bool force;
	bool exports;
	bool exclusive;
	bool verifies;
	bool counts;
	bool repin;
	bool steers_irqs;
	bool migrate;
	bool slots;
	bool irq_restore;
	bool show;
	bool hardware;
	bool cpu_ranges; /* with hardware: "0-3" rather than "0 1 2 3" */
	bool dry_run;
	bool explain;

	struct np_error err;
};

/*
 * Fills *ret from the command line; --help and --version print and exit.
 *
 *   -EINVAL  a wrong one; ret->err says what
 */
int nr_args_parse(int argc, char **argv, struct nr_args *ret);
void nr_args_release(struct nr_args *args);

/* True when a parent is to stay behind the program. */
bool nr_args_supervises(const struct nr_args *args);

/*
 * Takes one of the options that numarun has from numactl, by its letter: N c C a m i w p P l b.
 *
 *   0, or a positive errno with args->err filled, as argp wants it
 *   ARGP_ERR_UNKNOWN  another option
 */
int nr_args_parse_placement(int key, const char *arg, struct nr_args *args);

#endif
