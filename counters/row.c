/* SPDX-License-Identifier: BSD-3-Clause */
#include "row.h"

#include "../probe/base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column {
	TIME,
	ELAPSED,
	INTERVAL,
	SOCKET, /* from here ... */
	NODE,
	LINK,
	PEER,
	CLASS,
	NAME,
	UNIT, /* ... to here fixed */
	VALUE,
	TOTAL,
	RATE,
	NOMINAL,
	MEASURED,
	COVERAGE,
	NOTE,
	SOURCE,
	COLUMN_COUNT
};

/* In the order of both formats. More may follow behind the last one; none is taken away. */
static const char *const columns[COLUMN_COUNT] = {
	[TIME] = "time_ns",
	[ELAPSED] = "elapsed_ns",
	[INTERVAL] = "interval_ns",
	[SOCKET] = "socket",
	[NODE] = "node",
	[LINK] = "link",
	[PEER] = "peer",
	[CLASS] = "class",
	[NAME] = "name",
	[UNIT] = "unit",
	[VALUE] = "value",
	[TOTAL] = "total",
	[RATE] = "bytes_per_s",
	[NOMINAL] = "percent_of_nominal",
	[MEASURED] = "percent_of_measured",
	[COVERAGE] = "coverage",
	[NOTE] = "note",
	[SOURCE] = "source",
};

/* The most that is written as a number with decimals; beyond, something is wrong. */
#define DECIMAL_MAX 1e12

static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

/* Opens a cell: what stands between it and the one before, and its key. */
static char *put_key(char *at, enum nc_rows_format format, enum column column)
{
	if (format == NC_ROWS_CSV) {
		if (column > 0)
			*at++ = ',';
		return at;
	}
	*at++ = column > 0 ? ',' : '{';
	*at++ = '"';
	at = stpcpy(at, columns[column]);
	return stpcpy(at, "\":");
}

static char *put_unknown(char *at, enum nc_rows_format format)
{
	return format == NC_ROWS_CSV ? at : stpcpy(at, "null");
}

static char *put_integer_cell(char *at, enum nc_rows_format format, enum column column, bool known,
                              uint64_t number)
{
	at = put_key(at, format, column);
	return known ? put_number(at, number) : put_unknown(at, format);
}

/* A word of ours, which needs no quotes in CSV; NULL or "" = unknown. */
static char *put_word_cell(char *at, enum nc_rows_format format, enum column column,
                           const char *word)
{
	at = put_key(at, format, column);
	if (!word || !*word)
		return put_unknown(at, format);
	if (format == NC_ROWS_CSV)
		return stpcpy(at, word);
	*at++ = '"';
	at = stpcpy(at, word);
	*at++ = '"';
	return at;
}

/* With @places decimals. */
static char *put_decimal_cell(char *at, enum nc_rows_format format, enum column column,
                              double number, unsigned places)
{
	uint64_t unit = 1;
	uint64_t scaled;

	at = put_key(at, format, column);
	if (!isfinite(number) || number < 0 || number > DECIMAL_MAX)
		return put_unknown(at, format);
	for (unsigned i = 0; i < places; i++)
		unit *= 10;
	scaled = (uint64_t)llround(number * (double)unit);
	at = put_number(at, scaled / unit);
	*at++ = '.';
	while ((unit /= 10) > 0)
		*at++ = (char)('0' + scaled / unit % 10);
	return at;
}

/* In quotes, the quotes within doubled, where RFC 4180 wants it; @at holds twice its length + 2. */
static char *put_csv_text(char *at, const char *text)
{
	if (!strpbrk(text, ",\"\r\n"))
		return stpcpy(at, text);
	*at++ = '"';
	for (; *text; text++) {
		if (*text == '"')
			*at++ = '"';
		*at++ = *text;
	}
	*at++ = '"';
	return at;
}

char *nc_row_columns(void)
{
	char *text = calloc(COLUMN_COUNT, 32);
	char *at = text;

	for (unsigned i = 0; text && i < COLUMN_COUNT; i++) {
		at = put_key(at, NC_ROWS_CSV, i);
		at = stpcpy(at, columns[i]);
	}
	if (text)
		*at = '\n';
	return text;
}

