/* SPDX-License-Identifier: BSD-3-Clause */
#include "numactl.h"

#include "../probe/base/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The version whose options these are, first in --version, where scripts look for it. */
#define NUMACTL_VERSION "2.0.19"

enum { QUOTE_SIZE = 80, SHARED_MODE = 0600 };

enum { OPT_VERSION = 0x100, OPT_CPU_COMPRESS, OPT_HELP };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "CPUs:", 1 },
	{ "cpunodebind", 'N', "NODES", 0, "run on the CPUs of NODES", 1 },
	{ "cpubind", 'c', "NODES", OPTION_HIDDEN, NULL, 1 },
	{ "physcpubind", 'C', "CPUS", 0, "run on CPUS", 1 },
	{ "all", 'a', NULL, 0, "sets behind it may leave the inherited affinity and Mems_allowed",
	  1 },

	{ NULL, 0, NULL, 0, "Memory policy of a program or of shared memory:", 2 },
	{ "membind", 'm', "NODES", 0, "allocate from NODES only", 2 },
	{ "interleave", 'i', "NODES", 0, "spread pages over NODES in turn", 2 },
	{ "weighted-interleave", 'w', "NODES", 0,
	  "spread pages by the weights set in sysfs (Linux 6.9)", 2 },
	{ "preferred", 'p', "NODE", 0, "allocate from NODE as long as it has memory", 2 },
	{ "preferred-many", 'P', "NODES", 0, "allocate from NODES as long as they have memory", 2 },
	{ "localalloc", 'l', NULL, 0, "allocate on the node of the CPU that asks", 2 },
	{ "balancing", 'b', NULL, 0, "with -m behind it: let NUMA balancing move pages", 2 },

	{ NULL, 0, NULL, 0, "Shared memory:", 3 },
	{ "file", 'f', "FILE", 0, "a file in tmpfs or hugetlbfs", 3 },
	{ "shm", 'S', "KEYFILE", 0, "the SysV segment that KEYFILE stands for", 3 },
	{ "shmid", 'I', "ID", 0, "before -S: one of several segments of KEYFILE", 3 },
	{ "length", 'L', "SIZE", 0, "before -f or -S: bytes of the range; makes what is missing",
	  3 },
	{ "offset", 'o', "SIZE", 0, "before -f or -S: where the range begins", 3 },
	{ "shmmode", 'M', "MODE", 0, "before -f or -S: permissions of what is made, octal", 3 },
	{ "huge", 'u', NULL, 0, "before -S: make the segment of huge pages", 3 },
	{ "strict", 't', NULL, 0, "before the policy: fail if pages already lie elsewhere", 3 },
	{ "touch", 'T', NULL, 0, "allocate the pages now", 3 },
	{ "verify", 'V', NULL, 0, "behind the policy: allocate and check where the pages are", 3 },
	{ "dump", 'd', NULL, 0, "print the policies of the range", 3 },
	{ "dump-nodes", 'D', NULL, 0, "print the nodes of its pages, which allocates them", 3 },

	{ NULL, 0, NULL, 0, "Show:", 4 },
	{ "show", 's', NULL, 0, "print what the kernel has set, and run nothing", 4 },
	{ "hardware", 'H', NULL, 0, "print nodes and distances, and run nothing", 4 },
	{ "cpu-compress", OPT_CPU_COMPRESS, NULL, 0, "with -H: print CPUs as ranges", 4 },
	{ "version", OPT_VERSION, NULL, 0, "print the version", 4 },
	{ "help", OPT_HELP, NULL, 0, "print this text; status 1, as in numactl", 4 },
	{ 0 },
};

/* ---- numbers ---- */

/* "64k", "1GB", "0x1000": numactl looks at the letter behind the number alone. */
static int parse_size(const char *option, const char *text, uint64_t *ret, struct np_error *err)
{
	static const char units[] = "kmg";
	char quoted[QUOTE_SIZE];
	char *end;
	unsigned shift = 0;
	unsigned long long value;
	const char *unit;

	errno = 0;
	value = strtoull(text, &end, 0);
	unit = *end && isdigit((unsigned char)*text) ? strchr(units, tolower((unsigned char)*end))
	                                             : NULL;
	if (unit) {
		shift = 10 * (unsigned)(unit - units + 1);
		end++;
		if (strcasecmp(end, "b") == 0 || strcasecmp(end, "ib") == 0)
			end += strlen(end);
	}
	if (!isdigit((unsigned char)*text) || errno || *end || value > (UINT64_MAX >> shift))
		return np_error_set(err, EINVAL,
		                    "%s: '%s' is not a size: bytes, or a number with k, m or g",
		                    option, np_error_quote(text, quoted, sizeof(quoted)));
	*ret = (uint64_t)value << shift;
	return 0;
}

static int parse_whole(const char *option, const char *text, int base, unsigned long max,
                       unsigned long *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, base);
	if (!isdigit((unsigned char)*text) || errno || *end || value > max)
		return np_error_set(err, EINVAL, "%s: '%s' is not %s", option,
		                    np_error_quote(text, quoted, sizeof(quoted)),
		                    base == 8 ? "a mode in octal, 0 to 0777" : "a number");
	*ret = value;
	return 0;
}

