/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole files that a user names; those of a host are read through a root (sysroot.h).
 */
#ifndef NP_FILE_H
#define NP_FILE_H

#include <numaprobe/error.h>
#include <stddef.h>
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

#endif
