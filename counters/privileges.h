/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From root to an ordinary user who may count and nothing else.
 */
#ifndef NC_PRIVILEGES_H
#define NC_PRIVILEGES_H

#include <numaprobe/error.h>
#include <sys/types.h>

/* Who nc_privileges_drop() makes of root, for what is to be given to him before. -ENOENT: no such user */
int nc_privileges_find(const char *user, uid_t *ret_uid, gid_t *ret_gid, struct np_error *err);

/*
 * Whether nc_privileges_drop() would know whom to become, for those who have long things to do before.
 *
 *   -ENOENT, -EPERM  as there
 */
int nc_privileges_check(const char *user, struct np_error *err);

/*
 * When the effective user is root, becomes @user (a name or a number; NULL = "nobody"; "root" stays
 * root and changes nothing) with its group alone, no_new_privs, and of all capabilities CAP_PERFMON,
 * where it is there: counters are opened anew when a CPU comes back. All is read back. Of an
 * ordinary user nothing is changed. Only the calling thread's capabilities are: call it before
 * there are others. After a failure the process may be somewhere between: end it.
 *
 *   -ENOENT  no such user
 *   -EPERM   @user is another one, and we are not root; or the container does not permit it
 *   -EXDEV   the kernel did not do as it said
 */
int nc_privileges_drop(const char *user, struct np_error *err);

#endif
