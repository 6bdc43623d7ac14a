/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_chunk.h"

enum {
	SIZE, /* where a body begins */
	SIZE_BLANKS,
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER, /* at the start of a line */
	TRAILER_LINE,
	TRAILER_LF,
	LAST_LF,
	ENDED,
	WRONG
};

static int digit_of(char byte)
{
	if (byte >= '0' && byte <= '9')
		return byte - '0';
	byte = (char)(byte | 0x20);
	return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool is_control(char byte)
{
	return ((unsigned char)byte < ' ' && byte != '\t') || byte == 0x7f;
}

/* Sixteen digits fit 64 bits, and no more are read: it cannot overflow. */
static uint8_t read_size(struct ns_chunks *chunks, char byte)
{
	int digit = digit_of(byte);

	if (digit >= 0 && chunks->digits < NS_CHUNK_DIGITS_MAX) {
		chunks->left = chunks->left << 4 | (unsigned)digit;
		chunks->digits++;
		return SIZE;
	}
	if (digit >= 0 || chunks->digits == 0)
		return WRONG;
	if (byte == '\r')
		return SIZE_LF;
	if (byte == ';')
		return EXTENSION;
	return byte == ' ' || byte == '\t' ? SIZE_BLANKS : WRONG;
}

static uint8_t read_extension(struct ns_chunks *chunks, char byte)
{
	if (++chunks->extension_bytes > NS_CHUNK_EXTENSIONS_MAX)
		return WRONG;
	if (byte == '\r')
		return SIZE_LF;
	if (chunks->state == EXTENSION)
		return is_control(byte) ? WRONG : EXTENSION;
	if (byte == ';')
		return EXTENSION;
	return byte == ' ' || byte == '\t' ? SIZE_BLANKS : WRONG;
}

static uint8_t read_trailer(struct ns_chunks *chunks, char byte)
{
	if (++chunks->trailer_bytes > NS_CHUNK_TRAILERS_MAX)
		return WRONG;
	if (byte == '\r')
		return chunks->state == TRAILER ? LAST_LF : TRAILER_LF;
	return is_control(byte) ? WRONG : TRAILER_LINE;
}

/* One byte that is no data; the state that follows. */
static uint8_t read_frame(struct ns_chunks *chunks, char byte)
{
	switch (chunks->state) {
	case SIZE:
		return read_size(chunks, byte);
	case SIZE_BLANKS:
	case EXTENSION:
		return read_extension(chunks, byte);
	case SIZE_LF:
		chunks->digits = 0;
		if (byte != '\n')
			return WRONG;
		return chunks->left > 0 ? DATA : TRAILER;
	case DATA_CR:
		return byte == '\r' ? DATA_LF : WRONG;
	case DATA_LF:
		return byte == '\n' ? SIZE : WRONG;
	case TRAILER:
	case TRAILER_LINE:
		return read_trailer(chunks, byte);
	case TRAILER_LF:
		return byte == '\n' ? TRAILER : WRONG;
	case LAST_LF:
		return byte == '\n' ? ENDED : WRONG;
	default:
		return WRONG;
	}
}

uint64_t ns_chunks_due(const struct ns_chunks *chunks)
{
	return chunks->state == DATA ? chunks->left : 0;
}

enum ns_chunk_step ns_chunks_take(struct ns_chunks *chunks, const char *bytes, size_t count,
                                  size_t *ret_used, struct ns_http_text *ret_data)
{
	size_t at = 0;

	while (at < count && chunks->state != DATA && chunks->state < ENDED)
		chunks->state = read_frame(chunks, bytes[at++]);
	*ret_used = at;
	if (chunks->state == ENDED)
		return NS_CHUNK_END;
	if (chunks->state == WRONG)
		return NS_CHUNK_BAD;
	if (chunks->state != DATA || at == count)
		return NS_CHUNK_MORE;

	ret_data->text = bytes + at;
	ret_data->len = count - at < chunks->left ? count - at : (size_t)chunks->left;
	chunks->left -= ret_data->len;
	if (chunks->left == 0)
		chunks->state = DATA_CR;
	*ret_used = at + ret_data->len;
	return NS_CHUNK_DATA;
}
