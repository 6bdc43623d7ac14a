/* SPDX-License-Identifier: BSD-3-Clause */
#include "load.h"

#include "load_worker.h"

#include "../../probe/base/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WATCH_MS = 100 };

/* Beside the connections: epoll instances, standard files, what libraries open. */
enum { OTHER_FILES = 64 };

struct load {
	struct nl_load_shared shared;
	struct nl_load_worker *workers;
	unsigned started;
	int64_t start_time_ns; /* since 1970 */
};

/* ---- before ---- */

static int allow_files(const struct nl_load_plan *plan, struct np_error *err)
{
	rlim_t wanted = (rlim_t)plan->connections + plan->threads + OTHER_FILES;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return np_error_sys(err, errno, "load: getrlimit");
	if (limit.rlim_cur >= wanted)
		return 0;
	limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
	if (limit.rlim_cur < wanted || setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return np_error_set(
			err, EMFILE,
			"--connections: %u: at most %llu files may be open here: "
			"'ulimit -Hn' as root, or LimitNOFILE= of the service, raises that",
			plan->connections, (unsigned long long)limit.rlim_max);
	return 0;
}

static int create(const struct nl_load_plan *plan, struct load *load, struct np_error *err)
{
	*load = (struct load){ .shared = { .plan = plan } };
	load->shared.done_fd = eventfd(0, EFD_CLOEXEC);
	if (load->shared.done_fd < 0)
		return np_error_sys(err, errno, "load: eventfd");
	load->workers = aligned_alloc(alignof(struct nl_load_worker),
	                              plan->threads * sizeof(*load->workers));
	if (!load->workers) {
		close(load->shared.done_fd);
		return np_error_sys(err, ENOMEM, "load: %u threads", plan->threads);
	}
	memset(load->workers, 0, plan->threads * sizeof(*load->workers));
	sem_init(&load->shared.ready, 0, 0);
	sem_init(&load->shared.go, 0, 0);
	return 0;
}

/* Signals are for the thread that watches. */
static int start_threads(struct load *load, struct np_error *err)
{
	unsigned threads = load->shared.plan->threads;
	sigset_t all;
	sigset_t before;
	int code = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (load->started < threads && code == 0) {
		struct nl_load_worker *worker = &load->workers[load->started];

		worker->shared = &load->shared;
		worker->index = load->started;
		code = pthread_create(&worker->thread, NULL, nl_load_worker_run, worker);
		if (code == 0)
			load->started++;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code ? np_error_sys(err, code, "load: thread %u of %u", load->started + 1, threads)
	            : 0;
}

static void join_threads(struct load *load)
{
	for (unsigned i = 0; i < load->started; i++)
		pthread_join(load->workers[i].thread, NULL);
}

static void destroy(struct load *load)
{
	for (unsigned i = 0; i < load->started; i++)
		nl_load_worker_release(&load->workers[i]);
	free(load->workers);
	sem_destroy(&load->shared.ready);
	sem_destroy(&load->shared.go);
	close(load->shared.done_fd);
}

/* The first that failed; NULL = none did. */
static const struct nl_load_worker *first_failed(const struct load *load)
{
	const struct nl_load_worker *first = NULL;

	for (unsigned i = 0; i < load->started; i++) {
		const struct nl_load_worker *worker = &load->workers[i];

		if (worker->failed_ns && (!first || worker->failed_ns < first->failed_ns))
			first = worker;
	}
	return first;
}

static void wait_for_all(struct load *load)
{
	for (unsigned ready = 0; ready < load->started;)
		ready += sem_wait(&load->shared.ready) == 0 ? 1 : 0;
}

/* Once all threads are prepared: sets the times, or tells them to end where @rc or one of them failed. */
static int set_off(struct load *load, int rc, struct np_error *err)
{
	const struct nl_load_plan *plan = load->shared.plan;
	const struct nl_load_worker *failed;

	wait_for_all(load);
	failed = first_failed(load);
	if (failed && rc == 0)
		rc = np_error_set(err, failed->err.code, "%s", failed->err.text);
	atomic_store(&load->shared.stops, rc < 0);
	load->start_time_ns = np_time_ns();
	load->shared.start_ns = np_now_ns();
	load->shared.begin_ns = load->shared.start_ns + plan->warmup_ns;
	load->shared.end_ns =
		plan->requests ? UINT64_MAX : load->shared.begin_ns + plan->duration_ns;
	for (unsigned i = 0; i < load->started; i++)
		sem_post(&load->shared.go);
	return rc;
}

/* ---- meanwhile ---- */

static struct nl_load_moment moment_of(const struct load *load)
{
	uint64_t now_ns = np_now_ns();
	struct nl_load_moment moment = {
		.elapsed_ns = now_ns - load->shared.start_ns,
		.is_warm_up = now_ns < load->shared.begin_ns,
	};

	for (unsigned i = 0; i < load->started; i++) {
		struct nl_load_live *live = &load->workers[i].live;
		uint64_t behind_ns = atomic_load_explicit(&live->behind_ns, memory_order_relaxed);

		moment.replies += atomic_load_explicit(&live->replies, memory_order_relaxed);
		moment.bytes += atomic_load_explicit(&live->bytes, memory_order_relaxed);
		moment.latency_ns += atomic_load_explicit(&live->latency_ns, memory_order_relaxed);
		moment.behind_ns = behind_ns > moment.behind_ns ? behind_ns : moment.behind_ns;
	}
	return moment;
}

/* Until all threads have ended, which a signal makes them do. */
static void watch_threads(struct load *load, const volatile sig_atomic_t *stop,
                          nl_load_watch *watch, void *data)
{
	struct pollfd done = { .fd = load->shared.done_fd, .events = POLLIN };
	uint64_t ended = 0;

	while (ended < load->started) {
		uint64_t count;

		if (poll(&done, 1, WATCH_MS) > 0 &&
		    read(done.fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
			ended += count;
		if (*stop)
			atomic_store(&load->shared.stops, true);
		if (watch) {
			struct nl_load_moment moment = moment_of(load);

			watch(data, &moment);
		}
	}
}

/* ---- afterwards ---- */

static void judge(const struct load *load, int signal, struct nl_load_result *result)
{
	const struct nl_load_worker *failed = first_failed(load);

	result->is_complete = !failed && !signal;
	if (failed)
		snprintf(result->why, sizeof(result->why), "%s", failed->err.text);
	else if (signal)
		snprintf(result->why, sizeof(result->why), "interrupted by SIG%s",
		         sigabbrev_np(signal));
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static int gather(const struct load *load, int signal, struct nl_load_result *ret,
                  struct np_error *err)
{
	const struct nl_load_shared *shared = &load->shared;
	const struct nl_load_plan *plan = shared->plan;
	struct nl_load_result result = { .began_ns =
		                                 load->start_time_ns + (int64_t)plan->warmup_ns };
	uint64_t ended_ns = 0;
	int rc = nl_load_tally_init(&result.tally, plan, err);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < load->started; i++) {
		const struct nl_load_worker *worker = &load->workers[i];

		nl_load_tally_merge(&result.tally, &worker->tally);
		ended_ns = worker->now_ns > ended_ns ? worker->now_ns : ended_ns;
	}
	judge(load, signal, &result);
	result.elapsed_ns =
		since(shared->begin_ns, result.is_complete ? result.tally.last_reply_ns : ended_ns);
	if (result.is_complete && result.elapsed_ns < plan->duration_ns)
		result.elapsed_ns = plan->duration_ns;
	if (plan->requests)
		result.due_span_ns = since(shared->begin_ns, result.tally.last_due_ns);
	else
		result.due_span_ns = result.is_complete ? plan->duration_ns : result.elapsed_ns;
	*ret = result;
	return 0;
}

int nl_load_run(const struct nl_load_plan *plan, const volatile sig_atomic_t *stop,
                nl_load_watch *watch, void *data, struct nl_load_result *ret, struct np_error *err)
{
	struct load load;
	int rc = allow_files(plan, err);

	if (rc == 0)
		rc = create(plan, &load, err);
	if (rc < 0)
		return rc;
	rc = set_off(&load, start_threads(&load, err), err);
	/* A start that failed has nothing to show; the threads end at once. */
	watch_threads(&load, stop, rc == 0 ? watch : NULL, data);
	join_threads(&load);
	if (rc == 0)
		rc = gather(&load, *stop, ret, err);
	destroy(&load);
	return rc;
}
