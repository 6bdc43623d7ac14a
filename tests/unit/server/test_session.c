/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session with a dialect that is as small as can be, so that what is tested is the session:
 *
 *   "echo TEXT\n"  answers "TEXT\n"        "put N\n" and N bytes   a value; answers "got N SUM\n"
 *   "skip N\n"     N bytes are swallowed   "mem N\n"               the same to memory
 *   "big\n"        answers 1000 bytes      "end\n"                 answers "bye\n" and closes
 */
#include "made_store.h"

#include <protocol/dialect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the dialect ---- */

enum { HEAD_MAX = 300 };

struct small {
	char *memory;
};

static void *create(struct ns_session_context *context)
{
	(void)context;
	return calloc(1, sizeof(struct small));
}

static void destroy(void *state, struct ns_session_context *context)
{
	struct small *small = state;

	(void)context;
	free(small->memory);
	free(small);
}

static enum ns_step begin(struct small *small, struct ns_session_context *context, const char *line,
                          struct ns_body *body)
{
	/* Of "skip 5" this is " 5". */
	uint64_t bytes = strtoull(line + 4, NULL, 10);

	*body = (struct ns_body){ .bytes = bytes };
	if (line[0] == 's') {
		body->is_dropped = true;
	} else if (line[0] == 'm') {
		small->memory = malloc(bytes + 1);
		body->memory = small->memory;
	} else {
		struct ns_store_request request = { .key = "k", .key_len = 1, .bytes = bytes };

		assert_number(ns_draft_begin(context->thread, &request, &body->draft, NULL), 0);
	}
	return NS_STEP_BODY;
}

/* A line, without its end, that is terminated. */
static enum ns_step obey(struct small *small, struct ns_session_context *context, const char *line,
                         struct ns_output *output, struct ns_body *ret_body)
{
	if (strncmp(line, "echo ", 5) == 0) {
		ns_output_print(output, "%s\n", line + 5);
		return NS_STEP_DONE;
	}
	if (strcmp(line, "big") == 0) {
		ns_output_print(output, "%1000d", 5);
		return NS_STEP_DONE;
	}
	if (strcmp(line, "end") == 0) {
		ns_output_add(output, "bye\n", 4);
		return NS_STEP_CLOSE;
	}
	return begin(small, context, line, ret_body);
}

static enum ns_step take(void *state, struct ns_session_context *context, const char *bytes,
                         size_t count, size_t *used, struct ns_output *output,
                         struct ns_body *ret_body)
{
	const char *end = memchr(bytes, '\n', count);
	char line[HEAD_MAX + 1] = "";

	/* Blank lines are used up at once. */
	while (*used < count && bytes[*used] == '\n')
		++*used;
	if (*used > 0 || !end)
		return NS_STEP_MORE;
	*used = (size_t)(end - bytes) + 1;
	memcpy(line, bytes, *used - 1);
	return obey(state, context, line, output, ret_body);
}

static enum ns_step finish(void *state, struct ns_session_context *context, struct ns_body *body,
                           struct ns_output *output)
{
	struct small *small = state;
	const char *value = body->memory ? body->memory : body->draft.head;
	unsigned sum = 0;
	uint64_t cas;

	if (body->rc < 0) {
		assert_number(body->rc, -ETIMEDOUT);
		assert_null(body->draft.object);
		ns_output_add(output, "too slow\n", 9);
		return NS_STEP_DONE;
	}
	for (uint64_t i = 0; !body->is_dropped && i < body->bytes; i++)
		sum = sum * 31 + (unsigned char)value[i];
	ns_output_print(output, "got %llu %u\n", (unsigned long long)body->bytes, sum);
	if (body->draft.object)
		ns_draft_store(context->thread, &body->draft, NS_SET, 0, 0, &cas);
	free(small->memory);
	small->memory = NULL;
	return NS_STEP_DONE;
}

static void refuse(void *state, struct ns_output *output)
{
	(void)state;
	ns_output_add(output, "too long\n", 9);
}

static const struct ns_dialect dialect = {
	.name = "small",
	.create = create,
	.free = destroy,
	.take = take,
	.finish = finish,
	.head_max = HEAD_MAX,
	.refuse = refuse,
};

/* ---- a peer ---- */

struct peer {
	struct made made;
	struct ns_server_state server;
	struct ns_session_context context;
	struct ns_session *session;
	char *got; /* all that it was sent */
	size_t got_len;
	size_t sent; /* of the stream, by it */
};

