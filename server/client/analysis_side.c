/* SPDX-License-Identifier: BSD-3-Clause */
#include "analysis_side.h"

#include "../../probe/base/sort.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

uint64_t nl_block_edge(uint64_t rows, unsigned blocks, unsigned i)
{
	return i < blocks ? (uint64_t)(i * ((double)rows / blocks)) : rows;
}

uint64_t nl_block_rows_max(uint64_t rows, unsigned blocks)
{
	uint64_t most = 1;

	for (unsigned i = 0; i < blocks; i++) {
		uint64_t count =
			nl_block_edge(rows, blocks, i + 1) - nl_block_edge(rows, blocks, i);

		most = count > most ? count : most;
	}
	return most;
}

int nl_reading_begin(const struct nl_input *input, enum nl_metric metric, uint64_t rows,
                     unsigned block_count, struct nl_reading *ret, struct np_error *err)
{
	*ret = (struct nl_reading){
		.input = input,
		.rows = rows,
		.block_count = block_count,
		.halves = { np_gatherer_create(), np_gatherer_create() },
		.means = calloc(block_count, sizeof(*ret->means)),
		.medians = calloc(block_count, sizeof(*ret->medians)),
		.values = calloc(nl_block_rows_max(rows, block_count), sizeof(*ret->values)),
	};
	if (!ret->halves[0] || !ret->halves[1] || !ret->means || !ret->medians || !ret->values)
		return nl_analysis_no_memory(err);
	return nl_cursor_create(input->trace, nl_metric_column(metric), input->arm, &ret->cursor,
	                        err);
}

void nl_reading_end(struct nl_reading *reading)
{
	nl_cursor_free(reading->cursor);
	np_gatherer_free(reading->halves[0]);
	np_gatherer_free(reading->halves[1]);
	free(reading->means);
	free(reading->medians);
	free(reading->values);
	*reading = (struct nl_reading){ 0 };
}

int nl_reading_next(struct nl_reading *reading, struct np_error *err)
{
	uint64_t first = nl_block_edge(reading->rows, reading->block_count, reading->block);
	uint64_t end = nl_block_edge(reading->rows, reading->block_count, reading->block + 1);
	size_t wanted = (size_t)(end - first);

	reading->count = 0;
	while (reading->count < wanted) {
		ssize_t got = nl_cursor_read(reading->cursor, reading->values + reading->count,
		                             wanted - reading->count, err);

		if (got < 0)
			return (int)got;
		if (got == 0)
			return np_error_set(
				err, EBADMSG, "%s ends after %" PRIu64 " of %" PRIu64 " requests",
				reading->input->label, first + reading->count, reading->rows);
		reading->count += (size_t)got;
	}
	return 0;
}

/* In 128 bits, as hostile values would overflow 64. */
static double mean_of(const uint64_t *values, size_t count)
{
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i];
	return (double)sum / (double)count;
}

int nl_reading_sort(struct nl_reading *reading, uint64_t *scratch, struct np_error *err)
{
	static const struct np_share half = { 1, 2 };
	bool is_second = reading->block >= reading->block_count / 2;
	size_t count = reading->count;
	int rc;

	np_sort_u64(reading->values, scratch, count);
	if (reading->values[count - 1] > NL_LATENCY_NS_MAX)
		return np_error_set(err, EBADMSG,
		                    "%s: a latency of %" PRIu64 " ns, which is more than 73 years",
		                    reading->input->label, reading->values[count - 1]);
	reading->medians[reading->block] = reading->values[np_nearest_rank(half, count) - 1];
	reading->means[reading->block] = mean_of(reading->values, count);
	reading->block++;
	rc = np_gatherer_add(reading->halves[is_second], reading->values, count);
	return rc < 0 ? np_error_sys(err, -rc, "%s", reading->input->label) : 0;
}

/* ---- the figures ---- */

static double distribution_mean(const struct np_distribution *all)
{
	unsigned __int128 sum = 0;

	for (size_t i = 0; i < all->distinct_count; i++)
		sum += (unsigned __int128)all->values[i] * all->counts[i];
	return (double)sum / (double)all->total;
}

static double distribution_variance(const struct np_distribution *all, double mean)
{
	double sum = 0;

	for (size_t i = 0; i < all->distinct_count; i++) {
		double from_mean = (double)all->values[i] - mean;

		sum += from_mean * from_mean * (double)all->counts[i];
	}
	return all->total > 1 ? sum / (double)(all->total - 1) : 0;
}

/*
 * How many independent requests would tell the mean as well as these do. The mean of n independent
 * rows has variance V / n, V being that of the rows. The trace's mean is that of its B block means, and
 * has variance W / B, W being that of the block means, if blocks are independent of each other,
 * whatever is so within them. Hence V / n = W / B, n = B V / W. W itself is known from B values only:
 * 96 tell n within some 30 %. More than there are requests is chance.
 */
