/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects longer than their head through whole sessions, with a pool in a directory of its own: any
 * split, any range, few buffers, an end at any moment, and a tail that is lost.
 */
#include "made_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <protocol/session.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <worker/callers.h>

enum { VALUE_MAX = 1 << 20, GOT_MAX = 16 << 20, PEERS = 6, PATIENCE_MS = 60000 };

struct fixture {
	struct made made;
	char directory[64];
	struct ns_tails *tails;
	struct ns_tail_io *io;
	struct ns_server_state server;
	struct ns_worker_counts counts;
	struct ns_session_context context;
};

/* A client: what it sends, how far it is, and what it got. */
struct peer {
	struct ns_session *session;
	const char *stream;
	size_t len;
	size_t sent;
	char *got;
	size_t got_len;
	unsigned wakes;
};

/* ---- helpers ---- */

static void fixture_create(struct fixture *f, unsigned buffers)
{
	const char *path = f->directory;
	struct np_error err;

	*f = (struct fixture){ .directory = "/tmp/test_tails.XXXXXX" };
	assert_non_null(mkdtemp(f->directory));
	assert_np_ok(ns_pool_prepare(path, &err), &err);
	assert_np_ok(ns_tails_open(&path, 1, &f->tails, &err), &err);
	assert_np_ok(ns_tail_io_create(f->tails, NS_ENGINE_AUTO, buffers, &f->io, &err), &err);
	f->made = made_default(1, 64);
	f->made.tails = f->tails;
	made_create(&f->made);
	f->server = (struct ns_server_state){ .config = &f->made.config,
		                              .store = f->made.store,
		                              .worker_count = 1 };
	f->context = (struct ns_session_context){ .server = &f->server,
		                                  .counts = &f->counts,
		                                  .thread = f->made.thread,
		                                  .tails = f->io,
		                                  .config = &f->made.config,
		                                  .store = f->made.store,
		                                  .now_s = f->made.now_s };
}

static void remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL)
		(void)unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	assert_number(rmdir(path), 0);
}

static uint64_t used_bytes(const struct fixture *f)
{
	return ns_tails_pool(f->tails, 0).used_bytes;
}

static void wait_for_pool(struct fixture *f)
{
	struct pollfd ready = { .fd = ns_tail_io_fd(f->io), .events = POLLIN };

	assert_number(poll(&ready, 1, PATIENCE_MS), 1);
	ns_tail_io_reap(f->io);
}

/* Whatever was begun is over, and nothing of the pool is left in use. */
static void fixture_destroy(struct fixture *f)
{
	ns_store_flush(f->made.store, ns_store_now_s(f->made.store));
	while (ns_store_sweep(f->made.thread, ns_store_now_s(f->made.store) + 2, 100000))
		;
	ns_thread_rest(f->made.thread);
	while (ns_tail_io_is_busy(f->io))
		wait_for_pool(f);
	assert_number(used_bytes(f), 0);
	ns_tail_io_free(f->io);
	made_destroy(&f->made);
	ns_tails_close(f->tails);
	remove_directory(f->directory);
}

static void count_wake(void *arg)
{
	++*(unsigned *)arg;
}

static void peer_create(struct fixture *f, enum ns_session_kind kind, struct peer *ret)
{
	*ret = (struct peer){ .session = ns_session_create(kind, &f->context) };
	assert_non_null(ret->session);
	ret->got = malloc(GOT_MAX);
	assert_non_null(ret->got);
}

static void peer_free(struct peer *peer)
{
	ns_session_free(peer->session);
	free(peer->got);
}

/* At most @most bytes of the output, as cut as chance will have it; returns how many. */
static size_t peer_read(struct peer *peer, size_t most)
{
	struct iovec pieces[4];
	unsigned count = ns_session_output(peer->session, pieces, 1 + (unsigned)rand() % 4);
	size_t got = 0;

	for (unsigned i = 0; i < count && got < most; i++) {
		size_t part = pieces[i].iov_len < most - got ? pieces[i].iov_len : most - got;

		assert_true(peer->got_len + part <= GOT_MAX);
		memcpy(peer->got + peer->got_len, pieces[i].iov_base, part);
		peer->got_len += part;
		got += part;
	}
	ns_session_sent(peer->session, got);
	return got;
}

