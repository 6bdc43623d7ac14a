/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Event tables: what is read, that every mistake is told with its line and column, which PMUs a
 * pattern names, and that the tables built in have what is promised of each family.
 */
#include "../host.h"

#include <errno.h>
#include <limits.h>
#include <numacount/tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define FAMILY "[family f]\ncpu = GenuineIntel 6/1\n"
#define EVENT "[event e]\nclass = other\npmu = p\nterms = event=1\n"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct nc_tables *parse(const char *text)
{
	struct nc_tables *tables = NULL;
	struct np_error err = { 0 };

	check_case("%s", text);
	assert_np_ok(nc_tables_parse("f.ini", text, strlen(text), &tables, &err), &err);
	return tables;
}

static void refuse_bytes(const char *text, size_t size, int code, const char *part)
{
	struct nc_tables *tables = (struct nc_tables *)&code;
	struct np_error err = { 0 };

	check_case("%.200s", text);
	assert_fails(nc_tables_parse("f.ini", text, size, &tables, &err), code, &err, part);
	assert_ptr_equal(tables, &code); /* untouched on failure */
	assert_number(nc_tables_parse("f.ini", text, size, &tables, NULL), code);
}

static struct nc_tables *load(const char *file)
{
	struct nc_tables *tables = NULL;
	struct np_error err = { 0 };

	assert_np_ok(nc_tables_load(file, &tables, &err), &err);
	return tables;
}

static const struct nc_event *find_event(const struct nc_family *family, const char *name)
{
	for (size_t i = 0; i < family->event_count; i++)
		if (strcmp(family->events[i].name, name) == 0)
			return &family->events[i];
	return NULL;
}

/* ---- what is read ---- */

static void a_family_has_all_that_its_section_says(void **state)
{
	struct nc_tables *tables = parse("; a comment\n"
	                                 "[family x-1.y_2] ; and one behind a heading\n"
	                                 "title = Some\n"
	                                 "\tlong title\n"
	                                 "cpu = GenuineIntel 6/85/5-7, AuthenticAMD 25/0x10-0x1f,\n"
	                                 "\tArm 0x41/0xd4f, POWER9\n"
	                                 "counters = 8\n"
	                                 "untested = yes\n"
	                                 "link-name = UPI\n"
	                                 "link-ends-differ = yes\n"
	                                 "link-transfers-per-clock = 8\n"
	                                 "link-bytes-per-transfer = 2\n"
	                                 "link-rates-mt = 9600,10400\n"
	                                 "misses =\n"
	                                 "\tthis, ; not this\n"
	                                 "\n"
	                                 "\tand that\n"
	                                 "source = a : b\n");
	const struct nc_family *family = nc_tables_family(tables, 0);
	const struct nc_cpu_rule rules[] = {
		{ NC_VENDOR_INTEL, 6, 85, 85, 5, 7 },
		{ NC_VENDOR_AMD, 25, 16, 31, 0, UINT_MAX },
		{ NC_VENDOR_ARM, 0x41, 0xd4f, 0xd4f, 0, UINT_MAX },
		{ NC_VENDOR_POWER, 9, 0, UINT_MAX, 0, UINT_MAX },
	};

	(void)state;
	assert_number(nc_tables_count(tables), 1);
	assert_text(family->name, "x-1.y_2");
	assert_text(family->title, "Some long title");
	assert_number(family->rule_count, 4);
	assert_memory_equal(family->rules, rules, sizeof(rules));
	assert_number(family->counters, 8);
	assert_true(family->is_untested);
	assert_text(family->link_name, "UPI");
	assert_true(family->link_ends_differ);
	assert_number(family->link_transfers_per_clock, 8);
	assert_number(family->link_bytes_per_transfer, 2);
	assert_number(family->link_rate_count, 2);
	assert_number(family->link_rates_mt[0], 9600);
	assert_number(family->link_rates_mt[1], 10400);
	assert_text(family->misses, "this, and that");
	assert_text(family->source, "a : b");
	assert_text(family->file, "f.ini");
	assert_number(family->event_count, 0);
	nc_tables_free(tables);
}

static void what_a_family_does_not_say_has_a_default(void **state)
{
	struct nc_tables *tables = parse(FAMILY);
	const struct nc_family *family = nc_tables_family(tables, 0);

	(void)state;
	assert_text(family->title, "f");
	assert_number(family->counters, 4);
	assert_false(family->is_untested);
	assert_text(family->link_name, NULL);
	assert_number(family->link_rate_count, 0);
	assert_text(family->misses, "");
	assert_text(family->source, "");
	assert_null(nc_tables_family(tables, 1));
	nc_tables_free(tables);
}

