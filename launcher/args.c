/* SPDX-License-Identifier: BSD-3-Clause */
#include "args.h"

#include "args_check.h"

#include "../probe/base/cli.h"

#include <errno.h>
#include <stddef.h>
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
	OPT_MEM_SIZE,
	OPT_HUGE_PAGES,
	OPT_MEM_FALLBACK,
	OPT_SCHED,
	OPT_FORCE,
	OPT_ROLES,
	OPT_EXCLUSIVE,
	OPT_REGISTRY,
	OPT_VERIFY,
	OPT_VERIFY_EVERY,
	OPT_COUNTERS,
	OPT_REPIN,
	OPT_IRQ,
	OPT_PID,
	OPT_MIGRATE,
	OPT_DRY_RUN,
	OPT_EXPLAIN,
	OPT_EXPORT,
	OPT_SLOTS,
	OPT_IRQ_RESTORE,
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
	{ "strict", OPT_STRICT, NULL, 0,
	  "fail rather than use a farther tier or fewer CPUs, or lose the placement later", 1 },
	{ "irq", OPT_IRQ, "beside", OPTION_ARG_OPTIONAL,
	  "with --near: steer the card's interrupts to these cores, or to others of their L3, "
	  "until the program ends",
	  1 },

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

	{ NULL, 0, NULL, 0, "Before it starts:", 4 },
	{ "mem-size", OPT_MEM_SIZE, "SIZE", 0, "check that the nodes have room for SIZE (8G)", 4 },
	{ "huge-pages", OPT_HUGE_PAGES, "N[:SIZE]", 0,
	  "check that the nodes have N free huge pages (512, 4:1G)", 4 },
	{ "mem-fallback", OPT_MEM_FALLBACK, "WHAT", 0,
	  "where a container refuses memory policies: fail (default), warn, or cpu-only", 4 },
	{ "sched", OPT_SCHED, "POLICY[:PRIORITY]", 0, "run under other, batch, idle, fifo or rr",
	  4 },
	{ "force", OPT_FORCE, NULL, 0, "with --sched: also where it is known to hurt", 4 },

	{ NULL, 0, NULL, 0, "While it runs, with a parent that stays:", 5 },
	{ "exclusive", OPT_EXCLUSIVE, NULL, 0, "share no core with other --exclusive runs", 5 },
	{ "verify", OPT_VERIFY, "FILE", OPTION_ARG_OPTIONAL,
	  "check every thread's placement again and again; write the result to FILE as JSON", 5 },
	{ "verify-every", OPT_VERIFY_EVERY, "SECONDS", 0, "how often, 10 unless given", 5 },
	{ "counters", OPT_COUNTERS, "FILE", OPTION_ARG_OPTIONAL,
	  "count what crosses memory controllers and links; write rows to FILE (.csv, .jsonl)", 5 },
	{ "repin", OPT_REPIN, NULL, 0, "pin threads again that lost their CPUs", 5 },
	{ "roles", OPT_ROLES, "FILE", 0,
	  "start the programs of a role file together: a server and its clients", 5 },

	{ NULL, 0, NULL, 0, "Instead of running a program:", 6 },
	{ "pid", OPT_PID, "PID", 0, "move the threads of a process that runs", 6 },
	{ "migrate", OPT_MIGRATE, NULL, 0, "with --pid: move its pages too", 6 },
	{ "slots", OPT_SLOTS, NULL, 0, "list who holds cores by --exclusive", 6 },
	{ "registry", OPT_REGISTRY, "DIR", 0, "where they are noted, /run/numarun unless given",
	  6 },
	{ "irq-restore", OPT_IRQ_RESTORE, NULL, 0,
	  "put interrupts back that a killed --irq run left steered", 6 },

	{ NULL, 0, NULL, 0, "Show:", 7 },
	{ "show", 's', NULL, 0, "print what the kernel has set, and run nothing", 7 },
	{ "hardware", 'H', NULL, 0, "print nodes and distances, and run nothing", 7 },
	{ "dry-run", OPT_DRY_RUN, NULL, 0, "print the plan as JSON, and run nothing", 7 },
	{ "explain", OPT_EXPLAIN, NULL, 0, "say on standard error what was chosen and why", 7 },
	{ "export", OPT_EXPORT, "FORM", 0,
	  "print the plan for systemd, taskset, numactl, slurm or docker, and run nothing", 7 },
	{ "root", OPT_ROOT, "DIR", 0,
	  "with --dry-run, --export or -H: plan for the host captured in DIR", 7 },
	{ "xml", OPT_XML, "FILE", 0, "with --dry-run, --export or -H: plan for an hwloc XML", 7 },
	{ 0 },
};

