/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include "../probe/base/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "numarun " NUMAKIT_VERSION;

enum {
	OPT_NEAR = 0x100,
	OPT_NEAR_NODE,
	OPT_TIER,
	OPT_COUNT,
	OPT_SMT,
	OPT_STRICT,
	OPT_FAR,
	OPT_DRY_RUN,
	OPT_EXPLAIN,
	OPT_ROOT,
	OPT_XML,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Near a device:", 1 },
	{ "near", OPT_NEAR, "DEV", 0, "run on the CPUs of the nearest tier, with local memory", 1 },
	{ "tier", OPT_TIER, "N", 0, "begin with tier N instead of the nearest, 1", 1 },
	{ "count", OPT_COUNT, "N", 0,
	  "take N cores, one CPU of each; what the tier lacks comes from the next", 1 },
	{ "smt", OPT_SMT, NULL, 0, "with --count: take all CPUs of each core", 1 },
	{ "near-node", OPT_NEAR_NODE, "NODE", 0,
	  "take the device to be on NODE, whatever the host says", 1 },
	{ "far", OPT_FAR, NULL, 0, "bind memory to the farthest node that has some", 1 },
	{ "strict", OPT_STRICT, NULL, 0, "fail rather than use a farther tier or fewer CPUs", 1 },

	{ NULL, 0, NULL, 0, "CPUs, as numactl has them:", 2 },
	{ "cpunodebind", 'N', "NODES", 0, "run on the CPUs of NODES", 2 },
	{ "cpubind", 'c', "NODES", OPTION_HIDDEN, NULL, 2 },
	{ "physcpubind", 'C', "CPUS", 0, "run on CPUS", 2 },
	{ "all", 'a', NULL, 0, "sets behind it may leave the inherited affinity", 2 },

	{ NULL, 0, NULL, 0, "Memory, as numactl has it:", 3 },
	{ "membind", 'm', "NODES", 0, "allocate from NODES only", 3 },
	{ "interleave", 'i', "NODES", 0, "spread pages over NODES in turn", 3 },
	{ "weighted-interleave", 'w', "NODES", 0,
	  "spread pages by the weights set in sysfs (Linux 6.9)", 3 },
	{ "preferred", 'p', "NODE", 0, "allocate from NODE as long as it has memory", 3 },
	{ "preferred-many", 'P', "NODES", 0, "allocate from NODES as long as they have memory", 3 },
	{ "localalloc", 'l', NULL, 0, "allocate on the node of the CPU that asks", 3 },
	{ "balancing", 'b', NULL, 0, "with -m: let the kernel's NUMA balancing move pages", 3 },

	{ NULL, 0, NULL, 0, "Show:", 4 },
	{ "show", 's', NULL, 0, "print what the kernel has set, and run nothing", 4 },
	{ "hardware", 'H', NULL, 0, "print nodes and distances, and run nothing", 4 },
	{ "dry-run", OPT_DRY_RUN, NULL, 0, "print the plan as JSON, and run nothing", 4 },
	{ "explain", OPT_EXPLAIN, NULL, 0, "say on standard error what was chosen and why", 4 },
	{ "root", OPT_ROOT, "DIR", 0, "with --dry-run or -H: plan for the host captured in DIR",
	  4 },
	{ "xml", OPT_XML, "FILE", 0, "with --dry-run or -H: plan for an hwloc XML", 4 },
	{ 0 },
};

static int take_cpus(struct nr_args *args, enum nr_cpu_choice choice, const char *option,
                     const char *text)
{
	struct nr_set_arg *grown =
		realloc(args->cpus, (args->cpus_count + 1) * sizeof(struct nr_set_arg));

	if (!grown)
		return ENOMEM;
	args->cpus = grown;
	grown[args->cpus_count++] = (struct nr_set_arg){
		.choice = choice,
		.option = option,
		.text = text,
		.all = args->all,
	};
	args->cpu_choice = choice;
	return 0;
}

static int take_memory(struct nr_args *args, enum nr_policy_mode mode, const char *option,
                       const char *text)
{
	if (args->memory.option)
		return -np_error_set(&args->err, EINVAL,
		                     "%s and %s: two memory policies contradict each other, give "
		                     "one",
		                     args->memory.option, option);
	args->policy_mode = mode;
	args->memory = (struct nr_set_arg){ .option = option, .text = text, .all = args->all };
	return 0;
}

/* numactl's "same" stands for the nodes that the option before it named. */
static int take_nodes(struct nr_args *args, const char *option, const char **text)
{
	if (strcmp(*text, "same") == 0) {
		if (!args->last_nodes)
			return -np_error_set(&args->err, EINVAL,
			                     "%s: 'same' needs an option with nodes before it",
			                     option);
		*text = args->last_nodes;
	}
	args->last_nodes = *text;
	return 0;
}

