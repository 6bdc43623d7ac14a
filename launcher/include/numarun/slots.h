/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The slot registry: which runs hold which CPUs for themselves, so that no two exclusive runs share
 * one. It binds those who ask it, and nobody else.
 *
 * A registry is a folder. Byte N of the file "slots" in it is the slot of CPU N: whoever has it
 * locked holds that CPU. The locks are those of open file descriptions (fcntl(2), F_OFD_SETLK): a
 * run's program inherits them, and the kernel drops them with their last holder, however it ends.
 * One more byte is locked while somebody reads who holds what and takes what is free.
 *
 * Beside it lies one record a run, "run-PID-STARTTIME-N", that tells who holds the slots. Records
 * are there to be read; but a slot counts as held too when the record of a living process names it,
 * so that a removed "slots" file costs nobody their CPUs. What is damaged is passed over with a
 * note: the locks are what counts.
 *
 * A registry and its claims belong to one thread at a time. Fork only while it is not locked.
 */
#ifndef NUMARUN_SLOTS_H
#define NUMARUN_SLOTS_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The registry of all users of a host; root makes it at the first use, with mode 1777. */
#define NR_REGISTRY_DIR "/run/numarun"

/* How long nr_registry_lock() waits, unless the caller sets another time. */
#define NR_REGISTRY_LOCK_MS 10000u

/* More records are not read; their locks count all the same. */
#define NR_REGISTRY_RECORDS_MAX 4096u

/* Nor are more notes kept. */
#define NR_REGISTRY_NOTES_MAX 64u

enum { NR_PROGRAM_SIZE = 64, NR_RECORD_NAME_SIZE = 64 };

struct nr_registry {
	int dir_fd;
	int slots_fd;
	int root_fd;     /* "/", under which /proc tells who lives */
	char *path;      /* of the folder, for messages */
	bool is_private; /* in $XDG_RUNTIME_DIR: only this user's runs are seen */
	bool is_locked;
	unsigned lock_timeout_ms;
};

/* Who holds CPUs. */
struct nr_holder {
	struct np_bitmap cpus;
	char record[NR_RECORD_NAME_SIZE]; /* "": nothing more is known of who locked them */
	char program[NR_PROGRAM_SIZE];    /* printable ASCII */
	pid_t pid;                        /* of the numarun that took them */
	uint64_t start_ticks;             /* field 22 of /proc/PID/stat */
	pid_t program_pid;                /* 0 until it is started */
	uint64_t program_start_ticks;
	uid_t uid;         /* the record's owner */
	int64_t started_s; /* since 1970 */
	bool is_alive;     /* the numarun is */
	bool program_is_alive;
	bool is_locked; /* all of the CPUs are locked, by it as far as can be told */
};

struct nr_holders {
	struct nr_holder *list; /* by their lowest CPU */
	size_t count;
	struct np_bitmap cpus; /* of all of them */
	char **notes;          /* what was found damaged, a sentence each */
	size_t note_count;
};

/* CPUs that were taken. Only the struct that nr_claim_take() filled is ended, not a copy too. */
struct nr_claim {
	int fd;                             /* close-on-exec; holds the locks */
	struct nr_holder self;              /* as it stands in the record */
	const struct nr_registry *registry; /* outlives the claim, and stays where it is */
};

/*
 * Opens the registry in the folder @dir, which must exist; NULL takes the default: NR_REGISTRY_DIR
 * where it is there and can be written to, or can be made by root; else $XDG_RUNTIME_DIR/numarun,
 * which is made. The caller ends it with nr_registry_close(), twice is ok.
 *
 * With @may_create false nothing is made, for those who only look: -ENOENT when nobody ever took a
 * slot there.
 *
 *   -ENOENT, -EACCES …  no such folder, none that can be used; err says what makes one
 *   -EINVAL             its "slots" is no plain file, or has a second name
 */
int nr_registry_open(const char *dir, bool may_create, struct nr_registry *ret,
                     struct np_error *err);
void nr_registry_close(struct nr_registry *registry);

/*
 * Locks the registry, so that what is read stays so until the end of the lock. A "slots" that was
 * removed meanwhile is made anew.
 *
 *   -ETIMEDOUT  somebody else has it for registry->lock_timeout_ms; err names who, if it can
 *   other       of fcntl(2), or as nr_registry_open()
 */
int nr_registry_lock(struct nr_registry *registry, struct np_error *err);
void nr_registry_unlock(struct nr_registry *registry);

/*
 * Who holds what, the caller's own claims too; the caller ends *ret with nr_holders_release().
 * Under the lock, records of the dead that hold nothing any more are removed, where this user may;
 * without it a claim that begins or ends meanwhile may show in part.
 *
 *   -ENOMEM
 *   other    of fcntl(2) and readdir(3)
 */
int nr_registry_holders(const struct nr_registry *registry, struct nr_holders *ret,
                        struct np_error *err);
void nr_holders_release(struct nr_holders *holders);

/* Adds the CPUs that are held to *ret. Errors as above. */
int nr_registry_held(const struct nr_registry *registry, struct np_bitmap *ret,
                     struct np_error *err);

/*
 * Takes all of @cpus, or none, for a run of @program; locks the registry for that time unless the
 * caller has. The caller ends *ret with one of the two functions below.
 *
 *   -EBUSY   some are held; err says which, by whom and since when
 *   -EINVAL  an empty set
 *   other    as nr_registry_lock(), or of writing the record
 */
int nr_claim_take(struct nr_registry *registry, const struct np_bitmap *cpus, const char *program,
                  struct nr_claim *ret, struct np_error *err);

/*
 * Puts the program's process into the record.
 *
 *   -ESRCH  it has ended already
 *   other   of writing the record, which then stays as it was
 */
int nr_claim_note_program(struct nr_claim *claim, pid_t program, struct np_error *err);

/*
 * For the forked child that becomes the program: leaves the locks open over exec, so that they last
 * as long as the program and all that it starts. Async-signal-safe. -errno of fcntl(2).
 */
int nr_claim_inherit(const struct nr_claim *claim);

/*
 * Gives the CPUs up: the locks and the record. Where processes that inherited the locks go on, the
 * record stays to tell whose they are, and the CPUs count as held as long as the caller or they
 * live.
 *
 * The second one leaves the record be: for a forked child that is not to hold them. Both twice ok.
 */
void nr_claim_release(struct nr_claim *claim);
void nr_claim_forget(struct nr_claim *claim);

#ifdef __cplusplus
}
#endif

#endif
