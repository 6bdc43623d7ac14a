/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is in a pool is wiped when it is opened. So that this can never be somebody's data, a pool has a marker,
 * which only ns_pool_prepare() writes, and only into an empty directory.
 */
#include "pool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char marker_name[] = ".numastore-pool";
static const char marker_text[] =
	"numastore pool 1: all that is in this directory is deleted when numastore starts\n";
static const char file_name[] = "tails";

enum { DEPTH_MAX = 64, NAME_QUOTED_MAX = 64 };

/* ---- directories ---- */

static bool is_self(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static DIR *open_list(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (!list && fd >= 0)
		close(fd);
	return list;
}

static int wipe(int dir_fd, dev_t device, unsigned depth, struct np_error *err);

/* A directory below the pool, with all that is in it. */
static int wipe_directory(int dir_fd, const char *name, dev_t device, unsigned depth,
                          struct np_error *err)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char quoted[NAME_QUOTED_MAX];
	struct stat st;
	int rc;

	np_error_quote(name, quoted, sizeof(quoted));
	if (fd < 0 || fstat(fd, &st) < 0)
		rc = np_error_sys(err, errno, "%s", quoted);
	else if (st.st_dev != device)
		rc = np_error_set(err, EXDEV, "%s is of another filesystem", quoted);
	else if (depth == DEPTH_MAX)
		rc = np_error_set(err, ELOOP, "%s: more than %d directories deep", quoted,
		                  DEPTH_MAX);
	else
		rc = wipe(fd, device, depth + 1, err);
	if (fd >= 0)
		close(fd);
	if (rc == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR) < 0)
		rc = np_error_sys(err, errno, "%s", quoted);
	return rc;
}

/*
 * Links are removed, not followed. The kernel refuses to remove what something is mounted on, be it a part of the
 * same filesystem, before it looks whether it is empty.
 */
static int wipe_entry(int dir_fd, const char *name, dev_t device, unsigned depth,
                      struct np_error *err)
{
	char quoted[NAME_QUOTED_MAX];

