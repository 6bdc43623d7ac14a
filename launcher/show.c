/* SPDX-License-Identifier: BSD-3-Clause */
#include "show.h"

#include "../probe/base/json.h"
#include "../probe/base/output.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_SIZE = 256 };

/* ---- plans ---- */

static void show_picks(const struct nr_plan *plan, FILE *out)
{
	char cpus[BRIEF_SIZE];

	for (size_t i = 0; i < plan->pick_count; i++) {
		const struct nr_pick *pick = &plan->picks[i];

		fprintf(out, "  tier %u: %s, %u core%s", pick->tier,
		        np_cpulist_named("CPU", &pick->cpus, cpus, sizeof(cpus)), pick->core_count,
		        pick->core_count == 1 ? "" : "s");
		if (pick->has_distance)
			fprintf(out, ", distance %u", pick->distance);
		fputc('\n', out);
	}
}

static void show_memory(const struct nr_plan *plan, FILE *out)
{
	char *policy = nr_policy_print(&plan->policy);

	fprintf(out, "  memory: %s", policy ? policy : "?");
	free(policy);
	if (plan->has_far_distance)
		fprintf(out, ", the farthest with memory, distance %u", plan->far_distance);
	if (plan->policy.mode == NR_POLICY_LOCAL)
		fputs(", from the node of the CPU that asks or the nearest with memory", out);
	fputc('\n', out);
}

void nr_show_plan(const struct nr_plan *plan, FILE *out)
{
	char list[BRIEF_SIZE];

	fputs("numarun: ", out);
	if (plan->near)
		np_device_print(plan->near, out);
	else
		fputs("no device asked for\n", out);
	show_picks(plan, out);
	fprintf(out, "  CPUs: %s%s", np_cpulist_brief(&plan->cpus, list, sizeof(list)),
	        plan->binds_cpus ? "" : " (inherited)");
	fprintf(out, " on %s\n", np_cpulist_named("node", &plan->nodes, list, sizeof(list)));
	show_memory(plan, out);
}

void nr_show_applied(const struct nr_applied *applied, FILE *out)
{
	char list[BRIEF_SIZE];
	char *policy = nr_policy_print(&applied->policy);

	fprintf(out, "  verified: the kernel has %s",
	        np_cpulist_named("CPU", &applied->cpus, list, sizeof(list)));
	if (applied->policy.mode != NR_POLICY_KEEP)
		fprintf(out, ", memory %s", policy ? policy : "?");
	fputc('\n', out);
	free(policy);
}

static json_t *picks_json(const struct nr_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->pick_count; i++) {
		const struct nr_pick *pick = &plan->picks[i];

		np_json_append(&array, json_pack("{s:i, s:o, s:i, s:o}", "tier", (int)pick->tier,
		                                 "distance",
		                                 np_json_number(pick->has_distance, pick->distance),
		                                 "cores", (int)pick->core_count, "cpus",
		                                 np_json_set(&pick->cpus)));
	}
	return array;
}

static json_t *texts_json(char *const *texts, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		np_json_append(&array, np_json_text(texts[i]));
	return array;
}

static size_t count_words(char *const command[])
{
	size_t count = 0;

	while (command && command[count])
		count++;
	return count;
}

static json_t *memory_json(const struct nr_plan *plan)
{
	return json_pack("{s:s, s:o, s:b, s:o}", "policy", nr_policy_mode_name(plan->policy.mode),
	                 "nodes", np_json_known_set(&plan->policy.nodes), "balancing",
	                 plan->policy.balancing, "far_distance",
	                 np_json_number(plan->has_far_distance, plan->far_distance));
}

/* The members of a plan, behind those that stand before it. */
static json_t *plan_json(const struct nr_plan *plan, char *const command[])
{
	json_t *near = plan->near ? np_device_json(plan->near) : json_null();

	return json_pack("{s:o, s:b, s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "near", near,
	                 "binds_cpus", plan->binds_cpus, "cpus", np_json_set(&plan->cpus), "nodes",
	                 np_json_set(&plan->nodes), "picks", picks_json(plan), "spilled",
	                 plan->spilled, "memory", memory_json(plan), "command",
	                 texts_json(command, count_words(command)), "warnings",
	                 texts_json(plan->warnings, plan->warning_count));
}

/* @head with the members of @plan behind its own; takes both references. */
static json_t *joined(json_t *head, json_t *plan)
{
	if (!head || !plan || json_object_update(head, plan) < 0) {
		json_decref(head);
		head = NULL;
	}
	json_decref(plan);
	return head;
}

int nr_show_plan_json(const struct nr_plan *plan, char *const command[], FILE *out)
{
	return np_json_write(
		joined(json_pack("{s:s}", "schema", "numakit/plan/1"), plan_json(plan, command)),
		out);
}

static json_t *names_json(const struct nr_roles *roles, const size_t *indexes, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		np_json_append(&array, np_json_text(roles->roles[indexes[i]].name));
	return array;
}

static json_t *placed_json(const struct nr_roles *roles, const struct nr_placed *placed)
{
	const struct nr_role *role = &roles->roles[placed->role];
	json_t *head = json_pack("{s:o, s:i, s:o, s:o}", "role", np_json_text(role->name),
	                         "instance", (int)placed->instance + 1, "after",
	                         names_json(roles, role->after, role->after_count), "avoid",
	                         names_json(roles, role->avoid, role->avoid_count));

	return joined(head, plan_json(&placed->plan, role->command));
}