/* The options that carry a set of nodes. */
static error_t parse_nodes(int key, const char *text, struct nr_args *args)
{
	static const struct {
		const char *option;
		int key;
		enum nr_policy_mode mode;
	} policies[] = {
		{ "--membind", 'm', NR_POLICY_BIND },
		{ "--interleave", 'i', NR_POLICY_INTERLEAVE },
		{ "--weighted-interleave", 'w', NR_POLICY_WEIGHTED },
		{ "--preferred", 'p', NR_POLICY_PREFERRED },
		{ "--preferred-many", 'P', NR_POLICY_PREFERRED_MANY },
	};
	int rc;

	if (key == 'N' || key == 'c') {
		rc = take_nodes(args, "--cpunodebind", &text);
		return rc ? rc : take_cpus(args, NR_CPUS_NODES, "--cpunodebind", text);
	}
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		if (policies[i].key != key)
			continue;
		rc = take_nodes(args, policies[i].option, &text);
		return rc ? rc : take_memory(args, policies[i].mode, policies[i].option, text);
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse_near(int key, const char *arg, struct nr_args *args)
{
	switch (key) {
	case OPT_NEAR:
		args->near = arg;
		return 0;
	case OPT_NEAR_NODE:
		args->has_near_node = true;
		return -np_cli_number("--near-node", arg, 0, NP_BITMAP_INDEX_MAX, &args->near_node,
		                      &args->err);
	case OPT_TIER:
		return -np_cli_number("--tier", arg, 1, NP_BITMAP_INDEX_MAX, &args->tier,
		                      &args->err);
	case OPT_COUNT:
		return -np_cli_number("--count", arg, 1, NP_BITMAP_INDEX_MAX, &args->count,
		                      &args->err);
	case OPT_SMT:
		args->smt = true;
		return 0;
	case OPT_STRICT:
		args->strict = true;
		return 0;
	case OPT_FAR:
		args->far = true;
		return take_memory(args, NR_POLICY_BIND, "--far", NULL);
	default:
		return parse_nodes(key, arg, args);
	}
}

static error_t parse_show(int key, char *arg, struct argp_state *state, struct nr_args *args)
{
	switch (key) {
	case 's':
		args->show = true;
		return 0;
	case 'H':
		args->hardware = true;
		return 0;
	case OPT_DRY_RUN:
		args->dry_run = true;
		return 0;
	case OPT_EXPLAIN:
		args->explain = true;
		return 0;
	case OPT_ROOT:
		args->root = arg;
		return 0;
	case OPT_XML:
		args->xml = arg;
		return 0;
	case ARGP_KEY_ARG:
		/* The program; all that follows is its own. */
		args->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->err);
		return 0;
	default:
		return parse_near(key, arg, args);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nr_args *args = state->input;

	switch (key) {
	case 'C':
		return take_cpus(args, NR_CPUS_LIST, "--physcpubind", arg);
	case 'l':
		return take_memory(args, NR_POLICY_LOCAL, "--localalloc", NULL);
	case 'a':
		args->all = true;
		if (args->cpus_count > 0 || args->memory.text)
			return -np_error_set(
				&args->err, EINVAL,
				"--all counts for the options behind it: put it first");
		return 0;
	case 'b':
		args->balancing = true;
		if (args->memory.option)
			return -np_error_set(
				&args->err, EINVAL,
				"--balancing counts for the --membind behind it: put it "
				"first");
		return 0;
	default:
		return parse_show(key, arg, state, args);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PROGRAM [ARGUMENT...]",
	.doc = "Runs a program near a device, with the CPUs and the memory that are asked for, and "
	       "checks that the kernel obeyed before it starts.\v"
	       "DEV is a network interface, a PCI address, or one of netdev:DEV, pci:ADDRESS, "
	       "block:DISK, file:PATH and ip:HOST. NODES and CPUS are numactl's sets: 0,2-3, all, "
	       "+0 (relative), !0 (all but), and for NODES a DEV with its prefix.\n\n"
	       "Exit status: the program's; 125 numarun failed and nothing was run, 126 PROGRAM "
	       "cannot be executed, 127 it was not found.\n\n"
	       "Example: numarun --near eth0 --count 4 -- ./server",
};

/* Options that need others, or exclude them. */
static int check(struct nr_args *args)
{
	struct np_error *err = &args->err;
	const char *orphan = args->tier            ? "--tier"
	                     : args->count         ? "--count"
	                     : args->has_near_node ? "--near-node"
	                                           : NULL;

	if (args->near && args->cpus_count > 0)
		return np_error_set(err, EINVAL, "--near and %s both choose the CPUs: give one",
		                    args->cpus[0].option);
	if (!args->near && orphan)
		return np_error_set(err, EINVAL, "%s needs --near DEV", orphan);
	if (args->smt && !args->count)
		return np_error_set(err, EINVAL,
		                    "--smt needs --count N (without it all CPUs of "
		                    "the tier are taken)");
	if (args->balancing && (args->policy_mode != NR_POLICY_BIND || args->far))
		return np_error_set(err, EINVAL, "--balancing needs --membind NODES");
	if (args->root && args->xml)
		return np_error_set(err, EINVAL, "--root and --xml both say which host: give one");
	if ((args->root || args->xml) && !args->dry_run && !args->hardware)
		return np_error_set(
			err, EINVAL,
			"%s describes another machine, so nothing is run: add --dry-run "
			"to see the plan",
			args->root ? "--root" : "--xml");
	if (!args->command && !args->show && !args->hardware && !args->dry_run)
		return np_error_set(err, EINVAL, "which program? (see --help)");
	return 0;
}

int nr_args_parse(int argc, char **argv, struct nr_args *ret)
{
	argp_err_exit_status = NR_EXIT_FAILED;
	*ret = (struct nr_args){ 0 };
	if (np_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, ret, &ret->err) < 0)
		return -EINVAL;
	if (ret->near)
		ret->cpu_choice = NR_CPUS_NEAR;
	return check(ret);
}

void nr_args_release(struct nr_args *args)
{
	free(args->cpus);
	args->cpus = NULL;
	args->cpus_count = 0;
}