static size_t peer_write(struct peer *peer, size_t most)
{
	size_t count = peer->len - peer->sent;
	char *room;
	size_t size = ns_session_room(peer->session, &room);

	if (count > most)
		count = most;
	if (count > size)
		count = size;
	if (count == 0)
		return 0;
	memcpy(room, peer->stream + peer->sent, count);
	peer->sent += count;
	ns_session_received(peer->session, count);
	return count;
}

/* One step of whatever can be done; false when only the pool can go on, or nothing is left. */
static bool peer_step(struct peer *peer, size_t step)
{
	size_t most = step ? step : 1 + (size_t)rand() % 70000;

	if (peer_read(peer, most) > 0)
		return true;
	if (ns_session_has_output(peer->session))
		return false;
	if (ns_session_is_ready(peer->session)) {
		ns_session_continue(peer->session);
		return true;
	}
	return peer_write(peer, most) > 0;
}

static bool is_waiting(const struct peer *peer)
{
	return ns_session_waiting(peer->session) == NS_IN_STORAGE;
}

static void peer_talk(struct fixture *f, struct peer *peer, size_t step)
{
	ns_session_on_wake(peer->session, (struct ns_tail_waiter){ count_wake, &peer->wakes });
	for (;;) {
		while (peer_step(peer, step))
			;
		if (!is_waiting(peer))
			return;
		for (unsigned before = peer->wakes; peer->wakes == before;)
			wait_for_pool(f);
	}
}

static char *make_value(size_t size)
{
	char *value = malloc(size + 1);

	assert_non_null(value);
	for (size_t i = 0; i < size; i++)
		value[i] = (char)rand();
	return value;
}

static size_t append(char *to, const char *bytes, size_t count)
{
	memcpy(to, bytes, count);
	return count;
}

/* Sets and gets of memcache, and what is to be answered; both are the caller's. */
static void make_stream(char **ret_stream, size_t *ret_len, char **ret_answers,
                        size_t *ret_answer_len)
{
	static const size_t sizes[] = {
		0,
		MADE_HEAD - 1,
		MADE_HEAD,
		MADE_HEAD + 1,
		10,
		MADE_HEAD + NS_TAIL_UNIT_BYTES - 1,
		MADE_HEAD + NS_TAIL_UNIT_BYTES,
		MADE_HEAD + NS_TAIL_UNIT_BYTES + 1,
		MADE_HEAD + NS_TAIL_CHUNK_BYTES,
		MADE_HEAD + NS_TAIL_CHUNK_BYTES + 1,
		MADE_HEAD + 2 * NS_TAIL_CHUNK_BYTES + 5,
	};
	char *stream = malloc(4 << 20);
	char *answers = malloc(8 << 20);
	size_t len = 0;
	size_t answer_len = 0;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *value = make_value(sizes[i]);

		len += (size_t)sprintf(stream + len, "set k%zu 3 0 %zu\r\n", i, sizes[i]);
		len += append(stream + len, value, sizes[i]);
		len += (size_t)sprintf(stream + len, "\r\nget k%zu none k%zu\r\n", i, i);
		answer_len += (size_t)sprintf(answers + answer_len, "STORED\r\n");
		for (unsigned twice = 0; twice < 2; twice++) {
			answer_len += (size_t)sprintf(answers + answer_len, "VALUE k%zu 3 %zu\r\n",
			                              i, sizes[i]);
			answer_len += append(answers + answer_len, value, sizes[i]);
			answer_len += append(answers + answer_len, "\r\n", 2);
		}
		answer_len += append(answers + answer_len, "END\r\n", 5);
		free(value);
	}
	*ret_stream = stream;
	*ret_len = len;
	*ret_answers = answers;
	*ret_answer_len = answer_len;
}

/* ---- tests ---- */

