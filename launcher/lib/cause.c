/* SPDX-License-Identifier: BSD-3-Clause */
#include "cause.h"

#include "../../probe/lib/cpuset.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>

enum { BRIEF_SIZE = 64, PROCESS_SIZE = 16 };

static void say(struct nr_available *ret, enum nr_cause cause, const char *before, const char *noun,
                const struct np_bitmap *set, const char *after)
{
	char list[BRIEF_SIZE];

	ret->cause = cause;
	snprintf(ret->detail, sizeof(ret->detail), "%s%s%s", before,
	         np_cpulist_named(noun, set, list, sizeof(list)), after);
}

/* Takes off the CPUs that are offline. */
static int look_online(const struct np_sysroot *root, struct nr_available *ret)
{
	struct np_bitmap online = { 0 };
	struct np_bitmap offline = { 0 };
	int rc = np_sysroot_read_list(root, "sys/devices/system/cpu/online", &online, NULL);

	if (rc < 0) {
		np_bitmap_release(&online);
		return rc == -ENOMEM ? rc : 0;
	}
	rc = np_bitmap_copy(&offline, &ret->cpus);
	np_bitmap_and_not(&offline, &online);
	np_bitmap_and(&ret->cpus, &online);
	if (rc == 0 && !np_bitmap_is_empty(&offline))
		say(ret, NR_CAUSE_OFFLINE, "", "CPU", &offline, " went offline");
	np_bitmap_release(&online);
	np_bitmap_release(&offline);
	return rc;
}

int nr_cause_of_cpus(const struct np_sysroot *root, pid_t process, const struct np_bitmap *asked,
                     struct nr_available *ret)
{
	char name[PROCESS_SIZE];
	struct np_bitmap cpus = { 0 };
	struct np_bitmap nodes = { 0 };
	int rc = np_bitmap_copy(&ret->cpus, asked);

	ret->cause = NR_CAUSE_OWN;
	ret->detail[0] = '\0';
	if (rc == 0)
		rc = look_online(root, ret);
	snprintf(name, sizeof(name), "%d", process);
	/* A cpuset never holds an offline CPU, so what is still missing was taken from it. */
	if (rc == 0 && np_cpuset_read(root, name, &cpus, &nodes, NULL) == 0 &&
	    !np_bitmap_is_empty(&cpus) && !np_bitmap_is_subset(&ret->cpus, &cpus)) {
		np_bitmap_and(&ret->cpus, &cpus);
		say(ret, NR_CAUSE_CPUSET, "the cpuset is now ", "CPU", &cpus, "");
	}
	np_bitmap_release(&cpus);
	np_bitmap_release(&nodes);
	return rc;
}

void nr_cause_of_policy(const struct np_sysroot *root, pid_t process, const struct np_bitmap *asked,
                        struct nr_available *ret)
{
	char name[PROCESS_SIZE];
	struct np_bitmap cpus = { 0 };
	struct np_bitmap nodes = { 0 };

	ret->cause = NR_CAUSE_OWN;
	ret->detail[0] = '\0';
	snprintf(name, sizeof(name), "%d", process);
	if (np_cpuset_read(root, name, &cpus, &nodes, NULL) == 0 && !np_bitmap_is_empty(&nodes) &&
	    !np_bitmap_is_subset(asked, &nodes))
		say(ret, NR_CAUSE_CPUSET, "the cpuset's memory is now ", "node", &nodes, "");
	np_bitmap_release(&cpus);
	np_bitmap_release(&nodes);
}
