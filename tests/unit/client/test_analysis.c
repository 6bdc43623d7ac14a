/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparisons: every figure against brute force, the edges of blocks, which designs are told, and
 * traces that cannot be compared.
 */
#include "made_trace.h"

#include "../../../server/client/analysis_side.h"
#include "../../../server/client/sequence.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { ROWS_MAX = 600 };

static const struct nl_analysis_options options = {
	.blocks = 6,
	.repetitions = 500,
	.seed = 1,
	.level = 0.95,
	.curve_points = 11,
};

static int folder_create(void **state)
{
	char *path = calloc(1, MADE_PATH_SIZE);

	assert_non_null(path);
	make_temporary(path, MADE_PATH_SIZE);
	*state = path;
	return 0;
}

static int folder_remove(void **state)
{
	remove_tree(*state);
	free(*state);
	return 0;
}

/* ---- two traces of totals ---- */

struct two {
	struct nl_input a;
	struct nl_input b;
};

static void two_close(struct two *two)
{
	if (two->b.trace != two->a.trace)
		nl_trace_close(two->b.trace);
	nl_trace_close(two->a.trace);
}

/* One after the other, but for the gap. */
static struct two two_of(const char *folder, const uint64_t *a, size_t a_count, const uint64_t *b,
                         size_t b_count)
{
	struct nl_row *a_rows = made_rows(a, a_count, 1000);
	struct nl_row *b_rows = made_rows(b, b_count, UINT64_C(1) << 40);
	const struct two two = {
		.a = { made_trace(folder, "a.nlt", &made_one_arm, a_rows, a_count), 0, "A" },
		.b = { made_trace(folder, "b.nlt", &made_one_arm, b_rows, b_count), 0, "B" },
	};

	free(a_rows);
	free(b_rows);
	return two;
}

static struct nl_comparison compare_with(const struct two *two,
                                         const struct nl_analysis_options *how)
{
	struct nl_comparison comparison = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nl_compare(&two->a, &two->b, how, NULL, &comparison, &err), &err);
	return comparison;
}

static void refuse(const struct two *two, const struct nl_analysis_options *how, int code,
                   const char *part)
{
	struct nl_comparison untouched = { .samples = 77 };
	struct np_error err = { 0 };
	int rc = nl_compare(&two->a, &two->b, how, NULL, &untouched, &err);

	assert_fails(rc, code, &err, part);
	assert_number(untouched.samples, 77);
}

/* Small numbers, so that there are many ties; @kind 0 random, 1 all alike, 2 falling, 3 far apart. */
static void fill(uint64_t *values, size_t count, unsigned kind, uint64_t seed)
{
	struct np_rng rng;

	np_rng_seed(&rng, seed);
	for (size_t i = 0; i < count; i++) {
		switch (kind) {
		case 0:
			values[i] = 100 + np_rng_below(&rng, 20);
			break;
		case 1:
			values[i] = 40;
			break;
		case 2:
			values[i] = 5000 - i;
			break;
		default:
			values[i] = UINT64_C(1) << np_rng_below(&rng, 40);
		}
	}
}

