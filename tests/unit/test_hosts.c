/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The properties of every host, on those in tests/fixtures/hosts and on some that a seeded
 * generator makes up.
 */
#include "host.h"
#include "properties.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GENERATED_HOSTS = 60, NODES_MAX = 5 };

static void all_fixture_hosts_have_the_properties(void **state)
{
	const char *source = getenv("NUMAKIT_SOURCE");
	char pattern[PATH_MAX];
	glob_t found;

	(void)state;
	snprintf(pattern, sizeof(pattern), "%s/tests/fixtures/hosts/*/sys",
	         source && *source ? source : NUMAKIT_SOURCE_DIR);
	if (glob(pattern, 0, NULL, &found) != 0) {
		print_message("skipped: nothing matches %s\n", pattern);
		skip();
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		*strrchr(found.gl_pathv[i], '/') = '\0';
		check_host(strrchr(found.gl_pathv[i], '/') + 1, found.gl_pathv[i], NULL);
	}
	globfree(&found);
}

/* ---- hosts that are made up ---- */

struct dice {
	unsigned short seed[3];
};

/* 0 .. sides - 1 */
static unsigned roll(struct dice *dice, unsigned sides)
{
	return (unsigned)(nrand48(dice->seed) % sides);
}

/* A list of some of the numbers below @count; each with a chance of one in @odds. */
static void some_of(struct dice *dice, unsigned count, unsigned odds, char *buf, size_t size)
{
	size_t used = 0;

	buf[0] = '\0';
	for (unsigned i = 0; i < count && used < size; i++)
		if (roll(dice, odds) == 0)
			used += (size_t)snprintf(buf + used, size - used, "%s%u", used ? "," : "",
			                         i);
}

/* The same with one at least, and a newline. */
static void write_some(struct dice *dice, const struct host *host, const char *path, unsigned count,
                       unsigned odds)
{
	char list[512];
	char line[520];

	some_of(dice, count, odds, list, sizeof(list));
	snprintf(line, sizeof(line), "%s\n", *list ? list : "0");
	host_write(host, path, line);
}

/* Takes away from the sysfs, or bends it, as hosts and captures do. */
static void bend(struct dice *dice, const struct host *host, const struct host_shape *shape)
{
	unsigned cpus = shape->node_count * shape->cores_per_node * shape->threads_per_core;
	char path[128];
	char list[512];

	if (roll(dice, 3) == 0)
		write_some(dice, host, CPU_DIR "/online", cpus, 1 + roll(dice, 2));
	if (roll(dice, 3) == 0)
		write_some(dice, host, CPU_DIR "/isolated", cpus, 3);
	if (roll(dice, 3) == 0) {
		char status[1024];

		some_of(dice, cpus, 2, list, sizeof(list));
		snprintf(status, sizeof(status), "Cpus_allowed_list:\t%s\n", *list ? list : "0");
		host_write(host, "proc/self/status", status);
	}
	if (roll(dice, 4) == 0)
		host_remove(host, NODE_DIR "/has_memory");
	for (unsigned node = 0; node < shape->node_count; node++) {
		switch (roll(dice, 8)) {
		case 0: /* no CPUs */
			host_write_node(host, node, "cpulist", "\n");
			break;
		case 1: /* CPUs of other nodes too */
			snprintf(path, sizeof(path), NODE_DIR "/node%u/cpulist", node);
			write_some(dice, host, path, cpus, 2);
			break;
		case 2: /* no distances */
			snprintf(path, sizeof(path), NODE_DIR "/node%u/distance", node);
			host_remove(host, path);
			break;
		case 3: /* no memory */
			snprintf(path, sizeof(path), "Node %u MemTotal: 0 kB\n", node);
			host_write_node(host, node, "meminfo", path);
			break;
		default:
			break;
		}
	}
	if (roll(dice, 6) == 0)
		host_remove(host, NODE_DIR);
}

static void generate(struct dice *dice, const struct host *host)
{
	static const unsigned steps[] = { 10, 10, 11, 12, 20, 21, 32, 255 };
	static const char *const local[] = { NULL, "\n", "0\n", "0-1\n", "2-5\n", "0-63\n" };
	unsigned distances[NODES_MAX * NODES_MAX];
	struct host_shape shape = {
		.node_count = 1 + roll(dice, NODES_MAX),
		.cores_per_node = 1 + roll(dice, 3),
		.threads_per_core = 1 + roll(dice, 2),
		.distances = roll(dice, 2) ? distances : NULL,
	};

	for (size_t i = 0; i < sizeof(distances) / sizeof(distances[0]); i++)
		distances[i] = steps[roll(dice, sizeof(steps) / sizeof(steps[0]))];
	shape.nics[0] = (struct host_nic){ "eth0", "0000:01:00.0", (long)roll(dice, 6) - 1,
		                           local[roll(dice, 6)] };
	shape.nics[1] = (struct host_nic){ "eth1", "0000:81:00.0", (long)roll(dice, 6) - 1,
		                           local[roll(dice, 6)] };
	host_build(host, &shape);
	bend(dice, host, &shape);
}

static void all_hosts_that_are_made_up_have_the_properties(void **state)
{
	struct dice dice = { .seed = { 19, 52, 2 } };

	(void)state;
	for (unsigned i = 0; i < GENERATED_HOSTS; i++) {
		char name[64];
		void *own = NULL;

		host_create(&own);
		generate(&dice, own);
		snprintf(name, sizeof(name), "made-up host %u", i);
		check_host(name, ((struct host *)own)->dir, NULL);
		host_destroy(&own);
	}
}

static void this_host_has_the_properties(void **state)
{
	(void)state;
	check_host("this host", NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fixture_hosts_have_the_properties),
		cmocka_unit_test(all_hosts_that_are_made_up_have_the_properties),
		cmocka_unit_test(this_host_has_the_properties),
	};

	return cmocka_run_group_tests_name("hosts", tests, NULL, NULL);
}
