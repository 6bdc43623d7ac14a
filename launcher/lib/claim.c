/* SPDX-License-Identifier: BSD-3-Clause */
#include "process.h"
#include "record.h"
#include "registry.h"

#include <errno.h>
#include <fcntl.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BRIEF_SIZE = 96, WHO_SIZE = 192, SINCE_SIZE = 48 };

/* ---- the refusal ---- */

static const char *describe(const struct nr_holder *holder, char *buf)
{
	if (!*holder->record)
		snprintf(buf, WHO_SIZE, "a process that left no record");
	else if (holder->is_alive)
		snprintf(buf, WHO_SIZE, "numarun PID %d (%s)", (int)holder->pid, holder->program);
	else if (holder->program_is_alive)
		snprintf(buf, WHO_SIZE, "%s PID %d, whose numarun has ended", holder->program,
		         (int)holder->program_pid);
	else
		snprintf(buf, WHO_SIZE, "what numarun PID %d (%s) started and left behind",
		         (int)holder->pid, holder->program);
	return buf;
}

/* ", user 1000, since 2024-05-01 12:30:00", in local time. */
static const char *describe_since(const struct nr_holder *holder, char *buf)
{
	time_t started = (time_t)holder->started_s;
	char text[SINCE_SIZE] = "?";
	struct tm local;

	buf[0] = '\0';
	if (!*holder->record)
		return buf;
	if (localtime_r(&started, &local) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local) == 0)
		snprintf(text, sizeof(text), "?");
	snprintf(buf, BRIEF_SIZE, ", user %u, since %s", holder->uid, text);
	return buf;
}

/* Names the first of those who hold some of @wanted, of which there is at least one. */
static int refuse_held(const struct nr_holders *holders, const struct np_bitmap *wanted,
                       struct np_error *err)
{
	const struct nr_holder *first = NULL;
	struct np_bitmap common = { 0 };
	char cpus[BRIEF_SIZE];
	char who[WHO_SIZE];
	char since[BRIEF_SIZE];
	char others[BRIEF_SIZE] = "";
	size_t count = 0;

	for (size_t i = 0; i < holders->count; i++)
		if (np_bitmap_intersects(&holders->list[i].cpus, wanted) && count++ == 0)
			first = &holders->list[i];
	if (!first || np_bitmap_copy(&common, &first->cpus) < 0)
		return np_error_sys(err, ENOMEM, "tell who holds the CPUs");
	np_bitmap_and(&common, wanted);
	np_cpulist_named("CPU", &common, cpus, sizeof(cpus));
	if (count > 1)
		snprintf(others, sizeof(others), "; and others by %zu more", count - 1);
	np_error_set(err, EBUSY, "%s %s held by %s%s%s", cpus,
	             np_bitmap_count(&common) > 1 ? "are" : "is", describe(first, who),
	             describe_since(first, since), others);
	np_bitmap_release(&common);
	return -EBUSY;
}

static int check_free(const struct nr_registry *registry, const struct np_bitmap *cpus,
                      struct np_error *err)
{
	struct nr_holders holders;
	int rc = nr_registry_holders(registry, &holders, err);

	if (rc < 0)
		return rc;
	if (np_bitmap_intersects(&holders.cpus, cpus))
		rc = refuse_held(&holders, cpus, err);
	nr_holders_release(&holders);
	return rc;
}

/* ---- taking ---- */

/* Locks the slots through a new open file description, whose close gives all of them up. */
static int lock_slots(const struct nr_registry *registry, const struct np_bitmap *cpus, int fd,
                      struct np_error *err)
{
	char list[BRIEF_SIZE];
	unsigned last;
	int rc;

	for (unsigned first = np_bitmap_next(cpus, 0); first != NP_BITMAP_END;
	     first = np_bitmap_next(cpus, last + 1)) {
		for (last = first; np_bitmap_has(cpus, last + 1);)
			last++;
		rc = nr_registry_lock_bytes(fd, first, last);
		/* Nobody does so who asks the registry first. */
		if (rc == -EAGAIN)
			return np_error_set(err, EBUSY,
			                    "some of %s were locked this moment by a process that "
			                    "does not ask the registry",
			                    np_cpulist_named("CPU", cpus, list, sizeof(list)));
		if (rc < 0)
			return np_error_sys(err, -rc, "%s/" NR_REGISTRY_SLOTS ": lock %s",
			                    registry->path,
			                    np_cpulist_named("CPU", cpus, list, sizeof(list)));
	}
	return 0;
}

