/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount explain: every source that could be counted from, whether it can be had here, and if
 * not, why, and what would help.
 */
#include "cmd.h"

#include "../probe/base/json.h"
#include <numacount/source.h>

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { LINE_WIDTH = 79, LABEL_WIDTH = 11, INDENT_WIDTH = 4, CPU_TEXT_SIZE = 192, TEXT_SIZE = 1024 };

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct nc_common *common = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = common;
		return 0;
	case ARGP_KEY_ARG:
		return -np_error_set(&common->err, EINVAL, "explain: '%s': it takes no argument",
		                     arg);
	case ARGP_KEY_ERROR:
		np_cli_bad_option(state, &common->err);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse,
	.doc = "Says what can be counted here, and why not more: each source, best first, with the "
	       "reason and the remedy where it cannot be had.\v"
	       "Any user may ask, and --root asks about a captured host. Exit status: 0 when memory "
	       "controllers and links can be counted, 1 when something less or nothing can, "
	       "2 wrong usage.",
	.children = (const struct argp_child[]){ { &nc_common_argp, 0, NULL, 0 }, { 0 } },
};

/* What the sources below the uncore PMUs do not show; of those the family's table tells. */
static const char *const misses[NC_SOURCE_COUNT] = {
	[NC_SOURCE_RESCTRL] = "Transfers by devices (DMA), and which link the remote part took.",
	[NC_SOURCE_CORE] = "Most stores and prefetches, and all DMA: it is a ratio and no "
			   "bandwidth. Remote is another node, which can be on the same socket.",
	[NC_SOURCE_NUMASTAT] = "Every access: it tells where memory was put and not how much it is "
			       "used. A huge page counts as one.",
};

static const char *misses_of(const struct nc_host *host, enum nc_source source)
{
	const struct nc_family *family = nc_host_family(host);

	if (source == NC_SOURCE_UNCORE)
		return family ? family->misses : NULL;
	return misses[source];
}

/* What `stat` would count from; NC_SOURCE_COUNT when there is nothing. */
static enum nc_source best(const struct nc_source_state states[NC_SOURCE_COUNT])
{
	unsigned i = 0;

	while (i < NC_SOURCE_COUNT && states[i].availability == NC_UNAVAILABLE)
		i++;
	return (enum nc_source)i;
}

static const char *option_for(enum nc_source source)
{
	return source == NC_SOURCE_UNCORE ? NULL : "--allow-fallback";
}

/* ---- text ---- */

/* Prints @label and behind it @text, broken between words; nothing where the text is empty. */
static void print_line(unsigned indent, const char *label, const char *text)
{
	char quoted[TEXT_SIZE];
	size_t column = indent + LABEL_WIDTH;
	const char *word;
	size_t len;

	if (!text || !*text)
		return;
	printf("%*s%-*s", (int)indent, "", LABEL_WIDTH - 1, label);
	for (word = np_error_quote(text, quoted, sizeof(quoted)); *word; word += len) {
		word += strspn(word, " ");
		len = strcspn(word, " ");
		if (len > 0 && column > indent + LABEL_WIDTH && column + len > LINE_WIDTH) {
			printf("\n%*s", (int)indent + LABEL_WIDTH - 1, "");
			column = indent + LABEL_WIDTH;
		}
		printf(" %.*s", (int)len, word);
		column += len + 1;
	}
	putchar('\n');
}

static void print_family(const struct nc_host *host)
{
	const struct nc_family *family = nc_host_family(host);
	char text[TEXT_SIZE];

	print_line(0, "processor", nc_cpu_text(nc_host_cpu(host), text, CPU_TEXT_SIZE));
	if (!family) {
		print_line(0, "family", "unknown: no event table is for this processor");
		return;
	}
	snprintf(text, sizeof(text), "%s: %s%s", family->name, family->title,
	         family->is_untested ? "; untested, known from documents alone" : "; tested");
	print_line(0, "family", text);
}

static void print_source(const struct nc_host *host, enum nc_source source,
                         const struct nc_source_state *state)
{
	static const char *const words[] = {
		[NC_AVAILABLE] = "available",
		[NC_UNAVAILABLE] = "not available",
		[NC_UNTRIED] = "not tried",
	};

	printf("\n%s: %s\n", nc_source_name(source), words[state->availability]);
	print_line(INDENT_WIDTH, "counts", nc_source_title(source));
	print_line(INDENT_WIDTH, "found", state->finds);
	print_line(INDENT_WIDTH, "reason", state->reason);
	print_line(INDENT_WIDTH, "remedy", state->remedy);
	print_line(INDENT_WIDTH, "misses", misses_of(host, source));
}

