/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * goblin-bench's CSV, plain or gzip: a first line that names the columns, then a line for each
 * request. Ours has the eleventh column "arm" where there are several arms.
 */
#ifndef NL_TRACE_CSV_H
#define NL_TRACE_CSV_H

#include "trace_chunk.h"

#define NL_CSV_HEADER                                                                              \
	"worker,sample,key_index,query_start_ns,response_first_byte_ns,response_ttfb_ns,"          \
	"payload_first_byte_ns,payload_ttfb_ns,complete_ns"
#define NL_CSV_ARM_COLUMN ",arm"

/* No line that we write is longer: nine numbers of 20 digits, a name, commas and LF. */
enum { NL_CSV_LINE_MAX = 9 * 20 + NL_ARM_NAME_MAX + 12 };

/* ---- writing ---- */

struct nl_csv_writer; /* opaque */

/* Writes the first line. @file must outlive it; of @about the names of arms are copied. */
int nl_csv_writer_create(struct nl_trace_file *file, bool is_gzip,
                         const struct nl_trace_about *about, struct nl_csv_writer **ret,
                         struct np_error *err);
void nl_csv_writer_free(struct nl_csv_writer *writer); /* accepts NULL */

/* -ERANGE: start and response, or payload, add up to more than 64 bits */
int nl_csv_writer_add(struct nl_csv_writer *writer, const struct nl_row *row, struct np_error *err);

/* Writes what is not written yet, and the end of the gzip stream. */
int nl_csv_writer_finish(struct nl_csv_writer *writer, struct np_error *err);

/* ---- reading ---- */

/* A row of text. */
struct nl_csv_row {
	struct nl_row row; /* but for the arm */
	uint64_t worker;
	uint64_t sample;
	const char *arm; /* points into the line; NULL where there is no such column */
	size_t arm_bytes;
};

/*
 * Reads one line; text[bytes] is the CR or LF that ends it. -EBADMSG; err tells the column, and
 * neither file nor row.
 */
int nl_csv_parse(const char *text, size_t bytes, bool has_arms, struct nl_csv_row *ret,
                 struct np_error *err);

/* Whether this is the first line, without its end. */
bool nl_csv_is_header(const char *text, size_t bytes, bool *ret_has_arms);

#endif
