/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every file that the sysfs readers read, damaged in every way. For each the table says which
 * damages are lawful (the host loads, in the state that is stated); all others must fail with one
 * line that names the file and shows what was found in it. One test a file; all its failures are
 * listed.
 */
#include "host.h"

#include <errno.h>
#include <numaprobe/rank.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum damage {
	EMPTY,
	NEWLINE,
	BINARY,   /* random bytes with NULs */
	NULS,     /* nothing but NULs, as a crash leaves files behind */
	HUGE,     /* 2 MiB of digits */
	OVERFLOW, /* a number that no integer holds */
	LARGE,    /* a number that an int holds and no host has */
	NEGATIVE,
	MINUS_ONE, /* the kernel's "not told" in some files */
	TEXT,
	FOLDER, /* in its place */
	PIPE,   /* in its place */
	MISSING,
	DAMAGE_COUNT
};

#define BIT(damage) (1u << (damage))
#define NOTHING (BIT(EMPTY) | BIT(NEWLINE))
#define NUMBERS (BIT(OVERFLOW) | BIT(LARGE) | BIT(NEGATIVE) | BIT(MINUS_ONE))
#define UNREADABLE (BIT(BINARY) | BIT(HUGE) | BIT(FOLDER) | BIT(PIPE))
#define ANY (BIT(DAMAGE_COUNT) - 1)

enum { HUGE_BYTES = 2 << 20, ABSENT_MAX = 3 };

static const struct {
	const char *name;
	const char *content; /* NULL = made by put_damage() */
	/* What an error must show of it: one of these. */
	const char *shown[4];
} damages[DAMAGE_COUNT] = {
	[EMPTY] = { "empty", "", { "''", "empty", "does not hold CPU 0" } },
	[NEWLINE] = { "an empty line", "\n", { "''", "empty", "\\x0a", "does not hold CPU 0" } },
	[BINARY] = { "binary", NULL, { "\\x", "NUL" } },
	[NULS] = { "NUL bytes", NULL, { "NUL", "''", "does not hold CPU 0" } },
	[HUGE] = { "2 MiB of digits", NULL, { "longer than 1048576 bytes", "'9999" } },
	[OVERFLOW] = { "99999999999999999999", "99999999999999999999\n", { "'99999" } },
	[LARGE] = { "2000000000", "2000000000\n", { "'2000000000" } },
	[NEGATIVE] = { "-7", "-7\n", { "'-7" } },
	[MINUS_ONE] = { "-1", "-1\n", { "'-1" } },
	[TEXT] = { "4 bananas", "4 bananas\n", { "'4 bananas" } },
	[FOLDER] = { "a folder", NULL, { "Is a directory" } },
	[PIPE] = { "a pipe", NULL, { "not a plain file" } },
	[MISSING] = { "missing", NULL, { "No such file or directory" } },
};

/* Nodes of two cores each; eth0 is on node 1, told by its numa_node and by its local CPUs. */
static const struct host_shape shape = {
	.node_count = 2,
	.cores_per_node = 2,
	.nics = { { "eth0", "0000:81:00.0", 1, "2-3\n" } },
};

#define EVERYTHING (NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_GROUPS)
#define CPU0 CPU_DIR "/cpu0/"
#define NODE0 NODE_DIR "/node0/"
#define CARD "sys/devices/pci0000:81/0000:81:00.0/"
#define CGROUP_FILE "sys/fs/cgroup/job/cpuset.cpus.effective"
#define STATUS "proc/self/status"

/* Is the topology in the state that the damage may leave? NULL, or what is wrong. */
typedef const char *state_fn(const struct np_topology *topology, enum damage damage);

struct row {
	const char *path;
	const char *names;              /* what an error calls the file; NULL = path */
	const char *absent[ABSENT_MAX]; /* files that hide this one */
	unsigned lawful;
	state_fn *state; /* of the lawful ones */
};

/* ---- what lawful means ---- */

static bool is_set(const struct np_bitmap *set, const char *list)
{
	struct np_bitmap wanted = set_of(list);
	bool is_same = np_bitmap_equal(set, &wanted);

	np_bitmap_release(&wanted);
	return is_same;
}

