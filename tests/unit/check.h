/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assertions whose message tells what was found, so that no debugger is needed: cmocka prints a
 * negative errno as 0xffffffffffffffea, and knows nothing of sets. They stand at the caller's line.
 */
#ifndef CHECK_H
#define CHECK_H

/* cmocka.h wants these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <numaprobe/bitmap.h>
#include <numaprobe/error.h>
#include <stdbool.h>
#include <sys/types.h>

/* Sanitizers need memory of their own, and make mlock(2) do nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER true
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER false
#endif

/* @rc is 0 or a length; else the test fails with the error's text. */
#define assert_np_ok(rc, err) check_ok((rc), (err), __FILE__, __LINE__)

/* @rc is @code, and *err holds it, in one line of printable ASCII that has @part in it. */
#define assert_fails(rc, code, err, part)                                                          \
	check_fails((rc), (code), (err), (part), __FILE__, __LINE__)

/* @text has @part in it, or has not. */
#define assert_has(text, part) check_has((text), (part), true, __FILE__, __LINE__)
#define assert_has_not(text, part) check_has((text), (part), false, __FILE__, __LINE__)

/* The set's members are those of @list, "0-3,7"; "" for the empty set. */
#define assert_set(set, list) check_set((set), (list), #set, __FILE__, __LINE__)

/* Numbers in decimal, with their sign; bools too. */
#define assert_number(found, wanted)                                                               \
	check_number((long long)(found), (long long)(wanted), #found, __FILE__, __LINE__)

/* The same text; both may be NULL. */
#define assert_text(found, wanted) check_text((found), (wanted), #found, __FILE__, __LINE__)

/* Names a row of a table, printf style: the assertions above show it when they fail. */
#define check_case(...) check_name_case(__func__, __VA_ARGS__)

void check_name_case(const char *function, const char *fmt, ...) NP_PRINTF(2, 3);
void check_number(long long found, long long wanted, const char *what, const char *file, int line);
void check_text(const char *found, const char *wanted, const char *what, const char *file,
                int line);
void check_ok(int rc, const struct np_error *err, const char *file, int line);
void check_fails(int rc, int code, const struct np_error *err, const char *part, const char *file,
                 int line);
void check_has(const char *text, const char *part, bool wanted, const char *file, int line);
void check_set(const struct np_bitmap *set, const char *list, const char *what, const char *file,
               int line);

/* Is this what may stand on one line of a terminal: not empty, and printable ASCII throughout? */
bool is_printable_line(const char *text);

/*
 * fork() for tests: a crash ends the child, as cmocka's handlers are off in it, and not the run of
 * all other tests a second time. The child must assert nothing and end with _exit().
 */
pid_t fork_child(void);

/* The set of @list, which the caller releases; a test that has a typo in it fails. */
struct np_bitmap set_of(const char *list);

#endif