static void an_event_has_all_that_its_section_says(void **state)
{
	struct nc_tables *tables = parse(FAMILY "[event a]\n"
	                                        "class = interconnect_out\n"
	                                        "pmu = uncore_upi_#, uncore_type_8_#\n"
	                                        "terms = event=0x2, umask=15\n"
	                                        "pfm = skx_unc_upi0::UNC_UPI_TXL_FLITS:ALL_DATA\n"
	                                        "unless-pmu = other_#\n"
	                                        "units = 64/9\n"
	                                        "link = 3\n"
	                                        "source = x : y\n"
	                                        "[event b]\n"
	                                        "class = loads_local\n"
	                                        "pmu = cpu\n"
	                                        "terms = @name.x,umask=0x2\n");
	const struct nc_event *a = &nc_tables_family(tables, 0)->events[0];
	const struct nc_event *b = &nc_tables_family(tables, 0)->events[1];

	(void)state;
	assert_number(nc_tables_family(tables, 0)->event_count, 2);
	assert_text(a->name, "a");
	assert_number(a->what, NC_CLASS_INTERCONNECT_OUT);
	assert_text(a->pmu, "uncore_upi_#,uncore_type_8_#");
	assert_text(a->terms, "event=0x2,umask=0xf");
	assert_text(a->pfm, "skx_unc_upi0::UNC_UPI_TXL_FLITS:ALL_DATA");
	assert_text(a->unless_pmu, "other_#");
	assert_number(a->units, 64);
	assert_number(a->per, 9);
	assert_true(a->has_link);
	assert_number(a->link, 3);
	assert_text(a->source, "x : y");
	assert_text(b->terms, "@name.x,umask=0x2");
	assert_text(b->pfm, NULL);
	assert_text(b->unless_pmu, NULL);
	assert_number(b->units, 1);
	assert_number(b->per, 1);
	assert_false(b->has_link);
	assert_text(b->source, "");
	nc_tables_free(tables);
}

static void one_section_with_numbers_makes_an_event_for_each(void **state)
{
	struct nc_tables *tables = parse(FAMILY "[event link#.out]\n"
	                                        "numbers = 1-3\n"
	                                        "class = interconnect_out\n"
	                                        "pmu = amd_df\n"
	                                        "terms = event=0xb5f+0x40,umask=0xf3e\n"
	                                        "units = 64\n"
	                                        "link = #\n");
	const struct nc_family *family = nc_tables_family(tables, 0);

	(void)state;
	assert_number(family->event_count, 3);
	assert_text(family->events[0].name, "link1.out");
	assert_text(family->events[0].terms, "event=0xb9f,umask=0xf3e");
	assert_number(family->events[0].link, 1);
	assert_text(family->events[2].name, "link3.out");
	assert_text(family->events[2].terms, "event=0xc1f,umask=0xf3e");
	assert_number(family->events[2].link, 3);
	assert_number(family->events[2].units, 64);
	assert_number(family->events[2].per, 1);
	nc_tables_free(tables);
}

static void odd_bytes_around_the_lines_do_not_matter(void **state)
{
	static const char *const texts[] = {
		"\xef\xbb\xbf" FAMILY EVENT,
		"[family f]\r\ncpu = GenuineIntel 6/1\r\n[event e]\r\nclass = other\r\npmu = p\r\n"
		"terms = event=1\r\n",
		"# \xc3\xa4\n" FAMILY "  ; \xc3\xa4\n" EVENT,
		"[ family  f ]\n  cpu : GenuineIntel  6/1 ; x\n" EVENT,
		FAMILY "[event e]\nclass=other\npmu=p\nterms=event=1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct nc_tables *tables = parse(texts[i]);

		assert_number(nc_tables_count(tables), 1);
		assert_text(nc_tables_family(tables, 0)->name, "f");
		assert_text(nc_tables_family(tables, 0)->events[0].terms, "event=0x1");
		nc_tables_free(tables);
	}
	nc_tables_free(parse(""));
	nc_tables_free(NULL);
}

/* ---- what is refused ---- */

