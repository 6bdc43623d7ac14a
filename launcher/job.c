/* SPDX-License-Identifier: BSD-3-Clause */
#include "job.h"

#include "../probe/base/clock.h"
#include "args.h"
#include "place.h"
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <numarun/environment.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SECOND_NS = 1000000000,
	MS_NS = 1000000,
	/* Looks at the start: at once, when it has set itself up, and after a second. */
	SECOND_LOOK_MS = 100,
	THIRD_LOOK_MS = 1000,
	/* Reading all page counts takes time; they get at most this share of it. */
	PAGES_SHARE = 5000,
	TOLD_MAX = 8, /* lines a look */
	TOLD_PERIOD_S = 60,
	TOLD_PER_PERIOD = 60,
	STAMP_SIZE = 32,
};

bool nr_job_is_alive(const struct nr_job *job)
{
	return job->state == NR_JOB_STARTING || job->state == NR_JOB_RUNNING ||
	       job->state == NR_JOB_STOPPING;
}

/* ---- start ---- */

static int open_pipe(struct nr_source *source, int *ret_write_end, struct np_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_error_sys(err, errno, "pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	source->fd = ends[0];
	*ret_write_end = ends[1];
	return 0;
}

static int spawn(struct nr_job *job, struct np_error *err)
{
	char **environment = nr_environment_make(job->plan, job->label, job->role_env, environ);
	struct nr_spawn spawn = {
		.command = job->command,
		.environment = environment,
		.sched = job->rules->sched.set ? &job->rules->sched : NULL,
		.claim = job->rules->claim,
		.signals = &job->rules->child_signals,
		.ignores_children = job->rules->ignores_children,
		.own_group = job->rules->is_service,
		.output = -1,
		.errors = -1,
	};
	int rc = environment ? 0 : np_error_sys(err, ENOMEM, "environment");

	if (rc == 0 && job->rules->is_service)
		rc = open_pipe(&job->output, &spawn.output, err);
	if (rc == 0 && job->rules->is_service)
		rc = open_pipe(&job->errors, &spawn.errors, err);
	if (rc == 0)
		rc = nr_spawn(&spawn, &job->pid, err);
	if (spawn.output >= 0)
		close(spawn.output);
	if (spawn.errors >= 0)
		close(spawn.errors);
	free(environment);
	return rc;
}

int nr_job_exit_status(int rc)
{
	if (rc == -ENOENT)
		return NR_EXIT_NOT_FOUND;
	return rc == -EACCES || rc == -ENOEXEC ? NR_EXIT_NOT_EXECUTABLE : NR_EXIT_FAILED;
}

static int watch(struct nr_job *job, uint64_t now_ns, struct np_error *err)
{
	int rc = nr_verify_begin(job->plan, job->pid, job->verification, err);

	if (rc < 0)
		return rc;
	if (job->label && asprintf(&job->mark, "NUMARUN_ROLE=%s", job->label) < 0)
		job->mark = NULL;
	if (!job->label || job->mark)
		nr_verify_adopt(job->verification, getpid(), job->mark);
	job->next_check_ns = now_ns;
	if (job->rules->claim)
		/* A program that has ended already needs no note. */
		nr_claim_note_program(job->rules->claim, job->pid, NULL);
	return 0;
}

int nr_job_start(struct nr_job *job, uint64_t now_ns)
{
	struct nr_applied applied = { 0 };
	struct np_error *err = &job->reason;
	int rc;

	nr_probe_begin(&job->ready, now_ns, &job->probe);
	rc = nr_place(job->plan, job->rules->topology, job->label, job->rules->explains, &applied,
	              err);

	if (rc < 0) {
		job->start_status = NR_EXIT_FAILED;
		job->state = NR_JOB_ENDED;
		return rc;
	}
	rc = spawn(job, err);
	nr_apply_undo(job->plan, &applied);
	nr_applied_release(&applied);
	if (rc < 0) {
		job->start_status = nr_job_exit_status(rc);
		job->state = NR_JOB_ENDED;
		return rc;
	}
	job->state = NR_JOB_STARTING;
	rc = watch(job, now_ns, err);
	if (rc < 0) {
		job->start_status = NR_EXIT_FAILED;
		nr_job_kill(job);
	}
	return rc;
}

/* ---- verification ---- */

static const char *print_time(int64_t time_ns, char *buf, size_t size)
{
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm utc;

	gmtime_r(&seconds, &utc);
	strftime(buf, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
	return buf;
}

static void tell_event(const struct nr_job *job, const struct nr_event *event)
{
	static const char *const words[] = {
		[NR_CHANGE_LOST] = "binding lost",
		[NR_CHANGE_NARROWED] = "narrowed",
		[NR_CHANGE_BACK] = "binding is back",
		[NR_CHANGE_REPINNED] = "pinned again",
	};
	static const char *const owners[] = {
		[NR_ITEM_CPUS] = "the thread set its own mask, or another process did",
		[NR_ITEM_POLICY] =
			"the program set its own policy, or its cpuset was another for a while",
		[NR_ITEM_PAGES] = "",
	};
	bool has_cause = event->change == NR_CHANGE_LOST || event->change == NR_CHANGE_NARROWED;
	bool differs = strcmp(event->kernel, event->asked) != 0;
	const char *cause = event->cause == NR_CAUSE_OWN ? owners[event->item] : event->detail;
	char stamp[STAMP_SIZE];
	char subject[64];

	if (event->item == NR_ITEM_PAGES)
		snprintf(subject, sizeof(subject), "pages");
	else
		snprintf(subject, sizeof(subject), "thread %d (%s), %s", event->thread, event->name,
		         event->item == NR_ITEM_CPUS ? "CPUs" : "memory");
	nr_tell(job->label, "%s at %s, %.1f s: %s: %s%s%s%s%s", words[event->change],
	        print_time(event->time_ns, stamp, sizeof(stamp)), (double)event->after_ns / 1e9,
	        subject, *event->kernel ? event->kernel : "none", differs ? " instead of " : "",
	        differs ? event->asked : "", has_cause && *cause ? ": " : "",
	        has_cause ? cause : "");
}

/* Whether one more line may be told in this minute; a thread that flips for hours fills no disk. */
static bool may_tell(struct nr_job *job)
{
	uint64_t now = np_now_ns();

	if (job->told_count == 0 ||
	    now - job->told_since_ns > (uint64_t)TOLD_PERIOD_S * SECOND_NS) {
		job->told_since_ns = now;
		job->told_count = 0;
		job->is_quiet = false;
	}
	if (++job->told_count <= TOLD_PER_PERIOD)
		return true;
	if (!job->is_quiet)
		nr_tell(job->label,
		        "more changes are not told for a minute; --verify=FILE has the "
		        "latest %d",
		        NR_EVENTS_MAX);
	job->is_quiet = true;
	return false;
}

static void tell_events(struct nr_job *job)
{
	const struct nr_verification *v = job->verification;
	size_t total = v->events_dropped + v->event_count;
	size_t count = total - job->events_told;
	size_t first;

	count = count < v->event_count ? count : v->event_count;
	first = v->event_count - count;
	for (size_t i = 0; i < count && i < TOLD_MAX; i++)
		if (may_tell(job))
			tell_event(job, &v->events[first + i]);
	if (count > TOLD_MAX && may_tell(job))
		nr_tell(job->label, "and %zu more of the kind", count - TOLD_MAX);
	job->events_told = total;
}

/* When to look again: soon after the start, then at the user's pace. */
static uint64_t next_check(const struct nr_job *job, uint64_t now_ns)
{
	uint64_t begin = job->verification->begin_ns;
	uint64_t every = now_ns + job->rules->verify_every_ns;
	uint64_t looks[] = { begin + (uint64_t)SECOND_LOOK_MS * MS_NS,
		             begin + (uint64_t)THIRD_LOOK_MS * MS_NS };

	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
		if (now_ns < looks[i])
			return looks[i] < every ? looks[i] : every;
	return every;
}

bool nr_job_check(struct nr_job *job, uint64_t now_ns, bool is_last)
{
	struct nr_verification *v = job->verification;
	unsigned flags = job->rules->repins && !is_last ? NR_VERIFY_REPIN : 0u;
	struct np_error err = { 0 };
	int rc;

	if (is_last || now_ns <= v->begin_ns + (uint64_t)THIRD_LOOK_MS * 2 * MS_NS)
		flags |= NR_VERIFY_ALL;
	if (now_ns >= job->next_pages_ns)
		flags |= NR_VERIFY_PAGES;
	rc = nr_verify_check(v, flags, &err);
	job->next_check_ns = next_check(job, now_ns);
	if (flags & NR_VERIFY_PAGES)
		job->next_pages_ns = now_ns + PAGES_SHARE * v->pages_cost_ns;
	if (rc < 0 && rc != -ESRCH)
		nr_tell(job->label, "%s", err.text);
	tell_events(job);
	return nr_verify_is_ok(v);
}

/* ---- end ---- */

static void send_signal(const struct nr_job *job, int signal)
{
	kill(job->rules->is_service ? -job->pid : job->pid, signal);
}

void nr_job_stop(struct nr_job *job, uint64_t now_ns)
{
	job->state = NR_JOB_STOPPING;
	job->kill_at_ns = now_ns + (uint64_t)job->stop_timeout_ms * MS_NS;
	send_signal(job, job->stop_signal);
	send_signal(job, SIGCONT);
}

void nr_job_kill(struct nr_job *job)
{
	job->state = NR_JOB_STOPPING;
	job->kill_at_ns = UINT64_MAX;
	job->was_killed = true;
	send_signal(job, SIGKILL);
}

void nr_job_end(struct nr_job *job, int wait_status)
{
	job->state = NR_JOB_ENDED;
	job->has_ended = true;
	job->wait_status = wait_status;
	nr_probe_end(&job->probe);
	if (job->was_killed || !job->rules->vitals)
		return;
	if (nr_death_explain(NULL, job->rules->vitals, job->plan, wait_status, &job->death, NULL) <
	    0)
		return;
	if (job->death)
		nr_tell(job->label, "%s: %s", job->command[0], job->death);
}

int nr_job_status(const struct nr_job *job)
{
	if (job->start_status)
		return job->start_status;
	if (!job->has_ended)
		return 0;
	return WIFSIGNALED(job->wait_status) ? 128 + WTERMSIG(job->wait_status)
	                                     : WEXITSTATUS(job->wait_status);
}

void nr_job_release(struct nr_job *job)
{
	free(job->death);
	free(job->mark);
	nr_source_end(&job->output);
	nr_source_end(&job->errors);
	nr_probe_end(&job->probe);
}
