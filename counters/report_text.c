/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers are scaled to a unit that people read; an estimate has a "~" before it, and what is not
 * known is "-".
 */
#include "report.h"

#include "../probe/base/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 48, COLUMNS_MAX = NC_CLASS_COUNT + 3 };

/* What is shown, in this order, where it is counted. */
static const struct shown {
	enum nc_class what;
	const char *title;
} shown[] = {
	{ NC_CLASS_MEMORY_READ, "MEM-READ" },
	{ NC_CLASS_MEMORY_WRITE, "MEM-WRITE" },
	{ NC_CLASS_MEMORY_ANY, "MEMORY" },
	{ NC_CLASS_INTERCONNECT_IN, "LINK-IN" },
	{ NC_CLASS_INTERCONNECT_OUT, "LINK-OUT" },
	{ NC_CLASS_HOME_READ_LOCAL, "OWN-READ" },
	{ NC_CLASS_HOME_READ_REMOTE, "FOREIGN-READ" },
	{ NC_CLASS_HOME_WRITE_LOCAL, "OWN-WRITE" },
	{ NC_CLASS_HOME_WRITE_REMOTE, "FOREIGN-WRITE" },
	{ NC_CLASS_LOADS_LOCAL, "LOCAL-LOADS" },
	{ NC_CLASS_LOADS_REMOTE, "REMOTE-LOADS" },
	{ NC_CLASS_CPU_MEMORY_TOTAL, "CPU-MEMORY" },
	{ NC_CLASS_CPU_MEMORY_LOCAL, "CPU-LOCAL" },
	{ NC_CLASS_CPU_MEMORY_REMOTE, "CPU-REMOTE" },
	{ NC_CLASS_PAGES_LOCAL, "LOCAL-PAGES" },
	{ NC_CLASS_PAGES_REMOTE, "REMOTE-PAGES" },
};

#define SHOWN_COUNT (sizeof(shown) / sizeof(shown[0]))

double nc_report_rate(const struct nc_sum *sum)
{
	return sum->known_ns > 0 ? (double)sum->total * 1e9 / (double)sum->known_ns : 0;
}

/* "22.68 GB", "512 pages", "4.20 GB/s": four digits that count. */
static const char *scaled(double value, const char *unit, const char *suffix, bool is_estimate,
                          char buf[TEXT_SIZE])
{
	static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
	bool is_bytes = strcmp(unit, "bytes") == 0;
	size_t i = 0;

	while (fabs(value) >= 999.95 && i + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
		value /= 1000;
		i++;
	}
	snprintf(buf, TEXT_SIZE, "%s%.*f%s%s%s%s", is_estimate ? "~" : "",
	         value == 0 || (i == 0 && *suffix == '\0') ? 0
	         : value < 9.9995                          ? 3
	         : value < 99.995                          ? 2
	                                                   : 1,
	         value, is_bytes || i > 0 ? " " : "", prefixes[i], is_bytes ? "B" : "", suffix);
	return buf;
}

static void set_sum(struct np_table *table, size_t column, const struct nc_sum *sum, double value,
                    const char *unit, const char *suffix)
{
	char text[TEXT_SIZE];

	if (sum->is_known)
		np_table_set(table, column, "%s",
		             scaled(value, unit, suffix, !nc_sum_is_whole(sum), text));
}

static void set_place(struct np_table *table, const struct nc_place *place)
{
	if (place->has_socket)
		np_table_set(table, 0, "%u", place->socket);
	else
		np_table_set(table, 0, "node %u", place->node);
}

/* ---- tables of places and classes ---- */

/* As many classes as fit beside each other in a terminal. */
enum { TOTALS_MAX = 6, RATES_MAX = 3 };

/* A part of the classes that are counted, as places in @shown. */
struct part {
	size_t items[SHOWN_COUNT];
	size_t count;
	bool is_last;
};

/* What "REMOTE" is the share of. */
static void print_basis(const struct nc_report *report, FILE *out)
{
	static const char *const words[NC_SHARE_NONE] = {
		[NC_SHARE_HOME] = "of the requests for the socket's memory",
		[NC_SHARE_LINKS] = "data in over the links, of that and what its memory was read",
		[NC_SHARE_CPU] = "of the memory traffic of its CPUs",
		[NC_SHARE_LOADS] = "of the loads that missed all caches",
		[NC_SHARE_PAGES] = "of the pages allocated there",
	};

	for (size_t i = 0; i < nc_tally_place_count(report->tally); i++) {
		double share;
		enum nc_share_basis basis = nc_tally_remote_share(report->tally, i, &share);

		if (basis == NC_SHARE_NONE)
			continue;
		fprintf(out, "REMOTE: %s.\n", words[basis]);
		return;
	}
}

