/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numarun: becomes a program on the right CPUs with the right memory, after the kernel has
 * confirmed both. Read, plan, apply, verify, exec.
 */
#include "args.h"
#include "request.h"
#include "show.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/apply.h>
#include <numarun/environment.h>
#include <numarun/exec.h>
#include <stdlib.h>
#include <unistd.h>

static int fail(const struct np_error *err, int status)
{
	fprintf(stderr, "numarun: %s\n", err->text);
	return status;
}

static int written(int rc)
{
	struct np_error err = { 0 };

	if (rc == 0 && fflush(stdout) == EOF)
		rc = -errno;
	if (rc == 0)
		return 0;
	np_error_sys(&err, -rc, "standard output");
	return fail(&err, NR_EXIT_FAILED);
}

/*
 * Where the kernel lawfully kept less (of -N what the cpuset leaves of the node, of --near the
 * inherited memory policy), the plan follows it, and the user is told.
 */
static int follow_kernel(struct nr_plan *plan, const struct nr_applied *applied)
{
	char kept[128];
	char planned[128];

	if (applied->policy_refused)
		plan->policy.mode = NR_POLICY_KEEP;
	/* Without NUMA in the kernel (ENOSYS) there is nothing to lose. */
	if (applied->policy_refused == EPERM)
		fputs("numarun: a seccomp filter refuses memory policies, as containers have it: "
		      "the inherited one stays\n",
		      stderr);
	if (!plan->binds_cpus || np_bitmap_equal(&applied->cpus, &plan->cpus))
		return 0;
	fprintf(stderr, "numarun: the kernel kept %s of %s, the others are outside the cpuset\n",
	        np_cpulist_named("CPU", &applied->cpus, kept, sizeof(kept)),
	        np_cpulist_brief(&plan->cpus, planned, sizeof(planned)));
	return np_bitmap_copy(&plan->cpus, &applied->cpus);
}

static int become(const struct nr_args *args, const struct nr_plan *plan, struct np_error *err)
{
	char **environment = nr_environment_make(plan, environ);
	int rc = environment ? nr_exec(args->command, environment, err)
	                     : np_error_sys(err, ENOMEM, "environment");

	free(environment);
	if (rc == -ENOMEM)
		return fail(err, NR_EXIT_FAILED);
	return fail(err, rc == -ENOENT ? NR_EXIT_NOT_FOUND : NR_EXIT_NOT_EXECUTABLE);
}

static int carry_out(const struct nr_args *args, const struct np_topology *topology,
                     struct nr_plan *plan, struct np_error *err)
{
	struct nr_applied applied = { 0 };
	int rc = nr_apply(plan, &applied, err);

	if (rc == 0 && follow_kernel(plan, &applied) < 0)
		rc = np_error_sys(err, ENOMEM, "plan");
	if (rc == 0 && args->explain)
		nr_show_applied(&applied, stderr);
	if (rc == 0 && args->show)
		rc = nr_show_policy(topology, stdout, err);
	nr_applied_release(&applied);
	if (rc < 0)
		return fail(err, NR_EXIT_FAILED);
	return args->show ? written(0) : become(args, plan, err);
}

static int run(const struct nr_args *args, const struct np_topology *topology, struct np_error *err)
{
	struct nr_request request = { 0 };
	struct nr_plan plan = { 0 };
	int rc = nr_args_request(args, topology, &request, err);
	int status;

	if (rc == 0)
		rc = nr_plan_make(topology, &request, &plan, err);
	nr_request_release(&request);
	if (rc < 0)
		return fail(err, NR_EXIT_FAILED);

	for (size_t i = 0; i < plan.warning_count; i++)
		fprintf(stderr, "numarun: %s\n", plan.warnings[i]);
	if (args->explain)
		nr_show_plan(&plan, stderr);
	status = args->dry_run ? written(nr_show_plan_json(&plan, args->command, stdout))
	                       : carry_out(args, topology, &plan, err);
	nr_plan_release(&plan);
	return status;
}

static int load_and_run(struct nr_args *args)
{
	struct np_topology *topology = NULL;
	int status = 0;

	if (nr_args_load(args, &topology, &args->err) < 0)
		return fail(&args->err, NR_EXIT_FAILED);
	if (args->hardware) {
		nr_show_hardware(topology, stdout);
		status = written(0);
	} else {
		status = run(args, topology, &args->err);
	}
	np_topology_free(topology);
	return status;
}

int main(int argc, char **argv)
{
	struct nr_args args;
	int status = nr_args_parse(argc, argv, &args) < 0 ? fail(&args.err, NR_EXIT_FAILED)
	                                                  : load_and_run(&args);

	nr_args_release(&args);
	return status;
}
