/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NC_NOTIFY_H
#define NC_NOTIFY_H

#include <numaprobe/error.h>

/*
 * Tells systemd that the service is ready (sd_notify(3)); nothing where it did not ask to be told,
 * by NOTIFY_SOCKET.
 */
int nc_notify_ready(struct np_error *err);

#endif
