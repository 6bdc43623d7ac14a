/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * docs/schema/analysis-1.json: goblin-bench's structure and keys, with ours among them.
 */
#include "report_json.h"
#include "conditions.h"
#include "report.h"
#include "report_words.h"

#include "../../probe/base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *nl_real_json(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *nl_hash_json(uint64_t hash)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016" PRIx64, hash);
	return json_string(text);
}

static json_t *nanoseconds(uint64_t ns)
{
	return np_json_number(ns <= INT64_MAX, ns);
}

/* An end of an interval; 0 = there is none. */
static json_t *end_json(uint64_t ns)
{
	return np_json_number(ns > 0 && ns <= INT64_MAX, ns);
}

json_t *nl_percentile_json(const struct nl_percentile *percentile)
{
	json_t *object = json_object();

	np_json_set_member(&object, "ns", nanoseconds(percentile->ns));
	np_json_set_member(&object, "ci_low_ns", end_json(percentile->low_ns));
	np_json_set_member(&object, "ci_high_ns", end_json(percentile->high_ns));
	np_json_set_member(&object, "samples_above", nanoseconds(percentile->above));
	return object;
}

static json_t *array_json(const uint64_t *values, unsigned count)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < count; i++)
		np_json_append(&array, nanoseconds(values[i]));
	return array;
}

static json_t *drift_json(const struct nl_drift *drift)
{
	json_t *object = json_object();

	np_json_set_member(&object, "halves_A", nl_real_json(drift->halves));
	np_json_set_member(&object, "trend_ns_per_block", nl_real_json(drift->trend.slope));
	np_json_set_member(&object, "trend_percent", nl_real_json(drift->trend_percent));
	np_json_set_member(&object, "trend_p", nl_real_json(drift->trend.p));
	np_json_set_member(&object, "lag1", nl_real_json(drift->lag1));
	np_json_set_member(&object, "effective_samples", nl_real_json(drift->effective_samples));
	np_json_set_member(&object, "least_block_ns", nanoseconds(drift->least_block_ns));
	np_json_set_member(&object, "greatest_block_ns", nanoseconds(drift->greatest_block_ns));
	return object;
}

json_t *nl_side_json(const struct nl_side *side, unsigned block_count)
{
	json_t *object = json_object();

	np_json_set_member(&object, "samples", nanoseconds(side->samples));
	np_json_set_member(&object, "least_ns", nanoseconds(side->least_ns));
	np_json_set_member(&object, "mean_ns", nl_real_json(side->mean_ns));
	np_json_set_member(&object, "greatest_ns", nanoseconds(side->greatest_ns));
	np_json_set_member(&object, "drift", drift_json(&side->drift));
	np_json_set_member(&object, "block_medians_ns",
	                   array_json(side->block_medians, block_count));
	np_json_set_member(&object, "block_starts_ns", array_json(side->block_starts, block_count));
	return object;
}

/* ---- one metric of two sides ---- */

/* Both sides' members under goblin-bench's names, "local_..." and "remote_...". */
static json_t *percentile_json(const struct nl_percentile *a, const struct nl_percentile *b)
{
	json_t *object = json_object();

	np_json_set_member(&object, "local_ns", nanoseconds(a->ns));
	np_json_set_member(&object, "remote_ns", nanoseconds(b->ns));
	np_json_set_member(&object, "local_us", nl_real_json((double)a->ns / 1e3));
	np_json_set_member(&object, "remote_us", nl_real_json((double)b->ns / 1e3));
	np_json_set_member(&object, "local_improvement_percent",
	                   nl_real_json(nl_improvement_percent(a->ns, b->ns)));
	np_json_set_member(&object, "local_ci_low_ns", end_json(a->low_ns));
	np_json_set_member(&object, "local_ci_high_ns", end_json(a->high_ns));
	np_json_set_member(&object, "remote_ci_low_ns", end_json(b->low_ns));
	np_json_set_member(&object, "remote_ci_high_ns", end_json(b->high_ns));
	np_json_set_member(&object, "local_samples_above", nanoseconds(a->above));
	np_json_set_member(&object, "remote_samples_above", nanoseconds(b->above));
	return object;
}

static void set_interval(json_t **object, const char *low, const char *high, bool is_known,
                         struct np_interval interval)
{
	np_json_set_member(object, low, nl_real_json(is_known ? interval.low : NAN));
	np_json_set_member(object, high, nl_real_json(is_known ? interval.high : NAN));
}

