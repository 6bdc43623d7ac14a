/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that come in parts, of all sessions of a worker: what is taken for them before they are whole is
 * bounded, and when it is too much it is taken from whoever has sent nothing for the longest time.
 */
#ifndef NS_UPLOAD_H
#define NS_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

/* One of them; all zero: in no list. */
struct ns_upload {
	struct ns_upload *next;
	struct ns_upload *previous;
	uint64_t head_bytes; /* that are taken for it */
	uint64_t got_bytes;  /* since it was last looked at */
	uint8_t arena;       /* where they are */
	bool is_listed;
	bool was_seen; /* when it was last looked at */
};

/* All zero: there are none. */
struct ns_uploads {
	struct ns_upload *first; /* has sent nothing for the longest time */
	struct ns_upload *last;
	uint64_t head_bytes[UINT8_MAX + 1]; /* by arena */
};

/* @upload is not listed; its head_bytes and arena are set. */
void ns_upload_begin(struct ns_uploads *uploads, struct ns_upload *upload);
/* So much more has come of it. Nothing, when it is not listed; nor is the next. */
void ns_upload_got(struct ns_uploads *uploads, struct ns_upload *upload, uint64_t bytes);
void ns_upload_end(struct ns_uploads *uploads, struct ns_upload *upload);

/* Of those with a head in the arena of @but, the one that has sent nothing for the longest time; NULL: no other. */
struct ns_upload *ns_uploads_slowest(const struct ns_uploads *uploads, const struct ns_upload *but);

#endif
