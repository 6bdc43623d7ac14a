/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether two arms asked for the same keys in the same order.
 */
#ifndef NL_ANALYSIS_KEYS_H
#define NL_ANALYSIS_KEYS_H

#include "analysis.h"

/*
 * Compares the keys of the first comparison->samples rows of both; sets keys_match, and for rows that
 * were cut the hashes, which come from nl_trace_check() else.
 *
 *   -EBADMSG  they differ, and is_unpaired does not allow it; err names the first row
 *   -ENOMEM
 */
int nl_keys_compare(struct nl_comparison *comparison, struct np_error *err);

#endif
