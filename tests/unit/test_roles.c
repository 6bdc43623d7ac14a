/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Role files: what is read, and that every mistake is told with its line. Nothing of a host is
 * needed for it.
 */
#include "check.h"
#include "host.h"

#include <errno.h>
#include <limits.h>
#include <numarun/roles.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUN "command = true\n"
#define A "[role a]\n" RUN
#define B "[role b]\n" RUN
#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static struct nr_roles parse(const char *text)
{
	struct nr_roles roles = { 0 };
	struct np_error err = { 0 };

	check_case("%s", text);
	assert_np_ok(nr_roles_parse(text, strlen(text), "f.ini", &roles, &err), &err);
	return roles;
}

static void refuse_bytes(const char *text, size_t size, int code, const char *part)
{
	struct nr_roles roles = { .count = 4711 };
	struct np_error err = { 0 };

	check_case("%s", text);
	assert_fails(nr_roles_parse(text, size, "f.ini", &roles, &err), code, &err, part);
	assert_number(roles.count, 4711);
	assert_number(nr_roles_parse(text, size, "f.ini", &roles, NULL), code);
}

static void assert_words(char *const words[], const char *joined)
{
	char text[1024] = "";
	size_t used = 0;

	for (; words && *words; words++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s<%s>",
		                         used ? " " : "", *words);
	assert_text(text, joined);
}

/* ---- what is read ---- */

static void a_role_has_all_that_its_section_says(void **state)
{
	struct nr_roles roles = parse("[role cache.1]\n"
	                              "near = pci:c1:00.1\n"
	                              "tier = 2\n"
	                              "count = 4\n"
	                              "smt = yes\n"
	                              "avoid = b, c-2\n"
	                              "mem = preferred-many:0,2-3\n"
	                              "instances = 3\n"
	                              "ready = tcp:[::1]:80, 1.5\n"
	                              "after = c-2\n"
	                              "stop = SIGINT, 0.25\n"
	                              "env = A=1 B='x y'\n"
	                              "command = sh -c 'a ; b'\n"
	                              "[role b]\n" RUN "[role c-2]\n" RUN "far = yes\n");
	const struct nr_role *role = &roles.roles[0];

	(void)state;
	assert_number(roles.count, 3);
	assert_text(role->name, "cache.1");
	assert_number(role->line, 1);
	assert_text(role->near, "pci:c1:00.1");
	assert_number(role->tier, 2);
	assert_number(role->count, 4);
	assert_number(role->smt, true);
	assert_number(role->avoid_count, 2);
	assert_number(role->avoid[0], 1);
	assert_number(role->avoid[1], 2);
	assert_text(role->mem, "preferred-many:0,2-3");
	assert_number(role->far, false);
	assert_number(role->instances, 3);
	assert_number(role->ready.kind, NR_READY_TCP);
	assert_text(role->ready.host, "::1");
	assert_text(role->ready.port, "80");
	assert_null(role->ready.path);
	assert_number(role->ready.timeout_ms, 1500);
	assert_number(role->after_count, 1);
	assert_number(role->after[0], 2);
	assert_number(role->stop_signal, SIGINT);
	assert_number(role->stop_timeout_ms, 250);
	assert_words(role->env, "<A=1> <B=x y>");
	assert_words(role->command, "<sh> <-c> <a ; b>");
	assert_number(roles.roles[2].far, true);
	assert_number(roles.roles[2].line, 16);
	nr_roles_release(&roles);
	nr_roles_release(&roles);
}

static void a_command_alone_has_the_defaults(void **state)
{
	struct nr_roles roles = parse(A);
	const struct nr_role *role = &roles.roles[0];

	(void)state;
	assert_null(role->near);
	assert_null(role->mem);
	assert_null(role->env);
	assert_number(role->tier, 0);
	assert_number(role->count, 0);
	assert_number(role->instances, 1);
	assert_number(role->ready.kind, NR_READY_AT_ONCE);
	assert_number(role->stop_signal, SIGTERM);
	assert_number(role->stop_timeout_ms, 5000);
	assert_words(role->command, "<true>");
	nr_roles_release(&roles);
}

