/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memcache dialect: one connection's bytes cut into lines, keys and values. A value is followed
 * by a line end that belongs to it, so finish() only keeps the value, and take() does the rest once
 * that has come.
 *
 * The keys of a get are answered a few at a time: however many a line has, what is pinned for it
 * stays within the limits of the output, and a line of keys may be longer than the buffer.
 */
#include "memcache.h"

#include <stdlib.h>

enum {
	KEYS_A_STEP = 16,
	KEYS_BEFORE_LINE_END =
		2048, /* bytes of a line after which its keys are answered one by one */
};

/* ---- lines of keys ---- */

static enum ns_step refuse_keys(struct ns_talk *talk)
{
	ns_talk_count(talk, protocol_errors, 1);
	ns_talk_say(talk, "CLIENT_ERROR bad command line format");
	talk->state->next = NS_NEXT_RUBBISH;
	return NS_STEP_DONE;
}

/* The next word of bytes, which may be cut off; *ret_end tells what ended it. */
static struct ns_span next_word(const char *bytes, size_t count, char *ret_end)
{
	size_t from = 0;
	size_t to;

	while (from < count && bytes[from] == ' ')
		from++;
	for (to = from; to < count && bytes[to] != ' ' && bytes[to] != '\n'; to++)
		;
	*ret_end = '\0';
	if (to < count)
		*ret_end = bytes[to];
	return (struct ns_span){ bytes + from, to - from };
}

static enum ns_step take_keys(struct ns_talk *talk, const char *bytes, size_t count, size_t *used)
{
	struct ns_memcache *state = talk->state;

	for (unsigned keys = 0; keys < KEYS_A_STEP; keys++) {
		char end;
		struct ns_span key;
		size_t from;
		size_t to;

		if (keys > 0 && ns_output_pins_enough(talk->output))
			return NS_STEP_DONE;
		key = next_word(bytes + *used, count - *used, &end);
		from = (size_t)(key.bytes - bytes);
		to = from + key.len;

		if (end == '\0') {
			*used = from;
			return key.len > NS_KEY_MAX + 1 ? refuse_keys(talk) : NS_STEP_MORE;
		}
		if (end == '\n' && key.len > 0 && key.bytes[key.len - 1] == '\r')
			key.len--;
		if (end == '\n' && key.len == 0) {
			ns_talk_add(talk, "END\r\n", 5);
			state->next = NS_NEXT_LINE;
			*used = to + 1;
			return NS_STEP_DONE;
		}
		*used = to;
		if (!ns_span_is_key(key))
			return refuse_keys(talk);
		ns_memcache_get(talk, &state->command, key);
	}
	return NS_STEP_DONE;
}

static bool are_keys(struct ns_span rest)
{
	struct ns_span word;

	while (ns_span_word(&rest, &word))
		if (!ns_span_is_key(word))
			return false;
	return true;
}

static bool is_get(enum ns_verb verb)
{
	return verb >= NS_VERB_GET && verb <= NS_VERB_GATS;
}

static enum ns_step begin_keys(struct ns_talk *talk, const struct ns_command *command,
                               struct ns_span bytes, size_t *used)
{
	talk->state->command = *command;
	talk->state->next = NS_NEXT_KEYS;
	*used = (size_t)(command->rest.bytes - bytes.bytes);
	return take_keys(talk, bytes.bytes, bytes.len, used);
}

/*
 * A line so long that it is begun before its end is there; if it is there already all the same, so that the
 * answer does not depend on when it came. Its first bytes decide.
 */
static bool is_long_get(const struct ns_talk *talk, struct ns_span line, struct ns_command *ret)
{
	bool is_open = talk->context->auth == NULL || talk->state->may_all;
	const char *blank;

	if (line.len < KEYS_BEFORE_LINE_END || !is_open)
		return false;
	blank = memrchr(line.bytes, ' ', KEYS_BEFORE_LINE_END);
	if (blank == NULL)
		return false;
	ns_command_parse(line.bytes, (size_t)(blank - line.bytes), ret);
	return is_get(ret->verb) && ret->error == NULL;
}

/* ---- lines ---- */

