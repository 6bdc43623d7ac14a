/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a role is ready: it takes connections, has made its file, or its time has passed. Asked
 * again and again, and never waits.
 */
#ifndef NR_PROBE_READY_H
#define NR_PROBE_READY_H

#include "look_up.h"

#include <numarun/roles.h>
#include <stdint.h>
#include <sys/stat.h>

/* How long from one try to the next. */
enum { NR_PROBE_EVERY_MS = 50 };

/* Zero-initialised it probes nothing. */
struct nr_probe {
	const struct nr_ready *ready; /* NULL = it has not begun */
	struct nr_addresses addresses;
	size_t next;       /* of these, to be tried */
	uint64_t begin_ns; /* CLOCK_MONOTONIC */
	int fd;            /* of a connection that is being made; -1 = none */
	/* A file that was there before says nothing: it must be another one, or written again. */
	bool was_there;
	struct stat before;
};

/*
 * Looks the host up, which for a name can take a while: to be called before anything is started.
 * Errors as nr_look_up().
 */
int nr_probe_prepare(const struct nr_ready *ready, struct nr_probe *ret, struct np_error *err);

/* Begins to wait, just before the program is started. */
void nr_probe_begin(const struct nr_ready *ready, uint64_t now_ns, struct nr_probe *probe);
void nr_probe_end(struct nr_probe *probe);

/* Tries once. */
bool nr_probe_is_ready(struct nr_probe *probe, uint64_t now_ns);

/* When it has waited for too long, UINT64_MAX when it waits for ever. */
uint64_t nr_probe_deadline(const struct nr_probe *probe);

/* "for tcp:127.0.0.1:80" and so on, in the caller's buffer; returns it. */
const char *nr_probe_name(const struct nr_probe *probe, char *buf, size_t size);

#endif
