/* SPDX-License-Identifier: BSD-3-Clause */
#include "encode.h"

#include "format.h"
#include "pmu.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 80 };

struct term {
	char name[NC_TERM_NAME_MAX + 1];
	uint64_t value;
	bool wants_value; /* "chip=?" of an alias */
};

struct terms {
	struct term items[NC_TERMS_MAX];
	size_t count;
};

static int refuse(const char *what, const char *why, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "'%s': %s", np_error_quote(what, quoted, sizeof(quoted)),
	                    why);
}

static bool is_name(const char *text)
{
	if (!*text || strlen(text) > NC_TERM_NAME_MAX)
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("_.-", *text))
			return false;
	return true;
}

/* Decimal, or hexadecimal behind 0x; never octal, as perf has it. */
static bool parse_value(const char *text, uint64_t *ret)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hex ? text + 2 : text;
	char *end;

	if (!isxdigit((unsigned char)*digits))
		return false;
	errno = 0;
	*ret = strtoull(digits, &end, is_hex ? 16 : 10);
	return errno == 0 && end != digits && !*end;
}

/* Two of a name are a mistake, but for the number of a "?". */
static int add_term(struct terms *terms, const struct term *term, struct np_error *err)
{
	for (size_t i = 0; i < terms->count; i++) {
		if (strcmp(terms->items[i].name, term->name) != 0)
			continue;
		if (!terms->items[i].wants_value)
			return refuse(term->name, "given twice", err);
		terms->items[i] = *term;
		return 0;
	}
	if (terms->count == NC_TERMS_MAX)
		return np_error_set(err, EINVAL, "more than %d terms", NC_TERMS_MAX);
	terms->items[terms->count++] = *term;
	return 0;
}

/* Parses one term, which it cuts to pieces. */
static int parse_term(char *text, struct terms *ret, struct np_error *err)
{
	struct term term = { .value = 1 };
	char *equals = strchr(text, '=');

	if (equals)
		*equals = '\0';
	if (!is_name(text))
		return refuse(text, "no term's name", err);
	snprintf(term.name, sizeof(term.name), "%s", text);
	if (equals && strcmp(equals + 1, "?") == 0)
		term.wants_value = true;
	else if (equals && !parse_value(equals + 1, &term.value))
		return refuse(equals + 1, "no number", err);
	return add_term(ret, &term, err);
}

static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (isspace((unsigned char)*text))
		text++;
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static int parse_alias(const struct np_sysroot *root, const struct nc_pmu *pmu, const char *name,
                       struct terms *ret, struct np_error *err);

/* @root is NULL within an alias, which cannot stand for another one. */
static int parse_terms(const struct np_sysroot *root, const struct nc_pmu *pmu, const char *text,
                       struct terms *ret, struct np_error *err)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *part;
	int rc = 0;

	if (!copy)
		return np_error_sys(err, ENOMEM, "terms");
	while (rc == 0 && (part = strsep(&rest, ","))) {
		part = trim(part);
		if (*part == '@' && root)
			rc = parse_alias(root, pmu, part + 1, ret, err);
		else
			rc = parse_term(part, ret, err);
	}
	free(copy);
	return rc;
}

static int parse_alias(const struct np_sysroot *root, const struct nc_pmu *pmu, const char *name,
                       struct terms *ret, struct np_error *err)
{
	char file[NC_TERM_NAME_MAX + 16];
	char path[NC_PMU_PATH_SIZE];
	char *text;
	int rc;

	/* A name without slashes, and so a file of that folder. */
	if (!is_name(name) || *name == '.')
		return refuse(name, "no alias's name", err);
	snprintf(file, sizeof(file), "events/%s", name);
	rc = np_sysroot_read(root, nc_pmu_path(pmu->name, file, path), &text, err);
	if (rc < 0)
		return rc;
	rc = parse_terms(NULL, pmu, text, ret, err);
	free(text);
	return rc < 0 ? np_error_wrap(err, rc, "%s/%s", root->path, path) : 0;
}

/* config is 0, config1 is 1; else -1. */
static int raw_field(const char *name)
{
	static const char *const fields[] = { "config", "config1", "config2", "config3" };

	for (int i = 0; i < 4; i++)
		if (strcmp(name, fields[i]) == 0)
			return i;
	return -1;
}

static int list_terms(const struct nc_pmu *pmu, const char *name, struct np_error *err)
{
	char list[200] = "";
	size_t used = 0;

	for (size_t i = 0; i < pmu->format_count && used < sizeof(list) - 1; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
		                         pmu->formats[i].name);
	return np_error_set(err, EINVAL, "it has no term '%s', but %s", name,
	                    *list ? list : "none at all");
}

static int apply(const struct nc_pmu *pmu, const struct term *term, struct nc_code *code,
                 struct np_error *err)
{
	const struct nc_format *format = nc_pmu_format(pmu, term->name);
	int field = raw_field(term->name);

	if (term->wants_value)
		return np_error_set(err, EINVAL, "'%s=?' wants a number behind the alias",
		                    term->name);
	if (format)
		return nc_format_spread(format, term->value, code->config, err);
	if (field < 0)
		return list_terms(pmu, term->name, err);
	code->config[field] |= term->value;
	return 0;
}

int nc_encode(const struct np_sysroot *root, const struct nc_pmu *pmu, const char *terms,
              struct nc_code *ret, struct np_error *err)
{
	struct nc_code code = { .type = pmu->type };
	struct terms list = { .count = 0 };
	int rc = parse_terms(root, pmu, terms, &list, err);

	for (size_t i = 0; i < list.count && rc == 0; i++)
		rc = apply(pmu, &list.items[i], &code, err);
	if (rc == 0)
		*ret = code;
	return rc;
}
