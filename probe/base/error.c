/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <numaprobe/error.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __clang_analyzer__
#undef np_error_set
#undef np_error_sys
#endif

/* A text that was cut must not look whole. */
static void mark_cut(struct np_error *err, int wanted)
{
	if (wanted >= (int)sizeof(err->text))
		memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

static int NP_PRINTF(3, 0) set_text(struct np_error *err, int code, const char *fmt, va_list args)
{
	int wanted;

	if (!err)
		return -code;
	err->code = code;
	wanted = vsnprintf(err->text, sizeof(err->text), fmt, args);
	mark_cut(err, wanted);
	return -code;
}

int np_error_set(struct np_error *err, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_text(err, code, fmt, args);
	va_end(args);
	return -code;
}

int np_error_sys(struct np_error *err, int code, const char *fmt, ...)
{
	const char *why = strerrordesc_np(code);
	va_list args;
	size_t len;

	if (!err)
		return -code;
	va_start(args, fmt);
	set_text(err, code, fmt, args);
	va_end(args);

	len = strlen(err->text);
	mark_cut(err, (int)len + snprintf(err->text + len, sizeof(err->text) - len, ": %s",
	                                  why ? why : "unknown error"));
	return -code;
}

int np_error_wrap(struct np_error *err, int rc, const char *fmt, ...)
{
	char inner[NP_ERROR_TEXT_SIZE];
	va_list args;
	size_t len;

	if (!err)
		return rc;
	memcpy(inner, err->text, sizeof(inner));
	va_start(args, fmt);
	set_text(err, err->code, fmt, args);
	va_end(args);

	len = strlen(err->text);
	mark_cut(err, (int)len + snprintf(err->text + len, sizeof(err->text) - len, ": %s", inner));
	return rc;
}

const char *np_error_quote(const char *text, char *buf, unsigned size)
{
	static const char hex[] = "0123456789abcdef";
	unsigned used = 0;

	/* Each step needs room for one escape, the dots and the end. */
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (used + 8 > size) {
			memcpy(buf + used, "...", 3);
			used += 3;
			break;
		}
		if (*p >= 32 && *p < 127) {
			buf[used++] = (char)*p;
			continue;
		}
		buf[used++] = '\\';
		buf[used++] = 'x';
		buf[used++] = hex[*p >> 4];
		buf[used++] = hex[*p & 15];
	}
	buf[used] = '\0';
	return buf;
}
