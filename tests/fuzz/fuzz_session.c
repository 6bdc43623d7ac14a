/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole conversation with a real store behind it: memcache, HTTP or the admin port. The first byte
 * says which one and how the server is set, four more how the stream is cut into pieces, when it is
 * read and when it ends; the rest is the stream (session_script.h). In whatever pieces,
 *
 * - the answers are the same as to the stream in one piece;
 * - what a session keeps stays within a bound;
 * - when it is gone so are its pins and drafts: the arenas are empty once the store is flushed.
 */
#include "fuzz.h"
#include "session_script.h"

#include "../../server/protocol/session.h"
#include "../../server/store/store_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In the first byte. */
enum {
	KIND_MASK = 3,
	HAS_AUTH = 4,
	NO_EVICT = 8,
	READ_ONLY = 16,
	IS_CROWDED = 32, /* too little memory, and two sessions: only the bounds are looked at */
	IS_CUT_OFF = 64, /* the peer is gone in the middle */
};

enum {
	HEADER_BYTES = 5,
	BLOCK = 64 << 10,
	HEAD = 4096,
	ARENAS = 2,
	BLOCKS = 64, /* of each arena: all that a stream can store, or have pinned */
	BLOCKS_WHEN_CROWDED = 1,
	OBJECTS_MAX = 4096,
	SESSION_BYTES_MAX = 1 << 20,
	OUTPUT_MAX = 256 << 20,
};

/* ---- a server without its sockets ---- */

struct server {
	struct ns_config config;
	struct ns_arena arenas[ARENAS];
	struct ns_arena_report reports[ARENAS];
	struct ns_memory_plan plan;
	struct ns_server_state state;
	struct ns_worker_counts counts;
	unsigned cpu;
	struct ns_session_context context;
};

/* What lies in it from the run before is good for finding out who reads what was not written. */
static char *arena_memory(size_t i)
{
	static char *memory[ARENAS];

	if (!memory[i])
		memory[i] = aligned_alloc(BLOCK, (size_t)BLOCKS * BLOCK);
	if (!memory[i])
		abort();
	return memory[i];
}

static void map_arenas(struct server *server, size_t blocks)
{
	for (size_t i = 0; i < ARENAS; i++) {
		server->arenas[i] = (struct ns_arena){
			.plan = { (unsigned)i, 10 + 10 * (unsigned)i, blocks * BLOCK },
			.base = arena_memory(i),
			.block_bytes = BLOCK,
			.block_count = blocks,
		};
		server->reports[i].node = (unsigned)i;
	}
}

static void describe(struct server *server)
{
	static const int ports[] = {
		[NS_SESSION_MEMCACHE] = 11211, [NS_SESSION_HTTP] = 8080, [NS_SESSION_ADMIN] = 9100
	};

	if (np_bitmap_add(&server->plan.serving_nodes, 0) < 0)
		abort();
	server->state = (struct ns_server_state){
		.config = &server->config,
		.store = server->context.store,
		.started_s = 1700000000,
		.plan = &server->plan,
		.arenas = server->arenas,
		.reports = server->reports,
		.arena_count = ARENAS,
		.workers = &server->counts,
		.worker_count = 1,
		.worker_cpus = &server->cpu,
		.ports = ports,
	};
}

static struct server *server_create(unsigned how)
{
	struct server *server = calloc(1, sizeof(*server));
	struct ns_store_setup setup = { .threads_max = 2, .far_node = 1, .hash_seed = 42 };
	struct ns_session_context *context;

	if (!server)
		abort();
	ns_config_default(&server->config);
	server->config.block_bytes = BLOCK;
	server->config.head_bytes = HEAD;
	server->config.object_bytes_max = HEAD;
	server->config.objects_max = OBJECTS_MAX;
	server->config.no_evict = how & NO_EVICT;
	server->config.http_read_only = how & READ_ONLY;
	map_arenas(server, how & IS_CROWDED ? BLOCKS_WHEN_CROWDED : BLOCKS);
	setup.config = &server->config;
	setup.arenas = server->arenas;
	setup.arena_count = ARENAS;
	context = &server->context;
	if (ns_store_create(&setup, &context->store, NULL) < 0)
		abort();
	/* It begins with the time, and answers have it. */
	context->store->cas = 0;
	context->thread = ns_thread_join(context->store, 0);
	if (!context->thread)
		abort();
	context->server = &server->state;
	context->counts = &server->counts;
	context->config = &server->config;
	context->now_s = ns_store_now_s(context->store);
	context->auth = how & HAS_AUTH ? "user:pass\n" : NULL;
	memcpy(context->date, "Sun, 06 Nov 1994 08:49:37 GMT", 30);
	describe(server);
	return server;
}

static void check_all_is_gone(struct server *server)
{
	struct ns_store *store = server->context.store;
	struct ns_thread *thread = server->context.thread;
	struct ns_counts counts;

	ns_store_flush(store, 0);
	while (ns_store_sweep(thread, ns_store_now_s(store), SIZE_MAX))
		;
	for (unsigned i = 0; i < 4; i++)
		ns_thread_rest(thread);
	ns_store_count(store, &counts);
	if (counts.objects != 0 || counts.object_bytes != 0)
		fuzz_fail("objects are left when all are flushed", "");
	for (size_t i = 0; i < ARENAS; i++) {
		if (ns_store_arena(store, i).heads.heads != 0)
			fuzz_fail("heads are left when nobody has one", "");
	}
}

