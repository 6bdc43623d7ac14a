/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Content types of HTTP: an object has a number instead of the text. Texts are added and stay; the count is
 * published with release after the text is there.
 */
#include "store_parts.h"

#include <stdlib.h>
#include <string.h>

static uint8_t find(const struct ns_types *types, const char *text, size_t len)
{
	uint32_t count = __atomic_load_n(&types->count, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < count; i++)
		if (strncmp(types->texts[i], text, len) == 0 && types->texts[i][len] == '\0')
			return (uint8_t)(i + 1);
	return 0;
}

/* With the lock. */
static uint8_t add(struct ns_types *types, const char *text, size_t len)
{
	uint8_t type = find(types, text, len);
	char *copy;

	if (type != 0 || types->count == NS_TYPES_MAX)
		return type;
	copy = strndup(text, len);
	if (copy == NULL)
		return 0;
	types->texts[types->count] = copy;
	__atomic_store_n(&types->count, types->count + 1, __ATOMIC_RELEASE);
	return (uint8_t)types->count;
}

uint8_t ns_store_type(struct ns_store *store, const char *text, size_t len)
{
	struct ns_types *types = &store->types;
	uint8_t type;

	if (len == 0 || len > NS_TYPE_TEXT_MAX || memchr(text, '\0', len) != NULL)
		return 0;
	type = find(types, text, len);
	if (type != 0 || __atomic_load_n(&types->count, __ATOMIC_ACQUIRE) == NS_TYPES_MAX)
		return type;
	pthread_mutex_lock(&types->lock);
	type = add(types, text, len);
	pthread_mutex_unlock(&types->lock);
	return type;
}

const char *ns_store_type_text(const struct ns_store *store, uint8_t type)
{
	if (type == 0 || type > __atomic_load_n(&store->types.count, __ATOMIC_ACQUIRE))
		return NULL;
	return store->types.texts[type - 1];
}
