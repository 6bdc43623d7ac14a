/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use libnumastore: a program that has an object server in it, which others reach over HTTP and
 * memcache while the program itself reads and writes the same objects by calls. Ends when its input does.
 *
 *   cc embed_server.c $(pkg-config --cflags --libs libnumastore) && ./a.out
 */
#include <numastore/server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char key[] = "/greeting"; /* of HTTP it is the path, with its "/" */

struct served {
	struct ns_server *server;
	struct np_error err;
	int rc;
};

static int fail(const struct np_error *err)
{
	fprintf(stderr, "embed_server: %s\n", err->text);
	return 1;
}

static void *serve(void *arg)
{
	struct served *served = arg;

	served->rc = ns_server_run(served->server, &served->err);
	return NULL;
}

static int use_directly(struct ns_server *server, struct np_error *err)
{
	static const char text[] = "Hello from the program itself\n";
	char *value = NULL;
	size_t size = 0;
	int rc = ns_set(server, key, strlen(key), text, strlen(text), err);

	if (rc == 0)
		rc = ns_get(server, key, strlen(key), &value, &size, err);
	if (rc < 0)
		return rc;
	printf("%s, %zu bytes: %.*s", key, size, (int)size, value);
	free(value);
	return 0;
}

static int serve_until_input_ends(struct ns_server *server, struct np_error *err)
{
	struct served served = { .server = server };
	pthread_t thread;
	int rc = use_directly(server, err);

	if (rc < 0)
		return rc;
	rc = pthread_create(&thread, NULL, serve, &served);
	if (rc != 0) {
		snprintf(err->text, sizeof(err->text), "thread: %s", strerror(rc));
		return -rc;
	}
	printf("http://127.0.0.1:%d%s, memcache on port %d\n", ns_server_http_port(server), key,
	       ns_server_memcache_port(server));
	fflush(stdout);
	while (getchar() != EOF)
		;
	ns_server_stop(server);
	pthread_join(thread, NULL);
	*err = served.err;
	return served.rc;
}

int main(void)
{
	struct ns_config config;
	struct ns_server *server;
	struct np_error err = { 0 };
	int rc;

	ns_config_default(&config);
	config.memory_bytes = UINT64_C(16) << 20;
	config.workers = 1;
	config.memcache_port = NS_ANY_PORT;
	config.http_port = NS_ANY_PORT;
	rc = ns_server_create(&config, &server, &err);
	if (rc < 0)
		return fail(&err);
	rc = serve_until_input_ends(server, &err);
	ns_server_destroy(server);
	return rc < 0 ? fail(&err) : 0;
}
