/* SPDX-License-Identifier: BSD-3-Clause */
/* Mounts that nobody else sees, and that are gone with the test. */
#ifndef OWN_MOUNTS_H
#define OWN_MOUNTS_H

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static inline bool own_mounts_map(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool is_done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return is_done;
}

/* As root, or as root of a namespace of ours, which threads (a sanitizer's too) rule out. */
static inline bool own_mounts_begin(void)
{
	char users[64];
	char groups[64];

	snprintf(users, sizeof(users), "0 %u 1", geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1", getegid());
	if (unshare(CLONE_NEWNS) == 0)
		return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	       own_mounts_map("/proc/self/setgroups", "deny") &&
	       own_mounts_map("/proc/self/uid_map", users) &&
	       own_mounts_map("/proc/self/gid_map", groups) &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Else the test is skipped. */
static inline void own_mounts_or_skip(void)
{
	if (own_mounts_begin())
		return;
	print_message("skipped: mounting is refused here: %s\n", strerror(errno));
	skip();
}

static inline void own_mounts_tmpfs(const char *path, const char *options)
{
	if (mount("tmpfs", path, "tmpfs", 0, options) < 0)
		fail_msg("mounting a tmpfs on %s: %s", path, strerror(errno));
}

#endif
