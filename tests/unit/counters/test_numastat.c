/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Page allocations by numastat: over nodes made up, and over this machine's own.
 */
#include "host.h"

enum { READINGS_MAX = 64 };
#include "../../../counters/lib/sources.h"
#include "file_backend.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 4096 };

/* ---- two nodes with CPUs, and one without ---- */

static const char *numastat_text(unsigned long long local, unsigned long long other)
{
	static char text[256];

	snprintf(text, sizeof(text),
	         "numa_hit 999\nnuma_miss 1\nnuma_foreign 2\ninterleave_hit 3\n"
	         "local_node %llu\nother_node %llu\n",
	         local, other);
	return text;
}

static void build(const struct host *host)
{
	host_build(host, &(struct host_shape){ .node_count = 2, .cores_per_node = 2 });
	host_write_node(host, 0, "numastat", numastat_text(100, 10));
	host_write_node(host, 1, "numastat", numastat_text(200, 20));
	host_write_node(host, 4, "cpulist", "\n");
	host_write_node(host, 4, "numastat", numastat_text(0, 40));
	host_write(host, "proc/sys/vm/numa_stat", "1\n");
}

static void open_all(const char *root, struct opened *ret)
{
	open_files(root, nc_numastat_open, ret);
}

static size_t index_of(const struct opened *opened, enum nc_class what, unsigned node)
{
	for (size_t i = 0; i < opened->counters.count; i++)
		if (opened->counters.items[i].what == what &&
		    opened->counters.items[i].node == node)
			return i;
	fail_msg("no counter of %s on node %u", nc_class_name(what), node);
	return 0;
}

static void assert_count(const struct opened *opened, unsigned node, enum nc_note note,
                         long long local, long long remote)
{
	size_t at[] = { index_of(opened, NC_CLASS_PAGES_LOCAL, node),
		        index_of(opened, NC_CLASS_PAGES_REMOTE, node) };

	check_case("node %u", node);
	assert_number(opened->readings[at[0]].note, note);
	assert_number(opened->readings[at[1]].note, note);
	assert_number(opened->readings[at[0]].raw, local);
	assert_number(opened->readings[at[1]].raw, remote);
}

static void a_node_is_of_the_socket_of_its_cpus(void **state)
{
	const struct host *host = *state;
	struct opened opened;

	build(host);
	open_all(host->dir, &opened);
	read_all(&opened);

	assert_number(opened.counters.count, 6);
	for (size_t i = 0; i < opened.counters.count; i++) {
		const struct nc_counter *counter = &opened.counters.items[i];

		check_case("node %u", counter->node);
		assert_number(counter->has_socket, counter->node != 4);
		if (counter->has_socket)
			assert_number(counter->socket, counter->node);
	}
	assert_count(&opened, 0, NC_NOTE_NONE, 100, 10);
	assert_count(&opened, 1, NC_NOTE_NONE, 200, 20);
	assert_count(&opened, 4, NC_NOTE_NONE, 0, 40);
	close_all(&opened);
}

static void a_node_whose_first_cpus_are_offline_has_its_socket(void **state)
{
	const struct host *host = *state;
	struct opened opened;

	build(host);
	host_write(host, CPU_DIR "/online", "0-1,3\n");
	open_all(host->dir, &opened);

	assert_true(opened.counters.items[index_of(&opened, NC_CLASS_PAGES_LOCAL, 1)].has_socket);
	assert_number(opened.counters.items[index_of(&opened, NC_CLASS_PAGES_LOCAL, 1)].socket, 1);
	close_all(&opened);
}

static void counts_are_read_anew(void **state)
{
	const struct host *host = *state;
	struct opened opened;
	uint64_t before;

	build(host);
	open_all(host->dir, &opened);
	read_all(&opened);
	before = opened.readings[0].enabled_ns;

	host_rewrite(host, NODE_DIR "/node1/numastat",
	             numastat_text(18446744073709551615u, 9223372036854775807));
	read_all(&opened);

	assert_count(&opened, 0, NC_NOTE_NONE, 100, 10);
	assert_count(&opened, 1, NC_NOTE_NONE, -1, 9223372036854775807);
	assert_true(opened.readings[0].enabled_ns > before);
	assert_number(opened.readings[0].running_ns, opened.readings[0].enabled_ns);
	close_all(&opened);
}

static void a_damaged_file_is_no_count(void **state)
{
	static const char *const texts[] = {
		"",
		"local_node 5\n",
		"other_node 5\n",
		"local_node\nother_node\n",
		"local_node x\nother_node 3\n",
		"local_node 1\nother_node -3\n",
		"local_nodes 1\nother_nodes 3\n",
		"local_node 1 2\nother_node 3\n",
		"local_node 18446744073709551616\nother_node 3\n",
	};
	const struct host *host = *state;
	struct opened opened;

	build(host);
	open_all(host->dir, &opened);
	read_all(&opened);

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		check_case("'%s'", texts[i]);
		host_rewrite(host, NODE_DIR "/node0/numastat", texts[i]);
		read_all(&opened);
		assert_count(&opened, 0, NC_NOTE_FAILED, 100, 10);
		assert_count(&opened, 1, NC_NOTE_NONE, 200, 20);
	}
	close_all(&opened);
}

