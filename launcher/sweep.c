/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MS_NS = 1000000, PATIENCE_MS = 500 /* from TERM to KILL */ };

/* Signals every child that is left, in @signal; false when there is none. */
static bool signal_children(int signal)
{
	char path[64];
	bool found = false;
	FILE *file;
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	file = fopen(path, "re");
	if (!file)
		return false;
	while (fscanf(file, "%d", &pid) == 1) {
		found = true;
		kill(pid, signal);
		kill(pid, SIGCONT);
	}
	fclose(file);
	return found;
}

/* Reaps for a while; true when no child is left. */
static bool wait_for_children(int timeout_ms)
{
	const struct timespec pause = { .tv_nsec = 5L * MS_NS };

	for (int waited = 0; waited <= timeout_ms; waited += 5) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

void nr_sweep_children(void)
{
	if (!signal_children(SIGTERM) || wait_for_children(PATIENCE_MS))
		return;
	/* Each that is killed may hand its own children over to us. */
	while (signal_children(SIGKILL) && !wait_for_children(0))
		;
}
