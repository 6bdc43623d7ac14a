/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Options that need others, or exclude them.
 */
#ifndef NR_ARGS_CHECK_H
#define NR_ARGS_CHECK_H

#include "args.h"

#include <stdio.h>

/* -EINVAL, with args->err filled, for options that make no sense together. */
int nr_args_check(struct nr_args *args);

/* What other tools do not do for a plan, as comments before an --export of it. */
void nr_args_tell_export(const struct nr_args *args, FILE *out);

#endif
