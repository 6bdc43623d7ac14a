/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is printed for other tools; where the tool is here, it is run, and what it sets is compared
 * with the plan.
 */
#include "host.h"

#include "../../launcher/export.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/apply.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TAIL "# not expressed: the check that the kernel obeyed, and the variables NUMARUN_*\n"

static char *server[] = { "/bin/server", "-p", "80", NULL };

/* The export as a text that the caller frees. */
static char *export_text(enum nr_export_format format, const struct nr_plan *plan,
                         const struct nr_sched *sched, const char *role, char *const command[])
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_number(nr_export(format, plan, sched, role, command, out), 0);
	assert_number(fclose(out), 0);
	return text;
}

static struct nr_plan plan_of(const char *cpus, enum nr_policy_mode mode, const char *nodes)
{
	return (struct nr_plan){
		.binds_cpus = *cpus != '\0',
		.cpus = set_of(cpus),
		.policy = { .mode = mode, .nodes = set_of(nodes) },
	};
}

/* ---- texts ---- */

static const struct {
	const char *format;
	const char *cpus; /* "" = binds none */
	enum nr_policy_mode mode;
	const char *nodes;
	const char *sched; /* NULL = none */
	const char *text;  /* behind the comments that stand first */
	const char *comment;
} exports[] = {
	{ "systemd", "80-83", NR_POLICY_BIND, "2", NULL,
	  "[Service]\nCPUAffinity=80-83\nNUMAPolicy=bind\nNUMAMask=2\n"
	  "ExecStart=/bin/server -p 80\n",
	  NULL },
	{ "systemd", "", NR_POLICY_LOCAL, "", "rr:7",
	  "[Service]\nNUMAPolicy=local\nCPUSchedulingPolicy=rr\nCPUSchedulingPriority=7\n"
	  "ExecStart=/bin/server -p 80\n",
	  NULL },
	{ "systemd", "1,3", NR_POLICY_PREFERRED, "1", "batch",
	  "[Service]\nCPUAffinity=1,3\nNUMAPolicy=preferred\nNUMAMask=1\n"
	  "CPUSchedulingPolicy=batch\nExecStart=/bin/server -p 80\n",
	  NULL },
	{ "systemd", "1", NR_POLICY_INTERLEAVE, "0-3", NULL,
	  "[Service]\nCPUAffinity=1\nNUMAPolicy=interleave\nNUMAMask=0-3\n"
	  "ExecStart=/bin/server -p 80\n",
	  NULL },
	{ "systemd", "1", NR_POLICY_PREFERRED_MANY, "0-1", NULL,
	  "[Service]\nCPUAffinity=1\nExecStart=/bin/server -p 80\n",
	  "# not expressed: memory preferred-many:0-1: " },
	{ "systemd", "1", NR_POLICY_WEIGHTED, "0-1", NULL,
	  "[Service]\nCPUAffinity=1\nExecStart=/bin/server -p 80\n",
	  "# not expressed: memory weighted-interleave:0-1: " },
	{ "systemd", "1", NR_POLICY_DEFAULT, "", NULL,
	  "[Service]\nCPUAffinity=1\nNUMAPolicy=default\nExecStart=/bin/server -p 80\n", NULL },
	{ "taskset", "80-83", NR_POLICY_KEEP, "", NULL, "taskset -c 80-83 /bin/server -p 80\n",
	  NULL },
	{ "taskset", "80-83", NR_POLICY_BIND, "2", "fifo:10",
	  "chrt --fifo 10 taskset -c 80-83 /bin/server -p 80\n",
	  "# not expressed: memory bind:2: taskset sets CPUs alone" },
	{ "taskset", "", NR_POLICY_KEEP, "", NULL, "'/bin/server' -p 80\n", NULL },
	{ "numactl", "80-83", NR_POLICY_BIND, "2", NULL,
	  "numactl -C 80-83 -m 2 -- /bin/server -p 80\n", NULL },
	{ "numactl", "80-83", NR_POLICY_PREFERRED_MANY, "2-3", NULL,
	  "numactl -C 80-83 -P 2-3 -- /bin/server -p 80\n", NULL },
	{ "numactl", "", NR_POLICY_LOCAL, "", "idle",
	  "chrt --idle 0 numactl -l -- /bin/server -p 80\n", NULL },
	{ "numactl", "", NR_POLICY_WEIGHTED, "0-1", NULL, "numactl -w 0-1 -- /bin/server -p 80\n",
	  "# -w needs numactl 2.0.19" },
	{ "numactl", "", NR_POLICY_KEEP, "", NULL, "'/bin/server' -p 80\n", NULL },
	{ "numactl", "", NR_POLICY_KEEP, "", "other", "chrt --other 0 /bin/server -p 80\n", NULL },
	{ "numactl", "5", NR_POLICY_DEFAULT, "", NULL, "numactl -C 5 -- /bin/server -p 80\n",
	  "# not expressed: memory default: " },
	{ "slurm", "0,2-3", NR_POLICY_BIND, "2", NULL,
	  "srun --nodes=1 --ntasks=1 --cpus-per-task=3 --cpu-bind=mask_cpu:0xd "
	  "--mem-bind=map_mem:2 -- /bin/server -p 80\n",
	  "only where the job has the whole host" },
	{ "slurm", "64-67,128", NR_POLICY_BIND, "0,65", "fifo:2",
	  "srun --nodes=1 --ntasks=1 --cpus-per-task=5 "
	  "--cpu-bind=mask_cpu:0x1000000000000000f0000000000000000 "
	  "--mem-bind=mask_mem:0x20000000000000001 -- chrt --fifo 2 /bin/server -p 80\n",
	  NULL },
	{ "slurm", "", NR_POLICY_PREFERRED, "1", NULL,
	  "srun --nodes=1 --ntasks=1 --mem-bind=prefer,map_mem:1 -- /bin/server -p 80\n", NULL },
	{ "slurm", "", NR_POLICY_LOCAL, "", NULL,
	  "srun --nodes=1 --ntasks=1 --mem-bind=local -- /bin/server -p 80\n", NULL },
	{ "slurm", "", NR_POLICY_INTERLEAVE, "0-1", NULL,
	  "srun --nodes=1 --ntasks=1 -- /bin/server -p 80\n",
	  "# not expressed: memory interleave:0-1: " },
	{ "docker", "80-83", NR_POLICY_BIND, "2", NULL,
	  "docker run --cpuset-cpus=80-83 --cpuset-mems=2 IMAGE /bin/server -p 80\n",
	  "# --cpuset-mems is a limit" },
	{ "docker", "80-83", NR_POLICY_LOCAL, "", NULL,
	  "docker run --cpuset-cpus=80-83 IMAGE /bin/server -p 80\n", NULL },
	{ "docker", "", NR_POLICY_INTERLEAVE, "0-1", "fifo:3",
	  "docker run --cap-add=SYS_NICE IMAGE /bin/server -p 80\n",
	  "# not expressed: memory interleave:0-1: docker has no memory policies" },
};

