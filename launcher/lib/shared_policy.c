/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <numarun/shared_policy.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Pages asked about in one mincore(2). */
enum { CHUNK_PAGES = 4096 };

static uint64_t base_page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* ---- opening ---- */

/* Where the range ends, for a length that is given. */
static int range_end(const struct nr_shared *shared, uint64_t *ret, struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;

	if (request->offset_bytes % shared->page_bytes ||
	    request->length_bytes % shared->page_bytes)
		return np_error_set(err, EINVAL,
		                    "%s: offset %" PRIu64 " and length %" PRIu64
		                    " must be multiples of its page size, %" PRIu64 " bytes",
		                    request->path, request->offset_bytes, request->length_bytes,
		                    shared->page_bytes);
	/* Halves of the largest size, so that their sum is one too. */
	if (request->offset_bytes > INT64_MAX / 2 || request->length_bytes > INT64_MAX / 2 ||
	    request->length_bytes > SIZE_MAX)
		return np_error_set(err, EFBIG,
		                    "%s: offset %" PRIu64 " and length %" PRIu64
		                    " are more than can be mapped",
		                    request->path, request->offset_bytes, request->length_bytes);
	*ret = request->offset_bytes + request->length_bytes;
	return 0;
}

/* Without a length the range is all from the offset on, with the last page as a whole. */
static int take_rest(struct nr_shared *shared, struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;
	uint64_t pages = (shared->size_bytes + shared->page_bytes - 1) / shared->page_bytes;

	if (request->offset_bytes >= shared->size_bytes)
		return np_error_set(err, ERANGE,
		                    "%s: it is %" PRIu64 " bytes long, so nothing is at offset "
		                    "%" PRIu64,
		                    request->path, shared->size_bytes, request->offset_bytes);
	shared->length_bytes = pages * shared->page_bytes - request->offset_bytes;
	return 0;
}

static int missing(const struct nr_shared *shared, const char *what, struct np_error *err)
{
	return np_error_set(err, ENOENT, "%s: %s does not exist (to make it, give its --length)",
	                    shared->request.path, what);
}

/* ---- files ---- */

