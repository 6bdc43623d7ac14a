/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library as a program that embeds it sees it: several servers in one process, over real sockets
 * and by direct calls at the same time; and creating one that cannot be.
 */
#include "check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <numastore/server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { REPLY_MAX = 8192, ROUNDS = 300, OBJECTS = 20, TIMEOUT_S = 30 };

struct running {
	struct ns_server *server;
	pthread_t thread;
	int rc;
	struct np_error err;
};

static struct ns_config small_config(void)
{
	struct ns_config config;

	ns_config_default(&config);
	config.memory_bytes = 4 << 20;
	config.head_bytes = 64 << 10;
	config.workers = 1;
	config.memcache_port = NS_ANY_PORT;
	config.http_port = NS_ANY_PORT;
	return config;
}

/* On hosts with several nodes "auto" is ambiguous over loopback: this process's first. */
static int create(struct ns_config *config, struct ns_server **ret, struct np_error *err)
{
	config->numa = "0";
	return ns_server_create(config, ret, err);
}

static void *run(void *arg)
{
	struct running *running = arg;

	running->rc = ns_server_run(running->server, &running->err);
	return NULL;
}

static void begin(struct running *running)
{
	struct ns_config config = small_config();
	struct np_error err;

	*running = (struct running){ 0 };
	assert_np_ok(create(&config, &running->server, &err), &err);
	assert_number(pthread_create(&running->thread, NULL, run, running), 0);
}

static void end(struct running *running)
{
	ns_server_stop(running->server);
	assert_number(pthread_join(running->thread, NULL), 0);
	assert_np_ok(running->rc, &running->err);
	ns_server_destroy(running->server);
}

