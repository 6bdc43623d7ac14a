/* SPDX-License-Identifier: BSD-3-Clause */
#include "size.h"

#include <inttypes.h>
#include <stdio.h>

const char *ns_size_text(uint64_t bytes, char buf[NS_SIZE_TEXT_MAX])
{
	static const char *const units[] = { " bytes", "K", "M", "G", "T" };
	unsigned unit = 0;

	while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < sizeof(units) / sizeof(units[0])) {
		bytes /= 1024;
		unit++;
	}
	(void)snprintf(buf, NS_SIZE_TEXT_MAX, "%" PRIu64 "%s", bytes, units[unit]);
	return buf;
}