static int open_or_make(struct nr_shared *shared, struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;

	shared->fd = open(request->path, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (shared->fd >= 0)
		return 0;
	if (errno != ENOENT)
		return np_error_sys(err, errno, "%s", request->path);
	if (request->length_bytes == 0)
		return missing(shared, "the file", err);
	shared->fd =
		open(request->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, request->mode & 0777);
	if (shared->fd < 0)
		return np_error_sys(err, errno, "%s: make the file", request->path);
	shared->made_memory = true;
	return 0;
}

static int measure_file(struct nr_shared *shared, struct np_error *err)
{
	const char *path = shared->request.path;
	struct statfs system;
	struct stat file;

	if (fstat(shared->fd, &file) < 0 || fstatfs(shared->fd, &system) < 0)
		return np_error_sys(err, errno, "%s", path);
	if (!S_ISREG(file.st_mode))
		return np_error_set(err, EINVAL, "%s: not a plain file", path);
	if (system.f_type != TMPFS_MAGIC && system.f_type != HUGETLBFS_MAGIC)
		return np_error_set(err, EOPNOTSUPP,
		                    "%s: neither in tmpfs nor in hugetlbfs, so the kernel keeps no "
		                    "memory policy with it",
		                    path);
	shared->is_huge = system.f_type == HUGETLBFS_MAGIC;
	/* Not st_blksize, which for tmpfs can be what the kernel would like best. */
	shared->page_bytes = shared->is_huge ? (uint64_t)system.f_bsize : base_page_bytes();
	shared->size_bytes = (uint64_t)file.st_size;
	return 0;
}

static int grow_file(struct nr_shared *shared, uint64_t end_bytes, struct np_error *err)
{
	if (end_bytes <= shared->size_bytes)
		return 0;
	if (ftruncate(shared->fd, (off_t)end_bytes) < 0)
		return np_error_sys(err, errno, "%s: make it %" PRIu64 " bytes long",
		                    shared->request.path, end_bytes);
	shared->grew = !shared->made_memory;
	shared->old_size_bytes = shared->size_bytes;
	shared->size_bytes = end_bytes;
	return 0;
}

static int map_file(struct nr_shared *shared, struct np_error *err)
{
	void *address = mmap(NULL, (size_t)shared->length_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	                     shared->fd, (off_t)shared->request.offset_bytes);

	if (address != MAP_FAILED) {
		shared->address = address;
		return 0;
	}
	if (errno == ENOMEM && shared->is_huge)
		return np_error_set(err, ENOMEM,
		                    "%s: too few huge pages of %" PRIu64
		                    " kB are free to map %" PRIu64 " bytes",
		                    shared->request.path, shared->page_bytes / 1024,
		                    shared->length_bytes);
	return np_error_sys(err, errno, "%s: map %" PRIu64 " bytes", shared->request.path,
	                    shared->length_bytes);
}

static int open_file(struct nr_shared *shared, struct np_error *err)
{
	uint64_t end_bytes = 0;
	int rc = open_or_make(shared, err);

	if (rc == 0)
		rc = measure_file(shared, err);
	if (rc == 0)
		rc = range_end(shared, &end_bytes, err);
	if (rc < 0)
		return rc;
	if (shared->request.length_bytes == 0)
		rc = take_rest(shared, err);
	else
		rc = grow_file(shared, end_bytes, err);
	return rc < 0 ? rc : map_file(shared, err);
}

/* ---- SysV segments ---- */

static int find_key(struct nr_shared *shared, key_t *ret, struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;
	int fd;

	*ret = ftok(request->path, request->id);
	if (*ret == -1 && errno == ENOENT && request->length_bytes == 0)
		return missing(shared, "the key file", err);
	if (*ret == -1 && errno == ENOENT) {
		fd = open(request->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		          request->mode & 0777);
		if (fd < 0)
			return np_error_sys(err, errno, "%s: make the key file", request->path);
		close(fd);
		shared->made_key_file = true;
		*ret = ftok(request->path, request->id);
	}
	if (*ret == -1)
		return np_error_sys(err, errno, "%s: key file", request->path);
	/* ftok(3) can give 0, and shmget(2) would make one more segment at each call. */
	if (*ret == IPC_PRIVATE)
		return np_error_set(err, EINVAL,
		                    "%s: its key is 0, which stands for no key: use another file "
		                    "or --shmid",
		                    request->path);
	return 0;
}

/*
 * Which pool of huge pages is told by the binary logarithm of their size (shmget(2)); the C library
 * has no SHM_HUGE_SHIFT, which is the same as mmap(2)'s.
 */
static int huge_flags(uint64_t page_bytes)
{
	return page_bytes ? SHM_HUGETLB | __builtin_ctzll(page_bytes) << MAP_HUGE_SHIFT : 0;
}

static int make_segment(struct nr_shared *shared, key_t key, uint64_t size_bytes,
                        struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;
	int flags = IPC_CREAT | IPC_EXCL | (int)(request->mode & 0777) |
	            huge_flags(request->huge_page_bytes);

	shared->sysv_id = shmget(key, (size_t)size_bytes, flags);
	if (shared->sysv_id >= 0) {
		shared->made_memory = true;
		return 0;
	}
	if (errno == ENOMEM && request->huge_page_bytes)
		return np_error_set(err, ENOMEM,
		                    "%s: too few huge pages of %" PRIu64
		                    " kB are free for a segment of %" PRIu64 " bytes",
		                    request->path, request->huge_page_bytes / 1024, size_bytes);
	return np_error_sys(err, errno, "%s: make a segment of %" PRIu64 " bytes", request->path,
	                    size_bytes);
}

static int find_segment(struct nr_shared *shared, key_t key, struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;
	uint64_t end_bytes = 0;
	int rc = range_end(shared, &end_bytes, err);

	if (rc < 0)
		return rc;
	shared->sysv_id = shmget(key, 0, 0);
	if (shared->sysv_id >= 0)
		return 0;
	if (errno != ENOENT)
		return np_error_sys(err, errno, "%s: its segment (key 0x%x)", request->path,
		                    (unsigned)key);
	return request->length_bytes ? make_segment(shared, key, end_bytes, err)
	                             : missing(shared, "its segment", err);
}

static int measure_segment(struct nr_shared *shared, struct np_error *err)
{
	const struct nr_shared_request *request = &shared->request;
	struct shmid_ds segment;

	if (shmctl(shared->sysv_id, IPC_STAT, &segment) < 0)
		return np_error_sys(err, errno, "%s: size of its segment", request->path);
	shared->size_bytes = segment.shm_segsz;
	if (request->length_bytes == 0)
		return take_rest(shared, err);
	if (request->offset_bytes + request->length_bytes > shared->size_bytes)
		return np_error_set(err, ERANGE,
		                    "%s: its segment is %" PRIu64 " bytes long and cannot grow, so "
		                    "%" PRIu64 " at offset %" PRIu64 " are too many",
		                    request->path, shared->size_bytes, request->length_bytes,
		                    request->offset_bytes);
	return 0;
}

static int open_segment(struct nr_shared *shared, struct np_error *err)
{
	void *address;
	key_t key;
	int rc = find_key(shared, &key, err);

	shared->is_huge = shared->request.huge_page_bytes > 0;
	shared->page_bytes = shared->is_huge ? shared->request.huge_page_bytes : base_page_bytes();
	if (rc == 0)
		rc = find_segment(shared, key, err);
	if (rc == 0)
		rc = measure_segment(shared, err);
	if (rc < 0)
		return rc;
	address = shmat(shared->sysv_id, NULL, 0);
	/* Which has the value that shmat(2) fails with, and a name. */
	if (address == MAP_FAILED)
		return np_error_sys(err, errno, "%s: attach its segment", shared->request.path);
	shared->attached = address;
	shared->address = shared->attached + shared->request.offset_bytes;
	return 0;
}

int nr_shared_open(const struct nr_shared_request *request, struct nr_shared *ret,
                   struct np_error *err)
{
	struct nr_shared shared = {
		.request = *request,
		.length_bytes = request->length_bytes,
		.fd = -1,
		.sysv_id = -1,
	};
	int rc = request->kind == NR_SHARED_FILE ? open_file(&shared, err)
	                                         : open_segment(&shared, err);

	if (rc < 0) {
		nr_shared_undo(&shared);
		nr_shared_close(&shared);
		return rc;
	}
	*ret = shared;
	return 0;
}

void nr_shared_close(struct nr_shared *shared)
{
	if (shared->attached)
		shmdt(shared->attached);
	else if (shared->address)
		munmap(shared->address, (size_t)shared->length_bytes);
	if (shared->fd >= 0)
		close(shared->fd);
	*shared = (struct nr_shared){ .fd = -1, .sysv_id = -1 };
}

void nr_shared_undo(struct nr_shared *shared)
{
	const char *path = shared->request.path;
	struct stat file;

	if (shared->grew && fstat(shared->fd, &file) == 0 &&
	    (uint64_t)file.st_size == shared->size_bytes &&
	    ftruncate(shared->fd, (off_t)shared->old_size_bytes) == 0)
		shared->grew = false;
	if (shared->made_memory && shared->request.kind == NR_SHARED_SYSV)
		shmctl(shared->sysv_id, IPC_RMID, NULL);
	if (shared->made_key_file ||
	    (shared->made_memory && shared->request.kind == NR_SHARED_FILE))
		unlink(path);
	shared->made_memory = false;
	shared->made_key_file = false;
}

/* ---- pages ---- */

/* Looking a page's node up brings the page in, as a read would, but without a signal. */
static int find_node(const struct nr_shared *shared, uint64_t at_bytes, unsigned *ret,
                     struct np_error *err)
{
	int node;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0UL, shared->address + at_bytes,
	            MPOL_F_NODE | MPOL_F_ADDR) == 0) {
		*ret = (unsigned)node;
		return 0;
	}
	if (errno == EFAULT || errno == ENOMEM)
		return np_error_set(
			err, EFAULT,
			"%s: no page can be had at offset %" PRIu64 ": nothing is free %s",
			shared->request.path, shared->request.offset_bytes + at_bytes,
			shared->is_huge ? "in the huge page pools that the policy allows"
					: "where the policy allows, or its file system "
					  "is full");
	return np_error_sys(err, errno, "%s: node of the page at offset %" PRIu64,
	                    shared->request.path, shared->request.offset_bytes + at_bytes);
}