typedef int print_part(const struct nc_report *report, const struct part *part, FILE *out);

/* A table for each part, of about the same width. */
static int print_parts(const struct nc_report *report, size_t most, print_part *print, FILE *out)
{
	size_t all[SHOWN_COUNT];
	size_t count = 0;
	size_t at = 0;
	size_t tables;
	int rc = 0;

	for (size_t i = 0; i < SHOWN_COUNT; i++)
		if (nc_tally_everywhere(report->tally, shown[i].what)->exists)
			all[count++] = i;
	tables = (count + most - 1) / most;
	for (size_t i = 0; i < tables && rc == 0; i++) {
		struct part part = { .is_last = i + 1 == tables };

		while (at < count * (i + 1) / tables)
			part.items[part.count++] = all[at++];
		if (i > 0)
			fputc('\n', out);
		rc = print(report, &part, out);
	}
	return rc;
}

static void set_totals(const struct nc_report *report, const struct part *part,
                       struct np_table *table, size_t place)
{
	for (size_t i = 0; i < part->count; i++) {
		enum nc_class what = shown[part->items[i]].what;
		const struct nc_sum *sum = place == SIZE_MAX
		                                   ? nc_tally_everywhere(report->tally, what)
		                                   : nc_tally_sum(report->tally, place, what);

		set_sum(table, i + 1, sum, (double)sum->total, nc_class_unit(what), "");
	}
}

