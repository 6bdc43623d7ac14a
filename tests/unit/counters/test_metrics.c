/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page for Prometheus, from series and values that are made up here: what is on it, what is not,
 * and in which of the two formats.
 */
#include "check.h"

#include "../../counters/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 512 };

static const struct nc_series memory0 = { .what = NC_CLASS_MEMORY_READ,
	                                  .name = "memory_read",
	                                  .has_socket = true };
static const struct nc_series memory1 = {
	.what = NC_CLASS_MEMORY_READ, .name = "memory_read", .has_socket = true, .socket = 1
};
static const struct nc_series out0 = { .what = NC_CLASS_INTERCONNECT_OUT,
	                               .name = "interconnect_out",
	                               .has_socket = true,
	                               .has_link = true,
	                               .link = 2,
	                               .has_peer = true,
	                               .peer = 1 };
static const struct nc_series in0 = { .what = NC_CLASS_INTERCONNECT_IN,
	                              .name = "interconnect_in",
	                              .has_socket = true,
	                              .has_link = true,
	                              .link = 2,
	                              .has_peer = true,
	                              .peer = 1 };

static struct nc_metrics_value known(const struct nc_series *series, uint64_t total)
{
	return (struct nc_metrics_value){
		.series = series,
		.is_known = true,
		.reason = "",
		.total = total,
		.counted_ns = 1500000000,
		.coverage = 1,
	};
}

/* The page as a text that the caller frees. */
static char *print(const struct nc_metrics_value *values, size_t count,
                   enum nc_metrics_format format)
{
	const struct nc_metrics_page page = {
		.version = "1.2",
		.family = "skx",
		.source = "uncore",
		.start_ns = 1700000000250000000,
		.values = values,
		.value_count = count,
	};
	struct np_error err = { 0 };
	char *text;
	size_t size;

	assert_np_ok(nc_metrics_print(&page, format, &text, &size, &err), &err);
	assert_number(size, strlen(text));
	return text;
}

