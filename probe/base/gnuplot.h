/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gnuplot as a program: found in PATH, run without a shell, its complaints made into one line.
 */
#ifndef NP_GNUPLOT_H
#define NP_GNUPLOT_H

#include <numaprobe/error.h>
#include <stdio.h>

/*
 * 0 when there is a gnuplot that runs.
 *
 *   -ENOENT  there is none; err names the package
 *   other    of posix_spawnp(3); -EIO when it fails
 */
int np_gnuplot_check(struct np_error *err);

/* Runs the file @script, a name within @directory, which is gnuplot's working directory. */
int np_gnuplot_run(const char *directory, const char *script, struct np_error *err);

/*
 * Makes the directory, if it is not there, and sees that it can be written to and that gnuplot
 * runs: to be called before long work.
 *
 *   -ENOENT  no gnuplot; err names the package
 *   -errno of mkdir(2), access(2)
 */
int np_gnuplot_prepare(const char *directory, struct np_error *err);

/* Puts @data into @out. */
typedef void np_gnuplot_put(FILE *out, const void *data);

/* Writes the file @name in @directory anew: all of it, or not. Errors of np_file_replace(). */
int np_gnuplot_write(const char *directory, const char *name, np_gnuplot_put *put, const void *data,
                     struct np_error *err);

/* Removes the pictures NAME.svg and NAME.png, so that an old one is not taken for a new. */
void np_gnuplot_remove(const char *directory, const char *name);

/* Writes @text as a string expression of gnuplot's, 'it''s so', of printable ASCII. */
void np_gnuplot_quote(FILE *out, const char *text);

#endif