/* ---- the same by brute force ---- */

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int by_difference(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t wins(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
	uint64_t halves = 0;

	for (size_t i = 0; i < a_count; i++)
		for (size_t k = 0; k < b_count; k++)
			halves += (uint64_t)2 * (a[i] < b[k]) + (a[i] == b[k]);
	return halves;
}

static double superiority(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
	return (double)wins(a, a_count, b, b_count) / (2.0 * (double)a_count * (double)b_count);
}

/* The value of rank ceil(count * numerator / denominator), at least 1. */
static uint64_t nearest(const uint64_t *values, size_t count, struct np_share share)
{
	uint64_t *sorted = calloc(count, sizeof(*sorted));
	size_t rank = (count * share.numerator + share.denominator - 1) / share.denominator;
	uint64_t value;

	assert_non_null(sorted);
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	value = sorted[rank > 0 ? rank - 1 : 0];
	free(sorted);
	return value;
}

static int64_t twice_shift(const uint64_t *a, const uint64_t *b, size_t count)
{
	int64_t *all = calloc(count * count, sizeof(*all));
	size_t half = count * count / 2;
	int64_t twice;

	assert_non_null(all);
	for (size_t i = 0; i < count * count; i++)
		all[i] = (int64_t)b[i % count] - (int64_t)a[i / count];
	qsort(all, count * count, sizeof(*all), by_difference);
	twice = count * count % 2 ? 2 * all[half] : all[half - 1] + all[half];
	free(all);
	return twice;
}

static double mean(const uint64_t *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	return sum / (double)count;
}

#define assert_near(found, wanted)                                                                 \
	assert_true(fabs((found) - (wanted)) <= 1e-9 * fabs(wanted) + 1e-12)

static void check_side(const struct nl_side *side, const uint64_t *values, size_t count,
                       unsigned blocks)
{
	size_t half = nl_block_edge(count, blocks, blocks / 2);

	assert_number(side->samples, count);
	assert_number(side->least_ns, nearest(values, count, (struct np_share){ 0, 1 }));
	assert_number(side->greatest_ns, nearest(values, count, (struct np_share){ 1, 1 }));
	assert_near(side->mean_ns, mean(values, count));
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		struct np_share share = nl_percentiles[i].share;

		assert_number(side->percentiles[i].ns, nearest(values, count, share));
		assert_number(side->percentiles[i].above,
		              count * (share.denominator - share.numerator) / share.denominator);
		assert_true(side->percentiles[i].low_ns <= side->percentiles[i].ns);
	}
	for (unsigned i = 0; i < blocks; i++) {
		size_t first = nl_block_edge(count, blocks, i);
		size_t end = nl_block_edge(count, blocks, i + 1);

		assert_number(side->block_medians[i],
		              nearest(values + first, end - first, (struct np_share){ 1, 2 }));
	}
	assert_near(side->drift.halves, superiority(values, half, values + half, count - half));
	assert_true(side->drift.effective_samples <= (double)count);
	assert_number(side->curve[0], side->least_ns);
	for (unsigned i = 1; i < options.curve_points; i++)
		assert_true(side->curve[i] >= side->curve[i - 1]);
}

static void check_effect(const struct nl_effect *effect, const uint64_t *a, const uint64_t *b,
                         size_t count, unsigned blocks)
{
	uint64_t halves = 0;
	double sum = 0;

	assert_number(effect->superiority.numerator, wins(a, count, b, count));
	assert_number(effect->superiority.denominator, 2 * count * count);
	assert_number(effect->twice_shift_ns, twice_shift(a, b, count));
	for (unsigned i = 0; i < blocks; i++) {
		size_t first = nl_block_edge(count, blocks, i);
		size_t rows = nl_block_edge(count, blocks, i + 1) - first;
		double value = superiority(a + first, rows, b + first, rows);

		assert_near(effect->block_a[i], value);
		assert_true(effect->blocked_least <= value && value <= effect->blocked_greatest);
		sum += value;
	}
	assert_near(effect->blocked, sum / blocks);
	assert_true(effect->blocked_interval.low <= effect->blocked + 1e-12 &&
	            effect->blocked <= effect->blocked_interval.high + 1e-12);
	for (size_t i = 0; i < count; i++)
		halves += (uint64_t)2 * (a[i] < b[i]) + (a[i] == b[i]);
	assert_true(effect->is_paired);
	assert_near(effect->paired, (double)halves / (2 * (double)count));
}

static void figures_are_those_of_brute_force(void **state)
{
	static const struct {
		size_t rows;
		unsigned blocks;
		unsigned a_kind;
		unsigned b_kind;
	} cases[] = {
		{ 2, 2, 0, 0 },   { 3, 2, 0, 0 },   { 6, 6, 0, 0 },    { 100, 7, 0, 0 },
		{ 97, 96, 0, 2 }, { 500, 6, 0, 0 }, { 501, 10, 3, 3 }, { 64, 3, 1, 0 },
		{ 64, 3, 0, 1 },  { 200, 9, 2, 2 }, { 333, 2, 3, 0 },
	};
	uint64_t a[ROWS_MAX];
	uint64_t b[ROWS_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_analysis_options how = options;
		struct nl_comparison comparison;
		struct two two;

		check_case("%zu rows in %u blocks", cases[i].rows, cases[i].blocks);
		fill(a, cases[i].rows, cases[i].a_kind, 1 + i);
		fill(b, cases[i].rows, cases[i].b_kind, 100 + i);
		how.blocks = cases[i].blocks;
		two = two_of(*state, a, cases[i].rows, b, cases[i].rows);
		comparison = compare_with(&two, &how);

		check_side(&comparison.a_sides[NL_METRIC_TOTAL], a, cases[i].rows, how.blocks);
		check_side(&comparison.b_sides[NL_METRIC_TOTAL], b, cases[i].rows, how.blocks);
		check_effect(&comparison.effects[NL_METRIC_TOTAL], a, b, cases[i].rows, how.blocks);
		assert_number(comparison.a_sides[NL_METRIC_RESPONSE].greatest_ns,
		              comparison.a_sides[NL_METRIC_TOTAL].greatest_ns / 2);
		assert_number(comparison.a_sides[NL_METRIC_PAYLOAD].least_ns,
		              comparison.a_sides[NL_METRIC_TOTAL].least_ns / 2 +
		                      comparison.a_sides[NL_METRIC_TOTAL].least_ns / 4);

		nl_comparison_release(&comparison);
		two_close(&two);
	}
}

