/* SPDX-License-Identifier: BSD-3-Clause */
#include "sequence.h"
#include "trace_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct check {
	const struct nl_trace *trace;
	uint64_t key_end; /* keys are below it */
	/* The request before. */
	uint64_t start_ns;
	uint64_t total_ns;
	uint64_t hashes[UINT8_MAX + 1];
	struct nl_trace_rows rows;
};

/* Only once something is wrong: names it. */
static int refuse(const struct check *check, const struct nl_trace_chunk *chunk, uint32_t i,
                  struct np_error *err)
{
	uint64_t start = check->rows.columns[NL_START][i];
	uint64_t response = check->rows.columns[NL_RESPONSE][i];
	uint64_t payload = check->rows.columns[NL_PAYLOAD][i];
	uint64_t total = check->rows.columns[NL_TOTAL][i];
	uint64_t key = check->rows.columns[NL_KEY][i];

	if (start < check->start_ns)
		np_error_set(err, EBADMSG, "it starts %" PRIu64 " ns before the row before",
		             check->start_ns - start);
	else if (start - check->start_ns < check->total_ns)
		np_error_set(err, EBADMSG,
		             "it was sent %" PRIu64 " ns before the row before was answered",
		             check->total_ns - (start - check->start_ns));
	else if (response > payload)
		np_error_set(err, EBADMSG,
		             "response TTFB %" PRIu64 " ns, but payload TTFB %" PRIu64 " ns",
		             response, payload);
	else if (payload > total)
		np_error_set(err, EBADMSG, "payload TTFB %" PRIu64 " ns, but total %" PRIu64 " ns",
		             payload, total);
	else if (key >= check->key_end)
		np_error_set(err, EBADMSG, "key %" PRIu64 ", but there are %" PRIu64, key,
		             check->key_end);
	else
		np_error_set(err, EBADMSG, "it ends beyond 64 bits of nanoseconds");
	return np_error_wrap(err, -EBADMSG, "%s: row %" PRIu64, check->trace->path,
	                     chunk->first_row + i);
}

/* The number of rows that are as they must be, up to the first that is not. */
static uint32_t check_times(struct check *check, uint32_t count)
{
	const uint64_t *starts = check->rows.columns[NL_START];
	const uint64_t *responses = check->rows.columns[NL_RESPONSE];
	const uint64_t *payloads = check->rows.columns[NL_PAYLOAD];
	const uint64_t *totals = check->rows.columns[NL_TOTAL];
	const uint64_t *keys = check->rows.columns[NL_KEY];
	uint64_t key_end = check->key_end;
	uint64_t start = check->start_ns;
	uint64_t total = check->total_ns;
	uint32_t i;

	for (i = 0; i < count; i++) {
		bool is_bad = (starts[i] < start) | (starts[i] - start < total) |
		              (responses[i] > payloads[i]) | (payloads[i] > totals[i]) |
		              (keys[i] >= key_end) | (totals[i] > UINT64_MAX - starts[i]);

		if (is_bad)
			break;
		start = starts[i];
		total = totals[i];
	}
	check->start_ns = start;
	check->total_ns = total;
	return i;
}

static void add_keys(struct check *check, uint32_t count)
{
	const uint64_t *keys = check->rows.columns[NL_KEY];
	const uint8_t *arms = check->rows.arms;
	uint64_t hash = check->hashes[0];

	if (check->trace->about.arm_count > 1) {
		for (uint32_t i = 0; i < count; i++)
			check->hashes[arms[i]] =
				nl_sequence_hash(check->hashes[arms[i]], (uint32_t)keys[i]);
		return;
	}
	/* The same with the hash in a register. */
	for (uint32_t i = 0; i < count; i++)
		hash = nl_sequence_hash(hash, (uint32_t)keys[i]);
	check->hashes[0] = hash;
}

static int check_chunks(struct check *check, struct nl_trace_source *source, struct np_error *err)
{
	for (size_t i = 0; i < check->trace->chunk_count; i++) {
		const struct nl_trace_chunk *chunk = &check->trace->chunks[i];
		uint32_t good;
		int rc = nl_trace_rows_load(source, chunk, &check->rows, err);

		if (rc < 0)
			return rc;
		good = check_times(check, chunk->rows);
		if (good < chunk->rows)
			return refuse(check, chunk, good, err);
		add_keys(check, chunk->rows);
	}
	return 0;
}

int nl_trace_check(struct nl_trace *trace, uint64_t *ret_key_hashes, struct np_error *err)
{
	struct nl_trace_source *source =
		nl_trace_source_create(trace->fd, trace->path, trace->has_arms);
	struct check *check = malloc(sizeof(*check));
	int rc;

	if (!source || !check) {
		rc = np_error_sys(err, ENOMEM, "%s", trace->path);
		goto out;
	}
	check->trace = trace;
	check->key_end = trace->about.keys > 0 ? trace->about.keys : UINT64_MAX;
	check->start_ns = 0;
	check->total_ns = 0;
	for (unsigned arm = 0; arm <= UINT8_MAX; arm++)
		check->hashes[arm] = NL_SEQUENCE_HASH_BASIS;
	rc = check_chunks(check, source, err);
	for (unsigned arm = 0; rc == 0 && arm < trace->about.arm_count; arm++)
		ret_key_hashes[arm] = nl_sequence_fold(NL_SEQUENCE_HASH_BASIS, check->hashes[arm]);
out:
	free(check);
	nl_trace_source_free(source);
	return rc;
}