static const struct {
	const char *text; /* below "[role a]" */
	const char *command;
} commands[] = {
	{ "command = a b\n", "<a> <b>" },
	{ "command: a b", "<a> <b>" },
	{ "command=a", "<a>" },
	{ "  command = a", "<a>" }, /* the first key of a section cannot go on another */
	{ "command = a\r\n", "<a>" },
	/* libinih would cut these at the " ;". */
	{ "command = a ' ; ' b\n", "<a> < ; > <b>" },
	{ "command = a\n  'b ; c'\n", "<a> <b ; c>" },
	{ "command = a\n\tb\n  c d\n", "<a> <b> <c> <d>" },
	{ "command = a\n\n  b\n", "<a> <b>" },
	{ "command = a\n; no\n  b\n", "<a> <b>" },
	{ "command = a\n  # no\n  b\n", "<a> <b>" },
	{ "command = a \\\n  b \\\n  c\n", "<a> <b> <c>" },
	{ "command = sh -c 'a\n   b'\n", "<sh> <-c> <a b>" },
	{ "command = sh -c 'a\n\n   count = 3'\n", "<sh> <-c> <a count = 3>" },
	{ "command = a\n  'count = 3'\n", "<a> <count = 3>" },
	{ "command = test\n  [ -f x ]\n", "<test> <[> <-f> <x> <]>" },
	{ "command = a=b:c = d\n", "<a=b:c> <=> <d>" },
	{ "command = $HOME *.c\n", "<$HOME> <*.c>" },
	{ "command =\n  a\n", "<a>" },
	{ "command = \\\n  a\n", "<a>" },
};

static void a_command_is_kept_as_it_stands(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		char text[256];
		struct nr_roles roles;

		snprintf(text, sizeof(text), "[role a]\n%s", commands[i].text);
		roles = parse(text);
		assert_words(roles.roles[0].command, commands[i].command);
		nr_roles_release(&roles);
	}
}

static const char *const headings[] = {
	"[role a]",        "[ role a ]",           "[role\ta]  ",
	"[role a] ; text", "[role a] # text",      "  [role a]",
	"[role a]\r",      "\xef\xbb\xbf[role a]", "\n# text\n; text\n[role a]",
};

static void a_heading_may_have_blanks_and_a_comment(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++) {
		char text[128];
		struct nr_roles roles;

		snprintf(text, sizeof(text), "%s\n" RUN, headings[i]);
		roles = parse(text);
		assert_number(roles.count, 1);
		assert_text(roles.roles[0].name, "a");
		nr_roles_release(&roles);
	}
}

static void a_comment_may_stand_behind_other_values(void **state)
{
	struct nr_roles roles = parse(A "near = eth0 ; the card\ncount = 2\t; two\n"
	                                "avoid = b\n  ; no\n" B);

	(void)state;
	assert_text(roles.roles[0].near, "eth0");
	assert_number(roles.roles[0].count, 2);
	assert_number(roles.roles[0].avoid_count, 1);
	nr_roles_release(&roles);
}

static void lists_go_on_in_indented_lines(void **state)
{
	struct nr_roles roles =
		parse(A "after = b,\n  c\nenv = X=1\n  Y='2 ; 3'\n" B "[role c]\n" RUN);

	(void)state;
	assert_number(roles.roles[0].after_count, 2);
	assert_words(roles.roles[0].env, "<X=1> <Y=2 ; 3>");
	nr_roles_release(&roles);
}

static const struct {
	const char *text;
	struct nr_ready ready;
} readies[] = {
	{ "tcp:localhost:11211",
	  { NR_READY_TCP, (char *)"localhost", (char *)"11211", NULL, 0, 30000 } },
	{ "tcp:127.0.0.1:1 , 0.1",
	  { NR_READY_TCP, (char *)"127.0.0.1", (char *)"1", NULL, 0, 100 } },
	{ "tcp:[fe80::1%eth0]:65535,3600",
	  { NR_READY_TCP, (char *)"fe80::1%eth0", (char *)"65535", NULL, 0, 3600000 } },
	{ "unix:/run/a b", { NR_READY_UNIX, NULL, NULL, (char *)"/run/a b", 0, 30000 } },
	{ "unix:/a,b, 2", { NR_READY_UNIX, NULL, NULL, (char *)"/a,b", 0, 2000 } },
	{ "file:x", { NR_READY_FILE, NULL, NULL, (char *)"x", 0, 30000 } },
	{ "delay:0", { NR_READY_DELAY, NULL, NULL, NULL, 0, 0 } },
	{ "delay:2.125", { NR_READY_DELAY, NULL, NULL, NULL, 2125, 0 } },
};

