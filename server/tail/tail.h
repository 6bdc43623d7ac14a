/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of an object does not stay in RAM: its tail, in pools on SSD. A pool is a directory with a marker
 * that says it may be wiped; in it lies one file, handed out in units. A tail lies in one pool, in units
 * that need not be neighbours, and has a checksum for each of them in RAM: bytes that come back wrong
 * are never given to anyone. All of it is gone with the process.
 */
#ifndef NS_TAIL_H
#define NS_TAIL_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	NS_TAIL_UNIT_BYTES = 65536,  /* what space is handed out in, and what a checksum is of */
	NS_TAIL_CHUNK_BYTES = 262144 /* of a staging buffer, and of one read or write */
};

/* ---- pools ---- */

/*
 * Makes a directory a pool: it is created unless it is there, and has to be empty. One line of its marker
 * tells people what it is.
 *
 *   -ENOTEMPTY  there is something in it: err names it
 *   -ENOTDIR, -EACCES ...
 */
int ns_pool_prepare(const char *path, struct np_error *err);

struct ns_tails; /* opaque: all pools of one store and what lies in them; any thread may call */

/*
 * Opens pools, and wipes what an earlier process left in them. Two processes cannot have the same one.
 *
 *   -EPERM   no marker there: nothing is touched; err says how to make one
 *   -EBUSY   another process has it
 *   -ENOENT, -EACCES ...
 */
int ns_tails_open(const char *const *paths, size_t count, struct ns_tails **ret,
                  struct np_error *err);
/* Nobody has anything of it any more. Accepts NULL. */
void ns_tails_close(struct ns_tails *tails);

struct ns_pool_state {
	const char *path;
	uint64_t file_bytes; /* that the pool's file has grown to */
	uint64_t used_bytes; /* whole units of tails */
	uint64_t reads;
	uint64_t writes;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t errors;  /* of reads and writes */
	uint64_t damaged; /* units whose checksum was wrong */
	bool is_direct;   /* O_DIRECT; false where the filesystem has none */
	bool is_retired;  /* after errors in a row nothing new is put there */
};
size_t ns_tails_pool_count(const struct ns_tails *tails);
struct ns_pool_state ns_tails_pool(const struct ns_tails *tails, size_t pool);

/* ---- tails ---- */

/*
 * Takes space for that many bytes, where there is the most of it; pinned once. A number from 1.
 *
 *   -ENOSPC  no pool has so much, and the filesystems do not give it
 *   -EIO     no pool is in use any more
 *   -ENOMEM
 */
int ns_tail_take(struct ns_tails *tails, uint64_t bytes, uint32_t *ret, struct np_error *err);
/* A promoted object and the one it replaces share a tail. The last unpin gives the space back. */
void ns_tail_pin(struct ns_tails *tails, uint32_t tail);
void ns_tail_unpin(struct ns_tails *tails, uint32_t tail);

/* For callers that may wait: at most to the tail's end. 0; -EIO: lost or damaged; -ENOSPC; -ENOMEM */
int ns_tail_read_now(struct ns_tails *tails, uint32_t tail, uint64_t offset, char *to,
                     size_t count);
int ns_tail_write_now(struct ns_tails *tails, uint32_t tail, const char *bytes, uint64_t count);

/* ---- reading and writing without waiting ---- */

enum ns_tail_engine { NS_ENGINE_AUTO, NS_ENGINE_URING, NS_ENGINE_THREADS };

/* Of one thread, which makes all calls: a ring, or threads where that is refused, and staging buffers. */
struct ns_tail_io;

/*
 * @buffers: how many chunks it may have at a time, all reads and writes together. Who finds none waits for
 * his turn.
 *
 *   -ENOSYS, -EPERM  with NS_ENGINE_URING: the kernel or a filter refuses it (auto takes threads)
 *   -ENOMEM
 */
int ns_tail_io_create(struct ns_tails *tails, enum ns_tail_engine engine, unsigned buffers,
                      struct ns_tail_io **ret, struct np_error *err);
/* Waits for what the kernel still has. Reads and writes have ended. Accepts NULL. */
void ns_tail_io_free(struct ns_tail_io *io);
enum ns_tail_engine ns_tail_io_engine(const struct ns_tail_io *io);

/* Readable when something is done: then ns_tail_io_reap(), which calls who waits. */
int ns_tail_io_fd(const struct ns_tail_io *io);
void ns_tail_io_reap(struct ns_tail_io *io);
/* Whether anything is under way or waits for a buffer. */
bool ns_tail_io_is_busy(const struct ns_tail_io *io);

/* Whether anyone waits for a buffer. */
bool ns_tail_io_is_wanted(const struct ns_tail_io *io);

/* Called out of ns_tail_io_reap(), and only after a call that said "wait". */
struct ns_tail_waiter {
	void (*wake)(void *arg);
	void *arg;
};

struct ns_tail_read;
/*
 * Begins to read at once, two chunks ahead at most. Pins the tail until it ends. NULL: no memory
 */
struct ns_tail_read *ns_tail_read_begin(struct ns_tail_io *io, uint32_t tail, uint64_t offset,
                                        uint64_t count, struct ns_tail_waiter waiter);
/* Bytes at hand, in their order, valid until they are used; 0 wait; -EIO lost or damaged; -ENOMEM */
ssize_t ns_tail_read_next(struct ns_tail_read *read, const char **ret);
void ns_tail_read_used(struct ns_tail_read *read, size_t count);
/* At any time, in the middle too: buffers go back when the kernel is done with them. */
void ns_tail_read_end(struct ns_tail_read *read);

struct ns_tail_write;
struct ns_tail_write *ns_tail_write_begin(struct ns_tail_io *io, uint32_t tail, uint64_t count,
                                          struct ns_tail_waiter waiter);
/*
 * Where the next bytes go; 0 wait. After an error there is always room, and what is put there is
 * thrown away, so that a peer can be read to the end of its value.
 */
size_t ns_tail_write_room(struct ns_tail_write *write, char **ret);
void ns_tail_write_filled(struct ns_tail_write *write, size_t count);
/*
 * For as long as nothing comes to be put there: gives back a buffer that nothing is in, and takes one again when
 * room is asked for. False: something is in it, so it is kept.
 */
bool ns_tail_write_pause(struct ns_tail_write *write);
/* Once all is filled. 0 all is written; -EINPROGRESS wait; -ENOSPC, -EIO, -ENOMEM */
int ns_tail_write_result(struct ns_tail_write *write);
void ns_tail_write_end(struct ns_tail_write *write);

#endif