/* Is it the file whose locks were read? */
static int check_same(const struct nr_registry *registry, int fd, struct np_error *err)
{
	struct stat ours;
	struct stat theirs;

	if (fstat(registry->slots_fd, &ours) < 0 || fstat(fd, &theirs) < 0)
		return np_error_sys(err, errno, "%s/" NR_REGISTRY_SLOTS, registry->path);
	if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
		return np_error_set(err, EAGAIN,
		                    "%s/" NR_REGISTRY_SLOTS ": was replaced this moment: try again",
		                    registry->path);
	return 0;
}

static int fill_self(const struct nr_registry *registry, const struct np_bitmap *cpus,
                     const char *program, struct nr_holder *ret, struct np_error *err)
{
	struct nr_holder self = {
		.uid = geteuid(),
		.started_s = (int64_t)time(NULL),
		.is_alive = true,
		.is_locked = true,
	};
	int rc = nr_registry_self(registry, &self.pid, &self.start_ticks, err);

	if (rc < 0)
		return rc;
	if (np_bitmap_copy(&self.cpus, cpus) < 0)
		return np_error_sys(err, ENOMEM, "%s: take CPUs", registry->path);
	np_error_quote(program, self.program, sizeof(self.program));
	*ret = self;
	return 0;
}

static int take_locked(const struct nr_registry *registry, const struct np_bitmap *cpus,
                       const char *program, struct nr_claim *ret, struct np_error *err)
{
	struct nr_claim claim = { .fd = -1, .registry = registry };
	int rc = check_free(registry, cpus, err);

	if (rc == 0)
		rc = nr_registry_open_slots(registry, &claim.fd, err);
	if (rc == 0)
		rc = check_same(registry, claim.fd, err);
	if (rc == 0)
		rc = lock_slots(registry, cpus, claim.fd, err);
	if (rc == 0)
		rc = fill_self(registry, cpus, program, &claim.self, err);
	if (rc == 0) {
		rc = nr_record_create(registry->dir_fd, &claim.self, err);
		if (rc < 0)
			np_error_wrap(err, rc, "%s", registry->path);
	}
	if (rc < 0)
		nr_claim_forget(&claim);
	else
		*ret = claim;
	return rc;
}

int nr_claim_take(struct nr_registry *registry, const struct np_bitmap *cpus, const char *program,
                  struct nr_claim *ret, struct np_error *err)
{
	bool was_locked = registry->is_locked;
	int rc = 0;

	if (np_bitmap_is_empty(cpus))
		return np_error_set(err, EINVAL, "%s: no CPUs to take", registry->path);
	if (!was_locked)
		rc = nr_registry_lock(registry, err);
	if (rc < 0)
		return rc;
	rc = take_locked(registry, cpus, program, ret, err);
	if (!was_locked)
		nr_registry_unlock(registry);
	return rc;
}

/* ---- afterwards ---- */

int nr_claim_note_program(struct nr_claim *claim, pid_t program, struct np_error *err)
{
	struct np_sysroot root = nr_registry_root(claim->registry);
	struct nr_holder self = claim->self;
	struct nr_process process;
	int rc = nr_process_read(&root, program, &process, err);

	if (rc < 0)
		return rc;
	self.program_pid = program;
	self.program_start_ticks = process.start_ticks;
	self.program_is_alive = true;
	rc = nr_record_replace(claim->registry->dir_fd, &self, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "%s", claim->registry->path);
	claim->self = self;
	return 0;
}

int nr_claim_inherit(const struct nr_claim *claim)
{
	int flags = fcntl(claim->fd, F_GETFD);

	if (flags < 0 || fcntl(claim->fd, F_SETFD, flags & ~FD_CLOEXEC) < 0)
		return -errno;
	return 0;
}

void nr_claim_forget(struct nr_claim *claim)
{
	if (claim->fd >= 0)
		close(claim->fd);
	claim->fd = -1;
	np_bitmap_release(&claim->self.cpus);
}

/* When it cannot be told, the record goes: the locks count without it. */
static bool goes_on(const struct nr_claim *claim)
{
	struct np_bitmap locked = { 0 };
	bool answer = nr_registry_locked(claim->registry, &locked, NULL) == 0 &&
	              np_bitmap_intersects(&locked, &claim->self.cpus);

	np_bitmap_release(&locked);
	return answer;
}

void nr_claim_release(struct nr_claim *claim)
{
	if (claim->fd < 0)
		return;
	/*
	 * In this order: until the record of this living process is gone nobody else can take the
	 * CPUs, so that locks found now are those of our own heirs.
	 */
	close(claim->fd);
	claim->fd = -1;
	if (!goes_on(claim))
		unlinkat(claim->registry->dir_fd, claim->self.record, 0);
	np_bitmap_release(&claim->self.cpus);
}
