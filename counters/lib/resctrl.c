/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory bandwidth monitoring by resctrl: for each L3 cache the bytes that its CPUs moved to and
 * from memory, all of them and those of local memory (Documentation/filesystems/resctrl.rst). The
 * kernel folds the hardware's 24 to 62 bits into 64 itself.
 *
 * What a control group's tasks move is counted in its own files and not in those of the root, so
 * the groups are added up; they may come and go while we count. Monitoring groups are contained in
 * their control group's numbers.
 */
#include "../../probe/base/clock.h"
#include "backend.h"
#include "machine.h"
#include "sources.h"

#include <errno.h>
#include <fcntl.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESCTRL "sys/fs/resctrl"
#define MBM_TOTAL_FLAG "cqm_mbm_total"
#define MBM_LOCAL_FLAG "cqm_mbm_local"

/* Local first: what is moved between the two reads makes the remote part too large, not negative.
 */
enum kind { LOCAL, TOTAL, KINDS };

enum {
	PATH_SIZE = 512, /* a group's name has at most 255 bytes */
	TEXT_SIZE = 64,
	LIST_SIZE = 64,
	/* Caches times control groups: the hardware has a few hundred RMIDs at most. */
	PARTS_MAX = 4096,
};

static const char *const file_names[KINDS] = { "mbm_local_bytes", "mbm_total_bytes" };

/* An L3 cache, or a part of one where the kernel has no sum of the parts. */
struct domain {
	char *path; /* below a group's mon_data: "mon_L3_00", "mon_L3_00/mon_sub_L3_01" */
	bool has_socket;
	unsigned socket;
	unsigned die;
	bool has[KINDS];
	uint64_t ended[KINDS];     /* what groups counted that are there no more */
	uint64_t sum[KINDS];       /* as of the last reading that went well */
	enum nc_note notes[KINDS]; /* of the reading in work */
	uint64_t remote;
	bool has_remote; /* of a reading before */
};

/* A domain's files of one control group. */
struct part {
	size_t domain;
	char *group; /* "" = the root */
	int fds[KINDS];
	uint64_t counts[KINDS];
};

struct resctrl {
	struct nc_backend backend;
	struct np_sysroot root;
	uint64_t opened_ns;
	struct domain *domains;
	size_t domain_count;
	struct part *parts;
	size_t part_count;
	int folder_fd;      /* of RESCTRL; its times tell when groups come */
	struct stat folder; /* as of the last look for groups */
	bool must_look;     /* for groups, whatever the times say */
	bool is_incomplete; /* a group's files could not be opened: no sum is known */
};

/* ---- which cache is of which socket ---- */

/* Domains are numbered as cache/index3/id of the CPUs is (arch/x86/kernel/cpu/resctrl/core.c). */
static void find_socket(const struct np_sysroot *root, const struct nc_host *host, long id,
                        struct domain *domain)
{
	np_bitmap_for_each (cpu, nc_host_online(host)) {
		char path[PATH_SIZE];
		long found;

		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/cache/index3/id", cpu);
		if (np_sysroot_read_long(root, path, 0, INT32_MAX, &found, NULL) < 0 || found != id)
			continue;
		domain->has_socket = nc_host_socket_of(host, cpu, &domain->socket, &domain->die);
		return;
	}
}

/* ---- domains ---- */

static int add_domain(struct resctrl *resctrl, const struct nc_host *host, const char *path,
                      struct np_error *err)
{
	struct domain *grown;
	struct domain domain = { 0 };

	for (int kind = 0; kind < KINDS; kind++) {
		char file[PATH_SIZE];

		snprintf(file, sizeof(file), RESCTRL "/mon_data/%s/%s", path, file_names[kind]);
		domain.has[kind] = np_sysroot_has(&resctrl->root, file);
	}
	if (!domain.has[LOCAL] && !domain.has[TOTAL])
		return 0;
	find_socket(&resctrl->root, host, strtol(path + strlen("mon_L3_"), NULL, 10), &domain);
	domain.path = strdup(path);
	grown = reallocarray(resctrl->domains, resctrl->domain_count + 1, sizeof(*grown));
	if (grown)
		resctrl->domains = grown;
	if (!domain.path || !grown) {
		free(domain.path);
		return np_error_sys(err, ENOMEM, "resctrl");
	}
	resctrl->domains[resctrl->domain_count++] = domain;
	return 1;
}

/*
 * With sub-NUMA clusters the cache's folder holds the sums of its parts, each in a folder of its
 * own (Linux 6.11); the parts are read only where there is no sum.
 */