static void any_split_of_a_stream_gives_the_same_answers(void **state)
{
	static const struct {
		size_t step;
		unsigned buffers;
	} cases[] = { { 97, 4 }, { 4096, 1 }, { SIZE_MAX, 2 }, { 0, 1 }, { 0, 64 } };
	char *stream;
	char *answers;
	size_t len;
	size_t answer_len;

	(void)state;
	srand(1);
	make_stream(&stream, &len, &answers, &answer_len);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fixture f;
		struct peer peer;

		check_case("pieces of %zu, %u buffers", cases[i].step, cases[i].buffers);
		fixture_create(&f, cases[i].buffers);
		peer_create(&f, NS_SESSION_MEMCACHE, &peer);
		peer.stream = stream;
		peer.len = len;
		peer_talk(&f, &peer, cases[i].step);
		assert_number(peer.sent, len);
		assert_number(peer.got_len, answer_len);
		assert_memory_equal(peer.got, answers, answer_len);
		peer_free(&peer);
		fixture_destroy(&f);
	}
	free(stream);
	free(answers);
}

static void many_peers_get_on_with_few_buffers(void **state)
{
	struct fixture f;
	struct peer peers[PEERS];
	char *stream;
	char *answers;
	size_t len;
	size_t answer_len;
	bool are_done = false;

	(void)state;
	srand(2);
	make_stream(&stream, &len, &answers, &answer_len);
	fixture_create(&f, 2);
	for (size_t i = 0; i < PEERS; i++) {
		peer_create(&f, NS_SESSION_MEMCACHE, &peers[i]);
		peers[i].stream = stream;
		peers[i].len = len;
	}
	while (!are_done) {
		bool goes_on = false;

		are_done = true;
		for (size_t i = 0; i < PEERS; i++) {
			goes_on |= peer_step(&peers[i], 0);
			are_done = are_done && peers[i].got_len == answer_len;
		}
		if (!goes_on && !are_done)
			wait_for_pool(&f);
	}
	for (size_t i = 0; i < PEERS; i++) {
		check_case("peer %zu", i);
		assert_memory_equal(peers[i].got, answers, answer_len);
		peer_free(&peers[i]);
	}
	fixture_destroy(&f);
	free(stream);
	free(answers);
}

/* Sends one request over HTTP and returns the body of the answer, terminated after *ret_len bytes. */
static const char *ask(struct fixture *f, struct peer *peer, const char *request, size_t len,
                       const char *status)
{
	char *body;

	peer->stream = request;
	peer->len = len;
	peer->sent = 0;
	peer->got_len = 0;
	peer_talk(f, peer, 0);
	peer->got[peer->got_len] = '\0';
	assert_memory_equal(peer->got + 9, status, 3);
	body = strstr(peer->got, "\r\n\r\n");
	assert_non_null(body);
	return body + 4;
}

static size_t put_request(char *to, const char *value, size_t size, bool is_chunked)
{
	size_t len;
	size_t at = 0;

	if (!is_chunked) {
		len = (size_t)sprintf(
			to, "PUT /k HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n", size);
		return len + append(to + len, value, size);
	}
	len = (size_t)sprintf(to,
	                      "PUT /k HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
	while (at < size) {
		size_t part = 1 + (size_t)rand() % 50000;

		if (part > size - at)
			part = size - at;
		len += (size_t)sprintf(to + len, "%zx\r\n", part);
		len += append(to + len, value + at, part);
		len += append(to + len, "\r\n", 2);
		at += part;
	}
	return len + append(to + len, "0\r\n\r\n", 5);
}

static void any_range_is_what_was_put(void **state)
{
	static const size_t sizes[] = { MADE_HEAD + 1, MADE_HEAD + NS_TAIL_UNIT_BYTES, 700001 };
	char *request = malloc((size_t)2 * VALUE_MAX);

	(void)state;
	srand(3);
	for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i / 2];
		char *value = make_value(size);
		struct fixture f;
		struct peer peer;

		check_case("%zu bytes, chunked %zu", size, i % 2);
		fixture_create(&f, 4);
		peer_create(&f, NS_SESSION_HTTP, &peer);
		ask(&f, &peer, request, put_request(request, value, size, i % 2 == 1), "201");
		for (unsigned n = 0; n < 100; n++) {
			size_t first = (size_t)rand() % size;
			size_t last = first + (size_t)rand() % (size - first);
			const char *body;
			int len;

			if (n % 3 == 0)
				first = MADE_HEAD - 2 + n % 4; /* about the end of the head */
			if (first >= size)
				first = size - 1;
			if (last < first)
				last = first;
			len = sprintf(request,
			              "GET /k HTTP/1.1\r\nHost: x\r\nRange: bytes=%zu-%zu\r\n\r\n",
			              first, last);
			body = ask(&f, &peer, request, (size_t)len, "206");
			assert_number(peer.got + peer.got_len - body, last - first + 1);
			assert_memory_equal(body, value + first, last - first + 1);
		}
		peer_free(&peer);
		fixture_destroy(&f);
		free(value);
	}
	free(request);
}

