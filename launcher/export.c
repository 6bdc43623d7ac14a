/* SPDX-License-Identifier: BSD-3-Clause */
#include "export.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 128 };

/* All that a format needs; its lists are as long as they are. */
struct export
{
	const struct nr_plan *plan;
	const struct nr_sched *sched;
	char *const *command;
	FILE *out;
	char *cpus; /* "80-83"; NULL where the plan binds none */
	unsigned cpu_count;
	char *nodes;   /* of the policy, "" for none */
	char *policy;  /* "bind:2" */
	bool is_begun; /* the line has a word */
};

/* ---- words ---- */

/* A word for sh. The first word of a line is quoted always: it could be a keyword of the shell. */
static void print_shell_word(const char *word, bool always, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+:,./-";

	if (!always && *word && word[strspn(word, plain)] == '\0') {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (const char *c = word; *c; c++) {
		if (*c == '\'')
			fputs("'\\''", out);
		else
			fputc(*c, out);
	}
	fputc('\'', out);
}

static void separate(struct export *export)
{
	if (export->is_begun)
		fputc(' ', export->out);
	export->is_begun = true;
}

/* Words of ours that need no quotes, printf style. */
static void NP_PRINTF(2, 3) print_words(struct export *export, const char *fmt, ...)
{
	va_list args;

	separate(export);
	va_start(args, fmt);
	vfprintf(export->out, fmt, args);
	va_end(args);
}

/* The command, and with it the end of the line. */
static void print_shell_command(struct export *export)
{
	for (size_t i = 0; export->command[i]; i++) {
		bool is_first = !export->is_begun;

		separate(export);
		print_shell_word(export->command[i], is_first, export->out);
	}
	fputc('\n', export->out);
}

/*
 * A word of ExecStart= (systemd.service(5), COMMAND LINES): quotes and C escapes as in C, a percent
 * sign and, but in the program's own name, a dollar are doubled.
 */
static void print_unit_word(const char *word, bool is_program, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@+=:,./-";
	bool is_quoted = *word == '\0' || word[strspn(word, plain)] != '\0';

	if (is_quoted)
		fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)word; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c == '%' || (*c == '$' && !is_program))
			fprintf(out, "%c%c", *c, *c);
		else if (*c < ' ' || *c > '~')
			fprintf(out, "\\x%02x", *c);
		else
			fputc(*c, out);
	}
	if (is_quoted)
		fputc('"', out);
}

/* ---- comments ---- */

static void print_head(const struct export *export, const char *role)
{
	const struct nr_plan *plan = export->plan;
	char quoted[QUOTE_SIZE];

	if (role)
		fprintf(export->out, "# role %s\n", np_error_quote(role, quoted, sizeof(quoted)));
	if (plan->near && !np_bitmap_is_empty(&plan->cpus))
		fprintf(export->out, "# near %s\n",
		        np_error_quote(plan->near->name, quoted, sizeof(quoted)));
}

/* What no format has. */
static void print_tail(const struct export *export)
{
	fputs("# not expressed: the check that the kernel obeyed, and the variables NUMARUN_*\n",
	      export->out);
}

/* Is there a policy that the inherited one need not be anyhow? */
static bool has_policy(const struct export *export)
{
	return export->plan->policy.mode != NR_POLICY_KEEP;
}

static void lament_policy(const struct export *export, const char *why)
{
	fprintf(export->out, "# not expressed: memory %s: %s\n", export->policy, why);
}

static bool is_realtime(const struct nr_sched *sched)
{
	return sched->policy == SCHED_FIFO || sched->policy == SCHED_RR;
}

static bool has_sched(const struct export *export)
{
	return export->sched && export->sched->set;
}

/* "chrt --fifo 10": util-linux has it beside taskset. */
static void print_chrt(struct export *export)
{
	if (has_sched(export))
		print_words(export, "chrt --%s %u", nr_sched_name(export->sched),
		            export->sched->priority);
}

/* ---- systemd ---- */

static void print_unit_memory(const struct export *export)
{
	static const char *const names[NR_POLICY_MODE_COUNT] = {
		[NR_POLICY_DEFAULT] = "default",       [NR_POLICY_LOCAL] = "local",
		[NR_POLICY_PREFERRED] = "preferred",   [NR_POLICY_BIND] = "bind",
		[NR_POLICY_INTERLEAVE] = "interleave",
	};
	const char *name = names[export->plan->policy.mode];

	if (!name)
		return;
	fprintf(export->out, "NUMAPolicy=%s\n", name);
	if (*export->nodes)
		fprintf(export->out, "NUMAMask=%s\n", export->nodes);
}

