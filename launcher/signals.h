/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The signals of a parent that stays. They are blocked and read, so that none ends it before all
 * that it changed is put back.
 */
#ifndef NR_SIGNALS_H
#define NR_SIGNALS_H

#include <numaprobe/error.h>
#include <signal.h>
#include <stdbool.h>

/*
 * Blocks every signal that would end us, and those that a supervisor passes on. *ret_before is the mask as it was, for children, and so is whether
 * they had SIGCHLD ignored. Returns a signalfd(2), non-blocking, or -errno.
 */
int nr_signals_open(bool is_service, sigset_t *ret_before, bool *ret_ignores_children,
                    struct np_error *err);

/* Ends this process by that signal, without a core; the exit status for the case that it does not. */
int nr_signals_die(int signal_number);

#endif
