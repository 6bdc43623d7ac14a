/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void opening_what_is_no_folder_names_it(void **state)
{
	struct host *host = *state;
	struct np_sysroot root;
	struct np_error err = { 0 };
	char path[PATH_MAX];

	host_write(host, "file", "x");
	snprintf(path, sizeof(path), "%s/file", host->dir);
	assert_fails(np_sysroot_open(path, &root, &err), -ENOTDIR, &err, path);

	snprintf(path, sizeof(path), "%s/missing", host->dir);
	assert_fails(np_sysroot_open(path, &root, &err), -ENOENT, &err, path);
}

static void only_the_real_root_is_live(void **state)
{
	struct host *host = *state;
	struct np_sysroot root;
	struct np_error err = { 0 };

	assert_false(host->root.live);
	assert_np_ok(np_sysroot_open(NULL, &root, &err), &err);
	assert_true(root.live);
	assert_text(root.path, "");
	np_sysroot_close(&root);
	np_sysroot_close(&root);
}

static const struct {
	const char *content;
	const char *text;
} texts[] = {
	{ "", "" },
	{ "\n", "" },
	{ "10 20", "10 20" },
	{ "10 20\n", "10 20" },
	{ "two\nlines\n", "two\nlines" },
	{ "blank at the end\n\n", "blank at the end\n" },
};

static void reading_takes_off_the_last_newline_alone(void **state)
{
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct np_error err = { 0 };
		char *text = NULL;
		int rc;

		check_case("'%s'", texts[i].content);
		host_write(host, "file", texts[i].content);
		rc = np_sysroot_read(&host->root, "file", &text, &err);
		assert_np_ok(rc, &err);
		assert_text(text, texts[i].text);
		assert_number(rc, strlen(texts[i].text));
		free(text);
	}
}

static void reading_names_the_missing_file(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char path[PATH_MAX];
	char *text = NULL;

	snprintf(path, sizeof(path), "%s/sys/missing: No such file", host->dir);
	assert_fails(np_sysroot_read(&host->root, "sys/missing", &text, &err), -ENOENT, &err, path);
	assert_null(text);
}

static void a_file_of_nul_bytes_is_no_text(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char *text = NULL;

	host_write_bytes(host, "file", "ab\0cd\n", 6);
	assert_fails(np_sysroot_read(&host->root, "file", &text, &err), -EINVAL, &err,
	             "/file: 'ab' and then a NUL byte");
	host_write_bytes(host, "file", "ab\0", 3);
	assert_fails(np_sysroot_read(&host->root, "file", &text, &err), -EINVAL, &err, "NUL");
	assert_null(text);
}

/* Writes @size bytes of '1'. */
static void write_ones(const struct host *host, const char *path, size_t size)
{
	char *bytes = malloc(size);

	assert_non_null(bytes);
	memset(bytes, '1', size);
	host_write_bytes(host, path, bytes, size);
	free(bytes);
}

static void a_file_of_the_largest_size_is_read_and_a_longer_one_refused(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char *text = NULL;

	write_ones(host, "file", NP_SYSROOT_FILE_BYTES_MAX);
	assert_number(np_sysroot_read(&host->root, "file", &text, &err), NP_SYSROOT_FILE_BYTES_MAX);
	free(text);
	write_ones(host, "file", NP_SYSROOT_FILE_BYTES_MAX + 1);
	assert_fails(np_sysroot_read(&host->root, "file", &text, &err), -E2BIG, &err,
	             "/file: longer than 1048576 bytes");
	write_ones(host, "file", (size_t)3 * NP_SYSROOT_FILE_BYTES_MAX);
	assert_fails(np_sysroot_read(&host->root, "file", &text, &err), -E2BIG, &err, "/file");
}

static void what_is_no_plain_file_is_refused_without_waiting(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char *text = NULL;

	alarm(20); /* reading a pipe that nobody writes to would last for ever */
	host_fifo(host, "file");
	assert_fails(np_sysroot_read(&host->root, "file", &text, &err), -EINVAL, &err,
	             "/file: not a plain file");
	host_mkdir(host, "file");
	assert_fails(np_sysroot_read(&host->root, "file", &text, &err), -EISDIR, &err, "/file");
	alarm(0);
}

