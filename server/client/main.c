/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numalat: what latency each request sees, and whether two traces of requests differ. Finds the command
 * and hands over to it.
 */
#include "cmd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

const char *argp_program_version = "numalat " NUMAKIT_VERSION;

static const struct command {
	const char *name;
	char *full_name; /* for the command's own --help */
	int (*run)(struct nl_common *common, int argc, char **argv);
} commands[] = {
	{ "populate", "numalat populate", nl_cmd_populate },
	{ "run", "numalat run", nl_cmd_run },
	{ "load", "numalat load", nl_cmd_load },
	{ "noise", "numalat noise", nl_cmd_noise },
	{ "sequence", "numalat sequence", nl_cmd_sequence },
	{ "convert", "numalat convert", nl_cmd_convert },
	{ "show", "numalat show", nl_cmd_show },
	{ "analyze", "numalat analyze", nl_cmd_analyze },
};

static const char doc[] =
	"Times every request to an object server, and tells whether two traces differ.\v"
	"Commands (numalat COMMAND --help tells the options of each):\n"
	"  populate            store the objects that will be asked for\n"
	"  run -o FILE         one request after the other, each with its time\n"
	"  load                many connections: throughput, latency under load\n"
	"  noise               what this CPU takes away from a program by itself\n"
	"  sequence            the order of keys of a seed, and its hash\n"
	"  convert FROM TO     traces between .nlt, .csv and .csv.gz\n"
	"  show TRACE...       what a trace is and its percentiles\n"
	"  analyze A B         do they differ, by how much, and how sure is that?\n\n"
	"Exit status: 0 done, 1 failed, cut short, or a bad trace, 2 wrong usage.";

static int run_command(struct nl_common *common, int argc, char **argv)
{
	const char *name = argv[0];

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(name, commands[i].name) != 0)
			continue;
		argv[0] = commands[i].full_name;
		return commands[i].run(common, argc, argv);
	}
	np_error_set(
		&common->err, EINVAL,
		"'%s' is no command; there are: populate, run, load, noise, sequence, convert, "
		"show, analyze",
		name);
	return nl_cmd_fail(&common->err, NP_EXIT_USAGE);
}

int main(int argc, char **argv)
{
	struct nl_common common = { 0 };
	int command;

	np_cli_fill_standard_files();
	/* A file at its limit (ulimit -f) is an error of write(2). */
	signal(SIGXFSZ, SIG_IGN);
	argp_err_exit_status = NP_EXIT_NO;
	command = np_cli_find_command(&nl_common_argp, doc, argc, argv, &common, &common.err);
	if (command == 0)
		np_error_set(&common.err, EINVAL, "which command? numalat --help lists them");
	if (command <= 0)
		return nl_cmd_fail(&common.err, NP_EXIT_USAGE);
	return run_command(&common, argc - command, argv + command);
}