enum { EVERY_MAX_S = 86400 };

enum option_kind { FLAG, TEXT, NUMBER };

/* Options that only set a member of struct nr_args. */
static const struct {
	int key;
	enum option_kind kind;
	size_t offset;
	const char *option; /* for messages about a number */
	unsigned min;
	unsigned max;
} plain_options[] = {
	{ OPT_NEAR, TEXT, offsetof(struct nr_args, near), NULL, 0, 0 },
	{ OPT_TIER, NUMBER, offsetof(struct nr_args, tier), "--tier", 1, NP_BITMAP_INDEX_MAX },
	{ OPT_COUNT, NUMBER, offsetof(struct nr_args, count), "--count", 1, NP_BITMAP_INDEX_MAX },
	{ OPT_PID, NUMBER, offsetof(struct nr_args, pid), "--pid", 1, INT32_MAX },
	{ OPT_SMT, FLAG, offsetof(struct nr_args, smt), NULL, 0, 0 },
	{ OPT_STRICT, FLAG, offsetof(struct nr_args, strict), NULL, 0, 0 },
	{ OPT_FORCE, FLAG, offsetof(struct nr_args, force), NULL, 0, 0 },
	{ OPT_ROLES, TEXT, offsetof(struct nr_args, roles_file), NULL, 0, 0 },
	{ OPT_EXCLUSIVE, FLAG, offsetof(struct nr_args, exclusive), NULL, 0, 0 },
	{ OPT_REGISTRY, TEXT, offsetof(struct nr_args, registry), NULL, 0, 0 },
	{ OPT_REPIN, FLAG, offsetof(struct nr_args, repin), NULL, 0, 0 },
	{ OPT_MIGRATE, FLAG, offsetof(struct nr_args, migrate), NULL, 0, 0 },
	{ OPT_SLOTS, FLAG, offsetof(struct nr_args, slots), NULL, 0, 0 },
	{ OPT_IRQ_RESTORE, FLAG, offsetof(struct nr_args, irq_restore), NULL, 0, 0 },
	{ 's', FLAG, offsetof(struct nr_args, show), NULL, 0, 0 },
	{ 'H', FLAG, offsetof(struct nr_args, hardware), NULL, 0, 0 },
	{ OPT_DRY_RUN, FLAG, offsetof(struct nr_args, dry_run), NULL, 0, 0 },
	{ OPT_EXPLAIN, FLAG, offsetof(struct nr_args, explain), NULL, 0, 0 },
	{ OPT_ROOT, TEXT, offsetof(struct nr_args, root), NULL, 0, 0 },
	{ OPT_XML, TEXT, offsetof(struct nr_args, xml), NULL, 0, 0 },
};

static error_t parse_plain(int key, const char *arg, struct nr_args *args)
{
	for (size_t i = 0; i < sizeof(plain_options) / sizeof(plain_options[0]); i++) {
		char *member = (char *)args + plain_options[i].offset;

		if (plain_options[i].key != key)
			continue;
		switch (plain_options[i].kind) {
		case FLAG:
			*(bool *)member = true;
			return 0;
		case TEXT:
			*(const char **)member = arg;
			return 0;
		case NUMBER:
			return -np_cli_number(plain_options[i].option, arg, plain_options[i].min,
			                      plain_options[i].max, (unsigned *)member, &args->err);
		}
	}
	return ARGP_ERR_UNKNOWN;
}

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

int nr_args_parse_placement(int key, const char *arg, struct nr_args *args)
{
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
		return parse_nodes(key, arg, args);
	}
}

static error_t parse_fallback(const char *arg, struct nr_args *args)
{
	static const struct {
		const char *word;
		enum nr_fallback fallback;
	} words[] = {
		{ "fail", NR_FALLBACK_FAIL },
		{ "warn", NR_FALLBACK_WARN },
		{ "cpu-only", NR_FALLBACK_CPU_ONLY },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].word, arg) == 0) {
			args->fallback = words[i].fallback;
			return 0;
		}
	}
	return -np_error_set(&args->err, EINVAL,
	                     "--mem-fallback: '%s' is not one of fail, warn, cpu-only", arg);
}