static void equal_traces_show_no_difference(void **state)
{
	uint64_t values[ROWS_MAX];
	struct nl_comparison comparison;
	struct two two;

	fill(values, ROWS_MAX, 0, 5);
	two = two_of(*state, values, ROWS_MAX, values, ROWS_MAX);
	comparison = compare_with(&two, &options);

	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		const struct nl_effect *effect = &comparison.effects[i];

		assert_true(2 * effect->superiority.numerator == effect->superiority.denominator);
		assert_true(effect->a_faster == 0.5 && effect->blocked == 0.5);
		assert_true(effect->paired == 0.5);
		assert_number(effect->twice_shift_ns, 0);
		assert_true(effect->blocked_interval.low == 0.5 &&
		            effect->blocked_interval.high == 0.5);
		assert_true(effect->permutation_p == 1 && effect->shift_permutation_p == 1);
		assert_true(effect->block_shift.estimate == 0);
	}

	nl_comparison_release(&comparison);
	two_close(&two);
}

static void exchanging_the_two_turns_everything_round(void **state)
{
	uint64_t a[ROWS_MAX];
	uint64_t b[ROWS_MAX];
	struct nl_comparison there;
	struct nl_comparison back;
	struct two two;

	fill(a, ROWS_MAX, 0, 5);
	fill(b, ROWS_MAX, 0, 6);
	two = two_of(*state, a, ROWS_MAX, b, ROWS_MAX);
	there = compare_with(&two, &options);
	back = compare_with(&(struct two){ two.b, two.a }, &options);

	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		assert_true(there.effects[i].superiority.numerator +
		                    back.effects[i].superiority.numerator ==
		            there.effects[i].superiority.denominator);
		assert_number(there.effects[i].twice_shift_ns, -back.effects[i].twice_shift_ns);
		assert_near(there.effects[i].paired, 1 - back.effects[i].paired);
	}

	nl_comparison_release(&there);
	nl_comparison_release(&back);
	two_close(&two);
}

/* Where whole numbers give another row: numpy.linspace(0, rows, blocks + 1).astype(int). */
static void blocks_begin_where_numpy_has_them(void **state)
{
	static const struct {
		uint64_t rows;
		unsigned blocks;
		unsigned i;
		uint64_t edge;
	} cases[] = {
		{ 825332, 98, 49, 412665 },          { 1349933705, 10000, 6000, 809960222 },
		{ 1027998364, 98, 49, 513999181 },   { 387822052, 10000, 2500, 96955512 },
		{ 91779605, 10000, 6000, 55067762 }, { 17166137, 96, 0, 0 },
		{ 17166137, 96, 1, 178813 },         { 17166137, 96, 47, 8404254 },
		{ 17166137, 96, 95, 16987323 },      { 17166137, 96, 96, 17166137 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("%llu rows, %u blocks, %u", (unsigned long long)cases[i].rows,
		           cases[i].blocks, cases[i].i);
		assert_number(nl_block_edge(cases[i].rows, cases[i].blocks, cases[i].i),
		              cases[i].edge);
	}
}

static void no_block_is_empty(void **state)
{
	(void)state;
	for (unsigned blocks = 2; blocks < 300; blocks++) {
		for (uint64_t rows = blocks; rows < blocks + UINT64_C(40); rows++) {
			uint64_t most = 0;

			for (unsigned i = 0; i < blocks; i++) {
				uint64_t first = nl_block_edge(rows, blocks, i);
				uint64_t end = nl_block_edge(rows, blocks, i + 1);

				assert_true(first < end);
				most = end - first > most ? end - first : most;
			}
			assert_number(nl_block_rows_max(rows, blocks), most);
			assert_number(nl_block_edge(rows, blocks, blocks), rows);
		}
	}
}

static void the_same_seed_gives_the_same_figures(void **state)
{
	uint64_t a[ROWS_MAX];
	uint64_t b[ROWS_MAX];
	struct nl_analysis_options other = options;
	struct nl_comparison results[3];
	struct two two;

	fill(a, ROWS_MAX, 0, 5);
	fill(b, ROWS_MAX, 0, 6);
	other.seed = 2;
	two = two_of(*state, a, ROWS_MAX, b, ROWS_MAX);
	results[0] = compare_with(&two, &options);
	results[1] = compare_with(&two, &options);
	results[2] = compare_with(&two, &other);

	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		const struct nl_effect *first = &results[0].effects[i];
		const struct nl_effect *again = &results[1].effects[i];
		const struct nl_effect *differs = &results[2].effects[i];

		assert_true(first->blocked_interval.low == again->blocked_interval.low);
		assert_true(first->paired_interval.high == again->paired_interval.high);
		assert_true(first->permutation_p == again->permutation_p);
		assert_true(first->blocked_interval.low != differs->blocked_interval.low);
		assert_true(first->blocked == differs->blocked);
	}

	for (unsigned i = 0; i < 3; i++)
		nl_comparison_release(&results[i]);
	two_close(&two);
}

