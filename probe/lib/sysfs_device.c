/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices from sysfs: finds a device's folder under sys/devices and climbs from there, as a virtio
 * interface, a namespace or a partition has no numa_node of its own but its PCI parent has. Of an
 * interface that stands on others it does so with the cards under it (sysfs_lower.c).
 */
#include "topology_data.h"

#include "device_spec.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES_DIR "sys/devices/"
#define NET_DIR "sys/class/net"

/* 100 Tb/s is beyond what cards will do for long. */
enum { MBIT = 1000000, MBIT_MAX = 100000000, QUOTE_SIZE = 64, NAMES_SIZE = 160 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "device");
}

/*
 * Joins the link text @target found in folder @dir to a path without "..": by text alone, as the
 * target need not be in a captured tree. The caller frees it; NULL when memory runs out.
 */
static char *join_link(const char *dir, const char *target)
{
	char *path = NULL;
	char *out;

	if (asprintf(&path, "%s/%s", *target == '/' ? "" : dir, target) < 0)
		return NULL;
	out = path;
	for (char *part = path; *part;) {
		size_t len = strcspn(part, "/");
		char *next = part + len + (part[len] == '/');

		if (len == 2 && strncmp(part, "..", 2) == 0) {
			while (out > path && *--out != '/')
				;
		} else if (len > 0 && !(len == 1 && *part == '.')) {
			if (out > path)
				*out++ = '/';
			memmove(out, part, len);
			out += len;
		}
		part = next;
	}
	*out = '\0';
	return path;
}

int np_sysfs_resolve(const struct np_sysroot *root, const char *dir, const char *entry, char **ret,
                     struct np_error *err)
{
	char path[PATH_MAX];
	char *target = NULL;
	int rc;

	if (snprintf(path, sizeof(path), "%s/%s", dir, entry) >= (int)sizeof(path))
		return np_error_sys(err, ENAMETOOLONG, "%s", dir);
	rc = np_sysroot_read_link(root, path, &target, err);
	if (rc == -EINVAL && np_sysroot_has(root, path)) {
		char link[PATH_MAX + 8];

		snprintf(link, sizeof(link), "%s/device", path);
		rc = np_sysroot_read_link(root, link, &target, err);
		dir = path;
	}
	if (rc < 0)
		return rc;
	*ret = join_link(dir, target);
	free(target);
	if (!*ret)
		return no_memory(err);
	if (strncmp(*ret, DEVICES_DIR, strlen(DEVICES_DIR)) != 0) {
		rc = np_error_set(err, ENOENT, "%s/%s: it leads to %s, which is no device",
		                  root->path, path, *ret);
		free(*ret);
		*ret = NULL;
	}
	return rc;
}

/* Is this folder's name a PCI address, "0000:c1:00.1"? The domain can have more than 4 digits. */
static bool is_pci_address(const char *name, size_t len)
{
	size_t domain = strspn(name, "0123456789abcdef");
	static const char form[] = ":xx:xx.x";

	if (domain < 4 || len != domain + sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++) {
		char c = name[domain + i];

		if (form[i] == 'x' ? !isxdigit((unsigned char)c) : c != form[i])
			return false;
	}
	return true;
}

/* Reads numa_node and local_cpulist of one folder, each only if nothing nearer had it. */
static int read_locality_files(const struct np_sysroot *root, const char *folder,
                               struct np_locality_sources *sources, struct np_error *err)
{
	char path[PATH_MAX];
	long node = -1;
	int rc = 0;

	if (snprintf(path, sizeof(path), "%s/numa_node", folder) >= (int)sizeof(path))
		return np_error_sys(err, ENAMETOOLONG, "%s/%s", root->path, folder);
	if (!sources->has_node && np_sysroot_has(root, path)) {
		/* -1 is the firmware's "not told" (Documentation/ABI/testing/sysfs-bus-pci). */
		rc = np_sysroot_read_long(root, path, -1, NP_BITMAP_INDEX_MAX, &node, err);
		if (rc < 0)
			return rc;
		sources->has_node = node >= 0;
		sources->numa_node = node >= 0 ? (unsigned)node : 0;
	}
	snprintf(path, sizeof(path), "%s/local_cpulist", folder);
	if (np_bitmap_is_empty(&sources->local_cpus) && np_sysroot_has(root, path))
		rc = np_sysroot_read_list(root, path, &sources->local_cpus, err);
	return rc;
}

/* A virtual function (SR-IOV) that does not tell its node is where its physical function is. */
static int read_physical_function(const struct np_sysroot *root, const char *folder,
                                  struct np_locality_sources *sources, struct np_error *err)
{
	char *physical = NULL;
	int rc = np_sysfs_resolve(root, folder, "physfn", &physical, NULL);

	/* Other functions have no such link, and one that leads nowhere tells nothing. */
	if (rc < 0)
		return rc == -ENOMEM ? no_memory(err) : 0;
	rc = read_locality_files(root, physical, sources, err);
	free(physical);
	return rc;
}

/* From the device's folder upwards: the sources of its locality, and its PCI address. */
static int climb(const struct np_sysroot *root, const char *folder, char **ret_pci,
                 struct np_locality_sources *sources, struct np_error *err)
{
	char *path = strdup(folder);
	int rc = 0;

