/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Content types of HTTP: an object has a number instead of the text. Each object that has it, and who is about to
 * make one, is a user of the number; when there is none left it can be another text's. So whoever has an object
 * pinned reads its text without a lock, and a peer that stores a type after the other takes no place for ever.
 */
#include "store_parts.h"

#include <errno.h>
#include <string.h>

/* With the lock. The one that has the text, with users or none yet; NULL: none */
static struct ns_type *find(struct ns_types *types, const char *text, size_t len)
{
	for (uint32_t i = 0; i < NS_TYPES_MAX; i++) {
		struct ns_type *type = &types->list[i];

		if (type->len == len && memcmp(type->text, text, len) == 0)
			return type;
	}
	return NULL;
}

/* With the lock, under which alone a number without users gets one. */
static struct ns_type *find_unused(struct ns_types *types)
{
	for (uint32_t i = 0; i < NS_TYPES_MAX; i++)
		if (__atomic_load_n(&types->list[i].users, __ATOMIC_ACQUIRE) == 0)
			return &types->list[i];
	return NULL;
}

int ns_store_type_take(struct ns_store *store, const char *text, size_t len, uint8_t *ret)
{
	struct ns_types *types = &store->types;
	struct ns_type *type;

	if (len == 0 || len > NS_TYPE_TEXT_MAX)
		return -EINVAL;
	pthread_mutex_lock(&types->lock);
	type = find(types, text, len);
	if (type == NULL) {
		type = find_unused(types);
		if (type != NULL) {
			memcpy(type->text, text, len);
			type->text[len] = '\0';
			type->len = (uint8_t)len;
		}
	}
	if (type != NULL) {
		(void)__atomic_fetch_add(&type->users, 1, __ATOMIC_RELAXED);
		*ret = (uint8_t)(type - types->list + 1);
	}
	pthread_mutex_unlock(&types->lock);
	return type != NULL ? 0 : -ENOSPC;
}

void ns_store_type_share(struct ns_store *store, uint8_t type)
{
	if (type != 0)
		(void)__atomic_fetch_add(&store->types.list[type - 1].users, 1, __ATOMIC_RELAXED);
}

void ns_store_type_give(struct ns_store *store, uint8_t type)
{
	if (type != 0)
		(void)__atomic_fetch_sub(&store->types.list[type - 1].users, 1, __ATOMIC_ACQ_REL);
}

const char *ns_store_type_text(const struct ns_store *store, uint8_t type)
{
	return type != 0 ? store->types.list[type - 1].text : NULL;
}
