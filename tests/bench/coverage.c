/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage [ROWS [PAIRS]]: how often the intervals of `numalat analyze` are right. Simulates pairs of
 * traces (200 of 20000 rows), log-normal latencies of which each hangs together with the one before
 * (AR(1) of the logarithm), and compares them as `analyze` does:
 *
 *   equal pairs    in how many the 95 % interval of the blocks' A holds 0.5, which it should in 95 %:
 *                  goblin-store's bootstrap over blocks, and the one to judge by, for blocks that
 *                  hang together, which text, verdict and JSON (correlated_A_ci_low) have;
 *                  and in how many the permutation test's p is below 0.05, which it should be in 5 %
 *   shifted pairs  in how many they exclude 0.5, the one being slower by 1, 2, 5 % of the median
 *
 * A count of 200 with an expectation of 95 % is 90..98 % in 99 of 100 such runs. Seeded: the same
 * figures each time. The exit status is 0 however it comes out.
 */
#include "../../server/client/analysis.h"
#include "simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 20000, PAIRS = 200 };

static const double phis[] = { 0, 0.5, 0.9, 0.99 };
static const double shifts[] = { 0, 0.01, 0.02, 0.05 };

enum {
	PHI_COUNT = sizeof(phis) / sizeof(phis[0]),
	SHIFT_COUNT = sizeof(shifts) / sizeof(shifts[0])
};

struct tally {
	unsigned blocked; /* pairs whose interval holds 0.5 */
	unsigned correlated;
	unsigned rejected; /* whose p is below 0.05 */
};

static int write_trace(const char *path, struct simulation *simulation, uint64_t rows,
                       struct np_error *err)
{
	const struct nl_trace_about about = { .arms = { "" }, .arm_count = 1 };
	const struct nl_trace_end end = { .is_complete = true };
	struct nl_trace_writer *writer;
	uint64_t start_ns = 0;
	int rc = nl_trace_writer_create(path, NL_TRACE_NLT, &about, &writer, err);

	if (rc < 0)
		return rc;
	for (uint64_t i = 0; i < rows && rc == 0; i++) {
		uint64_t ns = simulation_next(simulation);
		const struct nl_row row = { start_ns, ns, ns, ns, 0, 0 };

		start_ns += ns;
		rc = nl_trace_writer_add(writer, &row, err);
	}
	if (rc == 0)
		return nl_trace_writer_finish(writer, &end, NULL, err);
	nl_trace_writer_abandon(writer);
	return rc;
}

static void count(const struct nl_effect *effect, struct tally *tally)
{
	tally->blocked +=
		effect->blocked_interval.low <= 0.5 && effect->blocked_interval.high >= 0.5;
	tally->correlated +=
		effect->correlated_interval.low <= 0.5 && effect->correlated_interval.high >= 0.5;
	tally->rejected += effect->permutation_p < 0.05;
}

static int compare(const char *const paths[2], struct tally *tally, struct np_error *err)
{
	const struct nl_analysis_options options = {
		.blocks = 96,
		.repetitions = 2000,
		.seed = UINT64_C(0x9e3779b97f4a7c15),
		.level = 0.95,
	};
	struct nl_input a = { .label = "A" };
	struct nl_input b = { .label = "B" };
	struct nl_comparison comparison;
	int rc = nl_trace_open(paths[0], &a.trace, err);

	if (rc == 0)
		rc = nl_trace_open(paths[1], &b.trace, err);
	if (rc == 0)
		rc = nl_compare(&a, &b, &options, NULL, &comparison, err);
	if (rc == 0) {
		count(&comparison.effects[NL_METRIC_TOTAL], tally);
		nl_comparison_release(&comparison);
	}
	nl_trace_close(a.trace);
	nl_trace_close(b.trace);
	return rc;
}

/* @seed is the first pair's first of two. */
static int run_pairs(const char *const paths[2], const double phi_and_shift[2], uint64_t rows,
                     unsigned pairs, struct tally *tally, struct np_error *err)
{
	int rc = 0;

	for (unsigned i = 0; i < pairs && rc == 0; i++) {
		for (unsigned side = 0; side < 2 && rc == 0; side++) {
			struct simulation simulation = {
				.phi = phi_and_shift[0],
				.median_ns = 100000 * (1 + side * phi_and_shift[1]),
				.sigma = 0.1,
				.stall_share = 1e-3,
				.stall_ns = 100000,
			};

			simulation_begin(&simulation, 1 + 2 * (uint64_t)i + side);
			rc = write_trace(paths[side], &simulation, rows, err);
		}
		if (rc == 0)
			rc = compare(paths, tally, err);
	}
	return rc;
}

static int run(const char *const paths[2], uint64_t rows, unsigned pairs, struct np_error *err)
{
	printf("%u pairs of %" PRIu64 " requests, 96 blocks, 95 %% intervals\n", pairs, rows);
	printf("%5s %7s  %20s %20s %12s\n", "phi", "shift %", "blocks hold 0.5 in",
	       "correlated ones in", "p < 0.05 in");
	for (unsigned k = 0; k < SHIFT_COUNT; k++) {
		for (unsigned i = 0; i < PHI_COUNT; i++) {
			struct tally tally = { 0 };
			int rc = run_pairs(paths, (const double[]){ phis[i], shifts[k] }, rows,
			                   pairs, &tally, err);

			if (rc < 0)
				return rc;
			printf("%5g %7g  %18.1f %% %18.1f %% %10.1f %%\n", phis[i], 100 * shifts[k],
			       100.0 * tally.blocked / pairs, 100.0 * tally.correlated / pairs,
			       100.0 * tally.rejected / pairs);
			fflush(stdout);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t rows = argc > 1 ? strtoull(argv[1], NULL, 10) : ROWS;
	unsigned pairs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : PAIRS;
	char directory[] = "/dev/shm/coverage-XXXXXX";
	char a[64];
	char b[64];
	struct np_error err = { 0 };
	int rc;

	if (!mkdtemp(directory)) {
		perror("coverage: /dev/shm");
		return 1;
	}
	snprintf(a, sizeof(a), "%s/a.nlt", directory);
	snprintf(b, sizeof(b), "%s/b.nlt", directory);
	rc = run((const char *const[]){ a, b }, rows, pairs, &err);
	unlink(a);
	unlink(b);
	rmdir(directory);
	if (rc < 0)
		fprintf(stderr, "coverage: %s\n", err.text);
	return rc < 0 ? 1 : 0;
}
