/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of the kernel that steer: reading, writing, and what their errors mean.
 */
#include "irq_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *nr_irq_path(char buf[NR_IRQ_PATH_SIZE], unsigned irq, const char *file)
{
	snprintf(buf, NR_IRQ_PATH_SIZE, "proc/irq/%u/%s", irq, file);
	return buf;
}

const char *nr_irq_xps_path(char buf[NR_IRQ_PATH_SIZE], const char *device, unsigned queue)
{
	snprintf(buf, NR_IRQ_PATH_SIZE, NR_IRQ_NET_DIR "/%s/queues/tx-%u/xps_cpus", device, queue);
	return buf;
}

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "interrupts");
}

/* ---- writing ---- */

/* Writes @text at once, as the kernel wants it; the result is -errno. */
static int write_file(const struct np_sysroot *root, const char *path, const char *text,
                      bool *ret_opened)
{
	size_t len = strlen(text);
	/* The kernel ignores O_TRUNC here; a plain file in a made-up root needs it. */
	int fd = openat(root->fd, path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t written;
	int code;

	*ret_opened = fd >= 0;
	if (fd < 0)
		return -errno;
	do
		written = write(fd, text, len);
	while (written < 0 && errno == EINTR);
	code = written < 0 ? errno : written < (ssize_t)len ? EIO : 0;
	if (close(fd) < 0 && code == 0)
		code = errno;
	return -code;
}

int nr_irq_write_failed(const struct np_sysroot *root, const char *path, int code,
                        struct np_error *err)
{
	switch (code) {
	case EACCES:
	case EPERM:
		return np_error_set(err, code,
		                    "%s/%s: %s: steering interrupts needs root (CAP_DAC_OVERRIDE "
		                    "for them, CAP_NET_ADMIN for XPS)",
		                    root->path, path, strerrordesc_np(code));
	case EROFS:
		return np_error_set(err, code,
		                    "%s/%s: it is mounted read-only, as in most containers: steer "
		                    "the interrupts from the host",
		                    root->path, path);
	case ENOSPC:
		return np_error_set(err, code,
		                    "%s/%s: the CPU has no interrupt vector left: choose more CPUs",
		                    root->path, path);
	default:
		return np_error_sys(err, code, "%s/%s", root->path, path);
	}
}

int nr_irq_write_affinity(const struct np_sysroot *root, unsigned irq, const struct np_bitmap *cpus,
                          bool *ret_opened, struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];
	char *list = np_cpulist_print(cpus);
	int rc;

	*ret_opened = false;
	if (!list)
		return no_memory(err);
	rc = write_file(root, nr_irq_path(path, irq, "smp_affinity_list"), list, ret_opened);
	free(list);
	return rc < 0 ? nr_irq_write_failed(root, path, -rc, err) : 0;
}

int nr_irq_write_xps(const struct np_sysroot *root, const char *device,
                     const struct nr_irq_xps *queue, const struct np_bitmap *cpus,
                     struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];
	char *mask = nr_irq_mask_print(cpus, queue->group_count);
	bool opened;
	int rc;

	if (!mask)
		return no_memory(err);
	rc = write_file(root, nr_irq_xps_path(path, device, queue->queue), mask, &opened);
	free(mask);
	return rc < 0 ? nr_irq_write_failed(root, path, -rc, err) : 0;
}

/* ---- reading ---- */

int nr_irq_read_affinity(const struct np_sysroot *root, unsigned irq, struct np_bitmap *ret,
                         struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];

	np_bitmap_release(ret);
	return np_sysroot_read_list(root, nr_irq_path(path, irq, "smp_affinity_list"), ret, err);
}

int nr_irq_read_effective(const struct np_sysroot *root, unsigned irq, struct np_bitmap *ret,
                          bool *ret_found, struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];

	np_bitmap_release(ret);
	return np_sysroot_read_list_optional(
		root, nr_irq_path(path, irq, "effective_affinity_list"), ret, ret_found, err);
}

int nr_irq_read_xps(const struct np_sysroot *root, const char *device, unsigned queue,
                    struct np_bitmap *ret, unsigned *ret_group_count, struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];
	char *text;
	int rc = np_sysroot_read(root, nr_irq_xps_path(path, device, queue), &text, err);

	if (rc < 0)
		return rc;
	np_bitmap_release(ret);
	rc = np_cpumask_parse(text, ret, err);
	if (rc < 0)
		np_error_wrap(err, rc, "%s/%s", root->path, path);
	*ret_group_count = 1;
	for (const char *c = text; *c; c++)
		*ret_group_count += *c == ',';
	free(text);
	return rc;
}

bool nr_irq_is_same(const struct np_sysroot *root, const char *device, const struct nr_irq *irq)
{
	char path[NR_IRQ_PATH_SIZE];
	char *name = NULL;
	bool same;

	/* Its folder is there: the usual case, and the cheap one. */
	if (!strchr(irq->name, '/') && strlen(irq->name) < NR_IRQ_PATH_SIZE / 2 &&
	    np_sysroot_has(root, nr_irq_path(path, irq->irq, irq->name)))
		return true;
	same = nr_irq_name_read(root, irq->irq, device, &name, NULL) == 0 && name &&
	       strcmp(name, irq->name) == 0;
	free(name);
	return same;
}