static const struct np_locality *place(const struct np_topology *topology)
{
	return &np_topology_device(topology, 0)->locality;
}

/* All as if the file said what it should. */
static const char *unharmed(const struct np_topology *topology, enum damage damage)
{
	const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, 0);
	const struct np_group *package = np_topology_group_of(topology, NP_LEVEL_PACKAGE, 0);
	const struct np_group *cache = np_topology_group_of(topology, NP_LEVEL_L3, 0);
	unsigned distance = 0;

	(void)damage;
	if (!is_set(np_topology_cpus(topology, NP_CPUS_ONLINE), "0-3") ||
	    !is_set(np_topology_cpus(topology, NP_CPUS_OFFLINE), "") ||
	    !is_set(np_topology_cpus(topology, NP_CPUS_USABLE), "0-3"))
		return "other CPUs are online or usable than 0-3";
	if (!is_set(np_topology_nodes(topology, NP_NODES_ONLINE), "0-1") ||
	    !is_set(np_topology_nodes(topology, NP_NODES_ALLOWED), "0-1"))
		return "other nodes are online or allowed than 0-1";
	if (!is_set(&np_topology_node(topology, 0)->cpus, "0-1"))
		return "node 0 has other CPUs than 0-1";
	if (np_topology_node_distance(topology, 0, 1, &distance) < 0 || distance != 20)
		return "the distance from node 0 to node 1 is not 20";
	if (!core || !is_set(&core->cpus, "0"))
		return "the core of CPU 0 is not CPU 0";
	if (!package || !is_set(&package->cpus, "0-1"))
		return "the package of CPU 0 is not CPUs 0-1";
	if (!cache || !is_set(&cache->cpus, "0-1"))
		return "the L3 of CPU 0 is not that of CPUs 0-1";
	if (!is_set(&place(topology)->nodes, "1"))
		return "eth0 is not on node 1";
	return NULL;
}

/* Only what this file tells is unknown: loading it is all that is asked. */
static const char *loads(const struct np_topology *topology, enum damage damage)
{
	(void)topology;
	(void)damage;
	return NULL;
}

static const char *package_has_no_id(const struct np_topology *topology, enum damage damage)
{
	const struct np_group *package = np_topology_group_of(topology, NP_LEVEL_PACKAGE, 0);

	if (damage == LARGE)
		return package->has_id && package->id == 2000000000 ? NULL
		                                                    : "the id is not 2000000000";
	return package->has_id ? "the package has an id" : NULL;
}

static const char *core_has_no_id(const struct np_topology *topology, enum damage damage)
{
	const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, 0);

	if (damage == LARGE)
		return core->has_id && core->id == 2000000000 ? NULL : "the id is not 2000000000";
	return core->has_id ? "the core has an id" : NULL;
}

static const char *cache_has_no_size(const struct np_topology *topology, enum damage damage)
{
	const struct np_group *cache = np_topology_group_of(topology, NP_LEVEL_L3, 0);

	if (damage == LARGE)
		return cache->size_bytes == 2000000000 ? NULL : "the size is not 2000000000";
	return cache->size_bytes == 0 ? NULL : "the L3 has a size";
}

static const char *node_has_no_cpus(const struct np_topology *topology, enum damage damage)
{
	if (damage == MISSING)
		return unharmed(topology, damage); /* the mask tells */
	if (!is_set(&np_topology_node(topology, 0)->cpus, ""))
		return "node 0 has CPUs";
	return is_set(np_topology_cpus(topology, NP_CPUS_WITHOUT_NODE), "0-1")
	               ? NULL
	               : "CPUs 0-1 are not told as being in no node";
}

static const char *distances_are_unknown(const struct np_topology *topology, enum damage damage)
{
	unsigned distance;

	(void)damage;
	if (np_topology_node_distance(topology, 0, 1, &distance) != -ENODATA)
		return "the distance from node 0 to node 1 is known";
	if (np_topology_node_distance(topology, 1, 0, &distance) != 0)
		return "the distance from node 1 to node 0 is unknown";
	return np_topology_note_count(topology) == 0 ? "no note says so" : NULL;
}