static void readiness_has_four_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(readies) / sizeof(readies[0]); i++) {
		const struct nr_ready *wanted = &readies[i].ready;
		const struct nr_ready *ready;
		struct nr_roles roles;
		char text[256];

		snprintf(text, sizeof(text), A "ready = %s\n", readies[i].text);
		roles = parse(text);
		ready = &roles.roles[0].ready;
		assert_number(ready->kind, wanted->kind);
		assert_text(ready->host, wanted->host);
		assert_text(ready->port, wanted->port);
		assert_text(ready->path, wanted->path);
		assert_number(ready->delay_ms, wanted->delay_ms);
		assert_number(ready->timeout_ms, wanted->timeout_ms);
		nr_roles_release(&roles);
	}
}

static const struct {
	const char *text;
	int signal;
	unsigned timeout_ms;
} stops[] = {
	{ "TERM", SIGTERM, 5000 },       { "SIGTERM", SIGTERM, 5000 }, { "quit", SIGQUIT, 5000 },
	{ "sigusr1, 1", SIGUSR1, 1000 }, { "9, 0.1", SIGKILL, 100 },   { "40 , 3600", 40, 3600000 },
	{ "WINCH,60", SIGWINCH, 60000 },
};

static void a_signal_has_a_name_or_a_number(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		struct nr_roles roles;
		char text[256];

		snprintf(text, sizeof(text), A "stop = %s\n", stops[i].text);
		roles = parse(text);
		assert_number(roles.roles[0].stop_signal, stops[i].signal);
		assert_number(roles.roles[0].stop_timeout_ms, stops[i].timeout_ms);
		nr_roles_release(&roles);
	}
}

static const char *const memories[] = {
	"local",
	"0",
	"0-1,3",
	"all",
	"!0",
	"+0",
	"bind:0",
	"preferred:1",
	"interleave:0",
	"bind:all",
	"preferred-many:0-1",
	"weighted-interleave:0-1",
};

static void memory_is_kept_as_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
		struct nr_roles roles;
		char text[256];

		snprintf(text, sizeof(text), A "mem = %s\n", memories[i]);
		roles = parse(text);
		assert_text(roles.roles[0].mem, memories[i]);
		nr_roles_release(&roles);
	}
}

/* ---- the order ---- */

static const struct {
	const char *after[4]; /* of a, b, c, d */
	const char *order;
} orders[] = {
	{ { NULL, NULL, NULL, NULL }, "abcd" },   { { "d", NULL, NULL, NULL }, "bcda" },
	{ { "b", "c", "d", NULL }, "dcba" },      { { NULL, "d", NULL, NULL }, "acdb" },
	{ { "c, d", NULL, NULL, NULL }, "bcda" }, { { "b, c", "d", "d", NULL }, "dbca" },
};

static void roles_start_behind_those_that_they_wait_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct nr_roles roles;
		char text[512] = "";
		char order[5] = "";
		size_t used = 0;

		for (int k = 0; k < 4; k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
			                         "[role %c]\n" RUN "%s%s\n", 'a' + k,
			                         orders[i].after[k] ? "after = " : "",
			                         orders[i].after[k] ? orders[i].after[k] : "");
		roles = parse(text);
		for (int k = 0; k < 4; k++)
			order[k] = *roles.roles[roles.start_order[k]].name;
		assert_text(order, orders[i].order);
		nr_roles_release(&roles);
	}
}

static void each_device_is_listed_once(void **state)
{
	struct nr_roles roles = parse(A "near = eth1\n" B "[role c]\n" RUN "near = eth0\n"
	                                "[role d]\n" RUN "near = eth1\n");
	const char **devices = NULL;
	struct np_error err = { 0 };

	(void)state;
	assert_number(nr_roles_devices(&roles, &devices, &err), 2);
	assert_text(devices[0], "eth1");
	assert_text(devices[1], "eth0");
	free(devices);
	nr_roles_release(&roles);
}

/* ---- what is refused ---- */

