/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports: that the published tables come out of the published figures as they are printed, in every
 * form, and what becomes of figures that are not known and of text that is not kind.
 */
#include "published.h"

#include "../../../probe/base/json.h"
#include "host.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LINE_MAX_WIDTH = 100 };

/* As printed there. */
static const struct {
	const char *protocol;
	const char *metric;
	const char *label;
	const char *us[NL_PERCENTILE_COUNT][3]; /* local, remote, improvement */
	const char *effect; /* A, magnitude, blocked, its interval, paired, its interval */
} printed[] = {
	{ "memcache",
	  "response_ttfb",
	  "response TTFB",
	  { { "76.905", "79.720", "+3.531%" },
	    { "82.012", "97.307", "+15.718%" },
	    { "120.460", "110.081", "-9.429%" },
	    { "135.241", "131.901", "-2.532%" },
	    { "146.593", "182.470", "+19.662%" } },
	  "0.612381 small 0.612148 0.581601 0.643022 0.611416 0.580769 0.642369" },
	{ "memcache",
	  "payload_ttfb",
	  "payload TTFB",
	  { { "135.446", "151.563", "+10.634%" },
	    { "142.362", "181.987", "+21.774%" },
	    { "196.628", "208.741", "+5.803%" },
	    { "217.761", "295.515", "+26.311%" },
	    { "308.094", "319.121", "+3.455%" } },
	  "0.926942 large 0.926827 0.916574 0.936515 0.927414 0.917085 0.937308" },
	{ "memcache",
	  "complete",
	  "total download",
	  { { "338.105", "356.646", "+5.199%" },
	    { "346.588", "400.328", "+13.424%" },
	    { "414.575", "456.998", "+9.283%" },
	    { "467.726", "491.569", "+4.850%" },
	    { "503.469", "515.245", "+2.286%" } },
	  "0.923878 large 0.924088 0.913874 0.933665 0.924632 0.914377 0.934042" },
	{ "http",
	  "response_ttfb",
	  "response TTFB",
	  { { "79.623", "88.317", "+9.844%" },
	    { "102.487", "101.444", "-1.028%" },
	    { "140.014", "110.103", "-27.166%" },
	    { "150.374", "119.907", "-25.409%" },
	    { "162.134", "144.697", "-12.051%" } },
	  "0.699049 medium 0.697331 0.662254 0.731291 0.696776 0.661984 0.730427" },
	{ "http",
	  "payload_ttfb",
	  "payload TTFB",
	  { { "137.963", "172.717", "+20.122%" },
	    { "181.901", "187.648", "+3.063%" },
	    { "215.644", "214.707", "-0.436%" },
	    { "299.905", "301.951", "+0.678%" },
	    { "326.985", "320.861", "-1.909%" } },
	  "0.847870 large 0.848016 0.813886 0.879709 0.847632 0.813242 0.879161" },
	{ "http",
	  "complete",
	  "total download",
	  { { "340.480", "378.841", "+10.126%" },
	    { "391.955", "407.112", "+3.723%" },
	    { "439.032", "467.832", "+6.156%" },
	    { "491.811", "498.385", "+1.319%" },
	    { "519.259", "518.096", "-0.224%" } },
	  "0.843298 large 0.843523 0.810824 0.873806 0.843088 0.810456 0.873654" },
};

enum { PRINTED = sizeof(printed) / sizeof(printed[0]) };

static int create(void **state)
{
	struct published *published = malloc(sizeof(*published));

	assert_non_null(published);
	published_create(published);
	*state = published;
	return 0;
}

static int destroy(void **state)
{
	published_release(*state);
	free(*state);
	return 0;
}

#define published_test(f) cmocka_unit_test_setup_teardown(f, create, destroy)

