/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A role file on its way to struct nr_roles: role_file.c takes the lines apart into texts by role
 * and key, role_value.c reads each text, role_order.c joins the roles by their names. Internal.
 */
#ifndef NR_ROLE_DRAFT_H
#define NR_ROLE_DRAFT_H

#include <numarun/policy.h>
#include <numarun/roles.h>

enum nr_role_key {
	NR_KEY_NEAR,
	NR_KEY_TIER,
	NR_KEY_COUNT,
	NR_KEY_SMT,
	NR_KEY_AVOID,
	NR_KEY_MEM,
	NR_KEY_FAR,
	NR_KEY_INSTANCES,
	NR_KEY_READY,
	NR_KEY_AFTER,
	NR_KEY_STOP,
	NR_KEY_ENV,
	NR_KEY_COMMAND,
	NR_KEYS, /* how many there are; also: none of them */
};

extern const char *const nr_role_key_names[NR_KEYS];

struct nr_role_value {
	char *text; /* NULL = the key is not there */
	size_t length;
	unsigned line; /* where it begins */
};

struct nr_role_draft {
	struct nr_role_value values[NR_KEYS];
};

/* The drafts and the roles that they become, side by side. */
struct nr_role_file {
	const char *name;
	struct nr_role_draft *drafts; /* as many as there are roles */
	struct nr_roles roles;
};

/* Puts "FILE:LINE: " in front of the error; returns rc. */
int nr_role_file_wrap(const struct nr_role_file *file, unsigned line, int rc, struct np_error *err);

/*
 * Reads all values of one role but those that name other roles, which are left to
 * nr_roles_connect(). -EINVAL, -ENOMEM.
 */
int nr_role_read(const struct nr_role_file *file, size_t index, struct np_error *err);

/* Fills avoid and after of all roles, and the start order. -EINVAL, -ENOMEM. */
int nr_roles_connect(struct nr_role_file *file, struct np_error *err);

/* The next item of a list "a, b" and where it goes on; false at the end. An item may be empty. */
struct nr_item {
	const char *text; /* not ended by a NUL */
	size_t length;
};
bool nr_next_item(const char **list, struct nr_item *ret);

/*
 * Takes "bind:0-1" apart, or another text of the key mem; *ret_nodes is the set in it, or NULL for
 * local. -EINVAL.
 */
int nr_role_memory(const char *text, enum nr_policy_mode *ret_mode, const char **ret_nodes,
                   struct np_error *err);

#endif
