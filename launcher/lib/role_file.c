/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libinih as distributions build it cuts long names, drops what follows a "]", takes any indented
 * line for the last value's rest, and tells its handler no line numbers. So the lines are given to
 * it by a reader of ours, which looks at each one first.
 */
#include "../../probe/base/array.h"
#include "../../probe/base/file.h"
#include "../../probe/base/nearest.h"
#include "role_draft.h"
#include "words.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\v\f" /* what libinih strips, but for the line's end */
#define COMMENT_SIGNS ";#"
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

enum { QUOTE_SIZE = 80 };

const char *const nr_role_key_names[NR_KEYS] = {
	[NR_KEY_NEAR] = "near",       [NR_KEY_TIER] = "tier",   [NR_KEY_COUNT] = "count",
	[NR_KEY_SMT] = "smt",         [NR_KEY_AVOID] = "avoid", [NR_KEY_MEM] = "mem",
	[NR_KEY_FAR] = "far",         [NR_KEY_READY] = "ready", [NR_KEY_INSTANCES] = "instances",
	[NR_KEY_AFTER] = "after",     [NR_KEY_STOP] = "stop",   [NR_KEY_ENV] = "env",
	[NR_KEY_COMMAND] = "command",
};

struct parser {
	struct nr_role_file *file;
	const char *next; /* what was not yet read */
	const char *end;

	const char *line_text; /* the line that libinih has */
	size_t line_length;
	unsigned line;
	bool goes_on; /* it belongs to the value before it */

	enum nr_role_key key;      /* of the value before it in the same section */
	struct nr_quoting quoting; /* how that value ends, of env and command */

	int rc; /* the first failure */
	struct np_error *err;
};

int nr_role_file_wrap(const struct nr_role_file *file, unsigned line, int rc, struct np_error *err)
{
	return np_error_wrap(err, rc, "%s:%u", file->name, line);
}

/* Says where it failed, once, and lets the reader end the parsing. */
static void fail(struct parser *parser, int rc)
{
	parser->rc = nr_role_file_wrap(parser->file, parser->line, rc, parser->err);
}

#define refuse(parser, ...) fail((parser), np_error_set((parser)->err, EINVAL, __VA_ARGS__))

static bool is_words(enum nr_role_key key)
{
	return key == NR_KEY_ENV || key == NR_KEY_COMMAND;
}

static enum nr_role_key find_key(const char *name, size_t length)
{
	for (unsigned key = 0; key < NR_KEYS; key++)
		if (strncmp(nr_role_key_names[key], name, length) == 0 &&
		    !nr_role_key_names[key][length])
			return (enum nr_role_key)key;
	return NR_KEYS;
}

/* ---- headings ---- */

static bool is_name(const char *text, size_t length)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_.";

	return length > 0 && strspn(text, letters) >= length;
}

/* The NAME in "[role NAME]", behind which a comment may stand; NULL where it is not that. */
static const char *find_name(const char *line, size_t *ret_length)
{
	const char *name = line + 1 + strspn(line + 1, BLANKS);
	const char *rest;

	if (strncmp(name, "role", 4) != 0 || !name[4] || !strchr(BLANKS, name[4]))
		return NULL;
	name += 4;
	name += strspn(name, BLANKS);
	*ret_length = strcspn(name, BLANKS "]");
	rest = name + *ret_length;
	rest += strspn(rest, BLANKS);
	if (*rest++ != ']')
		return NULL;
	if (*rest && !strchr(BLANKS, *rest))
		return NULL;
	rest += strspn(rest, BLANKS);
	return *rest && !strchr(COMMENT_SIGNS, *rest) ? NULL : name;
}

static int add_role(struct nr_role_file *file, const char *name, size_t length, unsigned line)
{
	struct nr_roles *roles = &file->roles;
	void *role = roles->roles;
	void *draft = file->drafts;
	int rc = np_array_grow(&role, roles->count, sizeof(*roles->roles));
	char *copy;

	roles->roles = role;
	if (rc == 0)
		rc = np_array_grow(&draft, roles->count, sizeof(*file->drafts));
	file->drafts = draft;
	copy = rc == 0 ? strndup(name, length) : NULL;
	if (!copy)
		return -ENOMEM;
	file->drafts[roles->count] = (struct nr_role_draft){ 0 };
	roles->roles[roles->count++] = (struct nr_role){ .name = copy, .line = line };
	return 0;
}

