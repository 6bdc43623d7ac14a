/* SPDX-License-Identifier: BSD-3-Clause */
#include "http.h"

#include "listen.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT "text/plain; charset=utf-8"

static const char index_page[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><title>numacount</title></head><body>\n"
	"<h1>numacount</h1>\n<p>What crosses this host's memory controllers and the links between "
	"its sockets: <a href=\"/metrics\">/metrics</a></p>\n</body></html>\n";

struct nc_http {
	nc_http_metrics *metrics;
	void *context;
	size_t count;
	struct MHD_Daemon *daemons[NC_LISTEN_SOCKETS_MAX];
};

/* ---- responses ---- */

static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned status,
                                     const char *type, struct MHD_Response *response)
{
	enum MHD_Result rc = MHD_NO;

	if (!response)
		return MHD_NO;
	if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES))
		rc = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return rc;
}

static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status,
                                 const char *type, const char *text)
{
	char *copy = strdup(text);
	struct MHD_Response *response;

	if (!copy)
		return MHD_NO;
	response = MHD_create_response_from_buffer(strlen(copy), copy, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(copy);
	return send_response(connection, status, type, response);
}

static enum MHD_Result send_metrics(const struct nc_http *http, struct MHD_Connection *connection)
{
	const char *accept =
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	struct nc_http_page page = { 0 };
	struct np_error err = { 0 };
	struct MHD_Response *response;

	if (http->metrics(http->context, accept, &page, &err) < 0) {
		char text[sizeof(err.text) + 1];

		snprintf(text, sizeof(text), "%s\n", err.text);
		return send_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, TEXT, text);
	}
	response = MHD_create_response_from_buffer(page.size, page.text, MHD_RESPMEM_MUST_FREE);
	if (!response)
		free(page.text);
	else
		MHD_add_response_header(response, MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
	return send_response(connection, MHD_HTTP_OK, page.type, response);
}

static bool has_body(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
	                                                 MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0") != 0) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
	                                   MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

static bool is_get_or_head(const char *method)
{
	return strcmp(method, MHD_HTTP_METHOD_GET) == 0 ||
	       strcmp(method, MHD_HTTP_METHOD_HEAD) == 0;
}

/*
 * libmicrohttpd calls this when the headers are there, and once more at the end of the request;
 * *state is ours, NULL at first. An answer at the first call closes the connection, so that nothing
 * is read of what we do not want.
 */
// NOLINTNEXTLINE(readability-function-size): the library's signature
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *body,
                              size_t *body_size, void **state)
{
	const struct nc_http *http = context;

	(void)version;
	(void)body;
	(void)body_size;
	if (!is_get_or_head(method))
		return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, TEXT,
		                 "only GET and HEAD are served here\n");
	if (has_body(connection))
		return send_text(connection, MHD_HTTP_CONTENT_TOO_LARGE, TEXT,
		                 "a request has no body here\n");
	if (!*state) {
		*state = context;
		return MHD_YES;
	}
	if (strcmp(url, "/metrics") == 0)
		return send_metrics(http, connection);
	if (strcmp(url, "/") == 0)
		return send_text(connection, MHD_HTTP_OK, "text/html; charset=utf-8", index_page);
	return send_text(connection, MHD_HTTP_NOT_FOUND, TEXT,
	                 "there is /metrics, and nothing else\n");
}

/* ---- life ---- */

static struct MHD_Daemon *start_one(struct nc_http *http, int fd)
{
	/* With epoll one thread waits for all its clients, so that no slow one holds up others. */
	return MHD_start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, NULL, NULL, answer, http,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)NC_HTTP_CONNECTIONS_MAX, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)NC_HTTP_ADDRESS_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)NC_HTTP_IDLE_S_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)NC_HTTP_REQUEST_BYTES_MAX, MHD_OPTION_END);
}

static void close_from(const int *sockets, size_t first, size_t count)
{
	for (size_t i = first; i < count; i++)
		close(sockets[i]);
}

int nc_http_start(const int *sockets, size_t count, nc_http_metrics *metrics, void *context,
                  struct nc_http **ret, struct np_error *err)
{
	struct nc_http *http = calloc(1, sizeof(*http));

	if (!http || count > NC_LISTEN_SOCKETS_MAX) {
		int code = http ? E2BIG : ENOMEM;

		free(http);
		close_from(sockets, 0, count);
		return np_error_sys(err, code, "HTTP");
	}
	http->metrics = metrics;
	http->context = context;
	for (; http->count < count; http->count++) {
		errno = 0;
		http->daemons[http->count] = start_one(http, sockets[http->count]);
		if (!http->daemons[http->count]) {
			int code = errno ? errno : ENOMEM;

			close_from(sockets, http->count, count);
			nc_http_stop(http);
			return np_error_sys(err, code, "starting the HTTP server's thread");
		}
	}
	*ret = http;
	return 0;
}

void nc_http_stop(struct nc_http *http)
{
	if (!http)
		return;
	while (http->count > 0)
		MHD_stop_daemon(http->daemons[--http->count]);
	free(http);
}
