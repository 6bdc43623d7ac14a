/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a PMU is of the kind that a pattern names.
 */
#include <numacount/tables.h>

#include <ctype.h>
#include <limits.h>
#include <string.h>

struct number {
	bool is_there;
	unsigned value;
};

/* Takes a decimal number from *name, or a hexadecimal one, of which the value is not wanted. */
static bool take_number(const char **name, bool is_hex, struct number *ret)
{
	const char *first = *name;
	unsigned long value = 0;

	while (isdigit((unsigned char)**name) || (is_hex && isxdigit((unsigned char)**name))) {
		if (!is_hex) {
			value = value * 10 + (unsigned long)(**name - '0');
			if (value > UINT_MAX)
				return false;
			*ret = (struct number){ true, (unsigned)value };
		}
		(*name)++;
	}
	return *name > first;
}

/* One of the patterns, which ends at @end. */
static bool matches_one(const char *pattern, const char *end, const char *name, struct number *ret)
{
	while (pattern < end) {
		bool is_hex = pattern[0] == '#' && pattern + 1 < end && pattern[1] == 'x';

		/* The kernel numbers no box that is alone. */
		if (!*name)
			return end - pattern == 2 && pattern[0] == '_' && pattern[1] == '#';
		if (*pattern == '#') {
			if (!take_number(&name, is_hex, ret))
				return false;
			pattern += is_hex ? 2 : 1;
		} else if (*pattern++ != *name++) {
			return false;
		}
	}
	return !*name;
}

bool nc_pmu_matches(const char *pattern, const char *name, unsigned *ret_number)
{
	for (;;) {
		const char *end = strchrnul(pattern, ',');
		struct number number = { 0 };

		if (matches_one(pattern, end, name, &number)) {
			if (number.is_there)
				*ret_number = number.value;
			return true;
		}
		if (!*end)
			return false;
		pattern = end + 1;
	}
}
