/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <numarun/shared_policy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define SHM "/dev/shm"
#define PAGE ((uint64_t)sysconf(_SC_PAGESIZE))

/* A folder in tmpfs; its files and the segments of its key file end with the test. */
struct box {
	char dir[64];
	char file[80];
	char key[80];
};

static int create_box(void **state)
{
	struct box *box = calloc(1, sizeof(*box));

	snprintf(box->dir, sizeof(box->dir), SHM "/numakit-XXXXXX");
	if (!mkdtemp(box->dir)) {
		free(box);
		return -1;
	}
	snprintf(box->file, sizeof(box->file), "%s/file", box->dir);
	snprintf(box->key, sizeof(box->key), "%s/key", box->dir);
	*state = box;
	return 0;
}

static int destroy_box(void **state)
{
	struct box *box = *state;

	for (int id = 0; id < 4; id++) {
		key_t key = ftok(box->key, id);
		int segment = key == -1 ? -1 : shmget(key, 0, 0);

		if (segment >= 0)
			shmctl(segment, IPC_RMID, NULL);
	}
	unlink(box->file);
	unlink(box->key);
	rmdir(box->dir);
	free(box);
	return 0;
}

static struct nr_shared_request file_of(const struct box *box, uint64_t offset_pages,
                                        uint64_t pages)
{
	return (struct nr_shared_request){
		.kind = NR_SHARED_FILE,
		.path = box->file,
		.offset_bytes = offset_pages * PAGE,
		.length_bytes = pages * PAGE,
		.mode = 0600,
	};
}

static struct nr_shared_request segment_of(const struct box *box, int id, uint64_t offset_pages,
                                           uint64_t pages)
{
	struct nr_shared_request request = file_of(box, offset_pages, pages);

	request.kind = NR_SHARED_SYSV;
	request.path = box->key;
	request.id = id;
	return request;
}

static void open_ok(const struct nr_shared_request *request, struct nr_shared *ret)
{
	struct np_error err = { 0 };

	assert_np_ok(nr_shared_open(request, ret, &err), &err);
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static uint64_t size_of(const char *path)
{
	struct stat file;

	assert_number(stat(path, &file), 0);
	return (uint64_t)file.st_size;
}

static void make_file(const struct box *box, uint64_t bytes)
{
	int fd = open(box->file, O_RDWR | O_CREAT, 0600);

	assert_number(ftruncate(fd, (off_t)bytes), 0);
	close(fd);
}

/* Sets the policy, or skips the test where this host refuses it. */
static void set_or_skip(struct nr_shared *shared, enum nr_policy_mode mode, const char *nodes,
                        unsigned flags)
{
	struct nr_policy policy = { .mode = mode, .nodes = set_of(nodes) };
	struct nr_policy kept = { 0 };
	struct np_error err = { 0 };
	int rc = nr_shared_set_policy(shared, &policy, flags, &kept, &err);

	nr_policy_release(&policy);
	if (rc == -EPERM || rc == -ENOSYS) {
		print_message("skipped: %s\n", err.text);
		nr_shared_undo(shared);
		nr_shared_close(shared);
		skip();
	}
	assert_np_ok(rc, &err);
	assert_set(&kept.nodes, nodes);
	nr_policy_release(&kept);
}

/* "0-2 bind:0, 2-4 default": the runs of policies, in pages. */
static void dump(const struct nr_shared *shared, char *text, size_t size)
{
	uint64_t end;
	size_t used = 0;

	for (uint64_t at = 0; at < shared->length_bytes; at = end) {
		struct nr_policy policy = { 0 };
		struct np_error err = { 0 };
		char *name;

		assert_np_ok(nr_shared_next_policy(shared, at, &end, &policy, &err), &err);
		name = nr_policy_print(&policy);
		used += (size_t)snprintf(text + used, size - used, "%s%llu-%llu %s", at ? ", " : "",
		                         (unsigned long long)(at / PAGE),
		                         (unsigned long long)(end / PAGE), name);
		free(name);
		nr_policy_release(&policy);
	}
}

static void a_file_that_is_not_there_is_made_as_long_as_the_range_needs(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 2, 4);
	struct nr_shared shared;

	open_ok(&request, &shared);
	assert_true(shared.made_memory);
	assert_false(shared.grew);
	assert_number(shared.length_bytes, 4 * PAGE);
	nr_shared_close(&shared);
	assert_number(size_of(box->file), 6 * PAGE);
}

