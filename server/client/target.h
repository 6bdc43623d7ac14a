/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server to be asked, and the data that it holds: which keys, how large. What populate, run and load
 * have in common.
 */
#ifndef NL_TARGET_H
#define NL_TARGET_H

#include "cmd.h"
#include <stddef.h>
#include <stdint.h>

enum nl_protocol { NL_MEMCACHE, NL_HTTP };

/* "memcache", "http". */
const char *nl_protocol_name(enum nl_protocol protocol);

enum {
	NL_KEY_MAX = 250,      /* bytes, memcached's limit; also the longest path that we ask for */
	NL_PREFIX_MAX = 230,   /* leaves room for the index */
	NL_REQUEST_MAX = 1024, /* bytes of a formatted request without its value */
	NL_SIZES_MAX = 16,     /* sizes in a mixture */
	NL_STAMP_BYTES = 16,   /* an object begins with as many that tell its index and size */
	NL_SERVER_TEXT_SIZE = 300,
};
#define NL_OBJECT_MAX (UINT64_C(1) << 30) /* bytes */

/* Where: a host and port, or a socket in the file system. Text is owned. */
struct nl_server {
	char *host; /* name or address, without brackets; the path of a unix socket */
	char *port; /* NULL = a unix socket */
};

/*
 * "HOST", "HOST:PORT", "[::1]:PORT", "unix:PATH"; the port is 11211 for memcache, 8080 for HTTP unless
 * told. The caller ends it with nl_server_release(). -EINVAL with "@option: ...", -ENOMEM
 */
int nl_server_parse(const char *option, const char *text, enum nl_protocol protocol,
                    struct nl_server *ret, struct np_error *err);
void nl_server_release(struct nl_server *server);

/*
 * "127.0.0.1:11211", "[::1]:11211", "unix:/run/x", for messages and records, cut at NL_SERVER_TEXT_SIZE
 * where @buf is as large. Returns @buf.
 */
const char *nl_server_text(const struct nl_server *server, char *buf, size_t size);

/*
 * Sizes of the objects: one, or a mixture "64:50,1K:40,64K:10" (size:weight). An object's size follows
 * from its index alone, so that who stores it and who reads it agree.
 */
struct nl_sizes {
	unsigned count;
	struct {
		uint64_t bytes;
		uint64_t weight;
	} parts[NL_SIZES_MAX];
	uint64_t weight; /* of all */
};
int nl_sizes_parse(const char *option, const char *text, struct nl_sizes *ret,
                   struct np_error *err);
uint64_t nl_sizes_of(const struct nl_sizes *sizes, uint32_t key);
uint64_t nl_sizes_greatest(const struct nl_sizes *sizes);

/* The data set. */
struct nl_target {
	struct nl_common *common;
	enum nl_protocol protocol; /* -P, --protocol memcache|http; memcache */
	const char *server_text;   /* -s, --server; 127.0.0.1 */
	struct nl_server server;   /* after nl_target_check() */
	const char *prefix;        /* --prefix; "numalat-" */
	uint32_t keys;             /* -k, --keys; 16000 */
	struct nl_sizes sizes;     /* --size; 1K */
	unsigned deadline_ms;      /* --deadline SECONDS; 10 s: of one request, and of connecting */
};

/* Options of a child parser, whose input is a struct nl_target that nl_target_default() began. */
extern const struct argp nl_target_argp;
void nl_target_default(struct nl_target *target, struct nl_common *common);

/* Once all options are read. The caller ends it with nl_target_release(). -EINVAL */
int nl_target_check(struct nl_target *target);
void nl_target_release(struct nl_target *target);

/*
 * The key of an object: the prefix and the index in decimal. For HTTP a "/" stands before it unless
 * the prefix begins with one. @ret has room for NL_KEY_MAX + 1 bytes. Returns its length.
 */
size_t nl_key_format(enum nl_protocol protocol, const char *prefix, uint32_t key, char *ret);

/* -EINVAL with "@option: ..." unless it can stand in a key: no blanks, control bytes, length. */
int nl_prefix_check(const char *option, const char *prefix, struct np_error *err);

/* ---- what is in an object ---- */

/*
 * The bytes of object @key from @offset on: 16 bytes that tell its index and size, then a sequence
 * that follows from the index alone. Whoever holds some part of it can tell whose it is.
 */
void nl_value_fill(char *bytes, size_t size, uint32_t key, uint64_t object_bytes, uint64_t offset);

/* The offset, within the @size bytes that begin at @offset of the object, of the first wrong one; -1 = all are right. */
int64_t nl_value_check(const char *bytes, size_t size, uint32_t key, uint64_t object_bytes,
                       uint64_t offset);

#endif
