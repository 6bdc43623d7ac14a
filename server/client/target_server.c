/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of servers. */
#include "target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { QUOTE_SIZE = 80, HOST_MAX = 253, PORT_MAX = 65535, PORT_DIGITS = 5 };

#define UNIX_PREFIX "unix:"

static int refuse(const char *option, const char *text, const char *why, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "%s: '%s': %s", option,
	                    np_error_quote(text, quoted, sizeof(quoted)), why);
}

static const char *default_port(enum nl_protocol protocol)
{
	return protocol == NL_HTTP ? "8080" : "11211";
}

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long port = digits <= PORT_DIGITS ? strtoul(text, NULL, 10) : 0;

	return text[digits] == '\0' && port >= 1 && port <= PORT_MAX;
}

/* Letters of names, of addresses and of their scopes. */
static bool is_host(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] <= ' ' || text[i] > '~' || strchr("/@[],", text[i]))
			return false;
	return size > 0 && size <= HOST_MAX;
}

static int set(struct nl_server *ret, const char *host, size_t host_size, const char *port,
               struct np_error *err)
{
	struct nl_server server = {
		.host = strndup(host, host_size),
		.port = port ? strdup(port) : NULL,
	};

	if (!server.host || (port && !server.port)) {
		nl_server_release(&server);
		return np_error_sys(err, ENOMEM, "name of a server");
	}
	*ret = server;
	return 0;
}

static int parse_unix(const char *option, const char *text, struct nl_server *ret,
                      struct np_error *err)
{
	const char *path = text + strlen(UNIX_PREFIX);
	size_t size = strlen(path);

	if (size == 0)
		return refuse(option, text, "unix:PATH: which path?", err);
	if (size >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return refuse(option, text, "the path is too long for a unix socket (107 bytes)",
		              err);
	return set(ret, path, size, NULL, err);
}

int nl_server_parse(const char *option, const char *text, enum nl_protocol protocol,
                    struct nl_server *ret, struct np_error *err)
{
	const char *host = text;
	const char *behind = strchr(text, ':'); /* the host */
	size_t host_size;

	if (strncmp(text, UNIX_PREFIX, strlen(UNIX_PREFIX)) == 0)
		return parse_unix(option, text, ret, err);
	if (*text == '[') {
		host = text + 1;
		behind = strchr(text, ']');
		if (!behind)
			return refuse(option, text, "the bracket is not closed", err);
		host_size = (size_t)(behind - host);
		behind++;
	} else {
		if (behind && strchr(behind + 1, ':'))
			return refuse(option, text,
			              "an IPv6 address stands in brackets, as in [::1]:11211", err);
		behind = behind ? behind : text + strlen(text);
		host_size = (size_t)(behind - host);
	}
	if (!is_host(host, host_size))
		return refuse(option, text, "no name or address of a host", err);
	if (*behind == '\0')
		return set(ret, host, host_size, default_port(protocol), err);
	if (*behind != ':' || !is_port(behind + 1))
		return refuse(option, text, "the port is not a number in 1..65535", err);
	return set(ret, host, host_size, behind + 1, err);
}

void nl_server_release(struct nl_server *server)
{
	free(server->host);
	free(server->port);
	*server = (struct nl_server){ 0 };
}

const char *nl_server_text(const struct nl_server *server, char *buf, size_t size)
{
	if (!server->port)
		snprintf(buf, size, UNIX_PREFIX "%s", server->host);
	else if (strchr(server->host, ':'))
		snprintf(buf, size, "[%s]:%s", server->host, server->port);
	else
		snprintf(buf, size, "%s:%s", server->host, server->port);
	return buf;
}
