/* SPDX-License-Identifier: BSD-3-Clause */
/* All columns of a chunk. */
#ifndef NL_TRACE_ROWS_H
#define NL_TRACE_ROWS_H

#include "trace_open.h"

struct nl_trace_rows {
	uint64_t columns[NL_TRACE_WIDE_COLUMNS][NL_TRACE_CHUNK_ROWS];
	uint8_t arms[NL_TRACE_CHUNK_ROWS];
};

/* -EBADMSG: damaged; err tells where */
int nl_trace_rows_load(struct nl_trace_source *source, const struct nl_trace_chunk *chunk,
                       struct nl_trace_rows *ret, struct np_error *err);

#endif
