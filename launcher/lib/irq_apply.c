/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steers and reads back. Nothing is written before the state file is on disk.
 */
#include "irq_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- steering ---- */

/* Managed interrupts: EIO up to Linux 6.9, EPERM from then on, both after the file was opened. */
static bool is_managed(int rc, bool opened)
{
	return opened && (rc == -EIO || rc == -EPERM);
}

/*
 * Where an order stands that was found in place: @effective_before is where the interrupt went when
 * the order was given, or when it was last seen pending.
 */
static enum nr_irq_result result_of(const struct nr_irq *irq,
                                    const struct np_bitmap *effective_before, bool may_be_pending)
{
	/* One that is not in use at the moment goes nowhere. */
	if (np_bitmap_is_empty(&irq->effective))
		return NR_IRQ_PENDING;
	if (np_bitmap_is_subset(&irq->effective, &irq->cpus))
		return NR_IRQ_STEERED;
	if (may_be_pending && np_bitmap_equal(&irq->effective, effective_before))
		return NR_IRQ_PENDING;
	return NR_IRQ_MOVED;
}

/* Reads an interrupt that was steered again, and what became of it. */
static int look(const struct np_sysroot *root, struct nr_irq *irq, bool may_be_pending,
                struct np_error *err)
{
	struct np_bitmap effective = { 0 };
	struct np_bitmap before;
	bool told = false;
	int rc = nr_irq_read_affinity(root, irq->irq, &irq->now, err);

	if (rc == 0)
		rc = nr_irq_read_effective(root, irq->irq, &effective, &told, err);
	if (rc < 0)
		return rc;
	before = irq->effective;
	irq->effective = effective;
	if (!np_bitmap_equal(&irq->now, &irq->cpus))
		irq->result = NR_IRQ_MOVED;
	else if (!told)
		irq->result = NR_IRQ_UNTOLD;
	else
		irq->result = result_of(irq, &before, may_be_pending);
	np_bitmap_release(&before);
	return 0;
}

static int refuse_moved(const struct nr_irq *irq, struct np_error *err)
{
	char wanted[NR_IRQ_LIST_SIZE];
	char got[NR_IRQ_LIST_SIZE];
	bool is_kept = np_bitmap_equal(&irq->now, &irq->cpus);

	return np_error_set(
		err, EXDEV, "interrupt %u (%s): asked for %s, the kernel %s %s", irq->irq,
		irq->name, np_cpulist_named("CPU", &irq->cpus, wanted, sizeof(wanted)),
		is_kept ? "delivers it to" : "kept",
		np_cpulist_brief(is_kept ? &irq->effective : &irq->now, got, sizeof(got)));
}

static int steer_interrupt(const struct np_sysroot *root, struct nr_irq *irq, struct np_error *err)
{
	struct np_error why = { 0 };
	bool opened;
	int rc = nr_irq_write_affinity(root, irq->irq, &irq->cpus, &opened, &why);

	if (is_managed(rc, opened)) {
		irq->result = NR_IRQ_MANAGED;
		return 0;
	}
	irq->is_written = opened;
	if (rc < 0) {
		if (err)
			*err = why;
		return rc;
	}
	rc = look(root, irq, true, err);
	return rc == 0 && irq->result == NR_IRQ_MOVED ? refuse_moved(irq, err) : rc;
}

static int steer_queue(const struct np_sysroot *root, const char *device, struct nr_irq_xps *queue,
                       struct np_error *err)
{
	struct np_bitmap now = { 0 };
	unsigned group_count;
	int rc;

	queue->is_written = true;
	rc = nr_irq_write_xps(root, device, queue, &queue->cpus, err);
	if (rc == 0)
		rc = nr_irq_read_xps(root, device, queue->queue, &now, &group_count, err);
	if (rc == 0 && !np_bitmap_equal(&now, &queue->cpus)) {
		char wanted[NR_IRQ_LIST_SIZE];
		char got[NR_IRQ_LIST_SIZE];

		rc = np_error_set(err, EXDEV,
		                  "%s: transmit queue %u: asked for %s, the kernel kept %s", device,
		                  queue->queue,
		                  np_cpulist_named("CPU", &queue->cpus, wanted, sizeof(wanted)),
		                  np_cpulist_brief(&now, got, sizeof(got)));
	}
	np_bitmap_release(&now);
	return rc;
}

static int count_managed(struct nr_irq_steering *steering, struct np_error *err)
{
	unsigned managed = 0;
	unsigned wanted = 0;

	for (size_t i = 0; i < steering->irq_count; i++) {
		wanted += steering->irqs[i].is_wanted;
		managed += steering->irqs[i].result == NR_IRQ_MANAGED;
	}
	if (managed == 0)
		return 0;
	if (managed == wanted)
		return np_error_set(err, ENOTSUP,
		                    "%s: the kernel manages the CPUs of all its %u interrupts "
		                    "itself and takes no orders: run without --irq",
		                    steering->device, managed);
	nr_irq_note(&steering->notes,
	            "%s: the kernel manages %u of its %u interrupts itself, they stay where they "
	            "are",
	            steering->device, managed, wanted);
	return 0;
}

static int steer(const struct np_sysroot *root, struct nr_irq_steering *steering,
                 struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < steering->irq_count && rc == 0; i++)
		if (steering->irqs[i].is_wanted)
			rc = steer_interrupt(root, &steering->irqs[i], err);
	if (rc == 0)
		rc = count_managed(steering, err);
	for (size_t i = 0; i < steering->queue_count && rc == 0; i++)
		rc = steer_queue(root, steering->device, &steering->queues[i], err);
	return rc;
}

