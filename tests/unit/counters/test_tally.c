/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums, shares, agreement and the matrix, from series and samples made by hand. */
#include "../check.h"

#include <errno.h>
#include <numacount/tally.h>
#include <stdlib.h>

#define SECOND_NS 1000000000u

/* A ring of four: link 0 of socket s goes to link 1 of socket s + 1. */
enum { RING = 4, RING_SERIES = RING * 4 };

static void make_ring(struct nc_series series[RING_SERIES], bool has_peers)
{
	static const enum nc_class classes[] = { NC_CLASS_INTERCONNECT_OUT,
		                                 NC_CLASS_INTERCONNECT_IN };
	size_t n = 0;

	for (size_t k = 0; k < 2; k++)
		for (unsigned socket = 0; socket < RING; socket++)
			for (unsigned link = 0; link < 2; link++)
				series[n++] = (struct nc_series){
					.what = classes[k],
					.has_socket = true,
					.socket = socket,
					.has_link = true,
					.link = link,
					.has_peer = has_peers,
					.peer = (socket + (link == 0 ? 1 : RING - 1)) % RING,
					.peer_link = 1 - link,
					.counter_count = 1,
				};
}

/* What socket s sends over link 0 is (s + 1) units, over link 1 ten times that. */
static void fill_ring(struct nc_value values[RING_SERIES], uint64_t unit)
{
	for (unsigned socket = 0; socket < RING; socket++) {
		unsigned from_left = (socket + RING - 1) % RING;
		unsigned from_right = (socket + 1) % RING;
		struct nc_value *out = &values[(size_t)2 * socket];
		struct nc_value *in = &values[(size_t)2 * (RING + socket)];

		out[0] = (struct nc_value){ true, (socket + 1) * unit, 0, 1, 1, NC_NOTE_NONE };
		out[1] = (struct nc_value){ true, 10 * (socket + 1) * unit, 0, 1, 1, NC_NOTE_NONE };
		in[0] = (struct nc_value){
			true, 10 * (from_right + 1) * unit, 0, 1, 1, NC_NOTE_NONE
		};
		in[1] = (struct nc_value){ true, (from_left + 1) * unit, 0, 1, 1, NC_NOTE_NONE };
	}
}

static struct nc_sample sample_of(const struct nc_value *values, uint64_t elapsed_ns,
                                  uint64_t interval_ns)
{
	return (struct nc_sample){ .elapsed_ns = elapsed_ns,
		                   .interval_ns = interval_ns,
		                   .values = values };
}

static struct nc_tally *create(const struct nc_series *series, size_t count)
{
	struct nc_tally *tally = NULL;
	struct np_error err = { 0 };

	assert_int_equal(nc_tally_create(series, count, &tally, &err), 0);
	return tally;
}

static void links_of_a_socket_are_added_up(void **state)
{
	struct nc_series series[RING_SERIES] = { 0 };
	struct nc_value values[RING_SERIES] = { 0 };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_tally *tally;
	const struct nc_sum *sum;

	(void)state;
	make_ring(series, true);
	fill_ring(values, 1000);
	tally = create(series, RING_SERIES);

	nc_tally_add(tally, &sample);
	nc_tally_add(tally, &sample);

	assert_int_equal(nc_tally_place_count(tally), RING);
	assert_int_equal(nc_tally_place(tally, 3)->socket, 3);
	sum = nc_tally_sum(tally, 2, NC_CLASS_INTERCONNECT_OUT);
	assert_true(sum->is_known);
	assert_int_equal(sum->total, 2 * 33000);
	assert_true(sum->coverage == 1);
	assert_true(sum->peak_per_s == 33000);
	assert_int_equal(nc_tally_everywhere(tally, NC_CLASS_INTERCONNECT_OUT)->total, 220000);
	assert_int_equal(nc_tally_everywhere(tally, NC_CLASS_INTERCONNECT_IN)->total, 220000);
	assert_false(nc_tally_sum(tally, 2, NC_CLASS_MEMORY_READ)->exists);
	nc_tally_free(tally);
}

