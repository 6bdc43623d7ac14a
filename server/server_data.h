/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program shows of a server. */
#ifndef NS_SERVER_DATA_H
#define NS_SERVER_DATA_H

#include "worker/listen.h"

/*
 * As ns_server_create(), but nothing is mapped, opened or listened on, and it cannot run: its state has the plan
 * of memory and the workers' CPUs. Of a captured host too (root, xml).
 */
int ns_server_plan(const struct ns_config *config, struct ns_server **ret, struct np_error *err);

/* Both live as long as the server. */
const struct ns_server_state *ns_server_state(const struct ns_server *server);
const struct ns_listeners *ns_server_listeners(const struct ns_server *server);

#endif
