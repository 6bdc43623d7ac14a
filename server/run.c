/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What numastore does: plans, maps, verifies and listens; says where everything is; then serves until SIGTERM or
 * SIGINT. Or one of the other things that it can be told to do.
 */
#include "run.h"
#include "../counters/notify.h"
#include "../counters/privileges.h"
#include "../probe/base/cli.h"
#include "placement.h"
#include "server_data.h"
#include "worker/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void print_notes(const struct ns_server_state *state)
{
	for (size_t i = 0; i < state->plan->note_count; i++)
		fprintf(stderr, "numastore: %s\n", state->plan->notes[i]);
}

static void print_pools(const struct ns_server_state *state)
{
	const struct ns_tails *tails = ns_store_tails(state->store);

	for (size_t i = 0; tails && i < ns_tails_pool_count(tails); i++) {
		struct ns_pool_state pool = ns_tails_pool(tails, i);

		printf("pool in %s, by %s, %s the page cache\n", pool.path,
		       state->engine == NS_ENGINE_URING ? "io_uring" : "threads",
		       pool.is_direct ? "past" : "through");
	}
}

static int print_start(const struct ns_server *server, struct np_error *err)
{
	const struct ns_listeners *listeners = ns_server_listeners(server);
	char text[NS_LISTEN_TEXT_MAX];
	int rc = ns_placement_print(ns_server_state(server), stdout);

	if (rc == 0)
		print_pools(ns_server_state(server));
	for (size_t i = 0; i < listeners->count_a_worker && rc == 0; i++)
		printf("%s\n", ns_listener_text(listeners, i, text));
	/* Somebody may wait for these lines at the other end of a pipe. */
	if (rc == 0 && fflush(stdout) != 0)
		rc = -errno;
	return np_cli_written(rc, err);
}

static void fill_signals(sigset_t *ret)
{
	sigemptyset(ret);
	sigaddset(ret, SIGTERM);
	sigaddset(ret, SIGINT);
	sigaddset(ret, SIGUSR1); /* memcached's for the same */
}

struct waiter {
	struct ns_server *server;
	bool is_over; /* atomic: a signal that comes now is ours */
};

/* The first one lets peers come to an end, the second one does not wait for them. */
static void *wait_for_signals(void *arg)
{
	struct waiter *waiter = arg;
	sigset_t signals;
	int number;

	fill_signals(&signals);
	for (unsigned i = 0; i < 2; i++) {
		while (sigwait(&signals, &number) != 0)
			;
		if (__atomic_load_n(&waiter->is_over, __ATOMIC_ACQUIRE))
			break;
		ns_server_stop(waiter->server);
		(void)nc_notify("STOPPING=1\nSTATUS=draining connections", NULL);
	}
	return NULL;
}

/* A peer that goes away is no reason to end; a terminal neither, and there is nothing to read anew. */
static int ignore_signals(struct np_error *err)
{
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR || signal(SIGHUP, SIG_IGN) == SIG_ERR)
		return np_error_sys(err, errno, "signals");
	return 0;
}

/*
 * Blocked in all threads but the one that waits for them. Not before memory is mapped, which may take minutes: until
 * there is somebody to serve, they end the process at once.
 */
static int block_signals(struct np_error *err)
{
	sigset_t signals;
	int rc;

	fill_signals(&signals);
	rc = pthread_sigmask(SIG_BLOCK, &signals, NULL);
	return rc != 0 ? np_error_sys(err, rc, "signals") : 0;
}

/* With where it can be reached, as much as fits. */
static int notify_ready(const struct ns_server *server, struct np_error *err)
{
	const struct ns_listeners *listeners = ns_server_listeners(server);
	char message[1024] = "READY=1\nSTATUS=";
	char text[NS_LISTEN_TEXT_MAX];

	for (size_t i = 0; i < listeners->count_a_worker; i++) {
		size_t len = strlen(message);

		snprintf(message + len, sizeof(message) - len, "%s%s", i > 0 ? ", " : "",
		         ns_listener_text(listeners, i, text));
	}
	return nc_notify(message, err);
}

