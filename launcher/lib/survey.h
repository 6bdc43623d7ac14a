/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a preflight looks at, and the parts of it that memory and huge pages share.
 */
#ifndef NR_SURVEY_H
#define NR_SURVEY_H

#include <numarun/preflight.h>

#include "cgroup.h"
#include "stock.h"

struct nr_survey {
	const struct np_sysroot *root;
	const struct np_topology *topology;
	const struct nr_need *need;
	struct nr_plan *plan;
	struct np_bitmap targets; /* the nodes the plan wants it on */
	struct np_bitmap others;  /* the others it may be on */
};

/* Warns that a part of @wanted will lie on other nodes, as all policies but bind allow. -ENOMEM. */
int nr_survey_warn_elsewhere(const struct nr_survey *survey, const struct nr_stock *stock,
                             uint64_t wanted, struct np_error *err);

/* Says that the limit of a cgroup is too small for @wanted bytes: -EXDEV. */
int nr_survey_refuse_limit(const struct nr_survey *survey, const struct nr_limit *limit,
                           uint64_t wanted, struct np_error *err);

/* Are there enough huge pages, on the right nodes? Errors as nr_preflight(). */
int nr_survey_check_huge(const struct nr_survey *survey, struct np_error *err);

#endif
