/* SPDX-License-Identifier: BSD-3-Clause */
#include "supervise.h"

#include "../probe/base/clock.h"
#include "args.h"
#include "signals.h"
#include "sweep.h"
#include "tell.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	MS_NS = 1000000,
	SECOND_MS = 1000,
	DRAIN_MS = 300, /* for readers of our output, at the end */
	PATIENCE_MS = 100,
	NAME_SIZE = 128,
};

int nr_supervise_prepare(struct nr_supervision *s, struct np_error *err)
{
	s->signal_fd = nr_signals_open(s->rules.is_service, &s->rules.child_signals,
	                               &s->rules.ignores_children, err);
	if (s->signal_fd < 0)
		return s->signal_fd;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	nr_tell_patience(PATIENCE_MS);
	return 0;
}

/* ---- who waits for whom ---- */

/* Whether all of its instances are ready, or have ended well. */
static bool is_role_up(const struct nr_supervision *s, size_t role)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct nr_job *job = &s->jobs[i];

		if (job->role == role && job->state != NR_JOB_ENDED && job->state != NR_JOB_RUNNING)
			return false;
	}
	return true;
}

static bool may_start(const struct nr_supervision *s, const struct nr_job *job)
{
	for (size_t i = 0; i < job->after_count; i++)
		if (!is_role_up(s, job->after[i]))
			return false;
	return true;
}

static bool others_come_after(const struct nr_supervision *s, const struct nr_job *job)
{
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->jobs[i].after_count; k++)
			if (s->jobs[i].after[k] == job->role)
				return true;
	return false;
}

/* All that nobody comes after have ended: those that are left served them. */
static bool is_done(const struct nr_supervision *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->jobs[i].state != NR_JOB_ENDED && !others_come_after(s, &s->jobs[i]))
			return false;
	return true;
}

static bool all_ended(const struct nr_supervision *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->jobs[i].state != NR_JOB_ENDED)
			return false;
	return true;
}

/* ---- stopping ---- */

static void lose(struct nr_supervision *s, const struct nr_job *job)
{
	nr_tell(job->label, "the placement is not what was asked for, and --strict ends the run");
	s->status = NR_EXIT_FAILED;
	s->is_lost = true;
}

/* The last look at placements, while there is still something to see. */
static void look_once_more(struct nr_supervision *s)
{
	uint64_t now = np_now_ns();

	for (size_t i = 0; i < s->count; i++)
		if (nr_job_is_alive(&s->jobs[i]) && !nr_job_check(&s->jobs[i], now, true) &&
		    s->rules.strict && !s->is_lost)
			lose(s, &s->jobs[i]);
}

static void begin_stop(struct nr_supervision *s)
{
	if (s->is_stopping)
		return;
	look_once_more(s);
	s->is_stopping = true;
	for (size_t i = 0; i < s->count; i++)
		if (s->jobs[i].state == NR_JOB_WAITING)
			s->jobs[i].state = NR_JOB_ENDED;
}

/* Stops the last that was started; the one before it when that has ended. */
static void stop_next(struct nr_supervision *s, uint64_t now)
{
	const struct nr_job *first = NULL;

	for (size_t i = s->count; i-- > 0;) {
		struct nr_job *job = &s->jobs[i];

		if (!nr_job_is_alive(job))
			continue;
		/* The instances of a role go together. */
		if (first && job->role != first->role)
			return;
		first = job;
		if (job->state == NR_JOB_STOPPING)
			continue;
		if (s->rules.explains)
			nr_tell(job->label, "stopping");
		nr_job_stop(job, now);
	}
}

static void kill_overdue(struct nr_supervision *s, uint64_t now)
{
	for (size_t i = 0; i < s->count; i++) {
		struct nr_job *job = &s->jobs[i];

		if (job->state != NR_JOB_STOPPING || now < job->kill_at_ns)
			continue;
		nr_job_kill(job);
		nr_tell(job->label, "did not stop within %.1f s: killed",
		        (double)job->stop_timeout_ms / SECOND_MS);
	}
}

