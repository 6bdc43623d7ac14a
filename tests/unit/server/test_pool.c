/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include "own_mounts.h"
#include "tail/tail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In the host's folder; good until the next call but three. */
static const char *path_of(const struct host *host, const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", host->dir, name);
	return path;
}

static bool is_there(const struct host *host, const char *name)
{
	struct stat st;

	return lstat(path_of(host, name), &st) == 0;
}

static int open_one(const char *path, struct ns_tails **ret, struct np_error *err)
{
	return ns_tails_open(&path, 1, ret, err);
}

static void a_new_or_an_empty_directory_becomes_a_pool(void **state)
{
	struct host *host = *state;
	const char *path = path_of(host, "pool");
	struct np_error err = { 0 };
	struct ns_tails *tails;

	assert_np_ok(ns_pool_prepare(path, &err), &err);
	assert_true(is_there(host, "pool/.numastore-pool"));
	assert_np_ok(open_one(path, &tails, &err), &err);
	assert_number(ns_tails_pool_count(tails), 1);
	assert_text(ns_tails_pool(tails, 0).path, path);
	ns_tails_close(tails);
	assert_fails(ns_pool_prepare(path, &err), -ENOTEMPTY, &err, "is a pool already");

	assert_int_equal(mkdir(path_of(host, "empty"), 0755), 0);
	assert_np_ok(ns_pool_prepare(path_of(host, "empty"), &err), &err);
}

static void what_may_be_somebodys_is_not_made_a_pool(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };

	host_write(host, "full/thesis.txt", "x");
	assert_fails(ns_pool_prepare(path_of(host, "full"), &err), -ENOTEMPTY, &err, "thesis.txt");
	assert_false(is_there(host, "full/.numastore-pool"));
	host_write(host, "hidden/.profile", "x");
	assert_fails(ns_pool_prepare(path_of(host, "hidden"), &err), -ENOTEMPTY, &err, ".profile");
	host_write(host, "file", "x");
	assert_fails(ns_pool_prepare(path_of(host, "file"), &err), -ENOTDIR, &err, "file");
	assert_fails(ns_pool_prepare(path_of(host, "no/such"), &err), -ENOENT, &err, "no/such");
}

static void a_directory_without_our_marker_is_left_alone(void **state)
{
	static const struct {
		const char *what;
		const char *marker; /* NULL: none */
	} cases[] = {
		{ "no marker", NULL },
		{ "an empty one", "" },
		{ "somebody else's", "goblin-store-marker v1\n" },
		{ "the beginning of ours", "numastore pool 1: all" },
	};
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char name[64];
		struct ns_tails *tails;
		struct np_error err = { 0 };

		check_case("%s", cases[i].what);
		snprintf(name, sizeof(name), "dir%zu/.numastore-pool", i);
		if (cases[i].marker)
			host_write(host, name, cases[i].marker);
		snprintf(name, sizeof(name), "dir%zu/data", i);
		host_write(host, name, "x");
		snprintf(name, sizeof(name), "dir%zu", i);
		assert_fails(open_one(path_of(host, name), &tails, &err), -EPERM, &err,
		             "is no pool");
		snprintf(name, sizeof(name), "dir%zu/data", i);
		assert_true(is_there(host, name));
	}
}

static void a_link_is_no_marker(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tails *tails;

	assert_np_ok(ns_pool_prepare(path_of(host, "pool"), &err), &err);
	host_write(host, "dir/data", "x");
	host_link(host, "dir/.numastore-pool", "../pool/.numastore-pool");
	assert_fails(open_one(path_of(host, "dir"), &tails, &err), -EPERM, &err, "is no pool");
	assert_true(is_there(host, "dir/data"));
}

static void what_an_earlier_process_left_is_wiped(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tails *tails;

	assert_np_ok(ns_pool_prepare(path_of(host, "pool"), &err), &err);
	host_write(host, "pool/tails", "old");
	host_write(host, "pool/deep/er/est/file", "old");
	host_write(host, "elsewhere/file", "x");
	host_link(host, "pool/link", "../elsewhere");
	host_link(host, "pool/deep/link", "../../elsewhere/file");
	assert_np_ok(open_one(path_of(host, "pool"), &tails, &err), &err);
	assert_false(is_there(host, "pool/deep"));
	assert_false(is_there(host, "pool/link"));
	assert_true(is_there(host, "pool/.numastore-pool"));
	assert_true(is_there(host, "elsewhere/file"));
	assert_number(ns_tails_pool(tails, 0).file_bytes, 0);
	ns_tails_close(tails);
}

