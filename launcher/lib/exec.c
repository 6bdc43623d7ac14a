/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <limits.h>
#include <numarun/exec.h>
#include <stdbool.h>
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

/* What came of looking for a program. */
struct search {
	int code;    /* the errno to report: EACCES from one folder counts more than ENOENT */
	bool exists; /* the file was there: with ENOENT its interpreter is what is missing */
};

/* Becomes @file, or notes why not; true when there is no use in looking on. */
static bool try_file(const char *file, char *const argv[], char *const environment[],
                     struct search *search)
{
	execve(file, argv, environment);
	if (errno == EACCES) {
		search->code = EACCES;
		return false;
	}
	if (errno != ENOENT && errno != ENOTDIR) {
		search->code = errno;
		return true;
	}
	search->exists = errno == ENOENT && access(file, F_OK) == 0;
	return search->exists;
}

static void try_path(const char *path, char *const argv[], char *const environment[],
                     struct search *search)
{
	char file[PATH_MAX];

	for (const char *dir = path;; dir++) {
		size_t len = strcspn(dir, ":");
		/* An empty part means the current folder. */
		int wanted = snprintf(file, sizeof(file), "%.*s%s%s", (int)len, dir,
		                      len > 0 ? "/" : "", argv[0]);

		if (wanted < (int)sizeof(file) && try_file(file, argv, environment, search))
			return;
		dir += len;
		if (*dir == '\0')
			return;
	}
}

int nr_exec(char *const argv[], char *const environment[], struct np_error *err)
{
	struct search search = { .code = ENOENT };
	const char *name = *argv[0] ? argv[0] : "''";
	bool is_path = strchr(argv[0], '/') != NULL;

	if (is_path)
		try_file(argv[0], argv, environment, &search);
	else if (*argv[0])
		try_path(find_path(environment), argv, environment, &search);

	if (search.code == ENOENT && search.exists)
		return np_error_set(err, ENOENT,
		                    "%s: its interpreter (the #! line or the ELF loader) does not "
		                    "exist",
		                    name);
	if (search.code == ENOENT)
		return np_error_set(err, ENOENT, "%s: program not found%s", name,
		                    is_path ? "" : " in PATH");
	if (search.code == ENOEXEC)
		return np_error_set(
			err, ENOEXEC,
			"%s: not a program: no machine code of this host, and no #! line", name);
	return np_error_sys(err, search.code, "%s", name);
}
