/* SPDX-License-Identifier: BSD-3-Clause */
#include "units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64, WORDS_LOOKED_AT = 16 };

struct ns_units {
	uint64_t *free; /* a bit for each unit; those behind the last are clear */
	uint32_t count;
	uint32_t free_count;
	uint32_t next; /* where to look first */
};

struct ns_units *ns_units_create(void)
{
	return calloc(1, sizeof(struct ns_units));
}

void ns_units_free(struct ns_units *units)
{
	if (units)
		free(units->free);
	free(units);
}

static uint32_t words_of(uint32_t count)
{
	return count / WORD_BITS + (count % WORD_BITS > 0);
}

static void set_free(struct ns_units *units, uint32_t unit)
{
	units->free[unit / WORD_BITS] |= UINT64_C(1) << unit % WORD_BITS;
}

int ns_units_grow(struct ns_units *units, uint32_t count)
{
	uint32_t before = words_of(units->count);
	uint32_t words = words_of(count);

	if (words > before) {
		uint64_t *longer = realloc(units->free, words * sizeof(*longer));

		if (!longer)
			return -ENOMEM;
		memset(longer + before, 0, (words - before) * sizeof(*longer));
		units->free = longer;
	}
	for (; units->count < count; units->count++) {
		set_free(units, units->count);
		units->free_count++;
	}
	return 0;
}

uint32_t ns_units_count(const struct ns_units *units)
{
	return units->count;
}

uint32_t ns_units_free_count(const struct ns_units *units)
{
	return units->free_count;
}

/* There is a free one. */
static uint32_t find_any(const struct ns_units *units)
{
	uint32_t words = words_of(units->count);
	uint32_t word = units->next / WORD_BITS;
	uint64_t bits = units->free[word] & UINT64_MAX << units->next % WORD_BITS;

	while (bits == 0) {
		word = word + 1 < words ? word + 1 : 0;
		bits = units->free[word];
	}
	return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
}

/* So many in a row; runs that go on in another word are not looked for. UINT32_MAX: none nearby */
static uint32_t find_run(const struct ns_units *units, uint32_t count)
{
	uint32_t words = words_of(units->count);
	uint32_t word = units->next / WORD_BITS;
	uint64_t bits = units->free[word] & UINT64_MAX << units->next % WORD_BITS;

	for (unsigned i = 0; i < WORDS_LOOKED_AT; i++) {
		uint64_t begins = bits;

		for (uint32_t behind = 1; behind < count; behind++)
			begins &= bits >> behind;
		if (begins != 0)
			return word * WORD_BITS + (uint32_t)__builtin_ctzll(begins);
		word = word + 1 < words ? word + 1 : 0;
		bits = units->free[word];
	}
	return UINT32_MAX;
}

static uint32_t find_free(const struct ns_units *units, uint32_t count)
{
	uint32_t unit = units->next;

	if (units->free[unit / WORD_BITS] >> unit % WORD_BITS & 1)
		return unit;
	unit = find_run(units, count < NS_UNITS_A_RUN ? count : NS_UNITS_A_RUN);
	return unit < UINT32_MAX ? unit : find_any(units);
}

bool ns_units_take(struct ns_units *units, uint32_t count, uint32_t *ret)
{
	if (count > units->free_count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t unit = find_free(units, count - i);

		units->free[unit / WORD_BITS] &= ~(UINT64_C(1) << unit % WORD_BITS);
		units->next = unit + 1 < units->count ? unit + 1 : 0;
		ret[i] = unit;
	}
	units->free_count -= count;
	return true;
}

void ns_units_give(struct ns_units *units, uint32_t count, const uint32_t *list)
{
	for (uint32_t i = 0; i < count; i++)
		set_free(units, list[i]);
	units->free_count += count;
}