static void the_busiest_interval_is_kept_with_its_time(void **state)
{
	const struct nc_series series = { .what = NC_CLASS_MEMORY_READ, .has_socket = true };
	const uint64_t deltas[] = { 100, 900, 300 };
	struct nc_tally *tally = create(&series, 1);
	const struct nc_sum *sum;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct nc_value value = { true, deltas[i], 0, 1, 1, NC_NOTE_NONE };
		struct nc_sample sample =
			sample_of(&value, (i + 1) * (uint64_t)SECOND_NS / 2, SECOND_NS / 2);

		nc_tally_add(tally, &sample);
	}

	sum = nc_tally_sum(tally, 0, NC_CLASS_MEMORY_READ);
	assert_int_equal(sum->total, 1300);
	assert_true(sum->peak_per_s == 1800);
	assert_int_equal(sum->peak_at_ns, SECOND_NS);
	nc_tally_free(tally);
}

/* What is left of an interval when a program ends, and a tick that was late and the one behind it. */
static void the_rest_of_an_interval_is_not_the_busiest(void **state)
{
	const struct nc_series series = { .what = NC_CLASS_MEMORY_READ, .has_socket = true };
	static const struct {
		uint64_t length_ns;
		uint64_t delta;
	} rows[] = {
		{ SECOND_NS, 1000 },     { 9 * (uint64_t)SECOND_NS / 5, 1800 },
		{ SECOND_NS / 5, 900 },  { SECOND_NS, 1100 },
		{ SECOND_NS / 1000, 9 },
	};
	struct nc_tally *tally = create(&series, 1);
	const struct nc_sum *sum;
	uint64_t elapsed_ns = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nc_value value = { true, rows[i].delta, 0, 1, 1, NC_NOTE_NONE };
		struct nc_sample sample;

		elapsed_ns += rows[i].length_ns;
		sample = sample_of(&value, elapsed_ns, rows[i].length_ns);
		nc_tally_add(tally, &sample);
	}

	sum = nc_tally_sum(tally, 0, NC_CLASS_MEMORY_READ);
	assert_int_equal(sum->total, 4809);
	assert_true(sum->peak_per_s == 1100);
	assert_int_equal(sum->peak_at_ns, 4 * (uint64_t)SECOND_NS);
	nc_tally_free(tally);
}

/* However long the run: one unknown interval in 10^4 is no rounding. */
static void a_total_that_lacks_an_interval_is_not_whole(void **state)
{
	const struct nc_series series = { .what = NC_CLASS_MEMORY_READ, .has_socket = true };
	struct nc_tally *tally = create(&series, 1);
	const struct nc_sum *sum = nc_tally_sum(tally, 0, NC_CLASS_MEMORY_READ);

	(void)state;
	for (unsigned i = 1; i <= 10000; i++) {
		struct nc_value value = { true, 100, 0, 1, 1, NC_NOTE_NONE };
		struct nc_sample sample = sample_of(&value, i * (uint64_t)SECOND_NS, SECOND_NS);

		if (i == 5000)
			value = (struct nc_value){ false, 0, 0, 0, 1, NC_NOTE_BUSY };
		nc_tally_add(tally, &sample);
		assert_true(nc_sum_is_whole(sum) == (i < 5000));
	}

	assert_true(sum->coverage > 0.9998);
	assert_int_equal(sum->unknown_intervals, 1);
	assert_int_equal(sum->total, 999900);
	/* The rate is of the time that was counted. */
	assert_int_equal(sum->known_ns, 9999 * (uint64_t)SECOND_NS);
	nc_tally_free(tally);
}