static const struct {
	const char *text;
	const char *why;
} refused[] = {
	/* the file */
	{ "", "f.ini: no '[role NAME]' in it, so nothing to start" },
	{ "# a\n", "f.ini: no '[role NAME]'" },
	{ "near = eth0\n", "f.ini:1: a key before the first '[role NAME]'" },
	{ A "what\n", "f.ini:3: 'what' is neither '[role NAME]' nor 'KEY = VALUE'" },
	{ A "what", "f.ini:3: 'what' is neither" },
	/* the first mistake is the one that is told */
	{ A "what\nneer = x\n", "f.ini:3: 'what' is neither" },
	{ A "neer = x\nwhat\n", "f.ini:3: no key 'neer'" },
	{ A "near = " HUNDRED HUNDRED "\n",
	  "f.ini:3: a line of 207 bytes, 199 is the most: a long value may go on in the next line" },

	/* headings */
	{ "[a]\n", "f.ini:1: '[a]' is not '[role NAME]'" },
	{ "[role]\n", "is not '[role NAME]'" },
	{ "[role ]\n", "a role's name is 1 to 40 letters" },
	{ "[rolea]\n", "is not '[role NAME]'" },
	{ "[role a\n", "is not '[role NAME]'" },
	{ "[role a b]\n", "is not '[role NAME]'" },
	{ "[role a] near = x\n", "is not '[role NAME]'" },
	{ "[role a];x\n", "is not '[role NAME]'" },
	{ "[role a/b]\n", "f.ini:1: a role's name is 1 to 40 letters, digits, '-', '_' or '.'" },
	{ "[role \xc3\xa9]\n", "a role's name is" },
	{ "[role a123456789012345678901234567890123456789x]\n", "a role's name is" },
	{ A A, "f.ini:3: a second role a; the first one begins in line 1" },
	{ A B "[role a]\n", "f.ini:5: a second role a" },
	{ "[role a]\n", "f.ini:1: role a has no 'command'" },
	{ A "[role b]\n[role c]\n" RUN, "f.ini:3: role b has no 'command'" },

	/* keys */
	{ A "neer = eth0\n", "f.ini:3: no key 'neer': did you mean 'near'?" },
	{ A "Count = 1\n", "f.ini:3: no key 'Count': did you mean 'count'?" },
	{ A "nonsense = 1\n", "f.ini:3: no key 'nonsense'" },
	{ A "= 1\n", "f.ini:3: no key ''" },
	{ A HUNDRED " = 1\n", "f.ini:3: no key '0123456789" },
	{ A "ready tcp:x:1\n", "no key 'ready tcp'" },
	{ A "count = 1\ncount = 1\n",
	  "f.ini:4: a second 'count' in this role, the first is in line 3" },
	{ A "near =\n", "f.ini:3: near: no value" },
	{ A "near = ; x\n", "f.ini:3: near: no value" },
	{ A "near = eth0\n  count = 2\n",
	  "f.ini:4: 'count = 2' is indented, which makes it a part of 'near' in the line before" },
	{ "[role a]\ncommand = x\n  [role b]\n", "f.ini:3: '[role b]' is indented" },

	/* values */
	{ A "near = eth0 # x\n", "f.ini:3: near: 'eth0 # x' is not the name of a device" },
	{ A "near = eth0\n  eth1\n", "f.ini:3: near: 'eth0 eth1' is not the name of a device" },
	{ A "near = x\ntier = 0\n", "f.ini:4: tier: '0' is not a number in 1..32768" },
	{ A "count = 0\n", "f.ini:3: count: '0' is not a number in 1..32768" },
	{ A "count = 32769\n", "count: '32769' is not a number" },
	{ A "count = 99999999999999999999\n", "is not a number in 1..32768" },
	{ A "count = -1\n", "'-1' is not a number" },
	{ A "count = 2x\n", "'2x' is not a number" },
	{ A "instances = 0\n", "f.ini:3: instances: '0' is not a number in 1..4096" },
	{ A "smt = maybe\n", "f.ini:3: smt: 'maybe' is neither yes nor no" },
	{ A "far = 1\n", "f.ini:3: far: '1' is neither yes nor no" },
	{ A "mem = locl\n", "f.ini:3: mem: 'locl' is not local, NODES, bind:NODES" },
	{ A "mem = bin:0\n", "f.ini:3: mem: 'bin:0' is not local, NODES, bind:NODES" },
	{ A "mem = bind:\n", "mem: 'bind:' is not local" },
	{ A "mem = local:0\n", "mem: 'local:0' is not local" },
	{ A "mem = bind:netdev:eth0\n",
	  "mem: 'bind:netdev:eth0': a device does not stand for its nodes" },
	{ A "mem = netdev:eth0\n", "mem: 'netdev:eth0': a device does not stand for its nodes" },
	{ A "mem = !pci:c1:00.0\n", "a device does not stand for its nodes" },
	{ A "ready = yes\n", "f.ini:3: ready: 'yes' is not tcp:HOST:PORT, unix:PATH" },
	{ A "ready = tcp:11211\n", "ready: 'tcp:11211' is not tcp:HOST:PORT" },
	{ A "ready = tcp::80\n", "is not tcp:HOST:PORT" },
	{ A "ready = tcp:::1:80\n", "an address of IPv6 in brackets" },
	{ A "ready = tcp:::1\n", "an address of IPv6 in brackets" },
	{ A "ready = tcp:[::1]80\n", "is not tcp:HOST:PORT" },
	{ A "ready = tcp:[::1\n", "is not tcp:HOST:PORT" },
	{ A "ready = tcp:[::1]\n", "is not tcp:HOST:PORT" },
	{ A "ready = tcp:a:0\n", "with a port of 1 to 65535" },
	{ A "ready = tcp:a:65536\n", "with a port of 1 to 65535" },
	{ A "ready = tcp:a:http\n", "with a port of 1 to 65535" },
	{ A "ready = tcp:a b:80\n", "is not tcp:HOST:PORT" },
	{ A "ready = unix:\n", "ready: a path has 1 to 107 bytes, this one 0" },
	{ A "ready = unix:/" HUNDRED TEN "\n", "a path has 1 to 107 bytes, this one 111" },
	{ A "ready = file:, 3\n", "this one 0" },
	{ A "ready = file:/x, soon\n", "behind the last ',': 'soon' is not a time of 0.1 to 3600" },
	{ A "ready = tcp:a:1,\n", "'' is not a time" },
	{ A "ready = tcp:a:1, 0\n", "'0' is not a time of 0.1 to 3600 seconds" },
	{ A "ready = tcp:a:1, 3601\n", "'3601' is not a time" },
	{ A "ready = tcp:a:1, 3600.001\n", "'3600.001' is not a time" },
	{ A "ready = tcp:a:1, 1.\n", "'1.' is not a time" },
	{ A "ready = tcp:a:1, 1.2345\n", "'1.2345' is not a time" },
	{ A "ready = tcp:a:1, 99999999999999999999\n", "is not a time" },
	{ A "ready = delay:\n", "'delay:' is not delay:SECONDS" },
	{ A "ready = delay:1, 2\n", "'delay:1, 2' is not delay:SECONDS" },
	{ A "ready = delay:-1\n", "is not delay:SECONDS" },
	{ A "stop = HALT\n", "f.ini:3: stop: 'HALT' is not a signal" },
	{ A "stop = 0\n", "'0' is not a signal" },
	{ A "stop = 65\n", "'65' is not a signal" },
	{ A "stop = , 3\n", "'' is not a signal" },
	{ A "stop = SIGABCDEFGHIJKLMNOPQRSTUVWXYZ\n", "is not a signal" },
	{ A "stop = STOP\n", "stop: SIGSTOP ends no program" },
	{ A "stop = CONT\n", "SIGCONT ends no program" },
	{ A "stop = TERM, 0.05\n", "'0.05' is not a time of 0.1 to 3600 seconds" },
	{ A "stop = TERM, 2, 3\n", "'TERM, 2' is not a signal" },
	{ A "env = A\n", "f.ini:3: env: 'A' is not NAME=VALUE" },
	{ A "env = A = 1\n", "'A' is not NAME=VALUE" },
	{ A "env = =1\n", "'=1' is not NAME=VALUE" },
	{ A "env = 1A=1\n", "'1A=1' is not NAME=VALUE" },
	{ A "env = A=1 A=2\n", "env: A is there twice" },
	{ A "env = NUMARUN_CPUS=1\n", "env: NUMARUN_CPUS is set by numarun itself" },
	{ A "env = A=1 ; x\n", "f.ini:3: env: an unquoted ';'" },

	/* commands */
	{ "[role a]\ncommand = a\n  b | c\n",
	  "f.ini:3: command: an unquoted '|': no shell runs this" },
	{ "[role a]\ncommand = a ; b\n", "f.ini:2: command: an unquoted ';'" },
	{ "[role a]\ncommand = a ;b\n", "f.ini:2: command: an unquoted ';'" },
	{ "[role a]\ncommand = a # b\n",
	  "f.ini:2: command: a word that begins with an unquoted '#'" },
	{ "[role a]\ncommand = 'a\n", "f.ini:2: command: the quote ' is not closed" },
	{ "[role a]\ncommand = 'a\nb'\n",
	  "f.ini:3: the quote ' in 'command' above is not closed; a line that goes on is indented" },
	{ "[role a]\ncommand = 'a\n[role b]\n", "f.ini:3: the quote ' in 'command' above" },
	{ "[role a]\ncommand = 'a\n  ; b'\n",
	  "f.ini:3: a line that begins with ';' is a comment, but this one stands in the quotes of "
	  "'command'" },
	{ "[role a]\ncommand = a \\\n", "f.ini:2: command: it ends in a backslash" },
	{ "[role a]\ncommand = ''\n", "f.ini:2: command: the program's name is empty" },
	{ "[role a]\ncommand =\n", "f.ini:2: command: no value" },

	/* what does not go together */
	{ A "tier = 1\n", "f.ini:3: 'tier' without 'near'" },
	{ A "smt = yes\n", "f.ini:3: 'smt' without 'count'" },
	{ A "near = x\nsmt = no\n", "f.ini:4: 'smt' without 'count'" },
	{ A "mem = 0\nfar = yes\n", "f.ini:4: 'far' together with 'mem'" },
	{ A "near = eth0\ninstances = 2\n", "f.ini:4: 2 instances near eth0 without 'count'" },
	{ A "count = 32768\ninstances = 2\n",
	  "f.ini:4: 2 instances of 32768 cores are more than the 32768 that any host has" },
	{ A "instances = 4096\n" B, "f.ini:4: role b: with its instances more than 4096 programs" },

	/* other roles */
	{ A "after = bb\n[role bbb]\n" RUN,
	  "f.ini:3: after: there is no role 'bb': did you mean 'bbb'?" },
	{ A "avoid = x\n", "f.ini:3: avoid: there is no role 'x'" },
	{ A "avoid = a\n", "f.ini:3: avoid: a is this role itself" },
	{ A "after = a\n", "f.ini:3: after: a is this role itself" },
	{ A "after = b, b\n" B, "f.ini:3: after: b is there twice" },
	{ A "after = b,\n" B, "f.ini:3: after: a role's name is missing before or behind a ','" },
	{ A "after = ,b\n" B, "a role's name is missing" },
	{ A "after = b c\n" B "[role c]\n" RUN, "there is no role 'b c'" },
	{ A "after = b\n" B "after = a\n",
	  "f.ini:3: after: these wait for each other: a -> b -> a" },
	{ "[role x]\n" RUN "after = b\n" B "after = d\n[role c]\n" RUN "after = b\n[role d]\n" RUN
	  "after = c\n",
	  "f.ini:6: after: these wait for each other: b -> d -> c -> b" },
};

