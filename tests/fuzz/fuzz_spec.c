/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device names as a user gives them, for a host that is not this one. What is accepted must be one
 * part of a path.
 */
#include "fuzz.h"

#include "../../probe/lib/device_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const int codes[] = { EINVAL, 0 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct np_device_spec spec = { 0 };
	struct np_error err = { 0 };
	char *text = fuzz_text(data, size);
	int rc = np_device_spec_parse(text, false, &spec, &err);

	fuzz_check(rc, &err, codes);
	if (rc < 0 && (spec.name || spec.entry))
		fuzz_fail("refused, but filled", text);
	if (rc == 0) {
		if (!*spec.entry || strchr(spec.entry, '/') || strcmp(spec.entry, ".") == 0 ||
		    strcmp(spec.entry, "..") == 0)
			fuzz_fail("an entry that is no name", spec.entry);
		if (!*spec.name || strncmp(spec.dir, "sys/", 4) != 0)
			fuzz_fail("no name, or a folder outside sys", spec.dir);
	}
	np_device_spec_release(&spec);
	free(text);
	return 0;
}
