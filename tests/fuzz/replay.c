/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a fuzz target once over each file of the folders given, where there is no libFuzzer.
 */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The file's bytes in a block of just their size, so that reading over its end is found. */
static int run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	long size = -1;
	int rc = -1;

	if (file && fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0)
		data = malloc(size > 0 ? (size_t)size : 1);
	if (data && fseek(file, 0, SEEK_SET) == 0 &&
	    fread(data, 1, (size_t)size, file) == (size_t)size)
		rc = LLVMFuzzerTestOneInput(data, (size_t)size);
	if (rc < 0)
		fprintf(stderr, "replay: %s: cannot be read\n", path);
	free(data);
	if (file)
		fclose(file);
	return rc;
}

/* How many files were run, or -1. */
static int run_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, is_visible, alphasort);
	int failed = 0;

	if (count < 0) {
		fprintf(stderr, "replay: %s: cannot be read\n", folder);
		return -1;
	}
	for (int i = 0; i < count; i++) {
		char path[PATH_MAX];

		/* Names the culprit, as a target that finds something ends the process. */
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		printf("%s\n", path);
		fflush(stdout);
		failed |= run_file(path);
		free(entries[i]);
	}
	free(entries);
	return failed ? -1 : count;
}

int main(int argc, char **argv)
{
	int total = 0;

	for (int i = 1; i < argc; i++) {
		int count = run_folder(argv[i]);

		if (count < 0)
			return 1;
		total += count;
	}
	printf("%d inputs\n", total);
	return total > 0 ? 0 : 1;
}
