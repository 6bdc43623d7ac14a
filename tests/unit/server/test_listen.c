/* SPDX-License-Identifier: BSD-3-Clause */
/* On loopback, with ports that the kernel chooses. */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <worker/listen.h>

static const unsigned cpus[] = { 0, 0, 0 };

static struct ns_config default_config(void)
{
	struct ns_config config;

	ns_config_default(&config);
	config.memcache_port = NS_ANY_PORT;
	config.http_port = 0;
	return config;
}

static int open_them(const struct ns_config *config, unsigned workers, struct ns_listeners *ret,
                     struct np_error *err)
{
	return ns_listeners_open(config, cpus, workers, ret, err);
}

/* ---- HOST:PORT ---- */

static const struct {
	const char *entry;
	const char *host; /* NULL: refused */
	int port;
	const char *why;
} entries[] = {
	{ "127.0.0.1", "127.0.0.1", 0, NULL },
	{ "127.0.0.1:11211", "127.0.0.1", 11211, NULL },
	{ "host.example:1", "host.example", 1, NULL },
	{ "*", "*", 0, NULL },
	{ "*:65535", "*", 65535, NULL },
	{ "::1", "::1", 0, NULL },
	{ "::", "::", 0, NULL },
	{ "[::1]", "::1", 0, NULL },
	{ "[::1]:80", "::1", 80, NULL },
	{ "fe80::1%lo", "fe80::1%lo", 0, NULL },
	{ "", NULL, 0, "empty address" },
	{ ":80", NULL, 0, "empty address" },
	{ "[]:80", NULL, 0, "empty address" },
	{ "127.0.0.1:", NULL, 0, "'' is no port" },
	{ "127.0.0.1:0", NULL, 0, "'0' is no port in 1..65535" },
	{ "127.0.0.1:65536", NULL, 0, "is no port" },
	{ "127.0.0.1:-1", NULL, 0, "is no port" },
	{ "127.0.0.1: 80", NULL, 0, "is no port" },
	{ "127.0.0.1:http", NULL, 0, "'http' is no port" },
	{ "[::1]:99999999999999999999", NULL, 0, "is no port" },
};

static void an_entry_is_a_host_and_perhaps_a_port(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		char text[64];
		const char *host = NULL;
		int port = -1;
		struct np_error err;
		int rc;

		check_case("%s", entries[i].entry);
		snprintf(text, sizeof(text), "%s", entries[i].entry);
		rc = ns_listen_cut(text, &host, &port, &err);
		if (!entries[i].host) {
			assert_fails(rc, -EINVAL, &err, entries[i].why);
			continue;
		}
		assert_np_ok(rc, &err);
		assert_text(host, entries[i].host);
		assert_number(port, entries[i].port);
	}
}

/* ---- ports ---- */

static int connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons((uint16_t)port),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool is_listening(int port)
{
	int fd = connect_to(port);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void each_worker_has_sockets_of_its_own_on_the_same_ports(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;
	char text[NS_LISTEN_TEXT_MAX];
	char wanted[64];

	(void)state;
	config.http_port = NS_ANY_PORT;
	config.admin_port = NS_ANY_PORT;
	assert_np_ok(open_them(&config, 3, &listeners, &err), &err);
	assert_number(listeners.count_a_worker, 3);
	for (size_t i = 0; i < 9; i++) {
		assert_true(listeners.list[i].fd >= 0);
		assert_number(listeners.list[i].kind, i % 3);
		assert_false(listeners.list[i].is_shared);
	}
	for (int kind = 0; kind <= NS_SESSION_ADMIN; kind++)
		assert_true(is_listening(listeners.ports[kind]));
	snprintf(wanted, sizeof(wanted), "memcache listens on 127.0.0.1:%d", listeners.ports[0]);
	assert_text(ns_listener_text(&listeners, 0, text), wanted);
	ns_listeners_close(&listeners);
	ns_listeners_close(&listeners);
}

static void a_port_that_another_server_has_is_refused_and_nothing_stays_open(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners first;
	struct ns_listeners second;
	struct np_error err;
	int next = dup(0);

	(void)state;
	assert_np_ok(open_them(&config, 2, &first, &err), &err);
	close(next);
	next = dup(0);
	config.http_port = first.ports[NS_SESSION_MEMCACHE];
	assert_fails(open_them(&config, 2, &second, &err), -EADDRINUSE, &err,
	             "is in use by another program");
	close(next);
	assert_number(dup(0), next); /* the lowest that is free */
	close(next);
	ns_listeners_close(&first);
}

static void hosts_that_are_none_are_refused(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;

	(void)state;
	config.listen_address = "192.0.2.1";
	assert_fails(open_them(&config, 1, &listeners, &err), -EADDRNOTAVAIL, &err,
	             "no interface of this host has that address");
	config.listen_address = "host.invalid";
	assert_fails(open_them(&config, 1, &listeners, &err), -ENOENT, &err, "'host.invalid'");
	config.listen_address = "127.0.0.1,";
	assert_fails(open_them(&config, 1, &listeners, &err), -EINVAL, &err, "empty address");
	config.listen_address = "127.0.0.1,127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5,127.0.0.6,"
				"127.0.0.7,127.0.0.8,127.0.0.9,127.0.0.10,127.0.0.11,127.0.0.12,"
				"127.0.0.13,127.0.0.14,127.0.0.15,127.0.0.16,127.0.0.17";
	assert_fails(open_them(&config, 1, &listeners, &err), -E2BIG, &err, "more than 16");
}

/* A port that is free now, and most likely a moment later. */
static int free_port(void)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;
	int port;

	assert_np_ok(open_them(&config, 1, &listeners, &err), &err);
	port = listeners.ports[NS_SESSION_MEMCACHE];
	ns_listeners_close(&listeners);
	return port;
}

