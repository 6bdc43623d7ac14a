/* SPDX-License-Identifier: BSD-3-Clause */
#include "callers.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct ns_callers {
	struct ns_store *store;
	unsigned node;
	pthread_mutex_t lock;
	pthread_cond_t is_free;
	struct ns_thread *free[NS_CALLERS_MAX]; /* joined, and away */
	unsigned free_count;
	unsigned joined;
};

struct ns_callers *ns_callers_create(struct ns_store *store, unsigned node)
{
	struct ns_callers *callers = calloc(1, sizeof(*callers));

	if (!callers)
		return NULL;
	callers->store = store;
	callers->node = node;
	pthread_mutex_init(&callers->lock, NULL);
	pthread_cond_init(&callers->is_free, NULL);
	return callers;
}

void ns_callers_free(struct ns_callers *callers)
{
	if (!callers)
		return;
	for (unsigned i = 0; i < callers->free_count; i++) {
		ns_thread_come(callers->free[i]);
		ns_thread_leave(callers->free[i]);
	}
	pthread_cond_destroy(&callers->is_free);
	pthread_mutex_destroy(&callers->lock);
	free(callers);
}

/* NULL: no memory, and none that will become free */
static struct ns_thread *borrow(struct ns_callers *callers)
{
	struct ns_thread *thread = NULL;

	pthread_mutex_lock(&callers->lock);
	while (!thread) {
		if (callers->free_count > 0) {
			thread = callers->free[--callers->free_count];
			ns_thread_come(thread);
			break;
		}
		if (callers->joined < NS_CALLERS_MAX)
			thread = ns_thread_join(callers->store, callers->node);
		if (thread)
			callers->joined++;
		else if (callers->joined == 0)
			break;
		else
			pthread_cond_wait(&callers->is_free, &callers->lock);
	}
	pthread_mutex_unlock(&callers->lock);
	return thread;
}

static void give_back(struct ns_callers *callers, struct ns_thread *thread)
{
	ns_thread_rest(thread);
	ns_thread_go(thread);
	pthread_mutex_lock(&callers->lock);
	callers->free[callers->free_count++] = thread;
	pthread_cond_signal(&callers->is_free);
	pthread_mutex_unlock(&callers->lock);
}

/* A key that every protocol could name. */
static int begin(struct ns_callers *callers, const char *key, size_t key_len,
                 struct ns_thread **ret, struct np_error *err)
{
	if (key_len == 0 || key_len > NS_KEY_MAX)
		return np_error_set(err, EINVAL, "a key of %zu bytes: 1 to %d are allowed", key_len,
		                    NS_KEY_MAX);
	for (size_t i = 0; i < key_len; i++) {
		if ((unsigned char)key[i] <= ' ' || key[i] == 0x7f)
			return np_error_set(err, EINVAL,
			                    "a key with byte %u in it: blanks and control bytes "
			                    "are not allowed",
			                    (unsigned char)key[i]);
	}
	*ret = borrow(callers);
	return *ret ? 0 : np_error_sys(err, ENOMEM, "joining the store");
}

struct value {
	char *bytes; /* malloc'ed */
	size_t size;
};

/*
 * One that cannot be read goes from the store. Who waits for a disk is away meanwhile, as nothing that dies could
 * be used again before it comes back; what it has of the store is pinned.
 */
static int read_tail(struct ns_thread *thread, const struct ns_store *store,
                     const struct ns_object *object, char *to, struct np_error *err)
{
	uint64_t bytes = ns_object_tail_bytes(store, object);
	int rc;

	if (bytes == 0)
		return 0;
	ns_thread_go(thread);
	rc = ns_tail_read_now(ns_store_tails(store), object->tail, 0, to, (size_t)bytes);
	ns_thread_come(thread);
	if (rc == -EIO)
		ns_store_lose(thread, object, rc);
	if (rc < 0)
		return np_error_sys(err, -rc, "the part of the value that is on SSD");
	ns_thread_served_tail(thread, bytes);
	return 0;
}

static int copy_out(struct ns_thread *thread, const struct ns_store *store,
                    const struct ns_object *object, struct value *ret, struct np_error *err)
{
	size_t size = (size_t)ns_object_bytes(object);
	size_t head_bytes;
	const char *head = ns_object_head(store, object, &head_bytes);
	char *value = malloc(size + 1); /* never of 0 bytes */
	int rc;

	if (!value)
		return np_error_sys(err, ENOMEM, "a value of %zu bytes", size);
	if (head_bytes > 0)
		memcpy(value, head, head_bytes);
	rc = read_tail(thread, store, object, value + head_bytes, err);
	if (rc < 0) {
		free(value);
		return rc;
	}
	ns_thread_served(thread, object, head_bytes);
	*ret = (struct value){ .bytes = value, .size = size };
	return 0;
}

int ns_callers_get(struct ns_callers *callers, const char *key, size_t key_len, char **ret_value,
                   size_t *ret_size, struct np_error *err)
{
	const struct ns_object *object;
	struct ns_thread *thread;
	struct value value = { .size = 0 };
	int rc = begin(callers, key, key_len, &thread, err);

	if (rc < 0)
		return rc;
	object = ns_store_get(thread, key, key_len, ns_store_now_s(callers->store));
	if (object) {
		rc = copy_out(thread, callers->store, object, &value, err);
		if (rc == 0) {
			*ret_value = value.bytes;
			*ret_size = value.size;
		}
		ns_object_unpin(thread, object);
	} else {
		rc = np_error_set(err, ENOENT, "no such key");
	}
	give_back(callers, thread);
	return rc;
}

/* On failure the draft is dropped, which is nobody else's meanwhile. Away as read_tail() is. */
static int copy_in(struct ns_thread *thread, const struct ns_store *store, struct ns_draft *draft,
                   const char *value, struct np_error *err)
{
	int rc = 0;

	if (draft->head_bytes > 0)
		memcpy(draft->head, value, draft->head_bytes);
	if (draft->tail_bytes > 0) {
		ns_thread_go(thread);
		rc = ns_tail_write_now(ns_store_tails(store), draft->object->tail,
		                       value + draft->head_bytes, draft->tail_bytes);
		ns_thread_come(thread);
	}
	if (rc == 0)
		return 0;
	ns_store_write_failed(thread, rc);
	ns_draft_drop(thread, draft);
	return np_error_sys(err, -rc, "the part of the value that goes to SSD");
}

int ns_callers_set(struct ns_callers *callers, const char *key, size_t key_len, const char *value,
                   size_t size, struct np_error *err)
{
	struct ns_store_request request = { .key = key, .key_len = key_len, .bytes = size };
	struct ns_thread *thread;
	struct ns_draft draft;
	uint64_t cas;
	int rc = begin(callers, key, key_len, &thread, err);

	if (rc < 0)
		return rc;
	rc = ns_draft_begin(thread, &request, &draft, err);
	if (rc == 0)
		rc = copy_in(thread, callers->store, &draft, value, err);
	if (rc == 0)
		(void)ns_draft_store(thread, &draft, NS_SET, 0, 0, &cas);
	give_back(callers, thread);
	return rc;
}

int ns_callers_delete(struct ns_callers *callers, const char *key, size_t key_len,
                      struct np_error *err)
{
	struct ns_thread *thread;
	int rc = begin(callers, key, key_len, &thread, err);

	if (rc < 0)
		return rc;
	rc = ns_store_delete(thread, key, key_len, 0);
	give_back(callers, thread);
	return rc < 0 ? np_error_set(err, -rc, "no such key") : 0;
}
