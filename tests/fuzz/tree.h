/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The small host that the fuzz targets load: a folder in memory, whose files are replaced by the
 * fuzzer's bytes.
 */
#ifndef TREE_H
#define TREE_H

#include <stddef.h>

/*
 * The folder that stands for "/", made under $TMPDIR, else in memory, at the first call. It is
 * removed when the process ends, but not when it aborts.
 */
const char *tree_root(void);

/* Puts the content there, or with NULL nothing. */
void tree_put(const char *path, const char *content, size_t size);

/* The same for an empty folder and a link. */
void tree_put_folder(const char *path);
void tree_put_link(const char *path, const char *target);

/* Writes the whole of a host of two nodes with two CPUs each, and eth0 on node 1. */
void tree_put_host(void);

/*
 * The host's files in the order in which fuzz_sysfs takes them from its input, and what is in them
 * when the host is in order; NULL where it has no such file.
 */
struct tree_file {
	const char *path;
	const char *text;
};
extern const struct tree_file tree_files[];
extern const size_t tree_file_count;

/* Puts that file back in order. */
void tree_put_back(const struct tree_file *file);

#endif
