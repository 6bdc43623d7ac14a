/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heads of HTTP/1.1 replies, as strictly as RFC 9112 permits: what two readers could take for two
 * things is refused.
 */
#include "wire_reply.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define VERSION "HTTP/1."

/* "HTTP/1.1 200" */
enum { STATUS_AT = 9, STATUS_END = 12 };

struct head {
	unsigned status;
	bool is_old;    /* HTTP/1.0 */
	bool has_close; /* Connection: close */
	bool is_chunked;
	bool has_length;
	uint64_t length;
};

/* A line or a part of one. */
struct text {
	const char *at;
	size_t size;
};

static int refuse(struct text text, const char *why, struct np_error *err)
{
	char quoted[NL_REPLY_TEXT_SIZE];

	return np_error_set(err, EPROTO, "the server's '%s' %s",
	                    nl_reply_quote(text.at, text.size, quoted, sizeof(quoted)), why);
}

static bool is_named(struct text name, const char *wanted)
{
	return name.size == strlen(wanted) && strncasecmp(name.at, wanted, name.size) == 0;
}

static struct text trim(struct text text)
{
	while (text.size > 0 && (*text.at == ' ' || *text.at == '\t')) {
		text.at++;
		text.size--;
	}
	while (text.size > 0 && (text.at[text.size - 1] == ' ' || text.at[text.size - 1] == '\t'))
		text.size--;
	return text;
}

/*
 * The line that begins at @offset, without its end. 0 = it has no end yet; 1; -EPROTO: a line feed
 * alone, or control bytes.
 */
static int take_line(const char *bytes, size_t size, size_t offset, struct text *ret,
                     struct np_error *err)
{
	const char *end = memchr(bytes + offset, '\n', size - offset);
	struct text line = { .at = bytes + offset };

	if (!end)
		return 0;
	line.size = (size_t)(end - line.at);
	if (line.size == 0 || end[-1] != '\r')
		return refuse(line, "does not end in CR and LF", err);
	line.size--;
	for (size_t i = 0; i < line.size; i++)
		if (iscntrl((unsigned char)line.at[i]) && line.at[i] != '\t')
			return refuse(line, "has control bytes in it", err);
	*ret = line;
	return 1;
}

/* "HTTP/1.1 200 OK", "HTTP/1.1 200" */
static int parse_status(struct text line, struct head *head, struct np_error *err)
{
	uint64_t status;

	if (line.size < STATUS_END ||
	    (line.at[STATUS_AT - 2] != '0' && line.at[STATUS_AT - 2] != '1') ||
	    line.at[STATUS_AT - 1] != ' ' ||
	    !nl_digits_parse(line.at + STATUS_AT, STATUS_END - STATUS_AT, 599, &status) ||
	    status < 100 || (line.size > STATUS_END && line.at[STATUS_END] != ' '))
		return refuse(line, "is no status line of HTTP/1.0 or 1.1", err);
	*head = (struct head){
		.status = (unsigned)status,
		.is_old = line.at[STATUS_AT - 2] == '0',
	};
	return 0;
}

static int add_length(struct text value, struct head *head, struct np_error *err)
{
	uint64_t length;

	if (!nl_digits_parse(value.at, value.size, NL_LENGTH_MAX, &length))
		return refuse(value, "is no Content-Length", err);
	if (head->has_length && head->length != length)
		return refuse(value, "is a second Content-Length that differs from the first", err);
	head->has_length = true;
	head->length = length;
	return 0;
}

/* Connection is a list of words. */
static bool has_word(struct text list, const char *wanted)
{
	while (list.size > 0) {
		const char *comma = memchr(list.at, ',', list.size);
		size_t size = comma ? (size_t)(comma - list.at) : list.size;

		if (is_named(trim((struct text){ list.at, size }), wanted))
			return true;
		size += comma ? 1 : 0;
		list.at += size;
		list.size -= size;
	}
	return false;
}

static bool is_name(struct text name)
{
	for (size_t i = 0; i < name.size; i++)
		if (!isgraph((unsigned char)name.at[i]))
			return false;
	return name.size > 0;
}

