/* SPDX-License-Identifier: BSD-3-Clause */
#include "metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOTAL(class, base, unit_name, text)                                                        \
	{                                                                                          \
		.name = "numacount_" base, .unit = (unit_name), .help = (text),                    \
		.type = NC_METRIC_COUNTER, .field = NC_METRIC_TOTAL, .what = NC_CLASS_##class,     \
	}

/* OpenMetrics wants a unit at the end of the name, so what is no unit there is none here. */
const struct nc_metric nc_metrics_table[] = {
	{ .name = "numacount_build",
	  .help = "Always 1; the program's version, the processor's family and the source of the "
	          "numbers.",
	  .type = NC_METRIC_INFO,
	  .field = NC_METRIC_BUILD },
	{ .name = "numacount_start_time_seconds",
	  .unit = "seconds",
	  .help = "When counting began, in seconds since 1970.",
	  .type = NC_METRIC_GAUGE,
	  .field = NC_METRIC_START },
	TOTAL(MEMORY_READ, "memory_read_bytes", "bytes",
	      "Read from a socket's DRAM, by whomever, DMA included."),
	TOTAL(MEMORY_WRITE, "memory_write_bytes", "bytes",
	      "Written to a socket's DRAM, by whomever, DMA included."),
	TOTAL(MEMORY_ANY, "memory_bytes", "bytes",
	      "Read from and written to a socket's DRAM, where the hardware does not tell them "
	      "apart."),
	TOTAL(INTERCONNECT_OUT, "interconnect_out_bytes", "bytes",
	      "Data that a socket sent over a link to another one, without headers."),
	TOTAL(INTERCONNECT_IN, "interconnect_in_bytes", "bytes",
	      "Data that a socket received over a link from another one, without headers."),
	TOTAL(INTERCONNECT_OUT_FLITS, "interconnect_out_flits", "flits",
	      "All that a socket sent over a link, headers included."),
	TOTAL(INTERCONNECT_CLOCK, "interconnect_clocks", "clocks", "Clocks of a link."),
	TOTAL(HOME_READ_LOCAL, "home_read_local_bytes", "bytes",
	      "Reads of a socket's memory that its own cores asked for."),
	TOTAL(HOME_READ_REMOTE, "home_read_remote_bytes", "bytes",
	      "Reads of a socket's memory that other sockets asked for."),
	TOTAL(HOME_WRITE_LOCAL, "home_write_local_bytes", "bytes",
	      "Writes to a socket's memory that its own cores asked for."),
	TOTAL(HOME_WRITE_REMOTE, "home_write_remote_bytes", "bytes",
	      "Writes to a socket's memory that other sockets asked for."),
	TOTAL(LOADS_LOCAL, "loads_local", NULL,
	      "Loads of a socket's cores that were served by its own DRAM; no bandwidth."),
	TOTAL(LOADS_REMOTE, "loads_remote", NULL,
	      "Loads of a socket's cores that were served by another socket's DRAM; no "
	      "bandwidth."),
	TOTAL(CPU_MEMORY_TOTAL, "cpu_memory_bytes", "bytes",
	      "Memory traffic of a socket's CPUs, without DMA, as resctrl tells it."),
	TOTAL(CPU_MEMORY_LOCAL, "cpu_memory_local_bytes", "bytes",
	      "The part of numacount_cpu_memory_bytes that stayed in the CPUs' own NUMA node."),
	TOTAL(CPU_MEMORY_REMOTE, "cpu_memory_remote_bytes", "bytes",
	      "The part of numacount_cpu_memory_bytes that went to other NUMA nodes."),
	TOTAL(PAGES_LOCAL, "allocation_local_pages", "pages",
	      "Pages of a node that its own CPUs allocated; allocations, no accesses."),
	TOTAL(PAGES_REMOTE, "allocation_remote_pages", "pages",
	      "Pages of a node that CPUs of other nodes allocated; allocations, no accesses."),
	TOTAL(OTHER, "events", NULL, "Events of a table of the user's own."),
	{ .name = "numacount_counted_seconds",
	  .unit = "seconds",
	  .help = "Time in which a class was really counted; its rate is the coverage, below 1 the "
	          "totals are estimates.",
	  .type = NC_METRIC_COUNTER,
	  .field = NC_METRIC_COUNTED },
	{ .name = "numacount_coverage_ratio",
	  .unit = "ratio",
	  .help = "Share of the time since the start in which a class was really counted.",
	  .type = NC_METRIC_GAUGE,
	  .field = NC_METRIC_COVERAGE },
	{ .name = "numacount_unknown",
	  .help = "1 where a class cannot be counted at the moment, with the reason; its total is "
	          "left out meanwhile.",
	  .type = NC_METRIC_GAUGE,
	  .field = NC_METRIC_UNKNOWN },
	{ .name = "numacount_interconnect_nominal_bytes_per_second",
	  .unit = "bytes_per_second",
	  .help = "What a link could carry in one direction, by its clock.",
	  .type = NC_METRIC_GAUGE,
	  .field = NC_METRIC_NOMINAL },
	{ .name = "numacount_interconnect_measured_bytes_per_second",
	  .unit = "bytes_per_second",
	  .help = "What a link could carry in one direction, as measured or given.",
	  .type = NC_METRIC_GAUGE,
	  .field = NC_METRIC_MEASURED },
};

