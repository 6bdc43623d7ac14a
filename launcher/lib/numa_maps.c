/* SPDX-License-Identifier: BSD-3-Clause */
#include "numa_maps.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A page of 64 TiB does not exist; the limit keeps products from overflowing. */
enum { PATH_SIZE = 64, PAGE_KIB_BITS_MAX = 36, PAGES_BITS_MAX = 52, NODES_TEXT_SIZE = 512 };

/* --- lines ------------------------------------------------------------------------------------ */

struct bytes {
	const char *at;
	const char *end;
};

static bool take_char(struct bytes *bytes, char c)
{
	if (bytes->at == bytes->end || *bytes->at != c)
		return false;
	bytes->at++;
	return true;
}

static bool take_text(struct bytes *bytes, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(bytes->end - bytes->at) < len || memcmp(bytes->at, text, len) != 0)
		return false;
	bytes->at += len;
	return true;
}

/* A number of at most @bits bits. */
static bool take_number(struct bytes *bytes, unsigned base, unsigned bits, uint64_t *ret)
{
	const char *start = bytes->at;
	uint64_t value = 0;

	for (; bytes->at < bytes->end; bytes->at++) {
		unsigned char c = (unsigned char)*bytes->at;
		unsigned digit = isdigit(c)             ? (unsigned)(c - '0')
		                 : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
		                                        : UINT32_MAX;

		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	*ret = value;
	return bytes->at > start && (bits >= 64 || value >> bits == 0);
}

static struct bytes take_word(struct bytes *bytes)
{
	struct bytes word;

	while (take_char(bytes, ' '))
		;
	word = (struct bytes){ bytes->at, bytes->at };
	while (word.end < bytes->end && *word.end != ' ')
		word.end++;
	bytes->at = word.end;
	return word;
}

/* Two modes have a blank in their names: "prefer (many)" and "weighted interleave". */
static struct bytes take_policy(struct bytes *bytes)
{
	struct bytes policy = take_word(bytes);
	struct bytes ahead = *bytes;

	if ((policy.end - policy.at == 6 && take_text(&ahead, " (many)")) ||
	    (policy.end - policy.at == 8 && take_text(&ahead, " interleave"))) {
		take_char(bytes, ' ');
		policy.end = take_word(bytes).end;
	}
	return policy;
}

static bool is_word(struct bytes word, const char *text)
{
	return take_text(&word, text) && word.at == word.end;
}

/* What stands behind the policy, but for the counts. */
static void read_rest(struct bytes bytes, struct nr_numa_line *line)
{
	while (bytes.at < bytes.end) {
		struct bytes word = take_word(&bytes);
		uint64_t kib = 0;

		if (is_word(word, "huge"))
			line->is_huge = true;
		else if (take_text(&word, "file="))
			line->has_file = true;
		else if (take_text(&word, "kernelpagesize_kB=") &&
		         take_number(&word, 10, PAGE_KIB_BITS_MAX, &kib) && word.at == word.end)
			line->page_bytes = kib * 1024;
	}
}

int nr_numa_line_parse(const char *line, size_t len, struct nr_numa_line *ret)
{
	struct bytes bytes = { line, line + len };
	struct bytes policy;
	const char *colon;
	uint64_t start;

	if (!take_number(&bytes, 16, 64, &start) || bytes.at == bytes.end || *bytes.at != ' ')
		return -EINVAL;
	policy = take_policy(&bytes);
	if (policy.at == policy.end)
		return -EINVAL;
	colon = memchr(policy.at, ':', (size_t)(policy.end - policy.at));
	*ret = (struct nr_numa_line){
		.start = start,
		.policy = policy.at,
		.policy_len = (size_t)(policy.end - policy.at),
		.nodes = colon ? colon + 1 : policy.end,
		.nodes_len = colon ? (size_t)(policy.end - colon - 1) : 0,
		.rest = bytes.at,
		.rest_len = (size_t)(bytes.end - bytes.at),
	};
	read_rest(bytes, ret);
	return 0;
}

int nr_numa_policy_parse(const char *text, size_t len, struct nr_policy *ret)
{
	/* Longest first where one begins another (mm/mempolicy.c, policy_modes). */
	static const struct {
		const char *word;
		enum nr_policy_mode mode;
	} modes[] = {
		{ "prefer (many)", NR_POLICY_PREFERRED_MANY },
		{ "prefer", NR_POLICY_PREFERRED },
		{ "bind", NR_POLICY_BIND },
		{ "interleave", NR_POLICY_INTERLEAVE },
		{ "weighted interleave", NR_POLICY_WEIGHTED },
		{ "local", NR_POLICY_LOCAL },
		{ "default", NR_POLICY_DEFAULT },
	};
	struct bytes bytes = { text, text + len };
	const char *colon = memchr(text, ':', len);
	char list[NODES_TEXT_SIZE];
	size_t i = 0;
	int rc;

	while (i < sizeof(modes) / sizeof(modes[0]) && !take_text(&bytes, modes[i].word))
		i++;
	if (i == sizeof(modes) / sizeof(modes[0]) ||
	    (bytes.at < bytes.end && !strchr("=:", *bytes.at)))
		return -EINVAL;
	*ret = (struct nr_policy){ .mode = modes[i].mode };
	ret->balancing = memmem(text, len, "balancing", 9) != NULL;
	if (!colon)
		return 0;
	if ((size_t)(bytes.end - colon) > sizeof(list))
		return -EINVAL;
	snprintf(list, sizeof(list), "%.*s", (int)(bytes.end - colon - 1), colon + 1);
	rc = np_cpulist_parse(list, &ret->nodes, NULL);
	if (rc < 0)
		nr_policy_release(ret);
	return rc;
}

bool nr_numa_line_pages(struct nr_numa_line *line, unsigned *ret_node, uint64_t *ret_pages)
{
	struct bytes bytes = { line->rest, line->rest + line->rest_len };
	bool found = false;

	while (!found && bytes.at < bytes.end) {
		struct bytes word = take_word(&bytes);
		uint64_t node = 0;

		found = take_char(&word, 'N') && take_number(&word, 10, 32, &node) &&
		        node <= NP_BITMAP_INDEX_MAX && take_char(&word, '=') &&
		        take_number(&word, 10, PAGES_BITS_MAX, ret_pages) && word.at == word.end;
		if (found)
			*ret_node = (unsigned)node;
	}
	line->rest = bytes.at;
	line->rest_len = (size_t)(bytes.end - bytes.at);
	return found;
}

int nr_maps_line_parse(const char *line, size_t len, uint64_t *ret_start, uint64_t *ret_end,
                       bool *ret_special)
{
	static const char *const special[] = { "[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]",
		                               "[uprobes]" };
	struct bytes bytes = { line, line + len };
	struct bytes name = { 0 };
	uint64_t start;
	uint64_t end;

	if (!take_number(&bytes, 16, 64, &start) || !take_char(&bytes, '-') ||
	    !take_number(&bytes, 16, 64, &end) || start >= end)
		return -EINVAL;
	/* Permissions, offset, device, inode, and then the name, which may have blanks. */
	for (int word = 0; word < 5; word++)
		name = take_word(&bytes);
	*ret_special = false;
	for (size_t i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if ((size_t)(name.end - name.at) == strlen(special[i]) &&
		    memcmp(name.at, special[i], strlen(special[i])) == 0)
			*ret_special = true;
	*ret_start = start;
	*ret_end = end;
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* Lines one by one: with tens of thousands of mappings the files are megabytes long. */
static int open_lines(const struct np_sysroot *root, pid_t id, const char *name, FILE **ret,
                      struct np_error *err)
{
	char path[PATH_SIZE];
	int code;
	int fd;

	snprintf(path, sizeof(path), "proc/%d/%s", (int)id, name);
	fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return np_error_sys(err, errno, "%s/%s", root->path, path);
	*ret = fdopen(fd, "r");
	if (*ret)
		return 0;
	code = errno;
	close(fd);
	return np_error_sys(err, code, "%s/%s", root->path, path);
}

static int append(struct nr_mappings *mappings, const struct nr_mapping *mapping)
{
	if (mappings->count == NR_MAPPINGS_MAX)
		return -E2BIG;
	if (mappings->count == mappings->room) {
		size_t room = mappings->room ? mappings->room * 2 : 64;
		struct nr_mapping *list = realloc(mappings->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		mappings->list = list;
		mappings->room = room;
	}
	mappings->list[mappings->count++] = *mapping;
	return 0;
}

/* A read that fails halfway: /proc says ESRCH when the process has ended. */
static int finish_lines(FILE *file, char *line, int rc, const char *name, struct np_error *err)
{
	int code = ferror(file) ? errno : 0;

	free(line);
	fclose(file);
	if (rc == 0 && code)
		rc = -code;
	return rc < 0 ? np_error_sys(err, -rc, "%s", name) : 0;
}

static int read_maps(const struct np_sysroot *root, pid_t id, struct nr_mappings *mappings,
                     struct np_error *err)
{
	FILE *file = NULL;
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int rc = open_lines(root, id, "maps", &file, err);

	if (rc < 0)
		return rc;
	errno = 0;
	while (rc == 0 && (len = getline(&line, &size, file)) > 0) {
		struct nr_mapping mapping = { 0 };
		bool special;

		if (line[len - 1] == '\n')
			len--;
		if (nr_maps_line_parse(line, (size_t)len, &mapping.start, &mapping.end, &special) ==
		            0 &&
		    !special)
			rc = append(mappings, &mapping);
	}
	return finish_lines(file, line, rc, "maps of the process", err);
}

static void note_policy(struct nr_mappings *mappings, const struct nr_numa_line *line,
                        const struct np_bitmap *nodes)
{
	struct np_bitmap own = { 0 };
	char *list = strndup(line->nodes, line->nodes_len);
	bool elsewhere;

	elsewhere = list && np_cpulist_parse(list, &own, NULL) == 0 &&
	            !np_bitmap_is_subset(&own, nodes);
	free(list);
	np_bitmap_release(&own);
	if (elsewhere && mappings->policies_elsewhere++ == 0)
		snprintf(mappings->policy_elsewhere, sizeof(mappings->policy_elsewhere), "%.*s",
		         (int)line->policy_len, line->policy);
}

/* Both files are by ascending address: *next goes along. */
static void add_numa_line(struct nr_mappings *mappings, size_t *next, struct nr_numa_line *line,
                          const struct np_bitmap *nodes)
{
	struct nr_mapping *mapping;
	unsigned node;
	uint64_t pages;

	while (*next < mappings->count && mappings->list[*next].start < line->start)
		++*next;
	if (*next == mappings->count || mappings->list[*next].start != line->start)
		return;
	mapping = &mappings->list[*next];
	mapping->page_bytes = line->page_bytes;
	if (line->nodes_len > 0)
		note_policy(mappings, line, nodes);
	while (nr_numa_line_pages(line, &node, &pages)) {
		uint64_t bytes = 0;

		if (__builtin_mul_overflow(pages, line->page_bytes, &bytes))
			continue;
		mappings->total_bytes += bytes;
		if (!np_bitmap_has(nodes, node))
			mapping->away_bytes += bytes;
	}
}

static int read_numa_maps(const struct np_sysroot *root, pid_t id, const struct np_bitmap *nodes,
                          struct nr_mappings *mappings, struct np_error *err)
{
	FILE *file = NULL;
	char *text = NULL;
	size_t size = 0;
	size_t next = 0;
	ssize_t len;
	int rc = open_lines(root, id, "numa_maps", &file, err);

	if (rc == -ENOENT)
		return np_error_set(err, ENOSYS,
		                    "%s/proc/%d/numa_maps: no such file: this kernel was built "
		                    "without NUMA support, or the process has just ended",
		                    root->path, (int)id);
	if (rc < 0)
		return rc;
	errno = 0;
	while ((len = getline(&text, &size, file)) > 0) {
		struct nr_numa_line line;

		if (text[len - 1] == '\n')
			len--;
		if (nr_numa_line_parse(text, (size_t)len, &line) == 0)
			add_numa_line(mappings, &next, &line, nodes);
	}
	return finish_lines(file, text, 0, "numa_maps of the process", err);
}

static void drop_empty(struct nr_mappings *mappings)
{
	size_t kept = 0;

	for (size_t i = 0; i < mappings->count; i++)
		if (mappings->list[i].page_bytes > 0)
			mappings->list[kept++] = mappings->list[i];
	mappings->count = kept;
}

int nr_mappings_read(const struct np_sysroot *root, pid_t id, const struct np_bitmap *nodes,
                     struct nr_mappings *ret, struct np_error *err)
{
	struct nr_mappings mappings = { 0 };
	int rc = read_maps(root, id, &mappings, err);

	if (rc == 0)
		rc = read_numa_maps(root, id, nodes, &mappings, err);
	if (rc < 0) {
		nr_mappings_release(&mappings);
		return rc == -ENOENT ? -ESRCH : rc;
	}
	drop_empty(&mappings);
	*ret = mappings;
	return 0;
}

void nr_mappings_release(struct nr_mappings *mappings)
{
	free(mappings->list);
	*mappings = (struct nr_mappings){ 0 };
}