	if (unlinkat(dir_fd, name, 0) == 0)
		return 0;
	if (errno == EISDIR && unlinkat(dir_fd, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == ENOTEMPTY || errno == EEXIST)
		return wipe_directory(dir_fd, name, device, depth, err);
	np_error_quote(name, quoted, sizeof(quoted));
	if (errno == EBUSY)
		return np_error_set(err, EXDEV, "something is mounted on %s: unmount it first",
		                    quoted);
	return np_error_sys(err, errno, "%s", quoted);
}

static int wipe(int dir_fd, dev_t device, unsigned depth, struct np_error *err)
{
	DIR *list = open_list(dir_fd);
	const struct dirent *entry;
	int rc = 0;

	if (!list)
		return np_error_sys(err, errno, "listing");
	while (rc == 0 && (entry = readdir(list)) != NULL) {
		if (is_self(entry->d_name) || (depth == 0 && !strcmp(entry->d_name, marker_name)))
			continue;
		rc = wipe_entry(dir_fd, entry->d_name, device, depth, err);
	}
	closedir(list);
	return rc;
}

/* ---- preparing ---- */

static int check_empty(const char *path, int dir_fd, struct np_error *err)
{
	DIR *list;
	const struct dirent *entry;
	char name[NAME_QUOTED_MAX];
	int rc = 0;

	if (faccessat(dir_fd, marker_name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return np_error_set(err, ENOTEMPTY, "%s is a pool already", path);
	list = open_list(dir_fd);
	if (!list)
		return np_error_sys(err, errno, "%s", path);
	while (rc == 0 && (entry = readdir(list)) != NULL) {
		if (!is_self(entry->d_name))
			rc = np_error_set(err, ENOTEMPTY,
			                  "%s is not empty (%s is in it), and all that is in a "
			                  "pool gets deleted: take an empty or a new directory",
			                  path, np_error_quote(entry->d_name, name, sizeof(name)));
	}
	closedir(list);
	return rc;
}

static int write_marker(const char *path, int dir_fd, struct np_error *err)
{
	int fd = openat(dir_fd, marker_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                0600);
	int rc = 0;

	if (fd < 0)
		return np_error_sys(err, errno, "%s/%s", path, marker_name);
	if (write(fd, marker_text, strlen(marker_text)) != (ssize_t)strlen(marker_text) ||
	    fsync(fd) < 0)
		rc = np_error_sys(err, errno ? errno : EIO, "%s/%s", path, marker_name);
	close(fd);
	if (rc < 0)
		(void)unlinkat(dir_fd, marker_name, 0);
	return rc;
}

int ns_pool_prepare(const char *path, struct np_error *err)
{
	int dir_fd;
	int rc;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return np_error_sys(err, errno, "%s", path);
	dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return np_error_sys(err, errno, "%s", path);
	rc = check_empty(path, dir_fd, err);
	if (rc == 0)
		rc = write_marker(path, dir_fd, err);
	close(dir_fd);
	return rc;
}

/* ---- opening ---- */

static bool is_marker(int fd)
{
	char text[sizeof(marker_text)];
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       pread(fd, text, sizeof(text), 0) == (ssize_t)strlen(marker_text) &&
	       memcmp(text, marker_text, strlen(marker_text)) == 0;
}

/* Nothing has been touched when this fails. */
static int claim(struct ns_pool *pool, int dir_fd, struct np_error *err)
{
	pool->marker_fd =
		openat(dir_fd, marker_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (pool->marker_fd < 0 && errno != ENOENT && errno != ELOOP)
		return np_error_sys(err, errno, "%s/%s", pool->path, marker_name);
	if (pool->marker_fd < 0 || !is_marker(pool->marker_fd))
		return np_error_set(err, EPERM,
		                    "%s is no pool (it has no %s of ours), and what is in it would "
		                    "be deleted: numastore --prepare-pool DIR makes a pool of an "
		                    "empty directory",
		                    pool->path, marker_name);
	if (flock(pool->marker_fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
		               ? np_error_set(err, EBUSY,
		                              "%s: another numastore has this pool, or it is "
		                              "named twice",
		                              pool->path)
		               : np_error_sys(err, errno, "%s/%s", pool->path, marker_name);
	return 0;
}

static int open_file(struct ns_pool *pool, int dir_fd, struct np_error *err)
{
	const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;

	pool->is_direct = true;
	pool->fd = openat(dir_fd, file_name, flags | O_DIRECT, 0600);
	/* A filesystem that has none says so once the file is there. */
	if (pool->fd < 0 && errno == EINVAL) {
		pool->is_direct = false;
		(void)unlinkat(dir_fd, file_name, 0);
		pool->fd = openat(dir_fd, file_name, flags, 0600);
	}
	return pool->fd < 0 ? np_error_sys(err, errno, "%s/%s", pool->path, file_name) : 0;
}

static int set_up(struct ns_pool *pool, int dir_fd, struct np_error *err)
{
	struct stat st;
	int rc = claim(pool, dir_fd, err);

	if (rc < 0)
		return rc;
	if (fstat(dir_fd, &st) < 0)
		return np_error_sys(err, errno, "%s", pool->path);
	rc = wipe(dir_fd, st.st_dev, 0, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "%s cannot be emptied", pool->path);
	return open_file(pool, dir_fd, err);
}

int ns_pool_open(const char *path, struct ns_pool *ret, struct np_error *err)
{
	int dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	if (dir_fd < 0)
		return np_error_sys(err, errno, "%s", path);
	*ret = (struct ns_pool){ .marker_fd = -1, .fd = -1 };
	pthread_mutex_init(&ret->growing, NULL);
	ret->path = strdup(path);
	ret->units = ns_units_create();
	if (!ret->path || !ret->units)
		rc = np_error_sys(err, ENOMEM, "%s", path);
	else
		rc = set_up(ret, dir_fd, err);
	close(dir_fd);
	if (rc < 0)
		ns_pool_close(ret);
	return rc;
}

/* The file's space is given back; the marker stays. */
void ns_pool_close(struct ns_pool *pool)
{
	if (pool->fd >= 0) {
		(void)!ftruncate(pool->fd, 0);
		close(pool->fd);
	}
	if (pool->marker_fd >= 0)
		close(pool->marker_fd);
	ns_units_free(pool->units);
	pthread_mutex_destroy(&pool->growing);
	free(pool->path);
}

/* ---- space ---- */

/* A file that would get larger than a limit of the process costs it a SIGXFSZ, which ends it. */
static bool is_beyond_limit(off_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	       (rlim_t)bytes > limit.rlim_cur;
}

/* 0 or an errno. */
static int extend(const struct ns_pool *pool, off_t begin, off_t end)
{
	int rc;

	if (is_beyond_limit(end))
		return EFBIG;
	do
		rc = fallocate(pool->fd, 0, begin, end - begin);
	while (rc < 0 && errno == EINTR);
	/* Without it, a full disk is found when it is written to. */
	if (rc < 0 && errno == EOPNOTSUPP)
		rc = ftruncate(pool->fd, end);
	return rc < 0 ? errno : 0;
}

static void note_error(struct ns_pool *pool);

int ns_pool_extend(struct ns_pool *pool, uint32_t units)
{
	off_t begin = (off_t)ns_units_count(pool->units) * NS_TAIL_UNIT_BYTES;
	int code = extend(pool, begin, (off_t)units * NS_TAIL_UNIT_BYTES);

	if (code == 0)
		return 0;
	/* Some filesystems keep the part that there was room for. */
	(void)!ftruncate(pool->fd, begin);
	if (code == ENOSPC || code == EDQUOT || code == EFBIG)
		return -ENOSPC;
	if (code == ENOMEM)
		return -ENOMEM;
	note_error(pool);
	return -EIO;
}

uint64_t ns_pool_room_bytes(const struct ns_pool *pool)
{
	struct statvfs st;

	if (fstatvfs(pool->fd, &st) < 0)
		return 0;
	return (uint64_t)st.f_bavail * st.f_frsize;
}

/* ---- how it goes ---- */

bool ns_pool_is_retired(const struct ns_pool *pool)
{
	return __atomic_load_n(&pool->is_retired, __ATOMIC_RELAXED);
}

static void add(uint64_t *counter, uint64_t amount)
{
	(void)__atomic_fetch_add(counter, amount, __ATOMIC_RELAXED);
}

/* Once retired it stays so: what works later is luck. */
static void note_in_row(struct ns_pool *pool)
{
	if (__atomic_add_fetch(&pool->errors_in_row, 1, __ATOMIC_RELAXED) >= NS_POOL_ERRORS_MAX)
		__atomic_store_n(&pool->is_retired, true, __ATOMIC_RELAXED);
}

static void note_error(struct ns_pool *pool)
{
	add(&pool->errors, 1);
	note_in_row(pool);
}

void ns_pool_count(struct ns_pool *pool, bool is_write, uint64_t bytes, int rc)
{
	add(is_write ? &pool->writes : &pool->reads, 1);
	if (rc == 0) {
		add(is_write ? &pool->written_bytes : &pool->read_bytes, bytes);
		__atomic_store_n(&pool->errors_in_row, 0, __ATOMIC_RELAXED);
	} else if (rc == -ENOSPC) {
		/* A full disk is no fault of the pool. */
		add(&pool->errors, 1);
	} else {
		note_error(pool);
	}
}

void ns_pool_count_damage(struct ns_pool *pool, uint32_t units)
{
	add(&pool->reads, 1);
	add(&pool->damaged, units);
	note_in_row(pool);
}