static void lament_unit(const struct export *export)
{
	enum nr_policy_mode mode = export->plan->policy.mode;
	const char *program = export->command[0];

	if (mode == NR_POLICY_PREFERRED_MANY)
		lament_policy(export, "NUMAPolicy=preferred takes one node");
	if (mode == NR_POLICY_WEIGHTED)
		lament_policy(export, "NUMAPolicy=interleave gives all nodes the same");
	if (export->plan->policy.balancing)
		lament_policy(export, "systemd has no flag for NUMA balancing");
	if (strchr("-@:+!|", *program) || (*program != '/' && strchr(program, '/')))
		fputs("# not expressed: the program as it is: systemd wants an absolute path\n",
		      export->out);
}

static void print_systemd(struct export *export)
{
	lament_unit(export);
	print_tail(export);
	fputs("[Service]\n", export->out);
	if (export->cpus)
		fprintf(export->out, "CPUAffinity=%s\n", export->cpus);
	print_unit_memory(export);
	if (has_sched(export))
		fprintf(export->out, "CPUSchedulingPolicy=%s\n", nr_sched_name(export->sched));
	if (has_sched(export) && is_realtime(export->sched))
		fprintf(export->out, "CPUSchedulingPriority=%u\n", export->sched->priority);
	fputs("ExecStart=", export->out);
	for (size_t i = 0; export->command[i]; i++) {
		if (i > 0)
			fputc(' ', export->out);
		print_unit_word(export->command[i], i == 0, export->out);
	}
	fputc('\n', export->out);
}

/* ---- taskset and numactl ---- */

static void print_taskset(struct export *export)
{
	if (has_policy(export))
		lament_policy(export, "taskset sets CPUs alone");
	print_tail(export);
	print_chrt(export);
	/* Without "--": taskset would take that for the program. */
	if (export->cpus)
		print_words(export, "taskset -c %s", export->cpus);
	print_shell_command(export);
}

/* numactl's option for the policy, NULL where it has none. */
static const char *numactl_option(enum nr_policy_mode mode)
{
	static const char *const options[NR_POLICY_MODE_COUNT] = {
		[NR_POLICY_LOCAL] = "-l",          [NR_POLICY_PREFERRED] = "-p",
		[NR_POLICY_PREFERRED_MANY] = "-P", [NR_POLICY_BIND] = "-m",
		[NR_POLICY_INTERLEAVE] = "-i",     [NR_POLICY_WEIGHTED] = "-w",
	};

	return options[mode];
}

static void print_numactl(struct export *export)
{
	const struct nr_policy *policy = &export->plan->policy;
	const char *option = numactl_option(policy->mode);

	if (has_policy(export) && !option)
		lament_policy(export, "numactl has no option for it");
	if (policy->mode == NR_POLICY_WEIGHTED)
		fputs("# -w needs numactl 2.0.19 or later\n", export->out);
	print_tail(export);
	print_chrt(export);
	if (export->cpus || option)
		print_words(export, "numactl");
	if (export->cpus)
		print_words(export, "-C %s", export->cpus);
	if (policy->balancing)
		print_words(export, "--balancing");
	if (option)
		print_words(export, *export->nodes ? "%s %s" : "%s%s", option, export->nodes);
	if (export->cpus || option)
		print_words(export, "--");
	print_shell_command(export);
}

/* ---- Slurm ---- */

/* The set as one hexadecimal number. */
static void print_mask(const struct np_bitmap *set, FILE *out)
{
	unsigned last = np_bitmap_last(set);
	size_t word = last == NP_BITMAP_END ? 0 : last / 64;

	fprintf(out, "0x%" PRIx64, last == NP_BITMAP_END ? 0 : set->words[word]);
	while (word-- > 0)
		fprintf(out, "%016" PRIx64, set->words[word]);
}

static void print_slurm_memory(struct export *export)
{
	const struct nr_policy *policy = &export->plan->policy;
	const char *prefer = policy->mode == NR_POLICY_PREFERRED ? "prefer," : "";

	if (policy->mode == NR_POLICY_LOCAL)
		print_words(export, "--mem-bind=local");
	if (policy->mode != NR_POLICY_BIND && policy->mode != NR_POLICY_PREFERRED)
		return;
	if (np_bitmap_count(&policy->nodes) == 1) {
		print_words(export, "--mem-bind=%smap_mem:%s", prefer, export->nodes);
		return;
	}
	print_words(export, "--mem-bind=%smask_mem:", prefer);
	print_mask(&policy->nodes, export->out);
}

