/* SPDX-License-Identifier: BSD-3-Clause */
#include "fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 64, BYTES_PER_KB = 1024 };

uint64_t nr_multiply(uint64_t a, uint64_t b)
{
	uint64_t product;

	return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

/* The file's text, NULL where it tells nothing. A cgroup that ends while it is read is ENODEV. */
static int read_text(const struct np_sysroot *root, const char *path, char **ret,
                     struct np_error *err)
{
	struct np_error why = { 0 };
	int rc = np_sysroot_read(root, path, ret, &why);

	if (rc >= 0)
		return 0;
	*ret = NULL;
	if (rc == -ENOENT || rc == -ENOTDIR || rc == -ENODEV || rc == -EACCES || rc == -EPERM)
		return 0;
	if (err)
		*err = why;
	return rc;
}

static int refuse_text(const struct np_sysroot *root, const char *path, const char *text,
                       struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char *line = strndup(text, strcspn(text, "\n"));
	int rc = np_error_set(err, EINVAL, "%s/%s: '%s' has no number that can be read", root->path,
	                      path, np_error_quote(line ? line : "?", quoted, sizeof(quoted)));

	free(line);
	return rc;
}

/* strtoull() takes a sign and leading space; the kernel writes neither. */
static bool parse_number(const char *text, const char **ret_end, uint64_t *ret)
{
	char *end;
	unsigned long long value;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	*ret = value;
	*ret_end = end;
	return errno == 0;
}

int nr_number_read(const struct np_sysroot *root, const char *path, bool *ret_found, uint64_t *ret,
                   struct np_error *err)
{
	const char *end;
	uint64_t value = 0;
	char *text;
	int rc = read_text(root, path, &text, err);

	*ret_found = false;
	if (rc < 0 || !text)
		return rc;
	if (strcmp(text, "max") == 0)
		value = UINT64_MAX;
	else if (!parse_number(text, &end, &value) || *end != '\0')
		rc = refuse_text(root, path, text, err);
	free(text);
	if (rc < 0)
		return rc;
	*ret_found = true;
	*ret = value;
	return 0;
}

/* What stands behind the key at the start of the line, NULL when the line has another one. */
static const char *find_value(const char *line, const char *key)
{
	size_t key_len = strlen(key);
	const char *value;

	/* A node's own meminfo has "Node 0 " in front of each line. */
	if (strncmp(line, "Node ", 5) == 0) {
		line += 5 + strspn(line + 5, "0123456789");
		line += *line == ' ';
	}
	value = line + key_len;
	if (strncmp(line, key, key_len) != 0 || (*value != ':' && *value != ' '))
		return NULL;
	value += *value == ':';
	return value + strspn(value, " \t");
}

static int take_line(const struct np_sysroot *root, const char *path, const char *line,
                     struct nr_field *field, struct np_error *err)
{
	const char *text = find_value(line, field->key);
	const char *end;
	uint64_t value = 0;

	if (!text || field->found)
		return 0;
	if (!parse_number(text, &end, &value))
		return refuse_text(root, path, line, err);
	if (strncmp(end, " kB", 3) == 0) {
		value = nr_multiply(value, BYTES_PER_KB);
		end += 3;
	}
	if (*end != '\0' && *end != '\n')
		return refuse_text(root, path, line, err);
	field->value = value;
	field->found = true;
	return 0;
}

int nr_fields_read(const struct np_sysroot *root, const char *path, struct nr_field *fields,
                   size_t count, struct np_error *err)
{
	char *text;
	int rc = read_text(root, path, &text, err);

	for (size_t i = 0; i < count; i++)
		fields[i].found = false;
	for (const char *line = text; line && *line && rc == 0;) {
		for (size_t i = 0; i < count && rc == 0; i++)
			rc = take_line(root, path, line, &fields[i], err);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	free(text);
	return rc;
}
