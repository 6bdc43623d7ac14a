/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins the parts: topology, memory plan, arenas, store, sockets, workers; taken down in reverse.
 */
#include "../launcher/lib/cores.h"
#include "../probe/base/file.h"
#include "notes.h"
#include "server_data.h"
#include "size.h"
#include "store/promote_thread.h"
#include "worker/callers.h"
#include "worker/worker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <math.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <numarun/apply.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

struct ns_server {
	struct ns_config config;
	struct np_sysroot root;
	struct np_topology *topology;
	struct ns_memory_plan plan;
	struct ns_arenas arenas;
	struct ns_tails *tails;     /* NULL: no pools */
	enum ns_tail_engine engine; /* asked for */
	enum ns_tail_engine found_engine;
	struct ns_store *store;
	struct ns_callers *callers;
	struct ns_listeners listeners;
	struct ns_steering *steering; /* NULL without */
	unsigned *cpus;               /* of the workers */
	struct ns_worker_counts *counts;
	unsigned worker_count;
	char *auth;
	int stop_fd;
	uint32_t connections;       /* atomic: of all workers */
	uint32_t admin_connections; /* atomic */
	struct ns_server_state state;
};

enum { AUTH_BYTES_MAX = 65536, WORKERS_MAX = 1024, DEVICES_MAX = 64 };

#define OBJECT_BYTES_WITH_POOL (UINT64_C(1) << 30)
#define OBJECT_BYTES_MAX (UINT64_C(1) << 40)

void ns_config_default(struct ns_config *config)
{
	*config = (struct ns_config){
		.numa = "auto",
		.memory_bytes = UINT64_C(1) << 30,
		.block_bytes = UINT64_C(2) << 20,
		.head_bytes = UINT64_C(256) << 10,
		.lock_memory = true,
		.increment = 1,
		.decay = 0.5,
		/* A twentieth of what a core copies between two sockets; a hot GiB has moved in 4 s. */
		.promotion_rate = UINT64_C(256) << 20,
		.connections_max = 1024,
		.deadline_ms = 30000,
		.poll_us = NS_POLL_AUTO,
		.listen_address = "127.0.0.1",
		.memcache_port = 11211,
		.http_port = 8080,
		.io = "auto",
		.memcache_socket_mode = 0700,
	};
}

/* ---- settings ---- */

static int take_engine(struct ns_server *server, struct np_error *err)
{
	const char *io = server->config.io ? server->config.io : "auto";

	if (strcmp(io, "auto") == 0)
		server->engine = NS_ENGINE_AUTO;
	else if (strcmp(io, "uring") == 0)
		server->engine = NS_ENGINE_URING;
	else if (strcmp(io, "threads") == 0)
		server->engine = NS_ENGINE_THREADS;
	else
		return np_error_set(err, EINVAL, "'%s' is none of uring, threads and auto", io);
	return 0;
}

static int take_object_limit(struct ns_config *config, struct np_error *err)
{
	bool has_pool = config->pool_count > 0;
	char object[NS_SIZE_TEXT_MAX];
	char head[NS_SIZE_TEXT_MAX];

	if (config->object_bytes_max == 0)
		config->object_bytes_max = has_pool ? OBJECT_BYTES_WITH_POOL : config->head_bytes;
	if (config->object_bytes_max > OBJECT_BYTES_MAX)
		return np_error_set(err, EINVAL, "--max-object-size %s: at most %s is allowed",
		                    ns_size_text(config->object_bytes_max, object),
		                    ns_size_text(OBJECT_BYTES_MAX, head));
	if (!has_pool && config->object_bytes_max > config->head_bytes)
		return np_error_set(
			err, EINVAL,
			"--max-object-size %s is longer than a head of %s, and without a "
			"pool there is no room for the rest: make heads as long by "
			"--ram-head, or give --ssd-dir",
			ns_size_text(config->object_bytes_max, object),
			ns_size_text(config->head_bytes, head));
	return 0;
}

