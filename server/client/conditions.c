/* SPDX-License-Identifier: BSD-3-Clause */
#include "conditions.h"

#include "../../probe/base/json.h"

/* False unless it is a number from 0. */
static bool read_number(const json_t *object, const char *key, uint64_t *ret)
{
	const json_t *value = json_object_get(object, key);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Of what did not happen in that time there is no length (noise.h). */
static void add_noise(const json_t *object, struct nl_noise_told *noise)
{
	uint64_t gaps;
	uint64_t duration_ns;
	uint64_t ns;

	if (!read_number(object, "gaps", &gaps) ||
	    !read_number(object, "duration_ns", &duration_ns))
		return;
	noise->is_known = true;
	noise->gaps += gaps;
	noise->duration_ns += duration_ns;
	if (read_number(object, "gap_max_ns", &ns))
		noise->gap_max_ns = greater(noise->gap_max_ns, ns);
	if (read_number(object, "late_p99_ns", &ns))
		noise->late_p99_ns = greater(noise->late_p99_ns, ns);
}

static enum nl_told told(const json_t *value)
{
	if (!json_is_boolean(value))
		return NL_NOT_TOLD;
	return json_is_true(value) ? NL_TOLD_YES : NL_TOLD_NO;
}

void nl_conditions_read(const struct nl_trace *trace, struct nl_conditions *ret)
{
	const json_t *details = nl_trace_about(trace)->details;

	*ret = (struct nl_conditions){
		.is_pinned = told(json_object_get(details, "pinned")),
		.is_locked = told(json_object_get(json_object_get(details, "memory"), "locked")),
	};
	ret->has_cpu = read_number(details, "cpu", &ret->cpu);
	add_noise(json_object_get(details, "noise_before"), &ret->noise);
	add_noise(json_object_get(nl_trace_outcome(trace), "noise_after"), &ret->noise);
}

/* null where it is not told. */
static json_t *told_json(enum nl_told told)
{
	return told == NL_NOT_TOLD ? json_null() : json_boolean(told == NL_TOLD_YES);
}

static json_t *noise_json(const struct nl_noise_told *noise)
{
	json_t *object;

	if (!noise->is_known)
		return json_null();
	object = json_object();
	np_json_set_member(&object, "gaps", np_json_number(true, noise->gaps));
	np_json_set_member(&object, "duration_ns", np_json_number(true, noise->duration_ns));
	np_json_set_member(&object, "gap_max_ns",
	                   np_json_number(noise->gap_max_ns > 0, noise->gap_max_ns));
	np_json_set_member(&object, "late_p99_ns",
	                   np_json_number(noise->late_p99_ns > 0, noise->late_p99_ns));
	return object;
}

json_t *nl_conditions_json(const struct nl_conditions *conditions)
{
	json_t *object = json_object();

	np_json_set_member(&object, "pinned", told_json(conditions->is_pinned));
	np_json_set_member(&object, "cpu", np_json_number(conditions->has_cpu, conditions->cpu));
	np_json_set_member(&object, "locked", told_json(conditions->is_locked));
	np_json_set_member(&object, "noise", noise_json(&conditions->noise));
	return object;
}
