/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of /metrics: every counter is in it, and it is OpenMetrics.
 */
#include "check.h"

#include "protocol/metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Two arenas, and every counter a number of its own from 1000 and from 2000 on. */
struct fixture {
	struct ns_arena arenas[2];
	struct ns_arena_report reports[2];
	uint64_t node_bytes[2][3];
	struct ns_arena_counts counts[2];
	struct ns_metrics_served served[2];
	struct ns_server_state state;
	struct ns_metrics_page page;
};

static void fill(struct fixture *f)
{
	uint64_t number = 1000;

	*f = (struct fixture){ 0 };
	for (size_t i = 0; i < 2; i++) {
		unsigned node = (unsigned)i * 2;

		f->arenas[i].plan = (struct ns_arena_plan){ .node = node,
			                                    .distance = 10 + (unsigned)i * 11,
			                                    .bytes = 4096 * (i + 1) };
		f->node_bytes[i][node] = 4096;
		f->reports[i] = (struct ns_arena_report){
			.node = node,
			.blocks = { 7, 8, 9 },
			.right_bytes = 4096,
			.wrong_bytes = i * 11,
			.node_bytes = f->node_bytes[i],
			.node_count = 3,
			.unknown_bytes = i * 12,
		};
		f->counts[i] = (struct ns_arena_counts){ .node = node, .objects = 55 + i };
		f->served[i] =
			(struct ns_metrics_served){ .memory = node,
			                            .served = { .bytes = 77 + i, .heads = 7 + i } };
	}
	f->state = (struct ns_server_state){ .started_s = 1234,
		                             .arenas = f->arenas,
		                             .reports = f->reports,
		                             .arena_count = 2,
		                             .worker_count = 3 };
	f->page = (struct ns_metrics_page){ .version = "1.2.3",
		                            .state = &f->state,
		                            .arenas = f->counts,
		                            .arena_count = 2,
		                            .served = f->served,
		                            .served_count = 2 };
#define X(name) f->page.counts.name = number++;
	NS_COUNTERS(X)
#undef X
	number = 2000;
#define X(name) f->page.workers.name = number++;
	NS_WORKER_COUNTERS(X)
#undef X
}

static char *print(const struct ns_metrics_page *page)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	ns_metrics_print(out, page);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* At the end of a line; in seconds too. */
static bool has_value(const char *text, uint64_t value)
{
	char end[32];
	char seconds[32];

	snprintf(end, sizeof(end), " %llu\n", (unsigned long long)value);
	snprintf(seconds, sizeof(seconds), " 0.%09llu\n", (unsigned long long)value);
	return strstr(text, end) || strstr(text, seconds);
}

static void check_value(const char *text, const char *name, uint64_t value)
{
	check_case("%s", name);
	assert_true(has_value(text, value));
}

static void every_counter_is_told(void **state)
{
	struct fixture f;
	char *text;

	(void)state;
	fill(&f);
	text = print(&f.page);
#define X(name) check_value(text, #name, f.page.counts.name);
	NS_COUNTERS(X)
#undef X
#define X(name) check_value(text, #name, f.page.workers.name);
	NS_WORKER_COUNTERS(X)
#undef X
	free(text);
}

static void time_is_told_in_seconds(void **state)
{
	struct fixture f;
	char *text;

	(void)state;
	fill(&f);
	f.page.counts.promotion_ns = 1500000001;
	text = print(&f.page);
	assert_has(text, "numastore_promotion_seconds_total 1.500000001\n");
	free(text);
}

static void arenas_and_nodes_are_told(void **state)
{
	struct fixture f;
	char *text;

	(void)state;
	fill(&f);
	text = print(&f.page);
	assert_has(text, "numastore_build_info{version=\"1.2.3\"} 1\n");
	assert_has(text, "numastore_arena_bytes{node=\"2\"} 8192\n");
	assert_has(text, "numastore_arena_distance{node=\"2\"} 21\n");
	assert_has(text, "numastore_arena_objects{node=\"2\"} 56\n");
	assert_has(text, "numastore_arena_verified_blocks{node=\"2\",pages=\"plain\"} 9\n");
	assert_has(text, "numastore_arena_verified_bytes{node=\"2\",place=\"elsewhere\"} 11\n");
	assert_has(text, "numastore_arena_node_bytes{node=\"2\",found_node=\"2\"} 4096\n");
	assert_has_not(text, "found_node=\"1\"");
	assert_has(text, "numastore_served_bytes_total{serving_node=\"0\",memory_node=\"2\"} 78\n");
	assert_has(text, "numastore_served_heads_total{serving_node=\"0\",memory_node=\"2\"} 8\n");
	free(text);
}

