/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"
#include "report_words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Text of a trace or a user, with nothing in it that Markdown or a browser would take for its own. */
static void put_bytes(FILE *out, const char *text, size_t len)
{
	static const char special[] = "\\`*_{}[]<>#|&~";

	for (size_t i = 0; i < len; i++) {
		if (strchr(special, text[i]))
			putc('\\', out);
		putc(iscntrl((unsigned char)text[i]) ? ' ' : text[i], out);
	}
}

static void put_text(FILE *out, const char *text)
{
	put_bytes(out, text, strlen(text));
}

static void put_labels(FILE *out, const struct nl_comparison *comparison, const char *a_before,
                       const char *b_before, const char *behind)
{
	fputs(a_before, out);
	put_text(out, comparison->a.label);
	fputs(b_before, out);
	put_text(out, comparison->b.label);
	fputs(behind, out);
}

static void put_fixed(FILE *out, int decimals, double value)
{
	if (isfinite(value))
		fprintf(out, " | %.*f", decimals, value);
	else
		fputs(" | -", out);
}

static void put_percent(FILE *out, int decimals, double value)
{
	if (isfinite(value))
		fprintf(out, " | %+.*f%%", decimals, value);
	else
		fputs(" | -", out);
}

static void put_p(FILE *out, double p)
{
	if (isfinite(p))
		fprintf(out, " | %.3g", p);
	else
		fputs(" | -", out);
}

static void put_interval(FILE *out, int decimals, bool is_known, struct np_interval interval)
{
	if (is_known && isfinite(interval.low) && isfinite(interval.high))
		fprintf(out, " [%.*f, %.*f]", decimals, interval.low, decimals, interval.high);
}

/* ---- goblin-bench's tables ---- */

static void put_percentile(FILE *out, const struct nl_comparison *comparison, unsigned metric,
                           unsigned i)
{
	const struct nl_percentile *a = &comparison->a_sides[metric].percentiles[i];
	const struct nl_percentile *b = &comparison->b_sides[metric].percentiles[i];

	fprintf(out, "| %s | %s | %.3f | %.3f", nl_metric_label((enum nl_metric)metric),
	        nl_percentiles[i].label, (double)a->ns / 1e3, (double)b->ns / 1e3);
	put_percent(out, 3, nl_improvement_percent(a->ns, b->ns));
	fputs(" |\n", out);
}

static void put_percentiles(FILE *out, const struct nl_comparison *comparison)
{
	fputs("### Percentiles\n\n| Metric | Percentile | ", out);
	put_labels(out, comparison, "", " (us) | ", " (us) | Improvement |\n");
	fputs("|---|---|---:|---:|---:|\n", out);
	for (unsigned k = 0; k < NL_METRIC_COUNT * NL_PERCENTILE_COUNT; k++)
		put_percentile(out, comparison, k / NL_PERCENTILE_COUNT, k % NL_PERCENTILE_COUNT);
	fputs("\nImprovement is (", out);
	put_text(out, comparison->b.label);
	put_labels(out, comparison, " - ", ") / ", ": positive where ");
	put_text(out, comparison->a.label);
	fputs(" is faster.\n\n", out);
}

static void put_superiority(FILE *out, const struct nl_comparison *comparison, unsigned metric)
{
	const struct nl_effect *effect = &comparison->effects[metric];

	fprintf(out, "| %s", nl_metric_label((enum nl_metric)metric));
	put_fixed(out, 6, effect->a_faster);
	fprintf(out, " | %s", nl_magnitude(effect->a_faster));
	put_fixed(out, 6, effect->blocked);
	put_interval(out, 6, true, effect->blocked_interval);
	put_fixed(out, 6, effect->is_paired ? effect->paired : NAN);
	put_interval(out, 6, effect->is_paired, effect->paired_interval);
	fputs(" |\n", out);
}

