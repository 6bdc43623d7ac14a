/* SPDX-License-Identifier: BSD-3-Clause */
#include "service_run.h"

#include "../probe/base/nearest.h"
#include "args_check.h"
#include "request.h"
#include "show.h"
#include "supervised.h"
#include "tell.h"

#include <errno.h>
#include <numarun/service.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_SIZE = NR_ROLE_NAME_MAX + 16 };

/* A service on its way. */
struct service_run {
	const struct nr_args *args;
	struct nr_roles roles;
	bool *is_chosen; /* by role: to be started */
	struct np_topology *topology;
	struct nr_service service;
	char (*labels)[LABEL_SIZE]; /* by place in the service */
	struct nr_reservation reservation;
	struct nr_supervised supervised;
};

/* ---- the plan ---- */

static int refuse_role(const struct service_run *run, const char *typed, struct np_error *err)
{
	const char *names[NR_ROLES_MAX];
	const char *meant;

	for (size_t i = 0; i < run->roles.count; i++)
		names[i] = run->roles.roles[i].name;
	meant = np_nearest_name(typed, names, run->roles.count);
	if (*typed == '-')
		return np_error_set(err, EINVAL, "'%s': options stand before the roles", typed);
	return np_error_set(err, EINVAL, "%s: there is no role '%s' in it%s%s%s",
	                    run->args->roles_file, typed, meant ? ": did you mean '" : "",
	                    meant ? meant : "", meant ? "'?" : "");
}

/* Marks the roles that the command line names; all when it names none. */
static int choose_roles(struct service_run *run, struct np_error *err)
{
	char *const *names = run->args->command;

	run->is_chosen = calloc(run->roles.count, sizeof(*run->is_chosen));
	if (!run->is_chosen)
		return np_error_sys(err, ENOMEM, "roles");
	for (size_t i = 0; !names && i < run->roles.count; i++)
		run->is_chosen[i] = true;
	for (; names && *names; names++) {
		size_t i = 0;

		while (i < run->roles.count && strcmp(run->roles.roles[i].name, *names) != 0)
			i++;
		if (i == run->roles.count)
			return refuse_role(run, *names, err);
		run->is_chosen[i] = true;
	}
	return 0;
}

static int load_topology(struct service_run *run, struct np_error *err)
{
	struct np_topology_source source = {
		.root = run->args->root,
		.hwloc_xml = run->args->xml,
		.scope = NP_TOPOLOGY_GROUPS,
	};
	const char **devices;
	int count = nr_roles_devices(&run->roles, &devices, err);
	int rc;

	if (count < 0)
		return count;
	source.devices = devices;
	source.device_count = (size_t)count;
	rc = nr_load_quietly(&source, &run->topology, err);
	free(devices);
	return rc;
}

static int make_labels(struct service_run *run, struct np_error *err)
{
	run->labels = calloc(run->service.count, sizeof(*run->labels));
	if (!run->labels)
		return np_error_sys(err, ENOMEM, "roles");
	for (size_t i = 0; i < run->service.count; i++) {
		const struct nr_placed *placed = &run->service.placed[i];
		const struct nr_role *role = &run->roles.roles[placed->role];

		if (role->instances > 1)
			snprintf(run->labels[i], LABEL_SIZE, "%s.%u", role->name,
			         placed->instance + 1);
		else
			snprintf(run->labels[i], LABEL_SIZE, "%s", role->name);
	}
	return 0;
}

/* What the command line says about all plans. */
static int adjust_plans(struct service_run *run, struct np_error *err)
{
	const struct nr_args *args = run->args;

	for (size_t i = 0; i < run->service.count; i++) {
		struct nr_plan *plan = &run->service.placed[i].plan;
		int rc = 0;

		if (args->strict && plan->spilled)
			rc = np_error_set(err, EXDEV, "%s, and --strict does not allow that",
			                  plan->warning_count > 0 ? plan->warnings[0] : "spilled");
		if (args->strict)
			plan->fallback = NR_FALLBACK_FAIL;
		if (args->fallback)
			plan->fallback = args->fallback;
		if (rc == 0)
			rc = nr_supervised_check_sched(args, run->topology, plan, err);
		if (rc < 0)
			return np_error_wrap(err, rc, "%s", run->labels[i]);
	}
	return 0;
}

static int take_cores(struct service_run *run, struct np_error *err)
{
	struct np_bitmap cpus = { 0 };
	int rc = 0;

	for (size_t i = 0; i < run->service.count && rc == 0; i++)
		if (run->is_chosen[run->service.placed[i].role])
			rc = np_bitmap_or(&cpus, &run->service.placed[i].plan.cpus);
	if (rc < 0)
		np_error_sys(err, ENOMEM, "cores");
	else
		rc = nr_reserve_take(run->args, run->topology, &cpus, run->args->roles_file,
		                     &run->reservation, err);
	np_bitmap_release(&cpus);
	return rc;
}