int nr_shared_touch(const struct nr_shared *shared, struct np_error *err)
{
	unsigned node;
	int rc = 0;

	for (uint64_t at = 0; rc == 0 && at < shared->length_bytes; at += shared->page_bytes)
		rc = find_node(shared, at, &node, err);
	return rc;
}

int nr_shared_next_node(const struct nr_shared *shared, uint64_t at_bytes, uint64_t *ret_end_bytes,
                        unsigned *ret, struct np_error *err)
{
	unsigned first = 0;
	unsigned node;
	uint64_t end = at_bytes + shared->page_bytes;
	int rc = find_node(shared, at_bytes, &first, err);

	for (node = first; rc == 0 && end < shared->length_bytes; end += shared->page_bytes) {
		rc = find_node(shared, end, &node, err);
		if (rc < 0 || node != first)
			break;
	}
	if (rc < 0)
		return rc;
	*ret = first;
	*ret_end_bytes = end;
	return 0;
}

/* ---- policies ---- */

static bool policies_equal(const struct nr_policy *a, const struct nr_policy *b)
{
	return a->mode == b->mode && np_bitmap_equal(&a->nodes, &b->nodes);
}

static int find_policy(const struct nr_shared *shared, uint64_t at_bytes, struct nr_policy *ret,
                       struct np_error *err)
{
	int rc = nr_policy_get_at(shared->address + at_bytes, ret, err);