const size_t nc_metrics_table_count = sizeof(nc_metrics_table) / sizeof(nc_metrics_table[0]);

/* ---- which format ---- */

const char *nc_metrics_content_type(enum nc_metrics_format format)
{
	return format == NC_METRICS_OPENMETRICS
	               ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
	               : "text/plain; version=0.0.4; charset=utf-8";
}

/* A part of a header, without the blanks around it. */
struct slice {
	const char *text;
	size_t len;
};

/* Takes what stands before the next @separator off *rest. False at the end. */
static bool next_slice(const char **rest, const char *end, char separator, struct slice *ret)
{
	const char *from = *rest;
	const char *to;

	if (from >= end)
		return false;
	to = memchr(from, separator, (size_t)(end - from));
	if (!to)
		to = end;
	*rest = to + 1;
	from += strspn(from, " \t");
	while (to > from && (to[-1] == ' ' || to[-1] == '\t'))
		to--;
	*ret = (struct slice){ .text = from, .len = to > from ? (size_t)(to - from) : 0 };
	return true;
}

static bool slice_is(struct slice slice, const char *text)
{
	return slice.len == strlen(text) && strncasecmp(slice.text, text, slice.len) == 0;
}

static bool slice_begins(struct slice slice, const char *text)
{
	return slice.len >= strlen(text) && strncasecmp(slice.text, text, strlen(text)) == 0;
}

/* "0.75" in thousandths; strtod() would ask the locale. */
static unsigned quality_of(struct slice value)
{
	unsigned thousandths = 0;
	unsigned weight = 100;

	if (value.len == 0 || value.text[0] != '0')
		return 1000;
	for (size_t i = 2; i < value.len && weight > 0; i++, weight /= 10) {
		if (value.text[i] >= '0' && value.text[i] <= '9')
			thousandths += weight * (unsigned)(value.text[i] - '0');
	}
	return thousandths;
}

/* Reads the parameters of a media range; false when they ask for a version other than ours. */
static bool read_parameters(const char *rest, const char *end, unsigned *ret_quality)
{
	struct slice slice;
	bool is_ours = true;

	*ret_quality = 1000;
	while (next_slice(&rest, end, ';', &slice)) {
		if (slice_begins(slice, "q="))
			*ret_quality = quality_of((struct slice){ slice.text + 2, slice.len - 2 });
		else if (slice_begins(slice, "version="))
			is_ours = slice_is(slice, "version=1.0.0");
	}
	return is_ours;
}

enum nc_metrics_format nc_metrics_format_of(const char *accept)
{
	const char *rest = accept;
	unsigned open_quality = 0;
	unsigned classic_quality = 0;
	struct slice range;

	while (rest && next_slice(&rest, accept + strlen(accept), ',', &range)) {
		const char *parameters = range.text;
		const char *end = range.text + range.len;
		struct slice type;
		unsigned quality;
		bool is_ours;

		if (!next_slice(&parameters, end, ';', &type))
			continue;
		is_ours = read_parameters(parameters, end, &quality);
		if (slice_is(type, "application/openmetrics-text") && is_ours) {
			if (quality > open_quality)
				open_quality = quality;
		} else if (slice_is(type, "text/plain") && quality > classic_quality) {
			classic_quality = quality;
		}
	}
	return open_quality > 0 && open_quality >= classic_quality ? NC_METRICS_OPENMETRICS
	                                                           : NC_METRICS_CLASSIC;
}

