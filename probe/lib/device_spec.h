/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device as the user names it (see numaprobe/locality.h), turned into a place in sysfs.
 */
#ifndef NP_DEVICE_SPEC_H
#define NP_DEVICE_SPEC_H

#include <numaprobe/locality.h>

struct np_device_spec {
	enum np_device_kind kind;
	char *name;      /* interface, disk or PCI address: how we call it; owned */
	const char *dir; /* "sys/class/net" */
	char *entry;     /* the entry there; owned */
};

/*
 * Parses @text. ip: and file: are looked up on this machine, so they need @live.
 *
 *   -EINVAL   not a device specification, or one of this machine asked of another
 *   -ENOENT   ip: no interface has that route; file: no such file
 *   -ENODEV   file: not on a block device
 *   -ENOMEM
 */
int np_device_spec_parse(const char *text, bool live, struct np_device_spec *ret,
                         struct np_error *err);
void np_device_spec_release(struct np_device_spec *spec);

#endif