static const char *memory_is_unknown(const struct np_topology *topology, enum damage damage)
{
	(void)damage;
	if (np_topology_node(topology, 0)->has_memory_size)
		return "node 0's size is known";
	return is_set(np_topology_nodes(topology, NP_NODES_WITH_MEMORY), "0-1")
	               ? NULL
	               : "nodes 0 and 1 no longer have memory";
}

/* -1 or no file: the local CPUs tell. */
static const char *node_by_local_cpus(const struct np_topology *topology, enum damage damage)
{
	(void)damage;
	if (place(topology)->evidence != NP_EVIDENCE_LOCAL_CPUS)
		return "the evidence is not local_cpus";
	return is_set(&place(topology)->nodes, "1") ? NULL : "eth0 is not on node 1";
}

static const char *speed_is_unknown(const struct np_topology *topology, enum damage damage)
{
	bool has_speed = np_topology_device(topology, 0)->has_speed;

	return has_speed == (damage == LARGE) ? NULL : "the speed is known, or is not";
}

/* A state is a word of the kernel's ("lowerlayerdown"), or unknown: never an empty string. */
static const char *link_state_is_unknown(const struct np_topology *topology, enum damage damage)
{
	const char *state = np_topology_device(topology, 0)->state;

	(void)damage;
	return state ? "there is a state" : NULL;
}

/* With a status file that says "0-1" the cgroup only names the reason for that. */
static const char *allowed_by_status(const struct np_topology *topology, enum damage damage)
{
	(void)damage;
	if (!is_set(np_topology_cpus(topology, NP_CPUS_ALLOWED), "0-1"))
		return "other CPUs are allowed than the status file says";
	return NULL;
}

/* ---- the matrix ---- */

static const struct row rows[] = {
	{ .path = CPU_DIR "/online", .lawful = BIT(MISSING), .state = unharmed },
	{ .path = CPU_DIR "/present", .lawful = NOTHING | BIT(MISSING), .state = unharmed },
	{ .path = CPU_DIR "/isolated", .lawful = NOTHING | BIT(MISSING), .state = unharmed },

	{ .path = CPU0 "topology/physical_package_id",
	  .lawful = BIT(MINUS_ONE) | BIT(LARGE) | BIT(MISSING),
	  .state = package_has_no_id },
	{ .path = CPU0 "topology/core_id",
	  .lawful = BIT(MINUS_ONE) | BIT(LARGE) | BIT(MISSING),
	  .state = core_has_no_id },
	{ .path = CPU0 "topology/package_cpus_list", .lawful = BIT(MISSING), .state = unharmed },
	{ .path = CPU0 "topology/core_siblings_list",
	  .absent = { CPU0 "topology/package_cpus_list" },
	  .lawful = BIT(MISSING),
	  .state = unharmed },
	{ .path = CPU0 "topology/core_siblings",
	  .absent = { CPU0 "topology/package_cpus_list", CPU0 "topology/core_siblings_list" },
	  .lawful = BIT(MISSING),
	  .state = loads },
	{ .path = CPU0 "topology/core_cpus_list", .lawful = BIT(MISSING), .state = unharmed },
	{ .path = CPU0 "topology/thread_siblings_list",
	  .absent = { CPU0 "topology/core_cpus_list" },
	  .lawful = BIT(MISSING),
	  .state = unharmed },
	{ .path = CPU0 "topology/thread_siblings",
	  .absent = { CPU0 "topology/core_cpus_list", CPU0 "topology/thread_siblings_list" },
	  .lawful = BIT(MISSING),
	  .state = unharmed },

	/* The kernel leaves these four out where it does not know (drivers/base/cacheinfo.c). */
	{ .path = CPU0 "cache/index3/level", .lawful = BIT(MISSING), .state = loads },
	{ .path = CPU0 "cache/index3/shared_cpu_list", .lawful = BIT(MISSING), .state = unharmed },
	{ .path = CPU0 "cache/index3/shared_cpu_map",
	  .absent = { CPU0 "cache/index3/shared_cpu_list" },
	  .lawful = BIT(MISSING),
	  .state = loads },
	{ .path = CPU0 "cache/index3/size",
	  .lawful = BIT(LARGE) | BIT(MISSING),
	  .state = cache_has_no_size },

	{ .path = NODE_DIR "/online", .lawful = BIT(MISSING), .state = unharmed },
	{ .path = NODE_DIR "/possible", .lawful = NOTHING | BIT(MISSING), .state = unharmed },
	{ .path = NODE_DIR "/has_memory", .lawful = NOTHING | BIT(MISSING), .state = unharmed },
	{ .path = NODE0 "cpulist", .lawful = NOTHING | BIT(MISSING), .state = node_has_no_cpus },
	{ .path = NODE0 "cpumap", .names = NODE0 "cpu", .absent = { NODE0 "cpulist" } },
	{ .path = NODE0 "distance", .lawful = BIT(MISSING), .state = distances_are_unknown },
	{ .path = NODE0 "meminfo", .lawful = BIT(MISSING), .state = memory_is_unknown },

	{ .path = CARD "numa_node",
	  .lawful = BIT(MINUS_ONE) | BIT(MISSING),
	  .state = node_by_local_cpus },
	{ .path = CARD "local_cpulist", .lawful = NOTHING | BIT(MISSING), .state = unharmed },
	/* Neither decides anything, and both come and go with the cable. */
	{ .path = CARD "net/eth0/speed",
	  .lawful = NOTHING | BIT(MINUS_ONE) | BIT(MISSING),
	  .state = speed_is_unknown },
	{ .path = CARD "net/eth0/operstate",
	  .lawful = NOTHING | BIT(MISSING),
	  .state = link_state_is_unknown },

	/*
	 * Files of many lines, of which one is sought; one without any such line is none of the
	 * kernel's. Without a status file (it is hidden here) the cpuset alone tells what is allowed.
	 */
	{ .path = STATUS, .lawful = BIT(MISSING), .state = unharmed },
	{ .path = "proc/self/cgroup",
	  .absent = { STATUS },
	  .lawful = BIT(EMPTY) | BIT(NEWLINE) | BIT(MISSING),
	  .state = unharmed },
	{ .path = "proc/mounts",
	  .absent = { STATUS },
	  .lawful = BIT(EMPTY) | BIT(NEWLINE) | BIT(MISSING),
	  .state = unharmed },
	{ .path = CGROUP_FILE,
	  .absent = { STATUS },
	  .lawful = NOTHING | BIT(MISSING),
	  .state = unharmed },
};

