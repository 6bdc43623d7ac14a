/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Role files. What is read must have the properties that those who start the roles rely on.
 */
#include "fuzz.h"

#include <errno.h>
#include <numarun/roles.h>
#include <stdlib.h>
#include <string.h>

static const int codes[] = { EINVAL, E2BIG, 0 };

static void check_indexes(const struct nr_roles *roles, const struct nr_role *role,
                          const size_t *indexes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (indexes[i] >= roles->count || &roles->roles[indexes[i]] == role)
			fuzz_fail("an index of no role, or of the role itself", role->name);
}

static void check_role(const struct nr_roles *roles, const struct nr_role *role)
{
	if (!*role->name || strlen(role->name) > NR_ROLE_NAME_MAX)
		fuzz_fail("a name of no lawful length", role->name);
	if (!role->command || !role->command[0] || !*role->command[0])
		fuzz_fail("no command", role->name);
	if (role->instances < 1 || role->instances > NR_INSTANCES_MAX)
		fuzz_fail("a number of instances beyond the limit", role->name);
	if (role->stop_signal < 1 || role->stop_timeout_ms < 100)
		fuzz_fail("no signal, or no time", role->name);
	if ((role->ready.kind == NR_READY_TCP) != (role->ready.port != NULL) ||
	    (role->ready.host != NULL) != (role->ready.port != NULL))
		fuzz_fail("a half of HOST:PORT", role->name);
	for (char **word = role->env; word && *word; word++)
		if (!strchr(*word, '='))
			fuzz_fail("no NAME=VALUE", *word);
	check_indexes(roles, role, role->avoid, role->avoid_count);
	check_indexes(roles, role, role->after, role->after_count);
}

/* Each role once, and behind those that it comes after. */
static void check_order(const struct nr_roles *roles)
{
	bool started[NR_ROLES_MAX] = { false };

	for (size_t i = 0; i < roles->count; i++) {
		size_t index = roles->start_order[i];
		const struct nr_role *role = &roles->roles[index];

		if (started[index])
			fuzz_fail("started twice", role->name);
		for (size_t k = 0; k < role->after_count; k++)
			if (!started[role->after[k]])
				fuzz_fail("started too early", role->name);
		started[index] = true;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nr_roles roles = { 0 };
	struct np_error err = { 0 };
	int rc = nr_roles_parse((const char *)data, size, "f", &roles, &err);

	fuzz_check(rc, &err, codes);
	if (rc < 0 && roles.count > 0)
		fuzz_fail("refused, but filled", err.text);
	if (rc == 0 && (roles.count == 0 || roles.count > NR_ROLES_MAX))
		fuzz_fail("no roles, or too many", "");
	for (size_t i = 0; i < roles.count; i++)
		check_role(&roles, &roles.roles[i]);
	check_order(&roles);
	nr_roles_release(&roles);
	return 0;
}
