/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What every JSON document of ours has in common. Unknown values are null, sets are lists as text.
 */
#ifndef NP_JSON_H
#define NP_JSON_H

#include <jansson.h>
#include <numaprobe/bitmap.h>
#include <stdbool.h>
#include <stdio.h>

/* The set as "0-7,16"; the caller owns the reference. NULL when memory runs out. */
json_t *np_json_set(const struct np_bitmap *set);

/* The same, but null for the empty set, where emptiness means that nothing is known. */
json_t *np_json_known_set(const struct np_bitmap *set);

/* @value when @known, else null. */
json_t *np_json_number(bool known, uint64_t value);

/* @text, or null where it is NULL. In text that is no UTF-8, bytes beyond ASCII become \xHH. */
json_t *np_json_text(const char *text);

/* Appends @value, whose reference it takes; when memory ran out for either, *array becomes NULL. */
void np_json_append(json_t **array, json_t *value);
/* The same for a member of an object. */
void np_json_set_member(json_t **object, const char *key, json_t *value);

/*
 * Writes the document with a newline behind it, and ends the reference, whatever happens. A NULL
 * document is memory that ran out.
 *
 *   -ENOMEM
 *   other    of write(2): the disk is full, the pipe closed
 */
int np_json_write(json_t *document, FILE *out);

#endif
