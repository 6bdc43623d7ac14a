/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <numarun/exec.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What execvp(3) uses when there is no PATH, less the current folder. */
#define DEFAULT_PATH "/bin:/usr/bin"

static const char *find_path(char *const environment[])
{
	for (char *const *e = environment; *e; e++)
		if (strncmp(*e, "PATH=", 5) == 0)
			return *e + 5;
	return DEFAULT_PATH;
}

/* Tries each folder of the PATH; the errno to report: EACCES from one counts more than ENOENT. */
static int try_path(const char *path, char *const argv[], char *const environment[])
{
	char file[PATH_MAX];
	int code = ENOENT;

	for (const char *dir = path;; dir++) {
		size_t len = strcspn(dir, ":");
		/* An empty part means the current folder. */
		int wanted = snprintf(file, sizeof(file), "%.*s%s%s", (int)len, dir,
		                      len > 0 ? "/" : "", argv[0]);

		if (wanted < (int)sizeof(file)) {
			execve(file, argv, environment);
			if (errno == EACCES)
				code = EACCES;
			else if (errno != ENOENT && errno != ENOTDIR)
				return errno;
		}
		dir += len;
		if (*dir == '\0')
			return code;
	}
}

int nr_exec(char *const argv[], char *const environment[], struct np_error *err)
{
	char quoted[NP_ERROR_TEXT_SIZE / 2];
	int code = ENOENT;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, environment);
		code = errno == ENOTDIR ? ENOENT : errno;
	} else if (*argv[0]) {
		code = try_path(find_path(environment), argv, environment);
	}

	np_error_quote(*argv[0] ? argv[0] : "''", quoted, sizeof(quoted));
	if (code == ENOENT && strchr(argv[0], '/') && access(argv[0], F_OK) == 0)
		return np_error_set(
			err, ENOENT,
			"%s: its interpreter (the #! line or the ELF loader) does not exist",
			quoted);
	if (code == ENOENT)
		return np_error_set(err, ENOENT, "%s: program not found%s", quoted,
		                    strchr(argv[0], '/') ? "" : " in PATH");
	if (code == ENOEXEC)
		return np_error_set(
			err, ENOEXEC,
			"%s: not a program: no machine code of this host, and no #! line",
			quoted);
	return np_error_sys(err, code, "%s", quoted);
}