/* ---- options ---- */

static int add_step(struct nr_numactl_args *args, enum nr_numactl_step step)
{
	enum nr_numactl_step *grown =
		realloc(args->steps, (args->step_count + 1) * sizeof(*args->steps));

	if (!grown)
		return ENOMEM;
	args->steps = grown;
	grown[args->step_count++] = step;
	return 0;
}

/* The options that must stand before --file or --shm. */
static error_t parse_range(int key, const char *arg, struct nr_numactl_args *args)
{
	struct nr_shared_request *shared = &args->shared;
	struct np_error *err = &args->base.err;
	const char *option = key == 'L'   ? "--length"
	                     : key == 'o' ? "--offset"
	                     : key == 'M' ? "--shmmode"
	                                  : "--huge";
	unsigned long mode = 0;
	int rc;

	if (args->shared_option)
		return -np_error_set(err, EINVAL, "%s must stand before %s", option,
		                     args->shared_option);
	args->range_option = option;
	switch (key) {
	case 'L':
		return -parse_size(option, arg, &shared->length_bytes, err);
	case 'o':
		return -parse_size(option, arg, &shared->offset_bytes, err);
	case 'M':
		rc = parse_whole(option, arg, 8, 0777, &mode, err);
		if (rc == 0)
			shared->mode = (mode_t)mode;
		return -rc;
	default:
		args->huge = true;
		return 0;
	}
}

static error_t take_shared(int key, const char *path, struct nr_numactl_args *args)
{
	const char *option = key == 'f' ? "--file" : "--shm";
	struct np_error *err = &args->base.err;

	if (args->base.memory.option)
		return -np_error_set(err, EINVAL, "%s must stand before %s, which is for it",
		                     option, args->base.memory.option);
	if (args->base.cpus_count > 0)
		return -np_error_set(err, EINVAL,
		                     "%s and %s: shared memory runs on no CPU, leave one out",
		                     args->base.cpus[0].option, option);
	if (args->shared_option)
		return -np_error_set(err, EINVAL, "%s and %s: give one, once", args->shared_option,
		                     option);
	args->shared.kind = key == 'f' ? NR_SHARED_FILE : NR_SHARED_SYSV;
	args->shared.path = path;
	args->shared_option = option;
	return 0;
}

/* The options that must stand behind --file or --shm. */
static error_t take_step(int key, struct nr_numactl_args *args)
{
	static const struct {
		int key;
		enum nr_numactl_step step;
		const char *option;
	} steps[] = {
		{ 'T', NR_STEP_TOUCH, "--touch" },
		{ 'V', NR_STEP_VERIFY, "--verify" },
		{ 'd', NR_STEP_DUMP, "--dump" },
		{ 'D', NR_STEP_DUMP_NODES, "--dump-nodes" },
	};
	size_t i = 0;

	while (steps[i].key != key)
		i++;
	if (!args->shared_option)
		return -np_error_set(&args->base.err, EINVAL,
		                     "%s must stand behind --file or --shm", steps[i].option);
	if (key == 'V' && !args->base.memory.text)
		return -np_error_set(&args->base.err, EINVAL,
		                     "--verify must stand behind a memory policy with nodes");
	return add_step(args, steps[i].step);
}

