/* SPDX-License-Identifier: BSD-3-Clause */
#include "arms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 80 };

static bool text_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool nl_server_equal(const struct nl_server *a, const struct nl_server *b)
{
	return text_equal(a->host, b->host) && text_equal(a->port, b->port);
}

static void release_arm(struct nl_arm *arm)
{
	free(arm->name);
	free(arm->prefix);
	nl_server_release(&arm->server);
	*arm = (struct nl_arm){ 0 };
}

void nl_arms_release(struct nl_arms *arms)
{
	for (unsigned i = 0; i < arms->count; i++)
		release_arm(&arms->arms[i]);
	arms->count = 0;
}

static int copy_server(const struct nl_server *from, struct nl_server *ret, struct np_error *err)
{
	struct nl_server copy = { .host = strdup(from->host),
		                  .port = from->port ? strdup(from->port) : NULL };

	if (!copy.host || (from->port && !copy.port)) {
		nl_server_release(&copy);
		return np_error_sys(err, ENOMEM, "run: arms");
	}
	*ret = copy;
	return 0;
}

static int check_name(const char *name, struct np_error *err)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t length = strlen(name);
	char quoted[QUOTE_SIZE];

	if (length >= 1 && length <= NL_ARM_NAME_MAX && strspn(name, allowed) == length)
		return 0;
	return np_error_set(err, EINVAL,
	                    "--arms: '%s' is no name of an arm: 1 to %d of A-Z a-z 0-9 . _ -",
	                    np_error_quote(name, quoted, sizeof(quoted)), NL_ARM_NAME_MAX);
}

/* Is @longer's first key one of @shorter's? "x1" and 0 are "x", and 10. */
static bool is_within(const char *shorter, const char *longer, uint32_t keys)
{
	size_t size = strlen(shorter);
	const char *digits = longer + size;
	uint64_t index = 0;

	if (strncmp(shorter, longer, size) != 0 || *digits < '1' || *digits > '9')
		return false;
	for (; *digits >= '0' && *digits <= '9' && index < keys; digits++)
		index = 10 * index + (uint64_t)(*digits - '0');
	return *digits == '\0' && 10 * index < keys;
}

static bool is_shared(const struct nl_arm *a, const struct nl_arm *b, uint32_t keys)
{
	return nl_server_equal(&a->server, &b->server) &&
	       (strcmp(a->prefix, b->prefix) == 0 || is_within(a->prefix, b->prefix, keys) ||
	        is_within(b->prefix, a->prefix, keys));
}

static int check_distinct(const struct nl_arms *arms, const struct nl_arm *arm, uint32_t keys,
                          struct np_error *err)
{
	char server[128];

	for (unsigned i = 0; i < arms->count; i++) {
		const struct nl_arm *other = &arms->arms[i];

		if (strcmp(other->name, arm->name) == 0)
			return np_error_set(err, EINVAL, "--arms: there are two named '%s'",
			                    arm->name);
		if (is_shared(other, arm, keys))
			return np_error_set(
				err, EINVAL,
				"--arms: '%s' and '%s' ask for the same objects: '%s' at %s",
				other->name, arm->name, arm->prefix,
				nl_server_text(&arm->server, server, sizeof(server)));
	}
	return 0;
}

/* Fills a zeroed arm with the parts of @text, which is cut up. */
static int parse_arm(char *text, const struct nl_target *target, struct nl_arm *ret,
                     struct np_error *err)
{
	char *equals = strchr(text, '=');
	char quoted[QUOTE_SIZE];
	char *at;
	int rc;

	if (!equals)
		return np_error_set(err, EINVAL, "--arms: '%s' is not NAME=PREFIX[@SERVER]",
		                    np_error_quote(text, quoted, sizeof(quoted)));
	*equals = '\0';
	at = strrchr(equals + 1, '@');
	if (at)
		*at = '\0';
	rc = check_name(text, err);
	if (rc == 0)
		rc = nl_prefix_check("--arms", equals + 1, err);
	if (rc < 0)
		return rc;
	ret->name = strdup(text);
	ret->prefix = strdup(equals + 1);
	if (!ret->name || !ret->prefix)
		return np_error_sys(err, ENOMEM, "run: arms");
	return at ? nl_server_parse("--arms", at + 1, target->protocol, &ret->server, err)
	          : copy_server(&target->server, &ret->server, err);
}

static int add_arm(char *text, const struct nl_target *target, struct nl_arms *arms,
                   struct np_error *err)
{
	struct nl_arm arm = { 0 };
	int rc;

	if (arms->count == NL_TRACE_ARMS_MAX)
		return np_error_set(err, EINVAL, "--arms: more than %d arms", NL_TRACE_ARMS_MAX);
	rc = parse_arm(text, target, &arm, err);
	if (rc == 0)
		rc = check_distinct(arms, &arm, target->keys, err);
	if (rc < 0) {
		release_arm(&arm);
		return rc;
	}
	arms->arms[arms->count++] = arm;
	return 0;
}

int nl_arms_parse(const char *text, const struct nl_target *target, struct nl_arms *ret,
                  struct np_error *err)
{
	char *copy = strdup(text);
	char *rest = copy;
	char *part;
	int rc = 0;

	if (!copy)
		return np_error_sys(err, ENOMEM, "run: arms");
	while (rc == 0 && (part = strsep(&rest, ",")))
		rc = add_arm(part, target, ret, err);
	free(copy);
	return rc;
}

int nl_arms_set_single(const struct nl_target *target, struct nl_arms *ret, struct np_error *err)
{
	struct nl_arm arm = { .name = strdup(""), .prefix = strdup(target->prefix) };
	int rc = arm.name && arm.prefix ? copy_server(&target->server, &arm.server, err)
	                                : np_error_sys(err, ENOMEM, "run: arms");

	if (rc < 0) {
		release_arm(&arm);
		return rc;
	}
	ret->arms[0] = arm;
	ret->count = 1;
	return 0;
}
