/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first columns, their order and decimals are those of goblin-bench's analysis, so that what reads its
 * files reads these.
 */
#include "report.h"
#include "report_words.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Quoted where a trace's text would be taken for more than one field. */
static void put_text(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, out);
		return;
	}
	putc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', out);
		putc(*text, out);
	}
	putc('"', out);
}

static void put_row_start(FILE *out, const struct nl_comparison *comparison, enum nl_metric metric)
{
	put_text(out, nl_protocol_text(comparison));
	fprintf(out, ",%s", nl_metric_id(metric));
}

/* A further field; empty where it is not known. */
static void put_known(FILE *out, bool is_known, uint64_t value)
{
	putc(',', out);
	if (is_known)
		fprintf(out, "%" PRIu64, value);
}

static void put_real(FILE *out, double value)
{
	putc(',', out);
	if (isfinite(value))
		fprintf(out, "%.9f", value);
}

/* A p-value: there is no last decimal from which on it is 0. */
static void put_p(FILE *out, double value)
{
	putc(',', out);
	if (isfinite(value))
		fprintf(out, "%.9g", value);
}

static void put_interval(FILE *out, struct np_interval interval)
{
	put_real(out, interval.low);
	put_real(out, interval.high);
}

/* 0, or how writing failed. */
static int written(FILE *out)
{
	if (fflush(out) == EOF)
		return errno ? -errno : -EIO;
	return ferror(out) ? -EIO : 0;
}

static void put_percentile(FILE *out, const struct nl_percentile *a, const struct nl_percentile *b)
{
	fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%.3f,%.3f", a->ns, b->ns, (double)a->ns / 1e3,
	        (double)b->ns / 1e3);
	put_real(out, nl_improvement_percent(a->ns, b->ns));
	put_known(out, a->low_ns > 0, a->low_ns);
	put_known(out, a->high_ns > 0, a->high_ns);
	put_known(out, b->low_ns > 0, b->low_ns);
	put_known(out, b->high_ns > 0, b->high_ns);
	fprintf(out, ",%" PRIu64 ",%" PRIu64 "\n", a->above, b->above);
}

int nl_report_percentiles_csv(const struct nl_report *report, FILE *out)
{
	fputs("protocol,metric,percentile,local_ns,remote_ns,local_us,remote_us,"
	      "local_improvement_percent,local_ci_low_ns,local_ci_high_ns,remote_ci_low_ns,"
	      "remote_ci_high_ns,local_samples_above,remote_samples_above\n",
	      out);
	for (size_t i = 0; i < report->count; i++) {
		const struct nl_comparison *comparison = &report->comparisons[i];

		for (unsigned k = 0; k < NL_METRIC_COUNT * NL_PERCENTILE_COUNT; k++) {
			unsigned metric = k / NL_PERCENTILE_COUNT;
			unsigned percentile = k % NL_PERCENTILE_COUNT;

			put_row_start(out, comparison, (enum nl_metric)metric);
			fprintf(out, ",%s", nl_percentiles[percentile].label);
			put_percentile(out, &comparison->a_sides[metric].percentiles[percentile],
			               &comparison->b_sides[metric].percentiles[percentile]);
		}
	}
	return written(out);
}

/* goblin-bench's. */
static void put_superiority(FILE *out, const struct nl_effect *effect)
{
	double unknown = NAN;

	put_real(out, effect->a_faster);
	fprintf(out, ",%s", nl_magnitude(effect->a_faster));
	put_real(out, effect->blocked);
	put_interval(out, effect->blocked_interval);
	put_real(out, effect->is_paired ? effect->paired : unknown);
	put_real(out, effect->is_paired ? effect->paired_interval.low : unknown);
	put_real(out, effect->is_paired ? effect->paired_interval.high : unknown);
}

static void put_shift(FILE *out, const struct nl_effect *effect)
{
	const struct np_location *blocks = &effect->block_shift;

	put_interval(out, effect->correlated_interval);
	put_known(out, effect->merged_blocks > 0, effect->merged_blocks);
	fprintf(out, ",%.1f,%.1f", nl_shift_ns(effect), blocks->estimate);
	if (blocks->has_interval)
		fprintf(out, ",%.1f,%.1f", blocks->interval.low, blocks->interval.high);
	else
		fputs(",,", out);
	put_p(out, effect->permutation_p);
	put_p(out, effect->shift_permutation_p);
}

static void put_drift(FILE *out, const struct nl_drift *drift)
{
	put_real(out, drift->halves);
	put_real(out, drift->trend_percent);
	put_p(out, drift->trend.p);
	put_real(out, drift->lag1);
	putc(',', out);
	if (isfinite(drift->effective_samples))
		fprintf(out, "%.0f", drift->effective_samples);
}

int nl_report_effects_csv(const struct nl_report *report, FILE *out)
{
	fputs("protocol,metric,samples_per_placement,A_local_faster,magnitude,blocked_A_mean,"
	      "blocked_A_ci_low,blocked_A_ci_high,paired_local_faster_probability,paired_ci_low,"
	      "paired_ci_high,blocks,correlated_A_ci_low,correlated_A_ci_high,merged_blocks,shift_ns,"
	      "block_shift_ns,block_shift_ci_low_ns,block_shift_ci_high_ns,permutation_p,"
	      "shift_permutation_p,local_halves_A,local_trend_percent,local_trend_p,local_lag1,"
	      "local_effective_samples,remote_halves_A,remote_trend_percent,remote_trend_p,"
	      "remote_lag1,remote_effective_samples\n",
	      out);
	for (size_t i = 0; i < report->count; i++) {
		const struct nl_comparison *comparison = &report->comparisons[i];

		for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
			put_row_start(out, comparison, (enum nl_metric)metric);
			fprintf(out, ",%" PRIu64, comparison->samples);
			put_superiority(out, &comparison->effects[metric]);
			fprintf(out, ",%u", comparison->block_count);
			put_shift(out, &comparison->effects[metric]);
			put_drift(out, &comparison->a_sides[metric].drift);
			put_drift(out, &comparison->b_sides[metric].drift);
			putc('\n', out);
		}
	}
	return written(out);
}
