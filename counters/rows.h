/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples as rows of a file: one row for each series and interval, CSV or JSON lines.
 * "numakit/record/1" (docs/schema/record-1.json) says what is in a row. Memory stays flat however
 * long it goes on.
 *
 * CSV is RFC 4180 but for lines that end in LF alone. Its first line names the columns and all
 * others are rows: no comments, as spreadsheets and data frames would take those for data. What the
 * rows are of (host, family, interval) stands in the first line of JSON lines.
 */
#ifndef NC_ROWS_H
#define NC_ROWS_H

#include <numacount/peak.h>
#include <numacount/session.h>

enum nc_rows_format { NC_ROWS_CSV, NC_ROWS_JSONL };

/* What the rows, or charts, are of. The caller's; all that it points to must outlive them. */
struct nc_rows_about {
	enum nc_source source;
	const struct nc_series *series;
	size_t series_count;
	size_t counter_count;
	const struct nc_peaks *peaks;    /* NULL = none are known */
	const struct np_bitmap *sockets; /* NULL = unknown */
	const struct nc_family *family;  /* NULL = unknown */
	unsigned interval_ms;            /* as it was asked for */
	char host[256];                  /* the machine's name; "" = unknown */
	char cpu[256];                   /* nc_cpu_text(); "" = unknown */
};

/* Describes a session. @peaks may be NULL. */
void nc_rows_describe(const struct nc_host *host, const struct nc_session *session,
                      const struct nc_peaks *peaks, unsigned interval_ms,
                      struct nc_rows_about *ret);

struct nc_rows; /* opaque */

/* By the end of the name: .csv, .jsonl; -EINVAL for another, with both named. "-" needs no end and
 * is CSV. */
int nc_rows_format_of(const char *file, enum nc_rows_format *ret, struct np_error *err);

/*
 * Makes the file (a file that is there is replaced) and writes what stands at its head. "-" is
 * standard output. The caller ends *ret with nc_rows_close().
 *
 *   -errno of open(2), write(2)
 *   -ENOMEM
 */
int nc_rows_open(const char *file, enum nc_rows_format format, const struct nc_rows_about *about,
                 struct nc_rows **ret, struct np_error *err);

/*
 * Writes a sample's rows, all of them in one write(2), so that who reads a pipe finds whole
 * intervals (of a file the kernel may show a part). Allocates nothing.
 *
 *   -errno of write(2); what was written before stays, the last row may be cut
 */
int nc_rows_write(struct nc_rows *rows, const struct nc_sample *sample, struct np_error *err);

/* 0, or what close(2) gave. Accepts NULL. */
int nc_rows_close(struct nc_rows *rows, struct np_error *err);

#endif