/* With a status file that narrows, the same three only tell a reason, which may stay unknown. */
static const struct row reasons[] = {
	{ .path = "proc/self/cgroup", .lawful = ANY, .state = allowed_by_status },
	{ .path = "proc/mounts", .lawful = ANY, .state = allowed_by_status },
	{ .path = CGROUP_FILE, .lawful = ANY, .state = allowed_by_status },
};

static void build(const struct host *host, const char *status)
{
	host_build(host, &shape);
	if (*status)
		host_write(host, STATUS, status);
	host_write(host, "proc/mounts", "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n");
	host_write(host, "proc/self/cgroup", "0::/job\n");
	host_write(host, CGROUP_FILE, "0-3\n");
}

static void put_damage(const struct host *host, const char *path, enum damage damage)
{
	static char huge[HUGE_BYTES];
	static const char nuls[16];
	char bytes[64];
	unsigned short seed[3] = { 1, 2, 3 };

	switch (damage) {
	case BINARY:
		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (char)(nrand48(seed) % 256);
		bytes[0] = (char)0x89; /* no text begins so */
		memset(bytes + 5, 0, 3);
		host_write_bytes(host, path, bytes, sizeof(bytes));
		break;
	case NULS:
		host_write_bytes(host, path, nuls, sizeof(nuls));
		break;
	case HUGE:
		memset(huge, '9', sizeof(huge));
		host_write_bytes(host, path, huge, sizeof(huge));
		break;
	case FOLDER:
		host_mkdir(host, path);
		break;
	case PIPE:
		host_fifo(host, path);
		break;
	case MISSING:
		host_remove(host, path);
		break;
	default:
		host_write(host, path, damages[damage].content);
	}
}

/* What is wrong with the error, NULL when nothing is. */
static const char *judge_error(int rc, const struct np_error *err, const char *names,
                               const char *const shown[4])
{
	if (err->code != -rc)
		return "the error's code is not the one returned";
	if (!is_printable_line(err->text))
		return "the error is not one line of printable ASCII";
	if (!strstr(err->text, names))
		return "the error does not name the file";
	for (size_t i = 0; i < 4 && shown[i]; i++)
		if (strstr(err->text, shown[i]))
			return NULL;
	return "the error does not show what was found";
}