/* The @number-th line from 0, cut at commas into @fields; returns how many. @text is cut up. */
static unsigned split(char *text, unsigned number, char *fields[], unsigned most)
{
	char *line = text;
	unsigned count = 0;

	while (number-- > 0) {
		line = strchr(line, '\n');
		assert_non_null(line);
		line++;
	}
	line = strndup(line, strcspn(line, "\n"));
	for (char *rest = line, *field; (field = strsep(&rest, ","));) {
		assert_true(count < most);
		fields[count++] = field;
	}
	return count;
}

static void percentiles_csv_begins_with_the_published_columns(void **state)
{
	const struct published *published = *state;
	char *text = published_print(&published->report, nl_report_percentiles_csv);

	assert_int_equal(strncmp(text,
	                         "protocol,metric,percentile,local_ns,remote_ns,local_us,remote_us,"
	                         "local_improvement_percent,",
	                         90),
	                 0);
	for (unsigned i = 0; i < PRINTED * NL_PERCENTILE_COUNT; i++) {
		const unsigned row = i / NL_PERCENTILE_COUNT;
		const char *const *us = printed[row].us[i % NL_PERCENTILE_COUNT];
		char *fields[16] = { NULL };
		char rounded[32];

		check_case("%s %s %s", printed[row].protocol, printed[row].metric,
		           nl_percentiles[i % NL_PERCENTILE_COUNT].label);
		assert_number(split(text, i + 1, fields, 16), 14);
		assert_text(fields[0], printed[row].protocol);
		assert_text(fields[1], printed[row].metric);
		assert_text(fields[2], nl_percentiles[i % NL_PERCENTILE_COUNT].label);
		assert_number(strtoull(fields[3], NULL, 10), llround(strtod(us[0], NULL) * 1e3));
		assert_number(strtoull(fields[4], NULL, 10), llround(strtod(us[1], NULL) * 1e3));
		assert_text(fields[5], us[0]);
		assert_text(fields[6], us[1]);
		assert_number(strlen(strchr(fields[7], '.') + 1), 9);
		snprintf(rounded, sizeof(rounded), "%+.3f%%", strtod(fields[7], NULL));
		assert_text(rounded, us[2]);
		free(fields[0]);
	}
	free(text);
}

static void effects_csv_begins_with_the_published_columns(void **state)
{
	const struct published *published = *state;
	char *text = published_print(&published->report, nl_report_effects_csv);

	assert_has(text, "protocol,metric,samples_per_placement,A_local_faster,magnitude,"
	                 "blocked_A_mean,blocked_A_ci_low,blocked_A_ci_high,"
	                 "paired_local_faster_probability,paired_ci_low,paired_ci_high,");
	for (unsigned i = 0; i < PRINTED; i++) {
		char *fields[48] = { NULL };
		char row[256];

		check_case("%s %s", printed[i].protocol, printed[i].metric);
		assert_number(split(text, i + 1, fields, 48), 31);
		assert_text(fields[0], printed[i].protocol);
		assert_text(fields[1], printed[i].metric);
		assert_text(fields[2], "17166137");
		snprintf(row, sizeof(row), "%.8s %s %.8s %.8s %.8s %.8s %.8s %.8s", fields[3],
		         fields[4], fields[5], fields[6], fields[7], fields[8], fields[9],
		         fields[10]);
		assert_text(row, printed[i].effect);
		assert_number(strlen(fields[3]), 11);
		assert_text(fields[11], "96");
		free(fields[0]);
	}
	free(text);
}

/* Each row as in the documentation, of both tables. */
static void markdown_has_the_published_tables(void **state)
{
	const struct published *published = *state;
	char *text = published_print(&published->report, nl_report_markdown);

	assert_has(text,
	           "\nImprovement is (remote - local) / remote: positive where local is faster.\n");
	for (unsigned i = 0; i < PRINTED; i++) {
		char magnitude[16];
		char n[7][16];
		char row[256];

		check_case("%s %s", printed[i].protocol, printed[i].metric);
		for (unsigned k = 0; k < NL_PERCENTILE_COUNT; k++) {
			snprintf(row, sizeof(row), "| %s | %s | %s | %s | %s |\n", printed[i].label,
			         nl_percentiles[k].label, printed[i].us[k][0], printed[i].us[k][1],
			         printed[i].us[k][2]);
			assert_has(text, row);
		}
		assert_number(sscanf(printed[i].effect, "%15s %15s %15s %15s %15s %15s %15s %15s",
		                     n[0], magnitude, n[1], n[2], n[3], n[4], n[5], n[6]),
		              8);
		snprintf(row, sizeof(row), "| %s | %s | %s | %s [%s, %s] | %s [%s, %s] |\n",
		         printed[i].label, n[0], magnitude, n[1], n[2], n[3], n[4], n[5], n[6]);
		assert_has(text, row);
	}
	free(text);
}

