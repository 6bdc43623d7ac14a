/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What /proc/PID/stat tells of a process (proc(5)), and whether it still lives.
 */
#ifndef NR_PROCESS_H
#define NR_PROCESS_H

#include "../../probe/base/sysroot.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The kernel's names are 15 bytes long, some of its own threads' up to 63 (fs/proc/array.c). */
enum { NR_PROCESS_NAME_SIZE = 64 };

/*
 * In the flags, PF_KTHREAD and PF_NO_SETAFFINITY of include/linux/sched.h: not in the headers for
 * programs, but fixed by what top(1) and taskset(1) rely on.
 */
#define NR_PROCESS_KERNEL_THREAD 0x00200000u
#define NR_PROCESS_NO_AFFINITY 0x04000000u

struct nr_process {
	char name[NR_PROCESS_NAME_SIZE]; /* printable ASCII */
	char state;                      /* 'R', 'S', … 'Z' has ended and is not waited for yet */
	uint64_t flags;
	uint64_t thread_count;
	uint64_t start_ticks; /* after boot, in units of sysconf(_SC_CLK_TCK) */
};

/*
 * Takes the @text of a stat file apart, and writes into it.
 *
 *   -EINVAL  it is no such line
 */
int nr_process_parse(char *text, struct nr_process *ret);

/*
 * Reads that of a process or a thread.
 *
 *   -ESRCH   there is none, or it ended meanwhile
 *   -EINVAL  what the file holds is no such line
 *   other    of open(2) and read(2)
 */
int nr_process_read(const struct np_sysroot *root, pid_t pid, struct nr_process *ret,
                    struct np_error *err);

/*
 * Does the process that began at @start_ticks under that number still run? A number alone is given
 * again to others. One that cannot be seen (another PID namespace, hidepid=2) counts as ended.
 */
bool nr_process_is_alive(const struct np_sysroot *root, pid_t pid, uint64_t start_ticks);

bool nr_process_is_kernel_thread(const struct nr_process *process);
/* The kernel refuses to change its affinity, whoever asks. */
bool nr_process_is_fixed(const struct nr_process *process);
/* Ended as a whole: all that is left is a status for its parent. */
bool nr_process_is_zombie(const struct nr_process *process);

/*
 * That @pid is a living process with a memory of its own.
 *
 *   -ESRCH  no such process, ended, or hidden by the mount options of /proc
 *   -EPERM  a kernel thread
 */
int nr_process_check(const struct np_sysroot *root, pid_t pid, struct np_error *err);

/* "user 1000 (name)" for messages, in @buf, which is returned. */
const char *nr_process_owner(const struct np_sysroot *root, pid_t id, char *buf, size_t size);

#endif