static void print_choice(const struct nc_source_state states[NC_SOURCE_COUNT])
{
	enum nc_source source = best(states);
	const char *condition = "";

	putchar('\n');
	if (source == NC_SOURCE_COUNT) {
		puts("numacount stat has nothing to count from.");
		return;
	}
	if (states[source].availability == NC_UNTRIED)
		condition = " there, if the kernel permits it";
	if (option_for(source))
		printf("numacount stat %s counts from %s%s.\n", option_for(source),
		       nc_source_name(source), condition);
	else
		printf("numacount stat counts from %s%s.\n", nc_source_name(source), condition);
}

static int print_text(const struct nc_host *host,
                      const struct nc_source_state states[NC_SOURCE_COUNT])
{
	print_family(host);
	for (size_t i = 0; i < nc_host_note_count(host); i++)
		print_line(0, "note", nc_host_note(host, i));
	for (unsigned i = 0; i < NC_SOURCE_COUNT; i++)
		print_source(host, (enum nc_source)i, &states[i]);
	print_choice(states);
	return ferror(stdout) ? -EIO : 0;
}

/* ---- JSON ---- */

/* NULL when there is no such text. */
static const char *known(const char *text)
{
	return text && *text ? text : NULL;
}

static json_t *family_json(const struct nc_family *family)
{
	json_t *object;

	if (!family)
		return json_null();
	object = json_object();
	np_json_set_member(&object, "name", np_json_text(family->name));
	np_json_set_member(&object, "title", np_json_text(family->title));
	np_json_set_member(&object, "tested", json_boolean(!family->is_untested));
	np_json_set_member(&object, "file", np_json_text(family->file));
	return object;
}

static json_t *source_json(const struct nc_host *host, enum nc_source source,
                           const struct nc_source_state *state)
{
	json_t *object = json_object();
	json_t *available = state->availability == NC_UNTRIED
	                            ? json_null()
	                            : json_boolean(state->availability == NC_AVAILABLE);

	np_json_set_member(&object, "source", np_json_text(nc_source_name(source)));
	np_json_set_member(&object, "counts", np_json_text(nc_source_title(source)));
	np_json_set_member(&object, "available", available);
	np_json_set_member(&object, "found", np_json_text(known(state->finds)));
	np_json_set_member(&object, "reason", np_json_text(known(state->reason)));
	np_json_set_member(&object, "remedy", np_json_text(known(state->remedy)));
	np_json_set_member(&object, "misses", np_json_text(known(misses_of(host, source))));
	return object;
}

static json_t *choice_json(const struct nc_source_state states[NC_SOURCE_COUNT])
{
	enum nc_source source = best(states);
	json_t *object;

	if (source == NC_SOURCE_COUNT)
		return json_null();
	object = json_object();
	np_json_set_member(&object, "source", np_json_text(nc_source_name(source)));
	np_json_set_member(&object, "option", np_json_text(option_for(source)));
	return object;
}

static json_t *document(const struct nc_host *host,
                        const struct nc_source_state states[NC_SOURCE_COUNT])
{
	char cpu[CPU_TEXT_SIZE];
	json_t *object = json_object();
	json_t *sources = json_array();
	json_t *notes = json_array();

	for (unsigned i = 0; i < NC_SOURCE_COUNT; i++)
		np_json_append(&sources, source_json(host, (enum nc_source)i, &states[i]));
	for (size_t i = 0; i < nc_host_note_count(host); i++)
		np_json_append(&notes, np_json_text(nc_host_note(host, i)));

	np_json_set_member(&object, "schema", json_string("numakit/explain/1"));
	np_json_set_member(&object, "processor",
	                   np_json_text(nc_cpu_text(nc_host_cpu(host), cpu, sizeof(cpu))));
	np_json_set_member(&object, "family", family_json(nc_host_family(host)));
	np_json_set_member(&object, "sources", sources);
	np_json_set_member(&object, "stat", choice_json(states));
	np_json_set_member(&object, "notes", notes);
	return object;
}

static int explain(const struct nc_common *common, const struct nc_host *host)
{
	struct nc_source_state states[NC_SOURCE_COUNT];
	struct np_error err = { 0 };
	int status;

	if (nc_sources_look(host, states, &err) < 0)
		return nc_cmd_fail(&err, NP_EXIT_NO);
	status = nc_cmd_written(common->json ? np_json_write(document(host, states), stdout)
	                                     : print_text(host, states));
	if (status == NP_EXIT_OK && states[NC_SOURCE_UNCORE].availability == NC_UNAVAILABLE)
		return NP_EXIT_NO;
	return status;
}

int nc_cmd_explain(struct nc_common *common, int argc, char **argv)
{
	struct nc_host *host;
	int status;

	if (np_cli_parse(&argp, argc, argv, 0, common, &common->err) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_USAGE);
	if (nc_common_load(common, &host) < 0)
		return nc_cmd_fail(&common->err, NP_EXIT_NO);
	status = explain(common, host);
	nc_host_free(host);
	return status;
}
