/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory policies of shared memory: of SysV segments (shmget(2)) and of files in tmpfs and hugetlbfs.
 *
 * Other than the policy of a thread, such a policy belongs to the memory, and all who map it follow
 * it, as long as it is there (Documentation/admin-guide/mm/numa_memory_policy.rst, "Shared
 * Policy"). That does not hold for huge pages, of segments as of hugetlbfs: the kernel keeps no
 * policy with them, so that it rules only what is allocated through this mapping, by
 * nr_shared_touch().
 *
 * The functions may be called from any thread, but not for one struct from several at once.
 */
#ifndef NUMARUN_SHARED_POLICY_H
#define NUMARUN_SHARED_POLICY_H

#include <numarun/policy.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nr_shared_kind {
	NR_SHARED_FILE, /* a file in tmpfs or hugetlbfs */
	NR_SHARED_SYSV, /* the SysV segment whose key ftok(3) makes from a file and a number */
};

/* Which memory, and which range of it. Borrows its strings. */
struct nr_shared_request {
	enum nr_shared_kind kind;
	const char *path;      /* the file, or the key file */
	int id;                /* SYSV: ftok's number, of which the low 8 bits count */
	uint64_t offset_bytes; /* where the range begins, a multiple of the page size */
	uint64_t length_bytes; /* the same; 0 = all from there on, and nothing is made */
	mode_t mode;           /* permissions of what is made, less the umask */
	/* SYSV: make it of huge pages of this size, which is also its page size; 0 = no. */
	uint64_t huge_page_bytes;
};

struct nr_shared {
	struct nr_shared_request request;
	char *address; /* of the range's first byte */
	uint64_t length_bytes;
	uint64_t page_bytes;
	bool is_huge; /* huge pages, which keep no policy: see above */

	/* What nr_shared_open() did, for the user's information. */
	bool made_key_file; /* SYSV */
	bool made_memory;   /* the file or the segment was not there */
	bool grew;          /* the file was too short */

	uint64_t size_bytes;     /* of all of it */
	uint64_t old_size_bytes; /* before it grew */
	char *attached;          /* SYSV: the whole segment */
	int fd;                  /* FILE; else -1 */
	int sysv_id;
};

/*
 * Maps the range, and makes the memory where it is not there and a length is given: the range ends
 * where new memory ends. A file that is too short grows. *ret is ended by nr_shared_close(); on
 * failure what was made is removed again.
 *
 *   -ENOENT      it does not exist, and no length tells how long to make it
 *   -EINVAL      the range is not made of whole pages, or @path is no plain file
 *   -ERANGE      the range is beyond the end of a segment, or the offset beyond that of a file
 *   -EOPNOTSUPP  a file that is neither in tmpfs nor in hugetlbfs
 *   other        of open(2), ftruncate(2), mmap(2), ftok(3), shmget(2), shmat(2)
 */
int nr_shared_open(const struct nr_shared_request *request, struct nr_shared *ret,
                   struct np_error *err);

/* Unmaps it; the memory and its policy stay. */
void nr_shared_close(struct nr_shared *shared);

/*
 * Removes again what nr_shared_open() made, and shortens what it made longer, unless somebody else
 * changed its length since. Before nr_shared_close().
 */
void nr_shared_undo(struct nr_shared *shared);

enum nr_shared_flags {
	NR_SHARED_STRICT = 1,     /* fail if a page already lies where the policy does not allow */
	NR_SHARED_MAY_SHRINK = 2, /* the kernel may lawfully keep fewer of the nodes */
};

/*
 * Sets the policy of the range and reads it back, into *ret_kept, zeroed by the caller, who releases
 * it. Pages that are there stay where they are. STRICT does not see huge pages that others made.
 *
 *   -EXDEV  the kernel kept something else; err says what
 *   -EIO    strict, and a page lies elsewhere: nothing was changed
 *   other   as nr_policy_set_at()
 */
int nr_shared_set_policy(const struct nr_shared *shared, const struct nr_policy *policy,
                         unsigned flags, struct nr_policy *ret_kept, struct np_error *err);

/*
 * Allocates every page of the range that is not there yet.
 *
 *   -EFAULT  a page cannot be had; no signal is raised
 */
int nr_shared_touch(const struct nr_shared *shared, struct np_error *err);

/*
 * The policy at @at_bytes of the range, into *ret, zeroed by the caller, who releases it, and in
 * *ret_end_bytes where the pages with the same policy end. One system call for each page.
 */
int nr_shared_next_policy(const struct nr_shared *shared, uint64_t at_bytes,
                          uint64_t *ret_end_bytes, struct nr_policy *ret, struct np_error *err);

/*
 * The node of the page at @at_bytes, and where the pages on the same node end. Pages that are not
 * there yet are allocated by this, as the kernel tells a node in no other way. Errors as
 * nr_shared_touch().
 */
int nr_shared_next_node(const struct nr_shared *shared, uint64_t at_bytes, uint64_t *ret_end_bytes,
                        unsigned *ret, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
