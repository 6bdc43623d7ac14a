/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * State files: what was so before, for a run that cannot put it back itself. One file a run,
 * irq-DEVICE-PID:
 *
 *   numarun-irq 1
 *   holder 4711 123456                    process and its start time, so that a PID that is used
 *   device eth0                           again is not taken for the holder
 *   irq 26 0-1 4 virtio0-input.0          number, CPUs before, CPUs asked for, name
 *   xps 0 00000003 00000010               transmit queue, mask before, mask asked for
 *   end
 */
#include "irq_parts.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER "numarun-irq 1"
#define LOCK_NAME "irq.lock"
#define NEW_NAME ".irq.new"

/* 2048 interrupts and 4096 queues with masks for 8192 CPUs are more, but no host has both. */
enum { STATE_BYTES_MAX = 4 << 20, QUOTE_SIZE = 64, START_FIELD = 22 };

/* ---- writing ---- */

static bool print_irq(const struct nr_irq *irq, FILE *out)
{
	char *before = np_cpulist_print(&irq->before);
	char *after = np_cpulist_print(&irq->cpus);
	bool ok = before && after;

	if (ok)
		fprintf(out, "irq %u %s %s %s\n", irq->irq, before, after, irq->name);
	free(before);
	free(after);
	return ok;
}

static bool print_queue(const struct nr_irq_xps *queue, FILE *out)
{
	char *before = nr_irq_mask_print(&queue->before, queue->group_count);
	char *after = nr_irq_mask_print(&queue->cpus, queue->group_count);
	bool ok = before && after;

	if (ok)
		fprintf(out, "xps %u %s %s\n", queue->queue, before, after);
	free(before);
	free(after);
	return ok;
}

char *nr_irq_state_print(const struct nr_irq_steering *steering)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool ok = out;

	if (!out)
		return NULL;
	fprintf(out, HEADER "\nholder %d %" PRIu64 "\ndevice %s\n", (int)steering->holder,
	        steering->holder_start_ticks, steering->device);
	for (size_t i = 0; i < steering->irq_count && ok; i++)
		if (steering->irqs[i].is_wanted)
			ok = print_irq(&steering->irqs[i], out);
	for (size_t i = 0; i < steering->queue_count && ok; i++)
		ok = print_queue(&steering->queues[i], out);
	fprintf(out, "end\n");
	if (fclose(out) == 0 && ok)
		return text;
	free(text);
	return NULL;
}