	if (!path)
		return no_memory(err);
	while (rc == 0 && strncmp(path, DEVICES_DIR, strlen(DEVICES_DIR)) == 0) {
		char *slash = strrchr(path, '/');

		rc = read_locality_files(root, path, sources, err);
		if (rc == 0 && is_pci_address(slash + 1, strlen(slash + 1))) {
			if (!sources->has_node)
				rc = read_physical_function(root, path, sources, err);
			if (rc == 0 && !*ret_pci) {
				*ret_pci = strdup(slash + 1);
				rc = *ret_pci ? 0 : no_memory(err);
			}
		}
		*slash = '\0';
	}
	free(path);
	return rc;
}

/*
 * A file of the link's, in a new string; NULL where it is absent, empty, or refuses to be read as
 * some do while the link is down.
 */
static int read_link_file(const struct np_sysroot *root, const char *folder, const char *name,
                          char path[PATH_MAX], char **ret, struct np_error *err)
{
	struct np_error why = { 0 };
	int rc;

	*ret = NULL;
	if (snprintf(path, PATH_MAX, "%s/%s", folder, name) >= PATH_MAX)
		return np_error_sys(err, ENAMETOOLONG, "%s/%s", root->path, folder);
	rc = np_sysroot_read_optional(root, path, ret, &why);
	if (rc < 0 && !root->live) {
		if (err)
			*err = why;
		return rc;
	}
	if (*ret && **ret == '\0') {
		free(*ret);
		*ret = NULL;
	}
	return 0;
}

static int read_state(const struct np_sysroot *root, const char *folder, struct np_device *device,
                      struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char path[PATH_MAX];
	char *text;
	int rc = read_link_file(root, folder, "operstate", path, &text, err);

	if (rc < 0 || !text)
		return rc;
	/* The words of RFC 2863 (Documentation/ABI/testing/sysfs-class-net). */
	if (strspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text)) {
		device->state = text;
		return 0;
	}
	rc = np_error_set(err, EINVAL, "%s/%s: '%s' is not a state like up or down", root->path,
	                  path, np_error_quote(text, quoted, sizeof(quoted)));
	free(text);
	return rc;
}

static int read_speed(const struct np_sysroot *root, const char *folder, struct np_device *device,
                      struct np_error *err)
{
	char path[PATH_MAX];
	char *text;
	long mbit = -1;
	int rc = read_link_file(root, folder, "speed", path, &text, err);

	if (rc < 0 || !text)
		return rc;
	free(text);
	/* -1 while the link is down; virtio says -1 always. */
	rc = np_sysroot_read_long(root, path, -1, MBIT_MAX, &mbit, err);
	if (rc == 0 && mbit > 0) {
		device->has_speed = true;
		device->speed_bps = (uint64_t)mbit * MBIT;
	}
	/* Between two looks the link may have gone down. */
	return root->live ? 0 : rc;
}

/* ---- whole devices ---- */

/* A device found: its folder, and those of the cards that it stands on. */
struct found {
	char *folder;
	char **cards;
	int card_count; /* 0 = no hardware */
};

static void found_release(struct found *found)
{
	free(found->folder);
	np_sysfs_free_cards(found->cards, found->card_count);
	*found = (struct found){ 0 };
}

/* Fails as np_sysfs_resolve() and np_sysfs_list_cards() do. */
static int find(const struct np_sysroot *root, const char *dir, const char *entry,
                struct found *ret, struct np_error *err)
{
	struct found found = { 0 };
	int rc = np_sysfs_resolve(root, dir, entry, &found.folder, err);

	if (rc < 0)
		return rc;
	found.card_count = np_sysfs_list_cards(root, found.folder, &found.cards, err);
	if (found.card_count < 0) {
		rc = found.card_count;
		free(found.folder);
		return rc;
	}
	*ret = found;
	return 0;
}

/* Where the hardware of @folder is; adds its PCI address, a new string, unless there is one. */
static int read_place(const struct np_sysroot *root, const char *folder,
                      const struct np_topology *topology, char **ret_pci, struct np_locality *ret,
                      struct np_error *err)
{
	struct np_locality_sources sources = { 0 };
	int rc = climb(root, folder, ret_pci, &sources, err);

	if (rc == 0)
		rc = np_locality_choose(topology, &sources, ret, err);
	np_bitmap_release(&sources.local_cpus);
	return rc;
}

/* Where an interface is that stands on others. It is no PCI function, though its cards may be. */
static int read_places(const struct np_sysroot *root, const struct found *found,
                       const struct np_topology *topology, struct np_locality *ret,
                       struct np_error *err)
{
	size_t count = (size_t)found->card_count;
	struct np_locality *parts = calloc(count + 1, sizeof(*parts));
	int rc = parts ? 0 : no_memory(err);

	for (size_t i = 0; i < count && rc == 0; i++) {
		char *pci = NULL;

		rc = read_place(root, found->cards[i], topology, &pci, &parts[i], err);
		free(pci);
	}
	if (rc == 0)
		rc = np_locality_join(parts, count, ret, err);
	for (size_t i = 0; parts && i < count; i++)
		np_locality_release(&parts[i]);
	free(parts);
	return rc;
}