/* ---- what is so before ---- */

/* Queues whose mask cannot be read, as those that a card has but does not use, are left out. */
static int read_queues_before(const struct np_sysroot *root, struct nr_irq_steering *steering,
                              struct np_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < steering->queue_count; i++) {
		struct nr_irq_xps queue = steering->queues[i];
		struct np_error why = { 0 };
		int rc = nr_irq_read_xps(root, steering->device, queue.queue, &queue.before,
		                         &queue.group_count, &why);

		if (rc < 0 && rc != -ENOENT) {
			if (err)
				*err = why;
			return rc;
		}
		steering->queues[i] = steering->queues[kept];
		steering->queues[kept] = queue;
		kept += rc == 0;
	}
	for (size_t i = kept; i < steering->queue_count; i++) {
		np_bitmap_release(&steering->queues[i].cpus);
		np_bitmap_release(&steering->queues[i].before);
	}
	steering->queue_count = kept;
	return 0;
}

static int read_before(const struct np_sysroot *root, struct nr_irq_steering *steering,
                       struct np_error *err)
{
	bool found;
	int rc = 0;

	for (size_t i = 0; i < steering->irq_count && rc == 0; i++) {
		struct nr_irq *irq = &steering->irqs[i];

		rc = nr_irq_read_affinity(root, irq->irq, &irq->before, err);
		if (rc == 0)
			rc = nr_irq_read_effective(root, irq->irq, &irq->effective, &found, err);
	}
	return rc < 0 ? rc : read_queues_before(root, steering, err);
}

/* ---- all of it ---- */

/* Before anything is written: may we? */
static int check_privilege(const struct np_sysroot *root, const struct nr_irq_steering *steering,
                           struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];

	for (size_t i = 0; i < steering->irq_count; i++) {
		int fd;

		if (!steering->irqs[i].is_wanted)
			continue;
		nr_irq_path(path, steering->irqs[i].irq, "smp_affinity_list");
		fd = openat(root->fd, path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			return nr_irq_write_failed(root, path, errno, err);
		close(fd);
		break;
	}
	return 0;
}

/* Makes sure that nobody else steers this card, and writes down what is so before. */
static int save(const struct np_sysroot *root, struct nr_irq_steering *steering,
                struct np_error *err)
{
	struct nr_irq_report left = { 0 };
	struct nr_irq_store store;
	int rc = nr_irq_store_open(steering->state_dir, true, &store, err);

	if (rc < 0)
		return rc;
	rc = nr_irq_store_repair(&store, root, steering->device, &left, err);
	for (size_t i = 0; i < left.notes.count; i++)
		nr_irq_note(&steering->notes, "%s", left.notes.lines[i]);
	if (rc == 0 && left.failed_count > 0)
		rc = np_error_set(err, EXDEV,
		                  "%s: what a killed run has left could not be put back (%s)",
		                  steering->device, left.notes.lines ? left.notes.lines[0] : "");
	if (rc == 0)
		rc = read_before(root, steering, err);
	if (rc == 0)
		rc = nr_irq_store_save(&store, steering, err);
	nr_irq_store_close(&store);
	nr_irq_report_release(&left);
	return rc;
}

/* Puts back after a failure whose reason is in *err, which is kept. */
static void undo(const struct np_sysroot *root, struct nr_irq_steering *steering, int code,
                 struct np_error *err)
{
	struct nr_irq_report report = { 0 };

	nr_irq_put_back(root, steering, true, &report);
	if (report.failed_count == 0)
		nr_irq_remove_state(steering, NULL);
	else if (err)
		np_error_wrap(err, code,
		              "%u settings could not be put back (%s/%s keeps them, see "
		              "--irq-restore)",
		              report.failed_count, steering->state_dir, steering->state_file);
	free(steering->state_file);
	steering->state_file = NULL;
	for (size_t i = 0; i < steering->irq_count; i++)
		steering->irqs[i].result = NR_IRQ_UNTOUCHED;
	nr_irq_report_release(&report);
}

int nr_irq_apply(struct nr_irq_steering *steering, struct np_error *err)
{
	struct np_sysroot root;
	int rc = np_sysroot_open(steering->root, &root, err);

	if (rc < 0)
		return rc;
	rc = check_privilege(&root, steering, err);
	if (rc == 0)
		rc = save(&root, steering, err);
	if (rc == 0) {
		rc = steer(&root, steering, err);
		if (rc < 0)
			undo(&root, steering, rc, err);
	}
	np_sysroot_close(&root);
	return rc;
}

int nr_irq_verify(struct nr_irq_steering *steering, struct np_error *err)
{
	struct np_sysroot root;
	int away = 0;
	int rc = np_sysroot_open(steering->root, &root, err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < steering->irq_count && rc == 0; i++) {
		struct nr_irq *irq = &steering->irqs[i];

		if (irq->result == NR_IRQ_UNTOUCHED || irq->result == NR_IRQ_MANAGED)
			continue;
		if (nr_irq_is_same(&root, steering->device, irq))
			rc = look(&root, irq, irq->result == NR_IRQ_PENDING, err);
		else
			irq->result = NR_IRQ_GONE;
		away += irq->result == NR_IRQ_MOVED || irq->result == NR_IRQ_GONE;
	}
	np_sysroot_close(&root);
	return rc < 0 ? rc : away;
}