static struct peer *peer_create(void)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	peer->made = made_default(1, 4);
	made_create(&peer->made);
	peer->server.worker_count = 1;
	peer->context.server = &peer->server;
	peer->context.store = peer->made.store;
	peer->context.thread = peer->made.thread;
	peer->session = ns_session_create_speaking(&dialect, &peer->context);
	peer->got = calloc(1, 12 << 20);
	assert_non_null(peer->session);
	return peer;
}

static void peer_free(struct peer *peer)
{
	ns_session_free(peer->session);
	made_destroy(&peer->made);
	free(peer->got);
	free(peer);
}

/* Reads at most @most bytes of what the session has to say. */
static void peer_read(struct peer *peer, size_t most)
{
	struct iovec piece;

	while (most > 0 && ns_session_output(peer->session, &piece, 1) == 1) {
		size_t part = most < piece.iov_len ? most : piece.iov_len;

		memcpy(peer->got + peer->got_len, piece.iov_base, part);
		peer->got_len += part;
		most -= part;
		ns_session_sent(peer->session, part);
	}
}

/* At most @most bytes of the stream, as many as are wanted now. */
static size_t peer_write(struct peer *peer, const char *stream, size_t len, size_t most)
{
	size_t count = len - peer->sent;
	char *room;
	size_t size = ns_session_room(peer->session, &room);

	if (count > most)
		count = most;
	if (count > size)
		count = size;
	if (count == 0)
		return 0;
	memcpy(room, stream + peer->sent, count);
	peer->sent += count;
	ns_session_received(peer->session, count);
	return count;
}

/* The whole stream in pieces of @step (0 = of random sizes), read as it comes; then its end. */
static void peer_talk(struct peer *peer, const char *stream, size_t len, size_t step)
{
	for (;;) {
		size_t most = step ? step : 1 + (size_t)rand() % 700;

		peer_read(peer, SIZE_MAX);
		if (ns_session_is_ready(peer->session))
			ns_session_continue(peer->session);
		else if (peer_write(peer, stream, len, most) == 0)
			break;
	}
	ns_session_ended(peer->session);
	assert_true(ns_session_is_over(peer->session));
	peer_read(peer, SIZE_MAX);
}

static char *make_stream(size_t *ret_len)
{
	static const char *const heads[] = { "put", "skip", "mem" };
	char *stream = malloc(1 << 20);
	size_t len = 0;

	srand(1);
	for (unsigned i = 0; i < 400; i++) {
		unsigned bytes = i % 40 == 7 ? 4000 : (unsigned)rand() % 90;

		if (i % 120 == 47)
			bytes = 70000; /* to memory */

		len += (size_t)sprintf(stream + len, "echo %u\n%s", i, i % 3 ? "" : "\n\n");
		if (i % 4 == 0)
			len += (size_t)sprintf(stream + len, "echo %0*d\n", rand() % 200 + 1, 5);
		len += (size_t)sprintf(stream + len, "%s %u\n", heads[i % 3], bytes);
		for (unsigned b = 0; b < bytes; b++)
			stream[len++] = (char)rand();
		len += (size_t)sprintf(stream + len, i % 50 == 9 ? "big\n" : "");
	}
	len += (size_t)sprintf(stream + len, "end\necho never\n");
	*ret_len = len;
	return stream;
}

/* ---- tests ---- */

static void any_split_of_a_stream_gives_the_same_answers(void **state)
{
	static const size_t steps[] = { 1, 2, 3, 5, 16, 61, 300, 301, 4096, 0, 0, 0 };
	size_t len;
	char *stream = make_stream(&len);
	struct peer *whole = peer_create();

	(void)state;
	peer_talk(whole, stream, len, SIZE_MAX);
	assert_number(whole->got_len > 10000, true);
	assert_has(whole->got + whole->got_len - 4, "bye\n");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct peer *peer = peer_create();

		check_case("pieces of %zu", steps[i]);
		peer_talk(peer, stream, len, steps[i]);
		assert_number(peer->got_len, whole->got_len);
		assert_memory_equal(peer->got, whole->got, whole->got_len);
		peer_free(peer);
	}
	peer_free(whole);
	free(stream);
}

