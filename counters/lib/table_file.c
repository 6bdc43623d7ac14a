/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lines of a table. libinih as distributions build it takes any indented line for the last
 * value's rest, drops what follows a "]", and tells its handler no line numbers. So the lines are
 * given to it by a reader of ours, which looks at each one first.
 */
#include "table_draft.h"

#include <errno.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\v\f" /* what libinih strips, but for the line's end */
#define COMMENT_SIGNS ";#"
#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define NAME_LETTERS                                                                               \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"                                     \
	"0123456789-_."

enum { QUOTE_SIZE = 80 };

struct parser {
	struct nc_draft draft;
	const char *file;
	const char *next; /* what was not yet read */
	const char *end;

	const char *line_text; /* the line that libinih has */
	size_t line_length;
	unsigned line;
	bool goes_on; /* it belongs to the value before it */

	unsigned family_line; /* where the sections begin that are not yet ended */
	unsigned event_line;
	enum nc_key key;         /* of the value before it in the same section; NC_KEYS = none */
	unsigned lines[NC_KEYS]; /* of this section, where each key stands; 0 = not there */

	int rc; /* the first failure */
	struct np_error *err;
};

/* Says where it failed, once, and lets the reader end the parsing. */
static void fail_at(struct parser *parser, unsigned line, size_t column, int rc)
{
	parser->rc = np_error_wrap(parser->err, rc, "%s:%u:%zu", parser->file, line, column);
}

/* At a place in the line that is being read. */
static void fail(struct parser *parser, const char *at, int rc)
{
	fail_at(parser, parser->line, (size_t)(at - parser->line_text) + 1, rc);
}

#define refuse(parser, at, ...)                                                                    \
	fail((parser), (at), np_error_set((parser)->err, EINVAL, __VA_ARGS__))

/* ---- sections ---- */

static void end_event(struct parser *parser)
{
	int rc = parser->rc < 0 ? 0 : nc_draft_end_event(&parser->draft, parser->err);

	if (rc < 0)
		fail_at(parser, parser->event_line, 1, rc);
}

static void end_family(struct parser *parser)
{
	int rc;

	end_event(parser);
	rc = parser->rc < 0 ? 0 : nc_draft_end_family(&parser->draft, parser->err);
	if (rc < 0)
		fail_at(parser, parser->family_line, 1, rc);
}

struct heading {
	bool is_family;
	const char *at; /* the name in the line */
	size_t length;
};

/* Takes "[family NAME]" or "[event NAME]" apart; a comment may stand behind it. */
static bool read_heading(const char *line, struct heading *ret)
{
	const char *bracket = line + strspn(line, BLANKS);
	const char *kind = bracket + 1 + strspn(bracket + 1, BLANKS);
	size_t length = strcspn(kind, BLANKS "]");
	const char *rest;

	ret->is_family = length == 6 && strncmp(kind, "family", length) == 0;
	if (!ret->is_family && (length != 5 || strncmp(kind, "event", length) != 0))
		return false;
	ret->at = kind + length + strspn(kind + length, BLANKS);
	ret->length = strcspn(ret->at, BLANKS "]");
	rest = ret->at + ret->length;
	rest += strspn(rest, BLANKS);
	if (ret->length == 0 || *rest++ != ']')
		return false;
	rest += strspn(rest, BLANKS);
	return !*rest || strchr(COMMENT_SIGNS, *rest);
}

/* A name, in which an event may have one "#". */
static bool is_name(const struct heading *heading, const char *name)
{
	const char *sign = heading->is_family ? NULL : strchr(name, '#');

	if (!sign)
		return strspn(name, NAME_LETTERS) == heading->length;
	return name + strspn(name, NAME_LETTERS) == sign &&
	       strspn(sign + 1, NAME_LETTERS) == strlen(sign + 1);
}

