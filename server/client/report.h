/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparisons as text, Markdown, CSV and JSON. File names, columns and keys of goblin-store's analysis
 * are kept (a stands in the columns "local", b in "remote"), ours come behind them.
 */
#ifndef NL_REPORT_H
#define NL_REPORT_H

#include "analysis.h"
#include <stdio.h>

struct nl_report {
	const char *source; /* the run directory, or "A B" */
	const struct nl_comparison *comparisons;
	size_t count; /* one for each protocol */
};

/* Each returns 0 or a negative errno of writing. */
int nl_report_text(const struct nl_report *report, FILE *out);
int nl_report_markdown(const struct nl_report *report, FILE *out);
int nl_report_percentiles_csv(const struct nl_report *report, FILE *out);
int nl_report_effects_csv(const struct nl_report *report, FILE *out);
json_t *nl_report_json(const struct nl_report *report); /* "numakit/analysis/1"; NULL: no memory */

/* All of them into a directory that is made if absent: latency_percentiles.csv, latency_effects.csv,
 * latency_analysis.json, latency_analysis.md; each file is complete or not there. */
int nl_report_write(const struct nl_report *report, const char *directory, struct np_error *err);

/* Pictures into @directory by gnuplot: cdf, ratio, blocks, of each protocol and metric. */
int nl_report_draw(const struct nl_report *report, const char *directory, struct np_error *err);

/* Tables of one arm alone, for show and run. */
int nl_description_text(const struct nl_description *descriptions, size_t count, FILE *out);
json_t *nl_description_json(const struct nl_description *description);

/*
 * What the figures and the design of the run allow to conclude, in sentences for people: which is
 * faster and how sure that is, how large, what the tail does, what the design cannot exclude, what drifted, how
 * the noise floor compares. A new string with one sentence or two in each line, that the caller frees; NULL: no memory.
 */
char *nl_verdict(const struct nl_comparison *comparison);

#endif