static int print_totals(const struct nc_report *report, const struct part *part, FILE *out)
{
	struct np_column columns[COLUMNS_MAX] = { { "SOCKET", true } };
	size_t count = 1;
	size_t places = nc_tally_place_count(report->tally);
	struct np_table *table;
	int rc;

	for (size_t i = 0; i < part->count; i++)
		columns[count++] = (struct np_column){ shown[part->items[i]].title, true };
	if (part->is_last)
		columns[count++] = (struct np_column){ "REMOTE", true };
	table = np_table_create(columns, count);
	for (size_t i = 0; i < places; i++) {
		double share;

		np_table_add_row(table);
		set_place(table, nc_tally_place(report->tally, i));
		set_totals(report, part, table, i);
		if (part->is_last &&
		    nc_tally_remote_share(report->tally, i, &share) != NC_SHARE_NONE)
			np_table_set(table, count - 1, "%.1f %%", 100 * share);
	}
	if (places > 1) {
		np_table_add_row(table);
		np_table_set(table, 0, "all");
		set_totals(report, part, table, SIZE_MAX);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

static int print_rates(const struct nc_report *report, const struct part *part, FILE *out)
{
	struct np_column columns[2 * COLUMNS_MAX] = { { "SOCKET", true } };
	size_t count = 1;
	struct np_table *table;
	int rc;

	for (size_t i = 0; i < part->count; i++) {
		columns[count++] = (struct np_column){ shown[part->items[i]].title, true };
		columns[count++] = (struct np_column){ "BUSIEST", true };
	}
	table = np_table_create(columns, count);
	for (size_t i = 0; i < nc_tally_place_count(report->tally); i++) {
		np_table_add_row(table);
		set_place(table, nc_tally_place(report->tally, i));
		for (size_t k = 0; k < part->count; k++) {
			enum nc_class what = shown[part->items[k]].what;
			const struct nc_sum *sum = nc_tally_sum(report->tally, i, what);
			const char *unit = nc_class_unit(what);

			set_sum(table, 2 * k + 1, sum, nc_report_rate(sum), unit, "/s");
			if (sum->has_peak)
				set_sum(table, 2 * k + 2, sum, sum->peak_per_s, unit, "/s");
		}
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

/* ---- links ---- */

enum {
	LINK_SOCKET,
	LINK_NUMBER,
	LINK_TO,
	LINK_WAY,
	LINK_BYTES,
	LINK_RATE,
	LINK_BUSIEST,
	LINK_NOMINAL,
	LINK_MEASURED,
	LINK_COLUMNS
};

static bool is_link(const struct nc_series *series)
{
	return series->has_link && (series->what == NC_CLASS_INTERCONNECT_OUT ||
	                            series->what == NC_CLASS_INTERCONNECT_IN);
}

static void add_link(const struct nc_report *report, struct np_table *table, size_t index)
{
	const struct nc_series *series = &nc_session_series(report->session)[index];
	const struct nc_sum *sum = nc_tally_series(report->tally, index);
	double rate = nc_report_rate(sum);
	double most;

	np_table_add_row(table);
	np_table_set(table, LINK_SOCKET, "%u", series->socket);
	np_table_set(table, LINK_NUMBER, "%u", series->link);
	if (series->has_peer)
		np_table_set(table, LINK_TO, "%u", series->peer);
	np_table_set(table, LINK_WAY, "%s",
	             series->what == NC_CLASS_INTERCONNECT_OUT ? "out" : "in");
	set_sum(table, LINK_BYTES, sum, (double)sum->total, "bytes", "");
	set_sum(table, LINK_RATE, sum, rate, "bytes", "/s");
	if (sum->has_peak)
		set_sum(table, LINK_BUSIEST, sum, sum->peak_per_s, "bytes", "/s");
	if (sum->is_known && nc_peaks_nominal(report->peaks, index, &most))
		np_table_set(table, LINK_NOMINAL, "%.1f", 100 * rate / most);
	if (sum->is_known && nc_peaks_measured(report->peaks, index, &most))
		np_table_set(table, LINK_MEASURED, "%.1f", 100 * rate / most);
}

/* The other way of the same link: its index, or @count when it is not counted. */
static size_t find_way_back(const struct nc_series *series, size_t count, size_t index)
{
	const struct nc_series *link = &series[index];
	size_t i = 0;

	while (i < count && (!is_link(&series[i]) || series[i].what == link->what ||
	                     series[i].socket != link->socket || series[i].link != link->link))
		i++;
	return i;
}

static int print_links(const struct nc_report *report, FILE *out)
{
	static const struct np_column columns[LINK_COLUMNS] = {
		[LINK_SOCKET] = { "SOCKET", true },
		[LINK_NUMBER] = { "LINK", true },
		[LINK_TO] = { "TO", true },
		[LINK_WAY] = { "WAY", false },
		[LINK_BYTES] = { "DATA", true },
		[LINK_RATE] = { "RATE", true },
		[LINK_BUSIEST] = { "BUSIEST", true },
		[LINK_NOMINAL] = { "%NOMINAL", true },
		[LINK_MEASURED] = { "%MEASURED", true },
	};
	const struct nc_series *series = nc_session_series(report->session);
	size_t count = nc_session_series_count(report->session);
	struct np_table *table;
	bool has_links = false;
	int rc;

	for (size_t i = 0; i < count && !has_links; i++)
		has_links = is_link(&series[i]);
	if (!has_links)
		return 0;
	fputc('\n', out);
	table = np_table_create(columns, LINK_COLUMNS);
	/* Both ways of a link stand together; those that are counted one way come in their turn. */
	for (size_t i = 0; i < count; i++) {
		size_t other = find_way_back(series, count, i);

		if (!is_link(&series[i]) || other < i)
			continue;
		add_link(report, table, i);
		if (other < count)
			add_link(report, table, other);
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

/* ---- events of the user's own tables ---- */

static int print_others(const struct nc_report *report, FILE *out)
{
	static const struct np_column columns[] = {
		{ "SOCKET", true }, { "EVENT", false }, { "COUNT", true }, { "RATE", true }
	};
	const struct nc_series *series = nc_session_series(report->session);
	struct np_table *table;
	int rc;

	if (!nc_tally_everywhere(report->tally, NC_CLASS_OTHER)->exists)
		return 0;
	fputc('\n', out);
	table = np_table_create(columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < nc_session_series_count(report->session); i++) {
		const struct nc_sum *sum = nc_tally_series(report->tally, i);

		if (series[i].what != NC_CLASS_OTHER)
			continue;
		np_table_add_row(table);
		if (series[i].has_socket)
			np_table_set(table, 0, "%u", series[i].socket);
		np_table_set(table, 1, "%s", series[i].name);
		if (!sum->is_known)
			continue;
		np_table_set(table, 2, "%s%llu", nc_sum_is_whole(sum) ? "" : "~",
		             (unsigned long long)sum->total);
		set_sum(table, 3, sum, nc_report_rate(sum), "counts", "/s");
	}
	rc = np_table_print(table, out);
	np_table_free(table);
	return rc;
}

/* ---- words ---- */

/* How much of the run the numbers stand for. */
static void print_coverage(const struct nc_report *report, FILE *out)
{
	double least = 1;
	bool is_whole = true;
	bool is_all_known = true;

	for (size_t i = 0; i < nc_session_series_count(report->session); i++) {
		const struct nc_sum *sum = nc_tally_series(report->tally, i);

		is_all_known &= sum->is_known;
		if (!sum->is_known || nc_sum_is_whole(sum))
			continue;
		is_whole = false;
		least = fmin(least, sum->coverage);
	}
	/* What is rounded up to all of the time is not. */
	if (!is_whole)
		fprintf(out,
		        "counted %.1f %% of the time or more: numbers with ~ are estimates, or "
		        "lack what was not counted",
		        fmin(100 * least, 99.9));
	else if (is_all_known)
		fputs("counted all the time", out);
	fputs(is_all_known ? "\n\n"
	      : is_whole   ? "of which some could not be counted: -\n\n"
	                   : "; - could not be counted\n\n",
	      out);
}

static void print_head(const struct nc_report *report, FILE *out)
{
	const struct nc_family *family = nc_host_family(report->host);
	enum nc_source source = nc_session_source(report->session);

	fprintf(out, "%.3f s, %s", (double)nc_tally_elapsed_ns(report->tally) / 1e9,
	        nc_source_title(source));
	if (family && (source == NC_SOURCE_UNCORE || source == NC_SOURCE_CORE))
		fprintf(out, " (%s%s)", family->title, family->is_untested ? ", untested" : "");
	fprintf(out, "\n%zu counters, ", nc_session_counter_count(report->session));
	print_coverage(report, out);
}

int nc_report_agreements(const struct nc_report *report, struct nc_agreement **ret)
{
	const struct nc_family *family = nc_host_family(report->host);

	*ret = NULL;
	if (family && family->link_ends_differ)
		return 0;
	return nc_tally_agreements(report->tally, ret, NULL);
}

/* The worst of all pairs, and what all of them come to. */
static int print_agreement(const struct nc_report *report, FILE *out)
{
	const struct nc_agreement *worst = NULL;
	struct nc_agreement *items;
	int count = nc_report_agreements(report, &items);
	char sent[TEXT_SIZE];
	char received[TEXT_SIZE];

	if (count < 0)
		return count;
	for (int i = 0; i < count; i++) {
		if (items[i].is_everywhere)
			fprintf(out, "\nLinks: %s sent, %s received, a difference of %.2f %%",
			        scaled((double)items[i].out_bytes, "bytes", "",
			               items[i].is_estimate, sent),
			        scaled((double)items[i].in_bytes, "bytes", "", items[i].is_estimate,
			               received),
			        100 * fabs(items[i].difference));
		else if (!worst || fabs(items[i].difference) > fabs(worst->difference))
			worst = &items[i];
	}
	if (worst)
		fprintf(out, "; at most %.2f %% between two ends (socket %u to %u)",
		        100 * fabs(worst->difference), worst->from, worst->to);
	if (count > 0)
		fputs(".\n", out);
	free(items);
	return 0;
}

/* Why something was not counted, as far as its last note tells. */
static const char *reason_of(enum nc_note note)
{
	static const char *const reasons[NC_NOTE_COUNT] = {
		[NC_NOTE_BACKWARDS] = "the count fell: something else writes the registers",
		[NC_NOTE_BUSY] = "other events held the counters: who else counts here?",
		[NC_NOTE_OFFLINE] = "no CPU of it is online",
		[NC_NOTE_GONE] = "its PMU was unregistered",
		[NC_NOTE_FAILED] = "it could not be read",
	};

	return reasons[note] ? reasons[note] : "the run was too short";
}

int nc_report_check(const struct nc_report *report, struct np_error *err)
{
	enum nc_note note = NC_NOTE_NONE;

	for (size_t i = 0; i < nc_session_series_count(report->session); i++) {
		const struct nc_sum *sum = nc_tally_series(report->tally, i);

		if (sum->is_known)
			return 0;
		if (sum->note != NC_NOTE_NONE)
			note = sum->note;
	}
	return np_error_set(err, ENODATA, "nothing was counted: %s", reason_of(note));
}

static void print_uncounted(const struct nc_report *report, FILE *out)
{
	for (size_t i = 0; i < nc_tally_place_count(report->tally); i++) {
		const struct nc_place *place = nc_tally_place(report->tally, i);

		for (size_t k = 0; k < SHOWN_COUNT; k++) {
			const struct nc_sum *sum = nc_tally_sum(report->tally, i, shown[k].what);

			if (sum->exists && !sum->is_known)
				fprintf(out, "not counted: %s of %s %u: %s\n", shown[k].title,
				        place->has_socket ? "socket" : "node",
				        place->has_socket ? place->socket : place->node,
				        reason_of(sum->note));
		}
	}
}

static void print_notes(const struct nc_report *report, FILE *out)
{
	uint64_t total;
	size_t count = nc_session_event_count(report->session, &total);

	if (total > count)
		fprintf(out, "note: %llu earlier ones are left out\n",
		        (unsigned long long)(total - count));
	for (size_t i = 0; i < count; i++)
		fprintf(out, "note: %s\n", nc_session_event(report->session, i));
}

int nc_report_print(const struct nc_report *report, FILE *out)
{
	bool has_shown = false;
	int rc = 0;

	for (size_t i = 0; i < SHOWN_COUNT; i++)
		has_shown |= nc_tally_everywhere(report->tally, shown[i].what)->exists;
	print_head(report, out);
	if (has_shown) {
		rc = print_parts(report, TOTALS_MAX, print_totals, out);
		print_basis(report, out);
		fputc('\n', out);
		if (rc == 0)
			rc = print_parts(report, RATES_MAX, print_rates, out);
	}
	if (rc == 0)
		rc = print_links(report, out);
	if (rc == 0)
		rc = print_others(report, out);
	if (rc == 0)
		rc = print_agreement(report, out);
	print_uncounted(report, out);
	print_notes(report, out);
	if (rc == 0 && (fflush(out) == EOF || ferror(out)))
		rc = errno ? -errno : -EIO;
	return rc;
}

/* ---- one sample ---- */

static void print_place_sample(const struct nc_report *report, const struct nc_sample *sample,
                               const struct nc_place *place, FILE *out)
{
	const struct nc_series *series = nc_session_series(report->session);
	double seconds = (double)sample->interval_ns / 1e9;
	char text[TEXT_SIZE];

	for (size_t k = 0; k < SHOWN_COUNT; k++) {
		struct nc_sum sum = { .is_known = true, .coverage = 1 };

		for (size_t i = 0; i < nc_session_series_count(report->session); i++) {
			const struct nc_value *value = &sample->values[i];

			if (series[i].what != shown[k].what ||
			    series[i].has_socket != place->has_socket ||
			    (place->has_socket ? series[i].socket != place->socket
			                       : series[i].node != place->node))
				continue;
			sum.exists = true;
			sum.is_known &= value->is_known;
			sum.total += value->delta;
			if (value->coverage < sum.coverage)
				sum.coverage = value->coverage;
		}
		if (!sum.exists)
			continue;
		fprintf(out, "  %s %s", shown[k].title,
		        sum.is_known && seconds > 0
		                ? scaled((double)sum.total / seconds, nc_class_unit(shown[k].what),
		                         "/s", !nc_sum_is_whole(&sum), text)
		                : "-");
	}
}

static void print_other_samples(const struct nc_report *report, const struct nc_sample *sample,
                                const struct nc_place *place, FILE *out)
{
	const struct nc_series *series = nc_session_series(report->session);
	double seconds = (double)sample->interval_ns / 1e9;
	char text[TEXT_SIZE];

	for (size_t i = 0; i < nc_session_series_count(report->session); i++) {
		const struct nc_value *value = &sample->values[i];
		const struct nc_sum sum = { .coverage = value->coverage };

		if (series[i].what != NC_CLASS_OTHER || !place->has_socket ||
		    !series[i].has_socket || series[i].socket != place->socket)
			continue;
		fprintf(out, "  %s %s", series[i].name,
		        value->is_known && seconds > 0
		                ? scaled((double)value->delta / seconds, "counts", "/s",
		                         !nc_sum_is_whole(&sum), text)
		                : "-");
	}
}

int nc_report_print_sample(const struct nc_report *report, const struct nc_sample *sample,
                           FILE *out)
{
	for (size_t i = 0; i < nc_tally_place_count(report->tally); i++) {
		const struct nc_place *place = nc_tally_place(report->tally, i);

		fprintf(out, "%10.3f s  %s %u", (double)sample->elapsed_ns / 1e9,
		        place->has_socket ? "socket" : "node",
		        place->has_socket ? place->socket : place->node);
		print_place_sample(report, sample, place, out);
		print_other_samples(report, sample, place, out);
		fputc('\n', out);
	}
	return fflush(out) == EOF || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
