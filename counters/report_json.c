/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include "../probe/base/json.h"

#include <stdlib.h>
#include <string.h>

enum { KEY_SIZE = 64 };

static json_t *real_or_null(bool is_known, double value)
{
	return is_known ? json_real(value) : json_null();
}

/* "memory_read_bytes": the class, and the unit where the name does not have it already. */
static const char *key_of(enum nc_class what, const char *middle, const char *end,
                          char key[KEY_SIZE])
{
	bool is_bytes = strcmp(nc_class_unit(what), "bytes") == 0;

	snprintf(key, KEY_SIZE, "%s%s%s%s", nc_class_name(what), middle, is_bytes ? "_bytes" : "",
	         end);
	return key;
}

static void add_sum(json_t **object, enum nc_class what, const struct nc_sum *sum)
{
	char key[KEY_SIZE];

	np_json_set_member(object, key_of(what, "", "", key),
	                   np_json_number(sum->is_known, sum->total));
	np_json_set_member(object, key_of(what, "", "_per_s", key),
	                   real_or_null(sum->is_known, nc_report_rate(sum)));
	np_json_set_member(object, key_of(what, "_busiest", "_per_s", key),
	                   real_or_null(sum->has_peak, sum->peak_per_s));
	np_json_set_member(object, key_of(what, "_busiest", "_at_ns", key),
	                   np_json_number(sum->has_peak, sum->peak_at_ns));
}

/* ---- links ---- */

static json_t *end_json(const struct nc_report *report, size_t index)
{
	const struct nc_sum *sum = nc_tally_series(report->tally, index);
	json_t *end = json_object();
	double rate = nc_report_rate(sum);
	double most = 0;
	bool has_most;

	np_json_set_member(&end, "bytes", np_json_number(sum->is_known, sum->total));
	np_json_set_member(&end, "bytes_per_s", real_or_null(sum->is_known, rate));
	np_json_set_member(&end, "busiest_bytes_per_s",
	                   real_or_null(sum->has_peak, sum->peak_per_s));
	has_most = nc_peaks_nominal(report->peaks, index, &most);
	np_json_set_member(&end, "nominal_bytes_per_s", real_or_null(has_most, most));
	np_json_set_member(&end, "percent_of_nominal",
	                   real_or_null(has_most && sum->is_known, 100 * rate / most));
	has_most = nc_peaks_measured(report->peaks, index, &most);
	np_json_set_member(&end, "percent_of_measured",
	                   real_or_null(has_most && sum->is_known, 100 * rate / most));
	np_json_set_member(&end, "coverage", json_real(sum->coverage));
	return end;
}

/* The index of the series of that link, or the number of series. */
static size_t find_series(const struct nc_report *report, enum nc_class what, unsigned socket,
                          unsigned link)
{
	const struct nc_series *series = nc_session_series(report->session);
	size_t i = 0;

	for (; i < nc_session_series_count(report->session); i++)
		if (series[i].what == what && series[i].has_link && series[i].socket == socket &&
		    series[i].link == link)
			break;
	return i;
}

static json_t *link_json(const struct nc_report *report, const struct nc_series *series)
{
	size_t count = nc_session_series_count(report->session);
	size_t out = find_series(report, NC_CLASS_INTERCONNECT_OUT, series->socket, series->link);
	size_t in = find_series(report, NC_CLASS_INTERCONNECT_IN, series->socket, series->link);
	json_t *link = json_object();

	np_json_set_member(&link, "link", json_integer(series->link));
	np_json_set_member(&link, "peer", np_json_number(series->has_peer, series->peer));
	np_json_set_member(&link, "peer_link", np_json_number(series->has_peer, series->peer_link));
	np_json_set_member(&link, "out", out < count ? end_json(report, out) : json_null());
	np_json_set_member(&link, "in", in < count ? end_json(report, in) : json_null());
	return link;
}