static void without_a_length_nothing_is_made(void **state)
{
	struct box *box = *state;
	struct nr_shared_request file = file_of(box, 0, 0);
	struct nr_shared_request segment = segment_of(box, 1, 0, 0);
	struct nr_shared shared;
	struct np_error err = { 0 };

	assert_fails(nr_shared_open(&file, &shared, &err), -ENOENT, &err,
	             "the file does not exist");
	err = (struct np_error){ 0 };
	assert_fails(nr_shared_open(&segment, &shared, &err), -ENOENT, &err, "the key file");
	assert_false(exists(box->file));
	assert_false(exists(box->key));
}

static void without_a_length_the_range_is_all_behind_the_offset(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 1, 0);
	struct nr_shared shared;

	make_file(box, 3 * PAGE + 5); /* the last page counts as a whole */
	open_ok(&request, &shared);
	assert_number(shared.length_bytes, 3 * PAGE);
	nr_shared_close(&shared);
	assert_number(size_of(box->file), 3 * PAGE + 5);
}

static void undo_removes_what_was_made_and_shortens_what_grew(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 0, 4);
	struct nr_shared_request segment = segment_of(box, 1, 0, 4);
	struct nr_shared shared;
	struct np_error err = { 0 };

	open_ok(&request, &shared);
	nr_shared_undo(&shared);
	nr_shared_close(&shared);
	assert_false(exists(box->file));

	make_file(box, PAGE);
	open_ok(&request, &shared);
	assert_true(shared.grew);
	nr_shared_undo(&shared);
	nr_shared_close(&shared);
	assert_number(size_of(box->file), PAGE);

	open_ok(&segment, &shared);
	assert_true(shared.made_key_file);
	nr_shared_undo(&shared);
	nr_shared_close(&shared);
	assert_false(exists(box->key));

	/* Not what somebody made longer meanwhile. */
	open_ok(&request, &shared);
	make_file(box, 9 * PAGE);
	nr_shared_undo(&shared);
	nr_shared_close(&shared);
	assert_number(size_of(box->file), 9 * PAGE);

	segment.length_bytes = 0;
	assert_fails(nr_shared_open(&segment, &shared, &err), -ENOENT, &err, "key file");
}

static void a_range_that_cannot_be_is_refused_and_nothing_is_left(void **state)
{
	static const struct {
		uint64_t offset_bytes;
		uint64_t length_bytes;
		int code;
		const char *part;
	} cases[] = {
		{ 5, 4096, -EINVAL, "offset 5" },
		{ 0, 5, -EINVAL, "length 5" },
		{ 0, UINT64_MAX, -EINVAL, "multiples" },
		{ UINT64_MAX - 4095 * 16, 4096, -EINVAL, "multiples" },
		{ UINT64_MAX - 65535, 65536, -EFBIG, "more than can be mapped" },
		{ 65536, UINT64_MAX - 65535, -EFBIG, "more than can be mapped" },
	};
	struct box *box = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int kind = 0; kind < 2; kind++) {
			struct nr_shared_request request =
				kind ? segment_of(box, 1, 0, 0) : file_of(box, 0, 0);
			struct nr_shared shared;
			struct np_error err = { 0 };

			check_case("%llu at %llu, %s", (unsigned long long)cases[i].length_bytes,
			           (unsigned long long)cases[i].offset_bytes,
			           kind ? "segment" : "file");
			request.offset_bytes = cases[i].offset_bytes;
			request.length_bytes = cases[i].length_bytes;
			assert_fails(nr_shared_open(&request, &shared, &err), cases[i].code, &err,
			             cases[i].part);
			assert_false(exists(box->file));
			assert_false(exists(box->key));
		}
	}
}

