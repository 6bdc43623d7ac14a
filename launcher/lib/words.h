/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A command line split into words, quoted as for a shell (POSIX.1-2017, Shell & Utilities 2.2) but
 * without one:
 *
 *   'x'   x as it is
 *   "x"   a backslash quotes " \ $ and `, and stands for itself before all others
 *   \x    x as it is
 *
 * Nothing is expanded: $ ` * ? ~ are characters like others. What would make a shell do more than
 * run one command, an unquoted | & ; < > ( ) or a word that begins with #, is refused: its writer
 * expects something that will not happen. Pure.
 */
#ifndef NR_WORDS_H
#define NR_WORDS_H

#include <numaprobe/error.h>
#include <stdbool.h>

/* How a piece of text ends, so that the next piece can go on from there. Zero: at a word's start. */
struct nr_quoting {
	char quote;   /* the quote that is open, ' or ", or 0 */
	bool escaped; /* its last character is a backslash that quotes the next one */
	bool in_word;
};

/* Is there something that the text cannot end with? */
bool nr_quoting_is_open(const struct nr_quoting *quoting);

/*
 * Goes through @text and leaves in *quoting how it ends.
 *
 *   -EINVAL  something that only a shell understands
 */
int nr_words_scan(const char *text, struct nr_quoting *quoting, struct np_error *err);

/*
 * Splits @text into *ret, ended by NULL: a block with its words that the caller ends with one
 * free(). Returns their number, which may be 0.
 *
 *   -EINVAL  as above; or a quote that is not closed, or a backslash at the end
 *   -ENOMEM
 */
int nr_words_split(const char *text, char ***ret, struct np_error *err);

#endif
