/* SPDX-License-Identifier: BSD-3-Clause */
/* The last sentences of a session, in a ring that takes no memory later on. */
#ifndef NC_LOG_H
#define NC_LOG_H

#include "backend.h"

enum { NC_LOG_SENTENCES_MAX = 64, NC_LOG_SENTENCE_SIZE = 512 };

/* Zero-initialised, it is empty. */
struct nc_log {
	uint64_t elapsed_ns; /* since the session began; the owner sets it before each look */
	uint64_t total;      /* sentences there ever were */
	char sentences[NC_LOG_SENTENCES_MAX][NC_LOG_SENTENCE_SIZE];
};

size_t nc_log_count(const struct nc_log *log);

/* From the oldest that is kept; "" beyond the last. Printable ASCII. */
const char *nc_log_sentence(const struct nc_log *log, size_t index);

#endif