static int read_found(const struct np_sysroot *root, const struct found *found,
                      enum np_device_kind kind, const char *name, struct np_topology *topology,
                      struct np_error *err)
{
	struct np_device *device = np_topology_add_device(topology);
	int rc;

	if (!device)
		return no_memory(err);
	device->kind = kind;
	device->name = np_device_name(name);
	if (!device->name)
		return no_memory(err);
	if (found->card_count > 0 && np_sysfs_is_virtual(found->folder))
		rc = read_places(root, found, topology, &device->locality, err);
	else
		rc = read_place(root, found->folder, topology, &device->pci, &device->locality,
		                err);
	if (rc == 0 && kind == NP_DEVICE_NET)
		rc = read_state(root, found->folder, device, err);
	if (rc == 0 && kind == NP_DEVICE_NET)
		rc = read_speed(root, found->folder, device, err);
	return rc;
}

/* One of all interfaces; those that are no link, or stand on no hardware, are passed over. */
static int read_nic(const struct np_sysroot *root, const char *name, struct np_topology *topology,
                    struct np_error *err)
{
	struct np_error why = { 0 };
	struct found found = { 0 };
	char quoted[QUOTE_SIZE];
	int rc = find(root, NET_DIR, name, &found, &why);

	/* bonding_masters is a plain file among the links. */
	if (rc == -EINVAL || rc == -ENOENT || rc == -ENOTDIR)
		return 0;
	if (rc == -E2BIG)
		return np_topology_add_note(topology, err, "%s is left out: %s",
		                            np_error_quote(name, quoted, sizeof(quoted)), why.text);
	if (rc < 0) {
		if (err)
			*err = why;
		return rc;
	}
	if (found.card_count > 0)
		rc = read_found(root, &found, NP_DEVICE_NET, name, topology, err);
	found_release(&found);
	return rc;
}

int np_sysfs_read_nics(const struct np_sysroot *root, struct np_topology *topology,
                       struct np_error *err)
{
	char **names;
	int count;
	int rc = 0;

	if (!np_sysroot_has(root, NET_DIR))
		return 0;
	count = np_sysroot_list(root, NET_DIR, &names, err);
	if (count < 0)
		return count;
	for (int i = 0; i < count && rc == 0; i++)
		rc = read_nic(root, names[i], topology, err);
	free(names);
	return rc;
}

/* Says that an interface is not there, and which could have been meant. */
static void nic_not_found(const struct np_sysroot *root, const char *name, struct np_error *err)
{
	char candidates[256] = "";
	size_t used = 0;
	char **names;
	int count = np_sysroot_list(root, NET_DIR, &names, NULL);

	for (int i = 0; i < count && used < sizeof(candidates) - 1; i++) {
		struct found found = { 0 };

		if (find(root, NET_DIR, names[i], &found, NULL) == 0 && found.card_count > 0)
			used += (size_t)snprintf(candidates + used, sizeof(candidates) - used,
			                         "%s%s", used > 0 ? ", " : "", names[i]);
		found_release(&found);
	}
	if (count >= 0)
		free(names);
	np_device_not_found(name, candidates, err);
}

static int refuse_virtual(const struct np_sysroot *root, const char *text, const char *folder,
                          struct np_error *err)
{
	char names[2 * NAMES_SIZE];
	char quoted[NAMES_SIZE];

	np_sysfs_name_lowers(root, folder, names, sizeof(names));
	if (!*names)
		return np_error_set(
			err, ENODEV,
			"device '%s' is virtual (%s/%s): no hardware, so near to nothing", text,
			root->path, folder);
	return np_error_set(err, ENODEV,
	                    "device '%s' is virtual (%s/%s), and under it (%s) is no hardware: "
	                    "near to nothing",
	                    text, root->path, folder,
	                    np_error_quote(names, quoted, sizeof(quoted)));
}

int np_sysfs_read_device(const struct np_sysroot *root, const char *text, bool virtual_too,
                         struct np_topology *topology, struct np_error *err)
{
	struct np_device_spec spec = { 0 };
	struct found found = { 0 };
	int rc = np_device_spec_parse(text, root->live, &spec, err);

	if (rc < 0)
		return rc;
	rc = find(root, spec.dir, spec.entry, &found, err);
	if (rc == -ENOENT && spec.kind == NP_DEVICE_NET)
		nic_not_found(root, spec.name, err);
	else if (rc == -ENOENT)
		np_error_set(err, ENOENT, "no device '%s': %s/%s/%s does not exist", text,
		             root->path, spec.dir, spec.entry);
	else if (rc == -E2BIG)
		np_error_wrap(err, rc, "device '%s'", text);
	else if (rc == 0 && found.card_count == 0 && !virtual_too)
		rc = refuse_virtual(root, text, found.folder, err);
	else if (rc == 0)
		rc = read_found(root, &found, spec.kind, spec.name, topology, err);
	found_release(&found);
	np_device_spec_release(&spec);
	return rc;
}