static void every_mistake_is_told_with_its_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		refuse_bytes(refused[i].text, strlen(refused[i].text), -EINVAL, refused[i].why);
}

static void a_line_of_the_greatest_length_is_read(void **state)
{
	struct nr_roles roles =
		parse("[role a]\ncommand = " HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN "012345678\n");

	(void)state;
	assert_number(strlen(roles.roles[0].command[0]), 189);
	nr_roles_release(&roles);
}

static void what_is_no_text_is_refused(void **state)
{
	static const char nul[] = A "near = e\0th0\n";

	(void)state;
	refuse_bytes(nul, sizeof(nul) - 1, -EINVAL, "f.ini:3: a NUL byte: this is not a text");
}

/* @count roles, each after the next one, the last after the first; or, without a ring, after none. */
static char *many_roles(unsigned count, bool ring, size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	assert_non_null(out);
	for (unsigned i = 0; i < count; i++) {
		fprintf(out, "[role a-long-name-%u]\n" RUN, i);
		if (ring)
			fprintf(out, "after = a-long-name-%u\n", (i + 1) % count);
	}
	assert_number(fclose(out), 0);
	return text;
}

/* Comments, a few bytes more than is lawful. */
static char *too_long_text(void)
{
	char *text = malloc(NR_ROLE_FILE_BYTES_MAX + 2);

	assert_non_null(text);
	memset(text, '#', NR_ROLE_FILE_BYTES_MAX + 1);
	text[NR_ROLE_FILE_BYTES_MAX + 1] = '\0';
	return text;
}