static const struct {
	const char *text;
	const char *part;
} bad[] = {
	/* headings and lines */
	{ "cpu = POWER9\n", "f.ini:1:1: a key before the first '[family NAME]'" },
	{ "[event e]\n", "f.ini:1:8: an event before the first '[family NAME]'" },
	{ "[role x]\n", "f.ini:1:1: '[role x]' is neither '[family NAME]' nor '[event NAME]'" },
	{ "[family]\n", "f.ini:1:1: '[family]' is neither" },
	{ "[family a b]\n", "f.ini:1:1: '[family a b]' is neither" },
	{ "[family a] b\n", "f.ini:1:1: '[family a] b' is neither" },
	{ "[family a\n", "f.ini:1:1: '[family a' is neither" },
	{ "[family a/b]\n", "f.ini:1:9: a name is 1 to 63 letters" },
	{ "[family a#]\n", "f.ini:1:9: a name is 1 to 63 letters" },
	{ "[family " HUNDRED "]\n", "f.ini:1:9: a name is 1 to 63 letters" },
	{ FAMILY "[event a##]\n", "f.ini:3:8: a name is 1 to 63 letters" },
	{ FAMILY FAMILY, "f.ini:3:9: a second family 'f'" },
	{ FAMILY EVENT EVENT, "f.ini:7:1: a second event 'e' of family 'f'" },
	{ FAMILY "cpu\n",
	  "f.ini:3:1: 'cpu' is neither '[family NAME]', '[event NAME]' nor 'KEY =" },
	{ FAMILY "title ; = x\n", "f.ini:3:1: 'title ' is neither" },
	{ FAMILY "= x\n", "f.ini:3:1: '= x' is neither" },
	{ FAMILY "title = \x1b[31m\n", "f.ini:3:9: byte 0x1b is no printable ASCII" },
	{ FAMILY "title = \xc3\xa4\n", "f.ini:3:9: byte 0xc3 is no printable ASCII" },
	{ FAMILY "misses = " HUNDRED HUNDRED "\n",
	  "f.ini:3:200: a line of 209 bytes, 199 is the most" },
	{ FAMILY "titel = x\n", "f.ini:3:1: no key 'titel': did you mean 'title'?" },
	{ FAMILY "frobnicate = x\n", "f.ini:3:1: no key 'frobnicate' in [family]" },
	{ FAMILY "umask = x\n", "f.ini:3:1: no key 'umask'" },
	{ FAMILY "class = other\n", "f.ini:3:1: 'class' is no key of [family]" },
	{ FAMILY EVENT "cpu = POWER9\n", "f.ini:7:1: 'cpu' is no key of [event]" },
	{ FAMILY EVENT "pmus = p\n", "f.ini:7:1: no key 'pmus': did you mean 'pmu'?" },
	{ FAMILY "cpu = POWER9\n",
	  "f.ini:3:1: a second 'cpu' in this section, the first is in line 2" },
	{ FAMILY "counters =\n", "f.ini:3:11: 'counters' has no value" },
	{ FAMILY "counters = 4\n\t8\n", "f.ini:4:2: 'counters' has one line" },
	{ FAMILY " counters = 4\n",
	  "f.ini:3:2: 'counters = 4' is indented, which makes it a part of 'cpu'" },
	{ FAMILY "\t[event e]\n", "f.ini:3:2: '[event e]' is indented" },
	/* values of families */
	{ "[family f]\ncpu = GenuineIntel 6/x\n", "f.ini:2:22: cpu: 'x' is not a number" },
	{ "[family f]\ncpu = GenuineIntel\n", "f.ini:2:19: cpu: a number is missing" },
	{ "[family f]\ncpu = Intel 6/85\n",
	  "f.ini:2:7: cpu: 'Intel' is no vendor; there are: Genuine" },
	{ "[family f]\ncpu = Arm 0x41/0xd0c POWER9\n",
	  "f.ini:2:22: cpu: 'POWER9' is too much here" },
	{ "[family f]\ncpu = Arm 65/9-5\n", "f.ini:2:16: cpu: 5 is not in 9..4294967295" },
	{ "[family f]\ncpu = Arm 65/4294967296\n",
	  "f.ini:2:14: cpu: 4294967296 is not in 0..4294967295" },
	{ "[family f]\ncpu = POWER9,\n  POWER-1\n", "f.ini:3:8: cpu: '-1' is not a number" },
	{ "[family f]\n[event e]\nclass = other\npmu = p\nterms = a=1\n",
	  "f.ini:1:1: 'cpu' is missing" },
	{ FAMILY "counters = 0\n", "f.ini:3:12: counters: 0 is not in 1..64" },
	{ FAMILY "counters = 65\n", "f.ini:3:12: counters: 65 is not in 1..64" },
	{ FAMILY "counters = 4 5\n", "f.ini:3:14: counters: '5' is too much here" },
	{ FAMILY "untested = maybe\n", "f.ini:3:12: untested: 'maybe' is neither 'yes' nor 'no'" },
	{ FAMILY "link-rates-mt = 2, 1\n",
	  "f.ini:3:20: link-rates-mt: 1 is not more than the rate" },
	{ FAMILY "link-rates-mt = 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17\n",
	  "f.ini:3:56: link-rates-mt: more than 16 rates" },
	{ FAMILY "link-rates-mt = 0\n", "f.ini:3:17: link-rates-mt: 0 is not in 1..4294967295" },
	{ FAMILY "link-rates-mt = 1\n", "f.ini:1:1: 'link-bytes-per-transfer' is missing" },
	{ FAMILY "link-transfers-per-clock = 8\nlink-bytes-per-transfer = 2\n",
	  "f.ini:1:1: 'link-rates-mt' is missing" },
	{ FAMILY "link-rates-mt = 1\nlink-bytes-per-transfer = 2\n",
	  "f.ini:1:1: 'link-name' is missing" },
	{ FAMILY "link-bytes-per-transfer = 65536\n",
	  "f.ini:3:27: link-bytes-per-transfer: 65536" },
	{ FAMILY "link-name = " HUNDRED "\n",
	  "f.ini:3:13: link-name: the name of a link is 1 to 63" },
	/* values of events */
	{ FAMILY "[event e]\n", "f.ini:3:1: 'class' is missing" },
	{ FAMILY "[event e]\nclass = other\n", "f.ini:3:1: 'pmu' is missing" },
	{ FAMILY "[event e]\nclass = other\npmu = p\n[family g]\n",
	  "f.ini:3:1: 'terms' is missing" },
	{ FAMILY "[event e]\nclass = memory_read\npmu = p\nterms = a=1\n[event g]\n",
	  "f.ini:3:1: 'units' is missing" },
	{ FAMILY "[event e]\nclass = memory_reads\n",
	  "f.ini:4:9: class: no class 'memory_reads': did you mean 'memory_read'?" },
	{ FAMILY "[event e]\nclass = zzz\n", "f.ini:4:9: class: no class 'zzz' (memory_read, " },
	{ FAMILY "[event e]\nclass = pages_local\n",
	  "f.ini:4:9: class: 'pages_local' is read from" },
	{ FAMILY "[event e]\npmu = a/b\n", "f.ini:4:8: pmu: '/b' is not in the name of a PMU" },
	{ FAMILY "[event e]\npmu = a,\n", "f.ini:4:9: pmu: the name of a PMU is missing" },
	{ FAMILY "[event e]\npmu = a b\n", "f.ini:4:9: pmu: 'b' is too much here" },
	{ FAMILY "[event e]\npmu = " HUNDRED TEN TEN TEN "\n", "f.ini:4:7: pmu: longer than 127" },
	{ FAMILY "[event e]\nterms = event\n", "f.ini:4:9: terms: 'event' is not NAME=NUMBER" },
	{ FAMILY "[event e]\nterms = event=1,\n", "f.ini:4:17: terms: '' is not NAME=NUMBER" },
	{ FAMILY "[event e]\nterms = event=1,umask=2x\n",
	  "f.ini:4:24: terms: 'x' is too much here" },
	{ FAMILY "[event e]\nterms = event=1,event=2\n", "f.ini:4:17: terms: a second 'event'" },
	{ FAMILY "[event e]\nterms = e=0x10000000000000000\n",
	  "f.ini:4:11: terms: 0x10000000000000000" },
	{ FAMILY "[event e]\nterms = @../x\n", "f.ini:4:9: terms: '@../x' is not @NAME" },
	{ FAMILY "[event e]\nterms = @\n", "f.ini:4:9: terms: '@' is not @NAME" },
	{ FAMILY "[event e]\nterms = a=1,@b\n", "f.ini:4:13: terms: '@b' is not NAME=NUMBER" },
	{ FAMILY "[event e]\nterms = " TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
	         "=0x123456789\n",
	  "f.ini:4:141: terms: longer than 127 bytes" },
	{ FAMILY "[event e]\npfm = UNC_M_CAS_COUNT:RD\n",
	  "f.ini:4:7: pfm: 'UNC_M_CAS_COUNT:RD' is not PMU::EVENT:UMASK" },
	{ FAMILY "[event e]\npfm = a::b c\n", "f.ini:4:12: pfm: 'c' is too much here" },
	{ FAMILY "[event e]\nunless-pmu = a+b\n",
	  "f.ini:4:15: unless-pmu: '+b' is not in the name" },
	{ FAMILY "[event e]\nunits = 64/\n", "f.ini:4:12: units: a number is missing" },
	{ FAMILY "[event e]\nunits = 0/9\n", "f.ini:4:9: units: 0 is not in 1..4294967295" },
	{ FAMILY "[event e]\nunits = 64/0\n", "f.ini:4:12: units: 0 is not in 1..4294967295" },
	{ FAMILY "[event e]\nunits = 6.4\n", "f.ini:4:10: units: '.4' is too much here" },
	{ FAMILY "[event e]\nlink = 256\n", "f.ini:4:8: link: 256 is not in 0..255" },
	{ FAMILY "[event e#]\nnumbers = 0-64\n", "f.ini:4:13: numbers: 64 is not in 0..63" },
	{ FAMILY EVENT "numbers = 0-3\n", "f.ini:3:1: a name with '#' in it and 'numbers' belong" },
	{ FAMILY "[event e#]\nclass = other\npmu = p\nterms = a=1\n",
	  "f.ini:3:1: a name with '#' in it and 'numbers' belong" },
	{ FAMILY "[event e#]\nnumbers = 1\nclass = other\npmu = p\nterms = a=1\npfm = a::b\n",
	  "f.ini:3:1: 'pfm' names one event, 'numbers' makes several" },
	{ FAMILY "[event e]\nclass = other\npmu = p\nterms = a=1+1\n",
	  "f.ini:3:1: terms that count up with '+' need 'numbers'" },
	{ FAMILY EVENT "link = #\n", "f.ini:3:1: 'link = #' needs 'numbers'" },
	{ FAMILY "[event e1]\nclass = other\npmu = p\nterms = a=1\n[event e#]\nnumbers = 0-1\n"
	         "class = other\npmu = p\nterms = a=1\n",
	  "f.ini:7:1: a second event 'e1' of family 'f'" },
};

