/* SPDX-License-Identifier: BSD-3-Clause */
#include "record.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	QUOTE_SIZE = 64,
	NAMES_MAX = 1024, /* claims of one process */
	READABLE_BY_ALL = 0644,
};

enum key {
	KEY_FORMAT,
	KEY_PID,
	KEY_START,
	KEY_PROGRAM_PID,
	KEY_PROGRAM_START,
	KEY_STARTED,
	KEY_CPUS,
	KEY_PROGRAM,
	KEY_COUNT,
};

static const char *const keys[KEY_COUNT] = {
	[KEY_FORMAT] = "numarun-record",
	[KEY_PID] = "pid",
	[KEY_START] = "start",
	[KEY_PROGRAM_PID] = "program-pid",
	[KEY_PROGRAM_START] = "program-start",
	[KEY_STARTED] = "started",
	[KEY_CPUS] = "cpus",
	[KEY_PROGRAM] = "program",
};

/* A plain decimal number; *ret_end is what follows it. */
static bool scan_number(const char *text, uint64_t max, uint64_t *ret, const char **ret_end)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || value > max)
		return false;
	*ret = value;
	*ret_end = end;
	return true;
}

bool nr_record_parse_name(const char *name, const char *prefix, pid_t *ret_pid,
                          uint64_t *ret_start_ticks)
{
	const char *text = name + strlen(prefix);
	uint64_t pid;
	uint64_t start;
	uint64_t number;

	if (strncmp(name, prefix, strlen(prefix)) != 0 || strlen(name) >= NR_RECORD_NAME_SIZE ||
	    !scan_number(text, INT_MAX, &pid, &text) || *text++ != '-' ||
	    !scan_number(text, UINT64_MAX, &start, &text) || *text++ != '-' ||
	    !scan_number(text, NAMES_MAX, &number, &text) || *text != '\0')
		return false;
	*ret_pid = (pid_t)pid;
	*ret_start_ticks = start;
	return true;
}

static void print_name(const char *prefix, pid_t pid, uint64_t start_ticks, unsigned number,
                       char *ret)
{
	snprintf(ret, NR_RECORD_NAME_SIZE, "%s%d-%" PRIu64 "-%u", prefix, (int)pid, start_ticks,
	         number);
}

/* Cuts @text into its lines; each value ends where its line does. */
static int find_values(char *text, const char *values[KEY_COUNT], struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	for (char *line = text, *next; *line; line = next) {
		size_t len = strcspn(line, "\n");
		size_t key_len = strcspn(line, " \n");

		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		for (size_t k = 0; k < KEY_COUNT; k++) {
			if (strlen(keys[k]) != key_len || strncmp(line, keys[k], key_len) != 0)
				continue;
			if (values[k])
				return np_error_set(err, EINVAL, "it has two lines '%s'", keys[k]);
			values[k] = line + key_len + (key_len < len);
		}
		/* The first line says what it is; without it nothing else is worth a look. */
		if (!values[KEY_FORMAT])
			return np_error_set(err, EINVAL, "it begins with '%s', not with '%s'",
			                    np_error_quote(line, quoted, sizeof(quoted)),
			                    keys[KEY_FORMAT]);
	}
	for (size_t k = 0; k < KEY_COUNT; k++)
		if (!values[k])
			return np_error_set(err, EINVAL, "it has no line '%s'", keys[k]);
	return 0;
}

static int parse_number(const char *const values[], enum key key, uint64_t max, uint64_t *ret,
                        struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	const char *end;

	if (scan_number(values[key], max, ret, &end) && *end == '\0')
		return 0;
	return np_error_set(err, EINVAL, "%s '%s' is not a number up to %" PRIu64, keys[key],
	                    np_error_quote(values[key], quoted, sizeof(quoted)), max);
}

static int parse_numbers(const char *const values[], struct nr_holder *ret, struct np_error *err)
{
	static const uint64_t maxima[KEY_COUNT] = {
		[KEY_FORMAT] = 1,
		[KEY_PID] = INT_MAX,
		[KEY_START] = UINT64_MAX,
		[KEY_PROGRAM_PID] = INT_MAX,
		[KEY_PROGRAM_START] = UINT64_MAX,
		[KEY_STARTED] = INT64_MAX,
	};
	uint64_t numbers[KEY_COUNT] = { 0 };

	for (enum key k = KEY_FORMAT; k <= KEY_STARTED; k++) {
		int rc = parse_number(values, k, maxima[k], &numbers[k], err);

		if (rc < 0)
			return rc;
	}
	ret->pid = (pid_t)numbers[KEY_PID];
	ret->start_ticks = numbers[KEY_START];
	ret->program_pid = (pid_t)numbers[KEY_PROGRAM_PID];
	ret->program_start_ticks = numbers[KEY_PROGRAM_START];
	ret->started_s = (int64_t)numbers[KEY_STARTED];
	return 0;
}

/* Is it the record that its name says? A copy under another name would hold CPUs twice. */
static int check_name(const struct nr_holder *record, struct np_error *err)
{
	uint64_t start;
	pid_t pid;

	if (!nr_record_parse_name(record->record, NR_RECORD_PREFIX, &pid, &start))
		return np_error_set(err, EINVAL, "its name is not " NR_RECORD_PREFIX "PID-START-N");
	if (pid != record->pid || start != record->start_ticks)
		return np_error_set(err, EINVAL,
		                    "it is that of process %d, started at %" PRIu64
		                    ", not that of its name",
		                    (int)record->pid, record->start_ticks);
	return 0;
}

