/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the rest of a machine tells that explains why something cannot be counted there: processor
 * flags, kernel modules, and what this process may do.
 */
#ifndef NC_MACHINE_H
#define NC_MACHINE_H

#include "../../probe/base/sysroot.h"

enum nc_flag {
	NC_FLAG_UNKNOWN, /* proc/cpuinfo has no line of flags: Arm, POWER, or none at all */
	NC_FLAG_ABSENT,
	NC_FLAG_PRESENT,
};

/* Whether the first processor of proc/cpuinfo has the x86 flag. */
enum nc_flag nc_machine_flag(const struct np_sysroot *root, const char *flag);

/* True under a hypervisor, as far as processor flags (x86) or the firmware's tree (Arm) tell. */
bool nc_machine_is_virtual(const struct np_sysroot *root);

/* Whether @word stands in a file, alone between white space. False when there is no such file. */
bool nc_machine_has_word(const struct np_sysroot *root, const char *path, const char *word);

enum nc_module {
	NC_MODULE_NOT_LOADED,
	NC_MODULE_LOADED,
	NC_MODULE_BUILT_IN, /* lib/modules/RELEASE/modules.builtin */
};

/* @name as proc/modules has it, with underscores. */
enum nc_module nc_machine_module(const struct np_sysroot *root, const char *name);

/* What decides whether perf_event_open(2) is permitted. */
struct nc_rights {
	bool has_paranoid;      /* proc/sys/kernel/perf_event_paranoid is there */
	long paranoid;          /* its value */
	bool is_capable;        /* CAP_PERFMON or CAP_SYS_ADMIN is effective */
	bool knows_perfmon;     /* the kernel has CAP_PERFMON (Linux 5.8) */
	bool is_filtered;       /* by seccomp */
	bool in_user_namespace; /* not the first one: capabilities do not count for perf */
	char lockdown[32];      /* "integrity", "confidentiality"; "" = none */
};

void nc_machine_rights(const struct np_sysroot *root, struct nc_rights *ret);

/*
 * Makes a fresh text of what a file says now, at most @size - 1 bytes, with a NUL behind it and no
 * newline at the end. Its length, or -errno of pread(2).
 */
int nc_machine_pread(int fd, char *buf, size_t size);

/* A decimal number that is all of @text; false for anything else. */
bool nc_machine_u64(const char *text, uint64_t *ret);

#endif
