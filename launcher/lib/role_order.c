/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the roles of a file hang together: who names whom, and who starts when.
 */
#include "../../probe/base/nearest.h"
#include "role_draft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHAIN_SIZE = 320 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "roles");
}

static size_t find_role(const struct nr_roles *roles, const char *name)
{
	size_t i = 0;

	while (i < roles->count && strcmp(roles->roles[i].name, name) != 0)
		i++;
	return i;
}

static bool has(const size_t *indexes, size_t count, size_t index)
{
	for (size_t i = 0; i < count; i++)
		if (indexes[i] == index)
			return true;
	return false;
}

static int refuse_unknown(const struct nr_roles *roles, const char *name, struct np_error *err)
{
	const char *names[NR_ROLES_MAX];
	const char *nearest;

	for (size_t i = 0; i < roles->count; i++)
		names[i] = roles->roles[i].name;
	nearest = np_nearest_name(name, names, roles->count);
	if (nearest)
		return np_error_set(err, EINVAL, "there is no role '%s': did you mean '%s'?", name,
		                    nearest);
	return np_error_set(err, EINVAL, "there is no role '%s'", name);
}

static int add_index(const struct nr_roles *roles, const char *name, size_t own, size_t *indexes,
                     size_t *count, struct np_error *err)
{
	size_t index = find_role(roles, name);

	if (!*name)
		return np_error_set(err, EINVAL, "a role's name is missing before or behind a ','");
	if (index == roles->count)
		return refuse_unknown(roles, name, err);
	if (index == own)
		return np_error_set(err, EINVAL, "%s is this role itself", name);
	if (has(indexes, *count, index))
		return np_error_set(err, EINVAL, "%s is there twice", name);
	indexes[(*count)++] = index;
	return 0;
}

/* The roles named in @list; *ret is the caller's to free, also on failure. */
static int read_list(const struct nr_roles *roles, const char *list, size_t own, size_t **ret,
                     size_t *ret_count, struct np_error *err)
{
	struct nr_item item;
	size_t *indexes = calloc(roles->count, sizeof(*indexes));
	size_t count = 0;
	int rc = indexes ? 0 : no_memory(err);

	while (rc == 0 && nr_next_item(&list, &item)) {
		char *name = strndup(item.text, item.length);

		rc = name ? add_index(roles, name, own, indexes, &count, err) : no_memory(err);
		free(name);
	}
	*ret = indexes;
	*ret_count = count;
	return rc;
}

static int read_lists(const struct nr_role_file *file, size_t index, struct np_error *err)
{
	const struct nr_role_value *values = file->drafts[index].values;
	struct nr_role *role = &file->roles.roles[index];
	enum nr_role_key key = NR_KEY_AVOID;
	int rc = 0;

	if (values[key].text)
		rc = read_list(&file->roles, values[key].text, index, &role->avoid,
		               &role->avoid_count, err);
	if (rc == 0) {
		key = NR_KEY_AFTER;
		if (values[key].text)
			rc = read_list(&file->roles, values[key].text, index, &role->after,
			               &role->after_count, err);
	}
	if (rc == 0)
		return 0;
	np_error_wrap(err, rc, "%s", nr_role_key_names[key]);
	return nr_role_file_wrap(file, values[key].line, rc, err);
}

/* ---- the order of starting ---- */

/* The first one in role->after that was not started, or role->after_count. */
static size_t first_waited_for(const struct nr_role *role, const bool *started)
{
	size_t i = 0;

	while (i < role->after_count && started[role->after[i]])
		i++;
	return i;
}

/* The first one that waits for nothing, or count. */
static size_t next_to_start(const struct nr_roles *roles, const bool *started)
{
	size_t i = 0;

	while (i < roles->count && (started[i] || first_waited_for(&roles->roles[i], started) <
	                                                  roles->roles[i].after_count))
		i++;
	return i;
}

/* The role that @index waits for, one of those that cannot start. */
static size_t waits_for(const struct nr_roles *roles, const bool *started, size_t index)
{
	const struct nr_role *role = &roles->roles[index];

	return role->after[first_waited_for(role, started)];
}

/* Nothing can start: each of the rest waits for another one of them, so that some wait in a ring. */
static int refuse_cycle(const struct nr_role_file *file, const bool *started, struct np_error *err)
{
	const struct nr_roles *roles = &file->roles;
	char chain[CHAIN_SIZE] = "";
	size_t used = 0;
	size_t first = 0;
	size_t index;
	int rc;

	while (started[first])
		first++;
	/* After as many steps as there are roles one surely is in the ring; begin with its lowest. */
	for (size_t i = 0; i < roles->count; i++)
		first = waits_for(roles, started, first);
	index = first;
	for (size_t i = 0; i < roles->count; i++) {
		index = waits_for(roles, started, index);
		first = index < first ? index : first;
	}
	index = first;
	do {
		used += (size_t)snprintf(chain + used, sizeof(chain) - used, "%s -> ",
		                         roles->roles[index].name);
		index = waits_for(roles, started, index);
	} while (index != first && used + NR_ROLE_NAME_MAX + sizeof(" -> ") < sizeof(chain));
	rc = np_error_set(err, EINVAL, "after: these wait for each other: %s%s", chain,
	                  index == first ? roles->roles[first].name : "...");
	return nr_role_file_wrap(file, file->drafts[first].values[NR_KEY_AFTER].line, rc, err);
}

static int order(struct nr_role_file *file, struct np_error *err)
{
	struct nr_roles *roles = &file->roles;
	bool started[NR_ROLES_MAX] = { false };

	roles->start_order = calloc(roles->count + 1, sizeof(*roles->start_order));
	if (!roles->start_order)
		return no_memory(err);
	for (size_t i = 0; i < roles->count; i++) {
		size_t next = next_to_start(roles, started);

		if (next == roles->count)
			return refuse_cycle(file, started, err);
		roles->start_order[i] = next;
		started[next] = true;
	}
	return 0;
}

int nr_roles_connect(struct nr_role_file *file, struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < file->roles.count && rc == 0; i++)
		rc = read_lists(file, i, err);
	return rc < 0 ? rc : order(file, err);
}

/* ---- devices ---- */

int nr_roles_devices(const struct nr_roles *roles, const char ***ret, struct np_error *err)
{
	const char **devices = calloc(roles->count + 1, sizeof(*devices));
	int count = 0;

	if (!devices)
		return no_memory(err);
	for (size_t i = 0; i < roles->count; i++) {
		const char *near = roles->roles[i].near;
		int k = 0;

		while (near && k < count && strcmp(devices[k], near) != 0)
			k++;
		if (near && k == count)
			devices[count++] = near;
	}
	*ret = devices;
	return count;
}
