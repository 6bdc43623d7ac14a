/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From which socket to which, and whether both ends agree. Pairs are known where the kernel says
 * where links end, or where there are two sockets; all else would be a guess and is not made.
 */
#include "tally_data.h"

#include <errno.h>
#include <stdlib.h>

static const struct nc_sum *sum_at(const struct nc_tally *tally, size_t place, enum nc_class what)
{
	return nc_tally_sum(tally, place, what);
}

static size_t count_sockets(const struct nc_tally *tally)
{
	size_t count = 0;

	while (count < tally->place_count && tally->places[count].has_socket)
		count++;
	return count;
}

/* Exactly two, both of which count. */
static bool has_two_sockets(const struct nc_tally *tally)
{
	return count_sockets(tally) == 2 &&
	       (tally->expected_sockets == 0 || tally->expected_sockets == 2);
}

static size_t find_socket(const struct nc_tally *tally, unsigned socket)
{
	const struct nc_place place = { .has_socket = true, .socket = socket };

	return nc_tally_find_place(tally, &place);
}

/* ---- agreement ---- */

static void compare_ends(struct nc_agreement *agreement, const struct nc_sum *out,
                         const struct nc_sum *in)
{
	double larger = (double)(out->total > in->total ? out->total : in->total);

	agreement->is_estimate = !nc_sum_is_whole(out) || !nc_sum_is_whole(in);
	agreement->out_bytes = out->total;
	agreement->in_bytes = in->total;
	agreement->difference = larger > 0 ? ((double)out->total - (double)in->total) / larger : 0;
}

/* The series that counts what arrives at the other end; series_count when there is none. */
static size_t find_other_end(const struct nc_tally *tally, const struct nc_series *out)
{
	size_t i = 0;

	for (; i < tally->series_count; i++) {
		const struct nc_series *in = &tally->series[i];

		if (in->what == NC_CLASS_INTERCONNECT_IN && in->has_socket && in->has_link &&
		    in->socket == out->peer && in->link == out->peer_link)
			break;
	}
	return i;
}

static size_t compare_links(const struct nc_tally *tally, struct nc_agreement *items)
{
	size_t count = 0;

	for (size_t i = 0; i < tally->series_count; i++) {
		const struct nc_series *out = &tally->series[i];
		size_t other;

		if (out->what != NC_CLASS_INTERCONNECT_OUT || !out->has_peer || !out->has_link)
			continue;
		other = find_other_end(tally, out);
		if (other == tally->series_count || !nc_tally_series(tally, i)->is_known ||
		    !nc_tally_series(tally, other)->is_known)
			continue;
		items[count] = (struct nc_agreement){
			.has_links = true,
			.from = out->socket,
			.from_link = out->link,
			.to = out->peer,
			.to_link = out->peer_link,
		};
		compare_ends(&items[count++], nc_tally_series(tally, i),
		             nc_tally_series(tally, other));
	}
	return count;
}

static size_t compare_two_sockets(const struct nc_tally *tally, struct nc_agreement *items)
{
	size_t count = 0;

	for (size_t from = 0; from < 2; from++) {
		const struct nc_sum *out = sum_at(tally, from, NC_CLASS_INTERCONNECT_OUT);
		const struct nc_sum *in = sum_at(tally, 1 - from, NC_CLASS_INTERCONNECT_IN);

		if (!out->is_known || !in->is_known)
			continue;
		items[count] = (struct nc_agreement){ .from = tally->places[from].socket,
			                              .to = tally->places[1 - from].socket };
		compare_ends(&items[count++], out, in);
	}
	return count;
}

int nc_tally_agreements(const struct nc_tally *tally, struct nc_agreement **ret,
                        struct np_error *err)
{
	const struct nc_sum *out = nc_tally_everywhere(tally, NC_CLASS_INTERCONNECT_OUT);
	const struct nc_sum *in = nc_tally_everywhere(tally, NC_CLASS_INTERCONNECT_IN);
	struct nc_agreement *items = calloc(tally->series_count + 3, sizeof(*items));
	size_t count;

	if (!items)
		return np_error_sys(err, ENOMEM, "agreement of the links");
	count = compare_links(tally, items);
	if (count == 0 && has_two_sockets(tally))
		count = compare_two_sockets(tally, items);
	if (out->is_known && in->is_known) {
		items[count].is_everywhere = true;
		compare_ends(&items[count++], out, in);
	}
	*ret = items;
	return (int)count;
}