static void a_head_is_refused_at_the_same_length_in_any_split(void **state)
{
	static const struct {
		size_t text;
		const char *answer;
	} cases[] = { { HEAD_MAX - 6, NULL },
		      { HEAD_MAX - 5, "too long\n" },
		      { 20000, "too long\n" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		static const size_t steps[] = { 1, 100, SIZE_MAX };
		char *stream = malloc(30000);
		int len = sprintf(stream, "echo %0*d\nend\n", (int)cases[i].text, 1);

		for (size_t s = 0; s < 3; s++) {
			struct peer *peer = peer_create();

			check_case("a text of %zu in pieces of %zu", cases[i].text, steps[s]);
			peer_talk(peer, stream, (size_t)len, steps[s]);
			if (cases[i].answer)
				assert_text(peer->got, cases[i].answer);
			else
				assert_has(peer->got, "bye\n");
			assert_in_range(ns_session_bytes(peer->session), 1, 40000);
			peer_free(peer);
		}
		free(stream);
	}
}

static void who_does_not_read_is_not_read_from(void **state)
{
	struct peer *peer = peer_create();
	char *stream = malloc(40000);
	size_t len = 0;
	size_t most = 0;

	(void)state;
	for (unsigned i = 0; i < 10000; i++) {
		memcpy(stream + len, "big\n", 4);
		len += 4;
	}
	while (peer_write(peer, stream, len, SIZE_MAX) > 0 || ns_session_is_ready(peer->session)) {
		ns_session_continue(peer->session);
		if (ns_session_bytes(peer->session) > most)
			most = ns_session_bytes(peer->session);
	}
	assert_false(ns_session_wants_input(peer->session));
	assert_number(ns_session_waiting(peer->session), NS_SENDING);
	assert_in_range(most, NS_OUTPUT_COPIED_MAX, NS_OUTPUT_COPIED_MAX + 60000);
	/* And once it reads, nothing is missing. */
	peer_talk(peer, stream, len, SIZE_MAX);
	assert_number(peer->got_len, 10000 * 1000);
	peer_free(peer);
	free(stream);
}

static void others_get_their_turn_after_some_commands(void **state)
{
	struct peer *peer = peer_create();
	char stream[2 * 7 * NS_TURN_COMMANDS_MAX + 1] = "";

	(void)state;
	for (size_t i = 0; i < (size_t)2 * NS_TURN_COMMANDS_MAX; i++)
		memcpy(stream + i * 7, "echo a\n", 8);
	peer_write(peer, stream, strlen(stream), SIZE_MAX);
	assert_true(ns_session_is_ready(peer->session));
	assert_false(ns_session_wants_input(peer->session));
	peer_read(peer, SIZE_MAX);
	assert_number(peer->got_len, 2 * NS_TURN_COMMANDS_MAX);
	ns_session_continue(peer->session);
	assert_false(ns_session_is_ready(peer->session));
	peer_read(peer, SIZE_MAX);
	assert_number(peer->got_len, 4 * NS_TURN_COMMANDS_MAX);
	peer_free(peer);
}

static void a_value_cut_off_in_the_middle_is_dropped(void **state)
{
	static const struct {
		const char *stream;
		unsigned heads; /* while the session is there; then only what was stored stays */
		unsigned stored;
	} cases[] = { { "put 100\nabc", 1, 0 }, { "put 100\n", 1, 0 },  { "skip 100\nabc", 0, 0 },
		      { "mem 100\nabc", 0, 0 }, { "put 3\nabc", 1, 1 }, { "put 10", 0, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peer *peer = peer_create();
		struct ns_store *store = peer->made.store;

		check_case("%s", cases[i].stream);
		peer_talk(peer, cases[i].stream, strlen(cases[i].stream), 2);
		assert_number(ns_store_arena(store, 0).heads.heads, cases[i].heads);
		ns_session_free(peer->session);
		peer->session = NULL;
		assert_number(ns_store_arena(store, 0).heads.heads, cases[i].stored);
		peer_free(peer);
	}
}

static void it_tells_what_it_waits_for(void **state)
{
	static const struct {
		const char *stream;
		enum ns_waiting waiting;
	} cases[] = { { "", NS_IDLE },
		      { "ec", NS_IN_HEAD },
		      { "put 100\n", NS_IN_BODY },
		      { "put 100\na", NS_IN_BODY },
		      { "echo a\n", NS_IDLE },
		      { "echo a\nec", NS_IN_HEAD } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peer *peer = peer_create();

		check_case("%s", cases[i].stream);
		while (peer_write(peer, cases[i].stream, strlen(cases[i].stream), SIZE_MAX) > 0)
			;
		peer_read(peer, SIZE_MAX);
		assert_number(ns_session_waiting(peer->session), cases[i].waiting);
		peer_free(peer);
	}
}

/* ---- values that do not come ---- */

enum { UPLOAD_BYTES = MADE_HEAD, UPLOADS_MAX = 4 * MADE_BLOCK / NS_UPLOAD_SHARE / MADE_HEAD };

/* Of one worker, with the first byte of a value of UPLOAD_BYTES each. */
static void begin_uploads(struct peer *peer, struct ns_session **sessions, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *room;

		sessions[i] = ns_session_create_speaking(&dialect, &peer->context);
		assert_non_null(sessions[i]);
		assert_true(ns_session_room(sessions[i], &room) > 10);
		memcpy(room, "put 4096\nx", 10);
		ns_session_received(sessions[i], 10);
	}
}

static void send_some(struct ns_session *session, size_t count)
{
	while (count > 0) {
		char *room;
		size_t part = ns_session_room(session, &room);

		assert_true(part > 0);
		part = part < count ? part : count;
		memset(room, 'y', part);
		ns_session_received(session, part);
		count -= part;
	}
}

static bool is_answered(struct ns_session *session, const char *text)
{
	struct iovec piece;

	return ns_session_output(session, &piece, 1) == 1 && piece.iov_len >= strlen(text) &&
	       memcmp(piece.iov_base, text, strlen(text)) == 0;
}

static void who_sends_nothing_loses_his_room_to_others(void **state)
{
	struct peer *peer = peer_create();
	struct ns_session *sessions[UPLOADS_MAX + 3];

	(void)state;
	begin_uploads(peer, sessions, UPLOADS_MAX);
	assert_number(ns_store_arena(peer->made.store, 0).heads.heads, UPLOADS_MAX);
	/* The first one goes on, so it is the turn of the second, and then of the third. */
	send_some(sessions[0], 1);
	begin_uploads(peer, sessions + UPLOADS_MAX, 2);
	assert_number(ns_store_arena(peer->made.store, 0).heads.heads, UPLOADS_MAX);

	send_some(sessions[0], UPLOAD_BYTES - 2);
	assert_true(is_answered(sessions[0], "got 4096"));
	/* What comes too late is swallowed, and the connection stays in step. */
	for (size_t i = 1; i <= 2; i++) {
		send_some(sessions[i], UPLOAD_BYTES - 1);
		assert_true(is_answered(sessions[i], "too slow\n"));
		assert_false(ns_session_is_over(sessions[i]));
	}
	/* One has ended well: there is room for one more without anybody's going. */
	begin_uploads(peer, sessions + UPLOADS_MAX + 2, 1);
	for (size_t i = 3; i < UPLOADS_MAX + 3; i++) {
		send_some(sessions[i], UPLOAD_BYTES - 1);
		assert_true(is_answered(sessions[i], "got 4096"));
	}
	for (size_t i = 0; i < UPLOADS_MAX + 3; i++)
		ns_session_free(sessions[i]);
	assert_number(peer->context.uploads.head_bytes[0], 0);
	assert_null(peer->context.uploads.first);
	assert_number(ns_store_arena(peer->made.store, 0).heads.heads, 1);
	peer_free(peer);
}

/* Where a worker's share is less than one head, it is still one. */
static void one_value_may_always_come(void **state)
{
	struct peer *peer = peer_create();
	struct ns_session *sessions[2];

	(void)state;
	peer->server.worker_count = 1000;
	begin_uploads(peer, sessions, 2);
	send_some(sessions[1], UPLOAD_BYTES - 1);
	assert_true(is_answered(sessions[1], "got 4096"));
	send_some(sessions[0], UPLOAD_BYTES - 1);
	assert_true(is_answered(sessions[0], "too slow\n"));
	ns_session_free(sessions[0]);
	ns_session_free(sessions[1]);
	peer_free(peer);
}

static void a_peer_that_sends_no_more_still_gets_its_answers(void **state)
{
	struct peer *peer = peer_create();
	char stream[7 * 200 + 1] = "";

	(void)state;
	for (size_t i = 0; i < 200; i++)
		memcpy(stream + i * 7, "echo a\n", 8);
	peer_write(peer, stream, strlen(stream), SIZE_MAX);
	ns_session_ended(peer->session);
	assert_false(ns_session_is_over(peer->session));
	while (ns_session_is_ready(peer->session))
		ns_session_continue(peer->session);
	assert_true(ns_session_is_over(peer->session));
	peer_read(peer, SIZE_MAX);
	assert_number(peer->got_len, 400);
	peer_free(peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_split_of_a_stream_gives_the_same_answers),
		cmocka_unit_test(a_head_is_refused_at_the_same_length_in_any_split),
		cmocka_unit_test(who_does_not_read_is_not_read_from),
		cmocka_unit_test(others_get_their_turn_after_some_commands),
		cmocka_unit_test(a_value_cut_off_in_the_middle_is_dropped),
		cmocka_unit_test(it_tells_what_it_waits_for),
		cmocka_unit_test(who_sends_nothing_loses_his_room_to_others),
		cmocka_unit_test(one_value_may_always_come),
		cmocka_unit_test(a_peer_that_sends_no_more_still_gets_its_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
