/* SPDX-License-Identifier: BSD-3-Clause */
#include "signals.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

/*
 * Is it one that would end us, leaving what is to be put back? Faults are our own and end us at
 * once; SIGPIPE is an error of write(2).
 */
static bool ends_us(int signal)
{
	static const int others[] = { SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGFPE,  SIGILL,
		                      SIGTRAP, SIGABRT, SIGSYS,  SIGPIPE, SIGCHLD, SIGURG,
		                      SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGWINCH };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i] == signal)
			return false;
	/* Those between are the C library's own. */
	return signal < __SIGRTMIN || signal >= SIGRTMIN;
}

static bool is_ignored(int signal)
{
	struct sigaction action;

	return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void choose_signals(bool is_service, sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGCHLD);
	for (int signal = 1; signal <= SIGRTMAX; signal++) {
		bool is_wanted = ends_us(signal) || signal == SIGWINCH || signal == SIGCONT ||
		                 (signal == SIGTSTP && is_service);

		/*
		 * nohup(1) has SIGHUP ignored, and means it. A script's "&" has SIGINT and SIGQUIT
		 * ignored too, and does not mean those that somebody sends to us. What is passed
		 * on to one program, that program ignores by itself.
		 */
		if (signal == SIGHUP && is_service && is_ignored(signal))
			continue;
		if (is_wanted)
			sigaddset(ret, signal);
	}
}

int nr_signals_open(bool is_service, sigset_t *ret_before, bool *ret_ignores_children,
                    struct np_error *err)
{
	sigset_t signals;
	int fd;

	/* Ignored, the kernel would reap our children itself. */
	*ret_ignores_children = is_ignored(SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	choose_signals(is_service, &signals);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return np_error_sys(err, errno, "signalfd");
	/* A reader of our output that goes away is an error to be handled, not our end. */
	sigaddset(&signals, SIGPIPE);
	sigprocmask(SIG_BLOCK, &signals, ret_before);
	return fd;
}

int nr_signals_die(int signal_number)
{
	const struct rlimit no_core = { 0 };
	sigset_t signals;

	/* The program has left a core already, if any. */
	setrlimit(RLIMIT_CORE, &no_core);
	signal(signal_number, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, signal_number);
	raise(signal_number);
	sigprocmask(SIG_UNBLOCK, &signals, NULL);
	return 128 + signal_number;
}