static void a_mistake_is_told_with_its_line_and_column(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		refuse_bytes(bad[i].text, strlen(bad[i].text), -EINVAL, bad[i].part);
}

static void what_is_no_text_or_too_long_is_refused(void **state)
{
	static char large[(1 << 20) + 1];

	(void)state;
	memset(large, '\n', sizeof(large));
	refuse_bytes(large, sizeof(large), -E2BIG, "f.ini: an events file has at most 1024 KiB");
	refuse_bytes("a\nb\0c", 5, -EINVAL, "f.ini:2:2: a NUL byte: this is not a text");
}

/* Appends @before, a number, and @behind, @count times. */
static void repeat(char *text, const char *before, const char *behind, unsigned count)
{
	size_t used = strlen(text);

	for (unsigned i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%s%u%s", before, i, behind);
}

static void no_file_makes_us_hold_more_than_the_limits(void **state)
{
	static const char event_end[] = "]\nclass = other\npmu = p\nterms = event=1\n";
	static char text[64 * 1024];

	(void)state;
	text[0] = '\0';
	repeat(text, "[family f", "]\ncpu = POWER9\n", 64);
	nc_tables_free(parse(text));
	strcat(text, "[family g]\n");
	refuse_bytes(text, strlen(text), -EINVAL, "f.ini:129:9: more than 64 families");

	strcpy(text, FAMILY);
	repeat(text, "[event e", event_end, 512);
	nc_tables_free(parse(text));
	repeat(text, "[event f", event_end, 1);
	refuse_bytes(text, strlen(text), -EINVAL, "f.ini:2051:1: more than 512 events");

	strcpy(text, "[family f]\ncpu =");
	repeat(text, "\n\tPOWER", ",", 33);
	refuse_bytes(text, strlen(text), -EINVAL, "f.ini:35:2: cpu: more than 32 processors");

	strcpy(text, FAMILY "misses =");
	repeat(text, "\n\t" HUNDRED, "", 10);
	refuse_bytes(text, strlen(text), -EINVAL, "misses: a text of more than 1000 bytes");
}

/* ---- files ---- */

static void a_file_comes_before_what_is_built_in(void **state)
{
	struct host *host = *state;
	const struct nc_cpu milan = { .vendor = NC_VENDOR_AMD, .family = 25, .model = 1 };
	char path[512];
	struct nc_tables *tables = load(NULL);
	size_t count = nc_tables_count(tables);

	nc_tables_free(tables);
	host_write(host, "t.ini",
	           "[family mine]\ncpu = AuthenticAMD 25/1\n" EVENT
	           "[family skx]\ncpu = POWER99\n");
	snprintf(path, sizeof(path), "%s/t.ini", host->dir);
	tables = load(path);

	assert_number(nc_tables_count(tables), count + 1);
	assert_text(nc_tables_find_cpu(tables, &milan)->name, "mine");
	assert_text(nc_tables_find_cpu(tables, &milan)->file, path);
	assert_number(nc_tables_find_name(tables, "skx")->event_count, 0);
	assert_number(nc_tables_find_name(tables, "skx")->rules[0].family, 99);
	assert_text(nc_tables_find_name(tables, "zen3")->file, "built in");
	for (size_t i = 2; i < nc_tables_count(tables); i++)
		assert_string_not_equal(nc_tables_family(tables, i)->name, "skx");
	nc_tables_free(tables);
}

static void a_file_that_cannot_be_read_says_why(void **state)
{
	struct host *host = *state;
	struct nc_tables *tables = NULL;
	struct np_error err = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s/absent", host->dir);
	assert_fails(nc_tables_load(path, &tables, &err), -ENOENT, &err, "absent: No such file");
	assert_fails(nc_tables_load(host->dir, &tables, &err), -EISDIR, &err, "Is a directory");
	host_write(host, "t.ini", FAMILY "x = 1\n");
	snprintf(path, sizeof(path), "%s/t.ini", host->dir);
	assert_fails(nc_tables_load(path, &tables, &err), -EINVAL, &err, "/t.ini:3:1: no key 'x'");
	assert_null(tables);
}

/* The example in docs/counters.md, between its fences, is a table. */
static void the_example_of_the_manual_is_read(void **state)
{
	FILE *file = fopen(NUMAKIT_SOURCE_DIR "/docs/counters.md", "r");
	static char text[256 * 1024];
	char *begin;
	char *end;
	struct nc_tables *tables;

	(void)state;
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	begin = strstr(text, "```ini\n");
	assert_non_null(begin);
	end = strstr(begin + 3, "\n```");
	assert_non_null(end);
	end[1] = '\0';
	tables = parse(begin + strlen("```ini\n"));
	assert_number(nc_tables_count(tables), 1);
	assert_number(nc_tables_family(tables, 0)->event_count, 6);
	nc_tables_free(tables);
}

/* ---- patterns ---- */

static const struct {
	const char *pattern;
	const char *name;
	bool matches;
	long number; /* -1 = untouched */
} pmus[] = {
	{ "uncore_upi_#", "uncore_upi", true, -1 },
	{ "uncore_upi_#", "uncore_upi_0", true, 0 },
	{ "uncore_upi_#", "uncore_upi_12", true, 12 },
	{ "uncore_upi_#", "uncore_upi_", false, -1 },
	{ "uncore_upi_#", "uncore_upi_x", false, -1 },
	{ "uncore_upi_#", "uncore_upi_0_1", false, -1 },
	{ "uncore_upi_#", "uncore_upi0", false, -1 },
	{ "uncore_upi_#", "uncore_m3upi_0", false, -1 },
	{ "uncore_upi_#", "uncore_up", false, -1 },
	{ "uncore_upi_#", "", false, -1 },
	{ "uncore_imc_#", "uncore_imc_free_running_0", false, -1 },
	{ "uncore_imc_#", "uncore_imc_free_running", false, -1 },
	{ "uncore_imc_free_running_#", "uncore_imc_free_running_3", true, 3 },
	{ "uncore_imc_free_running_#", "uncore_imc_3", false, -1 },
	{ "uncore_upi_#", "uncore_upi_4294967295", true, 4294967295 },
	{ "uncore_upi_#", "uncore_upi_4294967296", false, -1 },
	{ "uncore_type_8_#", "uncore_type_8_2", true, 2 },
	{ "uncore_type_8_#", "uncore_type_80", false, -1 },
	{ "uncore_type_8_#", "uncore_type_8", true, -1 },
	{ "cpu", "cpu", true, -1 },
	{ "cpu", "cpu_atom", false, -1 },
	{ "cpu", "cp", false, -1 },
	{ "nvidia_scf_pmu_#", "nvidia_scf_pmu_1", true, 1 },
	{ "hisi_sccl#_hha#_#", "hisi_sccl3_hha1", true, 1 },
	{ "hisi_sccl#_hha#_#", "hisi_sccl3_hha1_4", true, 4 },
	{ "hisi_sccl#_hha#_#", "hisi_sccl_hha1", false, -1 },
	{ "arm_dmc620_#x", "arm_dmc620_10008c000", true, -1 },
	{ "arm_dmc620_#x", "arm_dmc620_x", false, -1 },
	{ "arm_dmc620_#x", "arm_dmc620", false, -1 },
	{ "a_#x_#", "a_ff_7", true, 7 },
	{ "uncore_upi_#,uncore_type_8_#", "uncore_upi_1", true, 1 },
	{ "uncore_upi_#,uncore_type_8_#", "uncore_type_8_1", true, 1 },
	{ "uncore_upi_#,uncore_type_8_#", "uncore_type_8", true, -1 },
	{ "uncore_upi_#,uncore_type_8_#", "uncore_type_6_1", false, -1 },
	{ "uncore_upi_#,cpu", "cpu", true, -1 },
};

static void a_pattern_names_pmus_of_one_kind(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(pmus); i++) {
		unsigned number = 4711;
		long wanted = pmus[i].number < 0 ? 4711 : pmus[i].number;

		check_case("%s is %s", pmus[i].name, pmus[i].pattern);
		assert_number(nc_pmu_matches(pmus[i].pattern, pmus[i].name, &number),
		              pmus[i].matches);
		assert_number(number, wanted);
	}
}