static void fail(struct nr_supervision *s, int status)
{
	if (s->status == 0 && s->signal == 0)
		s->status = status;
	begin_stop(s);
}

/* ---- starting ---- */

static void start_job(struct nr_supervision *s, struct nr_job *job, uint64_t now)
{
	job->output.sink = &s->output;
	job->errors.sink = &s->errors;
	job->output.label = job->label;
	job->errors.label = job->label;
	if (nr_job_start(job, now) < 0) {
		nr_tell(job->label, "%s", job->reason.text);
		fail(s, job->start_status);
	} else if (s->rules.explains) {
		nr_tell(job->label, "started, process %d", job->pid);
	}
}

static void probe_job(struct nr_supervision *s, struct nr_job *job, uint64_t now)
{
	char name[NAME_SIZE];

	if (nr_probe_is_ready(&job->probe, now)) {
		job->state = NR_JOB_RUNNING;
		if (s->rules.explains && job->ready.kind != NR_READY_AT_ONCE)
			nr_tell(job->label, "ready after %.1f s",
			        (double)(now - job->probe.begin_ns) / 1e9);
	} else if (now >= nr_probe_deadline(&job->probe)) {
		nr_tell(job->label,
		        "not ready after %g s (%s): check its output, or give it "
		        "longer (ready = ..., SECONDS)",
		        (double)job->ready.timeout_ms / SECOND_MS,
		        nr_probe_name(&job->probe, name, sizeof(name)));
		fail(s, NR_EXIT_FAILED);
	}
}

static void start_what_can(struct nr_supervision *s, uint64_t now)
{
	for (size_t i = 0; i < s->count && !s->is_stopping; i++) {
		struct nr_job *job = &s->jobs[i];

		if (job->state == NR_JOB_WAITING && may_start(s, job))
			start_job(s, job, now);
		if (job->state == NR_JOB_STARTING)
			probe_job(s, job, now);
	}
}

/* ---- ends ---- */

static struct nr_job *find_job(struct nr_supervision *s, pid_t pid)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->jobs[i].pid == pid && nr_job_is_alive(&s->jobs[i]))
			return &s->jobs[i];
	return NULL;
}

/* Whether a job that has ended is what the others waited for; its last act may have made it so. */
static bool got_ready(struct nr_job *job)
{
	return job->state != NR_JOB_STARTING || job->ready.kind == NR_READY_DELAY ||
	       nr_probe_is_ready(&job->probe, np_now_ns());
}

static void end_job(struct nr_supervision *s, struct nr_job *job, int wait_status)
{
	bool was_ready = got_ready(job);
	char name[NAME_SIZE];
	int status;

	if (!was_ready)
		nr_probe_name(&job->probe, name, sizeof(name));
	nr_job_end(job, wait_status);
	status = nr_job_status(job);
	if (!s->rules.is_service) {
		if (s->status == 0)
			s->status = status;
		if (WIFSIGNALED(wait_status) && s->status == status)
			s->signal = WTERMSIG(wait_status);
		return;
	}
	if (s->is_stopping || (status == 0 && was_ready))
		return;
	if (status == 0) {
		nr_tell(job->label,
		        "ended before it was ready (%s): a role's program must not go into the "
		        "background; the others are stopped",
		        name);
		status = NR_EXIT_FAILED;
	} else if (WIFSIGNALED(wait_status)) {
		nr_tell(job->label, "failed: killed by signal %d (%s); the others are stopped",
		        WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
	} else {
		nr_tell(job->label, "failed: exit status %d; the others are stopped", status);
	}
	fail(s, status);
}

/* There are no children any more: whoever is still thought to live was reaped by somebody else. */
static void end_lost_jobs(struct nr_supervision *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (nr_job_is_alive(&s->jobs[i]))
			end_job(s, &s->jobs[i], 0);
}

static void reap(struct nr_supervision *s)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		struct nr_job *job = find_job(s, pid);

		/* Others are what a program has left behind, which is ours to reap. */
		if (job)
			end_job(s, job, wait_status);
	}
	if (pid < 0 && errno == ECHILD)
		end_lost_jobs(s);
	if (s->rules.is_service && !s->is_stopping && is_done(s))
		begin_stop(s);
}

