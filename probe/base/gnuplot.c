/* SPDX-License-Identifier: BSD-3-Clause */
#include "gnuplot.h"

#include "file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { COMPLAINT_SIZE = 512 };

/* It gets default signals, no input, and its errors go to @errors. */
static int spawn(const char *directory, char *const argv[], int errors, pid_t *ret)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigset_t all;
	int code;

	sigemptyset(&none);
	sigfillset(&all);
	code = posix_spawn_file_actions_init(&files);
	if (code)
		return -code;
	code = posix_spawnattr_init(&attributes);
	if (code) {
		posix_spawn_file_actions_destroy(&files);
		return -code;
	}
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	code = posix_spawnattr_setflags(&attributes,
	                                POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	if (!code)
		code = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (!code)
		code = posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
	if (!code)
		code = posix_spawn_file_actions_adddup2(&files, errors, 2);
	if (!code && directory)
		code = posix_spawn_file_actions_addchdir_np(&files, directory);
	if (!code)
		code = posix_spawnp(ret, argv[0], &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -code;
}

/* Reads to the end and keeps the beginning, so that it never waits for us. */
static void read_complaint(int fd, char text[COMPLAINT_SIZE])
{
	char rest[COMPLAINT_SIZE];
	size_t used = 0;

	for (;;) {
		bool is_full = used == COMPLAINT_SIZE - 1;
		ssize_t size = read(fd, is_full ? rest : text + used,
		                    is_full ? sizeof(rest) : COMPLAINT_SIZE - 1 - used);

		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			break;
		if (!is_full)
			used += (size_t)size;
	}
	text[used] = '\0';
}

/* gnuplot shows the line of the script, a caret under it, and then says what is wrong. */
static const char *last_line(char *text)
{
	const char *last = "";
	char *rest = NULL;

	for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest))
		if (line[strspn(line, " \t^")] != '\0')
			last = line;
	return last;
}

static int wait_for(pid_t pid, char complaint[COMPLAINT_SIZE], struct np_error *err)
{
	char quoted[160];
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return np_error_sys(err, errno, "gnuplot");
	if (WIFSIGNALED(status))
		return np_error_set(err, EIO, "gnuplot: killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return np_error_set(err, EIO, "gnuplot: exit status %d: %s", WEXITSTATUS(status),
		                    np_error_quote(last_line(complaint), quoted, sizeof(quoted)));
	return 0;
}

static int run(const char *directory, char *const argv[], struct np_error *err)
{
	char complaint[COMPLAINT_SIZE];
	int ends[2];
	pid_t pid = -1;
	int rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_error_sys(err, errno, "gnuplot");
	rc = spawn(directory, argv, ends[1], &pid);
	close(ends[1]);
	if (rc == 0) {
		read_complaint(ends[0], complaint);
		rc = wait_for(pid, complaint, err);
	} else if (rc == -ENOENT) {
		np_error_set(err, ENOENT,
		             "gnuplot is not in PATH, charts need it: install gnuplot-nox");
	} else {
		np_error_sys(err, -rc, "gnuplot");
	}
	close(ends[0]);
	return rc;
}

int np_gnuplot_check(struct np_error *err)
{
	char *argv[] = { "gnuplot", "--version", NULL };

	return run(NULL, argv, err);
}

int np_gnuplot_run(const char *directory, const char *script, struct np_error *err)
{
	char *name = strdup(script);
	char *argv[] = { "gnuplot", name, NULL };
	int rc = name ? run(directory, argv, err) : np_error_set(err, ENOMEM, "gnuplot: no memory");

	free(name);
	return rc;
}

int np_gnuplot_prepare(const char *directory, struct np_error *err)
{
	struct stat found;
	int rc = np_gnuplot_check(err);

	if (rc < 0)
		return rc;
	if (mkdir(directory, 0777) < 0 && errno != EEXIST)
		return np_error_sys(err, errno, "%s", directory);
	if (stat(directory, &found) < 0)
		return np_error_sys(err, errno, "%s", directory);
	if (!S_ISDIR(found.st_mode))
		return np_error_sys(err, ENOTDIR, "%s", directory);
	if (faccessat(AT_FDCWD, directory, W_OK | X_OK, AT_EACCESS) < 0)
		return np_error_sys(err, errno, "%s", directory);
	return 0;
}

struct plot {
	np_gnuplot_put *put;
	const void *data;
};

static int put_plot(FILE *out, const void *data)
{
	const struct plot *plot = data;

	errno = 0;
	plot->put(out, plot->data);
	if (!ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

int np_gnuplot_write(const char *directory, const char *name, np_gnuplot_put *put, const void *data,
                     struct np_error *err)
{
	const struct plot plot = { put, data };
	char *path = NULL;
	int rc;

	if (asprintf(&path, "%s/%s", directory, name) < 0)
		return np_error_set(err, ENOMEM, "charts: no memory");
	rc = np_file_replace(path, put_plot, &plot, err);
	free(path);
	return rc;
}

void np_gnuplot_remove(const char *directory, const char *name)
{
	static const char *const types[] = { "svg", "png" };
	char *path;

	for (unsigned i = 0; i < 2; i++)
		if (asprintf(&path, "%s/%s.%s", directory, name, types[i]) >= 0) {
			unlink(path);
			free(path);
		}
}

void np_gnuplot_quote(FILE *out, const char *text)
{
	/* Two quotes at the beginning of a string it takes for all of it (5.4). */
	for (; *text == '\''; text++)
		fputs("\"'\" . ", out);
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', out);
		putc(isascii(*text) && isprint((unsigned char)*text) ? *text : '?', out);
	}
	putc('\'', out);
}