static void what_is_neither_file_nor_ours_is_no_marker(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tails *tails;

	host_write(host, "pipe/data", "x");
	host_fifo(host, "pipe/.numastore-pool");
	assert_fails(open_one(path_of(host, "pipe"), &tails, &err), -EPERM, &err, "is no pool");
	host_write(host, "folder/.numastore-pool/data", "x");
	assert_fails(open_one(path_of(host, "folder"), &tails, &err), -EPERM, &err, "is no pool");
	assert_true(is_there(host, "pipe/data"));
	assert_true(is_there(host, "folder/.numastore-pool/data"));
}

static void what_is_mounted_below_a_pool_is_left_alone(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tails *tails;

	assert_np_ok(ns_pool_prepare(path_of(host, "pool"), &err), &err);
	host_mkdir(host, "pool/disk/mounted");
	host_write(host, "home/thesis.txt", "x");
	own_mounts_or_skip();
	/* Another filesystem, and then a part of the same one. */
	own_mounts_tmpfs(path_of(host, "pool/disk/mounted"), "size=1m");
	host_write(host, "pool/disk/mounted/thesis.txt", "x");
	assert_fails(open_one(path_of(host, "pool"), &tails, &err), -EXDEV, &err, "mounted");
	assert_true(is_there(host, "pool/disk/mounted/thesis.txt"));
	assert_int_equal(umount(path_of(host, "pool/disk/mounted")), 0);

	assert_int_equal(mount(path_of(host, "home"), path_of(host, "pool/disk/mounted"), NULL,
	                       MS_BIND, NULL),
	                 0);
	assert_fails(open_one(path_of(host, "pool"), &tails, &err), -EXDEV, &err, "mounted");
	assert_true(is_there(host, "home/thesis.txt"));
	assert_int_equal(umount(path_of(host, "pool/disk/mounted")), 0);

	assert_np_ok(open_one(path_of(host, "pool"), &tails, &err), &err);
	assert_false(is_there(host, "pool/disk"));
	ns_tails_close(tails);
}

static void directories_deeper_than_the_limit_are_told(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tails *tails;
	char name[512] = "pool";
	size_t len = strlen(name);

	assert_np_ok(ns_pool_prepare(path_of(host, "pool"), &err), &err);
	for (unsigned i = 0; i < 70; i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "/d");
	host_mkdir(host, name);
	assert_fails(open_one(path_of(host, "pool"), &tails, &err), -ELOOP, &err, "deep");
	assert_true(is_there(host, "pool/.numastore-pool"));
}

static void a_pool_is_had_by_one_process_at_a_time(void **state)
{
	struct host *host = *state;
	const char *path = path_of(host, "pool");
	struct np_error err = { 0 };
	struct ns_tails *tails;
	struct ns_tails *second;
	const char *twice[] = { path, path };

	assert_np_ok(ns_pool_prepare(path, &err), &err);
	assert_np_ok(open_one(path, &tails, &err), &err);
	assert_fails(open_one(path, &second, &err), -EBUSY, &err, "another numastore");
	ns_tails_close(tails);
	assert_fails(ns_tails_open(twice, 2, &second, &err), -EBUSY, &err, "another numastore");
	assert_np_ok(open_one(path, &tails, &err), &err);
	ns_tails_close(tails);
}

static void what_cannot_be_opened_is_named(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };
	struct ns_tails *tails;

	host_write(host, "file", "x");
	assert_fails(open_one(path_of(host, "file"), &tails, &err), -ENOTDIR, &err, "file");
	assert_fails(open_one(path_of(host, "none"), &tails, &err), -ENOENT, &err, "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(a_new_or_an_empty_directory_becomes_a_pool),
		host_test(what_may_be_somebodys_is_not_made_a_pool),
		host_test(a_directory_without_our_marker_is_left_alone),
		host_test(a_link_is_no_marker),
		host_test(what_an_earlier_process_left_is_wiped),
		host_test(what_is_neither_file_nor_ours_is_no_marker),
		host_test(what_is_mounted_below_a_pool_is_left_alone),
		host_test(directories_deeper_than_the_limit_are_told),
		host_test(a_pool_is_had_by_one_process_at_a_time),
		host_test(what_cannot_be_opened_is_named),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
