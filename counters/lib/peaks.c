/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link's rate is read off its clock. Single readings of it go wrong (power saving, a glitch of
 * the register), so each interval votes for the standard rate that it is near to, and the rate with
 * most votes is the link's; what is near to none does not vote.
 */
#include "measured.h"

#include <numacount/peak.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Neighbouring standard rates are at least 8 % apart. */
#define RATE_TOLERANCE 0.035

struct nc_peaks {
	const struct nc_family *family; /* NULL = unknown */
	const struct nc_series *series;
	size_t series_count;
	size_t rate_count;
	uint64_t *votes;  /* series_count x rate_count; only of clocks */
	double *measured; /* by series, bytes/s; 0 = unknown */
};

static bool is_link(const struct nc_series *series)
{
	return series->has_link && series->has_socket &&
	       (series->what == NC_CLASS_INTERCONNECT_OUT ||
	        series->what == NC_CLASS_INTERCONNECT_IN);
}

/* Of links that join the same two sockets each carries its part of what was measured. */
static double count_parallel(const struct nc_peaks *peaks, const struct nc_series *series)
{
	unsigned count = 0;

	for (size_t i = 0; i < peaks->series_count; i++) {
		const struct nc_series *other = &peaks->series[i];

		count += is_link(other) && other->what == series->what &&
		         other->socket == series->socket && other->has_peer == series->has_peer &&
		         (!series->has_peer || other->peer == series->peer);
	}
	return count;
}

static void take_measured(struct nc_peaks *peaks, const struct nc_measured *measured)
{
	for (size_t i = 0; i < peaks->series_count; i++) {
		const struct nc_series *series = &peaks->series[i];
		bool is_out = series->what == NC_CLASS_INTERCONNECT_OUT;
		double pair = 0;

		if (!is_link(series))
			continue;
		/* Data goes from the memory's socket to the reader's. */
		if (series->has_peer)
			pair = nc_measured_between(measured, is_out ? series->peer : series->socket,
			                           is_out ? series->socket : series->peer);
		else
			pair = nc_measured_most(measured, series->socket, !is_out);
		peaks->measured[i] = pair / count_parallel(peaks, series);
	}
}

static int take_source(struct nc_peaks *peaks, const struct nc_host *host,
                       const struct nc_peaks_source *from, struct np_error *err)
{
	struct nc_measured measured = { 0 };
	int rc;

	for (size_t i = 0; i < peaks->series_count; i++)
		if (from->link_bytes_per_s > 0 && is_link(&peaks->series[i]))
			peaks->measured[i] = from->link_bytes_per_s;
	if (!from->measured_file)
		return 0;
	rc = nc_measured_read(host, from->measured_file, &measured, err);
	if (rc < 0)
		return rc;
	take_measured(peaks, &measured);
	nc_measured_release(&measured);
	return 0;
}

int nc_peaks_create(const struct nc_host *host, const struct nc_series *series, size_t count,
                    const struct nc_peaks_source *from, struct nc_peaks **ret, struct np_error *err)
{
	const struct nc_family *family = nc_host_family(host);
	struct nc_peaks *peaks = calloc(1, sizeof(*peaks));
	int rc;

	if (!peaks)
		return np_error_sys(err, ENOMEM, "peaks");
	peaks->family = family;
	peaks->rate_count = family ? family->link_rate_count : 0;
	peaks->series = series;
	peaks->series_count = count;
	peaks->votes = calloc(peaks->series_count * peaks->rate_count + 1, sizeof(*peaks->votes));
	peaks->measured = calloc(peaks->series_count + 1, sizeof(*peaks->measured));
	if (!peaks->votes || !peaks->measured)
		rc = np_error_sys(err, ENOMEM, "peaks of %zu series", peaks->series_count);
	else
		rc = take_source(peaks, host, from, err);
	if (rc < 0) {
		nc_peaks_free(peaks);
		return rc;
	}
	*ret = peaks;
	return 0;
}

void nc_peaks_free(struct nc_peaks *peaks)
{
	if (!peaks)
		return;
	free(peaks->votes);
	free(peaks->measured);
	free(peaks);
}

/* ---- rates by clock ---- */

static void vote(struct nc_peaks *peaks, size_t series, double rate_mt)
{
	for (size_t i = 0; i < peaks->rate_count; i++) {
		double standard = peaks->family->link_rates_mt[i];

		if (fabs(rate_mt - standard) <= standard * RATE_TOLERANCE) {
			peaks->votes[series * peaks->rate_count + i]++;
			return;
		}
	}
}

void nc_peaks_add(struct nc_peaks *peaks, const struct nc_sample *sample)
{
	double microseconds = (double)sample->interval_ns / 1e3;

	if (peaks->rate_count == 0 || microseconds <= 0)
		return;
	for (size_t i = 0; i < peaks->series_count; i++) {
		const struct nc_value *value = &sample->values[i];

		if (peaks->series[i].what == NC_CLASS_INTERCONNECT_CLOCK && value->is_known)
			vote(peaks, i,
			     (double)value->delta / microseconds *
			             peaks->family->link_transfers_per_clock);
	}
}

/* The rate with most votes, of the clock of that series' own link; 0 = unknown. */
static uint32_t find_rate(const struct nc_peaks *peaks, const struct nc_series *series)
{
	uint64_t most = 0;
	uint32_t rate = 0;

	for (size_t i = 0; i < peaks->series_count; i++) {
		const struct nc_series *clock = &peaks->series[i];

		if (clock->what != NC_CLASS_INTERCONNECT_CLOCK || clock->socket != series->socket ||
		    clock->link != series->link)
			continue;
		for (size_t j = 0; j < peaks->rate_count; j++) {
			uint64_t votes = peaks->votes[i * peaks->rate_count + j];

			if (votes > most) {
				most = votes;
				rate = peaks->family->link_rates_mt[j];
			}
		}
	}
	return rate;
}

bool nc_peaks_nominal(const struct nc_peaks *peaks, size_t index, double *ret_bytes_per_s)
{
	const struct nc_series *series = &peaks->series[index];
	uint32_t rate = 0;

	if (!is_link(series) || peaks->rate_count == 0 || !peaks->family->link_bytes_per_transfer)
		return false;
	if (peaks->family->link_transfers_per_clock > 0)
		rate = find_rate(peaks, series);
	else if (peaks->rate_count == 1)
		rate = peaks->family->link_rates_mt[0];
	if (rate == 0)
		return false;
	*ret_bytes_per_s = 1e6 * rate * peaks->family->link_bytes_per_transfer;
	return true;
}

bool nc_peaks_measured(const struct nc_peaks *peaks, size_t index, double *ret_bytes_per_s)
{
	/* Less than a byte a second is no measurement, and would make percentages overflow. */
	if (!(peaks->measured[index] >= 1))
		return false;
	*ret_bytes_per_s = peaks->measured[index];
	return true;
}
