/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_parse.h"

#include "session.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* What a method and the name of a field are made of (RFC 9110, 5.6.2). */
static const bool token_bytes[256] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
	['#'] = true,         ['$'] = true,         ['%'] = true,         ['&'] = true,
	['\''] = true,        ['*'] = true,         ['+'] = true,         ['-'] = true,
	['.'] = true,         ['^'] = true,         ['_'] = true,         ['`'] = true,
	['|'] = true,         ['~'] = true,
};

static int fail(struct ns_http_fault *fault, unsigned status, const char *why)
{
	*fault = (struct ns_http_fault){ .status = status, .why = why };
	return -EPROTO;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t';
}

bool ns_http_is(struct ns_http_text text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.text, word, text.len) == 0;
}

static struct ns_http_text trim(struct ns_http_text text)
{
	while (text.len > 0 && is_blank(text.text[0])) {
		text.text++;
		text.len--;
	}
	while (text.len > 0 && is_blank(text.text[text.len - 1]))
		text.len--;
	return text;
}

bool ns_http_next(struct ns_http_text *rest, struct ns_http_text *ret)
{
	const char *comma;

	if (rest->len == 0)
		return false;
	comma = memchr(rest->text, ',', rest->len);
	*ret = *rest;
	if (comma) {
		ret->len = (size_t)(comma - rest->text);
		rest->text += ret->len + 1;
		rest->len -= ret->len + 1;
	} else {
		rest->len = 0;
	}
	*ret = trim(*ret);
	return true;
}

/* ---- the first line ---- */

static enum ns_http_method method_of(struct ns_http_text word)
{
	static const struct {
		const char *word;
		enum ns_http_method method;
	} methods[] = {
		{ "GET", NS_HTTP_GET },         { "HEAD", NS_HTTP_HEAD },
		{ "PUT", NS_HTTP_PUT },         { "DELETE", NS_HTTP_DELETE },
		{ "OPTIONS", NS_HTTP_OPTIONS }, { "POST", NS_HTTP_FOREIGN },
		{ "PATCH", NS_HTTP_FOREIGN },   { "TRACE", NS_HTTP_FOREIGN },
		{ "CONNECT", NS_HTTP_FOREIGN },
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (word.len == strlen(methods[i].word) &&
		    memcmp(word.text, methods[i].word, word.len) == 0)
			return methods[i].method;
	}
	return NS_HTTP_UNKNOWN;
}

/* Takes what stands before the next blank off *rest; false when there is no blank, or nothing. */
static bool next_word(struct ns_http_text *rest, struct ns_http_text *ret)
{
	const char *blank = memchr(rest->text, ' ', rest->len);

	if (!blank || blank == rest->text)
		return false;
	ret->text = rest->text;
	ret->len = (size_t)(blank - rest->text);
	rest->text += ret->len + 1;
	rest->len -= ret->len + 1;
	return true;
}

static bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

static int read_version(struct ns_http_text word, struct ns_http_head *head,
                        struct ns_http_fault *fault)
{
	if (word.len != 8 || memcmp(word.text, "HTTP/", 5) != 0 || !is_digit(word.text[5]) ||
	    word.text[6] != '.' || !is_digit(word.text[7]))
		return fail(fault, 400, "the request line does not end in HTTP/1.1 or HTTP/1.0");
	if (word.text[5] != '1')
		return fail(fault, 505, "this server speaks HTTP/1.1 and HTTP/1.0");
	head->minor = (unsigned)(word.text[7] - '0');
	return 0;
}

