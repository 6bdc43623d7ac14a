/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop of the measuring commands: one poll(2) over the clock, the signals and the end of the
 * program that is measured.
 */
#include "measure.h"

#include "../probe/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128, MS_PER_S = 1000 };

enum { TICK, SIGNALS, FD_COUNT };

struct ticker {
	struct nc_measure *measure;
	nc_on_sample *on_sample;
	void *context;
	struct nc_measure_end *end;
	int fds[FD_COUNT];
	sigset_t before; /* the signal mask for the program */
	pid_t pid;       /* 0 = no program, or it has ended */
	bool is_over;
	int rc;           /* of the first sample that failed; none is taken after it */
	uint64_t last_ns; /* when to end, CLOCK_MONOTONIC; 0 = never */
};

/* ---- the program ---- */

/* In the child: becomes the program, or tells why not. */
static _Noreturn void become(char *const *command, const sigset_t *signals, int report)
{
	int code;

	sigprocmask(SIG_SETMASK, signals, NULL);
	execvp(command[0], command);
	code = errno;
	(void)!write(report, &code, sizeof(code));
	_exit(EXIT_NOT_FOUND);
}

static int start_program(struct ticker *t, char *const *command, struct np_error *err)
{
	int ends[2];
	int code = 0;
	ssize_t got;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_error_sys(err, errno, "pipe");
	t->pid = fork();
	if (t->pid < 0) {
		int rc = np_error_sys(err, errno, "fork");

		t->pid = 0;
		close(ends[0]);
		close(ends[1]);
		return rc;
	}
	if (t->pid == 0)
		become(command, &t->before, ends[1]);
	close(ends[1]);
	do
		got = read(ends[0], &code, sizeof(code));
	while (got < 0 && errno == EINTR);
	close(ends[0]);
	if (got != (ssize_t)sizeof(code)) {
		t->end->has_status = true;
		return 0;
	}
	waitpid(t->pid, NULL, 0);
	t->pid = 0;
	t->end->failed_start = code;
	return np_error_sys(err, code, "%s", command[0]);
}

static void reap(struct ticker *t)
{
	int status;

	if (t->pid == 0 || waitpid(t->pid, &status, WNOHANG) != t->pid)
		return;
	t->pid = 0;
	t->end->wait_status = status;
	t->is_over = true;
}

/* ---- signals ---- */

