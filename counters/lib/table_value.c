/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_value.h"

#include "../../probe/base/nearest.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

enum { WORD_SIZE = 48 };

#define refuse(cursor, ...) np_error_set((cursor)->err, EINVAL, __VA_ARGS__)

static void skip_blanks(struct nc_cursor *cursor)
{
	cursor->at += strspn(cursor->at, BLANKS);
}

/* The text up to the next of @stops, or the whole rest when it begins with one; for messages. */
static const char *word_at(const struct nc_cursor *cursor, const char *stops, char buf[WORD_SIZE])
{
	size_t length = strcspn(cursor->at, stops);

	if (length == 0)
		length = strlen(cursor->at);
	if (length >= WORD_SIZE)
		length = WORD_SIZE - 1;
	memcpy(buf, cursor->at, length);
	buf[length] = '\0';
	return buf;
}

static int check_end(struct nc_cursor *cursor)
{
	char word[WORD_SIZE];

	skip_blanks(cursor);
	if (!*cursor->at)
		return 0;
	return refuse(cursor, "'%s' is too much here", word_at(cursor, "", word));
}

bool nc_value_is_at_end(struct nc_cursor *cursor)
{
	skip_blanks(cursor);
	return !*cursor->at;
}

/* ---- numbers ---- */

static unsigned digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return (unsigned)(c - '0');
	return (unsigned)(tolower((unsigned char)c) - 'a') + 10;
}

/* Digits only, so that no sign and no blank slips through. */
static int take_number(struct nc_cursor *cursor, uint64_t min, uint64_t max, uint64_t *ret)
{
	const char *first = cursor->at;
	bool is_hex = first[0] == '0' && (first[1] == 'x' || first[1] == 'X');
	unsigned base = is_hex ? 16 : 10;
	const char *digits = first + (is_hex ? 2 : 0);
	const char *digit = digits;
	uint64_t value = 0;
	bool fits = true;
	char word[WORD_SIZE];

	for (; is_hex ? isxdigit((unsigned char)*digit) : isdigit((unsigned char)*digit); digit++) {
		fits = fits && digit_value(*digit) <= max &&
		       value <= (max - digit_value(*digit)) / base;
		value = value * base + digit_value(*digit);
	}
	if (digit == digits)
		return refuse(cursor, *first ? "'%s' is not a number" : "%sa number is missing",
		              word_at(cursor, BLANKS ",/+-", word));
	if (!fits || value < min)
		return refuse(cursor, "%s is not in %" PRIu64 "..%" PRIu64,
		              word_at(cursor, BLANKS ",/+-", word), min, max);
	cursor->at = digit;
	*ret = value;
	return 0;
}

int nc_value_number(struct nc_cursor *cursor, uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;
	int rc = take_number(cursor, min, max, &value);

	if (rc == 0)
		rc = check_end(cursor);
	if (rc == 0)
		*ret = value;
	return rc;
}

/* "FIRST-LAST" or one number for both. */
static int take_range(struct nc_cursor *cursor, unsigned max, unsigned *ret_first,
                      unsigned *ret_last)
{
	uint64_t first = 0;
	uint64_t last;
	int rc = take_number(cursor, 0, max, &first);

	if (rc < 0)
		return rc;
	last = first;
	if (*cursor->at == '-') {
		cursor->at++;
		rc = take_number(cursor, first, max, &last);
	}
	if (rc < 0)
		return rc;
	*ret_first = (unsigned)first;
	*ret_last = (unsigned)last;
	return 0;
}

int nc_value_range(struct nc_cursor *cursor, unsigned max, unsigned *ret_first, unsigned *ret_last)
{
	int rc = take_range(cursor, max, ret_first, ret_last);

	return rc < 0 ? rc : check_end(cursor);
}

int nc_value_fraction(struct nc_cursor *cursor, uint32_t *ret_units, uint32_t *ret_per)
{
	uint64_t units = 0;
	uint64_t per = 1;
	int rc = take_number(cursor, 1, UINT32_MAX, &units);

	if (rc == 0 && *cursor->at == '/') {
		cursor->at++;
		rc = take_number(cursor, 1, UINT32_MAX, &per);
	}
	if (rc == 0)
		rc = check_end(cursor);
	if (rc < 0)
		return rc;
	*ret_units = (uint32_t)units;
	*ret_per = (uint32_t)per;
	return 0;
}

/* ---- words ---- */

int nc_value_yes_no(struct nc_cursor *cursor, bool *ret)
{
	bool is_yes = strcmp(cursor->at, "yes") == 0;
	char word[WORD_SIZE];

	if (!is_yes && strcmp(cursor->at, "no") != 0)
		return refuse(cursor, "'%s' is neither 'yes' nor 'no'", word_at(cursor, "", word));
	*ret = is_yes;
	return 0;
}

/* What comes from files and not from a PMU has no event. */
static bool has_events(enum nc_class what)
{
	return what < NC_CLASS_CPU_MEMORY_TOTAL || what == NC_CLASS_OTHER;
}