/* A name or an address, with a port perhaps (RFC 3986, 3.2); nobody's password. */
static bool is_host(struct ns_http_text text)
{
	for (size_t i = 0; i < text.len; i++) {
		char byte = text.text[i];

		if (!is_digit(byte) && !((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') &&
		    (byte == '\0' || !strchr("-._~!$&'()*+,;=:[]%", byte)))
			return false;
	}
	return true;
}

/* "http://host/path": the path is what counts, as the field Host does not. */
static int read_absolute(struct ns_http_text word, struct ns_http_head *head,
                         struct ns_http_fault *fault)
{
	struct ns_http_text host = { .text = word.text + 7, .len = word.len - 7 };
	size_t len = 0;

	while (len < host.len && host.text[len] != '/' && host.text[len] != '?')
		len++;
	head->path = (struct ns_http_text){ .text = host.text + len, .len = host.len - len };
	host.len = len;
	if (len == 0 || !is_host(host))
		return fail(fault, 400, "no host in the target");
	if (head->path.len == 0 || head->path.text[0] == '?')
		head->path = (struct ns_http_text){ .text = "/", .len = 1 };
	return 0;
}

static int read_target(struct ns_http_text word, bool is_connect, struct ns_http_head *head,
                       struct ns_http_fault *fault)
{
	const char *query;
	int rc = 0;

	for (size_t i = 0; i < word.len; i++) {
		unsigned char byte = (unsigned char)word.text[i];

		if (byte <= ' ' || byte >= 0x7f || byte == '#')
			return fail(fault, 400,
			            "a byte in the target that is to be written as %XX");
	}
	head->path = word;
	if (is_connect)
		return 0;
	if (word.len > 7 && strncasecmp(word.text, "http://", 7) == 0)
		rc = read_absolute(word, head, fault);
	else if (word.text[0] != '/' && !(head->method == NS_HTTP_OPTIONS && ns_http_is(word, "*")))
		rc = fail(fault, 400, "the target is no path: it begins with '/'");
	query = memchr(head->path.text, '?', head->path.len);
	if (query)
		head->path.len = (size_t)(query - head->path.text);
	return rc;
}

/* @line is without its CR LF. */
static int read_request_line(struct ns_http_text line, struct ns_http_head *head,
                             struct ns_http_fault *fault)
{
	struct ns_http_text method;
	struct ns_http_text target;

	if (!next_word(&line, &method) || !next_word(&line, &target))
		return fail(fault, 400, "no request line: METHOD /PATH HTTP/1.1");
	for (size_t i = 0; i < method.len; i++) {
		if (!token_bytes[(unsigned char)method.text[i]])
			return fail(fault, 400, "the method is no word");
	}
	if (read_version(line, head, fault) < 0)
		return -EPROTO;
	head->method = method_of(method);
	return read_target(target, ns_http_is(method, "CONNECT"), head, fault);
}

/* ---- fields ---- */

typedef int read_field(struct ns_http_head *head, struct ns_http_text value,
                       struct ns_http_fault *fault);

static int read_host(struct ns_http_head *head, struct ns_http_text value,
                     struct ns_http_fault *fault)
{
	if (head->has_host)
		return fail(fault, 400, "more than one Host");
	head->has_host = true;
	return is_host(value) ? 0 : fail(fault, 400, "Host is no name");
}

static int read_length(struct ns_http_head *head, struct ns_http_text value,
                       struct ns_http_fault *fault)
{
	uint64_t length = 0;

	if (head->has_length)
		return fail(fault, 400, "more than one Content-Length");
	for (size_t i = 0; i < value.len; i++) {
		if (!is_digit(value.text[i]) || __builtin_mul_overflow(length, 10, &length) ||
		    __builtin_add_overflow(length, (unsigned)(value.text[i] - '0'), &length))
			return fail(fault, 400, "Content-Length is no number below 2^64");
	}
	if (value.len == 0)
		return fail(fault, 400, "Content-Length is empty");
	head->length = length;
	head->has_length = true;
	return 0;
}

static int read_coding(struct ns_http_head *head, struct ns_http_text value,
                       struct ns_http_fault *fault)
{
	if (head->is_chunked)
		return fail(fault, 400, "more than one Transfer-Encoding");
	if (!ns_http_is(value, "chunked"))
		return fail(fault, 501, "the only Transfer-Encoding here is chunked");
	head->is_chunked = true;
	return 0;
}

static int read_connection(struct ns_http_head *head, struct ns_http_text value,
                           struct ns_http_fault *fault)
{
	struct ns_http_text word;

	(void)fault;
	while (ns_http_next(&value, &word)) {
		head->wants_close |= ns_http_is(word, "close");
		head->wants_alive |= ns_http_is(word, "keep-alive");
	}
	return 0;
}

static int read_expect(struct ns_http_head *head, struct ns_http_text value,
                       struct ns_http_fault *fault)
{
	(void)fault;
	if (ns_http_is(value, "100-continue"))
		head->expects_continue = true;
	else
		head->expects_other = true;
	return 0;
}

static int add_line(struct ns_http_list *list, struct ns_http_text value,
                    struct ns_http_fault *fault)
{
	if (list->count == NS_HTTP_LINES_MAX)
		return fail(fault, 431, "a condition in too many lines");
	list->lines[list->count++] = value;
	return 0;
}

static int read_if_match(struct ns_http_head *head, struct ns_http_text value,
                         struct ns_http_fault *fault)
{
	return add_line(&head->if_match, value, fault);
}

static int read_if_none_match(struct ns_http_head *head, struct ns_http_text value,
                              struct ns_http_fault *fault)
{
	return add_line(&head->if_none_match, value, fault);
}

static int keep(struct ns_http_text *field, struct ns_http_text value, struct ns_http_fault *fault)
{
	if (field->text)
		return fail(fault, 400, "a field twice that may be there once");
	*field = value;
	return 0;
}

#define KEEP(field)                                                                                \
	static int read_##field(struct ns_http_head *head, struct ns_http_text value,              \
	                        struct ns_http_fault *fault)                                       \
	{                                                                                          \
		return keep(&head->field, value, fault);                                           \
	}
KEEP(range)
KEEP(if_range)
KEEP(content_type)
KEEP(content_range)
KEEP(content_encoding)
#undef KEEP

static read_field *reader_of(struct ns_http_text name)
{
	static const struct {
		const char *name;
		read_field *read;
	} fields[] = {
		{ "host", read_host },
		{ "content-length", read_length },
		{ "transfer-encoding", read_coding },
		{ "connection", read_connection },
		{ "expect", read_expect },
		{ "if-match", read_if_match },
		{ "if-none-match", read_if_none_match },
		{ "range", read_range },
		{ "if-range", read_if_range },
		{ "content-type", read_content_type },
		{ "content-range", read_content_range },
		{ "content-encoding", read_content_encoding },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (ns_http_is(name, fields[i].name))
			return fields[i].read;
	}
	return NULL;
}

/* @line is without its CR LF, and not empty. */
static int read_field_line(struct ns_http_text line, struct ns_http_head *head,
                           struct ns_http_fault *fault)
{
	struct ns_http_text name = { .text = line.text };
	struct ns_http_text value;
	read_field *read;

	while (name.len < line.len && token_bytes[(unsigned char)line.text[name.len]])
		name.len++;
	if (name.len == 0 && is_blank(line.text[0]))
		return fail(fault, 400, "a folded line in the head");
	if (name.len == 0 || name.len == line.len || line.text[name.len] != ':')
		return fail(fault, 400, "a line of the head is not NAME: VALUE");
	value.text = line.text + name.len + 1;
	value.len = line.len - name.len - 1;
	for (size_t i = 0; i < value.len; i++) {
		unsigned char byte = (unsigned char)value.text[i];

		if ((byte < ' ' && byte != '\t') || byte == 0x7f)
			return fail(fault, 400, "a control byte in the head");
	}
	read = reader_of(name);
	return read ? read(head, trim(value), fault) : 0;
}

/* Field lines, each with its CR LF. */
static int read_fields(struct ns_http_text lines, struct ns_http_head *head,
                       struct ns_http_fault *fault)
{
	unsigned count = 0;

	while (lines.len > 0) {
		const char *end = memchr(lines.text, '\n', lines.len);
		size_t used = end ? (size_t)(end - lines.text) + 1 : lines.len;
		struct ns_http_text line = { .text = lines.text, .len = used - 2 };

		if (++count > NS_HTTP_FIELDS_MAX)
			return fail(fault, 431, "too many lines in the head");
		if (read_field_line(line, head, fault) < 0)
			return -EPROTO;
		lines.text += used;
		lines.len -= used;
	}
	if (head->minor > 0 && !head->has_host)
		return fail(fault, 400, "no Host");
	if (head->is_chunked && head->has_length)
		return fail(fault, 400, "Content-Length beside Transfer-Encoding");
	if (head->is_chunked && head->minor == 0)
		return fail(fault, 400, "Transfer-Encoding in HTTP/1.0");
	return 0;
}

/* ---- the whole ---- */

/* The first line has come: what is wrong with it is not to wait for the others. */
static int check_first_line(const char *bytes, size_t line, struct ns_http_head *head,
                            struct ns_http_fault *fault)
{
	struct ns_http_text text = { .text = bytes, .len = line - 2 };

	*head = (struct ns_http_head){ 0 };
	return read_request_line(text, head, fault);
}

/* Looks for the blank line; the bytes up to its end, -EAGAIN or -EPROTO. */
static int find_end(const char *bytes, size_t count, struct ns_http_progress *progress,
                    struct ns_http_head *head, struct ns_http_fault *fault)
{
	size_t at = progress->scanned;
	const char *found;

	while (at < count && (found = memchr(bytes + at, '\n', count - at))) {
		size_t line_feed = (size_t)(found - bytes);

		at = line_feed + 1;
		/* As it would have been said before this byte came. */
		if (progress->line == 0 && line_feed > NS_LINE_MAX + 1)
			return fail(fault, 414, "the request line is too long");
		if (line_feed == 0 || bytes[line_feed - 1] != '\r')
			return fail(fault, 400, "a line does not end in CR LF");
		if (progress->line == 0) {
			progress->line = at;
			if (check_first_line(bytes, at, head, fault) < 0)
				return -EPROTO;
		} else if (bytes[line_feed - 2] == '\n') {
			return (int)at;
		}
	}
	progress->scanned = count;
	return -EAGAIN;
}

int ns_http_parse(const char *bytes, size_t count, struct ns_http_progress *progress,
                  struct ns_http_head *ret, struct ns_http_fault *ret_fault)
{
	size_t most = count < NS_HEAD_LINES_MAX ? count : NS_HEAD_LINES_MAX;
	bool had_line = progress->line > 0;
	struct ns_http_text fields;
	struct ns_http_head head;
	int used;

	if (count > 0 && !token_bytes[(unsigned char)bytes[0]])
		return fail(ret_fault, 400, "this is no HTTP/1.1");
	used = find_end(bytes, most, progress, &head, ret_fault);
	if (used == -EAGAIN && progress->line == 0 && most >= NS_LINE_MAX + 2)
		return fail(ret_fault, 414, "the request line is too long");
	if (used == -EAGAIN && most == NS_HEAD_LINES_MAX)
		return fail(ret_fault, 431, "the head is too long");
	if (used < 0)
		return used;

	/* What was read of the first line earlier points to where the bytes were then. */
	if (had_line && check_first_line(bytes, progress->line, &head, ret_fault) < 0)
		return -EPROTO;
	fields.text = bytes + progress->line;
	fields.len = (size_t)used - progress->line - 2;
	if (read_fields(fields, &head, ret_fault) < 0)
		return -EPROTO;
	*ret = head;
	return used;
}
