/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUOTE_SIZE = 80, NAMES_SIZE = 160 };

enum { OPT_USAGE = 0x10000, OPT_VERSION };

/* argp's own three, which it leaves out along with its two-line errors. */
static const struct argp_option help_options[] = {
	{ "help", '?', NULL, 0, "show this help", -1 },
	{ "usage", OPT_USAGE, NULL, 0, "show the options in short", -1 },
	{ "version", OPT_VERSION, NULL, 0, "show the version", -1 },
	{ 0 },
};

static void show_and_exit(const struct argp_state *state, unsigned what)
{
	/* Without argp's paragraph on what is mandatory for short options. */
	setenv("ARGP_HELP_FMT", "no-dup-args-note", 0);
	argp_help(state->root_argp, stdout, what, state->name);
	exit(fflush(stdout) == EOF ? argp_err_exit_status : NP_EXIT_OK);
}

void np_cli_show_help(const struct argp_state *state)
{
	show_and_exit(state, ARGP_HELP_STD_HELP & ~(unsigned)ARGP_HELP_EXIT_OK);
}

void np_cli_show_version(void)
{
	puts(argp_program_version);
	exit(fflush(stdout) == EOF ? argp_err_exit_status : NP_EXIT_OK);
}

static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->input;
		return 0;
	case '?':
		np_cli_show_help(state);
		return 0;
	case OPT_USAGE:
		show_and_exit(state, ARGP_HELP_USAGE);
		return 0;
	case OPT_VERSION:
		np_cli_show_version();
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int np_cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input,
                 struct np_error *err)
{
	const struct argp_child children[] = { { argp, 0, NULL, 0 }, { 0 } };
	const struct argp with_help = {
		.options = help_options,
		.parser = parse_help,
		.children = children,
	};
	int code = argp_parse(&with_help, argc, argv, flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL,
	                      input);

	if (code == 0)
		return 0;
	if (err && !err->code)
		np_error_sys(err, code, "command line");
	return -EINVAL;
}

/* The long options that begin with the given letters, over all tables of a program. */
struct matches {
	const struct argp_option *exact; /* or the only one */
	unsigned count;
	char names[NAMES_SIZE]; /* "--preferred, --preferred-many" */
};

static void match_long(const struct argp *argp, const char *word, size_t len, struct matches *ret)
{
	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++) {
		size_t used = strlen(ret->names);

		if (!o->name || strncmp(o->name, word, len) != 0)
			continue;
		if (strlen(o->name) == len) {
			ret->exact = o;
			ret->count = 1;
			return;
		}
		ret->count++;
		ret->exact = o;
		snprintf(ret->names + used, sizeof(ret->names) - used, "%s--%s",
		         used > 0 ? ", " : "", o->name);
	}
	for (const struct argp_child *child = argp->children; child && child->argp; child++)
		match_long(child->argp, word, len, ret);
}

static const struct argp_option *match_short(const struct argp *argp, char letter)
{
	const struct argp_option *found = NULL;

	for (const struct argp_option *o = argp->options; o && (o->name || o->key || o->doc); o++)
		if (o->key == letter)
			return o;
	for (const struct argp_child *c = argp->children; !found && c && c->argp; c++)
		found = match_short(c->argp, letter);
	return found;
}

static void explain_long(const struct argp *argp, const char *word, struct np_error *err)
{
	struct matches found = { 0 };
	char quoted[QUOTE_SIZE];

	match_long(argp, word + 2, strcspn(word + 2, "="), &found);
	np_error_quote(word, quoted, sizeof(quoted));
	if (found.count > 1)
		np_error_set(err, EINVAL, "option '%s' is ambiguous: %s", quoted, found.names);
	else if (found.count == 1 && found.exact->arg)
		np_error_set(err, EINVAL, "option '%s' needs a value: --%s %s", quoted,
		             found.exact->name, found.exact->arg);
	else if (found.count == 1)
		np_error_set(err, EINVAL, "option '%s' takes no value", quoted);
	else
		np_error_set(err, EINVAL, "unknown option '%s' (see --help)", quoted);
}

/* In a cluster, "-aZ", the first letter that is no option is to blame, else the last lacks a value.
 */
static void explain_short(const struct argp *argp, const char *word, struct np_error *err)
{
	const struct argp_option *option = NULL;
	char letter[QUOTE_SIZE] = "";

	for (const char *c = word + 1; *c; c++) {
		const char text[2] = { *c, '\0' };

		np_error_quote(text, letter, sizeof(letter));
		option = match_short(argp, *c);
		if (!option || option->arg)
			break;
	}
	if (option && option->arg)
		np_error_set(err, EINVAL, "option '-%s' needs a value: -%s %s", letter, letter,
		             option->arg);
	else
		np_error_set(err, EINVAL, "unknown option '-%s' (see --help)", letter);
}

void np_cli_bad_option(const struct argp_state *state, struct np_error *err)
{
	int at = state->next > 1 ? state->next - 1 : 1;
	const char *word = at < state->argc ? state->argv[at] : "";

	if (err->code)
		return;
	/* getopt steps past a whole word, but not past a cluster of short options. */
	if (*word != '-' && state->next < state->argc && *state->argv[state->next] == '-')
		word = state->argv[state->next];
	if (strncmp(word, "--", 2) == 0)
		explain_long(state->root_argp, word, err);
	else
		explain_short(state->root_argp, word, err);
}

int np_cli_written(int rc, struct np_error *err)
{
	if (rc == 0 && fflush(stdout) == EOF)
		rc = -errno;
	return rc < 0 ? np_error_sys(err, -rc, "standard output") : 0;
}

void np_cli_fill_standard_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

int np_cli_number(const char *option, const char *text, unsigned min, unsigned max, unsigned *ret,
                  struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || errno || *end != '\0' || value < min || value > max)
		return np_error_set(err, EINVAL, "%s: '%s' is not a number in %u..%u", option,
		                    np_error_quote(text, quoted, sizeof(quoted)), min, max);
	*ret = (unsigned)value;
	return 0;
}

int np_cli_decimal(const char *option, const char *noun, const char *text, const double limits[2],
                   double *ret, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !isfinite(value) || value < limits[0] ||
	    value > limits[1])
		return np_error_set(err, EINVAL, "%s: '%s' is not a %s in %.15g..%.15g", option,
		                    np_error_quote(text, quoted, sizeof(quoted)), noun, limits[0],
		                    limits[1]);
	*ret = value;
	return 0;
}

/* ---- commands ---- */

struct search {
	void *input;
	struct np_error *err;
	int command; /* its place in argv; 0 = none */
};

static error_t search(int key, char *arg, struct argp_state *state)
{
	struct search *search = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = search->input;
		return 0;
	case ARGP_KEY_ARG:
		/* The command; what follows it is the command's to parse. */
		search->command = state->next - 1;
		return EBUSY;
	case ARGP_KEY_ERROR:
		if (!search->command)
			np_cli_bad_option(state, search->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int np_cli_find_command(const struct argp *common, const char *doc, int argc, char **argv,
                        void *input, struct np_error *err)
{
	const struct argp_child children[] = { { common, 0, NULL, 0 }, { 0 } };
	const struct argp argp = {
		.parser = search,
		.args_doc = "[COMMAND]",
		.doc = doc,
		.children = children,
	};
	struct search found = { .input = input, .err = err };
	int rc = np_cli_parse(&argp, argc, argv, ARGP_IN_ORDER, &found, err);

	if (!found.command)
		return rc;
	*err = (struct np_error){ 0 };
	return found.command;
}
