/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a registry that are not locked: a record for each run, one line of text a fact.
 *
 *   numarun-record 1
 *   pid 4711
 *   start 88123
 *   program-pid 4712
 *   program-start 88125
 *   started 1700000000
 *   cpus 4-7
 *   program memcached
 *
 * Its name has the first two numbers in it, so that no record can be mistaken for another's.
 */
#ifndef NR_RECORD_H
#define NR_RECORD_H

#include <numarun/slots.h>

#define NR_RECORD_PREFIX "run-"
#define NR_RECORD_TEMPORARY_PREFIX ".new-"

/* The longest list of CPUs, every other one of NP_BITMAP_INDEX_MAX, has 95 KiB. */
enum { NR_RECORD_BYTES_MAX = 128 * 1024 };

/*
 * Reads the record @name of the folder. Fills all but the flags of *ret, whose CPUs the caller
 * releases.
 *
 *   -EINVAL  it is no record, or not that of its name; err says why
 *   -ENOENT  it is gone
 *   other    of open(2) and read(2)
 */
int nr_record_read(int dir_fd, const char *name, struct nr_holder *ret, struct np_error *err);

/* Finds a name for a new record, and writes it there. -ENOSPC, -EACCES … of open(2), write(2). */
int nr_record_create(int dir_fd, struct nr_holder *record, struct np_error *err);

/* Puts the record in the place of the one of its name, in one step. */
int nr_record_replace(int dir_fd, const struct nr_holder *record, struct np_error *err);

/*
 * Opens a file that nobody else has, under a temporary name that begins with the maker's number and
 * start; the name is written to @name. -errno of open(2).
 */
int nr_record_open_temporary(int dir_fd, pid_t pid, uint64_t start_ticks, char *name);

/* The maker in a file's name, behind @prefix; false where the name is not of that form. */
bool nr_record_parse_name(const char *name, const char *prefix, pid_t *ret_pid,
                          uint64_t *ret_start_ticks);

#endif