static void a_node_that_goes_is_gone_and_without_any_there_is_an_error(void **state)
{
	const struct host *host = *state;
	struct np_error err = { 0 };
	struct opened opened;

	build(host);
	open_all(host->dir, &opened);
	read_all(&opened);

	vanished = "/node1/";
	read_all(&opened);
	assert_count(&opened, 0, NC_NOTE_NONE, 100, 10);
	assert_count(&opened, 1, NC_NOTE_GONE, 200, 20);
	vanished = "/node";
	assert_fails(try_read(&opened, &err), -ENODATA, &err, "all nodes are gone");
	vanished = NULL;
	close_all(&opened);
}

static void counting_switched_off_meanwhile_makes_all_unknown(void **state)
{
	const struct host *host = *state;
	struct opened opened;

	build(host);
	open_all(host->dir, &opened);
	read_all(&opened);

	host_rewrite(host, "proc/sys/vm/numa_stat", "0\n");
	host_rewrite(host, NODE_DIR "/node0/numastat", numastat_text(0, 0));
	read_all(&opened);

	assert_count(&opened, 0, NC_NOTE_FAILED, 100, 10);
	assert_count(&opened, 1, NC_NOTE_FAILED, 200, 20);
	close_all(&opened);
}

static void assert_refused(const struct host *host, const char *reason, const char *remedy)
{
	struct nc_source_state said = { 0 };
	struct nc_counters counters = { 0 };
	struct nc_backend *backend = NULL;
	struct np_error err = { 0 };
	struct nc_host *loaded = load(host->dir);

	assert_np_ok(nc_numastat_look(loaded, &said, &err), &err);
	assert_number(said.availability, NC_UNAVAILABLE);
	assert_has(said.reason, reason);
	assert_has(said.remedy, remedy);
	assert_fails(nc_numastat_open(loaded, &counters, &backend, &err), -ENODATA, &err, remedy);
	assert_null(backend);
	nc_host_free(loaded);
}

static void a_lack_has_its_own_reason_and_remedy(void **state)
{
	const struct host *host = *state;

	build(host);
	host_write(host, "proc/sys/vm/numa_stat", "0\n");
	assert_refused(host, "vm.numa_stat is 0", "sysctl vm.numa_stat=1");

	host_remove(host, NODE_DIR);
	assert_refused(host, "no NUMA nodes", "CONFIG_NUMA");
}

static void an_old_kernel_without_the_switch_counts(void **state)
{
	const struct host *host = *state;
	struct opened opened;

	build(host);
	host_remove(host, "proc/sys/vm/numa_stat");
	open_all(host->dir, &opened);
	read_all(&opened);

	assert_count(&opened, 0, NC_NOTE_NONE, 100, 10);
	close_all(&opened);
}

static void what_is_found_is_told(void **state)
{
	const struct host *host = *state;
	struct nc_source_state said = { 0 };
	struct np_error err = { 0 };
	struct nc_host *loaded;

	build(host);
	loaded = load(host->dir);
	assert_np_ok(nc_numastat_look(loaded, &said, &err), &err);
	assert_number(said.availability, NC_AVAILABLE);
	assert_text(said.finds, "nodes 0-1,4");

	host_remove(host, NODE_DIR "/node1");
	host_remove(host, NODE_DIR "/node4");
	assert_np_ok(nc_numastat_look(loaded, &said, &err), &err);
	assert_has(said.finds, "every allocation is local");
	nc_host_free(loaded);
}

/* ---- this machine ---- */

static uint64_t sum_all(struct opened *opened)
{
	uint64_t sum = 0;

	read_all(opened);
	for (size_t i = 0; i < opened->counters.count; i++) {
		assert_number(opened->readings[i].note, NC_NOTE_NONE);
		sum += opened->readings[i].raw;
	}
	return sum;
}

static void pages_that_we_touch_are_counted_on_this_machine(void **state)
{
	struct nc_source_state said = { 0 };
	struct np_error err = { 0 };
	struct opened opened;
	size_t size = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	struct nc_host *host = load(NULL);
	uint64_t before;
	char *pages;

	(void)state;
	assert_np_ok(nc_numastat_look(host, &said, &err), &err);
	nc_host_free(host);
	if (said.availability != NC_AVAILABLE) {
		print_message("skipped: %s\n", said.reason);
		skip();
	}
	open_all(NULL, &opened);
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	/* A huge page would count as one. */
	madvise(pages, size, MADV_NOHUGEPAGE);
	before = sum_all(&opened);

	memset(pages, 1, size);

	assert_in_range(sum_all(&opened) - before, PAGES, UINT64_MAX / 2);
	munmap(pages, size);
	close_all(&opened);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_node_is_of_the_socket_of_its_cpus),
		host_test(a_node_whose_first_cpus_are_offline_has_its_socket),
		host_test(counts_are_read_anew),
		host_test(a_damaged_file_is_no_count),
		host_test(a_node_that_goes_is_gone_and_without_any_there_is_an_error),
		host_test(counting_switched_off_meanwhile_makes_all_unknown),
		host_test(a_lack_has_its_own_reason_and_remedy),
		host_test(an_old_kernel_without_the_switch_counts),
		host_test(what_is_found_is_told),
		cmocka_unit_test(pages_that_we_touch_are_counted_on_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
