/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The commands of numaprobe, and what they share.
 */
#ifndef NP_CMD_H
#define NP_CMD_H

#include "base/cli.h"
#include "base/output.h"

#include <numaprobe/rank.h>
#include <numaprobe/topology.h>
#include <stdbool.h>
#include <stdio.h>

/* Options that every command takes, before or after its name. */
struct np_common {
	const char *root;
	const char *xml;
	bool json;
	struct np_error err; /* why parsing failed */
};

/* A child of each command's argp; its input is a struct np_common. */
extern const struct argp np_common_argp;

/* Options that contradict each other: -EINVAL and common->err. */
int np_common_check(struct np_common *common);

/* Each returns an exit status, and prints its errors itself. argv[0] is the command's name. */
int np_cmd_report(struct np_common *common, int argc, char **argv);
int np_cmd_rank(struct np_common *common, int argc, char **argv);

/* Prints "numaprobe: text" and returns @status. */
int np_cmd_fail(const struct np_error *err, int status);

/* Turns the result of writing (-EIO, -ENOMEM) into an exit status, and prints why. */
int np_cmd_written(int rc);

#endif
