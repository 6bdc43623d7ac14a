/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <numaprobe/bitmap.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

static int grow(struct np_bitmap *set, size_t word_count)
{
	uint64_t *words;

	if (word_count <= set->word_count)
		return 0;
	words = realloc(set->words, word_count * sizeof(*words));
	if (!words)
		return -ENOMEM;
	memset(words + set->word_count, 0, (word_count - set->word_count) * sizeof(*words));
	set->words = words;
	set->word_count = word_count;
	return 0;
}

static uint64_t word_at(const struct np_bitmap *set, size_t word)
{
	return word < set->word_count ? set->words[word] : 0;
}

void np_bitmap_release(struct np_bitmap *set)
{
	free(set->words);
	*set = (struct np_bitmap){ 0 };
}

int np_bitmap_add(struct np_bitmap *set, unsigned index)
{
	return np_bitmap_add_range(set, index, index);
}

int np_bitmap_add_range(struct np_bitmap *set, unsigned first, unsigned last)
{
	int rc;

	if (last > NP_BITMAP_INDEX_MAX)
		return -ERANGE;
	rc = grow(set, (size_t)last / WORD_BITS + 1);
	if (rc < 0)
		return rc;
	for (size_t w = first / WORD_BITS; first <= last && w <= last / WORD_BITS; w++) {
		uint64_t word = ~UINT64_C(0);

		if (w == first / WORD_BITS)
			word &= ~UINT64_C(0) << (first % WORD_BITS);
		if (w == last / WORD_BITS)
			word &= ~UINT64_C(0) >> (WORD_BITS - 1 - last % WORD_BITS);
		set->words[w] |= word;
	}
	return 0;
}

void np_bitmap_remove(struct np_bitmap *set, unsigned index)
{
	if (np_bitmap_has(set, index))
		set->words[index / WORD_BITS] &= ~(UINT64_C(1) << (index % WORD_BITS));
}

int np_bitmap_copy(struct np_bitmap *set, const struct np_bitmap *from)
{
	int rc = grow(set, from->word_count);

	if (rc < 0)
		return rc;
	for (size_t w = 0; w < set->word_count; w++)
		set->words[w] = word_at(from, w);
	return 0;
}

int np_bitmap_or(struct np_bitmap *set, const struct np_bitmap *other)
{
	int rc = grow(set, other->word_count);

	if (rc < 0)
		return rc;
	for (size_t w = 0; w < other->word_count; w++)
		set->words[w] |= other->words[w];
	return 0;
}

void np_bitmap_and(struct np_bitmap *set, const struct np_bitmap *other)
{
	for (size_t w = 0; w < set->word_count; w++)
		set->words[w] &= word_at(other, w);
}

void np_bitmap_and_not(struct np_bitmap *set, const struct np_bitmap *other)
{
	for (size_t w = 0; w < set->word_count; w++)
		set->words[w] &= ~word_at(other, w);
}

bool np_bitmap_has(const struct np_bitmap *set, unsigned index)
{
	return word_at(set, index / WORD_BITS) >> (index % WORD_BITS) & 1;
}

bool np_bitmap_is_empty(const struct np_bitmap *set)
{
	return np_bitmap_next(set, 0) == NP_BITMAP_END;
}

bool np_bitmap_equal(const struct np_bitmap *a, const struct np_bitmap *b)
{
	return np_bitmap_is_subset(a, b) && np_bitmap_is_subset(b, a);
}

bool np_bitmap_is_subset(const struct np_bitmap *part, const struct np_bitmap *whole)
{
	for (size_t w = 0; w < part->word_count; w++)
		if (part->words[w] & ~word_at(whole, w))
			return false;
	return true;
}

bool np_bitmap_intersects(const struct np_bitmap *a, const struct np_bitmap *b)
{
	for (size_t w = 0; w < a->word_count; w++)
		if (a->words[w] & word_at(b, w))
			return true;
	return false;
}

unsigned np_bitmap_count(const struct np_bitmap *set)
{
	unsigned count = 0;

	for (size_t w = 0; w < set->word_count; w++)
		count += (unsigned)__builtin_popcountll(set->words[w]);
	return count;
}

unsigned np_bitmap_next(const struct np_bitmap *set, unsigned from)
{
	size_t w = from / WORD_BITS;
	uint64_t word = word_at(set, w) & (~UINT64_C(0) << (from % WORD_BITS));

	while (!word) {
		if (++w >= set->word_count)
			return NP_BITMAP_END;
		word = set->words[w];
	}
	return (unsigned)(w * WORD_BITS) + (unsigned)__builtin_ctzll(word);
}

unsigned np_bitmap_last(const struct np_bitmap *set)
{
	for (size_t w = set->word_count; w-- > 0;)
		if (set->words[w])
			return (unsigned)(w * WORD_BITS) + 63u -
			       (unsigned)__builtin_clzll(set->words[w]);
	return NP_BITMAP_END;
}
