/* SPDX-License-Identifier: BSD-3-Clause */
#include "http_condition.h"

#include <string.h>

size_t ns_http_tag(uint64_t cas, char buf[NS_HTTP_TAG_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	char text[16];
	size_t at = sizeof(text);
	size_t len = 0;

	do {
		text[--at] = digits[cas & 15];
		cas >>= 4;
	} while (cas > 0);
	buf[len++] = '"';
	while (at < sizeof(text))
		buf[len++] = text[at++];
	buf[len++] = '"';
	return len;
}

struct tag {
	struct ns_http_text text; /* with its quotes */
	bool is_weak;
};

/* Takes a tag and the commas before it off *rest; false at the end, or at what is no tag. */
static bool next_tag(struct ns_http_text *rest, struct tag *ret)
{
	const char *at = rest->text;
	const char *end = rest->text + rest->len;
	const char *close;

	while (at < end && (*at == ' ' || *at == '\t' || *at == ','))
		at++;
	ret->is_weak = end - at > 2 && at[0] == 'W' && at[1] == '/';
	if (ret->is_weak)
		at += 2;
	if (at == end || *at != '"')
		return false;
	close = memchr(at + 1, '"', (size_t)(end - at - 1));
	if (!close)
		return false;
	ret->text = (struct ns_http_text){ .text = at, .len = (size_t)(close + 1 - at) };
	rest->text = close + 1;
	rest->len = (size_t)(end - rest->text);
	return true;
}

static bool is_tag_of(const struct tag *tag, uint64_t cas, bool weak_counts)
{
	char buf[NS_HTTP_TAG_SIZE];
	size_t len = ns_http_tag(cas, buf);

	return (weak_counts || !tag->is_weak) && tag->text.len == len &&
	       memcmp(tag->text.text, buf, len) == 0;
}

static bool list_has(const struct ns_http_list *list, uint64_t cas, bool weak_counts)
{
	for (unsigned i = 0; i < list->count; i++) {
		struct ns_http_text rest = list->lines[i];
		struct tag tag;

		while (next_tag(&rest, &tag)) {
			if (is_tag_of(&tag, cas, weak_counts))
				return true;
		}
	}
	return false;
}

bool ns_http_list_is_star(const struct ns_http_list *list)
{
	return list->count == 1 && ns_http_is(list->lines[0], "*");
}

static bool matches(const struct ns_http_list *list, uint64_t cas, bool weak_counts)
{
	return cas != 0 && (ns_http_list_is_star(list) || list_has(list, cas, weak_counts));
}

enum ns_http_condition ns_http_condition(const struct ns_http_head *head, uint64_t cas)
{
	if (head->if_match.count > 0 && !matches(&head->if_match, cas, false))
		return NS_HTTP_FAILED;
	if (head->if_none_match.count == 0 || !matches(&head->if_none_match, cas, true))
		return NS_HTTP_GO;
	return head->method == NS_HTTP_GET || head->method == NS_HTTP_HEAD ? NS_HTTP_UNCHANGED
	                                                                   : NS_HTTP_FAILED;
}

bool ns_http_range_counts(const struct ns_http_head *head, uint64_t cas)
{
	struct ns_http_text rest = head->if_range;
	struct tag tag;

	if (!head->if_range.text)
		return true;
	/* A date never is: objects have none. */
	return next_tag(&rest, &tag) && rest.len == 0 && is_tag_of(&tag, cas, false);
}