static error_t parse_irq(const char *arg, struct nr_args *args)
{
	args->steers_irqs = true;
	if (!arg)
		return 0;
	if (strcmp(arg, "beside") != 0)
		return -np_error_set(&args->err, EINVAL,
		                     "--irq: '%s' is unknown, there is --irq and --irq=beside",
		                     arg);
	args->irq_mode = NR_IRQ_BESIDE;
	return 0;
}

static error_t parse_every(const char *text, struct nr_args *args)
{
	static const double limits[] = { 0.1, EVERY_MAX_S };
	double seconds = 0;
	int rc = np_cli_decimal("--verify-every", "number of seconds", text, limits, &seconds,
	                        &args->err);

	args->verify_every_ns = (uint64_t)(seconds * 1e9);
	return -rc;
}

/* Options whose values have parsers elsewhere. */
static error_t parse_value(int key, const char *arg, struct nr_args *args)
{
	const char *option;
	int rc;

	switch (key) {
	case OPT_MEM_SIZE:
		option = "--mem-size";
		rc = nr_need_parse_size(arg, &args->need.memory_bytes, &args->err);
		break;
	case OPT_HUGE_PAGES:
		option = "--huge-pages";
		rc = nr_need_parse_huge(arg, &args->need, &args->err);
		break;
	case OPT_SCHED:
		option = "--sched";
		rc = nr_sched_parse(arg, &args->sched, &args->err);
		break;
	case OPT_EXPORT:
		option = "--export";
		args->exports = true;
		rc = nr_export_parse(arg, &args->export_format, &args->err);
		break;
	default:
		return nr_args_parse_placement(key, arg, args);
	}
	return rc < 0 ? -np_error_wrap(&args->err, rc, "%s", option) : 0;
}

/* Options that stand before others, or that carry more than a value. */
static error_t parse_special(int key, char *arg, struct nr_args *args)
{
	switch (key) {
	case OPT_NEAR_NODE:
		args->has_near_node = true;
		return -np_cli_number("--near-node", arg, 0, NP_BITMAP_INDEX_MAX, &args->near_node,
		                      &args->err);
	case OPT_FAR:
		args->far = true;
		return take_memory(args, NR_POLICY_BIND, "--far", NULL);
	case OPT_MEM_FALLBACK:
		return parse_fallback(arg, args);
	case OPT_IRQ:
		return parse_irq(arg, args);
	case OPT_VERIFY:
		args->verifies = true;
		args->verify_file = arg;
		return 0;
	case OPT_COUNTERS:
		args->counts = true;
		args->counters_file = arg;
		return 0;
	case OPT_VERIFY_EVERY:
		return parse_every(arg, args);
	default:
		return parse_value(key, arg, args);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nr_args *args = state->input;
	error_t rc;

	switch (key) {
	case ARGP_KEY_ARG:
		/* The program; all that follows is its own. */
		args->command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->err);
		return 0;
	default:
		rc = parse_plain(key, arg, args);
		return rc == ARGP_ERR_UNKNOWN ? parse_special(key, arg, args) : rc;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc =
		"PROGRAM [ARGUMENT...]\n--roles FILE [ROLE...]\n--pid PID\n--slots\n--irq-restore",
	.doc = "Runs a program near a device, with the CPUs and the memory that are asked for, and "
	       "checks that the kernel obeyed before it starts.\v"
	       "DEV is a network interface, a PCI address, or one of netdev:DEV, pci:ADDRESS, "
	       "block:DISK, file:PATH and ip:HOST. NODES and CPUS are numactl's sets: 0,2-3, all, "
	       "+0 (relative), !0 (all but), and for NODES a DEV with its prefix.\n\n"
	       "Exit status: the program's; 125 numarun failed and nothing was run, 126 PROGRAM "
	       "cannot be executed, 127 it was not found.\n\n"
	       "Example: numarun --near eth0 --count 4 -- ./server",
};

int nr_args_parse(int argc, char **argv, struct nr_args *ret)
{
	argp_err_exit_status = NR_EXIT_FAILED;
	*ret = (struct nr_args){ 0 };
	if (np_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, ret, &ret->err) < 0)
		return -EINVAL;
	if (ret->near)
		ret->cpu_choice = NR_CPUS_NEAR;
	return nr_args_check(ret);
}

void nr_args_release(struct nr_args *args)
{
	free(args->cpus);
	args->cpus = NULL;
	args->cpus_count = 0;
}
