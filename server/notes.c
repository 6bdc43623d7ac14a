/* SPDX-License-Identifier: BSD-3-Clause */
#include "notes.h"

static int note_memory(const struct ns_config *config, struct ns_memory_plan *plan)
{
	if (config->sub_memory_bytes == 0 || plan->arena_count > 1)
		return 0;
	return ns_memory_plan_note(plan, "--sub-memory changes nothing: no other node has memory");
}

/* Far is the farthest arena; there may be only one. */
static int note_places(const struct ns_config *config, struct ns_memory_plan *plan)
{
	for (size_t i = 0; i < config->rule_count && plan->arena_count == 1; i++) {
		const struct ns_place_rule *rule = &config->rules[i];
		int rc;

		if (rule->place != NS_PLACE_FAR)
			continue;
		rc = ns_memory_plan_note(
			plan,
			"--place '%s=far': these keys lie on node %u, as it alone has an arena%s",
			rule->prefix, plan->arenas[0].node,
			config->sub_memory_bytes == 0 ? " (--sub-memory gives others one)" : "");
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int note_workers(unsigned workers, struct ns_memory_plan *plan)
{
	unsigned cpus = np_bitmap_count(&plan->serving_cpus);

	if (workers <= cpus)
		return 0;
	return ns_memory_plan_note(
		plan, "%u workers share %u CPU%s of node %u: --cores %u is one for each", workers,
		cpus, cpus == 1 ? "" : "s", np_bitmap_next(&plan->serving_nodes, 0), cpus);
}

static int note_open_http(const struct ns_config *config, struct ns_memory_plan *plan)
{
	if (!config->auth_file || config->http_port == 0)
		return 0;
	return ns_memory_plan_note(
		plan,
		"--auth-file asks for a password over memcache alone: over HTTP whoever reaches it can "
		"read%s every object (--http-port 0 turns HTTP off)",
		config->http_read_only ? "" : " and change");
}

int ns_notes_add(const struct ns_config *config, unsigned workers, struct ns_memory_plan *plan)
{
	int rc = note_memory(config, plan);

	if (rc == 0)
		rc = note_places(config, plan);
	if (rc == 0)
		rc = note_workers(workers, plan);
	if (rc == 0)
		rc = note_open_http(config, plan);
	return rc;
}
