/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of the slot registry, which any user of the host may write. The input is one, under the
 * name of process 4711.
 */
#include "fuzz.h"
#include "tree.h"

#include "../../launcher/lib/record.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NAME "run-4711-88123-0"

static const int codes[] = { EINVAL, 0 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nr_holder holder = { 0 };
	struct np_error err = { 0 };
	int dir = open(tree_root(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc;

	tree_put(NAME, (const char *)data, size);
	rc = nr_record_read(dir, NAME, &holder, &err);
	fuzz_check(rc, &err, codes);
	if (rc == 0 &&
	    (np_bitmap_is_empty(&holder.cpus) || holder.pid != 4711 || holder.start_ticks != 88123))
		fuzz_fail("not the record of its name", holder.program);
	if (rc == 0 && !memchr(holder.program, '\0', sizeof(holder.program)))
		fuzz_fail("a name without an end", "");
	np_bitmap_release(&holder.cpus);
	close(dir);
	return 0;
}
