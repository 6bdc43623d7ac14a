/* SPDX-License-Identifier: BSD-3-Clause */
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LIST_SIZE = 1024, MASK_GROUP_BITS = 32, MADE_MAX = 256 };

static void give_up(const char *what, const char *path)
{
	fail_msg("%s %s: %s", what, path, strerrordesc_np(errno));
}

static void join(const struct host *host, const char *path, char *buf)
{
	if (snprintf(buf, PATH_MAX, "%s/%s", host->dir, path) >= PATH_MAX)
		fail_msg("too long a path: %s", path);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void remove_tree(const char *path)
{
	if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
		give_up("remove", path);
}

/*
 * The folders to remove at the end: a test that fails jumps over its own cleaning. Only in the
 * process that made them; a child of ours that ends must leave them be.
 */
static char made[MADE_MAX][256];
static size_t made_count;
static pid_t maker;

static void remove_made(void)
{
	if (getpid() != maker)
		return;
	for (size_t i = 0; i < made_count; i++)
		nftw(made[i], remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void remember(const char *folder)
{
	if (made_count == 0) {
		maker = getpid();
		atexit(remove_made);
	}
	if (made_count < MADE_MAX)
		snprintf(made[made_count++], sizeof(made[0]), "%s", folder);
}

void make_temporary(char *buf, size_t size)
{
	const char *tmp = getenv("TMPDIR");

	if (!tmp || !*tmp)
		tmp = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	if ((size_t)snprintf(buf, size, "%s/numakit-XXXXXX", tmp) >= size)
		fail_msg("TMPDIR is too long: %s", tmp);
	if (!mkdtemp(buf))
		give_up("make a temporary folder", buf);
	remember(buf);
}

int host_create(void **state)
{
	struct host *host = calloc(1, sizeof(*host));
	struct np_error err = { 0 };

	assert_non_null(host);
	make_temporary(host->dir, sizeof(host->dir));
	assert_np_ok(np_sysroot_open(host->dir, &host->root, &err), &err);
	*state = host;
	return 0;
}

int host_destroy(void **state)
{
	struct host *host = *state;

	np_sysroot_close(&host->root);
	remove_tree(host->dir);
	free(host);
	return 0;
}

/* Makes the folders above the last part of the absolute @path. */
static void make_parents(const char *path)
{
	char folder[PATH_MAX];

	snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	if (access(folder, F_OK) == 0)
		return;
	snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strchr(folder + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(folder, 0777) < 0 && errno != EEXIST)
			give_up("make folder", folder);
		*slash = '/';
	}
}

/* The absolute name of @path, with its folders made and nothing there. */
static void make_room(const struct host *host, const char *path, char *ret)
{
	struct stat st;

	join(host, path, ret);
	if (lstat(ret, &st) == 0)
		remove_tree(ret);
	else
		make_parents(ret);
}

void host_write_bytes(const struct host *host, const char *path, const void *bytes, size_t size)
{
	char full[PATH_MAX];
	int fd;

	make_room(host, path, full);
	fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		give_up("create", full);
	if (write(fd, bytes, size) != (ssize_t)size)
		give_up("write", full);
	close(fd);
}

void host_write(const struct host *host, const char *path, const char *text)
{
	host_write_bytes(host, path, text, strlen(text));
}

void host_rewrite(const struct host *host, const char *path, const char *text)
{
	char full[PATH_MAX];
	int fd;

	join(host, path, full);
	fd = open(full, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		give_up("open", full);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		give_up("write", full);
	close(fd);
}

void host_write_cpu(const struct host *host, unsigned cpu, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), CPU_DIR "/cpu%u/%s", cpu, file);
	host_write(host, path, text);
}

void host_write_node(const struct host *host, unsigned node, const char *file, const char *text)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), NODE_DIR "/node%u/%s", node, file);
	host_write(host, path, text);
}

void host_link(const struct host *host, const char *path, const char *target)
{
	char full[PATH_MAX];

	make_room(host, path, full);
	if (symlink(target, full) < 0)
		give_up("link", full);
}

void host_fifo(const struct host *host, const char *path)
{
	char full[PATH_MAX];

	make_room(host, path, full);
	if (mkfifo(full, 0666) < 0)
		give_up("make pipe", full);
}

void host_mkdir(const struct host *host, const char *path)
{
	char full[PATH_MAX];

	make_room(host, path, full);
	if (mkdir(full, 0777) < 0)
		give_up("make folder", full);
}

void host_remove(const struct host *host, const char *path)
{
	char full[PATH_MAX];

	join(host, path, full);
	remove_tree(full);
}

