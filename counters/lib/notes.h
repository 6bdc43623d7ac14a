/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sentences for the user that pile up while something is read: what is odd, what was left out.
 * A zero-initialised struct is the empty list.
 */
#ifndef NC_NOTES_H
#define NC_NOTES_H

#include <numaprobe/error.h>
#include <stddef.h>

/* A damaged host makes one for each of its files; nobody reads more than this. */
#define NC_NOTES_MAX 128

struct nc_notes {
	char **items; /* printable ASCII, no newline */
	size_t count;
};

/*
 * Adds a sentence, printf style; beyond NC_NOTES_MAX the last one says that there are more.
 *
 *   -ENOMEM
 */
int nc_notes_add(struct nc_notes *notes, struct np_error *err, const char *fmt, ...)
	NP_PRINTF(3, 4);
void nc_notes_release(struct nc_notes *notes);

#endif