static void put_superiorities(FILE *out, const struct nl_comparison *comparison)
{
	double percent = 100 * comparison->options.level;

	fprintf(out,
	        "### Probability of superiority\n\n| Metric | A | Magnitude | Blocked A [%g%% CI] | "
	        "Paired probability [%g%% CI] |\n|---|---:|---|---:|---:|\n",
	        percent, percent);
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		put_superiority(out, comparison, metric);
	put_labels(out, comparison, "\nA is P(", " < ", ")");
	put_labels(
		out, comparison, " + 0.5 P(", " = ",
		"): 0.5 is no difference. It is exact over all pairs of requests; the blocked one "
		"is the mean over blocks, with a bootstrap interval.\n\n");
}

/* ---- ours ---- */

static void put_ends(FILE *out, const struct nl_percentile *percentile)
{
	const uint64_t ends[2] = { percentile->low_ns, percentile->high_ns };

	for (unsigned i = 0; i < 2; i++) {
		fputs(i == 0 ? " | " : " to ", out);
		if (ends[i] == 0)
			putc('-', out);
		else
			fprintf(out, "%.3f", (double)ends[i] / 1e3);
	}
}

static void put_percentile_intervals(FILE *out, const struct nl_comparison *comparison)
{
	fprintf(out, "### %g%% intervals of percentiles\n\n| Metric | Percentile | ",
	        100 * comparison->options.level);
	put_labels(out, comparison, "", " (us) | ", " (us) | Samples above |\n");
	fputs("|---|---|---:|---:|---:|\n", out);
	for (unsigned k = 0; k < NL_METRIC_COUNT * NL_PERCENTILE_COUNT; k++) {
		unsigned metric = k / NL_PERCENTILE_COUNT;
		unsigned i = k % NL_PERCENTILE_COUNT;
		const struct nl_percentile *a = &comparison->a_sides[metric].percentiles[i];
		const struct nl_percentile *b = &comparison->b_sides[metric].percentiles[i];

		fprintf(out, "| %s | %s", nl_metric_label((enum nl_metric)metric),
		        nl_percentiles[i].label);
		put_ends(out, a);
		put_ends(out, b);
		fprintf(out, " | %" PRIu64 ", %" PRIu64 " |\n", a->above, b->above);
	}
	fputs("\nFrom order statistics, which take requests for independent.\n\n", out);
}

static void put_shift(FILE *out, const struct nl_comparison *comparison, unsigned metric)
{
	const struct nl_effect *effect = &comparison->effects[metric];
	struct np_location shift = effect->block_shift;

	shift.interval.low /= 1e3;
	shift.interval.high /= 1e3;
	fprintf(out, "| %s", nl_metric_label((enum nl_metric)metric));
	put_fixed(out, 0, effect->merged_blocks > 0 ? (double)effect->merged_blocks : NAN);
	fputs(" |", out);
	put_interval(out, 6, true, nl_effect_interval(effect));
	put_fixed(out, 3, nl_shift_ns(effect) / 1e3);
	put_fixed(out, 3, shift.estimate / 1e3);
	put_interval(out, 3, shift.has_interval, shift.interval);
	put_p(out, effect->permutation_p);
	put_p(out, effect->shift_permutation_p);
	fputs(" |\n", out);
}

static void put_shifts(FILE *out, const struct nl_comparison *comparison)
{
	double percent = 100 * comparison->options.level;

	fprintf(out,
	        "### The interval to judge by, and the shift\n\n| Metric | Blocks merged | [%g%% CI] of A "
	        "| Shift (us) | Shift of blocks (us) [%g%% CI] | p (A) | p (shift) |\n"
	        "|---|---:|---:|---:|---:|---:|---:|\n",
	        percent, percent);
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		put_shift(out, comparison, metric);
	fputs("\nThe interval of A allows for neighbouring blocks that hang together, and is the one to judge "
	      "by. All others over blocks, and p, take blocks for independent: where blocks were "
	      "merged, the intervals are too narrow, and p is too small.\n\nA shift is how much longer the requests of ",
	      out);
	put_text(out, comparison->b.label);
	fputs(" took: Hodges and Lehmann's, over all pairs of requests, and over the blocks' medians. p is "
	      "of a sign-flip permutation test over blocks.\n\n",
	      out);
}