/* ---- the tables built in ---- */

static const struct {
	struct nc_cpu cpu;
	const char *family; /* NULL = none */
} cpus[] = {
	{ { NC_VENDOR_INTEL, 6, 45, 7, "" }, "snbep" },
	{ { NC_VENDOR_INTEL, 6, 62, 4, "" }, "ivbep" },
	{ { NC_VENDOR_INTEL, 6, 63, 2, "" }, "hswep" },
	{ { NC_VENDOR_INTEL, 6, 79, 1, "" }, "bdx" },
	{ { NC_VENDOR_INTEL, 6, 86, 1, "" }, NULL }, /* Broadwell-D has no QPI */
	{ { NC_VENDOR_INTEL, 6, 85, 4, "" }, "skx" },
	{ { NC_VENDOR_INTEL, 6, 85, 11, "" }, "skx" },
	{ { NC_VENDOR_INTEL, 6, 106, 6, "" }, "icx" },
	{ { NC_VENDOR_INTEL, 6, 143, 8, "" }, "spr" },
	{ { NC_VENDOR_INTEL, 6, 207, 2, "" }, "spr" },
	{ { NC_VENDOR_INTEL, 6, 173, 1, "" }, "gnr" },
	{ { NC_VENDOR_INTEL, 6, 174, 1, "" }, "gnr" },
	{ { NC_VENDOR_INTEL, 6, 175, 3, "" }, "srf" },
	{ { NC_VENDOR_INTEL, 6, 42, 1, "" }, NULL }, /* a desktop */
	{ { NC_VENDOR_AMD, 6, 85, 4, "" }, NULL },
	{ { NC_VENDOR_AMD, 23, 1, 2, "" }, "zen1" },
	{ { NC_VENDOR_AMD, 23, 49, 0, "" }, "zen2" },
	{ { NC_VENDOR_AMD, 25, 1, 1, "" }, "zen3" },
	{ { NC_VENDOR_AMD, 25, 17, 1, "" }, "zen4" },
	{ { NC_VENDOR_AMD, 25, 0x21, 0, "" }, "zen3" },
	{ { NC_VENDOR_AMD, 25, 0xa0, 2, "" }, "zen4" },
	{ { NC_VENDOR_AMD, 26, 2, 1, "" }, "zen5" },
	{ { NC_VENDOR_AMD, 26, 0x50, 1, "" }, NULL }, /* Zen 6 */
	{ { NC_VENDOR_ARM, 0x41, 0xd4f, 0, "" }, "neoverse-v2" },
	{ { NC_VENDOR_ARM, 0x41, 0xd0c, 3, "" }, "neoverse-n1" },
	{ { NC_VENDOR_ARM, 0xc0, 0xac3, 0, "" }, "ampereone" },
	{ { NC_VENDOR_ARM, 0x48, 0xd01, 1, "" }, "kunpeng920" },
	{ { NC_VENDOR_ARM, 0x43, 0xaf, 1, "" }, "thunderx2" },
	{ { NC_VENDOR_POWER, 9, 0, 0, "" }, "power9" },
	{ { NC_VENDOR_POWER, 10, 0, 0, "" }, "power10" },
	{ { NC_VENDOR_POWER, 8, 0, 0, "" }, NULL },
	{ { NC_VENDOR_UNKNOWN, 0, 0, 0, "" }, NULL },
};

