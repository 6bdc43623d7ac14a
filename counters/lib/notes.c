/* SPDX-License-Identifier: BSD-3-Clause */
#include "notes.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int append(struct nc_notes *notes, const char *text)
{
	char **grown = reallocarray(notes->items, notes->count + 1, sizeof(*grown));
	char *copy = strdup(text);

	if (grown)
		notes->items = grown;
	if (!grown || !copy) {
		free(copy);
		return -ENOMEM;
	}
	notes->items[notes->count++] = copy;
	return 0;
}

int nc_notes_add(struct nc_notes *notes, struct np_error *err, const char *fmt, ...)
{
	char text[NP_ERROR_TEXT_SIZE];
	struct np_error safe = { 0 };
	va_list args;

	if (notes->count >= NC_NOTES_MAX)
		return 0;
	if (notes->count == NC_NOTES_MAX - 1) {
		np_error_set(&safe, EINVAL, "and more, which are not listed");
	} else {
		va_start(args, fmt);
		vsnprintf(text, sizeof(text), fmt, args);
		va_end(args);
		/* What a file or a user put into it may be no printable ASCII. */
		np_error_set(&safe, EINVAL, "%s", text);
	}
	if (append(notes, safe.text) < 0)
		return np_error_sys(err, ENOMEM, "a note");
	return 0;
}

void nc_notes_release(struct nc_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		free(notes->items[i]);
	free(notes->items);
	*notes = (struct nc_notes){ 0 };
}
