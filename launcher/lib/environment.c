/* SPDX-License-Identifier: BSD-3-Clause */
#include <numaprobe/cpulist.h>
#include <numarun/environment.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "NUMARUN_"

enum { OWN_COUNT = 5 };

static bool is_ours(const char *variable)
{
	return strncmp(variable, PREFIX, strlen(PREFIX)) == 0;
}

/* Our variables, each ended by a NUL and the last by two, in one string; their bytes. */
static char *print_own(const struct nr_plan *plan, const char *role, size_t *ret_size)
{
	char *cpus = np_cpulist_print(&plan->cpus);
	char *nodes = np_cpulist_print(&plan->nodes);
	char *memory = nr_policy_print(&plan->policy);
	char *text = NULL;
	FILE *out = cpus && nodes && memory ? open_memstream(&text, ret_size) : NULL;

	if (out) {
		fprintf(out, PREFIX "CPUS=%s%c", cpus, '\0');
		fprintf(out, PREFIX "NODES=%s%c", nodes, '\0');
		fprintf(out, PREFIX "MEM=%s%c", memory, '\0');
		if (plan->near)
			fprintf(out, PREFIX "NEAR=%s%c", plan->near->name, '\0');
		if (role)
			fprintf(out, PREFIX "ROLE=%s%c", role, '\0');
		fputc('\0', out);
		if (fclose(out) != 0) {
			free(text);
			text = NULL;
		}
	}
	free(cpus);
	free(nodes);
	free(memory);
	return text;
}

static size_t count_words(char *const words[])
{
	size_t count = 0;

	while (words && words[count])
		count++;
	return count;
}

static bool has_name_of(char *const words[], const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (char *const *w = words; w && *w; w++)
		if (strncmp(*w, variable, len) == 0)
			return true;
	return false;
}

char **nr_environment_make(const struct nr_plan *plan, const char *role, char *const extra[],
                           char *const environment[])
{
	size_t own_size;
	char *own = print_own(plan, role, &own_size);
	size_t room = count_words(environment) + count_words(extra) + OWN_COUNT + 1;
	char **block = own ? malloc(room * sizeof(char *) + own_size) : NULL;
	size_t i = 0;
	char *text;

	if (block) {
		for (char *const *e = environment; *e; e++)
			if (!is_ours(*e) && !has_name_of(extra, *e))
				block[i++] = *e;
		for (char *const *e = extra; e && *e; e++)
			block[i++] = *e;
		text = memcpy(block + room, own, own_size);
		for (; *text; text += strlen(text) + 1)
			block[i++] = text;
		block[i] = NULL;
	}
	free(own);
	return block;
}
