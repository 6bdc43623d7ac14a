/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount matrix [-- PROGRAM]: from which socket to which.
 */
#include "measure.h"
#include "report.h"

#include "../probe/base/json.h"
#include "../probe/base/table.h"
#include <numacount/tally.h>

#include <errno.h>
#include <stdlib.h>

enum { INTERVAL_MS = 1000, NUMBER_SIZE = 32 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nc_measure_args *args = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args;
		state->child_inputs[1] = args->common;
		return 0;
	case ARGP_KEY_ARG:
		nc_measure_take_command(args, state);
		return 0;
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &args->common->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.args_doc = "[-- PROGRAM [ARGUMENT...]]",
	.doc = "Counts, while PROGRAM runs or for a second, how much data goes from each socket to "
	       "each other one.\v"
	       "Pairs are known where the kernel tells where the links end, and where there are two "
	       "sockets. Elsewhere what each socket sent and received is printed, marked as "
	       "inferred: by whom from whom is not known.",
	.children = (const struct argp_child[]){ { &nc_measure_argp, 0, NULL, 0 },
	                                         { &nc_common_argp, 0, NULL, 0 },
	                                         { 0 } },
};

struct run {
	struct nc_measure measure;
	struct nc_tally *tally;
};

static int take_sample(void *context, const struct nc_sample *sample, struct np_error *err)
{
	struct run *run = context;

	(void)err;
	nc_tally_add(run->tally, sample);
	return 0;
}

/* ---- text ---- */

static void set_rate(struct np_table *table, size_t column, const struct nc_sum *sum)
{
	if (sum->is_known)
		np_table_set(table, column, "%s%.3f", nc_sum_is_whole(sum) ? "" : "~",
		             nc_report_rate(sum) / 1e9);
}

static struct np_table *create_table(const struct nc_matrix *matrix, struct np_column *columns,
                                     char (*names)[NUMBER_SIZE])
{
	size_t count = 0;

	columns[count++] = (struct np_column){ "FROM\\TO", true };
	for (size_t i = 0; i < matrix->size; i++) {
		snprintf(names[i], NUMBER_SIZE, "%u", matrix->sockets[i]);
		columns[count++] = (struct np_column){ names[i], true };
	}
	columns[count++] = (struct np_column){ "SENT", true };
	return np_table_create(columns, count);
}

static int print_text(const struct nc_matrix *matrix, double seconds, FILE *out)
{
	struct np_column *columns = calloc(matrix->size + 2, sizeof(*columns));
	char(*names)[NUMBER_SIZE] = calloc(matrix->size + 1, sizeof(*names));
	struct np_table *table = NULL;
	int rc;

	if (columns && names)
		table = create_table(matrix, columns, names);
	for (size_t i = 0; i < matrix->size; i++) {
		np_table_add_row(table);
		np_table_set(table, 0, "%u", matrix->sockets[i]);
		for (size_t j = 0; j < matrix->size; j++)
			set_rate(table, j + 1, &matrix->cells[i * matrix->size + j]);
		set_rate(table, matrix->size + 1, &matrix->rows[i]);
	}
	np_table_add_row(table);
	np_table_set(table, 0, "RECEIVED");
	for (size_t i = 0; i < matrix->size; i++)
		set_rate(table, i + 1, &matrix->columns[i]);
	fprintf(out, "GB/s of data from socket to socket, over %.3f s; ", seconds);
	if (matrix->is_inferred)
		fputs("inferred: only sums are known, as the kernel does not tell where the links "
		      "end\n\n",
		      out);
	else
		fprintf(out, "pairs by %s\n\n", matrix->basis);
	rc = np_table_print(table, out);
	if (rc == 0 && (fflush(out) == EOF || ferror(out)))
		rc = errno ? -errno : -EIO;
	np_table_free(table);
	free(names);
	free(columns);
	return rc;
}

/* ---- JSON ---- */

static json_t *sums_json(const struct nc_sum *sums, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		np_json_append(&array, np_json_number(sums[i].is_known, sums[i].total));
	return array;
}

static double least_coverage(const struct nc_matrix *matrix)
{
	double least = 1;

	for (size_t i = 0; i < matrix->size; i++) {
		if (matrix->rows[i].exists && matrix->rows[i].coverage < least)
			least = matrix->rows[i].coverage;
		if (matrix->columns[i].exists && matrix->columns[i].coverage < least)
			least = matrix->columns[i].coverage;
	}
	return least;
}

