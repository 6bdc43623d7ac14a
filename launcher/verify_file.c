/* SPDX-License-Identifier: BSD-3-Clause */
#include "../probe/base/file.h"
#include "../probe/base/json.h"
#include "tell.h"
#include "verify_report.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is replaced at every writing must be a file that is ours to replace. */
static int check_file(const char *path, struct np_error *err)
{
	char *name;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		return np_error_sys(err, errno, "%s", path);
	close(fd);
	fd = np_file_temporary(path, &name, err);
	if (fd < 0)
		return fd;
	close(fd);
	unlink(name);
	free(name);
	return 0;
}

static int open_special(struct nr_verify_file *file, struct np_error *err)
{
	file->special_fd = open(file->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (file->special_fd >= 0)
		return 0;
	if (errno == ENXIO)
		return np_error_set(err, ENXIO, "%s: nobody reads this pipe", file->path);
	return np_error_sys(err, errno, "%s", file->path);
}

int nr_verify_file_open(const char *path, struct nr_verify_file *ret, struct np_error *err)
{
	struct stat status;
	int rc;

	*ret = (struct nr_verify_file){ .special_fd = -1 };
	if (!path)
		return 0;
	/* A link is followed now, so that it is not the link that is replaced. */
	ret->path = realpath(path, NULL);
	if (!ret->path)
		ret->path = strdup(path);
	if (!ret->path)
		return np_error_sys(err, ENOMEM, "--verify");
	if (stat(ret->path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
		rc = open_special(ret, err);
	else
		rc = check_file(ret->path, err);
	return rc < 0 ? np_error_wrap(err, rc, "--verify") : 0;
}

void nr_verify_file_close(struct nr_verify_file *file)
{
	if (file->path && file->special_fd >= 0)
		close(file->special_fd);
	free(file->path);
	*file = (struct nr_verify_file){ .special_fd = -1 };
}

/* Takes the reference, and the descriptor. */
static int write_document(int fd, json_t *document)
{
	FILE *out = fdopen(fd, "w");
	int rc;

	if (!out) {
		close(fd);
		json_decref(document);
		return -ENOMEM;
	}
	rc = np_json_write(document, out);
	if (fclose(out) == EOF && rc == 0)
		rc = -errno;
	return rc;
}

struct shown {
	const struct nr_job *jobs;
	size_t count;
};

static int put_document(FILE *out, const void *data)
{
	const struct shown *shown = data;

	return np_json_write(nr_verify_json(shown->jobs, shown->count), out);
}

/* At the end, when nobody waits for us any more but the reader. */
static int write_special(struct nr_verify_file *file, json_t *document, struct np_error *err)
{
	int fd = file->special_fd;
	int rc;

	file->special_fd = -1;
	fcntl(fd, F_SETFL, 0);
	rc = write_document(fd, document);
	return rc < 0 ? np_error_sys(err, -rc, "%s", file->path) : 0;
}

void nr_verify_file_write(struct nr_verify_file *file, const struct nr_job *jobs, size_t count,
                          bool is_last)
{
	bool is_special = file->special_fd >= 0;
	struct shown shown = { .jobs = jobs, .count = count };
	struct np_error err = { 0 };
	int rc;

	if (!file->path || (is_special && !is_last))
		return;
	rc = is_special ? write_special(file, nr_verify_json(jobs, count), &err)
	                : np_file_replace(file->path, put_document, &shown, &err);
	if (rc < 0 && !file->has_failed)
		nr_tell(NULL, "--verify: %s", err.text);
	file->has_failed = rc < 0;
	/* The document was large, for a parent that is to be small. */
	malloc_trim(0);
}
