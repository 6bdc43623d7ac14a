/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of maps and numa_maps and stat files, as kernels write them and damaged in every way. */
#include "host.h"

#include "../../launcher/lib/numa_maps.h"
#include "../../launcher/lib/page_mover.h"
#include "../../launcher/lib/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	uint64_t start;
	const char *policy;
	const char *nodes;
	uint64_t page_bytes;
	const char *pages; /* "node=pages " … */
} lines[] = {
	{ "7f0000000000 default", 0x7f0000000000, "default", "", 0, "" },
	{ "555bce911000 default file=/usr/bin/cat mapped=2 N0=2 kernelpagesize_kB=4",
	  0x555bce911000, "default", "", 4096, "0=2 " },
	{ "7f0000000000 bind:0 anon=4 dirty=4 active=0 N0=1 N2=3 kernelpagesize_kB=4",
	  0x7f0000000000, "bind:0", "0", 4096, "0=1 2=3 " },
	{ "1000 prefer:5 heap anon=1 N5=1 kernelpagesize_kB=4", 0x1000, "prefer:5", "5", 4096,
	  "5=1 " },
	{ "1000 prefer (many):1,3 anon=1 N1=1 kernelpagesize_kB=4", 0x1000, "prefer (many):1,3",
	  "1,3", 4096, "1=1 " },
	{ "1000 prefer (many)=static:1 stack N1=1 kernelpagesize_kB=4", 0x1000,
	  "prefer (many)=static:1", "1", 4096, "1=1 " },
	{ "1000 weighted interleave:0-3 N3=9 kernelpagesize_kB=4", 0x1000,
	  "weighted interleave:0-3", "0-3", 4096, "3=9 " },
	{ "1000 interleave=relative:0-2,4", 0x1000, "interleave=relative:0-2,4", "0-2,4", 0, "" },
	{ "1000 bind=static|balancing:2 N2=1 kernelpagesize_kB=4", 0x1000,
	  "bind=static|balancing:2", "2", 4096, "2=1 " },
	{ "1000 local huge anon=16 N1=16 kernelpagesize_kB=2048", 0x1000, "local", "", 2097152,
	  "1=16 " },
	{ "1000 default file=/anon_hugepage\\040(deleted) huge N0=2 kernelpagesize_kB=1048576",
	  0x1000, "default", "", 1073741824, "0=2 " },
	/* A name may look like anything; its blanks and its = are written \040 and \075. */
	{ "1000 default file=/N7\\0759 N1=1 kernelpagesize_kB=4", 0x1000, "default", "", 4096,
	  "1=1 " },
	{ "1000 default N1=1", 0x1000, "default", "", 0, "1=1 " },
	{ "1000 default N=1 Nx=1 N1= N1=x N-1=1 N1=1x N99999=1 N2=5  N3=6", 0x1000, "default", "",
	  0, "2=5 3=6 " },
	{ "1000 default N1=99999999999999999999999 N4294967297=1 kernelpagesize_kB=x", 0x1000,
	  "default", "", 0, "" },
	{ "1000 default kernelpagesize_kB=18446744073709551615", 0x1000, "default", "", 0, "" },
	{ "1000 bind: N1=1", 0x1000, "bind:", "", 0, "1=1 " },
	{ "1000 prefer", 0x1000, "prefer", "", 0, "" },
	{ "1000  default", 0x1000, "default", "", 0, "" },
};

static void print_pages(struct nr_numa_line line, char *buf, size_t size)
{
	size_t used = 0;
	unsigned node;
	uint64_t pages;

	buf[0] = '\0';
	while (nr_numa_line_pages(&line, &node, &pages) && used < size)
		used += (size_t)snprintf(buf + used, size - used, "%u=%ju ", node,
		                         (uintmax_t)pages);
}