/* The event's name, which is the user's and may be any bytes, as it stands in a cell. */
static char *name_cell(enum nc_rows_format format, const char *name)
{
	json_t *value = np_json_text(name);
	const char *text = json_string_value(value);
	char *cell = NULL;

	if (value && format == NC_ROWS_JSONL) {
		cell = json_dumps(value, JSON_ENCODE_ANY);
	} else if (value && text) {
		cell = calloc(2, strlen(text) + 2);
		if (cell)
			put_csv_text(cell, text);
	} else if (value) {
		cell = calloc(1, 1);
	}
	json_decref(value);
	return cell;
}

char *nc_row_fixed(enum nc_rows_format format, const struct nc_series *series,
                   enum nc_source source)
{
	char *name = name_cell(format, series->what == NC_CLASS_OTHER ? series->name : NULL);
	char *text = name ? malloc(strlen(name) + NC_ROW_BYTES_MAX) : NULL;
	char *at = text;

	if (text) {
		at = put_integer_cell(at, format, SOCKET, series->has_socket, series->socket);
		at = put_integer_cell(at, format, NODE, source == NC_SOURCE_NUMASTAT, series->node);
		at = put_integer_cell(at, format, LINK, series->has_link, series->link);
		at = put_integer_cell(at, format, PEER, series->has_peer, series->peer);
		at = put_word_cell(at, format, CLASS, nc_class_name(series->what));
		at = stpcpy(put_key(at, format, NAME), name);
		at = put_word_cell(at, format, UNIT, nc_class_unit(series->what));
		*at = '\0';
	}
	free(name);
	return text;
}

static char *put_percent_cell(char *at, enum nc_rows_format format, enum column column, double rate,
                              const double *limit)
{
	return put_decimal_cell(at, format, column, limit ? 100 * rate / *limit : NAN, 3);
}

/* Rounding makes neither "all of the time" nor "never" of a share between them. */
static double honest_share(double share)
{
	if (share > 0 && share < 1)
		return fmin(fmax(share, 1e-6), 1 - 1e-6);
	return share;
}

char *nc_row_put(char *at, const struct nc_row *row)
{
	const struct nc_row_limits *limits = &row->limits;
	const struct nc_sample *sample = row->sample;
	const struct nc_value *value = row->value;
	enum nc_rows_format format = row->format;
	bool has_rate = value->is_known && row->is_bytes && sample->interval_ns > 0;
	double rate = has_rate ? (double)value->delta * 1e9 / (double)sample->interval_ns : 0;

	at = put_integer_cell(at, format, TIME, sample->time_ns >= 0, (uint64_t)sample->time_ns);
	at = put_integer_cell(at, format, ELAPSED, true, sample->elapsed_ns);
	at = put_integer_cell(at, format, INTERVAL, true, sample->interval_ns);
	at = stpcpy(at, row->fixed);
	at = put_integer_cell(at, format, VALUE, value->is_known, value->delta);
	/* Before the first known interval there is no sum of known ones. */
	at = put_integer_cell(at, format, TOTAL, value->is_known || value->coverage_total > 0,
	                      value->total);
	at = put_integer_cell(at, format, RATE, has_rate && rate < (double)INT64_MAX,
	                      (uint64_t)llround(fmin(rate, 1e18)));
	at = put_percent_cell(at, format, NOMINAL, rate,
	                      has_rate && limits->has_nominal ? &limits->nominal_bytes_per_s
	                                                      : NULL);
	at = put_percent_cell(at, format, MEASURED, rate,
	                      has_rate && limits->has_measured ? &limits->measured_bytes_per_s
	                                                       : NULL);
	at = put_decimal_cell(at, format, COVERAGE, honest_share(value->coverage), 6);
	at = put_word_cell(at, format, NOTE, nc_note_name(value->note));
	at = put_word_cell(at, format, SOURCE, nc_source_name(row->source));
	if (format == NC_ROWS_JSONL)
		*at++ = '}';
	*at++ = '\n';
	return at;
}
