/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For a terminal: what was compared, what it means, and the figures behind it, most wanted first. What
 * is not known is "-".
 */
#include "report.h"
#include "report_table.h"
#include "report_words.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_WIDTH = 96, HEADING_SIZE = 64 };

/* "LOCAL us", as a column's name. */
static const char *heading(const struct nl_input *input, const char *behind, char buf[HEADING_SIZE])
{
	char label[NL_NAME_TEXT_SIZE];
	size_t len;

	nl_label_text(input, label);
	len = (size_t)snprintf(buf, HEADING_SIZE, "%.16s", label);
	for (size_t i = 0; i < len; i++)
		buf[i] = (char)toupper((unsigned char)buf[i]);
	snprintf(buf + len, HEADING_SIZE - len, "%s", behind);
	return buf;
}

/* "95% INTERVAL", as a column's name. */
static const char *level_heading(const struct nl_comparison *comparison, char buf[HEADING_SIZE])
{
	snprintf(buf, HEADING_SIZE, "%g%% INTERVAL", 100 * comparison->options.level);
	return buf;
}

/* Up to the line's end, broken between words, behind @mark, under which the other lines are indented. */
static void print_wrapped(const char *line, size_t len, const char *mark, FILE *out)
{
	int indent = (int)strlen(mark);
	size_t column = 0;

	fputs(mark, out);
	for (size_t at = 0, word; at < len; at += word + 1) {
		word = strcspn(line + at, " \n");
		if (column > 0 && column + 1 + word + (size_t)indent > LINE_WIDTH) {
			fprintf(out, "\n%*s", indent, "");
			column = 0;
		}
		fprintf(out, "%s%.*s", column > 0 ? " " : "", (int)word, line + at);
		column += word + (column > 0);
	}
	putc('\n', out);
}

/* ---- what was compared ---- */

static void add_side(struct np_table *table, const struct nl_input *input, uint64_t elapsed_ns,
                     uint64_t key_hash)
{
	const char *arm = nl_arm_name(input);
	char label[NL_NAME_TEXT_SIZE];
	char text[512];

	np_table_add_row(table);
	np_table_set(table, 0, "%s", nl_label_text(input, label));
	if (arm)
		np_table_set(table, 1, "%s", np_error_quote(arm, text, sizeof(text)));
	np_table_set(table, 2, "%" PRIu64, nl_trace_arm_rows(input->trace, input->arm));
	np_table_set(table, 3, "%s", nl_elapsed_text(elapsed_ns, text));
	np_table_set(table, 4, "%016" PRIx64, key_hash);
	np_table_set(table, 5, "%s",
	             nl_trace_end(input->trace)->is_complete ? "complete" : "partial");
	np_table_set(table, 6, "%s",
	             np_error_quote(nl_trace_path(input->trace), text, sizeof(text)));
}