static void a_role_file_has_limits(void **state)
{
	struct nr_roles roles;
	size_t size;
	char *text = many_roles(NR_ROLES_MAX, false, &size);

	(void)state;
	roles = parse(text);
	assert_number(roles.count, NR_ROLES_MAX);
	nr_roles_release(&roles);
	free(text);
	text = many_roles(NR_ROLES_MAX + 1, false, &size);
	refuse_bytes(text, size, -EINVAL, "f.ini:513: more than 256 roles");
	free(text);
	text = too_long_text();
	refuse_bytes(text, strlen(text), -E2BIG, "f.ini: a role file has at most 256 KiB");
	free(text);
}

static void a_long_ring_is_cut_in_the_message(void **state)
{
	size_t size;
	char *text = many_roles(100, true, &size);

	(void)state;
	refuse_bytes(
		text, size, -EINVAL,
		"f.ini:3: after: these wait for each other: a-long-name-0 -> a-long-name-1 -> ");
	refuse_bytes(text, size, -EINVAL, " -> ...");
	free(text);
}

/* ---- files ---- */

static void a_file_is_loaded_by_its_name(void **state)
{
	struct host *host = *state;
	struct nr_roles roles = { 0 };
	struct np_error err = { 0 };
	char path[PATH_MAX];
	char wanted[PATH_MAX + 64];

	host_write(host, "a.ini", A);
	host_write(host, "b.ini", A "neer = x\n");
	snprintf(path, sizeof(path), "%s/a.ini", host->dir);
	assert_np_ok(nr_roles_load(path, &roles, &err), &err);
	assert_text(roles.roles[0].name, "a");
	nr_roles_release(&roles);

	snprintf(path, sizeof(path), "%s/b.ini", host->dir);
	snprintf(wanted, sizeof(wanted), "%s:3: no key 'neer'", path);
	assert_fails(nr_roles_load(path, &roles, &err), -EINVAL, &err, wanted);
	snprintf(path, sizeof(path), "%s/c.ini", host->dir);
	assert_fails(nr_roles_load(path, &roles, &err), -ENOENT, &err, "c.ini: No such file");
	assert_fails(nr_roles_load(host->dir, &roles, &err), -EISDIR, &err, "Is a directory");
}

