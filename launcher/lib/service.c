/* SPDX-License-Identifier: BSD-3-Clause */
#include "cores.h"
#include "role_draft.h"

#include <errno.h>
#include <numarun/service.h>
#include <numarun/set.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_SIZE = 240 };

/* What a role has so far. */
struct share {
	struct np_bitmap cpus; /* of all its instances */
	unsigned cores;
	size_t first; /* the place of its first instance in the service */
};

struct planner {
	const struct np_topology *topology;
	const struct nr_roles *roles;
	const char **devices; /* of nr_roles_devices() */
	size_t device_count;
	const struct np_bitmap *held;
	struct np_bitmap taken; /* held, or given to a role that does not share */
	struct share *shares;   /* by role */
	size_t *turns;          /* roles in the order in which they choose */
	struct nr_service service;
};

/* What stands in the way of a role. */
enum obstacles {
	NOTHING,
	TAKEN,     /* cores that others have */
	TAKEN_ALL, /* and the caches of roles that it must not share one with */
};

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "plan");
}

static const struct np_bitmap *usable(const struct planner *planner)
{
	return np_topology_cpus(planner->topology, NP_CPUS_USABLE);
}

/* Cores are chosen from all CPUs; @ret as in nr_cores_take(). */
static int take_anywhere(const struct planner *planner, const struct np_bitmap *avoid,
                         unsigned want, bool smt, struct np_bitmap *ret)
{
	const struct nr_core_choice choice = {
		.cpus = usable(planner),
		.nodes = np_topology_nodes(planner->topology, NP_NODES_WITH_CPUS),
		.avoid = avoid,
		.want = want,
		.smt = smt,
	};

	return nr_cores_take(planner->topology, &choice, ret);
}

/* How many cores can be used that are not held; -ENOMEM. */
static int count_free(const struct planner *planner)
{
	struct np_bitmap cpus = { 0 };
	int count = take_anywhere(planner, planner->held, 0, false, &cpus);

	np_bitmap_release(&cpus);
	return count;
}

/* ---- roles that keep apart ---- */

static bool names(const struct nr_role *role, size_t other)
{
	for (size_t i = 0; i < role->avoid_count; i++)
		if (role->avoid[i] == other)
			return true;
	return false;
}

/* Does one of the two avoid the other one, which has cores already? */
static bool keeps_off(const struct planner *planner, size_t role, size_t other)
{
	const struct nr_role *roles = planner->roles->roles;

	return !np_bitmap_is_empty(&planner->shares[other].cpus) &&
	       (names(&roles[role], other) || names(&roles[other], role));
}

static int add_obstacles(const struct planner *planner, size_t role, enum obstacles obstacles,
                         struct np_bitmap *ret)
{
	int rc = obstacles >= TAKEN ? np_bitmap_copy(ret, &planner->taken) : 0;

	for (size_t i = 0; i < planner->roles->count && rc == 0 && obstacles == TAKEN_ALL; i++)
		if (keeps_off(planner, role, i))
			rc = nr_cores_add_neighbours(planner->topology, &planner->shares[i].cpus,
			                             ret);
	return rc;
}

/* ---- requests ---- */

static int fill_policy(const struct np_topology *topology, const struct nr_role *role,
                       struct nr_policy *ret, struct np_error *err)
{
	const char *nodes;
	int rc;

	if (!role->mem)
		return 0;
	rc = nr_role_memory(role->mem, &ret->mode, &nodes, err);
	if (rc == 0 && nodes)
		rc = nr_set_parse_memory_nodes(nodes, topology, false, &ret->nodes, err);
	if (rc == 0 && ret->mode == NR_POLICY_PREFERRED && np_bitmap_count(&ret->nodes) != 1)
		rc = np_error_set(err, EINVAL,
		                  "'%s': preferred takes one node; preferred-many takes several",
		                  role->mem);
	return rc < 0 ? np_error_wrap(err, rc, "mem") : 0;
}

static size_t find_device(const struct planner *planner, const char *name)
{
	size_t i = 0;

	while (i < planner->device_count && strcmp(planner->devices[i], name) != 0)
		i++;
	return i;
}

/* The CPUs of a role without a device: with a count so many cores, else all that are left. */
static int fill_cpus(const struct planner *planner, const struct nr_role *role,
                     struct nr_request *request, unsigned *ret_cores, struct np_error *err)
{
	int got = take_anywhere(planner, &request->avoid, role->count, role->smt, &request->cpus);

	if (got < 0)
		return no_memory(err);
	*ret_cores = (unsigned)got;
	if (got == 0 && role->count == 0)
		return np_error_set(err, ERANGE, "no core is left");
	if ((unsigned)got < role->count)
		return np_error_set(
			err, ERANGE, "%u cores asked for, %d can be used%s", role->count, got,
			np_bitmap_is_empty(&request->avoid) ? "" : " (others have the rest)");
	return 0;
}

