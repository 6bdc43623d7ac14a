/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all our command lines share: argp with errors of one line, and the exit statuses.
 */
#ifndef NP_CLI_H
#define NP_CLI_H

#include <argp.h>
#include <numaprobe/error.h>

/* Exit statuses of all programs but numarun, which has env(1)'s. */
enum np_exit {
	NP_EXIT_OK = 0,
	NP_EXIT_NO = 1,    /* the answer is no: something was not found, or failed */
	NP_EXIT_USAGE = 2, /* the command line is wrong */
};

/*
 * argp_parse() without its two-line messages: on failure err says in one line what is wrong. @input
 * is handed to the parser, whose ARGP_KEY_ERROR case must call np_cli_bad_option(). --help and
 * --version print and exit.
 *
 *   -EINVAL  a wrong command line
 */
int np_cli_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input,
                 struct np_error *err);

/*
 * For a program of several commands: takes the options before the command by @common, whose input
 * is @input. @doc is the program's, as in struct argp. Returns the command's place in @argv, whose
 * rest is the command's own; 0 = there is none.
 *
 *   -EINVAL  a wrong option before it
 */
int np_cli_find_command(const struct argp *common, const char *doc, int argc, char **argv,
                        void *input, struct np_error *err);

/*
 * Descriptors 0 to 2 that we were started without get something that cannot be written, so that no
 * file of ours takes their place and words go into it. A program that we start gets them closed, as
 * we did.
 */
void np_cli_fill_standard_files(void);

/* What --help and --version do, for a program that has other letters for them too; the process ends. */
void np_cli_show_help(const struct argp_state *state);
void np_cli_show_version(void);

/* Names the option that getopt refused, unless err already holds the reason. */
void np_cli_bad_option(const struct argp_state *state, struct np_error *err);

/*
 * Ends output to stdout, @rc being how writing it went: 0, or a negative errno with "standard output"
 * and why in err.
 */
int np_cli_written(int rc, struct np_error *err);

/* A whole number in min..max, or -EINVAL with "--count: 'x' is not a number in 1..9". */
int np_cli_number(const char *option, const char *text, unsigned min, unsigned max, unsigned *ret,
                  struct np_error *err);

/*
 * A decimal number in limits[0]..limits[1], or -EINVAL with "--every: 'x' is not a @noun in 0.1..9".
 */
int np_cli_decimal(const char *option, const char *noun, const char *text, const double limits[2],
                   double *ret, struct np_error *err);

#endif
