/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>

#define NS_PER_S UINT64_C(1000000000)

void nc_log_add(struct nc_log *log, const char *fmt, ...)
{
	char draft[NC_LOG_SENTENCE_SIZE];
	va_list args;
	int used = snprintf(draft, sizeof(draft),
	                    "at %llu s: ", (unsigned long long)(log->elapsed_ns / NS_PER_S));

	va_start(args, fmt);
	vsnprintf(draft + used, sizeof(draft) - (size_t)used, fmt, args);
	va_end(args);
	np_error_quote(draft, log->sentences[log->total % NC_LOG_SENTENCES_MAX],
	               NC_LOG_SENTENCE_SIZE);
	log->total++;
}

size_t nc_log_count(const struct nc_log *log)
{
	return log->total < NC_LOG_SENTENCES_MAX ? (size_t)log->total : NC_LOG_SENTENCES_MAX;
}

const char *nc_log_sentence(const struct nc_log *log, size_t index)
{
	size_t count = nc_log_count(log);

	if (index >= count)
		return "";
	return log->sentences[(log->total - count + index) % NC_LOG_SENTENCES_MAX];
}
