/* SPDX-License-Identifier: BSD-3-Clause */
#include "published.h"

#include "host.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* us, local and remote, as printed there; the rows are metrics. */
static const struct {
	const char *protocol;
	unsigned elapsed_s[2];
	double us[NL_METRIC_COUNT][NL_PERCENTILE_COUNT][2];
	struct {
		double a;
		double blocked[3]; /* mean, interval */
		double paired[3];
	} effects[NL_METRIC_COUNT];
} figures[] = {
	{ "memcache",
	  { 98 * 60 + 25, 106 * 60 + 9 },
	  { { { 76.905, 79.720 },
	      { 82.012, 97.307 },
	      { 120.460, 110.081 },
	      { 135.241, 131.901 },
	      { 146.593, 182.470 } },
	    { { 135.446, 151.563 },
	      { 142.362, 181.987 },
	      { 196.628, 208.741 },
	      { 217.761, 295.515 },
	      { 308.094, 319.121 } },
	    { { 338.105, 356.646 },
	      { 346.588, 400.328 },
	      { 414.575, 456.998 },
	      { 467.726, 491.569 },
	      { 503.469, 515.245 } } },
	  { { 0.612381, { 0.612148, 0.581601, 0.643022 }, { 0.611416, 0.580769, 0.642369 } },
	    { 0.926942, { 0.926827, 0.916574, 0.936515 }, { 0.927414, 0.917085, 0.937308 } },
	    { 0.923878, { 0.924088, 0.913874, 0.933665 }, { 0.924632, 0.914377, 0.934042 } } } },
	{ "http",
	  { 101 * 60 + 15, 109 * 60 + 15 },
	  { { { 79.623, 88.317 },
	      { 102.487, 101.444 },
	      { 140.014, 110.103 },
	      { 150.374, 119.907 },
	      { 162.134, 144.697 } },
	    { { 137.963, 172.717 },
	      { 181.901, 187.648 },
	      { 215.644, 214.707 },
	      { 299.905, 301.951 },
	      { 326.985, 320.861 } },
	    { { 340.480, 378.841 },
	      { 391.955, 407.112 },
	      { 439.032, 467.832 },
	      { 491.811, 498.385 },
	      { 519.259, 518.096 } } },
	  { { 0.699049, { 0.697331, 0.662254, 0.731291 }, { 0.696776, 0.661984, 0.730427 } },
	    { 0.847870, { 0.848016, 0.813886, 0.879709 }, { 0.847632, 0.813242, 0.879161 } },
	    { 0.843298, { 0.843523, 0.810824, 0.873806 }, { 0.843088, 0.810456, 0.873654 } } } },
};

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	assert_non_null(memory);
	return memory;
}

static uint64_t ns_of(double us)
{
	return (uint64_t)llround(us * 1e3);
}

/* Through the percentiles, straight between them by number of nines. */
static void fill_curve(struct nl_side *side)
{
	const struct nl_percentile *p = side->percentiles;
	const double nines[] = { 0, 0.30103, 1, 2, 3, 4, 5 };
	const double ns[] = { 0.9 * (double)p[0].ns, (double)p[0].ns, (double)p[1].ns,
		              (double)p[2].ns,       (double)p[3].ns, (double)p[4].ns,
		              1.6 * (double)p[4].ns };

	side->curve = allocate(PUBLISHED_POINTS, sizeof(*side->curve));
	for (unsigned i = 0; i < PUBLISHED_POINTS; i++) {
		double at = 5.0 * i / (PUBLISHED_POINTS - 1);
		unsigned k = 0;

		while (k < 5 && at > nines[k + 1])
			k++;
		side->curve[i] = (uint64_t)(ns[k] + (ns[k + 1] - ns[k]) * (at - nines[k]) /
		                                            (nines[k + 1] - nines[k]));
	}
}

