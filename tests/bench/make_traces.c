/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * make_traces DIRECTORY ROWS SEED: a run directory of four cases with that many requests each, as
 * samples.nlt and, for others to read, each metric as DIRECTORY/CASE/METRIC.i64, an array of 64-bit
 * integers. Latencies as of 256 KiB objects over 10 Gbit/s: log-normal, hanging together, with stalls;
 * those of the perverse cases are 5 % longer. analysis.py runs it.
 */
#include "../../server/client/analysis.h"
#include "../../server/client/sequence.h"
#include "simulate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { KEYS = 16000, BUFFER_BYTES = 1 << 20 };

static const struct case_about {
	const char *name;
	const char *protocol;
	double factor;
} cases[] = {
	{ "01-normal-memcache", "memcache", 1 },
	{ "02-normal-http", "http", 1 },
	{ "03-perverse-memcache", "memcache", 1.05 },
	{ "04-perverse-http", "http", 1.05 },
};

enum { CASE_COUNT = sizeof(cases) / sizeof(cases[0]) };

struct output {
	struct nl_trace_writer *writer;
	FILE *arrays[NL_METRIC_COUNT];
};

static int output_open(struct output *output, const char *directory, const struct case_about *about,
                       struct np_error *err)
{
	const struct nl_trace_about trace = {
		.protocol = about->protocol,
		.arms = { "" },
		.arm_count = 1,
		.keys = KEYS,
	};
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, about->name);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return np_error_sys(err, errno, "%s", path);
	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		snprintf(path, sizeof(path), "%s/%s/%s.i64", directory, about->name,
		         nl_metric_id((enum nl_metric)i));
		output->arrays[i] = fopen(path, "we");
		if (!output->arrays[i])
			return np_error_sys(err, errno, "%s", path);
		setvbuf(output->arrays[i], NULL, _IOFBF, BUFFER_BYTES);
	}
	snprintf(path, sizeof(path), "%s/%s/samples.nlt", directory, about->name);
	return nl_trace_writer_create(path, NL_TRACE_NLT, &trace, &output->writer, err);
}

static int output_add(struct output *output, const struct nl_row *row, struct np_error *err)
{
	const uint64_t values[NL_METRIC_COUNT] = { row->response_ns, row->payload_ns,
		                                   row->total_ns };

	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		if (fwrite(&values[i], sizeof(values[i]), 1, output->arrays[i]) != 1)
			return np_error_sys(err, errno, "%s", nl_metric_id((enum nl_metric)i));
	}
	return nl_trace_writer_add(output->writer, row, err);
}

static int output_close(struct output *output, int rc, struct np_error *err)
{
	const struct nl_trace_end end = { .is_complete = true };

	for (unsigned i = 0; i < NL_METRIC_COUNT; i++) {
		if (output->arrays[i] && fclose(output->arrays[i]) == EOF && rc == 0)
			rc = np_error_sys(err, errno, "%s", nl_metric_id((enum nl_metric)i));
	}
	if (rc == 0)
		return nl_trace_writer_finish(output->writer, &end, NULL, err);
	nl_trace_writer_abandon(output->writer);
	return rc;
}

/* @start_ns becomes when the next case may begin. */
static int make(const struct case_about *about, uint64_t rows, uint64_t seed, struct output *output,
                uint64_t *start_ns, struct np_error *err)
{
	struct simulation response = { .phi = 0.9,
		                       .median_ns = 78000 * about->factor,
		                       .sigma = 0.08,
		                       .stall_share = 1e-4,
		                       .stall_ns = 200000 };
	struct simulation rest = { .phi = 0.5, .median_ns = 58000 * about->factor, .sigma = 0.06 };
	struct nl_sequence sequence;
	int rc = 0;

	simulation_begin(&response, seed);
	simulation_begin(&rest, seed + 1);
	nl_sequence_begin(&sequence, NL_SEQUENCE_SEED, KEYS, 0);
	for (uint64_t i = 0; i < rows && rc == 0; i++) {
		struct nl_row row = {
			.start_ns = *start_ns,
			.response_ns = simulation_next(&response),
			.key = nl_sequence_next(&sequence),
		};

		row.payload_ns = row.response_ns + simulation_next(&rest);
		row.total_ns = row.payload_ns + 3 * (row.payload_ns - row.response_ns) +
		               np_rng_below(&rest.rng, 20000);
		*start_ns += row.total_ns + 300;
		rc = output_add(output, &row, err);
	}
	*start_ns += UINT64_C(60) * 1000000000;
	return rc;
}

int main(int argc, char **argv)
{
	uint64_t rows = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	uint64_t start_ns = UINT64_C(1000000000000);
	struct np_error err = { 0 };
	int rc = 0;

	if (rows == 0) {
		fputs("usage: make_traces DIRECTORY ROWS SEED\n", stderr);
		return 2;
	}
	for (unsigned i = 0; i < CASE_COUNT && rc == 0; i++) {
		struct output output = { 0 };

		rc = output_open(&output, argv[1], &cases[i], &err);
		if (rc == 0)
			rc = make(&cases[i], rows, strtoull(argv[3], NULL, 10) + 2 * (uint64_t)i,
			          &output, &start_ns, &err);
		rc = output_close(&output, rc, &err);
	}
	if (rc < 0)
		fprintf(stderr, "make_traces: %s\n", err.text);
	return rc < 0 ? 1 : 0;
}
