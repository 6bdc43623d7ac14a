/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_about.h"

#include "../../probe/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SCHEMA "numakit/trace/1"

enum { QUOTE_SIZE = 80 };

static bool is_utf8(const char *text, size_t bytes)
{
	json_t *value = json_stringn(text, bytes);
	bool is_ok = value != NULL;

	json_decref(value);
	return is_ok;
}

bool nl_trace_arm_name_is_ok(const char *name, size_t bytes)
{
	if (bytes < 1 || bytes > NL_ARM_NAME_MAX)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c < 32 || c == 127 || c == ',' || c == '"')
			return false;
	}
	return is_utf8(name, bytes);
}

/* Of several arms each has a name of its own; a single one may be nameless. */
static int check_arms(const struct nl_trace_about *about, int code, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	if (about->arm_count < 1 || about->arm_count > NL_TRACE_ARMS_MAX)
		return np_error_set(err, code, "arms: there are %u, not 1..%d", about->arm_count,
		                    NL_TRACE_ARMS_MAX);
	if (about->arm_count == 1 && *about->arms[0] == '\0')
		return 0;
	for (unsigned i = 0; i < about->arm_count; i++) {
		const char *name = about->arms[i];

		np_error_quote(name, quoted, sizeof(quoted));
		if (!nl_trace_arm_name_is_ok(name, strlen(name)))
			return np_error_set(err, code,
			                    "arms: '%s' is no name: 1 to %d bytes, without comma, "
			                    "quote and control characters",
			                    quoted, NL_ARM_NAME_MAX);
		for (unsigned before = 0; before < i; before++)
			if (strcmp(name, about->arms[before]) == 0)
				return np_error_set(err, code, "arms: two have the name '%s'",
				                    quoted);
	}
	return 0;
}

int nl_trace_about_check(const struct nl_trace_about *about, struct np_error *err)
{
	if (about->keys > INT64_MAX || about->planned > INT64_MAX)
		return np_error_set(err, EINVAL, "keys, planned: more than 63 bits");
	if (about->began_ns < 0)
		return np_error_set(err, EINVAL, "began_ns: before 1970");
	if (about->details && !json_is_object(about->details))
		return np_error_set(err, EINVAL, "details: no object");
	return check_arms(about, EINVAL, err);
}

static json_t *copy_or_null(const json_t *value)
{
	return value ? json_deep_copy(value) : json_null();
}

static json_t *number_or_null(int64_t value)
{
	return value ? json_integer(value) : json_null();
}

json_t *nl_trace_about_json(const struct nl_trace_about *about)
{
	json_t *object = json_object();
	json_t *arms = json_array();

	for (unsigned i = 0; i < about->arm_count; i++)
		np_json_append(&arms, json_string(about->arms[i]));
	np_json_set_member(&object, "schema", json_string(SCHEMA));
	np_json_set_member(&object, "protocol", np_json_text(about->protocol));
	np_json_set_member(&object, "arms", arms);
	np_json_set_member(&object, "order", np_json_text(about->order));
	np_json_set_member(&object, "block", number_or_null(about->block));
	np_json_set_member(&object, "keys", number_or_null((int64_t)about->keys));
	np_json_set_member(&object, "planned", number_or_null((int64_t)about->planned));
	np_json_set_member(&object, "began_ns", number_or_null(about->began_ns));
	np_json_set_member(&object, "details", copy_or_null(about->details));
	return object;
}

/* ---- reading ---- */

/* Text or null; what is absent counts as null. */
static int load_text(const json_t *object, const char *key, const char **ret, struct np_error *err)
{
	const json_t *value = json_object_get(object, key);

	*ret = json_string_value(value);
	if (*ret || !value || json_is_null(value))
		return 0;
	return np_error_set(err, EBADMSG, "%s: neither a text nor null", key);
}

