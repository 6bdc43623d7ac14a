/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of documents that tell of comparisons and of single arms alike. NULL: no memory.
 */
#ifndef NL_REPORT_JSON_H
#define NL_REPORT_JSON_H

#include "analysis.h"

/* null where it is not finite. */
json_t *nl_real_json(double value);

/* "0x00000000deadbeef": more than JSON's readers take for a whole number. */
json_t *nl_hash_json(uint64_t hash);

json_t *nl_percentile_json(const struct nl_percentile *percentile);

/* Without percentiles. */
json_t *nl_side_json(const struct nl_side *side, unsigned block_count);

/* An array of the lines; NULL for NULL. */
json_t *nl_lines_json(const char *text);

#endif
