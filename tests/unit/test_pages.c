/* SPDX-License-Identifier: BSD-3-Clause */
#include "../../launcher/lib/pages.h"

#include "host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MAPS "proc/7/numa_maps"
#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static const struct {
	const char *name;
	const char *text;
	uint64_t node_bytes[3];
	uint64_t judged;
	uint64_t outside; /* of nodes 0-1, bound */
	uint64_t own;
	uint64_t file;
} cases[] = {
	{ "nothing in memory", "55d0 bind:0-1\n", { 0 }, 0, 0, 0, 0 },
	{ "pages of 4 KiB on two nodes",
	  "55d0 bind:0-1 anon=3 dirty=3 N0=1 N1=2 kernelpagesize_kB=4\n",
	  { 4 * KIB, 8 * KIB },
	  12 * KIB,
	  0,
	  0,
	  0 },
	{ "each line has its own size of page",
	  "7f00 bind:0-1 anon=5 N0=5 kernelpagesize_kB=4\n"
	  "7f10 bind:0-1 huge anon=2 dirty=2 N1=2 kernelpagesize_kB=2048\n"
	  "7f20 bind:0-1 huge anon=1 dirty=1 N0=1 kernelpagesize_kB=1048576\n"
	  "7f30 bind:0-1 anon=1 N1=1 kernelpagesize_kB=64\n",
	  { 20 * KIB + GIB, 4 * MIB + 64 * KIB },
	  20 * KIB + GIB + 4 * MIB + 64 * KIB,
	  0,
	  0,
	  0 },
	{ "a huge page where it must not be",
	  "7f00 bind:0-1 huge file=/anon_hugepage\\040(deleted) huge anon=1 N2=1 "
	  "kernelpagesize_kB=2048\n",
	  { 0, 0, 2 * MIB },
	  2 * MIB,
	  2 * MIB,
	  0,
	  0 },
	{ "files are where their first reader was",
	  "55d0 bind:0-1 file=/usr/bin/x mapped=6 N2=6 kernelpagesize_kB=4\n",
	  { 0, 0, 24 * KIB },
	  0,
	  0,
	  0,
	  24 * KIB },
	{ "a mapping with a policy of its own",
	  "7f00 bind:2 anon=2 N2=2 kernelpagesize_kB=4\n"
	  "7f10 default anon=1 N2=1 kernelpagesize_kB=4\n",
	  { 0, 0, 12 * KIB },
	  0,
	  0,
	  12 * KIB,
	  0 },
	{ "lines that are none are passed over",
	  "\nnonsense\n7f00\n7f10 bind:0-1 anon=1 N0=x N0=1 N=3 kernelpagesize_kB=4\n",
	  { 4 * KIB },
	  4 * KIB,
	  0,
	  0,
	  0 },
	{ "the last line may have no end",
	  "7f00 bind:0-1 anon=1 N1=1 kernelpagesize_kB=4",
	  { 0, 4 * KIB },
	  4 * KIB,
	  0,
	  0,
	  0 },
};

static void pages_are_counted_in_bytes_by_the_size_that_each_line_tells(void **state)
{
	const struct host *host = *state;
	struct nr_policy asked = { .mode = NR_POLICY_BIND, .nodes = set_of("0-1") };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nr_pages pages = { 0 };

		check_case("%s", cases[i].name);
		host_write(host, MAPS, cases[i].text);
		assert_number(nr_pages_add(&host->root, 7, &asked, &pages), 0);
		for (size_t node = 0; node < 3; node++)
			assert_number(node < pages.node_count ? pages.node_bytes[node] : 0,
			              cases[i].node_bytes[node]);
		assert_number(pages.judged_bytes, cases[i].judged);
		assert_number(pages.outside_bytes, cases[i].outside);
		assert_number(pages.own_bytes, cases[i].own);
		assert_number(pages.file_bytes, cases[i].file);
		nr_pages_release(&pages);
	}
	nr_policy_release(&asked);
}

static void a_policy_that_is_not_strict_has_no_wrong_place(void **state)
{
	static const enum nr_policy_mode modes[] = { NR_POLICY_KEEP, NR_POLICY_PREFERRED,
		                                     NR_POLICY_PREFERRED_MANY };
	const struct host *host = *state;

	host_write(host, MAPS, "7f00 prefer:0 anon=1 N2=1 kernelpagesize_kB=4\n");
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct nr_policy asked = { .mode = modes[i], .nodes = set_of("0") };
		struct nr_pages pages = { 0 };

		assert_number(nr_pages_add(&host->root, 7, &asked, &pages), 0);
		assert_number(pages.outside_bytes, 0);
		assert_number(pages.node_bytes[2], 4 * KIB);
		nr_pages_release(&pages);
		nr_policy_release(&asked);
	}
}

