/* SPDX-License-Identifier: BSD-3-Clause */
#include "registry.h"
#include "../../probe/base/clock.h"

#include "process.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The byte that is locked while somebody reads and takes, behind those of all CPUs. */
#define REGISTRY_BYTE (NP_BITMAP_INDEX_MAX + 1)

enum {
	ALL_MAY_ADD = 01777, /* and nobody may remove what is another's */
	OWNER_ONLY = 0700,
	ALL_MAY_LOCK = 0666,
	OPEN_TRIES = 100,
	POLL_MS = 1,
	/* What the one who has the lock leaves at the start of the file: "PID START". */
	KEEPER_SIZE = 48,
};

struct np_sysroot nr_registry_root(const struct nr_registry *registry)
{
	return (struct np_sysroot){ .fd = registry->root_fd, .live = true, .path = "" };
}

int nr_registry_self(const struct nr_registry *registry, pid_t *ret_pid, uint64_t *ret_start_ticks,
                     struct np_error *err)
{
	struct np_sysroot root = nr_registry_root(registry);
	struct nr_process self;
	int rc = nr_process_read(&root, getpid(), &self, err);

	if (rc < 0)
		return np_error_wrap(err, rc, "own start time");
	*ret_pid = getpid();
	*ret_start_ticks = self.start_ticks;
	return 0;
}

/* ---- the file of slots ---- */

static int refuse_slots(const struct nr_registry *registry, int code, const char *why,
                        struct np_error *err)
{
	return np_error_set(err, code, "%s/" NR_REGISTRY_SLOTS ": %s", registry->path, why);
}

