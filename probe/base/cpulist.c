/* SPDX-License-Identifier: BSD-3-Clause */
#include <numaprobe/cpulist.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 80, MASK_GROUP_DIGITS = 8, MASK_GROUP_BITS = 32 };

static int bad_text(const char *text, const char *why, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "'%s' is not a list of numbers like 0-7,16 (%s)",
	                    np_error_quote(text, quoted, sizeof(quoted)), why);
}

/* Reads one number at *pos; digits only, so that no sign, space or base prefix slips through. */
static const char *read_number(const char **pos, unsigned *ret)
{
	unsigned long value = 0;

	if (!isdigit((unsigned char)**pos))
		return "a number is missing";
	while (isdigit((unsigned char)**pos)) {
		value = value * 10 + (unsigned long)(**pos - '0');
		if (value > NP_BITMAP_INDEX_MAX)
			return "a number is too large";
		(*pos)++;
	}
	*ret = (unsigned)value;
	return NULL;
}

static const char *skip_space(const char *pos)
{
	while (isspace((unsigned char)*pos))
		pos++;
	return pos;
}

int np_cpulist_parse(const char *text, struct np_bitmap *ret, struct np_error *err)
{
	const char *pos = skip_space(text);

	if (*pos == '\0')
		return 0;

	for (;;) {
		unsigned first = 0;
		unsigned last;
		const char *why = read_number(&pos, &first);

		last = first;
		if (!why && *pos == '-') {
			pos++;
			why = read_number(&pos, &last);
		}
		if (!why && last < first)
			why = "a range runs backwards";
		if (why)
			return bad_text(text, why, err);
		if (np_bitmap_add_range(ret, first, last) < 0)
			return np_error_sys(err, ENOMEM, "set of %u members", last);

		if (*pos != ',')
			break;
		pos++;
	}
	if (*skip_space(pos) != '\0')
		return bad_text(text, "there is something behind the list", err);
	return 0;
}

static int bad_mask(const char *text, const char *why, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "'%s' is not a mask like f,0000ff01 (%s)",
	                    np_error_quote(text, quoted, sizeof(quoted)), why);
}

/* Adds the bits of the group that ends before @end and holds bits from @base up. */
static int add_group(const char *group, size_t len, unsigned base, struct np_bitmap *ret)
{
	char digits[MASK_GROUP_DIGITS + 1];
	unsigned long bits;

	memcpy(digits, group, len);
	digits[len] = '\0';
	bits = strtoul(digits, NULL, 16);
	for (unsigned b = 0; b < MASK_GROUP_BITS; b++)
		if (bits >> b & 1 && np_bitmap_add(ret, base + b) < 0)
			return -ENOMEM;
	return 0;
}

int np_cpumask_parse(const char *text, struct np_bitmap *ret, struct np_error *err)
{
	const char *start = skip_space(text);
	const char *end = start + strlen(start);
	unsigned base = 0;

	while (end > start && isspace((unsigned char)end[-1]))
		end--;
	if (end == start)
		return bad_mask(text, "it is empty", err);

	/* From the right, as the last group holds the lowest bits. */
	while (end > start) {
		const char *group = end;

		while (group > start && isxdigit((unsigned char)group[-1]))
			group--;
		if (group == end || (group > start && group[-1] != ',') || group == start + 1)
			return bad_mask(text, "a group is not hexadecimal", err);
		if (end - group > MASK_GROUP_DIGITS)
			return bad_mask(text, "a group is longer than 8 digits", err);
		if (base + MASK_GROUP_BITS > NP_BITMAP_INDEX_MAX)
			return bad_mask(text, "it is too long", err);
		if (add_group(group, (size_t)(end - group), base, ret) < 0)
			return np_error_sys(err, ENOMEM, "set of %u members", base);
		base += MASK_GROUP_BITS;
		end = group > start ? group - 1 : group;
	}
	return 0;
}

/* The last member of the run that starts at @first. */
static unsigned run_end(const struct np_bitmap *set, unsigned first)
{
	unsigned last = first;

	while (np_bitmap_has(set, last + 1))
		last++;
	return last;
}

static void write_list(FILE *out, const struct np_bitmap *set)
{
	const char *comma = "";

	for (unsigned first = np_bitmap_next(set, 0); first != NP_BITMAP_END;) {
		unsigned last = run_end(set, first);

		fprintf(out, "%s%u", comma, first);
		if (last > first)
			fprintf(out, "-%u", last);
		comma = ",";
		first = np_bitmap_next(set, last + 1);
	}
}

char *np_cpulist_print(const struct np_bitmap *set)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	write_list(out, set);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

const char *np_cpulist_brief(const struct np_bitmap *set, char *buf, size_t size)
{
	char *text = np_cpulist_print(set);

	if (!text)
		return "?";
	if ((size_t)snprintf(buf, size, "%s", text) >= size && size > 3)
		memcpy(buf + size - 4, "...", 4);
	free(text);
	return buf;
}

const char *np_cpulist_named(const char *noun, const struct np_bitmap *set, char *buf, size_t size)
{
	int used = snprintf(buf, size, "%s%s ", noun, np_bitmap_count(set) == 1 ? "" : "s");

	if (used > 0 && (size_t)used < size)
		np_cpulist_brief(set, buf + used, size - (size_t)used);
	return buf;
}