int nc_value_class(struct nc_cursor *cursor, enum nc_class *ret)
{
	enum nc_class what = nc_class_find(cursor->at);
	const char *names[NC_CLASS_COUNT];
	size_t count = 0;
	const char *nearest;
	char word[WORD_SIZE];

	if (what != NC_CLASS_COUNT && has_events(what)) {
		*ret = what;
		return 0;
	}
	if (what != NC_CLASS_COUNT)
		return refuse(cursor, "'%s' is read from files: no PMU counts it", cursor->at);
	for (unsigned i = 0; i < NC_CLASS_COUNT; i++)
		if (has_events((enum nc_class)i))
			names[count++] = nc_class_name((enum nc_class)i);
	nearest = np_nearest_name(cursor->at, names, count);
	word_at(cursor, "", word);
	if (nearest)
		return refuse(cursor, "no class '%s': did you mean '%s'?", word, nearest);
	return refuse(cursor,
	              "no class '%s' (memory_read, interconnect_out ...; 'other' for what "
	              "is none of them)",
	              word);
}

/* ---- processors ---- */

static const struct {
	const char *name;
	enum nc_vendor vendor;
} vendors[] = {
	{ "GenuineIntel", NC_VENDOR_INTEL },
	{ "AuthenticAMD", NC_VENDOR_AMD },
	{ "Arm", NC_VENDOR_ARM },
	{ "POWER", NC_VENDOR_POWER },
};

static int take_vendor(struct nc_cursor *cursor, enum nc_vendor *ret)
{
	size_t length = strspn(cursor->at, LETTERS);
	char word[WORD_SIZE];

	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++) {
		if (strncmp(vendors[i].name, cursor->at, length) != 0 || vendors[i].name[length])
			continue;
		cursor->at += length;
		*ret = vendors[i].vendor;
		return 0;
	}
	return refuse(cursor,
	              "'%s' is no vendor; there are: GenuineIntel 6/85, AuthenticAMD 25/0x00-0x0f, "
	              "Arm 0x41/0xd4f, POWER9",
	              word_at(cursor, BLANKS ",", word));
}

/* Moves behind the comma that ends an item, or to the end. */
static int end_item(struct nc_cursor *cursor)
{
	char word[WORD_SIZE];

	skip_blanks(cursor);
	if (!*cursor->at)
		return 0;
	if (*cursor->at != ',')
		return refuse(cursor, "'%s' is too much here: items stand between commas",
		              word_at(cursor, BLANKS ",", word));
	cursor->at++;
	return 0;
}

int nc_value_cpu(struct nc_cursor *cursor, struct nc_cpu_rule *ret)
{
	struct nc_cpu_rule rule = { .model_last = UINT_MAX, .stepping_last = UINT_MAX };
	uint64_t family = 0;
	int rc;

	skip_blanks(cursor);
	rc = take_vendor(cursor, &rule.vendor);
	skip_blanks(cursor);
	if (rc == 0)
		rc = take_number(cursor, 0, UINT_MAX, &family);
	rule.family = (unsigned)family;
	if (rc == 0 && *cursor->at == '/') {
		cursor->at++;
		rc = take_range(cursor, UINT_MAX, &rule.model_first, &rule.model_last);
	}
	if (rc == 0 && *cursor->at == '/') {
		cursor->at++;
		rc = take_range(cursor, UINT_MAX, &rule.stepping_first, &rule.stepping_last);
	}
	if (rc == 0)
		rc = end_item(cursor);
	if (rc == 0)
		*ret = rule;
	return rc;
}

int nc_value_rate(struct nc_cursor *cursor, uint32_t *ret)
{
	uint64_t rate = 0;
	int rc;

	skip_blanks(cursor);
	rc = take_number(cursor, 1, UINT32_MAX, &rate);
	if (rc == 0)
		rc = end_item(cursor);
	if (rc == 0)
		*ret = (uint32_t)rate;
	return rc;
}

/* ---- PMUs and events ---- */

static int check_length(struct nc_cursor *cursor, size_t used, size_t max)
{
	if (used <= max)
		return 0;
	return refuse(cursor, "longer than %zu bytes", max);
}

/* Appends @length bytes to a text of at most @max. */
static int append(struct nc_cursor *cursor, char *text, size_t max, const char *from, size_t length)
{
	size_t used = strlen(text);
	int rc = check_length(cursor, used + length, max);

	if (rc < 0)
		return rc;
	memcpy(text + used, from, length);
	text[used + length] = '\0';
	return 0;
}