/* ---- drift ---- */

static void a_trace_that_becomes_slower_is_told(void **state)
{
	uint64_t steady[ROWS_MAX];
	uint64_t rising[ROWS_MAX];
	struct nl_analysis_options how = options;
	const struct nl_drift *drift;
	struct nl_comparison comparison;
	struct two two;

	how.blocks = 30;
	fill(steady, ROWS_MAX, 0, 5);
	for (size_t i = 0; i < ROWS_MAX; i++)
		rising[i] = steady[i] + i;
	two = two_of(*state, steady, ROWS_MAX, rising, ROWS_MAX);
	comparison = compare_with(&two, &how);

	drift = &comparison.a_sides[NL_METRIC_TOTAL].drift;
	assert_true(fabs(drift->trend_percent) < 5 && fabs(drift->halves - 0.5) < 0.1);
	assert_true(drift->effective_samples > ROWS_MAX / 3.0);
	drift = &comparison.b_sides[NL_METRIC_TOTAL].drift;
	assert_true(drift->trend.p < 0.001 && drift->halves > 0.99 && drift->lag1 > 0.8);
	assert_true(drift->trend_percent > 100 && drift->trend_percent < 200);
	assert_true(drift->effective_samples < 60);
	assert_true(drift->least_block_ns < drift->greatest_block_ns);

	nl_comparison_release(&comparison);
	two_close(&two);
}

/* ---- designs ---- */

struct when {
	uint64_t start_ns;
	int64_t began_ns;
};

static struct nl_trace *trace_at(const char *folder, const char *name, const struct when *when)
{
	static const uint64_t totals[] = { 100, 100, 100, 100 };
	struct nl_trace_about about = made_one_arm;
	struct nl_row *rows = made_rows(totals, 4, when->start_ns);
	struct nl_trace *trace;

	about.began_ns = when->began_ns;
	trace = made_trace(folder, name, &about, rows, 4);
	free(rows);
	return trace;
}

#define HOUR_NS INT64_C(3600000000000)

/* Each trace takes 403 ns. */
static const struct {
	const char *name;
	struct when a;
	struct when b;
	enum nl_design design;
	bool a_first;
	uint64_t gap_ns;
} designs[] = {
	{ "one after the other", { 1000, 0 }, { 5000, 0 }, NL_DESIGN_APART, true, 3597 },
	{ "b first", { 5000, 0 }, { 1000, 0 }, NL_DESIGN_APART, false, 3597 },
	{ "no gap", { 1000, 0 }, { 1403, 0 }, NL_DESIGN_APART, true, 0 },
	{ "overlapping, or another boot", { 1000, 0 }, { 1200, 0 }, NL_DESIGN_UNKNOWN, 0, 0 },
	{ "overlapping",
	  { 1000, 900 * HOUR_NS },
	  { 1200, 900 * HOUR_NS + 200 },
	  NL_DESIGN_OVERLAPPING,
	  0,
	  0 },
	{ "a warm-up, told by the wall clock alone",
	  { 1000, 900 * HOUR_NS },
	  { 5000, 900 * HOUR_NS + 100 },
	  NL_DESIGN_APART,
	  true,
	  3597 },
	{ "another boot, later",
	  { 1000, 900 * HOUR_NS },
	  { 1000, 902 * HOUR_NS },
	  NL_DESIGN_APART,
	  true,
	  2 * HOUR_NS - 403 },
	{ "another boot, and clocks that go the other way",
	  { 5000, 902 * HOUR_NS },
	  { 9000, 900 * HOUR_NS },
	  NL_DESIGN_APART,
	  false,
	  2 * HOUR_NS - 403 },
	{ "one tells no time", { 1000, 900 * HOUR_NS }, { 5000, 0 }, NL_DESIGN_APART, true, 3597 },
};

