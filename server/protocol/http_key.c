/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_key.h"

#include <errno.h>

static int fail(struct ns_http_fault *fault, unsigned status, const char *why)
{
	*fault = (struct ns_http_fault){ .status = status, .why = why };
	return -EPROTO;
}

static int digit_of(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte = (char)(byte | 0x20);
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

/* The byte at *at, which moves behind it; -1 for a bad %XX. */
static int decode(struct ns_http_text path, size_t *at)
{
	int high;
	int low;

	if (path.text[*at] != '%')
		return (unsigned char)path.text[(*at)++];
	if (path.len - *at < 3)
		return -1;
	high = digit_of(path.text[*at + 1]);
	low = digit_of(path.text[*at + 2]);
	*at += 3;
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static bool has_dots(const char *key, size_t len)
{
	size_t from = 0;

	for (size_t i = 0; i <= len; i++) {
		if (i < len && key[i] != '/')
			continue;
		if ((i - from == 1 || (i - from == 2 && key[from + 1] == '.')) && key[from] == '.')
			return true;
		from = i + 1;
	}
	return false;
}

int ns_http_key(struct ns_http_text path, char key[NS_KEY_MAX], size_t *ret_len,
                struct ns_http_fault *ret_fault)
{
	size_t len = 0;
	size_t at = 0;

	while (at < path.len) {
		int byte = decode(path, &at);

		if (byte < 0)
			return fail(ret_fault, 400, "% in the path without two hexadecimal digits");
		if (byte <= ' ' || byte == 0x7f)
			return fail(ret_fault, 400, "a blank or a control byte in the key");
		if (len == NS_KEY_MAX)
			return fail(ret_fault, 414, "the key is longer than 250 bytes");
		key[len++] = (char)byte;
	}
	if (has_dots(key, len))
		return fail(ret_fault, 400, "'.' or '..' between the slashes of the path");
	*ret_len = len;
	return 0;
}
