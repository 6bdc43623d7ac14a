/* SPDX-License-Identifier: BSD-3-Clause */
/* How answers are put together, and the times in them. */
#include "memcache.h"

#include <stdarg.h>
#include <stdio.h>

enum { RELATIVE_MAX_S = 60 * 60 * 24 * 30 };

void ns_talk_add(struct ns_talk *talk, const char *bytes, size_t count)
{
	if (ns_output_add(talk->output, bytes, count) < 0)
		talk->is_broken = true;
}

void ns_talk_say(struct ns_talk *talk, const char *text)
{
	struct ns_reply reply = { .len = 0 };

	ns_reply_text(&reply, text);
	ns_reply_add(&reply, "\r\n", 2);
	ns_talk_add(talk, reply.bytes, reply.len);
}

void ns_talk_answer(struct ns_talk *talk, const struct ns_command *command, const char *text)
{
	if (!command->is_quiet)
		ns_talk_say(talk, text);
}

void ns_talk_stat_text(struct ns_talk *talk, const char *name, const char *fmt, ...)
{
	char value[512];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	if (ns_output_print(talk->output, "STAT %s %s\r\n", name, value) < 0)
		talk->is_broken = true;
}

void ns_talk_stat(struct ns_talk *talk, const char *name, uint64_t value)
{
	ns_talk_stat_text(talk, name, "%llu", (unsigned long long)value);
}

void ns_talk_value(struct ns_talk *talk, const struct ns_object *object)
{
	uint64_t bytes = ns_object_bytes(object);

	if (bytes == 0)
		ns_object_unpin(talk->context->thread, object);
	else if (ns_output_add_object(talk->output, talk->context->store, object, 0, bytes) < 0)
		talk->is_broken = true;
	ns_talk_add(talk, "\r\n", 2);
}

void ns_reply_number(struct ns_reply *reply, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	ns_reply_add(reply, digits + at, sizeof(digits) - at);
}

void ns_reply_signed(struct ns_reply *reply, int64_t number)
{
	if (number < 0)
		ns_reply_add(reply, "-", 1);
	ns_reply_number(reply, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

bool ns_reply_echo(struct ns_reply *reply, const struct ns_command *command, char flag)
{
	char text[NS_BASE64_LEN(NS_KEY_MAX)];

	if (flag == 'O') {
		ns_reply_add(reply, " O", 2);
		ns_reply_add(reply, command->opaque, command->opaque_len);
		return true;
	}
	if (flag != 'k')
		return false;
	ns_reply_add(reply, " k", 2);
	if (command->is_binary_key) {
		ns_reply_add(reply, text, ns_base64_encode(command->key, command->key_len, text));
		ns_reply_add(reply, " b", 2);
	} else {
		ns_reply_add(reply, command->key, command->key_len);
	}
	return true;
}

void ns_reply_echoes(struct ns_reply *reply, const struct ns_command *command)
{
	for (unsigned i = 0; i < command->meta_count; i++)
		(void)ns_reply_echo(reply, command, command->meta[i]);
}

/* ---- times ---- */

int64_t ns_talk_time_now(const struct ns_talk *talk)
{
	return talk->context->server->started_s + talk->context->now_s - 2;
}

uint32_t ns_talk_expiry(const struct ns_talk *talk, int64_t seconds)
{
	int64_t now_s = talk->context->now_s;

	if (seconds == 0)
		return 0;
	if (seconds > RELATIVE_MAX_S)
		seconds -= ns_talk_time_now(talk);
	if (seconds <= 0)
		return 1;
	/* UINT32_MAX means "as it is" to ns_store_invalidate(). */
	return seconds < UINT32_MAX - 1 - now_s ? (uint32_t)(now_s + seconds) : UINT32_MAX - 1;
}

int64_t ns_talk_time_left(const struct ns_talk *talk, const struct ns_object *object)
{
	uint32_t expires_s = __atomic_load_n(&object->expires_s, __ATOMIC_RELAXED);
	uint32_t now_s = talk->context->now_s;

	if (expires_s == 0)
		return -1;
	return expires_s > now_s ? expires_s - now_s : 0;
}