static int check_promotion(const struct ns_config *config, struct np_error *err)
{
	if (!isfinite(config->increment) || config->increment <= 0)
		return np_error_set(err, EINVAL,
		                    "an increment of %g is not a finite number above 0",
		                    config->increment);
	if (!(config->decay > 0 && config->decay < 1))
		return np_error_set(err, EINVAL,
		                    "a decay of %g is not a number above 0 and below 1",
		                    config->decay);
	return 0;
}

static int take_config(struct ns_server *server, const struct ns_config *given,
                       struct np_error *err)
{
	struct ns_config *config = &server->config;

	*config = *given;
	if (config->workers > WORKERS_MAX || config->connections_max == 0)
		return np_error_set(err, EINVAL, "at most %d workers, and at least one connection",
		                    WORKERS_MAX);
	if (take_engine(server, err) < 0)
		return -EINVAL;
	if (check_promotion(config, err) < 0)
		return -EINVAL;
	return take_object_limit(config, err);
}

/* Workers find the same; but it is told before they begin. */
static int find_engine(struct ns_server *server, struct np_error *err)
{
	struct ns_tail_io *io = NULL;
	int rc = ns_tail_io_create(server->tails, server->engine, 1, &io, err);

	if (rc < 0)
		return rc;
	server->found_engine = ns_tail_io_engine(io);
	ns_tail_io_free(io);
	return 0;
}

static int open_pools(struct ns_server *server, struct np_error *err)
{
	const struct ns_config *config = &server->config;
	int rc;

	if (config->pool_count == 0)
		return 0;
	for (size_t i = 0; i < config->pool_count; i++) {
		const char *path = config->pools[i];

		if (access(path, F_OK) < 0 && errno == ENOENT)
			return np_error_set(err, ENOENT,
			                    "--ssd-dir %s: there is no such directory: numastore "
			                    "--prepare-pool %s makes it",
			                    path, path);
	}
	rc = ns_tails_open(config->pools, config->pool_count, &server->tails, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "--ssd-dir");
	return find_engine(server, err);
}

/* "user:password", or nothing at all. */
static bool is_auth_line(const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);

	return strspn(line, "\r") >= len || (colon && colon > line);
}

/* A line that lets nobody in is a mistake of whoever wrote it. It may be a password: it is not shown. */
static int check_auth(const char *path, const char *text, struct np_error *err)
{
	unsigned number = 1;

	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		if (!is_auth_line(text, len))
			return np_error_set(err, EINVAL,
			                    "auth file %s: line %u is not user:password", path,
			                    number);
		text += len + (text[len] == '\n');
		number++;
	}
	return 0;
}

static int read_auth(struct ns_server *server, struct np_error *err)
{
	const char *path = server->config.auth_file;
	ssize_t len;

	if (!path)
		return 0;
	len = np_file_read("auth file", path, AUTH_BYTES_MAX, &server->auth, err);
	if (len < 0)
		return (int)len;
	if (len > AUTH_BYTES_MAX)
		return np_error_set(err, E2BIG, "auth file %s: more than %d bytes", path,
		                    AUTH_BYTES_MAX);
	/* It is read as text. */
	if (memchr(server->auth, '\0', (size_t)len) || len == 0)
		return np_error_set(err, EINVAL, "auth file %s: %s", path,
		                    len == 0 ? "it is empty" : "NUL bytes in it");
	server->auth = realloc(server->auth, (size_t)len + 1);
	if (!server->auth)
		return np_error_sys(err, ENOMEM, "auth file");
	server->auth[len] = '\0';
	return check_auth(path, server->auth, err);
}

/* ---- topology ---- */

