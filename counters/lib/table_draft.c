/* SPDX-License-Identifier: BSD-3-Clause */
#include "table_draft.h"

#include "../../probe/base/array.h"
#include "../../probe/base/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTE_SIZE = 80, COUNTERS_DEFAULT = 4 };

/* ---- keys ---- */

static int take_title(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_cpu(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_counters(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_untested(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_link_ends_differ(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_link_name(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_link_clock(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_link_bytes(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_link_rates(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_misses(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_class(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_pmu(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_terms(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_pfm(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_unless_pmu(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_units(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_link(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_numbers(struct nc_draft *draft, struct nc_cursor *cursor);
static int take_source(struct nc_draft *draft, struct nc_cursor *cursor);

#define IN_FAMILY (1u << NC_SECTION_FAMILY)
#define IN_EVENT (1u << NC_SECTION_EVENT)

static const struct {
	const char *name;
	unsigned sections;
	bool goes_on;
	int (*take)(struct nc_draft *draft, struct nc_cursor *cursor);
} keys[NC_KEYS] = {
	[NC_KEY_TITLE] = { "title", IN_FAMILY, true, take_title },
	[NC_KEY_CPU] = { "cpu", IN_FAMILY, true, take_cpu },
	[NC_KEY_COUNTERS] = { "counters", IN_FAMILY, false, take_counters },
	[NC_KEY_UNTESTED] = { "untested", IN_FAMILY, false, take_untested },
	[NC_KEY_LINK_ENDS_DIFFER] = { "link-ends-differ", IN_FAMILY, false, take_link_ends_differ },
	[NC_KEY_LINK_NAME] = { "link-name", IN_FAMILY, false, take_link_name },
	[NC_KEY_LINK_CLOCK] = { "link-transfers-per-clock", IN_FAMILY, false, take_link_clock },
	[NC_KEY_LINK_BYTES] = { "link-bytes-per-transfer", IN_FAMILY, false, take_link_bytes },
	[NC_KEY_LINK_RATES] = { "link-rates-mt", IN_FAMILY, true, take_link_rates },
	[NC_KEY_MISSES] = { "misses", IN_FAMILY, true, take_misses },
	[NC_KEY_CLASS] = { "class", IN_EVENT, false, take_class },
	[NC_KEY_PMU] = { "pmu", IN_EVENT, false, take_pmu },
	[NC_KEY_TERMS] = { "terms", IN_EVENT, false, take_terms },
	[NC_KEY_PFM] = { "pfm", IN_EVENT, false, take_pfm },
	[NC_KEY_UNLESS_PMU] = { "unless-pmu", IN_EVENT, false, take_unless_pmu },
	[NC_KEY_UNITS] = { "units", IN_EVENT, false, take_units },
	[NC_KEY_LINK] = { "link", IN_EVENT, false, take_link },
	[NC_KEY_NUMBERS] = { "numbers", IN_EVENT, false, take_numbers },
	[NC_KEY_SOURCE] = { "source", IN_FAMILY | IN_EVENT, true, take_source },
};

static const char *const section_names[NC_SECTIONS] = { "", "[family]", "[event]" };

const char *nc_key_name(enum nc_key key)
{
	return keys[key].name;
}

bool nc_key_goes_on(enum nc_key key)
{
	return keys[key].goes_on;
}

enum nc_key nc_key_find(const char *name, enum nc_section section, struct np_error *err)
{
	const char *names[NC_KEYS];
	size_t count = 0;
	const char *nearest;
	char quoted[QUOTE_SIZE];

	for (unsigned key = 0; key < NC_KEYS; key++) {
		bool is_here = keys[key].sections & (1u << section);

		if (strcmp(keys[key].name, name) == 0 && is_here)
			return (enum nc_key)key;
		if (strcmp(keys[key].name, name) == 0) {
			np_error_set(err, EINVAL, "'%s' is no key of %s", name,
			             section_names[section]);
			return NC_KEYS;
		}
		if (is_here)
			names[count++] = keys[key].name;
	}
	nearest = np_nearest_name(name, names, count);
	np_error_quote(name, quoted, sizeof(quoted));
	if (nearest)
		np_error_set(err, EINVAL, "no key '%s': did you mean '%s'?", quoted, nearest);
	else
		np_error_set(err, EINVAL, "no key '%s' in %s", quoted, section_names[section]);
	return NC_KEYS;
}

/* ---- values ---- */

#define refuse(cursor, ...) np_error_set((cursor)->err, EINVAL, __VA_ARGS__)

/* Appends a line of a text. */
static int take_text(struct nc_cursor *cursor, char text[NC_TEXT_MAX + 1])
{
	size_t used = strlen(text);
	size_t length = strlen(cursor->at);

	if (used + length + 1 > NC_TEXT_MAX)
		return refuse(cursor, "a text of more than %d bytes", NC_TEXT_MAX);
	if (used > 0 && length > 0)
		text[used++] = ' ';
	memcpy(text + used, cursor->at, length + 1);
	return 0;
}

static int take_title(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return take_text(cursor, draft->title);
}

static int take_misses(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return take_text(cursor, draft->misses);
}

static int take_source(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return take_text(cursor, draft->section == NC_SECTION_FAMILY ? draft->family_source
	                                                             : draft->event_source);
}

static int take_cpu(struct nc_draft *draft, struct nc_cursor *cursor)
{
	while (!nc_value_is_at_end(cursor)) {
		int rc;

		if (draft->family.rule_count == NC_RULES_MAX)
			return refuse(cursor, "more than %d processors", NC_RULES_MAX);
		rc = nc_value_cpu(cursor, &draft->rules[draft->family.rule_count]);
		if (rc < 0)
			return rc;
		draft->family.rule_count++;
	}
	return 0;
}

static int take_link_rates(struct nc_draft *draft, struct nc_cursor *cursor)
{
	while (!nc_value_is_at_end(cursor)) {
		const char *at = cursor->at;
		size_t count = draft->family.link_rate_count;
		int rc;

		if (count == NC_RATES_MAX)
			return refuse(cursor, "more than %d rates", NC_RATES_MAX);
		rc = nc_value_rate(cursor, &draft->rates[count]);
		if (rc < 0)
			return rc;
		if (count > 0 && draft->rates[count] <= draft->rates[count - 1]) {
			cursor->at = at;
			return refuse(cursor, "%u is not more than the rate before it, %u",
			              draft->rates[count], draft->rates[count - 1]);
		}
		draft->family.link_rate_count++;
	}
	return 0;
}

static int take_count(struct nc_cursor *cursor, uint64_t max, uint32_t *ret)
{
	uint64_t value = 0;
	int rc = nc_value_number(cursor, 1, max, &value);

	if (rc == 0)
		*ret = (uint32_t)value;
	return rc;
}

static int take_counters(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return take_count(cursor, NC_COUNTERS_MAX, &draft->family.counters);
}

static int take_link_clock(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return take_count(cursor, UINT16_MAX, &draft->family.link_transfers_per_clock);
}

static int take_link_bytes(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return take_count(cursor, UINT16_MAX, &draft->family.link_bytes_per_transfer);
}

static int take_untested(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return nc_value_yes_no(cursor, &draft->family.is_untested);
}

static int take_link_ends_differ(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return nc_value_yes_no(cursor, &draft->family.link_ends_differ);
}

static int keep(struct nc_draft *draft, const char *text, const char **ret, struct np_error *err)
{
	*ret = nc_table_keep(draft->tables, text);
	return *ret ? 0 : np_error_sys(err, ENOMEM, "event table");
}

static int take_link_name(struct nc_draft *draft, struct nc_cursor *cursor)
{
	if (!*cursor->at || strlen(cursor->at) > NC_NAME_MAX)
		return refuse(cursor, "the name of a link is 1 to %d bytes", NC_NAME_MAX);
	return keep(draft, cursor->at, &draft->family.link_name, cursor->err);
}

static int take_class(struct nc_draft *draft, struct nc_cursor *cursor)
{
	draft->has_class = true;
	return nc_value_class(cursor, &draft->event.what);
}

static int take_pmu(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return nc_value_pattern(cursor, draft->pmu);
}

static int take_unless_pmu(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return nc_value_pattern(cursor, draft->unless_pmu);
}

static int take_terms(struct nc_draft *draft, struct nc_cursor *cursor)
{
	char terms[NC_TERMS_MAX + 1];
	struct nc_cursor again = *cursor;
	int rc = take_text(cursor, draft->raw_terms);

	/* Looked at now, where it stands; made again for each number in the end. */
	if (rc < 0)
		return rc;
	rc = nc_value_terms(&again, NC_NUMBERS_MAX, terms, &draft->counts_up);
	cursor->at = again.at;
	return rc;
}

static int take_pfm(struct nc_draft *draft, struct nc_cursor *cursor)
{
	return nc_value_pfm(cursor, draft->pfm);
}

static int take_units(struct nc_draft *draft, struct nc_cursor *cursor)
{
	draft->has_units = true;
	return nc_value_fraction(cursor, &draft->event.units, &draft->event.per);
}

static int take_link(struct nc_draft *draft, struct nc_cursor *cursor)
{
	uint64_t link = 0;
	int rc = 0;

	draft->link_is_number = strcmp(cursor->at, "#") == 0;
	if (!draft->link_is_number)
		rc = nc_value_number(cursor, 0, NC_LINK_MAX, &link);
	draft->event.has_link = true;
	draft->event.link = (unsigned)link;
	return rc;
}

static int take_numbers(struct nc_draft *draft, struct nc_cursor *cursor)
{
	draft->has_numbers = true;
	return nc_value_range(cursor, NC_NUMBERS_MAX, &draft->first, &draft->last);
}

int nc_draft_take(struct nc_draft *draft, enum nc_key key, struct nc_cursor *cursor)
{
	return keys[key].take(draft, cursor);
}

/* ---- sections ---- */

int nc_draft_begin_family(struct nc_draft *draft, const char *name, struct np_error *err)
{
	struct nc_tables *tables = draft->tables;
	const struct nc_family *same = nc_tables_find_name(tables, name);

	if (same)
		return np_error_set(err, EINVAL, "a second family '%s'", name);
	if (tables->count == NC_FAMILIES_MAX)
		return np_error_set(err, EINVAL, "more than %d families", NC_FAMILIES_MAX);
	*draft = (struct nc_draft){
		.tables = tables,
		.file = draft->file,
		.section = NC_SECTION_FAMILY,
		.family = { .counters = COUNTERS_DEFAULT },
	};
	return keep(draft, name, &draft->family.name, err);
}

int nc_draft_begin_event(struct nc_draft *draft, const char *name, struct np_error *err)
{
	draft->event = (struct nc_event){ .units = 1, .per = 1 };
	draft->pmu[0] = draft->unless_pmu[0] = draft->raw_terms[0] = draft->pfm[0] = '\0';
	draft->event_source[0] = '\0';
	draft->has_class = draft->has_units = draft->has_numbers = false;
	draft->counts_up = draft->link_is_number = false;
	draft->first = draft->last = 0;
	if (draft->section == NC_SECTION_NONE)
		return np_error_set(err, EINVAL, "an event before the first '[family NAME]'");
	draft->section = NC_SECTION_EVENT;
	memcpy(draft->event_name, name, strlen(name) + 1);
	return 0;
}

static int need(bool is_there, enum nc_key key, struct np_error *err)
{
	return is_there ? 0 : np_error_set(err, EINVAL, "'%s' is missing", keys[key].name);
}

static bool is_in_bytes(enum nc_class what)
{
	return strcmp(nc_class_unit(what), "bytes") == 0;
}

/* What no single line tells. */
static int check_event(const struct nc_draft *draft, struct np_error *err)
{
	int rc = need(draft->has_class, NC_KEY_CLASS, err);

	if (rc == 0)
		rc = need(draft->pmu[0], NC_KEY_PMU, err);
	if (rc == 0)
		rc = need(draft->raw_terms[0], NC_KEY_TERMS, err);
	if (rc == 0 && is_in_bytes(draft->event.what))
		rc = need(draft->has_units, NC_KEY_UNITS, err);
	if (rc < 0)
		return rc;
	if (draft->has_numbers != (strchr(draft->event_name, '#') != NULL))
		return np_error_set(err, EINVAL,
		                    "a name with '#' in it and 'numbers' belong together: one "
		                    "event for each number");
	if (draft->has_numbers && draft->pfm[0])
		return np_error_set(err, EINVAL, "'pfm' names one event, 'numbers' makes several");
	if (draft->counts_up && !draft->has_numbers)
		return np_error_set(err, EINVAL, "terms that count up with '+' need 'numbers'");
	if (draft->link_is_number && !draft->has_numbers)
		return np_error_set(err, EINVAL, "'link = #' needs 'numbers'");
	return 0;
}

/* Puts the number in the name's "#". */
static void make_name(const struct nc_draft *draft, unsigned number, char *buf, size_t size)
{
	const char *name = draft->event_name;
	const char *sign = strchr(name, '#');

	if (sign)
		snprintf(buf, size, "%.*s%u%s", (int)(sign - name), name, number, sign + 1);
	else
		snprintf(buf, size, "%s", name);
}

static bool has_event(const struct nc_draft *draft, const char *name)
{
	for (size_t i = 0; i < draft->family.event_count; i++)
		if (strcmp(draft->events[i].name, name) == 0)
			return true;
	return false;
}

static int keep_strings(struct nc_draft *draft, unsigned number, struct nc_event *event,
                        struct np_error *err)
{
	struct nc_cursor cursor = { .at = draft->raw_terms, .err = err };
	char terms[NC_TERMS_MAX + 1];
	bool counts_up;
	int rc = nc_value_terms(&cursor, number, terms, &counts_up);

	if (rc == 0)
		rc = keep(draft, terms, &event->terms, err);
	if (rc == 0)
		rc = keep(draft, draft->pmu, &event->pmu, err);
	if (rc == 0 && draft->pfm[0])
		rc = keep(draft, draft->pfm, &event->pfm, err);
	if (rc == 0 && draft->unless_pmu[0])
		rc = keep(draft, draft->unless_pmu, &event->unless_pmu, err);
	if (rc == 0)
		rc = keep(draft, draft->event_source, &event->source, err);
	return rc;
}

static int add_event(struct nc_draft *draft, unsigned number, struct np_error *err)
{
	struct nc_event event = draft->event;
	void *events = draft->events;
	size_t count = draft->family.event_count;
	char name[NC_NAME_MAX + 8];
	int rc;

	make_name(draft, number, name, sizeof(name));
	if (has_event(draft, name))
		return np_error_set(err, EINVAL, "a second event '%s' of family '%s'", name,
		                    draft->family.name);
	if (count == NC_EVENTS_MAX)
		return np_error_set(err, EINVAL, "more than %d events of one family",
		                    NC_EVENTS_MAX);
	if (draft->link_is_number)
		event.link = number;
	rc = keep(draft, name, &event.name, err);
	if (rc == 0)
		rc = keep_strings(draft, number, &event, err);
	if (rc < 0)
		return rc;
	if (np_array_grow(&events, count, sizeof(*draft->events)) < 0)
		return np_error_sys(err, ENOMEM, "event table");
	draft->events = events;
	draft->events[count] = event;
	draft->family.event_count++;
	return 0;
}

int nc_draft_end_event(struct nc_draft *draft, struct np_error *err)
{
	int rc;

	if (draft->section != NC_SECTION_EVENT)
		return 0;
	draft->section = NC_SECTION_FAMILY;
	rc = check_event(draft, err);
	for (unsigned number = draft->first; number <= draft->last && rc == 0; number++)
		rc = add_event(draft, number, err);
	return rc;
}

/* A block with the same bytes; NULL for none of them. */
static int copy(const void *from, size_t count, size_t size, void **ret, struct np_error *err)
{
	*ret = NULL;
	if (count == 0)
		return 0;
	*ret = malloc(count * size);
	if (!*ret)
		return np_error_sys(err, ENOMEM, "event table");
	memcpy(*ret, from, count * size);
	return 0;
}

static int check_family(const struct nc_draft *draft, struct np_error *err)
{
	const struct nc_family *family = &draft->family;
	bool has_link = family->link_transfers_per_clock || family->link_bytes_per_transfer ||
	                family->link_rate_count;
	int rc = need(family->rule_count > 0, NC_KEY_CPU, err);

	if (rc == 0 && has_link)
		rc = need(family->link_bytes_per_transfer, NC_KEY_LINK_BYTES, err);
	if (rc == 0 && has_link)
		rc = need(family->link_rate_count, NC_KEY_LINK_RATES, err);
	if (rc == 0 && has_link)
		rc = need(family->link_name, NC_KEY_LINK_NAME, err);
	return rc;
}

/* Gives the family its strings and arrays. */
static int complete(struct nc_draft *draft, struct np_error *err)
{
	struct nc_family *family = &draft->family;
	void *block;
	int rc = keep(draft, draft->title[0] ? draft->title : family->name, &family->title, err);

	if (rc == 0)
		rc = keep(draft, draft->misses, &family->misses, err);
	if (rc == 0)
		rc = keep(draft, draft->family_source, &family->source, err);
	if (rc == 0)
		rc = keep(draft, draft->file, &family->file, err);
	if (rc == 0) {
		rc = copy(draft->rules, family->rule_count, sizeof(*draft->rules), &block, err);
		family->rules = block;
	}
	if (rc == 0) {
		rc = copy(draft->rates, family->link_rate_count, sizeof(*draft->rates), &block,
		          err);
		family->link_rates_mt = block;
	}
	return rc;
}

int nc_draft_end_family(struct nc_draft *draft, struct np_error *err)
{
	struct nc_tables *tables = draft->tables;
	void *families = tables->families;
	int rc;

	if (draft->section == NC_SECTION_NONE)
		return 0;
	rc = check_family(draft, err);
	if (rc == 0)
		rc = complete(draft, err);
	if (rc == 0 && np_array_grow(&families, tables->count, sizeof(draft->family)) < 0)
		rc = np_error_sys(err, ENOMEM, "event table");
	if (rc < 0)
		return rc;
	tables->families = families;
	draft->family.events = draft->events;
	tables->families[tables->count++] = draft->family;
	draft->events = NULL;
	draft->family = (struct nc_family){ 0 };
	draft->section = NC_SECTION_NONE;
	return 0;
}

void nc_draft_release(struct nc_draft *draft)
{
	draft->family.events = draft->events;
	nc_family_release(&draft->family);
	draft->events = NULL;
	draft->family = (struct nc_family){ 0 };
}
