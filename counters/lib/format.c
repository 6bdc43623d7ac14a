/* SPDX-License-Identifier: BSD-3-Clause */
#include "format.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { FIELD_BITS = 64, KNOWN_FIELDS = 4, QUOTE_SIZE = 64 };

static int refuse(const char *text, const char *why, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "'%s' is no format of a term: %s",
	                    np_error_quote(text, quoted, sizeof(quoted)), why);
}

/* A decimal number of at most two digits at *at, which moves on behind it. */
static bool take_number(const char **at, unsigned *ret)
{
	unsigned value = 0;
	unsigned digits = 0;

	while (isdigit((unsigned char)(*at)[digits]) && digits < 3)
		value = value * 10 + (unsigned)((*at)[digits++] - '0');
	if (digits < 1 || digits > 2)
		return false;
	*at += digits;
	*ret = value;
	return true;
}

/* "config" is 0, "config1" is 1; moves behind the colon. */
static bool take_field(const char **at, unsigned *ret)
{
	static const char prefix[] = "config";

	if (strncmp(*at, prefix, sizeof(prefix) - 1) != 0)
		return false;
	*at += sizeof(prefix) - 1;
	*ret = 0;
	if (**at != ':' && !take_number(at, ret))
		return false;
	return *(*at)++ == ':';
}

/* "7" or "0-7" */
static bool take_range(const char **at, unsigned *ret_first, unsigned *ret_last)
{
	if (!take_number(at, ret_first))
		return false;
	*ret_last = *ret_first;
	if (**at != '-')
		return true;
	(*at)++;
	return take_number(at, ret_last);
}

static const char *add_range(struct nc_format *format, uint64_t *used, unsigned first,
                             unsigned last)
{
	if (first > last)
		return "a range that ends before it begins";
	if (last >= FIELD_BITS)
		return "a bit beyond 63";
	for (unsigned bit = first; bit <= last; bit++) {
		if (*used & (UINT64_C(1) << bit))
			return "a bit that is named twice";
		*used |= UINT64_C(1) << bit;
		format->bits[format->bit_count++] = (unsigned char)bit;
	}
	return NULL;
}

int nc_format_parse(const char *text, struct nc_format *ret, struct np_error *err)
{
	struct nc_format format = { .name = ret->name };
	const char *at = text;
	uint64_t used = 0;

	if (!take_field(&at, &format.field))
		return refuse(text, "it does not begin with config:, config1: ...", err);
	do {
		unsigned first, last;
		const char *why;

		if (!take_range(&at, &first, &last))
			return refuse(text, "no bit where one must be", err);
		why = add_range(&format, &used, first, last);
		if (why)
			return refuse(text, why, err);
	} while (*at == ',' && *++at);
	if (*at || at[-1] == ',')
		return refuse(text, "something else behind the bits", err);
	if (format.field >= KNOWN_FIELDS)
		return np_error_set(err, ENOTSUP, "config%u is not known", format.field);
	*ret = format;
	return 0;
}

int nc_format_spread(const struct nc_format *format, uint64_t value, uint64_t config[4],
                     struct np_error *err)
{
	uint64_t spread = 0;

	if (format->bit_count < FIELD_BITS && value >> format->bit_count)
		return np_error_set(err, ERANGE, "%s=0x%" PRIx64 ": the PMU has %u bits for it",
		                    format->name, value, format->bit_count);
	for (unsigned i = 0; i < format->bit_count; i++)
		spread |= (value >> i & 1) << format->bits[i];
	config[format->field] |= spread;
	return 0;
}