/* What follows the first KiB of a line is not read, and not taken for a line of its own. */
static void a_line_may_be_of_any_length(void **state)
{
	const struct host *host = *state;
	struct nr_policy asked = { .mode = NR_POLICY_BIND, .nodes = set_of("0") };
	struct nr_pages pages = { 0 };
	char text[5000] = "7f00 bind:0 anon=1 N0=1 kernelpagesize_kB=4 ";

	memset(text + strlen(text), 'x', 3000);
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
	         "\n7f10 bind:0 anon=1 N0=1 kernelpagesize_kB=4\n");
	host_write(host, MAPS, text);
	assert_number(nr_pages_add(&host->root, 7, &asked, &pages), 0);
	assert_number(pages.node_bytes[0], 8 * KIB);
	nr_pages_release(&pages);
	nr_policy_release(&asked);
}

static void a_node_beyond_all_is_no_node(void **state)
{
	const struct host *host = *state;
	struct nr_policy asked = { .mode = NR_POLICY_BIND, .nodes = set_of("0") };
	struct nr_pages pages = { 0 };

	host_write(host, MAPS,
	           "7f00 bind:0 anon=1 N4294967295=1 N99999999999999999999=1 N0=1 "
	           "kernelpagesize_kB=4\n");
	assert_number(nr_pages_add(&host->root, 7, &asked, &pages), 0);
	assert_number(pages.node_bytes[0], 4 * KIB);
	assert_true(pages.node_count <= NP_BITMAP_INDEX_MAX + 1);
	nr_pages_release(&pages);
	nr_policy_release(&asked);
}

static void several_processes_are_added_up(void **state)
{
	const struct host *host = *state;
	struct nr_policy asked = { .mode = NR_POLICY_BIND, .nodes = set_of("0") };
	struct nr_pages pages = { 0 };

	host_write(host, MAPS, "7f00 bind:0 anon=1 N0=1 kernelpagesize_kB=4\n");
	host_write(host, "proc/8/numa_maps", "7f00 bind:0 anon=1 N5=1 kernelpagesize_kB=4\n");
	assert_number(nr_pages_add(&host->root, 7, &asked, &pages), 0);
	assert_number(nr_pages_add(&host->root, 8, &asked, &pages), 0);
	assert_number(nr_pages_add(&host->root, 9, &asked, &pages), -ENOENT);
	assert_number(pages.node_bytes[0], 4 * KIB);
	assert_number(pages.node_bytes[5], 4 * KIB);
	assert_number(pages.outside_bytes, 4 * KIB);
	nr_pages_release(&pages);
	nr_policy_release(&asked);
}

static void the_policy_of_a_thread_is_in_its_first_line(void **state)
{
	const struct host *host = *state;
	char text[64];

	host_write(host, "proc/7/task/8/numa_maps",
	           "55d0 prefer (many):0,2 file=/x mapped=1 N0=1 kernelpagesize_kB=4\n"
	           "7f00 bind:1 anon=1 N1=1 kernelpagesize_kB=4\n");
	assert_number(nr_pages_thread_policy(&host->root, 7, 8, text, sizeof(text)), 17);
	assert_text(text, "prefer (many):0,2");
	/* It is ending: its memory is gone already. */
	host_write(host, "proc/7/task/8/numa_maps", "");
	assert_number(nr_pages_thread_policy(&host->root, 7, 8, text, sizeof(text)), -ESRCH);
	host_write(host, "proc/7/task/8/numa_maps", "nonsense\n");
	assert_number(nr_pages_thread_policy(&host->root, 7, 8, text, sizeof(text)), -ENOENT);
	assert_number(nr_pages_thread_policy(&host->root, 7, 9, text, sizeof(text)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(pages_are_counted_in_bytes_by_the_size_that_each_line_tells),
		host_test(a_policy_that_is_not_strict_has_no_wrong_place),
		host_test(a_line_may_be_of_any_length),
		host_test(a_node_beyond_all_is_no_node),
		host_test(several_processes_are_added_up),
		host_test(the_policy_of_a_thread_is_in_its_first_line),
	};

	return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