/* ---- a whole sysfs ---- */

static unsigned thread_count(const struct host_shape *shape)
{
	return shape->threads_per_core ? shape->threads_per_core : 1;
}

static unsigned cpu_count(const struct host_shape *shape)
{
	return shape->node_count * shape->cores_per_node * thread_count(shape);
}

/* The list of the CPUs of @cores cores from @first on, in all their threads. */
static void print_cpus(const struct host_shape *shape, unsigned first, unsigned cores, char *buf)
{
	unsigned core_count = shape->node_count * shape->cores_per_node;
	int used = 0;

	buf[0] = '\0';
	for (unsigned t = 0; t < thread_count(shape) && cores > 0; t++) {
		unsigned cpu = t * core_count + first;

		used += snprintf(buf + used, LIST_SIZE - (size_t)used, "%s%u", t ? "," : "", cpu);
		if (cores > 1)
			used += snprintf(buf + used, LIST_SIZE - (size_t)used, "-%u",
			                 cpu + cores - 1);
	}
	snprintf(buf + used, LIST_SIZE - (size_t)used, "\n");
}

/* The same as the kernel's mask. */
static void print_mask(const struct host_shape *shape, unsigned first, unsigned cores, char *buf)
{
	unsigned core_count = shape->node_count * shape->cores_per_node;
	unsigned groups = (cpu_count(shape) + MASK_GROUP_BITS - 1) / MASK_GROUP_BITS;
	int used = 0;

	for (unsigned g = groups; g-- > 0;) {
		uint32_t bits = 0;

		for (unsigned b = 0; b < MASK_GROUP_BITS; b++) {
			unsigned core = (g * MASK_GROUP_BITS + b) % core_count;
			bool exists = g * MASK_GROUP_BITS + b < cpu_count(shape);

			if (exists && core >= first && core < first + cores)
				bits |= UINT32_C(1) << b;
		}
		used += snprintf(buf + used, LIST_SIZE - (size_t)used, "%08x%s", bits,
		                 g > 0 ? "," : "\n");
	}
}

static void write_number(const struct host *host, unsigned cpu, const char *file, unsigned number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u\n", number);
	host_write_cpu(host, cpu, file, text);
}

static void build_cpu(const struct host *host, const struct host_shape *shape, unsigned cpu)
{
	unsigned core = cpu % (shape->node_count * shape->cores_per_node);
	unsigned node = core / shape->cores_per_node;
	unsigned first = node * shape->cores_per_node;
	char list[LIST_SIZE];
	char mask[LIST_SIZE];

	print_cpus(shape, first, shape->cores_per_node, list);
	print_mask(shape, first, shape->cores_per_node, mask);
	write_number(host, cpu, "topology/physical_package_id", node);
	host_write_cpu(host, cpu, "topology/package_cpus_list", list);
	host_write_cpu(host, cpu, "topology/core_siblings_list", list);
	host_write_cpu(host, cpu, "topology/core_siblings", mask);
	write_number(host, cpu, "cache/index3/level", 3);
	host_write_cpu(host, cpu, "cache/index3/size", "16384K\n");
	host_write_cpu(host, cpu, "cache/index3/shared_cpu_list", list);
	host_write_cpu(host, cpu, "cache/index3/shared_cpu_map", mask);

	print_cpus(shape, core, 1, list);
	print_mask(shape, core, 1, mask);
	write_number(host, cpu, "topology/core_id", core - first);
	host_write_cpu(host, cpu, "topology/core_cpus_list", list);
	host_write_cpu(host, cpu, "topology/thread_siblings_list", list);
	host_write_cpu(host, cpu, "topology/thread_siblings", mask);
	write_number(host, cpu, "cache/index0/level", 1);
	host_write_cpu(host, cpu, "cache/index0/size", "32K\n");
	host_write_cpu(host, cpu, "cache/index0/shared_cpu_list", list);
	host_write_cpu(host, cpu, "cache/index0/shared_cpu_map", mask);
}

static void build_node(const struct host *host, const struct host_shape *shape, unsigned node)
{
	unsigned count = shape->node_count;
	char text[1024];
	int used = 0;

	print_cpus(shape, node * shape->cores_per_node, shape->cores_per_node, text);
	host_write_node(host, node, "cpulist", text);
	print_mask(shape, node * shape->cores_per_node, shape->cores_per_node, text);
	host_write_node(host, node, "cpumap", text);

	for (unsigned to = 0; to < count; to++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%u%s",
		                 shape->distances ? shape->distances[node * count + to]
		                 : to == node     ? 10u
		                                  : 20u,
		                 to + 1 < count ? " " : "\n");
	host_write_node(host, node, "distance", text);
	snprintf(text, sizeof(text),
	         "Node %u MemTotal:       16777216 kB\nNode %u MemFree:        8388608 kB\n", node,
	         node);
	host_write_node(host, node, "meminfo", text);
}