static void no_link_leads_out_of_the_root(void **state)
{
	static const char *const targets[] = {
		"/etc/passwd",
		"../../../../../../../../../../../../etc/passwd",
		"/../etc/passwd",
		"../sys/up/../../etc/passwd",
	};
	struct host *host = *state;

	host_write(host, "etc/passwd", "inside\n");
	host_link(host, "sys/up", "../../../..");
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		struct np_error err = { 0 };
		char *text = NULL;

		check_case("%s", targets[i]);
		host_link(host, "sys/file", targets[i]);
		assert_np_ok(np_sysroot_read(&host->root, "sys/file", &text, &err), &err);
		assert_text(text, "inside");
		free(text);
	}
}

static void no_path_leads_out_of_the_root(void **state)
{
	static const char *const paths[] = {
		"../../../../../etc/passwd",
		"sys/../../../../../etc/passwd",
		"sys/up/etc/passwd",
		"/etc/passwd",
	};
	struct host *host = *state;

	host_write(host, "etc/passwd", "inside\n");
	host_link(host, "sys/up", "/../..");
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct np_error err = { 0 };
		char *text = NULL;

		check_case("%s", paths[i]);
		assert_np_ok(np_sysroot_read(&host->root, paths[i], &text, &err), &err);
		assert_text(text, "inside");
		free(text);
	}
}

static void a_link_to_itself_is_an_error(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char *text = NULL;

	host_link(host, "loop", "loop");
	assert_fails(np_sysroot_read(&host->root, "loop", &text, &err), -ELOOP, &err, "/loop");
	/* It must fail where it is read, not pass for absent. */
	assert_true(np_sysroot_has(&host->root, "loop"));
}

static void presence_is_told_of_every_type(void **state)
{
	struct host *host = *state;

	host_write(host, "dir/file", "");
	host_fifo(host, "pipe");
	host_link(host, "good", "dir/file");
	host_link(host, "dangling", "nowhere");
	assert_true(np_sysroot_has(&host->root, "dir"));
	assert_true(np_sysroot_has(&host->root, "dir/file"));
	assert_true(np_sysroot_has(&host->root, "pipe"));
	assert_true(np_sysroot_has(&host->root, "good"));
	assert_false(np_sysroot_has(&host->root, "dangling"));
	assert_false(np_sysroot_has(&host->root, "nowhere"));
	assert_false(np_sysroot_has(&host->root, "dir/file/below"));
}

static const struct {
	const char *content;
	long value; /* -2 = refused */
} longs[] = {
	{ "0\n", 0 },        { "-1\n", -1 }, { "1023\n", 1023 },
	{ "7", 7 },          { "", -2 },     { "\n", -2 },
	{ "1024\n", -2 },    { "-7\n", -2 }, { " 7\n", -2 },
	{ "\n7\n", -2 },     { "7 \n", -2 }, { "7\n\n", -2 },
	{ "4 bananas", -2 }, { "0x10", -2 }, { "1.5", -2 },
	{ "+7", -2 },        { "--1", -2 },  { "99999999999999999999", -2 },
};

static void read_long_takes_a_number_in_range_and_quotes_all_else(void **state)
{
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(longs) / sizeof(longs[0]); i++) {
		struct np_error err = { 0 };
		long node = 555;
		int rc;

		check_case("'%s'", longs[i].content);
		host_write(host, "numa_node", longs[i].content);
		rc = np_sysroot_read_long(&host->root, "numa_node", -1, 1023, &node, &err);
		if (longs[i].value == -2) {
			assert_fails(rc, -EINVAL, &err, "is not a number in -1..1023");
			assert_has(err.text, "/numa_node: '");
			assert_number(node, 555); /* untouched on failure */
		} else {
			assert_np_ok(rc, &err);
			assert_number(node, longs[i].value);
		}
	}
}

