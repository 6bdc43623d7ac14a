/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Puts back: what this run has changed, and what runs have left that were killed.
 */
#include "irq_parts.h"
#include "process.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "irq-"

/* ---- putting back ---- */

static void note_failure(struct nr_irq_report *report, const struct np_error *why)
{
	report->failed_count++;
	nr_irq_note(&report->notes, "not put back: %s", why->text);
}

static void put_back_interrupt(const struct np_sysroot *root, const struct nr_irq *irq, bool force,
                               struct nr_irq_report *report)
{
	struct np_bitmap now = { 0 };
	struct np_error why = { 0 };
	char list[NR_IRQ_LIST_SIZE];
	bool opened;
	bool must = force && irq->is_written;
	int rc = must ? 0 : nr_irq_read_affinity(root, irq->irq, &now, &why);

	if (rc < 0) {
		note_failure(report, &why);
	} else if (!must && np_bitmap_equal(&now, &irq->before)) {
		/* Already so: it was not reached, or is managed, or somebody was faster. */
	} else if (!must && !np_bitmap_equal(&now, &irq->cpus)) {
		report->left_count++;
		nr_irq_note(&report->notes,
		            "interrupt %u (%s): left at %s, where somebody else has put it since",
		            irq->irq, irq->name, np_cpulist_named("CPU", &now, list, sizeof(list)));
	} else {
		rc = nr_irq_write_affinity(root, irq->irq, &irq->before, &opened, &why);
		if (rc < 0)
			note_failure(report, &why);
		else
			report->restored_count++;
	}
	np_bitmap_release(&now);
}

static void put_back_queue(const struct np_sysroot *root, const char *device,
                           const struct nr_irq_xps *queue, bool force, struct nr_irq_report *report)
{
	struct np_bitmap now = { 0 };
	struct np_error why = { 0 };
	char list[NR_IRQ_LIST_SIZE];
	unsigned group_count;
	bool must = force && queue->is_written;
	int rc = must ? 0 : nr_irq_read_xps(root, device, queue->queue, &now, &group_count, &why);

	if (rc == -ENOENT) {
		report->gone_count++;
	} else if (rc < 0) {
		note_failure(report, &why);
	} else if (!must && np_bitmap_equal(&now, &queue->before)) {
		/* Already so. */
	} else if (!must && !np_bitmap_equal(&now, &queue->cpus)) {
		report->left_count++;
		nr_irq_note(
			&report->notes,
			"%s: transmit queue %u: left at CPUs '%s', which somebody else has set since",
			device, queue->queue, np_cpulist_brief(&now, list, sizeof(list)));
	} else {
		rc = nr_irq_write_xps(root, device, queue, &queue->before, &why);
		if (rc < 0)
			note_failure(report, &why);
		else
			report->restored_count++;
	}
	np_bitmap_release(&now);
}

void nr_irq_put_back(const struct np_sysroot *root, const struct nr_irq_steering *steering,
                     bool force, struct nr_irq_report *report)
{
	unsigned gone_before = report->gone_count;

	for (size_t i = 0; i < steering->irq_count; i++) {
		const struct nr_irq *irq = &steering->irqs[i];

		if (!irq->is_wanted || irq->result == NR_IRQ_MANAGED)
			continue;
		if (nr_irq_is_same(root, steering->device, irq))
			put_back_interrupt(root, irq, force, report);
		else
			report->gone_count++;
	}
	for (size_t i = 0; i < steering->queue_count; i++)
		put_back_queue(root, steering->device, &steering->queues[i], force, report);
	if (report->gone_count > gone_before)
		nr_irq_note(&report->notes,
		            "%s: %u interrupts and queues are no longer there: passed over",
		            steering->device, report->gone_count - gone_before);
}

int nr_irq_remove_state(struct nr_irq_steering *steering, struct np_error *err)
{
	char *path = NULL;
	int rc = 0;

	if (asprintf(&path, "%s/%s", steering->state_dir, steering->state_file) < 0)
		return np_error_sys(err, ENOMEM, "interrupts");
	if (unlink(path) < 0 && errno != ENOENT)
		rc = np_error_sys(err, errno, "remove %s", path);
	free(path);
	free(steering->state_file);
	steering->state_file = NULL;
	return rc;
}

int nr_irq_restore(struct nr_irq_steering *steering, struct nr_irq_report *report,
                   struct np_error *err)
{
	unsigned failed_before = report->failed_count;
	struct np_sysroot root;
	int rc;

	if (!steering->state_file)
		return 0;
	rc = np_sysroot_open(steering->root, &root, err);
	if (rc < 0)
		return rc;
	nr_irq_put_back(&root, steering, false, report);
	np_sysroot_close(&root);
	if (report->failed_count > failed_before)
		return np_error_set(err, EXDEV,
		                    "%s: %u settings could not be put back, %s/%s keeps them: try "
		                    "numarun --irq-restore",
		                    steering->device, report->failed_count - failed_before,
		                    steering->state_dir, steering->state_file);
	return nr_irq_remove_state(steering, err);
}