static void a_range_of_the_tail_leaves_the_head_alone(void **state)
{
	static const char get[] = "GET /k HTTP/1.1\r\nHost: x\r\nRange: bytes=4096-4105\r\n\r\n";
	char *request = malloc(VALUE_MAX);
	char *value = make_value(MADE_HEAD + 1000);
	struct fixture f;
	struct peer peer;
	struct ns_counts counts;

	(void)state;
	fixture_create(&f, 4);
	peer_create(&f, NS_SESSION_HTTP, &peer);
	ask(&f, &peer, request, put_request(request, value, MADE_HEAD + 1000, false), "201");
	ask(&f, &peer, get, sizeof(get) - 1, "206");
	counts = made_counts(&f.made);
	assert_number(counts.local_heads + counts.remote_heads, 0);
	assert_number(counts.tail_sent_bytes, 10);
	peer_free(&peer);
	fixture_destroy(&f);
	free(request);
	free(value);
}

static void a_session_may_end_at_any_moment(void **state)
{
	char *stream;
	char *answers;
	size_t len;
	size_t answer_len;

	(void)state;
	srand(4);
	make_stream(&stream, &len, &answers, &answer_len);
	for (unsigned i = 0; i < 24; i++) {
		struct fixture f;
		struct peer peer;

		check_case("%u", i);
		fixture_create(&f, 2);
		peer_create(&f, NS_SESSION_MEMCACHE, &peer);
		peer.stream = stream;
		peer.len = (size_t)rand() % len;
		for (unsigned steps = (unsigned)rand() % 200; steps > 0; steps--) {
			if (!peer_step(&peer, 0) && is_waiting(&peer) && rand() % 2)
				wait_for_pool(&f);
			if (rand() % 8 == 0)
				ns_session_pause(peer.session);
		}
		peer_free(&peer);
		fixture_destroy(&f);
	}
	free(stream);
	free(answers);
}

/* The pool's file, which has the tails, is cut to nothing. */
static void lose_tails(const struct fixture *f)
{
	DIR *directory = opendir(f->directory);
	struct dirent *entry;

	assert_non_null(directory);
	while ((entry = readdir(directory)) != NULL) {
		int fd = openat(dirfd(directory), entry->d_name, O_RDWR | O_CLOEXEC);
		struct stat about;

		if (fd < 0)
			continue;
		if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
		    about.st_size >= NS_TAIL_UNIT_BYTES)
			assert_number(ftruncate(fd, 0), 0);
		close(fd);
	}
	closedir(directory);
}