/* @line is a copy of the line that is being read. */
static void take_heading(struct parser *parser, const char *line)
{
	struct heading heading = { 0 };
	char name[NC_NAME_MAX + 1];
	char quoted[QUOTE_SIZE];
	const char *at;
	int rc;

	if (!read_heading(line, &heading)) {
		refuse(parser, parser->line_text,
		       "'%s' is neither '[family NAME]' nor '[event NAME]'",
		       np_error_quote(line, quoted, sizeof(quoted)));
		return;
	}
	at = parser->line_text + (heading.at - line);
	memcpy(name, heading.at, heading.length > NC_NAME_MAX ? NC_NAME_MAX : heading.length);
	name[heading.length > NC_NAME_MAX ? NC_NAME_MAX : heading.length] = '\0';
	if (heading.length > NC_NAME_MAX || !is_name(&heading, name)) {
		refuse(parser, at,
		       "a name is 1 to %d letters, digits, '-', '_' or '.', with one '#' where an "
		       "event has 'numbers'; this is '%s'",
		       NC_NAME_MAX, np_error_quote(heading.at, quoted, sizeof(quoted)));
		return;
	}
	if (heading.is_family)
		end_family(parser);
	else
		end_event(parser);
	if (parser->rc < 0)
		return;
	memset(parser->lines, 0, sizeof(parser->lines));
	parser->key = NC_KEYS;
	*(heading.is_family ? &parser->family_line : &parser->event_line) = parser->line;
	rc = heading.is_family ? nc_draft_begin_family(&parser->draft, name, parser->err)
	                       : nc_draft_begin_event(&parser->draft, name, parser->err);
	if (rc < 0)
		fail(parser, at, rc);
}

/* ---- lines ---- */

/* Is an indented line more likely a key, or a heading, of its own than a value's rest? */
static bool looks_misplaced(const struct parser *parser, const char *text)
{
	size_t length = strcspn(text, BLANKS "=:");
	const char *rest = text + length + strspn(text + length, BLANKS);

	if (*text == '[')
		return true;
	for (unsigned key = 0; key < NC_KEYS && *rest == '='; key++)
		if (strncmp(nc_key_name((enum nc_key)key), text, length) == 0 &&
		    !nc_key_name((enum nc_key)key)[length])
			return true;
	return *rest == '=' && !nc_key_goes_on(parser->key);
}

/* What is no text would reach terminals and JSON. */
static bool check_bytes(struct parser *parser, const char *line)
{
	for (size_t i = 0; line[i]; i++) {
		unsigned char byte = (unsigned char)line[i];

		if ((byte >= 32 && byte < 127) || byte == '\t')
			continue;
		refuse(parser, parser->line_text + i, "byte 0x%02x is no printable ASCII", byte);
		return false;
	}
	return true;
}

/* Ends the line where a comment begins behind a blank: libinih lets it stand in lines that go on. */
static void cut_comment(char *line)
{
	char *sign = line;

	while ((sign = strchr(sign + 1, ';')) != NULL)
		if (strchr(BLANKS, sign[-1])) {
			*sign = '\0';
			return;
		}
}

/* What libinih would take in silence, or refuse without a reason. */
static void check_line(struct parser *parser, const char *line)
{
	const char *text = line + strspn(line, BLANKS);
	const char *at = parser->line_text + (text - line);
	char quoted[QUOTE_SIZE];

	parser->goes_on = false;
	if (!*text || strchr(COMMENT_SIGNS, *text) || !check_bytes(parser, line))
		return;
	np_error_quote(text, quoted, sizeof(quoted));
	parser->goes_on = text > line && parser->key != NC_KEYS;
	if (!parser->goes_on && *text == '[')
		take_heading(parser, line);
	else if (!parser->goes_on && (!strpbrk(text, "=:") || strchr("=:", *text)))
		refuse(parser, at,
		       "'%s' is neither '[family NAME]', '[event NAME]' nor 'KEY = VALUE'", quoted);
	else if (parser->goes_on && looks_misplaced(parser, text))
		refuse(parser, at,
		       "'%s' is indented, which makes it a part of '%s' above: begin the line with it",
		       quoted, nc_key_name(parser->key));
	else if (parser->goes_on && !nc_key_goes_on(parser->key))
		refuse(parser, at,
		       "'%s' has one line; this one is indented, which makes it a part of it",
		       nc_key_name(parser->key));
}

/* libinih's reader, in the manner of fgets(). */
static char *read_line(char *buf, int size, void *stream)
{
	struct parser *parser = stream;
	const char *newline;
	size_t length;

	if (parser->rc < 0 || parser->next == parser->end)
		return NULL;
	newline = memchr(parser->next, '\n', (size_t)(parser->end - parser->next));
	parser->line++;
	parser->line_text = parser->next;
	length = (size_t)((newline ? newline : parser->end) - parser->next);
	parser->next = newline ? newline + 1 : parser->end;
	while (length > 0 && strchr(BLANKS, parser->line_text[length - 1]))
		length--;
	parser->line_length = length;
	if (length >= (size_t)size) {
		refuse(parser, parser->line_text + size - 1,
		       "a line of %zu bytes, %d is the most: the values of title, cpu, misses and "
		       "source may go on in indented lines",
		       length, size - 1);
		return NULL;
	}
	memcpy(buf, parser->line_text, length);
	buf[length] = '\0';
	if (length > 0)
		cut_comment(buf);
	check_line(parser, buf);
	return parser->rc < 0 ? NULL : buf;
}

