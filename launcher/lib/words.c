/* SPDX-License-Identifier: BSD-3-Clause */
#include "words.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define FOR_SHELLS "|&;<>()"

/* The words go where there is room; with @words NULL the text is only looked at. */
struct splitter {
	struct nr_quoting quoting;
	char **words;
	char *out;
	int count;
};

static void put(struct splitter *splitter, char c)
{
	if (splitter->words)
		*splitter->out++ = c;
}

static void begin_word(struct splitter *splitter)
{
	if (splitter->quoting.in_word)
		return;
	splitter->quoting.in_word = true;
	if (splitter->words)
		splitter->words[splitter->count] = splitter->out;
	splitter->count++;
}

static void end_word(struct splitter *splitter)
{
	if (splitter->quoting.in_word)
		put(splitter, '\0');
	splitter->quoting.in_word = false;
}

static int refuse(char c, struct np_error *err)
{
	if (c == '#')
		return np_error_set(err, EINVAL,
		                    "a word that begins with an unquoted '#': a comment stands on "
		                    "a line of its own; quote the word where it is meant");
	return np_error_set(err, EINVAL,
	                    "an unquoted '%c': no shell runs this%s; quote it where it is meant, "
	                    "or run sh -c '...'",
	                    c, c == ';' ? ", and a comment stands on a line of its own" : "");
}

/* A character outside quotes. */
static int take_plain(struct splitter *splitter, char c, struct np_error *err)
{
	if (c == ' ' || c == '\t' || c == '\n') {
		end_word(splitter);
		return 0;
	}
	if (strchr(FOR_SHELLS, c) || (c == '#' && !splitter->quoting.in_word))
		return refuse(c, err);
	begin_word(splitter);
	if (c == '\\')
		splitter->quoting.escaped = true;
	else if (c == '\'' || c == '"')
		splitter->quoting.quote = c;
	else
		put(splitter, c);
	return 0;
}

static int take(struct splitter *splitter, char c, struct np_error *err)
{
	struct nr_quoting *quoting = &splitter->quoting;

	if (quoting->escaped) {
		quoting->escaped = false;
		if (quoting->quote && !strchr("\"\\$`", c))
			put(splitter, '\\');
		put(splitter, c);
		return 0;
	}
	if (!quoting->quote)
		return take_plain(splitter, c, err);
	if (c == quoting->quote)
		quoting->quote = '\0';
	else if (c == '\\' && quoting->quote == '"')
		quoting->escaped = true;
	else
		put(splitter, c);
	return 0;
}

static int take_all(struct splitter *splitter, const char *text, struct np_error *err)
{
	int rc = 0;

	for (const char *c = text; *c && rc == 0; c++)
		rc = take(splitter, *c, err);
	return rc;
}

bool nr_quoting_is_open(const struct nr_quoting *quoting)
{
	return quoting->quote || quoting->escaped;
}

int nr_words_scan(const char *text, struct nr_quoting *quoting, struct np_error *err)
{
	struct splitter splitter = { .quoting = *quoting };
	int rc = take_all(&splitter, text, err);

	*quoting = splitter.quoting;
	return rc;
}

static int check_end(const struct nr_quoting *quoting, struct np_error *err)
{
	if (quoting->escaped)
		return np_error_set(err, EINVAL, "it ends in a backslash, which quotes nothing");
	if (quoting->quote)
		return np_error_set(err, EINVAL, "the quote %c is not closed", quoting->quote);
	return 0;
}

int nr_words_split(const char *text, char ***ret, struct np_error *err)
{
	size_t length = strlen(text);
	/* Each word takes a character and, but for the last, a blank. */
	size_t most = length / 2 + 1;
	struct splitter splitter = { 0 };
	char **words;
	int rc;

	if (length >= INT_MAX)
		return np_error_set(err, EINVAL, "too long a text");
	words = malloc((most + 1) * sizeof(*words) + length + 1);
	if (!words)
		return np_error_sys(err, ENOMEM, "words");
	splitter.words = words;
	splitter.out = (char *)(words + most + 1);
	rc = take_all(&splitter, text, err);
	if (rc == 0)
		rc = check_end(&splitter.quoting, err);
	if (rc < 0) {
		free(words);
		return rc;
	}
	end_word(&splitter);
	words[splitter.count] = NULL;
	*ret = words;
	return splitter.count;
}