static double effective_samples(const struct np_distribution *all, double mean, const double *means,
                                unsigned block_count)
{
	double between = np_variance(means, block_count);
	double rows = (double)all->total;

	if (!(between > 0))
		return rows;
	return fmin(rows, block_count * distribution_variance(all, mean) / between);
}

static void fill_percentiles(const struct np_distribution *all, double level, struct nl_side *side)
{
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		struct np_share share = nl_percentiles[i].share;
		uint64_t rank = np_nearest_rank(share, all->total);
		struct np_ranks ranks = np_percentile_ranks(share, all->total, level);

		side->percentiles[i] = (struct nl_percentile){
			.ns = np_distribution_at(all, rank),
			.low_ns = ranks.low ? np_distribution_at(all, ranks.low) : 0,
			.high_ns = ranks.high ? np_distribution_at(all, ranks.high) : 0,
			.above = all->total - rank,
		};
	}
}

static int fill_curve(const struct np_distribution *all, unsigned points, struct nl_side *side)
{
	if (points == 0)
		return 0;
	side->curve = calloc(points, sizeof(*side->curve));
	if (!side->curve)
		return -ENOMEM;
	for (unsigned i = 0; i < points; i++) {
		double rank = ceil(nl_curve_share(i, points) * (double)all->total);

		side->curve[i] = np_distribution_at(all, rank < 1 ? 1 : (uint64_t)rank);
	}
	return 0;
}

/* Of the blocks alone: not halves and effective_samples. */
static int fill_block_drift(const struct nl_reading *reading, struct nl_drift *ret)
{
	unsigned count = reading->block_count;
	double *medians = calloc(count, sizeof(*medians));
	double *scratch = calloc(count, sizeof(*scratch));
	double middle;
	int rc = -ENOMEM;

	if (!medians || !scratch)
		goto out_free;
	ret->least_block_ns = UINT64_MAX;
	for (unsigned i = 0; i < count; i++) {
		uint64_t median = reading->medians[i];

		medians[i] = (double)median;
		ret->least_block_ns = median < ret->least_block_ns ? median : ret->least_block_ns;
		ret->greatest_block_ns =
			median > ret->greatest_block_ns ? median : ret->greatest_block_ns;
	}
	rc = np_trend_fit(medians, count, &ret->trend);
	middle = np_median(medians, scratch, count);
	/* Of a median of 0 there is no share. */
	ret->trend_percent = ret->trend.slope == 0 ? 0 : NAN;
	if (middle > 0)
		ret->trend_percent = ret->trend.slope * count / middle * 100;
	ret->lag1 = np_lag1_correlation(reading->means, count);

out_free:
	free(medians);
	free(scratch);
	return rc;
}

/* The halves against each other, and both together. The first is empty where there is one block. */
static int join_halves(const struct nl_reading *reading, double *ret_superiority,
                       struct np_distribution *ret_all)
{
	struct np_distribution halves[2] = { 0 };
	struct np_superiority superiority;
	int rc = np_gatherer_distribution(reading->halves[0], &halves[0]);

	if (rc == 0)
		rc = np_gatherer_distribution(reading->halves[1], &halves[1]);
	if (rc == 0)
		rc = np_distribution_merge(&halves[0], &halves[1], ret_all);
	if (rc == 0) {
		superiority = np_distribution_superiority(&halves[0], &halves[1]);
		*ret_superiority = (double)superiority.numerator / (double)superiority.denominator;
	}
	np_distribution_release(&halves[0]);
	np_distribution_release(&halves[1]);
	return rc;
}

int nl_reading_finish(struct nl_reading *reading, const struct nl_analysis_options *options,
                      struct nl_side *ret_side, struct np_distribution *ret_all,
                      struct np_error *err)
{
	struct np_distribution all = { 0 };
	struct nl_side side = { 0 };
	int rc = join_halves(reading, &side.drift.halves, &all);

	if (rc == 0)
		rc = fill_block_drift(reading, &side.drift);
	if (rc == 0)
		rc = fill_curve(&all, options->curve_points, &side);
	if (rc < 0) {
		np_distribution_release(&all);
		nl_side_release(&side);
		return np_error_sys(err, -rc, "%s", reading->input->label);
	}
	side.samples = all.total;
	side.least_ns = np_distribution_at(&all, 1);
	side.greatest_ns = np_distribution_at(&all, all.total);
	side.mean_ns = distribution_mean(&all);
	side.drift.effective_samples =
		effective_samples(&all, side.mean_ns, reading->means, reading->block_count);
	fill_percentiles(&all, options->level, &side);
	side.block_medians = reading->medians;
	reading->medians = NULL;
	*ret_side = side;
	*ret_all = all;
	return 0;
}

void nl_side_release(struct nl_side *side)
{
	free(side->block_medians);
	free(side->block_starts);
	free(side->curve);
	side->block_medians = NULL;
	side->block_starts = NULL;
	side->curve = NULL;
}
