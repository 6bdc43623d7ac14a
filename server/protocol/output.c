/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of pieces. Text is copied into chunks that are given back in the order in which they were filled;
 * text behind text in the same chunk is one piece. What an object has in memory and what it has on SSD are two
 * pieces, each with a pin; a tail is read when all in front of it is at hand, so while that is being sent.
 */
#include "output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHUNK_BYTES =
		4096 - 64, /* room for text, beside malloc's and our own words within a page */
	CHUNK_BYTES_MAX = 65536,
	PIECES_AT_FIRST = 16,
	PIECES_TO_KEEP = 128, /* places kept when all is sent */
	TEXT_MAX = 1024,      /* of ns_output_print() without another allocation */
};

struct chunk {
	struct chunk *next;
	size_t room;
	size_t used;
	unsigned pieces; /* that are still to be sent from it */
	char text[];
};

struct piece {
	const char *bytes;
	uint64_t count; /* still to be sent */
	uint64_t sent;
	const struct ns_object *object; /* NULL: text, of the first chunk that has pieces */
	struct ns_tail_read *read;      /* of a tail, once it has begun */
	uint64_t offset;                /* of its first byte, in the tail */
	uint64_t pinned;                /* bytes of the head, sent or not */
	bool is_tail;                   /* then bytes is not used */
};

struct ns_output {
	struct ns_thread *thread;
	struct ns_tail_io *io;
	struct ns_tail_waiter waiter;
	unsigned tails; /* pieces that are tails */
	struct piece *pieces;
	size_t first; /* that is not sent */
	size_t end;
	size_t room;
	struct chunk *chunks; /* the oldest one */
	struct chunk *last;   /* never NULL: one is kept */
	size_t text_bytes;    /* still to be sent */
	size_t chunk_bytes;
	uint64_t pinned_bytes; /* of heads */
	bool is_broken;
};

static struct chunk *chunk_create(size_t room)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + room);

	if (chunk)
		*chunk = (struct chunk){ .room = room };
	return chunk;
}

struct ns_output *ns_output_create(struct ns_thread *thread)
{
	struct ns_output *output = calloc(1, sizeof(*output));

	if (!output)
		return NULL;
	output->thread = thread;
	output->room = PIECES_AT_FIRST;
	output->pieces = malloc(PIECES_AT_FIRST * sizeof(*output->pieces));
	output->chunks = chunk_create(CHUNK_BYTES);
	output->last = output->chunks;
	output->chunk_bytes = CHUNK_BYTES;
	if (!output->pieces || !output->chunks) {
		free(output->pieces);
		free(output->chunks);
		free(output);
		return NULL;
	}
	return output;
}

void ns_output_use_tails(struct ns_output *output, struct ns_tail_io *io,
                         struct ns_tail_waiter waiter)
{
	output->io = io;
	output->waiter = waiter;
}

static void end_read(struct piece *piece)
{
	if (piece->read)
		ns_tail_read_end(piece->read);
	piece->read = NULL;
}

/* What was sent of it counts, the whole of it or not. */
static void end_object(struct ns_output *output, struct piece *piece)
{
	end_read(piece);
	output->pinned_bytes -= piece->pinned;
	if (piece->is_tail) {
		output->tails--;
		ns_thread_served_tail(output->thread, piece->sent);
	} else if (piece->sent > 0) {
		ns_thread_served(output->thread, piece->object, piece->sent);
	}
	ns_object_unpin(output->thread, piece->object);
}

void ns_output_free(struct ns_output *output)
{
	if (!output)
		return;
	for (size_t i = output->first; i < output->end; i++) {
		if (output->pieces[i].object)
			end_object(output, &output->pieces[i]);
	}
	while (output->chunks) {
		struct chunk *chunk = output->chunks;

		output->chunks = chunk->next;
		free(chunk);
	}
	free(output->pieces);
	free(output);
}

/* ---- adding ---- */

static int break_off(struct ns_output *output)
{
	output->is_broken = true;
	return -ENOMEM;
}

/* A place behind the others, by moving up or growing; NULL: no memory */
static struct piece *new_piece(struct ns_output *output)
{
	if (output->end == output->room && output->first > output->room / 2) {
		for (size_t i = output->first; i < output->end; i++)
			output->pieces[i - output->first] = output->pieces[i];
		output->end -= output->first;
		output->first = 0;
	}
	if (output->end == output->room) {
		size_t room = output->room > 0 ? output->room * 2 : PIECES_AT_FIRST;
		struct piece *pieces = realloc(output->pieces, room * sizeof(*pieces));

		if (!pieces)
			return NULL;
		output->pieces = pieces;
		output->room = room;
	}
	return &output->pieces[output->end++];
}

