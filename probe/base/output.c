/* SPDX-License-Identifier: BSD-3-Clause */
#include "output.h"

#include "json.h"

#include <numaprobe/cpulist.h>
#include <string.h>

enum { BRIEF_SIZE = 256 };

json_t *np_device_json(const struct np_device *device)
{
	const struct np_locality *locality = &device->locality;
	json_t *object =
		json_pack("{s:s, s:s, s:o, s:o, s:s}", "name", device->name, "kind",
	                  np_device_kind_name(device->kind), "pci", np_json_text(device->pci),
	                  "nodes", np_json_known_set(&locality->nodes), "evidence",
	                  np_evidence_name(locality->evidence));

	if (!object)
		return NULL;
	if (!np_bitmap_is_empty(&locality->cpus))
		np_json_set_member(&object, "cpus", np_json_set(&locality->cpus));
	if (locality->other_evidence != NP_EVIDENCE_UNKNOWN)
		np_json_set_member(&object, "disagrees",
		                   json_pack("{s:s, s:o}", "evidence",
		                             np_evidence_name(locality->other_evidence), "nodes",
		                             np_json_set(&locality->other_nodes)));
	return object;
}

json_t *np_tiers_json(const struct np_rank *rank, unsigned only_tier)
{
	json_t *array = json_array();

	for (size_t i = 0; i < rank->tier_count; i++) {
		const struct np_tier *tier = &rank->tiers[i];

		if (only_tier && tier->tier != only_tier)
			continue;
		np_json_append(&array, json_pack("{s:i, s:o, s:o, s:o}", "tier", (int)tier->tier,
		                                 "distance",
		                                 np_json_number(tier->has_distance, tier->distance),
		                                 "nodes", np_json_known_set(&tier->nodes), "cpus",
		                                 np_json_set(&tier->cpus)));
	}
	return array;
}

json_t *np_excluded_json(const struct np_bitmap excluded[NP_EXCLUSION_COUNT])
{
	json_t *array = json_array();

	for (size_t i = 0; i < NP_EXCLUSION_COUNT; i++)
		if (!np_bitmap_is_empty(&excluded[i]))
			np_json_append(&array, json_pack("{s:o, s:s}", "cpus",
			                                 np_json_set(&excluded[i]), "reason",
			                                 np_exclusion_name((enum np_exclusion)i)));
	return array;
}

json_t *np_rank_json(const struct np_device *device, const struct np_rank *rank, unsigned only_tier)
{
	return json_pack("{s:s, s:o, s:o, s:o}", "schema", "numakit/rank/1", "device",
	                 np_device_json(device), "tiers", np_tiers_json(rank, only_tier),
	                 "excluded", np_excluded_json(rank->excluded));
}

void np_device_print(const struct np_device *device, FILE *out)
{
	const struct np_locality *locality = &device->locality;
	char nodes[BRIEF_SIZE];

	fprintf(out, "%s: ", device->name);
	if (device->pci && strcmp(device->pci, device->name) != 0)
		fprintf(out, "PCI %s, ", device->pci);
	if (np_bitmap_is_empty(&locality->nodes))
		fputs("node unknown", out);
	else
		fprintf(out, "%s%s", locality->spans_nodes ? "spans " : "",
		        np_cpulist_named("node", &locality->nodes, nodes, sizeof(nodes)));
	if (!np_bitmap_is_empty(&locality->cpus))
		fprintf(out, ", sharing a cache with %s",
		        np_cpulist_named("CPU", &locality->cpus, nodes, sizeof(nodes)));
	fprintf(out, " (evidence: %s)", np_evidence_name(locality->evidence));
	if (locality->other_evidence != NP_EVIDENCE_UNKNOWN)
		fprintf(out, "; but %s says %s", np_evidence_name(locality->other_evidence),
		        np_cpulist_named("node", &locality->other_nodes, nodes, sizeof(nodes)));
	fputc('\n', out);
}

void np_excluded_print(const struct np_bitmap excluded[NP_EXCLUSION_COUNT], FILE *out)
{
	const char *before = "not ranked: ";
	char cpus[BRIEF_SIZE];

	for (size_t i = 0; i < NP_EXCLUSION_COUNT; i++) {
		if (np_bitmap_is_empty(&excluded[i]))
			continue;
		fprintf(out, "%s%s (%s)", before,
		        np_cpulist_named("CPU", &excluded[i], cpus, sizeof(cpus)),
		        np_exclusion_name((enum np_exclusion)i));
		before = ", ";
	}
	if (*before == ',')
		fputc('\n', out);
}
