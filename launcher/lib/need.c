/* SPDX-License-Identifier: BSD-3-Clause */
#include <numarun/preflight.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 64 };

/* The bits to shift for a unit, -1 for text that is none. */
static int parse_unit(const char *text)
{
	static const char letters[] = "KMGT";
	const char *letter = *text ? strchr(letters, toupper((unsigned char)*text)) : NULL;

	if (letter)
		text++;
	if (letter && *text == 'i' && text[1] == 'B')
		text++;
	text += *text == 'B';
	if (*text != '\0')
		return -1;
	return letter ? 10 * (int)(letter - letters + 1) : 0;
}

int nr_need_parse_size(const char *text, uint64_t *ret_bytes, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char *end = NULL;
	unsigned long long value = 0;
	int shift;

	errno = 0;
	if (isdigit((unsigned char)*text))
		value = strtoull(text, &end, 10);
	shift = end ? parse_unit(end) : -1;
	if (shift < 0 || value == 0)
		return np_error_set(err, EINVAL,
		                    "'%s' is not a size: a number above 0, with K, M, G or T "
		                    "(powers of 1024) or bytes",
		                    np_error_quote(text, quoted, sizeof(quoted)));
	if (errno == ERANGE || value > UINT64_MAX >> shift)
		return np_error_set(err, EINVAL, "'%s' is too large a size",
		                    np_error_quote(text, quoted, sizeof(quoted)));
	*ret_bytes = (uint64_t)value << shift;
	return 0;
}

int nr_need_parse_huge(const char *text, struct nr_need *ret, struct np_error *err)
{
	const char *colon = strchr(text, ':');
	char quoted[QUOTE_SIZE];
	char *end = NULL;
	unsigned long long count = 0;
	uint64_t bytes = 0;
	int rc;

	errno = 0;
	if (isdigit((unsigned char)*text))
		count = strtoull(text, &end, 10);
	if (!end || errno || count == 0 || (*end != '\0' && end != colon))
		return np_error_set(err, EINVAL,
		                    "'%s' is not a number of huge pages: COUNT, or COUNT:SIZE as "
		                    "4:1G",
		                    np_error_quote(text, quoted, sizeof(quoted)));
	rc = colon ? nr_need_parse_size(colon + 1, &bytes, err) : 0;
	if (rc < 0)
		return rc;
	ret->huge_count = count;
	ret->huge_bytes = bytes;
	return 0;
}
