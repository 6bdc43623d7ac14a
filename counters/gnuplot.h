/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gnuplot as a program: found in PATH, run without a shell, its complaints made into one line.
 */
#ifndef NC_GNUPLOT_H
#define NC_GNUPLOT_H

#include <numaprobe/error.h>
#include <stdio.h>

/*
 * 0 when there is a gnuplot that runs.
 *
 *   -ENOENT  there is none; err names the package
 *   other    of posix_spawnp(3); -EIO when it fails
 */
int nc_gnuplot_check(struct np_error *err);

/* Runs the file @script, a name within @directory, which is gnuplot's working directory. */
int nc_gnuplot_run(const char *directory, const char *script, struct np_error *err);

/* Writes @text as a string of gnuplot's, 'it''s so', of printable ASCII. */
void nc_gnuplot_quote(FILE *out, const char *text);

#endif
