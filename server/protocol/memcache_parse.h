/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a line of memcache's text protocol asks for. Pure: no store, no connection, no memory taken.
 *
 * The wording of errors is that of memcached 1.6.18. Stricter than it: numbers are digits alone and
 * must fit; keys have no byte of 0x20 or less and not 0x7f; no line has control bytes in it.
 */
#ifndef NS_MEMCACHE_PARSE_H
#define NS_MEMCACHE_PARSE_H

#include "../store/store.h"

enum {
	NS_META_FLAGS_MAX = 20, /* of one command; memcached's own limit is 21 */
	NS_OPAQUE_MAX = 32,     /* bytes of meta's O */
};

/* Lengths from here on are refused and end the connection: nothing so long is swallowed. */
#define NS_VALUE_SANE_MAX (UINT64_C(0x7fffffff) - 2)

enum ns_verb {
	NS_VERB_UNKNOWN,
	NS_VERB_GET,
	NS_VERB_GETS,
	NS_VERB_GAT,
	NS_VERB_GATS,
	NS_VERB_SET,
	NS_VERB_ADD,
	NS_VERB_REPLACE,
	NS_VERB_APPEND,
	NS_VERB_PREPEND,
	NS_VERB_CAS,
	NS_VERB_INCR,
	NS_VERB_DECR,
	NS_VERB_DELETE,
	NS_VERB_TOUCH,
	NS_VERB_MG,
	NS_VERB_MS,
	NS_VERB_MD,
	NS_VERB_MA,
	NS_VERB_MN,
	NS_VERB_ME,
	NS_VERB_FLUSH_ALL,
	NS_VERB_VERBOSITY,
	NS_VERB_VERSION,
	NS_VERB_STATS,
	NS_VERB_CACHE_MEMLIMIT,
	NS_VERB_SHUTDOWN,
	NS_VERB_PLACE,
	NS_VERB_QUIT, /* "quit", and what is not memcache at all: HTTP, the binary protocol */
};

struct ns_span {
	const char *bytes;
	size_t len;
};

struct ns_command {
	enum ns_verb verb;
	const char *error;    /* the answer, without its line end; NULL: none, do it */
	bool is_quiet;        /* noreply, of errors too; meta's q, which has rules of its own */
	bool has_value;       /* a block of value_bytes and a line end follow, with an error too */
	bool ends_connection; /* after the error: what follows cannot be told from commands */
	bool is_binary_key;   /* meta's b: the key is decoded, and encoded again in the answer */
	bool has_exptime;     /* meta's T, flush_all's delay */
	bool has_cas;         /* meta's C */
	char mode;            /* meta's M, 0 = none */
	uint32_t flags;       /* set's and meta's F */
	int64_t exptime;      /* seconds, memcache's rules: ns_memcache_expiry() */
	int64_t vivify_exptime; /* meta's N */
	int64_t recache_s;      /* meta's R */
	uint64_t value_bytes;
	uint64_t cas;        /* to compare with: cas, meta's C */
	uint64_t set_cas;    /* meta's E; 0 = the next */
	uint64_t delta;      /* incr, decr, meta's D [1], verbosity, cache_memlimit */
	uint64_t initial;    /* meta's J [0] */
	uint64_t seen;       /* meta flags: ns_command_has() */
	struct ns_span rest; /* keys of get, arguments of stats and place: points into the line */
	unsigned meta_count;
	uint8_t opaque_len;
	uint8_t key_len;
	/* Not cleared: only as far as the counts above say. */
	char meta[NS_META_FLAGS_MAX]; /* letters in their order */
	char opaque[NS_OPAQUE_MAX];
	char key[NS_KEY_MAX];
};

/* @line without its line end. Fills all of @ret. */
void ns_command_parse(const char *line, size_t len, struct ns_command *ret);

/* Whether the meta command has that flag. */
static inline bool ns_command_has(const struct ns_command *command, char flag)
{
	return command->seen >> (flag - 'A') & 1;
}

/*
 * Takes one word off the front of @rest: false when only blanks are left. Words are never empty.
 */
bool ns_span_word(struct ns_span *rest, struct ns_span *ret);

bool ns_span_is(struct ns_span span, const char *text);

/* 1 to NS_KEY_MAX bytes, none of them a blank or a control byte. */
bool ns_span_is_key(struct ns_span span);

/* Digits alone that fit; *ret stays as it is otherwise. */
bool ns_span_number(struct ns_span span, uint64_t max, uint64_t *ret);

/* The same with a sign; it saturates at neither end. */
bool ns_span_seconds(struct ns_span span, int64_t *ret);

/*
 * One rule of placing, PREFIX=local|far|node:N; its prefix points into @span and is not terminated.
 */
bool ns_span_place(struct ns_span span, struct ns_place_rule *ret, size_t *ret_prefix_len);

/* The meta part of parsing: @rest is what follows the key, or ms's length. */
void ns_command_parse_meta(struct ns_command *command, struct ns_span rest);

/* How long base64 of @len bytes is, and that, with padding. */
#define NS_BASE64_LEN(len) (((size_t)(len) + 2) / 3 * 4)
size_t ns_base64_encode(const char *bytes, size_t len, char *ret);

/* Canonical base64 alone: -1 otherwise, and when it is longer than @max. */
int ns_base64_decode(struct ns_span text, char *ret, size_t max);

#endif