static void each_processor_has_its_family(void **state)
{
	struct nc_tables *tables = load(NULL);

	(void)state;
	for (size_t i = 0; i < COUNT(cpus); i++) {
		const struct nc_family *family = nc_tables_find_cpu(tables, &cpus[i].cpu);
		char text[200];

		check_case("%s", nc_cpu_text(&cpus[i].cpu, text, sizeof(text)));
		assert_text(family ? family->name : NULL, cpus[i].family);
	}
	nc_tables_free(tables);
}

static bool overlap(const struct nc_cpu_rule *a, const struct nc_cpu_rule *b)
{
	return a->vendor == b->vendor && a->family == b->family &&
	       a->model_first <= b->model_last && b->model_first <= a->model_last;
}

static void no_processor_is_in_two_families(void **state)
{
	struct nc_tables *tables = load(NULL);

	(void)state;
	for (size_t i = 0; i < nc_tables_count(tables); i++)
		for (size_t k = 0; k < i; k++) {
			const struct nc_family *a = nc_tables_family(tables, i);
			const struct nc_family *b = nc_tables_family(tables, k);

			check_case("%s and %s", a->name, b->name);
			for (size_t x = 0; x < a->rule_count * b->rule_count; x++)
				assert_false(overlap(&a->rules[x / b->rule_count],
				                     &b->rules[x % b->rule_count]));
		}
	nc_tables_free(tables);
}

static void each_number_says_where_it_comes_from(void **state)
{
	struct nc_tables *tables = load(NULL);

	(void)state;
	for (size_t i = 0; i < nc_tables_count(tables); i++) {
		const struct nc_family *family = nc_tables_family(tables, i);

		check_case("%s", family->name);
		assert_string_not_equal(family->title, family->name);
		assert_string_not_equal(family->misses, "");
		assert_string_not_equal(family->source, "");
		assert_text(family->file, "built in");
		for (size_t k = 0; k < family->event_count; k++) {
			const struct nc_event *event = &family->events[k];

			check_case("%s: %s: source '%s'", family->name, event->name, event->source);
			assert_true(strstr(event->source, " : ") != NULL); /* REPOSITORY : FILE */
		}
	}
	nc_tables_free(tables);
}