static int fill_request(const struct planner *planner, size_t index, enum obstacles obstacles,
                        struct nr_request *request, struct np_error *err)
{
	const struct nr_role *role = &planner->roles->roles[index];

	*request = (struct nr_request){
		.cpu_choice = role->near ? NR_CPUS_NEAR : NR_CPUS_LIST,
		.device = role->near ? find_device(planner, role->near) : 0,
		.tier = role->tier,
		.count = role->count,
		.smt = role->smt,
		.far = role->far,
	};
	if (add_obstacles(planner, index, obstacles, &request->avoid) < 0)
		return no_memory(err);
	return fill_policy(planner->topology, role, &request->policy, err);
}

/* Plans one instance of a role. -ERANGE: too few cores, or no such tier. */
static int try_role(const struct planner *planner, size_t index, enum obstacles obstacles,
                    struct nr_plan *ret, unsigned *ret_cores, struct np_error *err)
{
	const struct nr_role *role = &planner->roles->roles[index];
	struct nr_request request;
	unsigned cores = 0;
	int rc = fill_request(planner, index, obstacles, &request, err);

	if (rc == 0 && !role->near)
		rc = fill_cpus(planner, role, &request, &cores, err);
	if (rc == 0)
		rc = nr_plan_make(planner->topology, &request, ret, err);
	nr_request_release(&request);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < ret->pick_count; i++)
		cores += ret->picks[i].core_count;
	*ret_cores = cores;
	return 0;
}

static bool would_fit(const struct planner *planner, size_t index, enum obstacles obstacles,
                      struct np_error *err)
{
	struct nr_plan plan = { 0 };
	unsigned cores;
	bool fits = try_role(planner, index, obstacles, &plan, &cores, err) == 0;

	nr_plan_release(&plan);
	return fits;
}

/* ---- refusals ---- */

/* A list in a message, which ends in "..." where it is too long. */
struct list {
	char text[LIST_SIZE];
	size_t used;
};

static void add_item(struct list *list, const char *name, const char *rest)
{
	size_t room = sizeof(list->text) - list->used;
	size_t length = strlen(name) + strlen(rest);

	if (room < length + sizeof(", , ...")) {
		if (room > sizeof(", ..."))
			list->used += (size_t)snprintf(list->text + list->used, room, ", ...");
		list->used = sizeof(list->text);
		return;
	}
	list->used += (size_t)snprintf(list->text + list->used, room, "%s%s%s",
	                               list->used ? ", " : "", name, rest);
}

/* What each role took of what it asked for; before they choose, what they ask for. */
static void list_roles(const struct planner *planner, bool chosen, struct list *ret)
{
	for (size_t i = 0; i < planner->roles->count; i++) {
		const struct nr_role *role = &planner->roles->roles[i];
		unsigned cores = planner->shares[i].cores;
		char rest[64];

		if (!chosen && role->instances > 1)
			snprintf(rest, sizeof(rest), " %u x %u", role->instances, role->count);
		else if (!chosen)
			snprintf(rest, sizeof(rest), " %u", role->count);
		else if (role->count)
			snprintf(rest, sizeof(rest), " %u of %u", cores,
			         role->count * role->instances);
		else
			snprintf(rest, sizeof(rest), " %u", cores);
		if (role->count || (chosen && cores))
			add_item(ret, role->name, rest);
	}
}

static int refuse_apart(const struct planner *planner, size_t index, struct np_error *err)
{
	const struct nr_role *roles = planner->roles->roles;
	bool has_caches = np_topology_group_count(planner->topology, NP_LEVEL_L3) > 0;
	struct np_error why = *err;
	struct list list = { .used = 0 };

	for (size_t i = 0; i < planner->roles->count; i++)
		if (keeps_off(planner, index, i))
			add_item(&list, roles[i].name, "");
	return np_error_set(err, EBUSY,
	                    "%s; 'avoid' lets it share no %s with %s, and without that it would "
	                    "fit",
	                    why.text, has_caches ? "L3 cache" : "node", list.text);
}

/* Why a role got no cores: the host is too small, an avoid, or what the others took. */
static int explain(const struct planner *planner, size_t index, struct np_error *err)
{
	struct np_error why = { 0 };
	struct list list = { .used = 0 };
	int free;

	if (!would_fit(planner, index, NOTHING, &why)) {
		*err = why;
		return -why.code;
	}
	if (would_fit(planner, index, TAKEN, &why))
		return refuse_apart(planner, index, err);
	free = count_free(planner);
	if (free < 0)
		return no_memory(err);
	list_roles(planner, true, &list);
	why = *err;
	return np_error_set(err, ERANGE, "%s; of %d cores that can be used the roles took: %s",
	                    why.text, free, list.used ? list.text : "none");
}

