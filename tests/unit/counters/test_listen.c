/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses to listen on: what they may look like, and real sockets.
 */
#include "check.h"

#include "../../counters/listen.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *text;
	const char *host; /* NULL = refused */
	const char *port; /* or a part of the error */
} addresses[] = {
	{ "127.0.0.1:9914", "127.0.0.1", "9914" },
	{ "9914", "127.0.0.1", "9914" },
	{ ":80", "", "80" },
	{ "0", "127.0.0.1", "0" },
	{ "65535", "127.0.0.1", "65535" },
	{ "[::1]:9914", "::1", "9914" },
	{ "[fe80::1%eth0]:1", "fe80::1%eth0", "1" },
	{ "host.example:09914", "host.example", "09914" },
	{ "65536", NULL, "'65536' is no port in 0..65535" },
	{ "127.0.0.1:99999999999999999999", NULL, "is no port" },
	{ "127.0.0.1:", NULL, "'' is no port" },
	{ "127.0.0.1", NULL, "is no port" },
	{ "host:http", NULL, "'http' is no port" },
	{ "host:-1", NULL, "'-1' is no port" },
	{ "host:+1", NULL, "'+1' is no port" },
	{ "host: 1", NULL, "' 1' is no port" },
	{ "", NULL, "is no port" },
	{ ":", NULL, "is no port" },
	{ "::1:9914", NULL, "an IPv6 address wants brackets" },
	{ "[::1:9914", NULL, "an IPv6 address wants brackets" },
};

static void addresses_are_parsed_or_refused_with_the_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct nc_listen_address address = { .host = "untouched" };
		struct np_error err = { 0 };
		int rc = nc_listen_parse(addresses[i].text, &address, &err);

		check_case("'%s'", addresses[i].text);
		if (!addresses[i].host) {
			assert_fails(rc, -EINVAL, &err, addresses[i].port);
			assert_text(address.host, "untouched");
			continue;
		}
		assert_np_ok(rc, &err);
		assert_text(address.host, addresses[i].host);
		assert_text(address.port, addresses[i].port);
	}
}

static void a_host_name_longer_than_any_is_refused(void **state)
{
	char text[NC_LISTEN_HOST_MAX + 4] = "";
	struct nc_listen_address address;
	struct np_error err = { 0 };

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	snprintf(text + NC_LISTEN_HOST_MAX + 1, 3, ":1");
	assert_fails(nc_listen_parse(text, &address, &err), -EINVAL, &err, "at most 253 bytes");
	snprintf(text + NC_LISTEN_HOST_MAX, 3, ":1");
	assert_np_ok(nc_listen_parse(text, &address, &err), &err);
	assert_number(strlen(address.host), NC_LISTEN_HOST_MAX);
}

static void the_url_has_the_port_that_the_kernel_chose_and_taken_it_is_refused(void **state)
{
	struct nc_listen_address address = { .host = "127.0.0.1", .port = "0" };
	struct nc_listen_sockets sockets = { .count = 0 };
	char url[NC_LISTEN_URL_MAX];
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nc_listen_open(&address, &sockets, &err), &err);
	assert_number(sockets.count, 1);
	nc_listen_url(sockets.fds[0], url);
	assert_has(url, "http://127.0.0.1:");
	assert_has_not(url, ":0");
	assert_np_ok(nc_listen_parse(url + strlen("http://"), &address, &err), &err);

	assert_fails(nc_listen_open(&address, &sockets, &err), -EADDRINUSE, &err,
	             "is in use by another program");
	assert_number(sockets.count, 1);
	nc_listen_close(&sockets);
	assert_number(sockets.count, 0);
	nc_listen_close(&sockets);

	err = (struct np_error){ 0 };
	assert_np_ok(nc_listen_open(&address, &sockets, &err), &err);
	nc_listen_close(&sockets);
}

static void an_address_of_another_host_is_refused(void **state)
{
	/* TEST-NET-1 of RFC 5737: nobody has it. */
	const struct nc_listen_address address = { .host = "192.0.2.1", .port = "0" };
	struct nc_listen_sockets sockets = { .count = 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_fails(nc_listen_open(&address, &sockets, &err), -EADDRNOTAVAIL, &err,
	             "192.0.2.1: no interface of this host has that address");
	assert_number(sockets.count, 0);
}

static void no_more_sockets_are_opened_than_there_is_room_for(void **state)
{
	const struct nc_listen_address address = { .host = "127.0.0.1", .port = "0" };
	struct nc_listen_sockets sockets = { .count = 0 };
	struct np_error err = { 0 };

	(void)state;
	for (unsigned i = 0; i < NC_LISTEN_SOCKETS_MAX; i++)
		assert_np_ok(nc_listen_open(&address, &sockets, &err), &err);
	assert_fails(nc_listen_open(&address, &sockets, &err), -E2BIG, &err, "at most 16");
	nc_listen_close(&sockets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_parsed_or_refused_with_the_reason),
		cmocka_unit_test(a_host_name_longer_than_any_is_refused),
		cmocka_unit_test(
			the_url_has_the_port_that_the_kernel_chose_and_taken_it_is_refused),
		cmocka_unit_test(an_address_of_another_host_is_refused),
		cmocka_unit_test(no_more_sockets_are_opened_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