static nc_classes classes_of(const struct nc_family *family)
{
	nc_classes classes = 0;

	for (size_t i = 0; i < family->event_count; i++)
		classes |= NC_CLASS_BIT(family->events[i].what);
	return classes;
}

#define READ NC_CLASS_BIT(NC_CLASS_MEMORY_READ)
#define WRITE NC_CLASS_BIT(NC_CLASS_MEMORY_WRITE)
#define ANY NC_CLASS_BIT(NC_CLASS_MEMORY_ANY)
#define OUT NC_CLASS_BIT(NC_CLASS_INTERCONNECT_OUT)
#define IN NC_CLASS_BIT(NC_CLASS_INTERCONNECT_IN)
#define FLITS NC_CLASS_BIT(NC_CLASS_INTERCONNECT_OUT_FLITS)
#define CLOCK NC_CLASS_BIT(NC_CLASS_INTERCONNECT_CLOCK)
#define OTHER NC_CLASS_BIT(NC_CLASS_OTHER)
#define HOME_WRITES                                                                                \
	(NC_CLASS_BIT(NC_CLASS_HOME_WRITE_LOCAL) | NC_CLASS_BIT(NC_CLASS_HOME_WRITE_REMOTE))
#define INTEL (READ | WRITE | OUT | IN | FLITS | CLOCK)

static const struct {
	const char *name;
	bool is_untested;
	const char *link;
	uint32_t transfers_per_clock;
	uint32_t first_rate, last_rate;
	nc_classes classes;
} families[] = {
	{ "ampereone", true, NULL, 0, 0, 0, READ | WRITE },
	{ "bdx", true, "QPI", 4, 6400, 9600, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "gnr", true, "UPI", 8, 12800, 24000, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "hswep", true, "QPI", 4, 6400, 9600, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "icx", true, "UPI", 8, 9600, 11200, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "ivbep", false, "QPI", 8, 6400, 9600, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "kunpeng920", true, NULL, 0, 0, 0, READ | WRITE | OTHER },
	{ "neoverse-n1", true, NULL, 0, 0, 0, ANY },
	{ "neoverse-v2", true, "NVLink-C2C", 0, 450000, 450000,
	  READ | WRITE | ANY | OUT | IN | OTHER },
	{ "power10", true, NULL, 0, 0, 0, NC_CLASSES_LOADS },
	{ "power9", true, NULL, 0, 0, 0, READ | WRITE | NC_CLASSES_LOADS },
	{ "skx", false, "UPI", 8, 9600, 10400, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "snbep", true, "QPI", 8, 6400, 9600, INTEL | NC_CLASSES_LOADS },
	{ "spr", true, "UPI", 8, 12800, 20000, INTEL | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "srf", true, "UPI", 8, 12800, 24000, INTEL | NC_CLASSES_HOME },
	{ "thunderx2", true, NULL, 0, 0, 0, READ | WRITE | OTHER },
	{ "zen1", true, "xGMI", 0, 10666, 10666, OUT | ANY | NC_CLASSES_LOADS },
	{ "zen2", true, "xGMI", 0, 18000, 18000, OUT | ANY | NC_CLASSES_LOADS },
	{ "zen3", false, "xGMI", 0, 18000, 18000, OUT | ANY | NC_CLASSES_LOADS },
	{ "zen4", false, "xGMI", 0, 32000, 32000,
	  OUT | READ | WRITE | NC_CLASSES_HOME | NC_CLASSES_LOADS },
	{ "zen5", true, "xGMI", 0, 32000, 32000,
	  OUT | IN | READ | WRITE | HOME_WRITES | NC_CLASSES_LOADS },
};

static void each_family_has_what_is_promised_of_it(void **state)
{
	struct nc_tables *tables = load(NULL);

	(void)state;
	assert_number(nc_tables_count(tables), COUNT(families));
	for (size_t i = 0; i < COUNT(families); i++) {
		const struct nc_family *family = nc_tables_family(tables, i);
		size_t rates = family->link_rate_count;

		check_case("%s", families[i].name);
		assert_text(family->name, families[i].name);
		assert_number(family->is_untested, families[i].is_untested);
		assert_text(family->link_name, families[i].link);
		assert_number(family->link_transfers_per_clock, families[i].transfers_per_clock);
		assert_number(rates ? family->link_rates_mt[0] : 0, families[i].first_rate);
		assert_number(rates ? family->link_rates_mt[rates - 1] : 0, families[i].last_rate);
		assert_number(classes_of(family), families[i].classes);
	}
	nc_tables_free(tables);
}