static int load_damaged(const struct host *host, unsigned scope, struct np_topology **ret,
                        struct np_error *err)
{
	static const char *const devices[] = { "eth0" };
	struct np_topology_source source = { .root = host->dir, .scope = EVERYTHING | scope };

	if (!scope) {
		source.devices = devices;
		source.device_count = 1;
	}
	alarm(20); /* a pipe that nobody writes to would last for ever */
	return np_topology_load(&source, ret, err);
}

/* A topology that loaded can be used, whatever was damaged. */
static void use(const struct np_topology *topology)
{
	for (size_t i = 0; i < np_topology_device_count(topology); i++) {
		struct np_rank rank = { 0 };

		if (np_rank_cpus(topology, &np_topology_device(topology, i)->locality, &rank,
		                 NULL) == 0)
			np_rank_release(&rank);
	}
}

/* Loads the damaged host and says what is wrong with the outcome; *err for the listing. */
static const char *judge(const struct host *host, const struct row *row, enum damage damage,
                         unsigned scope, struct np_error *err)
{
	struct np_topology *topology = NULL;
	bool is_lawful = row->lawful & BIT(damage);
	int rc = load_damaged(host, scope, &topology, err);
	const char *verdict;

	if (rc < 0) {
		if (is_lawful)
			return "it should load";
		return judge_error(rc, err, row->names ? row->names : row->path,
		                   damages[damage].shown);
	}
	use(topology);
	verdict = is_lawful ? row->state(topology, damage) : "it was taken without a word";
	np_topology_free(topology);
	return verdict;
}

/* Tries all damages; how many came out wrong. */
static unsigned check_row(const struct host *host, const struct row *row)
{
	unsigned failures = 0;

	for (size_t i = 0; i < ABSENT_MAX && row->absent[i]; i++)
		host_remove(host, row->absent[i]);
	for (enum damage damage = 0; damage < DAMAGE_COUNT; damage++) {
		put_damage(host, row->path, damage);
		/* Once with the device named, once among all. */
		for (unsigned scope = 0; scope <= NP_TOPOLOGY_NICS; scope += NP_TOPOLOGY_NICS) {
			struct np_error err = { 0 };
			const char *verdict = judge(host, row, damage, scope, &err);

			if (!verdict)
				continue;
			print_error("%s: %.20s: %s\n", row->path, damages[damage].name, verdict);
			if (err.code)
				print_error("    the error: %s\n", err.text);
			failures++;
			break;
		}
	}
	alarm(0);
	return failures;
}

static void check_matrix_row(const struct row *row, const char *status)
{
	void *own = NULL;
	unsigned failures;

	host_create(&own);
	build(own, status);
	failures = check_row(own, row);
	host_destroy(&own);
	if (failures > 0)
		fail_msg("%s: %u of %d damages", row->path, failures, DAMAGE_COUNT);
}

static void a_damaged_file_is_told_or_stands_for_nothing(void **state)
{
	check_matrix_row(*state, "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n");
}

static void a_damaged_reason_changes_no_answer(void **state)
{
	check_matrix_row(*state, "Cpus_allowed_list:\t0-1\nMems_allowed_list:\t0-1\n");
}

/* ---- damage that only some files know ---- */