/* The words of a line of a table, one blank between them. */
static void squeeze(char *text)
{
	char *to = text;

	for (char *from = text; *from; from++)
		if (*from != ' ' || (to > text && to[-1] != ' '))
			*to++ = *from;
	*to = '\0';
}

static void text_has_the_published_figures(void **state)
{
	const struct published *published = *state;
	char *text = published_print(&published->report, nl_report_text);

	assert_has(text,
	           "IMPROVEMENT: (remote - local) / remote, positive where local was faster.");
	squeeze(text);
	for (unsigned i = 0; i < PRINTED; i++) {
		char row[256];

		check_case("%s %s", printed[i].protocol, printed[i].metric);
		for (unsigned k = 0; k < NL_PERCENTILE_COUNT; k++) {
			snprintf(row, sizeof(row), "\n%s %s ", nl_percentiles[k].label,
			         printed[i].us[k][0]);
			assert_has(text, row);
			snprintf(row, sizeof(row), " %s ", printed[i].us[k][2]);
			assert_has(text, row);
		}
		snprintf(row, sizeof(row), "\n%s %.8s ", printed[i].label, printed[i].effect);
		assert_has(text, row);
	}
	free(text);
}

static void check_width(const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
		size_t len = strcspn(line, "\n");

		/* The last column, a path, is as long as it is. */
		if (len > LINE_MAX_WIDTH && !strstr(line, ".nlt"))
			fail_msg("%zu columns: %.*s", len, (int)len, line);
	}
}

static void no_line_of_text_is_too_wide(void **state)
{
	struct published *published = *state;
	char *text = published_print(&published->report, nl_report_text);

	check_width(text);
	free(text);
	/* As long as the labels that analyze takes. */
	published->comparisons[0].a.label = "a-label-of-32-characters-in-all-";
	published->comparisons[0].b.label = "b-label-of-32-characters-in-all-";
	text = published_print(&published->report, nl_report_text);
	check_width(text);
	free(text);
}

/* ---- what is not known, or not kind ---- */

static void forget(struct nl_comparison *comparison)
{
	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		struct nl_effect *effect = &comparison->effects[metric];
		struct nl_side *a = &comparison->a_sides[metric];

		effect->is_paired = false;
		effect->block_shift.has_interval = false;
		effect->permutation_p = NAN;
		effect->blocked_interval = (struct np_interval){ NAN, NAN };
		effect->merged_blocks = 0;
		a->drift.lag1 = NAN;
		a->percentiles[4].low_ns = 0;
		a->percentiles[4].high_ns = 0;
		a->percentiles[3].high_ns = 0;
		comparison->b_sides[metric].percentiles[0].ns = 0;
	}
}