/* Names what keeps the file from being opened, where it is not the plain truth of errno. */
static int explain_open(const struct nr_registry *registry, int code, struct np_error *err)
{
	struct stat st;

	if (code == ELOOP)
		return refuse_slots(registry, EINVAL, "it is a symbolic link: remove it", err);
	if (code == EISDIR)
		return refuse_slots(registry, EINVAL, "it is a folder: remove it", err);
	if (code == EACCES &&
	    fstatat(registry->dir_fd, NR_REGISTRY_SLOTS, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return np_error_set(err, EACCES,
		                    "%s/" NR_REGISTRY_SLOTS
		                    ": user %u made it with mode %04o, and others "
		                    "cannot lock in it: chmod 0666",
		                    registry->path, st.st_uid, st.st_mode & 07777);
	return np_error_sys(err, code, "%s/" NR_REGISTRY_SLOTS, registry->path);
}

/*
 * A second name could make us write into a file that is no registry. *ret_is_removed when it has
 * none any more: then there is, or will be, another one.
 */
static int check_slots(const struct nr_registry *registry, int fd, bool *ret_is_removed,
                       struct np_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return explain_open(registry, errno, err);
	if (!S_ISREG(st.st_mode))
		return refuse_slots(registry, EINVAL, "it is no plain file: remove it", err);
	if (st.st_nlink > 1)
		return refuse_slots(registry, EINVAL, "it has a second name: remove it", err);
	*ret_is_removed = st.st_nlink == 0;
	return 0;
}

/* Makes the file with its mode, in one step: nobody finds it half made. 0 also when it is there. */
static int create_slots(const struct nr_registry *registry, struct np_error *err)
{
	char temporary[NR_RECORD_NAME_SIZE];
	uint64_t start_ticks = 0;
	pid_t pid = 0;
	int rc = nr_registry_self(registry, &pid, &start_ticks, err);
	int fd;

	if (rc < 0)
		return rc;
	fd = nr_record_open_temporary(registry->dir_fd, pid, start_ticks, temporary);
	if (fd < 0)
		return np_error_sys(err, -fd, "%s: make '" NR_REGISTRY_SLOTS "' there",
		                    registry->path);
	rc = fchmod(fd, ALL_MAY_LOCK) < 0 ? -errno : 0;
	close(fd);
	if (rc == 0 && renameat2(registry->dir_fd, temporary, registry->dir_fd, NR_REGISTRY_SLOTS,
	                         RENAME_NOREPLACE) == 0)
		return 0;
	if (rc == 0)
		rc = -errno;
	unlinkat(registry->dir_fd, temporary, 0);
	return rc == -EEXIST ? 0
	                     : np_error_sys(err, -rc, "%s: make '" NR_REGISTRY_SLOTS "' there",
	                                    registry->path);
}

/*
 * First without O_CREAT: in a sticky folder that refuses even root the file of another user
 * (Documentation/admin-guide/sysctl/fs.rst, protected_regular).
 */
static int open_slots(const struct nr_registry *registry, bool may_create, int *ret_fd,
                      struct np_error *err)
{
	for (int i = 0; i < OPEN_TRIES; i++) {
		bool is_removed = false;
		int fd = openat(registry->dir_fd, NR_REGISTRY_SLOTS,
		                O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		int rc = 0;

		if (fd < 0 && errno == ENOENT && may_create) {
			rc = create_slots(registry, err);
			if (rc < 0)
				return rc;
			continue;
		}
		if (fd < 0)
			return explain_open(registry, errno, err);
		rc = check_slots(registry, fd, &is_removed, err);
		if (rc == 0 && !is_removed) {
			*ret_fd = fd;
			return 0;
		}
		close(fd);
		if (rc < 0)
			return rc;
	}
	return refuse_slots(registry, EAGAIN, "it is removed over and over again", err);
}

int nr_registry_open_slots(const struct nr_registry *registry, int *ret_fd, struct np_error *err)
{
	return open_slots(registry, false, ret_fd, err);
}

/* ---- opening ---- */

/* Takes @dir_fd over, also when it fails. */
static int open_in(const char *path, int dir_fd, bool may_create, struct nr_registry *ret,
                   struct np_error *err)
{
	struct nr_registry registry = {
		.dir_fd = dir_fd,
		.slots_fd = -1,
		.root_fd = -1,
		.path = strdup(path),
		.lock_timeout_ms = NR_REGISTRY_LOCK_MS,
	};
	struct np_sysroot root;
	int rc = registry.path ? 0 : np_error_sys(err, ENOMEM, "%s", path);

	if (rc == 0)
		rc = np_sysroot_open(NULL, &root, err);
	if (rc == 0) {
		registry.root_fd = root.fd;
		rc = open_slots(&registry, may_create, &registry.slots_fd, err);
	}
	if (rc < 0)
		nr_registry_close(&registry);
	else
		*ret = registry;
	return rc;
}

void nr_registry_close(struct nr_registry *registry)
{
	int *const fds[] = { &registry->slots_fd, &registry->dir_fd, &registry->root_fd };

	/* The lock goes with its file. */
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
	free(registry->path);
	registry->path = NULL;
	registry->is_locked = false;
}

static int open_folder(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);

	return fd < 0 ? -errno : fd;
}

/* Opens the folder, or makes it with that mode. */
static int make_folder(const char *path, mode_t mode)
{
	int fd = open_folder(path, O_NOFOLLOW);

	if (fd != -ENOENT)
		return fd;
	if (mkdir(path, mode) < 0)
		return errno == EEXIST ? open_folder(path, O_NOFOLLOW) : -errno;
	fd = open_folder(path, O_NOFOLLOW);
	/* The umask had its say in mkdir(). */
	if (fd >= 0 && fchmod(fd, mode) < 0) {
		int code = errno;

		close(fd);
		return -code;
	}
	return fd;
}

/* Whoever only looks needs not write. */
static int check_use(int dir_fd, bool may_create)
{
	int mode = R_OK | X_OK | (may_create ? W_OK : 0);
	int rc;

	if (dir_fd < 0 || faccessat(dir_fd, ".", mode, AT_EACCESS) == 0)
		return dir_fd;
	rc = -errno;
	close(dir_fd);
	return rc;
}

static int open_shared(const char *path, bool may_create)
{
	bool makes = may_create && geteuid() == 0;

	return check_use(makes ? make_folder(path, ALL_MAY_ADD) : open_folder(path, O_NOFOLLOW),
	                 may_create);
}

/* The user's own folder: its name in @path. -ENODATA when there is no such variable. */
static int open_private(const char *runtime_dir, bool may_create, char *path)
{
	if (!runtime_dir || *runtime_dir != '/')
		return -ENODATA;
	if (snprintf(path, PATH_MAX, "%s/numarun", runtime_dir) >= PATH_MAX)
		return -ENAMETOOLONG;
	return check_use(may_create ? make_folder(path, OWNER_ONLY) : open_folder(path, O_NOFOLLOW),
	                 may_create);
}

static int refuse_places(const struct nr_registry_places *places, bool may_create, int shared,
                         int private, struct np_error *err)
{
	char second[64 + PATH_MAX] = "XDG_RUNTIME_DIR is not set";

	if (!may_create && shared == -ENOENT && (private == -ENODATA || private == -ENOENT))
		return np_error_set(err, ENOENT,
		                    "there is no slot registry yet: nobody holds CPUs");
	if (private != -ENODATA)
		snprintf(second, sizeof(second), "%s/numarun: %s", places->runtime_dir,
		         strerrordesc_np(-private));
	return np_error_set(err, -shared,
	                    "no place for the slot registry: %s: %s; %s: let root do "
	                    "mkdir -m 1777 %s",
	                    places->shared, strerrordesc_np(-shared), second, places->shared);
}

int nr_registry_open_default(const struct nr_registry_places *places, bool may_create,
                             struct nr_registry *ret, struct np_error *err)
{
	char path[PATH_MAX];
	int shared = open_shared(places->shared, may_create);
	int private;
	int rc;

	if (shared >= 0)
		return open_in(places->shared, shared, may_create, ret, err);
	private = open_private(places->runtime_dir, may_create, path);
	if (private < 0)
		return refuse_places(places, may_create, shared, private, err);
	rc = open_in(path, private, may_create, ret, err);
	if (rc == 0)
		ret->is_private = true;
	return rc;
}

int nr_registry_open(const char *dir, bool may_create, struct nr_registry *ret,
                     struct np_error *err)
{
	const struct nr_registry_places places = {
		.shared = NR_REGISTRY_DIR,
		.runtime_dir = secure_getenv("XDG_RUNTIME_DIR"),
	};
	int fd;

	if (!dir)
		return nr_registry_open_default(&places, may_create, ret, err);
	fd = open_folder(dir, 0);
	if (fd < 0)
		return np_error_sys(err, -fd, "slot registry %s", dir);
	return open_in(dir, fd, may_create, ret, err);
}

/* ---- locks ---- */

int nr_registry_lock_bytes(int fd, unsigned first, unsigned last)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)first,
		.l_len = (off_t)(last - first) + 1,
	};

	if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
		return 0;
	return errno == EACCES ? -EAGAIN : -errno;
}

