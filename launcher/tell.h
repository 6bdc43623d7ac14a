/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What numarun has to say, one line at a time on standard error.
 */
#ifndef NR_TELL_H
#define NR_TELL_H

#include <numaprobe/error.h>

/* "numarun: LABEL: text", under whichever name the program was called; @label NULL = none. */
void nr_tell(const char *label, const char *fmt, ...) NP_PRINTF(2, 3);

/*
 * How long to wait for a reader of standard error that takes nothing, before a line is lost; for
 * ever unless set. A parent that waits there cannot pass signals on.
 */
void nr_tell_patience(int ms);

/* Tells the error and returns @status, so that a failing program can return it. */
int nr_fail(const struct np_error *err, int status);

/* Ends output to stdout: 0, or NR_EXIT_FAILED with a word on why; @rc is what writing came to. */
int nr_written(int rc);

#endif
