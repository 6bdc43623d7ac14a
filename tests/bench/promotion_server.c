/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * promotion_server CPU ARENA_MIB HEAD_KIB RATE_MIB: a server of memcache text with two arenas of that size on one
 * node, the second of which is called remote, so that heads move on hosts with one node too. RATE_MIB: of
 * promotion, a second; 0 = without a limit, -1 = off. All of it is on one CPU. Prints its port, and serves until
 * its standard input ends. promotion.py runs it.
 */
#include "../../server/store/promote_thread.h"
#include "../../server/worker/worker.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ARENAS = 2, REMOTE_NODE = 1 };

#define BLOCK_BYTES (UINT64_C(2) << 20)

struct server {
	struct ns_config config;
	struct ns_arena arenas[ARENAS];
	struct ns_arena_report reports[ARENAS];
	struct ns_memory_plan plan;
	struct ns_listeners listeners;
	struct ns_worker_counts counts;
	struct ns_server_state state;
	unsigned cpu;
	uint32_t connections;
	int stop_fd;
};

static void *stop_at_end(void *arg)
{
	struct server *server = arg;
	const uint64_t one = 1;
	char byte;

	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	__atomic_store_n(&server->state.is_draining, true, __ATOMIC_RELAXED);
	(void)!write(server->stop_fd, &one, sizeof(one));
	return NULL;
}

static int map_arenas(struct server *server, uint64_t bytes, struct np_error *err)
{
	for (unsigned i = 0; i < ARENAS; i++) {
		char *base = mmap(NULL, bytes + BLOCK_BYTES, PROT_READ | PROT_WRITE,
		                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (base == MAP_FAILED)
			return np_error_set(err, ENOMEM, "no memory for an arena");
		base += -(uintptr_t)base % BLOCK_BYTES;
		(void)madvise(base, bytes, MADV_HUGEPAGE);
		memset(base, 0, bytes);
		server->arenas[i] = (struct ns_arena){
			.plan = { .node = i * REMOTE_NODE,
			          .distance = 10 + 11 * i,
			          .bytes = bytes },
			.base = base,
			.block_bytes = BLOCK_BYTES,
			.block_count = bytes / BLOCK_BYTES,
		};
	}
	return 0;
}

static int create(struct server *server, struct np_error *err)
{
	const struct ns_store_setup setup = {
		.config = &server->config,
		.arenas = server->arenas,
		.arena_count = ARENAS,
		.far_node = REMOTE_NODE,
		.threads_max = 2,
		.hash_seed = 1,
	};
	int rc = np_bitmap_add(&server->plan.serving_nodes, 0);

	if (rc == 0)
		rc = np_bitmap_add(&server->plan.serving_cpus, server->cpu);
	if (rc < 0)
		return np_error_set(err, -rc, "no memory");
	rc = ns_store_create(&setup, &server->state.store, err);
	if (rc == 0)
		rc = ns_listeners_open(&server->config, &server->cpu, 1, &server->listeners, err);
	if (rc < 0)
		return rc;
	server->state.config = &server->config;
	server->state.plan = &server->plan;
	server->state.arenas = server->arenas;
	server->state.reports = server->reports;
	server->state.arena_count = ARENAS;
	server->state.workers = &server->counts;
	server->state.worker_count = 1;
	server->state.worker_cpus = &server->cpu;
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return 0;
}

static int serve(struct server *server, struct np_error *err)
{
	const struct ns_promotion_setup promotion_setup = {
		.store = server->state.store,
		.config = &server->config,
		.cpus = &server->plan.serving_cpus,
		.stop_fd = server->stop_fd,
	};
	const struct ns_worker_setup worker = {
		.cpu = server->cpu,
		.listeners = server->listeners.list,
		.listener_count = server->listeners.count_a_worker,
		.state = &server->state,
		.stop_fd = server->stop_fd,
		.connections = &server->connections,
	};
	struct ns_promotion *promotion = NULL;
	pthread_t waiter;
	int rc = ns_promotion_start(&promotion_setup, &promotion, err);

	if (rc < 0)
		return rc;
	printf("%d\n", server->listeners.ports[NS_SESSION_MEMCACHE]);
	fflush(stdout);
	rc = -pthread_create(&waiter, NULL, stop_at_end, server);
	if (rc < 0)
		return np_error_sys(err, -rc, "thread");
	rc = ns_worker_run(&worker, err);
	pthread_join(waiter, NULL);
	ns_promotion_end(promotion);
	return rc;
}

int main(int argc, char **argv)
{
	static struct server server;
	struct np_error err = { 0 };
	long rate_mib;
	int rc;

	if (argc != 5) {
		fputs("usage: promotion_server CPU ARENA_MIB HEAD_KIB RATE_MIB\n", stderr);
		return 2;
	}
	rate_mib = strtol(argv[4], NULL, 10);
	server.cpu = (unsigned)strtoul(argv[1], NULL, 10);
	ns_config_default(&server.config);
	server.config.head_bytes = strtoull(argv[3], NULL, 10) << 10;
	server.config.object_bytes_max = server.config.head_bytes;
	server.config.block_bytes = BLOCK_BYTES;
	server.config.memcache_port = NS_ANY_PORT;
	server.config.http_port = 0;
	server.config.no_promotion = rate_mib < 0;
	server.config.promotion_rate = rate_mib < 0 ? 0 : (uint64_t)rate_mib << 20;
	rc = map_arenas(&server, strtoull(argv[2], NULL, 10) << 20, &err);
	if (rc == 0)
		rc = create(&server, &err);
	if (rc == 0)
		rc = serve(&server, &err);
	if (rc < 0)
		fprintf(stderr, "promotion_server: %s\n", err.text);
	ns_listeners_close(&server.listeners);
	ns_store_free(server.state.store);
	return rc < 0;
}