static json_t *links_json(const struct nc_report *report, unsigned socket)
{
	const struct nc_series *series = nc_session_series(report->session);
	size_t count = nc_session_series_count(report->session);
	json_t *links = json_array();

	for (size_t i = 0; i < count; i++) {
		bool is_out = series[i].what == NC_CLASS_INTERCONNECT_OUT;
		bool is_in = series[i].what == NC_CLASS_INTERCONNECT_IN;

		if (!series[i].has_link || series[i].socket != socket || (!is_out && !is_in))
			continue;
		/* A link that counts both ways stands once, where its OUT is. */
		if (is_in &&
		    find_series(report, NC_CLASS_INTERCONNECT_OUT, socket, series[i].link) < count)
			continue;
		np_json_append(&links, link_json(report, &series[i]));
	}
	return links;
}

/* ---- places ---- */

static double place_coverage(const struct nc_report *report, size_t place)
{
	double least = 1;

	for (unsigned what = 0; what < NC_CLASS_COUNT; what++) {
		const struct nc_sum *sum = nc_tally_sum(report->tally, place, what);

		if (sum->exists && sum->coverage < least)
			least = sum->coverage;
	}
	return least;
}

static bool place_is_whole(const struct nc_report *report, size_t place)
{
	for (unsigned what = 0; what < NC_CLASS_COUNT; what++) {
		const struct nc_sum *sum = nc_tally_sum(report->tally, place, what);

		if (sum->exists && !nc_sum_is_whole(sum))
			return false;
	}
	return true;
}

static const char *place_note(const struct nc_report *report, size_t place)
{
	for (unsigned what = 0; what < NC_CLASS_COUNT; what++) {
		const struct nc_sum *sum = nc_tally_sum(report->tally, place, what);

		if (sum->note != NC_NOTE_NONE)
			return nc_note_name(sum->note);
	}
	return NULL;
}

static json_t *others_json(const struct nc_report *report, const struct nc_place *place)
{
	const struct nc_series *series = nc_session_series(report->session);
	json_t *events = json_array();

	for (size_t i = 0; i < nc_session_series_count(report->session); i++) {
		const struct nc_sum *sum = nc_tally_series(report->tally, i);
		json_t *event;

		if (series[i].what != NC_CLASS_OTHER || !place->has_socket ||
		    !series[i].has_socket || series[i].socket != place->socket)
			continue;
		event = json_object();
		np_json_set_member(&event, "name", np_json_text(series[i].name));
		np_json_set_member(&event, "count", np_json_number(sum->is_known, sum->total));
		np_json_set_member(&event, "coverage", json_real(sum->coverage));
		np_json_append(&events, event);
	}
	return events;
}

static json_t *place_json(const struct nc_report *report, size_t index)
{
	const struct nc_place *place = nc_tally_place(report->tally, index);
	json_t *object = json_object();
	double coverage = place_coverage(report, index);
	enum nc_share_basis basis;
	double share = 0;

	np_json_set_member(&object, "socket", np_json_number(place->has_socket, place->socket));
	np_json_set_member(&object, "node", np_json_number(!place->has_socket, place->node));
	for (unsigned what = 0; what < NC_CLASS_COUNT; what++) {
		if (what == NC_CLASS_OTHER || what == NC_CLASS_INTERCONNECT_CLOCK ||
		    !nc_tally_everywhere(report->tally, what)->exists)
			continue;
		add_sum(&object, what, nc_tally_sum(report->tally, index, what));
	}
	basis = nc_tally_remote_share(report->tally, index, &share);
	np_json_set_member(&object, "remote_share", real_or_null(basis != NC_SHARE_NONE, share));
	np_json_set_member(&object, "remote_share_basis",
	                   np_json_text(basis != NC_SHARE_NONE ? nc_share_name(basis) : NULL));
	np_json_set_member(&object, "coverage", json_real(coverage));
	np_json_set_member(&object, "is_estimate", json_boolean(!place_is_whole(report, index)));
	np_json_set_member(&object, "note", np_json_text(place_note(report, index)));
	np_json_set_member(&object, "links",
	                   place->has_socket ? links_json(report, place->socket) : json_array());
	np_json_set_member(&object, "events", others_json(report, place));
	return object;
}