static void set_superiority(json_t **object, const struct nl_effect *effect)
{
	np_json_set_member(object, "A_local_faster", nl_real_json(effect->a_faster));
	np_json_set_member(object, "A_numerator", nanoseconds(effect->superiority.numerator));
	np_json_set_member(object, "A_denominator", nanoseconds(effect->superiority.denominator));
	np_json_set_member(object, "magnitude", json_string(nl_magnitude(effect->a_faster)));
	np_json_set_member(object, "blocked_A_mean", nl_real_json(effect->blocked));
	set_interval(object, "blocked_A_ci_low", "blocked_A_ci_high", true,
	             effect->blocked_interval);
	np_json_set_member(object, "block_A_min", nl_real_json(effect->blocked_least));
	np_json_set_member(object, "block_A_max", nl_real_json(effect->blocked_greatest));
	np_json_set_member(object, "paired_local_faster_probability",
	                   nl_real_json(effect->is_paired ? effect->paired : NAN));
	set_interval(object, "paired_ci_low", "paired_ci_high", effect->is_paired,
	             effect->paired_interval);
}

/* Ours. */
static void set_further(json_t **object, const struct nl_effect *effect, unsigned block_count)
{
	json_t *block_a = json_array();

	for (unsigned i = 0; i < block_count; i++)
		np_json_append(&block_a, nl_real_json(effect->block_a[i]));
	set_interval(object, "correlated_A_ci_low", "correlated_A_ci_high",
	             effect->merged_blocks > 0, effect->correlated_interval);
	np_json_set_member(object, "merged_blocks",
	                   np_json_number(effect->merged_blocks > 0, effect->merged_blocks));
	np_json_set_member(object, "shift_ns", nl_real_json(nl_shift_ns(effect)));
	np_json_set_member(object, "block_shift_ns", nl_real_json(effect->block_shift.estimate));
	set_interval(object, "block_shift_ci_low_ns", "block_shift_ci_high_ns",
	             effect->block_shift.has_interval, effect->block_shift.interval);
	np_json_set_member(object, "permutation_p", nl_real_json(effect->permutation_p));
	np_json_set_member(object, "shift_permutation_p",
	                   nl_real_json(effect->shift_permutation_p));
	np_json_set_member(object, "block_A", block_a);
}

static json_t *metric_json(const struct nl_comparison *comparison, unsigned metric)
{
	const struct nl_side *a = &comparison->a_sides[metric];
	const struct nl_side *b = &comparison->b_sides[metric];
	json_t *object = json_object();
	json_t *percentiles = json_object();

	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++)
		np_json_set_member(&percentiles, nl_percentiles[i].label,
		                   percentile_json(&a->percentiles[i], &b->percentiles[i]));
	np_json_set_member(&object, "label", json_string(nl_metric_label((enum nl_metric)metric)));
	np_json_set_member(&object, "percentiles", percentiles);
	set_superiority(&object, &comparison->effects[metric]);
	set_further(&object, &comparison->effects[metric], comparison->block_count);
	np_json_set_member(&object, "local", nl_side_json(a, comparison->block_count));
	np_json_set_member(&object, "remote", nl_side_json(b, comparison->block_count));
	return object;
}

/* ---- one protocol ---- */

json_t *nl_lines_json(const char *text)
{
	json_t *array = text ? json_array() : NULL;

	while (text && *text) {
		size_t len = strcspn(text, "\n");

		np_json_append(&array, json_stringn(text, len));
		text += len + (text[len] == '\n');
	}
	return array;
}

static json_t *verdict_json(const struct nl_comparison *comparison)
{
	char *verdict = nl_verdict(comparison);
	json_t *array = nl_lines_json(verdict);

	free(verdict);
	return array;
}

static json_t *side_about_json(const struct nl_input *input, uint64_t key_hash)
{
	const struct nl_trace_end *end = nl_trace_end(input->trace);
	struct nl_conditions conditions;
	json_t *object = json_object();

	nl_conditions_read(input->trace, &conditions);
	np_json_set_member(&object, "label", np_json_text(input->label));
	np_json_set_member(&object, "arm", np_json_text(nl_arm_name(input)));
	np_json_set_member(&object, "rows",
	                   nanoseconds(nl_trace_arm_rows(input->trace, input->arm)));
	np_json_set_member(&object, "complete", json_boolean(end->is_complete));
	np_json_set_member(&object, "why_not_complete",
	                   np_json_text(end->is_complete ? NULL : end->why));
	np_json_set_member(&object, "key_sequence_hash", nl_hash_json(key_hash));
	np_json_set_member(&object, "client", nl_conditions_json(&conditions));
	return object;
}

