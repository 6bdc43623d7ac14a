/* SPDX-License-Identifier: BSD-3-Clause */
/* What a link could carry: by its clock, as given, and by a matrix that was measured. */
#include "../host.h"

#include <errno.h>
#include <numacount/peak.h>
#include <stdio.h>

#define SECOND_NS 1000000000u

/* A family of one rule, for a processor that host_processor() writes. */
static const char table[] = "[family test]\n"
			    "title = A processor to test with\n"
			    "cpu = GenuineIntel 6/250\n"
			    "counters = 4\n"
			    "link-name = UPI\n"
			    "link-transfers-per-clock = 8\n"
			    "link-bytes-per-transfer = 2\n"
			    "link-rates-mt = 9600, 10400\n"
			    "source = none\n"
			    "[event out]\n"
			    "class = interconnect_out\n"
			    "pmu = uncore_upi_#\n"
			    "terms = event=0x2\n"
			    "units = 64/9\n"
			    "source = none\n";

static const struct nc_series link_series[] = {
	{ .what = NC_CLASS_INTERCONNECT_OUT, .has_socket = true, .socket = 0, .has_link = true },
	{ .what = NC_CLASS_INTERCONNECT_IN, .has_socket = true, .socket = 0, .has_link = true },
	{ .what = NC_CLASS_INTERCONNECT_CLOCK, .has_socket = true, .socket = 0, .has_link = true },
	{ .what = NC_CLASS_MEMORY_READ, .has_socket = true, .socket = 0 },
};
enum { OUT, IN, CLOCK, MEMORY, LINK_SERIES };

static struct nc_host *load(struct host *host)
{
	const struct host_shape shape = { .node_count = 2, .cores_per_node = 2 };
	struct nc_host_source from = { .root = host->dir };
	struct np_error err = { 0 };
	struct nc_host *loaded = NULL;
	char file[512];

	host_build(host, &shape);
	host_write(host, "proc/cpuinfo",
	           "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 250\nstepping\t: 0\n");
	host_write(host, "events.ini", table);
	snprintf(file, sizeof(file), "%s/events.ini", host->dir);
	from.events_file = file;
	assert_np_ok(nc_host_load(&from, &loaded, &err), &err);
	return loaded;
}

static struct nc_peaks *create(const struct nc_host *host, const struct nc_series *series,
                               size_t count, const struct nc_peaks_source *from)
{
	struct nc_peaks *peaks = NULL;
	struct np_error err = { 0 };

	assert_np_ok(nc_peaks_create(host, series, count, from, &peaks, &err), &err);
	return peaks;
}

static void tick(struct nc_peaks *peaks, uint64_t clocks)
{
	struct nc_value values[LINK_SERIES] = { 0 };
	struct nc_sample sample = { .interval_ns = SECOND_NS, .values = values };

	values[CLOCK] = (struct nc_value){ .is_known = true, .delta = clocks };
	nc_peaks_add(peaks, &sample);
}

static void a_links_rate_is_the_one_that_most_intervals_are_near_to(void **state)
{
	struct nc_host *host = load(*state);
	const struct nc_peaks_source from = { 0 };
	struct nc_peaks *peaks = create(host, link_series, LINK_SERIES, &from);
	double most = -1;

	assert_false(nc_peaks_nominal(peaks, OUT, &most));
	tick(peaks, 1301000000); /* 10.4 GT/s, a little fast */
	tick(peaks, 1299000000);
	tick(peaks, 1200000000); /* 9.6 once */
	tick(peaks, 400000000);  /* asleep: near to none */
	tick(peaks, 0);

	assert_true(nc_peaks_nominal(peaks, OUT, &most));
	assert_true(most == 20.8e9);
	assert_true(nc_peaks_nominal(peaks, IN, &most));
	assert_false(nc_peaks_nominal(peaks, MEMORY, &most));
	assert_false(nc_peaks_measured(peaks, OUT, &most));
	nc_peaks_free(peaks);
	nc_host_free(host);
}

static void what_the_user_says_counts_for_each_link(void **state)
{
	struct nc_host *host = load(*state);
	const struct nc_peaks_source from = { .link_bytes_per_s = 4.2e9 };
	struct nc_peaks *peaks = create(host, link_series, LINK_SERIES, &from);
	double most = -1;

	assert_true(nc_peaks_measured(peaks, IN, &most));
	assert_true(most == 4.2e9);
	assert_false(nc_peaks_measured(peaks, MEMORY, &most));
	nc_peaks_free(peaks);
	nc_host_free(host);
}

