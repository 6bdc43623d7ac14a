/* SPDX-License-Identifier: BSD-3-Clause */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEFAULT_USER "nobody"
#define STAY_ROOT "(--user root stays root)"

struct identity {
	uid_t uid;
	gid_t gid;
};

/* The three sets of the calling thread; libcap is not worth having for two calls. */
struct capabilities {
	struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int capabilities_get(struct capabilities *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &header, ret->words) == 0 ? 0 : -errno;
}

static int capabilities_set(const struct capabilities *set)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &header, set->words) == 0 ? 0 : -errno;
}

/* CAP_PERFMON alone, where @from has it; nothing to be inherited. */
static struct capabilities only_perfmon(const struct capabilities *from)
{
	struct capabilities set = { 0 };
	size_t word = CAP_TO_INDEX(CAP_PERFMON);

	set.words[word].permitted = from->words[word].permitted & CAP_TO_MASK(CAP_PERFMON);
	set.words[word].effective = set.words[word].permitted;
	return set;
}

static int find_user(const char *name, struct identity *ret, struct np_error *err)
{
	const struct passwd *entry;
	unsigned long number;
	char *end;

	errno = 0;
	entry = getpwnam(name);
	number = strtoul(name, &end, 10);
	if (!entry && *name >= '0' && *name <= '9' && *end == '\0' && number < (uid_t)-1) {
		/* A container need not have a passwd file. */
		*ret = (struct identity){ .uid = (uid_t)number, .gid = (gid_t)number };
		entry = getpwuid(ret->uid);
		if (!entry)
			return 0;
	}
	if (!entry) {
		np_error_set(err, ENOENT,
		             "--user '%s': there is no such user here, give the name or the number "
		             "of another one " STAY_ROOT,
		             name);
		return -ENOENT;
	}
	*ret = (struct identity){ .uid = entry->pw_uid, .gid = entry->pw_gid };
	return 0;
}

/* What a container without the right capabilities, or with few users, gets to see. */
static int refused(struct np_error *err, int code, const char *what, unsigned number)
{
	return np_error_set(err, code, "becoming %s %u: %s " STAY_ROOT, what, number,
	                    strerror(code));
}

static int become(const struct identity *who, const struct capabilities *keep, struct np_error *err)
{
	int rc;

	if (setgroups(0, NULL) < 0 || setresgid(who->gid, who->gid, who->gid) < 0)
		return refused(err, errno, "group", who->gid);
	/* Without this the change of user would clear all capabilities. */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return np_error_sys(err, errno, "PR_SET_KEEPCAPS");
	if (setresuid(who->uid, who->uid, who->uid) < 0)
		return refused(err, errno, "user", who->uid);
	rc = capabilities_set(keep);
	if (rc < 0)
		return np_error_sys(err, -rc, "giving up capabilities");
	if (prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return np_error_sys(err, errno, "PR_SET_NO_NEW_PRIVS");
	return 0;
}

static bool is_identity(const struct identity *who)
{
	uid_t uids[3];
	gid_t gids[3];

	if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 ||
	    getresgid(&gids[0], &gids[1], &gids[2]) < 0 || getgroups(0, NULL) != 0)
		return false;
	for (size_t i = 0; i < 3; i++) {
		if (uids[i] != who->uid || gids[i] != who->gid)
			return false;
	}
	return true;
}

static int verify(const struct identity *who, const struct capabilities *keep, struct np_error *err)
{
	struct capabilities now = { 0 };
	int rc = capabilities_get(&now);

	if (rc < 0)
		return np_error_sys(err, -rc, "reading capabilities back");
	if (!is_identity(who))
		return np_error_set(err, EXDEV,
		                    "after giving up root: the process is not user %u alone",
		                    who->uid);
	if (memcmp(&now, keep, sizeof(now)) != 0)
		return np_error_set(err, EXDEV,
		                    "after giving up root: there are capabilities other than "
		                    "CAP_PERFMON");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return np_error_set(err, EXDEV, "after giving up root: no_new_privs is not set");
	return 0;
}

int nc_privileges_find(const char *user, uid_t *ret_uid, gid_t *ret_gid, struct np_error *err)
{
	struct identity who;
	int rc = find_user(user ? user : DEFAULT_USER, &who, err);

	if (rc < 0)
		return rc;
	*ret_uid = who.uid;
	*ret_gid = who.gid;
	return 0;
}

/* Whom to become: 1; 0: nobody else. */
static int choose_user(const char *user, struct identity *ret, struct np_error *err)
{
	int rc;

	if (geteuid() != 0 && !user)
		return 0;
	rc = find_user(user ? user : DEFAULT_USER, ret, err);
	if (rc < 0 || ret->uid == geteuid())
		return rc;
	if (geteuid() != 0)
		return np_error_set(err, EPERM, "--user %s: only root can become another user",
		                    user);
	return 1;
}

int nc_privileges_check(const char *user, struct np_error *err)
{
	struct identity who;
	int rc = choose_user(user, &who, err);

	return rc < 0 ? rc : 0;
}

int nc_privileges_drop(const char *user, struct np_error *err)
{
	struct identity who;
	struct capabilities before = { 0 };
	struct capabilities keep;
	int rc = choose_user(user, &who, err);

	if (rc <= 0)
		return rc;
	rc = capabilities_get(&before);
	if (rc < 0)
		return np_error_sys(err, -rc, "reading capabilities");
	keep = only_perfmon(&before);
	rc = become(&who, &keep, err);
	return rc < 0 ? rc : verify(&who, &keep, err);
}
