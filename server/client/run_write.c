/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace file of a run: whether it can be written, and its writing. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What a row takes, at least: CSV of a machine that was just started; gzip of one with few different times. */
static const uint64_t row_bytes[] = {
	[NL_TRACE_NLT] = 20, [NL_TRACE_CSV] = 56, [NL_TRACE_CSV_GZIP] = 12
};

#define MB 1000000u

/* The folder that @path is in, in a new string. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return strdup(".");
	return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static int check_folder(const char *path, const char *folder, uint64_t bytes, struct np_error *err)
{
	struct statvfs room;
	uint64_t free_bytes;

	if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) < 0)
		return np_error_sys(err, errno, "%s", path);
	if (statvfs(folder, &room) < 0)
		return 0;
	free_bytes = (uint64_t)room.f_bavail * room.f_frsize;
	if (free_bytes >= bytes)
		return 0;
	return np_error_set(err, ENOSPC,
	                    "%s: no room: %.1f MB are free there, the rows need %.1f MB or more",
	                    path, (double)free_bytes / MB, (double)bytes / MB);
}

int nl_run_check_file(const char *path, enum nl_trace_form form, bool replaces, uint64_t rows,
                      struct np_error *err)
{
	struct stat status;
	char *folder;
	int rc;

	if (stat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode))
			return np_error_sys(err, EISDIR, "%s", path);
		if (!S_ISREG(status.st_mode))
			return np_error_set(err, EINVAL, "%s: it is no plain file", path);
		if (!replaces)
			return np_error_set(err, EEXIST,
			                    "%s: it is there already; --force replaces it", path);
	}
	folder = folder_of(path);
	if (!folder)
		return np_error_sys(err, ENOMEM, "%s", path);
	rc = check_folder(path, folder, rows * row_bytes[form], err);
	free(folder);
	return rc;
}

static void fill_about(const struct nl_run *run, const json_t *details, struct nl_trace_about *ret)
{
	bool is_single = run->arms.count == 1;

	*ret = (struct nl_trace_about){
		.protocol = nl_protocol_name(run->target->protocol),
		.arm_count = run->arms.count,
		.order = is_single ? NULL : nl_order_name(run->order.kind),
		.block = is_single ? 0 : run->order.block,
		.keys = run->order.keys,
		.planned = run->order.requests,
		.began_ns = run->began_ns,
		.details = details,
	};
	for (unsigned i = 0; i < run->arms.count; i++)
		ret->arms[i] = run->arms.arms[i].name;
}

/* All rows and the end; the writer is gone then, whatever happens. */
static int write_rows(const struct nl_run *run, struct nl_trace_writer *writer,
                      const json_t *outcome, struct np_error *err)
{
	const struct nl_trace_end end = {
		.rows = run->samples.count,
		.is_complete = run->why.code == 0,
		.why = run->why.code ? run->why.text : NULL,
	};

	for (uint64_t i = 0; i < run->samples.count; i++) {
		struct nl_row row = nl_samples_get(&run->samples, i);
		int rc = nl_trace_writer_add(writer, &row, err);

		if (rc < 0) {
			nl_trace_writer_abandon(writer);
			return rc;
		}
	}
	return nl_trace_writer_finish(writer, &end, outcome, err);
}

int nl_run_write(const struct nl_run *run, const char *path, enum nl_trace_form form,
                 struct np_error *err)
{
	json_t *details = nl_run_details(run);
	json_t *outcome = nl_run_outcome(run);
	struct nl_trace_writer *writer = NULL;
	struct nl_trace_about about;
	int rc = details && outcome ? 0 : np_error_sys(err, ENOMEM, "%s", path);

	if (rc == 0) {
		fill_about(run, details, &about);
		rc = nl_trace_writer_create(path, form, &about, &writer, err);
	}
	if (rc == 0)
		rc = write_rows(run, writer, outcome, err);
	json_decref(details);
	json_decref(outcome);
	return rc;
}
