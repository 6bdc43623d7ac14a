/* SPDX-License-Identifier: BSD-3-Clause */
#include "pages.h"

#include "numa_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line holds a path at its longest; the rest of a longer one says nothing that is read here. */
enum { PATH_SIZE = 64, LINE_SIZE = 1024 };

void nr_pages_release(struct nr_pages *pages)
{
	free(pages->node_bytes);
	*pages = (struct nr_pages){ 0 };
}

static int add_node(struct nr_pages *pages, unsigned node, uint64_t bytes)
{
	if (node >= pages->node_count) {
		size_t count = node + 1;
		uint64_t *grown = realloc(pages->node_bytes, count * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + pages->node_count, 0, (count - pages->node_count) * sizeof(*grown));
		pages->node_bytes = grown;
		pages->node_count = count;
	}
	pages->node_bytes[node] += bytes;
	return 0;
}

static bool is_asked(const struct nr_numa_line *line, const struct nr_policy *asked)
{
	struct nr_policy policy = { 0 };
	bool same = nr_numa_policy_parse(line->policy, line->policy_len, &policy) == 0 &&
	            policy.mode == asked->mode && np_bitmap_equal(&policy.nodes, &asked->nodes);

	nr_policy_release(&policy);
	return same;
}

static int add_line(const char *text, const struct nr_policy *asked, struct nr_pages *pages)
{
	struct nr_numa_line line;
	bool is_judged;
	bool is_own;
	uint64_t page_count;
	unsigned node;
	int rc = 0;

	if (nr_numa_line_parse(text, strcspn(text, "\n"), &line) < 0)
		return 0;
	is_judged = !line.has_file || line.is_huge;
	is_own = is_judged && asked->mode != NR_POLICY_KEEP && !is_asked(&line, asked);
	while (rc == 0 && nr_numa_line_pages(&line, &node, &page_count)) {
		uint64_t bytes = page_count * line.page_bytes;

		rc = add_node(pages, node, bytes);
		if (!is_judged)
			pages->file_bytes += bytes;
		else if (is_own)
			pages->own_bytes += bytes;
		else
			pages->judged_bytes += bytes;
		if (is_judged && !is_own && asked->mode == NR_POLICY_BIND &&
		    !np_bitmap_has(&asked->nodes, node))
			pages->outside_bytes += bytes;
	}
	return rc;
}

static void skip_rest(FILE *file)
{
	int c;

	do
		c = getc(file);
	while (c != EOF && c != '\n');
}

int nr_pages_add(const struct np_sysroot *root, pid_t process, const struct nr_policy *asked,
                 struct nr_pages *ret)
{
	char path[PATH_SIZE];
	char line[LINE_SIZE];
	FILE *file;
	int fd;
	int rc = 0;

	snprintf(path, sizeof(path), "proc/%d/numa_maps", process);
	fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	while (rc == 0 && fgets(line, sizeof(line), file)) {
		rc = add_line(line, asked, ret);
		if (!strchr(line, '\n'))
			skip_rest(file);
	}
	fclose(file);
	return rc;
}

int nr_pages_thread_policy(const struct np_sysroot *root, pid_t process, pid_t thread, char *buf,
                           size_t size)
{
	char path[PATH_SIZE];
	struct nr_numa_line line;
	ssize_t len;
	int code;
	int fd;

	snprintf(path, sizeof(path), "proc/%d/task/%d/numa_maps", process, thread);
	fd = openat(root->fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* No more than is read is made up by the kernel: a mapping or two, not all of them. */
	len = read(fd, buf, size - 1);
	code = errno;
	close(fd);
	if (len < 0)
		return -code;
	if (len == 0) /* it is ending and has given its memory back */
		return -ESRCH;
	buf[len] = '\0';
	if (nr_numa_line_parse(buf, strcspn(buf, "\n"), &line) < 0)
		return -ENOENT;
	memmove(buf, line.policy, line.policy_len);
	buf[line.policy_len] = '\0';
	return (int)line.policy_len;
}
