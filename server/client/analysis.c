/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis.h"
#include "analysis_design.h"
#include "analysis_effect.h"
#include "analysis_keys.h"
#include "analysis_side.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What checking the traces takes of the whole, about. */
#define CHECK_SHARE 0.2

static const struct metric {
	const char *id;
	const char *label;
	enum nl_column column;
} metrics[NL_METRIC_COUNT] = {
	[NL_METRIC_RESPONSE] = { "response_ttfb", "response TTFB", NL_RESPONSE },
	[NL_METRIC_PAYLOAD] = { "payload_ttfb", "payload TTFB", NL_PAYLOAD },
	[NL_METRIC_TOTAL] = { "complete", "total download", NL_TOTAL },
};

const char *nl_metric_id(enum nl_metric metric)
{
	return metrics[metric].id;
}

const char *nl_metric_label(enum nl_metric metric)
{
	return metrics[metric].label;
}

enum nl_column nl_metric_column(enum nl_metric metric)
{
	return metrics[metric].column;
}

const struct nl_percentile_name nl_percentiles[NL_PERCENTILE_COUNT] = {
	{ "p50", { 1, 2 } },        { "p90", { 9, 10 } },          { "p99", { 99, 100 } },
	{ "p99.9", { 999, 1000 } }, { "p99.99", { 9999, 10000 } },
};

double nl_curve_share(unsigned i, unsigned points)
{
	static const double nines = 5;

	return points < 2 ? 0 : 1 - pow(10, -nines * i / (points - 1));
}

/* ---- are they fit for it? ---- */

static int check_inputs(const struct nl_input *inputs, size_t count,
                        const struct nl_analysis_options *options, struct np_error *err)
{
	if (options->blocks < 2)
		return np_error_set(err, EINVAL, "%u blocks: at least 2 are needed",
		                    options->blocks);
	for (size_t i = 0; i < count; i++) {
		uint64_t rows = nl_trace_arm_rows(inputs[i].trace, inputs[i].arm);

		if (rows == 0)
			return np_error_set(err, EINVAL, "%s has no request", inputs[i].label);
	}
	return 0;
}

/* Of one row at least. */
static unsigned count_blocks(uint64_t rows, const struct nl_analysis_options *options)
{
	return rows < options->blocks ? (unsigned)rows : options->blocks;
}

static int check_protocols(struct nl_comparison *comparison, struct np_error *err)
{
	const char *a = nl_trace_about(comparison->a.trace)->protocol;
	const char *b = nl_trace_about(comparison->b.trace)->protocol;

	comparison->protocol = a ? a : b;
	if (a && b && strcmp(a, b) != 0)
		return np_error_set(err, EBADMSG, "protocols differ: %s in %s, %s in %s", a,
		                    comparison->a.label, b, comparison->b.label);
	return 0;
}

static int check_counts(struct nl_comparison *comparison, struct np_error *err)
{
	const struct nl_input *a = &comparison->a;
	const struct nl_input *b = &comparison->b;
	uint64_t a_rows = nl_trace_arm_rows(a->trace, a->arm);
	uint64_t b_rows = nl_trace_arm_rows(b->trace, b->arm);

	comparison->samples = a_rows < b_rows ? a_rows : b_rows;
	comparison->is_cut = a_rows != b_rows;
	if (comparison->is_cut && !comparison->options.takes_common)
		return np_error_set(err, EBADMSG,
		                    "%" PRIu64 " requests in %s, %" PRIu64
		                    " in %s: --common compares those that both have",
		                    a_rows, a->label, b_rows, b->label);
	comparison->block_count = count_blocks(comparison->samples, &comparison->options);
	return 0;
}

/* All that can be said before the latencies are looked at. */
static int check_both(struct nl_comparison *comparison, struct np_error *err)
{
	const struct nl_input *a = &comparison->a;
	const struct nl_input *b = &comparison->b;
	uint64_t hashes[NL_TRACE_ARMS_MAX];
	int rc = check_inputs((const struct nl_input[]){ *a, *b }, 2, &comparison->options, err);

	if (rc == 0)
		rc = check_protocols(comparison, err);
	if (rc == 0)
		rc = check_counts(comparison, err);
	if (rc == 0)
		rc = nl_trace_check(a->trace, hashes, err);
	if (rc < 0)
		return rc;
	comparison->key_hash_a = hashes[a->arm];
	if (b->trace != a->trace)
		rc = nl_trace_check(b->trace, hashes, err);
	if (rc < 0)
		return rc;
	comparison->key_hash_b = hashes[b->arm];
	comparison->is_partial =
		!nl_trace_end(a->trace)->is_complete || !nl_trace_end(b->trace)->is_complete;
	return nl_keys_compare(comparison, err);
}

