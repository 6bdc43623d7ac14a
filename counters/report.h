/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run came to, in words (report_text.c) and as "numakit/stat/1" (report_json.c,
 * docs/schema/stat-1.json). For numacount and for numarun --counters.
 */
#ifndef NC_REPORT_H
#define NC_REPORT_H

#include <jansson.h>
#include <numacount/peak.h>
#include <numacount/tally.h>
#include <stdio.h>

struct nc_report {
	const struct nc_host *host;
	const struct nc_session *session;
	const struct nc_tally *tally;
	const struct nc_peaks *peaks;
	unsigned interval_ms;
	char *const *command; /* NULL = none */
};

/* Tables by place and by link, and what is to be known besides. -ENOMEM, or of write(2). */
int nc_report_print(const struct nc_report *report, FILE *out);

/* NULL when memory runs out. */
json_t *nc_report_json(const struct nc_report *report);

/* One sample, a line for each place: for those who watch. -errno of write(2). */
int nc_report_print_sample(const struct nc_report *report, const struct nc_sample *sample,
                           FILE *out);

/* As nc_tally_agreements(), but none of a family whose ends count different things. */
int nc_report_agreements(const struct nc_report *report, struct nc_agreement **ret);

/*   -ENODATA  nothing was counted in the whole run; err says why */
int nc_report_check(const struct nc_report *report, struct np_error *err);

/* The mean rate over the intervals that were counted, in units/s; 0 when none was. */
double nc_report_rate(const struct nc_sum *sum);

#endif
