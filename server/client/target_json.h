/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whom and what is asked for, as JSON documents and traces tell it. The caller owns the reference; NULL when
 * memory runs out.
 */
#ifndef NL_TARGET_JSON_H
#define NL_TARGET_JSON_H

#include "arms.h"

#include <jansson.h>

/* [{ "name", "server", "prefix" }] */
json_t *nl_arms_json(const struct nl_arms *arms);

/* [{ "bytes", "weight" }] */
json_t *nl_sizes_json(const struct nl_sizes *sizes);

#endif
