/* SPDX-License-Identifier: BSD-3-Clause */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <numarun/exec.h>
#include <numarun/sched.h>
#include <numarun/slots.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the child with a report; what does not fit into the pipe at once does not happen. */
static _Noreturn void give_up(int report, const struct np_error *err)
{
	ssize_t written = write(report, err, sizeof(*err));

	_exit(written == sizeof(*err) ? 0 : 1);
}

/* Makes @fd the child's @standard descriptor; it may be that already, and then stays over exec(). */
static int move_to(int fd, int standard)
{
	if (fd == standard)
		return fcntl(fd, F_SETFD, 0);
	return dup2(fd, standard);
}

static int redirect(const struct nr_spawn *spawn, struct np_error *err)
{
	int rc = 0;

	if (spawn->own_group) {
		int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

		setpgid(0, 0);
		rc = null < 0 ? -1 : move_to(null, STDIN_FILENO);
	}
	if (rc >= 0 && spawn->output >= 0)
		rc = move_to(spawn->output, STDOUT_FILENO);
	if (rc >= 0 && spawn->errors >= 0)
		rc = move_to(spawn->errors, STDERR_FILENO);
	return rc < 0 ? np_error_sys(err, errno, "standard input or output") : 0;
}

static _Noreturn void become(const struct nr_spawn *spawn, pid_t parent, int report)
{
	struct np_error err = { 0 };
	int rc = redirect(spawn, &err);

	/* Cores are not to be left taken by a program that nobody watches any more. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(1);
	if (rc == 0 && spawn->claim && nr_claim_inherit(spawn->claim) < 0)
		rc = np_error_sys(&err, errno, "slots");
	if (rc == 0 && spawn->sched)
		rc = nr_sched_set(spawn->sched, &err);
	if (rc == 0) {
		if (spawn->own_group) {
			/* Ignored in a script's background, they could not stop a role. */
			signal(SIGINT, SIG_DFL);
			signal(SIGQUIT, SIG_DFL);
		}
		if (spawn->ignores_children)
			signal(SIGCHLD, SIG_IGN);
		sigprocmask(SIG_SETMASK, spawn->signals, NULL);
		nr_exec(spawn->command, spawn->environment, &err);
	}
	give_up(report, &err);
}

/* What the child reported, 0 when its end of the pipe was closed by exec(). */
static int read_report(int report, struct np_error *err)
{
	struct np_error why;
	ssize_t len;

	do
		len = read(report, &why, sizeof(why));
	while (len < 0 && errno == EINTR);
	if (len == 0)
		return 0;
	if (len != sizeof(why))
		return np_error_set(err, EIO, "the child ended before it became the program");
	if (err)
		*err = why;
	return -why.code;
}

int nr_spawn(const struct nr_spawn *spawn, pid_t *ret_pid, struct np_error *err)
{
	pid_t parent = getpid();
	int report[2];
	pid_t pid;
	int rc;

	if (pipe2(report, O_CLOEXEC) < 0)
		return np_error_sys(err, errno, "pipe");
	pid = fork();
	if (pid == 0)
		become(spawn, parent, report[1]);
	rc = pid < 0 ? np_error_sys(err, errno, "fork") : 0;
	close(report[1]);
	if (pid > 0) {
		/* In both processes: whoever comes first, a signal to the group is not lost. */
		if (spawn->own_group)
			setpgid(pid, pid);
		rc = read_report(report[0], err);
		if (rc < 0)
			waitpid(pid, NULL, 0);
	}
	close(report[0]);
	if (rc == 0)
		*ret_pid = pid;
	return rc;
}
