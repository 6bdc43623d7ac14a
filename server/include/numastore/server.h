/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An object server in a library: objects over memcache text and HTTP/1.1, whose RAM placement is
 * chosen and verified. Several can live in one process. None prints, none touches signals.
 */
#ifndef NUMASTORE_SERVER_H
#define NUMASTORE_SERVER_H

#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ns_server; /* opaque */

/* Keys that begin with a prefix live on a node; the longest prefix that fits wins. */
enum ns_place { NS_PLACE_LOCAL, NS_PLACE_FAR, NS_PLACE_NODE };
struct ns_place_rule {
	const char *prefix; /* may be empty: all keys */
	enum ns_place place;
	unsigned node; /* of NS_PLACE_NODE */
};

/* Zero-initialise by ns_config_default(), which sets what stands in brackets. Text is borrowed. */
/* Which worker serves a connection: whichever the kernel deals it to, or one by where its packets come in. */
enum ns_steer {
	NS_STEER_NONE,
	NS_STEER_CPU, /* the kernel prefers the worker on the CPU that gets them: SO_INCOMING_CPU, Linux 6.2 */
	NS_STEER_NAPI, /* it is handed to the worker of its receive queue: SO_INCOMING_NAPI_ID; none on loopback */
};

struct ns_config {
	const char *
		root; /* directory that stands for "/" [NULL: this machine's]; another one serves no one */
	const char *xml; /* or an hwloc export */

	/* Placement. */
	const char *numa;          /* "auto", a node's number or a device's name ["auto"] */
	uint64_t memory_bytes;     /* heads on the preferred node [1 GiB] */
	uint64_t sub_memory_bytes; /* on each other node with memory [0] */
	uint64_t block_bytes;      /* power of two, from 64 KiB [2 MiB] */
	uint64_t
		head_bytes; /* resident head of an object; power of two from 4 KiB, at most a block [256 KiB] */
	bool perverse; /* preferred is the farthest node with memory, workers stay */
	bool no_promotion;
	bool require_huge; /* refuse to start unless all arenas are of HugeTLB pages */
	bool lock_memory;  /* mlock arenas [true] */
	const struct ns_place_rule *rules;
	size_t rule_count;
	double increment; /* score of a read [1] */
	double decay;     /* of scores, a minute, in (0, 1) [0.5] */
	uint64_t
		promotion_rate; /* bytes a second that promotion copies at most; 0 = any [256 MiB] */

	/* Limits. */
	uint64_t object_bytes_max; /* [1 GiB with a pool, else head_bytes] */
	uint64_t objects_max;      /* 0 = as many as fit [0] */
	bool no_evict;             /* an error instead of eviction, memcached's -M */
	unsigned connections_max;  /* [1024] */
	unsigned idle_timeout_ms;  /* 0 = none [0 for memcache, HTTP 60 s] */
	unsigned
		deadline_ms; /* of a peer: for a request's head, and for each 16 KiB of it, of a value and of an answer [30 s] */

	/* Pools for tails on SSD; none = objects of at most head_bytes. */
	const char *const *pools; /* directories made by ns_server_prepare_pool() */
	size_t pool_count;
	const char *io; /* to them: "uring", "threads" or "auto", the first that works ["auto"] */

	/* Where it listens. A port of 0 turns a protocol off, NS_ANY_PORT takes a free one. */
	const char
		*listen_address; /* HOST or HOST:PORT (of memcache), apart by commas [127.0.0.1] */
	int memcache_port;       /* [11211] */
	int http_port;           /* [8080] */
	int admin_port;          /* [0] */
	const char *memcache_socket;   /* a unix socket instead of the port [NULL] */
	unsigned memcache_socket_mode; /* [0700] */
	const char *auth_file;         /* memcache: "user:password" lines; NULL = open */
	bool http_read_only;

	unsigned workers;    /* 0 = one for each CPU that may be used of the serving node */
	enum ns_steer steer; /* [NS_STEER_NONE] */
	/*
	 * Before it sleeps a worker looks so long for what comes next, as long as that mostly comes so
	 * soon; it needs a CPU for each worker. 0: it sleeps at once [NS_POLL_AUTO].
	 */
	unsigned poll_us;
};

/* NS_POLL_AUTO_US where there is a CPU for each worker, else 0. */
#define NS_POLL_AUTO (~0U)
#define NS_POLL_AUTO_US 20U

#define NS_ANY_PORT (-1)

void ns_config_default(struct ns_config *config);

/*
 * Makes an empty or new directory one whose contents a server may wipe at its start.
 *
 *   -ENOTEMPTY  there is something in it
 *   -ENOTDIR, -EACCES ...
 */
int ns_server_prepare_pool(const char *directory, struct np_error *err);

/*
 * Plans, maps and verifies memory, opens pools and addresses. Nothing is served yet.
 *
 *   -EINVAL   a contradiction in @config, an unknown device or node, an ambiguous "auto" (err lists
 *             the candidates)
 *   -ENOMEM   the arenas cannot be had; err says which node lacks how much
 *   -EADDRINUSE, -EACCES ...  of bind(2)
 *   -EPERM    a pool's directory is not marked as one
 *   -EBUSY    another server has it
 */
int ns_server_create(const struct ns_config *config, struct ns_server **ret, struct np_error *err);

/* Serves until ns_server_stop(); drains connections then. Returns 0, or the failure that ended it. */
int ns_server_run(struct ns_server *server, struct np_error *err);

/* From any thread, and from a signal handler. The second time it does not wait for peers. */
void ns_server_stop(struct ns_server *server);

/* After ns_server_run() has returned, or without it. Accepts NULL. */
void ns_server_destroy(struct ns_server *server);

/* The port that is listened on, where NS_ANY_PORT was asked for; 0 = off. */
int ns_server_memcache_port(const struct ns_server *server);
int ns_server_http_port(const struct ns_server *server);
int ns_server_admin_port(const struct ns_server *server);

/*
 * Direct calls, from any thread, beside the network. A value is a copy that the caller frees.
 *
 *   -ENOENT  no such key        -E2BIG   larger than object_bytes_max
 *   -EINVAL  no key: longer than 250 bytes, or blanks or control bytes in it
 *   -ENOSPC  no room, and nothing may be evicted
 *   -EIO     a pool on SSD failed; an object whose bytes are lost so is gone
 */
int ns_get(struct ns_server *server, const char *key, size_t key_len, char **ret_value,
           size_t *ret_size, struct np_error *err);
int ns_set(struct ns_server *server, const char *key, size_t key_len, const char *value,
           size_t size, struct np_error *err);
int ns_delete(struct ns_server *server, const char *key, size_t key_len, struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
