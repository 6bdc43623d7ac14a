/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <numarun/exec.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* What came of an exec in a child: its status, or nr_exec()'s failure. */
struct outcome {
	int rc; /* 0 = the program ran */
	struct np_error err;
	int status;
};

static struct outcome run(char *const argv[], char *const environment[])
{
	struct outcome outcome = { 0 };
	int wait_status = 0;
	int ends[2];
	ssize_t len;
	pid_t pid;

	assert_number(pipe2(ends, O_CLOEXEC), 0);
	pid = fork_child();
	if (pid == 0) {
		outcome.rc = nr_exec(argv, environment, &outcome.err);
		len = write(ends[1], &outcome, sizeof(outcome));
		_exit(len == sizeof(outcome) ? 98 : 99);
	}
	close(ends[1]);
	len = read(ends[0], &outcome, sizeof(outcome));
	close(ends[0]);
	assert_number(waitpid(pid, &wait_status, 0), pid);
	assert_true(WIFEXITED(wait_status));
	assert_true(len == 0 || len == sizeof(outcome));
	outcome.status = WEXITSTATUS(wait_status);
	return outcome;
}

/* Makes an executable file in the host's folder; returns its absolute name, until the next call. */
static const char *make_program(const struct host *host, const char *name, const char *text,
                                mode_t mode)
{
	static char path[PATH_MAX];

	host_write(host, name, text);
	snprintf(path, sizeof(path), "%s/%s", host->dir, name);
	assert_number(chmod(path, mode), 0);
	return path;
}

/* An environment with this PATH, until the next call. */
static char *const *with_path(const char *path)
{
	static char variable[PATH_MAX + 8];
	static char *environment[] = { variable, NULL };

	snprintf(variable, sizeof(variable), "PATH=%s", path);
	return environment;
}

static struct outcome run_one(const char *program, char *const environment[])
{
	char name[PATH_MAX];
	char *argv[] = { name, NULL };

	snprintf(name, sizeof(name), "%s", program);
	return run(argv, environment);
}

static void a_program_is_found_in_the_path_of_its_environment(void **state)
{
	struct host *host = *state;
	struct outcome outcome;

	make_program(host, "numakit-seven", "#!/bin/sh\nexit 7\n", 0755);
	outcome = run_one("numakit-seven", with_path(host->dir));
	assert_np_ok(outcome.rc, &outcome.err);
	assert_number(outcome.status, 7);
	outcome = run_one("numakit-seven", with_path("/bin"));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "numakit-seven: program not found in PATH");
}

static void arguments_and_environment_arrive_untouched(void **state)
{
	char script[] = "test $# = 2 && test \"$1\" = '-a b' && test \"$2\" = '' && "
			"test \"$X\" = 'y z' && exit 7";
	char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, script, (char[]){ "sh" },
		         (char[]){ "-a b" },    (char[]){ "" },   NULL };
	char *environment[] = { (char[]){ "X=y z" }, NULL };
	struct outcome outcome = run(argv, environment);

	(void)state;
	assert_np_ok(outcome.rc, &outcome.err);
	assert_number(outcome.status, 7);
}

static void without_a_path_the_standard_folders_are_searched(void **state)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" }, (char[]){ "exit 7" }, NULL };
	char *environment[] = { NULL };
	struct outcome outcome = run(argv, environment);

	(void)state;
	assert_np_ok(outcome.rc, &outcome.err);
	assert_number(outcome.status, 7);
}

static void a_name_with_a_slash_is_not_sought(void **state)
{
	struct host *host = *state;
	struct outcome outcome;
	char path[PATH_MAX];

	make_program(host, "dir/seven", "#!/bin/sh\nexit 7\n", 0755);
	outcome = run_one("dir/seven", with_path(host->dir));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "dir/seven: program not found");
	assert_has_not(outcome.err.text, "PATH");

	snprintf(path, sizeof(path), "%s/dir/seven/below", host->dir);
	outcome = run_one(path, with_path(""));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "program not found");
}