static void put_drift(FILE *out, const struct nl_input *input, unsigned metric,
                      const struct nl_drift *drift)
{
	fprintf(out, "| %s | ", nl_metric_label((enum nl_metric)metric));
	put_text(out, input->label);
	fprintf(out, " | %.3f to %.3f", (double)drift->least_block_ns / 1e3,
	        (double)drift->greatest_block_ns / 1e3);
	put_percent(out, 2, drift->trend_percent);
	put_p(out, drift->trend.p);
	put_fixed(out, 4, drift->halves);
	put_fixed(out, 3, drift->lag1);
	put_fixed(out, 0, drift->effective_samples);
	fputs(" |\n", out);
}

static void put_drifts(FILE *out, const struct nl_comparison *comparison)
{
	fputs("### Drift\n\n| Metric | Side | Block medians (us) | Trend over the run | p | A of halves "
	      "| Lag-1 correlation | Effective samples |\n|---|---|---:|---:|---:|---:|---:|---:|\n",
	      out);
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		put_drift(out, &comparison->a, metric, &comparison->a_sides[metric].drift);
		put_drift(out, &comparison->b, metric, &comparison->b_sides[metric].drift);
	}
	fputs("\nA of halves: above 0.5 where the second half was the slower.\n\n", out);
}

static int put_verdict(FILE *out, const struct nl_comparison *comparison)
{
	char *verdict = nl_verdict(comparison);
	size_t len;

	if (!verdict)
		return -ENOMEM;
	fputs("### Verdict\n\n", out);
	for (const char *line = verdict; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		fputs("- ", out);
		put_bytes(out, line, len);
		putc('\n', out);
	}
	putc('\n', out);
	free(verdict);
	return 0;
}

static void put_about(FILE *out, const struct nl_comparison *comparison)
{
	const struct nl_input *inputs[2] = { &comparison->a, &comparison->b };
	const uint64_t elapsed_ns[2] = { comparison->elapsed_a_ns, comparison->elapsed_b_ns };

	fputs("## ", out);
	put_text(out, nl_protocol_text(comparison));
	fprintf(out,
	        "\n\n%" PRIu64
	        " requests of each side, in blocks: %u.\n\n| Side | Trace | Arm | Time | "
	        "Complete |\n|---|---|---|---:|---|\n",
	        comparison->samples, comparison->block_count);
	for (unsigned i = 0; i < 2; i++) {
		const char *arm = nl_arm_name(inputs[i]);
		char elapsed[NL_TIME_TEXT_SIZE];

		fputs("| ", out);
		put_text(out, inputs[i]->label);
		fputs(" | ", out);
		put_text(out, nl_trace_path(inputs[i]->trace));
		fputs(" | ", out);
		put_text(out, arm ? arm : "-");
		fprintf(out, " | %s | %s |\n", nl_elapsed_text(elapsed_ns[i], elapsed),
		        nl_trace_end(inputs[i]->trace)->is_complete ? "yes" : "no");
	}
	putc('\n', out);
}

static int put_comparison(FILE *out, const struct nl_comparison *comparison)
{
	int rc;

	put_about(out, comparison);
	rc = put_verdict(out, comparison);
	put_percentiles(out, comparison);
	put_superiorities(out, comparison);
	put_percentile_intervals(out, comparison);
	put_shifts(out, comparison);
	put_drifts(out, comparison);
	return rc;
}

int nl_report_markdown(const struct nl_report *report, FILE *out)
{
	int rc = 0;

	fputs("# Latency: ", out);
	put_text(out, report->source);
	fputs("\n\n", out);
	for (size_t i = 0; i < report->count && rc == 0; i++)
		rc = put_comparison(out, &report->comparisons[i]);
	if (rc == 0 && fflush(out) == EOF)
		rc = errno ? -errno : -EIO;
	return rc == 0 && ferror(out) ? -EIO : rc;
}
