/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 64, PASSWD_SIZE = 4096 };

/* Places in /proc/PID/stat, counted from 1 as proc(5) does. */
enum { FIELD_STATE = 3, FIELD_FLAGS = 9, FIELD_THREADS = 20, FIELD_START = 22 };

/* The numbers behind the state, up to the start; a negative one wraps and is none of ours. */
static bool parse_numbers(const char *text, uint64_t *ret)
{
	for (int field = FIELD_STATE + 1; field <= FIELD_START; field++) {
		char *end;

		errno = 0;
		ret[field] = strtoull(text, &end, 10);
		if (errno || end == text || (*end != ' ' && *end != '\0'))
			return false;
		text = end;
	}
	return true;
}

/* The name may hold anything, spaces and parentheses too: it ends at the last one. */
int nr_process_parse(char *text, struct nr_process *ret)
{
	uint64_t numbers[FIELD_START + 1] = { 0 };
	char *name = strchr(text, '(');
	char *end = strrchr(text, ')');

	if (!name || !end || end < name || end[1] != ' ' || end[2] == '\0' ||
	    !parse_numbers(end + 3, numbers))
		return -EINVAL;
	*end = '\0';
	*ret = (struct nr_process){
		.state = end[2],
		.flags = numbers[FIELD_FLAGS],
		.thread_count = numbers[FIELD_THREADS],
		.start_ticks = numbers[FIELD_START],
	};
	np_error_quote(name + 1, ret->name, sizeof(ret->name));
	return 0;
}

bool nr_process_is_kernel_thread(const struct nr_process *process)
{
	return process->flags & NR_PROCESS_KERNEL_THREAD;
}

bool nr_process_is_fixed(const struct nr_process *process)
{
	return process->flags & NR_PROCESS_NO_AFFINITY;
}

bool nr_process_is_zombie(const struct nr_process *process)
{
	/* A first thread that ended before the others is a zombie, its process is not. */
	return strchr("ZX", process->state) && process->thread_count <= 1;
}

static int refuse_absent(const struct np_sysroot *root, pid_t pid, struct np_error *err)
{
	if (root->live && (kill(pid, 0) == 0 || errno == EPERM))
		return np_error_set(err, ESRCH,
		                    "process %d: it is there, but /proc hides it (mounted with "
		                    "hidepid): root can see it",
		                    (int)pid);
	return np_error_set(err, ESRCH, "process %d: no such process", (int)pid);
}

int nr_process_read(const struct np_sysroot *root, pid_t id, struct nr_process *ret,
                    struct np_error *err)
{
	char path[PATH_SIZE];
	char *text;
	int rc;

	snprintf(path, sizeof(path), "proc/%d/stat", (int)id);
	rc = np_sysroot_read(root, path, &text, err);
	if (rc == -ENOENT || rc == -ESRCH)
		return refuse_absent(root, id, err);
	if (rc < 0)
		return rc;
	rc = nr_process_parse(text, ret);
	free(text);
	return rc < 0 ? np_error_set(err, EINVAL, "%s/%s: not the line that proc(5) describes",
	                             root->path, path)
	              : 0;
}

bool nr_process_is_alive(const struct np_sysroot *root, pid_t pid, uint64_t start_ticks)
{
	struct nr_process process;

	return pid > 0 && nr_process_read(root, pid, &process, NULL) == 0 &&
	       process.start_ticks == start_ticks && !nr_process_is_zombie(&process);
}

int nr_process_check(const struct np_sysroot *root, pid_t pid, struct np_error *err)
{
	struct nr_process process;
	int rc;

	if (pid <= 0)
		return np_error_set(err, ESRCH, "process %d: no such process", (int)pid);
	rc = nr_process_read(root, pid, &process, err);
	if (rc < 0)
		return rc;
	if (nr_process_is_kernel_thread(&process))
		return np_error_set(err, EPERM,
		                    "process %d is a kernel thread: it is not ours to move",
		                    (int)pid);
	if (nr_process_is_zombie(&process))
		return np_error_set(err, ESRCH,
		                    "process %d has ended: its parent has yet to take its status",
		                    (int)pid);
	return 0;
}

const char *nr_process_owner(const struct np_sysroot *root, pid_t id, char *buf, size_t size)
{
	char path[PATH_SIZE];
	char memory[PASSWD_SIZE];
	struct passwd entry;
	struct passwd *found = NULL;
	unsigned uid;
	char *text = NULL;
	const char *line;

	snprintf(path, sizeof(path), "proc/%d/status", (int)id);
	snprintf(buf, size, "another user");
	if (np_sysroot_read(root, path, &text, NULL) < 0)
		return buf;
	line = strstr(text, "\nUid:");
	if (line && sscanf(line, "\nUid:%u", &uid) == 1) {
		if (getpwuid_r(uid, &entry, memory, sizeof(memory), &found) == 0 && found)
			snprintf(buf, size, "user %u (%s)", uid, found->pw_name);
		else
			snprintf(buf, size, "user %u", uid);
	}
	free(text);
	return buf;
}
