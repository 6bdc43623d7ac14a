/* SPDX-License-Identifier: BSD-3-Clause */
#include "libpfm4.h"

#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stddef.h>

/* Its name and its binary interface: API 4.0 since 2010. */
#define LIBRARY "libpfm.so.4"

void nc_libpfm4_open(struct nc_libpfm4 *ret)
{
	pfm_err_t (*initialize)(void);

	*ret = (struct nc_libpfm4){ 0 };
	/*
	 * It stays loaded once it was: it has memory that only pfm_terminate() would free, which
	 * others in this process may not survive.
	 */
	ret->handle = dlopen(LIBRARY, RTLD_LOCAL | RTLD_LAZY | RTLD_NODELETE);
	if (!ret->handle)
		return;
	*(void **)&initialize = dlsym(ret->handle, "pfm_initialize");
	*(void **)&ret->encode = dlsym(ret->handle, "pfm_get_os_event_encoding");
	if (!initialize || !ret->encode || initialize() != PFM_SUCCESS)
		nc_libpfm4_close(ret);
}

void nc_libpfm4_close(struct nc_libpfm4 *pfm)
{
	if (pfm->handle)
		dlclose(pfm->handle);
	*pfm = (struct nc_libpfm4){ 0 };
}

bool nc_libpfm4_encode(const struct nc_libpfm4 *pfm, const char *event,
                       uint64_t ret_config[NC_LIBPFM4_CONFIGS])
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	pfm_perf_encode_arg_t arg = { .attr = &attr, .size = sizeof(arg), .cpu = -1 };

	if (!pfm->handle)
		return false;
	/* PFM_OS_PERF_EVENT: the raw code, without modifiers of perf's own in the name. */
	if (pfm->encode(event, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) != PFM_SUCCESS)
		return false;
	ret_config[0] = attr.config;
	ret_config[1] = attr.config1;
	ret_config[2] = attr.config2;
	return true;
}