static void build_nic(const struct host *host, const struct host_nic *nic)
{
	char folder[128];
	char path[PATH_MAX];
	char text[160];

	snprintf(folder, sizeof(folder), "sys/devices/pci%.7s/%s", nic->pci, nic->pci);
	snprintf(path, sizeof(path), "%s/numa_node", folder);
	snprintf(text, sizeof(text), "%ld\n", nic->numa_node);
	host_write(host, path, text);
	snprintf(path, sizeof(path), "%s/class", folder);
	host_write(host, path, "0x020000\n");
	if (nic->local_cpulist) {
		snprintf(path, sizeof(path), "%s/local_cpulist", folder);
		host_write(host, path, nic->local_cpulist);
	}
	snprintf(path, sizeof(path), "%s/net/%s/operstate", folder, nic->name);
	host_write(host, path, "up\n");
	snprintf(path, sizeof(path), "%s/net/%s/speed", folder, nic->name);
	host_write(host, path, "100000\n");

	snprintf(path, sizeof(path), NET_DIR "/%s", nic->name);
	snprintf(text, sizeof(text), "../../devices/pci%.7s/%s/net/%s", nic->pci, nic->pci,
	         nic->name);
	host_link(host, path, text);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/%s", nic->pci);
	snprintf(text, sizeof(text), "../../../devices/pci%.7s/%s", nic->pci, nic->pci);
	host_link(host, path, text);
}

/* "0-3", or "0" for one. */
static void write_range(const struct host *host, const char *path, unsigned count)
{
	char text[32];

	snprintf(text, sizeof(text), count > 1 ? "0-%u\n" : "%u\n", count - 1);
	host_write(host, path, text);
}

void host_build(const struct host *host, const struct host_shape *shape)
{
	write_range(host, CPU_DIR "/online", cpu_count(shape));
	write_range(host, CPU_DIR "/present", cpu_count(shape));
	host_write(host, CPU_DIR "/isolated", "\n");
	for (unsigned cpu = 0; cpu < cpu_count(shape); cpu++)
		build_cpu(host, shape, cpu);

	write_range(host, NODE_DIR "/online", shape->node_count);
	write_range(host, NODE_DIR "/possible", shape->node_count);
	write_range(host, NODE_DIR "/has_memory", shape->node_count);
	for (unsigned node = 0; node < shape->node_count; node++)
		build_node(host, shape, node);

	host_write(host, "sys/devices/virtual/net/lo/operstate", "unknown\n");
	host_link(host, NET_DIR "/lo", "../../devices/virtual/net/lo");
	for (size_t i = 0; i < HOST_NICS_MAX && shape->nics[i].name; i++)
		build_nic(host, &shape->nics[i]);
}

/* ---- loading ---- */

static int load(const struct host *host, unsigned scope, const char *const devices[],
                struct np_topology **ret, struct np_error *err)
{
	struct np_topology_source source = {
		.root = host->dir,
		.scope = scope,
		.devices = devices,
	};

	while (devices && devices[source.device_count])
		source.device_count++;
	return np_topology_load(&source, ret, err);
}

struct np_topology *host_load(const struct host *host, unsigned scope, const char *const devices[])
{
	struct np_topology *topology = NULL;
	struct np_error err = { 0 };

	assert_np_ok(load(host, scope, devices, &topology, &err), &err);
	return topology;
}

int host_load_fails(const struct host *host, unsigned scope, const char *const devices[],
                    struct np_error *err)
{
	struct np_topology *topology = NULL;
	int rc = load(host, scope, devices, &topology, err);

	if (rc >= 0) {
		np_topology_free(topology);
		fail_msg("loading %s succeeded, but it should not", host->dir);
	}
	return rc;
}

void assert_note(const struct np_topology *topology, const char *part)
{
	size_t count = np_topology_note_count(topology);

	for (size_t i = 0; i < count; i++)
		if (strstr(np_topology_note(topology, i), part))
			return;
	for (size_t i = 0; i < count; i++)
		print_error("note: %s\n", np_topology_note(topology, i));
	fail_msg("no note with '%s' among these %zu", part, count);
}
