/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host as a parameter: every file under /sys and /proc is read through one of these, so that
 * the same code reads this machine and a tree captured on another one.
 *
 * Paths are relative to the root ("sys/devices/system/node/online"). Under a root other than "/" no
 * link leads out of it, whatever the captured tree holds, and only plain files are read: a pipe or
 * a device in a foreign tree would hang us.
 */
#ifndef NP_SYSROOT_H
#define NP_SYSROOT_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdbool.h>

struct np_sysroot {
	int fd;
	bool live;        /* the root is "/" */
	const char *path; /* as the user gave it, "" for "/"; borrowed, for messages */
};

/* The longest file we read. The longest real ones (proc/mounts, a list of 8192 CPUs) are < 100 KiB.
 */
#define NP_SYSROOT_FILE_BYTES_MAX (1u << 20)

/*
 * Opens @dir, NULL for "/", which must outlive *ret. End it with np_sysroot_close(), twice is ok.
 *
 *   -errno of open(2): -ENOENT, -ENOTDIR, -EACCES …
 */
int np_sysroot_open(const char *dir, struct np_sysroot *ret, struct np_error *err);
void np_sysroot_close(struct np_sysroot *root);

/* True when @path exists there, of whatever type, readable or not. */
bool np_sysroot_has(const struct np_sysroot *root, const char *path);

/*
 * Reads a whole text file into a new string, without the newline at its end; the caller frees it.
 *
 *   -ENOENT, -EACCES …  of open(2) and read(2); err names the file
 *   -EINVAL             it holds NUL bytes or is no plain file
 *   -E2BIG              it is longer than NP_SYSROOT_FILE_BYTES_MAX
 */
int np_sysroot_read(const struct np_sysroot *root, const char *path, char **ret,
                    struct np_error *err);

/* The same where absence is an answer: 0 with *ret NULL when there is no such file. */
int np_sysroot_read_optional(const struct np_sysroot *root, const char *path, char **ret,
                             struct np_error *err);

/*
 * Reads at most @size - 1 bytes of a file's beginning into @buf, which a NUL ends; for files that
 * may be longer than they need be read (proc/cpuinfo: 2 KiB for each CPU). Returns their number.
 *
 *   -ENOENT, -EACCES …  of open(2) and read(2)
 *   -EINVAL             it holds NUL bytes there, or is no plain file
 */
int np_sysroot_read_head(const struct np_sysroot *root, const char *path, char *buf, size_t size,
                         struct np_error *err);

/*
 * Opens a file for reading, for what is read many times (pread(2) from its beginning gives the
 * kernel's present text); the caller closes *ret_fd.
 *
 *   -ENOENT, -EACCES ...  of open(2)
 *   -EINVAL, -EISDIR      under a root other than "/": it is no plain file
 */
int np_sysroot_open_file(const struct np_sysroot *root, const char *path, int *ret_fd,
                         struct np_error *err);

/* One number in min..max, or -EINVAL with the text that was found; *ret is untouched on failure. */
int np_sysroot_read_long(const struct np_sysroot *root, const char *path, long min, long max,
                         long *ret, struct np_error *err);

/* A CPU or node list, added to *ret. Old kernels end some of these files in NUL bytes: tolerated.
 */
int np_sysroot_read_list(const struct np_sysroot *root, const char *path, struct np_bitmap *ret,
                         struct np_error *err);

/* The same where absence is an answer: 0 with *ret_found false when there is no such file. */
int np_sysroot_read_list_optional(const struct np_sysroot *root, const char *path,
                                  struct np_bitmap *ret, bool *ret_found, struct np_error *err);

/* A CPU mask (cpumap), added to *ret. */
int np_sysroot_read_mask(const struct np_sysroot *root, const char *path, struct np_bitmap *ret,
                         struct np_error *err);

/* Where the link @path leads, as text, in a new string. -EINVAL when it is no link. */
int np_sysroot_read_link(const struct np_sysroot *root, const char *path, char **ret,
                         struct np_error *err);

/*
 * The names in a directory, sorted, in *ret_names (a block with its strings that the caller ends
 * with one free()). Returns their number.
 *
 *   -ENOENT, -ENOTDIR, -EACCES …
 */
int np_sysroot_list(const struct np_sysroot *root, const char *path, char ***ret_names,
                    struct np_error *err);

/*
 * Adds to *ret the N of each entry "<prefix>N" of a directory: nodeN, cpuN. Entries whose rest is
 * not a plain number are passed over (cpufreq, nodefoo).
 */
int np_sysroot_list_indexes(const struct np_sysroot *root, const char *path, const char *prefix,
                            struct np_bitmap *ret, struct np_error *err);

#endif