static const struct nr_role *find_role(const struct nr_roles *roles, const char *name,
                                       size_t length)
{
	for (size_t i = 0; i < roles->count; i++)
		if (strncmp(roles->roles[i].name, name, length) == 0 &&
		    !roles->roles[i].name[length])
			return &roles->roles[i];
	return NULL;
}

static void take_heading(struct parser *parser, const char *line)
{
	struct nr_role_file *file = parser->file;
	const struct nr_role *same;
	size_t length = 0;
	const char *name = find_name(line, &length);
	char quoted[QUOTE_SIZE];

	parser->key = NR_KEYS;
	if (!name) {
		refuse(parser, "'%s' is not '[role NAME]', the heading of a section",
		       np_error_quote(line, quoted, sizeof(quoted)));
		return;
	}
	if (!is_name(name, length) || length > NR_ROLE_NAME_MAX) {
		refuse(parser,
		       "a role's name is 1 to %u letters, digits, '-', '_' or '.'; this is '%s'",
		       NR_ROLE_NAME_MAX, np_error_quote(line, quoted, sizeof(quoted)));
		return;
	}
	same = find_role(&file->roles, name, length);
	if (same)
		refuse(parser, "a second role %s; the first one begins in line %u", same->name,
		       same->line);
	else if (file->roles.count == NR_ROLES_MAX)
		refuse(parser, "more than %u roles", NR_ROLES_MAX);
	else if (add_role(file, name, length, parser->line) < 0)
		fail(parser, np_error_sys(parser->err, ENOMEM, "role"));
}

/* ---- lines ---- */

/* Is an indented line more likely a key, or a heading, of its own than a value's rest? */
static bool looks_misplaced(const char *text)
{
	size_t length = strcspn(text, BLANKS "=:");
	const char *rest = text + length + strspn(text + length, BLANKS);

	if (strncmp(text, "[role", 5) == 0)
		return true;
	return find_key(text, length) != NR_KEYS && *rest == '=';
}

/* What libinih would take in silence. */
static void check_line(struct parser *parser, const char *line)
{
	const char *text = line + strspn(line, BLANKS);
	bool in_quotes = parser->key != NR_KEYS && parser->quoting.quote;
	char quoted[QUOTE_SIZE];

	parser->goes_on = false;
	if (!*text)
		return;
	if (in_quotes && text == line) {
		refuse(parser,
		       "the quote %c in '%s' above is not closed; a line that goes on is indented",
		       parser->quoting.quote, nr_role_key_names[parser->key]);
		return;
	}
	if (strchr(COMMENT_SIGNS, *text)) {
		if (in_quotes)
			refuse(parser,
			       "a line that begins with '%c' is a comment, but this one stands "
			       "in the quotes of '%s': break the lines elsewhere",
			       *text, nr_role_key_names[parser->key]);
		return;
	}
	parser->goes_on = text > line && parser->key != NR_KEYS;
	if (parser->goes_on && !in_quotes && looks_misplaced(text))
		refuse(parser,
		       "'%s' is indented, which makes it a part of '%s' in the line before: "
		       "begin the line with it, or quote it where it is meant so",
		       np_error_quote(text, quoted, sizeof(quoted)),
		       nr_role_key_names[parser->key]);
	else if (!parser->goes_on && *text == '[')
		take_heading(parser, text);
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
		refuse(parser,
		       "a line of %zu bytes, %d is the most: a long value may go on in the next "
		       "line, where that is indented",
		       length, size - 1);
		return NULL;
	}
	memcpy(buf, parser->line_text, length);
	buf[length] = '\0';
	check_line(parser, buf);
	return parser->rc < 0 ? NULL : buf;
}

/* ---- values ---- */

