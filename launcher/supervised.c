/* SPDX-License-Identifier: BSD-3-Clause */
#include "supervised.h"

#include "show.h"
#include "tell.h"

#include <errno.h>
#include <stdlib.h>

enum { STOP_TIMEOUT_MS = 5000 };

/* How often to look unless told. */
#define EVERY_NS 10000000000u

int nr_supervised_check_sched(const struct nr_args *args, const struct np_topology *topology,
                              struct nr_plan *plan, struct np_error *err)
{
	int rc;

	if (!args->sched.set)
		return 0;
	rc = nr_sched_check(args->root, topology, &args->sched, args->force, plan, err);
	if (rc == -EPERM) {
		struct np_error why = *err;

		return np_error_set(err, EPERM, "--sched: %s; --force runs it all the same",
		                    why.text);
	}
	return rc < 0 ? np_error_wrap(err, rc, "--sched") : 0;
}

/* Jobs, with a verification each. */
static int make_jobs(struct nr_supervision *s, size_t count)
{
	s->jobs = calloc(count, sizeof(*s->jobs));
	if (!s->jobs)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct nr_job *job = &s->jobs[i];

		s->count = i + 1;
		job->rules = &s->rules;
		job->stop_signal = SIGTERM;
		job->stop_timeout_ms = STOP_TIMEOUT_MS;
		job->output.fd = -1;
		job->errors.fd = -1;
		job->verification = calloc(1, sizeof(*job->verification));
		if (!job->verification)
			return -ENOMEM;
	}
	return 0;
}

/* While it runs the file follows the first looks, and what changes. */
static void looked(void *data)
{
	struct nr_supervised *r = data;
	const struct nr_supervision *s = &r->supervision;
	size_t events = 0;
	bool is_early = false;

	if (r->steer)
		nr_steer_check(r->steer);
	for (size_t i = 0; i < s->count; i++) {
		events += s->jobs[i].verification->event_count +
		          s->jobs[i].verification->events_dropped;
		is_early = is_early || s->jobs[i].verification->check_count <= 3;
	}
	if (is_early || events != r->written_events)
		nr_verify_file_write(&r->file, s->jobs, s->count, false);
	r->written_events = events;
}

static uint64_t tick(void *data, uint64_t now_ns)
{
	struct nr_supervised *r = data;

	return nr_counting_tick(&r->counting, now_ns);
}

int nr_supervised_begin(const struct nr_args *args, const struct np_topology *topology,
                        struct nr_reservation *reservation, size_t count, struct nr_supervised *ret,
                        struct np_error *err)
{
	struct nr_supervision *s = &ret->supervision;
	int rc;

	*ret = (struct nr_supervised){
		.args = args,
		.file.special_fd = -1,
	};
	s->signal_fd = -1;
	s->rules = (struct nr_job_rules){
		.is_service = args->roles_file != NULL,
		.explains = args->explain,
		.repins = args->repin,
		.strict = args->strict,
		.verify_every_ns = args->verify_every_ns ? args->verify_every_ns : EVERY_NS,
		.sched = args->sched,
		.claim = reservation->has_claim ? &reservation->claim : NULL,
		.topology = topology,
	};
	s->hook.looked = looked;
	s->hook.tick = tick;
	s->hook.data = ret;
	rc = nr_verify_file_open(args->verify_file, &ret->file, err);
	if (rc == 0)
		rc = nr_counting_begin(args, &ret->counting, err);
	if (rc == 0 && make_jobs(s, count) < 0)
		rc = np_error_sys(err, ENOMEM, "jobs");
	/* Without it deaths are not explained, and all else is well. */
	if (rc == 0 && nr_vitals_load(NULL, topology, 0, &ret->vitals, NULL) == 0)
		s->rules.vitals = ret->vitals;
	return rc;
}

/* What was seen of each program, in words; with the counters' summary its plan too. */
static void tell(const struct nr_supervised *r)
{
	const struct nr_args *args = r->args;
	const struct nr_supervision *s = &r->supervision;
	bool sums_up = args->counts && !args->counters_file;

	for (size_t i = 0; i < s->count; i++) {
		if (s->jobs[i].pid == 0)
			continue;
		if (sums_up && !args->explain)
			nr_show_plan(s->jobs[i].plan, stderr);
		if (sums_up || (args->verifies && !args->verify_file))
			nr_verify_tell(&s->jobs[i]);
	}
}

void nr_supervised_run(struct nr_supervised *r)
{
	struct nr_supervision *s = &r->supervision;

	nr_supervise(s);
	nr_verify_file_write(&r->file, s->jobs, s->count, true);
	if (r->file.has_failed && r->args->strict && s->status == 0)
		s->status = NR_EXIT_FAILED;
	tell(r);
	nr_counting_conclude(&r->counting);
}

void nr_supervised_end(struct nr_supervised *r)
{
	struct nr_supervision *s = &r->supervision;

	for (size_t i = 0; i < s->count; i++) {
		nr_job_release(&s->jobs[i]);
		if (s->jobs[i].verification)
			nr_verify_end(s->jobs[i].verification);
		free(s->jobs[i].verification);
	}
	free(s->jobs);
	s->jobs = NULL;
	s->count = 0;
	nr_vitals_free(r->vitals);
	nr_verify_file_close(&r->file);
	nr_counting_end(&r->counting);
	r->vitals = NULL;
}