static void lines_of_numa_maps_are_understood(void **state)
{
	char found[128];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct nr_numa_line line = { 0 };

		check_case("%s", lines[i].text);
		assert_number(nr_numa_line_parse(lines[i].text, strlen(lines[i].text), &line), 0);
		assert_number(line.start, lines[i].start);
		assert_number(line.page_bytes, lines[i].page_bytes);
		snprintf(found, sizeof(found), "%.*s", (int)line.policy_len, line.policy);
		assert_text(found, lines[i].policy);
		snprintf(found, sizeof(found), "%.*s", (int)line.nodes_len, line.nodes);
		assert_text(found, lines[i].nodes);
		print_pages(line, found, sizeof(found));
		assert_text(found, lines[i].pages);
	}
}

static void what_is_no_line_of_numa_maps_is_refused(void **state)
{
	static const char *const texts[] = { "",
		                             " ",
		                             "default",
		                             "1000",
		                             "1000 ",
		                             "-1 default",
		                             "0x10 default",
		                             "1000\tdefault",
		                             "10000000000000000 default" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct nr_numa_line line = { .start = 7 };

		check_case("'%s'", texts[i]);
		assert_number(nr_numa_line_parse(texts[i], strlen(texts[i]), &line), -EINVAL);
		assert_number(line.start, 7);
	}
}

/* Parses bytes in a block of just their size, so that a read behind them is found. */
static void parse_exactly(const char *text, size_t len)
{
	char *block = malloc(len ? len : 1);
	struct nr_numa_line line = { 0 };
	unsigned node;
	uint64_t start;
	uint64_t end;
	bool special;

	assert_non_null(block);
	memcpy(block, text, len);
	if (nr_numa_line_parse(block, len, &line) == 0) {
		assert_true(line.policy >= block && line.policy + line.policy_len <= block + len);
		assert_true(line.nodes >= block && line.nodes + line.nodes_len <= block + len);
		while (nr_numa_line_pages(&line, &node, &start))
			assert_true(node <= NP_BITMAP_INDEX_MAX);
	}
	if (nr_maps_line_parse(block, len, &start, &end, &special) == 0)
		assert_true(start < end);
	free(block);
}

static void damaged_lines_never_lead_astray(void **state)
{
	static const char bytes[] = { '\0', ' ', ':', '=', '9', 'f', 'N', '-', '(', '\n', '\x80' };
	char text[160];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t len = strlen(lines[i].text);

		check_case("%s", lines[i].text);
		for (size_t cut = 0; cut <= len; cut++)
			parse_exactly(lines[i].text, cut);
		for (size_t at = 0; at < len; at++) {
			memcpy(text, lines[i].text, len);
			for (size_t b = 0; b < sizeof(bytes); b++) {
				text[at] = bytes[b];
				parse_exactly(text, len);
			}
		}
	}
}

static void lines_of_maps_are_understood(void **state)
{
	static const struct {
		const char *text;
		int rc;
		uint64_t start;
		uint64_t end;
		bool special;
	} maps[] = {
		{ "1000-3000 r--p 00000000 fe:01 123  /usr/bin/cat", 0, 0x1000, 0x3000, false },
		{ "1000-3000 rw-p 00000000 00:00 0 ", 0, 0x1000, 0x3000, false },
		{ "1000-3000 rw-p 00000000 00:00 0  [heap]", 0, 0x1000, 0x3000, false },
		{ "1000-3000 r-xp 00000000 00:00 0  [vdso]", 0, 0x1000, 0x3000, true },
		{ "1000-3000 r--p 00000000 00:00 0  [vvar_vclock]", 0, 0x1000, 0x3000, true },
		{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]", 0,
		  0xffffffffff600000, 0xffffffffff601000, true },
		{ "1000-3000 r--p 00000000 fe:01 1 /a b [vdso]", 0, 0x1000, 0x3000, false },
		{ "1000-3000", 0, 0x1000, 0x3000, false },
		{ "3000-1000 r--p", -EINVAL, 0, 0, false },
		{ "1000-1000 r--p", -EINVAL, 0, 0, false },
		{ "1000 3000 r--p", -EINVAL, 0, 0, false },
		{ "", -EINVAL, 0, 0, false },
		{ "-", -EINVAL, 0, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++) {
		uint64_t start = 0;
		uint64_t end = 0;
		bool special = false;

		check_case("%s", maps[i].text);
		assert_number(nr_maps_line_parse(maps[i].text, strlen(maps[i].text), &start, &end,
		                                 &special),
		              maps[i].rc);
		assert_number(start, maps[i].start);
		assert_number(end, maps[i].end);
		assert_number(special, maps[i].special);
	}
}