/* The interfaces that hold the listening address; names live as long as @all. */
struct held {
	const char *names[DEVICES_MAX];
	size_t count;
};

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
	if (!a || a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET) {
		const struct sockaddr_in *x = (const void *)a;
		const struct sockaddr_in *y = (const void *)b;

		return y->sin_addr.s_addr == htonl(INADDR_ANY) ||
		       x->sin_addr.s_addr == y->sin_addr.s_addr;
	}
	if (a->sa_family == AF_INET6) {
		const struct sockaddr_in6 *x = (const void *)a;
		const struct sockaddr_in6 *y = (const void *)b;

		return memcmp(&y->sin6_addr, &in6addr_any, sizeof(in6addr_any)) == 0 ||
		       memcmp(&x->sin6_addr, &y->sin6_addr, sizeof(x->sin6_addr)) == 0;
	}
	return false;
}

static void find_holders(const struct ifaddrs *all, const struct sockaddr *address,
                         struct held *held)
{
	for (const struct ifaddrs *at = all; at; at = at->ifa_next) {
		if (at->ifa_flags & IFF_LOOPBACK || !is_same_host(at->ifa_addr, address) ||
		    held->count == DEVICES_MAX)
			continue;
		held->names[held->count++] = at->ifa_name;
	}
}

static void find_devices(const char *hosts, const struct ifaddrs *all, struct held *held)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	char *text = strdup(hosts);
	char *rest = text;
	char *entry;

	while (text && (entry = strsep(&rest, ",")) != NULL) {
		struct addrinfo *infos;
		const char *host;
		int port;

		/* What is wrong with it will be told when it is listened on. */
		if (ns_listen_cut(entry, &host, &port, NULL) < 0 ||
		    getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, "0", &hints, &infos) != 0)
			continue;
		for (const struct addrinfo *info = infos; info; info = info->ai_next)
			find_holders(all, info->ai_addr, held);
		freeaddrinfo(infos);
	}
	free(text);
}

static bool is_device(const char *numa)
{
	return numa && strcmp(numa, "auto") != 0 && strspn(numa, "0123456789") != strlen(numa);
}

static bool is_captured(const struct ns_config *config)
{
	return config->root || config->xml;
}

static int plan_memory(struct ns_server *server, struct np_error *err)
{
	const struct ns_config *config = &server->config;
	struct np_topology_source source = {
		.root = config->root,
		.hwloc_xml = config->xml,
		.scope = NP_TOPOLOGY_MEMORY | NP_TOPOLOGY_GROUPS,
	};
	struct ifaddrs *interfaces = NULL;
	struct held held = { .count = 0 };
	int rc;

	if (is_device(config->numa)) {
		source.devices = &config->numa;
		source.device_count = 1;
	} else {
		source.scope |= NP_TOPOLOGY_NICS;
	}
	rc = np_sysroot_open(config->root, &server->root, err);
	if (rc == 0)
		rc = np_topology_load(&source, &server->topology, err);
	if (rc < 0)
		return rc;
	/* Addresses are this host's, not a captured one's. */
	if (!is_captured(config) && getifaddrs(&interfaces) == 0)
		find_devices(config->listen_address, interfaces, &held);
	rc = ns_memory_plan_make(config, server->topology, held.names, held.count, &server->plan,
	                         err);
	if (interfaces)
		freeifaddrs(interfaces);
	return rc;
}

/* ---- workers' CPUs ---- */

/* Behind those that are there, in the order of their numbers. */
static unsigned append_cpus(const struct np_bitmap *cpus, unsigned *list, unsigned count,
                            unsigned most)
{
	np_bitmap_for_each (cpu, cpus) {
		if (count < most)
			list[count++] = cpu;
	}
	return count;
}

/* One of each core first, of as few L3 caches as have so many; then what is left. */
static int order_cpus(struct ns_server *server, unsigned count, unsigned *ret_found)
{
	const struct nr_core_choice choice = {
		.cpus = &server->plan.serving_cpus,
		.nodes = &server->plan.serving_nodes,
		.want = count,
	};
	struct np_bitmap first = { 0 };
	struct np_bitmap rest = { 0 };
	int rc = nr_cores_take(server->topology, &choice, &first);

	if (rc >= 0)
		rc = np_bitmap_copy(&rest, choice.cpus);
	if (rc >= 0) {
		np_bitmap_and_not(&rest, &first);
		*ret_found = append_cpus(&first, server->cpus, 0, count);
		*ret_found = append_cpus(&rest, server->cpus, *ret_found, count);
	}
	np_bitmap_release(&first);
	np_bitmap_release(&rest);
	return rc < 0 ? rc : 0;
}

