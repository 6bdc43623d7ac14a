/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <numaprobe/cpulist.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { VISIBLE_SIZE = 2048 };

static char current_case[256];

/* @text with what a terminal would not show as \xHH; cut where it is too long. Not thread-safe. */
static const char *visible(const char *text)
{
	static char buf[VISIBLE_SIZE];
	size_t used = 0;

	if (!text)
		return "(null)";
	buf[0] = '\0';
	for (; *text && used + 5 < sizeof(buf); text++) {
		unsigned char c = (unsigned char)*text;

		used += (size_t)snprintf(buf + used, sizeof(buf) - used,
		                         c >= 32 && c < 127 ? "%c" : "\\x%02x", c);
	}
	return buf;
}

void check_name_case(const char *function, const char *fmt, ...)
{
	va_list args;
	int len = snprintf(current_case, sizeof(current_case), "%s: ", function);

	va_start(args, fmt);
	vsnprintf(current_case + len, sizeof(current_case) - (size_t)len, fmt, args);
	va_end(args);
}

/* Ends the test, naming the last case that was begun (of that function, as it says). */
static void fail_here(const char *file, int line)
{
	if (current_case[0])
		print_error("the last case begun was of %s\n", visible(current_case));
	_fail(file, line);
}

void check_number(long long found, long long wanted, const char *what, const char *file, int line)
{
	if (found == wanted)
		return;
	print_error("%s is %lld, expected was %lld\n", what, found, wanted);
	fail_here(file, line);
}

void check_text(const char *found, const char *wanted, const char *what, const char *file, int line)
{
	if (found == wanted || (found && wanted && strcmp(found, wanted) == 0))
		return;
	print_error("%s is '%s', expected was '%s'\n", what, found ? found : "(null)",
	            wanted ? wanted : "(null)");
	fail_here(file, line);
}

/* "-EINVAL", or "3" for what is no error. */
static const char *code_name(int rc, char *buf, size_t size)
{
	const char *name = rc < 0 ? strerrorname_np(-rc) : NULL;

	if (name)
		snprintf(buf, size, "-%s", name);
	else
		snprintf(buf, size, "%d", rc);
	return buf;
}

void check_ok(int rc, const struct np_error *err, const char *file, int line)
{
	char name[32];

	if (rc >= 0)
		return;
	print_error("it failed with %s: %s\n", code_name(rc, name, sizeof(name)),
	            err ? err->text : "(no text was asked for)");
	fail_here(file, line);
}

bool is_printable_line(const char *text)
{
	if (!*text)
		return false;
	for (const char *c = text; *c; c++)
		if (*c < 32 || *c > 126)
			return false;
	return true;
}

void check_fails(int rc, int code, const struct np_error *err, const char *part, const char *file,
                 int line)
{
	char found[32];
	char wanted[32];

	if (rc != code) {
		print_error("%s expected, it was %s; text: '%s'\n",
		            code_name(code, wanted, sizeof(wanted)),
		            code_name(rc, found, sizeof(found)), visible(err->text));
		fail_here(file, line);
	}
	if (err->code != -code) {
		print_error("err->code is %d, but it returned %s\n", err->code,
		            code_name(code, wanted, sizeof(wanted)));
		fail_here(file, line);
	}
	if (!is_printable_line(err->text)) {
		print_error("not one line of printable ASCII: '%s'\n", visible(err->text));
		fail_here(file, line);
	}
	check_has(err->text, part, true, file, line);
}

void check_has(const char *text, const char *part, bool wanted, const char *file, int line)
{
	if ((strstr(text, part) != NULL) == wanted)
		return;
	print_error("'%s'\n%s in the text\n'%s'\n", part, wanted ? "is not" : "should not be",
	            text);
	fail_here(file, line);
}

void check_set(const struct np_bitmap *set, const char *list, const char *what, const char *file,
               int line)
{
	char *found = np_cpulist_print(set);
	bool is_same = found && strcmp(found, list) == 0;

	if (!is_same)
		print_error("%s is '%s', expected was '%s'\n", what, found ? found : "?", list);
	free(found);
	if (!is_same)
		fail_here(file, line);
}

pid_t fork_child(void)
{
	static const int handled[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	static const struct rlimit no_core = { 0, 0 };
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid < 0)
		fail_msg("cannot fork");
	if (pid == 0) {
		for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
			signal(handled[i], SIG_DFL);
		setrlimit(RLIMIT_CORE, &no_core);
	}
	return pid;
}

struct np_bitmap set_of(const char *list)
{
	struct np_bitmap set = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(np_cpulist_parse(list, &set, &err), &err);
	return set;
}
