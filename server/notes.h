/* SPDX-License-Identifier: BSD-3-Clause */
/* What whoever starts a server should know: what was asked for and has no effect, and what stays open. */
#ifndef NS_NOTES_H
#define NS_NOTES_H

#include "store/arena.h"

/* Adds to @plan's notes, which come of @config; @workers is how many there are. -ENOMEM */
int ns_notes_add(const struct ns_config *config, unsigned workers, struct ns_memory_plan *plan);

#endif