	return rc < 0 ? np_error_wrap(err, rc, "%s", shared->request.path) : 0;
}

int nr_shared_next_policy(const struct nr_shared *shared, uint64_t at_bytes,
                          uint64_t *ret_end_bytes, struct nr_policy *ret, struct np_error *err)
{
	struct nr_policy first = { 0 };
	uint64_t end = at_bytes + shared->page_bytes;
	bool same = true;
	int rc = find_policy(shared, at_bytes, &first, err);

	while (rc == 0 && end < shared->length_bytes) {
		struct nr_policy policy = { 0 };

		rc = find_policy(shared, end, &policy, err);
		same = rc == 0 && policies_equal(&first, &policy);
		nr_policy_release(&policy);
		if (!same)
			break;
		end += shared->page_bytes;
	}
	if (rc < 0) {
		nr_policy_release(&first);
		return rc;
	}
	*ret = first;
	*ret_end_bytes = end;
	return 0;
}

/*
 * Maps those pages here that are there: strict mbind(2) looks at the pages in the page tables of its
 * caller alone, so that through a new mapping it would find nothing to object to.
 */
static int map_present_pages(const struct nr_shared *shared, struct np_error *err)
{
	unsigned char present[CHUNK_PAGES];
	uint64_t page_bytes = base_page_bytes();
	uint64_t chunk_bytes = CHUNK_PAGES * page_bytes;
	unsigned node;
	int rc = 0;

	for (uint64_t at = 0; at < shared->length_bytes; at += chunk_bytes) {
		uint64_t rest = shared->length_bytes - at;
		uint64_t bytes = rest < chunk_bytes ? rest : chunk_bytes;

		if (mincore(shared->address + at, (size_t)bytes, present) < 0)
			return np_error_sys(err, errno, "%s: which pages are there",
			                    shared->request.path);
		for (uint64_t page = 0; page < bytes / page_bytes && rc == 0; page++)
			if (present[page] & 1)
				rc = find_node(shared, at + page * page_bytes, &node, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static bool is_kept(const struct nr_policy *wanted, const struct nr_policy *kept, unsigned flags)
{
	if (policies_equal(wanted, kept))
		return true;
	return (flags & NR_SHARED_MAY_SHRINK) && kept->mode == wanted->mode &&
	       !np_bitmap_is_empty(&kept->nodes) &&
	       np_bitmap_is_subset(&kept->nodes, &wanted->nodes);
}

static int refuse_kept(const struct nr_shared *shared, const struct nr_policy *wanted,
                       const struct nr_policy *kept, struct np_error *err)
{
	char *wanted_text = nr_policy_print(wanted);
	char *kept_text = nr_policy_print(kept);

	np_error_set(err, EXDEV, "%s: memory policy %s: the kernel kept %s", shared->request.path,
	             wanted_text ? wanted_text : "?", kept_text ? kept_text : "?");
	free(wanted_text);
	free(kept_text);
	return -EXDEV;
}

/* One call set the whole range, so that its ends tell of all of it. */
static int read_back(const struct nr_shared *shared, const struct nr_policy *policy, unsigned flags,
                     struct nr_policy *ret, struct np_error *err)
{
	const uint64_t ends[] = { 0, shared->length_bytes - shared->page_bytes };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		int rc;

		nr_policy_release(ret);
		rc = find_policy(shared, ends[i], ret, err);
		if (rc < 0)
			return rc;
		if (!is_kept(policy, ret, flags))
			return refuse_kept(shared, policy, ret, err);
	}
	return 0;
}

int nr_shared_set_policy(const struct nr_shared *shared, const struct nr_policy *policy,
                         unsigned flags, struct nr_policy *ret_kept, struct np_error *err)
{
	bool strict = flags & NR_SHARED_STRICT;
	struct nr_policy kept = { 0 };
	int rc = strict ? map_present_pages(shared, err) : 0;

	if (rc < 0)
		return rc;
	rc = nr_policy_set_at(shared->address, (size_t)shared->length_bytes, policy, strict, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "%s", shared->request.path);
	rc = read_back(shared, policy, flags, &kept, err);
	if (rc < 0) {
		nr_policy_release(&kept);
		return rc;
	}
	*ret_kept = kept;
	return 0;
}