int nc_value_pattern(struct nc_cursor *cursor, char ret[NC_PATTERN_MAX + 1])
{
	char word[WORD_SIZE];

	*ret = '\0';
	for (;;) {
		size_t length;
		int rc;

		skip_blanks(cursor);
		length = strspn(cursor->at, LETTERS DIGITS "_.-#");
		if (length == 0 || !strchr(BLANKS ",", cursor->at[length])) {
			cursor->at += length;
			return refuse(cursor,
			              *cursor->at ? "'%s' is not in the name of a PMU"
			                          : "%sthe name of a PMU is missing",
			              word_at(cursor, "", word));
		}
		rc = append(cursor, ret, NC_PATTERN_MAX, cursor->at, length);
		if (rc < 0)
			return rc;
		cursor->at += length;
		skip_blanks(cursor);
		if (!*cursor->at)
			return 0;
		if (*cursor->at != ',')
			return check_end(cursor);
		rc = append(cursor, ret, NC_PATTERN_MAX, ",", 1);
		if (rc < 0)
			return rc;
		cursor->at++;
	}
}

int nc_value_pfm(struct nc_cursor *cursor, char ret[NC_PFM_MAX + 1])
{
	size_t length = strspn(cursor->at, LETTERS DIGITS "_.:=-");
	const char *colons = strstr(cursor->at, "::");
	char word[WORD_SIZE];

	if (!colons || colons == cursor->at || !colons[2])
		return refuse(cursor, "'%s' is not PMU::EVENT:UMASK, as libpfm4 names events",
		              word_at(cursor, "", word));
	*ret = '\0';
	if (append(cursor, ret, NC_PFM_MAX, cursor->at, length) < 0)
		return -EINVAL;
	cursor->at += length;
	return check_end(cursor);
}

/* "NUMBER" or "NUMBER+STEP", written into *ret. */
static int take_term_value(struct nc_cursor *cursor, unsigned number, char ret[WORD_SIZE],
                           bool *ret_counts_up)
{
	uint64_t value = 0;
	uint64_t step = 0;
	int rc = take_number(cursor, 0, UINT64_MAX, &value);

	if (rc == 0 && *cursor->at == '+') {
		cursor->at++;
		rc = take_number(cursor, 1, UINT32_MAX, &step);
		*ret_counts_up = true;
	}
	/* May wrap in a silly table; it is defined, and the format's bits will not hold it. */
	if (rc == 0)
		snprintf(ret, WORD_SIZE, "=0x%" PRIx64, value + step * number);
	return rc;
}

/* Has @terms an item that begins with that name and "="? */
static bool has_term(const char *terms, const char *name, size_t length)
{
	for (; *terms; terms += strcspn(terms, ","), terms += *terms == ',')
		if (strncmp(terms, name, length) == 0 && terms[length] == '=')
			return true;
	return false;
}

/* One "name=value" into @ret. */
static int take_term(struct nc_cursor *cursor, unsigned number, char ret[NC_TERMS_MAX + 1],
                     bool *ret_counts_up)
{
	const char *name = cursor->at;
	size_t length = strspn(name, LETTERS DIGITS "_");
	char value[WORD_SIZE] = "";
	char word[WORD_SIZE];
	int rc;

	if (length == 0 || name[length] != '=')
		return refuse(cursor, "'%s' is not NAME=NUMBER", word_at(cursor, BLANKS ",", word));
	if (has_term(ret, name, length))
		return refuse(cursor, "a second '%s'", word_at(cursor, "=", word));
	rc = append(cursor, ret, NC_TERMS_MAX, name, length);
	if (rc < 0)
		return rc;
	cursor->at += length + 1;
	rc = take_term_value(cursor, number, value, ret_counts_up);
	return rc < 0 ? rc : append(cursor, ret, NC_TERMS_MAX, value, strlen(value));
}

/* "@NAME" into @ret. */
static int take_alias(struct nc_cursor *cursor, char ret[NC_TERMS_MAX + 1])
{
	size_t length = 1 + strspn(cursor->at + 1, LETTERS DIGITS "_.-");
	char word[WORD_SIZE];
	int rc;

	if (length == 1 || cursor->at[1] == '.')
		return refuse(cursor, "'%s' is not @NAME, NAME being a file in the PMU's events/",
		              word_at(cursor, "", word));
	rc = append(cursor, ret, NC_TERMS_MAX, cursor->at, length);
	if (rc == 0)
		cursor->at += length;
	return rc;
}

int nc_value_terms(struct nc_cursor *cursor, unsigned number, char ret[NC_TERMS_MAX + 1],
                   bool *ret_counts_up)
{
	*ret = '\0';
	*ret_counts_up = false;
	for (;;) {
		int rc;

		skip_blanks(cursor);
		rc = *cursor->at == '@' && !*ret ? take_alias(cursor, ret)
		                                 : take_term(cursor, number, ret, ret_counts_up);
		if (rc < 0)
			return rc;
		skip_blanks(cursor);
		if (!*cursor->at)
			return 0;
		if (*cursor->at != ',')
			return check_end(cursor);
		cursor->at++;
		rc = append(cursor, ret, NC_TERMS_MAX, ",", 1);
		if (rc < 0)
			return rc;
	}
}
