/* SPDX-License-Identifier: BSD-3-Clause */
#include "target.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { OPT_PREFIX = 0x300, OPT_SIZE, OPT_DEADLINE };

enum { QUOTE_SIZE = 80 };

static const struct argp_option options[] = {
	{ "server", 's', "HOST[:PORT]", 0,
	  "who is asked (127.0.0.1, port 11211, or 8080 for HTTP); unix:PATH is a socket", 1 },
	{ "protocol", 'P', "memcache|http", 0, "how (memcache)", 1 },
	{ "prefix", OPT_PREFIX, "TEXT", 0, "keys are TEXT and a number from 0 on (numalat-)", 1 },
	{ "keys", 'k', "N", 0, "how many objects there are (16000)", 1 },
	{ "size", OPT_SIZE, "SIZE[:WEIGHT],...", 0,
	  "how large they are, 256K, or a mixture, 64:50,1K:40,64K:10 (1K)", 1 },
	{ "deadline", OPT_DEADLINE, "SECONDS", 0,
	  "of a request, and of connecting: longer is a failure (10)", 1 },
	{ 0 },
};

const char *nl_protocol_name(enum nl_protocol protocol)
{
	return protocol == NL_HTTP ? "http" : "memcache";
}

static int parse_protocol(const char *text, enum nl_protocol *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (enum nl_protocol protocol = NL_MEMCACHE; protocol <= NL_HTTP; protocol++) {
		if (strcmp(text, nl_protocol_name(protocol)) == 0) {
			*ret = protocol;
			return 0;
		}
	}
	return np_error_set(err, EINVAL, "--protocol: '%s' is not memcache or http",
	                    np_error_quote(text, quoted, sizeof(quoted)));
}

static int parse_keys(const char *text, uint32_t *ret, struct np_error *err)
{
	uint64_t keys;
	int rc = nl_cmd_u64("--keys", text, 1, UINT32_MAX, &keys, err);

	if (rc == 0)
		*ret = (uint32_t)keys;
	return rc;
}

static int parse_deadline(const char *text, unsigned *ret, struct np_error *err)
{
	static const double limits[] = { 0.001, 3600 };
	double seconds;
	int rc = np_cli_decimal("--deadline", "number of seconds", text, limits, &seconds, err);

	if (rc == 0)
		*ret = (unsigned)ceil(seconds * 1000);
	return rc;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nl_target *target = state->input;
	struct np_error *err = &target->common->err;

	switch (key) {
	case 's':
		target->server_text = arg;
		return 0;
	case 'P':
		return -parse_protocol(arg, &target->protocol, err);
	case OPT_PREFIX:
		target->prefix = arg;
		return -nl_prefix_check("--prefix", arg, err);
	case 'k':
		return -parse_keys(arg, &target->keys, err);
	case OPT_SIZE:
		return -nl_sizes_parse("--size", arg, &target->sizes, err);
	case OPT_DEADLINE:
		return -parse_deadline(arg, &target->deadline_ms, err);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp nl_target_argp = { .options = options, .parser = parse };

void nl_target_default(struct nl_target *target, struct nl_common *common)
{
	*target = (struct nl_target){
		.common = common,
		.server_text = "127.0.0.1",
		.prefix = "numalat-",
		.keys = 16000,
		.sizes = { .count = 1, .parts = { { .bytes = 1024, .weight = 1 } }, .weight = 1 },
		.deadline_ms = 10000,
	};
}

int nl_target_check(struct nl_target *target)
{
	return nl_server_parse("--server", target->server_text, target->protocol, &target->server,
	                       &target->common->err);
}

void nl_target_release(struct nl_target *target)
{
	nl_server_release(&target->server);
}

size_t nl_key_format(enum nl_protocol protocol, const char *prefix, uint32_t key, char *ret)
{
	const char *slash = protocol == NL_HTTP && *prefix != '/' ? "/" : "";
	int length =
		snprintf(ret, NL_KEY_MAX + 1, "%s%.*s%" PRIu32, slash, NL_PREFIX_MAX, prefix, key);

	return (size_t)length;
}

int nl_prefix_check(const char *option, const char *prefix, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	size_t length = strlen(prefix);

	if (length > NL_PREFIX_MAX)
		return np_error_set(err, EINVAL, "%s: '%s' has %zu bytes, and %d are the most",
		                    option, np_error_quote(prefix, quoted, sizeof(quoted)), length,
		                    NL_PREFIX_MAX);
	for (const char *c = prefix; *c; c++)
		if (*c <= ' ' || *c > '~')
			return np_error_set(
				err, EINVAL,
				"%s: '%s' cannot stand in a key: printable ASCII without "
				"blanks can",
				option, np_error_quote(prefix, quoted, sizeof(quoted)));
	return 0;
}