/* ---- values ---- */

/* Where the value begins in the line that is being read. */
static const char *find_value(const struct parser *parser)
{
	const char *end = parser->line_text + parser->line_length;
	const char *text = parser->line_text;

	while (!parser->goes_on && *text != '=' && *text != ':')
		text++;
	text += !parser->goes_on;
	while (text < end && strchr(BLANKS, *text))
		text++;
	return text;
}

static void begin_value(struct parser *parser, const char *name)
{
	const char *at = parser->line_text + strspn(parser->line_text, BLANKS);
	enum nc_key key = nc_key_find(name, parser->draft.section, parser->err);

	parser->key = key;
	if (key == NC_KEYS)
		fail(parser, at, -EINVAL);
	else if (parser->lines[key])
		refuse(parser, at, "a second '%s' in this section, the first is in line %u",
		       nc_key_name(key), parser->lines[key]);
	else
		parser->lines[key] = parser->line;
}

/* libinih's handler: called for each line that is neither a heading nor a comment. */
static int take_value(void *user, const char *section, const char *name, const char *text)
{
	struct parser *parser = user;
	struct nc_cursor cursor = { .at = text, .err = parser->err };
	int rc;

	(void)section; /* cut, if it was long */
	if (parser->rc < 0)
		return 0;
	if (parser->draft.section == NC_SECTION_NONE) {
		refuse(parser, parser->line_text, "a key before the first '[family NAME]'");
		return 0;
	}
	if (!parser->goes_on)
		begin_value(parser, name);
	if (parser->rc < 0)
		return 0;
	if (!*text && !nc_key_goes_on(parser->key)) {
		refuse(parser, find_value(parser), "'%s' has no value", nc_key_name(parser->key));
		return 0;
	}
	rc = nc_draft_take(&parser->draft, parser->key, &cursor);
	if (rc < 0)
		fail(parser, find_value(parser) + (cursor.at - text),
		     np_error_wrap(parser->err, rc, "%s", nc_key_name(parser->key)));
	return rc == 0;
}

/* ---- the file ---- */

static int check_size(const char *name, const char *text, size_t size, struct np_error *err)
{
	const char *nul = size > 0 ? memchr(text, '\0', size) : NULL;
	unsigned line = 1;
	const char *begin = text;

	if (size > NC_TABLE_BYTES_MAX)
		return np_error_set(err, E2BIG, "%s: an events file has at most %d KiB", name,
		                    NC_TABLE_BYTES_MAX >> 10);
	if (!nul)
		return 0;
	for (; text < nul; text++)
		if (*text == '\n') {
			line++;
			begin = text + 1;
		}
	return np_error_set(err, EINVAL, "%s:%u:%zu: a NUL byte: this is not a text", name, line,
	                    (size_t)(nul - begin) + 1);
}

int nc_table_read(struct nc_tables *tables, const char *name, const char *text, size_t size,
                  struct np_error *err)
{
	int rc = check_size(name, text, size, err);
	struct parser *parser;
	int bad_line;

	if (rc < 0)
		return rc;
	parser = malloc(sizeof(*parser));
	if (!parser)
		return np_error_sys(err, ENOMEM, "%s", name);
	*parser = (struct parser){
		.draft = { .tables = tables, .file = name },
		.file = name,
		.next = text,
		.end = text + size,
		.key = NC_KEYS,
		.err = err,
	};
	if (size >= strlen(BYTE_ORDER_MARK) &&
	    memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		parser->next += strlen(BYTE_ORDER_MARK);
	bad_line = ini_parse_stream(read_line, parser, take_value, parser);
	if (bad_line < 0)
		parser->rc = np_error_sys(err, ENOMEM, "%s", name);
	else if (bad_line > 0 && parser->rc == 0)
		fail_at(parser, (unsigned)bad_line, 1,
		        np_error_set(err, EINVAL, "this is not 'KEY = VALUE'"));
	end_family(parser);
	rc = parser->rc;
	nc_draft_release(&parser->draft);
	free(parser);
	return rc;
}
