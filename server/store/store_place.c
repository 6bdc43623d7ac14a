/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules by which keys choose their arena. They are read while they are replaced: the old ones are kept
 * until no thread can look at them any more.
 */
#include "store_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOCAL_ARENA SIZE_MAX

struct rule {
	char *prefix;
	size_t prefix_len;
	size_t arena; /* LOCAL_ARENA: the thread's */
	enum ns_place place;
};

struct ns_rules {
	struct ns_rules *next; /* of those that were replaced */
	uint64_t stamp;        /* when it was replaced */
	size_t count;
	struct rule rules[]; /* the longest prefix first */
};

static void free_one(struct ns_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		free(rules->rules[i].prefix);
	free(rules);
}

void ns_rules_free(struct ns_rules *rules)
{
	while (rules != NULL) {
		struct ns_rules *next = rules->next;

		free_one(rules);
		rules = next;
	}
}

/* That of the node itself, else of the nearest one to where the server works. */
size_t ns_store_arena_of_node(const struct ns_store *store, unsigned node)
{
	size_t nearest = 0;

	for (size_t i = 0; i < store->arena_count; i++) {
		const struct ns_arena_plan *plan = &store->arenas[i].mapped->plan;

		if (plan->node == node)
			return i;
		if (plan->distance < store->arenas[nearest].mapped->plan.distance)
			nearest = i;
	}
	return nearest;
}

size_t ns_store_arena_of_key(const struct ns_thread *thread, const char *key, size_t key_len)
{
	const struct ns_rules *rules = __atomic_load_n(&thread->store->rules, __ATOMIC_ACQUIRE);

	for (size_t i = 0; rules != NULL && i < rules->count; i++) {
		const struct rule *rule = &rules->rules[i];

		if (rule->prefix_len <= key_len && memcmp(rule->prefix, key, rule->prefix_len) == 0)
			return rule->arena == LOCAL_ARENA ? thread->local_arena : rule->arena;
	}
	return NS_ANY_ARENA;
}

bool ns_store_rule(const struct ns_thread *thread, size_t at, struct ns_place_rule *ret)
{
	const struct ns_rules *rules = __atomic_load_n(&thread->store->rules, __ATOMIC_ACQUIRE);
	const struct rule *rule;
	size_t arena;

	if (rules == NULL || at >= rules->count)
		return false;
	rule = &rules->rules[at];
	arena = rule->arena == LOCAL_ARENA ? thread->local_arena : rule->arena;
	*ret = (struct ns_place_rule){
		.prefix = rule->prefix,
		.place = rule->place,
		.node = thread->store->arenas[arena].mapped->plan.node,
	};
	return true;
}

static int find_arena(const struct ns_store *store, const struct ns_place_rule *from, size_t *ret,
                      struct np_error *err)
{
	unsigned node = from->place == NS_PLACE_FAR ? store->far_node : from->node;

	if (from->place == NS_PLACE_LOCAL) {
		*ret = LOCAL_ARENA;
		return 0;
	}
	*ret = ns_store_arena_of_node(store, node);
	if (store->arenas[*ret].mapped->plan.node == node)
		return 0;
	return np_error_set(
		err, EINVAL,
		"place '%s': node %u has no arena (--memory and --sub-memory make them)",
		from->prefix, node);
}

/* Behind all that are longer; before an equal one, which it replaces so. */
static int add_rule(const struct ns_store *store, struct ns_rules *rules,
                    const struct ns_place_rule *from, struct np_error *err)
{
	struct rule rule = { .prefix_len = strlen(from->prefix), .place = from->place };
	size_t at = 0;
	int rc = find_arena(store, from, &rule.arena, err);

	if (rc < 0)
		return rc;
	rule.prefix = strdup(from->prefix);
	if (rule.prefix == NULL)
		return np_error_set(err, ENOMEM, "no memory for a rule");
	while (at < rules->count && rules->rules[at].prefix_len > rule.prefix_len)
		at++;
	memmove(&rules->rules[at + 1], &rules->rules[at], (rules->count - at) * sizeof(rule));
	rules->rules[at] = rule;
	rules->count++;
	return 0;
}

/* With the store's lock. */
static void free_old(struct ns_store *store)
{
	struct ns_rules **link = &store->old_rules;

	while (*link != NULL) {
		struct ns_rules *rules = *link;

		if (!ns_epoch_is_past(store->epochs, rules->stamp)) {
			link = &rules->next;
			continue;
		}
		*link = rules->next;
		free_one(rules);
	}
}

static void replace_rules(struct ns_store *store, struct ns_rules *rules)
{
	struct ns_rules *old;

	pthread_mutex_lock(&store->lock);
	old = __atomic_exchange_n(&store->rules, rules, __ATOMIC_ACQ_REL);
	if (old != NULL) {
		old->stamp = ns_epoch_stamp(store->epochs);
		old->next = store->old_rules;
		store->old_rules = old;
	}
	free_old(store);
	pthread_mutex_unlock(&store->lock);
}

int ns_store_place(struct ns_store *store, const struct ns_place_rule *rules, size_t count,
                   struct np_error *err)
{
	struct ns_rules *made;

	if (count > NS_RULES_MAX)
		return np_error_set(err, EINVAL, "%zu rules of placement: at most %d are allowed",
		                    count, NS_RULES_MAX);
	made = calloc(1, sizeof(*made) + count * sizeof(made->rules[0]));
	if (made == NULL)
		return np_error_set(err, ENOMEM, "no memory for rules");
	for (size_t i = 0; i < count; i++) {
		int rc = add_rule(store, made, &rules[i], err);

		if (rc < 0) {
			free_one(made);
			return rc;
		}
	}
	replace_rules(store, made);
	return 0;
}