static int connect_to(int port)
{
	const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_number(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
	assert_number(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Sends @request; what comes is @wanted and nothing more. */
static void talk(int fd, const char *request, const char *wanted)
{
	char reply[REPLY_MAX + 1];
	size_t len = 0;

	assert_number(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	while (len < strlen(wanted)) {
		ssize_t got = recv(fd, reply + len, REPLY_MAX - len, 0);

		assert_true(got > 0);
		len += (size_t)got;
	}
	reply[len] = '\0';
	assert_text(reply, wanted);
}

static int set_text(struct ns_server *server, const char *key, const char *text)
{
	return ns_set(server, key, strlen(key), text, strlen(text), NULL);
}

static void assert_value(struct ns_server *server, const char *key, const char *wanted)
{
	struct np_error err;
	char *value;
	size_t size;

	assert_np_ok(ns_get(server, key, strlen(key), &value, &size, &err), &err);
	assert_number(size, strlen(wanted));
	assert_memory_equal(value, wanted, size);
	free(value);
}

/* ---- two at a time ---- */

static void two_servers_keep_their_objects_apart_and_end_one_by_one(void **state)
{
	struct running a;
	struct running b;
	int to_a;
	int to_b;

	(void)state;
	begin(&a);
	begin(&b);
	assert_true(ns_server_memcache_port(a.server) > 0);
	assert_true(ns_server_memcache_port(a.server) != ns_server_memcache_port(b.server));
	assert_true(ns_server_http_port(a.server) != ns_server_http_port(b.server));
	assert_number(ns_server_admin_port(a.server), 0);
	to_a = connect_to(ns_server_memcache_port(a.server));
	to_b = connect_to(ns_server_memcache_port(b.server));

	talk(to_a, "set k 0 0 1\r\na\r\n", "STORED\r\n");
	talk(to_b, "set k 0 0 2\r\nbb\r\n", "STORED\r\n");
	talk(to_b, "get k only-a\r\n", "VALUE k 0 2\r\nbb\r\nEND\r\n");
	talk(to_a, "get k\r\n", "VALUE k 0 1\r\na\r\nEND\r\n");
	assert_value(a.server, "k", "a");
	assert_value(b.server, "k", "bb");

	close(to_a);
	end(&a);
	/* The other one goes on, on the connection that it has and on new ones. */
	talk(to_b, "get k\r\n", "VALUE k 0 2\r\nbb\r\nEND\r\n");
	close(to_b);
	to_b = connect_to(ns_server_memcache_port(b.server));
	talk(to_b, "get k\r\n", "VALUE k 0 2\r\nbb\r\nEND\r\n");
	close(to_b);
	end(&b);
}

static void what_is_set_by_a_call_is_served_and_the_other_way_round(void **state)
{
	struct running a;
	int fd;

	(void)state;
	begin(&a);
	assert_number(set_text(a.server, "/direct", "from within"), 0);
	fd = connect_to(ns_server_memcache_port(a.server));
	talk(fd, "get /direct\r\n", "VALUE /direct 0 11\r\nfrom within\r\nEND\r\n");
	talk(fd, "set /net 7 0 3\r\nout\r\n", "STORED\r\n");
	assert_value(a.server, "/net", "out");
	assert_number(ns_delete(a.server, "/net", 4, NULL), 0);
	talk(fd, "get /net\r\n", "END\r\n");
	assert_number(ns_delete(a.server, "/net", 4, NULL), -ENOENT);
	close(fd);
	end(&a);
}

/* ---- both kinds of use at once ---- */

struct caller {
	struct ns_server *server;
	bool is_bad;
};

/* All bytes of a value are the same, whoever set it: a torn one shows. */
static bool is_whole(const char *value, size_t size)
{
	for (size_t i = 1; i < size; i++) {
		if (value[i] != value[0])
			return false;
	}
	return size > 0;
}

static void *call(void *arg)
{
	struct caller *caller = arg;
	char text[1000];

	for (unsigned round = 0; round < ROUNDS; round++) {
		char key[16];
		char *value;
		size_t size;
		int rc;

		snprintf(key, sizeof(key), "k%u", round % OBJECTS);
		memset(text, 'A' + (int)(round % 26), sizeof(text));
		rc = ns_set(caller->server, key, strlen(key), text, sizeof(text) - round, NULL);
		if (rc == 0)
			rc = ns_get(caller->server, key, strlen(key), &value, &size, NULL);
		if (rc < 0) {
			caller->is_bad = true;
			continue;
		}
		caller->is_bad = caller->is_bad || !is_whole(value, size);
		free(value);
	}
	return NULL;
}

static void calls_from_threads_go_beside_connections(void **state)
{
	struct caller callers[3];
	pthread_t threads[3];
	struct running a;
	int fd;

	(void)state;
	begin(&a);
	fd = connect_to(ns_server_memcache_port(a.server));
	for (size_t i = 0; i < 3; i++) {
		callers[i] = (struct caller){ .server = a.server };
		assert_number(pthread_create(&threads[i], NULL, call, &callers[i]), 0);
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		talk(fd, "set k1 0 0 3\r\nyyy\r\n", "STORED\r\n");
		talk(fd, "delete nothing\r\n", "NOT_FOUND\r\n");
		talk(fd, "set k1 0 0 2\r\nzz\r\n", "STORED\r\n");
		talk(fd, "touch k1 0\r\n", "TOUCHED\r\n");
	}
	for (size_t i = 0; i < 3; i++) {
		assert_number(pthread_join(threads[i], NULL), 0);
		assert_false(callers[i].is_bad);
	}
	close(fd);
	end(&a);
}

static void a_server_that_never_ran_can_be_used_and_ended(void **state)
{
	struct ns_config config = small_config();
	struct ns_server *server;
	struct np_error err;

	(void)state;
	assert_np_ok(create(&config, &server, &err), &err);
	assert_number(set_text(server, "k", "v"), 0);
	assert_value(server, "k", "v");
	ns_server_destroy(server);
	ns_server_destroy(NULL);
}

static void a_server_that_is_stopped_before_it_runs_ends_at_once(void **state)
{
	struct ns_config config = small_config();
	struct ns_server *server;
	struct np_error err;

	(void)state;
	assert_np_ok(create(&config, &server, &err), &err);
	ns_server_stop(server);
	ns_server_stop(server);
	assert_np_ok(ns_server_run(server, &err), &err);
	ns_server_destroy(server);
}

static void direct_calls_refuse_what_no_protocol_could_say(void **state)
{
	static const struct {
		const char *key;
		size_t len;
		const char *part;
	} cases[] = {
		{ "", 0, "a key of 0 bytes" }, { "a b", 3, "byte 32" },    { "a\nb", 3, "byte 10" },
		{ "a\0b", 3, "byte 0" },       { "a\x7f", 2, "byte 127" },
	};
	struct ns_config config = small_config();
	char *big = calloc(1, config.head_bytes + 1);
	char longest[251];
	struct ns_server *server;
	struct np_error err;
	char *value;
	size_t size;

	(void)state;
	assert_non_null(big);
	assert_np_ok(create(&config, &server, &err), &err);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		check_case("%s", cases[i].part);
		assert_fails(ns_set(server, cases[i].key, cases[i].len, "v", 1, &err), -EINVAL,
		             &err, cases[i].part);
		assert_fails(ns_get(server, cases[i].key, cases[i].len, &value, &size, &err),
		             -EINVAL, &err, cases[i].part);
		assert_fails(ns_delete(server, cases[i].key, cases[i].len, &err), -EINVAL, &err,
		             cases[i].part);
	}
	memset(longest, 'k', sizeof(longest));
	assert_np_ok(ns_set(server, longest, 250, "v", 1, &err), &err);
	assert_fails(ns_set(server, longest, 251, "v", 1, &err), -EINVAL, &err, "251 bytes");
	assert_fails(ns_get(server, "none", 4, &value, &size, &err), -ENOENT, &err, "no such key");
	assert_np_ok(ns_set(server, "empty", 5, NULL, 0, &err), &err);
	assert_value(server, "empty", "");
	assert_number(ns_set(server, "big", 3, big, config.head_bytes + 1, NULL), -E2BIG);
	assert_np_ok(ns_set(server, "big", 3, big, config.head_bytes, &err), &err);
	free(big);
	ns_server_destroy(server);
}

/* ---- those that cannot be ---- */

static void a_port_that_is_taken_is_told_and_nothing_is_left(void **state)
{
	struct ns_config config = small_config();
	struct ns_server *first;
	struct ns_server *second = NULL;
	struct np_error err;
	char port[16];

	(void)state;
	assert_np_ok(create(&config, &first, &err), &err);
	config.http_port = ns_server_http_port(first);
	snprintf(port, sizeof(port), "%d", config.http_port);
	assert_fails(create(&config, &second, &err), -EADDRINUSE, &err, port);
	assert_null(second);
	/* It is free when its owner is gone. */
	ns_server_destroy(first);
	assert_np_ok(create(&config, &second, &err), &err);
	assert_number(ns_server_http_port(second), config.http_port);
	ns_server_destroy(second);
}

static void a_socket_of_a_server_goes_with_it(void **state)
{
	char folder[] = "/tmp/numastore.XXXXXX";
	struct ns_config config = small_config();
	struct ns_server *server;
	struct np_error err;
	struct stat found;
	char path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/socket", folder);
	config.memcache_socket = path;
	assert_np_ok(create(&config, &server, &err), &err);
	assert_number(stat(path, &found), 0);
	assert_number(found.st_mode & 0777, 0700);
	ns_server_destroy(server);
	assert_number(stat(path, &found), -1);
	assert_number(rmdir(folder), 0);
}

/* Each stage of creation, by what makes it fail. */
static void change_root(struct ns_config *config)
{
	config->root = "/nonexistent";
}

static void change_numa(struct ns_config *config)
{
	config->numa = "nosuchcard0";
}

static void change_block(struct ns_config *config)
{
	config->block_bytes = 3 << 20;
}

static void change_object(struct ns_config *config)
{
	config->object_bytes_max = config->head_bytes + 1;
}

static void change_auth(struct ns_config *config)
{
	config->auth_file = "/nonexistent/passwords";
}

static void change_address(struct ns_config *config)
{
	config->listen_address = "192.0.2.1"; /* TEST-NET-1: no host's */
}

static void change_memory(struct ns_config *config)
{
	config->memory_bytes = UINT64_C(1) << 50; /* beyond what can be addressed */
}

static void change_connections(struct ns_config *config)
{
	config->connections_max = 0;
}

static void change_rule(struct ns_config *config)
{
	static const struct ns_place_rule rule = { "x", NS_PLACE_NODE, 4000 };

	config->rules = &rule;
	config->rule_count = 1;
}

static void each_stage_of_creation_fails_with_a_reason(void **state)
{
	static const struct {
		void (*change)(struct ns_config *config);
		int code; /* 0: whatever it is */
		const char *part;
	} cases[] = {
		{ change_root, 0, "/nonexistent" },
		{ change_numa, 0, "nosuchcard0" },
		{ change_block, -EINVAL, "power of two" },
		{ change_object, -EINVAL, "head" },
		{ change_connections, -EINVAL, "connection" },
		{ change_auth, -ENOENT, "/nonexistent/passwords" },
		{ change_address, -EADDRNOTAVAIL, "192.0.2.1" },
		{ change_memory, -ENOMEM, "node 0" },
		{ change_rule, -EINVAL, "node 4000" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ns_config config = small_config();
		struct ns_server *server = NULL;
		struct np_error err;
		int rc;

		config.numa = "0";
		cases[i].change(&config);
		check_case("%s", cases[i].part);
		rc = ns_server_create(&config, &server, &err);
		assert_null(server);
		assert_true(rc < 0);
		assert_fails(rc, cases[i].code ? cases[i].code : rc, &err, cases[i].part);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_servers_keep_their_objects_apart_and_end_one_by_one),
		cmocka_unit_test(what_is_set_by_a_call_is_served_and_the_other_way_round),
		cmocka_unit_test(calls_from_threads_go_beside_connections),
		cmocka_unit_test(a_server_that_never_ran_can_be_used_and_ended),
		cmocka_unit_test(a_server_that_is_stopped_before_it_runs_ends_at_once),
		cmocka_unit_test(direct_calls_refuse_what_no_protocol_could_say),
		cmocka_unit_test(a_port_that_is_taken_is_told_and_nothing_is_left),
		cmocka_unit_test(a_socket_of_a_server_goes_with_it),
		cmocka_unit_test(each_stage_of_creation_fails_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
