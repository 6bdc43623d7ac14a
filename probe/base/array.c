/* SPDX-License-Identifier: BSD-3-Clause */
#include "array.h"

#include <errno.h>
#include <stdlib.h>

int np_array_grow(void **items, size_t count, size_t size)
{
	void *grown;

	if (count & (count - 1))
		return 0;
	grown = realloc(*items, (count ? 2 * count : 1) * size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	return 0;
}