static int open_signals(struct ticker *t, struct np_error *err)
{
	static const int wanted[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD };
	struct sigaction action;
	sigset_t signals;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		/*
		 * nohup(1) has this one ignored, and means it; blocked, it would come all the same.
		 * INT and QUIT, which a script's "&" ignores, are how such a run is ended.
		 */
		if (sigaction(wanted[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN &&
		    wanted[i] == SIGHUP)
			continue;
		sigaddset(&signals, wanted[i]);
	}
	signal(SIGCHLD, SIG_DFL);
	t->fds[SIGNALS] = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (t->fds[SIGNALS] < 0)
		return np_error_sys(err, errno, "signalfd");
	/* A reader that goes away, and a file at its limit, are errors of write(2). */
	sigaddset(&signals, SIGPIPE);
	sigaddset(&signals, SIGXFSZ);
	sigprocmask(SIG_BLOCK, &signals, &t->before);
	return 0;
}

static void take_signals(struct ticker *t)
{
	struct signalfd_siginfo info;

	while (read(t->fds[SIGNALS], &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;

		if (number == SIGCHLD)
			continue;
		t->end->signal = number;
		/* What comes from the terminal, the program has had already. */
		if (t->pid > 0 && info.ssi_code != SI_KERNEL)
			kill(t->pid, number);
		if (t->pid == 0)
			t->is_over = true;
	}
	reap(t);
}

/* ---- time ---- */

static int open_timer(struct ticker *t, unsigned interval_ms, struct np_error *err)
{
	const struct timespec every = { interval_ms / MS_PER_S,
		                        (long)(interval_ms % MS_PER_S) * 1000000L };
	const struct itimerspec timer = { every, every };

	t->fds[TICK] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (t->fds[TICK] < 0 || timerfd_settime(t->fds[TICK], 0, &timer, NULL) < 0)
		return np_error_sys(err, errno, "timer");
	return 0;
}

static int take_sample(struct ticker *t, struct np_error *err)
{
	struct nc_sample taken;
	int rc = nc_session_read(t->measure->session, &taken, err);

	if (rc < 0)
		return rc;
	nc_peaks_add(t->measure->peaks, &taken);
	return t->on_sample(t->context, &taken, err);
}

/*
 * What fails ends the loop, but not the program, which is none of that's business: as long as it
 * runs, signals are passed on to it.
 */
static void sample(struct ticker *t, struct np_error *err)
{
	if (t->rc < 0)
		return;
	t->rc = take_sample(t, err);
	if (t->rc < 0)
		t->is_over = t->pid == 0;
}

/* How long to wait at most, for poll(2): the timer wakes us but for the end. */
static int patience_ms(const struct ticker *t)
{
	uint64_t now;

	if (t->last_ns == 0)
		return -1;
	now = np_now_ns();
	if (now >= t->last_ns)
		return 0;
	/* Rounded up, so that it is not asked again and again in the last millisecond. */
	return (int)((t->last_ns - now) / 1000000u < 3600000u
	                     ? (t->last_ns - now + 999999u) / 1000000u
	                     : 3600000u);
}

static int run_loop(struct ticker *t, struct np_error *err)
{
	while (!t->is_over) {
		struct pollfd polled[FD_COUNT] = { { .fd = t->fds[TICK], .events = POLLIN },
			                           { .fd = t->fds[SIGNALS], .events = POLLIN } };
		uint64_t expirations;
		int ready = poll(polled, FD_COUNT, patience_ms(t));

		if (ready < 0 && errno != EINTR)
			return np_error_sys(err, errno, "poll");
		take_signals(t);
		if (t->last_ns && np_now_ns() >= t->last_ns)
			t->is_over = true;
		if (!t->is_over && read(t->fds[TICK], &expirations, sizeof(expirations)) > 0)
			sample(t, err);
	}
	/* The end, whatever the clock says. */
	sample(t, err);
	return t->rc;
}

static void wait_for_program(struct ticker *t)
{
	/* There is no clock, or no poll(2). */
	if (t->pid > 0 && waitpid(t->pid, &t->end->wait_status, 0) == t->pid)
		t->pid = 0;
}

int nc_measure_run(const struct nc_measure_args *args, struct nc_measure *measure,
                   nc_on_sample *on_sample, void *context, struct nc_measure_end *ret,
                   struct np_error *err)
{
	struct ticker t = { .measure = measure,
		            .on_sample = on_sample,
		            .context = context,
		            .end = ret,
		            .fds = { -1, -1 } };
	int rc;

	*ret = (struct nc_measure_end){ 0 };
	rc = open_signals(&t, err);
	if (rc == 0 && args->command)
		rc = start_program(&t, args->command, err);
	if (rc == 0)
		rc = open_timer(&t, args->interval_ms, err);
	if (args->duration_s > 0)
		t.last_ns = np_now_ns() + (uint64_t)(args->duration_s * 1e9);
	if (rc == 0)
		rc = run_loop(&t, err);
	wait_for_program(&t);
	for (size_t i = 0; i < FD_COUNT; i++)
		if (t.fds[i] >= 0)
			close(t.fds[i]);
	return rc;
}

int nc_measure_status(const struct nc_measure_end *end)
{
	if (end->failed_start)
		return end->failed_start == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
	if (!end->has_status)
		return NP_EXIT_OK;
	return WIFSIGNALED(end->wait_status) ? EXIT_SIGNAL + WTERMSIG(end->wait_status)
	                                     : WEXITSTATUS(end->wait_status);
}