/* What stands behind the comments. */
static const char *skip_comments(const char *text)
{
	while (strncmp(text, "# ", 2) == 0)
		text = strchr(text, '\n') + 1;
	return text;
}

static void plans_are_put_in_the_words_of_other_tools(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(exports) / sizeof(exports[0]); i++) {
		struct nr_plan plan = plan_of(exports[i].cpus, exports[i].mode, exports[i].nodes);
		struct nr_sched sched = { 0 };
		enum nr_export_format format;
		struct np_error err = { 0 };
		char *text;

		check_case("%zu: %s", i, exports[i].format);
		assert_np_ok(nr_export_parse(exports[i].format, &format, &err), &err);
		if (exports[i].sched)
			assert_np_ok(nr_sched_parse(exports[i].sched, &sched, &err), &err);
		text = export_text(format, &plan, &sched, NULL, server);
		assert_text(skip_comments(text), exports[i].text);
		assert_has(text, TAIL);
		if (exports[i].comment)
			assert_has(text, exports[i].comment);
		free(text);
		nr_plan_release(&plan);
	}
}

static void balancing_is_numactls_alone(void **state)
{
	(void)state;
	for (int format = 0; format < NR_EXPORT_COUNT; format++) {
		struct nr_plan plan = plan_of("1", NR_POLICY_BIND, "0");
		char *text;

		check_case("%d", format);
		plan.policy.balancing = true;
		text = export_text((enum nr_export_format)format, &plan, NULL, NULL, server);
		assert_has(text, format == NR_EXPORT_NUMACTL
		                         ? "numactl -C 1 --balancing -m 0 -- "
		                         : "# not expressed: memory bind:0 (balancing): ");
		free(text);
		nr_plan_release(&plan);
	}
}

static void a_role_and_a_missing_command_are_lawful(void **state)
{
	struct nr_plan plan = plan_of("1", NR_POLICY_KEEP, "");
	char *text = export_text(NR_EXPORT_TASKSET, &plan, NULL, "cache\nrm", NULL);

	(void)state;
	assert_text(text, "# role cache\\x0arm\n" TAIL "taskset -c 1 PROGRAM\n");
	free(text);
	nr_plan_release(&plan);
}

static void other_formats_are_refused(void **state)
{
	static const char *const names[] = { "", "Systemd", "k8s", "docker ", "\x1b" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		enum nr_export_format format = NR_EXPORT_COUNT;
		struct np_error err = { 0 };

		check_case("'%s'", names[i]);
		assert_fails(nr_export_parse(names[i], &format, &err), -EINVAL, &err,
		             "is no format: systemd, taskset, numactl, slurm or docker");
		assert_number(format, NR_EXPORT_COUNT);
	}
}