/* More workers than CPUs share them. */
static int choose_cpus(struct ns_server *server, struct np_error *err)
{
	unsigned there = np_bitmap_count(&server->plan.serving_cpus);
	unsigned count = server->config.workers ? server->config.workers : there;
	unsigned found = 0;

	if (server->config.poll_us == NS_POLL_AUTO)
		server->config.poll_us = count <= there ? NS_POLL_AUTO_US : 0;
	if (server->config.poll_us > 0 && count > there)
		return np_error_set(err, EINVAL,
		                    "--poll-us %u keeps a CPU busy for each worker, and there are "
		                    "%u workers on %u CPU%s: fewer by --cores, or no --poll-us",
		                    server->config.poll_us, count, there, there == 1 ? "" : "s");
	server->cpus = calloc(count, sizeof(*server->cpus));
	server->counts = calloc(count, sizeof(*server->counts));
	if (!server->cpus || !server->counts || order_cpus(server, count, &found) < 0)
		return np_error_sys(err, ENOMEM, "workers");
	for (unsigned i = found; i < count; i++)
		server->cpus[i] = server->cpus[i - found];
	server->worker_count = count;
	if (server->config.steer != NS_STEER_NAPI)
		return 0;
	server->steering = ns_steering_create(server->cpus, count);
	return server->steering ? 0 : np_error_sys(err, errno, "steering");
}

/* ---- memory ---- */

static int create_store(struct ns_server *server, struct np_error *err)
{
	struct ns_store_setup setup = {
		.config = &server->config,
		.arenas = server->arenas.list,
		.arena_count = server->arenas.count,
		.tails = server->tails,
		.nodes = &server->plan.serving_nodes,
		.far_node = server->plan.far_node,
		.threads_max = server->worker_count + NS_CALLERS_MAX + 1, /* promotion's */
	};
	int rc;

	if (getrandom(&setup.hash_seed, sizeof(setup.hash_seed), 0) != sizeof(setup.hash_seed))
		return np_error_sys(err, errno, "getrandom");
	rc = ns_store_create(&setup, &server->store, err);
	if (rc < 0)
		return rc;
	server->callers =
		ns_callers_create(server->store, np_bitmap_next(&server->plan.serving_nodes, 0));
	return server->callers ? 0 : np_error_sys(err, ENOMEM, "store");
}

/* On the serving node, so that the index and what else is touched here lies there. */
static int create_store_there(struct ns_server *server, struct np_error *err)
{
	struct np_bitmap before = { 0 };
	int rc = nr_affinity_get(&before, err);

	if (rc == 0)
		rc = nr_affinity_set(&server->plan.serving_cpus, err);
	if (rc == 0)
		rc = create_store(server, err);
	if (!np_bitmap_is_empty(&before))
		(void)nr_affinity_set(&before, NULL);
	np_bitmap_release(&before);
	return rc;
}

/* ---- create, run, stop, destroy ---- */

static void describe(struct ns_server *server)
{
	server->state = (struct ns_server_state){
		.config = &server->config,
		.store = server->store,
		.started_s = (int64_t)time(NULL),
		.plan = &server->plan,
		.arenas = server->arenas.list,
		.reports = server->arenas.reports,
		.arena_count = server->arenas.count,
		.workers = server->counts,
		.worker_count = server->worker_count,
		.ports = server->listeners.ports,
		.worker_cpus = server->cpus,
		.engine = server->found_engine,
	};
}

