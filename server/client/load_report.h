/* SPDX-License-Identifier: BSD-3-Clause */
/* What came of a load, as text for people and as JSON (docs/schema/load-1.json). */
#ifndef NL_LOAD_REPORT_H
#define NL_LOAD_REPORT_H

#include "load_result.h"

#include <jansson.h>
#include <stdio.h>

/* 0, or as np_table_print() */
int nl_load_report_print(const struct nl_load_plan *plan, const struct nl_load_result *result,
                         FILE *out);

/* "numakit/load/1"; NULL: no memory. */
json_t *nl_load_report_json(const struct nl_load_plan *plan, const struct nl_load_result *result);

#endif