static int load_number(const json_t *object, const char *key, int64_t max, uint64_t *ret,
                       struct np_error *err)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);

	*ret = (uint64_t)number;
	if (!value || json_is_null(value) ||
	    (json_is_integer(value) && number >= 0 && number <= max))
		return 0;
	return np_error_set(err, EBADMSG, "%s: neither a number in 0..%" PRId64 " nor null", key,
	                    max);
}

static int load_object(const json_t *object, const char *key, const json_t **ret,
                       struct np_error *err)
{
	const json_t *value = json_object_get(object, key);

	*ret = json_is_object(value) ? value : NULL;
	if (*ret || !value || json_is_null(value))
		return 0;
	return np_error_set(err, EBADMSG, "%s: neither an object nor null", key);
}

static int load_arms(const json_t *object, struct nl_trace_about *about, struct np_error *err)
{
	const json_t *arms = json_object_get(object, "arms");
	size_t count = json_array_size(arms);

	if (count < 1 || count > NL_TRACE_ARMS_MAX)
		return np_error_set(err, EBADMSG, "arms: no list of 1..%d names",
		                    NL_TRACE_ARMS_MAX);
	about->arm_count = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		about->arms[i] = json_string_value(json_array_get(arms, i));
		if (!about->arms[i])
			return np_error_set(err, EBADMSG, "arms: one is no text");
	}
	return check_arms(about, EBADMSG, err);
}

static int load_numbers(const json_t *object, struct nl_trace_about *about, struct np_error *err)
{
	uint64_t block;
	uint64_t began = 0;
	int rc = load_number(object, "block", UINT32_MAX, &block, err);

	if (rc == 0)
		rc = load_number(object, "keys", INT64_MAX, &about->keys, err);
	if (rc == 0)
		rc = load_number(object, "planned", INT64_MAX, &about->planned, err);
	if (rc == 0)
		rc = load_number(object, "began_ns", INT64_MAX, &began, err);
	if (rc < 0)
		return rc;
	about->block = (uint32_t)block;
	about->began_ns = (int64_t)began;
	return 0;
}

int nl_trace_about_load(const json_t *object, struct nl_trace_about *ret, struct np_error *err)
{
	const char *schema = json_string_value(json_object_get(object, "schema"));
	struct nl_trace_about about = { 0 };
	int rc;

	if (!schema || strcmp(schema, SCHEMA) != 0)
		return np_error_set(err, EBADMSG, "schema: it is not \"" SCHEMA "\"");
	rc = load_arms(object, &about, err);
	if (rc == 0)
		rc = load_text(object, "protocol", &about.protocol, err);
	if (rc == 0)
		rc = load_text(object, "order", &about.order, err);
	if (rc == 0)
		rc = load_numbers(object, &about, err);
	if (rc == 0)
		rc = load_object(object, "details", &about.details, err);
	if (rc == 0)
		*ret = about;
	return rc;
}

/* ---- the end ---- */

json_t *nl_trace_end_json(const struct nl_trace_end *end, const json_t *outcome)
{
	json_t *object = json_object();

	np_json_set_member(&object, "complete", json_boolean(end->is_complete));
	np_json_set_member(&object, "why", np_json_text(end->is_complete ? NULL : end->why));
	np_json_set_member(&object, "outcome", copy_or_null(outcome));
	return object;
}

int nl_trace_end_load(const json_t *object, struct nl_trace_end *ret, const json_t **ret_outcome,
                      struct np_error *err)
{
	const json_t *complete = json_object_get(object, "complete");
	const json_t *outcome;
	const char *why;
	int rc;

	if (!json_is_boolean(complete))
		return np_error_set(err, EBADMSG, "complete: neither true nor false");
	rc = load_text(object, "why", &why, err);
	if (rc == 0)
		rc = load_object(object, "outcome", &outcome, err);
	if (rc < 0)
		return rc;
	ret->is_complete = json_is_true(complete);
	ret->why = why ? why : "it does not tell why";
	if (ret->is_complete)
		ret->why = NULL;
	*ret_outcome = outcome;
	return 0;
}