/* The last chunk with room in it; NULL: no memory */
static struct chunk *chunk_with_room(struct ns_output *output, size_t count)
{
	struct chunk *chunk = output->last;

	if (chunk->used < chunk->room)
		return chunk;
	if (count < CHUNK_BYTES)
		count = CHUNK_BYTES;
	chunk = chunk_create(count < CHUNK_BYTES_MAX ? count : CHUNK_BYTES_MAX);
	if (!chunk)
		return NULL;
	output->chunk_bytes += chunk->room;
	output->last->next = chunk;
	output->last = chunk;
	return chunk;
}

static int add_text(struct ns_output *output, struct chunk *chunk, const char *bytes, size_t count)
{
	char *to = chunk->text + chunk->used;
	struct piece *piece = NULL;

	if (output->end > output->first)
		piece = &output->pieces[output->end - 1];
	if (piece && !piece->object && piece->bytes + piece->count == to && chunk->pieces > 0) {
		piece->count += count;
	} else {
		piece = new_piece(output);
		if (!piece)
			return break_off(output);
		*piece = (struct piece){ .bytes = to, .count = count };
		chunk->pieces++;
	}
	memcpy(to, bytes, count);
	chunk->used += count;
	output->text_bytes += count;
	return 0;
}

int ns_output_add(struct ns_output *output, const char *bytes, size_t count)
{
	if (output->is_broken)
		return -ENOMEM;
	while (count > 0) {
		struct chunk *chunk = chunk_with_room(output, count);
		size_t part = count;

		if (!chunk)
			return break_off(output);
		if (part > chunk->room - chunk->used)
			part = chunk->room - chunk->used;
		if (add_text(output, chunk, bytes, part) < 0)
			return -ENOMEM;
		bytes += part;
		count -= part;
	}
	return 0;
}

int ns_output_print(struct ns_output *output, const char *fmt, ...)
{
	char text[TEXT_MAX];
	char *longer = NULL;
	va_list args;
	int len;
	int rc;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len >= 0 && (size_t)len < sizeof(text))
		return ns_output_add(output, text, (size_t)len);
	va_start(args, fmt);
	len = vasprintf(&longer, fmt, args);
	va_end(args);
	if (len < 0)
		return break_off(output);
	rc = ns_output_add(output, longer, (size_t)len);
	free(longer);
	return rc;
}

/* Takes over the pin, on failure too. */
static int add_piece(struct ns_output *output, const struct piece *piece)
{
	struct piece *place = output->is_broken ? NULL : new_piece(output);

	if (!place) {
		ns_object_unpin(output->thread, piece->object);
		return break_off(output);
	}
	*place = *piece;
	output->tails += piece->is_tail;
	output->pinned_bytes += piece->pinned;
	return 0;
}

int ns_output_add_object(struct ns_output *output, const struct ns_store *store,
                         const struct ns_object *object, uint64_t offset, uint64_t count)
{
	size_t head_bytes;
	const char *head = ns_object_head(store, object, &head_bytes);
	struct piece piece = { .object = object, .count = count };
	int rc;

	if (count == 0) {
		ns_object_unpin(output->thread, object);
		return 0;
	}
	if (offset < head_bytes) {
		piece.bytes = head + offset;
		piece.pinned = head_bytes;
		if (count <= head_bytes - offset)
			return add_piece(output, &piece);
		piece.count = head_bytes - offset;
		ns_object_pin(object); /* for the other piece */
		rc = add_piece(output, &piece);
		if (rc < 0) {
			ns_object_unpin(output->thread, object);
			return rc;
		}
		count -= piece.count;
		offset = head_bytes;
	}
	piece = (struct piece){
		.object = object, .count = count, .offset = offset - head_bytes, .is_tail = true
	};
	return add_piece(output, &piece);
}

/* ---- sending ---- */

/* As ns_tail_read_next(). */
static ssize_t tail_at_hand(struct ns_output *output, struct piece *piece, const char **ret)
{
	ssize_t rc;

	if (!output->io)
		return -EIO;
	if (!piece->read)
		piece->read = ns_tail_read_begin(output->io, piece->object->tail, piece->offset,
		                                 piece->count, output->waiter);
	rc = piece->read ? ns_tail_read_next(piece->read, ret) : -ENOMEM;
	if (rc > 0 && (uint64_t)rc > piece->count)
		rc = (ssize_t)piece->count;
	return rc;
}

