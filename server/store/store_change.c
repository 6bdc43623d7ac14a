/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of what is stored. append, prepend, incr and decr make a new object and link it only in the place
 * of the one they started from, which they keep pinned meanwhile; else they begin anew, as they do when that was made
 * stale. delete, touch and invalidation write what is marked atomic, under the bucket's lock.
 */
#include "store_parts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* With the lock of the bucket. An object that has ended is not returned in living. */
struct found {
	uint64_t hash;
	struct ns_slot slot;
	struct ns_object *living;
};

static struct found lock_key(struct ns_thread *thread, const char *key, size_t key_len)
{
	struct ns_store *store = thread->store;
	struct found found = { .hash = ns_index_hash(store->index, key, key_len) };

	ns_index_lock(store->index, found.hash);
	found.slot = ns_index_look(store->index, found.hash, key, key_len);
	if (found.slot.object != NULL &&
	    ns_object_end(store, found.slot.object, ns_store_now_s(store)) == NS_LIVES)
		found.living = found.slot.object;
	return found;
}

/* 0 when there is one, and @cas, unless 0, is its number. */
static int check_found(const struct ns_object *living, uint64_t cas)
{
	if (living == NULL)
		return -ENOENT;
	return cas != 0 && ns_object_cas(living) != cas ? -EEXIST : 0;
}

int ns_store_delete(struct ns_thread *thread, const char *key, size_t key_len, uint64_t cas)
{
	struct found found = lock_key(thread, key, key_len);
	int rc = check_found(found.living, cas);
	bool goes = found.slot.object != NULL && rc != -EEXIST;

	if (goes)
		ns_object_unlink(thread, found.slot);
	ns_index_unlock(thread->store->index, found.hash);
	if (goes)
		ns_object_retire(thread, found.slot.object);
	ns_counter_add(&thread->counts.deletes, 1);
	if (rc == 0)
		ns_counter_add(&thread->counts.delete_hits, 1);
	return rc;
}

int ns_store_invalidate(struct ns_thread *thread, const char *key, size_t key_len, uint64_t cas,
                        uint32_t expires_s)
{
	struct found found = lock_key(thread, key, key_len);
	int rc = check_found(found.living, cas);

	if (rc == 0) {
		struct ns_object *object = found.living;
		uint64_t next = __atomic_add_fetch(&thread->store->cas, 1, __ATOMIC_RELAXED);

		/* Stale before the new number: who sees that sees the mark. */
		(void)ns_object_mark(object, NS_MARK_STALE, NS_MARK_WINNER);
		__atomic_store_n(&object->cas, next, __ATOMIC_RELEASE);
		if (expires_s != UINT32_MAX)
			__atomic_store_n(&object->expires_s, expires_s, __ATOMIC_RELAXED);
	}
	ns_index_unlock(thread->store->index, found.hash);
	return rc;
}

int ns_store_touch(struct ns_thread *thread, const char *key, size_t key_len, uint32_t expires_s)
{
	struct found found = lock_key(thread, key, key_len);
	int rc = check_found(found.living, 0);

	if (rc == 0) {
		struct ns_object *object = found.living;
		uint32_t now_s = ns_store_now_s(thread->store);
		/* A touch is no read: the score is as of then, and no higher for it. */
		float score = ns_object_score(thread->store, object, now_s);

		__atomic_store_n(&object->expires_s, expires_s, __ATOMIC_RELAXED);
		__atomic_store(&object->score, &score, __ATOMIC_RELAXED);
		__atomic_store_n(&object->read_s, now_s, __ATOMIC_RELAXED);
	}
	ns_index_unlock(thread->store->index, found.hash);
	ns_counter_add(&thread->counts.touches, 1);
	if (rc == 0)
		ns_counter_add(&thread->counts.touch_hits, 1);
	return rc;
}

/* ---- a new object in the place of one that is known ---- */

struct key {
	const char *bytes;
	size_t len;
};

/* What is started from. */
struct base {
	const struct ns_object *object; /* pinned */
	uint64_t cas;                   /* that it had before anything else of it was looked at */
};

/* 0, or as check_found() says. */
static int begin(struct ns_thread *thread, const struct key *key, uint64_t cas, struct base *ret)
{
	const struct ns_object *object =
		ns_store_peek(thread, key->bytes, key->len, ns_store_now_s(thread->store));

	if (object == NULL)
		return -ENOENT;
	*ret = (struct base){ .object = object, .cas = ns_object_cas(object) };
	if (cas == 0 || cas == ret->cas)
		return 0;
	ns_object_unpin(thread, object);
	return -EEXIST;
}

static int draft_like(struct ns_thread *thread, const struct ns_object *object, uint64_t bytes,
                      struct ns_draft *ret, struct np_error *err)
{
	struct ns_store_request request = {
		.key = object->key,
		.key_len = object->key_len,
		.bytes = bytes,
		.flags = object->flags, /* when it expires is taken over when it is linked */
		.type = object->type,
	};

	return ns_draft_begin(thread, &request, ret, err);
}

/* Ends the pin. -EAGAIN: it is no longer what the key has, or was made stale */
static int finish(struct ns_thread *thread, const struct base *base, struct ns_draft *draft,
                  uint64_t *ret_cas)
{
	struct ns_terms terms = { .mode = NS_SET, .cas = base->cas, .expected = base->object };
	enum ns_outcome outcome = ns_draft_link(thread, draft, &terms, ret_cas);

	ns_object_unpin(thread, base->object);
	return outcome == NS_STORED ? 0 : -EAGAIN;
}