static json_t *matrix_json(const struct run *run, const struct nc_matrix *matrix)
{
	json_t *document = json_object();
	json_t *sockets = json_array();
	json_t *rows = json_array();

	for (size_t i = 0; i < matrix->size; i++) {
		np_json_append(&sockets, json_integer(matrix->sockets[i]));
		np_json_append(&rows, sums_json(&matrix->cells[i * matrix->size], matrix->size));
	}
	np_json_set_member(&document, "schema", json_string("numakit/matrix/1"));
	np_json_set_member(&document, "source",
	                   json_string(nc_source_name(nc_session_source(run->measure.session))));
	np_json_set_member(&document, "elapsed_ns",
	                   np_json_number(true, nc_tally_elapsed_ns(run->tally)));
	np_json_set_member(&document, "coverage", json_real(least_coverage(matrix)));
	np_json_set_member(&document, "inferred", json_boolean(matrix->is_inferred));
	np_json_set_member(&document, "basis", np_json_text(matrix->basis));
	np_json_set_member(&document, "sockets", sockets);
	np_json_set_member(&document, "bytes", rows);
	np_json_set_member(&document, "sent_bytes", sums_json(matrix->rows, matrix->size));
	np_json_set_member(&document, "received_bytes", sums_json(matrix->columns, matrix->size));
	return document;
}

/* ---- the run ---- */

/* Opens what is counted; without a link nothing is started. */
static int begin(const struct nc_measure_args *args, struct run *run, struct np_error *err)
{
	const struct nc_family *family;
	struct nc_matrix matrix;
	int rc = nc_measure_open(args, &run->measure, err);

	if (rc == 0)
		rc = nc_tally_create(nc_session_series(run->measure.session),
		                     nc_session_series_count(run->measure.session), &run->tally,
		                     err);
	if (rc < 0)
		return rc;
	family = nc_host_family(run->measure.host);
	if (family && family->link_ends_differ)
		return np_error_set(err, ENODATA,
		                    "%s counts at each socket its own reads and writes of others, "
		                    "and not what it sends: there is no matrix of that",
		                    family->title);
	rc = nc_tally_matrix(run->tally, &matrix, err);
	if (rc == 0)
		nc_matrix_release(&matrix);
	return rc;
}

static int print_matrix(const struct run *run, bool is_json, FILE *out, struct np_error *err)
{
	double seconds = (double)nc_tally_elapsed_ns(run->tally) / 1e9;
	struct nc_matrix matrix;
	int rc = nc_tally_matrix(run->tally, &matrix, err);

	if (rc < 0)
		return rc;
	if (is_json)
		rc = np_json_write(matrix_json(run, &matrix), out);
	else
		rc = print_text(&matrix, seconds, out);
	nc_matrix_release(&matrix);
	return rc < 0 ? np_error_sys(err, -rc, "%s", nc_cmd_stream_name(out)) : 0;
}

int nc_cmd_matrix(struct nc_common *common, int argc, char **argv)
{
	struct nc_measure_args args = { .common = common, .interval_ms = INTERVAL_MS };
	struct run run = { 0 };
	struct nc_measure_end end = { 0 };
	int status;
	int rc;

	if (np_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &args, &common->err) < 0 ||
	    nc_measure_check(&args, &common->err) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_USAGE);
	if (!args.command && args.duration_s <= 0)
		args.duration_s = 1;
	rc = begin(&args, &run, &common->err);
	if (rc == 0) {
		nc_tally_expect_sockets(run.tally,
		                        np_bitmap_count(nc_host_sockets(run.measure.host)));
		rc = nc_measure_run(&args, &run.measure, take_sample, &run, &end, &common->err);
	}
	if (rc == 0)
		rc = print_matrix(&run, common->json,
		                  args.command && !common->json ? stderr : stdout, &common->err);
	status = nc_measure_status(&end);
	if (rc < 0)
		status = nc_cmd_fail(&common->err, status ? status : NP_EXIT_NO);
	nc_tally_free(run.tally);
	nc_measure_close(&run.measure);
	return status;
}