static void check_is_sound(const struct server *server)
{
	for (size_t i = 0; i < ARENAS; i++) {
		if (!ns_heads_are_sound(server->context.store->arenas[i].heads))
			fuzz_fail("the lists of heads do not agree", "");
	}
}

static void server_free(struct server *server)
{
	check_is_sound(server);
	check_all_is_gone(server);
	check_is_sound(server);
	ns_thread_leave(server->context.thread);
	ns_store_free(server->context.store);
	np_bitmap_release(&server->plan.serving_nodes);
	free(server);
}

/* ---- a peer ---- */

struct peer {
	struct server *server;
	struct ns_session *session;
	uint64_t chance; /* state of the generator; 0: everything at once */
	const char *stream;
	size_t len;
	size_t sent; /* of the stream */
	char *got;
	size_t got_len;
	size_t got_room;
};

static void peer_init(struct peer *peer, struct server *server, enum ns_session_kind kind,
                      const char *stream, size_t len)
{
	*peer = (struct peer){ .server = server, .stream = stream, .len = len };
	peer->session = ns_session_create(kind, &server->context);
	if (!peer->session)
		abort();
}

/* Its session; what it was sent stays until the caller frees it. */
static void peer_end(struct peer *peer)
{
	ns_session_free(peer->session);
}

/* xorshift64: a number below @below, or the largest when there is no chance. */
static size_t pick(struct peer *peer, size_t below)
{
	uint64_t x = peer->chance;

	if (x == 0 || below == 0)
		return below > 0 ? below - 1 : 0;
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	peer->chance = x;
	return (size_t)(x >> 11) % below;
}

/* Small numbers as often as large ones. */
static size_t pick_size(struct peer *peer, size_t most)
{
	static const size_t measures[] = { 1, 3, 17, 300, 5000, SIZE_MAX };
	size_t measure = measures[pick(peer, sizeof(measures) / sizeof(measures[0]))];

	return 1 + pick(peer, most < measure ? most : measure);
}

static void keep(struct peer *peer, const char *bytes, size_t count)
{
	if (peer->got_room - peer->got_len < count) {
		peer->got_room = (peer->got_len + count) * 2;
		peer->got = realloc(peer->got, peer->got_room);
		if (!peer->got)
			abort();
	}
	if (peer->got_len + count > OUTPUT_MAX)
		fuzz_fail("there is no end to the answers", "");
	memcpy(peer->got + peer->got_len, bytes, count);
	peer->got_len += count;
}

/* Some of what the session has to say; false when that is nothing. */
static bool peer_read(struct peer *peer)
{
	struct iovec pieces[8];
	unsigned count = ns_session_output(peer->session, pieces, 1 + (unsigned)pick(peer, 8));
	size_t there = 0;
	size_t left;

	for (unsigned i = 0; i < count; i++) {
		if (pieces[i].iov_len == 0)
			fuzz_fail("a piece of nothing", "");
		there += pieces[i].iov_len;
	}
	if (there == 0)
		return false;
	there = left = pick_size(peer, there);
	for (unsigned i = 0; left > 0; i++) {
		size_t part = pieces[i].iov_len < left ? pieces[i].iov_len : left;

		keep(peer, pieces[i].iov_base, part);
		left -= part;
	}
	ns_session_sent(peer->session, there);
	return true;
}

static bool peer_write(struct peer *peer)
{
	size_t left = peer->len - peer->sent;
	char *to = NULL;
	size_t room = ns_session_room(peer->session, &to);
	size_t count;

	if ((room > 0) != ns_session_wants_input(peer->session) &&
	    !ns_session_is_over(peer->session))
		fuzz_fail("it wants input and has no room, or the other way round", "");
	if (room == 0 || left == 0)
		return false;
	count = pick_size(peer, left < room ? left : room);
	memcpy(to, peer->stream + peer->sent, count);
	peer->sent += count;
	ns_session_received(peer->session, count);
	return true;
}

static bool peer_continue(struct peer *peer)
{
	if (!ns_session_is_ready(peer->session))
		return false;
	ns_session_continue(peer->session);
	return true;
}

/* One thing that can be done; false when there is none. */
static bool peer_step(struct peer *peer)
{
	static bool (*const steps[])(struct peer *) = { peer_read, peer_continue, peer_write };
	size_t first = peer->chance ? pick(peer, 3) : 0;
	bool is_done = false;

	for (size_t i = 0; i < 3 && !is_done; i++)
		is_done = steps[(first + i) % 3](peer);
	if (ns_session_bytes(peer->session) > SESSION_BYTES_MAX)
		fuzz_fail("a session keeps too much", "");
	(void)ns_session_waiting(peer->session);
	if (pick(peer, 4) != 0)
		ns_thread_rest(peer->server->context.thread);
	return is_done;
}

