/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernel gives chunks, a chunk is pages, a page has slots of one size and knows how many are taken: one that
 * is wholly free can become of another size. A page is found from a slot's address.
 */
#include "object.h"

#include "near.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

enum {
	STEP_BYTES = 8,
	PAGE_BYTES = 64 << 10,
	CHUNK_BYTES = 2 << 20, /* so that the kernel can use a huge page */
	CLASSES = (offsetof(struct ns_object, key) + NS_KEY_MAX + STEP_BYTES - 1) / STEP_BYTES + 1,
};

/* The first bytes of a slot that is free. */
struct free_slot {
	struct free_slot *next;
};

/* At the beginning of a page. */
struct page {
	alignas(64) struct page
		*next; /* in the list of its class's pages with free slots, or of free pages */
	struct page *previous;
	struct free_slot *free;
	uint32_t unused; /* offset of the slots that were never taken */
	uint32_t taken;
};

struct class
{
	alignas(64) pthread_mutex_t lock;
	struct page *pages; /* with free slots */
};

struct ns_object_memory {
	struct class classes[CLASSES];
	alignas(64) pthread_mutex_t lock; /* of the rest; taken with a class's lock held */
	struct page *free_pages;
	void **chunks;
	size_t chunk_count;
	uint64_t bytes; /* atomic */
	const struct np_bitmap *nodes;
};