static void the_design_follows_from_the_clocks(void **state)
{
	struct nl_analysis_options how = options;

	how.blocks = 2;
	for (size_t i = 0; i < sizeof(designs) / sizeof(designs[0]); i++) {
		const struct two two = {
			.a = { trace_at(*state, "a.nlt", &designs[i].a), 0, "A" },
			.b = { trace_at(*state, "b.nlt", &designs[i].b), 0, "B" },
		};
		struct nl_comparison comparison;

		check_case("%s", designs[i].name);
		comparison = compare_with(&two, &how);
		assert_number(comparison.design, designs[i].design);
		assert_number(comparison.a_first, designs[i].a_first);
		assert_number(comparison.gap_ns, designs[i].gap_ns);
		assert_number(comparison.elapsed_a_ns, 403);
		assert_number(comparison.elapsed_b_ns, 403);
		assert_number(comparison.a_sides[0].block_starts[0], designs[i].a.start_ns);
		assert_number(comparison.a_sides[0].block_starts[1], designs[i].a.start_ns + 202);
		nl_comparison_release(&comparison);
		two_close((struct two *)&two);
	}
}

static void arms_of_one_trace_are_interleaved(void **state)
{
	static const struct nl_trace_about about = {
		.arms = { "near", "other", "far" },
		.arm_count = 3,
		.order = "fixed",
		.block = 1,
	};
	uint64_t a[ROWS_MAX / 3];
	uint64_t b[ROWS_MAX / 3];
	uint64_t all[ROWS_MAX];
	struct nl_comparison comparison;
	struct nl_row *rows;
	struct two two = { 0 };

	fill(a, ROWS_MAX / 3, 0, 5);
	fill(b, ROWS_MAX / 3, 0, 6);
	for (size_t i = 0; i < ROWS_MAX; i++)
		all[i] = i % 3 == 0 ? a[i / 3] : i % 3 == 1 ? 7777 : b[i / 3];
	rows = made_rows(all, ROWS_MAX, 1000);
	for (size_t i = 0; i < ROWS_MAX; i++) {
		rows[i].arm = (uint8_t)(i % 3);
		rows[i].key = (uint32_t)(i / 3);
	}
	two.a = (struct nl_input){ made_trace(*state, "arms.nlt", &about, rows, ROWS_MAX), 0,
		                   "near" };
	two.b = (struct nl_input){ two.a.trace, 2, "far" };
	comparison = compare_with(&two, &options);

	assert_number(comparison.design, NL_DESIGN_INTERLEAVED);
	assert_number(comparison.turns, 2 * (ROWS_MAX / 3));
	assert_number(comparison.samples, ROWS_MAX / 3);
	assert_true(comparison.keys_match);
	check_side(&comparison.a_sides[NL_METRIC_TOTAL], a, ROWS_MAX / 3, options.blocks);
	check_effect(&comparison.effects[NL_METRIC_TOTAL], a, b, ROWS_MAX / 3, options.blocks);
	assert_number(comparison.b_sides[0].block_starts[0], rows[2].start_ns);

	free(rows);
	nl_comparison_release(&comparison);
	two_close(&two);
}

/* The arms of a trace need not have been interleaved. */
static void arms_that_took_few_turns_are_told(void **state)
{
	static const struct {
		unsigned turn; /* rows of one arm before the other has its turn */
		enum nl_design design;
		uint64_t turns;
	} cases[] = { { 1, NL_DESIGN_INTERLEAVED, 60 },
		      { 10, NL_DESIGN_INTERLEAVED, 6 },
		      { 30, NL_DESIGN_APART, 0 } };
	static const struct nl_trace_about about = {
		.arms = { "near", "far" },
		.arm_count = 2,
	};
	uint64_t totals[60];

	fill(totals, 60, 0, 5);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_row *rows = made_rows(totals, 60, 1000);
		struct nl_comparison comparison;
		struct two two = { 0 };
		uint32_t keys[2] = { 0 };

		check_case("turns of %u", cases[i].turn);
		for (unsigned row = 0; row < 60; row++) {
			rows[row].arm = (uint8_t)(row / cases[i].turn % 2);
			rows[row].key = keys[rows[row].arm]++;
		}
		two.a = (struct nl_input){ made_trace(*state, "arms.nlt", &about, rows, 60), 0,
			                   "near" };
		two.b = (struct nl_input){ two.a.trace, 1, "far" };
		comparison = compare_with(&two, &options);
		assert_number(comparison.design, cases[i].design);
		assert_number(comparison.turns, cases[i].turns);
		assert_true(comparison.design != NL_DESIGN_APART || comparison.a_first);
		nl_comparison_release(&comparison);
		two_close(&two);
		free(rows);
	}
}

