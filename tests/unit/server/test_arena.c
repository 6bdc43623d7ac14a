/* SPDX-License-Identifier: BSD-3-Clause */
/* Arenas of this host's own memory, and what is said of them where the kernel does not tell. */
#include "host.h"

#include <errno.h>
#include <stdlib.h>
#include <store/arena.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* A node that this host has. */
static unsigned some_node(void)
{
	struct np_topology_source source = { .scope = NP_TOPOLOGY_MEMORY };
	struct np_topology *topology;
	struct np_error err;
	unsigned node;

	assert_np_ok(np_topology_load(&source, &topology, &err), &err);
	node = np_bitmap_next(np_topology_nodes(topology, NP_NODES_ALLOWED), 0);
	np_topology_free(topology);
	return node;
}

static struct ns_arena map(const struct np_sysroot *root, uint64_t bytes, uint64_t block_bytes)
{
	struct ns_arena_plan plan = { .node = some_node(), .distance = 10, .bytes = bytes };
	struct ns_arena arena;
	struct np_error err;

	assert_np_ok(ns_arena_map(root, &plan, block_bytes, false, &arena, &err), &err);
	return arena;
}

static uint64_t all_blocks(const struct ns_arena_report *report)
{
	return report->blocks[NS_PAGES_HUGETLB] + report->blocks[NS_PAGES_THP] +
	       report->blocks[NS_PAGES_PLAIN] + report->unknown_blocks;
}

static void an_arena_is_aligned_writable_and_accounted_for(void **state)
{
	static const struct {
		uint64_t bytes;
		uint64_t block_bytes;
	} cases[] = {
		{ 8 * MIB, 2 * MIB },
		{ UINT64_C(3) * 65536, 65536 },
		{ 8 * MIB, 4 * MIB },
		{ MIB, MIB },
	};
	struct np_sysroot live;
	struct np_error err;

	(void)state;
	assert_np_ok(np_sysroot_open(NULL, &live, &err), &err);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_arena arena = map(&live, cases[i].bytes, cases[i].block_bytes);
		struct ns_arena_report report;

		check_case("case %zu", i);
		assert_number((uintptr_t)arena.base % cases[i].block_bytes, 0);
		assert_number(arena.block_count, cases[i].bytes / cases[i].block_bytes);
		memset(arena.base, 1, cases[i].bytes);
		assert_np_ok(ns_arena_verify(&live, &arena, &report, &err), &err);
		assert_number(all_blocks(&report), arena.block_count);
		assert_number(report.right_bytes + report.wrong_bytes + report.unknown_bytes,
		              cases[i].bytes);
		ns_arena_report_release(&report);
		ns_arena_unmap(&arena);
	}
	np_sysroot_close(&live);
}

static void what_the_kernel_does_not_tell_is_unknown(void **state)
{
	const struct host *host = *state;
	struct ns_arena arena;
	struct ns_arena_report report;
	struct np_error err;

	/* No smaps there. */
	host_mkdir(host, "sys/devices/system/node/node0/hugepages");
	arena = map(&host->root, 4 * MIB, 2 * MIB);
	assert_np_ok(ns_arena_verify(&host->root, &arena, &report, &err), &err);
	assert_number(report.unknown_blocks, arena.block_count - report.blocks[NS_PAGES_HUGETLB]);
	assert_number(report.blocks[NS_PAGES_THP] + report.blocks[NS_PAGES_PLAIN], 0);
	ns_arena_report_release(&report);
	ns_arena_unmap(&arena);
}

static void a_node_with_too_little_free_is_refused_with_what_it_has(void **state)
{
	const struct host *host = *state;
	struct ns_arena_plan plan = { .node = 0, .distance = 10, .bytes = 64 * MIB };
	struct ns_arena arena;
	struct np_error err;

	host_mkdir(host, "sys/devices/system/node/node0/hugepages");
	host_write(host, "sys/devices/system/node/node0/meminfo",
	           "Node 0 MemTotal:       131072 kB\n"
	           "Node 0 MemFree:         20480 kB\n"
	           "Node 0 Active(file):     6144 kB\n"
	           "Node 0 Inactive(file):   5120 kB\n"
	           "Node 0 SReclaimable:     1024 kB\n");
	assert_fails(ns_arena_map(&host->root, &plan, 2 * MIB, false, &arena, &err), -ENOMEM, &err,
	             "node 0 has not the memory for an arena of 64 MiB: 0 MiB in HugeTLB pages "
	             "and 32 MiB in others");
}

static void a_limit_on_locking_is_a_note_and_no_failure(void **state)
{
	struct ns_config config = { .block_bytes = 2 * MIB, .lock_memory = true };
	struct ns_arena_plan arena_plan = { .node = some_node(), .distance = 10, .bytes = 4 * MIB };
	struct ns_memory_plan plan = { .arenas = &arena_plan, .arena_count = 1 };
	const struct rlimit none = { 0, 0 };
	struct ns_arenas arenas;
	struct np_sysroot live;
	struct np_error err;

	(void)state;
	if (HAS_SANITIZER) {
		print_message("skipped: the sanitizer locks nothing\n");
		skip();
	}
	/* Root may lock what it likes. */
	if (setrlimit(RLIMIT_MEMLOCK, &none) < 0 || (geteuid() == 0 && seteuid(65534) < 0)) {
		print_message("skipped: no limit on locking can be set here\n");
		skip();
	}
	assert_np_ok(np_sysroot_open(NULL, &live, &err), &err);
	assert_np_ok(ns_arenas_map(&live, &config, &plan, &arenas, &err), &err);
	if (arenas.reports[0].blocks[NS_PAGES_HUGETLB] < 2) {
		assert_false(arenas.list[0].is_locked);
		assert_true(plan.note_count > 0);
		assert_has(plan.notes[0],
		           "memory is not locked and may be swapped out: at most 0 KiB");
	}
	for (size_t i = 0; i < plan.note_count; i++)
		free(plan.notes[i]);
	free(plan.notes);
	ns_arenas_free(&arenas);
	np_sysroot_close(&live);
	assert_number(seteuid(getuid()), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arena_is_aligned_writable_and_accounted_for),
		host_test(what_the_kernel_does_not_tell_is_unknown),
		host_test(a_node_with_too_little_free_is_refused_with_what_it_has),
		cmocka_unit_test(a_limit_on_locking_is_a_note_and_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
