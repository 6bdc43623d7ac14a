/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a running program still has what its plan promised: the CPUs of every thread, their
 * memory policy, and where the pages lie. The kernel and the program itself can undo a placement
 * at any time and nobody is told (cpuset(7); sched_setaffinity(2)), so it is read again and again.
 *
 * All threads of the program and of the processes it started are looked at. One thread at a time
 * may use a verification.
 */
#ifndef NUMARUN_VERIFY_H
#define NUMARUN_VERIFY_H

#include <numarun/plan.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum nr_item { NR_ITEM_CPUS, NR_ITEM_POLICY, NR_ITEM_PAGES };

enum nr_change {
	NR_CHANGE_LOST,     /* not what was asked for */
	NR_CHANGE_NARROWED, /* a thread keeps to some of its CPUs by its own will: no fault */
	NR_CHANGE_BACK,     /* as asked for again */
	NR_CHANGE_REPINNED, /* set again by us */
};

enum nr_cause {
	NR_CAUSE_NONE,
	NR_CAUSE_OFFLINE, /* a CPU was taken offline */
	NR_CAUSE_CPUSET,  /* the cpuset cgroup was changed, or the process moved to another */
	NR_CAUSE_OWN,     /* the program, or somebody else, called sched_setaffinity(2) or so */
};

/* Words of the JSON contract. Never NULL. */
const char *nr_item_name(enum nr_item item);
const char *nr_change_name(enum nr_change change);
const char *nr_cause_name(enum nr_cause cause);

enum { NR_THREAD_NAME_SIZE = 32, NR_EVENT_TEXT_SIZE = 128, NR_EVENTS_MAX = 1000 };

/* Something that changed. All texts are printable ASCII. */
struct nr_event {
	enum nr_change change;
	enum nr_item item;
	enum nr_cause cause;
	int64_t time_ns;   /* CLOCK_REALTIME */
	uint64_t after_ns; /* since nr_verify_begin() */
	pid_t thread;      /* 0 for pages: of the whole program */
	char name[NR_THREAD_NAME_SIZE];
	char asked[NR_EVENT_TEXT_SIZE];  /* "4-5", "bind:2" */
	char kernel[NR_EVENT_TEXT_SIZE]; /* what it is */
	char detail[NR_EVENT_TEXT_SIZE]; /* of the cause: "CPU 5 went offline"; or "" */
};

/* A thread as last seen. */
struct nr_thread {
	pid_t process;
	pid_t thread;
	char name[NR_THREAD_NAME_SIZE];
	bool cpus_lost;
	bool cpus_narrowed;
	char *cpus; /* the kernel's list; NULL = as asked for */
	bool policy_lost;
	bool policy_is_known; /* proc may refuse numa_maps: a setuid program */
	char *policy;         /* the kernel's; NULL = as asked for, or not known */
	unsigned seen;        /* the check that saw it */
};

/* Bytes of a program on each node. */
struct nr_pages {
	uint64_t *node_bytes;   /* by node */
	size_t node_count;      /* of the array */
	uint64_t judged_bytes;  /* private and huge pages that the program's policy placed */
	uint64_t outside_bytes; /* of these, on other nodes than a strict policy allows */
	uint64_t file_bytes;    /* of files: the page cache, placed by whoever read them first */
	uint64_t own_bytes;     /* in mappings with a policy of their own (mbind(2)) */
};

struct nr_verification {
	pid_t program;
	bool checks_cpus;
	struct np_bitmap cpus; /* asked for */
	struct nr_policy policy;

	struct nr_thread *threads; /* by ascending ID; those that ended are not among them */
	size_t thread_count;
	size_t process_count; /* the program and those that it started */

	bool has_pages;
	struct nr_pages pages;
	bool pages_lost;
	uint64_t pages_cost_ns; /* what reading them took */

	unsigned check_count;
	bool was_lost;           /* ever */
	struct nr_event *events; /* the latest, at most NR_EVENTS_MAX */
	size_t event_count;
	size_t events_dropped; /* older ones */

	uint64_t begin_ns;      /* CLOCK_MONOTONIC */
	int64_t begin_time_ns;  /* CLOCK_REALTIME */
	uint64_t last_check_ns; /* CLOCK_MONOTONIC */

	struct nr_verify_state *state; /* the module's own */
};

/*
 * Begins to watch @program, which runs under @plan. The caller ends it with nr_verify_end().
 * -ENOMEM.
 */
int nr_verify_begin(const struct nr_plan *plan, pid_t program, struct nr_verification *ret,
                    struct np_error *err);

/*
 * What the program's descendants leave behind comes to the nearest subreaper (prctl(2)). Where that
 * is @adopter its children are looked at too: all of them, or with @mark, "NAME=VALUE", those that
 * were started with this variable. @mark is borrowed.
 */
void nr_verify_adopt(struct nr_verification *verification, pid_t adopter, const char *mark);

void nr_verify_end(struct nr_verification *verification);

enum nr_verify_flag {
	NR_VERIFY_PAGES = 1 << 0, /* read the pages too, which walks all of the program's memory */
	NR_VERIFY_REPIN = 1 << 1, /* set the CPUs of threads that lost them again */
	/*
	 * Look at everything. Without, the CPUs of all threads are looked at, but the policy only
	 * of the first thread of each process, of new ones and of an eighth of the others, in turn,
	 * and of these what they have started: both cost much more than the CPUs.
	 */
	NR_VERIFY_ALL = 1 << 2,
};

/*
 * Looks once. New events are appended to verification->events. A program that ended leaves what was
 * seen last.
 *
 *   -ESRCH   the program has ended
 *   -ENOMEM
 *   other    proc/ cannot be read; err says why
 */
int nr_verify_check(struct nr_verification *verification, unsigned flags, struct np_error *err);

/* Whether all is now as asked for. */
bool nr_verify_is_ok(const struct nr_verification *verification);

#ifdef __cplusplus
}
#endif

#endif