/* ---- what cannot be compared, or only when asked for ---- */

/* Of made_rows(). */
static uint64_t key_hash(uint32_t count)
{
	uint64_t hash = NL_SEQUENCE_HASH_BASIS;

	for (uint32_t i = 0; i < count; i++)
		hash = nl_sequence_hash(hash, i % 7);
	return nl_sequence_fold(NL_SEQUENCE_HASH_BASIS, hash);
}

static void unequal_lengths_are_compared_when_asked_for(void **state)
{
	uint64_t a[ROWS_MAX];
	uint64_t b[ROWS_MAX];
	struct nl_analysis_options how = options;
	struct nl_comparison comparison;
	struct two two;

	fill(a, ROWS_MAX, 0, 5);
	fill(b, ROWS_MAX, 0, 6);
	two = two_of(*state, a, 400, b, ROWS_MAX);
	refuse(&two, &how, -EBADMSG, "400 requests in A, 600 in B: --common ");

	how.takes_common = true;
	comparison = compare_with(&two, &how);
	assert_true(comparison.is_cut && comparison.keys_match);
	assert_number(comparison.samples, 400);
	assert_true(comparison.key_hash_a == comparison.key_hash_b);
	assert_true(comparison.key_hash_a == key_hash(400));
	check_side(&comparison.b_sides[NL_METRIC_TOTAL], b, 400, how.blocks);
	check_effect(&comparison.effects[NL_METRIC_TOTAL], a, b, 400, how.blocks);
	nl_comparison_release(&comparison);
	two_close(&two);
}

static void other_keys_are_compared_when_asked_for(void **state)
{
	uint64_t totals[40];
	struct nl_analysis_options how = options;
	struct nl_comparison comparison;
	struct nl_row *rows;
	struct two two;

	fill(totals, 40, 0, 5);
	rows = made_rows(totals, 40, 1000);
	two.a = (struct nl_input){ made_trace(*state, "a.nlt", &made_one_arm, rows, 40), 0, "A" };
	rows[33].key = 18;
	two.b = (struct nl_input){ made_trace(*state, "b.nlt", &made_one_arm, rows, 40), 0, "B" };
	refuse(&two, &how, -EBADMSG, "keys differ from row 33 on: 5 in A, 18 in B; --unpaired ");
	how.takes_common = true;
	refuse(&two, &how, -EBADMSG, "keys differ from row 33 on: 5 in A, 18 in B; --unpaired ");

	how.is_unpaired = true;
	comparison = compare_with(&two, &how);
	assert_false(comparison.keys_match);
	assert_false(comparison.effects[0].is_paired);
	assert_true(comparison.effects[0].a_faster == 0.5);
	assert_true(comparison.key_hash_a != comparison.key_hash_b);
	nl_comparison_release(&comparison);
	two_close(&two);
	free(rows);
}

static void the_key_hash_is_that_of_the_sequence(void **state)
{
	static const uint64_t totals[] = { 10, 20, 30, 40, 50, 60, 70, 80 };
	struct nl_comparison comparison;
	struct two two = two_of(*state, totals, 8, totals, 8);

	comparison = compare_with(&two, &options);
	assert_true(comparison.key_hash_a == key_hash(8) && comparison.key_hash_b == key_hash(8));
	nl_comparison_release(&comparison);
	two_close(&two);
}

/* What one row tells is told, and how sure that is not. */
static void one_request_each_is_compared_without_intervals(void **state)
{
	static const uint64_t a[] = { 1000 };
	static const uint64_t b[] = { 1500 };
	struct two two = two_of(*state, a, 1, b, 1);
	struct nl_comparison comparison = compare_with(&two, &options);
	const struct nl_effect *effect = &comparison.effects[NL_METRIC_TOTAL];

	assert_number(comparison.block_count, 1);
	assert_number(comparison.a_sides[NL_METRIC_TOTAL].percentiles[4].ns, 1000);
	assert_number(effect->superiority.numerator, 2);
	assert_number(effect->superiority.denominator, 2);
	assert_number((uint64_t)effect->twice_shift_ns, 1000);
	assert_number(effect->merged_blocks, 0);
	assert_true(isnan(effect->correlated_interval.low));
	assert_true(isnan(effect->blocked_interval.high));
	assert_true(isnan(effect->paired_interval.low));
	assert_false(effect->block_shift.has_interval);
	nl_comparison_release(&comparison);
	two_close(&two);
}