static int add_parts_of_domain(struct resctrl *resctrl, const struct nc_host *host,
                               const char *path, struct np_error *err)
{
	char folder[PATH_SIZE];
	char **names;
	int count;
	int rc = 0;

	snprintf(folder, sizeof(folder), RESCTRL "/mon_data/%s", path);
	count = np_sysroot_list(&resctrl->root, folder, &names, NULL);
	if (count < 0)
		return 0;
	for (int i = 0; i < count && rc >= 0; i++) {
		if (strncmp(names[i], "mon_sub_L3_", strlen("mon_sub_L3_")) != 0)
			continue;
		snprintf(folder, sizeof(folder), "%s/%s", path, names[i]);
		rc = add_domain(resctrl, host, folder, err);
	}
	free(names);
	return rc < 0 ? rc : 0;
}

static int find_domains(struct resctrl *resctrl, const struct nc_host *host, struct np_error *err)
{
	char **names;
	int count = np_sysroot_list(&resctrl->root, RESCTRL "/mon_data", &names, NULL);
	int rc = 0;

	if (count < 0)
		return 0;
	for (int i = 0; i < count && rc >= 0; i++) {
		if (strncmp(names[i], "mon_L3_", strlen("mon_L3_")) != 0)
			continue;
		rc = add_domain(resctrl, host, names[i], err);
		if (rc == 0)
			rc = add_parts_of_domain(resctrl, host, names[i], err);
	}
	free(names);
	return rc < 0 ? rc : 0;
}

/* ---- groups ---- */

static void close_part(struct part *part)
{
	for (int kind = 0; kind < KINDS; kind++)
		if (part->fds[kind] >= 0)
			close(part->fds[kind]);
	free(part->group);
}

static bool has_part(const struct resctrl *resctrl, const char *group, size_t domain)
{
	for (size_t i = 0; i < resctrl->part_count; i++)
		if (resctrl->parts[i].domain == domain &&
		    strcmp(resctrl->parts[i].group, group) == 0)
			return true;
	return false;
}

