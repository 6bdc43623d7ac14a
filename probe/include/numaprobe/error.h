/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors that name their cause.
 *
 * A fallible function returns 0 or a length, or a negative errno. On failure it also fills *err, so
 * the caller can print err->text as it is; on success *err is untouched. err may be NULL where only
 * the code matters.
 */
#ifndef NUMAPROBE_ERROR_H
#define NUMAPROBE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Room for a sysfs path (up to about 250 bytes), what was found in it and what was expected. */
#define NP_ERROR_TEXT_SIZE 512

/* The text is printable ASCII: any other byte that a file or a user put into it is shown as \xHH.
 */
struct np_error {
	int code;                      /* positive errno; 0 = no error recorded */
	char text[NP_ERROR_TEXT_SIZE]; /* one line, no newline: "what: where: why" */
};

#if defined(__GNUC__)
#define NP_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#else
#define NP_PRINTF(format_index, first_arg)
#endif

/* Records an error and returns -code, so that a failing function can return it. */
int np_error_set(struct np_error *err, int code, const char *fmt, ...) NP_PRINTF(3, 4);

/* The same, with ": " and the errno's own description at the end. */
int np_error_sys(struct np_error *err, int code, const char *fmt, ...) NP_PRINTF(3, 4);

/* Puts "context: " in front of the recorded text; returns rc, so that it can be returned on. */
int np_error_wrap(struct np_error *err, int rc, const char *fmt, ...) NP_PRINTF(3, 4);

/*
 * Copies @text into @buf in a form that is safe on one line of a terminal: control characters and
 * bytes above 126 become \xHH, and a text that does not fit ends in "...". Returns @buf. @size is
 * at least 8.
 */
const char *np_error_quote(const char *text, char *buf, unsigned size);

#ifdef __clang_analyzer__
/* Says to the analyzer what the comments above say to people: the result is negative. */
#define np_error_set(...) (np_error_set(__VA_ARGS__), -1)
#define np_error_sys(...) (np_error_sys(__VA_ARGS__), -1)
#endif

#ifdef __cplusplus
}
#endif

#endif