/* Two blocks that say the opposite: Student's t of them would go far beyond. */
static void the_interval_of_a_share_is_a_share(void **state)
{
	static const uint64_t a[] = { 1000, 2000 };
	static const uint64_t b[] = { 1500, 1500 };
	struct two two = two_of(*state, a, 2, b, 2);
	struct nl_comparison comparison = compare_with(&two, &options);
	const struct nl_effect *effect = &comparison.effects[NL_METRIC_TOTAL];

	assert_true(effect->correlated_interval.low == 0);
	assert_true(effect->correlated_interval.high == 1);
	nl_comparison_release(&comparison);
	two_close(&two);
}

static void there_are_no_more_blocks_than_requests(void **state)
{
	static const uint64_t totals[] = { 10, 20, 30, 40, 50 };
	struct two two = two_of(*state, totals, 5, totals, 5);
	struct nl_comparison comparison = compare_with(&two, &options);

	assert_number(comparison.block_count, 5);
	assert_number(comparison.options.blocks, 6);
	nl_comparison_release(&comparison);
	two_close(&two);
}

static void too_few_requests_are_refused(void **state)
{
	static const uint64_t totals[] = { 10, 20, 30, 40, 50 };
	struct nl_analysis_options one_block = options;
	struct two two = two_of(*state, totals, 0, totals, 5);

	refuse(&two, &options, -EINVAL, "A has no request");
	two_close(&two);
	two = two_of(*state, totals, 5, totals, 5);
	one_block.blocks = 1;
	refuse(&two, &one_block, -EINVAL, "1 blocks: at least 2 are needed");
	two_close(&two);
}

static void other_protocols_are_refused(void **state)
{
	static const uint64_t totals[] = { 10, 20, 30, 40, 50, 60 };
	struct nl_row *rows = made_rows(totals, 6, 1000);
	struct nl_trace_about about = made_one_arm;
	struct two two = { .a = { .label = "A" }, .b = { .label = "B" } };
	struct nl_comparison comparison;

	about.protocol = "http";
	two.a.trace = made_trace(*state, "a.nlt", &about, rows, 6);
	about.protocol = "memcache";
	two.b.trace = made_trace(*state, "b.nlt", &about, rows, 6);
	refuse(&two, &options, -EBADMSG, "protocols differ: http in A, memcache in B");
	nl_trace_close(two.b.trace);

	two.b.trace = made_trace(*state, "b.nlt", &made_one_arm, rows, 6);
	comparison = compare_with(&two, &options);
	assert_text(comparison.protocol, "http");
	nl_comparison_release(&comparison);
	two_close(&two);
	free(rows);
}

static void a_trace_that_was_cut_short_marks_the_comparison(void **state)
{
	static const uint64_t totals[] = { 10, 20, 30, 40, 50, 60 };
	struct nl_row *rows = made_rows(totals, 6, 1000);
	struct two two = two_of(*state, totals, 6, totals, 6);
	char path[MADE_PATH_SIZE];
	struct nl_comparison comparison;

	snprintf(path, sizeof(path), "%s/cut.nlt", (const char *)*state);
	made_write(path, &made_one_arm, rows, 6, "the server stalled");
	nl_trace_close(two.b.trace);
	two.b.trace = made_open(path);
	comparison = compare_with(&two, &options);

	assert_true(comparison.is_partial);
	assert_false(comparison.is_cut);
	nl_comparison_release(&comparison);
	two_close(&two);
	free(rows);
}

/* Rows that no serial run leaves. */
static void no_trace_of_a_serial_run_is_refused(void **state)
{
	static const struct {
		const char *name;
		size_t row;
		struct nl_row is;
	} cases[] = {
		{ "a start that goes back", 3, { 5, 1, 1, 1, 3, 0 } },
		{ "payload before response", 3, { 3000, 9, 8, 10, 3, 0 } },
		{ "end before payload", 3, { 3000, 7, 8, 6, 3, 0 } },
		{ "longer than until the next start", 0, { 1000, 1, 2, 1 << 30, 0, 0 } },
	};
	static const uint64_t totals[] = { 500, 500, 500, 500, 500, 500 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_row *rows = made_rows(totals, 6, 1000);
		struct two two = two_of(*state, totals, 6, totals, 6);

		check_case("%s", cases[i].name);
		rows[cases[i].row] = cases[i].is;
		nl_trace_close(two.b.trace);
		two.b.trace = made_trace(*state, "bad.nlt", &made_one_arm, rows, 6);
		refuse(&two, &options, -EBADMSG, "row ");
		two_close(&two);
		free(rows);
	}
}