static int parse(char *text, struct nr_holder *ret, struct np_error *err)
{
	const char *values[KEY_COUNT] = { 0 };
	int rc = find_values(text, values, err);

	if (rc == 0)
		rc = parse_numbers(values, ret, err);
	if (rc == 0)
		rc = check_name(ret, err);
	if (rc == 0)
		rc = np_cpulist_parse(values[KEY_CPUS], &ret->cpus, err);
	if (rc == 0 && np_bitmap_is_empty(&ret->cpus))
		rc = np_error_set(err, EINVAL, "it names no CPU");
	if (rc == 0)
		np_error_quote(values[KEY_PROGRAM], ret->program, sizeof(ret->program));
	return rc;
}

/* Reads a file that is no longer than a record can be, with a NUL behind it. */
static int read_text(int fd, char **ret, struct np_error *err)
{
	char *buf = malloc(NR_RECORD_BYTES_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;
	int rc = 0;

	if (!buf)
		return np_error_sys(err, ENOMEM, "read it");
	while (n != 0 && len <= NR_RECORD_BYTES_MAX && rc == 0) {
		n = read(fd, buf + len, NR_RECORD_BYTES_MAX + 1 - len);
		if (n >= 0)
			len += (size_t)n;
		else if (errno != EINTR)
			rc = np_error_sys(err, errno, "read it");
	}
	if (rc == 0 && len > NR_RECORD_BYTES_MAX)
		rc = np_error_set(err, EINVAL, "it is longer than %d bytes", NR_RECORD_BYTES_MAX);
	else if (rc == 0 && memchr(buf, '\0', len))
		rc = np_error_set(err, EINVAL, "it has NUL bytes in it");
	if (rc < 0) {
		free(buf);
		return rc;
	}
	buf[len] = '\0';
	*ret = buf;
	return 0;
}

static int read_open(int fd, struct nr_holder *record, struct np_error *err)
{
	struct stat st;
	char *text = NULL;
	int rc;

	if (fstat(fd, &st) < 0)
		return np_error_sys(err, errno, "look at it");
	if (!S_ISREG(st.st_mode))
		return np_error_set(err, EINVAL, "it is no plain file");
	record->uid = st.st_uid;
	rc = read_text(fd, &text, err);
	if (rc < 0)
		return rc;
	rc = parse(text, record, err);
	free(text);
	return rc;
}

int nr_record_read(int dir_fd, const char *name, struct nr_holder *ret, struct np_error *err)
{
	struct nr_holder record = { 0 };
	/* A pipe of that name must not hang us. */
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc;

	if (fd < 0 && errno == ELOOP)
		return np_error_set(err, EINVAL, "it is a symbolic link");
	if (fd < 0)
		return np_error_sys(err, errno, "open it");
	snprintf(record.record, sizeof(record.record), "%s", name);
	rc = read_open(fd, &record, err);
	close(fd);
	if (rc == 0)
		*ret = record;
	else
		np_bitmap_release(&record.cpus);
	return rc;
}

int nr_record_open_temporary(int dir_fd, pid_t pid, uint64_t start_ticks, char *name)
{
	int fd = -1;

	errno = EEXIST;
	for (unsigned n = 0; fd < 0 && errno == EEXIST && n <= NAMES_MAX; n++) {
		print_name(NR_RECORD_TEMPORARY_PREFIX, pid, start_ticks, n, name);
		fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		            READABLE_BY_ALL);
	}
	return fd < 0 ? -errno : fd;
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			text += n;
			len -= (size_t)n;
		}
	}
	return 0;
}

static int write_text(int fd, const struct nr_holder *record)
{
	char *cpus = np_cpulist_print(&record->cpus);
	char *text = NULL;
	int len = -1;
	int rc = -ENOMEM;

	if (cpus)
		len = asprintf(&text,
		               "%s 1\n%s %d\n%s %" PRIu64 "\n%s %d\n%s %" PRIu64 "\n%s %" PRId64
		               "\n%s %s\n%s %s\n",
		               keys[KEY_FORMAT], keys[KEY_PID], (int)record->pid, keys[KEY_START],
		               record->start_ticks, keys[KEY_PROGRAM_PID], (int)record->program_pid,
		               keys[KEY_PROGRAM_START], record->program_start_ticks,
		               keys[KEY_STARTED], record->started_s, keys[KEY_CPUS], cpus,
		               keys[KEY_PROGRAM], record->program);
	if (len >= 0) {
		rc = write_all(fd, text, (size_t)len);
		free(text);
	}
	free(cpus);
	return rc;
}

int nr_record_replace(int dir_fd, const struct nr_holder *record, struct np_error *err)
{
	char temporary[NR_RECORD_NAME_SIZE];
	int fd = nr_record_open_temporary(dir_fd, record->pid, record->start_ticks, temporary);
	int rc;

	if (fd < 0)
		return np_error_sys(err, -fd, "%s: make the record", record->record);
	rc = write_text(fd, record);
	/* Other users are to read it, whatever the umask. */
	if (rc == 0 && fchmod(fd, READABLE_BY_ALL) < 0)
		rc = -errno;
	close(fd);
	if (rc == 0 && renameat(dir_fd, temporary, dir_fd, record->record) < 0)
		rc = -errno;
	if (rc == 0)
		return 0;
	unlinkat(dir_fd, temporary, 0);
	return np_error_sys(err, -rc, "%s: write the record", record->record);
}

int nr_record_create(int dir_fd, struct nr_holder *record, struct np_error *err)
{
	struct stat st;

	for (unsigned n = 0; n <= NAMES_MAX; n++) {
		print_name(NR_RECORD_PREFIX, record->pid, record->start_ticks, n, record->record);
		if (fstatat(dir_fd, record->record, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		return errno == ENOENT ? nr_record_replace(dir_fd, record, err)
		                       : np_error_sys(err, errno, "%s", record->record);
	}
	return np_error_set(err, EMFILE, "process %d has %d claims already", (int)record->pid,
	                    NAMES_MAX);
}
