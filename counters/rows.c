/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include "../probe/base/clock.h"
#include "../probe/base/json.h"
#include "row.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct nc_rows {
	const struct nc_rows_about *about;
	enum nc_rows_format format;
	int fd;
	bool owns_fd;
	const char *file; /* the caller's, for messages: copied behind this struct */
	char **fixed;     /* one for each series */
	char *buffer;     /* holds the longest rows of one sample */
};

void nc_rows_describe(const struct nc_host *host, const struct nc_session *session,
                      const struct nc_peaks *peaks, unsigned interval_ms, struct nc_rows_about *ret)
{
	struct utsname names;

	*ret = (struct nc_rows_about){
		.source = nc_session_source(session),
		.series = nc_session_series(session),
		.series_count = nc_session_series_count(session),
		.counter_count = nc_session_counter_count(session),
		.peaks = peaks,
		.sockets = nc_host_sockets(host),
		.family = nc_host_family(host),
		.interval_ms = interval_ms,
	};
	if (uname(&names) == 0)
		memcpy(ret->host, names.nodename, sizeof(names.nodename));
	nc_cpu_text(nc_host_cpu(host), ret->cpu, sizeof(ret->cpu));
}

int nc_rows_format_of(const char *file, enum nc_rows_format *ret, struct np_error *err)
{
	const char *base = strrchr(file, '/');
	const char *end = strrchr(base ? base : file, '.');
	char quoted[128];

	if (strcmp(file, "-") == 0 || (end && strcmp(end, ".csv") == 0)) {
		*ret = NC_ROWS_CSV;
		return 0;
	}
	if (end && strcmp(end, ".jsonl") == 0) {
		*ret = NC_ROWS_JSONL;
		return 0;
	}
	return np_error_set(err, EINVAL,
	                    "'%s': its end must tell the format: .csv, or .jsonl for JSON lines",
	                    np_error_quote(file, quoted, sizeof(quoted)));
}

/* The first line of JSON lines, in a new string; NULL when memory runs out. */
static char *header(const struct nc_rows_about *about)
{
	json_t *object = json_object();
	char *text = NULL;
	char *line = NULL;

	np_json_set_member(&object, "schema", json_string("numakit/record/1"));
	np_json_set_member(&object, "host", np_json_text(*about->host ? about->host : NULL));
	np_json_set_member(&object, "cpu", np_json_text(*about->cpu ? about->cpu : NULL));
	np_json_set_member(&object, "family",
	                   np_json_text(about->family ? about->family->name : NULL));
	np_json_set_member(&object, "source", json_string(nc_source_name(about->source)));
	np_json_set_member(&object, "sockets",
	                   about->sockets ? np_json_known_set(about->sockets) : json_null());
	np_json_set_member(&object, "series", json_integer((json_int_t)about->series_count));
	np_json_set_member(&object, "counters", json_integer((json_int_t)about->counter_count));
	np_json_set_member(&object, "interval_ns", json_integer(about->interval_ms * 1000000LL));
	np_json_set_member(&object, "start_time_ns", json_integer(np_time_ns()));
	if (object)
		text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (text) {
		size_t size = strlen(text);

		line = realloc(text, size + 2);
		if (line)
			memcpy(line + size, "\n", 2);
		else
			free(text);
	}
	return line;
}

/* In one call where the file takes it; a signal or a file that takes a part makes it go on. */
static int write_all(const struct nc_rows *rows, const char *text, size_t size,
                     struct np_error *err)
{
	while (size > 0) {
		ssize_t written = write(rows->fd, text, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return np_error_sys(err, errno, "%s", rows->file);
		text += written;
		size -= (size_t)written;
	}
	return 0;
}

static int write_head(const struct nc_rows *rows, struct np_error *err)
{
	char *head = rows->format == NC_ROWS_CSV ? nc_row_columns() : header(rows->about);
	int rc;

	if (!head)
		return np_error_set(err, ENOMEM, "%s: no memory", rows->file);
	rc = write_all(rows, head, strlen(head), err);
	free(head);
	return rc;
}

/* All that is needed while it goes on. */
static int prepare(struct nc_rows *rows)
{
	const struct nc_rows_about *about = rows->about;
	size_t size = 1;

	rows->fixed = calloc(about->series_count + 1, sizeof(*rows->fixed));
	if (!rows->fixed)
		return -ENOMEM;
	for (size_t i = 0; i < about->series_count; i++) {
		rows->fixed[i] = nc_row_fixed(rows->format, &about->series[i], about->source);
		if (!rows->fixed[i])
			return -ENOMEM;
		size += strlen(rows->fixed[i]) + NC_ROW_BYTES_MAX;
	}
	rows->buffer = malloc(size);
	return rows->buffer ? 0 : -ENOMEM;
}

static struct nc_rows *rows_create(const char *name, enum nc_rows_format format,
                                   const struct nc_rows_about *about)
{
	size_t size = strlen(name) + 1;
	struct nc_rows *rows = calloc(1, sizeof(*rows) + size);

	if (!rows)
		return NULL;
	rows->about = about;
	rows->format = format;
	rows->fd = -1;
	rows->file = memcpy(rows + 1, name, size);
	if (prepare(rows) == 0)
		return rows;
	nc_rows_close(rows, NULL);
	return NULL;
}

int nc_rows_open(const char *file, enum nc_rows_format format, const struct nc_rows_about *about,
                 struct nc_rows **ret, struct np_error *err)
{
	bool is_stdout = strcmp(file, "-") == 0;
	struct nc_rows *rows = rows_create(is_stdout ? "standard output" : file, format, about);
	int rc;

	if (!rows)
		return np_error_set(err, ENOMEM, "%s: no memory", file);
	rows->owns_fd = !is_stdout;
	rows->fd = is_stdout ? STDOUT_FILENO
	                     : open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	rc = rows->fd < 0 ? np_error_sys(err, errno, "%s", file) : write_head(rows, err);
	if (rc < 0) {
		nc_rows_close(rows, NULL);
		return rc;
	}
	*ret = rows;
	return 0;
}

static struct nc_row_limits limits_of(const struct nc_peaks *peaks, size_t index)
{
	struct nc_row_limits limits = { 0 };

	if (!peaks)
		return limits;
	limits.has_nominal = nc_peaks_nominal(peaks, index, &limits.nominal_bytes_per_s);
	limits.has_measured = nc_peaks_measured(peaks, index, &limits.measured_bytes_per_s);
	return limits;
}

int nc_rows_write(struct nc_rows *rows, const struct nc_sample *sample, struct np_error *err)
{
	const struct nc_rows_about *about = rows->about;
	struct nc_row row = { .format = rows->format, .sample = sample, .source = about->source };
	char *at = rows->buffer;

	for (size_t i = 0; i < about->series_count; i++) {
		row.fixed = rows->fixed[i];
		row.value = &sample->values[i];
		row.is_bytes = strcmp(nc_class_unit(about->series[i].what), "bytes") == 0;
		row.limits = limits_of(about->peaks, i);
		at = nc_row_put(at, &row);
	}
	return write_all(rows, rows->buffer, (size_t)(at - rows->buffer), err);
}

int nc_rows_close(struct nc_rows *rows, struct np_error *err)
{
	int rc = 0;

	if (!rows)
		return 0;
	if (rows->owns_fd && rows->fd >= 0 && close(rows->fd) < 0)
		rc = np_error_sys(err, errno, "%s", rows->file);
	for (size_t i = 0; rows->fixed && i < rows->about->series_count; i++)
		free(rows->fixed[i]);
	free(rows->fixed);
	free(rows->buffer);
	free(rows);
	return rc;
}