static unsigned count_of(const char *text, const char *part)
{
	unsigned count = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

static void classic_names_a_family_by_its_samples(void **state)
{
	const struct nc_metrics_value values[] = { known(&memory0, 640), known(&memory1, 128) };
	char *text = print(values, 2, NC_METRICS_CLASSIC);

	(void)state;
	assert_has(text, "# TYPE numacount_memory_read_bytes_total counter\n"
	                 "numacount_memory_read_bytes_total{socket=\"0\",source=\"uncore\"} 640\n"
	                 "numacount_memory_read_bytes_total{socket=\"1\",source=\"uncore\"} 128\n");
	assert_has(text, "# HELP numacount_memory_read_bytes_total Read from ");
	assert_has(text, "# TYPE numacount_build_info gauge\n"
	                 "numacount_build_info{version=\"1.2\",family=\"skx\",source=\"uncore\"} "
	                 "1\n");
	assert_has(text, "\nnumacount_start_time_seconds 1700000000.250000000\n");
	assert_has_not(text, "# UNIT");
	assert_has_not(text, "# EOF");
	assert_has_not(text, "_created");
	free(text);
}

static void openmetrics_names_it_without_them_and_tells_unit_and_start(void **state)
{
	const struct nc_metrics_value value = known(&memory0, 640);
	char *text = print(&value, 1, NC_METRICS_OPENMETRICS);

	(void)state;
	assert_has(text, "# TYPE numacount_memory_read_bytes counter\n"
	                 "# UNIT numacount_memory_read_bytes bytes\n"
	                 "numacount_memory_read_bytes_total{socket=\"0\",source=\"uncore\"} 640\n"
	                 "numacount_memory_read_bytes_created{socket=\"0\",source=\"uncore\"} "
	                 "1700000000.250000000\n");
	assert_has(text, "# TYPE numacount_build info\nnumacount_build_info{");
	assert_text(text + strlen(text) - strlen("\n# EOF\n"), "\n# EOF\n");
	assert_number(count_of(text, "# EOF"), 1);
	free(text);
}

static void an_unknown_value_is_left_out_and_its_reason_told(void **state)
{
	struct nc_metrics_value values[] = { known(&memory0, 640), known(&memory1, 128) };
	char *text;

	(void)state;
	values[1].is_known = false;
	values[1].reason = "busy";
	values[1].counted_ns = 0;
	values[1].coverage = 0;
	text = print(values, 2, NC_METRICS_CLASSIC);
	assert_number(count_of(text, "\nnumacount_memory_read_bytes_total{"), 1);
	assert_has_not(text, "128");
	assert_has(text, "\nnumacount_unknown{class=\"memory_read\",socket=\"1\",source=\"uncore\","
	                 "reason=\"busy\"} 1\n");
	assert_has(text, "\nnumacount_coverage_ratio{class=\"memory_read\",socket=\"1\","
	                 "source=\"uncore\"} 0\n");
	assert_number(count_of(text, "\nnumacount_unknown{"), 1);
	free(text);
}

static void a_family_without_samples_is_left_out(void **state)
{
	struct nc_metrics_value value = known(&memory0, 640);
	char *text;

	(void)state;
	value.is_known = false;
	value.reason = "gone";
	text = print(&value, 1, NC_METRICS_OPENMETRICS);
	assert_has_not(text, "numacount_memory_read_bytes");
	assert_has_not(text, "numacount_interconnect");
	free(text);
}

static void coverage_is_a_counter_of_seconds_and_a_ratio(void **state)
{
	struct nc_metrics_value value = known(&memory0, 640);
	char *text;

	(void)state;
	value.coverage = 0.25;
	text = print(&value, 1, NC_METRICS_CLASSIC);
	assert_has(text, "\nnumacount_counted_seconds_total{class=\"memory_read\",socket=\"0\","
	                 "source=\"uncore\"} 1.500000000\n");
	assert_has(text, "\nnumacount_coverage_ratio{class=\"memory_read\",socket=\"0\","
	                 "source=\"uncore\"} 0.25\n");
	free(text);
}

static void a_link_has_its_peer_and_one_peak(void **state)
{
	struct nc_metrics_value values[] = { known(&memory0, 1), known(&out0, 2), known(&in0, 3) };
	char *text;

	(void)state;
	for (size_t i = 1; i < 3; i++) {
		values[i].has_nominal = true;
		values[i].nominal_bytes_per_s = 20.8e9;
	}
	text = print(values, 3, NC_METRICS_CLASSIC);
	assert_has(text, "\nnumacount_interconnect_out_bytes_total{socket=\"0\",link=\"2\","
	                 "peer=\"1\",source=\"uncore\"} 2\n");
	assert_has(text, "\nnumacount_interconnect_in_bytes_total{socket=\"0\",link=\"2\","
	                 "peer=\"1\",source=\"uncore\"} 3\n");
	assert_has(text, "\nnumacount_interconnect_nominal_bytes_per_second{socket=\"0\","
	                 "link=\"2\",peer=\"1\",source=\"uncore\"} 20800000000\n");
	assert_number(count_of(text, "\nnumacount_interconnect_nominal_bytes_per_second{"), 1);
	assert_has_not(text, "numacount_interconnect_measured");
	free(text);
}

static void the_largest_count_is_printed_whole(void **state)
{
	const struct nc_metrics_value value = known(&memory0, UINT64_MAX);
	char *text = print(&value, 1, NC_METRICS_CLASSIC);

	(void)state;
	assert_has(text, "} 18446744073709551615\n");
	free(text);
}

static void a_node_without_a_socket_has_its_node(void **state)
{
	const struct nc_series pages = { .what = NC_CLASS_PAGES_REMOTE,
		                         .name = "pages_remote",
		                         .node = 3 };
	const struct nc_metrics_value value = known(&pages, 5);
	const struct nc_metrics_page page = {
		.version = "1.2",
		.source = "numastat",
		.has_nodes = true,
		.values = &value,
		.value_count = 1,
	};
	struct np_error err = { 0 };
	char *text;
	size_t size;

	(void)state;
	assert_np_ok(nc_metrics_print(&page, NC_METRICS_CLASSIC, &text, &size, &err), &err);
	assert_has(text, "\nnumacount_allocation_remote_pages_total{node=\"3\","
	                 "source=\"numastat\"} 5\n");
	assert_has(text, "numacount_build_info{version=\"1.2\",source=\"numastat\"} 1\n");
	free(text);
}

static const struct {
	const char *name;
	const char *label;
} escapes[] = {
	{ "plain_1", "plain_1" },
	{ "a\"b", "a\\\"b" },
	{ "a\\b", "a\\\\b" },
	{ "a\nb", "a\\nb" },
	{ "a\tb", "a\\\\x09b" },
	{ "", "" },
	{ "\xff\xfe", "\\\\xFF\\\\xFE" },
	{ "{},=", "{},=" },
};

static void labels_are_escaped(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(escapes) / sizeof(escapes[0]); i++) {
		const struct nc_series series = { .what = NC_CLASS_OTHER, .name = escapes[i].name };
		const struct nc_metrics_value value = known(&series, 7);
		char *text = print(&value, 1, NC_METRICS_OPENMETRICS);
		char line[128];

		check_case("%s", escapes[i].label);
		snprintf(line, sizeof(line),
		         "\nnumacount_events_total{event=\"%s\",source=\"uncore\"} 7\n",
		         escapes[i].label);
		assert_has(text, line);
		free(text);
	}
}