static void peer_finish(struct peer *peer)
{
	ns_session_ended(peer->session);
	while (peer_step(peer))
		;
	if (!ns_session_is_over(peer->session))
		fuzz_fail("the peer has ended, all is read, and it is not over", "");
}

static void peer_talk(struct peer *peer)
{
	while (peer_step(peer))
		;
	peer_finish(peer);
}

/* ---- what is compared ---- */

/* Statistics tell of memory that comes free when something is sent, so they may differ. */
static size_t without_statistics(enum ns_session_kind kind, char *text, size_t len)
{
	const char *wanted = kind == NS_SESSION_MEMCACHE ? "STAT " : "HTTP/1.1 ";
	size_t wanted_len = strlen(wanted);
	size_t to = 0;

	if (kind == NS_SESSION_HTTP)
		return len;
	for (size_t from = 0; from < len;) {
		const char *end = memchr(text + from, '\n', len - from);
		size_t count = end ? (size_t)(end - text) + 1 - from : len - from;
		bool is_wanted =
			count >= wanted_len && memcmp(text + from, wanted, wanted_len) == 0;

		/* Of memcache all lines but statistics, of the admin port the status alone. */
		if (is_wanted == (kind == NS_SESSION_ADMIN)) {
			memmove(text + to, text + from, count);
			to += count;
		}
		from += count;
	}
	return to;
}

static void show(const char *name, const struct peer *peer, size_t len, size_t from)
{
	fprintf(stderr, "%s, %zu bytes, from %zu on:\n", name, len, from);
	fwrite(peer->got + from, 1, len - from < 300 ? len - from : 300, stderr);
	fputc('\n', stderr);
}

static void check_same(enum ns_session_kind kind, struct peer *whole, struct peer *pieces)
{
	size_t lens[] = { without_statistics(kind, whole->got, whole->got_len),
		          without_statistics(kind, pieces->got, pieces->got_len) };
	size_t same = 0;

	while (same < lens[0] && same < lens[1] && whole->got[same] == pieces->got[same])
		same++;
	if (same == lens[0] && same == lens[1])
		return;
	show("in one piece", whole, lens[0], same);
	show("in pieces", pieces, lens[1], same);
	fuzz_fail("in pieces the stream has other answers", "");
}

/* One server after the other, as they share memory. Times depend on the store's clock: false when it went on. */
static bool talk_alone(unsigned how, enum ns_session_kind kind, struct peer *peer,
                       const char *stream, size_t len, uint64_t chance)
{
	struct server *server = server_create(how);
	bool is_quick;

	peer_init(peer, server, kind, stream, len);
	peer->chance = chance;
	peer_talk(peer);
	is_quick = ns_store_now_s(server->context.store) == server->context.now_s;
	peer_end(peer);
	server_free(server);
	return is_quick;
}

static void compare(unsigned how, enum ns_session_kind kind, const char *stream, size_t len,
                    uint64_t chance)
{
	struct peer whole;
	struct peer pieces;
	bool is_quick = talk_alone(how, kind, &whole, stream, len, 0);

	is_quick = talk_alone(how, kind, &pieces, stream, len, chance) && is_quick;
	if (is_quick)
		check_same(kind, &whole, &pieces);
	free(whole.got);
	free(pieces.got);
}

/* ---- what only has to stay within bounds ---- */

static void crowd(unsigned how, enum ns_session_kind kind, const char *stream, size_t len,
                  uint64_t chance)
{
	struct server *server = server_create(how);
	struct peer peers[2];
	bool goes_on[2] = { true, true };
	size_t steps;

	for (size_t i = 0; i < 2; i++) {
		peer_init(&peers[i], server, kind, stream, len);
		peers[i].chance = chance ^ (i * 0x9e3779b97f4a7c15);
	}
	steps = how & IS_CUT_OFF ? pick(&peers[0], 4096) : SIZE_MAX;
	while (steps-- > 0 && (goes_on[0] || goes_on[1])) {
		size_t turn = goes_on[1] ? pick(&peers[0], 2) : 0;

		goes_on[turn] = peer_step(&peers[turn]);
	}
	for (size_t i = 0; i < 2; i++) {
		if (!(how & IS_CUT_OFF))
			peer_finish(&peers[i]);
		peer_end(&peers[i]);
		free(peers[i].got);
	}
	server_free(server);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char stream[SCRIPT_STREAM_MAX];
	enum ns_session_kind kind;
	uint64_t chance = 0;
	size_t len;

	if (size < HEADER_BYTES)
		return 0;
	kind = (enum ns_session_kind)((data[0] & KIND_MASK) % (NS_SESSION_ADMIN + 1));
	for (size_t i = 1; i < HEADER_BYTES; i++)
		chance = chance << 8 | data[i];
	chance = chance * 0x9e3779b97f4a7c15 | 1;
	len = script_expand(kind, data + HEADER_BYTES, size - HEADER_BYTES, stream);
	if (data[0] & (IS_CROWDED | IS_CUT_OFF))
		crowd(data[0], kind, stream, len, chance);
	else
		compare(data[0], kind, stream, len, chance);
	return 0;
}
