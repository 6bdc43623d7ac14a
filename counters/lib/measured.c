/* SPDX-License-Identifier: BSD-3-Clause */
#include "measured.h"

#include "../../probe/base/file.h"
#include "../../probe/base/sysroot.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "numakit/measure/1"

struct reading {
	const char *file;
	const json_t *nodes;
	const json_t *rows;
	size_t count;      /* nodes */
	size_t *socket_of; /* by node's place in the document: index in the result's sockets */
	struct np_error *err;
};

/* ---- sockets ---- */

/* The socket that holds the node's CPUs; false for a node without. */
static int read_socket(const struct nc_host *host, const struct np_sysroot *root, unsigned node,
                       unsigned *ret_socket, struct np_error *err)
{
	struct np_bitmap cpus = { 0 };
	unsigned die;
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "sys/devices/system/node/node%u/cpulist", node);
	rc = np_sysroot_read_list(root, path, &cpus, err);
	if (rc < 0)
		return rc;
	rc = 0;
	np_bitmap_for_each (cpu, &cpus) {
		if (rc == 0 && nc_host_socket_of(host, cpu, ret_socket, &die))
			rc = 1;
	}
	np_bitmap_release(&cpus);
	return rc;
}

static size_t take_socket(struct nc_measured *measured, unsigned socket)
{
	size_t i = 0;

	while (i < measured->count && measured->sockets[i] != socket)
		i++;
	if (i == measured->count)
		measured->sockets[measured->count++] = socket;
	return i;
}

static int find_sockets(const struct nc_host *host, struct reading *reading,
                        struct nc_measured *measured)
{
	struct np_sysroot root;
	int rc = np_sysroot_open(nc_host_root(host), &root, reading->err);

	if (rc < 0)
		return rc;
	for (size_t i = 0; i < reading->count && rc >= 0; i++) {
		json_int_t node = json_integer_value(json_array_get(reading->nodes, i));
		unsigned socket = 0;

		rc = read_socket(host, &root, (unsigned)node, &socket, reading->err);
		reading->socket_of[i] = SIZE_MAX;
		if (rc > 0)
			reading->socket_of[i] = take_socket(measured, socket);
	}
	np_sysroot_close(&root);
	if (rc == -ENOENT)
		return np_error_set(reading->err, EINVAL,
		                    "%s: it is of another host: no such node here", reading->file);
	return rc < 0 ? np_error_wrap(reading->err, rc, "%s", reading->file) : 0;
}

/* ---- the document ---- */

static int refuse(const struct reading *reading, const char *what)
{
	return np_error_set(reading->err, EINVAL, "%s: %s", reading->file, what);
}

static int check(struct reading *reading, const json_t *document)
{
	const char *schema = json_string_value(json_object_get(document, "schema"));

	if (!schema || strcmp(schema, SCHEMA) != 0)
		return refuse(reading,
		              "no \"schema\": \"" SCHEMA "\": not a measurement of numaprobe");
	reading->nodes = json_object_get(document, "nodes");
	reading->rows = json_object_get(document, "read_bytes_per_s");
	reading->count = json_array_size(reading->nodes);
	if (reading->count == 0 || reading->count > NC_MEASURED_NODES_MAX)
		return refuse(reading, "\"nodes\" is no list of nodes");
	if (json_array_size(reading->rows) != reading->count)
		return refuse(reading, "\"read_bytes_per_s\" has not one row for each node");
	for (size_t i = 0; i < reading->count; i++) {
		const json_t *node = json_array_get(reading->nodes, i);

		if (!json_is_integer(node) || json_integer_value(node) < 0 ||
		    json_integer_value(node) > NP_BITMAP_INDEX_MAX)
			return refuse(reading, "\"nodes\" holds something that is no node");
		if (json_array_size(json_array_get(reading->rows, i)) != reading->count)
			return refuse(
				reading,
				"a row of \"read_bytes_per_s\" has not one number for each node");
	}
	return 0;
}