/* From that piece on, nothing is sent any more. Text has no pins, and goes with the output. */
static void end_at(struct ns_output *output, size_t at, int rc)
{
	if (rc == -EIO && output->io)
		ns_store_lose(output->thread, output->pieces[at].object, rc);
	for (size_t i = at; i < output->end; i++) {
		if (output->pieces[i].object)
			end_object(output, &output->pieces[i]);
	}
	output->end = at;
	output->is_broken = true;
}

unsigned ns_output_pieces(struct ns_output *output, struct iovec *pieces, unsigned max)
{
	unsigned count = 0;

	for (size_t i = output->first; i < output->end && count < max; i++) {
		struct piece *piece = &output->pieces[i];
		const char *bytes = piece->bytes;
		ssize_t at_hand = 0;

		if (piece->is_tail) {
			at_hand = tail_at_hand(output, piece, &bytes);
			if (at_hand < 0)
				end_at(output, i, (int)at_hand);
			if (at_hand <= 0)
				break;
		}
		pieces[count].iov_base = (char *)bytes;
		pieces[count++].iov_len = piece->is_tail ? (size_t)at_hand : piece->count;
		if (piece->is_tail && (uint64_t)at_hand < piece->count)
			break;
	}
	return count;
}

bool ns_output_waits_for_storage(struct ns_output *output)
{
	struct iovec piece;

	return output->tails > 0 && output->first < output->end &&
	       output->pieces[output->first].is_tail && ns_output_pieces(output, &piece, 1) == 0;
}

void ns_output_pause(struct ns_output *output)
{
	for (size_t i = output->first; output->tails > 0 && i < output->end; i++)
		end_read(&output->pieces[i]);
}

/* A piece of text is sent, which was of the oldest chunk that has any. */
static void end_text(struct ns_output *output)
{
	struct chunk *chunk = output->chunks;

	chunk->pieces--;
	if (chunk->pieces > 0)
		return;
	if (chunk == output->last) {
		chunk->used = 0;
		return;
	}
	output->chunks = chunk->next;
	output->chunk_bytes -= chunk->room;
	free(chunk);
}

static void shrink(struct ns_output *output)
{
	output->first = 0;
	output->end = 0;
	if (output->room > PIECES_TO_KEEP) {
		struct piece *pieces =
			realloc(output->pieces, PIECES_TO_KEEP * sizeof(*output->pieces));

		if (pieces) {
			output->pieces = pieces;
			output->room = PIECES_TO_KEEP;
		}
	}
}

static void take_off(struct piece *piece, size_t part)
{
	piece->count -= part;
	piece->sent += part;
	if (!piece->is_tail) {
		piece->bytes += part;
		return;
	}
	piece->offset += part;
	if (piece->read)
		ns_tail_read_used(piece->read, part);
}

void ns_output_sent(struct ns_output *output, size_t count)
{
	while (count > 0 && output->first < output->end) {
		struct piece *piece = &output->pieces[output->first];
		size_t part = count < piece->count ? count : (size_t)piece->count;

		take_off(piece, part);
		count -= part;
		if (!piece->object)
			output->text_bytes -= part;
		if (piece->count > 0)
			return;
		output->first++;
		if (piece->object)
			end_object(output, piece);
		else
			end_text(output);
	}
	if (output->first == output->end)
		shrink(output);
}

bool ns_output_is_empty(const struct ns_output *output)
{
	return output->first == output->end;
}

bool ns_output_pins_enough(const struct ns_output *output)
{
	return output->pinned_bytes >= NS_OUTPUT_PINNED_MAX;
}

bool ns_output_is_full(const struct ns_output *output)
{
	return output->tails > 0 || ns_output_pins_enough(output) ||
	       output->end - output->first >= NS_OUTPUT_PIECES_MAX ||
	       output->text_bytes >= NS_OUTPUT_COPIED_MAX;
}

bool ns_output_is_broken(const struct ns_output *output)
{
	return output->is_broken;
}

size_t ns_output_bytes(const struct ns_output *output)
{
	return sizeof(*output) + output->room * sizeof(*output->pieces) + output->chunk_bytes;
}
