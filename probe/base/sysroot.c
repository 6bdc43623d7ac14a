/* SPDX-License-Identifier: BSD-3-Clause */
#include "sysroot.h"

#include <numaprobe/cpulist.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	QUOTE_SIZE = 64,
	FIRST_READ_BYTES = 4096,
	RACES_MAX = 10000, /* lost in a row by one open: each takes microseconds */
};

int np_sysroot_open(const char *dir, struct np_sysroot *ret, struct np_error *err)
{
	const char *path = dir ? dir : "/";
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return np_error_sys(err, errno, "%s", *path ? path : "''");
	*ret = (struct np_sysroot){
		.fd = fd,
		.live = strcmp(path, "/") == 0,
		.path = strcmp(path, "/") == 0 ? "" : path,
	};
	return 0;
}

void np_sysroot_close(struct np_sysroot *root)
{
	if (root->fd >= 0)
		close(root->fd);
	root->fd = -1;
}

static int open_in(const struct np_sysroot *root, const char *path, int flags)
{
	/* A pipe must not hang us; openat2 is strict and takes no such flag with O_PATH. */
	int nonblock = flags & O_PATH ? 0 : O_NONBLOCK;
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC | nonblock),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	if (root->live)
		return openat(root->fd, path, flags | O_CLOEXEC);

	/*
	 * On the way through a ".." the kernel cannot be sure of the root while anybody on this machine renames a file
	 * or mounts a filesystem, and asks to try again (openat2(2)).
	 */
	for (unsigned i = 0; i < RACES_MAX; i++) {
		fd = (int)syscall(SYS_openat2, root->fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	/* Removable once Linux >= 5.6 and no seccomp filter without openat2 can be met. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root->fd, path, flags | O_CLOEXEC | nonblock);
	return fd;
}

static int fail(const struct np_sysroot *root, const char *path, int code, struct np_error *err)
{
	return np_error_sys(err, code, "%s/%s", root->path, path);
}

bool np_sysroot_has(const struct np_sysroot *root, const char *path)
{
	int fd = open_in(root, path, O_PATH);

	/* What is there but cannot be opened must fail where it is read, not pass for absent. */
	if (fd < 0)
		return errno != ENOENT && errno != ENOTDIR;
	close(fd);
	return true;
}

static int check_plain(const struct np_sysroot *root, const char *path, int fd,
                       struct np_error *err)
{
	struct stat st;

	if (root->live)
		return 0;
	if (fstat(fd, &st) < 0)
		return fail(root, path, errno, err);
	if (S_ISDIR(st.st_mode))
		return fail(root, path, EISDIR, err);
	if (!S_ISREG(st.st_mode))
		return np_error_set(err, EINVAL, "%s/%s: not a plain file", root->path, path);
	return 0;
}

/* Reads to the end of @fd into a growing buffer; the length, without a NUL at its end. */
static int read_all(const struct np_sysroot *root, const char *path, int fd, char **ret,
                    struct np_error *err)
{
	size_t size = FIRST_READ_BYTES;
	bool is_sysfs = root->live && strncmp(path, "sys/", 4) == 0;
	size_t len = 0;
	char *buf = malloc(size);

	while (buf) {
		ssize_t n = read(fd, buf + len, size - len - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(buf);
			return fail(root, path, errno, err);
		}
		len += (size_t)n;
		/* sysfs hands out a whole attribute at once, so that a short read is its end. */
		if (n == 0 || (is_sysfs && len < size - 1)) {
			*ret = buf;
			return (int)len;
		}
		if (len > NP_SYSROOT_FILE_BYTES_MAX) {
			free(buf);
			return np_error_set(err, E2BIG, "%s/%s: longer than %u bytes", root->path,
			                    path, NP_SYSROOT_FILE_BYTES_MAX);
		}
		if (len + 1 == size) {
			char *grown = realloc(buf, size * 2);

			if (!grown)
				free(buf);
			buf = grown;
			size *= 2;
		}
	}
	return fail(root, path, ENOMEM, err);
}

int np_sysroot_open_file(const struct np_sysroot *root, const char *path, int *ret_fd,
                         struct np_error *err)
{
	int fd = open_in(root, path, O_RDONLY);
	int rc;

	if (fd < 0)
		return fail(root, path, errno, err);
	rc = check_plain(root, path, fd, err);
	if (rc < 0) {
		close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

/* The bytes of a file with a NUL behind them; its length. */
static int read_file(const struct np_sysroot *root, const char *path, char **ret,
                     struct np_error *err)
{
	char *buf = NULL;
	int fd;
	int rc = np_sysroot_open_file(root, path, &fd, err);

	if (rc < 0)
		return rc;
	rc = read_all(root, path, fd, &buf, err);
	close(fd);
	if (rc < 0)
		return rc;
	buf[rc] = '\0';
	*ret = buf;
	return rc;
}

static int refuse_nul(const struct np_sysroot *root, const char *path, const char *text, int len,
                      struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	if (strlen(text) == (size_t)len)
		return 0;
	return np_error_set(err, EINVAL, "%s/%s: '%s' and then a NUL byte: not a text file",
	                    root->path, path, np_error_quote(text, quoted, sizeof(quoted)));
}

int np_sysroot_read(const struct np_sysroot *root, const char *path, char **ret,
                    struct np_error *err)
{
	char *buf;
	int len = read_file(root, path, &buf, err);
	int rc;

	if (len < 0)
		return len;
	rc = refuse_nul(root, path, buf, len, err);
	if (rc < 0) {
		free(buf);
		return rc;
	}
	if (len > 0 && buf[len - 1] == '\n')
		buf[--len] = '\0';
	*ret = buf;
	return len;
}

/* Up to @size bytes of @fd; fewer at the file's end only. */
static int read_some(const struct np_sysroot *root, const char *path, int fd, char *buf,
                     size_t size, struct np_error *err)
{
	size_t len = 0;

	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(root, path, errno, err);
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (int)len;
}

int np_sysroot_read_head(const struct np_sysroot *root, const char *path, char *buf, size_t size,
                         struct np_error *err)
{
	int fd = open_in(root, path, O_RDONLY);
	int len;
	int rc;

	if (fd < 0)
		return fail(root, path, errno, err);
	rc = check_plain(root, path, fd, err);
	len = rc < 0 ? rc : read_some(root, path, fd, buf, size - 1, err);
	close(fd);
	if (len < 0)
		return len;
	buf[len] = '\0';
	rc = refuse_nul(root, path, buf, len, err);
	return rc < 0 ? rc : len;
}

/* Turns the absence of a file into 0; any other failure is handed on with its reason. */
static int allow_absence(int rc, const struct np_error *why, struct np_error *err)
{
	if (rc == -ENOENT || rc == -ENOTDIR)
		return 0;
	if (rc < 0 && err)
		*err = *why;
	return rc;
}

int np_sysroot_read_optional(const struct np_sysroot *root, const char *path, char **ret,
                             struct np_error *err)
{
	struct np_error why = { 0 };

	*ret = NULL;
	return allow_absence(np_sysroot_read(root, path, ret, &why), &why, err);
}

int np_sysroot_read_long(const struct np_sysroot *root, const char *path, long min, long max,
                         long *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char *text;
	char *end;
	long value;
	int rc = np_sysroot_read(root, path, &text, err);

	if (rc < 0)
		return rc;

	errno = 0;
	value = strtol(text, &end, 10);
	/* strtol takes leading space and a plus; no kernel writes either. */
	if (errno || end == text || *end != '\0' ||
	    !(isdigit((unsigned char)*text) || *text == '-') || value < min || value > max)
		rc = np_error_set(err, EINVAL, "%s/%s: '%s' is not a number in %ld..%ld",
		                  root->path, path, np_error_quote(text, quoted, sizeof(quoted)),
		                  min, max);
	else
		*ret = value;
	free(text);
	return rc < 0 ? rc : 0;
}

typedef int parse_fn(const char *text, struct np_bitmap *ret, struct np_error *err);

static int read_set(const struct np_sysroot *root, const char *path, parse_fn *parse,
                    struct np_bitmap *ret, struct np_error *err)
{
	struct np_bitmap set = { 0 };
	char *text;
	int len = read_file(root, path, &text, err);
	int rc;

	if (len < 0)
		return len;
	/* Some captures end in NUL bytes, made by tools that trust the size of a sysfs file. */
	while (len > 0 && *text != '\0' && text[len - 1] == '\0')
		len--;
	rc = refuse_nul(root, path, text, len, err);
	if (rc == 0) {
		rc = parse(text, &set, err);
		if (rc < 0)
			np_error_wrap(err, rc, "%s/%s", root->path, path);
	}
	if (rc == 0 && np_bitmap_or(ret, &set) < 0)
		rc = fail(root, path, ENOMEM, err);
	np_bitmap_release(&set);
	free(text);
	return rc;
}

int np_sysroot_read_list(const struct np_sysroot *root, const char *path, struct np_bitmap *ret,
                         struct np_error *err)
{
	return read_set(root, path, np_cpulist_parse, ret, err);
}

int np_sysroot_read_list_optional(const struct np_sysroot *root, const char *path,
                                  struct np_bitmap *ret, bool *ret_found, struct np_error *err)
{
	struct np_error why = { 0 };
	int rc = np_sysroot_read_list(root, path, ret, &why);

	*ret_found = rc == 0;
	return allow_absence(rc, &why, err);
}

int np_sysroot_read_mask(const struct np_sysroot *root, const char *path, struct np_bitmap *ret,
                         struct np_error *err)
{
	return read_set(root, path, np_cpumask_parse, ret, err);
}

int np_sysroot_read_link(const struct np_sysroot *root, const char *path, char **ret,
                         struct np_error *err)
{
	char target[PATH_MAX];
	ssize_t len;
	int fd = open_in(root, path, O_PATH | O_NOFOLLOW);

	if (fd < 0)
		return fail(root, path, errno, err);
	len = readlinkat(fd, "", target, sizeof(target));
	close(fd);
	/* With an empty path the kernel says ENOENT for what is no link (readlink(2)). */
	if (len < 0)
		return fail(root, path, errno == ENOENT ? EINVAL : errno, err);
	if (len == sizeof(target))
		return fail(root, path, ENAMETOOLONG, err);
	*ret = strndup(target, (size_t)len);
	return *ret ? 0 : fail(root, path, ENOMEM, err);
}

static int not_dotted(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Moves scandir's names into one block of pointers followed by their text. */
static char **pack_names(struct dirent **entries, int count)
{
	size_t size = sizeof(char *) * ((size_t)count + 1);
	char **names;
	char *text;

	for (int i = 0; i < count; i++)
		size += strlen(entries[i]->d_name) + 1;
	names = malloc(size);
	if (!names)
		return NULL;
	text = (char *)(names + count + 1);
	for (int i = 0; i < count; i++) {
		names[i] = text;
		text = stpcpy(text, entries[i]->d_name) + 1;
	}
	names[count] = NULL;
	return names;
}

int np_sysroot_list(const struct np_sysroot *root, const char *path, char ***ret_names,
                    struct np_error *err)
{
	struct dirent **entries = NULL;
	char **names;
	int count;
	int fd = open_in(root, path, O_RDONLY | O_DIRECTORY);

	if (fd < 0)
		return fail(root, path, errno, err);
	count = scandirat(fd, ".", &entries, not_dotted, alphasort);
	if (count < 0) {
		int code = errno;

		close(fd);
		return fail(root, path, code, err);
	}
	close(fd);

	names = pack_names(entries, count);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (!names)
		return fail(root, path, ENOMEM, err);
	*ret_names = names;
	return count;
}

int np_sysroot_list_indexes(const struct np_sysroot *root, const char *path, const char *prefix,
                            struct np_bitmap *ret, struct np_error *err)
{
	size_t prefix_len = strlen(prefix);
	char **names;
	int count = np_sysroot_list(root, path, &names, err);
	int rc = 0;

	if (count < 0)
		return count;
	for (int i = 0; i < count && rc == 0; i++) {
		const char *digits = names[i] + prefix_len;
		unsigned long index;
		char *end;

		if (strncmp(names[i], prefix, prefix_len) != 0 || !isdigit((unsigned char)*digits))
			continue;
		index = strtoul(digits, &end, 10);
		if (*end != '\0' || index > NP_BITMAP_INDEX_MAX)
			continue;
		if (np_bitmap_add(ret, (unsigned)index) < 0)
			rc = fail(root, path, ENOMEM, err);
	}
	free(names);
	return rc;
}