/* noreply is silent about errors too; meta's q is not. */
static void answer_error(struct ns_talk *talk, const struct ns_command *command)
{
	bool is_meta = command->verb >= NS_VERB_MG && command->verb <= NS_VERB_ME;

	ns_talk_count(talk, protocol_errors, 1);
	if (is_meta || !command->is_quiet)
		ns_talk_say(talk, command->error);
}

static enum ns_step obey(struct ns_talk *talk, const struct ns_command *command)
{
	static void (*const commands[])(struct ns_talk *, const struct ns_command *) = {
		[NS_VERB_INCR] = ns_memcache_incr,
		[NS_VERB_DECR] = ns_memcache_incr,
		[NS_VERB_DELETE] = ns_memcache_delete,
		[NS_VERB_TOUCH] = ns_memcache_touch,
		[NS_VERB_MG] = ns_memcache_mg,
		[NS_VERB_MD] = ns_memcache_md,
		[NS_VERB_MA] = ns_memcache_ma,
		[NS_VERB_MN] = ns_memcache_mn,
		[NS_VERB_ME] = ns_memcache_me,
		[NS_VERB_FLUSH_ALL] = ns_memcache_flush_all,
		[NS_VERB_VERBOSITY] = ns_memcache_verbosity,
		[NS_VERB_VERSION] = ns_memcache_version,
		[NS_VERB_STATS] = ns_memcache_stats,
		[NS_VERB_CACHE_MEMLIMIT] = ns_memcache_memlimit,
		[NS_VERB_SHUTDOWN] = ns_memcache_shutdown,
		[NS_VERB_PLACE] = ns_memcache_place,
		[NS_VERB_QUIT] = NULL, /* the last one: there is a place for each */
	};

	if (command->verb == NS_VERB_QUIT)
		return NS_STEP_CLOSE;
	if (command->verb >= NS_VERB_MG && command->verb <= NS_VERB_ME)
		ns_talk_count(talk, cmd_meta, 1);
	if (command->error != NULL)
		answer_error(talk, command);
	if (command->has_value) {
		talk->state->is_dropped = command->error != NULL;
		return ns_memcache_begin_value(talk, command);
	}
	if (command->error != NULL)
		return command->ends_connection ? NS_STEP_CLOSE : NS_STEP_DONE;
	if (commands[command->verb] != NULL)
		commands[command->verb](talk, command);
	return NS_STEP_DONE;
}

static enum ns_step take_line(struct ns_talk *talk, struct ns_span bytes, size_t *used)
{
	const char *end = memchr(bytes.bytes, '\n', bytes.len);
	struct ns_command command;
	struct ns_span line;

	if (bytes.len > 0 && (unsigned char)bytes.bytes[0] == 0x80)
		return NS_STEP_CLOSE;
	line = (struct ns_span){ bytes.bytes,
		                 end != NULL ? (size_t)(end - bytes.bytes) : bytes.len };
	if (is_long_get(talk, line, &command))
		return begin_keys(talk, &command, bytes, used);
	if (end == NULL)
		return NS_STEP_MORE;
	*used = line.len + 1;
	if (line.len > 0 && line.bytes[line.len - 1] == '\r')
		line.len--;
	if (talk->context->auth != NULL && !talk->state->may_all)
		return ns_memcache_login(talk, line);

	ns_command_parse(line.bytes, line.len, &command);
	if (is_get(command.verb) && command.error == NULL) {
		/* Nothing is sent of a line with a bad key in it. */
		if (are_keys(command.rest))
			return begin_keys(talk, &command, bytes, used);
		command.error = "CLIENT_ERROR bad command line format";
	}
	return obey(talk, &command);
}

/* ---- what follows a value, and what follows that when it is wrong ---- */

static void forget_value(struct ns_talk *talk)
{
	struct ns_memcache *state = talk->state;

	if (state->draft.object != NULL)
		ns_draft_drop(talk->context->thread, &state->draft);
	state->draft = (struct ns_draft){ 0 };
	free(state->memory);
	state->memory = NULL;
	talk->context->gathered_bytes -= state->memory_bytes;
	state->memory_bytes = 0;
	state->is_login = false;
	state->is_dropped = false;
	state->storage_rc = 0;
}

