/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of an arena: nodes by move_pages(2), sizes of pages by smaps. */
#include "arena.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES_A_CALL = 1024 };

/* ---- nodes ---- */

static int count_node(struct ns_arena_report *report, unsigned node, uint64_t bytes)
{
	if (node >= report->node_count) {
		size_t count = (size_t)node + 1;
		uint64_t *nodes = realloc(report->node_bytes, count * sizeof(*nodes));

		if (!nodes)
			return -ENOMEM;
		memset(nodes + report->node_count, 0,
		       (count - report->node_count) * sizeof(*nodes));
		report->node_bytes = nodes;
		report->node_count = count;
	}
	report->node_bytes[node] += bytes;
	if (node == report->node)
		report->right_bytes += bytes;
	else
		report->wrong_bytes += bytes;
	return 0;
}

static int look_up_nodes(const struct ns_arena *arena, struct ns_arena_report *report)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	void *pages[PAGES_A_CALL];
	int nodes[PAGES_A_CALL];
	int rc = 0;

	for (uint64_t at = 0; at < arena->plan.bytes && rc == 0;) {
		unsigned long count = 0;

		for (; count < PAGES_A_CALL && at < arena->plan.bytes; at += page)
			pages[count++] = arena->base + at;
		if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) < 0) {
			report->unknown_bytes += count * page;
			continue;
		}
		for (unsigned long i = 0; i < count && rc == 0; i++) {
			if (nodes[i] < 0)
				report->unknown_bytes += page;
			else
				rc = count_node(report, (unsigned)nodes[i], page);
		}
	}
	return rc;
}

/* ---- sizes ---- */

/* Of the mapping that smaps tells of at the moment. */
struct mapping {
	uint64_t bytes; /* within the arena */
	uint64_t page_kib;
	uint64_t thp_kib;
};

static void count_mapping(const struct mapping *mapping, uint64_t bytes[NS_PAGE_KIND_COUNT])
{
	uint64_t thp_bytes = mapping->thp_kib << 10;

	if (mapping->bytes == 0)
		return;
	if (mapping->page_kib << 10 > (uint64_t)sysconf(_SC_PAGESIZE)) {
		bytes[NS_PAGES_HUGETLB] += mapping->bytes;
		return;
	}
	if (thp_bytes > mapping->bytes)
		thp_bytes = mapping->bytes;
	bytes[NS_PAGES_THP] += thp_bytes;
	bytes[NS_PAGES_PLAIN] += mapping->bytes - thp_bytes;
}

static uint64_t overlap(const struct ns_arena *arena, uint64_t start, uint64_t end)
{
	uint64_t first = (uintptr_t)arena->base;
	uint64_t last = first + arena->plan.bytes;

	if (start < first)
		start = first;
	if (end > last)
		end = last;
	return end > start ? end - start : 0;
}

static void read_mappings(const struct ns_arena *arena, FILE *file,
                          uint64_t bytes[NS_PAGE_KIND_COUNT])
{
	struct mapping mapping = { 0 };
	size_t size = 0;
	char *line = NULL;

	while (getline(&line, &size, file) >= 0) {
		uint64_t start;
		uint64_t end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
			count_mapping(&mapping, bytes);
			mapping = (struct mapping){ .bytes = overlap(arena, start, end) };
		} else if (strncmp(line, "KernelPageSize:", 15) == 0) {
			mapping.page_kib = strtoull(line + 15, NULL, 10);
		} else if (strncmp(line, "AnonHugePages:", 14) == 0) {
			mapping.thp_kib = strtoull(line + 14, NULL, 10);
		}
	}
	count_mapping(&mapping, bytes);
	free(line);
}

static void look_up_sizes(const struct np_sysroot *root, const struct ns_arena *arena,
                          struct ns_arena_report *report)
{
	uint64_t bytes[NS_PAGE_KIND_COUNT] = { 0 };
	uint64_t huge;
	FILE *file = NULL;
	int fd;

	if (np_sysroot_open_file(root, "proc/self/smaps", &fd, NULL) == 0) {
		file = fdopen(fd, "r");
		if (!file)
			close(fd);
	}
	if (!file) {
		for (size_t i = 0; i < arena->block_count; i++)
			report->blocks[arena->block_kinds[i]]++;
		return;
	}
	read_mappings(arena, file, bytes);
	fclose(file);
	huge = bytes[NS_PAGES_HUGETLB] / arena->block_bytes;
	report->blocks[NS_PAGES_HUGETLB] = huge;
	report->blocks[NS_PAGES_THP] = bytes[NS_PAGES_THP] / arena->block_bytes;
	report->blocks[NS_PAGES_PLAIN] = arena->block_count - huge - report->blocks[NS_PAGES_THP];
}

int ns_arena_verify(const struct np_sysroot *root, const struct ns_arena *arena,
                    struct ns_arena_report *ret, struct np_error *err)
{
	struct ns_arena_report report = { .node = arena->plan.node };

	if (look_up_nodes(arena, &report) < 0) {
		ns_arena_report_release(&report);
		return np_error_sys(err, ENOMEM, "verifying the arena of node %u",
		                    arena->plan.node);
	}
	look_up_sizes(root, arena, &report);
	*ret = report;
	return 0;
}

void ns_arena_report_release(struct ns_arena_report *report)
{
	free(report->node_bytes);
	*report = (struct ns_arena_report){ 0 };
}