/* ---- the whole ---- */

static json_t *agreements_json(const struct nc_report *report)
{
	json_t *array = json_array();
	struct nc_agreement *items;
	int count = nc_report_agreements(report, &items);

	if (count < 0) {
		json_decref(array);
		return NULL;
	}
	for (int i = 0; i < count; i++) {
		const struct nc_agreement *a = &items[i];
		json_t *object = json_object();

		np_json_set_member(&object, "from", np_json_number(!a->is_everywhere, a->from));
		np_json_set_member(&object, "from_link",
		                   np_json_number(a->has_links, a->from_link));
		np_json_set_member(&object, "to", np_json_number(!a->is_everywhere, a->to));
		np_json_set_member(&object, "to_link", np_json_number(a->has_links, a->to_link));
		np_json_set_member(&object, "out_bytes", np_json_number(true, a->out_bytes));
		np_json_set_member(&object, "in_bytes", np_json_number(true, a->in_bytes));
		np_json_set_member(&object, "difference", json_real(a->difference));
		np_json_set_member(&object, "is_estimate", json_boolean(a->is_estimate));
		np_json_append(&array, object);
	}
	free(items);
	return array;
}

static json_t *total_json(const struct nc_report *report)
{
	json_t *total = json_object();

	for (unsigned what = 0; what < NC_CLASS_COUNT; what++) {
		const struct nc_sum *sum = nc_tally_everywhere(report->tally, what);

		if (sum->exists && what != NC_CLASS_OTHER && what != NC_CLASS_INTERCONNECT_CLOCK)
			add_sum(&total, what, sum);
	}
	return total;
}

static json_t *notes_json(const struct nc_report *report)
{
	json_t *notes = json_array();
	uint64_t total;
	size_t count = nc_session_event_count(report->session, &total);

	for (size_t i = 0; i < count; i++)
		np_json_append(&notes, np_json_text(nc_session_event(report->session, i)));
	return notes;
}

static json_t *command_json(const struct nc_report *report)
{
	json_t *words;

	if (!report->command)
		return json_null();
	words = json_array();
	for (char *const *word = report->command; *word; word++)
		np_json_append(&words, np_json_text(*word));
	return words;
}

json_t *nc_report_json(const struct nc_report *report)
{
	const struct nc_family *family = nc_host_family(report->host);
	json_t *document = json_object();
	json_t *sockets = json_array();
	double coverage = 1;

	np_json_set_member(&document, "schema", json_string("numakit/stat/1"));
	np_json_set_member(&document, "source",
	                   json_string(nc_source_name(nc_session_source(report->session))));
	np_json_set_member(&document, "family", np_json_text(family ? family->name : NULL));
	np_json_set_member(&document, "untested",
	                   family ? json_boolean(family->is_untested) : json_null());
	np_json_set_member(&document, "counters",
	                   np_json_number(true, nc_session_counter_count(report->session)));
	np_json_set_member(&document, "command", command_json(report));
	np_json_set_member(&document, "elapsed_ns",
	                   np_json_number(true, nc_tally_elapsed_ns(report->tally)));
	np_json_set_member(&document, "interval_ns",
	                   np_json_number(true, (uint64_t)report->interval_ms * 1000000u));
	for (size_t i = 0; i < nc_tally_place_count(report->tally); i++) {
		if (place_coverage(report, i) < coverage)
			coverage = place_coverage(report, i);
		np_json_append(&sockets, place_json(report, i));
	}
	np_json_set_member(&document, "coverage", json_real(coverage));
	np_json_set_member(&document, "sockets", sockets);
	np_json_set_member(&document, "total", total_json(report));
	np_json_set_member(&document, "consistency", agreements_json(report));
	np_json_set_member(&document, "notes", notes_json(report));
	return document;
}
