/* SPDX-License-Identifier: BSD-3-Clause */
#include "affinity.h"

#include <errno.h>
#include <sched.h>

/* Masks start at the size of a common kernel's and grow until the kernel's fits. */
enum { FIRST_MASK_CPUS = 1024 };

int nr_affinity_read(pid_t tid, struct np_bitmap *ret)
{
	struct np_bitmap mask = { 0 };
	int rc = -EINVAL;

	for (unsigned cpus = FIRST_MASK_CPUS; rc == -EINVAL && cpus <= NP_BITMAP_INDEX_MAX + 1;
	     cpus *= 2) {
		np_bitmap_release(&mask);
		/* The range makes the room; the kernel overwrites all of it. */
		if (np_bitmap_add_range(&mask, 0, cpus - 1) < 0)
			return -ENOMEM;
		if (sched_getaffinity(tid, mask.word_count * sizeof(*mask.words),
		                      (cpu_set_t *)mask.words) == 0)
			rc = np_bitmap_or(ret, &mask);
		else
			rc = -errno;
	}
	np_bitmap_release(&mask);
	return rc;
}

int nr_affinity_write(pid_t tid, const struct np_bitmap *cpus)
{
	if (sched_setaffinity(tid, cpus->word_count * sizeof(*cpus->words),
	                      (const cpu_set_t *)cpus->words) == 0)
		return 0;
	return -errno;
}