static int open_part(const struct resctrl *resctrl, struct part *part, struct np_error *err)
{
	const struct domain *domain = &resctrl->domains[part->domain];

	for (int kind = 0; kind < KINDS; kind++) {
		char path[PATH_SIZE];
		int rc;

		if (!domain->has[kind])
			continue;
		snprintf(path, sizeof(path), RESCTRL "/%s%smon_data/%s/%s", part->group,
		         *part->group ? "/" : "", domain->path, file_names[kind]);
		rc = np_sysroot_open_file(&resctrl->root, path, &part->fds[kind], err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int add_part(struct resctrl *resctrl, const char *group, size_t domain, struct np_error *err)
{
	struct part part = { .domain = domain, .group = strdup(group), .fds = { -1, -1 } };
	struct part *grown = NULL;
	int rc;

	if (resctrl->part_count >= PARTS_MAX) {
		free(part.group);
		return np_error_set(err, E2BIG, "resctrl: more than %d files of control groups",
		                    PARTS_MAX);
	}
	if (part.group)
		grown = reallocarray(resctrl->parts, resctrl->part_count + 1, sizeof(*grown));
	if (!grown) {
		free(part.group);
		return np_error_sys(err, ENOMEM, "resctrl");
	}
	resctrl->parts = grown;
	rc = open_part(resctrl, &part, err);
	if (rc < 0) {
		close_part(&part);
		return rc;
	}
	resctrl->parts[resctrl->part_count++] = part;
	return 0;
}

static int add_group(struct resctrl *resctrl, const char *group, struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < resctrl->domain_count && rc == 0; i++)
		if (!has_part(resctrl, group, i))
			rc = add_part(resctrl, group, i, err);
	return rc;
}

/* A folder of RESCTRL that has mon_data in it is a control group. */
static bool is_group(const struct np_sysroot *root, const char *name)
{
	char path[PATH_SIZE];

	if (strcmp(name, "info") == 0 || strcmp(name, "mon_groups") == 0)
		return false;
	snprintf(path, sizeof(path), RESCTRL "/%s/mon_data", name);
	return np_sysroot_has(root, path);
}

/* Opens what groups there are and were not before; a new one counts from 0 on. */
static int find_groups(struct resctrl *resctrl, struct np_error *err)
{
	char **names;
	int count = np_sysroot_list(&resctrl->root, RESCTRL, &names, err);
	int rc;

	if (count < 0)
		return count;
	rc = add_group(resctrl, "", err);
	for (int i = 0; i < count && rc == 0; i++)
		if (is_group(&resctrl->root, names[i]))
			rc = add_group(resctrl, names[i], err);
	free(names);
	return rc;
}

static void follow_groups(struct resctrl *resctrl)
{
	struct stat now = { 0 };

	if (fstat(resctrl->folder_fd, &now) == 0 && now.st_nlink == resctrl->folder.st_nlink &&
	    now.st_mtim.tv_sec == resctrl->folder.st_mtim.tv_sec &&
	    now.st_mtim.tv_nsec == resctrl->folder.st_mtim.tv_nsec && !resctrl->must_look)
		return;
	resctrl->folder = now;
	resctrl->is_incomplete = find_groups(resctrl, NULL) < 0;
	resctrl->must_look = resctrl->is_incomplete;
}

/* ---- reading ---- */

/*
 * The kernel writes "Unavailable" where the hardware has no count, "Unassigned" where it has no
 * counter for the group, and "Error".
 */
static enum nc_note read_count(int fd, uint64_t *ret)
{
	char text[TEXT_SIZE];
	int rc = nc_machine_pread(fd, text, sizeof(text));

	if (rc == -ENODEV || rc == -ENOENT)
		return NC_NOTE_GONE;
	return rc >= 0 && nc_machine_u64(text, ret) ? NC_NOTE_NONE : NC_NOTE_FAILED;
}

/* What a group has counted stays in the sums when it is removed. */
static void end_part(struct resctrl *resctrl, size_t index)
{
	struct part *part = &resctrl->parts[index];

	for (int kind = 0; kind < KINDS; kind++)
		resctrl->domains[part->domain].ended[kind] += part->counts[kind];
	close_part(part);
	*part = resctrl->parts[--resctrl->part_count];
	resctrl->must_look = true;
}

/* False when its group is gone. */
static bool read_part(struct resctrl *resctrl, struct part *part)
{
	enum nc_note *notes = resctrl->domains[part->domain].notes;
	bool is_there = true;

	for (int kind = 0; kind < KINDS; kind++) {
		enum nc_note note;

		if (part->fds[kind] < 0)
			continue;
		note = read_count(part->fds[kind], &part->counts[kind]);
		if (note == NC_NOTE_GONE && *part->group) {
			/* What it counted since the last reading is lost: unknown this once. */
			is_there = false;
			note = NC_NOTE_FAILED;
		}
		if (note != NC_NOTE_NONE && notes[kind] != NC_NOTE_GONE)
			notes[kind] = note;
	}
	return is_there;
}

static void read_parts(struct resctrl *resctrl)
{
	for (size_t i = 0; i < resctrl->domain_count; i++)
		for (int kind = 0; kind < KINDS; kind++)
			resctrl->domains[i].notes[kind] =
				resctrl->is_incomplete ? NC_NOTE_FAILED : NC_NOTE_NONE;
	for (size_t i = 0; i < resctrl->part_count;) {
		if (read_part(resctrl, &resctrl->parts[i]))
			i++;
		else
			end_part(resctrl, i);
	}
}

static uint64_t sum_of(const struct resctrl *resctrl, size_t domain, enum kind kind)
{
	uint64_t sum = resctrl->domains[domain].ended[kind];

	for (size_t i = 0; i < resctrl->part_count; i++)
		if (resctrl->parts[i].domain == domain)
			sum += resctrl->parts[i].counts[kind];
	return sum;
}

/*
 * Total less local. The two are counted and read apart, so local can be ahead by a little: then the
 * remote part has not grown, and makes up for it later. A fall of one of them is handed on, for it
 * means that the count began anew.
 */
static void update_remote(struct domain *domain, const uint64_t sum[KINDS])
{
	uint64_t remote = sum[TOTAL] > sum[LOCAL] ? sum[TOTAL] - sum[LOCAL] : 0;
	bool fell = sum[TOTAL] < domain->sum[TOTAL] || sum[LOCAL] < domain->sum[LOCAL];

	if (!domain->has_remote || fell || remote > domain->remote)
		domain->remote = remote;
	domain->has_remote = true;
}

static enum nc_note worse(enum nc_note a, enum nc_note b)
{
	return a != NC_NOTE_NONE ? a : b;
}

/* Fills the readings of a domain, in the order of add_counters(); how many. */
static size_t fill_readings(struct resctrl *resctrl, size_t index, uint64_t time_ns,
                            struct nc_reading *readings)
{
	struct domain *domain = &resctrl->domains[index];
	const enum nc_note *notes = domain->notes;
	struct nc_reading reading = { .enabled_ns = time_ns, .running_ns = time_ns };
	enum nc_note remote_note = worse(notes[LOCAL], notes[TOTAL]);
	uint64_t sum[KINDS];
	size_t count = 0;

	for (int kind = 0; kind < KINDS; kind++)
		sum[kind] = notes[kind] == NC_NOTE_NONE ? sum_of(resctrl, index, (enum kind)kind)
		                                        : domain->sum[kind];
	if (remote_note == NC_NOTE_NONE)
		update_remote(domain, sum);
	memcpy(domain->sum, sum, sizeof(sum));

	for (int kind = 0; kind < KINDS; kind++) {
		if (!domain->has[kind])
			continue;
		reading.raw = sum[kind];
		reading.note = notes[kind];
		readings[count++] = reading;
	}
	if (domain->has[LOCAL] && domain->has[TOTAL]) {
		reading.raw = domain->remote;
		reading.note = remote_note;
		readings[count++] = reading;
	}
	return count;
}

static int resctrl_read(struct nc_backend *backend, uint64_t time_ns, struct nc_reading *readings,
                        struct np_error *err)
{
	struct resctrl *resctrl = (struct resctrl *)backend;
	size_t at = 0;
	bool is_gone = true;

	follow_groups(resctrl);
	read_parts(resctrl);
	for (size_t i = 0; i < resctrl->domain_count; i++) {
		size_t count =
			fill_readings(resctrl, i, time_ns - resctrl->opened_ns, readings + at);

		for (size_t j = 0; j < count; j++)
			is_gone &= readings[at + j].note == NC_NOTE_GONE;
		at += count;
	}
	if (is_gone)
		return np_error_set(err, ENODATA, "resctrl: its files are gone: it was unmounted");
	return 0;
}

static void resctrl_close(struct nc_backend *backend)
{
	struct resctrl *resctrl = (struct resctrl *)backend;

	for (size_t i = 0; i < resctrl->part_count; i++)
		close_part(&resctrl->parts[i]);
	for (size_t i = 0; i < resctrl->domain_count; i++)
		free(resctrl->domains[i].path);
	if (resctrl->folder_fd >= 0)
		close(resctrl->folder_fd);
	np_sysroot_close(&resctrl->root);
	free(resctrl->domains);
	free(resctrl->parts);
	free(resctrl);
}

static const struct nc_backend_ops resctrl_ops = { .read = resctrl_read, .close = resctrl_close };

/* ---- why not ---- */

static int refuse_processor(const struct np_sysroot *root, struct nc_source_state *ret)
{
	if (nc_machine_is_virtual(root))
		return nc_refuse(
			ret, "count on the host itself",
			"this is a virtual machine, and its hypervisor hides memory bandwidth "
			"monitoring (no " MBM_TOTAL_FLAG " among the processor's flags)");
	return nc_refuse(ret, "",
	                 "the processor has no memory bandwidth monitoring (no " MBM_TOTAL_FLAG
	                 " among its flags)");
}

/* Why there are no counts, decided by what lies deepest. */
static int refuse(const struct np_sysroot *root, struct nc_source_state *ret)
{
	enum nc_flag total = nc_machine_flag(root, MBM_TOTAL_FLAG);
	enum nc_flag local = nc_machine_flag(root, MBM_LOCAL_FLAG);

	if (total == NC_FLAG_ABSENT && local == NC_FLAG_ABSENT)
		return refuse_processor(root, ret);
	if (np_sysroot_has(root, RESCTRL "/info")) {
		const char *remedy = "";

		if (total != NC_FLAG_UNKNOWN)
			remedy = "boot without rdt=!mbmtotal,!mbmlocal if the kernel's command "
				 "line has it";
		return nc_refuse(ret, remedy,
		                 "resctrl is mounted, but it counts no memory bandwidth "
		                 "(no mbm_total_bytes or mbm_local_bytes in mon_data)");
	}
	if (nc_machine_has_word(root, "proc/filesystems", "resctrl"))
		return nc_refuse(ret, "as root: mount -t resctrl resctrl /sys/fs/resctrl",
		                 "the file system resctrl is not mounted");
	if (!np_sysroot_has(root, "proc/filesystems"))
		return nc_refuse(ret, "",
		                 "there is no " RESCTRL
		                 ", and no proc/filesystems that would tell why");
	if (total == NC_FLAG_UNKNOWN)
		return nc_refuse(ret, "",
		                 "the kernel has no resctrl file system for this processor");
	return nc_refuse(ret, "boot a kernel built with CONFIG_X86_CPU_RESCTRL",
	                 "the kernel has no resctrl file system, though the processor "
	                 "counts memory bandwidth (" MBM_TOTAL_FLAG ")");
}

/* ---- opening ---- */

static int resctrl_create(const struct nc_host *host, struct resctrl **ret, struct np_error *err)
{
	struct resctrl *resctrl = calloc(1, sizeof(*resctrl));
	int rc;

	if (!resctrl)
		return np_error_sys(err, ENOMEM, "resctrl");
	resctrl->backend.ops = &resctrl_ops;
	resctrl->folder_fd = -1;
	resctrl->root.fd = -1;
	resctrl->opened_ns = np_now_ns();
	rc = np_sysroot_open(nc_host_root(host), &resctrl->root, err);
	if (rc == 0)
		rc = find_domains(resctrl, host, err);
	if (rc < 0)
		resctrl_close(&resctrl->backend);
	else
		*ret = resctrl;
	return rc;
}

static int open_files(struct resctrl *resctrl, struct np_error *err)
{
	resctrl->folder_fd =
		openat(resctrl->root.fd, RESCTRL, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (resctrl->folder_fd < 0 || fstat(resctrl->folder_fd, &resctrl->folder) < 0)
		return np_error_sys(err, errno, "%s/" RESCTRL, resctrl->root.path);
	return find_groups(resctrl, err);
}

static int add_counters(const struct resctrl *resctrl, struct nc_counters *counters,
                        struct np_error *err)
{
	static const enum nc_class classes[KINDS] = {
		[LOCAL] = NC_CLASS_CPU_MEMORY_LOCAL,
		[TOTAL] = NC_CLASS_CPU_MEMORY_TOTAL,
	};
	int rc = 0;

	for (size_t i = 0; i < resctrl->domain_count && rc == 0; i++) {
		const struct domain *domain = &resctrl->domains[i];
		struct nc_counter counter = {
			.box = domain->path,
			.units = 1,
			.per = 1,
			.has_socket = domain->has_socket,
			.socket = domain->socket,
			.die = domain->die,
			.group = (unsigned)i,
		};

		for (int kind = 0; kind < KINDS && rc == 0; kind++) {
			if (!domain->has[kind])
				continue;
			counter.what = classes[kind];
			counter.name = file_names[kind];
			rc = nc_append_counter(counters, &counter, err);
		}
		if (rc == 0 && domain->has[LOCAL] && domain->has[TOTAL]) {
			counter.what = NC_CLASS_CPU_MEMORY_REMOTE;
			counter.name = "mbm_total_bytes - mbm_local_bytes";
			rc = nc_append_counter(counters, &counter, err);
		}
	}
	return rc;
}

int nc_resctrl_open(const struct nc_host *host, struct nc_counters *ret_counters,
                    struct nc_backend **ret, struct np_error *err)
{
	struct nc_source_state state = { 0 };
	struct resctrl *resctrl;
	int rc = resctrl_create(host, &resctrl, err);

	if (rc < 0)
		return rc;
	if (resctrl->domain_count == 0) {
		refuse(&resctrl->root, &state);
		rc = nc_refused(&state, err);
	}
	if (rc == 0)
		rc = open_files(resctrl, err);
	if (rc == 0)
		rc = add_counters(resctrl, ret_counters, err);
	if (rc < 0)
		resctrl_close(&resctrl->backend);
	else
		*ret = &resctrl->backend;
	return rc;
}

static void describe(const struct resctrl *resctrl, char *buf, size_t size)
{
	struct np_bitmap sockets = { 0 };
	char named[LIST_SIZE];
	bool has_remote = true;

	for (size_t i = 0; i < resctrl->domain_count; i++) {
		const struct domain *domain = &resctrl->domains[i];

		has_remote &= domain->has[LOCAL] && domain->has[TOTAL];
		if (domain->has_socket)
			np_bitmap_add(&sockets, domain->socket);
	}
	snprintf(buf, size, "%zu L3 cache%s on %s%s", resctrl->domain_count,
	         resctrl->domain_count == 1 ? "" : "s",
	         np_bitmap_is_empty(&sockets)
	                 ? "no known socket"
	                 : np_cpulist_named("socket", &sockets, named, sizeof(named)),
	         has_remote ? "" : "; remote traffic is not told apart");
	np_bitmap_release(&sockets);
}

int nc_resctrl_look(const struct nc_host *host, struct nc_source_state *ret, struct np_error *err)
{
	struct resctrl *resctrl;
	int rc = resctrl_create(host, &resctrl, err);

	if (rc < 0)
		return rc;
	if (resctrl->domain_count == 0) {
		refuse(&resctrl->root, ret);
	} else {
		ret->availability = NC_AVAILABLE;
		describe(resctrl, ret->finds, sizeof(ret->finds));
	}
	resctrl_close(&resctrl->backend);
	return 0;
}
