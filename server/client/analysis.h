/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one trace shows, and whether two differ. Figures only; words, tables and pictures are made of
 * them elsewhere (report.h, verdict.h, figures.h).
 *
 * A request is not an independent experiment, so intervals and tests rest on blocks: contiguous
 * parts of a trace, the same part of both.
 *
 * The same traces, options and seed give the same figures, bit for bit: each comparison has a generator
 * of its own, seeded by options.seed, and draws from it metric by metric in the order of nl_metric:
 * bootstrap of the blocks' A, of the pairs (where keys match), sign flips of the blocks' A, of the
 * differences of medians. goblin-store's tool draws from numpy's PCG64, through all protocols: its
 * intervals agree with these within Monte-Carlo error, all else agrees exactly.
 */
#ifndef NL_ANALYSIS_H
#define NL_ANALYSIS_H

#include "../../probe/base/distribution.h"
#include "../../probe/base/resample.h"
#include "trace.h"

enum nl_metric { NL_METRIC_RESPONSE, NL_METRIC_PAYLOAD, NL_METRIC_TOTAL, NL_METRIC_COUNT };

/* "response_ttfb", "payload_ttfb", "complete": goblin-bench's ids; "response TTFB" and so on: its labels. */
const char *nl_metric_id(enum nl_metric metric);
const char *nl_metric_label(enum nl_metric metric);
enum nl_column nl_metric_column(enum nl_metric metric);

enum { NL_PERCENTILE_COUNT = 5 }; /* p50, p90, p99, p99.9, p99.99 */
extern const struct nl_percentile_name {
	const char *label; /* "p99.9" */
	struct np_share share;
} nl_percentiles[NL_PERCENTILE_COUNT];

struct nl_analysis_options {
	unsigned blocks;       /* 96; where there are fewer rows, as many as there are */
	unsigned repetitions;  /* 20000: of bootstraps and permutations */
	uint64_t seed;         /* 0x9e3779b97f4a7c15 */
	double level;          /* 0.95 */
	bool takes_common;     /* --common: of traces of unequal length, the rows that both have */
	bool is_unpaired;      /* --unpaired: keys need not be the same */
	unsigned curve_points; /* points of each curve for charts; 0 = none are wanted */
};

/* One arm of one trace. */
struct nl_input {
	struct nl_trace *trace; /* the two of a comparison may be the same */
	unsigned arm;
	const char *label; /* "local", "A" */
};

struct nl_percentile {
	uint64_t ns;
	/* Order-statistic interval: holds for independent requests; 0 = too few to tell. */
	uint64_t low_ns;
	uint64_t high_ns;
	uint64_t above; /* samples beyond it */
};

/* Whether a trace stayed as it began. */
struct nl_drift {
	struct np_trend trend; /* of block medians, ns a block */
	double trend_percent;  /* slope * blocks / median of block medians * 100 */
	double halves; /* A(first half, second half): 0.5 = alike, above = it became slower */
	double lag1;   /* correlation of neighbouring block means */
	double effective_samples; /* requests / how much the blocks' means vary beyond chance; <= samples */
	uint64_t least_block_ns; /* medians of blocks */
	uint64_t greatest_block_ns;
};

/* One metric of one arm. */
struct nl_side {
	uint64_t samples;
	uint64_t least_ns;
	uint64_t greatest_ns;
	double mean_ns;
	struct nl_percentile percentiles[NL_PERCENTILE_COUNT];
	struct nl_drift drift;
	uint64_t *block_medians; /* @block_count, nearest rank, ns; owned */
	uint64_t *block_starts;  /* when each block began, CLOCK_MONOTONIC_RAW; owned */
	uint64_t *curve; /* curve_points values for a chart, see nl_curve_share(); owned, or NULL */
};

