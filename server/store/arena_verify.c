/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel says of an arena: nodes by move_pages(2) or numa_maps, sizes of pages by smaps. */
#include "../../launcher/lib/numa_maps.h"
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

static int count_pages(struct ns_arena_report *report, const int *nodes, size_t count,
                       uint64_t page_bytes)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		if (nodes[i] < 0)
			report->unknown_bytes += page_bytes;
		else
			rc = count_node(report, (unsigned)nodes[i], page_bytes);
	}
	return rc;
}

/* Pages of that size from @from to @to. -ENOMEM; other: of move_pages(2) */
static int ask_for_nodes(const struct ns_arena *arena, uint64_t from, uint64_t to,
                         uint64_t page_bytes, struct ns_arena_report *report)
{
	void *pages[PAGES_A_CALL];
	int nodes[PAGES_A_CALL];
	int rc = 0;

	while (from < to && rc == 0) {
		unsigned long count = 0;

		for (; count < PAGES_A_CALL && from < to; from += page_bytes)
			pages[count++] = arena->base + from;
		if (syscall(SYS_move_pages, 0, count, pages, NULL, nodes, 0) < 0)
			return -errno;
		rc = count_pages(report, nodes, count, page_bytes);
	}
	return rc;
}

/* ---- nodes, where a filter refuses to be asked ---- */

/* Mappings that begin in the arena; neighbours that the kernel joined to one make it too long. */
static int count_line(const struct ns_arena *arena, const char *text, size_t len,
                      struct ns_arena_report *report)
{
	uint64_t first = (uintptr_t)arena->base;
	struct nr_numa_line line;
	uint64_t pages;
	unsigned node;
	int rc = 0;

	if (nr_numa_line_parse(text, len, &line) < 0 || line.start < first ||
	    line.start >= first + arena->plan.bytes)
		return 0;
	while (rc == 0 && nr_numa_line_pages(&line, &node, &pages))
		rc = count_node(report, node, pages * line.page_bytes);
	return rc;
}

static FILE *open_own(const struct np_sysroot *root, const char *path)
{
	FILE *file;
	int fd;

	if (np_sysroot_open_file(root, path, &fd, NULL) < 0)
		return NULL;
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static void forget_nodes(struct ns_arena_report *report)
{
	free(report->node_bytes);
	report->node_bytes = NULL;
	report->node_count = 0;
	report->right_bytes = 0;
	report->wrong_bytes = 0;
	report->unknown_bytes = 0;
}

static int read_nodes(const struct np_sysroot *root, const struct ns_arena *arena,
                      struct ns_arena_report *report)
{
	FILE *file = open_own(root, "proc/self/numa_maps");
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = 0;

	forget_nodes(report);
	while (file && rc == 0 && (len = getline(&line, &size, file)) > 0)
		rc = count_line(arena, line, (size_t)len - (line[len - 1] == '\n'), report);
	free(line);
	if (file)
		fclose(file);
	if (report->right_bytes + report->wrong_bytes > arena->plan.bytes)
		forget_nodes(report);
	report->unknown_bytes = arena->plan.bytes - report->right_bytes - report->wrong_bytes;
	return rc;
}

static int look_up_nodes(const struct np_sysroot *root, const struct ns_arena *arena,
                         struct ns_arena_report *report)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t huge = arena->huge_bytes;
	int rc = 0;

	if (huge > 0)
		rc = ask_for_nodes(arena, 0, huge, arena->huge_page_bytes, report);
	if (rc == 0)
		rc = ask_for_nodes(arena, huge, arena->plan.bytes, page, report);
	return rc == 0 || rc == -ENOMEM ? rc : read_nodes(root, arena, report);
}

/* ---- sizes ---- */

/* Of the mapping that smaps tells of at the moment. */
struct mapping {
	uint64_t bytes; /* within the arena */
	uint64_t page_kib;
	uint64_t thp_kib;
};

/* HugeTLB pages of a size that is the last one's, or new; more sizes than there are go with the last. */
static void count_huge(struct ns_arena_report *report, uint64_t page_bytes, uint64_t bytes)
{
	size_t last = report->huge_count;

	if (last == 0 ||
	    (report->huge[last - 1].page_bytes != page_bytes && last < NS_HUGE_SIZES_MAX))
		report->huge[report->huge_count++].page_bytes = page_bytes;
	report->huge[report->huge_count - 1].bytes += bytes;
}

static void count_mapping(const struct mapping *mapping, struct ns_arena_report *report,
                          uint64_t bytes[NS_PAGE_KIND_COUNT])
{
	uint64_t thp_bytes = mapping->thp_kib << 10;
	uint64_t page_bytes = mapping->page_kib << 10;

	if (mapping->bytes == 0)
		return;
	if (page_bytes > (uint64_t)sysconf(_SC_PAGESIZE)) {
		count_huge(report, page_bytes, mapping->bytes);
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

static void read_mappings(const struct ns_arena *arena, FILE *file, struct ns_arena_report *report,
                          uint64_t bytes[NS_PAGE_KIND_COUNT])
{
	struct mapping mapping = { 0 };
	size_t size = 0;
	char *line = NULL;

	while (getline(&line, &size, file) >= 0) {
		uint64_t start;
		uint64_t end;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
			count_mapping(&mapping, report, bytes);
			mapping = (struct mapping){ .bytes = overlap(arena, start, end) };
		} else if (strncmp(line, "KernelPageSize:", 15) == 0) {
			mapping.page_kib = strtoull(line + 15, NULL, 10);
		} else if (strncmp(line, "AnonHugePages:", 14) == 0) {
			mapping.thp_kib = strtoull(line + 14, NULL, 10);
		}
	}
	count_mapping(&mapping, report, bytes);
	free(line);
}

/* That HugeTLB pages are such is sure as they were had at all; what became of the rest is not. */
static void tell_as_mapped(const struct ns_arena *arena, struct ns_arena_report *report)
{
	report->blocks[NS_PAGES_HUGETLB] = arena->huge_bytes / arena->block_bytes;
	report->unknown_blocks = arena->block_count - report->blocks[NS_PAGES_HUGETLB];
}

static void look_up_sizes(const struct np_sysroot *root, const struct ns_arena *arena,
                          struct ns_arena_report *report)
{
	uint64_t bytes[NS_PAGE_KIND_COUNT] = { 0 };
	FILE *file = open_own(root, "proc/self/smaps");
	uint64_t huge;
	uint64_t thp;

	if (!file) {
		tell_as_mapped(arena, report);
		return;
	}
	read_mappings(arena, file, report, bytes);
	fclose(file);
	if (bytes[NS_PAGES_HUGETLB] + bytes[NS_PAGES_THP] + bytes[NS_PAGES_PLAIN] !=
	    arena->plan.bytes) {
		report->huge_count = 0;
		tell_as_mapped(arena, report);
		return;
	}
	huge = bytes[NS_PAGES_HUGETLB] / arena->block_bytes;
	thp = bytes[NS_PAGES_THP] / arena->block_bytes;
	report->blocks[NS_PAGES_HUGETLB] = huge;
	report->blocks[NS_PAGES_THP] = thp;
	report->blocks[NS_PAGES_PLAIN] = arena->block_count - huge - thp;
}

int ns_arena_verify(const struct np_sysroot *root, const struct ns_arena *arena,
                    struct ns_arena_report *ret, struct np_error *err)
{
	struct ns_arena_report report = { .node = arena->plan.node };

	if (look_up_nodes(root, arena, &report) < 0) {
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