static void the_head_of_a_file_is_read_and_no_more(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char head[5] = "";

	host_write(host, "long", "0123456789");
	assert_number(np_sysroot_read_head(&host->root, "long", head, sizeof(head), &err), 4);
	assert_text(head, "0123");
	host_write(host, "short", "0\n");
	assert_number(np_sysroot_read_head(&host->root, "short", head, sizeof(head), &err), 2);
	assert_text(head, "0\n");
	host_write(host, "empty", "");
	assert_number(np_sysroot_read_head(&host->root, "empty", head, sizeof(head), &err), 0);
	assert_text(head, "");

	assert_fails(np_sysroot_read_head(&host->root, "absent", head, sizeof(head), &err), -ENOENT,
	             &err, "absent: No such file");
	host_write_bytes(host, "nul", "a\0b", 3);
	assert_fails(np_sysroot_read_head(&host->root, "nul", head, sizeof(head), &err), -EINVAL,
	             &err, "'a' and then a NUL byte");
	host_fifo(host, "fifo");
	assert_fails(np_sysroot_read_head(&host->root, "fifo", head, sizeof(head), &err), -EINVAL,
	             &err, "not a plain file");
}

static void read_long_quotes_what_it_found(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	long node = 7;

	host_write(host, "numa_node", "4 bananas\n");
	assert_fails(np_sysroot_read_long(&host->root, "numa_node", -1, 1023, &node, &err), -EINVAL,
	             &err, "numa_node: '4 bananas' is not a number in -1..1023");
}

static void lists_may_end_in_nul_bytes_but_not_hold_any(void **state)
{
	struct host *host = *state;
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };

	host_write_bytes(host, "cpulist", "0-3\n\0\0", 6);
	assert_np_ok(np_sysroot_read_list(&host->root, "cpulist", &set, &err), &err);
	assert_set(&set, "0-3");

	host_write_bytes(host, "cpulist", "4\0,9\n", 5);
	assert_fails(np_sysroot_read_list(&host->root, "cpulist", &set, &err), -EINVAL, &err,
	             "/cpulist: '4' and then a NUL byte");
	assert_set(&set, "0-3");
	np_bitmap_release(&set);
}

static void a_bad_list_names_the_file_and_adds_nothing(void **state)
{
	struct host *host = *state;
	struct np_bitmap set = set_of("9");
	struct np_error err = { 0 };

	host_write(host, "cpulist", "0-3,x\n");
	assert_fails(np_sysroot_read_list(&host->root, "cpulist", &set, &err), -EINVAL, &err,
	             "/cpulist: '0-3,x\\x0a' is not a list");
	host_write(host, "cpumap", "f,x\n");
	assert_fails(np_sysroot_read_mask(&host->root, "cpumap", &set, &err), -EINVAL, &err,
	             "/cpumap: 'f,x\\x0a' is not a mask");
	assert_set(&set, "9");

	host_write(host, "cpumap", "0000000f\n");
	assert_np_ok(np_sysroot_read_mask(&host->root, "cpumap", &set, &err), &err);
	assert_set(&set, "0-3,9");
	np_bitmap_release(&set);
}

static void a_link_is_read_as_text(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	char *target = NULL;

	host_link(host, "eth0", "../../devices/nowhere");
	assert_np_ok(np_sysroot_read_link(&host->root, "eth0", &target, &err), &err);
	assert_text(target, "../../devices/nowhere");
	free(target);

	target = NULL;
	host_write(host, "file", "");
	assert_fails(np_sysroot_read_link(&host->root, "file", &target, &err), -EINVAL, &err,
	             "/file");
	assert_fails(np_sysroot_read_link(&host->root, "missing", &target, &err), -ENOENT, &err,
	             "/missing");
	assert_null(target);
}

