/* SPDX-License-Identifier: BSD-3-Clause */
#include "../probe/base/cli.h"
#include "run.h"

#include <stdio.h>

static int fail(const struct np_error *err, int status)
{
	fprintf(stderr, "numastore: %s\n", err->text);
	return status;
}

int main(int argc, char **argv)
{
	static struct ns_options options;
	int status = NP_EXIT_OK;

	np_cli_fill_standard_files();
	if (ns_options_parse(argc, argv, &options) < 0)
		status = fail(&options.err, NP_EXIT_USAGE);
	else if (ns_run(&options, &options.err) < 0)
		status = fail(&options.err, NP_EXIT_NO);
	ns_options_release(&options);
	return status;
}