static void both_files_together_give_the_mappings(void **state)
{
	struct host *host = *state;
	struct np_bitmap nodes = set_of("2");
	struct nr_mappings mappings = { 0 };
	struct np_error err = { 0 };

	host_write(host, "proc/77/maps",
	           "1000-3000 rw-p 0 00:00 0\n"
	           "3000-9000 rw-p 0 00:00 0 [heap]\n"
	           "a000-b000 rw-p 0 00:00 0\n"
	           "200000-a00000 rw-p 0 00:00 0\n"
	           "c00000-c01000 r-xp 0 00:00 0 [vdso]\n"
	           "not a line\n");
	host_write(host, "proc/77/numa_maps",
	           "1000 default anon=2 N2=2 kernelpagesize_kB=4\n"
	           "2000 default anon=1 N0=1 kernelpagesize_kB=4\n"
	           "3000 bind:0 heap anon=3 N0=2 N2=1 kernelpagesize_kB=4\n"
	           "a000 interleave:0-1\n"
	           "rubbish\n"
	           "200000 bind:2 huge anon=3 N1=3 kernelpagesize_kB=2048\n"
	           "c00000 default N0=1 kernelpagesize_kB=4\n");
	assert_np_ok(nr_mappings_read(&host->root, 77, &nodes, &mappings, &err), &err);
	assert_number(mappings.count, 3);
	assert_number(mappings.list[0].start, 0x1000);
	assert_number(mappings.list[0].end, 0x3000);
	assert_number(mappings.list[0].away_bytes, 0);
	assert_number(mappings.list[1].start, 0x3000);
	assert_number(mappings.list[1].away_bytes, 8192);
	assert_number(mappings.list[2].page_bytes, 2 << 20);
	assert_number(mappings.list[2].away_bytes, 6 << 20);
	assert_number(mappings.total_bytes, 5 * 4096 + (6 << 20));
	assert_number(mappings.policies_elsewhere, 2);
	assert_text(mappings.policy_elsewhere, "bind:0");
	nr_mappings_release(&mappings);
	np_bitmap_release(&nodes);
}

static void a_process_without_these_files_is_told(void **state)
{
	struct host *host = *state;
	struct np_bitmap nodes = set_of("0");
	struct nr_mappings mappings = { 0 };
	struct np_error err = { 0 };

	host_mkdir(host, "proc/77");
	assert_number(nr_mappings_read(&host->root, 77, &nodes, &mappings, &err), -ESRCH);
	assert_has(err.text, "proc/77/maps");
	host_write(host, "proc/77/maps", "1000-3000 rw-p 0 00:00 0\n");
	assert_fails(nr_mappings_read(&host->root, 77, &nodes, &mappings, &err), -ENOSYS, &err,
	             "without NUMA support");
	assert_null(mappings.list);
	np_bitmap_release(&nodes);
}