static const struct {
	const char *path;
	const char *content;
	const char *shown; /* NULL = lawful */
} contents[] = {
	{ NODE0 "distance", "10\n", "'10'" },
	{ NODE0 "distance", "10 20 30\n", "'10 20 30'" },
	{ NODE0 "distance", "10 20x\n", "'10 20x'" },
	{ NODE0 "distance", "10 -1\n", "'10 -1'" },
	{ NODE0 "distance", "10,20\n", "'10,20'" },
	{ NODE0 "distance", "10 99999999999999999999\n", "'10 99999999999999999999'" },
	{ NODE0 "distance", "10 255\n", NULL },
	{ NODE0 "distance", "10 20 \n", NULL },
	{ NODE0 "cpulist", "0-1,0-\n", "'0-1,0-" },
	{ NODE0 "cpulist", "1-0\n", "'1-0" },
	{ NODE0 "cpulist", "0-4095\n", NULL }, /* more than are online: those that are */
	{ NODE0 "meminfo", "Node 0 MemTotal:\n", "MemTotal:" },
	{ NODE0 "meminfo", "Node 0 MemTotal: -5 kB\n", "MemTotal: -5 kB" },
	{ NODE0 "meminfo", "Node 0 MemTotal: 5 MB\n", "MemTotal: 5 MB" },
	{ NODE0 "meminfo", "Node 0 MemTotal: 99999999999999999999 kB\n", "9999999999" },
	{ NODE0 "meminfo", "Node 0 MemTotal: 18014398509481984 kB\n", "18014398509481984" },
	{ NODE0 "meminfo", "Node 0 MemTotal: 5 kB\nNode 0 MemFree: x kB\n", "MemFree: x kB" },
	{ NODE0 "meminfo", "Node 0 MemTotal: 0 kB\n", NULL },
	{ CPU0 "cache/index3/size", "0K\n", NULL },
	{ CPU0 "cache/index3/size", "32M\n", NULL },
	{ CPU0 "cache/index3/size", "K\n", "'K'" },
	{ CPU0 "cache/index3/size", "16384Q\n", "'16384Q'" },
	{ CPU0 "cache/index3/size", "16384 K\n", "'16384 K'" },
	{ CPU0 "cache/index3/size", "-1K\n", "'-1K'" },
	{ CPU0 "cache/index3/size", "99999999999999999999K\n", "'99999999999999999999K'" },
	{ CPU0 "cache/index3/level", "33\n", "'33'" },
	{ CPU0 "cache/index3/shared_cpu_list", "1\n", "CPU 0" },
	{ CPU0 "topology/core_cpus_list", "1-3\n", "CPU 0" },
	{ CPU0 "topology/package_cpus_list", "3\n", "CPU 0" },
	{ CARD "numa_node", "1048576\n", "'1048576'" },
	{ CARD "numa_node", "7\n", NULL }, /* not online; the local CPUs tell */
	{ CARD "numa_node", "1\nand more\n", "'1\\x0aand more'" },
	{ CARD "local_cpulist", "2-3,\n", "'2-3," },
	{ CARD "local_cpulist", "100-200\n", NULL },
	{ STATUS, "Cpus_allowed_list:\tbananas\n", "bananas'" },
	{ STATUS, "Mems_allowed_list:\t-1\n", "-1'" },
	{ STATUS, "Cpus_allowed_list:\t0-99999999999\n", "0-99999999999'" },
};

static void contents_that_make_no_sense_are_shown(void **state)
{
	struct host *host = *state;
	unsigned failures = 0;

	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		const char *const shown[4] = { contents[i].shown };
		struct np_topology *topology = NULL;
		struct np_error err = { 0 };
		const char *verdict = NULL;
		int rc;

		build(host, "Cpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n");
		host_write(host, contents[i].path, contents[i].content);
		rc = load_damaged(host, 0, &topology, &err);
		if (rc == 0 && contents[i].shown)
			verdict = "it was taken without a word";
		else if (rc < 0)
			verdict = contents[i].shown ? judge_error(rc, &err, contents[i].path, shown)
			                            : "it should load";
		np_topology_free(topology);
		if (verdict) {
			print_error("%s: %.*s: %s; error '%s'\n", contents[i].path,
			            (int)strcspn(contents[i].content, "\n"), contents[i].content,
			            verdict, err.text);
			failures++;
		}
	}
	alarm(0);
	assert_number(failures, 0);
}

/* Distances must not depend on a list of possible nodes that a capture lacks. */
static void an_empty_distance_is_an_error_without_possible_nodes_too(void **state)
{
	struct host *host = *state;
	struct np_error err = { 0 };

	build(host, "");
	host_remove(host, NODE_DIR "/possible");
	host_write_node(host, 0, "distance", "\n");
	assert_fails(host_load_fails(host, 0, NULL, &err), -EINVAL, &err, NODE0 "distance: ''");
}

/* ---- links ---- */

#define LINK NET_DIR "/eth0"

