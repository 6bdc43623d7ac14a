/* SPDX-License-Identifier: BSD-3-Clause */
#include "args_check.h"

#include <errno.h>
#include <stddef.h>

/* Whether an option was given, and what it is called. */
struct given {
	bool is_given;
	const char *option;
};

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

/* The first of them that was given; NULL when none was. */
static const char *first_given(const struct given *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].is_given)
			return rows[i].option;
	return NULL;
}

/* The first that says where; NULL when none does. */
static const char *placement_of(const struct nr_args *args)
{
	const struct given rows[] = {
		{ args->near, "--near" },
		{ args->cpus_count > 0, args->cpus_count > 0 ? args->cpus[0].option : NULL },
		{ args->memory.option, args->memory.option },
		{ args->need.memory_bytes > 0, "--mem-size" },
		{ args->need.huge_count > 0, "--huge-pages" },
	};

	return first_given(rows, COUNT(rows));
}

/* The first that keeps a parent behind the program. */
static const char *supervision_of(const struct nr_args *args)
{
	const struct given rows[] = {
		{ args->roles_file, "--roles" }, { args->exclusive, "--exclusive" },
		{ args->verifies, "--verify" },  { args->verify_every_ns > 0, "--verify-every" },
		{ args->counts, "--counters" },  { args->repin, "--repin" },
		{ args->steers_irqs, "--irq" },
	};

	return first_given(rows, COUNT(rows));
}

bool nr_args_supervises(const struct nr_args *args)
{
	return supervision_of(args) != NULL;
}

/* Each of these is all that a call does. */
static int check_lonely(struct nr_args *args)
{
	const struct given rows[] = {
		{ args->slots, "--slots" },
		{ args->irq_restore, "--irq-restore" },
		{ args->pid, "--pid" },
		{ args->exports, "--export" },
		{ args->show, "--show" },
		/* numactl takes these two together, and shows the hardware. */
		{ args->hardware && !args->show, "--hardware" },
		{ args->dry_run && !args->pid, "--dry-run" },
		{ args->roles_file && !args->exports && !args->dry_run, "--roles" },
	};
	const char *first = NULL;

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (!rows[i].is_given)
			continue;
		if (first)
			return np_error_set(&args->err, EINVAL,
			                    "%s and %s are two things to do: give one", first,
			                    rows[i].option);
		first = rows[i].option;
	}
	if (args->command && (args->slots || args->irq_restore || args->hardware))
		return np_error_set(&args->err, EINVAL, "%s runs no program: '%s' is too much",
		                    args->hardware ? "--hardware" : first, args->command[0]);
	if (args->show && supervision_of(args))
		return np_error_set(&args->err, EINVAL,
		                    "%s and --show: nothing is run to be watched",
		                    supervision_of(args));
	if (!args->command && !first && !args->hardware)
		return np_error_set(&args->err, EINVAL, "which program? (see --help)");
	return 0;
}

/* Options that need --near. */
static int check_near(struct nr_args *args)
{
	const struct given rows[] = {
		{ args->tier, "--tier" },
		{ args->count, "--count" },
		{ args->has_near_node, "--near-node" },
		{ args->steers_irqs, "--irq" },
	};
	const char *orphan = first_given(rows, COUNT(rows));

	if (!args->near && orphan)
		return np_error_set(&args->err, EINVAL, "%s needs --near DEV", orphan);
	if (args->near && args->cpus_count > 0)
		return np_error_set(&args->err, EINVAL,
		                    "--near and %s both choose the CPUs: give one",
		                    args->cpus[0].option);
	if (args->smt && !args->count)
		return np_error_set(&args->err, EINVAL,
		                    "--smt needs --count N (without it all CPUs of "
		                    "the tier are taken)");
	return 0;
}

/* Options that need some other. */
static int check_needs(struct nr_args *args)
{
	bool has_registry =
		args->exclusive || args->slots || args->irq_restore || args->steers_irqs;
	const struct {
		bool lacks;
		const char *text;
	} rows[] = {
		{ args->balancing && (args->policy_mode != NR_POLICY_BIND || args->far),
		  "--balancing needs --membind NODES" },
		{ args->migrate && !args->pid, "--migrate needs --pid PID" },
		{ args->force && !args->sched.set, "--force needs --sched POLICY" },
		{ args->registry && !has_registry,
		  "--registry needs --exclusive, --slots or --irq" },
		{ args->root && args->xml, "--root and --xml both say which host: give one" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].lacks)
			return np_error_set(&args->err, EINVAL, "%s", rows[i].text);
	return 0;
}

/* Another machine is described, never acted on. */
static int check_host(struct nr_args *args)
{
	bool describes = args->dry_run || args->hardware || args->exports;

	if (!(args->root || args->xml) || describes)
		return 0;
	return np_error_set(&args->err, EINVAL,
	                    "%s describes another machine, so nothing is run: add --dry-run "
	                    "to see the plan",
	                    args->root ? "--root" : "--xml");
}

static int check_roles(struct nr_args *args)
{
	const char *placement = placement_of(args);

	if (!args->roles_file)
		return 0;
	if (placement)
		return np_error_set(&args->err, EINVAL,
		                    "%s and --roles: each role has its own, put it into the file",
		                    placement);
	if (args->steers_irqs)
		return np_error_set(&args->err, EINVAL,
		                    "--irq and --roles: steering is for a run of one program");
	return 0;
}

static int check_pid(struct nr_args *args)
{
	const char *supervision = supervision_of(args);

	if (!args->pid)
		return 0;
	if (args->command)
		return np_error_set(&args->err, EINVAL,
		                    "--pid moves a process that runs already: '%s' is too much",
		                    args->command[0]);
	if (supervision || args->sched.set)
		return np_error_set(&args->err, EINVAL,
		                    "%s and --pid: that is for a program to be started",
		                    supervision ? supervision : "--sched");
	if (args->need.memory_bytes || args->need.huge_count)
		return np_error_set(&args->err, EINVAL,
		                    "%s and --pid: that is for a program to be started",
		                    args->need.memory_bytes ? "--mem-size" : "--huge-pages");
	if (!placement_of(args))
		return np_error_set(&args->err, EINVAL,
		                    "--pid: where to? (--near DEV, -N, -C, -m ...)");
	return 0;
}

int nr_args_check(struct nr_args *args)
{
	static int (*const checks[])(struct nr_args *) = {
		check_roles, check_near, check_needs, check_host, check_pid, check_lonely,
	};

	for (size_t i = 0; i < COUNT(checks); i++) {
		int rc = checks[i](args);

		if (rc < 0)
			return rc;
	}
	return 0;
}

void nr_args_tell_export(const struct nr_args *args, FILE *out)
{
	const struct {
		bool is_given;
		const char *text;
	} rows[] = {
		{ args->exclusive, "--exclusive: other runs can take the same cores" },
		{ args->steers_irqs, "--irq: interrupts stay where they are" },
		{ args->verifies || args->verify_every_ns || args->repin,
		  "--verify, --repin: nobody looks whether the placement lasts" },
		{ args->need.memory_bytes || args->need.huge_count,
		  "--mem-size, --huge-pages: nobody looks whether there is room" },
		{ args->roles_file, "--roles: the order of starting, readiness and stopping" },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].is_given)
			fprintf(out, "# not expressed: %s\n", rows[i].text);
}