/* The name in a sample's or a comment's line, without what a counter or an info adds. */
static void family_of(const char *line, size_t len, char *buf, size_t size)
{
	static const char *const suffixes[] = { "_total", "_created", "_info" };
	size_t end;

	if (strncmp(line, "# ", 2) == 0) {
		line += strlen("# TYPE ");
		len -= strlen("# TYPE ");
	}
	end = strcspn(line, " {\n");
	assert_true(end <= len && end < size);
	memcpy(buf, line, end);
	buf[end] = '\0';
	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		size_t rest = strlen(suffixes[i]);

		if (end > rest && strcmp(buf + end - rest, suffixes[i]) == 0)
			buf[end - rest] = '\0';
	}
}

static void each_family_stands_once_and_together(void **state)
{
	enum { COUNT = NC_CLASS_COUNT * 2 };
	struct nc_series *series = calloc(COUNT, sizeof(*series));
	struct nc_metrics_value *values = calloc(COUNT, sizeof(*values));
	char seen[LINES_MAX][96];
	size_t seen_count = 0;
	char *text;

	(void)state;
	assert_true(series && values);
	for (unsigned i = 0; i < COUNT; i++) {
		series[i] = (struct nc_series){ .what = (enum nc_class)(i / 2),
			                        .name = "x",
			                        .has_socket = true,
			                        .socket = i % 2 };
		values[i] = known(&series[i], i);
		values[i].is_known = i % 5 != 0;
	}
	text = print(values, COUNT, NC_METRICS_OPENMETRICS);
	for (const char *line = text; strncmp(line, "# EOF", 5) != 0;
	     line = strchr(line, '\n') + 1) {
		char name[96];

		family_of(line, strcspn(line, "\n"), name, sizeof(name));
		if (seen_count > 0 && strcmp(seen[seen_count - 1], name) == 0)
			continue;
		for (size_t i = 0; i < seen_count; i++)
			assert_string_not_equal(seen[i], name);
		assert_true(seen_count < LINES_MAX);
		memcpy(seen[seen_count++], name, sizeof(name));
	}
	/* All but the two peaks, as there are no links. */
	assert_number(seen_count, nc_metrics_table_count - 2);
	free(text);
	free(values);
	free(series);
}

static void every_class_has_one_metric_that_ends_in_its_unit(void **state)
{
	unsigned totals[NC_CLASS_COUNT] = { 0 };

	(void)state;
	for (size_t i = 0; i < nc_metrics_table_count; i++) {
		const struct nc_metric *metric = &nc_metrics_table[i];

		check_case("%s", metric->name);
		if (metric->field == NC_METRIC_TOTAL) {
			assert_number(metric->type, NC_METRIC_COUNTER);
			totals[metric->what]++;
			if (metric->unit)
				assert_text(metric->unit, nc_class_unit(metric->what));
		}
		if (metric->unit) {
			assert_true(strlen(metric->name) > strlen(metric->unit));
			assert_text(metric->name + strlen(metric->name) - strlen(metric->unit),
			            metric->unit);
		}
		assert_null(strpbrk(metric->help, "\\\n\""));
	}
	for (unsigned i = 0; i < NC_CLASS_COUNT; i++) {
		check_case("%s", nc_class_name((enum nc_class)i));
		assert_number(totals[i], 1);
	}
}