static int take_cells(const struct reading *reading, struct nc_measured *measured)
{
	for (size_t i = 0; i < reading->count; i++) {
		for (size_t j = 0; j < reading->count; j++) {
			const json_t *cell = json_array_get(json_array_get(reading->rows, i), j);
			size_t from = reading->socket_of[i];
			size_t to = reading->socket_of[j];
			double *best;

			if (json_is_null(cell) || from == SIZE_MAX || to == SIZE_MAX)
				continue;
			if (!json_is_number(cell) || json_number_value(cell) < 0)
				return refuse(reading, "a cell of \"read_bytes_per_s\" is neither "
				                       "null nor a number >= 0");
			best = &measured->bytes_per_s[from * measured->count + to];
			if (json_number_value(cell) > *best)
				*best = json_number_value(cell);
		}
	}
	return 0;
}

static int read_document(const struct nc_host *host, const json_t *document,
                         struct reading *reading, struct nc_measured *ret)
{
	struct nc_measured measured = { 0 };
	int rc = check(reading, document);

	if (rc < 0)
		return rc;
	reading->socket_of = calloc(reading->count, sizeof(*reading->socket_of));
	measured.sockets = calloc(reading->count, sizeof(*measured.sockets));
	measured.bytes_per_s = calloc(reading->count * reading->count, sizeof(double));
	if (!reading->socket_of || !measured.sockets || !measured.bytes_per_s)
		rc = np_error_sys(reading->err, ENOMEM, "%s", reading->file);
	if (rc == 0)
		rc = find_sockets(host, reading, &measured);
	if (rc == 0)
		rc = take_cells(reading, &measured);
	free(reading->socket_of);
	if (rc < 0)
		nc_measured_release(&measured);
	else
		*ret = measured;
	return rc;
}

int nc_measured_read(const struct nc_host *host, const char *file, struct nc_measured *ret,
                     struct np_error *err)
{
	struct reading reading = { .file = file, .err = err };
	json_error_t wrong;
	json_t *document;
	char quoted[JSON_ERROR_TEXT_LENGTH];
	char *text;
	ssize_t size = np_file_read("measurement", file, NC_MEASURED_BYTES_MAX, &text, err);
	int rc;

	if (size < 0)
		return (int)size;
	if ((size_t)size > NC_MEASURED_BYTES_MAX) {
		free(text);
		return np_error_set(err, E2BIG, "%s: longer than %u bytes", file,
		                    NC_MEASURED_BYTES_MAX);
	}
	document = json_loadb(text, (size_t)size, JSON_REJECT_DUPLICATES, &wrong);
	free(text);
	if (!document)
		return np_error_set(err, EINVAL, "%s:%d:%d: %s", file, wrong.line, wrong.column,
		                    np_error_quote(wrong.text, quoted, sizeof(quoted)));
	rc = read_document(host, document, &reading, ret);
	json_decref(document);
	return rc;
}

void nc_measured_release(struct nc_measured *measured)
{
	free(measured->sockets);
	free(measured->bytes_per_s);
	*measured = (struct nc_measured){ 0 };
}

/* ---- asking ---- */

static size_t find(const struct nc_measured *measured, unsigned socket)
{
	size_t i = 0;

	while (i < measured->count && measured->sockets[i] != socket)
		i++;
	return i;
}

double nc_measured_between(const struct nc_measured *measured, unsigned reader, unsigned memory)
{
	size_t from = find(measured, reader);
	size_t to = find(measured, memory);

	if (from == measured->count || to == measured->count)
		return 0;
	return measured->bytes_per_s[from * measured->count + to];
}

double nc_measured_most(const struct nc_measured *measured, unsigned socket, bool is_reader)
{
	double most = 0;

	for (size_t i = 0; i < measured->count; i++) {
		unsigned other = measured->sockets[i];
		double value = is_reader ? nc_measured_between(measured, socket, other)
		                         : nc_measured_between(measured, other, socket);

		if (other != socket && value > most)
			most = value;
	}
	return most;
}