static int append(struct nr_role_value *value, const char *text, size_t length)
{
	char *grown = realloc(value->text, value->length + length + 2);

	if (!grown)
		return -ENOMEM;
	if (value->length > 0)
		grown[value->length++] = ' ';
	memcpy(grown + value->length, text, length);
	value->text = grown;
	value->length += length;
	grown[value->length] = '\0';
	return 0;
}

/* The value in the line as it stands there: libinih takes " ;" for a comment even in quotes. */
static const char *find_raw_value(const struct parser *parser, size_t *ret_length)
{
	const char *end = parser->line_text + parser->line_length;
	const char *text = parser->line_text;

	while (!parser->goes_on && *text != '=' && *text != ':')
		text++;
	text += !parser->goes_on;
	while (text < end && strchr(BLANKS, *text))
		text++;
	*ret_length = (size_t)(end - text);
	return text;
}

/* Adds words, looking for what is refused while the line's number is known. */
static void append_words(struct parser *parser, struct nr_role_value *value)
{
	size_t before = value->length;
	size_t length;
	const char *text = find_raw_value(parser, &length);
	int rc;

	/* A backslash before the break, as shells have it. */
	if (parser->goes_on && parser->quoting.escaped) {
		before = --value->length;
		parser->quoting.escaped = false;
	}
	if (append(value, text, length) < 0) {
		fail(parser, np_error_sys(parser->err, ENOMEM, "value"));
		return;
	}
	rc = nr_words_scan(value->text + before, &parser->quoting, parser->err);
	if (rc < 0)
		fail(parser, np_error_wrap(parser->err, rc, "%s", nr_role_key_names[parser->key]));
}

static void begin_value(struct parser *parser, struct nr_role_draft *draft, const char *name)
{
	enum nr_role_key key = find_key(name, strlen(name));
	const char *nearest;
	char quoted[QUOTE_SIZE];

	if (key == NR_KEYS) {
		nearest = np_nearest_name(name, nr_role_key_names, NR_KEYS);
		np_error_quote(name, quoted, sizeof(quoted));
		if (nearest)
			refuse(parser, "no key '%s': did you mean '%s'?", quoted, nearest);
		else
			refuse(parser, "no key '%s'", quoted);
		return;
	}
	if (draft->values[key].text) {
		refuse(parser,
		       "a second '%s' in this role, the first is in line %u; a value goes on in "
		       "the next line where that is indented",
		       nr_role_key_names[key], draft->values[key].line);
		return;
	}
	draft->values[key].line = parser->line;
	parser->key = key;
	parser->quoting = (struct nr_quoting){ 0 };
}

/* libinih's handler: called for each line that is neither a heading nor a comment. */
static int take_value(void *user, const char *section, const char *name, const char *text)
{
	struct parser *parser = user;
	size_t count = parser->file->roles.count;
	struct nr_role_draft *draft;

	(void)section; /* cut, if it was long */
	if (parser->rc < 0)
		return 0;
	if (count == 0) {
		refuse(parser, "a key before the first '[role NAME]'");
		return 0;
	}
	draft = &parser->file->drafts[count - 1];
	if (!parser->goes_on)
		begin_value(parser, draft, name);
	if (parser->rc == 0 && is_words(parser->key))
		append_words(parser, &draft->values[parser->key]);
	else if (parser->rc == 0 && append(&draft->values[parser->key], text, strlen(text)) < 0)
		fail(parser, np_error_sys(parser->err, ENOMEM, "value"));
	return parser->rc == 0;
}

/* ---- the file ---- */

/* What libinih did not understand; it went on behind it. */
static int refuse_line(const struct nr_role_file *file, const char *text, const char *end,
                       unsigned line, struct np_error *err)
{
	const char *newline;
	size_t length;
	int rc;

	/* It was read, so there are as many line breaks before it. */
	for (unsigned i = 1; i < line; i++)
		text = (const char *)memchr(text, '\n', (size_t)(end - text)) + 1;
	newline = memchr(text, '\n', (size_t)(end - text));
	length = (size_t)((newline ? newline : end) - text);
	while (length > 0 && strchr(BLANKS, text[length - 1]))
		length--;
	rc = np_error_set(err, EINVAL, "'%.*s' is neither '[role NAME]' nor 'KEY = VALUE'",
	                  (int)length, text);
	return nr_role_file_wrap(file, line, rc, err);
}