static void an_interval_of_which_a_part_is_unknown_is_not_added(void **state)
{
	const struct nc_series series[] = {
		{ .what = NC_CLASS_INTERCONNECT_OUT, .has_socket = true, .has_link = true },
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .has_link = true,
		  .link = 1 },
	};
	struct nc_value values[] = { { true, 50, 0, 1, 1, NC_NOTE_NONE },
		                     { false, 0, 0, 0, 0, NC_NOTE_GONE } };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_tally *tally = create(series, 2);
	const struct nc_sum *sum = nc_tally_sum(tally, 0, NC_CLASS_INTERCONNECT_OUT);

	(void)state;
	nc_tally_add(tally, &sample);
	assert_true(sum->exists);
	assert_false(sum->is_known);
	assert_int_equal(sum->total, 0);
	assert_int_equal(sum->note, NC_NOTE_GONE);
	assert_false(sum->has_peak);
	assert_true(nc_tally_series(tally, 0)->is_known);

	values[1] = (struct nc_value){ true, 70, 0, 0.5, 0.5, NC_NOTE_MULTIPLEXED };
	nc_tally_add(tally, &sample);
	assert_true(sum->is_known);
	assert_int_equal(sum->total, 120);
	assert_true(sum->coverage == 0.25); /* half of one interval of two */
	nc_tally_free(tally);
}

static void nodes_without_cpus_come_after_the_sockets(void **state)
{
	const struct nc_series series[] = {
		{ .what = NC_CLASS_PAGES_LOCAL, .node = 9 },
		{ .what = NC_CLASS_PAGES_LOCAL, .has_socket = true, .socket = 1 },
		{ .what = NC_CLASS_PAGES_LOCAL, .has_socket = true, .socket = 0 },
	};
	struct nc_tally *tally = create(series, 3);

	(void)state;
	assert_int_equal(nc_tally_place_count(tally), 3);
	assert_int_equal(nc_tally_place(tally, 0)->socket, 0);
	assert_int_equal(nc_tally_place(tally, 1)->socket, 1);
	assert_false(nc_tally_place(tally, 2)->has_socket);
	assert_int_equal(nc_tally_place(tally, 2)->node, 9);
	nc_tally_free(tally);
}

/* ---- shares ---- */