/* Some locked bytes within first..last, cut to it: 1 and where, or 0. */
static int find_lock(int fd, unsigned first, unsigned last, unsigned *ret_first, unsigned *ret_last)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)first,
		.l_len = (off_t)(last - first) + 1,
	};
	off_t end;

	if (fcntl(fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	if (lock.l_type == F_UNLCK)
		return 0;
	end = lock.l_len == 0 ? (off_t)last : lock.l_start + lock.l_len - 1;
	*ret_first = lock.l_start < (off_t)first ? first : (unsigned)lock.l_start;
	*ret_last = end > (off_t)last ? last : (unsigned)end;
	return 1;
}

int nr_registry_locked(const struct nr_registry *registry, struct np_bitmap *ret,
                       struct np_error *err)
{
	unsigned next = 0; /* all locks below are in *ret */
	unsigned last = NP_BITMAP_INDEX_MAX;
	unsigned done = 0; /* where the lowest lock seen in next..MAX ends, plus 1 */

	while (next <= NP_BITMAP_INDEX_MAX) {
		unsigned from = 0;
		unsigned to = 0;
		int rc = find_lock(registry->slots_fd, next, last, &from, &to);

		if (rc < 0)
			return np_error_sys(err, -rc, "%s/" NR_REGISTRY_SLOTS ": read its locks",
			                    registry->path);
		if (rc == 0 && last == NP_BITMAP_INDEX_MAX)
			return 0;
		if (rc > 0 && np_bitmap_add_range(ret, from, to) < 0)
			return np_error_sys(err, ENOMEM, "%s: read the locks", registry->path);
		/* The kernel names any lock of a range: then what is left of it is asked next. */
		if (rc > 0 && from > next) {
			last = from - 1;
			done = to + 1;
			continue;
		}
		next = rc > 0 ? to + 1 : done;
		last = NP_BITMAP_INDEX_MAX;
	}
	return 0;
}

static bool is_current(const struct nr_registry *registry)
{
	struct stat ours;
	struct stat named;

	return fstat(registry->slots_fd, &ours) == 0 &&
	       fstatat(registry->dir_fd, NR_REGISTRY_SLOTS, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

static int reopen_slots(struct nr_registry *registry, struct np_error *err)
{
	int fd = -1;
	int rc = open_slots(registry, true, &fd, err);

	if (rc < 0)
		return rc;
	close(registry->slots_fd);
	registry->slots_fd = fd;
	return 0;
}

/* Leaves word of who has the lock, for those who wait in vain; no harm where it cannot be told. */
static void sign(const struct nr_registry *registry)
{
	char text[KEEPER_SIZE + 1];
	uint64_t start_ticks = 0;
	pid_t pid = 0;
	ssize_t n = -1;

	if (nr_registry_self(registry, &pid, &start_ticks, NULL) == 0) {
		char line[KEEPER_SIZE];

		snprintf(line, sizeof(line), "%d %" PRIu64, (int)pid, start_ticks);
		snprintf(text, sizeof(text), "%-*s\n", KEEPER_SIZE - 1, line);
		n = pwrite(registry->slots_fd, text, KEEPER_SIZE, 0);
	}
	(void)n;
}

static int refuse_wait(const struct nr_registry *registry, struct np_error *err)
{
	struct np_sysroot root = nr_registry_root(registry);
	char text[KEEPER_SIZE + 1] = "";
	char who[64] = "a process that left no name";
	char *end = text;
	ssize_t n = pread(registry->slots_fd, text, KEEPER_SIZE, 0);
	long pid = n > 0 ? strtol(text, &end, 10) : 0;
	uint64_t start_ticks = strtoull(end, NULL, 10);

	if (pid > 0 && pid <= INT_MAX && nr_process_is_alive(&root, (pid_t)pid, start_ticks))
		snprintf(who, sizeof(who), "PID %ld", pid);
	return np_error_set(err, ETIMEDOUT,
	                    "%s: the slot registry has been locked for %g s by %s: let that go on, "
	                    "or end it",
	                    registry->path, registry->lock_timeout_ms / 1000.0, who);
}

static uint64_t now_ms(void)
{
	return np_now_ns() / 1000000;
}

int nr_registry_lock(struct nr_registry *registry, struct np_error *err)
{
	static const struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
	uint64_t deadline_ms = now_ms() + registry->lock_timeout_ms;

	for (int reopened = 0; reopened < OPEN_TRIES;) {
		int rc = nr_registry_lock_bytes(registry->slots_fd, REGISTRY_BYTE, REGISTRY_BYTE);

		if (rc == 0 && is_current(registry)) {
			registry->is_locked = true;
			sign(registry);
			return 0;
		}
		if (rc < 0 && rc != -EAGAIN)
			return np_error_sys(err, -rc, "%s/" NR_REGISTRY_SLOTS ": lock it",
			                    registry->path);
		if (rc == -EAGAIN && now_ms() >= deadline_ms)
			return refuse_wait(registry, err);
		if (rc == -EAGAIN) {
			nanosleep(&pause, NULL);
			continue;
		}
		/* Others lock in another file by now: the old one went with its name. */
		rc = reopen_slots(registry, err);
		if (rc < 0)
			return rc;
		reopened++;
	}
	return refuse_slots(registry, EAGAIN, "it is removed over and over again", err);
}

void nr_registry_unlock(struct nr_registry *registry)
{
	struct flock lock = {
		.l_type = F_UNLCK,
		.l_whence = SEEK_SET,
		.l_start = REGISTRY_BYTE,
		.l_len = 1,
	};

	if (registry->is_locked)
		fcntl(registry->slots_fd, F_OFD_SETLK, &lock);
	registry->is_locked = false;
}