static error_t parse_shared(int key, const char *arg, struct nr_numactl_args *args)
{
	unsigned long id = 0;
	int rc;

	switch (key) {
	case 'L':
	case 'o':
	case 'M':
	case 'u':
		return parse_range(key, arg, args);
	case 'I':
		rc = parse_whole("--shmid", arg, 0, INT32_MAX, &id, &args->base.err);
		if (!args->shared_option)
			args->shared.id = (int)id;
		return -rc;
	case 'f':
	case 'S':
		return take_shared(key, arg, args);
	case 't':
		args->strict = true;
		return 0;
	case 'T':
	case 'V':
	case 'd':
	case 'D':
		return take_step(key, args);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* The options that numarun has too, and what they mean beside shared memory. */
static error_t parse_placement(int key, const char *arg, struct nr_numactl_args *args)
{
	bool is_cpus = key == 'N' || key == 'c' || key == 'C';
	bool had_policy = args->base.memory.option != NULL;
	error_t rc;

	if (is_cpus && args->shared_option)
		return -np_error_set(&args->base.err, EINVAL,
		                     "%s: shared memory runs on no CPU, leave -%c out",
		                     args->shared_option, key);
	rc = nr_args_parse_placement(key, arg, &args->base);
	if (rc || had_policy || !args->base.memory.option || !args->shared_option)
		return rc;
	args->policy_is_strict = args->strict;
	return add_step(args, NR_STEP_POLICY);
}

static void show_usage(const struct argp_state *state, FILE *out)
{
	/* Without argp's paragraph on what is mandatory for short options. */
	setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
	argp_help(state->root_argp, out, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK,
	          state->name);
}

/* getopt's word, which scripts look for when they try out what a numactl can do. */
static void refuse_option(const struct argp_state *state, struct np_error *err)
{
	static const char word[] = "unknown";
	struct np_error why = { 0 };

	if (err->code)
		return;
	np_cli_bad_option(state, &why);
	if (strncmp(why.text, word, strlen(word)) == 0)
		np_error_set(err, EINVAL, "unrecognized%s", why.text + strlen(word));
	else
		*err = why;
}

static error_t parse_show(int key, struct argp_state *state, struct nr_numactl_args *args)
{
	switch (key) {
	case 's':
		args->base.show = true;
		args->done = true;
		state->next = state->argc;
		return 0;
	case 'H':
		args->base.hardware = true;
		return 0;
	case OPT_CPU_COMPRESS:
		args->base.cpu_ranges = true;
		return 0;
	case OPT_VERSION:
		puts(NUMACTL_VERSION " (numarun " NUMAKIT_VERSION ")");
		exit(fflush(stdout) == EOF ? NR_NUMACTL_FAILED : 0);
	case OPT_HELP:
		show_usage(state, stderr);
		exit(NR_NUMACTL_FAILED);
	case ARGP_KEY_ARG:
		/* The program; all that follows is its own. */
		args->base.command = &state->argv[state->next - 1];
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (state->argc > 1)
			return 0;
		show_usage(state, stderr);
		exit(NR_NUMACTL_FAILED);
	case ARGP_KEY_ERROR:
		refuse_option(state, &args->base.err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nr_numactl_args *args = state->input;
	error_t rc;

	if (args->done)
		return 0;
	rc = parse_placement(key, arg, args);
	if (rc == ARGP_ERR_UNKNOWN)
		rc = parse_shared(key, arg, args);
	return rc == ARGP_ERR_UNKNOWN ? parse_show(key, state, args) : rc;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "PROGRAM [ARGUMENT...]\n--file FILE [POLICY]\n--shm KEYFILE [POLICY]\n"
		    "--show\n--hardware",
	.doc = "Runs a program on the CPUs and with the memory that are asked for, or sets the "
	       "memory policy of shared memory. This is numarun(1) under the name of numactl(8).\v"
	       "NODES and CPUS are sets: 0,2-3, all, +0 (relative), !0 (all but), and for NODES "
	       "same, netdev:DEV, pci:ADDRESS, block:DISK, file:PATH and ip:HOST. SIZE is in bytes, "
	       "or with k, m or g.\n\n"
	       "Exit status: the program's; 1 for failures before it runs.",
};

/* ---- what belongs together ---- */

static int check(struct nr_numactl_args *args)
{
	struct np_error *err = &args->base.err;
	bool only_shows = args->base.show || args->base.hardware;

	if (args->shared_option && args->base.command)
		return np_error_set(err, EINVAL, "%s and a program, '%.80s': give one",
		                    args->shared_option, args->base.command[0]);
	if (args->shared_option || only_shows)
		return 0;
	if (args->range_option)
		return np_error_set(err, EINVAL,
		                    "%s is for shared memory: --file or --shm is missing",
		                    args->range_option);
	if (!args->base.command)
		return np_error_set(err, EINVAL, "which program? (see --help)");
	return 0;
}

static int read_args(int argc, char **argv, struct nr_numactl_args *ret)
{
	struct np_error *err = &ret->base.err;
	int code;

	ret->shared.mode = SHARED_MODE;
	argp_err_exit_status = NR_NUMACTL_FAILED;
	code = argp_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL,
	                  ret);
	if (code != 0)
		return err->code ? -EINVAL : np_error_sys(err, code, "command line");
	/* numactl ignores --balancing without --membind. */
	if (ret->base.policy_mode != NR_POLICY_BIND || ret->shared_option)
		ret->base.balancing = false;
	return check(ret);
}

static int fail(const struct np_error *err)
{
	fprintf(stderr, "numactl: %s\n", err->text);
	return NR_NUMACTL_FAILED;
}

static int carry_out(struct nr_numactl_args *args, int (*launch)(struct nr_args *args))
{
	struct np_error err = { 0 };

	if (args->shared_option) {
		if (nr_numactl_shared(args, &err) < 0)
			return fail(&err);
		if (!args->base.show && !args->base.hardware)
			return 0;
		/* The policy was the memory's. */
		args->base.policy_mode = NR_POLICY_KEEP;
		args->base.memory = (struct nr_set_arg){ 0 };
	} else if (args->strict) {
		fputs("numactl: --strict is for shared memory, and ignored\n", stderr);
	}
	return launch(&args->base) == 0 ? 0 : NR_NUMACTL_FAILED;
}

bool nr_is_numactl(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && strcmp(slash ? slash + 1 : argv0, "numactl") == 0;
}

int nr_numactl_main(int argc, char **argv, int (*launch)(struct nr_args *args))
{
	struct nr_numactl_args args = { 0 };
	int status =
		read_args(argc, argv, &args) < 0 ? fail(&args.base.err) : carry_out(&args, launch);

	free(args.steps);
	nr_args_release(&args.base);
	return status;
}
