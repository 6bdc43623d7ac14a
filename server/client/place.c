/* SPDX-License-Identifier: BSD-3-Clause */
#include "place.h"

#include "../../launcher/lib/affinity.h"

#include <numaprobe/cpulist.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>

enum { BRIEF_SIZE = 80 };

static int pin(unsigned cpu, const struct np_bitmap *allowed, struct np_error *err)
{
	struct np_bitmap wanted = { 0 };
	struct np_bitmap got = { 0 };
	char list[BRIEF_SIZE];
	int rc = np_bitmap_add(&wanted, cpu);

	if (rc == 0)
		rc = nr_affinity_write(0, &wanted);
	if (rc == 0)
		rc = nr_affinity_read(0, &got);
	if (rc == 0 && !np_bitmap_equal(&wanted, &got))
		rc = -EINVAL;
	np_bitmap_release(&wanted);
	np_bitmap_release(&got);
	if (rc == -EINVAL || rc == -ERANGE)
		return np_error_set(err, EINVAL,
		                    "--cpu: CPU %u cannot be had: it is offline, not there, or "
		                    "outside of the cpuset; allowed is %s",
		                    cpu, np_cpulist_named("CPU", allowed, list, sizeof(list)));
	return rc < 0 ? np_error_sys(err, -rc, "--cpu: CPU %u", cpu) : 0;
}

int nl_place_take(int cpu, struct nl_place *ret, struct np_error *err)
{
	struct nl_place place = { 0 };
	int rc = nr_affinity_read(0, &place.before);

	if (rc < 0)
		np_error_sys(err, -rc, "CPU affinity");
	else if (cpu >= 0)
		rc = pin((unsigned)cpu, &place.before, err);
	if (rc == 0) {
		rc = nr_affinity_read(0, &place.cpus);
		if (rc < 0)
			np_error_sys(err, -rc, "CPU affinity");
	}
	if (rc < 0) {
		nl_place_release(&place);
		return rc;
	}
	getcpu(&place.cpu, &place.node);
	*ret = place;
	return 0;
}

void nl_place_release(struct nl_place *place)
{
	np_bitmap_release(&place->cpus);
	np_bitmap_release(&place->before);
}

const char *nl_place_text(const struct nl_place *place, char *buf, size_t size)
{
	char list[BRIEF_SIZE];

	if (np_bitmap_count(&place->cpus) == 1)
		snprintf(buf, size, "CPU %u of node %u", place->cpu, place->node);
	else
		snprintf(buf, size, "any of %s, at first CPU %u of node %u",
		         np_cpulist_named("CPU", &place->cpus, list, sizeof(list)), place->cpu,
		         place->node);
	return buf;
}
