/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the looks at the placement of all jobs found: in one line each, and as numakit/verify/1.
 */
#ifndef NR_VERIFY_REPORT_H
#define NR_VERIFY_REPORT_H

#include "job.h"

#include <jansson.h>

/* One line a job on standard error. */
void nr_verify_tell(const struct nr_job *job);

/* The document; NULL when memory runs out. */
json_t *nr_verify_json(const struct nr_job *jobs, size_t count);

/* Where it is written. */
struct nr_verify_file {
	char *path;     /* links resolved; NULL = nowhere */
	int special_fd; /* of a pipe or a device, which is written to once, at the end; else -1 */
	bool has_failed;
};

/*
 * Opens @path, NULL = nowhere, before anything is run. The caller ends *ret with
 * nr_verify_file_close(), also on failure.
 *
 *   -ENXIO   a pipe that nobody reads
 *   -ENOMEM
 *   other    of open(2); also where a file could not be replaced
 */
int nr_verify_file_open(const char *path, struct nr_verify_file *ret, struct np_error *err);
void nr_verify_file_close(struct nr_verify_file *file);

/*
 * Writes the document: as a whole or not at all where that is a file, and where it is not, only
 * what @is_last. A failure is told, once.
 */
void nr_verify_file_write(struct nr_verify_file *file, const struct nr_job *jobs, size_t count,
                          bool is_last);

#endif
