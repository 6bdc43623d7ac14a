/* SPDX-License-Identifier: BSD-3-Clause */
#include "placement.h"

#include "../probe/base/json.h"

static json_t *rule_json(const struct ns_memory_plan *plan, const struct ns_place_rule *rule)
{
	static const char *const words[] = {
		[NS_PLACE_LOCAL] = "local", [NS_PLACE_FAR] = "far", [NS_PLACE_NODE] = "node"
	};
	unsigned node = rule->node;

	if (rule->place == NS_PLACE_LOCAL)
		node = np_bitmap_next(&plan->serving_nodes, 0);
	else if (rule->place == NS_PLACE_FAR)
		node = plan->far_node;
	return json_pack("{s:o, s:s, s:i}", "prefix", np_json_text(rule->prefix), "place",
	                 words[rule->place], "node", (int)node);
}

static json_t *rules_json(const struct ns_server_state *state)
{
	json_t *array = json_array();

	for (size_t i = 0; i < state->config->rule_count; i++)
		np_json_append(&array, rule_json(state->plan, &state->config->rules[i]));
	return array;
}

static json_t *arenas_json(const struct ns_memory_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->arena_count; i++) {
		const struct ns_arena_plan *arena = &plan->arenas[i];

		np_json_append(&array,
		               json_pack("{s:i, s:i, s:I}", "node", (int)arena->node, "distance",
		                         (int)arena->distance, "bytes", (json_int_t)arena->bytes));
	}
	return array;
}

static json_t *workers_json(const struct ns_server_state *state)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < state->worker_count; i++)
		np_json_append(&array, json_integer((json_int_t)state->worker_cpus[i]));
	return array;
}

static json_t *notes_json(const struct ns_memory_plan *plan)
{
	json_t *array = json_array();

	for (size_t i = 0; i < plan->note_count; i++)
		np_json_append(&array, np_json_text(plan->notes[i]));
	return array;
}

int ns_plan_print(const struct ns_server_state *state, FILE *out)
{
	const struct ns_config *config = state->config;
	const struct ns_memory_plan *plan = state->plan;
	json_t *document = json_pack(
		"{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "schema",
		"numakit/store-plan/1", "serves_from", np_json_text(plan->reason), "nodes",
		np_json_set(&plan->serving_nodes), "cpus", np_json_set(&plan->serving_cpus),
		"workers", workers_json(state), "arenas", arenas_json(plan), "block_bytes",
		(json_int_t)config->block_bytes, "head_bytes", (json_int_t)config->head_bytes,
		"object_bytes_max", (json_int_t)config->object_bytes_max, "places",
		rules_json(state), "warnings", notes_json(plan));

	return np_json_write(document, out);
}
