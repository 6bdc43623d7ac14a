/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NUMARUN_EXEC_H
#define NUMARUN_EXEC_H

#include <numaprobe/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Becomes the program argv[0], sought in the PATH of @environment as execvp(3) does, but never
 * handed to a shell: a text file without a "#!" line is refused. Returns only on failure.
 *
 *   -ENOENT   there is no such program
 *   -EACCES   it is there and may not be executed
 *   -ENOEXEC  it is no program
 *   other     of execve(2)
 */
int nr_exec(char *const argv[], char *const environment[], struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