struct addition {
	const char *bytes;
	size_t count;
	bool in_front;
};

static int try_extend(struct ns_thread *thread, const struct base *base,
                      const struct addition *addition, uint64_t *ret_cas, struct np_error *err)
{
	const struct ns_object *object = base->object;
	struct ns_store *store = thread->store;
	size_t size;
	const char *head = ns_object_head(store, object, &size);
	struct ns_draft draft;
	int rc;

	if (size < ns_object_bytes(object) || addition->count > store->head_bytes - size) {
		ns_counter_add(&thread->counts.too_large, 1);
		rc = np_error_set(err, E2BIG,
		                  "%zu bytes added to %llu: at most %llu are allowed so",
		                  addition->count, (unsigned long long)ns_object_bytes(object),
		                  (unsigned long long)store->head_bytes);
	} else {
		rc = draft_like(thread, object, size + addition->count, &draft, err);
	}
	if (rc < 0) {
		ns_object_unpin(thread, object);
		return rc;
	}
	if (draft.head_bytes > 0) {
		memcpy(draft.head + (addition->in_front ? addition->count : 0), head, size);
		memcpy(draft.head + (addition->in_front ? 0 : size), addition->bytes,
		       addition->count);
	}
	return finish(thread, base, &draft, ret_cas);
}

// NOLINTNEXTLINE(readability-function-size): the header's signature
int ns_store_extend(struct ns_thread *thread, const char *key, size_t key_len, const char *bytes,
                    size_t count, bool in_front, uint64_t cas, uint64_t *ret_cas,
                    struct np_error *err)
{
	struct key of = { .bytes = key, .len = key_len };
	struct addition addition = { .bytes = bytes, .count = count, .in_front = in_front };
	struct base base;
	int rc;

	do {
		rc = begin(thread, &of, cas, &base);
		if (rc < 0)
			break;
		rc = try_extend(thread, &base, &addition, ret_cas, err);
	} while (rc == -EAGAIN);
	if (rc == -ENOENT)
		return np_error_set(err, ENOENT, "no such key");
	if (rc == -EEXIST)
		return np_error_set(err, EEXIST, "the key's cas is another one");
	return rc;
}

/* ---- numbers ---- */

/* Decimal digits, and blanks after them. */
static bool parse_number(const char *text, size_t size, uint64_t *ret)
{
	uint64_t number = 0;
	size_t i = 0;

	for (; i < size && text[i] >= '0' && text[i] <= '9'; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number))
			return false;
	if (i == 0)
		return false;
	for (; i < size; i++)
		if (text[i] != ' ')
			return false;
	*ret = number;
	return true;
}

static uint64_t changed(uint64_t number, uint64_t delta, bool decrement)
{
	if (!decrement)
		return number + delta;
	return number > delta ? number - delta : 0;
}

static int try_number(struct ns_thread *thread, const struct base *base, uint64_t number,
                      uint64_t *ret_cas, struct np_error *err)
{
	const struct ns_object *object = base->object;
	uint64_t bytes = ns_object_bytes(object);
	uint8_t marks = __atomic_load_n(&object->marks, __ATOMIC_RELAXED);
	struct ns_draft draft;
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	int rc;

	if (bytes < (uint64_t)len)
		bytes = (uint64_t)len;
	rc = draft_like(thread, object, bytes, &draft, err);
	if (rc < 0) {
		ns_object_unpin(thread, object);
		return rc;
	}
	memset(draft.head, ' ', draft.head_bytes);
	memcpy(draft.head, text, (size_t)len);
	(void)ns_object_mark(draft.object, marks & NS_MARKS_SHOWN, 0);
	return finish(thread, base, &draft, ret_cas);
}

static void count_number(struct ns_thread *thread, bool decrement, int rc)
{
	struct ns_counts *counts = &thread->counts;

	if (rc == 0)
		ns_counter_add(decrement ? &counts->decr_hits : &counts->incr_hits, 1);
	else if (rc == -ENOENT)
		ns_counter_add(decrement ? &counts->decr_misses : &counts->incr_misses, 1);
}

// NOLINTNEXTLINE(readability-function-size): the header's signature
int ns_store_add_number(struct ns_thread *thread, const char *key, size_t key_len, uint64_t delta,
                        bool decrement, uint64_t cas, uint64_t *ret_value, uint64_t *ret_cas,
                        struct np_error *err)
{
	struct key of = { .bytes = key, .len = key_len };
	struct base base;
	uint64_t number = 0;
	int rc;

	do {
		const char *head;
		size_t size;

		rc = begin(thread, &of, cas, &base);
		if (rc < 0)
			break;
		head = ns_object_head(thread->store, base.object, &size);
		if (size < ns_object_bytes(base.object) || !parse_number(head, size, &number)) {
			ns_object_unpin(thread, base.object);
			rc = -EINVAL;
			break;
		}
		number = changed(number, delta, decrement);
		rc = try_number(thread, &base, number, ret_cas, err);
	} while (rc == -EAGAIN);
	count_number(thread, decrement, rc);
	if (rc == 0)
		*ret_value = number;
	if (rc == -ENOENT)
		return np_error_set(err, ENOENT, "no such key");
	if (rc == -EEXIST)
		return np_error_set(err, EEXIST, "the key's cas is another one");
	if (rc == -EINVAL)
		return np_error_set(err, EINVAL, "the value is no decimal number below 2^64");
	return rc;
}