static void lament_slurm(const struct export *export)
{
	enum nr_policy_mode mode = export->plan->policy.mode;

	if (export->cpus)
		fputs("# Slurm takes masks of CPUs only where the job has the whole host (sbatch "
		      "--exclusive)\n",
		      export->out);
	if (mode == NR_POLICY_INTERLEAVE || mode == NR_POLICY_WEIGHTED ||
	    mode == NR_POLICY_PREFERRED_MANY || mode == NR_POLICY_DEFAULT)
		lament_policy(export, "--mem-bind has local, map_mem, mask_mem and prefer");
	if (export->plan->policy.balancing)
		lament_policy(export, "Slurm has no flag for NUMA balancing");
}

static void print_slurm(struct export *export)
{
	lament_slurm(export);
	print_tail(export);
	print_words(export, "srun --nodes=1 --ntasks=1");
	if (export->cpus) {
		print_words(export, "--cpus-per-task=%u --cpu-bind=mask_cpu:", export->cpu_count);
		print_mask(&export->plan->cpus, export->out);
	}
	print_slurm_memory(export);
	print_words(export, "--");
	print_chrt(export);
	print_shell_command(export);
}

/* ---- docker ---- */

static void lament_docker(const struct export *export, bool lacks_policy)
{
	if (export->plan->policy.mode == NR_POLICY_BIND)
		fputs("# --cpuset-mems is a limit of the container, not a policy: the program can "
		      "set its own within it\n",
		      export->out);
	if (lacks_policy)
		lament_policy(export, "docker has no memory policies; --cap-add=SYS_NICE lets root "
		                      "in the container set one itself");
	if (has_sched(export))
		fprintf(export->out,
		        "# not expressed: scheduling policy %s: --cap-add=SYS_NICE lets root in the "
		        "container set it itself\n",
		        nr_sched_name(export->sched));
}

static void print_docker(struct export *export)
{
	const struct nr_policy *policy = &export->plan->policy;
	bool binds = policy->mode == NR_POLICY_BIND;
	/* Local is what the kernel does in a container anyhow. */
	bool lacks_policy = has_policy(export) && policy->mode != NR_POLICY_LOCAL &&
	                    policy->mode != NR_POLICY_DEFAULT && (!binds || policy->balancing);

	lament_docker(export, lacks_policy);
	print_tail(export);
	print_words(export, "docker run");
	if (export->cpus)
		print_words(export, "--cpuset-cpus=%s", export->cpus);
	if (binds)
		print_words(export, "--cpuset-mems=%s", export->nodes);
	if (lacks_policy || has_sched(export))
		print_words(export, "--cap-add=SYS_NICE");
	print_words(export, "IMAGE");
	print_shell_command(export);
}

/* ---- all of them ---- */

static const struct {
	const char *name;
	void (*print)(struct export *export);
} formats[NR_EXPORT_COUNT] = {
	[NR_EXPORT_SYSTEMD] = { "systemd", print_systemd },
	[NR_EXPORT_TASKSET] = { "taskset", print_taskset },
	[NR_EXPORT_NUMACTL] = { "numactl", print_numactl },
	[NR_EXPORT_SLURM] = { "slurm", print_slurm },
	[NR_EXPORT_DOCKER] = { "docker", print_docker },
};

int nr_export_parse(const char *name, enum nr_export_format *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (size_t i = 0; i < NR_EXPORT_COUNT; i++) {
		if (strcmp(formats[i].name, name) == 0) {
			*ret = (enum nr_export_format)i;
			return 0;
		}
	}
	return np_error_set(err, EINVAL, "'%s' is no format: " NR_EXPORT_NAMES,
	                    np_error_quote(name, quoted, sizeof(quoted)));
}

int nr_export(enum nr_export_format format, const struct nr_plan *plan,
              const struct nr_sched *sched, const char *role, char *const command[], FILE *out)
{
	static char program[] = "PROGRAM";
	char *const placeholder[] = { program, NULL };
	struct export export = {
		.plan = plan,
		.sched = sched,
		.command = command && command[0] ? command : placeholder,
		.out = out,
		.cpus = plan->binds_cpus ? np_cpulist_print(&plan->cpus) : NULL,
		.cpu_count = np_bitmap_count(&plan->cpus),
		.nodes = np_cpulist_print(&plan->policy.nodes),
		.policy = nr_policy_print(&plan->policy),
	};
	int rc = export.nodes && export.policy && (export.cpus || !plan->binds_cpus) ? 0 : -ENOMEM;

	if (rc == 0) {
		errno = 0;
		print_head(&export, role);
		formats[format].print(&export);
		if (ferror(out))
			rc = errno ? -errno : -EIO;
	}
	free(export.cpus);
	free(export.nodes);
	free(export.policy);
	return rc;
}
