/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CPU "sys/devices/system/cpu/"
#define NODE "sys/devices/system/node/"
#define CARD "sys/devices/pci0000:81/0000:81:00.0/"

/* Beginning with those that decide most, as a short input has only these. */
const struct tree_file tree_files[] = {
	{ CPU "online", "0-3\n" },
	{ NODE "online", "0-1\n" },
	{ NODE "node0/cpulist", "0-1\n" },
	{ NODE "node1/cpulist", "2-3\n" },
	{ NODE "node0/distance", "10 20\n" },
	{ NODE "node1/distance", "20 10\n" },
	{ CARD "numa_node", "1\n" },
	{ CARD "local_cpulist", "2-3\n" },
	{ CPU "present", "0-3\n" },
	{ CPU "isolated", "\n" },
	{ NODE "possible", "0-1\n" },
	{ NODE "has_memory", "0-1\n" },
	{ NODE "node0/meminfo", "Node 0 MemTotal: 64 kB\nNode 0 MemFree: 32 kB\n" },
	{ NODE "node0/cpumap", NULL },
	{ CPU "cpu0/topology/physical_package_id", "0\n" },
	{ CPU "cpu0/topology/core_id", "0\n" },
	{ CPU "cpu0/topology/package_cpus_list", "0-1\n" },
	{ CPU "cpu0/topology/core_siblings_list", NULL },
	{ CPU "cpu0/topology/core_siblings", NULL },
	{ CPU "cpu0/topology/core_cpus_list", "0\n" },
	{ CPU "cpu0/topology/thread_siblings_list", NULL },
	{ CPU "cpu0/topology/thread_siblings", NULL },
	{ CPU "cpu0/cache/index3/level", "3\n" },
	{ CPU "cpu0/cache/index3/shared_cpu_list", "0-1\n" },
	{ CPU "cpu0/cache/index3/shared_cpu_map", NULL },
	{ CPU "cpu0/cache/index3/size", "32K\n" },
	{ CARD "net/eth0/speed", "1000\n" },
	{ CARD "net/eth0/operstate", "up\n" },
	{ "proc/self/status", NULL },
	{ "proc/self/cgroup", NULL },
	{ "proc/self/cpuset", NULL },
	{ "proc/mounts", NULL },
	{ "sys/fs/cgroup/job/cpuset.cpus.effective", NULL },
	{ "sys/fs/cgroup/job/cpuset.mems.effective", NULL },
};

const size_t tree_file_count = sizeof(tree_files) / sizeof(tree_files[0]);

static char root[256];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void remove_root(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void give_up(const char *path)
{
	fprintf(stderr, "cannot write %s/%s: %s\n", root, path, strerror(errno));
	exit(1);
}

const char *tree_root(void)
{
	const char *tmp = getenv("TMPDIR");

	if (root[0])
		return root;
	if (!tmp || !*tmp)
		tmp = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(root, sizeof(root), "%s/numakit-fuzz-XXXXXX", tmp);
	if (!mkdtemp(root)) {
		root[0] = '\0';
		give_up("");
	}
	atexit(remove_root);
	return root;
}

static void make_parents(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			give_up(path);
		*slash = '/';
	}
}

/* The absolute name, with its folders made and nothing there. */
static void make_room(const char *path, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/%s", tree_root(), path);
	if (remove(ret) < 0 && errno == ENOENT)
		make_parents(ret);
}

void tree_put(const char *path, const char *content, size_t size)
{
	char full[PATH_MAX];
	int fd;

	make_room(path, full);
	if (!content)
		return;
	fd = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 || write(fd, content, size) != (ssize_t)size)
		give_up(path);
	close(fd);
}

void tree_put_folder(const char *path)
{
	char full[PATH_MAX];

	make_room(path, full);
	if (mkdir(full, 0777) < 0)
		give_up(path);
}

void tree_put_link(const char *path, const char *target)
{
	char full[PATH_MAX];

	make_room(path, full);
	if (symlink(target, full) < 0)
		give_up(path);
}

void tree_put_back(const struct tree_file *file)
{
	tree_put(file->path, file->text, file->text ? strlen(file->text) : 0);
}

static void put_text(const char *path, const char *text)
{
	tree_put(path, text, strlen(text));
}

/* CPUs 1 to 3; CPU 0's files are in the table. */
static void put_cpu(unsigned cpu)
{
	const char *package = cpu < 2 ? "0-1\n" : "2-3\n";
	char path[128];
	char own[16];

	snprintf(own, sizeof(own), "%u\n", cpu);
	snprintf(path, sizeof(path), CPU "cpu%u/topology/package_cpus_list", cpu);
	put_text(path, package);
	snprintf(path, sizeof(path), CPU "cpu%u/topology/core_cpus_list", cpu);
	put_text(path, own);
	snprintf(path, sizeof(path), CPU "cpu%u/topology/core_id", cpu);
	put_text(path, own);
	snprintf(path, sizeof(path), CPU "cpu%u/cache/index3/level", cpu);
	put_text(path, "3\n");
	snprintf(path, sizeof(path), CPU "cpu%u/cache/index3/shared_cpu_list", cpu);
	put_text(path, package);
}

void tree_put_host(void)
{
	for (size_t i = 0; i < tree_file_count; i++)
		tree_put_back(&tree_files[i]);
	for (unsigned cpu = 1; cpu < 4; cpu++)
		put_cpu(cpu);
	tree_put_link("sys/class/net/eth0", "../../devices/pci0000:81/0000:81:00.0/net/eth0");
	tree_put_link("sys/bus/pci/devices/0000:81:00.0",
	              "../../../devices/pci0000:81/0000:81:00.0");
}
