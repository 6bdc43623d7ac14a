/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"
#include "record.h"
#include "registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BRIEF_SIZE = 96 };

static int no_memory(const struct nr_registry *registry, struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "%s: read the slot registry", registry->path);
}

/* ---- who holds what ---- */

void nr_holders_release(struct nr_holders *holders)
{
	for (size_t i = 0; i < holders->count; i++)
		np_bitmap_release(&holders->list[i].cpus);
	free(holders->list);
	for (size_t i = 0; i < holders->note_count; i++)
		free(holders->notes[i]);
	free(holders->notes);
	np_bitmap_release(&holders->cpus);
	*holders = (struct nr_holders){ 0 };
}

static int NP_PRINTF(2, 3) note(struct nr_holders *holders, const char *fmt, ...)
{
	char **grown;
	va_list args;
	int len;

	if (holders->note_count >= NR_REGISTRY_NOTES_MAX)
		return 0;
	grown = realloc(holders->notes, (holders->note_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	holders->notes = grown;
	va_start(args, fmt);
	len = vasprintf(&grown[holders->note_count], fmt, args);
	va_end(args);
	if (len < 0)
		return -ENOMEM;
	holders->note_count++;
	return 0;
}

/* Adds a holder, whose CPUs are the list's from then on, also when it fails. */
static int add_holder(struct nr_holders *holders, struct nr_holder *holder)
{
	struct nr_holder *grown;
	size_t room = holders->count;

	/* The room doubles whenever it is a power of two. */
	if ((room & (room - 1)) == 0) {
		grown = realloc(holders->list, (room ? 2 * room : 1) * sizeof(*grown));
		if (!grown) {
			np_bitmap_release(&holder->cpus);
			return -ENOMEM;
		}
		holders->list = grown;
	}
	holders->list[holders->count++] = *holder;
	return 0;
}

/*
 * Removes what the dead left. In a sticky folder that is its owner's or root's to do; no harm where
 * it stays. Without the lock what was read may be out of date.
 */
static void clear_away(const struct nr_registry *registry, const char *name)
{
	if (registry->is_locked)
		unlinkat(registry->dir_fd, name, 0);
}

static int read_record(const struct nr_registry *registry, const char *name,
                       struct nr_holders *holders)
{
	struct np_sysroot root = nr_registry_root(registry);
	struct nr_holder holder = { 0 };
	struct np_error why = { 0 };
	char quoted[BRIEF_SIZE];
	int rc = nr_record_read(registry->dir_fd, name, &holder, &why);

	if (rc == -ENOENT || rc == -ENOMEM)
		return rc == -ENOENT ? 0 : rc;
	if (rc < 0)
		return note(holders, "%s/%s: %s: passed over", registry->path,
		            np_error_quote(name, quoted, sizeof(quoted)), why.text);
	holder.is_alive = nr_process_is_alive(&root, holder.pid, holder.start_ticks);
	holder.program_is_alive =
		nr_process_is_alive(&root, holder.program_pid, holder.program_start_ticks);
	return add_holder(holders, &holder);
}

/* What a process that was killed while it wrote has left. */
static void remove_temporary(const struct nr_registry *registry, const char *name)
{
	struct np_sysroot root = nr_registry_root(registry);
	uint64_t start_ticks;
	pid_t pid;

	if (nr_record_parse_name(name, NR_RECORD_TEMPORARY_PREFIX, &pid, &start_ticks) &&
	    !nr_process_is_alive(&root, pid, start_ticks))
		clear_away(registry, name);
}

static int read_entry(const struct nr_registry *registry, const char *name, unsigned *record_count,
                      struct nr_holders *holders)
{
	if (strncmp(name, NR_RECORD_PREFIX, strlen(NR_RECORD_PREFIX)) != 0) {
		remove_temporary(registry, name);
		return 0;
	}
	if (++*record_count <= NR_REGISTRY_RECORDS_MAX)
		return read_record(registry, name, holders);
	if (*record_count == NR_REGISTRY_RECORDS_MAX + 1)
		return note(holders, "%s: more than %u records: not all are read", registry->path,
		            NR_REGISTRY_RECORDS_MAX);
	return 0;
}

static int read_records(const struct nr_registry *registry, struct nr_holders *holders,
                        struct np_error *err)
{
	unsigned record_count = 0;
	int fd = openat(registry->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int rc = 0;

	if (!dir) {
		rc = np_error_sys(err, errno, "%s", registry->path);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	/* readdir() tells its end from its failure by errno alone. */
	while (rc == 0 &&
	       (errno = 0, entry = readdir(dir)) != NULL) // NOLINT(concurrency-mt-unsafe)
		if (read_entry(registry, entry->d_name, &record_count, holders) < 0)
			rc = no_memory(registry, err);
	if (rc == 0 && errno)
		rc = np_error_sys(err, errno, "%s", registry->path);
	closedir(dir);
	return rc;
}

static bool is_living(const struct nr_holder *holder)
{
	return holder->is_alive || holder->program_is_alive;
}

/* The living first, then the dead, youngest first: they held last. */
static int compare_claims(const void *a, const void *b)
{
	const struct nr_holder *left = a;
	const struct nr_holder *right = b;

	if (is_living(left) != is_living(right))
		return is_living(left) ? -1 : 1;
	return (left->started_s < right->started_s) - (left->started_s > right->started_s);
}

static int compare_cpus(const void *a, const void *b)
{
	const struct nr_holder *left = a;
	const struct nr_holder *right = b;
	unsigned first = np_bitmap_next(&left->cpus, 0);
	unsigned second = np_bitmap_next(&right->cpus, 0);

	if (first != second)
		return first < second ? -1 : 1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

static void drop_holder(const struct nr_registry *registry, struct nr_holder *holder)
{
	clear_away(registry, holder->record);
	np_bitmap_release(&holder->cpus);
}

/*
 * Tells the locks out among the records: those of the living take theirs; what they leave is that
 * of a dead one, whose program or what it started goes on with the locks it inherited; and a dead
 * one that nothing is left for holds nothing.
 *
 * @unexplained begins as all locks and ends as those without a record.
 */
static int assign_locks(const struct nr_registry *registry, struct nr_holders *holders,
                        struct np_bitmap *unexplained)
{
	size_t kept = 0;
	int rc = 0;

	if (holders->count > 1)
		qsort(holders->list, holders->count, sizeof(*holders->list), compare_claims);
	for (size_t i = 0; i < holders->count; i++) {
		struct nr_holder *holder = &holders->list[i];

		holder->is_locked = np_bitmap_is_subset(&holder->cpus, unexplained);
		if (!is_living(holder)) {
			np_bitmap_and(&holder->cpus, unexplained);
			holder->is_locked = true;
		}
		if (np_bitmap_is_empty(&holder->cpus)) {
			drop_holder(registry, holder);
			continue;
		}
		np_bitmap_and_not(unexplained, &holder->cpus);
		if (np_bitmap_or(&holders->cpus, &holder->cpus) < 0)
			rc = -ENOMEM;
		holders->list[kept++] = *holder;
	}
	holders->count = kept;
	return rc;
}

static int add_unexplained(struct nr_holders *holders, const struct np_bitmap *cpus)
{
	struct nr_holder unknown = { .is_locked = true };

	if (np_bitmap_is_empty(cpus))
		return 0;
	if (np_bitmap_or(&holders->cpus, cpus) < 0 || np_bitmap_copy(&unknown.cpus, cpus) < 0)
		return -ENOMEM;
	return add_holder(holders, &unknown);
}

static int check_folder(const struct nr_registry *registry, struct nr_holders *holders)
{
	struct stat st;

	if (fstat(registry->dir_fd, &st) == 0 && (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		return note(holders, "%s: all users can remove the records of others: chmod +t",
		            registry->path);
	return 0;
}

int nr_registry_holders(const struct nr_registry *registry, struct nr_holders *ret,
                        struct np_error *err)
{
	struct nr_holders holders = { 0 };
	struct np_bitmap locked = { 0 };
	int rc = nr_registry_locked(registry, &locked, err);

	if (rc == 0)
		rc = read_records(registry, &holders, err);
	if (rc == 0 &&
	    (assign_locks(registry, &holders, &locked) < 0 ||
	     add_unexplained(&holders, &locked) < 0 || check_folder(registry, &holders) < 0))
		rc = no_memory(registry, err);
	np_bitmap_release(&locked);
	if (rc < 0) {
		nr_holders_release(&holders);
		return rc;
	}
	if (holders.count > 1)
		qsort(holders.list, holders.count, sizeof(*holders.list), compare_cpus);
	*ret = holders;
	return 0;
}

int nr_registry_held(const struct nr_registry *registry, struct np_bitmap *ret,
                     struct np_error *err)
{
	struct nr_holders holders;
	int rc = nr_registry_holders(registry, &holders, err);

	if (rc < 0)
		return rc;
	if (np_bitmap_or(ret, &holders.cpus) < 0)
		rc = no_memory(registry, err);
	nr_holders_release(&holders);
	return rc;
}