static int print_about(const struct nl_comparison *comparison, FILE *out)
{
	static const struct np_column columns[] = {
		{ "SIDE", false }, { "ARM", false },   { "ROWS", true },   { "TIME", true },
		{ "KEYS", false }, { "STATE", false }, { "TRACE", false },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	uint64_t shorter_ns = comparison->elapsed_a_ns < comparison->elapsed_b_ns
	                              ? comparison->elapsed_a_ns
	                              : comparison->elapsed_b_ns;
	char names[2][NL_NAME_TEXT_SIZE];
	char protocol[NL_NAME_TEXT_SIZE];
	char elapsed[NL_TIME_TEXT_SIZE];
	int rc;

	fprintf(out, "%s: %s (a) against %s (b)\n\n",
	        comparison->protocol
	                ? np_error_quote(comparison->protocol, protocol, sizeof(protocol))
	                : "protocol unknown",
	        nl_label_text(&comparison->a, names[0]), nl_label_text(&comparison->b, names[1]));
	add_side(table, &comparison->a, comparison->elapsed_a_ns, comparison->key_hash_a);
	add_side(table, &comparison->b, comparison->elapsed_b_ns, comparison->key_hash_b);
	rc = np_table_print(table, out);
	np_table_free(table);
	if (rc < 0)
		return rc;
	fprintf(out,
	        "\n%" PRIu64 " request%s of each %s compared, in %u block%s of about %" PRIu64
	        " and %s.\n",
	        comparison->samples, comparison->samples == 1 ? "" : "s",
	        comparison->samples == 1 ? "is" : "are", comparison->block_count,
	        comparison->block_count == 1 ? "" : "s",
	        comparison->samples / comparison->block_count,
	        nl_elapsed_text(shorter_ns / comparison->block_count, elapsed));
	return 0;
}

/* ---- the verdict ---- */

static int print_verdict(const struct nl_comparison *comparison, FILE *out)
{
	char *verdict = nl_verdict(comparison);
	size_t len;

	if (!verdict)
		return -ENOMEM;
	fputs("\nVerdict\n\n", out);
	for (const char *line = verdict; *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		print_wrapped(line, len, "- ", out);
	}
	free(verdict);
	return 0;
}

/* ---- percentiles ---- */

static int print_percentiles(const struct nl_comparison *comparison, enum nl_metric metric,
                             FILE *out)
{
	char headings[2][HEADING_SIZE];
	char text[HEADING_SIZE];
	const char *level = level_heading(comparison, text);
	const struct np_column columns[] = {
		{ "", false },     { heading(&comparison->a, " us", headings[0]), true },
		{ level, true },   { heading(&comparison->b, " us", headings[1]), true },
		{ level, true },   { "IMPROVEMENT", true },
		{ "ABOVE", true },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		const struct nl_percentile *a = &comparison->a_sides[metric].percentiles[i];
		const struct nl_percentile *b = &comparison->b_sides[metric].percentiles[i];
		double improvement = nl_improvement_percent(a->ns, b->ns);

		np_table_add_row(table);
		np_table_set(table, 0, "%s", nl_percentiles[i].label);
		nl_table_set_percentile(table, 1, a);
		nl_table_set_percentile(table, 3, b);
		if (isfinite(improvement))
			np_table_set(table, 5, "%+.3f%%", improvement);
		np_table_set(table, 6, "%" PRIu64, a->above < b->above ? a->above : b->above);
	}
	fprintf(out, "\n%s\n", nl_metric_label(metric));
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_all_percentiles(const struct nl_comparison *comparison, FILE *out)
{
	char names[2][NL_NAME_TEXT_SIZE];
	char legend[512];
	int rc = 0;

	fputs("\nPercentiles\n", out);
	for (unsigned metric = 0; metric < NL_METRIC_COUNT && rc == 0; metric++)
		rc = print_percentiles(comparison, (enum nl_metric)metric, out);
	nl_label_text(&comparison->a, names[0]);
	nl_label_text(&comparison->b, names[1]);
	snprintf(legend, sizeof(legend),
	         "IMPROVEMENT: (%s - %s) / %s, positive where %s was faster. Intervals: order "
	         "statistics, which take requests for independent. ABOVE: samples beyond it, of "
	         "the side that has fewer.",
	         names[1], names[0], names[1], names[0]);
	putc('\n', out);
	print_wrapped(legend, strlen(legend), "", out);
	return rc;
}

/* ---- effects ---- */

static void set_share(struct np_table *table, size_t column, double value)
{
	if (isfinite(value))
		np_table_set(table, column, "%.6f", value);
}

static void set_interval(struct np_table *table, size_t column, int decimals,
                         struct np_interval interval)
{
	if (isfinite(interval.low) && isfinite(interval.high))
		np_table_set(table, column, "%.*f, %.*f", decimals, interval.low, decimals,
		             interval.high);
}

/* With the interval to judge by. */
static int print_superiority(const struct nl_comparison *comparison, FILE *out)
{
	char text[HEADING_SIZE];
	const char *level = level_heading(comparison, text);
	const struct np_column columns[] = {
		{ "", false },   { "A", true },      { "MAGNITUDE", false },
		{ level, true }, { "MERGED", true }, { "p", true },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		const struct nl_effect *effect = &comparison->effects[metric];

		np_table_add_row(table);
		np_table_set(table, 0, "%s", nl_metric_label((enum nl_metric)metric));
		set_share(table, 1, effect->a_faster);
		np_table_set(table, 2, "%s", nl_magnitude(effect->a_faster));
		set_interval(table, 3, 6, nl_effect_interval(effect));
		if (effect->merged_blocks > 0)
			np_table_set(table, 4, "%zu", effect->merged_blocks);
		nl_table_set_p(table, 5, effect->permutation_p);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

/* goblin-bench's figures. */
static int print_blocked(const struct nl_comparison *comparison, FILE *out)
{
	char text[HEADING_SIZE];
	const char *level = level_heading(comparison, text);
	const struct np_column columns[] = {
		{ "", false },      { "BLOCKED", true }, { level, true },
		{ "PAIRED", true }, { level, true },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		const struct nl_effect *effect = &comparison->effects[metric];

		np_table_add_row(table);
		np_table_set(table, 0, "%s", nl_metric_label((enum nl_metric)metric));
		set_share(table, 1, effect->blocked);
		set_interval(table, 2, 6, effect->blocked_interval);
		if (!effect->is_paired)
			continue;
		set_share(table, 3, effect->paired);
		set_interval(table, 4, 6, effect->paired_interval);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static void set_location(struct np_table *table, size_t column, const struct np_location *location)
{
	const struct np_interval us = { location->interval.low / 1e3,
		                        location->interval.high / 1e3 };

	if (isfinite(location->estimate))
		np_table_set(table, column, "%.3f", location->estimate / 1e3);
	if (location->has_interval)
		set_interval(table, column + 1, 3, us);
}

static int print_shift(const struct nl_comparison *comparison, FILE *out)
{
	char text[HEADING_SIZE];
	const char *level = level_heading(comparison, text);
	const struct np_column columns[] = {
		{ "", false },   { "SHIFT us", true }, { "OF BLOCKS", true },
		{ level, true }, { "p", true },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		const struct nl_effect *effect = &comparison->effects[metric];

		np_table_add_row(table);
		np_table_set(table, 0, "%s", nl_metric_label((enum nl_metric)metric));
		np_table_set(table, 1, "%.3f", nl_shift_ns(effect) / 1e3);
		set_location(table, 2, &effect->block_shift);
		nl_table_set_p(table, 4, effect->shift_permutation_p);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_effects(const struct nl_comparison *comparison, FILE *out)
{
	char names[2][NL_NAME_TEXT_SIZE];
	int rc;

	nl_label_text(&comparison->a, names[0]);
	nl_label_text(&comparison->b, names[1]);
	fprintf(out, "\nA: how often a request of %s beats one of %s; 0.5 = neither\n\n", names[0],
	        names[1]);
	rc = print_superiority(comparison, out);
	if (rc < 0)
		return rc;
	fputs("\nThis interval, of the mean of the blocks' A, is the one to judge by: neighbouring blocks "
	      "that\nhang together are taken as one, MERGED at a time.\n\nOver blocks, as goblin-bench "
	      "has it\n\n",
	      out);
	rc = print_blocked(comparison, out);
	if (rc < 0)
		return rc;
	fprintf(out,
	        "\nBLOCKED: mean of the blocks' A, bootstrap of %u. PAIRED: requests of the same "
	        "number.\n\nShift: how much longer %s takes\n\n",
	        comparison->options.repetitions, names[1]);
	rc = print_shift(comparison, out);
	if (rc < 0)
		return rc;
	fputs("\nSHIFT: median of all differences; OF BLOCKS: of block medians. p: sign-flip permutation "
	      "of blocks.\nThe intervals over blocks and of shifts, and p, take blocks for independent: where "
	      "MERGED is above\n1 the intervals are too narrow, and p is too small.\n",
	      out);
	return 0;
}

/* ---- drift ---- */

static int print_drift(const struct nl_comparison *comparison, FILE *out)
{
	struct np_table *table = nl_drift_table_create("SIDE");
	char names[2][NL_NAME_TEXT_SIZE];
	int rc;

	nl_label_text(&comparison->a, names[0]);
	nl_label_text(&comparison->b, names[1]);
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		nl_drift_table_add(table, (enum nl_metric)metric, names[0],
		                   &comparison->a_sides[metric].drift);
		nl_drift_table_add(table, (enum nl_metric)metric, names[1],
		                   &comparison->b_sides[metric].drift);
	}
	fputs("\nDrift: did each stay as it began?\n\n", out);
	rc = np_table_print(table, out);
	np_table_free(table);
	if (rc == 0)
		fputs(NL_DRIFT_LEGEND, out);
	return rc;
}

static int print_comparison(const struct nl_comparison *comparison, FILE *out)
{
	int rc = print_about(comparison, out);

	if (rc == 0)
		rc = print_verdict(comparison, out);
	if (rc == 0)
		rc = print_all_percentiles(comparison, out);
	if (rc == 0)
		rc = print_effects(comparison, out);
	return rc == 0 ? print_drift(comparison, out) : rc;
}

int nl_report_text(const struct nl_report *report, FILE *out)
{
	char source[512];
	int rc = 0;

	/* Two traces are named in the table. */
	if (report->count > 1)
		fprintf(out, "%s\n\n", np_error_quote(report->source, source, sizeof(source)));
	for (size_t i = 0; i < report->count && rc == 0; i++) {
		if (i > 0)
			fputs("\n\n", out);
		rc = print_comparison(&report->comparisons[i], out);
	}
	if (rc == 0 && fflush(out) == EOF)
		rc = errno ? -errno : -EIO;
	return rc == 0 && ferror(out) ? -EIO : rc;
}