static void set_design(json_t **object, const struct nl_comparison *comparison)
{
	bool is_apart = comparison->design == NL_DESIGN_APART;

	np_json_set_member(object, "design", json_string(nl_design_name(comparison->design)));
	np_json_set_member(object, "local_ran_first",
	                   is_apart ? json_boolean(comparison->a_first) : json_null());
	np_json_set_member(
		object, "gap_ns",
		np_json_number(is_apart && comparison->gap_ns <= INT64_MAX, comparison->gap_ns));
	np_json_set_member(object, "turns",
	                   np_json_number(comparison->turns > 0, comparison->turns));
}

static json_t *protocol_json(const struct nl_comparison *comparison)
{
	json_t *object = json_object();
	json_t *metrics = json_object();

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		np_json_set_member(&metrics, nl_metric_id((enum nl_metric)metric),
		                   metric_json(comparison, metric));
	np_json_set_member(&object, "local_trace",
	                   np_json_text(nl_trace_path(comparison->a.trace)));
	np_json_set_member(&object, "remote_trace",
	                   np_json_text(nl_trace_path(comparison->b.trace)));
	np_json_set_member(&object, "sample_count", nanoseconds(comparison->samples));
	np_json_set_member(&object, "key_sequence_matched", json_boolean(comparison->keys_match));
	np_json_set_member(&object, "local_elapsed_seconds",
	                   nl_real_json((double)comparison->elapsed_a_ns / 1e9));
	np_json_set_member(&object, "remote_elapsed_seconds",
	                   nl_real_json((double)comparison->elapsed_b_ns / 1e9));
	np_json_set_member(&object, "local",
	                   side_about_json(&comparison->a, comparison->key_hash_a));
	np_json_set_member(&object, "remote",
	                   side_about_json(&comparison->b, comparison->key_hash_b));
	set_design(&object, comparison);
	np_json_set_member(&object, "blocks", json_integer(comparison->block_count));
	np_json_set_member(&object, "rows_left_out", json_boolean(comparison->is_cut));
	np_json_set_member(&object, "partial", json_boolean(comparison->is_partial));
	np_json_set_member(&object, "verdict", verdict_json(comparison));
	np_json_set_member(&object, "metrics", metrics);
	return object;
}

/* ---- the document ---- */

static json_t *thresholds_json(void)
{
	return json_pack("{s:f, s:f, s:f}", "negligible", NL_NEGLIGIBLE_BELOW, "small",
	                 NL_SMALL_BELOW, "medium", NL_MEDIUM_BELOW);
}

static json_t *analysis_json(const struct nl_analysis_options *options)
{
	json_t *object = json_object();

	np_json_set_member(&object, "percentile_method",
	                   json_string("nearest rank: max(1, ceil(p/100 * N)), in whole numbers"));
	np_json_set_member(&object, "A_orientation",
	                   json_string("P(local < remote) + 0.5 * P(local = remote)"));
	np_json_set_member(
		&object, "A_interval",
		json_string("correlated_A_ci_low, correlated_A_ci_high: of blocked_A_mean, "
	                    "allowing for blocks that hang together; all other intervals "
	                    "over blocks, and p, take blocks for independent"));
	np_json_set_member(&object, "blocks", json_integer(options->blocks));
	np_json_set_member(&object, "bootstrap_repetitions", json_integer(options->repetitions));
	np_json_set_member(&object, "bootstrap_seed", nl_hash_json(options->seed));
	np_json_set_member(&object, "chunk_size", json_null());
	np_json_set_member(&object, "level", nl_real_json(options->level));
	np_json_set_member(&object, "thresholds", thresholds_json());
	return object;
}

/* null unless it is the same in all. */
static json_t *common_count_json(const struct nl_report *report)
{
	uint64_t samples = report->count > 0 ? report->comparisons[0].samples : 0;
	bool is_common = report->count > 0;

	for (size_t i = 0; i < report->count; i++)
		is_common = is_common && report->comparisons[i].samples == samples;
	return np_json_number(is_common, samples);
}

json_t *nl_report_json(const struct nl_report *report)
{
	json_t *object = json_object();
	json_t *protocols = json_object();

	for (size_t i = 0; i < report->count; i++) {
		const struct nl_comparison *comparison = &report->comparisons[i];
		json_t *name = np_json_text(nl_protocol_text(comparison));

		/* Without a name there is no memory, and it is refused. */
		np_json_set_member(&protocols, json_string_value(name), protocol_json(comparison));
		json_decref(name);
	}
	np_json_set_member(&object, "schema", json_string("numakit/analysis/1"));
	np_json_set_member(&object, "run_dir", np_json_text(report->source));
	np_json_set_member(&object, "analysis",
	                   report->count > 0 ? analysis_json(&report->comparisons[0].options)
	                                     : json_null());
	np_json_set_member(&object, "sample_count_per_case", common_count_json(report));
	np_json_set_member(&object, "protocols", protocols);
	return object;
}