static enum ns_step skip_rubbish(struct ns_talk *talk, struct ns_span bytes, size_t *used)
{
	const char *end = memchr(bytes.bytes, '\n', bytes.len);

	if (end == NULL) {
		*used = bytes.len;
		return NS_STEP_MORE;
	}
	*used = (size_t)(end - bytes.bytes) + 1;
	talk->state->next = NS_NEXT_LINE;
	return NS_STEP_DONE;
}

static enum ns_step take_line_end(struct ns_talk *talk, struct ns_span bytes, size_t *used)
{
	struct ns_memcache *state = talk->state;
	bool is_meta = state->command.verb == NS_VERB_MS;

	if (bytes.len == 0 || (bytes.len == 1 && bytes.bytes[0] == '\r'))
		return NS_STEP_MORE;
	if (bytes.bytes[0] == '\r' && bytes.bytes[1] == '\n') {
		*used = 2;
		state->next = NS_NEXT_LINE;
		if (state->is_login)
			ns_memcache_end_login(talk);
		else if (!state->is_dropped)
			ns_memcache_end_value(talk);
		forget_value(talk);
		return NS_STEP_DONE;
	}
	if (state->is_login)
		ns_talk_say(talk, "CLIENT_ERROR bad command line termination");
	else if (!state->is_dropped && (is_meta || !state->command.is_quiet))
		ns_talk_say(talk, "CLIENT_ERROR bad data chunk");
	ns_talk_count(talk, protocol_errors, 1);
	forget_value(talk);
	state->next = NS_NEXT_RUBBISH;
	return skip_rubbish(talk, bytes, used);
}

/* ---- the dialect ---- */

static void *create(struct ns_session_context *context)
{
	struct ns_memcache *state = calloc(1, sizeof(*state));

	if (state != NULL)
		state->is_from_afar = context->is_from_afar;
	return state;
}

static void end(void *opaque, struct ns_session_context *context)
{
	struct ns_talk talk = { .state = opaque, .context = context };

	if (opaque != NULL)
		forget_value(&talk);
	free(opaque);
}

/* NOLINTNEXTLINE(readability-function-size): its parameters are the dialects' common ones. */
static enum ns_step take(void *opaque, struct ns_session_context *context, const char *bytes,
                         size_t count, size_t *used, struct ns_output *output,
                         struct ns_body *ret_body)
{
	struct ns_talk talk = {
		.state = opaque, .context = context, .output = output, .body = ret_body
	};
	struct ns_span span = { bytes, count };
	enum ns_step step = NS_STEP_CLOSE;

	*used = 0;
	switch (talk.state->next) {
	case NS_NEXT_LINE:
		step = take_line(&talk, span, used);
		break;
	case NS_NEXT_KEYS:
		step = take_keys(&talk, bytes, count, used);
		break;
	case NS_NEXT_LINE_END:
		step = take_line_end(&talk, span, used);
		break;
	case NS_NEXT_RUBBISH:
		step = skip_rubbish(&talk, span, used);
		break;
	}
	return talk.is_broken ? NS_STEP_CLOSE : step;
}

static enum ns_step finish(void *opaque, struct ns_session_context *context, struct ns_body *body,
                           struct ns_output *output)
{
	struct ns_memcache *state = opaque;

	(void)context;
	(void)output;
	if (!body->is_dropped && body->memory == NULL)
		state->draft = body->draft;
	state->storage_rc = body->rc;
	body->draft = (struct ns_draft){ 0 };
	body->memory = NULL;
	state->next = NS_NEXT_LINE_END;
	return NS_STEP_MORE;
}

static void refuse(void *opaque, struct ns_output *output)
{
	(void)opaque;
	(void)ns_output_add(output, "CLIENT_ERROR line too long\r\n", 28);
}

const struct ns_dialect ns_memcache = {
	.name = "memcache",
	.create = create,
	.free = end,
	.take = take,
	.finish = finish,
	.head_max = NS_LINE_MAX,
	.refuse = refuse,
};
