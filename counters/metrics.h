/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session's numbers as text for Prometheus: OpenMetrics 1.0.0, and the classic text format 0.0.4
 * for those who do not ask for it. Pure text out of structs.
 *
 * All are counters since the start, no rates. A value that is not known is left out, so that its
 * series goes stale, instead of standing still at a number that nobody counted; when it is known
 * again, the counter goes on from where it was.
 */
#ifndef NC_METRICS_H
#define NC_METRICS_H

#include <numacount/session.h>

enum nc_metrics_format { NC_METRICS_CLASSIC, NC_METRICS_OPENMETRICS };

/* The HTTP Content-Type of that format. */
const char *nc_metrics_content_type(enum nc_metrics_format format);

/*
 * The format that a client asks for by its Accept header, NULL = it sent none (RFC 9110, 12.5.1).
 * OpenMetrics where it is named in version 1.0.0 or without one, and text/plain is not preferred.
 */
enum nc_metrics_format nc_metrics_format_of(const char *accept);

enum nc_metric_type { NC_METRIC_COUNTER, NC_METRIC_GAUGE, NC_METRIC_INFO };

/* What a metric shows of a session. */
enum nc_metric_field {
	NC_METRIC_BUILD,
	NC_METRIC_START,
	NC_METRIC_TOTAL, /* of each series of a class */
	NC_METRIC_COVERAGE,
	NC_METRIC_COUNTED,
	NC_METRIC_UNKNOWN,
	NC_METRIC_NOMINAL,
	NC_METRIC_MEASURED,
};

struct nc_metric {
	const char *name; /* with its unit, without _total and _info */
	const char *unit; /* the end of the name; NULL = none */
	const char *help;
	enum nc_metric_type type;
	enum nc_metric_field field;
	enum nc_class what; /* of NC_METRIC_TOTAL */
};

/* All metrics that there are, in the order of the page. */
extern const struct nc_metric nc_metrics_table[];
extern const size_t nc_metrics_table_count;

/* The name of its samples, "numacount_memory_read_bytes_total". Returns @buf. */
const char *nc_metric_sample_name(const struct nc_metric *metric, char buf[96]);

/* One series at the moment of the scrape. */
struct nc_metrics_value {
	const struct nc_series *series;
	const char *reason;  /* why it is not known, "busy" */
	uint64_t total;      /* since the start, in the class's unit */
	uint64_t counted_ns; /* since the start, the time in which it was counted; never falls */
	double coverage;     /* that as a share of the whole time, 0..1 */
	double nominal_bytes_per_s; /* of a link in one direction */
	double measured_bytes_per_s;
	bool is_known;
	bool has_nominal;
	bool has_measured;
};

struct nc_metrics_page {
	const char *version; /* of the program */
	const char *family;  /* of the processor; NULL = unknown */
	const char *source;
	bool has_nodes;   /* the series are of nodes: NC_SOURCE_NUMASTAT */
	int64_t start_ns; /* CLOCK_REALTIME when the session began */
	const struct nc_metrics_value *values;
	size_t value_count;
};

/*
 * The page in a new string, which the caller frees.
 *
 *   -ENOMEM
 */
int nc_metrics_print(const struct nc_metrics_page *page, enum nc_metrics_format format, char **ret,
                     size_t *ret_size, struct np_error *err);

#endif