struct ns_object_memory *ns_object_memory_create(const struct np_bitmap *nodes)
{
	struct ns_object_memory *memory =
		aligned_alloc(alignof(struct ns_object_memory), sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memset(memory, 0, sizeof(*memory));
	memory->nodes = nodes;
	for (size_t i = 0; i < CLASSES; i++)
		pthread_mutex_init(&memory->classes[i].lock, NULL);
	pthread_mutex_init(&memory->lock, NULL);
	return memory;
}

void ns_object_memory_free(struct ns_object_memory *memory)
{
	if (memory == NULL)
		return;
	for (size_t i = 0; i < memory->chunk_count; i++) {
		ASAN_UNPOISON_MEMORY_REGION(memory->chunks[i], CHUNK_BYTES);
		munmap(memory->chunks[i], CHUNK_BYTES);
	}
	free(memory->chunks);
	for (size_t i = 0; i < CLASSES; i++)
		pthread_mutex_destroy(&memory->classes[i].lock);
	pthread_mutex_destroy(&memory->lock);
	free(memory);
}

static size_t class_of(size_t key_len)
{
	return (offsetof(struct ns_object, key) + key_len + STEP_BYTES - 1) / STEP_BYTES;
}

/* Aligned to its size: twice as much is mapped, and what is too much given back. */
static char *map_chunk(const struct np_bitmap *nodes)
{
	char *mapped = mmap(NULL, 2 * (size_t)CHUNK_BYTES, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t before;

	if (mapped == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)mapped % CHUNK_BYTES;
	if (before > 0)
		munmap(mapped, before);
	munmap(mapped + before + CHUNK_BYTES, CHUNK_BYTES - before);
	(void)madvise(mapped + before, CHUNK_BYTES, MADV_HUGEPAGE);
	ns_near_set(mapped + before, CHUNK_BYTES, nodes);
	return mapped + before;
}

static int add_chunk(struct ns_object_memory *memory)
{
	size_t count = memory->chunk_count;
	char *chunk;

	/* Room for the pointers doubles. */
	if ((count & (count - 1)) == 0) {
		void **chunks =
			realloc(memory->chunks, (count > 0 ? 2 * count : 1) * sizeof(*chunks));

		if (chunks == NULL)
			return -1;
		memory->chunks = chunks;
	}
	chunk = map_chunk(memory->nodes);
	if (chunk == NULL)
		return -1;
	memory->chunks[memory->chunk_count++] = chunk;
	(void)__atomic_fetch_add(&memory->bytes, CHUNK_BYTES, __ATOMIC_RELAXED);
	for (size_t at = CHUNK_BYTES; at > 0; at -= PAGE_BYTES) {
		struct page *page = (struct page *)(chunk + at - PAGE_BYTES);

		page->next = memory->free_pages;
		memory->free_pages = page;
	}
	return 0;
}

static struct page *take_page(struct ns_object_memory *memory)
{
	struct page *page = NULL;

	pthread_mutex_lock(&memory->lock);
	if (memory->free_pages != NULL || add_chunk(memory) == 0) {
		page = memory->free_pages;
		memory->free_pages = page->next;
	}
	pthread_mutex_unlock(&memory->lock);
	if (page == NULL)
		return NULL;
	*page = (struct page){ .unused = sizeof(*page) };
	ASAN_POISON_MEMORY_REGION(page + 1, PAGE_BYTES - sizeof(*page));
	return page;
}

static void give_page(struct ns_object_memory *memory, struct page *page)
{
	pthread_mutex_lock(&memory->lock);
	page->next = memory->free_pages;
	memory->free_pages = page;
	pthread_mutex_unlock(&memory->lock);
}

static void list_page(struct class *class, struct page *page)
{
	page->previous = NULL;
	page->next = class->pages;
	if (page->next != NULL)
		page->next->previous = page;
	class->pages = page;
}

static void unlist_page(struct class *class, struct page *page)
{
	if (page->previous != NULL)
		page->previous->next = page->next;
	else
		class->pages = page->next;
	if (page->next != NULL)
		page->next->previous = page->previous;
}

static bool is_full(const struct page *page, size_t size)
{
	return page->free == NULL && page->unused + size > PAGE_BYTES;
}

static void *take_slot(struct page *page, size_t size)
{
	struct free_slot *slot = page->free;

	page->taken++;
	if (slot != NULL) {
		ASAN_UNPOISON_MEMORY_REGION(slot, size);
		page->free = slot->next;
		return slot;
	}
	slot = (struct free_slot *)((char *)page + page->unused);
	ASAN_UNPOISON_MEMORY_REGION(slot, size);
	page->unused += (uint32_t)size;
	return slot;
}

struct ns_object *ns_object_take(struct ns_object_memory *memory, size_t key_len)
{
	size_t size = class_of(key_len) * STEP_BYTES;
	struct class *class = &memory->classes[class_of(key_len)];
	struct ns_object *object = NULL;
	struct page *page;

	pthread_mutex_lock(&class->lock);
	page = class->pages;
	if (page == NULL) {
		page = take_page(memory);
		if (page != NULL)
			list_page(class, page);
	}
	if (page != NULL) {
		object = take_slot(page, size);
		if (is_full(page, size))
			unlist_page(class, page);
	}
	pthread_mutex_unlock(&class->lock);
	return object;
}

static struct page *page_of(struct ns_object *object)
{
	return (struct page *)((char *)object - (uintptr_t)object % PAGE_BYTES);
}

void ns_object_give(struct ns_object_memory *memory, struct ns_object *object, size_t key_len)
{
	size_t size = class_of(key_len) * STEP_BYTES;
	struct class *class = &memory->classes[class_of(key_len)];
	struct page *page = page_of(object);
	struct free_slot *slot = (struct free_slot *)object;
	bool was_full;

	pthread_mutex_lock(&class->lock);
	was_full = is_full(page, size);
	slot->next = page->free;
	page->free = slot;
	ASAN_POISON_MEMORY_REGION(slot, size);
	page->taken--;
	if (was_full)
		list_page(class, page);
	/* The last page of a class stays with it: one object that comes and goes moves none. */
	if (page->taken == 0 && (class->pages != page || page->next != NULL)) {
		unlist_page(class, page);
		give_page(memory, page);
	}
	pthread_mutex_unlock(&class->lock);
}

uint64_t ns_object_memory_bytes(const struct ns_object_memory *memory)
{
	return __atomic_load_n(&memory->bytes, __ATOMIC_RELAXED);
}