static int serve(struct ns_server *server, struct np_error *err)
{
	struct waiter waiter = { .server = server };
	pthread_t thread;
	int rc = pthread_create(&thread, NULL, wait_for_signals, &waiter);

	if (rc != 0)
		return np_error_sys(err, rc, "thread for signals");
	rc = notify_ready(server, err);
	if (rc == 0)
		rc = ns_server_run(server, err);
	/* To cancel it would need a library that is loaded only then. */
	__atomic_store_n(&waiter.is_over, true, __ATOMIC_RELEASE);
	pthread_kill(thread, SIGINT);
	pthread_join(thread, NULL);
	return rc;
}

/* To be reached by whom memcached's, which is made as that user, can be reached. */
static int give_socket_away(const struct ns_options *options, struct np_error *err)
{
	const char *path = options->config.memcache_socket;
	uid_t uid;
	gid_t gid;
	int rc;

	if (!path || geteuid() != 0)
		return 0;
	rc = nc_privileges_find(options->user, &uid, &gid, err);
	if (rc < 0 || uid == 0)
		return rc;
	return lchown(path, uid, gid) < 0 ? np_error_sys(err, errno, "%s", path) : 0;
}

enum { FILES_ELSE = 64 + NS_ADMIN_CONNECTIONS_MAX, FILES_A_WORKER = 8 };

/* One more than may be is turned away with words: that too takes a file. While root, who may raise the hard limit. */
static int raise_files(const struct ns_server *server, struct np_error *err)
{
	const struct ns_server_state *state = ns_server_state(server);
	rlim_t wanted = state->config->connections_max + FILES_ELSE +
	                (rlim_t)state->worker_count *
	                        (ns_server_listeners(server)->count_a_worker + FILES_A_WORKER);
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return np_error_sys(err, errno, "RLIMIT_NOFILE");
	if (limit.rlim_cur >= wanted)
		return 0;
	limit.rlim_cur = wanted;
	if (limit.rlim_max < wanted)
		limit.rlim_max = wanted;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return np_error_set(err, errno,
		                    "%u connections need %llu open files, more than this process "
		                    "may have: fewer by -c, or raise the limit (ulimit -n)",
		                    state->config->connections_max, (unsigned long long)wanted);
	return 0;
}

static int run_server(const struct ns_options *options, struct np_error *err)
{
	struct ns_server *server = NULL;
	int rc = nc_privileges_check(options->user, err);

	if (rc == 0)
		rc = ignore_signals(err);
	if (rc == 0)
		rc = ns_server_create(&options->config, &server, err);
	if (rc < 0)
		return rc;
	rc = block_signals(err);
	if (rc == 0)
		rc = raise_files(server, err);
	if (rc == 0)
		rc = give_socket_away(options, err);
	if (rc == 0)
		rc = nc_privileges_drop(options->user, err);
	print_notes(ns_server_state(server));
	if (rc == 0)
		rc = print_start(server, err);
	if (rc == 0)
		rc = serve(server, err);
	ns_server_destroy(server);
	return rc;
}

static int prepare_pool(const char *directory, struct np_error *err)
{
	int rc = ns_server_prepare_pool(directory, err);

	if (rc == -ENOENT)
		return np_error_set(
			err, ENOENT,
			"--prepare-pool %s: the directory that it is to be made in is not "
			"there",
			directory);
	if (rc < 0)
		return np_error_wrap(err, rc, "--prepare-pool");
	printf("%s is a pool now: --ssd-dir %s\n", directory, directory);
	return np_cli_written(fflush(stdout) != 0 ? -errno : 0, err);
}

static int show_plan(const struct ns_options *options, struct np_error *err)
{
	struct ns_server *server = NULL;
	int rc = ns_server_plan(&options->config, &server, err);

	if (rc < 0)
		return rc;
	print_notes(ns_server_state(server));
	rc = np_cli_written(ns_plan_print(ns_server_state(server), stdout), err);
	ns_server_destroy(server);
	return rc;
}

int ns_run(const struct ns_options *options, struct np_error *err)
{
	if (options->prepare_pool)
		return prepare_pool(options->prepare_pool, err);
	return options->is_dry_run ? show_plan(options, err) : run_server(options, err);
}
