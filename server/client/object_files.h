/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects as files, for an HTTP server that serves a folder: an object's key is its path below it.
 */
#ifndef NL_OBJECT_FILES_H
#define NL_OBJECT_FILES_H

#include "target.h"

struct nl_object_files {
	int dir_fd;         /* the folder of all objects with that prefix */
	const char *prefix; /* what is left of it behind the last slash */
	char key[NL_KEY_MAX + 1];
	const char *path; /* of the folder that was named, for messages */
};

/*
 * -EINVAL unless it names files below the folder, to a file system and to an HTTP server alike: it
 * does not lead out by "..", and has none of the letters that mean something else in a URL.
 */
int nl_object_files_check(const char *prefix, struct np_error *err);

/*
 * Opens, and makes where absent, the folders down to where objects with @prefix stand below
 * @directory; both must outlive it. The caller ends it with nl_object_files_close().
 *
 *   -EINVAL  of nl_object_files_check()
 *   other    of mkdir(2), open(2)
 */
int nl_object_files_open(const char *directory, const char *prefix, struct nl_object_files *ret,
                         struct np_error *err);
void nl_object_files_close(struct nl_object_files *files);

/* Writes one, in place of an older one; a file that could not be written whole is removed. */
int nl_object_files_write(struct nl_object_files *files, uint32_t key, const char *value,
                          uint64_t bytes, struct np_error *err);

#endif
