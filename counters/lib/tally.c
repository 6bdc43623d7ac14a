/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums of sums: each sample is added to its series, to the place's class and to the class
 * everywhere, by the same rule. A sum is known in an interval when all its parts are.
 */
#include "tally_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How much less than all of the time still is all of it. */
enum { NOT_WHOLE_PER_MILLE = 1 };

/* ---- life ---- */

static bool is_same_place(const struct nc_place *a, const struct nc_place *b)
{
	if (a->has_socket != b->has_socket)
		return false;
	return a->has_socket ? a->socket == b->socket : a->node == b->node;
}

static struct nc_place place_of(const struct nc_series *series)
{
	return (struct nc_place){ .has_socket = series->has_socket,
		                  .socket = series->has_socket ? series->socket : 0,
		                  .node = series->has_socket ? 0 : series->node };
}

static int compare_places(const void *left, const void *right)
{
	const struct nc_place *a = left;
	const struct nc_place *b = right;

	if (a->has_socket != b->has_socket)
		return a->has_socket ? -1 : 1;
	if (a->socket != b->socket)
		return a->socket < b->socket ? -1 : 1;
	return a->node == b->node ? 0 : a->node < b->node ? -1 : 1;
}

size_t nc_tally_find_place(const struct nc_tally *tally, const struct nc_place *place)
{
	size_t i = 0;

	while (i < tally->place_count && !is_same_place(&tally->places[i], place))
		i++;
	return i;
}

static void find_places(struct nc_tally *tally, const struct nc_series *series)
{
	for (size_t i = 0; i < tally->series_count; i++) {
		struct nc_place place = place_of(&series[i]);

		if (nc_tally_find_place(tally, &place) == tally->place_count)
			tally->places[tally->place_count++] = place;
	}
	qsort(tally->places, tally->place_count, sizeof(*tally->places), compare_places);
	for (size_t i = 0; i < tally->series_count; i++) {
		struct nc_place place = place_of(&series[i]);

		tally->place_of[i] = nc_tally_find_place(tally, &place);
	}
}

static struct adding *adding_of(struct nc_tally *tally, size_t place, enum nc_class what)
{
	return &tally->by_place[place * NC_CLASS_COUNT + what];
}

static void find_sums(struct nc_tally *tally, const struct nc_series *series)
{
	for (size_t i = 0; i < tally->series_count; i++) {
		tally->by_series[i].sum.exists = true;
		adding_of(tally, tally->place_of[i], series[i].what)->sum.exists = true;
		tally->everywhere[series[i].what].sum.exists = true;
	}
}

int nc_tally_create(const struct nc_series *series, size_t count, struct nc_tally **ret,
                    struct np_error *err)
{
	struct nc_tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return np_error_sys(err, ENOMEM, "sums");
	tally->series = series;
	tally->series_count = count;
	tally->places = calloc(count + 1, sizeof(*tally->places));
	tally->place_of = calloc(count + 1, sizeof(*tally->place_of));
	tally->by_series = calloc(count + 1, sizeof(*tally->by_series));
	if (tally->places && tally->place_of)
		find_places(tally, tally->series);
	tally->by_place =
		calloc((tally->place_count + 1) * NC_CLASS_COUNT, sizeof(*tally->by_place));
	if (!tally->places || !tally->place_of || !tally->by_series || !tally->by_place) {
		nc_tally_free(tally);
		return np_error_sys(err, ENOMEM, "sums of %zu series", count);
	}
	find_sums(tally, tally->series);
	*ret = tally;
	return 0;
}

void nc_tally_free(struct nc_tally *tally)
{
	if (!tally)
		return;
	free(tally->by_place);
	free(tally->by_series);
	free(tally->place_of);
	free(tally->places);
	free(tally);
}

void nc_tally_expect_sockets(struct nc_tally *tally, size_t count)
{
	tally->expected_sockets = count;
}

/* ---- adding ---- */

static void begin_interval(struct adding *adding)
{
	adding->interval = (struct interval){ .is_known = true, .coverage = 1 };
}

static void add_value(struct adding *adding, const struct nc_value *value)
{
	struct interval *interval = &adding->interval;

	interval->delta += value->delta;
	interval->is_known &= value->is_known;
	if (value->coverage < interval->coverage)
		interval->coverage = value->coverage;
	if (value->note != NC_NOTE_NONE)
		adding->sum.note = value->note;
}

/*
 * Counters are read one after another, which in a short interval is much of it: the rest that is left
 * when a program ends would often be the busiest by that alone.
 */
static bool is_rest(const struct nc_tally *tally, const struct nc_sample *sample)
{
	return sample->interval_ns < tally->interval_ns / 2;
}

bool nc_sum_is_whole(const struct nc_sum *sum)
{
	return sum->unknown_intervals == 0 && sum->coverage > 1 - NOT_WHOLE_PER_MILLE / 1000.0;
}

static void take_peak(struct nc_sum *sum, uint64_t delta, const struct nc_sample *sample)
{
	double per_s = (double)delta * 1e9 / (double)sample->interval_ns;

	if (sum->has_peak && per_s <= sum->peak_per_s)
		return;
	sum->has_peak = true;
	sum->peak_per_s = per_s;
	sum->peak_at_ns = sample->elapsed_ns;
}

