/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of a program and their threads, from proc/.
 */
#ifndef NR_TASKS_H
#define NR_TASKS_H

#include "../../probe/base/sysroot.h"

#include <stdbool.h>
#include <sys/types.h>

/* No program of any use has more, and a list that is made up must end. */
enum { NR_TASKS_MAX = 1 << 20 };

struct nr_task_list {
	pid_t *ids;
	size_t count;
	size_t room;
};

void nr_task_list_release(struct nr_task_list *list);

/* -ENOMEM. */
int nr_task_list_add(struct nr_task_list *list, pid_t id);

/*
 * Adds the threads of @process.
 *
 *   -ESRCH   it has ended
 *   -ENOMEM
 *   other    of open(2)
 */
int nr_tasks_of(const struct np_sysroot *root, pid_t process, struct nr_task_list *ret);

/* Whether it is the turn of the thread at this place of a process, when one in @count is looked at. */
struct nr_turn {
	unsigned which;
	unsigned count; /* 1 = it is everybody's */
};

bool nr_turn_has(struct nr_turn turn, size_t place);

/*
 * Adds the processes that one thread has started, as far as they were not handed over to another
 * parent and are not in the list. A kernel without proc/PID/task/TID/children (CONFIG_PROC_CHILDREN)
 * tells none. -ENOMEM.
 */
int nr_tasks_children(const struct np_sysroot *root, pid_t process, pid_t thread,
                      struct nr_task_list *ret);

/*
 * Adds the children of @process that are not in the list and were started with the variable @mark
 * ("NAME=VALUE"), NULL = with any. -ENOMEM.
 */
int nr_tasks_adopt(const struct np_sysroot *root, pid_t process, const char *mark,
                   struct nr_task_list *ret);

/* The thread's name, printable, in the caller's buffer; "?" when it has ended. Returns it. */
const char *nr_tasks_name(const struct np_sysroot *root, pid_t thread, char *buf, unsigned size);

#endif
