/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs have left behind: their children, which came to us, their subreaper, when they ended.
 */
#ifndef NR_SWEEP_H
#define NR_SWEEP_H

/* Ends and reaps all children of this process, and theirs; by SIGKILL those that take too long. */
void nr_sweep_children(void);

#endif
