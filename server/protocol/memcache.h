/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the memcache dialect share. Nothing of it is for others. */
#ifndef NS_MEMCACHE_H
#define NS_MEMCACHE_H

#include "dialect.h"
#include "memcache_parse.h"

#include <string.h>

/* The level of the protocol, which clients compare as numbers, and what it really is. */
#define NS_MEMCACHE_VERSION "1.6.18-numastore-" NUMAKIT_VERSION

/* What the next bytes of a connection are. */
enum ns_memcache_next {
	NS_NEXT_LINE,
	NS_NEXT_KEYS,     /* more keys of the get whose line is not through yet */
	NS_NEXT_LINE_END, /* behind a value */
	NS_NEXT_RUBBISH,  /* up to the next line end */
};

/* One connection. */
struct ns_memcache {
	enum ns_memcache_next next;
	bool may_all;              /* the password was right */
	bool is_from_afar;         /* the peer is on another machine */
	bool is_login;             /* the value that comes is user and password */
	bool is_dropped;           /* the value that comes is answered already */
	struct ns_command command; /* whose value or keys are coming */
	struct ns_draft draft;     /* with NS_NEXT_LINE_END, unless object is NULL */
	char *memory;              /* a value that becomes no object as it is */
	uint64_t memory_bytes;     /* that count to the context's gathered_bytes */
	int storage_rc;            /* of the value that has come: its tail could not be written */
};

/* All that a command needs for the time of one call. */
struct ns_talk {
	struct ns_memcache *state;
	struct ns_session_context *context;
	struct ns_output *output;
	struct ns_body *body;
	bool is_broken; /* output took no more: memory has run out */
};

#define ns_talk_count(talk, counter, amount)                                                       \
	ns_count(&(talk)->context->counts->counter, (uint64_t)(amount))

/* ---- saying something ---- */

void ns_talk_add(struct ns_talk *talk, const char *bytes, size_t count);
/* @text and a line end. */
void ns_talk_say(struct ns_talk *talk, const char *text);
/* The same, unless the command wants no reply. */
void ns_talk_answer(struct ns_talk *talk, const struct ns_command *command, const char *text);
/* "STAT name value". */
void ns_talk_stat(struct ns_talk *talk, const char *name, uint64_t value);
void ns_talk_stat_text(struct ns_talk *talk, const char *name, const char *fmt, ...)
	NP_PRINTF(3, 4);
/* All of the object, and a line end; ends the caller's pin. */
void ns_talk_value(struct ns_talk *talk, const struct ns_object *object);

/* A line that is put together: the longest has 20 meta flags, of which one is a key in base64. */
struct ns_reply {
	size_t len;
	char bytes[1024];
};

static inline void ns_reply_add(struct ns_reply *reply, const char *bytes, size_t count)
{
	if (count > sizeof(reply->bytes) - reply->len)
		count = sizeof(reply->bytes) - reply->len;
	memcpy(reply->bytes + reply->len, bytes, count);
	reply->len += count;
}

static inline void ns_reply_text(struct ns_reply *reply, const char *text)
{
	ns_reply_add(reply, text, strlen(text));
}

void ns_reply_number(struct ns_reply *reply, uint64_t number);
void ns_reply_signed(struct ns_reply *reply, int64_t number);
/* The meta flags that only repeat what was asked: O, and k with b. False for all others. */
bool ns_reply_echo(struct ns_reply *reply, const struct ns_command *command, char flag);
/* Only these, in the order of the command. */
void ns_reply_echoes(struct ns_reply *reply, const struct ns_command *command);

/* ---- times ---- */

/*
 * memcache's seconds on the store's clock: 0 is never, less is now, up to 30 days count from now,
 * and more from 1970 (protocol.txt, "Expiration times").
 */
uint32_t ns_talk_expiry(const struct ns_talk *talk, int64_t seconds);
/* What is left of it: -1 for ever, 0 when it has just ended. */
int64_t ns_talk_time_left(const struct ns_talk *talk, const struct ns_object *object);
int64_t ns_talk_time_now(const struct ns_talk *talk); /* seconds since 1970 */

/* ---- commands ---- */

/* One key of get, gets, gat, gats. */
void ns_memcache_get(struct ns_talk *talk, const struct ns_command *command, struct ns_span key);

/* Of set and its like, ms too: where the value goes, and what becomes of it once it is there. */
enum ns_step ns_memcache_begin_value(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_end_value(struct ns_talk *talk);
/* -errno of the store in memcache's words. */
const char *ns_memcache_refusal(int rc);

void ns_memcache_incr(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_delete(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_touch(struct ns_talk *talk, const struct ns_command *command);

void ns_memcache_mg(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_me(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_mn(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_md(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_ma(struct ns_talk *talk, const struct ns_command *command);

void ns_memcache_stats(struct ns_talk *talk, const struct ns_command *command);

void ns_memcache_flush_all(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_verbosity(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_version(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_memlimit(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_shutdown(struct ns_talk *talk, const struct ns_command *command);
void ns_memcache_place(struct ns_talk *talk, const struct ns_command *command);

/* ---- who may ---- */

/* A line before the password was right. */
enum ns_step ns_memcache_login(struct ns_talk *talk, struct ns_span line);
void ns_memcache_end_login(struct ns_talk *talk);
/* Whether one of the "user:password" lines of @file is that; takes as long for any. */
bool ns_memcache_knows(const char *file, struct ns_span user, struct ns_span password);

#endif
