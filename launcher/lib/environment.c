/* SPDX-License-Identifier: BSD-3-Clause */
#include <numaprobe/cpulist.h>
#include <numarun/environment.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "NUMARUN_"

enum { OWN_COUNT = 4 };

static bool is_ours(const char *variable)
{
	return strncmp(variable, PREFIX, strlen(PREFIX)) == 0;
}

/* Our variables, each ended by a NUL and the last by two, in one string; their bytes. */
static char *print_own(const struct nr_plan *plan, size_t *ret_size)
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

char **nr_environment_make(const struct nr_plan *plan, char *const environment[])
{
	size_t own_size;
	char *own = print_own(plan, &own_size);
	size_t kept = 0;
	size_t i = 0;
	char **block;
	char *text;

	if (!own)
		return NULL;
	for (char *const *e = environment; *e; e++)
		kept += !is_ours(*e);
	block = malloc((kept + OWN_COUNT + 1) * sizeof(char *) + own_size);
	if (block) {
		for (char *const *e = environment; *e; e++)
			if (!is_ours(*e))
				block[i++] = *e;
		text = memcpy(block + kept + OWN_COUNT + 1, own, own_size);
		for (; *text; text += strlen(text) + 1)
			block[i++] = text;
		block[i] = NULL;
	}
	free(own);
	return block;
}
