/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A set of OS indexes (CPUs or nodes) that grows as needed, so that no program of ours knows a
 * compile-time number of CPUs.
 *
 * A zero-initialised struct is the empty set. Every set that was added to or copied into is ended
 * with np_bitmap_release(), which leaves the empty set behind. Functions that can run out of memory
 * return -ENOMEM and leave the set as it was; all others cannot fail.
 */
#ifndef NUMAPROBE_BITMAP_H
#define NUMAPROBE_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct np_bitmap {
	uint64_t *words; /* bit b of word w is index 64 * w + b; owned by the set */
	size_t word_count;
};

/*
 * The largest index a set takes. Linux is built for at most 8192 CPUs and 1024 nodes (NR_CPUS and
 * NODES_SHIFT of its Kconfig files); a number far beyond is damage in a file, and must cost neither
 * gigabytes nor minutes.
 */
#define NP_BITMAP_INDEX_MAX 32767u

/* What np_bitmap_next() answers at the end. */
#define NP_BITMAP_END UINT32_MAX

void np_bitmap_release(struct np_bitmap *set);

/*   -ERANGE  an index above NP_BITMAP_INDEX_MAX
 *   -ENOMEM  */
int np_bitmap_add(struct np_bitmap *set, unsigned index);
int np_bitmap_add_range(struct np_bitmap *set, unsigned first, unsigned last);

void np_bitmap_remove(struct np_bitmap *set, unsigned index);

int np_bitmap_copy(struct np_bitmap *set, const struct np_bitmap *from);

/* set = set OR other, -ENOMEM; set = set AND other; set = set AND NOT other. */
int np_bitmap_or(struct np_bitmap *set, const struct np_bitmap *other);
void np_bitmap_and(struct np_bitmap *set, const struct np_bitmap *other);
void np_bitmap_and_not(struct np_bitmap *set, const struct np_bitmap *other);

bool np_bitmap_has(const struct np_bitmap *set, unsigned index);
bool np_bitmap_is_empty(const struct np_bitmap *set);
bool np_bitmap_equal(const struct np_bitmap *a, const struct np_bitmap *b);
bool np_bitmap_is_subset(const struct np_bitmap *part, const struct np_bitmap *whole);
bool np_bitmap_intersects(const struct np_bitmap *a, const struct np_bitmap *b);
unsigned np_bitmap_count(const struct np_bitmap *set);

/* The smallest member >= @from, or NP_BITMAP_END. */
unsigned np_bitmap_next(const struct np_bitmap *set, unsigned from);
/* The largest member, or NP_BITMAP_END for the empty set. */
unsigned np_bitmap_last(const struct np_bitmap *set);

#define np_bitmap_for_each(index, set)                                                             \
	for (unsigned index = np_bitmap_next((set), 0); index != NP_BITMAP_END;                    \
	     index = np_bitmap_next((set), index + 1))

#ifdef __cplusplus
}
#endif

#endif
