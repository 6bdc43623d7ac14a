/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A family that is being put together from the lines of its sections. Internal.
 *
 * Where a function refuses a value, cursor->at is left where the mistake is.
 */
#ifndef NC_TABLE_DRAFT_H
#define NC_TABLE_DRAFT_H

#include "table_value.h"

enum nc_section { NC_SECTION_NONE, NC_SECTION_FAMILY, NC_SECTION_EVENT, NC_SECTIONS };

enum nc_key {
	/* of [family NAME] */
	NC_KEY_TITLE,
	NC_KEY_CPU,
	NC_KEY_COUNTERS,
	NC_KEY_UNTESTED,
	NC_KEY_LINK_ENDS_DIFFER,
	NC_KEY_LINK_NAME,
	NC_KEY_LINK_CLOCK,
	NC_KEY_LINK_BYTES,
	NC_KEY_LINK_RATES,
	NC_KEY_MISSES,
	/* of [event NAME] */
	NC_KEY_CLASS,
	NC_KEY_PMU,
	NC_KEY_TERMS,
	NC_KEY_PFM,
	NC_KEY_UNLESS_PMU,
	NC_KEY_UNITS,
	NC_KEY_LINK,
	NC_KEY_NUMBERS,
	/* of both */
	NC_KEY_SOURCE,
	NC_KEYS /* how many there are; also: none of them */
};

struct nc_draft {
	struct nc_tables *tables;
	const char *file;
	enum nc_section section;

	struct nc_family family; /* but for what follows */
	struct nc_cpu_rule rules[NC_RULES_MAX];
	uint32_t rates[NC_RATES_MAX];
	struct nc_event *events;
	char title[NC_TEXT_MAX + 1];
	char misses[NC_TEXT_MAX + 1];
	char family_source[NC_TEXT_MAX + 1];

	struct nc_event event; /* but for its strings */
	char event_name[NC_NAME_MAX + 1];
	char pmu[NC_PATTERN_MAX + 1];
	char unless_pmu[NC_PATTERN_MAX + 1];
	char raw_terms[NC_TEXT_MAX + 1]; /* as they were read; "" = none */
	char pfm[NC_PFM_MAX + 1];
	char event_source[NC_TEXT_MAX + 1];
	bool has_class;
	bool has_units;
	bool counts_up;      /* the terms have a "+" */
	bool link_is_number; /* "link = #" */
	bool has_numbers;    /* one section, several events */
	unsigned first, last;
};

const char *nc_key_name(enum nc_key key);

/* The key of that name in this section, or NC_KEYS with the reason in @err. */
enum nc_key nc_key_find(const char *name, enum nc_section section, struct np_error *err);

/* May the value go on in indented lines? */
bool nc_key_goes_on(enum nc_key key);

/* Begins a section; the one before it has been ended. */
int nc_draft_begin_family(struct nc_draft *draft, const char *name, struct np_error *err);
int nc_draft_begin_event(struct nc_draft *draft, const char *name, struct np_error *err);

/* Takes a line of a key's value. */
int nc_draft_take(struct nc_draft *draft, enum nc_key key, struct nc_cursor *cursor);

/*
 * Adds the event to the family, and the family to the tables; nothing where none was begun.
 *
 *   -EINVAL  something is missing, or does not go together
 *   -ENOMEM
 */
int nc_draft_end_event(struct nc_draft *draft, struct np_error *err);
int nc_draft_end_family(struct nc_draft *draft, struct np_error *err);

/* Frees what was begun and not ended. */
void nc_draft_release(struct nc_draft *draft);

#endif