static void a_full_disk_is_told(void **state)
{
	struct nr_plan plan = plan_of("1", NR_POLICY_KEEP, "");
	FILE *out = fopen("/dev/full", "w");

	(void)state;
	if (!out) {
		print_message("skipped: no /dev/full here\n");
		nr_plan_release(&plan);
		skip();
	}
	setvbuf(out, NULL, _IONBF, 0);
	assert_number(nr_export(NR_EXPORT_NUMACTL, &plan, NULL, NULL, server, out), -ENOSPC);
	fclose(out);
	nr_plan_release(&plan);
}

/* ---- words ---- */

static char *strange[] = {
	"/bin/echo", "",      "a b",      "it's",  "\"quoted\"", "back\\slash", "$HOME ${HOME}",
	"`id`",      "%n %%", ";",        "*?[x]", "~",          "a=b",         "line\nbreak",
	"tab\there", "#x",    "\xc3\xa4", "--",    "&& ls",      "\x1b[31m",    NULL,
};

static void systemd_gets_its_own_quotes(void **state)
{
	struct nr_plan plan = { 0 };
	char *text = export_text(NR_EXPORT_SYSTEMD, &plan, NULL, NULL, strange);

	(void)state;
	assert_has(text, "ExecStart=/bin/echo \"\" \"a b\" \"it's\" \"\\\"quoted\\\"\" "
	                 "\"back\\\\slash\" \"$$HOME $${HOME}\" \"`id`\" \"%%n %%%%\" \";\" "
	                 "\"*?[x]\" \"~\" a=b \"line\\x0abreak\" \"tab\\x09here\" \"#x\" "
	                 "\"\\xc3\\xa4\" -- \"&& ls\" \"\\x1b[31m\"\n");
	free(text);
}

static void programs_that_systemd_does_not_take_are_told(void **state)
{
	static char *const programs[] = { "./server", "-x", "@x", "bin/x", "!x" };

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		char *command[] = { programs[i], NULL };
		struct nr_plan plan = { 0 };
		char *text = export_text(NR_EXPORT_SYSTEMD, &plan, NULL, NULL, command);

		check_case("%s", programs[i]);
		assert_has(text, "systemd wants an absolute path");
		free(text);
	}
}

/* Runs the text by sh, as it was printed; what came out, and in *ret_status how it ended. */
static char *run_by_sh(const char *text, int *ret_status)
{
	char folder[256];
	char command[512];
	char *output = calloc(1, 65536);
	FILE *script;
	FILE *pipe_end;

	assert_non_null(output);
	make_temporary(folder, sizeof(folder));
	snprintf(command, sizeof(command), "%s/line", folder);
	script = fopen(command, "w");
	assert_non_null(script);
	assert_true(fputs(text, script) >= 0);
	assert_number(fclose(script), 0);
	snprintf(command, sizeof(command), "exec sh %s/line 2>&1", folder);
	pipe_end = popen(command, "r");
	assert_non_null(pipe_end);
	(void)!fread(output, 1, 65535, pipe_end);
	*ret_status = pclose(pipe_end);
	remove_tree(folder);
	return output;
}

static bool has_program(const char *name)
{
	char command[128];
	int status;

	snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", name);
	status = system(command);
	if (status == 0)
		return true;
	print_message("skipped: no %s here\n", name);
	return false;
}

static void the_shell_gives_the_program_its_words(void **state)
{
	char *command[sizeof(strange) / sizeof(strange[0]) + 1] = { "printf", "<%s>" };
	struct nr_plan plan = { 0 };
	char wanted[1024] = "";
	size_t used = 0;
	int status;
	char *text;
	char *output;

	(void)state;
	for (size_t i = 1; strange[i]; i++) {
		command[i + 1] = strange[i];
		used += (size_t)snprintf(wanted + used, sizeof(wanted) - used, "<%s>", strange[i]);
	}
	text = export_text(NR_EXPORT_TASKSET, &plan, NULL, NULL, command);
	output = run_by_sh(text, &status);
	assert_number(status, 0);
	assert_text(output, wanted);
	free(output);
	free(text);
}

/* ---- run on this host ---- */