/* ---- signals ---- */

static void send_all(const struct nr_supervision *s, int signal)
{
	for (size_t i = 0; i < s->count; i++)
		if (nr_job_is_alive(&s->jobs[i]))
			kill(-s->jobs[i].pid, signal);
}

static void interrupt_service(struct nr_supervision *s, int signal)
{
	if (s->signal == 0) {
		s->signal = signal;
		begin_stop(s);
		return;
	}
	/* Asked twice: no more patience. */
	for (size_t i = 0; i < s->count; i++)
		if (nr_job_is_alive(&s->jobs[i]))
			nr_job_kill(&s->jobs[i]);
}

static void handle_service_signal(struct nr_supervision *s, int signal)
{
	switch (signal) {
	case SIGUSR1:
	case SIGUSR2:
	case SIGWINCH:
		/* Which role would they be for? */
		break;
	case SIGTSTP:
		send_all(s, SIGSTOP);
		raise(SIGSTOP);
		break;
	case SIGCONT:
		send_all(s, SIGCONT);
		break;
	default:
		interrupt_service(s, signal);
	}
}

/* What the terminal sends goes to the whole foreground group, with the program unless it left. */
static bool has_it_already(const struct nr_job *job, const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_KERNEL && getpgid(job->pid) == getpgrp();
}

static void handle_signal(struct nr_supervision *s, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	if (signal == SIGCHLD)
		return;
	if (s->rules.is_service) {
		handle_service_signal(s, signal);
		return;
	}
	if (signal != SIGWINCH && signal != SIGCONT)
		look_once_more(s);
	if (nr_job_is_alive(&s->jobs[0]) && !has_it_already(&s->jobs[0], info))
		kill(s->jobs[0].pid, signal);
}

static void read_signals(struct nr_supervision *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == sizeof(info))
		handle_signal(s, &info);
	reap(s);
}

/* ---- the loop ---- */

static void check_due(struct nr_supervision *s, uint64_t now)
{
	bool looked = false;

	for (size_t i = 0; i < s->count; i++) {
		struct nr_job *job = &s->jobs[i];

		if ((job->state != NR_JOB_STARTING && job->state != NR_JOB_RUNNING) ||
		    now < job->next_check_ns)
			continue;
		looked = true;
		if (!nr_job_check(job, now, false) && s->rules.strict && !s->is_stopping) {
			lose(s, job);
			begin_stop(s);
		}
	}
	if (looked && s->hook.looked)
		s->hook.looked(s->hook.data);
}

static void earlier(uint64_t *deadline, uint64_t other)
{
	if (other < *deadline)
		*deadline = other;
}

static uint64_t next_deadline(const struct nr_supervision *s, uint64_t now)
{
	uint64_t deadline = s->next_tick_ns;

	for (size_t i = 0; i < s->count; i++) {
		const struct nr_job *job = &s->jobs[i];

		if (job->state == NR_JOB_STARTING)
			earlier(&deadline, now + (uint64_t)NR_PROBE_EVERY_MS * MS_NS);
		if (job->state == NR_JOB_STARTING || job->state == NR_JOB_RUNNING)
			earlier(&deadline, job->next_check_ns);
		if (job->state == NR_JOB_STOPPING)
			earlier(&deadline, job->kill_at_ns);
	}
	return deadline;
}

static void add_source(struct nr_source *source, struct pollfd *fds, struct nr_source **sources,
                       size_t *count)
{
	if (!nr_source_wants(source))
		return;
	fds[*count] = (struct pollfd){ .fd = source->fd, .events = POLLIN };
	sources[(*count)++] = source;
}