static void what_counts_allocations_is_not_called_bandwidth(void **state)
{
	(void)state;
	for (size_t i = 0; i < nc_metrics_table_count; i++) {
		const struct nc_metric *metric = &nc_metrics_table[i];

		if (metric->field == NC_METRIC_TOTAL && (metric->what == NC_CLASS_PAGES_LOCAL ||
		                                         metric->what == NC_CLASS_PAGES_REMOTE)) {
			assert_has(metric->name, "numacount_allocation_");
			assert_has_not(metric->name, "bytes");
			assert_has_not(metric->help, "bandwidth");
		}
	}
}

static const struct {
	const char *accept; /* NULL = no such header */
	enum nc_metrics_format format;
} accepts[] = {
	{ NULL, NC_METRICS_CLASSIC },
	{ "", NC_METRICS_CLASSIC },
	{ "*/*", NC_METRICS_CLASSIC },
	{ "text/html,application/xhtml+xml,*/*;q=0.8", NC_METRICS_CLASSIC },
	{ "application/openmetrics-text", NC_METRICS_OPENMETRICS },
	{ "Application/OpenMetrics-Text ; Version=1.0.0", NC_METRICS_OPENMETRICS },
	/* Prometheus 2.42, 2.49 and 3.0 */
	{ "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
	  "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	  NC_METRICS_OPENMETRICS },
	{ "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;"
	  "version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	  NC_METRICS_OPENMETRICS },
	{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
	  "application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;"
	  "escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
	  NC_METRICS_OPENMETRICS },
	{ "application/openmetrics-text;version=0.0.1", NC_METRICS_CLASSIC },
	{ "application/openmetrics-text;q=0", NC_METRICS_CLASSIC },
	{ "application/openmetrics-text;q=0.000", NC_METRICS_CLASSIC },
	{ "application/openmetrics-text;q=0.3, text/plain;q=0.7", NC_METRICS_CLASSIC },
	{ "text/plain;q=0.7, application/openmetrics-text;q=0.701", NC_METRICS_OPENMETRICS },
	{ "text/plain, application/openmetrics-text;q=1.0", NC_METRICS_OPENMETRICS },
	{ "application/openmetrics-textual", NC_METRICS_CLASSIC },
	{ "application/openmetrics", NC_METRICS_CLASSIC },
	{ ",,;;,application/openmetrics-text;;q=0.5,", NC_METRICS_OPENMETRICS },
	{ ";q=", NC_METRICS_CLASSIC },
	{ "   ", NC_METRICS_CLASSIC },
};

static void the_client_gets_the_format_it_asks_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(accepts) / sizeof(accepts[0]); i++) {
		check_case("%s", accepts[i].accept ? accepts[i].accept : "no header");
		assert_number(nc_metrics_format_of(accepts[i].accept), accepts[i].format);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classic_names_a_family_by_its_samples),
		cmocka_unit_test(openmetrics_names_it_without_them_and_tells_unit_and_start),
		cmocka_unit_test(an_unknown_value_is_left_out_and_its_reason_told),
		cmocka_unit_test(a_family_without_samples_is_left_out),
		cmocka_unit_test(coverage_is_a_counter_of_seconds_and_a_ratio),
		cmocka_unit_test(a_link_has_its_peer_and_one_peak),
		cmocka_unit_test(the_largest_count_is_printed_whole),
		cmocka_unit_test(a_node_without_a_socket_has_its_node),
		cmocka_unit_test(labels_are_escaped),
		cmocka_unit_test(each_family_stands_once_and_together),
		cmocka_unit_test(every_class_has_one_metric_that_ends_in_its_unit),
		cmocka_unit_test(what_counts_allocations_is_not_called_bandwidth),
		cmocka_unit_test(the_client_gets_the_format_it_asks_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