static void a_dangling_link_still_tells_where_it_leads(void **state)
{
	struct host *host = *state;
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	/* As in captures that leave the network folders out. */
	build(host, "");
	host_remove(host, CARD "net");
	for (unsigned scope = 0; scope <= NP_TOPOLOGY_NICS; scope += NP_TOPOLOGY_NICS) {
		assert_np_ok(load_damaged(host, scope, &topology, &err), &err);
		assert_set(&place(topology)->nodes, "1");
		assert_text(np_topology_device(topology, 0)->pci, "0000:81:00.0");
		np_topology_free(topology);
	}
}

static void a_link_to_nowhere_says_nothing_of_the_place(void **state)
{
	struct host *host = *state;
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	build(host, "");
	host_link(host, LINK, "../../devices/nowhere/net/eth0");
	for (unsigned scope = 0; scope <= NP_TOPOLOGY_NICS; scope += NP_TOPOLOGY_NICS) {
		assert_np_ok(load_damaged(host, scope, &topology, &err), &err);
		assert_text(np_evidence_name(place(topology)->evidence), "unknown");
		np_topology_free(topology);
	}
}

/* What cannot be a card: asked for by name it is an error, among all it is none. */
static void assert_no_card(const struct host *host)
{
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };
	int rc = load_damaged(host, 0, &topology, &err);

	if (rc == 0)
		np_topology_free(topology);
	assert_fails(rc, rc < 0 ? rc : -ENOENT, &err, "eth0");

	rc = load_damaged(host, NP_TOPOLOGY_NICS, &topology, &err);
	assert_np_ok(rc, &err);
	assert_number(np_topology_device_count(topology), 0);
	np_topology_free(topology);
}

static void a_link_to_itself_is_no_card(void **state)
{
	struct host *host = *state;

	build(host, "");
	host_link(host, LINK, "eth0");
	assert_no_card(host);
}

static void a_link_out_of_the_devices_is_no_card(void **state)
{
	struct host *host = *state;

	build(host, "");
	host_link(host, LINK, "../../../../../../../etc");
	assert_no_card(host);
	host_link(host, LINK, "/");
	assert_no_card(host);
}

static void a_file_or_folder_in_a_links_place_is_no_card(void **state)
{
	struct host *host = *state;

	build(host, "");
	host_write(host, LINK, "4 bananas\n");
	assert_no_card(host);
	host_mkdir(host, LINK);
	assert_no_card(host);
	host_remove(host, LINK);
	assert_no_card(host);
}

static void a_file_in_place_of_the_class_folder_is_an_error(void **state)
{
	struct host *host = *state;
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	build(host, "");
	host_write(host, NET_DIR, "");
	assert_fails(load_damaged(host, NP_TOPOLOGY_NICS, &topology, &err), -ENOTDIR, &err,
	             NET_DIR);
	assert_null(topology);
}

/* ---- lists that are lawful in form and absurd in size ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY true
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY false
#endif

static void limit(int resource, rlim_t most)
{
	const struct rlimit both = { .rlim_cur = most, .rlim_max = most + 1 };

	setrlimit((unsigned)resource, &both);
}

/*
 * In a child of few seconds and little memory: loading must end by itself, either with success or
 * with an error that names the file.
 */