/* ---- the text ---- */

struct printer {
	FILE *out;
	enum nc_metrics_format format;
	const struct nc_metrics_page *page;
	const struct nc_metric *metric;
	bool has_head; /* the metric's HELP and TYPE are there */
};

static const char *type_name(const struct printer *p)
{
	switch (p->metric->type) {
	case NC_METRIC_COUNTER:
		return "counter";
	case NC_METRIC_INFO:
		return p->format == NC_METRICS_OPENMETRICS ? "info" : "gauge";
	case NC_METRIC_GAUGE:
		break;
	}
	return "gauge";
}

static const char *suffix_of(enum nc_metric_type type)
{
	if (type == NC_METRIC_COUNTER)
		return "_total";
	return type == NC_METRIC_INFO ? "_info" : "";
}

const char *nc_metric_sample_name(const struct nc_metric *metric, char buf[96])
{
	snprintf(buf, 96, "%s%s", metric->name, suffix_of(metric->type));
	return buf;
}

/* In OpenMetrics a family is named without its samples' suffix, in the classic format with it. */
static void print_head(struct printer *p)
{
	const struct nc_metric *metric = p->metric;
	const char *suffix = "";

	if (p->has_head)
		return;
	p->has_head = true;
	if (p->format == NC_METRICS_CLASSIC)
		suffix = suffix_of(metric->type);
	fprintf(p->out, "# HELP %s%s %s\n", metric->name, suffix, metric->help);
	fprintf(p->out, "# TYPE %s%s %s\n", metric->name, suffix, type_name(p));
	if (p->format == NC_METRICS_OPENMETRICS && metric->unit)
		fprintf(p->out, "# UNIT %s %s\n", metric->name, metric->unit);
}

/* One byte that is no UTF-8 would make Prometheus refuse the whole page. */
static void print_label(struct printer *p, bool *has_labels, const char *name, const char *value)
{
	fprintf(p->out, "%c%s=\"", *has_labels ? ',' : '{', name);
	*has_labels = true;
	for (const char *c = value; *c; c++) {
		if (*c == '\\' || *c == '"')
			fprintf(p->out, "\\%c", *c);
		else if (*c == '\n')
			fputs("\\n", p->out);
		else if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
			fprintf(p->out, "\\\\x%02X", (unsigned char)*c);
		else
			fputc(*c, p->out);
	}
	fputc('"', p->out);
}

static void print_number_label(struct printer *p, bool *has_labels, const char *name,
                               unsigned value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	print_label(p, has_labels, name, text);
}

/* Whether the metric is of many classes, which a label tells apart. */
static bool is_of_classes(const struct nc_metric *metric)
{
	return metric->field == NC_METRIC_COVERAGE || metric->field == NC_METRIC_COUNTED ||
	       metric->field == NC_METRIC_UNKNOWN;
}

static void print_labels(struct printer *p, const struct nc_metrics_value *value)
{
	const struct nc_series *series = value->series;
	bool has_labels = false;

	if (is_of_classes(p->metric))
		print_label(p, &has_labels, "class", nc_class_name(series->what));
	if (series->what == NC_CLASS_OTHER)
		print_label(p, &has_labels, "event", series->name);
	if (series->has_socket)
		print_number_label(p, &has_labels, "socket", series->socket);
	if (p->page->has_nodes)
		print_number_label(p, &has_labels, "node", series->node);
	if (series->has_link)
		print_number_label(p, &has_labels, "link", series->link);
	if (series->has_peer)
		print_number_label(p, &has_labels, "peer", series->peer);
	print_label(p, &has_labels, "source", p->page->source);
	if (p->metric->field == NC_METRIC_UNKNOWN)
		print_label(p, &has_labels, "reason", value->reason ? value->reason : "");
	fputc('}', p->out);
}

static void print_seconds(struct printer *p, uint64_t ns)
{
	fprintf(p->out, " %" PRIu64 ".%09u\n", ns / 1000000000, (unsigned)(ns % 1000000000));
}

/* The start of a line: the sample's name and labels. */
static void begin(struct printer *p, const char *suffix, const struct nc_metrics_value *value)
{
	print_head(p);
	fprintf(p->out, "%s%s", p->metric->name, suffix);
	if (value)
		print_labels(p, value);
}

