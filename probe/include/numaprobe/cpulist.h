/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of CPUs and nodes as text: the kernel's list form "0-7,16" (cpulist_parse(), Documentation/
 * admin-guide/kernel-parameters.rst) and its hex mask form "f,0000ff01" (sysfs cpumap files).
 */
#ifndef NUMAPROBE_CPULIST_H
#define NUMAPROBE_CPULIST_H

#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parses the list @text and adds its members to *ret. White space at the ends and an empty text (an
 * empty set) are lawful; so is what older kernels print, a range with its ends equal.
 *
 *   -EINVAL  not a list; err quotes it and says where it went wrong. *ret may hold a part of it.
 *   -ENOMEM
 */
int np_cpulist_parse(const char *text, struct np_bitmap *ret, struct np_error *err);

/* The same for a mask: comma-separated groups of up to 8 hex digits, most significant first. */
int np_cpumask_parse(const char *text, struct np_bitmap *ret, struct np_error *err);

/*
 * The set as a list in a new string, "" for the empty set; the caller frees it. NULL when memory
 * runs out.
 */
char *np_cpulist_print(const struct np_bitmap *set);

/* "CPU 5", "CPUs 5-7": @noun, with an s for more than one, and the list as below. Returns @buf. */
const char *np_cpulist_named(const char *noun, const struct np_bitmap *set, char *buf, size_t size);

/* The list in the caller's buffer, for messages: one that does not fit ends in "...". Returns it.
 */
const char *np_cpulist_brief(const struct np_bitmap *set, char *buf, size_t size);

#ifdef __cplusplus
}
#endif

#endif