static int prepare(struct service_run *run, struct np_error *err)
{
	int rc = nr_roles_load(run->args->roles_file, &run->roles, err);

	if (rc == 0)
		rc = choose_roles(run, err);
	if (rc == 0)
		rc = load_topology(run, err);
	if (rc == 0)
		rc = nr_reserve_begin(run->args, &run->reservation, err);
	if (rc == 0) {
		rc = nr_service_plan(run->topology, &run->roles, &run->reservation.held,
		                     &run->service, err);
		rc = rc < 0 ? np_error_wrap(err, rc, "%s", run->args->roles_file) : 0;
	}
	if (rc == 0)
		rc = make_labels(run, err);
	if (rc == 0)
		rc = adjust_plans(run, err);
	return rc == 0 ? take_cores(run, err) : rc;
}

/* ---- show ---- */

/* A role of which the command line leaves out another that it comes after: it runs elsewhere? */
static void tell_left_out(const struct service_run *run)
{
	for (size_t i = 0; i < run->roles.count; i++) {
		const struct nr_role *role = &run->roles.roles[i];

		for (size_t k = 0; run->is_chosen[i] && k < role->after_count; k++)
			if (!run->is_chosen[role->after[k]])
				nr_tell(role->name, "comes after %s, which is not started here",
				        run->roles.roles[role->after[k]].name);
	}
}

static void show(const struct service_run *run)
{
	for (size_t i = 0; i < run->service.count; i++) {
		const struct nr_plan *plan = &run->service.placed[i].plan;

		for (size_t k = 0; k < plan->warning_count; k++)
			nr_tell(run->labels[i], "%s", plan->warnings[k]);
		if (!run->args->explain)
			continue;
		fprintf(stderr, "numarun: role %s\n", run->labels[i]);
		nr_show_plan(plan, stderr);
	}
}

static int print_exports(const struct service_run *run)
{
	const struct nr_args *args = run->args;
	int rc = 0;

	nr_args_tell_export(args, stdout);
	for (size_t i = 0; i < run->service.count && rc == 0; i++) {
		const struct nr_placed *placed = &run->service.placed[i];

		if (run->is_chosen[placed->role])
			rc = nr_export(args->export_format, &placed->plan, &args->sched,
			               run->labels[i], run->roles.roles[placed->role].command,
			               stdout);
	}
	return nr_written(rc);
}

static int print_plan(const struct service_run *run)
{
	return nr_written(nr_show_service_json(&run->roles, &run->service, stdout));
}

/* ---- the run ---- */

static int fill_job(const struct service_run *run, size_t place, struct nr_job *job,
                    struct np_error *err)
{
	struct nr_placed *placed = &run->service.placed[place];
	const struct nr_role *role = &run->roles.roles[placed->role];
	int rc;

	job->label = run->labels[place];
	job->role = placed->role;
	job->after = role->after;
	job->after_count = role->after_count;
	job->plan = &placed->plan;
	job->command = role->command;
	job->role_env = role->env;
	job->ready = role->ready;
	job->stop_signal = role->stop_signal;
	job->stop_timeout_ms = role->stop_timeout_ms;
	rc = nr_probe_prepare(&job->ready, &job->probe, err);
	return rc < 0 ? np_error_wrap(err, rc, "role %s", role->name) : 0;
}

static int supervise(struct service_run *run, struct np_error *err)
{
	struct nr_supervised *supervised = &run->supervised;
	size_t count = 0;
	size_t next = 0;
	int rc;

	for (size_t i = 0; i < run->service.count; i++)
		count += run->is_chosen[run->service.placed[i].role];
	rc = nr_supervised_begin(run->args, run->topology, &run->reservation, count, supervised,
	                         err);
	for (size_t i = 0; i < run->service.count && rc == 0; i++)
		if (run->is_chosen[run->service.placed[i].role])
			rc = fill_job(run, i, &supervised->supervision.jobs[next++], err);
	if (rc == 0)
		rc = nr_supervise_prepare(&supervised->supervision, err);
	if (rc == 0)
		nr_supervised_run(supervised);
	nr_supervised_end(supervised);
	return rc < 0 ? nr_fail(err, NR_EXIT_FAILED) : 0;
}

static int go(struct service_run *run, struct np_error *err)
{
	show(run);
	tell_left_out(run);
	if (run->args->dry_run)
		return print_plan(run);
	if (run->args->exports)
		return print_exports(run);
	return supervise(run, err);
}

int nr_run_service(const struct nr_args *args)
{
	struct service_run run = { .args = args };
	struct np_error err = { 0 };
	int rc = prepare(&run, &err);
	int status = rc < 0 ? nr_fail(&err, NR_EXIT_FAILED) : go(&run, &err);

	nr_reserve_end(&run.reservation);
	nr_service_release(&run.service);
	np_topology_free(run.topology);
	nr_roles_release(&run.roles);
	free(run.is_chosen);
	free(run.labels);
	return status ? status : nr_supervise_conclude(&run.supervised.supervision);
}
