/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the intervals are right: 200 pairs of equal traces whose requests hang together, seeded, so
 * that the counts are the same each time. bench/coverage.c does more of it.
 */
#include "made_trace.h"

#include "../../bench/simulate.h"

enum { ROWS = 2000 };

static const struct nl_analysis_options options = {
	.blocks = 50,
	.repetitions = 500,
	.seed = 1,
	.level = 0.95,
};

struct tally {
	unsigned blocked;
	unsigned correlated;
	unsigned accepted; /* p of the permutation test is not below 0.05 */
};

static struct nl_trace *simulated(const char *folder, const char *name, double phi, double factor,
                                  uint64_t seed)
{
	struct simulation simulation = { .phi = phi,
		                         .median_ns = 100000 * factor,
		                         .sigma = 0.1,
		                         .stall_share = 1e-3,
		                         .stall_ns = 100000 };
	uint64_t totals[ROWS];
	struct nl_trace *trace;
	struct nl_row *rows;

	simulation_begin(&simulation, seed);
	for (size_t i = 0; i < ROWS; i++)
		totals[i] = simulation_next(&simulation);
	rows = made_rows(totals, ROWS, 0);
	trace = made_trace(folder, name, &made_one_arm, rows, ROWS);
	free(rows);
	return trace;
}

/* In how many the intervals hold 0.5. */
static struct tally run_pairs(const char *folder, unsigned pairs, double phi, double factor)
{
	struct tally tally = { 0 };

	for (unsigned i = 0; i < pairs; i++) {
		struct nl_input a = { simulated(folder, "a.nlt", phi, 1, 1 + 2 * i), 0, "A" };
		struct nl_input b = { simulated(folder, "b.nlt", phi, factor, 2 + 2 * i), 0, "B" };
		struct nl_comparison comparison;
		const struct nl_effect *effect = &comparison.effects[NL_METRIC_TOTAL];
		struct np_error err = { 0 };

		assert_np_ok(nl_compare(&a, &b, &options, NULL, &comparison, &err), &err);
		tally.blocked +=
			effect->blocked_interval.low <= 0.5 && effect->blocked_interval.high >= 0.5;
		tally.correlated += effect->correlated_interval.low <= 0.5 &&
		                    effect->correlated_interval.high >= 0.5;
		tally.accepted += effect->permutation_p >= 0.05;
		nl_comparison_release(&comparison);
		nl_trace_close(a.trace);
		nl_trace_close(b.trace);
	}
	print_message("phi %g, factor %g: of %u intervals %u and %u hold 0.5, %u accepted\n", phi,
	              factor, pairs, tally.blocked, tally.correlated, tally.accepted);
	return tally;
}

/* 90..98 % of 200. */
static void assert_right(unsigned count)
{
	assert_in_range(count, 180, 196);
}

static void intervals_hold_what_is_in_19_of_20(void **state)
{
	static const double phis[] = { 0, 0.5 };

	for (size_t i = 0; i < sizeof(phis) / sizeof(phis[0]); i++) {
		struct tally tally = run_pairs(*state, 200, phis[i], 1);

		assert_right(tally.blocked);
		assert_right(tally.correlated);
		assert_right(tally.accepted);
	}
}

/* Requests that hang together over a good part of a block: neighbouring blocks do too. */
static void blocks_that_hang_together_are_merged(void **state)
{
	struct tally tally = run_pairs(*state, 100, 0.98, 1);

	assert_true(tally.correlated > tally.blocked);
	assert_in_range(tally.correlated, 85, 98);
}

static void shifts_are_found(void **state)
{
	struct tally tally = run_pairs(*state, 50, 0.5, 1.05);

	assert_true(tally.blocked < 5 && tally.correlated < 5);
	assert_true(tally.accepted < 5);
}

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_hold_what_is_in_19_of_20),
		cmocka_unit_test(blocks_that_hang_together_are_merged),
		cmocka_unit_test(shifts_are_found),
	};

	return cmocka_run_group_tests_name("analysis_coverage", tests, folder_create,
	                                   folder_remove);
}
