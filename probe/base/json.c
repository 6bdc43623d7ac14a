/* SPDX-License-Identifier: BSD-3-Clause */
#include "json.h"

#include <numaprobe/cpulist.h>

#include <errno.h>
#include <numaprobe/error.h>
#include <stdlib.h>
#include <string.h>

json_t *np_json_set(const struct np_bitmap *set)
{
	char *text = np_cpulist_print(set);
	json_t *value = text ? json_string(text) : NULL;

	free(text);
	return value;
}

json_t *np_json_known_set(const struct np_bitmap *set)
{
	return np_bitmap_is_empty(set) ? json_null() : np_json_set(set);
}

json_t *np_json_number(bool known, uint64_t value)
{
	return known ? json_integer((json_int_t)value) : json_null();
}

json_t *np_json_text(const char *text)
{
	json_t *value;
	char *quoted;
	size_t size;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	/* Not UTF-8: a path or an argument may be any bytes. */
	size = strlen(text) * 4 + 8;
	quoted = malloc(size);
	if (!quoted)
		return NULL;
	value = json_string(np_error_quote(text, quoted, (unsigned)size));
	free(quoted);
	return value;
}

void np_json_append(json_t **array, json_t *value)
{
	if (!*array) {
		json_decref(value);
	} else if (json_array_append_new(*array, value) < 0) {
		json_decref(*array);
		*array = NULL;
	}
}

void np_json_set_member(json_t **object, const char *key, json_t *value)
{
	if (!*object) {
		json_decref(value);
	} else if (json_object_set_new(*object, key, value) < 0) {
		json_decref(*object);
		*object = NULL;
	}
}

int np_json_write(json_t *document, FILE *out)
{
	/* 15 digits: what any double holds of a decimal, so that 0.1 is written as 0.1. */
	const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(15);
	int rc = 0;

	if (!document)
		return -ENOMEM;
	errno = 0;
	if (json_dumpf(document, out, flags) < 0 || fputc('\n', out) == EOF || fflush(out) == EOF)
		rc = errno ? -errno : -EIO;
	json_decref(document);
	return rc;
}