static void the_kernels_words_become_policies(void **state)
{
	static const struct {
		const char *text;
		enum nr_policy_mode mode;
		const char *nodes;
		bool balancing;
	} rows[] = {
		{ "default", NR_POLICY_DEFAULT, "", false },
		{ "local", NR_POLICY_LOCAL, "", false },
		{ "bind:0,2-3", NR_POLICY_BIND, "0,2-3", false },
		{ "bind=balancing:1", NR_POLICY_BIND, "1", true },
		{ "prefer:5", NR_POLICY_PREFERRED, "5", false },
		{ "prefer (many):0-1", NR_POLICY_PREFERRED_MANY, "0-1", false },
		{ "interleave=relative:0-2", NR_POLICY_INTERLEAVE, "0-2", false },
		{ "weighted interleave:0", NR_POLICY_WEIGHTED, "0", false },
	};
	struct nr_policy policy;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		check_case("%s", rows[i].text);
		assert_number(nr_numa_policy_parse(rows[i].text, strlen(rows[i].text), &policy), 0);
		assert_number(policy.mode, rows[i].mode);
		assert_number(policy.balancing, rows[i].balancing);
		assert_set(&policy.nodes, rows[i].nodes);
		nr_policy_release(&policy);
	}
	assert_number(nr_numa_policy_parse("unknown:0", 9, &policy) < 0, true);
	assert_number(nr_numa_policy_parse("bind:x", 6, &policy) < 0, true);
}

static void stat_files_are_understood(void **state)
{
	static const struct {
		const char *text;
		int rc;
		bool kernel;
		bool fixed;
		bool zombie;
	} stats[] = {
		{ "1 (sh) S 0 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 2", 0, false, false,
		  false },
		{ "2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1", 0, true, false,
		  false },
		{ "9 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 1", 0, true, true,
		  false },
		{ "9 (iou-wrk-8) S 2 0 0 0 -1 67108864 0 0 0 0 0 0 0 0 20 0 3 0 1", 0, false, true,
		  false },
		{ "1 (a) b) R 3) S 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2", 0, false, false,
		  false },
		{ "1 (gone) Z 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 2", 0, false, false, true },
		/* The first thread ended, others run on. */
		{ "1 (main) Z 0 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 5 0 2", 0, false, false, false },
		{ "1 (sh) S 0 1", -EINVAL, false, false, false },
		{ "1 sh S 0 1 1 0 -1 0 0 0", -EINVAL, false, false, false },
		{ "", -EINVAL, false, false, false },
		{ ")", -EINVAL, false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(stats) / sizeof(stats[0]); i++) {
		struct nr_process process = { .state = 'S' };
		char text[128];

		check_case("%s", stats[i].text);
		snprintf(text, sizeof(text), "%s", stats[i].text);
		assert_number(nr_process_parse(text, &process), stats[i].rc);
		assert_number(nr_process_is_kernel_thread(&process), stats[i].kernel);
		assert_number(nr_process_is_fixed(&process), stats[i].fixed);
		assert_number(nr_process_is_zombie(&process), stats[i].zombie);
	}
}

static void calls_that_last_too_long_are_followed_by_smaller_ones(void **state)
{
	static const struct {
		uint64_t chunk;
		uint64_t took_ms;
		uint64_t next;
	} steps[] = {
		{ 512 << 10, 1, 1024 << 10 },
		{ 512 << 10, 7, 512 << 10 },
		{ 512 << 10, 12, 256 << 10 },
		{ 1024 << 10, 300, 256 << 10 },
		{ NR_MOVE_CHUNK_MIN, 90, NR_MOVE_CHUNK_MIN },
		{ NR_MOVE_CHUNK_MAX, 0, NR_MOVE_CHUNK_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		check_case("%ju KiB in %ju ms", (uintmax_t)steps[i].chunk >> 10,
		           (uintmax_t)steps[i].took_ms);
		assert_number(nr_move_next_chunk(steps[i].chunk, steps[i].took_ms * 1000000),
		              steps[i].next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_numa_maps_are_understood),
		cmocka_unit_test(what_is_no_line_of_numa_maps_is_refused),
		cmocka_unit_test(damaged_lines_never_lead_astray),
		cmocka_unit_test(lines_of_maps_are_understood),
		host_test(both_files_together_give_the_mappings),
		host_test(a_process_without_these_files_is_told),
		cmocka_unit_test(the_kernels_words_become_policies),
		cmocka_unit_test(stat_files_are_understood),
		cmocka_unit_test(calls_that_last_too_long_are_followed_by_smaller_ones),
	};

	return cmocka_run_group_tests_name("numa_maps", tests, NULL, NULL);
}