static void what_is_not_known_is_empty_null_or_a_dash(void **state)
{
	struct published *published = *state;
	char *fields[48] = { NULL };
	json_t *document;
	char *text;

	forget(&published->comparisons[0]);

	text = published_print(&published->report, nl_report_effects_csv);
	assert_number(split(text, 1, fields, 48), 31);
	for (unsigned i = 0; i < 31; i++)
		assert_number(!fields[i] || !*fields[i], i == 6 || i == 7 || (i >= 8 && i <= 10) ||
		                                                 i == 14 || i == 17 || i == 18 ||
		                                                 i == 19 || i == 24);
	free(fields[0]);
	free(text);

	text = published_print(&published->report, nl_report_percentiles_csv);
	assert_has(text, "memcache,response_ttfb,p50,76905,0,76.905,0.000,,");
	assert_has(text,
	           "memcache,response_ttfb,p99.99,146593,182470,146.593,182.470,19.661862224,,,");
	free(text);

	document = nl_report_json(&published->report);
	text = json_dumps(document, JSON_COMPACT);
	assert_has(text, "\"paired_local_faster_probability\":null");
	assert_has(text, "\"merged_blocks\":null");
	assert_has(text, "\"permutation_p\":null");
	assert_has_not(text, "nan");
	free(text);
	json_decref(document);

	text = published_print(&published->report, nl_report_text);
	squeeze(text);
	assert_has(text, "\np99.99 146.593 - 182.470 182.288, 182.652 +19.662%");
	assert_has(text, "\np99.9 135.241 135.106, - 131.901");
	assert_has_not(text, "nan");
	free(text);
	text = published_print(&published->report, nl_report_markdown);
	assert_has_not(text, "nan");
	free(text);
}

static void text_of_traces_and_users_stays_text(void **state)
{
	struct published *published = *state;
	struct nl_comparison *comparison = &published->comparisons[0];
	json_t *document;
	char *text;

	comparison->protocol = "a,\"b\n|\xff\x1b[31m";
	comparison->a.label = "x|`y`\n\x1b[2J";
	published->report.source = "run|<b>\x1b";

	text = published_print(&published->report, nl_report_percentiles_csv);
	assert_has(text, "\n\"a,\"\"b\n|\xff\x1b[31m\",response_ttfb,p50,");
	free(text);
	text = published_print(&published->report, nl_report_text);
	assert_has_not(text, "\x1b");
	free(text);
	text = published_print(&published->report, nl_report_markdown);
	assert_has_not(text, "\x1b");
	assert_has_not(text, "<b>");
	assert_has(text, "x\\|\\`y\\`");
	free(text);
	document = nl_report_json(&published->report);
	assert_non_null(document);
	json_decref(document);
}

static void a_protocol_that_is_not_told_is_called_unknown(void **state)
{
	struct published *published = *state;
	json_t *document;
	char *text;

	published->comparisons[1].protocol = NULL;
	document = nl_report_json(&published->report);
	assert_non_null(json_object_get(json_object_get(document, "protocols"), "unknown"));
	json_decref(document);
	text = published_print(&published->report, nl_report_percentiles_csv);
	assert_has(text, "\nunknown,complete,p99.99,519259,518096,");
	free(text);
}

/* ---- JSON ---- */

/* json_path, as in "protocols.http.metrics". */
static const json_t *find(const json_t *document, const char *path)
{
	char *copy = strdup(path);

	assert_non_null(copy);
	for (char *rest = copy, *key; document && (key = strsep(&rest, "/"));)
		document = json_object_get(document, key);
	free(copy);
	if (!document)
		fail_msg("%s is not there", path);
	return document;
}

static void json_has_the_published_keys(void **state)
{
	static const char *const paths[] = {
		"run_dir",
		"analysis/percentile_method",
		"analysis/A_orientation",
		"analysis/blocks",
		"analysis/bootstrap_repetitions",
		"analysis/bootstrap_seed",
		"analysis/chunk_size",
		"analysis/thresholds",
		"protocols/memcache/local_trace",
		"protocols/memcache/remote_trace",
		"protocols/http/sample_count",
		"protocols/http/key_sequence_matched",
		"protocols/http/local_elapsed_seconds",
		"protocols/http/remote_elapsed_seconds",
		"protocols/http/metrics/response_ttfb/block_A_min",
		"protocols/http/metrics/payload_ttfb/block_A_max",
		"protocols/http/metrics/complete/percentiles/p99.9/local_us",
		"sample_count_per_case",
	};
	const struct published *published = *state;
	json_t *document = nl_report_json(&published->report);
	char *text = json_dumps(document, JSON_COMPACT);

	assert_int_equal(strncmp(text, "{\"schema\":\"numakit/analysis/1\",", 31), 0);
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		find(document, paths[i]);
	assert_number(json_integer_value(find(document, "sample_count_per_case")),
	              PUBLISHED_SAMPLES);
	assert_text(json_string_value(find(document, "protocols/http/local/key_sequence_hash")),
	            "0xf1691d253d2f550e");
	assert_true(json_array_size(find(document, "protocols/http/verdict")) > 6);
	free(text);
	json_decref(document);
}

