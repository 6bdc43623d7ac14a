/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run tells of itself, as JSON. */
#include "report_json.h"
#include "run.h"
#include "target_json.h"

#include "../../probe/base/json.h"

#include <sys/utsname.h>
#include <time.h>

uint64_t nl_run_rows(const struct nl_run *run)
{
	return run->order.requests * run->order.arms;
}

uint64_t nl_run_elapsed_ns(const struct nl_run *run)
{
	struct nl_row first;
	struct nl_row last;

	if (run->samples.count == 0)
		return 0;
	first = nl_samples_get(&run->samples, 0);
	last = nl_samples_get(&run->samples, run->samples.count - 1);
	return last.start_ns + last.total_ns - first.start_ns;
}

void nl_run_hashes(const struct nl_run *run, uint64_t hashes[NL_TRACE_ARMS_MAX])
{
	for (unsigned i = 0; i < NL_TRACE_ARMS_MAX; i++)
		hashes[i] = NL_SEQUENCE_HASH_BASIS;
	for (uint64_t i = 0; i < run->samples.count; i++) {
		struct nl_row row = nl_samples_get(&run->samples, i);

		hashes[row.arm] = nl_sequence_hash(hashes[row.arm], row.key);
	}
	for (unsigned i = 0; i < NL_TRACE_ARMS_MAX; i++)
		hashes[i] = nl_sequence_fold(NL_SEQUENCE_HASH_BASIS, hashes[i]);
}

static json_t *describe_clock(void)
{
	struct timespec resolution = { 0 };
	json_t *object = json_object();

	clock_getres(CLOCK_MONOTONIC_RAW, &resolution);
	np_json_set_member(&object, "name", json_string("CLOCK_MONOTONIC_RAW"));
	np_json_set_member(&object, "resolution_ns",
	                   np_json_number(true, (uint64_t)resolution.tv_nsec));
	return object;
}

static json_t *describe_memory(const struct nl_samples *samples)
{
	json_t *object = json_object();

	np_json_set_member(&object, "bytes", np_json_number(true, samples->bytes));
	np_json_set_member(&object, "locked", json_boolean(samples->is_locked));
	np_json_set_member(&object, "nodes", np_json_known_set(&samples->nodes));
	np_json_set_member(&object, "looked_pages", np_json_number(true, samples->looked));
	np_json_set_member(&object, "elsewhere_pages", np_json_number(true, samples->elsewhere));
	return object;
}

static json_t *known_noise(bool is_known, const struct nl_noise *noise)
{
	return is_known ? nl_noise_json(noise) : json_null();
}

static void set_place(json_t **object, const struct nl_run *run)
{
	bool stays = np_bitmap_count(&run->place.cpus) == 1;

	np_json_set_member(object, "cpu", np_json_number(stays, run->place.cpu));
	np_json_set_member(object, "pinned", json_boolean(run->is_pinned));
	np_json_set_member(object, "cpus", np_json_known_set(&run->place.cpus));
	np_json_set_member(object, "node", np_json_number(stays, run->place.node));
}

json_t *nl_run_details(const struct nl_run *run)
{
	struct utsname kernel = { 0 };
	json_t *object = json_object();

	uname(&kernel);
	np_json_set_member(&object, "tool", json_string("numalat " NUMAKIT_VERSION));
	np_json_set_member(&object, "kernel", np_json_text(kernel.release));
	np_json_set_member(&object, "protocol",
	                   json_string(nl_protocol_name(run->target->protocol)));
	np_json_set_member(&object, "deadline_ms", np_json_number(true, run->target->deadline_ms));
	np_json_set_member(&object, "arms", nl_arms_json(&run->arms));
	np_json_set_member(&object, "seed", nl_hash_json(run->order.seed));
	np_json_set_member(&object, "sizes", nl_sizes_json(&run->target->sizes));
	np_json_set_member(&object, "warmup", np_json_number(true, run->warmup));
	np_json_set_member(&object, "verify", json_string(nl_verify_name(run->verify)));
	np_json_set_member(&object, "clock", describe_clock());
	set_place(&object, run);
	np_json_set_member(&object, "memory", describe_memory(&run->samples));
	np_json_set_member(&object, "noise_before",
	                   known_noise(run->has_noise_before, &run->noise_before));
	return object;
}

json_t *nl_run_outcome(const struct nl_run *run)
{
	const struct nl_run_usage *usage = &run->usage;
	uint64_t hashes[NL_TRACE_ARMS_MAX];
	json_t *object = json_object();
	json_t *list = json_array();

	nl_run_hashes(run, hashes);
	for (unsigned i = 0; i < run->arms.count; i++)
		np_json_append(&list, nl_hash_json(hashes[i]));
	np_json_set_member(&object, "elapsed_ns", np_json_number(true, nl_run_elapsed_ns(run)));
	np_json_set_member(&object, "key_hashes", list);
	np_json_set_member(&object, "reconnects", np_json_number(true, run->reconnects));
	np_json_set_member(&object, "voluntary_switches", np_json_number(true, usage->voluntary));
	np_json_set_member(&object, "involuntary_switches",
	                   np_json_number(true, usage->involuntary));
	np_json_set_member(&object, "minor_faults", np_json_number(true, usage->minor_faults));
	np_json_set_member(&object, "major_faults", np_json_number(true, usage->major_faults));
	np_json_set_member(&object, "noise_after",
	                   known_noise(run->has_noise_after, &run->noise_after));
	return object;
}