int nr_show_service_json(const struct nr_roles *roles, const struct nr_service *service, FILE *out)
{
	json_t *programs = json_array();

	for (size_t i = 0; i < service->count; i++)
		np_json_append(&programs, placed_json(roles, &service->placed[i]));
	return np_json_write(
		json_pack("{s:s, s:o}", "schema", "numakit/service/1", "programs", programs), out);
}

/* ---- as numactl ---- */

/* "name: 0 1 2 ", numactl's way with sets. */
static void show_set(const char *name, const struct np_bitmap *set, FILE *out)
{
	fprintf(out, "%s: ", name);
	np_bitmap_for_each (member, set)
		fprintf(out, "%u ", member);
	fputc('\n', out);
}

static void show_preferred_node(const struct nr_policy *policy, FILE *out)
{
	unsigned first = np_bitmap_next(&policy->nodes, 0);
	bool interleaves =
		policy->mode == NR_POLICY_INTERLEAVE || policy->mode == NR_POLICY_WEIGHTED;

	fputs("preferred node: ", out);
	if (policy->mode == NR_POLICY_DEFAULT || policy->mode == NR_POLICY_LOCAL)
		fputs("current", out);
	else
		fprintf(out, "%u", first);
	if (interleaves)
		fputs(" (interleave next)", out);
	if (policy->mode == NR_POLICY_PREFERRED_MANY)
		fputs(" (preferred-many)", out);
	fputc('\n', out);
	if (!interleaves)
		return;
	show_set("interleavemask", &policy->nodes, out);
	fprintf(out, "interleavenode: %u\n", first);
}

int nr_show_policy(const struct np_topology *topology, FILE *out, struct np_error *err)
{
	struct nr_policy policy = { 0 };
	struct np_bitmap cpus = { 0 };
	struct np_bitmap nodes = { 0 };
	int rc = nr_policy_get(&policy, err);

	if (rc == 0)
		rc = nr_affinity_get(&cpus, err);
	if (rc == 0 && np_topology_nodes_of_cpus(topology, &cpus, &nodes) < 0)
		rc = np_error_sys(err, ENOMEM, "nodes");
	if (rc == 0) {
		fprintf(out, "policy: %s%s\n", nr_policy_mode_name(policy.mode),
		        policy.balancing ? " (balancing)" : "");
		show_preferred_node(&policy, out);
		show_set("physcpubind", &cpus, out);
		show_set("cpubind", &nodes, out);
		show_set("nodebind", &nodes, out);
		show_set("membind",
		         policy.mode == NR_POLICY_BIND
		                 ? &policy.nodes
		                 : np_topology_nodes(topology, NP_NODES_ALLOWED),
		         out);
		show_set("preferred", &policy.nodes, out);
	}
	nr_policy_release(&policy);
	np_bitmap_release(&cpus);
	np_bitmap_release(&nodes);
	return rc;
}

static void show_size(unsigned node, const char *what, bool known, uint64_t bytes, FILE *out)
{
	if (known)
		fprintf(out, "node %u %s: %" PRIu64 " MB\n", node, what, bytes >> 20);
	else
		fprintf(out, "node %u %s: -\n", node, what);
}

/* " 0 1 2 3 8", or " 0-3, 8 (5)". */
static void show_cpus(const struct np_bitmap *cpus, bool as_ranges, FILE *out)
{
	char *list = as_ranges ? np_cpulist_print(cpus) : NULL;

	if (list) {
		const char *separator = " ";

		for (const char *c = list; *c; separator = ", ") {
			size_t len = strcspn(c, ",");

			fprintf(out, "%s%.*s", separator, (int)len, c);
			c += len + (c[len] == ',');
		}
		fprintf(out, " (%u)", np_bitmap_count(cpus));
		free(list);
	} else {
		np_bitmap_for_each (cpu, cpus)
			fprintf(out, " %u", cpu);
	}
	fputc('\n', out);
}

void nr_show_hardware(const struct np_topology *topology, bool cpu_ranges, FILE *out)
{
	const struct np_bitmap *nodes = np_topology_nodes(topology, NP_NODES_ONLINE);
	char list[BRIEF_SIZE];

	fprintf(out, "available: %u nodes (%s)\n", np_bitmap_count(nodes),
	        np_cpulist_brief(nodes, list, sizeof(list)));
	np_bitmap_for_each (index, nodes) {
		const struct np_node *node = np_topology_node(topology, index);

		fprintf(out, "node %u cpus:", index);
		show_cpus(&node->cpus, cpu_ranges, out);
		show_size(index, "size", node->has_memory_size, node->memory_bytes, out);
		show_size(index, "free", node->has_memory_free, node->memory_free_bytes, out);
	}
	fputs("node distances:\nnode ", out);
	np_bitmap_for_each (to, nodes)
		fprintf(out, "%3u ", to);
	fputc('\n', out);
	np_bitmap_for_each (from, nodes) {
		fprintf(out, "%3u: ", from);
		np_bitmap_for_each (to, nodes) {
			unsigned distance;

			if (np_topology_node_distance(topology, from, to, &distance) == 0)
				fprintf(out, "%3u ", distance);
			else
				fputs("  - ", out);
		}
		fputc('\n', out);
	}
}
