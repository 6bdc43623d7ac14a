/* SPDX-License-Identifier: BSD-3-Clause */
#include "list.h"

#include <inttypes.h>

static json_t *hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static json_t *texts_json(char *const *texts, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		np_json_append(&array, np_json_text(texts[i]));
	return array;
}

static void set_code(json_t **object, const struct nc_code *code)
{
	static const char *const keys[] = { "config", "config1", "config2", "config3" };

	np_json_set_member(object, "type", json_integer(code->type));
	for (size_t i = 0; i < 4; i++)
		np_json_set_member(object, keys[i], hex(code->config[i]));
}

static json_t *counter_json(const struct nc_counter *counter, const struct nc_family *family)
{
	json_t *object = json_object();
	json_t *units = json_array();

	np_json_append(&units, json_integer(counter->units));
	np_json_append(&units, json_integer(counter->per));
	np_json_set_member(&object, "pmu", np_json_text(counter->box));
	np_json_set_member(&object, "cpu", json_integer(counter->cpu));
	np_json_set_member(&object, "socket", np_json_number(counter->has_socket, counter->socket));
	np_json_set_member(&object, "die", np_json_number(counter->has_socket, counter->die));
	np_json_set_member(&object, "link", np_json_number(counter->has_link, counter->link));
	np_json_set_member(&object, "peer", np_json_number(counter->has_peer, counter->peer));
	np_json_set_member(&object, "peer_link",
	                   np_json_number(counter->has_peer, counter->peer_link));
	np_json_set_member(&object, "group", json_integer(counter->group));
	np_json_set_member(&object, "class", json_string(nc_class_name(counter->what)));
	np_json_set_member(&object, "event", np_json_text(counter->name));
	np_json_set_member(&object, "terms", np_json_text(counter->event->terms));
	set_code(&object, &counter->code);
	np_json_set_member(&object, "unit", json_string(nc_class_unit(counter->what)));
	np_json_set_member(&object, "units", units);
	np_json_set_member(&object, "encoder", json_string(nc_encoder_name(counter->encoder)));
	np_json_set_member(&object, "source", np_json_text(counter->event->source));
	np_json_set_member(&object, "untested", json_boolean(family->is_untested));
	return object;
}

static json_t *family_json(const struct nc_family *family)
{
	json_t *object;

	if (!family)
		return json_null();
	object = json_object();
	np_json_set_member(&object, "name", np_json_text(family->name));
	np_json_set_member(&object, "title", np_json_text(family->title));
	np_json_set_member(&object, "untested", json_boolean(family->is_untested));
	np_json_set_member(&object, "events", json_integer((json_int_t)family->event_count));
	np_json_set_member(&object, "link_name", np_json_text(family->link_name));
	np_json_set_member(&object, "misses", np_json_text(family->misses));
	np_json_set_member(&object, "file", np_json_text(family->file));
	return object;
}

static json_t *notes_json(const struct nc_host *host)
{
	json_t *array = json_array();

	for (size_t i = 0; i < nc_host_note_count(host); i++)
		np_json_append(&array, np_json_text(nc_host_note(host, i)));
	return array;
}

json_t *nc_list_json(const struct nc_host *host, const struct nc_counters *counters)
{
	const struct nc_family *family = nc_host_family(host);
	json_t *document = json_object();
	json_t *array = json_array();
	char text[256];

	for (size_t i = 0; i < counters->count; i++)
		np_json_append(&array, counter_json(&counters->items[i], family));
	np_json_set_member(&document, "schema", json_string("numakit/list/1"));
	np_json_set_member(&document, "processor",
	                   np_json_text(nc_cpu_text(nc_host_cpu(host), text, sizeof(text))));
	np_json_set_member(&document, "family", family_json(family));
	np_json_set_member(&document, "sockets", np_json_known_set(nc_host_sockets(host)));
	np_json_set_member(&document, "counters", array);
	np_json_set_member(&document, "problems",
	                   texts_json(counters->problems, counters->problem_count));
	np_json_set_member(&document, "notes", notes_json(host));
	return document;
}

json_t *nc_families_json(const struct nc_tables *tables)
{
	json_t *document = json_object();
	json_t *array = json_array();

	for (size_t i = 0; i < nc_tables_count(tables); i++)
		np_json_append(&array, family_json(nc_tables_family(tables, i)));
	np_json_set_member(&document, "schema", json_string("numakit/families/1"));
	np_json_set_member(&document, "families", array);
	return document;
}