/* What can be done without changing anything. */
static int make_plan(struct ns_server *server, const struct ns_config *config, struct np_error *err)
{
	int rc = take_config(server, config, err);

	if (rc == 0)
		rc = read_auth(server, err);
	if (rc == 0)
		rc = plan_memory(server, err);
	if (rc == 0)
		rc = choose_cpus(server, err);
	if (rc == 0 && ns_notes_add(&server->config, server->worker_count, &server->plan) < 0)
		rc = np_error_sys(err, ENOMEM, "notes");
	describe(server);
	return rc;
}

static int build(struct ns_server *server, const struct ns_config *config, struct np_error *err)
{
	int rc = make_plan(server, config, err);

	if (rc == 0 && is_captured(config))
		rc = np_error_set(err, EINVAL, "a captured host cannot serve");
	/* Before memory is mapped, which takes long: an address that is taken is found out at once. */
	if (rc == 0)
		rc = ns_listeners_open(&server->config, server->cpus, server->worker_count,
		                       &server->listeners, err);
	if (rc == 0)
		rc = open_pools(server, err);
	if (rc == 0)
		rc = ns_arenas_map(&server->root, &server->config, &server->plan, &server->arenas,
		                   err);
	if (rc == 0)
		rc = create_store_there(server, err);
	if (rc < 0)
		return rc;
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->stop_fd < 0)
		return np_error_sys(err, errno, "eventfd");
	describe(server);
	return 0;
}

int ns_server_prepare_pool(const char *directory, struct np_error *err)
{
	return ns_pool_prepare(directory, err);
}

typedef int build_fn(struct ns_server *server, const struct ns_config *config,
                     struct np_error *err);

static int create(const struct ns_config *config, build_fn *step, struct ns_server **ret,
                  struct np_error *err)
{
	struct ns_server *server = calloc(1, sizeof(*server));
	int rc;

	if (!server)
		return np_error_sys(err, ENOMEM, "server");
	server->stop_fd = -1;
	server->root.fd = -1;
	rc = step(server, config, err);
	if (rc < 0)
		ns_server_destroy(server);
	else
		*ret = server;
	return rc;
}

int ns_server_create(const struct ns_config *config, struct ns_server **ret, struct np_error *err)
{
	return create(config, build, ret, err);
}

int ns_server_plan(const struct ns_config *config, struct ns_server **ret, struct np_error *err)
{
	return create(config, make_plan, ret, err);
}

struct thread {
	struct ns_worker_setup setup;
	struct ns_server *server;
	pthread_t id;
	int rc;
	struct np_error err;
};

static void *run_worker(void *arg)
{
	struct thread *thread = arg;

	thread->rc = ns_worker_run(&thread->setup, &thread->err);
	/* One that fails is not missed silently: it ends all. */
	if (thread->rc < 0)
		ns_server_stop(thread->server);
	return NULL;
}

/* Of several that serve, that of the CPU: what is local to a worker is told by it. */
static unsigned node_of(const struct ns_server *server, unsigned cpu)
{
	np_bitmap_for_each (node, &server->plan.serving_nodes) {
		const struct np_node *there = np_topology_node(server->topology, node);

		if (there && np_bitmap_has(&there->cpus, cpu))
			return node;
	}
	return np_bitmap_next(&server->plan.serving_nodes, 0);
}

static void set_up(struct ns_server *server, unsigned index, struct thread *ret)
{
	const struct ns_listeners *listeners = &server->listeners;

	*ret = (struct thread){
		.server = server,
		.setup = {
			.index = index,
			.cpu = server->cpus[index],
			.node = node_of(server, server->cpus[index]),
			.listeners = listeners->list + index * listeners->count_a_worker,
			.listener_count = listeners->count_a_worker,
			.state = &server->state,
			.engine = server->engine,
			.auth = server->auth,
			.steering = server->steering,
			.stop_fd = server->stop_fd,
			.connections = &server->connections,
			.admin_connections = &server->admin_connections,
		},
	};
}

