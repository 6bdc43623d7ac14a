/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numaprobe: where each network card sits, and which cores are best for it. Finds the command and
 * hands over to it.
 */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *argp_program_version = "numaprobe " NUMAKIT_VERSION;

static const struct command {
	const char *name;
	char *full_name; /* for the command's own --help */
	int (*run)(struct np_common *common, int argc, char **argv);
} commands[] = {
	{ "report", "numaprobe report", np_cmd_report },
	{ "rank", "numaprobe rank", np_cmd_rank },
};

static const char doc[] =
	"Shows where a host's network cards sit and which cores are best for each.\v"
	"Commands (numaprobe COMMAND --help tells the options of each):\n"
	"  report       CPUs, nodes, distances and network cards (the default)\n"
	"  rank DEVICE  the CPUs in tiers, nearest to the device first\n\n"
	"Exit status: 0 done, 1 not found or failed, 2 wrong usage.";

static int run_command(struct np_common *common, int argc, char **argv)
{
	const char *name = argv[0];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		argv[0] = commands[i].full_name;
		return commands[i].run(common, argc, argv);
	}
	np_error_set(&common->err, EINVAL, "'%s' is no command; there are: report, rank DEVICE",
	             name);
	return np_cmd_fail(&common->err, NP_EXIT_USAGE);
}

int main(int argc, char **argv)
{
	char *default_command[] = { "report", NULL };
	struct np_common common = { 0 };
	int command;

	argp_err_exit_status = NP_EXIT_NO;
	/* hwloc's own banners about damaged exports; we say what is wrong in our line. */
	setenv("HWLOC_HIDE_ERRORS", "2", 0);
	command = np_cli_find_command(&np_common_argp, doc, argc, argv, &common, &common.err);
	if (command < 0)
		return np_cmd_fail(&common.err, NP_EXIT_USAGE);
	if (command > 0)
		return run_command(&common, argc - command, argv + command);
	return run_command(&common, 1, default_command);
}