static void an_offset_beyond_the_end_is_refused(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 3, 0);
	struct nr_shared shared;
	struct np_error err = { 0 };

	make_file(box, 3 * PAGE);
	assert_fails(nr_shared_open(&request, &shared, &err), -ERANGE, &err, "nothing is at");
}

static void what_keeps_no_policy_is_refused(void **state)
{
	struct box *box = *state;
	char path[] = "/var/tmp/numakit-XXXXXX";
	struct nr_shared_request request = file_of(box, 0, 1);
	struct nr_shared shared;
	struct np_error err = { 0 };
	struct statfs system;
	int fd;

	request.path = "/dev/null";
	assert_fails(nr_shared_open(&request, &shared, &err), -EINVAL, &err, "not a plain file");

	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_number(fstatfs(fd, &system), 0);
	close(fd);
	request.path = path;
	err = (struct np_error){ 0 };
	if (system.f_type != TMPFS_MAGIC)
		assert_fails(nr_shared_open(&request, &shared, &err), -EOPNOTSUPP, &err,
		             "neither in tmpfs nor in hugetlbfs");
	assert_number(size_of(path), 0);
	unlink(path);
}

static void a_policy_stays_with_the_memory_and_is_told_range_by_range(void **state)
{
	struct box *box = *state;
	struct nr_shared_request requests[] = { file_of(box, 0, 8), segment_of(box, 3, 0, 8) };

	for (size_t i = 0; i < 2; i++) {
		struct nr_shared_request whole = requests[i];
		struct nr_shared_request part = whole;
		struct nr_shared shared;
		char text[256];

		check_case("%s", whole.path);
		part.offset_bytes = 2 * PAGE;
		part.length_bytes = 3 * PAGE;
		open_ok(&whole, &shared);
		dump(&shared, text, sizeof(text));
		assert_text(text, "0-8 default");
		nr_shared_close(&shared);

		open_ok(&part, &shared);
		set_or_skip(&shared, NR_POLICY_BIND, "0", 0);
		nr_shared_close(&shared);

		whole.length_bytes = 0;
		open_ok(&whole, &shared);
		dump(&shared, text, sizeof(text));
		assert_text(text, "0-2 default, 2-5 bind:0, 5-8 default");
		set_or_skip(&shared, NR_POLICY_INTERLEAVE, "0", 0);
		set_or_skip(&shared, NR_POLICY_PREFERRED, "0", 0);
		set_or_skip(&shared, NR_POLICY_LOCAL, "", 0);
		dump(&shared, text, sizeof(text));
		assert_text(text, "0-8 local");
		nr_shared_close(&shared);
	}
}

/* Blocks of 512 bytes that the file really has. */
static unsigned long long blocks_of(const char *path)
{
	struct stat file;

	assert_number(stat(path, &file), 0);
	return (unsigned long long)file.st_blocks;
}

static void touching_allocates_every_page(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 0, 8);
	struct nr_shared shared;
	struct np_error err = { 0 };
	uint64_t end;
	unsigned node;

	open_ok(&request, &shared);
	set_or_skip(&shared, NR_POLICY_BIND, "0", NR_SHARED_STRICT);
	assert_number(blocks_of(box->file), 0);
	assert_np_ok(nr_shared_touch(&shared, &err), &err);
	assert_number(blocks_of(box->file), 8 * PAGE / 512);
	assert_np_ok(nr_shared_next_node(&shared, 0, &end, &node, &err), &err);
	assert_number(node, 0);
	assert_number(end, 8 * PAGE);
	/* All is on node 0 already, to which nobody objects. */
	set_or_skip(&shared, NR_POLICY_BIND, "0", NR_SHARED_STRICT);
	nr_shared_close(&shared);
}