/* Fills the drafts from the text. */
static int take_apart(struct nr_role_file *file, const char *text, size_t size,
                      struct np_error *err)
{
	struct parser parser = {
		.file = file,
		.next = text,
		.end = text + size,
		.key = NR_KEYS,
		.err = err,
	};
	int bad_line;

	if (size >= strlen(BYTE_ORDER_MARK) &&
	    memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0)
		parser.next += strlen(BYTE_ORDER_MARK);
	bad_line = ini_parse_stream(read_line, &parser, take_value, &parser);
	if (parser.rc < 0 && (bad_line <= 0 || (unsigned)bad_line >= parser.line))
		return parser.rc;
	if (bad_line > 0)
		return refuse_line(file, text, text + size, (unsigned)bad_line, err);
	if (bad_line < 0)
		return np_error_sys(err, ENOMEM, "%s", file->name);
	if (file->roles.count == 0)
		return np_error_set(err, EINVAL, "%s: no '[role NAME]' in it, so nothing to start",
		                    file->name);
	return 0;
}

static int check_bytes(const char *text, size_t size, const char *name, struct np_error *err)
{
	unsigned line = 1;

	if (size > NR_ROLE_FILE_BYTES_MAX)
		return np_error_set(err, E2BIG, "%s: a role file has at most %u KiB", name,
		                    NR_ROLE_FILE_BYTES_MAX >> 10);
	if (size == 0 || !memchr(text, '\0', size))
		return 0;
	for (; *text; text++)
		line += *text == '\n';
	return np_error_set(err, EINVAL, "%s:%u: a NUL byte: this is not a text", name, line);
}

static int read_values(struct nr_role_file *file, struct np_error *err)
{
	unsigned instances = 0;
	int rc = 0;

	for (size_t i = 0; i < file->roles.count && rc == 0; i++) {
		struct nr_role *role = &file->roles.roles[i];

		rc = nr_role_read(file, i, err);
		instances += rc == 0 ? role->instances : 0;
		if (instances > NR_INSTANCES_MAX)
			rc = nr_role_file_wrap(
				file, role->line,
				np_error_set(
					err, EINVAL,
					"role %s: with its instances more than %u programs would run",
					role->name, NR_INSTANCES_MAX),
				err);
	}
	return rc;
}

static void release_drafts(struct nr_role_file *file)
{
	for (size_t i = 0; i < file->roles.count; i++)
		for (unsigned key = 0; key < NR_KEYS; key++)
			free(file->drafts[i].values[key].text);
	free(file->drafts);
}

int nr_roles_parse(const char *text, size_t size, const char *name, struct nr_roles *ret,
                   struct np_error *err)
{
	struct nr_role_file file = { .name = name };
	int rc = check_bytes(text, size, name, err);

	if (rc == 0)
		rc = take_apart(&file, text, size, err);
	if (rc == 0)
		rc = read_values(&file, err);
	if (rc == 0)
		rc = nr_roles_connect(&file, err);
	release_drafts(&file);
	if (rc < 0) {
		nr_roles_release(&file.roles);
		return rc;
	}
	*ret = file.roles;
	return 0;
}

int nr_roles_load(const char *path, struct nr_roles *ret, struct np_error *err)
{
	char *text;
	ssize_t size = np_file_read("role file", path, NR_ROLE_FILE_BYTES_MAX, &text, err);
	int rc;

	if (size < 0)
		return (int)size;
	rc = nr_roles_parse(text, (size_t)size, path, ret, err);
	free(text);
	return rc;
}

static void release_role(struct nr_role *role)
{
	free(role->name);
	free(role->near);
	free(role->mem);
	free(role->avoid);
	free(role->after);
	free(role->ready.host);
	free(role->ready.port);
	free(role->ready.path);
	free(role->env);
	free(role->command);
}

void nr_roles_release(struct nr_roles *roles)
{
	for (size_t i = 0; i < roles->count; i++)
		release_role(&roles->roles[i]);
	free(roles->roles);
	free(roles->start_order);
	*roles = (struct nr_roles){ 0 };
}
