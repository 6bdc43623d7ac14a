/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NC_NOTIFY_H
#define NC_NOTIFY_H

#include <numaprobe/error.h>

/* Sends what sd_notify(3) would, as "STOPPING=1"; several of them are apart by newlines. Else as below. */
int nc_notify(const char *message, struct np_error *err);

/*
 * Tells systemd that the service is ready (sd_notify(3)); nothing where it did not ask to be told,
 * by NOTIFY_SOCKET.
 */
int nc_notify_ready(struct np_error *err);

#endif
