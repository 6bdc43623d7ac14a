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

enum { BRIEF_SIZE = 128 };

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

/* The plan follows what the kernel lawfully kept of the CPUs, and their nodes with them. */
static int follow_cpus(struct nr_plan *plan, const struct np_topology *topology,
                       const struct np_bitmap *kept)
{
	char planned[BRIEF_SIZE];
	char left[BRIEF_SIZE];

	if (!plan->binds_cpus || np_bitmap_equal(kept, &plan->cpus))
		return 0;
	fprintf(stderr, "numarun: the kernel kept %s of %s, the others are outside the cpuset\n",
	        np_cpulist_named("CPU", kept, left, sizeof(left)),
	        np_cpulist_brief(&plan->cpus, planned, sizeof(planned)));
	np_bitmap_release(&plan->nodes);
	if (np_bitmap_copy(&plan->cpus, kept) < 0)
		return -ENOMEM;
	return np_topology_nodes_of_cpus(topology, kept, &plan->nodes);
}

static int follow_policy(struct nr_plan *plan, const struct nr_applied *applied)
{
	char planned[BRIEF_SIZE];
	char left[BRIEF_SIZE];

	if (applied->policy_refused)
		plan->policy.mode = NR_POLICY_KEEP;
	/* Without NUMA in the kernel (ENOSYS) there is nothing to lose. */
	if (applied->policy_refused == EPERM)
		fputs("numarun: a seccomp filter refuses memory policies, as containers have it: "
		      "the inherited one stays\n",
		      stderr);
	if (applied->policy.mode == NR_POLICY_KEEP ||
	    np_bitmap_equal(&applied->policy.nodes, &plan->policy.nodes))
		return 0;
	fprintf(stderr,
	        "numarun: the kernel kept %s of %s for memory, the others are outside Mems_allowed\n",
	        np_cpulist_named("node", &applied->policy.nodes, left, sizeof(left)),
	        np_cpulist_brief(&plan->policy.nodes, planned, sizeof(planned)));
	return np_bitmap_copy(&plan->policy.nodes, &applied->policy.nodes);
}

/* Where the kernel lawfully kept less than was planned, the plan follows it and the user is told. */
static int follow_kernel(struct nr_plan *plan, const struct np_topology *topology,
                         const struct nr_applied *applied)
{
	int rc = follow_cpus(plan, topology, &applied->cpus);

	return rc < 0 ? rc : follow_policy(plan, applied);
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

	if (rc == 0 && follow_kernel(plan, topology, &applied) < 0)
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

/*
 * hwloc's own banners about damaged descriptions are kept off, but only while we load: the program's
 * environment is not ours to change.
 */
static int load_quietly(struct nr_args *args, struct np_topology **ret)
{
	bool was_set = getenv("HWLOC_HIDE_ERRORS") != NULL;
	int rc;

	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	rc = nr_args_load(args, ret, &args->err);
	if (!was_set)
		unsetenv("HWLOC_HIDE_ERRORS");
	return rc;
}

static int load_and_run(struct nr_args *args)
{
	struct np_topology *topology = NULL;
	int status = 0;

	if (load_quietly(args, &topology) < 0)
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