/* The two against each other. Positive differences and A above 0.5 mean that a is faster. */
struct nl_effect {
	struct np_superiority superiority; /* over all rows, exactly */
	double a_faster;                   /* the same as a number */
	double blocked;                    /* mean of the blocks' A */
	/* Intervals have ends of NAN where there is one block. */
	struct np_interval blocked_interval; /* goblin-bench's: bootstrap over blocks */
	struct np_interval
		correlated_interval; /* blocks may hang together (np_correlated_mean); within 0..1 */
	size_t merged_blocks; /* that were merged for it; 1 = they do not; 0 = there is one block */
	double blocked_least;
	double blocked_greatest;
	bool is_paired; /* else the next two are unknown */
	double paired;  /* P(a_i < b_i) + P(a_i = b_i) / 2 over rows of the same number */
	struct np_interval paired_interval;
	int64_t twice_shift_ns; /* Hodges-Lehmann over all pairs of requests, doubled: b - a */
	struct np_location
		block_shift;  /* the same of differences of block medians, ns, with interval */
	double permutation_p; /* sign flips of the blocks' A - 0.5 */
	double shift_permutation_p; /* the same of differences of block medians */
	double *block_a;            /* @block_count; owned */
};

/* What the run's design was, as far as the traces tell. */
enum nl_design {
	NL_DESIGN_INTERLEAVED, /* arms of one run, which took turns */
	NL_DESIGN_APART,       /* two runs, or two parts of one, one after the other */
	NL_DESIGN_OVERLAPPING, /* two runs at the same time */
	NL_DESIGN_UNKNOWN,     /* clocks that cannot be compared */
};

struct nl_comparison {
	const char *protocol; /* NULL = not told */
	struct nl_input a;
	struct nl_input b;
	enum nl_design design;
	bool a_first;     /* APART: a ran before b */
	uint64_t gap_ns;  /* APART: between the end of one and the start of the other */
	uint64_t turns;   /* INTERLEAVED: how often the arm changed, and one; 0 = not known */
	uint64_t samples; /* of each that were compared */
	bool is_cut;      /* rows were left out (takes_common) */
	bool is_partial;  /* a or b is not complete */
	bool keys_match;
	uint64_t key_hash_a;
	uint64_t key_hash_b;
	uint64_t elapsed_a_ns; /* first start to last byte */
	uint64_t elapsed_b_ns;
	unsigned block_count;
	struct nl_analysis_options options;
	struct nl_side a_sides[NL_METRIC_COUNT];
	struct nl_side b_sides[NL_METRIC_COUNT];
	struct nl_effect effects[NL_METRIC_COUNT];
};

/* Whom it tells how far it is, for a progress line: the share done, 0..1. */
struct nl_progress {
	void (*tell)(void *data, double share);
	void *data;
};

/*
 * Compares; @progress may be NULL. The caller ends *ret with nl_comparison_release(). In memory are a
 * block of two columns and the distributions.
 *
 *   -EINVAL   no row; fewer than 2 blocks are asked for
 *   -EBADMSG  a trace is damaged, or no trace of a serial run; unequal counts, different keys: err
 *             names the first row
 */
int nl_compare(const struct nl_input *a, const struct nl_input *b,
               const struct nl_analysis_options *options, const struct nl_progress *progress,
               struct nl_comparison *ret, struct np_error *err);
void nl_comparison_release(struct nl_comparison *comparison);

/* One arm alone; sides[metric]. The caller ends *ret with nl_description_release(). Errors as above. */
struct nl_description {
	struct nl_input input;
	uint64_t samples;
	uint64_t elapsed_ns;
	uint64_t key_hash;
	unsigned block_count;
	struct nl_side sides[NL_METRIC_COUNT];
};
int nl_describe(const struct nl_input *input, const struct nl_analysis_options *options,
                struct nl_description *ret, struct np_error *err);
void nl_description_release(struct nl_description *description);

/*
 * Which share of the samples is at or below point @i of a curve of @points: evenly by number of nines,
 * from 0 to 1 - 10^-5, so that the tail has as much room as the body.
 */
double nl_curve_share(unsigned i, unsigned points);

#endif
