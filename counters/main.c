/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numacount: what crosses the memory controllers and the links between sockets. Finds the command
 * and hands over to it.
 */
#include "cmd.h"

#include <errno.h>
#include <string.h>

const char *argp_program_version = "numacount " NUMAKIT_VERSION;

static const struct command {
	const char *name;
	char *full_name; /* for the command's own --help */
	int (*run)(struct nc_common *common, int argc, char **argv);
} commands[] = {
	{ "explain", "numacount explain", nc_cmd_explain },
	{ "list", "numacount list", nc_cmd_list },
	{ "stat", "numacount stat", nc_cmd_stat },
	{ "record", "numacount record", nc_cmd_record },
	{ "serve", "numacount serve", nc_cmd_serve },
	{ "matrix", "numacount matrix", nc_cmd_matrix },
};

static const char doc[] =
	"Counts what crosses the memory controllers and the links between sockets.\v"
	"Commands (numacount COMMAND --help tells the options of each):\n"
	"  explain             what can be counted here, and why not more (the default)\n"
	"  list                PMUs and events, with their encodings\n"
	"  stat [-- PROGRAM]   totals for each socket, over a program's run\n"
	"  record -o FILE      a row for each interval, as CSV or JSON lines\n"
	"  serve               metrics for Prometheus over HTTP\n"
	"  matrix              from which socket to which\n\n"
	"Exit status: 0 done, 1 not counted or failed, 2 wrong usage; stat and record of a "
	"program: the program's.";

static int run_command(struct nc_common *common, int argc, char **argv)
{
	const char *name = argv[0];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		argv[0] = commands[i].full_name;
		return commands[i].run(common, argc, argv);
	}
	np_error_set(&common->err, EINVAL,
	             "'%s' is no command; there are: explain, list, stat, record, serve, matrix",
	             name);
	return nc_cmd_fail(&common->err, NP_EXIT_USAGE);
}

int main(int argc, char **argv)
{
	char *default_command[] = { "explain", NULL };
	struct nc_common common = { 0 };
	int command;

	np_cli_fill_standard_files();
	argp_err_exit_status = NP_EXIT_NO;
	command = np_cli_find_command(&nc_common_argp, doc, argc, argv, &common, &common.err);
	if (command < 0)
		return nc_cmd_fail(&common.err, NP_EXIT_USAGE);
	if (command > 0)
		return run_command(&common, argc - command, argv + command);
	return run_command(&common, 1, default_command);
}
