/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole files that a user names; those of a host are read through a root (sysroot.h).
 */
#ifndef NP_FILE_H
#define NP_FILE_H

#include <numaprobe/error.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/*
 * Reads at most @most + 1 bytes of @path, so that a longer file is seen to be one, into a new block
 * that the caller frees. @what stands before the name in messages ("role file"). Returns the length.
 *
 *   -ENOENT, -EACCES ...  of open(2) and read(2)
 *   -ENOMEM
 */
ssize_t np_file_read(const char *what, const char *path, size_t most, char **ret,
                     struct np_error *err);

/*
 * Makes a new file beside @path under a name that nobody knew before, with the permissions that a
 * file made by open(2) would have. *ret_name is the caller's to free. Returns the descriptor, to be written to.
 */
int np_file_temporary(const char *path, char **ret_name, struct np_error *err);

/* Puts @data into @out; 0, or a negative errno. */
typedef int np_file_put(FILE *out, const void *data);

/*
 * Puts @data into a file beside @path, which then takes its name: whoever looks there finds the file
 * that was there before, or the whole new one.
 *
 *   -errno of open(2), write(2), rename(2), and of @put
 */
int np_file_replace(const char *path, np_file_put *put, const void *data, struct np_error *err);

#endif