static int parse_field(struct text line, struct head *head, struct np_error *err)
{
	const char *colon = memchr(line.at, ':', line.size);
	struct text name = { line.at, colon ? (size_t)(colon - line.at) : 0 };
	struct text value;

	if (!colon || !is_name(name))
		return refuse(line, "is no field of a head", err);
	value = trim((struct text){ colon + 1, line.size - name.size - 1 });
	if (is_named(name, "Content-Length"))
		return add_length(value, head, err);
	if (is_named(name, "Transfer-Encoding"))
		head->is_chunked = true;
	else if (is_named(name, "Connection"))
		head->has_close |= has_word(value, "close");
	return 0;
}

/* From *offset up to the empty line, behind which *offset is then. 0 = there is more to come; 1 */
static int parse_fields(const char *bytes, size_t size, size_t *offset, struct head *head,
                        struct np_error *err)
{
	struct text line;
	int rc;

	while ((rc = take_line(bytes, size, *offset, &line, err)) == 1) {
		*offset += line.size + 2;
		if (line.size == 0)
			return 1;
		rc = parse_field(line, head, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static enum nl_reply_kind kind_of(enum nl_verb verb, unsigned status)
{
	if (verb == NL_GET && status == 200)
		return NL_REPLY_VALUE;
	if (verb == NL_GET && status == 404)
		return NL_REPLY_MISS;
	if (verb == NL_SET && (status == 200 || status == 201 || status == 204))
		return NL_REPLY_STORED;
	return NL_REPLY_REFUSED;
}

/* RFC 9112, 6.3: where the body ends. */
static int judge(enum nl_verb verb, const struct head *head, struct nl_reply *ret,
                 struct np_error *err)
{
	bool has_body = head->status != 204 && head->status != 304;
	bool is_known = !has_body || (head->has_length && !head->is_chunked);

	ret->kind = kind_of(verb, head->status);
	if (ret->kind == NL_REPLY_VALUE && head->is_chunked)
		return np_error_set(err, EPROTO,
		                    "the server sends the value in chunks, whose length is not "
		                    "known beforehand");
	if (ret->kind == NL_REPLY_VALUE && !is_known)
		return np_error_set(err, EPROTO,
		                    "the server does not tell the value's length (Content-Length)");
	/* A page whose end is not known is not waited for. */
	ret->body_bytes = has_body && is_known ? head->length : 0;
	ret->closes = head->is_old || head->has_close || !is_known;
	return 0;
}

/* Tells what speaks no HTTP by its first bytes: it may never send an empty line. */
static int check_begin(const char *bytes, size_t size, struct np_error *err)
{
	size_t known = size < strlen(VERSION) ? size : strlen(VERSION);
	const char *end;

	if (memcmp(bytes, VERSION, known) == 0)
		return 0;
	end = memchr(bytes, '\r', size);
	return refuse((struct text){ bytes, end ? (size_t)(end - bytes) : size },
	              "is no status line of HTTP/1.0 or 1.1", err);
}

int nl_reply_parse_http(enum nl_verb verb, const char *bytes, size_t size, struct nl_reply *ret,
                        struct np_error *err)
{
	struct head head = { 0 };
	struct text line = { 0 };
	size_t offset = 0;
	int rc;

	/* Interim replies, 1xx, stand before the one that counts. */
	do {
		rc = check_begin(bytes + offset, size - offset, err);
		if (rc < 0)
			return rc;
		rc = take_line(bytes, size, offset, &line, err);
		if (rc <= 0)
			return rc;
		offset += line.size + 2;
		rc = parse_status(line, &head, err);
		if (rc < 0)
			return rc;
		rc = parse_fields(bytes, size, &offset, &head, err);
		if (rc <= 0)
			return rc;
	} while (head.status < 200);
	rc = judge(verb, &head, ret, err);
	if (rc < 0)
		return rc;
	ret->head_bytes = offset;
	nl_reply_quote(line.at, line.size, ret->text, sizeof(ret->text));
	return 0;
}
