/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers out of the kernel's small text files: one number alone, or lines of a name and a number.
 * A file that is not there, or that we may not read, tells nothing; one that is garbage is an error.
 */
#ifndef NR_FIELDS_H
#define NR_FIELDS_H

#include "../../probe/base/sysroot.h"

/* A line to look for: "MemFree: 12 kB", "Node 0 MemFree: 12 kB", "oom_kill 3". */
struct nr_field {
	const char *key;
	bool found;
	uint64_t value; /* in bytes where the line says kB */
};

/*
 * Fills the fields from one reading of the file; those it does not tell stay not found.
 *
 *   -EINVAL  no number behind the key; err names the file and quotes the line
 *   -ENOMEM
 *   other    of read(2)
 */
int nr_fields_read(const struct np_sysroot *root, const char *path, struct nr_field *fields,
                   size_t count, struct np_error *err);

/*
 * The one number in a file, or the word "max", which is UINT64_MAX. Errors as above; *ret_found is
 * false when there is no such file.
 */
int nr_number_read(const struct np_sysroot *root, const char *path, bool *ret_found, uint64_t *ret,
                   struct np_error *err);

/* a * b, UINT64_MAX where that is too much. */
uint64_t nr_multiply(uint64_t a, uint64_t b);

#endif