static void counts_that_differ_are_no_common_count(void **state)
{
	struct published *published = *state;
	json_t *document;

	published->comparisons[1].samples = 5;
	document = nl_report_json(&published->report);
	assert_true(json_is_null(find(document, "sample_count_per_case")));
	json_decref(document);
}

/* Validates the document, whose reference it takes, by the schema of that name. */
static void validate(const struct published *published, json_t *document, const char *schema)
{
	static const char script[] =
		"import json, sys; from jsonschema import Draft202012Validator as V; "
		"e = list(V(json.load(open(sys.argv[1]))).iter_errors(json.load(open(sys.argv[2])))); "
		"[print(x.json_path, x.message, file=sys.stderr) for x in e]; sys.exit(len(e) > 0)";
	char command[1024];
	char path[300];
	FILE *out;

	snprintf(path, sizeof(path), "%s/document.json", published->dir);
	out = fopen(path, "we");
	assert_non_null(out);
	assert_number(np_json_write(document, out), 0);
	fclose(out);
	snprintf(command, sizeof(command), "/usr/bin/python3 -c '%s' %s/docs/schema/%s %s", script,
	         NUMAKIT_SOURCE_DIR, schema, path);
	assert_number(system(command), 0);
}

static void documents_are_as_their_schemas_say(void **state)
{
	struct published *published = *state;
	const struct nl_comparison *comparison = &published->comparisons[0];
	struct nl_report empty = { .source = "" };
	json_t *details;
	json_t *outcome;

	if (system("/usr/bin/python3 -c 'import jsonschema' 2>/dev/null") != 0) {
		print_message("skipped: /usr/bin/python3 has no jsonschema\n");
		skip();
	}
	validate(published, nl_report_json(&published->report), "analysis-1.json");
	validate(published, nl_report_json(&empty), "analysis-1.json");
	forget(&published->comparisons[0]);
	published->comparisons[0].design = NL_DESIGN_UNKNOWN;
	published->comparisons[1].protocol = NULL;
	details = json_pack("{s:b, s:i}", "pinned", 1, "cpu", 4);
	outcome = json_pack("{s:{s:i, s:i}}", "noise_after", "gaps", 0, "duration_ns", 5);
	for (unsigned i = 0; i < 2; i++) {
		const struct published_trace trace = {
			.about = { .arms = { "a", "b c" }, .arm_count = 2, .details = details },
			.end = { .why = "stopped\n" },
			.outcome = outcome,
		};

		published_retrace(published, &published->comparisons[i], 0, &trace, true);
	}
	json_decref(details);
	json_decref(outcome);
	assert_ptr_equal(comparison->a.trace, comparison->b.trace);
	validate(published, nl_report_json(&published->report), "analysis-1.json");
}

/* ---- files ---- */

