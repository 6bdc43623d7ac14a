/* SPDX-License-Identifier: BSD-3-Clause */
#include "machine.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A processor's part of proc/cpuinfo is below 3 KiB; the file is as long as there are processors.
 */
enum { CPUINFO_BYTES = 16384 };

/* include/uapi/linux/capability.h; older headers lack CAP_PERFMON. */
enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38 };

/* Whether @word stands in @text, alone between white space, before @end. */
static bool has_word(const char *text, const char *end, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(text, word); at && at + len <= end;
	     at = strstr(at + 1, word)) {
		bool begins = at == text || isspace((unsigned char)at[-1]);

		if (begins && (at + len == end || isspace((unsigned char)at[len])))
			return true;
	}
	return false;
}

/* The value of the line "KEY<white space>: VALUE" or "KEY:<white space>VALUE"; NULL = no line. */
static const char *find_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		const char *at;

		line += *line == '\n';
		if (strncmp(line, key, len) != 0)
			continue;
		at = line + len + strspn(line + len, " \t");
		if (*at == ':')
			return at + 1 + strspn(at + 1, " \t");
	}
	return NULL;
}

static const char *line_end(const char *line)
{
	return line + strcspn(line, "\n");
}

enum nc_flag nc_machine_flag(const struct np_sysroot *root, const char *flag)
{
	char text[CPUINFO_BYTES];
	const char *flags;
	int fd;
	int rc = np_sysroot_open_file(root, "proc/cpuinfo", &fd, NULL);

	if (rc < 0)
		return NC_FLAG_UNKNOWN;
	rc = nc_machine_pread(fd, text, sizeof(text));
	close(fd);
	if (rc < 0)
		return NC_FLAG_UNKNOWN;
	flags = find_line(text, "flags");
	if (!flags)
		return NC_FLAG_UNKNOWN;
	return has_word(flags, line_end(flags), flag) ? NC_FLAG_PRESENT : NC_FLAG_ABSENT;
}

bool nc_machine_is_virtual(const struct np_sysroot *root)
{
	/* On x86 CPUID tells; elsewhere Xen does, and some device trees. */
	return nc_machine_flag(root, "hypervisor") == NC_FLAG_PRESENT ||
	       np_sysroot_has(root, "sys/hypervisor/type") ||
	       np_sysroot_has(root, "proc/device-tree/hypervisor");
}

bool nc_machine_has_word(const struct np_sysroot *root, const char *path, const char *word)
{
	char *text;
	bool found;

	if (np_sysroot_read(root, path, &text, NULL) < 0)
		return false;
	found = has_word(text, text + strlen(text), word);
	free(text);
	return found;
}

/* Whether modules.builtin has "…/NAME.ko", where the name may have dashes for underscores. */
static bool is_built_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = strstr(list, ".ko"); at; at = strstr(at + 1, ".ko")) {
		const char *file = at - list > (ptrdiff_t)len ? at - len : NULL;
		size_t i = 0;

		if (!file || file[-1] != '/')
			continue;
		while (i < len && (name[i] == file[i] || (name[i] == '_' && file[i] == '-')))
			i++;
		if (i == len)
			return true;
	}
	return false;
}

enum nc_module nc_machine_module(const struct np_sysroot *root, const char *name)
{
	char path[PATH_MAX];
	char *release = NULL;
	char *list = NULL;
	bool built_in = false;

	if (nc_machine_has_word(root, "proc/modules", name))
		return NC_MODULE_LOADED;
	if (np_sysroot_read(root, "proc/sys/kernel/osrelease", &release, NULL) < 0)
		return NC_MODULE_NOT_LOADED;
	if (snprintf(path, sizeof(path), "lib/modules/%s/modules.builtin", release) <
	            (int)sizeof(path) &&
	    np_sysroot_read(root, path, &list, NULL) >= 0)
		built_in = is_built_in(list, name);
	free(list);
	free(release);
	return built_in ? NC_MODULE_BUILT_IN : NC_MODULE_NOT_LOADED;
}

/* The kernel writes "[none] integrity confidentiality" with the present one in brackets. */
static void read_lockdown(const struct np_sysroot *root, char *buf, size_t size)
{
	char *text = NULL;
	char *begin;

	*buf = '\0';
	if (np_sysroot_read(root, "sys/kernel/security/lockdown", &text, NULL) < 0)
		return;
	begin = strchr(text, '[');
	if (begin) {
		begin[strcspn(begin, "]")] = '\0';
		if (strcmp(begin + 1, "none") != 0)
			snprintf(buf, size, "%s", begin + 1);
	}
	free(text);
}

static void read_status(const struct np_sysroot *root, struct nc_rights *ret)
{
	char *text;
	const char *value;

	if (np_sysroot_read(root, "proc/self/status", &text, NULL) < 0)
		return;
	value = find_line(text, "CapEff");
	if (value) {
		uint64_t effective = strtoull(value, NULL, 16);

		ret->is_capable = effective >> CAPABILITY_PERFMON & 1 ||
		                  effective >> CAPABILITY_SYS_ADMIN & 1;
	}
	value = find_line(text, "Seccomp");
	ret->is_filtered = value && strtol(value, NULL, 10) != 0;
	free(text);
}

/* The first user namespace maps all numbers to themselves (user_namespaces(7)). */
static bool in_user_namespace(const struct np_sysroot *root)
{
	unsigned long inside, outside, count;
	char *text;
	bool is_first = true;

	if (np_sysroot_read(root, "proc/self/uid_map", &text, NULL) < 0)
		return false;
	if (sscanf(text, "%lu %lu %lu", &inside, &outside, &count) == 3)
		is_first = inside == 0 && outside == 0 && count == UINT32_MAX;
	free(text);
	return !is_first;
}

void nc_machine_rights(const struct np_sysroot *root, struct nc_rights *ret)
{
	long last = 0;

	*ret = (struct nc_rights){ .knows_perfmon = true };
	ret->has_paranoid = np_sysroot_read_long(root, "proc/sys/kernel/perf_event_paranoid",
	                                         INT_MIN, INT_MAX, &ret->paranoid, NULL) == 0;
	if (np_sysroot_read_long(root, "proc/sys/kernel/cap_last_cap", 0, INT_MAX, &last, NULL) ==
	    0)
		ret->knows_perfmon = last >= CAPABILITY_PERFMON;
	read_status(root, ret);
	ret->in_user_namespace = in_user_namespace(root);
	read_lockdown(root, ret->lockdown, sizeof(ret->lockdown));
}

int nc_machine_pread(int fd, char *buf, size_t size)
{
	size_t len = 0;
	ssize_t n;

	do {
		n = pread(fd, buf + len, size - 1 - len, (off_t)len);
		if (n > 0)
			len += (size_t)n;
	} while ((n > 0 && len < size - 1) || (n < 0 && errno == EINTR));
	if (n < 0)
		return -errno;
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return (int)len;
}

bool nc_machine_u64(const char *text, uint64_t *ret)
{
	char *end;
	uintmax_t value;

	/* strtoumax takes leading space and signs; no kernel writes them. */
	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoumax(text, &end, 10);
	if (errno || *end != '\0' || value > UINT64_MAX)
		return false;
	*ret = value;
	return true;
}
