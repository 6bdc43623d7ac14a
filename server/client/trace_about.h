/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two texts of a trace, docs/schema/trace-1.json: what it is, at its head, and how it ended.
 */
#ifndef NL_TRACE_ABOUT_H
#define NL_TRACE_ABOUT_H

#include "trace.h"

/*
 * Is this a name that an arm can have, in CSV too? 1 to NL_ARM_NAME_MAX bytes of UTF-8 without
 * comma, double quote and control characters.
 */
bool nl_trace_arm_name_is_ok(const char *name, size_t bytes);

/* What may be written. -EINVAL; err has no file's name in it. */
int nl_trace_about_check(const struct nl_trace_about *about, struct np_error *err);

/* "numakit/trace/1"; NULL: no memory, or text that is no UTF-8. */
json_t *nl_trace_about_json(const struct nl_trace_about *about);

/* The other way; text and details belong to @object, which must outlive *ret. -EBADMSG. */
int nl_trace_about_load(const json_t *object, struct nl_trace_about *ret, struct np_error *err);

/* The same of the end. @outcome may be NULL. Rows stand elsewhere. */
json_t *nl_trace_end_json(const struct nl_trace_end *end, const json_t *outcome);
int nl_trace_end_load(const json_t *object, struct nl_trace_end *ret, const json_t **ret_outcome,
                      struct np_error *err);

#endif