static void the_remote_share_rests_on_the_best_that_is_counted(void **state)
{
	static const struct {
		enum nc_class classes[4];
		uint64_t deltas[4];
		size_t count;
		enum nc_share_basis basis;
		double share;
	} rows[] = {
		{ { NC_CLASS_MEMORY_READ, NC_CLASS_INTERCONNECT_IN },
		  { 300, 100 },
		  2,
		  NC_SHARE_LINKS,
		  0.25 },
		{ { NC_CLASS_HOME_READ_LOCAL, NC_CLASS_HOME_READ_REMOTE, NC_CLASS_HOME_WRITE_LOCAL,
		    NC_CLASS_HOME_WRITE_REMOTE },
		  { 60, 20, 10, 10 },
		  4,
		  NC_SHARE_HOME,
		  0.3 },
		{ { NC_CLASS_CPU_MEMORY_TOTAL, NC_CLASS_CPU_MEMORY_LOCAL,
		    NC_CLASS_CPU_MEMORY_REMOTE },
		  { 10, 8, 2 },
		  3,
		  NC_SHARE_CPU,
		  0.2 },
		{ { NC_CLASS_LOADS_LOCAL, NC_CLASS_LOADS_REMOTE },
		  { 1, 3 },
		  2,
		  NC_SHARE_LOADS,
		  0.75 },
		{ { NC_CLASS_PAGES_LOCAL, NC_CLASS_PAGES_REMOTE },
		  { 9, 1 },
		  2,
		  NC_SHARE_PAGES,
		  0.1 },
		/* One side alone tells no share, and neither does nothing at all. */
		{ { NC_CLASS_LOADS_REMOTE }, { 5 }, 1, NC_SHARE_NONE, -1 },
		{ { NC_CLASS_PAGES_LOCAL, NC_CLASS_PAGES_REMOTE }, { 0, 0 }, 2, NC_SHARE_NONE, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nc_series series[4] = { 0 };
		struct nc_value values[4] = { 0 };
		struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
		struct nc_tally *tally;
		double share = -1;

		for (size_t k = 0; k < rows[i].count; k++) {
			series[k].what = rows[i].classes[k];
			series[k].has_socket = true;
			values[k] =
				(struct nc_value){ true, rows[i].deltas[k], 0, 1, 1, NC_NOTE_NONE };
		}
		tally = create(series, rows[i].count);
		nc_tally_add(tally, &sample);
		assert_int_equal(nc_tally_remote_share(tally, 0, &share), rows[i].basis);
		assert_true(share > rows[i].share - 1e-12 && share < rows[i].share + 1e-12);
		nc_tally_free(tally);
	}
}

/* ---- both ends ---- */

static void both_ends_of_each_link_are_compared(void **state)
{
	struct nc_series series[RING_SERIES] = { 0 };
	struct nc_value values[RING_SERIES] = { 0 };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_tally *tally;
	struct nc_agreement *items = NULL;
	int count;

	(void)state;
	make_ring(series, true);
	fill_ring(values, 1000);
	values[0].delta = 500; /* socket 0 sent half of what socket 1 received on its link 1 */
	tally = create(series, RING_SERIES);
	nc_tally_add(tally, &sample);

	count = nc_tally_agreements(tally, &items, NULL);
	assert_int_equal(count, 9); /* eight links, and all together */
	assert_true(items[0].has_links);
	assert_int_equal(items[0].from, 0);
	assert_int_equal(items[0].to, 1);
	assert_int_equal(items[0].to_link, 1);
	assert_true(items[0].difference == -0.5);
	for (int i = 1; i < 8; i++)
		assert_true(items[i].difference == 0);
	assert_true(items[8].is_everywhere);
	assert_int_equal(items[8].out_bytes, 109500);
	assert_int_equal(items[8].in_bytes, 110000);
	free(items);
	nc_tally_free(tally);
}

static void without_a_link_map_only_the_whole_is_compared(void **state)
{
	struct nc_series series[RING_SERIES] = { 0 };
	struct nc_value values[RING_SERIES] = { 0 };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_agreement *items = NULL;
	struct nc_tally *tally;

	(void)state;
	make_ring(series, false);
	fill_ring(values, 7);
	tally = create(series, RING_SERIES);
	nc_tally_add(tally, &sample);

	assert_int_equal(nc_tally_agreements(tally, &items, NULL), 1);
	assert_true(items[0].is_everywhere);
	assert_true(items[0].difference == 0);
	free(items);
	nc_tally_free(tally);
}

/* ---- the matrix ---- */

static void the_matrix_follows_the_link_map(void **state)
{
	struct nc_series series[RING_SERIES] = { 0 };
	struct nc_value values[RING_SERIES] = { 0 };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_matrix matrix;
	struct nc_tally *tally;

	(void)state;
	make_ring(series, true);
	fill_ring(values, 1000);
	tally = create(series, RING_SERIES);
	nc_tally_add(tally, &sample);

	assert_int_equal(nc_tally_matrix(tally, &matrix, NULL), 0);
	assert_int_equal(matrix.size, RING);
	assert_false(matrix.is_inferred);
	assert_string_equal(matrix.basis, "link map");
	assert_int_equal(matrix.cells[0 * RING + 1].total, 1000);
	assert_int_equal(matrix.cells[0 * RING + 3].total, 10000);
	assert_int_equal(matrix.cells[3 * RING + 0].total, 4000);
	assert_false(matrix.cells[0 * RING + 2].exists); /* no link goes there */
	assert_false(matrix.cells[0].exists);
	assert_int_equal(matrix.columns[1].total, 1000 + 30000);
	nc_matrix_release(&matrix);
	nc_tally_free(tally);
}

static void without_a_link_map_four_sockets_have_sums_alone(void **state)
{
	struct nc_series series[RING_SERIES] = { 0 };
	struct nc_value values[RING_SERIES] = { 0 };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_matrix matrix;
	struct nc_tally *tally;

	(void)state;
	make_ring(series, false);
	fill_ring(values, 1000);
	tally = create(series, RING_SERIES);
	nc_tally_add(tally, &sample);

	assert_int_equal(nc_tally_matrix(tally, &matrix, NULL), 0);
	assert_true(matrix.is_inferred);
	assert_null(matrix.basis);
	for (size_t i = 0; i < (size_t)RING * RING; i++)
		assert_false(matrix.cells[i].is_known);
	assert_int_equal(matrix.rows[2].total, 33000);
	nc_matrix_release(&matrix);
	nc_tally_free(tally);
}

static void of_two_sockets_the_pairs_are_certain(void **state)
{
	const struct nc_series series[] = {
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .socket = 0,
		  .has_link = true },
		{ .what = NC_CLASS_INTERCONNECT_OUT,
		  .has_socket = true,
		  .socket = 5,
		  .has_link = true },
	};
	struct nc_value values[] = { { true, 50, 0, 1, 1, NC_NOTE_NONE },
		                     { true, 70, 0, 1, 1, NC_NOTE_NONE } };
	struct nc_sample sample = sample_of(values, SECOND_NS, SECOND_NS);
	struct nc_tally *tally = create(series, 2);
	struct nc_matrix matrix;

	(void)state;
	nc_tally_add(tally, &sample);
	assert_int_equal(nc_tally_matrix(tally, &matrix, NULL), 0);
	assert_string_equal(matrix.basis, "two sockets");
	assert_int_equal(matrix.sockets[1], 5);
	assert_int_equal(matrix.cells[1].total, 50);
	assert_int_equal(matrix.cells[2].total, 70);
	/* The hardware counts no arrivals here: they are what the other one sent. */
	assert_int_equal(matrix.columns[0].total, 70);
	assert_int_equal(matrix.columns[1].total, 50);
	nc_matrix_release(&matrix);

	/* A third socket, at which nothing counts, may have had its part. */
	nc_tally_expect_sockets(tally, 3);
	assert_int_equal(nc_tally_matrix(tally, &matrix, NULL), 0);
	assert_true(matrix.is_inferred);
	assert_null(matrix.basis);
	assert_false(matrix.cells[1].exists);
	nc_matrix_release(&matrix);
	nc_tally_free(tally);
}