static void fill_blocks(struct nl_side *side, uint64_t start_ns, uint64_t elapsed_ns)
{
	uint64_t median_ns = side->percentiles[0].ns;

	side->block_medians = allocate(PUBLISHED_BLOCKS, sizeof(*side->block_medians));
	side->block_starts = allocate(PUBLISHED_BLOCKS, sizeof(*side->block_starts));
	side->drift.least_block_ns = median_ns;
	for (unsigned i = 0; i < PUBLISHED_BLOCKS; i++) {
		side->block_medians[i] = median_ns + i * i % 17 * median_ns / 1000;
		side->block_starts[i] = start_ns + elapsed_ns / PUBLISHED_BLOCKS * i;
		if (side->block_medians[i] > side->drift.greatest_block_ns)
			side->drift.greatest_block_ns = side->block_medians[i];
	}
}

static void fill_side(struct nl_side *side, unsigned protocol, unsigned metric, unsigned which)
{
	static const uint64_t beyond[NL_PERCENTILE_COUNT] = { 2, 10, 100, 1000, 10000 };
	uint64_t elapsed_ns = figures[protocol].elapsed_s[which] * UINT64_C(1000000000);

	side->samples = PUBLISHED_SAMPLES;
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		uint64_t ns = ns_of(figures[protocol].us[metric][i][which]);

		side->percentiles[i] = (struct nl_percentile){
			.ns = ns,
			.low_ns = ns - ns / 1000,
			.high_ns = ns + ns / 1000,
			.above = PUBLISHED_SAMPLES / beyond[i],
		};
	}
	side->least_ns = side->percentiles[0].ns * 9 / 10;
	side->greatest_ns = side->percentiles[4].ns * 16 / 10;
	side->mean_ns = (double)side->percentiles[0].ns * 1.01;
	side->drift = (struct nl_drift){
		.trend = { .slope = 0, .p = 0.5 },
		.halves = 0.5,
		.lag1 = 0.05,
		.effective_samples = (double)PUBLISHED_SAMPLES,
	};
	fill_blocks(side, which == 0 ? UINT64_C(1000000000) : UINT64_C(16000000000000), elapsed_ns);
	fill_curve(side);
}

static struct np_interval interval_of(const double mean_and_interval[3])
{
	return (struct np_interval){ mean_and_interval[1], mean_and_interval[2] };
}

static void fill_effect(struct nl_comparison *comparison, unsigned protocol, unsigned metric)
{
	struct nl_effect *effect = &comparison->effects[metric];
	int64_t shift_ns = (int64_t)comparison->b_sides[metric].percentiles[0].ns -
	                   (int64_t)comparison->a_sides[metric].percentiles[0].ns;

	*effect = (struct nl_effect){
		.superiority = { (uint64_t)(figures[protocol].effects[metric].a * 1e6), 1000000 },
		.a_faster = figures[protocol].effects[metric].a,
		.blocked = figures[protocol].effects[metric].blocked[0],
		.blocked_interval = interval_of(figures[protocol].effects[metric].blocked),
		.correlated_interval = interval_of(figures[protocol].effects[metric].blocked),
		.merged_blocks = 1,
		.blocked_least = 0.4,
		.blocked_greatest = 0.99,
		.is_paired = true,
		.paired = figures[protocol].effects[metric].paired[0],
		.paired_interval = interval_of(figures[protocol].effects[metric].paired),
		.twice_shift_ns = 2 * shift_ns,
		.block_shift = { .estimate = (double)shift_ns,
		                 .interval = { 0.9 * (double)shift_ns, 1.1 * (double)shift_ns },
		                 .has_interval = true },
		.permutation_p = 0.00005,
		.shift_permutation_p = 0.00005,
		.block_a = allocate(PUBLISHED_BLOCKS, sizeof(double)),
	};
	for (unsigned i = 0; i < PUBLISHED_BLOCKS; i++)
		effect->block_a[i] = effect->blocked;
}