/* ---- matrix ---- */

static void add_sum(struct nc_sum *to, const struct nc_sum *from)
{
	if (!to->exists) {
		*to = *from;
		to->has_peak = false;
		return;
	}
	to->is_known &= from->is_known;
	to->total += from->total;
	to->unknown_intervals += from->unknown_intervals;
	if (from->known_ns < to->known_ns)
		to->known_ns = from->known_ns;
	if (from->coverage < to->coverage)
		to->coverage = from->coverage;
	if (from->note != NC_NOTE_NONE)
		to->note = from->note;
}

static bool fill_by_link_map(const struct nc_tally *tally, struct nc_matrix *matrix)
{
	bool found = false;

	for (size_t i = 0; i < tally->series_count; i++) {
		const struct nc_series *out = &tally->series[i];
		size_t from, to;

		if (out->what != NC_CLASS_INTERCONNECT_OUT || !out->has_socket)
			continue;
		if (!out->has_peer)
			return false;
		from = find_socket(tally, out->socket);
		to = find_socket(tally, out->peer);
		if (from >= matrix->size || to >= matrix->size)
			return false;
		add_sum(&matrix->cells[from * matrix->size + to], nc_tally_series(tally, i));
		found = true;
	}
	return found;
}

static void fill_pairs(const struct nc_tally *tally, struct nc_matrix *matrix)
{
	if (fill_by_link_map(tally, matrix)) {
		matrix->basis = "link map";
		return;
	}
	for (size_t i = 0; i < matrix->size * matrix->size; i++)
		matrix->cells[i] = (struct nc_sum){ 0 };
	if (!has_two_sockets(tally)) {
		matrix->is_inferred = true;
		return;
	}
	matrix->cells[1] = matrix->rows[0];
	matrix->cells[2] = matrix->rows[1];
	matrix->basis = "two sockets";
}

/* Where no arrivals are counted they are what the others sent, as far as that is known. */
static void fill_columns(struct nc_matrix *matrix)
{
	if (matrix->is_inferred)
		return;
	for (size_t to = 0; to < matrix->size; to++) {
		if (matrix->columns[to].exists)
			continue;
		for (size_t from = 0; from < matrix->size; from++)
			if (matrix->cells[from * matrix->size + to].exists)
				add_sum(&matrix->columns[to],
				        &matrix->cells[from * matrix->size + to]);
	}
}

int nc_tally_matrix(const struct nc_tally *tally, struct nc_matrix *ret, struct np_error *err)
{
	size_t size = count_sockets(tally);
	struct nc_matrix matrix = { .size = size };

	if (!nc_tally_everywhere(tally, NC_CLASS_INTERCONNECT_OUT)->exists &&
	    !nc_tally_everywhere(tally, NC_CLASS_INTERCONNECT_IN)->exists)
		return np_error_set(err, ENODATA, "no link between sockets is counted here");
	matrix.sockets = calloc(size + 1, sizeof(*matrix.sockets));
	matrix.cells = calloc(size * size + 1, sizeof(*matrix.cells));
	matrix.rows = calloc(size + 1, sizeof(*matrix.rows));
	matrix.columns = calloc(size + 1, sizeof(*matrix.columns));
	if (!matrix.sockets || !matrix.cells || !matrix.rows || !matrix.columns) {
		nc_matrix_release(&matrix);
		return np_error_sys(err, ENOMEM, "matrix of %zu sockets", size);
	}
	for (size_t i = 0; i < size; i++) {
		matrix.sockets[i] = tally->places[i].socket;
		matrix.rows[i] = *sum_at(tally, i, NC_CLASS_INTERCONNECT_OUT);
		matrix.columns[i] = *sum_at(tally, i, NC_CLASS_INTERCONNECT_IN);
	}
	fill_pairs(tally, &matrix);
	fill_columns(&matrix);
	*ret = matrix;
	return 0;
}

void nc_matrix_release(struct nc_matrix *matrix)
{
	free(matrix->sockets);
	free(matrix->cells);
	free(matrix->rows);
	free(matrix->columns);
	*matrix = (struct nc_matrix){ 0 };
}