static void end_interval(struct adding *adding, const struct nc_sample *sample, bool rest)
{
	struct interval *interval = &adding->interval;
	struct nc_sum *sum = &adding->sum;

	if (!sum->exists)
		return;
	adding->all_ns += (double)sample->interval_ns;
	if (interval->is_known) {
		sum->is_known = true;
		sum->total += interval->delta;
		sum->known_ns += sample->interval_ns;
		adding->counted_ns += interval->coverage * (double)sample->interval_ns;
		if (!rest && sample->interval_ns > 0)
			take_peak(sum, interval->delta, sample);
	} else {
		sum->unknown_intervals++;
	}
	sum->coverage = adding->all_ns > 0 ? adding->counted_ns / adding->all_ns : 0;
}

void nc_tally_add(struct nc_tally *tally, const struct nc_sample *sample)
{
	size_t cells = tally->place_count * NC_CLASS_COUNT;
	bool rest = is_rest(tally, sample);

	for (size_t i = 0; i < cells; i++)
		begin_interval(&tally->by_place[i]);
	for (size_t i = 0; i < NC_CLASS_COUNT; i++)
		begin_interval(&tally->everywhere[i]);
	for (size_t i = 0; i < tally->series_count; i++) {
		begin_interval(&tally->by_series[i]);
		add_value(&tally->by_series[i], &sample->values[i]);
		add_value(adding_of(tally, tally->place_of[i], tally->series[i].what),
		          &sample->values[i]);
		add_value(&tally->everywhere[tally->series[i].what], &sample->values[i]);
	}
	for (size_t i = 0; i < tally->series_count; i++)
		end_interval(&tally->by_series[i], sample, rest);
	for (size_t i = 0; i < cells; i++)
		end_interval(&tally->by_place[i], sample, rest);
	for (size_t i = 0; i < NC_CLASS_COUNT; i++)
		end_interval(&tally->everywhere[i], sample, rest);
	tally->elapsed_ns = sample->elapsed_ns;
	tally->interval_ns = sample->interval_ns;
	tally->intervals++;
}

/* ---- asking ---- */

uint64_t nc_tally_elapsed_ns(const struct nc_tally *tally)
{
	return tally->elapsed_ns;
}

uint64_t nc_tally_intervals(const struct nc_tally *tally)
{
	return tally->intervals;
}

size_t nc_tally_place_count(const struct nc_tally *tally)
{
	return tally->place_count;
}

const struct nc_place *nc_tally_place(const struct nc_tally *tally, size_t index)
{
	return &tally->places[index];
}

const struct nc_sum *nc_tally_sum(const struct nc_tally *tally, size_t place, enum nc_class what)
{
	return &tally->by_place[place * NC_CLASS_COUNT + what].sum;
}

const struct nc_sum *nc_tally_everywhere(const struct nc_tally *tally, enum nc_class what)
{
	return &tally->everywhere[what].sum;
}

const struct nc_sum *nc_tally_series(const struct nc_tally *tally, size_t series)
{
	return &tally->by_series[series].sum;
}

/* ---- the remote share ---- */

const char *nc_share_name(enum nc_share_basis basis)
{
	static const char *const names[] = {
		[NC_SHARE_HOME] = "home",   [NC_SHARE_LINKS] = "links", [NC_SHARE_CPU] = "cpu",
		[NC_SHARE_LOADS] = "loads", [NC_SHARE_PAGES] = "pages", [NC_SHARE_NONE] = "",
	};

	return names[basis <= NC_SHARE_NONE ? basis : NC_SHARE_NONE];
}

enum nc_share_basis nc_tally_remote_share(const struct nc_tally *tally, size_t place,
                                          double *ret_share)
{
	/* By basis: what is remote, and what is the rest of the whole. */
	static const struct {
		nc_classes remote, rest;
	} bases[NC_SHARE_NONE] = {
		[NC_SHARE_HOME] = { NC_CLASS_BIT(NC_CLASS_HOME_READ_REMOTE) |
		                            NC_CLASS_BIT(NC_CLASS_HOME_WRITE_REMOTE),
		                    NC_CLASS_BIT(NC_CLASS_HOME_READ_LOCAL) |
		                            NC_CLASS_BIT(NC_CLASS_HOME_WRITE_LOCAL) },
		[NC_SHARE_LINKS] = { NC_CLASS_BIT(NC_CLASS_INTERCONNECT_IN),
		                     NC_CLASS_BIT(NC_CLASS_MEMORY_READ) },
		[NC_SHARE_CPU] = { NC_CLASS_BIT(NC_CLASS_CPU_MEMORY_REMOTE),
		                   NC_CLASS_BIT(NC_CLASS_CPU_MEMORY_LOCAL) },
		[NC_SHARE_LOADS] = { NC_CLASS_BIT(NC_CLASS_LOADS_REMOTE),
		                     NC_CLASS_BIT(NC_CLASS_LOADS_LOCAL) },
		[NC_SHARE_PAGES] = { NC_CLASS_BIT(NC_CLASS_PAGES_REMOTE),
		                     NC_CLASS_BIT(NC_CLASS_PAGES_LOCAL) },
	};

	for (unsigned basis = 0; basis < NC_SHARE_NONE; basis++) {
		double sums[2] = { 0, 0 };
		bool is_known = true;

		for (unsigned what = 0; what < NC_CLASS_COUNT; what++) {
			const struct nc_sum *sum = nc_tally_sum(tally, place, what);
			bool is_remote = bases[basis].remote & NC_CLASS_BIT(what);

			if (!is_remote && !(bases[basis].rest & NC_CLASS_BIT(what)))
				continue;
			is_known &= sum->is_known;
			sums[is_remote] += (double)sum->total;
		}
		if (!is_known || sums[0] + sums[1] <= 0)
			continue;
		*ret_share = sums[1] / (sums[0] + sums[1]);
		return (enum nc_share_basis)basis;
	}
	return NC_SHARE_NONE;
}