static void latencies_of_lifetimes_are_refused(void **state)
{
	static const uint64_t totals[] = { 500, 500, 500, 500, 500, UINT64_C(1) << 62 };
	static const uint64_t longest[] = { 500, 500, 500, 500, 500, UINT64_C(1) << 61 };
	struct nl_comparison comparison;
	struct two two = two_of(*state, longest, 6, longest, 6);

	comparison = compare_with(&two, &options);
	assert_number(comparison.a_sides[NL_METRIC_TOTAL].greatest_ns, UINT64_C(1) << 61);
	nl_comparison_release(&comparison);
	two_close(&two);

	two = two_of(*state, totals, 6, totals, 6);
	refuse(&two, &options, -EBADMSG, " ns, which is more than 73 years");
	two_close(&two);
}

/* ---- the rest ---- */

static void note_progress(void *data, double share)
{
	double *last = data;

	assert_true(share >= *last && share <= 1);
	*last = share;
}

static void progress_rises_to_the_end(void **state)
{
	static const uint64_t totals[] = { 10, 20, 30, 40, 50, 60 };
	struct two two = two_of(*state, totals, 6, totals, 6);
	struct nl_comparison comparison;
	struct np_error err = { 0 };
	double share = 0;
	const struct nl_progress progress = { note_progress, &share };

	assert_np_ok(nl_compare(&two.a, &two.b, &options, &progress, &comparison, &err), &err);
	assert_true(fabs(share - 1) < 1e-9);
	nl_comparison_release(&comparison);
	two_close(&two);
}

static void one_arm_alone_is_described(void **state)
{
	struct nl_analysis_options how = options;
	struct nl_description description;
	uint64_t values[ROWS_MAX];
	struct np_error err = { 0 };
	struct two two;

	fill(values, ROWS_MAX, 0, 5);
	two = two_of(*state, values, ROWS_MAX, values, 3);
	assert_np_ok(nl_describe(&two.a, &how, &description, &err), &err);
	check_side(&description.sides[NL_METRIC_TOTAL], values, ROWS_MAX, how.blocks);
	assert_number(description.samples, ROWS_MAX);
	nl_description_release(&description);

	/* Fewer rows than blocks: a row is a block. */
	assert_np_ok(nl_describe(&two.b, &how, &description, &err), &err);
	assert_number(description.block_count, 3);
	assert_number(description.sides[NL_METRIC_TOTAL].block_medians[2], values[2]);
	nl_description_release(&description);
	two_close(&two);
}

static void curves_go_to_five_nines(void **state)
{
	(void)state;
	assert_true(nl_curve_share(0, 11) == 0);
	assert_true(fabs(nl_curve_share(2, 11) - 0.9) < 1e-12);
	assert_true(fabs(nl_curve_share(10, 11) - 0.99999) < 1e-12);
}

#define folder_test(f) cmocka_unit_test_setup_teardown(f, folder_create, folder_remove)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(figures_are_those_of_brute_force),
		folder_test(equal_traces_show_no_difference),
		folder_test(exchanging_the_two_turns_everything_round),
		cmocka_unit_test(blocks_begin_where_numpy_has_them),
		cmocka_unit_test(no_block_is_empty),
		folder_test(the_same_seed_gives_the_same_figures),
		folder_test(a_trace_that_becomes_slower_is_told),
		folder_test(the_design_follows_from_the_clocks),
		folder_test(arms_of_one_trace_are_interleaved),
		folder_test(unequal_lengths_are_compared_when_asked_for),
		folder_test(other_keys_are_compared_when_asked_for),
		folder_test(the_key_hash_is_that_of_the_sequence),
		folder_test(too_few_requests_are_refused),
		folder_test(one_request_each_is_compared_without_intervals),
		folder_test(there_are_no_more_blocks_than_requests),
		folder_test(the_interval_of_a_share_is_a_share),
		folder_test(arms_that_took_few_turns_are_told),
		folder_test(other_protocols_are_refused),
		folder_test(a_trace_that_was_cut_short_marks_the_comparison),
		folder_test(no_trace_of_a_serial_run_is_refused),
		folder_test(latencies_of_lifetimes_are_refused),
		folder_test(progress_rises_to_the_end),
		folder_test(one_arm_alone_is_described),
		cmocka_unit_test(curves_go_to_five_nines),
	};

	return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
