/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_answer.h"

#include "http_condition.h"

#include <string.h>

static const char *phrase_of(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} phrases[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 304, "Not Modified" },
		{ 400, "Bad Request" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 411, "Length Required" },
		{ 412, "Precondition Failed" },
		{ 413, "Content Too Large" },
		{ 414, "URI Too Long" },
		{ 415, "Unsupported Media Type" },
		{ 416, "Range Not Satisfiable" },
		{ 417, "Expectation Failed" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
		{ 507, "Insufficient Storage" },
	};

	for (size_t i = 0; i < sizeof(phrases) / sizeof(phrases[0]); i++) {
		if (phrases[i].status == status)
			return phrases[i].phrase;
	}
	return "Unknown";
}

static void add(struct ns_http_answer *answer, const char *text, size_t len)
{
	memcpy(answer->text + answer->len, text, len);
	answer->len += len;
}

static void add_text(struct ns_http_answer *answer, const char *text)
{
	add(answer, text, strlen(text));
}

/* Into @buf of 20 bytes; returns how long it is. */
static size_t put_number(char *buf, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	memcpy(buf, digits + at, sizeof(digits) - at);
	return sizeof(digits) - at;
}

void ns_http_answer_field(struct ns_http_answer *answer, const char *name, const char *value,
                          size_t len)
{
	size_t name_len = strlen(name);

	/* ": ", CR LF, and the blank line. */
	if (name_len + len + 6 > sizeof(answer->text) - answer->len)
		return;
	add(answer, name, name_len);
	add(answer, ": ", 2);
	add(answer, value, len);
	add(answer, "\r\n", 2);
}

void ns_http_answer_begin(struct ns_http_answer *answer, const struct ns_http_manner *manner,
                          unsigned status)
{
	answer->len = 0;
	add_text(answer, "HTTP/1.1 ");
	answer->len += put_number(answer->text + answer->len, status);
	add_text(answer, " ");
	add_text(answer, phrase_of(status));
	add_text(answer, "\r\nServer: numastore\r\n");
	if (manner->context->date[0])
		ns_http_answer_field(answer, "Date", manner->context->date,
		                     strnlen(manner->context->date, sizeof(manner->context->date)));
	if (!manner->keeps_alive)
		add_text(answer, "Connection: close\r\n");
	else if (manner->is_old)
		add_text(answer, "Connection: keep-alive\r\n");
}

void ns_http_answer_number(struct ns_http_answer *answer, const char *name, uint64_t value)
{
	char text[20];

	ns_http_answer_field(answer, name, text, put_number(text, value));
}

void ns_http_answer_range(struct ns_http_answer *answer, uint64_t first, uint64_t count,
                          uint64_t all)
{
	char text[80] = "bytes ";
	size_t len = 6;

	if (count > 0) {
		len += put_number(text + len, first);
		text[len++] = '-';
		len += put_number(text + len, first + count - 1);
	} else {
		text[len++] = '*';
	}
	text[len++] = '/';
	len += put_number(text + len, all);
	ns_http_answer_field(answer, "Content-Range", text, len);
}

void ns_http_answer_tag(struct ns_http_answer *answer, uint64_t cas)
{
	char tag[NS_HTTP_TAG_SIZE];

	ns_http_answer_field(answer, "ETag", tag, ns_http_tag(cas, tag));
}

void ns_http_answer_end(struct ns_http_answer *answer, struct ns_output *output)
{
	add(answer, "\r\n", 2);
	ns_output_add(output, answer->text, answer->len);
}

void ns_http_answer_words(const struct ns_http_manner *manner, unsigned status, const char *words,
                          const char *allow, struct ns_output *output)
{
	size_t len = strlen(words);
	struct ns_http_answer answer;

	ns_http_answer_begin(&answer, manner, status);
	if (allow)
		ns_http_answer_field(&answer, "Allow", allow, strlen(allow));
	ns_http_answer_field(&answer, "Content-Type", "text/plain", 10);
	ns_http_answer_number(&answer, "Content-Length", len + 1);
	ns_http_answer_end(&answer, output);
	if (manner->is_head)
		return;
	ns_output_add(output, words, len);
	ns_output_add(output, "\n", 1);
}
