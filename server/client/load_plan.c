/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_plan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 80 };

/* 2^64 divided by the golden ratio: multiples of it are far apart. */
#define SEED_STEP UINT64_C(0x9e3779b97f4a7c15)

int nl_load_rate_parse(const char *option, const char *text, double *ret, struct np_error *err)
{
	size_t digits = strspn(text, ".0123456789");
	char suffix = (char)toupper((unsigned char)text[digits]);
	char quoted[QUOTE_SIZE];
	char *end;
	double value = strtod(text, &end);
	bool is_good = end == text + digits && digits > 0;

	if (suffix == 'K' || suffix == 'M') {
		value *= suffix == 'K' ? 1e3 : 1e6;
		digits++;
	}
	if (!is_good || text[digits] || !(value >= 1e-3 && value <= NL_LOAD_RATE_MAX))
		return np_error_set(
			err, EINVAL,
			"%s: '%s' is not a rate in 0.001..1000M requests a second, like "
			"5000, 250K or 1.5M",
			option, np_error_quote(text, quoted, sizeof(quoted)));
	*ret = value;
	return 0;
}

int nl_load_plan_check(const struct nl_load_plan *plan, struct np_error *err)
{
	unsigned cpus = np_bitmap_count(&plan->cpus);

	if (plan->threads > plan->connections)
		return np_error_set(
			err, EINVAL,
			"--threads: %u threads for %u connections: at most one thread a "
			"connection",
			plan->threads, plan->connections);
	if (cpus > 0 && cpus < plan->threads)
		return np_error_set(err, EINVAL,
		                    "--cpus: %u CPUs for %u threads: each has one of its own", cpus,
		                    plan->threads);
	return 0;
}

void nl_load_plan_release(struct nl_load_plan *plan)
{
	np_bitmap_release(&plan->cpus);
}

uint64_t nl_load_part(uint64_t total, unsigned threads, unsigned thread)
{
	return total / threads + (thread < total % threads ? 1 : 0);
}

double nl_load_part_rate(const struct nl_load_plan *plan, unsigned thread)
{
	uint64_t connections = nl_load_part(plan->connections, plan->threads, thread);

	return plan->rate_per_s * (double)connections / plan->connections;
}

uint64_t nl_load_part_seed(const struct nl_load_plan *plan, unsigned thread, unsigned purpose)
{
	return plan->seed + SEED_STEP * (2 * (uint64_t)thread + purpose + 1);
}

int nl_load_part_cpu(const struct nl_load_plan *plan, unsigned thread)
{
	unsigned cpu = np_bitmap_next(&plan->cpus, 0);

	for (unsigned i = 0; i < thread && cpu != NP_BITMAP_END; i++)
		cpu = np_bitmap_next(&plan->cpus, cpu + 1);
	return cpu == NP_BITMAP_END ? -1 : (int)cpu;
}