static void what_may_not_be_executed_is_permission_denied(void **state)
{
	struct host *host = *state;
	struct outcome outcome;

	outcome = run_one(make_program(host, "data", "#!/bin/sh\n", 0644), with_path("/bin"));
	assert_fails(outcome.rc, -EACCES, &outcome.err, "/data: Permission denied");
	outcome = run_one("data", with_path(host->dir));
	assert_fails(outcome.rc, -EACCES, &outcome.err, "data: Permission denied");
	outcome = run_one(host->dir, with_path("/bin"));
	assert_fails(outcome.rc, -EACCES, &outcome.err, host->dir);
}

static void the_search_goes_on_behind_what_may_not_be_executed(void **state)
{
	struct host *host = *state;
	char path[PATH_MAX];
	struct outcome outcome;

	make_program(host, "first/prog", "#!/bin/sh\nexit 1\n", 0644);
	make_program(host, "second/prog", "#!/bin/sh\nexit 7\n", 0755);
	host_write(host, "file", "");
	snprintf(path, sizeof(path), "%s/missing:%s/file:%s/first:%s/second", host->dir, host->dir,
	         host->dir, host->dir);
	outcome = run_one("prog", with_path(path));
	assert_np_ok(outcome.rc, &outcome.err);
	assert_number(outcome.status, 7);
}

static void a_missing_interpreter_is_not_called_a_missing_program(void **state)
{
	struct host *host = *state;
	struct outcome outcome;

	outcome = run_one(make_program(host, "script", "#!/missing/interpreter\n", 0755),
	                  with_path("/bin"));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "interpreter");
	assert_has(outcome.err.text, "/script");
	assert_has_not(outcome.err.text, "program not found");

	outcome = run_one("script", with_path(host->dir));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "interpreter");
}

static void a_text_is_not_handed_to_a_shell(void **state)
{
	struct host *host = *state;
	struct outcome outcome;

	outcome = run_one(make_program(host, "text", "exit 0\n", 0755), with_path("/bin"));
	assert_fails(outcome.rc, -ENOEXEC, &outcome.err, "/text: not a program");
	outcome = run_one("text", with_path(host->dir));
	assert_fails(outcome.rc, -ENOEXEC, &outcome.err, "text: not a program");
	outcome = run_one(make_program(host, "empty", "", 0755), with_path("/bin"));
	assert_fails(outcome.rc, -ENOEXEC, &outcome.err, "/empty: not a program");
}

static void odd_names_are_quoted(void **state)
{
	struct outcome outcome;
	char *argv[] = { (char[]){ "" }, NULL };
	char name[2 * PATH_MAX];

	(void)state;
	outcome = run(argv, with_path("/bin"));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "program not found");
	assert_true(outcome.err.text[0] != ':'); /* something must stand for the empty name */

	outcome = run_one("\033[31mred\n", with_path("/bin"));
	assert_fails(outcome.rc, -ENOENT, &outcome.err, "\\x1b[31mred\\x0a: program not found");

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	argv[0] = name;
	outcome = run(argv, with_path("/bin"));
	assert_fails(outcome.rc, outcome.rc, &outcome.err, "aaaa");
	assert_true(outcome.rc == -ENOENT || outcome.rc == -ENAMETOOLONG);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");
	const struct CMUnitTest tests[] = {
		host_test(a_program_is_found_in_the_path_of_its_environment),
		host_test(arguments_and_environment_arrive_untouched),
		host_test(without_a_path_the_standard_folders_are_searched),
		host_test(a_name_with_a_slash_is_not_sought),
		host_test(what_may_not_be_executed_is_permission_denied),
		host_test(the_search_goes_on_behind_what_may_not_be_executed),
		host_test(a_missing_interpreter_is_not_called_a_missing_program),
		host_test(a_text_is_not_handed_to_a_shell),
		host_test(odd_names_are_quoted),
	};

	/* Not /dev/shm, from which containers may execute nothing. */
	if ((!tmp || !*tmp) && setenv("TMPDIR", "/tmp", 1) < 0)
		return 1;
	return cmocka_run_group_tests_name("exec", tests, NULL, NULL);
}