/* ---- what others have left ---- */

/* A holder whose state cannot be told counts as living: its interrupts are not touched. */
static bool holder_lives(const struct np_sysroot *root, const struct nr_irq_steering *steering)
{
	struct nr_process holder;
	int rc = nr_process_read(root, steering->holder, &holder, NULL);

	return rc == 0 ? holder.start_ticks == steering->holder_start_ticks &&
	                         !nr_process_is_zombie(&holder)
	               : rc != -ESRCH;
}

static void repair(const struct nr_irq_store *store, const struct np_sysroot *root,
                   const char *name, const struct nr_irq_steering *steering,
                   struct nr_irq_report *report)
{
	unsigned failed_before = report->failed_count;
	unsigned restored_before = report->restored_count;

	nr_irq_put_back(root, steering, false, report);
	if (report->failed_count > failed_before) {
		nr_irq_note(&report->notes, "%s: %u settings could not be put back; %s/%s stays",
		            steering->device, report->failed_count - failed_before, store->path,
		            name);
		return;
	}
	if (unlinkat(store->fd, name, 0) < 0 && errno != ENOENT) {
		report->failed_count++;
		nr_irq_note(&report->notes, "remove %s/%s: %s", store->path, name,
		            strerrordesc_np(errno));
		return;
	}
	nr_irq_note(&report->notes, "%s: put back %u settings that process %d had left",
	            steering->device, report->restored_count - restored_before,
	            (int)steering->holder);
}

/* One state file; -EBUSY when only @device's are meant and its holder lives. */
static int repair_file(const struct nr_irq_store *store, const struct np_sysroot *root,
                       const char *name, const char *device, struct nr_irq_report *report,
                       struct np_error *err)
{
	struct nr_irq_steering steering = { 0 };
	struct np_error why = { 0 };
	int rc = nr_irq_state_read(store, name, &steering, &why);

	/* Its holder has just removed it. */
	if (rc == -ENOENT)
		return 0;
	if (rc == -ENOMEM) {
		if (err)
			*err = why;
		return rc;
	}
	if (rc < 0) {
		report->damaged_count++;
		nr_irq_note(&report->notes, "%s; left as it is: remove it by hand", why.text);
		return 0;
	}
	if (device && strcmp(steering.device, device) != 0) {
		rc = 0;
	} else if (!holder_lives(root, &steering)) {
		repair(store, root, name, &steering, report);
	} else if (device) {
		rc = np_error_set(err, EBUSY,
		                  "%s: process %d steers its interrupts already (%s/%s)", device,
		                  (int)steering.holder, store->path, name);
	} else {
		report->held_count++;
		nr_irq_note(&report->notes, "%s: process %d, which runs, steers it: left as it is",
		            steering.device, (int)steering.holder);
	}
	nr_irq_steering_release(&steering);
	return rc;
}

int nr_irq_store_repair(const struct nr_irq_store *store, const struct np_sysroot *root,
                        const char *device, struct nr_irq_report *report, struct np_error *err)
{
	struct np_sysroot dir = { .fd = store->fd, .path = store->path };
	char **names;
	int count = np_sysroot_list(&dir, ".", &names, err);
	int rc = 0;

	if (count < 0)
		return count;
	for (int i = 0; i < count && rc == 0; i++)
		if (strncmp(names[i], PREFIX, strlen(PREFIX)) == 0)
			rc = repair_file(store, root, names[i], device, report, err);
	free(names);
	return rc;
}

int nr_irq_restore_left(const struct nr_irq_site *site, struct nr_irq_report *report,
                        struct np_error *err)
{
	const char *path = site->state_dir ? site->state_dir : NR_IRQ_STATE_DIR;
	struct np_error why = { 0 };
	struct nr_irq_store store;
	struct np_sysroot root;
	int rc = np_sysroot_open(site->root, &root, err);

	if (rc < 0)
		return rc;
	rc = nr_irq_store_open(path, false, &store, &why);
	/* No directory or no lock: nobody has ever steered. */
	if (rc == -ENOENT) {
		np_sysroot_close(&root);
		return 0;
	}
	if (rc == -EACCES)
		np_error_wrap(&why, rc, "putting interrupts back needs root");
	if (rc == 0) {
		rc = nr_irq_store_repair(&store, &root, NULL, report, &why);
		nr_irq_store_close(&store);
	}
	np_sysroot_close(&root);
	if (rc == 0 && report->failed_count + report->damaged_count > 0)
		return np_error_set(err, EXDEV,
		                    "%u settings could not be put back, %u state files in %s are "
		                    "damaged",
		                    report->failed_count, report->damaged_count, path);
	if (rc < 0 && err)
		*err = why;
	return rc;
}