/* OpenMetrics wants to be told when a counter was 0, as its value alone does not say. */
static void print_created(struct printer *p, const struct nc_metrics_value *value)
{
	if (p->format != NC_METRICS_OPENMETRICS)
		return;
	begin(p, "_created", value);
	print_seconds(p, (uint64_t)p->page->start_ns);
}

static void print_total(struct printer *p, const struct nc_metrics_value *value)
{
	if (value->series->what != p->metric->what || !value->is_known)
		return;
	begin(p, "_total", value);
	fprintf(p->out, " %" PRIu64 "\n", value->total);
	print_created(p, value);
}

static void print_counted(struct printer *p, const struct nc_metrics_value *value)
{
	begin(p, "_total", value);
	print_seconds(p, value->counted_ns);
	print_created(p, value);
}

static void print_build(struct printer *p)
{
	bool has_labels = false;

	begin(p, "_info", NULL);
	print_label(p, &has_labels, "version", p->page->version);
	if (p->page->family)
		print_label(p, &has_labels, "family", p->page->family);
	print_label(p, &has_labels, "source", p->page->source);
	fputs("} 1\n", p->out);
}

static bool is_same_link(const struct nc_series *a, const struct nc_series *b)
{
	return a->has_socket == b->has_socket && a->socket == b->socket &&
	       a->has_link == b->has_link && a->link == b->link;
}

static bool has_peak(const struct nc_metrics_value *value, enum nc_metric_field field)
{
	return field == NC_METRIC_NOMINAL ? value->has_nominal : value->has_measured;
}

/* Once for each link, as in and out have the same labels and the same peak. */
static void print_peak(struct printer *p, const struct nc_metrics_value *value)
{
	enum nc_metric_field field = p->metric->field;

	if (!has_peak(value, field))
		return;
	for (const struct nc_metrics_value *v = p->page->values; v < value; v++) {
		if (has_peak(v, field) && is_same_link(v->series, value->series))
			return;
	}
	begin(p, "", value);
	fprintf(p->out, " %.0f\n",
	        field == NC_METRIC_NOMINAL ? value->nominal_bytes_per_s
	                                   : value->measured_bytes_per_s);
}

static void print_value(struct printer *p, const struct nc_metrics_value *value)
{
	switch (p->metric->field) {
	case NC_METRIC_TOTAL:
		print_total(p, value);
		break;
	case NC_METRIC_COUNTED:
		print_counted(p, value);
		break;
	case NC_METRIC_COVERAGE:
		begin(p, "", value);
		fprintf(p->out, " %.9g\n", value->coverage);
		break;
	case NC_METRIC_UNKNOWN:
		if (value->is_known)
			break;
		begin(p, "", value);
		fputs(" 1\n", p->out);
		break;
	case NC_METRIC_NOMINAL:
	case NC_METRIC_MEASURED:
		print_peak(p, value);
		break;
	case NC_METRIC_BUILD:
	case NC_METRIC_START:
		break;
	}
}

static void print_metric(struct printer *p)
{
	if (p->metric->field == NC_METRIC_BUILD) {
		print_build(p);
	} else if (p->metric->field == NC_METRIC_START) {
		begin(p, "", NULL);
		print_seconds(p, (uint64_t)p->page->start_ns);
	} else {
		for (size_t i = 0; i < p->page->value_count; i++)
			print_value(p, &p->page->values[i]);
	}
}

int nc_metrics_print(const struct nc_metrics_page *page, enum nc_metrics_format format, char **ret,
                     size_t *ret_size, struct np_error *err)
{
	struct printer p = { .format = format, .page = page };
	char *text = NULL;
	size_t size = 0;
	bool has_failed;

	p.out = open_memstream(&text, &size);
	if (!p.out)
		return np_error_sys(err, ENOMEM, "metrics");
	for (size_t i = 0; i < nc_metrics_table_count; i++) {
		p.metric = &nc_metrics_table[i];
		p.has_head = false;
		print_metric(&p);
	}
	if (format == NC_METRICS_OPENMETRICS)
		fputs("# EOF\n", p.out);
	has_failed = ferror(p.out) != 0;
	if (fclose(p.out) == EOF || has_failed) {
		free(text);
		return np_error_sys(err, ENOMEM, "metrics");
	}
	*ret = text;
	*ret_size = size;
	return 0;
}
