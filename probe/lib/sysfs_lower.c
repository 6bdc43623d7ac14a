/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a virtual interface stands on: bonds, teams, bridges, VLANs and macvlans have a link
 * lower_NAME to each interface under them, which may be virtual itself.
 */
#include "topology_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VIRTUAL_DIR "sys/devices/virtual/"
#define LOWER_PREFIX "lower_"

/*
 * Interfaces under one. A bridge has at most 1024 ports (BR_MAX_PORTS), and Linux stacks no more
 * than 8 interfaces on one another (MAX_NEST_DEV).
 */
enum { LOWER_COUNT_MAX = 4096 };

/* The folders of all interfaces found, each once, those not yet looked into at the end. */
struct walk {
	char **folders;
	size_t count;
};

bool np_sysfs_is_virtual(const char *folder)
{
	return strncmp(folder, VIRTUAL_DIR, strlen(VIRTUAL_DIR)) == 0;
}

void np_sysfs_free_cards(char **cards, int count)
{
	for (int i = 0; i < count; i++)
		free(cards[i]);
	free(cards);
}

static bool is_known(const struct walk *walk, const char *folder)
{
	for (size_t i = 0; i < walk->count; i++)
		if (strcmp(walk->folders[i], folder) == 0)
			return true;
	return false;
}

/* Takes @folder over, on failure too. One that is known already, by a loop even, is left out. */
static int add_folder(struct walk *walk, char *folder, struct np_error *err)
{
	char **grown;

	if (is_known(walk, folder)) {
		free(folder);
		return 0;
	}
	grown = walk->count > LOWER_COUNT_MAX
	                ? NULL
	                : realloc(walk->folders, (walk->count + 1) * sizeof(*grown));
	if (!grown) {
		free(folder);
		if (walk->count <= LOWER_COUNT_MAX)
			return np_error_sys(err, ENOMEM, "device");
		return np_error_set(err, E2BIG, "more than %d interfaces are under it",
		                    LOWER_COUNT_MAX);
	}
	walk->folders = grown;
	grown[walk->count++] = folder;
	return 0;
}

/* Adds where the link @entry in @folder leads, unless the interface is gone. */
static int add_lower(const struct np_sysroot *root, const char *folder, const char *entry,
                     struct walk *walk, struct np_error *err)
{
	struct np_error why = { 0 };
	char *lower = NULL;
	int rc = np_sysfs_resolve(root, folder, entry, &lower, &why);

	if (rc == -ENOENT || rc == -EINVAL || rc == -ENOTDIR)
		return 0;
	if (rc < 0) {
		if (err)
			*err = why;
		return rc;
	}
	if (np_sysroot_has(root, lower))
		return add_folder(walk, lower, err);
	free(lower);
	return 0;
}

/* Adds the interfaces right under that of @folder. */
static int add_lowers(const struct np_sysroot *root, const char *folder, struct walk *walk,
                      struct np_error *err)
{
	struct np_error why = { 0 };
	char **names;
	int count = np_sysroot_list(root, folder, &names, &why);
	int rc = 0;

	/* It may have gone, or in a captured tree have nothing worth keeping. */
	if (count == -ENOENT || count == -ENOTDIR)
		return 0;
	if (count < 0) {
		if (err)
			*err = why;
		return count;
	}
	for (int i = 0; i < count && rc == 0; i++)
		if (strncmp(names[i], LOWER_PREFIX, strlen(LOWER_PREFIX)) == 0)
			rc = add_lower(root, folder, names[i], walk, err);
	free(names);
	return rc;
}

/* Keeps those that are hardware. */
static void drop_virtual(struct walk *walk)
{
	size_t kept = 0;

	for (size_t i = 0; i < walk->count; i++) {
		if (np_sysfs_is_virtual(walk->folders[i]))
			free(walk->folders[i]);
		else
			walk->folders[kept++] = walk->folders[i];
	}
	walk->count = kept;
}

int np_sysfs_list_cards(const struct np_sysroot *root, const char *folder, char ***ret_cards,
                        struct np_error *err)
{
	struct walk walk = { 0 };
	char *self = strdup(folder);
	int rc = self ? add_folder(&walk, self, err) : np_error_sys(err, ENOMEM, "device");

	for (size_t i = 0; i < walk.count && rc == 0; i++)
		if (np_sysfs_is_virtual(walk.folders[i]))
			rc = add_lowers(root, walk.folders[i], &walk, err);
	if (rc < 0) {
		np_sysfs_free_cards(walk.folders, (int)walk.count);
		return rc;
	}
	drop_virtual(&walk);
	*ret_cards = walk.folders;
	return (int)walk.count;
}

void np_sysfs_name_lowers(const struct np_sysroot *root, const char *folder, char *buf, size_t size)
{
	size_t used = 0;
	char **names;
	int count = np_sysroot_list(root, folder, &names, NULL);

	buf[0] = '\0';
	for (int i = 0; i < count && used < size; i++)
		if (strncmp(names[i], LOWER_PREFIX, strlen(LOWER_PREFIX)) == 0)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
			                         names[i] + strlen(LOWER_PREFIX));
	if (count >= 0)
		free(names);
}
