/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <numaprobe/error.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef __clang_analyzer__
#undef np_error_set
#undef np_error_sys
#endif

/* Room to make a text in before it is made safe and, if need be, cut. */
enum { DRAFT_SIZE = 2 * NP_ERROR_TEXT_SIZE };

/*
 * Whatever stood in a file or was typed, the text stays one line and cannot steer a terminal; one
 * that was cut does not look whole.
 */
static int NP_PRINTF(4, 0)
	set_text(struct np_error *err, int code, const char *behind, const char *fmt, va_list args)
{
	char draft[DRAFT_SIZE];
	int used;

	if (!err)
		return -code;
	used = vsnprintf(draft, sizeof(draft), fmt, args);
	if (used >= 0 && used < DRAFT_SIZE && behind)
		snprintf(draft + used, sizeof(draft) - (size_t)used, ": %s", behind);
	np_error_quote(draft, err->text, sizeof(err->text));
	err->code = code;
	return -code;
}

int np_error_set(struct np_error *err, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_text(err, code, NULL, fmt, args);
	va_end(args);
	return -code;
}

int np_error_sys(struct np_error *err, int code, const char *fmt, ...)
{
	const char *why = strerrordesc_np(code);
	va_list args;

	va_start(args, fmt);
	set_text(err, code, why ? why : "unknown error", fmt, args);
	va_end(args);
	return -code;
}

int np_error_wrap(struct np_error *err, int rc, const char *fmt, ...)
{
	char inner[NP_ERROR_TEXT_SIZE];
	va_list args;

	if (!err)
		return rc;
	memcpy(inner, err->text, sizeof(inner));
	va_start(args, fmt);
	set_text(err, err->code, inner, fmt, args);
	va_end(args);
	return rc;
}

static bool is_plain(unsigned char c)
{
	return c >= 32 && c < 127;
}

static size_t quoted_length(const unsigned char *text)
{
	size_t length = 0;

	for (; *text; text++)
		length += is_plain(*text) ? 1 : 4;
	return length;
}

const char *np_error_quote(const char *text, char *buf, unsigned size)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *p = (const unsigned char *)text;
	bool fits = quoted_length(p) < size;
	size_t room = fits ? size : size - 3; /* for the dots, and the end */
	size_t used = 0;

	for (; *p && used + (is_plain(*p) ? 1 : 4) < room; p++) {
		if (is_plain(*p)) {
			buf[used++] = (char)*p;
			continue;
		}
		buf[used++] = '\\';
		buf[used++] = 'x';
		buf[used++] = hex[*p >> 4];
		buf[used++] = hex[*p & 15];
	}
	if (!fits) {
		memcpy(buf + used, "...", 3);
		used += 3;
	}
	buf[used] = '\0';
	return buf;
}
