/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is in an object: words of 8 bytes, little-endian, each of which follows from the object's index
 * and its own place alone, so that any part can be made and checked by itself.
 */
#include "target.h"

#include <endian.h>
#include <string.h>

#define WORD sizeof(uint64_t)

/* Of an odd number, so that the words of two objects do not fall into step. */
#define STEP UINT64_C(0x9e3779b97f4a7c15)
#define MULTIPLIER UINT64_C(0xd6e8feb86659fd93)

/* An object's words from the third on are mix(base + STEP * place). */
static uint64_t base_of(uint32_t key)
{
	uint64_t base = (key + UINT64_C(1)) * UINT64_C(0xbf58476d1ce4e5b9);

	return (base ^ (base >> 29)) * UINT64_C(0x94d049bb133111eb);
}

static inline uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 32)) * MULTIPLIER;
	return htole64(x ^ (x >> 32));
}

static uint64_t word_at(uint64_t place, uint32_t key, uint64_t object_bytes)
{
	if (place == 0)
		return htole64(key);
	if (place == 1)
		return htole64(object_bytes);
	return mix(base_of(key) + STEP * place);
}

/* How many of @size bytes at @offset are in words of which not all is wanted, or in the first two. */
static size_t odd_bytes(uint64_t offset, size_t size)
{
	uint64_t odd = offset < 2 * WORD ? 2 * WORD - offset : -offset % WORD;

	return odd < size ? (size_t)odd : size;
}

static char byte_at(uint64_t offset, uint32_t key, uint64_t object_bytes)
{
	uint64_t word = word_at(offset / WORD, key, object_bytes);
	char bytes[WORD];

	memcpy(bytes, &word, WORD);
	return bytes[offset % WORD];
}

static void fill_bytes(char *bytes, size_t size, uint32_t key, uint64_t object_bytes,
                       uint64_t offset)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = byte_at(offset + i, key, object_bytes);
}

void nl_value_fill(char *bytes, size_t size, uint32_t key, uint64_t object_bytes, uint64_t offset)
{
	size_t odd = odd_bytes(offset, size);
	size_t words = (size - odd) / WORD;
	size_t done = odd + words * WORD;
	uint64_t x = base_of(key) + STEP * ((offset + odd) / WORD);

	fill_bytes(bytes, odd, key, object_bytes, offset);
	for (size_t i = 0; i < words; i++, x += STEP) {
		uint64_t word = mix(x);

		memcpy(bytes + odd + i * WORD, &word, WORD);
	}
	fill_bytes(bytes + done, size - done, key, object_bytes, offset + done);
}

static int64_t check_bytes(const char *bytes, size_t size, uint32_t key, uint64_t object_bytes,
                           uint64_t offset)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i] != byte_at(offset + i, key, object_bytes))
			return (int64_t)i;
	return -1;
}

/* The first word that is wrong, or @words. */
static size_t check_words(const char *bytes, size_t words, uint64_t x)
{
	for (size_t i = 0; i < words; i++, x += STEP) {
		uint64_t word;

		memcpy(&word, bytes + i * WORD, WORD);
		if (word != mix(x))
			return i;
	}
	return words;
}

int64_t nl_value_check(const char *bytes, size_t size, uint32_t key, uint64_t object_bytes,
                       uint64_t offset)
{
	size_t odd = odd_bytes(offset, size);
	size_t words = (size - odd) / WORD;
	int64_t wrong = check_bytes(bytes, odd, key, object_bytes, offset);
	size_t good;

	if (wrong >= 0)
		return wrong;
	good = odd + WORD * check_words(bytes + odd, words,
	                                base_of(key) + STEP * ((offset + odd) / WORD));
	/* The rest: a wrong word and what stands behind it, or less than a word. */
	wrong = check_bytes(bytes + good, size - good, key, object_bytes, offset + good);
	return wrong < 0 ? -1 : (int64_t)good + wrong;
}
