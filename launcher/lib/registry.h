/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the claims and the tests need of a registry beyond the public header.
 */
#ifndef NR_REGISTRY_H
#define NR_REGISTRY_H

#include "../../probe/base/sysroot.h"

#include <numarun/slots.h>

#define NR_REGISTRY_SLOTS "slots"

/* Where the default registry may be. */
struct nr_registry_places {
	const char *shared;      /* for all users */
	const char *runtime_dir; /* $XDG_RUNTIME_DIR, or NULL */
};

/* nr_registry_open() without a folder, for these places. */
int nr_registry_open_default(const struct nr_registry_places *places, bool may_create,
                             struct nr_registry *ret, struct np_error *err);

/* This host's root; borrowed from the registry. */
struct np_sysroot nr_registry_root(const struct nr_registry *registry);

/* The calling process, as it stands in records. -errno of reading /proc. */
int nr_registry_self(const struct nr_registry *registry, pid_t *ret_pid, uint64_t *ret_start_ticks,
                     struct np_error *err);

/* Opens the slots once more, as an open file description of its own. Errors as nr_registry_open().
 */
int nr_registry_open_slots(const struct nr_registry *registry, int *ret_fd, struct np_error *err);

/* Adds to *ret the slots that are locked through any open file description but registry's own. */
int nr_registry_locked(const struct nr_registry *registry, struct np_bitmap *ret,
                       struct np_error *err);

/* Locks the bytes first..last of a file for writing. -EAGAIN when somebody has one of them. */
int nr_registry_lock_bytes(int fd, unsigned first, unsigned last);

#endif
