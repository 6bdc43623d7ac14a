/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads an XML export in a child process first: hwloc 2.9 trusts what stands in it, and a damaged
 * one (an object without its complete_cpuset, say) ends the process that loads it. An export is
 * read by people at their desks, so that twice the time does not matter.
 */
#include "hwloc_rehearse.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The largest known export loads in a tenth of a second. */
enum { SECONDS_MAX = 20 };

/* In the child: no words, no core file, no way back. */
static void __attribute__((noreturn)) perform(const char *path, np_hwloc_open_fn *open_export)
{
	const struct rlimit no_core = { 0 };
	hwloc_topology_t hwloc;
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (quiet >= 0)
		dup2(quiet, STDERR_FILENO);
	setrlimit(RLIMIT_CORE, &no_core);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	alarm(SECONDS_MAX);
	_exit(open_export(path, &hwloc) < 0 ? 1 : 0);
}

int np_hwloc_rehearse(const char *path, np_hwloc_open_fn *open_export, struct np_error *err)
{
	int status = 0;
	pid_t child = fork();
	pid_t ended;

	if (child < 0)
		return np_error_sys(err, errno, "%s: fork", path);
	if (child == 0)
		perform(path, open_export);
	do
		ended = waitpid(child, &status, 0);
	while (ended < 0 && errno == EINTR);

	/* Who ignores SIGCHLD never hears how it went; then the load itself is the test. */
	if (ended < 0 || WIFEXITED(status))
		return 0;
	return np_error_set(err, EINVAL, "%s: damaged: hwloc ends with '%s' when it loads it", path,
	                    sigdescr_np(WTERMSIG(status)));
}