static unsigned count_files(const char *directory)
{
	DIR *dir = opendir(directory);
	unsigned count = 0;

	assert_non_null(dir);
	for (const struct dirent *entry; (entry = readdir(dir));)
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void a_report_is_four_files(void **state)
{
	static const char *const names[] = { "latency_percentiles.csv", "latency_effects.csv",
		                             "latency_analysis.json", "latency_analysis.md" };
	const struct published *published = *state;
	struct np_error err = { 0 };
	char directory[300];

	snprintf(directory, sizeof(directory), "%s/analysis", published->dir);
	/* The second time instead of the first. */
	for (unsigned times = 0; times < 2; times++) {
		assert_np_ok(nl_report_write(&published->report, directory, &err), &err);
		assert_number(count_files(directory), 4);
	}
	for (unsigned i = 0; i < 4; i++) {
		struct stat status;
		char path[400];

		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		assert_number(stat(path, &status), 0);
		assert_true(status.st_size > 1000);
	}
}

static void a_file_that_cannot_be_written_is_not_there(void **state)
{
	const struct published *published = *state;
	struct np_error err = { 0 };
	char directory[300];
	char path[400];

	snprintf(directory, sizeof(directory), "%s/no/analysis", published->dir);
	assert_fails(nl_report_write(&published->report, directory, &err), -ENOENT, &err,
	             "no/analysis: No such file");

	snprintf(directory, sizeof(directory), "%s/analysis", published->dir);
	snprintf(path, sizeof(path), "%s/latency_effects.csv", directory);
	assert_number(mkdir(directory, 0777), 0);
	assert_number(mkdir(path, 0777), 0);
	err = (struct np_error){ 0 };
	assert_fails(nl_report_write(&published->report, directory, &err), -EISDIR, &err,
	             "latency_effects.csv: Is a directory");
	/* The one before, and what stood in the way. */
	assert_number(count_files(directory), 2);
}

/* A disk that is full. */
static void a_failed_write_is_told(void **state)
{
	static int (*const prints[])(const struct nl_report *report, FILE *out) = {
		nl_report_text, nl_report_markdown, nl_report_percentiles_csv, nl_report_effects_csv
	};
	const struct published *published = *state;

	for (unsigned i = 0; i < 4; i++) {
		FILE *out = fopen("/dev/full", "we");

		assert_non_null(out);
		assert_number(prints[i](&published->report, out), -ENOSPC);
		fclose(out);
	}
}

/* ---- one arm ---- */

static struct nl_description describe(const struct nl_comparison *comparison)
{
	struct nl_description description = {
		.input = comparison->a,
		.samples = comparison->samples,
		.elapsed_ns = comparison->elapsed_a_ns,
		.key_hash = comparison->key_hash_a,
		.block_count = comparison->block_count,
	};

	memcpy(description.sides, comparison->a_sides, sizeof(description.sides));
	return description;
}

static void an_arm_is_described_with_intervals(void **state)
{
	const struct published *published = *state;
	struct nl_description description = describe(&published->comparisons[0]);
	char *text = NULL;
	json_t *document;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_number(nl_description_text(&description, 1, out), 0);
	fclose(out);
	check_width(text);
	squeeze(text);
	assert_has(text, "17166137 requests in 98 min 25 s, key sequence 0xf1691d253d2f550e\n");
	assert_has(text,
	           "\np99.9 135.241 135.106, 135.376 217.761 217.544, 217.978 467.726 467.259, "
	           "468.193\n");
	assert_has(text, "\nresponse TTFB 69.214 77.674 234.548\n");
	free(text);
	document = nl_description_json(&description);
	assert_number(json_integer_value(find(document, "metrics/complete/percentiles/p99.9/ns")),
	              467726);
	assert_number(
		json_integer_value(find(document, "metrics/complete/percentiles/p99.9/ci_low_ns")),
		467259);
	json_decref(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		published_test(percentiles_csv_begins_with_the_published_columns),
		published_test(effects_csv_begins_with_the_published_columns),
		published_test(markdown_has_the_published_tables),
		published_test(text_has_the_published_figures),
		published_test(no_line_of_text_is_too_wide),
		published_test(what_is_not_known_is_empty_null_or_a_dash),
		published_test(text_of_traces_and_users_stays_text),
		published_test(a_protocol_that_is_not_told_is_called_unknown),
		published_test(json_has_the_published_keys),
		published_test(counts_that_differ_are_no_common_count),
		published_test(documents_are_as_their_schemas_say),
		published_test(a_report_is_four_files),
		published_test(a_file_that_cannot_be_written_is_not_there),
		published_test(a_failed_write_is_told),
		published_test(an_arm_is_described_with_intervals),
	};

	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
