/* SPDX-License-Identifier: BSD-3-Clause */
#include "tasks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A longer environment is read in part: what we set stands behind what was inherited. */
enum { PATH_SIZE = 64, FIRST_ROOM = 16, ENVIRONMENT_SIZE = 32768 };

void nr_task_list_release(struct nr_task_list *list)
{
	free(list->ids);
	*list = (struct nr_task_list){ 0 };
}

int nr_task_list_add(struct nr_task_list *list, pid_t id)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : FIRST_ROOM;
		pid_t *grown = room > NR_TASKS_MAX ? NULL : realloc(list->ids, room * sizeof(id));

		if (!grown)
			return -ENOMEM;
		list->ids = grown;
		list->room = room;
	}
	list->ids[list->count++] = id;
	return 0;
}

int nr_tasks_of(const struct np_sysroot *root, pid_t process, struct nr_task_list *ret)
{
	char path[PATH_SIZE];
	const struct dirent *entry;
	DIR *dir;
	int fd;
	int rc = 0;

	snprintf(path, sizeof(path), "proc/%d/task", process);
	fd = openat(root->fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (rc == 0 && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			rc = nr_task_list_add(ret, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(dir);
	return rc;
}

bool nr_turn_has(struct nr_turn turn, size_t place)
{
	/* The first one does most: it is its turn always. */
	return place == 0 || place % turn.count == turn.which % turn.count;
}

static bool has(const struct nr_task_list *list, pid_t id)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->ids[i] == id)
			return true;
	return false;
}

int nr_tasks_children(const struct np_sysroot *root, pid_t process, pid_t thread,
                      struct nr_task_list *ret)
{
	char path[PATH_SIZE];
	char *text;
	char *end;
	int rc = 0;

	snprintf(path, sizeof(path), "proc/%d/task/%d/children", process, thread);
	if (np_sysroot_read(root, path, &text, NULL) < 0)
		return 0;
	for (const char *at = text; rc == 0; at = end) {
		long id = strtol(at, &end, 10);

		if (end == at)
			break;
		if (!has(ret, (pid_t)id))
			rc = nr_task_list_add(ret, (pid_t)id);
	}
	free(text);
	return rc;
}

/* Whether @process was started with @mark in its environment, as far as that is shown to us. */
static bool has_mark(const struct np_sysroot *root, pid_t process, const char *mark)
{
	char path[PATH_SIZE];
	char text[ENVIRONMENT_SIZE];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "proc/%d/environ", process);
	fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (len < sizeof(text) && (n = read(fd, text + len, sizeof(text) - len)) > 0)
		len += (size_t)n;
	close(fd);
	for (const char *at = text; at < text + len;) {
		const char *end = memchr(at, '\0', (size_t)(text + len - at));

		if (!end)
			break;
		if (strcmp(at, mark) == 0)
			return true;
		at = end + 1;
	}
	return false;
}

int nr_tasks_adopt(const struct np_sysroot *root, pid_t process, const char *mark,
                   struct nr_task_list *ret)
{
	struct nr_task_list children = { 0 };
	int rc = nr_tasks_children(root, process, process, &children);

	for (size_t i = 0; rc == 0 && i < children.count; i++)
		if (!has(ret, children.ids[i]) && (!mark || has_mark(root, children.ids[i], mark)))
			rc = nr_task_list_add(ret, children.ids[i]);
	nr_task_list_release(&children);
	return rc;
}

const char *nr_tasks_name(const struct np_sysroot *root, pid_t thread, char *buf, unsigned size)
{
	char path[PATH_SIZE];
	char *text;

	snprintf(path, sizeof(path), "proc/%d/comm", thread);
	if (np_sysroot_read(root, path, &text, NULL) < 0)
		return np_error_quote("?", buf, size);
	np_error_quote(text, buf, size);
	free(text);
	return buf;
}
