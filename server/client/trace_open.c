/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_open.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *nl_trace_path(const struct nl_trace *trace)
{
	return trace->path;
}

enum nl_trace_form nl_trace_form(const struct nl_trace *trace)
{
	return trace->form;
}

const struct nl_trace_about *nl_trace_about(const struct nl_trace *trace)
{
	return &trace->about;
}

const struct nl_trace_end *nl_trace_end(const struct nl_trace *trace)
{
	return &trace->end;
}

const json_t *nl_trace_outcome(const struct nl_trace *trace)
{
	return trace->outcome;
}

uint64_t nl_trace_arm_rows(const struct nl_trace *trace, unsigned arm)
{
	return arm < trace->about.arm_count ? trace->arm_rows[arm] : 0;
}

void nl_trace_close(struct nl_trace *trace)
{
	if (!trace)
		return;
	if (trace->fd >= 0)
		close(trace->fd);
	json_decref(trace->head);
	json_decref(trace->tail);
	free(trace->why);
	free(trace->chunks);
	free(trace->path);
	free(trace);
}

int nl_trace_cut_short(struct nl_trace *trace, struct np_error *err, const char *fmt, ...)
{
	va_list args;
	int rc;

	free(trace->why);
	va_start(args, fmt);
	rc = vasprintf(&trace->why, fmt, args);
	va_end(args);
	trace->end.is_complete = false;
	if (rc < 0)
		trace->why = NULL;
	trace->end.why = trace->why;
	return rc < 0 ? np_error_sys(err, ENOMEM, "%s", trace->path) : 0;
}

/* From a pipe into a file that can be sought in. */
static int spool(struct nl_trace *trace, struct nl_trace_input *input, struct np_error *err)
{
	struct nl_trace_file file = { 0 };
	const unsigned char *bytes;
	size_t size;
	int rc = nl_trace_file_create_unnamed(&file, err);

	if (rc < 0)
		return rc;
	while ((rc = nl_trace_input_raw(input, &bytes, &size, err)) > 0) {
		rc = nl_trace_file_write(&file, bytes, size, err);
		if (rc < 0)
			break;
	}
	trace->fd = file.fd;
	file.owns_fd = false;
	nl_trace_file_abandon(&file);
	return rc;
}

static int load_nlt(struct nl_trace *trace, struct nl_trace_input *input, struct np_error *err)
{
	int rc = nl_trace_input_take_file(input, &trace->fd) ? 0 : spool(trace, input, err);

	return rc < 0 ? rc : nl_trace_index(trace, err);
}

static int load(struct nl_trace *trace, const struct nl_trace_watch *watch, struct np_error *err)
{
	struct nl_trace_input *input;
	const unsigned char *magic;
	size_t bytes;
	int rc = nl_trace_input_open(trace->path, &input, err);

	if (rc < 0)
		return rc;
	magic = nl_trace_input_peek(input, &bytes);
	/* Its first byte is in no text; one that was cut within the magic is told as what it is. */
	if (bytes > NL_TRACE_MAGIC_BYTES)
		bytes = NL_TRACE_MAGIC_BYTES;
	if (bytes > 0 && memcmp(magic, nl_trace_head_magic, bytes) == 0)
		rc = load_nlt(trace, input, err);
	else
		rc = nl_trace_import(trace, input, watch, err);
	nl_trace_input_close(input);
	return rc;
}

int nl_trace_open_watched(const char *path, const struct nl_trace_watch *watch,
                          struct nl_trace **ret, struct np_error *err)
{
	struct nl_trace *trace = calloc(1, sizeof(*trace));
	int rc;

	if (!trace)
		return np_error_sys(err, ENOMEM, "%s", path);
	trace->fd = -1;
	trace->path = strdup(path);
	rc = trace->path ? load(trace, watch, err) : np_error_sys(err, ENOMEM, "%s", path);
	if (rc < 0) {
		nl_trace_close(trace);
		return rc;
	}
	*ret = trace;
	return 0;
}

int nl_trace_open(const char *path, struct nl_trace **ret, struct np_error *err)
{
	return nl_trace_open_watched(path, NULL, ret, err);
}
