/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmd.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 0x100, QUOTE_SIZE = 80 };

static const struct argp_option options[] = {
	{ "json", OPT_JSON, NULL, 0, "print JSON (docs/schema/)", 10 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nl_common *common = state->input;

	(void)arg;
	if (key != OPT_JSON)
		return ARGP_ERR_UNKNOWN;
	common->json = true;
	return 0;
}

const struct argp nl_common_argp = { .options = options, .parser = parse };

int nl_cmd_fail(const struct np_error *err, int status)
{
	fprintf(stderr, "numalat: %s\n", err->text);
	return status;
}

int nl_cmd_written(int rc)
{
	struct np_error err = { 0 };

	return np_cli_written(rc, &err) < 0 ? nl_cmd_fail(&err, NP_EXIT_NO) : NP_EXIT_OK;
}

int nl_cmd_size(const char *option, const char *text, uint64_t max, uint64_t *ret,
                struct np_error *err)
{
	static const char suffixes[] = "KMG";
	char quoted[QUOTE_SIZE];
	const char *suffix;
	unsigned shift = 0;
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
	if (suffix) {
		shift = 10 * (unsigned)(suffix - suffixes + 1);
		end++;
	}
	if (!isdigit((unsigned char)*text) || errno || *end || value == 0 || value > max >> shift)
		return np_error_set(err, EINVAL,
		                    "%s: '%s' is not a size in 1..%" PRIu64
		                    " bytes, like 4096, 256K or 1M",
		                    option, np_error_quote(text, quoted, sizeof(quoted)), max);
	*ret = value << shift;
	return 0;
}

int nl_cmd_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
               struct np_error *err)
{
	bool is_hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = is_hex ? text + 2 : text;
	char quoted[QUOTE_SIZE];
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(digits, &end, is_hex ? 16 : 10);
	if (!isxdigit((unsigned char)*digits) || errno || *end || value < min || value > max)
		return np_error_set(err, EINVAL,
		                    "%s: '%s' is not a number in %" PRIu64 "..%" PRIu64, option,
		                    np_error_quote(text, quoted, sizeof(quoted)), min, max);
	*ret = value;
	return 0;
}

static volatile sig_atomic_t stop_signal;

static void stop(int signal)
{
	stop_signal = signal;
}

const volatile sig_atomic_t *nl_cmd_stop_on_signal(void)
{
	struct sigaction action = { .sa_handler = stop, .sa_flags = (int)SA_RESETHAND };
	struct sigaction hangup = { .sa_handler = SIG_DFL };

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, NULL, &hangup);
	if (hangup.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
	return &stop_signal;
}