/* ---- comparing ---- */

struct work {
	struct nl_comparison *comparison;
	struct nl_extent extents[2]; /* of a and b */
	struct np_rng rng;
	uint64_t *scratch; /* a block, for sorting */
	const struct nl_progress *progress;
};

static void tell_progress(const struct work *work, double share)
{
	if (work->progress)
		work->progress->tell(work->progress->data, fmin(share, 1));
}

static int match_blocks(const struct work *work, enum nl_metric metric, struct nl_reading *a,
                        struct nl_reading *b, struct nl_matching *matching, struct np_error *err)
{
	unsigned blocks = work->comparison->block_count;

	for (unsigned block = 0; block < blocks; block++) {
		int rc = nl_reading_next(a, err);

		if (rc == 0)
			rc = nl_reading_next(b, err);
		if (rc < 0)
			return rc;
		if (matching->is_paired)
			nl_matching_add_raw(matching, a->values, b->values, a->count);
		rc = nl_reading_sort(a, work->scratch, err);
		if (rc == 0)
			rc = nl_reading_sort(b, work->scratch, err);
		if (rc < 0)
			return rc;
		nl_matching_add_sorted(matching, a->values, b->values, a->count);
		tell_progress(work,
		              CHECK_SHARE + (1 - CHECK_SHARE) *
		                                    ((double)metric + (block + 1.0) / blocks) /
		                                    NL_METRIC_COUNT);
	}
	return 0;
}

/* After the last block: the figures of both sides, and of the two together. */
static int finish_metric(struct work *work, enum nl_metric metric, struct nl_reading readings[2],
                         struct nl_matching *matching, struct np_error *err)
{
	struct nl_comparison *comparison = work->comparison;
	struct nl_side *sides[] = { &comparison->a_sides[metric], &comparison->b_sides[metric] };
	struct np_distribution all[2] = { 0 };
	int rc = 0;

	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		rc = nl_reading_finish(&readings[i], &comparison->options, sides[i], &all[i], err);
		if (rc == 0 && nl_extent_copy_starts(&work->extents[i], sides[i]) < 0)
			rc = nl_analysis_no_memory(err);
	}
	if (rc == 0) {
		const struct nl_matched matched = { &all[0], &all[1], sides[0]->block_medians,
			                            sides[1]->block_medians };

		rc = nl_matching_finish(matching, &matched, &comparison->options, &work->rng,
		                        &comparison->effects[metric]);
		if (rc < 0)
			np_error_sys(err, -rc, "analysis");
	}
	np_distribution_release(&all[0]);
	np_distribution_release(&all[1]);
	return rc;
}

static int compare_metric(struct work *work, enum nl_metric metric, struct np_error *err)
{
	struct nl_comparison *comparison = work->comparison;
	unsigned blocks = comparison->block_count;
	struct nl_reading readings[2] = { 0 };
	struct nl_matching matching;
	int rc = nl_matching_begin(comparison->keys_match, blocks, &matching);

	if (rc < 0)
		rc = nl_analysis_no_memory(err);
	if (rc == 0)
		rc = nl_reading_begin(&comparison->a, metric, comparison->samples, blocks,
		                      &readings[0], err);
	if (rc == 0)
		rc = nl_reading_begin(&comparison->b, metric, comparison->samples, blocks,
		                      &readings[1], err);
	if (rc == 0)
		rc = match_blocks(work, metric, &readings[0], &readings[1], &matching, err);
	if (rc == 0)
		rc = finish_metric(work, metric, readings, &matching, err);
	nl_reading_end(&readings[0]);
	nl_reading_end(&readings[1]);
	nl_matching_end(&matching);
	return rc;
}

static int read_extents(struct work *work, struct np_error *err)
{
	struct nl_comparison *comparison = work->comparison;
	struct nl_extent *a = &work->extents[0];
	struct nl_extent *b = &work->extents[1];
	int rc = nl_extent_read(&comparison->a, comparison->samples, comparison->block_count, a,
	                        err);

	if (rc == 0)
		rc = nl_extent_read(&comparison->b, comparison->samples, comparison->block_count, b,
		                    err);
	if (rc < 0)
		return rc;
	comparison->elapsed_a_ns = a->compared_ns - a->start_ns;
	comparison->elapsed_b_ns = b->compared_ns - b->start_ns;
	nl_design_tell(a, b, comparison);
	return comparison->design == NL_DESIGN_INTERLEAVED ? nl_design_count_turns(comparison, err)
	                                                   : 0;
}