/* What was got wrong elsewhere. */
static const struct {
	const char *family;
	const char *event;
	const char *pmu;
	const char *terms;
	uint32_t units, per;
	const char *unless_pmu;
	int link; /* -1 = none */
} traps[] = {
	{ "skx", "txl_flits_all_data", "uncore_upi_#", "event=0x2,umask=0xf", 64, 9, NULL, -1 },
	{ "skx", "txl_flits_non_data_slots", "uncore_upi_#", "event=0x2,umask=0x97", 1, 3, NULL,
	  -1 },
	{ "skx", "cas_count_write", "uncore_imc_#", "event=0x4,umask=0xc", 64, 1, NULL, -1 },
	{ "ivbep", "rxl_flits_g0_data", "uncore_qpi_#", "event=0x1,umask=0x2", 8, 1, NULL, -1 },
	{ "ivbep", "txl_flits_active", "uncore_qpi_#", "event=0x0,umask=0x6", 1, 1, NULL, -1 },
	{ "ivbep", "mem_load_llc_miss_remote_dram", "cpu", "event=0xd3,umask=0xc", 1, 1, NULL, -1 },
	{ "hswep", "rxl_flits_g1_drs_data", "uncore_qpi_#", "event=0x102,umask=0x8", 8, 1, NULL,
	  -1 },
	{ "bdx", "rxl_flits_g2_ncb_data", "uncore_qpi_#", "event=0x103,umask=0x4", 8, 1, NULL, -1 },
	{ "icx", "cas_count_read", "uncore_imc_#", "event=0x4,umask=0xf", 64, 1, NULL, -1 },
	{ "icx", "free_running_write", "uncore_imc_free_running_#", "event=0xff,umask=0x21", 64, 1,
	  "uncore_imc_#", -1 },
	{ "spr", "cas_count_read", "uncore_imc_#,uncore_type_6_#", "event=0x5,umask=0xcf", 64, 1,
	  NULL, -1 },
	{ "gnr", "cas_count_sch0_write", "uncore_imc_#,uncore_type_6_#", "event=0x5,umask=0xf0", 64,
	  1, NULL, -1 },
	{ "gnr", "cas_count_sch1_read", "uncore_imc_#,uncore_type_6_#", "event=0x6,umask=0xcf", 64,
	  1, NULL, -1 },
	{ "srf", "txl_flits_all_data", "uncore_upi_#,uncore_type_8_#", "event=0x2,umask=0xf", 64, 9,
	  NULL, -1 },
	{ "zen3", "remote_outbound_data_controller_3", "amd_df", "event=0x887,umask=0x2", 32, 1,
	  NULL, 3 },
	{ "zen2", "dram_channel_data_controller_7", "amd_df", "event=0x1c7,umask=0x38", 64, 1, NULL,
	  -1 },
	{ "zen4", "local_socket_outbound_data_beats_link7", "amd_df", "event=0xd1f,umask=0xf3e", 64,
	  1, NULL, 7 },
	{ "zen4", "umc_cas_cmd_wr", "amd_umc_#", "event=0xa,rdwrmask=0x2", 64, 1, NULL, -1 },
	{ "zen4", "read_remote_data_beats_cs11", "amd_df", "event=0x2df,umask=0xbfe", 64, 1,
	  "amd_umc_#", -1 },
	{ "zen5", "local_socket_inbound_data_beats_link_5", "amd_df", "event=0xe9f,umask=0xf3f", 64,
	  1, NULL, 5 },
	{ "zen5", "local_or_remote_socket_write_data_beats_dram_11", "amd_df",
	  "event=0x2df,umask=0xfff", 64, 1, "amd_umc_#", -1 },
	{ "neoverse-v2", "remote_socket_rd_data", "nvidia_scf_pmu_#", "event=0x1a2", 32, 1, NULL,
	  -1 },
	{ "neoverse-v2", "remote_socket_wr_total_bytes", "nvidia_scf_pmu_#", "event=0x1a1", 1, 1,
	  NULL, -1 },
	{ "neoverse-v2", "hnf_mc_reqs", "arm_cmn_#", "@hnf_mc_reqs", 64, 1, "nvidia_scf_pmu_#",
	  -1 },
	{ "neoverse-n1", "clkdiv2_rdwr", "arm_dmc620_#x", "@clkdiv2_rdwr", 64, 1, NULL, -1 },
	{ "power9", "mcs01_read_port01", "nest_mcs01_imc", "@PM_MCS01_128B_RD_DISP_PORT01", 64, 1,
	  NULL, -1 },
};

static void encodings_and_fractions_are_exact(void **state)
{
	struct nc_tables *tables = load(NULL);

	(void)state;
	for (size_t i = 0; i < COUNT(traps); i++) {
		const struct nc_family *family = nc_tables_find_name(tables, traps[i].family);
		const struct nc_event *event = find_event(family, traps[i].event);

		check_case("%s: %s", traps[i].family, traps[i].event);
		assert_non_null(event);
		assert_text(event->pmu, traps[i].pmu);
		assert_text(event->terms, traps[i].terms);
		assert_number(event->units, traps[i].units);
		assert_number(event->per, traps[i].per);
		assert_text(event->unless_pmu, traps[i].unless_pmu);
		assert_number(event->has_link ? (int)event->link : -1, traps[i].link);
	}
	nc_tables_free(tables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_family_has_all_that_its_section_says),
		cmocka_unit_test(what_a_family_does_not_say_has_a_default),
		cmocka_unit_test(an_event_has_all_that_its_section_says),
		cmocka_unit_test(one_section_with_numbers_makes_an_event_for_each),
		cmocka_unit_test(odd_bytes_around_the_lines_do_not_matter),
		cmocka_unit_test(a_mistake_is_told_with_its_line_and_column),
		cmocka_unit_test(what_is_no_text_or_too_long_is_refused),
		cmocka_unit_test(no_file_makes_us_hold_more_than_the_limits),
		host_test(a_file_comes_before_what_is_built_in),
		host_test(a_file_that_cannot_be_read_says_why),
		cmocka_unit_test(the_example_of_the_manual_is_read),
		cmocka_unit_test(a_pattern_names_pmus_of_one_kind),
		cmocka_unit_test(each_processor_has_its_family),
		cmocka_unit_test(no_processor_is_in_two_families),
		cmocka_unit_test(each_number_says_where_it_comes_from),
		cmocka_unit_test(each_family_has_what_is_promised_of_it),
		cmocka_unit_test(encodings_and_fractions_are_exact),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
