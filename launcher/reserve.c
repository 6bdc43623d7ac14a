/* SPDX-License-Identifier: BSD-3-Clause */
#include "reserve.h"

#include "../probe/base/sysroot.h"
#include "lib/pinned.h"
#include "tell.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BRIEF_SIZE = 96, TOLD_MAX = 5, STAMP_SIZE = 32 };

static bool only_looks(const struct nr_args *args)
{
	return args->dry_run || args->exports;
}

int nr_reserve_begin(const struct nr_args *args, struct nr_reservation *ret, struct np_error *err)
{
	int rc;

	ret->is_wanted = args->exclusive;
	/* Another machine's slots are not this one's. */
	if (!args->exclusive || args->root || args->xml)
		return 0;
	rc = nr_registry_open(args->registry, !only_looks(args), &ret->registry, err);
	if (rc == -ENOENT && only_looks(args))
		return 0;
	if (rc < 0)
		return np_error_wrap(err, rc, "--exclusive");
	ret->is_open = true;
	rc = only_looks(args) ? 0 : nr_registry_lock(&ret->registry, err);
	if (rc == 0)
		rc = nr_registry_held(&ret->registry, &ret->held, err);
	if (rc < 0)
		nr_reserve_end(ret);
	return rc < 0 ? np_error_wrap(err, rc, "--exclusive") : 0;
}

/* All CPUs of the cores that @cpus has CPUs of: who shares a core, shares its caches and units. */
static int whole_cores(const struct np_topology *topology, const struct np_bitmap *cpus,
                       struct np_bitmap *ret)
{
	int rc = np_bitmap_copy(ret, cpus);

	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, cpu);

		if (rc == 0 && core)
			rc = np_bitmap_or(ret, &core->cpus);
	}
	return rc;
}

/* Those who were there first are not ours to move; the user can. */
static void warn_pinned(const struct np_topology *topology, const struct np_bitmap *cores)
{
	struct nr_pinned_query query = {
		.wanted = cores,
		.online = np_topology_cpus(topology, NP_CPUS_ONLINE),
		.inherited = np_topology_cpus(topology, NP_CPUS_ALLOWED),
		.self = getpid(),
	};
	struct np_sysroot root;
	struct nr_pinned *pinned = NULL;
	size_t count = 0;
	char cpus[BRIEF_SIZE];

	if (np_sysroot_open(NULL, &root, NULL) < 0)
		return;
	/* Without it there is no warning, and no reason not to run. */
	if (nr_pinned_find(&root, &query, &pinned, &count, NULL) < 0)
		count = 0;
	np_sysroot_close(&root);
	for (size_t i = 0; i < count && i < TOLD_MAX; i++)
		nr_tell(NULL, "process %d (%s) is pinned to %s too, and is no numarun",
		        pinned[i].pid, pinned[i].name,
		        np_cpulist_named("CPU", &pinned[i].cpus, cpus, sizeof(cpus)));
	if (count > TOLD_MAX)
		nr_tell(NULL, "and %zu more processes are pinned there", count - TOLD_MAX);
	nr_pinned_free(pinned, count);
}

int nr_reserve_take(const struct nr_args *args, const struct np_topology *topology,
                    const struct np_bitmap *cpus, const char *program, struct nr_reservation *r,
                    struct np_error *err)
{
	struct np_bitmap cores = { 0 };
	int rc;

	if (!r->is_open || only_looks(args))
		return 0;
	rc = whole_cores(topology, cpus, &cores);
	if (rc < 0)
		np_error_sys(err, ENOMEM, "cores");
	else
		rc = nr_claim_take(&r->registry, &cores, program, &r->claim, err);
	r->has_claim = rc == 0;
	nr_registry_unlock(&r->registry);
	if (rc == 0)
		warn_pinned(topology, &cores);
	np_bitmap_release(&cores);
	return rc < 0 ? np_error_wrap(err, rc, "--exclusive") : 0;
}

void nr_reserve_end(struct nr_reservation *r)
{
	if (r->has_claim)
		nr_claim_release(&r->claim);
	if (r->is_open)
		nr_registry_close(&r->registry);
	np_bitmap_release(&r->held);
	r->has_claim = false;
	r->is_open = false;
}

