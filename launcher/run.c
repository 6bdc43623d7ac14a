/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include "args_check.h"
#include "place.h"
#include "request.h"
#include "show.h"
#include "supervised.h"
#include "tell.h"

#include <errno.h>
#include <numarun/environment.h>
#include <numarun/exec.h>
#include <stdlib.h>
#include <unistd.h>

/* A run on its way. */
struct run {
	const struct nr_args *args;
	const struct np_topology *topology;
	struct nr_plan plan;
	struct nr_reservation reservation;
	struct nr_steer steer;
};

/* ---- the plan ---- */

static int make_plan(struct run *run, struct np_error *err)
{
	struct nr_request request = { 0 };
	int rc = nr_args_request(run->args, run->topology, &request, err);

	if (rc == 0 && np_bitmap_copy(&request.avoid, &run->reservation.held) < 0)
		rc = np_error_sys(err, ENOMEM, "request");
	if (rc == 0)
		rc = nr_plan_make(run->topology, &request, &run->plan, err);
	nr_request_release(&request);
	return rc;
}

/* What must be so before the program starts. Adds warnings to the plan. */
static int look_ahead(struct run *run, struct np_error *err)
{
	const struct nr_args *args = run->args;
	bool has_need = args->need.memory_bytes > 0 || args->need.huge_count > 0;
	int rc = nr_supervised_check_sched(args, run->topology, &run->plan, err);

	if (rc == 0 && has_need && !args->xml)
		rc = nr_preflight(args->root, run->topology, &args->need, &run->plan, err);
	return rc;
}

static int prepare(struct run *run, struct np_error *err)
{
	const struct nr_args *args = run->args;
	const char *program = args->command ? args->command[0] : "-";
	int rc = nr_reserve_begin(args, &run->reservation, err);

	if (rc == 0)
		rc = make_plan(run, err);
	if (rc == 0 && args->exclusive && !run->plan.binds_cpus)
		rc = np_error_set(err, EINVAL,
		                  "--exclusive: which cores? (--near DEV, -N NODES or -C CPUS)");
	if (rc == 0)
		rc = look_ahead(run, err);
	if (rc == 0)
		rc = nr_reserve_take(args, run->topology, &run->plan.cpus, program,
		                     &run->reservation, err);
	return rc;
}

/* ---- the run ---- */

/* As this very process. */
static int become(struct run *run, struct np_error *err)
{
	char **environment = nr_environment_make(&run->plan, NULL, NULL, environ);
	int rc = environment ? 0 : np_error_sys(err, ENOMEM, "environment");

	if (rc == 0 && run->args->sched.set)
		rc = nr_sched_set(&run->args->sched, err);
	if (rc < 0) {
		free(environment);
		return nr_fail(err, NR_EXIT_FAILED);
	}
	rc = nr_exec(run->args->command, environment, err);
	free(environment);
	return nr_fail(err, nr_job_exit_status(rc));
}

static int carry_out(struct run *run, struct np_error *err)
{
	const struct nr_args *args = run->args;
	struct nr_applied applied = { 0 };
	int rc = nr_place(&run->plan, run->topology, NULL, args->explain, &applied, err);

	if (rc == 0 && args->show)
		rc = nr_show_policy(run->topology, stdout, err);
	nr_applied_release(&applied);
	if (rc < 0)
		return nr_fail(err, NR_EXIT_FAILED);
	return args->show ? nr_written(0) : become(run, err);
}

/* As a child of this process, which stays. */
static int supervise(struct run *run, struct np_error *err)
{
	struct nr_supervised supervised;
	int rc = nr_supervised_begin(run->args, run->topology, &run->reservation, 1, &supervised,
	                             err);
	int status = NR_EXIT_FAILED;

	if (rc == 0) {
		struct nr_job *job = &supervised.supervision.jobs[0];

		job->plan = &run->plan;
		job->command = run->args->command;
		supervised.steer = &run->steer;
		rc = nr_supervise_prepare(&supervised.supervision, err);
	}
	if (rc == 0)
		rc = nr_steer_begin(run->args, run->topology, &run->plan, &run->steer, err);
	if (rc == 0)
		nr_supervised_run(&supervised);
	else
		nr_fail(err, status);
	nr_steer_end(&run->steer);
	nr_reserve_end(&run->reservation);
	nr_supervised_end(&supervised);
	return rc < 0 ? status : nr_supervise_conclude(&supervised.supervision);
}

static int print_export(const struct run *run)
{
	const struct nr_args *args = run->args;

	nr_args_tell_export(args, stdout);
	return nr_written(nr_export(args->export_format, &run->plan, &args->sched, NULL,
	                            args->command, stdout));
}

static int go(struct run *run, struct np_error *err)
{
	const struct nr_args *args = run->args;

	for (size_t i = 0; i < run->plan.warning_count; i++)
		nr_tell(NULL, "%s", run->plan.warnings[i]);
	if (args->explain)
		nr_show_plan(&run->plan, stderr);
	if (args->dry_run)
		return nr_written(nr_show_plan_json(&run->plan, args->command, stdout));
	if (args->exports)
		return print_export(run);
	if (args->command && nr_args_supervises(args))
		return supervise(run, err);
	return carry_out(run, err);
}

int nr_run_program(const struct nr_args *args, const struct np_topology *topology)
{
	struct run run = { .args = args, .topology = topology };
	struct np_error err = { 0 };
	int rc = prepare(&run, &err);
	int status = rc < 0 ? nr_fail(&err, NR_EXIT_FAILED) : go(&run, &err);

	nr_reserve_end(&run.reservation);
	nr_plan_release(&run.plan);
	return status;
}