static void what_was_not_verified_is_left_out(void **state)
{
	struct fixture f;
	char *text;

	(void)state;
	fill(&f);
	f.state.reports = NULL;
	text = print(&f.page);
	assert_has_not(text, "verified");
	free(text);
}

/* "# TYPE name type": the line of a family that must come before its samples. */
static void check_line(const char *line, char *family, size_t size)
{
	char name[128];
	char type[32];

	if (sscanf(line, "# TYPE %127s %31s", name, type) == 2) {
		snprintf(family, size, "%s%s", name,
		         strcmp(type, "counter") == 0 ? "_total"
		         : strcmp(type, "info") == 0  ? "_info"
		                                      : "");
		return;
	}
	if (sscanf(line, "# UNIT %127s %31s", name, type) == 2) {
		assert_true(strlen(name) > strlen(type) &&
		            strcmp(name + strlen(name) - strlen(type), type) == 0);
		return;
	}
	if (line[0] == '#')
		return;
	assert_true(strncmp(line, family, strlen(family)) == 0);
	assert_true(line[strlen(family)] == ' ' || line[strlen(family)] == '{');
}

static void the_text_is_openmetrics(void **state)
{
	char family[160] = "";
	struct fixture f;
	char *rest;
	char *text;
	char *line;

	(void)state;
	fill(&f);
	text = print(&f.page);
	assert_text(text + strlen(text) - 7, "\n# EOF\n");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		check_case("%s", line);
		check_line(line, family, sizeof(family));
	}
	free(text);
}

static void pools_are_told_where_there_are_any(void **state)
{
	const struct ns_pool_state pools[] = {
		{ .path = "/a", .file_bytes = 11, .reads = 12, .damaged = 13, .is_direct = true },
		{ .path = "/b\"\\\n", .used_bytes = 21, .errors = 22, .is_retired = true },
	};
	struct fixture f;
	char *text;

	(void)state;
	fill(&f);
	text = print(&f.page);
	assert_null(strstr(text, "numastore_pool"));
	free(text);
	f.page.pools = pools;
	f.page.pool_count = 2;
	f.page.engine = NS_ENGINE_URING;
	text = print(&f.page);
	assert_has(text, "numastore_pool_info{pool=\"0\",directory=\"/a\"} 1\n");
	assert_has(text, "numastore_pool_info{pool=\"1\",directory=\"/b\\\"\\\\\\n\"} 1\n");
	assert_has(text, "numastore_storage_info{engine=\"uring\"} 1\n");
	assert_has(text, "# UNIT numastore_pool_file_bytes bytes\n");
	assert_has(text, "numastore_pool_file_bytes{pool=\"0\"} 11\n");
	assert_has(text, "numastore_pool_reads_total{pool=\"0\"} 12\n");
	assert_has(text, "numastore_pool_damaged_total{pool=\"0\"} 13\n");
	assert_has(text, "numastore_pool_used_bytes{pool=\"1\"} 21\n");
	assert_has(text, "numastore_pool_errors_total{pool=\"1\"} 22\n");
	assert_has(text, "numastore_pool_direct{pool=\"0\"} 1\n");
	assert_has(text, "numastore_pool_retired{pool=\"1\"} 1\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_is_told),
		cmocka_unit_test(time_is_told_in_seconds),
		cmocka_unit_test(arenas_and_nodes_are_told),
		cmocka_unit_test(what_was_not_verified_is_left_out),
		cmocka_unit_test(the_text_is_openmetrics),
		cmocka_unit_test(pools_are_told_where_there_are_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