static int write_all(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

/* A file that nobody else has prepared for us: what lies there of that name goes first. */
static int write_new(const struct nr_irq_store *store, const char *text)
{
	int fd;
	int rc;

	if (unlinkat(store->fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(store->fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	            0644);
	if (fd < 0)
		return -errno;
	rc = write_all(fd, text);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

int nr_irq_store_save(const struct nr_irq_store *store, struct nr_irq_steering *steering,
                      struct np_error *err)
{
	char *text = nr_irq_state_print(steering);
	char *name = NULL;
	int rc = -ENOMEM;

	if (text && asprintf(&name, "irq-%s-%d", steering->device, (int)steering->holder) >= 0)
		rc = write_new(store, text);
	else
		name = NULL;
	if (rc == 0 && renameat(store->fd, NEW_NAME, store->fd, name) < 0)
		rc = -errno;
	/* The name must be on disk too before anything is changed. */
	if (rc == 0 && fsync(store->fd) < 0 && errno != EINVAL)
		rc = -errno;
	free(text);
	if (rc < 0) {
		unlinkat(store->fd, NEW_NAME, 0);
		rc = np_error_sys(err, -rc, "state file %s/%s", store->path, name ? name : "");
		free(name);
		return rc;
	}
	free(steering->state_file);
	steering->state_file = name;
	return 0;
}

/* ---- reading ---- */

/* One line at a time, with its number for messages. */
struct lines {
	char *rest;
	unsigned number;
	const char *path;
	struct np_error *err;
};

static char *next_line(struct lines *lines)
{
	char *line = lines->rest;
	char *end = line ? strchr(line, '\n') : NULL;

	lines->number++;
	/* A last line without its newline was cut off. */
	if (!end)
		return NULL;
	*end = '\0';
	lines->rest = end + 1;
	return line;
}

static int damaged(const struct lines *lines, const char *line, const char *wanted)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(lines->err, EINVAL, "%s: line %u: '%s': %s expected", lines->path,
	                    lines->number, np_error_quote(line ? line : "", quoted, sizeof(quoted)),
	                    wanted);
}

/* The next word of *text, which moves on behind it; NULL when there is none. */
static char *next_word(char **text)
{
	char *word = *text;
	size_t len = word ? strcspn(word, " ") : 0;

	if (len == 0)
		return NULL;
	*text = word[len] ? word + len + 1 : NULL;
	word[len] = '\0';
	return word;
}

static bool parse_number(const char *word, uint64_t max, uint64_t *ret)
{
	char *end;

	if (!word || !isdigit((unsigned char)*word))
		return false;
	errno = 0;
	*ret = strtoull(word, &end, 10);
	return errno == 0 && *end == '\0' && *ret <= max;
}

/* "key VALUE"; the value, or NULL. */
static char *value_of(char *line, const char *key)
{
	size_t len = strlen(key);

	return line && strncmp(line, key, len) == 0 && line[len] == ' ' ? line + len + 1 : NULL;
}

static int parse_irq(const struct lines *lines, char *text, struct nr_irq_steering *steering)
{
	struct nr_irq *irq = nr_irq_add(steering);
	char *number_word = next_word(&text);
	char *before = next_word(&text);
	char *after = next_word(&text);
	uint64_t number;

	if (!irq)
		return np_error_sys(lines->err, ENOMEM, "%s: line %u", lines->path, lines->number);
	irq->is_wanted = true;
	if (!parse_number(number_word, NP_BITMAP_INDEX_MAX, &number) || !after || !text || !*text ||
	    np_cpulist_parse(before, &irq->before, NULL) < 0 ||
	    np_cpulist_parse(after, &irq->cpus, NULL) < 0)
		return damaged(lines, number_word, "'irq NUMBER CPUS CPUS NAME'");
	irq->irq = (unsigned)number;
	irq->name = strdup(text);
	return irq->name ? 0 : np_error_sys(lines->err, ENOMEM, "%s", lines->path);
}

static int parse_queue(const struct lines *lines, char *text, struct nr_irq_steering *steering)
{
	struct nr_irq_xps *queue = nr_irq_add_queue(steering);
	char *number_word = next_word(&text);
	char *before = next_word(&text);
	char *after = next_word(&text);
	uint64_t number;

	if (!queue)
		return np_error_sys(lines->err, ENOMEM, "%s: line %u", lines->path, lines->number);
	if (!parse_number(number_word, NR_IRQ_QUEUE_MAX, &number) || !after || text ||
	    np_cpumask_parse(before, &queue->before, NULL) < 0 ||
	    np_cpumask_parse(after, &queue->cpus, NULL) < 0)
		return damaged(lines, number_word, "'xps QUEUE MASK MASK'");
	queue->queue = (unsigned)number;
	queue->group_count = 1;
	for (const char *c = before; *c; c++)
		queue->group_count += *c == ',';
	return 0;
}

static int parse_head(struct lines *lines, struct nr_irq_steering *steering)
{
	char *line = next_line(lines);
	char *value;
	uint64_t pid;

	if (!line || strcmp(line, HEADER) != 0)
		return damaged(lines, line, "'" HEADER "'");

	line = next_line(lines);
	value = value_of(line, "holder");
	if (!value || !parse_number(next_word(&value), INT32_MAX, &pid) || pid == 0 ||
	    !parse_number(value, UINT64_MAX, &steering->holder_start_ticks))
		return damaged(lines, line, "'holder PID TICKS'");
	steering->holder = (pid_t)pid;

	line = next_line(lines);
	value = value_of(line, "device");
	/* It stands in paths. */
	if (!value || !*value || *value == '.' || strchr(value, '/') || strlen(value) > 60)
		return damaged(lines, line, "'device NAME'");
	steering->device = strdup(value);
	return steering->device ? 0 : np_error_sys(lines->err, ENOMEM, "%s", lines->path);
}

static int parse(struct lines *lines, struct nr_irq_steering *steering)
{
	int rc = parse_head(lines, steering);

	while (rc == 0) {
		char *line = next_line(lines);
		char *irq = value_of(line, "irq");
		char *queue = value_of(line, "xps");

		if (steering->irq_count > NR_IRQ_COUNT_MAX ||
		    steering->queue_count > NR_IRQ_QUEUE_MAX)
			rc = damaged(lines, line, "no more than a card can have");
		else if (irq)
			rc = parse_irq(lines, irq, steering);
		else if (queue)
			rc = parse_queue(lines, queue, steering);
		else if (!line || strcmp(line, "end") != 0)
			rc = damaged(lines, line, "'irq …', 'xps …' or 'end'");
		else
			break;
	}
	if (rc == 0 && *lines->rest)
		rc = damaged(lines, lines->rest, "nothing behind 'end'");
	return rc;
}

/*
 * A state file tells us, as root, what to write where. So it must be a plain file of root's or our
 * own; anybody may be able to put one into a shared directory.
 */
static int check_owner(int fd, const char *path, size_t *ret_size, struct np_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return np_error_sys(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return np_error_set(err, EINVAL, "%s: not a plain file", path);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return np_error_set(err, EINVAL, "%s: it belongs to user %u, so it is not trusted",
		                    path, (unsigned)st.st_uid);
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return np_error_set(err, EINVAL, "%s: others can write it, so it is not trusted",
		                    path);
	if (st.st_size > STATE_BYTES_MAX)
		return np_error_set(err, EINVAL, "%s: longer than %d bytes", path, STATE_BYTES_MAX);
	*ret_size = (size_t)st.st_size;
	return 0;
}

static int read_text(int fd, const char *path, char **ret, struct np_error *err)
{
	size_t size = 0;
	size_t len = 0;
	char *text;
	int rc = check_owner(fd, path, &size, err);

	if (rc < 0)
		return rc;
	text = malloc(size + 1);
	while (text && len < size) {
		ssize_t n = read(fd, text + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			rc = np_error_sys(err, errno, "%s", path);
			free(text);
			return rc;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (!text)
		return np_error_sys(err, ENOMEM, "%s", path);
	text[len] = '\0';
	if (strlen(text) != len) {
		free(text);
		return np_error_set(err, EINVAL, "%s: a NUL byte in it", path);
	}
	*ret = text;
	return 0;
}

int nr_irq_state_read(const struct nr_irq_store *store, const char *name,
                      struct nr_irq_steering *ret, struct np_error *err)
{
	struct nr_irq_steering steering = { 0 };
	struct lines lines = { .err = err };
	char *text = NULL;
	char *path = NULL;
	int fd = openat(store->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return np_error_sys(err, errno, "%s/%s", store->path, name);
	if (asprintf(&path, "%s/%s", store->path, name) < 0) {
		close(fd);
		return np_error_sys(err, ENOMEM, "%s", name);
	}
	rc = read_text(fd, path, &text, err);
	close(fd);
	if (rc == 0) {
		lines.rest = text;
		lines.path = path;
		rc = parse(&lines, &steering);
	}
	if (rc == 0)
		*ret = steering;
	else
		nr_irq_steering_release(&steering);
	free(text);
	free(path);
	return rc;
}

/* ---- the directory ---- */

static int open_lock(int dir, const char *path, bool make, struct np_error *err)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (make ? O_CREAT : 0);
	int fd = openat(dir, LOCK_NAME, flags, 0600);
	struct stat st;
	int rc;

	if (fd < 0)
		return np_error_sys(err, errno, "%s/" LOCK_NAME, path);
	if (fstat(fd, &st) < 0) {
		rc = np_error_sys(err, errno, "%s/" LOCK_NAME, path);
		close(fd);
		return rc;
	}
	/* Who owns it could keep us waiting for ever. */
	if (st.st_uid != 0 && st.st_uid != geteuid()) {
		close(fd);
		return np_error_set(err, EACCES,
		                    "%s/" LOCK_NAME ": it belongs to user %u: remove it", path,
		                    (unsigned)st.st_uid);
	}
	do
		rc = flock(fd, LOCK_EX);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		return fd;
	rc = np_error_sys(err, errno, "%s/" LOCK_NAME, path);
	close(fd);
	return rc;
}

/* It is the slot registry's folder too, where all users may add. */
static int make_folder(const char *path)
{
	const mode_t all_may_add = 01777;

	if (mkdir(path, all_may_add) < 0)
		return -1;
	/* The umask had its say in mkdir(). */
	return chmod(path, all_may_add);
}

int nr_irq_store_open(const char *path, bool make, struct nr_irq_store *ret, struct np_error *err)
{
	struct nr_irq_store store = { .path = path };

	if (make && make_folder(path) < 0 && errno != EEXIST)
		return np_error_sys(err, errno, "make directory %s", path);
	store.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store.fd < 0)
		return np_error_sys(err, errno, "%s", path);
	store.lock_fd = open_lock(store.fd, path, make, err);
	if (store.lock_fd < 0) {
		close(store.fd);
		return store.lock_fd;
	}
	*ret = store;
	return 0;
}

void nr_irq_store_close(struct nr_irq_store *store)
{
	close(store->lock_fd);
	close(store->fd);
}
