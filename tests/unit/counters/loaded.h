/* SPDX-License-Identifier: BSD-3-Clause */
/* A host to count on, as it is loaded. */
#ifndef LOADED_H
#define LOADED_H

#include "check.h"

#include <numacount/host.h>

/* The host of that root, NULL for this machine, or the test fails; end with nc_host_free(). */
static inline struct nc_host *load(const char *root)
{
	const struct nc_host_source from = { .root = root };
	struct nc_host *host = NULL;
	struct np_error err = { 0 };

	assert_np_ok(nc_host_load(&from, &host, &err), &err);
	return host;
}

#endif