static int start_promotion(struct ns_server *server, struct ns_promotion **ret,
                           struct np_error *err)
{
	const struct ns_promotion_setup setup = {
		.store = server->store,
		.config = &server->config,
		.node = np_bitmap_next(&server->plan.serving_nodes, 0),
		.cpus = &server->plan.serving_cpus,
		.stop_fd = server->stop_fd,
	};

	return ns_promotion_start(&setup, ret, err);
}

static int run_workers(struct ns_server *server, struct thread *threads, struct np_error *err)
{
	unsigned started = 0;
	int rc = 0;

	for (; started < server->worker_count && rc == 0; started++) {
		set_up(server, started, &threads[started]);
		rc = -pthread_create(&threads[started].id, NULL, run_worker, &threads[started]);
	}
	if (rc < 0) {
		started--;
		np_error_sys(err, -rc, "worker %u", started);
		ns_server_stop(server);
	}
	for (unsigned i = 0; i < started; i++) {
		pthread_join(threads[i].id, NULL);
		if (threads[i].rc == 0 || rc < 0)
			continue;
		rc = threads[i].rc;
		if (err)
			*err = threads[i].err;
	}
	return rc;
}

int ns_server_run(struct ns_server *server, struct np_error *err)
{
	struct thread *threads = calloc(server->worker_count, sizeof(*threads));
	struct ns_promotion *promotion = NULL;
	int rc;

	if (!threads)
		return np_error_sys(err, ENOMEM, "workers");
	rc = start_promotion(server, &promotion, err);
	/* No worker returns but to stop, or having told all others to. */
	if (rc == 0)
		rc = run_workers(server, threads, err);
	ns_promotion_end(promotion);
	free(threads);
	return rc;
}

void ns_server_stop(struct ns_server *server)
{
	const uint64_t one = 1;
	int before = errno;

	if (__atomic_exchange_n(&server->state.is_draining, true, __ATOMIC_RELAXED))
		__atomic_store_n(&server->state.is_ending, true, __ATOMIC_RELAXED);
	(void)!write(server->stop_fd, &one, sizeof(one));
	errno = before;
}

void ns_server_destroy(struct ns_server *server)
{
	if (!server)
		return;
	ns_listeners_close(&server->listeners);
	ns_steering_free(server->steering);
	ns_callers_free(server->callers);
	if (server->store)
		ns_store_free(server->store);
	ns_tails_close(server->tails);
	ns_arenas_free(&server->arenas);
	free(server->cpus);
	free(server->counts);
	free(server->auth);
	ns_memory_plan_release(&server->plan);
	np_topology_free(server->topology);
	np_sysroot_close(&server->root);
	if (server->stop_fd >= 0)
		close(server->stop_fd);
	free(server);
}

/* ---- what is asked of it ---- */

const struct ns_server_state *ns_server_state(const struct ns_server *server)
{
	return &server->state;
}

const struct ns_listeners *ns_server_listeners(const struct ns_server *server)
{
	return &server->listeners;
}

int ns_server_memcache_port(const struct ns_server *server)
{
	return server->listeners.ports[NS_SESSION_MEMCACHE];
}

int ns_server_http_port(const struct ns_server *server)
{
	return server->listeners.ports[NS_SESSION_HTTP];
}

int ns_server_admin_port(const struct ns_server *server)
{
	return server->listeners.ports[NS_SESSION_ADMIN];
}

int ns_get(struct ns_server *server, const char *key, size_t key_len, char **ret_value,
           size_t *ret_size, struct np_error *err)
{
	return ns_callers_get(server->callers, key, key_len, ret_value, ret_size, err);
}

int ns_set(struct ns_server *server, const char *key, size_t key_len, const char *value,
           size_t size, struct np_error *err)
{
	return ns_callers_set(server->callers, key, key_len, value, size, err);
}

int ns_delete(struct ns_server *server, const char *key, size_t key_len, struct np_error *err)
{
	return ns_callers_delete(server->callers, key, key_len, err);
}