/* All that is asked for, against all that there is, before anything is chosen. */
static int check_total(const struct planner *planner, struct np_error *err)
{
	struct list list = { .used = 0 };
	uint64_t asked = 0;
	int free = count_free(planner);

	if (free < 0)
		return no_memory(err);
	for (size_t i = 0; i < planner->roles->count; i++)
		asked += (uint64_t)planner->roles->roles[i].count *
		         planner->roles->roles[i].instances;
	if (asked <= (uint64_t)free)
		return 0;
	list_roles(planner, false, &list);
	return np_error_set(err, ERANGE, "the roles ask for %llu cores (%s), %d can be used%s",
	                    (unsigned long long)asked, list.text, free,
	                    np_bitmap_intersects(planner->held, usable(planner))
	                            ? "; others hold the rest"
	                            : "");
}

/* ---- all roles ---- */

static int place(struct planner *planner, size_t index, unsigned instance, struct np_error *err)
{
	const struct nr_role *role = &planner->roles->roles[index];
	struct share *share = &planner->shares[index];
	struct nr_placed *placed = &planner->service.placed[share->first + instance];
	struct np_error why = { 0 };
	unsigned cores = 0;
	int rc = try_role(planner, index, TAKEN_ALL, &placed->plan, &cores, &why);

	if (rc == -ERANGE)
		rc = explain(planner, index, &why);
	if (rc < 0) {
		if (err)
			*err = why;
		return np_error_wrap(err, rc, "role %s", role->name);
	}
	*placed = (struct nr_placed){ .role = index, .instance = instance, .plan = placed->plan };
	share->cores += cores;
	rc = np_bitmap_or(&share->cpus, &placed->plan.cpus);
	if (rc == 0 && (role->near || role->count))
		rc = np_bitmap_or(&planner->taken, &placed->plan.cpus);
	return rc < 0 ? no_memory(err) : 0;
}

static int compare_turns(const void *a, const void *b, void *user)
{
	const struct nr_roles *roles = user;
	size_t left = *(const size_t *)a;
	size_t right = *(const size_t *)b;
	const struct nr_role *one = &roles->roles[left];
	const struct nr_role *other = &roles->roles[right];
	unsigned tier = one->tier ? one->tier : 1;
	unsigned other_tier = other->tier ? other->tier : 1;

	if (!one->near != !other->near)
		return one->near ? -1 : 1;
	if (tier != other_tier)
		return tier < other_tier ? -1 : 1;
	if (!one->count != !other->count)
		return one->count ? -1 : 1;
	return left < right ? -1 : 1;
}

/* Makes room for all that will be placed; what was made is released by the caller. */
static int prepare(struct planner *planner, struct np_error *err)
{
	const struct nr_roles *roles = planner->roles;
	int devices = nr_roles_devices(roles, &planner->devices, err);
	size_t count = 0;

	if (devices < 0)
		return devices;
	planner->device_count = (size_t)devices;
	if (planner->device_count > np_topology_device_count(planner->topology))
		return np_error_set(err, EINVAL,
		                    "the topology was loaded without the roles' devices");
	planner->shares = calloc(roles->count + 1, sizeof(*planner->shares));
	planner->turns = calloc(roles->count + 1, sizeof(*planner->turns));
	if (!planner->shares || !planner->turns)
		return no_memory(err);
	for (size_t i = 0; i < roles->count; i++) {
		size_t index = roles->start_order[i];

		planner->turns[i] = i;
		planner->shares[index].first = count;
		count += roles->roles[index].instances;
	}
	qsort_r(planner->turns, roles->count, sizeof(*planner->turns), compare_turns,
	        (void *)roles);
	planner->service.placed = calloc(count + 1, sizeof(*planner->service.placed));
	planner->service.count = count;
	if (!planner->service.placed || np_bitmap_copy(&planner->taken, planner->held) < 0)
		return no_memory(err);
	return 0;
}

static int place_all(struct planner *planner, struct np_error *err)
{
	int rc = check_total(planner, err);

	for (size_t i = 0; i < planner->roles->count && rc == 0; i++) {
		size_t index = planner->turns[i];

		for (unsigned k = 0; k < planner->roles->roles[index].instances && rc == 0; k++)
			rc = place(planner, index, k, err);
	}
	return rc;
}

int nr_service_plan(const struct np_topology *topology, const struct nr_roles *roles,
                    const struct np_bitmap *held, struct nr_service *ret, struct np_error *err)
{
	static const struct np_bitmap none;
	struct planner planner = {
		.topology = topology,
		.roles = roles,
		.held = held ? held : &none,
	};
	int rc = prepare(&planner, err);

	if (rc == 0)
		rc = place_all(&planner, err);
	for (size_t i = 0; i < roles->count && planner.shares; i++)
		np_bitmap_release(&planner.shares[i].cpus);
	np_bitmap_release(&planner.taken);
	free(planner.shares);
	free(planner.turns);
	free(planner.devices);
	if (rc < 0) {
		nr_service_release(&planner.service);
		return rc;
	}
	*ret = planner.service;
	return 0;
}

void nr_service_release(struct nr_service *service)
{
	for (size_t i = 0; i < service->count && service->placed; i++)
		nr_plan_release(&service->placed[i].plan);
	free(service->placed);
	*service = (struct nr_service){ 0 };
}