static void a_folder_is_listed_in_order(void **state)
{
	static const char *const sorted[] = { ".hidden", "a", "b", "c" };
	struct host *host = *state;
	struct np_error err = { 0 };
	char **names;

	host_write(host, "dir/c", "");
	host_write(host, "dir/a", "");
	host_mkdir(host, "dir/b");
	host_write(host, "dir/.hidden", "");
	assert_number(np_sysroot_list(&host->root, "dir", &names, &err), 4);
	for (size_t i = 0; i < 4; i++)
		assert_text(names[i], sorted[i]);
	free(names);

	host_mkdir(host, "empty");
	assert_number(np_sysroot_list(&host->root, "empty", &names, &err), 0);
	free(names);
	assert_fails(np_sysroot_list(&host->root, "dir/a", &names, &err), -ENOTDIR, &err, "/dir/a");
	assert_fails(np_sysroot_list(&host->root, "missing", &names, &err), -ENOENT, &err,
	             "/missing");
}

static void indexes_are_taken_from_plain_numbers_alone(void **state)
{
	static const char *const names[] = {
		"node0",  "node12",  "node",        "nodefoo", "node1x",
		"node-1", "node 3",  "xnode4",      "cpu5",    "node99999999999999999999",
		"node+6", "node1.5", "node1048576", "online",
	};
	struct host *host = *state;
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };
	char path[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "dir/%s", names[i]);
		host_write(host, path, "");
	}
	assert_np_ok(np_sysroot_list_indexes(&host->root, "dir", "node", &set, &err), &err);
	assert_set(&set, "0,12");
	np_bitmap_release(&set);
}

struct renamer {
	char from[PATH_MAX];
	char to[PATH_MAX];
	bool is_done; /* atomic */
};

static void *rename_on_and_on(void *arg)
{
	struct renamer *renamer = arg;

	while (!__atomic_load_n(&renamer->is_done, __ATOMIC_RELAXED)) {
		(void)rename(renamer->from, renamer->to);
		(void)rename(renamer->to, renamer->from);
	}
	return NULL;
}

static void reading_goes_on_while_others_rename_files(void **state)
{
	struct host *host = *state;
	struct renamer renamer = { .is_done = false };
	pthread_t thread;

	host_write(host, "devices/deep/down/text", "found");
	host_write(host, "moving", "x");
	host_link(host, "class/link", "../devices/deep/down/../down");
	snprintf(renamer.from, sizeof(renamer.from), "%s/moving", host->dir);
	snprintf(renamer.to, sizeof(renamer.to), "%s/moved", host->dir);
	assert_int_equal(pthread_create(&thread, NULL, rename_on_and_on, &renamer), 0);
	for (unsigned i = 0; i < 5000; i++) {
		struct np_error err = { 0 };
		char *text = NULL;

		assert_np_ok(np_sysroot_read(&host->root, "class/link/text", &text, &err), &err);
		assert_text(text, "found");
		free(text);
	}
	__atomic_store_n(&renamer.is_done, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(opening_what_is_no_folder_names_it),
		host_test(only_the_real_root_is_live),
		host_test(reading_takes_off_the_last_newline_alone),
		host_test(reading_names_the_missing_file),
		host_test(a_file_of_nul_bytes_is_no_text),
		host_test(a_file_of_the_largest_size_is_read_and_a_longer_one_refused),
		host_test(what_is_no_plain_file_is_refused_without_waiting),
		host_test(no_link_leads_out_of_the_root),
		host_test(no_path_leads_out_of_the_root),
		host_test(a_link_to_itself_is_an_error),
		host_test(presence_is_told_of_every_type),
		host_test(read_long_takes_a_number_in_range_and_quotes_all_else),
		host_test(the_head_of_a_file_is_read_and_no_more),
		host_test(read_long_quotes_what_it_found),
		host_test(lists_may_end_in_nul_bytes_but_not_hold_any),
		host_test(a_bad_list_names_the_file_and_adds_nothing),
		host_test(a_link_is_read_as_text),
		host_test(a_folder_is_listed_in_order),
		host_test(indexes_are_taken_from_plain_numbers_alone),
		host_test(reading_goes_on_while_others_rename_files),
	};

	return cmocka_run_group_tests_name("sysroot", tests, NULL, NULL);
}