/* ---- --slots ---- */

static const char *state_of(const struct nr_holder *holder)
{
	if (holder->is_alive)
		return "running";
	return holder->program_is_alive ? "without its numarun" : "held by what it left behind";
}

/* "2026-01-31 12:00:00", or "-" where a record made by hand holds a number that is no time. */
static const char *print_start(const struct nr_holder *holder, char *buf, size_t size)
{
	time_t started = (time_t)holder->started_s;
	struct tm local;

	if (!localtime_r(&started, &local) || strftime(buf, size, "%Y-%m-%d %H:%M:%S", &local) == 0)
		snprintf(buf, size, "-");
	return buf;
}

/*
 * A table without libsmartcols: every start of numarun would pay for loading that, and the parent
 * that stays for keeping it.
 */
static void print_holder(const struct nr_holder *holder, int width)
{
	bool is_known = *holder->record != '\0';
	const struct passwd *user = is_known ? getpwuid(holder->uid) : NULL;
	char cpus[BRIEF_SIZE];
	char stamp[STAMP_SIZE] = "-";
	char pid[16] = "-";
	char name[32] = "-";

	np_cpulist_brief(&holder->cpus, cpus, sizeof(cpus));
	if (is_known) {
		snprintf(pid, sizeof(pid), "%d", holder->pid);
		snprintf(name, sizeof(name), "%u", holder->uid);
		print_start(holder, stamp, sizeof(stamp));
	}
	printf("%-*s %7s %-8s %-19s %-19s %s\n", width, cpus, pid, user ? user->pw_name : name,
	       stamp, is_known ? state_of(holder) : "held without a record",
	       is_known ? holder->program : "-");
}

static int cpus_width(const struct nr_holders *holders)
{
	size_t width = strlen("CPUS");
	char cpus[BRIEF_SIZE];

	for (size_t i = 0; i < holders->count; i++) {
		size_t len = strlen(np_cpulist_brief(&holders->list[i].cpus, cpus, sizeof(cpus)));

		width = len > width ? len : width;
	}
	return (int)width;
}

static int print_holders(const struct nr_holders *holders)
{
	int width = cpus_width(holders);

	for (size_t i = 0; i < holders->note_count; i++)
		nr_tell(NULL, "%s", holders->notes[i]);
	if (holders->count == 0)
		puts("no cores are held");
	else
		printf("%-*s %7s %-8s %-19s %-19s %s\n", width, "CPUS", "PID", "USER", "SINCE",
		       "STATE", "PROGRAM");
	for (size_t i = 0; i < holders->count; i++)
		print_holder(&holders->list[i], width);
	return nr_written(0);
}

/* Without the folder there are no records, and one is not made for a look. */
static bool may_have_records(const struct nr_args *args)
{
	return access(args->registry ? args->registry : NR_REGISTRY_DIR, F_OK) == 0;
}

static bool is_wrong(const struct nr_args *args)
{
	return args->registry && access(args->registry, F_OK) < 0;
}

int nr_reserve_list(const struct nr_args *args)
{
	struct nr_registry registry;
	struct nr_holders holders = { 0 };
	struct np_error err = { 0 };
	int rc = nr_registry_open(args->registry, false, &registry, &err);
	int status;

	/* A folder without slots may have lost them, and still have records: they are made anew. */
	if (rc == -ENOENT)
		rc = nr_registry_open(args->registry, may_have_records(args), &registry, &err);
	if (rc == -ENOENT && !is_wrong(args))
		return print_holders(&holders);
	if (rc < 0)
		return nr_fail(&err, NR_EXIT_FAILED);
	if (registry.is_private)
		nr_tell(NULL,
		        "%s: only your own runs are noted there, as there is no " NR_REGISTRY_DIR
		        " (root: mkdir -m 1777 " NR_REGISTRY_DIR ")",
		        registry.path);
	rc = nr_registry_holders(&registry, &holders, &err);
	status = rc < 0 ? nr_fail(&err, NR_EXIT_FAILED) : print_holders(&holders);
	nr_holders_release(&holders);
	nr_registry_close(&registry);
	return status;
}
