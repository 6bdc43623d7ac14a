/* SPDX-License-Identifier: BSD-3-Clause */
/* What the program shows of a server. */
#ifndef NS_SERVER_DATA_H
#define NS_SERVER_DATA_H

#include "worker/listen.h"

/* Both live as long as the server. */
const struct ns_server_state *ns_server_state(const struct ns_server *server);
const struct ns_listeners *ns_server_listeners(const struct ns_server *server);

#endif