static void without_links_there_is_no_matrix(void **state)
{
	const struct nc_series series = { .what = NC_CLASS_MEMORY_READ, .has_socket = true };
	struct nc_tally *tally = create(&series, 1);
	struct np_error err = { 0 };
	struct nc_matrix matrix;

	(void)state;
	assert_int_equal(nc_tally_matrix(tally, &matrix, &err), -ENODATA);
	assert_string_equal(err.text, "no link between sockets is counted here");
	nc_tally_free(tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(links_of_a_socket_are_added_up),
		cmocka_unit_test(the_busiest_interval_is_kept_with_its_time),
		cmocka_unit_test(the_rest_of_an_interval_is_not_the_busiest),
		cmocka_unit_test(a_total_that_lacks_an_interval_is_not_whole),
		cmocka_unit_test(an_interval_of_which_a_part_is_unknown_is_not_added),
		cmocka_unit_test(nodes_without_cpus_come_after_the_sockets),
		cmocka_unit_test(the_remote_share_rests_on_the_best_that_is_counted),
		cmocka_unit_test(both_ends_of_each_link_are_compared),
		cmocka_unit_test(without_a_link_map_only_the_whole_is_compared),
		cmocka_unit_test(the_matrix_follows_the_link_map),
		cmocka_unit_test(without_a_link_map_four_sockets_have_sums_alone),
		cmocka_unit_test(of_two_sockets_the_pairs_are_certain),
		cmocka_unit_test(without_links_there_is_no_matrix),
	};

	return cmocka_run_group_tests_name("tally", tests, NULL, NULL);
}
