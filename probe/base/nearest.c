/* SPDX-License-Identifier: BSD-3-Clause */
#include "nearest.h"

#include <string.h>

/* Longer names than that nobody mistypes into one of ours. */
enum { LENGTH_MAX = 63 };

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The edit distance of Levenshtein, row by row; both are at most LENGTH_MAX long. */
static unsigned edit_distance(const char *a, const char *b)
{
	size_t length = strlen(b);
	unsigned row[LENGTH_MAX + 1];

	for (size_t i = 0; i <= length; i++)
		row[i] = (unsigned)i;
	for (; *a; a++) {
		unsigned diagonal = row[0]++;

		for (size_t i = 1; i <= length; i++) {
			unsigned above = row[i];

			row[i] = least(least(above, row[i - 1]) + 1, diagonal + (*a != b[i - 1]));
			diagonal = above;
		}
	}
	return row[length];
}

const char *np_nearest_name(const char *typed, const char *const names[], size_t count)
{
	size_t length = strlen(typed);
	/* A third of the letters, rounded up, but not all: more than that is another word. */
	unsigned best = least((unsigned)(length + 2) / 3 + 1, (unsigned)length);
	const char *nearest = NULL;

	if (length > LENGTH_MAX)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		unsigned distance =
			strlen(names[i]) > LENGTH_MAX ? best : edit_distance(typed, names[i]);

		if (distance < best) {
			best = distance;
			nearest = names[i];
		}
	}
	return nearest;
}