/* The third seed's way: the CPUs of a row's node read the memory of a column's node. */
static void a_measured_matrix_is_split_over_the_links_of_a_pair(void **state)
{
	static const struct nc_series series[] = {
		{ NC_CLASS_INTERCONNECT_OUT, NULL, true, 0, 0, true, 0, true, 1, 0, 1 },
		{ NC_CLASS_INTERCONNECT_OUT, NULL, true, 0, 0, true, 1, true, 1, 1, 1 },
		{ NC_CLASS_INTERCONNECT_IN, NULL, true, 0, 0, true, 0, true, 1, 0, 1 },
		{ NC_CLASS_INTERCONNECT_IN, NULL, true, 1, 0, true, 0, false, 0, 0, 1 },
	};
	struct host *root = *state;
	struct nc_host *host = load(root);
	struct nc_peaks_source from = { 0 };
	struct nc_peaks *peaks;
	char file[512];
	double most = -1;

	host_write(root, "measured.json",
	           "{\"schema\": \"numakit/measure/1\", \"nodes\": [0, 1],\n"
	           " \"read_bytes_per_s\": [[22e9, 3.7e9], [4.2e9, null]], \"more\": 1}\n");
	snprintf(file, sizeof(file), "%s/measured.json", root->dir);
	from.measured_file = file;
	peaks = create(host, series, 4, &from);

	/* Out of socket 0: what socket 1 reads there, over two links. */
	assert_true(nc_peaks_measured(peaks, 0, &most));
	assert_true(most == 2.1e9);
	assert_true(nc_peaks_measured(peaks, 2, &most));
	assert_true(most == 3.7e9);
	/* Of unknown origin: the best that socket 1 reads anywhere else. */
	assert_true(nc_peaks_measured(peaks, 3, &most));
	assert_true(most == 4.2e9);
	nc_peaks_free(peaks);
	nc_host_free(host);
}

static void a_file_that_is_no_measurement_of_this_host_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} rows[] = {
		{ "{", ":1:1:" },
		{ "[]", "no \"schema\"" },
		{ "{\"schema\": \"numakit/rank/1\"}", "no \"schema\": \"numakit/measure/1\"" },
		{ "{\"schema\": \"numakit/measure/1\"}", "\"nodes\" is no list" },
		{ "{\"schema\": \"numakit/measure/1\", \"nodes\": [0]}", "not one row" },
		{ "{\"schema\": \"numakit/measure/1\", \"nodes\": [\"a\"], "
		  "\"read_bytes_per_s\": [[1]]}",
		  "something that is no node" },
		{ "{\"schema\": \"numakit/measure/1\", \"nodes\": [0, 1], "
		  "\"read_bytes_per_s\": [[1, 2], [1]]}",
		  "not one number for each node" },
		{ "{\"schema\": \"numakit/measure/1\", \"nodes\": [0, 1], "
		  "\"read_bytes_per_s\": [[1, 2], [1, -3]]}",
		  "neither null nor a number" },
		{ "{\"schema\": \"numakit/measure/1\", \"nodes\": [7], "
		  "\"read_bytes_per_s\": [[1]]}",
		  "another host" },
	};
	struct host *root = *state;
	struct nc_host *host = load(root);
	char file[512];

	snprintf(file, sizeof(file), "%s/measured.json", root->dir);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct nc_peaks_source from = { .measured_file = file };
		struct nc_peaks *peaks = NULL;
		struct np_error err = { 0 };

		host_write(root, "measured.json", rows[i].text);
		assert_fails(nc_peaks_create(host, link_series, LINK_SERIES, &from, &peaks, &err),
		             -EINVAL, &err, rows[i].reason);
		assert_null(peaks);
	}
	nc_host_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_links_rate_is_the_one_that_most_intervals_are_near_to),
		host_test(what_the_user_says_counts_for_each_link),
		host_test(a_measured_matrix_is_split_over_the_links_of_a_pair),
		host_test(a_file_that_is_no_measurement_of_this_host_is_refused),
	};

	return cmocka_run_group_tests_name("peaks", tests, NULL, NULL);
}
