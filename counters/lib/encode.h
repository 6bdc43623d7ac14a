/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An event's terms, "event=0x2,umask=0xf", as the numbers of perf_event_attr, by the PMU's own files.
 */
#ifndef NC_ENCODE_H
#define NC_ENCODE_H

#include "../../probe/base/sysroot.h"

#include <numacount/counter.h>

/* What an event may have; the longest alias of the kernel's has six terms. */
#define NC_TERMS_MAX 32
#define NC_TERM_NAME_MAX 63

/*
 * A term is NAME=NUMBER of the PMU's format/, or NAME alone for 1; config, config1, config2 and
 * config3 are the whole field where the PMU has no term of that name. "@ALIAS" stands for the terms
 * in events/ALIAS, whose "NAME=?" wants a NAME=NUMBER behind it.
 *
 *   -EINVAL  malformed terms; a term that the PMU does not have, or one that comes twice
 *   -ERANGE  a value with more bits than the term has
 *   -ENOENT  the PMU has no such alias
 *   other    of reading the alias; err says which file
 */
int nc_encode(const struct np_sysroot *root, const struct nc_pmu *pmu, const char *terms,
              struct nc_code *ret, struct np_error *err);

#endif
