/* SPDX-License-Identifier: BSD-3-Clause */
#include "target_json.h"

#include "../../probe/base/json.h"

json_t *nl_arms_json(const struct nl_arms *arms)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < arms->count; i++) {
		const struct nl_arm *arm = &arms->arms[i];
		json_t *object = json_object();
		char server[NL_SERVER_TEXT_SIZE];

		nl_server_text(&arm->server, server, sizeof(server));
		np_json_set_member(&object, "name", json_string(arm->name));
		np_json_set_member(&object, "server", np_json_text(server));
		np_json_set_member(&object, "prefix", np_json_text(arm->prefix));
		np_json_append(&list, object);
	}
	return list;
}

json_t *nl_sizes_json(const struct nl_sizes *sizes)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < sizes->count; i++) {
		json_t *object = json_object();

		np_json_set_member(&object, "bytes", np_json_number(true, sizes->parts[i].bytes));
		np_json_set_member(&object, "weight", np_json_number(true, sizes->parts[i].weight));
		np_json_append(&list, object);
	}
	return list;
}
