/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of an auth file, and whether one of them is what somebody says. Pure. */
#include "memcache.h"

/* How long it takes tells nothing of where they differ. */
static unsigned difference(struct ns_span known, struct ns_span given)
{
	unsigned difference = known.len != given.len;

	for (size_t i = 0; i < given.len; i++) {
		unsigned char byte = i < known.len ? (unsigned char)known.bytes[i] : 0;

		difference |= byte ^ (unsigned char)given.bytes[i];
	}
	return difference;
}

bool ns_memcache_knows(const char *file, struct ns_span user, struct ns_span password)
{
	bool is_known = false;

	while (*file != '\0') {
		size_t len = strcspn(file, "\n");
		size_t text = len > 0 && file[len - 1] == '\r' ? len - 1 : len;
		const char *colon = memchr(file, ':', text);

		if (colon != NULL && text > 0) {
			struct ns_span name = { file, (size_t)(colon - file) };
			struct ns_span secret = { colon + 1, text - name.len - 1 };
			unsigned wrong = difference(name, user) | difference(secret, password);

			is_known |= (wrong == 0) & (name.len > 0);
		}
		file += len + (file[len] == '\n');
	}
	return is_known;
}
