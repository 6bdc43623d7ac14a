/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A chunked body (RFC 9112, 7.1), undone piece by piece. Pure. Extensions and trailers are read
 * over; a line ends in CR LF, never in LF alone.
 */
#ifndef NS_HTTP_CHUNK_H
#define NS_HTTP_CHUNK_H

#include "http_parse.h"

enum {
	NS_CHUNK_DIGITS_MAX = 16,       /* of a chunk's size */
	NS_CHUNK_EXTENSIONS_MAX = 4096, /* bytes of all extensions of one body */
	NS_CHUNK_TRAILERS_MAX = 8192    /* bytes of the lines after the last chunk */
};

/* All zero at the start of a body. */
struct ns_chunks {
	uint64_t left; /* of the chunk's data */
	unsigned extension_bytes;
	unsigned trailer_bytes;
	uint8_t digits;
	uint8_t state;
};

enum ns_chunk_step {
	NS_CHUNK_MORE, /* all is used up, more bytes are needed */
	NS_CHUNK_DATA, /* *ret_data is part of the value; call again with what is left */
	NS_CHUNK_END,  /* the body is whole */
	NS_CHUNK_BAD   /* not chunked, or over a limit */
};

/* Bytes of data that the chunk at hand still has to bring; 0 while its size is not known. */
uint64_t ns_chunks_due(const struct ns_chunks *chunks);

enum ns_chunk_step ns_chunks_take(struct ns_chunks *chunks, const char *bytes, size_t count,
                                  size_t *ret_used, struct ns_http_text *ret_data);

#endif
