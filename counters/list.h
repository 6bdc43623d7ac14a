/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters and families as `list` shows them, in JSON and in words.
 */
#ifndef NC_LIST_H
#define NC_LIST_H

#include "../probe/base/json.h"
#include <numacount/counter.h>
#include <stdio.h>

/* "numakit/list/1" and "numakit/families/1"; NULL when memory runs out. */
json_t *nc_list_json(const struct nc_host *host, const struct nc_counters *counters);
json_t *nc_families_json(const struct nc_tables *tables);

/*
 * A line for each event and kind of PMU, or for each counter; what is wrong stands below.
 *
 *   -ENOMEM
 *   other    of write(2)
 */
int nc_list_print(const struct nc_host *host, const struct nc_counters *counters,
                  bool every_counter, FILE *out);
int nc_families_print(const struct nc_tables *tables, FILE *out);

#endif