static void a_file_that_is_too_long_is_refused(void **state)
{
	struct host *host = *state;
	struct nr_roles roles = { 0 };
	struct np_error err = { 0 };
	char *text = too_long_text();
	char path[PATH_MAX];

	host_write(host, "a.ini", text);
	free(text);
	snprintf(path, sizeof(path), "%s/a.ini", host->dir);
	assert_fails(nr_roles_load(path, &roles, &err), -E2BIG, &err, "at most 256 KiB");
}

static void the_examples_are_lawful(void **state)
{
	static const char *const examples[] = { "memcached.ini", "ejfat.ini" };
	const char *source = getenv("NUMAKIT_SOURCE");

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct nr_roles roles = { 0 };
		struct np_error err = { 0 };
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/examples/roles/%s",
		         source && *source ? source : NUMAKIT_SOURCE_DIR, examples[i]);
		check_case("%s", path);
		assert_np_ok(nr_roles_load(path, &roles, &err), &err);
		assert_true(roles.count >= 2);
		nr_roles_release(&roles);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_role_has_all_that_its_section_says),
		cmocka_unit_test(a_command_alone_has_the_defaults),
		cmocka_unit_test(a_command_is_kept_as_it_stands),
		cmocka_unit_test(a_heading_may_have_blanks_and_a_comment),
		cmocka_unit_test(a_comment_may_stand_behind_other_values),
		cmocka_unit_test(lists_go_on_in_indented_lines),
		cmocka_unit_test(readiness_has_four_kinds),
		cmocka_unit_test(a_signal_has_a_name_or_a_number),
		cmocka_unit_test(memory_is_kept_as_text),
		cmocka_unit_test(roles_start_behind_those_that_they_wait_for),
		cmocka_unit_test(each_device_is_listed_once),
		cmocka_unit_test(every_mistake_is_told_with_its_line),
		cmocka_unit_test(a_line_of_the_greatest_length_is_read),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(a_role_file_has_limits),
		cmocka_unit_test(a_long_ring_is_cut_in_the_message),
		host_test(a_file_is_loaded_by_its_name),
		host_test(a_file_that_is_too_long_is_refused),
		cmocka_unit_test(the_examples_are_lawful),
	};

	return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}