static void a_lost_tail_ends_the_answer_and_takes_only_that_object(void **state)
{
	static const char get[] = "get k\r\nget other\r\n";
	char *value = make_value(300000);
	char *stream = malloc(VALUE_MAX);
	size_t len;
	struct fixture f;
	struct peer peer;
	const struct ns_object *object;

	(void)state;
	fixture_create(&f, 4);
	peer_create(&f, NS_SESSION_MEMCACHE, &peer);
	len = (size_t)sprintf(stream, "set other 0 0 1\r\n1\r\nset k 0 0 300000\r\n");
	len += append(stream + len, value, 300000);
	len += append(stream + len, "\r\n", 2);
	peer.stream = stream;
	peer.len = len;
	peer_talk(&f, &peer, 0);
	assert_number(peer.got_len, 16);
	object = made_get(&f.made, "k");
	assert_non_null(object);
	lose_tails(&f);
	peer.stream = get;
	peer.len = sizeof(get) - 1;
	peer.sent = 0;
	peer.got_len = 0;
	peer_talk(&f, &peer, SIZE_MAX);
	assert_true(ns_session_is_over(peer.session));
	assert_false(ns_session_has_output(peer.session));
	assert_in_range(peer.got_len, 18, 18 + MADE_HEAD);
	assert_memory_equal(peer.got, "VALUE k 0 300000\r\n", 18);
	assert_memory_equal(peer.got + 18, value, peer.got_len - 18);
	assert_null(made_get(&f.made, "k"));
	assert_number(made_counts(&f.made).tails_lost, 1);
	assert_number(ns_store_last_loss(f.made.store), -EIO);
	/* What has its key by now is another one. */
	made_set(&f.made, "k", "new");
	ns_store_lose(f.made.thread, object, -EIO);
	assert_text(made_value(&f.made, "k"), "new");
	assert_text(made_value(&f.made, "other"), "1");
	assert_number(made_counts(&f.made).tails_lost, 1);
	ns_object_unpin(f.made.thread, object);
	peer_free(&peer);
	fixture_destroy(&f);
	free(stream);
	free(value);
}

static void what_has_a_tail_is_not_added_to(void **state)
{
	struct ns_store_request request = { .key = "k", .key_len = 1, .bytes = MADE_HEAD + 1 };
	struct fixture f;
	struct ns_draft draft;
	struct np_error err;
	uint64_t cas;
	uint64_t number;

	(void)state;
	fixture_create(&f, 4);
	assert_np_ok(ns_draft_begin(f.made.thread, &request, &draft, &err), &err);
	assert_number(draft.tail_bytes, 1);
	memset(draft.head, '1', draft.head_bytes);
	assert_number(ns_tail_write_now(f.tails, draft.object->tail, "1", 1), 0);
	assert_number(ns_draft_store(f.made.thread, &draft, NS_SET, 0, 0, &cas), NS_STORED);
	assert_number(ns_store_extend(f.made.thread, "k", 1, "x", 1, false, 0, &cas, &err), -E2BIG);
	assert_number(ns_store_extend(f.made.thread, "k", 1, "x", 1, true, 0, &cas, &err), -E2BIG);
	assert_number(ns_store_add_number(f.made.thread, "k", 1, 1, false, 0, &number, &cas, &err),
	              -EINVAL);
	fixture_destroy(&f);
}

static void direct_calls_reach_tails_too(void **state)
{
	static const size_t sizes[] = { 0, MADE_HEAD, MADE_HEAD + 1, 500000 };
	struct ns_callers *callers;
	struct fixture f;
	struct np_error err;
	char *found;
	size_t size;

	(void)state;
	fixture_create(&f, 4);
	callers = ns_callers_create(f.made.store, 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *value = make_value(sizes[i]);

		check_case("%zu bytes", sizes[i]);
		assert_np_ok(ns_callers_set(callers, "k", 1, value, sizes[i], &err), &err);
		assert_np_ok(ns_callers_get(callers, "k", 1, &found, &size, &err), &err);
		assert_number(size, sizes[i]);
		assert_memory_equal(found, value, size);
		free(found);
		free(value);
	}
	lose_tails(&f);
	assert_number(ns_callers_get(callers, "k", 1, &found, &size, &err), -EIO);
	assert_number(ns_callers_get(callers, "k", 1, &found, &size, &err), -ENOENT);
	ns_callers_free(callers);
	fixture_destroy(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_of_a_stream_gives_the_same_answers),
		cmocka_unit_test(many_peers_get_on_with_few_buffers),
		cmocka_unit_test(any_range_is_what_was_put),
		cmocka_unit_test(a_range_of_the_tail_leaves_the_head_alone),
		cmocka_unit_test(a_session_may_end_at_any_moment),
		cmocka_unit_test(a_lost_tail_ends_the_answer_and_takes_only_that_object),
		cmocka_unit_test(what_has_a_tail_is_not_added_to),
		cmocka_unit_test(direct_calls_reach_tails_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
