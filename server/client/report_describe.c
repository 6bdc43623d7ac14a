/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One arm alone, as text and as JSON.
 */
#include "report.h"
#include "report_json.h"
#include "report_table.h"
#include "report_words.h"

#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- text ---- */

static void add_percentiles(struct np_table *table, const struct nl_side *sides)
{
	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++) {
		np_table_add_row(table);
		np_table_set(table, 0, "%s", nl_percentiles[i].label);
		for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
			nl_table_set_percentile(table, 1 + 2 * (size_t)metric,
			                        &sides[metric].percentiles[i]);
	}
}

static int print_percentiles(const struct nl_description *description, FILE *out)
{
	static const struct np_column columns[] = {
		{ "us", false },      { "RESPONSE", true }, { "INTERVAL", true },
		{ "PAYLOAD", true },  { "INTERVAL", true }, { "TOTAL", true },
		{ "INTERVAL", true },
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	add_percentiles(table, description->sides);
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_ends(const struct nl_description *description, FILE *out)
{
	static const struct np_column columns[] = {
		{ "us", false }, { "LEAST", true }, { "MEAN", true }, { "GREATEST", true }
	};
	struct np_table *table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	int rc;

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++) {
		const struct nl_side *side = &description->sides[metric];

		np_table_add_row(table);
		np_table_set(table, 0, "%s", nl_metric_label((enum nl_metric)metric));
		np_table_set(table, 1, "%.3f", (double)side->least_ns / 1e3);
		np_table_set(table, 2, "%.3f", side->mean_ns / 1e3);
		np_table_set(table, 3, "%.3f", (double)side->greatest_ns / 1e3);
	}
	putc('\n', out);
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_drift(const struct nl_description *description, FILE *out)
{
	struct np_table *table = nl_drift_table_create(NULL);
	int rc;

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		nl_drift_table_add(table, (enum nl_metric)metric, "",
		                   &description->sides[metric].drift);
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_description(const struct nl_description *description, FILE *out)
{
	const char *arm = nl_arm_name(&description->input);
	char elapsed[NL_TIME_TEXT_SIZE];
	char name[2 * NL_NAME_TEXT_SIZE];
	int rc;

	if (arm)
		fprintf(out, "arm %s: ", np_error_quote(arm, name, sizeof(name)));
	fprintf(out, "%" PRIu64 " requests in %s, key sequence 0x%016" PRIx64 "\n\n",
	        description->samples, nl_elapsed_text(description->elapsed_ns, elapsed),
	        description->key_hash);
	rc = print_percentiles(description, out);
	if (rc == 0)
		rc = print_ends(description, out);
	if (rc < 0)
		return rc;
	fputc('\n', out);
	fprintf(out, "in %u block%s\n\n", description->block_count,
	        description->block_count == 1 ? "" : "s");
	return print_drift(description, out);
}

int nl_description_text(const struct nl_description *descriptions, size_t count, FILE *out)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		if (i > 0)
			putc('\n', out);
		rc = print_description(&descriptions[i], out);
	}
	if (rc == 0 && count > 0)
		fputs("\nIntervals: order statistics, which take requests for "
		      "independent." NL_DRIFT_LEGEND,
		      out);
	if (rc == 0 && fflush(out) == EOF)
		rc = errno ? -errno : -EIO;
	return rc == 0 && ferror(out) ? -EIO : rc;
}

/* ---- JSON ---- */

static json_t *metric_json(const struct nl_description *description, unsigned metric)
{
	const struct nl_side *side = &description->sides[metric];
	json_t *object = nl_side_json(side, description->block_count);
	json_t *percentiles = json_object();

	for (unsigned i = 0; i < NL_PERCENTILE_COUNT; i++)
		np_json_set_member(&percentiles, nl_percentiles[i].label,
		                   nl_percentile_json(&side->percentiles[i]));
	np_json_set_member(&object, "percentiles", percentiles);
	return object;
}

json_t *nl_description_json(const struct nl_description *description)
{
	json_t *object = json_object();
	json_t *metrics = json_object();

	for (unsigned metric = 0; metric < NL_METRIC_COUNT; metric++)
		np_json_set_member(&metrics, nl_metric_id((enum nl_metric)metric),
		                   metric_json(description, metric));
	np_json_set_member(&object, "samples", np_json_number(true, description->samples));
	np_json_set_member(&object, "elapsed_ns", np_json_number(true, description->elapsed_ns));
	np_json_set_member(&object, "key_sequence_hash", nl_hash_json(description->key_hash));
	np_json_set_member(&object, "blocks", json_integer(description->block_count));
	np_json_set_member(&object, "metrics", metrics);
	return object;
}