static void a_port_of_an_address_is_memcache_s_alone(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;
	char hosts[64];
	int port;

	(void)state;
	config.http_port = NS_ANY_PORT;
	for (unsigned tries = 0;; tries++) {
		int rc;

		port = free_port();
		/* The second one is named twice, which is once. */
		snprintf(hosts, sizeof(hosts), "127.0.0.1:%d,127.0.0.1,127.0.0.1", port);
		config.listen_address = hosts;
		rc = open_them(&config, 1, &listeners, &err);
		if (rc == 0 || tries == 5) {
			assert_np_ok(rc, &err);
			break;
		}
	}
	assert_number(listeners.count_a_worker, 3); /* two of memcache, one of HTTP */
	assert_number(listeners.ports[NS_SESSION_MEMCACHE], port);
	assert_true(is_listening(port));
	assert_true(listeners.ports[NS_SESSION_HTTP] != port);
	ns_listeners_close(&listeners);
}

static void the_kernel_is_told_the_cpu_of_each_worker(void **state)
{
	static const unsigned three[] = { 0, 1, 2 };
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;

	(void)state;
	config.steer = NS_STEER_CPU;
	assert_np_ok(ns_listeners_open(&config, three, 3, &listeners, &err), &err);
	for (unsigned i = 0; i < 3; i++) {
		int cpu = -1;
		socklen_t size = sizeof(cpu);

		assert_number(
			getsockopt(listeners.list[i].fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &size),
			0);
		assert_number(cpu, three[i]);
	}
	ns_listeners_close(&listeners);
}

/* ---- unix sockets ---- */

static char folder[] = "/tmp/numakit-listen-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/socket", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void a_unix_socket_has_its_mode_and_is_removed_at_the_end(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;
	struct stat info;
	mode_t before = umask(077);

	(void)state;
	config.memcache_socket = path;
	config.memcache_socket_mode = 0766;
	assert_np_ok(open_them(&config, 2, &listeners, &err), &err);
	umask(before);
	assert_number(stat(path, &info), 0);
	assert_true(S_ISSOCK(info.st_mode));
	assert_number(info.st_mode & 07777, 0766);
	assert_true(listeners.list[0].is_shared);
	assert_number(listeners.list[1].fd, listeners.list[0].fd);
	assert_number(listeners.ports[NS_SESSION_MEMCACHE], 0);
	ns_listeners_close(&listeners);
	assert_number(stat(path, &info), -1);
}

static void bind_there(int fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_number(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void a_socket_that_a_dead_server_left_is_replaced_and_no_other_file(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	struct np_error err;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	config.memcache_socket = path;
	bind_there(fd);
	assert_number(listen(fd, 1), 0);
	assert_fails(open_them(&config, 1, &listeners, &err), -EADDRINUSE, &err, "it is in use");
	assert_number(access(path, F_OK), 0);
	close(fd);
	assert_np_ok(open_them(&config, 1, &listeners, &err), &err);
	ns_listeners_close(&listeners);

	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_fails(open_them(&config, 1, &listeners, &err), -EADDRINUSE, &err, "no socket");
	assert_number(access(path, F_OK), 0);
	unlink(path);
}

static void a_path_that_is_too_long_or_in_no_folder_is_refused(void **state)
{
	struct ns_config config = default_config();
	struct ns_listeners listeners;
	char long_path[200];
	struct np_error err;

	(void)state;
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	config.memcache_socket = long_path;
	assert_fails(open_them(&config, 1, &listeners, &err), -ENAMETOOLONG, &err, "too long");
	config.memcache_socket = "/nowhere/at/all";
	assert_fails(open_them(&config, 1, &listeners, &err), -ENOENT, &err, "/nowhere/at/all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_is_a_host_and_perhaps_a_port),
		cmocka_unit_test(each_worker_has_sockets_of_its_own_on_the_same_ports),
		cmocka_unit_test(a_port_that_another_server_has_is_refused_and_nothing_stays_open),
		cmocka_unit_test(hosts_that_are_none_are_refused),
		cmocka_unit_test(a_port_of_an_address_is_memcache_s_alone),
		cmocka_unit_test(the_kernel_is_told_the_cpu_of_each_worker),
		cmocka_unit_test(a_unix_socket_has_its_mode_and_is_removed_at_the_end),
		cmocka_unit_test(a_socket_that_a_dead_server_left_is_replaced_and_no_other_file),
		cmocka_unit_test(a_path_that_is_too_long_or_in_no_folder_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
