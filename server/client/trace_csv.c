/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_csv.h"

#include "trace_about.h"

#include <errno.h>
#include <inttypes.h>

enum { COLUMN_COUNT = 9, QUOTE_SIZE = 48 };

enum {
	WORKER,
	SAMPLE,
	KEY_INDEX,
	QUERY_START,
	RESPONSE_FIRST_BYTE,
	RESPONSE_TTFB,
	PAYLOAD_FIRST_BYTE,
	PAYLOAD_TTFB,
	COMPLETE,
};

static const char *const names[COLUMN_COUNT] = {
	"worker",
	"sample",
	"key_index",
	"query_start_ns",
	"response_first_byte_ns",
	"response_ttfb_ns",
	"payload_first_byte_ns",
	"payload_ttfb_ns",
	"complete_ns",
};

bool nl_csv_is_header(const char *text, size_t bytes, bool *ret_has_arms)
{
	static const char header[] = NL_CSV_HEADER NL_CSV_ARM_COLUMN;
	size_t plain = sizeof(NL_CSV_HEADER) - 1;

	*ret_has_arms = bytes == sizeof(header) - 1;
	return (*ret_has_arms || bytes == plain) && memcmp(text, header, bytes) == 0;
}

/* The field in quotes, for messages. */
static const char *quote(const char *field, const char *end, char *buf)
{
	char copy[QUOTE_SIZE];
	size_t bytes = 0;

	while (bytes + 1 < sizeof(copy) && field + bytes < end && field[bytes] != ',') {
		/* A NUL would end the text that is shown. */
		copy[bytes] = field[bytes] ? field[bytes] : '?';
		bytes++;
	}
	copy[bytes] = '\0';
	return np_error_quote(copy, buf, QUOTE_SIZE);
}

/*
 * Digits up to @behind, which *text is moved over. The newline that ends each line ends this too.
 * Returns false for what is no number of 64 bits.
 */
static inline bool parse_number(const char **text, char behind, uint64_t *ret)
{
	const char *at = *text;
	const char *safe = at + 19; /* so many digits always fit */
	uint64_t value = 0;
	unsigned digit;

	while ((digit = (unsigned char)*at - (unsigned)'0') <= 9 && at < safe) {
		value = value * 10 + digit;
		at++;
	}
	if (at == *text)
		return false;
	while ((digit = (unsigned char)*at - (unsigned)'0') <= 9) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return false;
		at++;
	}
	if (*at != behind)
		return false;
	*text = at + 1;
	*ret = value;
	return true;
}

static bool adds_up(uint64_t start, uint64_t elapsed, uint64_t sum)
{
	uint64_t wanted;

	return !__builtin_add_overflow(start, elapsed, &wanted) && wanted == sum;
}

static int check_values(const uint64_t *values, struct np_error *err)
{
	if (values[KEY_INDEX] > UINT32_MAX)
		return np_error_set(err, EBADMSG, "key_index %" PRIu64 " is more than 32 bits",
		                    values[KEY_INDEX]);
	if (!adds_up(values[QUERY_START], values[RESPONSE_TTFB], values[RESPONSE_FIRST_BYTE]))
		return np_error_set(
			err, EBADMSG,
			"response_first_byte_ns is not query_start_ns + response_ttfb_ns");
	if (!adds_up(values[QUERY_START], values[PAYLOAD_TTFB], values[PAYLOAD_FIRST_BYTE]))
		return np_error_set(
			err, EBADMSG,
			"payload_first_byte_ns is not query_start_ns + payload_ttfb_ns");
	return 0;
}

/* @field could not be read: for what it is, or for what is behind it. */
static int bad_field(unsigned column, const char *field, const char *end, struct np_error *err)
{
	size_t digits = 0;
	char quoted[QUOTE_SIZE];

	while (field + digits < end && field[digits] >= '0' && field[digits] <= '9')
		digits++;
	if (digits > 0 && digits < 20 && (field + digits == end || field[digits] == ','))
		return np_error_set(err, EBADMSG, "%s: the line %s here", names[column],
		                    field + digits == end ? "ends" : "does not end");
	return np_error_set(err, EBADMSG, "%s: '%s' is no whole number of 64 bits", names[column],
	                    quote(field, end, quoted));
}

int nl_csv_parse(const char *text, size_t bytes, bool has_arms, struct nl_csv_row *ret,
                 struct np_error *err)
{
	uint64_t values[COLUMN_COUNT];
	const char *end = text + bytes;
	const char *at = text;
	const char *last;
	char quoted[QUOTE_SIZE];
	int rc;

	for (unsigned i = 0; i + 1 < COLUMN_COUNT; i++)
		if (!parse_number(&at, ',', &values[i]))
			return bad_field(i, at, end, err);
	last = at;
	if (!parse_number(&at, has_arms ? ',' : *end, &values[COMPLETE]) ||
	    (!has_arms && at != end + 1))
		return bad_field(COMPLETE, last, end, err);
	if (has_arms && !nl_trace_arm_name_is_ok(at, (size_t)(end - at)))
		return np_error_set(err, EBADMSG, "arm: '%s' is no name", quote(at, end, quoted));
	rc = check_values(values, err);
	if (rc < 0)
		return rc;
	*ret = (struct nl_csv_row){
		.row = {
			.start_ns = values[QUERY_START],
			.response_ns = values[RESPONSE_TTFB],
			.payload_ns = values[PAYLOAD_TTFB],
			.total_ns = values[COMPLETE],
			.key = (uint32_t)values[KEY_INDEX],
		},
		.worker = values[WORKER],
		.sample = values[SAMPLE],
		.arm = has_arms ? at : NULL,
		.arm_bytes = has_arms ? (size_t)(end - at) : 0,
	};
	return 0;
}
