/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes as people write them. */
#ifndef NS_SIZE_H
#define NS_SIZE_H

#include <stdint.h>

enum { NS_SIZE_TEXT_MAX = 32 };

/* "2M", "256K", "1G", "100 bytes": exact, in the largest unit of 1024 that leaves no rest. Returns @buf. */
const char *ns_size_text(uint64_t bytes, char buf[NS_SIZE_TEXT_MAX]);

#endif
