/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the interrupt steering share: names, notes, holders and putting back.
 */
#ifndef NR_IRQ_PARTS_H
#define NR_IRQ_PARTS_H

#include "../../probe/base/sysroot.h"

#include <numarun/irq.h>

#define NR_IRQ_NET_DIR "sys/class/net"

enum { NR_IRQ_PATH_SIZE = 320, NR_IRQ_LIST_SIZE = 96 };

/*
 * Tells from an interrupt's name ("virtio0-output.1", "eth0-TxRx-3", "mlx5_comp2@pci:…") what it is
 * for. *ret_queue is set unless it is a control interrupt. @device may stand in the name. Pure.
 */
enum nr_irq_role nr_irq_role_of(const char *name, const char *device, unsigned *ret_queue);

/*
 * The name that the driver gave interrupt @irq, in a new string; where several share it, the one
 * that has @device in it. NULL when nobody handles it, or it does not exist.
 */
int nr_irq_name_read(const struct np_sysroot *root, unsigned irq, const char *device, char **ret,
                     struct np_error *err);

/* Adds a sentence, printf style. One that finds no memory is lost. */
void nr_irq_note(struct nr_irq_notes *notes, const char *fmt, ...) NP_PRINTF(2, 3);
void nr_irq_notes_release(struct nr_irq_notes *notes);

/* Adds an empty element to the steering's table; NULL when memory runs out. */
struct nr_irq *nr_irq_add(struct nr_irq_steering *steering);
struct nr_irq_xps *nr_irq_add_queue(struct nr_irq_steering *steering);

/* The set as the kernel takes it in xps_cpus, at least @group_count groups; the caller frees it. */
char *nr_irq_mask_print(const struct np_bitmap *set, unsigned group_count);

/* proc/irq/N/FILE, and the xps_cpus of transmit queue N. Return @buf. */
const char *nr_irq_path(char buf[NR_IRQ_PATH_SIZE], unsigned irq, const char *file);
const char *nr_irq_xps_path(char buf[NR_IRQ_PATH_SIZE], const char *device, unsigned queue);

/*
 * Read sets afresh into *ret: where an interrupt may go, where it goes (*ret_found false where the
 * kernel does not tell: without CONFIG_GENERIC_IRQ_EFFECTIVE_AFF_MASK), and who sends through a
 * queue (and the groups of its mask in *ret_group_count).
 */
int nr_irq_read_affinity(const struct np_sysroot *root, unsigned irq, struct np_bitmap *ret,
                         struct np_error *err);
int nr_irq_read_effective(const struct np_sysroot *root, unsigned irq, struct np_bitmap *ret,
                          bool *ret_found, struct np_error *err);
int nr_irq_read_xps(const struct np_sysroot *root, const char *device, unsigned queue,
                    struct np_bitmap *ret, unsigned *ret_group_count, struct np_error *err);

/* Write them. *ret_opened tells an order that the kernel refused from a file we may not write. */
int nr_irq_write_affinity(const struct np_sysroot *root, unsigned irq, const struct np_bitmap *cpus,
                          bool *ret_opened, struct np_error *err);
int nr_irq_write_xps(const struct np_sysroot *root, const char *device,
                     const struct nr_irq_xps *queue, const struct np_bitmap *cpus,
                     struct np_error *err);

/* The error @code of writing a file, with the remedy where there is one. */
int nr_irq_write_failed(const struct np_sysroot *root, const char *path, int code,
                        struct np_error *err);

/* Is the interrupt still there and of the same name? Numbers are used again. */
bool nr_irq_is_same(const struct np_sysroot *root, const char *device, const struct nr_irq *irq);

/*
 * Puts back every interrupt and queue. What is neither as it was nor as we set it has been changed
 * by somebody else and is left, unless @force: then whatever was written is put back.
 */
void nr_irq_put_back(const struct np_sysroot *root, const struct nr_irq_steering *steering,
                     bool force, struct nr_irq_report *report);

/* Removes the state file. */
int nr_irq_remove_state(struct nr_irq_steering *steering, struct np_error *err);

/* A state directory, which nobody else uses while it is open. */
struct nr_irq_store {
	int fd;
	int lock_fd;
	const char *path; /* borrowed */
};

/*
 * Opens it and waits for others to leave it; with @make it and its lock are made when absent.
 *
 *   -ENOENT  there is none, and it is not to be made
 *   other    of mkdir(2), open(2) and flock(2)
 */
int nr_irq_store_open(const char *path, bool make, struct nr_irq_store *ret, struct np_error *err);
void nr_irq_store_close(struct nr_irq_store *store);

/* Writes the steering's state file, whole or not at all; its name goes to steering->state_file. */
int nr_irq_store_save(const struct nr_irq_store *store, struct nr_irq_steering *steering,
                      struct np_error *err);

/*
 * Goes through all state files: dead holders' are put back and removed, living ones' and damaged
 * ones are left and noted. With a @device only its files; then a living holder is -EBUSY.
 */
int nr_irq_store_repair(const struct nr_irq_store *store, const struct np_sysroot *root,
                        const char *device, struct nr_irq_report *report, struct np_error *err);

/* Reads a state file into *ret, which the caller releases. -EINVAL: damaged, err names the line. */
int nr_irq_state_read(const struct nr_irq_store *store, const char *name,
                      struct nr_irq_steering *ret, struct np_error *err);

/* The text of a state file; the caller frees it. NULL when memory runs out. */
char *nr_irq_state_print(const struct nr_irq_steering *steering);

#endif
