/* SPDX-License-Identifier: BSD-3-Clause */
/* What a trace of a serial run must be: the first row that is not so is named. */
#include "traces.h"

#include "../../../server/client/sequence.h"

enum { ROWS = 10 };

static const struct {
	const char *name;
	size_t row;
	int64_t start, response, payload, total; /* what is added to them */
	uint32_t key;                            /* instead, when not 0 */
	const char *part;                        /* NULL = fine */
} cases[] = {
	{ "as it was", 5, 0, 0, 0, 0, 0, NULL },
	{ "sent when the reply was there", 5, -400000 + 338004, 0, 0, 0, 0, NULL },
	{ "sent before that", 5, -400000 + 338003, 0, 0, 0, 0,
	  "row 5: it was sent 1 ns before the row before was answered" },
	{ "starts that go back", 5, -400001, 0, 0, 0, 0,
	  "row 5: it starts 1 ns before the row before" },
	{ "a reply that took too long", 4, 0, 0, 0, 62000, 0,
	  "row 5: it was sent 4 ns before the row before was answered" },
	{ "all at once", 5, 0, 135005 - 77005, 0, 135005 - 338005, 0, NULL },
	{ "response after payload", 5, 0, 135005 - 77005 + 1, 0, 0, 0,
	  "row 5: response TTFB 135006 ns, but payload TTFB 135005 ns" },
	{ "payload after total", 5, 0, 0, 0, 135005 - 338005 - 1, 0,
	  "row 5: payload TTFB 135005 ns, but total 135004 ns" },
	{ "the last key", 5, 0, 0, 0, 0, 15999, NULL },
	{ "a key beyond it", 5, 0, 0, 0, 0, 16000, "row 5: key 16000, but there are 16000" },
	{ "the first row", 0, 0, 0, 338000, 0, 0, "row 0: payload TTFB 473000 ns, but total" },
	{ "the last row", 9, 0, 0, 0, -338009, 0, "row 9: payload TTFB" },
	{ "the end of time", 9, 0, 0, 0, -1 - 86400003600000 - 338009, 0, NULL },
	{ "beyond it", 9, 1, 0, 0, -1 - 86400003600000 - 338009, 0,
	  "row 9: it ends beyond 64 bits" },
};

static void a_row_that_cannot_be_of_a_serial_run_is_named(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nl_trace_about about = one_arm;
		struct nl_row rows[ROWS];
		struct np_error err = { 0 };
		struct nl_trace *trace;
		uint64_t hash = 0;
		int rc;

		check_case("%s", cases[i].name);
		for (size_t row = 0; row < ROWS; row++)
			rows[row] = plain_row(row);
		rows[cases[i].row].start_ns += (uint64_t)cases[i].start;
		rows[cases[i].row].response_ns += (uint64_t)cases[i].response;
		rows[cases[i].row].payload_ns += (uint64_t)cases[i].payload;
		rows[cases[i].row].total_ns += (uint64_t)cases[i].total;
		if (cases[i].key)
			rows[cases[i].row].key = cases[i].key;
		about.keys = 16000;
		write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &about, rows, ROWS);
		trace = open_trace(path_of(state, "a.nlt"));
		rc = nl_trace_check(trace, &hash, &err);
		if (cases[i].part)
			assert_fails(rc, -EBADMSG, &err, cases[i].part);
		else
			assert_np_ok(rc, &err);
		nl_trace_close(trace);
	}
}

static void the_row_before_may_be_in_another_chunk(void **state)
{
	enum { COUNT = 65537 };
	struct nl_row *rows = calloc(COUNT, sizeof(*rows));
	struct np_error err = { 0 };
	struct nl_trace *trace;
	uint64_t hash = 0;

	assert_non_null(rows);
	for (size_t i = 0; i < COUNT; i++)
		rows[i] = plain_row(i);
	rows[COUNT - 2].total_ns = 400001;
	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &one_arm, rows, COUNT);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_fails(nl_trace_check(trace, &hash, &err), -EBADMSG, &err,
	             "a.nlt: row 65536: it was sent 1 ns before");
	nl_trace_close(trace);
	free(rows);
}

/* The hash that `numalat sequence` prints, and goblin-bench. */
static uint64_t hash_of(uint32_t keys, uint64_t requests)
{
	uint64_t hash = NL_SEQUENCE_HASH_BASIS;
	struct nl_sequence sequence;

	nl_sequence_begin(&sequence, NL_SEQUENCE_SEED, keys, 0);
	for (uint64_t i = 0; i < requests; i++)
		hash = nl_sequence_hash(hash, nl_sequence_next(&sequence));
	return nl_sequence_fold(NL_SEQUENCE_HASH_BASIS, hash);
}

static void each_arm_has_the_hash_of_its_keys(void **state)
{
	enum { COUNT = 100000 };
	static const uint64_t counts[3] = { 50000, 30000, 20000 };
	struct nl_row *rows = calloc(COUNT, sizeof(*rows));
	struct nl_sequence sequences[3];
	uint64_t left[3];
	uint64_t hashes[3];
	struct np_error err = { 0 };
	struct nl_trace *trace;

	assert_non_null(rows);
	memcpy(left, counts, sizeof(left));
	for (unsigned arm = 0; arm < 3; arm++)
		nl_sequence_begin(&sequences[arm], NL_SEQUENCE_SEED, 16000, 0);
	for (size_t i = 0; i < COUNT; i++) {
		unsigned arm = (unsigned)(i * 2654435761u >> 9) % 3;

		while (left[arm] == 0)
			arm = (arm + 1) % 3;
		left[arm]--;
		rows[i] = plain_row(i);
		rows[i].arm = (uint8_t)arm;
		rows[i].key = nl_sequence_next(&sequences[arm]);
	}
	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &three_arms, rows, COUNT);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_np_ok(nl_trace_check(trace, hashes, &err), &err);
	for (unsigned arm = 0; arm < 3; arm++)
		assert_true(hashes[arm] == hash_of(16000, counts[arm]));
	nl_trace_close(trace);
	free(rows);
}

static void an_empty_trace_is_in_order(void **state)
{
	uint64_t hashes[3] = { 0 };
	struct np_error err = { 0 };
	struct nl_trace *trace;

	write_trace(path_of(state, "a.nlt"), NL_TRACE_NLT, &three_arms, NULL, 0);
	trace = open_trace(path_of(state, "a.nlt"));
	assert_np_ok(nl_trace_check(trace, hashes, &err), &err);
	for (unsigned arm = 0; arm < 3; arm++)
		assert_true(hashes[arm] == hash_of(16000, 0));
	nl_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_row_that_cannot_be_of_a_serial_run_is_named),
		host_test(the_row_before_may_be_in_another_chunk),
		host_test(each_arm_has_the_hash_of_its_keys),
		host_test(an_empty_trace_is_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
