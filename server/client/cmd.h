/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the commands of numalat share. A command is one file, cmd_NAME.c, with the options of its own;
 * it returns the program's exit status.
 */
#ifndef NL_CMD_H
#define NL_CMD_H

#include "../../probe/base/cli.h"
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct nl_common {
	bool json; /* --json */
	struct np_error err;
};

/* Options that stand before the command or behind it. The child input is a struct nl_common. */
extern const struct argp nl_common_argp;

int nl_cmd_populate(struct nl_common *common, int argc, char **argv);
int nl_cmd_run(struct nl_common *common, int argc, char **argv);
int nl_cmd_load(struct nl_common *common, int argc, char **argv);
int nl_cmd_noise(struct nl_common *common, int argc, char **argv);
int nl_cmd_sequence(struct nl_common *common, int argc, char **argv);
int nl_cmd_convert(struct nl_common *common, int argc, char **argv);
int nl_cmd_show(struct nl_common *common, int argc, char **argv);
int nl_cmd_analyze(struct nl_common *common, int argc, char **argv);

/* Prints "numalat: TEXT" to stderr and returns @status. */
int nl_cmd_fail(const struct np_error *err, int status);

/* The exit status after writing to stdout, @rc being how that went (0 or a negative errno). */
int nl_cmd_written(int rc);

/* "4096", "256K", "1M", "2G" (1024-based), in 1..max, or -EINVAL with "--size: ..." */
int nl_cmd_size(const char *option, const char *text, uint64_t max, uint64_t *ret,
                struct np_error *err);

/* A whole number, decimal or 0x..., in min..max, or -EINVAL with "--seed: ..." */
int nl_cmd_u64(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *ret,
               struct np_error *err);

/*
 * From now on SIGINT, SIGTERM and, unless nohup(1) had it ignored, SIGHUP make the returned flag the signal's number instead of ending the
 * program, and interrupt system calls (no SA_RESTART); a second one ends it at once.
 */
const volatile sig_atomic_t *nl_cmd_stop_on_signal(void);

#endif
