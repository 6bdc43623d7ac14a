/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the commands of numacount share. A command is one file, cmd_NAME.c, with the options of its
 * own; it returns the program's exit status.
 */
#ifndef NC_CMD_H
#define NC_CMD_H

#include "../probe/base/cli.h"
#include <numacount/host.h>

struct nc_common {
	const char *root;        /* --root DIR */
	const char *events_file; /* --events FILE */
	const char *family;      /* --family NAME */
	bool json;               /* --json */
	struct np_error err;
};

/* Options that stand before the command or behind it. The child input is a struct nc_common. */
extern const struct argp nc_common_argp;

int nc_cmd_list(struct nc_common *common, int argc, char **argv);
int nc_cmd_explain(struct nc_common *common, int argc, char **argv);
int nc_cmd_stat(struct nc_common *common, int argc, char **argv);
int nc_cmd_record(struct nc_common *common, int argc, char **argv);
int nc_cmd_serve(struct nc_common *common, int argc, char **argv);
int nc_cmd_matrix(struct nc_common *common, int argc, char **argv);

/* Loads the host that the options name. The caller ends *ret with nc_host_free(). */
int nc_common_load(struct nc_common *common, struct nc_host **ret);

/* Prints "numacount: TEXT" to stderr and returns @status. */
int nc_cmd_fail(const struct np_error *err, int status);

/* "standard output" or "standard error", which @out is. */
const char *nc_cmd_stream_name(const FILE *out);

/* The exit status after writing to stdout, @rc being how that went. */
int nc_cmd_written(int rc);

#endif