static int compare_checked(struct work *work, struct np_error *err)
{
	struct nl_comparison *comparison = work->comparison;
	int rc = read_extents(work, err);

	if (rc < 0)
		return rc;
	work->scratch = calloc(nl_block_rows_max(comparison->samples, comparison->block_count),
	                       sizeof(*work->scratch));
	if (!work->scratch)
		return nl_analysis_no_memory(err);
	tell_progress(work, CHECK_SHARE);
	for (unsigned i = 0; i < NL_METRIC_COUNT && rc == 0; i++)
		rc = compare_metric(work, (enum nl_metric)i, err);
	return rc;
}

int nl_compare(const struct nl_input *a, const struct nl_input *b,
               const struct nl_analysis_options *options, const struct nl_progress *progress,
               struct nl_comparison *ret, struct np_error *err)
{
	struct nl_comparison comparison = { .a = *a, .b = *b, .options = *options };
	struct work work = { .comparison = &comparison, .progress = progress };
	int rc;

	np_rng_seed(&work.rng, options->seed);
	tell_progress(&work, 0);
	rc = check_both(&comparison, err);
	if (rc == 0)
		rc = compare_checked(&work, err);
	nl_extent_release(&work.extents[0]);
	nl_extent_release(&work.extents[1]);
	free(work.scratch);
	if (rc < 0)
		nl_comparison_release(&comparison);
	else
		*ret = comparison;
	return rc;
}

void nl_comparison_release(struct nl_comparison *comparison)
{
	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		nl_side_release(&comparison->a_sides[i]);
		nl_side_release(&comparison->b_sides[i]);
		nl_effect_release(&comparison->effects[i]);
	}
}

/* ---- describing ---- */

static int describe_metric(struct nl_description *description,
                           const struct nl_analysis_options *options, enum nl_metric metric,
                           uint64_t *scratch, struct np_error *err)
{
	unsigned blocks = description->block_count;
	struct np_distribution all = { 0 };
	struct nl_reading reading;
	int rc = nl_reading_begin(&description->input, metric, description->samples, blocks,
	                          &reading, err);

	for (unsigned block = 0; block < blocks && rc == 0; block++) {
		rc = nl_reading_next(&reading, err);
		if (rc == 0)
			rc = nl_reading_sort(&reading, scratch, err);
	}
	if (rc == 0)
		rc = nl_reading_finish(&reading, options, &description->sides[metric], &all, err);
	np_distribution_release(&all);
	nl_reading_end(&reading);
	return rc;
}

/* What the description's samples, blocks and key_hash say is known already. */
static int describe_checked(struct nl_description *description,
                            const struct nl_analysis_options *options, struct np_error *err)
{
	struct nl_extent extent = { 0 };
	uint64_t *scratch =
		calloc(nl_block_rows_max(description->samples, description->block_count),
	               sizeof(*scratch));
	int rc = scratch ? 0 : nl_analysis_no_memory(err);

	if (rc == 0)
		rc = nl_extent_read(&description->input, description->samples,
		                    description->block_count, &extent, err);
	for (unsigned i = 0; i < NL_METRIC_COUNT && rc == 0; i++) {
		rc = describe_metric(description, options, (enum nl_metric)i, scratch, err);
		if (rc == 0 && nl_extent_copy_starts(&extent, &description->sides[i]) < 0)
			rc = nl_analysis_no_memory(err);
	}
	description->elapsed_ns = extent.end_ns - extent.start_ns;
	nl_extent_release(&extent);
	free(scratch);
	return rc;
}

int nl_describe(const struct nl_input *input, const struct nl_analysis_options *options,
                struct nl_description *ret, struct np_error *err)
{
	struct nl_description description = { .input = *input };
	uint64_t hashes[NL_TRACE_ARMS_MAX];
	int rc = check_inputs(input, 1, options, err);

	if (rc == 0)
		rc = nl_trace_check(input->trace, hashes, err);
	if (rc < 0)
		return rc;
	description.key_hash = hashes[input->arm];
	description.samples = nl_trace_arm_rows(input->trace, input->arm);
	description.block_count = count_blocks(description.samples, options);
	rc = describe_checked(&description, options, err);
	if (rc < 0)
		nl_description_release(&description);
	else
		*ret = description;
	return rc;
}

void nl_description_release(struct nl_description *description)
{
	for (unsigned i = 0; i < NL_METRIC_COUNT; i++)
		nl_side_release(&description->sides[i]);
}
