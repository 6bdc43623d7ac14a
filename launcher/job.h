/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One supervised program: the only one of a run, or an instance of a role. From its plan over its
 * start, its readiness and the looks at its placement to its end.
 */
#ifndef NR_JOB_H
#define NR_JOB_H

#include "probe_ready.h"
#include "relay.h"
#include "spawn.h"

#include <numarun/death.h>
#include <numarun/sched.h>
#include <numarun/slots.h>
#include <numarun/verify.h>

enum nr_job_state {
	NR_JOB_WAITING,  /* for those that it comes after */
	NR_JOB_STARTING, /* runs, and is not ready yet */
	NR_JOB_RUNNING,
	NR_JOB_STOPPING, /* was told to end */
	NR_JOB_ENDED,    /* or was never started */
};

/* What all jobs of a run have in common. Borrowed by each. */
struct nr_job_rules {
	bool is_service; /* roles: labelled output, process groups of their own */
	bool explains;   /* --explain */
	bool repins;
	bool strict;
	uint64_t verify_every_ns;
	struct nr_sched sched;
	struct nr_claim *claim; /* NULL = none */
	bool ignores_children;  /* SIGCHLD was ignored when we were started */
	const struct np_topology *topology;
	const struct nr_vitals *vitals; /* of the host before the run; NULL = none */
	sigset_t child_signals;
};

struct nr_job {
	const struct nr_job_rules *rules;
	const char *label; /* "server", "client.2"; NULL in a run of one program */
	size_t role;       /* for a service: index of its role */
	const size_t *after;
	size_t after_count;
	struct nr_plan *plan;
	char *const *command;
	char *const *role_env; /* "NAME=VALUE", ended by NULL; or NULL */
	struct nr_ready ready;
	int stop_signal;
	unsigned stop_timeout_ms;

	enum nr_job_state state;
	pid_t pid;              /* 0 = never started */
	bool has_ended;         /* wait_status counts */
	int wait_status;        /* as waitpid(2) */
	int start_status;       /* exit status when it could not be started; else 0 */
	bool was_killed;        /* by us, as it did not stop in time */
	struct np_error reason; /* why it could not be started */
	char *death;            /* why it was killed, where that is known; else NULL */

	uint64_t kill_at_ns; /* STOPPING: when patience ends */
	struct nr_probe probe;
	struct nr_verification *verification;
	uint64_t next_check_ns;
	uint64_t next_pages_ns;
	size_t events_told;     /* of all that ever were */
	uint64_t told_since_ns; /* a minute in which told_count lines were told */
	unsigned told_count;
	bool is_quiet; /* for the rest of that minute */
	char *mark;    /* what its processes have in their environment */

	struct nr_source output;
	struct nr_source errors;
};

/* env(1)'s exit status for a failure of nr_exec(), or of what stands before it. */
int nr_job_exit_status(int rc);

/* Applies the plan, starts the program, puts the placement back. On failure start_status tells. */
int nr_job_start(struct nr_job *job, uint64_t now_ns);

/* One look at the placement; tells what changed. False when it is lost. */
bool nr_job_check(struct nr_job *job, uint64_t now_ns, bool is_last);

/* Sends the stop signal, and what wakes a stopped process. */
void nr_job_stop(struct nr_job *job, uint64_t now_ns);
void nr_job_kill(struct nr_job *job);

/* To be called with the status of the reaped process. */
void nr_job_end(struct nr_job *job, int wait_status);

/* The exit status that a shell would see; 0 = it ended well. */
int nr_job_status(const struct nr_job *job);

bool nr_job_is_alive(const struct nr_job *job);

void nr_job_release(struct nr_job *job);

#endif