static void add_sink(const struct nr_sink *sink, struct pollfd *fds, size_t *count)
{
	if (sink->len > 0 && !sink->is_broken)
		fds[(*count)++] = (struct pollfd){ .fd = sink->fd, .events = POLLOUT };
}

static int timeout_until(uint64_t deadline, uint64_t now)
{
	uint64_t ms;

	if (deadline == UINT64_MAX)
		return -1;
	/* Rounded up, so that it is past when we wake. */
	ms = deadline > now ? (deadline - now + MS_NS - 1) / MS_NS : 0;
	return ms > INT32_MAX ? INT32_MAX : (int)ms;
}

/* Waits for whatever comes first, and handles it. */
static void turn(struct nr_supervision *s, struct pollfd *fds, struct nr_source **sources)
{
	uint64_t now = np_now_ns();
	size_t count = 1;
	size_t source_end;

	fds[0] = (struct pollfd){ .fd = s->signal_fd, .events = POLLIN };
	for (size_t i = 0; i < s->count; i++) {
		add_source(&s->jobs[i].output, fds, sources, &count);
		add_source(&s->jobs[i].errors, fds, sources, &count);
	}
	source_end = count;
	add_sink(&s->output, fds, &count);
	add_sink(&s->errors, fds, &count);
	poll(fds, count, timeout_until(next_deadline(s, now), now));

	for (size_t i = 1; i < source_end; i++)
		if (fds[i].revents)
			nr_source_read(sources[i]);
	nr_sink_flush(&s->output);
	nr_sink_flush(&s->errors);
	if (s->output.is_broken && s->signal == 0) {
		s->signal = SIGPIPE;
		begin_stop(s);
	}
	read_signals(s);
}

static void tick(struct nr_supervision *s)
{
	s->next_tick_ns = s->hook.tick ? s->hook.tick(s->hook.data, np_now_ns()) : UINT64_MAX;
}

static void run(struct nr_supervision *s, struct pollfd *fds, struct nr_source **sources)
{
	tick(s);
	start_what_can(s, np_now_ns());
	check_due(s, np_now_ns());
	/* What was needed to begin is not needed while we wait. */
	malloc_trim(0);
	while (!all_ended(s)) {
		uint64_t now;

		turn(s, fds, sources);
		now = np_now_ns();
		if (s->is_stopping)
			stop_next(s, now);
		else
			start_what_can(s, now);
		kill_overdue(s, now);
		check_due(s, now);
		tick(s);
	}
}

/* ---- the end ---- */

/* What is still in the pipes and the sinks, as far as somebody takes it soon. */
static void drain(struct nr_supervision *s)
{
	nr_sink_drain(&s->output, DRAIN_MS);
	nr_sink_drain(&s->errors, DRAIN_MS);
	for (size_t i = 0; i < s->count; i++) {
		nr_source_drain(&s->jobs[i].output);
		nr_source_drain(&s->jobs[i].errors);
	}
	nr_sink_flush(&s->output);
	nr_sink_flush(&s->errors);
}

void nr_supervise(struct nr_supervision *s)
{
	struct pollfd *fds = calloc(2 * s->count + 3, sizeof(*fds));
	struct nr_source **sources = calloc(2 * s->count + 3, sizeof(struct nr_source *));

	s->output.fd = STDOUT_FILENO;
	s->errors.fd = STDERR_FILENO;
	if (fds && sources) {
		run(s, fds, sources);
	} else {
		nr_tell(NULL, "out of memory");
		s->status = NR_EXIT_FAILED;
	}
	if (s->rules.is_service)
		nr_sweep_children();
	drain(s);
	free(fds);
	free(sources);
}

int nr_supervise_conclude(const struct nr_supervision *s)
{
	return s->signal == 0 || s->is_lost ? s->status : nr_signals_die(s->signal);
}
