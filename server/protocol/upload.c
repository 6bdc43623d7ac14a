/* SPDX-License-Identifier: BSD-3-Clause */
#include "upload.h"

#include <stddef.h>

static void append(struct ns_uploads *uploads, struct ns_upload *upload)
{
	upload->next = NULL;
	upload->previous = uploads->last;
	if (uploads->last)
		uploads->last->next = upload;
	else
		uploads->first = upload;
	uploads->last = upload;
}

static void take_out(struct ns_uploads *uploads, struct ns_upload *upload)
{
	if (upload->previous)
		upload->previous->next = upload->next;
	else
		uploads->first = upload->next;
	if (upload->next)
		upload->next->previous = upload->previous;
	else
		uploads->last = upload->previous;
}

void ns_upload_begin(struct ns_uploads *uploads, struct ns_upload *upload)
{
	append(uploads, upload);
	uploads->head_bytes[upload->arena] += upload->head_bytes;
	upload->got_bytes = 0;
	upload->is_listed = true;
	upload->was_seen = false;
}

void ns_upload_got(struct ns_uploads *uploads, struct ns_upload *upload, uint64_t bytes)
{
	if (!upload->is_listed)
		return;
	upload->got_bytes += bytes;
	take_out(uploads, upload);
	append(uploads, upload);
}

void ns_upload_end(struct ns_uploads *uploads, struct ns_upload *upload)
{
	if (!upload->is_listed)
		return;
	take_out(uploads, upload);
	uploads->head_bytes[upload->arena] -= upload->head_bytes;
	upload->is_listed = false;
}

struct ns_upload *ns_uploads_slowest(const struct ns_uploads *uploads, const struct ns_upload *but)
{
	for (struct ns_upload *at = uploads->first; at; at = at->next)
		if (at != but && at->arena == but->arena)
			return at;
	return NULL;
}
