/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Role files: the programs of a service, where each is to run and in which order they start. An INI
 * file (read with libinih) of one section a role:
 *
 *   [role cache]                 letters, digits, - _ . in the name
 *   near = eth0                  a device, as locality.h has them
 *   count = 4                    cores; without it all CPUs of the tier, without near too: all that
 *                                no role took, shared by all roles of that kind
 *   tier = 1                     of near: where to begin, 1 is the nearest
 *   smt = no                     of count: yes = all CPUs of each core, no = one
 *   instances = 1                how often it runs; with count each has cores of its own
 *   avoid = client, logger       no core of these shares an L3 cache with one of ours
 *   mem = bind:0                 local, NODES, or bind: preferred: preferred-many: interleave:
 *                                weighted-interleave: and NODES, which are sets as in set.h
 *   far = no                     yes = memory of the farthest node; not with mem
 *   after = logger               start when these are ready
 *   ready = tcp:HOST:PORT, 30    when it takes connections there, within 30 seconds (30 is also
 *                                what holds when none is given); unix:PATH and file:PATH likewise;
 *                                delay:SECONDS without a limit; without the key: at once
 *   stop = TERM, 5               what ends it, and how many seconds it is given
 *   env = NAME=VALUE NAME='...'  words, quoted as below
 *   command = memcached -t 4     words, quoted as for a shell, but no shell reads them: '...', "..."
 *                                and \ quote; $ ` * ? ~ are letters like others; an unquoted
 *                                | & ; < > ( ) is refused. The one key that must be there.
 *
 * Each key at most once a role. A value goes on in the next line where that is indented; the two
 * are joined by a blank, and a backslash before the break is dropped. A line that begins with ; or #
 * is a comment. In other values than env and command so is what stands behind " ;".
 */
#ifndef NUMARUN_ROLES_H
#define NUMARUN_ROLES_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Limits of a role file. That of a line, 199 bytes, is libinih's. */
#define NR_ROLE_FILE_BYTES_MAX (256u << 10)
#define NR_ROLES_MAX 256u
#define NR_ROLE_NAME_MAX 40u   /* libinih would cut a section's name to 49 bytes */
#define NR_INSTANCES_MAX 4096u /* of all roles together */

enum nr_ready_kind {
	NR_READY_AT_ONCE, /* it counts as ready when it runs */
	NR_READY_TCP,     /* host, port */
	NR_READY_UNIX,    /* path */
	NR_READY_FILE,    /* path */
	NR_READY_DELAY,   /* delay_ms */
};

struct nr_ready {
	enum nr_ready_kind kind;
	char *host;          /* a name or an address, without brackets; else NULL */
	char *port;          /* "1" .. "65535"; else NULL */
	char *path;          /* else NULL */
	unsigned delay_ms;   /* 0 .. 3600000 */
	unsigned timeout_ms; /* how long to wait for it; 0 with AT_ONCE and DELAY */
};

struct nr_role {
	char *name;
	unsigned line; /* of its heading in the file */

	char *near;         /* a device; NULL = none */
	unsigned tier;      /* 0 = not given, which is the first */
	unsigned count;     /* cores of each instance; 0 = not given */
	bool smt;           /* all CPUs of each core */
	unsigned instances; /* at least 1 */
	size_t *avoid;      /* indexes of roles, in the order of the file's list */
	size_t avoid_count;
	char *mem; /* as it stands in the file; NULL = not given */
	bool far;

	size_t *after; /* indexes of roles */
	size_t after_count;
	struct nr_ready ready;
	int stop_signal;
	unsigned stop_timeout_ms; /* from the signal on, before it is killed */

	char **env;     /* "NAME=VALUE", ended by NULL; one block with its strings. NULL = none */
	char **command; /* ended by NULL, at least one word; one block with its strings */
};

/* Zero-initialised it has no roles. Owns all that it holds. */
struct nr_roles {
	struct nr_role *roles; /* in the file's order */
	size_t count;
	/* count indexes: each role behind those that it comes after, else in the file's order. */
	size_t *start_order;
};

/*
 * Reads a role file into *ret, which the caller ends with nr_roles_release().
 *
 *   -EINVAL  it is no lawful role file; err says "FILE:LINE: what" and what would help. Also: no
 *            roles, or a cycle of "after"
 *   -E2BIG   more than NR_ROLE_FILE_BYTES_MAX
 *   -ENOMEM
 *   other    what open(2) and read(2) gave
 */
int nr_roles_load(const char *path, struct nr_roles *ret, struct np_error *err);

/* The same for @size bytes at @text; @name stands for the file in messages. */
int nr_roles_parse(const char *text, size_t size, const char *name, struct nr_roles *ret,
                   struct np_error *err);

void nr_roles_release(struct nr_roles *roles);

/*
 * The devices that the roles are to be near, each once, in the order in which a topology for
 * nr_service_plan() must have them (struct np_topology_source), in *ret: a block that the caller
 * ends with one free(), of strings that are the roles'. Returns their number, or -ENOMEM.
 */
int nr_roles_devices(const struct nr_roles *roles, const char ***ret, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
