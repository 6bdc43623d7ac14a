/* SPDX-License-Identifier: BSD-3-Clause */
#include "tell.h"

#include "args.h"

#include "../probe/base/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An error's text, a label and a little more. */
enum { LINE_SIZE = 1024, NAME_MAX_LEN = 64, FOR_EVER = -1 };

static int patience_ms = FOR_EVER;

void nr_tell_patience(int ms)
{
	patience_ms = ms;
}

/* Whether standard error takes a line now. One that did not is not waited for again. */
static bool takes_a_line(void)
{
	static bool was_stuck;
	struct pollfd poll_fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	if (patience_ms == FOR_EVER)
		return true;
	was_stuck = poll(&poll_fd, 1, was_stuck ? 0 : patience_ms) != 1;
	return !was_stuck;
}

void nr_tell(const char *label, const char *fmt, ...)
{
	char line[LINE_SIZE];
	size_t len = (size_t)snprintf(line, sizeof(line), "%.*s: %.*s%s", NAME_MAX_LEN,
	                              program_invocation_short_name, NAME_MAX_LEN,
	                              label ? label : "", label ? ": " : "");
	va_list args;

	va_start(args, fmt);
	vsnprintf(line + len, sizeof(line) - len - 1, fmt, args);
	va_end(args);
	/* In one piece, as children write to the same place. */
	len = strlen(line);
	line[len] = '\n';
	line[len + 1] = '\0';
	if (takes_a_line())
		fputs(line, stderr);
}

int nr_fail(const struct np_error *err, int status)
{
	nr_tell(NULL, "%s", err->text);
	return status;
}

int nr_written(int rc)
{
	struct np_error err = { 0 };

	return np_cli_written(rc, &err) < 0 ? nr_fail(&err, NR_EXIT_FAILED) : 0;
}