/* The plan's CPU and the tool's answer, by the program "where". */
static void check_by_where(enum nr_export_format format, enum nr_policy_mode mode,
                           const char *policy_line)
{
	struct nr_plan plan = plan_of("", mode, mode == NR_POLICY_LOCAL ? "" : "0");
	char *command[] = { getenv("WHERE"), NULL };
	struct np_bitmap inherited = { 0 };
	struct np_error err = { 0 };
	char wanted[64];
	int status;
	char *text;
	char *output;

	if (!command[0]) {
		print_message("skipped: WHERE does not name the program where\n");
		nr_plan_release(&plan);
		skip();
	}
	assert_np_ok(nr_affinity_get(&inherited, &err), &err);
	plan.binds_cpus = true;
	assert_number(np_bitmap_add(&plan.cpus, np_bitmap_last(&inherited)), 0);
	text = export_text(format, &plan, NULL, NULL, command);
	output = run_by_sh(text, &status);
	if (status != 0)
		fail_msg("%s ended with %d: %s", text, status, output);
	snprintf(wanted, sizeof(wanted), "cpus: %u\n", np_bitmap_last(&inherited));
	assert_has(output, wanted);
	if (policy_line)
		assert_has(output, policy_line);
	free(output);
	free(text);
	np_bitmap_release(&inherited);
	nr_plan_release(&plan);
}

static void tasksets_line_does_it(void **state)
{
	(void)state;
	if (!has_program("taskset"))
		skip();
	check_by_where(NR_EXPORT_TASKSET, NR_POLICY_KEEP, NULL);
}

static void numactls_line_does_it(void **state)
{
	static const struct {
		enum nr_policy_mode mode;
		const char *line;
	} policies[] = {
		{ NR_POLICY_BIND, "policy: bind:0\n" },
		{ NR_POLICY_LOCAL, "policy: local\n" },
		{ NR_POLICY_INTERLEAVE, "policy: interleave:0\n" },
		{ NR_POLICY_PREFERRED, "policy: prefer" },
	};
	struct nr_policy standard = { .mode = NR_POLICY_DEFAULT };
	struct np_error err = { 0 };

	(void)state;
	if (!has_program("numactl"))
		skip();
	if (nr_policy_probe(&standard, &err) < 0) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		check_case("%s", nr_policy_mode_name(policies[i].mode));
		check_by_where(NR_EXPORT_NUMACTL, policies[i].mode, policies[i].line);
	}
}

static void chrts_line_does_it(void **state)
{
	char *command[] = { "sh", "-c", "chrt -p $$", NULL };
	struct nr_sched batch = { .set = true, .policy = SCHED_BATCH };
	struct nr_plan plan = { 0 };
	int status;
	char *text;
	char *output;

	(void)state;
	if (!has_program("chrt"))
		skip();
	text = export_text(NR_EXPORT_NUMACTL, &plan, &batch, NULL, command);
	output = run_by_sh(text, &status);
	assert_number(status, 0);
	assert_has(output, "SCHED_BATCH");
	free(output);
	free(text);
}

/* systemd reads the section without a complaint. */
static void systemd_takes_the_section(void **state)
{
	struct nr_plan plan = plan_of("0-1", NR_POLICY_BIND, "0");
	struct nr_sched sched = { .set = true, .policy = SCHED_FIFO, .priority = 5 };
	char *text = export_text(NR_EXPORT_SYSTEMD, &plan, &sched, "server", strange);
	char folder[256];
	char path[512];
	FILE *unit;
	int status;
	char *output;

	(void)state;
	make_temporary(folder, sizeof(folder));
	snprintf(path, sizeof(path), "%s/numakit-test.service", folder);
	unit = fopen(path, "w");
	assert_non_null(unit);
	fputs(text, unit);
	assert_number(fclose(unit), 0);
	free(text);
	nr_plan_release(&plan);
	if (!has_program("systemd-analyze"))
		skip();
	snprintf(path, sizeof(path), "systemd-analyze verify --man=no %s/numakit-test.service\n",
	         folder);
	output = run_by_sh(path, &status);
	remove_tree(folder);
	/* It wants a system's units beside it, and says so where there is none. */
	if (status != 0 && !strstr(output, "numakit-test.service")) {
		print_message("skipped: systemd-analyze: %.200s\n", output);
		free(output);
		skip();
	}
	assert_has_not(output, "numakit-test.service");
	assert_number(status, 0);
	free(output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_are_put_in_the_words_of_other_tools),
		cmocka_unit_test(balancing_is_numactls_alone),
		cmocka_unit_test(a_role_and_a_missing_command_are_lawful),
		cmocka_unit_test(other_formats_are_refused),
		cmocka_unit_test(a_full_disk_is_told),
		cmocka_unit_test(systemd_gets_its_own_quotes),
		cmocka_unit_test(programs_that_systemd_does_not_take_are_told),
		cmocka_unit_test(the_shell_gives_the_program_its_words),
		cmocka_unit_test(tasksets_line_does_it),
		cmocka_unit_test(numactls_line_does_it),
		cmocka_unit_test(chrts_line_does_it),
		cmocka_unit_test(systemd_takes_the_section),
	};

	return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