static void fill(struct nl_comparison *comparison, unsigned protocol)
{
	*comparison = (struct nl_comparison){
		.protocol = figures[protocol].protocol,
		.a = { .label = "local" },
		.b = { .label = "remote" },
		.design = NL_DESIGN_APART,
		.a_first = true,
		.gap_ns = UINT64_C(7512000000000),
		.samples = PUBLISHED_SAMPLES,
		.keys_match = true,
		.key_hash_a = PUBLISHED_KEY_HASH,
		.key_hash_b = PUBLISHED_KEY_HASH,
		.elapsed_a_ns = figures[protocol].elapsed_s[0] * UINT64_C(1000000000),
		.elapsed_b_ns = figures[protocol].elapsed_s[1] * UINT64_C(1000000000),
		.block_count = PUBLISHED_BLOCKS,
		.options = { .blocks = PUBLISHED_BLOCKS,
		             .repetitions = 20000,
		             .seed = UINT64_C(0x9e3779b97f4a7c15),
		             .level = 0.95,
		             .curve_points = PUBLISHED_POINTS },
	};
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		fill_side(&comparison->a_sides[metric], protocol, metric, 0);
		fill_side(&comparison->b_sides[metric], protocol, metric, 1);
		fill_effect(comparison, protocol, metric);
	}
}

/* ---- traces ---- */

static struct nl_trace *write_trace(const char *path, const struct published_trace *trace)
{
	struct nl_trace_writer *writer;
	struct nl_trace *opened;
	struct np_error err = { 0 };

	assert_np_ok(nl_trace_writer_create(path, NL_TRACE_NLT, &trace->about, &writer, &err),
	             &err);
	for (unsigned i = 0; i < 4 * trace->about.arm_count; i++) {
		const struct nl_row row = { .start_ns = 1000 + 1000 * i,
			                    .response_ns = 100,
			                    .payload_ns = 200,
			                    .total_ns = 300,
			                    .key = i % 4,
			                    .arm = (uint8_t)(i % trace->about.arm_count) };

		assert_np_ok(nl_trace_writer_add(writer, &row, &err), &err);
	}
	assert_np_ok(nl_trace_writer_finish(writer, &trace->end, trace->outcome, &err), &err);
	assert_np_ok(nl_trace_open(path, &opened, &err), &err);
	return opened;
}

static void close_traces(struct nl_comparison *comparison)
{
	if (comparison->b.trace != comparison->a.trace)
		nl_trace_close(comparison->b.trace);
	nl_trace_close(comparison->a.trace);
	comparison->a.trace = NULL;
	comparison->b.trace = NULL;
}

void published_retrace(struct published *published, struct nl_comparison *comparison, unsigned side,
                       const struct published_trace *trace, bool is_shared)
{
	struct nl_input *inputs[2] = { &comparison->a, &comparison->b };
	char path[320];

	snprintf(path, sizeof(path), "%s/%s-%s.nlt", published->dir,
	         trace->about.protocol ? trace->about.protocol : "unknown", inputs[side]->label);
	if (is_shared)
		close_traces(comparison);
	else
		nl_trace_close(inputs[side]->trace);
	inputs[side]->trace = write_trace(path, trace);
	if (is_shared) {
		inputs[1 - side]->trace = inputs[side]->trace;
		inputs[1]->arm = 1;
	}
}

void published_create(struct published *published)
{
	*published = (struct published){
		.report = { .source = "20260714T104600Z-outer-ns", .count = 2 },
	};
	published->report.comparisons = published->comparisons;
	make_temporary(published->dir, sizeof(published->dir));
	for (unsigned protocol = 0; protocol < 2; protocol++) {
		const struct published_trace trace = {
			.about = { .protocol = figures[protocol].protocol,
			           .arms = { "" },
			           .arm_count = 1 },
			.end = { .is_complete = true },
		};

		fill(&published->comparisons[protocol], protocol);
		for (unsigned side = 0; side < 2; side++)
			published_retrace(published, &published->comparisons[protocol], side,
			                  &trace, false);
	}
}

void published_release(struct published *published)
{
	for (unsigned protocol = 0; protocol < 2; protocol++) {
		close_traces(&published->comparisons[protocol]);
		nl_comparison_release(&published->comparisons[protocol]);
	}
	remove_tree(published->dir);
}

char *published_print(const struct nl_report *report,
                      int print(const struct nl_report *report, FILE *out))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_number(print(report, out), 0);
	assert_number(fclose(out), 0);
	return text;
}