static void assert_bearable(const struct host *host, const char *path, const char *content)
{
	int status = 0;
	pid_t pid;

	host_write(host, path, content);
	pid = fork_child();
	if (pid == 0) {
		struct np_topology *topology = NULL;
		struct np_error err = { 0 };
		const char *const shown[4] = { "0-" };
		const char *verdict = NULL;
		int rc;

		/* Sanitizers are an order of magnitude slower. */
		limit(RLIMIT_CPU, HAS_SHADOW_MEMORY ? 60 : 10);
		if (!HAS_SHADOW_MEMORY)
			limit(RLIMIT_AS, (rlim_t)1 << 30);
		rc = load_damaged(host, 0, &topology, &err);
		if (rc < 0)
			verdict = judge_error(rc, &err, path, shown);
		if (verdict)
			print_error("%s: %.40s: %s; error '%s'\n", path, content, verdict,
			            err.text);
		np_topology_free(topology);
		fflush(NULL);
		_exit(verdict ? 1 : 0);
	}
	assert_number(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fail_msg("%s: %.40s: the load was ended by signal %s (2 s of CPU time, 1 GiB)",
		         path, content, sigabbrev_np(WTERMSIG(status)));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("%s: %.40s: status %d", path, content, WEXITSTATUS(status));
}

/* As many members as a set takes, "0-32767"; and more than it takes. */
static const char *full_range(void)
{
	static char text[32];

	snprintf(text, sizeof(text), "0-%u", NP_BITMAP_INDEX_MAX);
	return text;
}

#define BEYOND "0-1048575"

static void absurdly_many_cpus_take_neither_hours_nor_all_memory(void **state)
{
	build(*state, "");
	assert_bearable(*state, CPU_DIR "/online", full_range());
	assert_bearable(*state, CPU_DIR "/online", BEYOND);
}

static void absurdly_many_nodes_take_neither_hours_nor_all_memory(void **state)
{
	build(*state, "");
	assert_bearable(*state, NODE_DIR "/online", full_range());
	assert_bearable(*state, NODE_DIR "/online", BEYOND);
}

static void absurdly_many_members_of_other_lists_are_bearable(void **state)
{
	static const char *const paths[] = {
		CPU_DIR "/present",
		CPU_DIR "/isolated",
		NODE_DIR "/possible",
		NODE_DIR "/has_memory",
		NODE0 "cpulist",
		CARD "local_cpulist",
		CPU0 "topology/package_cpus_list",
		CPU0 "topology/core_cpus_list",
		CPU0 "cache/index3/shared_cpu_list",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		build(*state, "");
		assert_bearable(*state, paths[i], full_range());
		assert_bearable(*state, paths[i], BEYOND);
	}
}

static void a_megabyte_of_ranges_does_not_take_minutes(void **state)
{
	size_t len = strlen(full_range());
	size_t count = (1u << 20) / (len + 1) - 1;
	char *text = malloc(count * (len + 1) + 2);

	assert_non_null(text);
	for (size_t i = 0; i < count; i++) {
		memcpy(text + i * (len + 1), full_range(), len);
		text[i * (len + 1) + len] = ',';
	}
	strcpy(text + count * (len + 1), "0");
	build(*state, "");
	assert_bearable(*state, CPU_DIR "/isolated", text);
	free(text);
}

/* ---- */

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
#define REASON_COUNT (sizeof(reasons) / sizeof(reasons[0]))

static int run_matrix(void)
{
	struct CMUnitTest tests[ROW_COUNT + REASON_COUNT] = { 0 };

	for (size_t i = 0; i < ROW_COUNT; i++) {
		tests[i].name = rows[i].path;
		tests[i].test_func = a_damaged_file_is_told_or_stands_for_nothing;
		tests[i].initial_state = (void *)&rows[i];
	}
	for (size_t i = 0; i < REASON_COUNT; i++) {
		tests[ROW_COUNT + i].name = reasons[i].path;
		tests[ROW_COUNT + i].test_func = a_damaged_reason_changes_no_answer;
		tests[ROW_COUNT + i].initial_state = (void *)&reasons[i];
	}
	return cmocka_run_group_tests_name("malformed: the matrix", tests, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(contents_that_make_no_sense_are_shown),
		host_test(an_empty_distance_is_an_error_without_possible_nodes_too),
		host_test(a_dangling_link_still_tells_where_it_leads),
		host_test(a_link_to_nowhere_says_nothing_of_the_place),
		host_test(a_link_to_itself_is_no_card),
		host_test(a_link_out_of_the_devices_is_no_card),
		host_test(a_file_or_folder_in_a_links_place_is_no_card),
		host_test(a_file_in_place_of_the_class_folder_is_an_error),
		host_test(absurdly_many_cpus_take_neither_hours_nor_all_memory),
		host_test(absurdly_many_nodes_take_neither_hours_nor_all_memory),
		host_test(absurdly_many_members_of_other_lists_are_bearable),
		host_test(a_megabyte_of_ranges_does_not_take_minutes),
	};
	int failed = run_matrix();

	return failed + cmocka_run_group_tests_name("malformed: the rest", tests, NULL, NULL);
}