static void pages_that_cannot_be_had_are_an_error_and_no_signal(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 0, 8);
	struct nr_shared shared;
	struct np_error err = { 0 };
	char place[32];

	open_ok(&request, &shared);
	assert_number(truncate(box->file, 4 * (off_t)PAGE), 0);
	snprintf(place, sizeof(place), "offset %llu:", (unsigned long long)(4 * PAGE));
	assert_fails(nr_shared_touch(&shared, &err), -EFAULT, &err, place);
	nr_shared_close(&shared);
}

static void a_segment_is_found_by_its_number_and_cannot_grow(void **state)
{
	struct box *box = *state;
	struct nr_shared_request one = segment_of(box, 1, 0, 2);
	struct nr_shared_request two = segment_of(box, 2, 0, 4);
	struct nr_shared_request again = segment_of(box, 1, 0, 0);
	struct nr_shared_request more = segment_of(box, 1, 1, 2);
	struct nr_shared shared;
	struct np_error err = { 0 };

	open_ok(&one, &shared);
	nr_shared_close(&shared);
	open_ok(&two, &shared);
	assert_true(shared.made_memory);
	assert_false(shared.made_key_file);
	nr_shared_close(&shared);
	open_ok(&again, &shared);
	assert_false(shared.made_memory);
	assert_number(shared.length_bytes, 2 * PAGE);
	nr_shared_close(&shared);
	assert_fails(nr_shared_open(&more, &shared, &err), -ERANGE, &err, "cannot grow");
}

static void nodes_that_do_not_exist_are_refused_and_nothing_changes(void **state)
{
	struct box *box = *state;
	struct nr_shared_request request = file_of(box, 0, 2);
	struct nr_policy policy = { .mode = NR_POLICY_BIND, .nodes = set_of("900-901") };
	struct nr_policy kept = { 0 };
	struct nr_shared shared;
	struct np_error err = { 0 };
	char text[256];

	open_ok(&request, &shared);
	set_or_skip(&shared, NR_POLICY_BIND, "0", 0);
	assert_fails(nr_shared_set_policy(&shared, &policy, 0, &kept, &err), -EINVAL, &err,
	             "900-901");
	assert_has(err.text, box->file);
	dump(&shared, text, sizeof(text));
	assert_text(text, "0-2 bind:0");
	nr_shared_close(&shared);
	nr_policy_release(&policy);
}

#define box_test(f) cmocka_unit_test_setup_teardown(f, create_box, destroy_box)

int main(void)
{
	const struct CMUnitTest tests[] = {
		box_test(a_file_that_is_not_there_is_made_as_long_as_the_range_needs),
		box_test(without_a_length_nothing_is_made),
		box_test(without_a_length_the_range_is_all_behind_the_offset),
		box_test(undo_removes_what_was_made_and_shortens_what_grew),
		box_test(a_range_that_cannot_be_is_refused_and_nothing_is_left),
		box_test(an_offset_beyond_the_end_is_refused),
		box_test(what_keeps_no_policy_is_refused),
		box_test(a_policy_stays_with_the_memory_and_is_told_range_by_range),
		box_test(touching_allocates_every_page),
		box_test(pages_that_cannot_be_had_are_an_error_and_no_signal),
		box_test(a_segment_is_found_by_its_number_and_cannot_grow),
		box_test(nodes_that_do_not_exist_are_refused_and_nothing_changes),
	};
	struct statfs system;

	if (statfs(SHM, &system) < 0 || system.f_type != TMPFS_MAGIC || access(SHM, W_OK) < 0) {
		puts("skipped: " SHM " is no tmpfs that can be written");
		return 77;
	}
	return cmocka_run_group_tests_name("shared_policy", tests, NULL, NULL);
}
