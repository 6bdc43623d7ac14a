/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event tables. What is read must have the properties that those who encode and multiply rely on.
 */
#include "fuzz.h"

#include <errno.h>
#include <numacount/tables.h>
#include <string.h>

static const int codes[] = { EINVAL, E2BIG, 0 };

/* What is printed, and goes into JSON and metrics. */
static void check_text(const char *text, size_t max)
{
	if (!text || strlen(text) > max)
		fuzz_fail("a text that is not there, or too long", text ? text : "");
	for (const char *c = text; *c; c++)
		if ((*c < 32 || *c > 126) && *c != '\t')
			fuzz_fail("no printable ASCII", text);
}

static void check_event(const struct nc_event *event)
{
	unsigned number;

	check_text(event->name, 70);
	check_text(event->pmu, 127);
	check_text(event->terms, 127);
	check_text(event->source, 1000);
	check_text(event->pfm ? event->pfm : "", 127);
	check_text(event->unless_pmu ? event->unless_pmu : "", 127);
	if (!*event->name || strchr(event->name, '#') || !*event->pmu || !*event->terms)
		fuzz_fail("an event without a name, a PMU or terms", event->name);
	if (event->what >= NC_CLASS_COUNT || !event->units || !event->per)
		fuzz_fail("no class, or no unit", event->name);
	if (strpbrk(event->terms, " +") || (*event->terms != '@' && !strchr(event->terms, '=')))
		fuzz_fail("terms that are not terms", event->terms);
	/* A name is of its own kind where no number stands in it. */
	if (!strpbrk(event->pmu, "#,") && !nc_pmu_matches(event->pmu, event->pmu, &number))
		fuzz_fail("a pattern that is not of its own kind", event->pmu);
	nc_pmu_matches(event->pmu, event->name, &number);
}

static void check_family(const struct nc_family *family)
{
	check_text(family->name, 63);
	check_text(family->title, 1000);
	check_text(family->misses, 1000);
	check_text(family->source, 1000);
	check_text(family->link_name ? family->link_name : "", 63);
	if (!*family->name || family->rule_count == 0 || family->rule_count > 32)
		fuzz_fail("a family without a name or a processor", family->name);
	if (family->counters < 1 || family->counters > 64 || family->event_count > 512)
		fuzz_fail("a number beyond its limit", family->name);
	if ((family->link_rate_count > 0) != (family->link_bytes_per_transfer > 0))
		fuzz_fail("half a peak", family->name);
	for (size_t i = 0; i < family->rule_count; i++)
		if (family->rules[i].model_first > family->rules[i].model_last ||
		    family->rules[i].stepping_first > family->rules[i].stepping_last)
			fuzz_fail("a range that runs backwards", family->name);
	for (size_t i = 1; i < family->link_rate_count; i++)
		if (family->link_rates_mt[i] <= family->link_rates_mt[i - 1])
			fuzz_fail("rates that do not ascend", family->name);
	for (size_t i = 0; i < family->event_count; i++)
		check_event(&family->events[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nc_tables *tables = NULL;
	struct np_error err = { 0 };
	int rc = nc_tables_parse("f", (const char *)data, size, &tables, &err);

	fuzz_check(rc, &err, codes);
	if ((rc == 0) != (tables != NULL))
		fuzz_fail("refused, but filled; or the other way", err.text);
	for (size_t i = 0; tables && i < nc_tables_count(tables); i++) {
		const struct nc_family *family = nc_tables_family(tables, i);

		check_family(family);
		if (nc_tables_find_name(tables, family->name) != family)
			fuzz_fail("two families of one name", family->name);
	}
	nc_tables_free(tables);
	return 0;
}
