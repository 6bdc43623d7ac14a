/* SPDX-License-Identifier: BSD-3-Clause */
#include "load_worker.h"

#include "../../probe/base/clock.h"

#include <errno.h>
#include <numarun/apply.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

#define LOOK_NS UINT64_C(10000000) /* how soon a stop is seen */
#define SECOND_NS UINT64_C(1000000000)

/*
 * Before a request is due the thread polls for this long rather than sleeps, as a timer wakes it late: in a
 * virtual machine with 2 CPUs, 5000 requests/s and the server on the other CPU, the median lag was
 * 60-78 us without, 39-71 us with 20 us, 2-39 us with 60 us and under 2 us with 200 us. Replies are
 * taken meanwhile. From 10000 requests/s on the thread hardly sleeps.
 */
#define SPIN_NS UINT64_C(100000)

/*
 * In a closed loop the thread polls for this long after the last reply before it sleeps: waking it is work of the
 * server's CPU, an interrupt to another one, that a server would not have whose clients are busy.
 */
#define POLL_NS UINT64_C(50000)

static bool is_open_loop(const struct nl_load_worker *worker)
{
	return worker->tally.lag;
}

/* ---- requests and replies ---- */

/* Plain additions: there is one writer. */
static void raise_by(_Atomic uint64_t *counter, uint64_t by)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by,
	                      memory_order_relaxed);
}

static enum nl_verb choose_verb(struct nl_load_worker *worker)
{
	double share = worker->shared->plan->set_share;

	/* np_rng_unit() is below 1: a share of 1 is all of them. */
	return share > 0 && np_rng_unit(&worker->rng) < share ? NL_SET : NL_GET;
}

static void count_due(struct nl_load_worker *worker, const struct nl_load_connection *connection)
{
	const struct nl_load_request *request = &connection->request;
	uint64_t due_ns = request->intended_ns;

	if (worker->quota != UINT64_MAX || due_ns >= worker->shared->begin_ns)
		worker->tally.due++;
	worker->tally.last_due_ns = due_ns;
	/* It was idle when the request was due: what was lost since then, we lost. */
	if (connection->since_ns <= due_ns)
		nl_histogram_add(worker->tally.lag, request->sent_ns - due_ns);
}

/* @due_ns is 0 in a closed loop. */
static int send_request(struct nl_load_worker *worker, struct nl_load_connection *connection,
                        uint64_t due_ns)
{
	enum nl_verb verb = choose_verb(worker);
	uint32_t key = nl_load_keys_draw(&worker->shared->plan->keys, &worker->rng);
	struct nl_load_request *request = &connection->request;

	nl_load_connection_prepare(&worker->io, connection, verb, key);
	worker->now_ns = np_now_ns();
	request->sent_ns = worker->now_ns;
	request->intended_ns = due_ns ? due_ns : request->sent_ns;
	request->is_counted = request->sent_ns >= worker->shared->begin_ns;
	worker->outstanding++;
	if (request->is_counted) {
		worker->counted++;
		if (due_ns)
			count_due(worker, connection);
	}
	return nl_load_connection_send(&worker->io, connection, &worker->err);
}

/* Others' objects are welcome, but not under the sizes that we name. */
static bool has_other_size(const struct nl_load_worker *worker,
                           const struct nl_load_request *request, const struct nl_reply *reply)
{
	const struct nl_sizes *sizes = &worker->shared->plan->target->sizes;

	return reply->kind == NL_REPLY_VALUE &&
	       reply->body_bytes != nl_sizes_of(sizes, request->key);
}

static void count_reply(struct nl_load_worker *worker, const struct nl_load_connection *connection)
{
	const struct nl_load_request *request = &connection->request;
	const struct nl_reply *reply = &connection->reply;
	struct nl_load_count *count = &worker->tally.counts[request->verb];
	bool is_value = reply->kind == NL_REPLY_VALUE || reply->kind == NL_REPLY_STORED;
	uint64_t value_bytes =
		request->verb == NL_SET ? connection->value_bytes : reply->body_bytes;
	uint64_t bytes = is_value ? value_bytes : 0;
	uint64_t latency_ns = worker->now_ns - request->intended_ns;

	raise_by(&worker->live.replies, 1);
	raise_by(&worker->live.bytes, bytes);
	raise_by(&worker->live.latency_ns, latency_ns);
	if (!request->is_counted)
		return;
	count->requests++;
	count->bytes += bytes;
	count->misses += reply->kind == NL_REPLY_MISS;
	count->other_sizes += has_other_size(worker, request, reply);
	if (reply->kind == NL_REPLY_REFUSED) {
		count->refused++;
		memcpy(worker->tally.refusal, reply->text, sizeof(worker->tally.refusal));
	}
	nl_histogram_add(count->latency, latency_ns);
	if (count->service)
		nl_histogram_add(count->service, worker->now_ns - request->sent_ns);
	worker->tally.last_reply_ns = worker->now_ns;
}

/* ---- closed loop ---- */

static bool is_over(const struct nl_load_worker *worker)
{
	return worker->now_ns >= worker->shared->end_ns || worker->counted >= worker->quota;
}

/* ---- open loop ---- */

static void list_idle(struct nl_load_worker *worker, struct nl_load_connection *connection)
{
	if (connection->is_listed)
		return;
	connection->is_listed = true;
	connection->next = NULL;
	if (worker->idle_first)
		worker->idle_last->next = connection;
	else
		worker->idle_first = connection;
	worker->idle_last = connection;
}

static struct nl_load_connection *take_idle(struct nl_load_worker *worker)
{
	struct nl_load_connection *connection = worker->idle_first;

	worker->idle_first = connection->next;
	connection->is_listed = false;
	return connection;
}

/* There will be no more requests, or none that could be sent: the next one is due after the end. */
static bool is_schedule_over(const struct nl_load_worker *worker)
{
	return nl_schedule_next_ns(&worker->schedule) >= worker->shared->end_ns ||
	       worker->counted >= worker->quota;
}

/*
 * Sends what is due, as far as connections are idle. The first idle one has been so for longest: if
 * it became idle after the request was due, the request has waited for a connection.
 */
static int send_due(struct nl_load_worker *worker)
{
	while (worker->idle_first && !is_schedule_over(worker)) {
		uint64_t due_ns = nl_schedule_next_ns(&worker->schedule);
		bool has_waited = worker->idle_first->since_ns > due_ns;
		int rc;

		/* What waits at the end is not sent any more: it is the backlog. */
		if (due_ns > worker->now_ns ||
		    (has_waited && worker->now_ns >= worker->shared->end_ns))
			return 0;
		nl_schedule_take(&worker->schedule);
		rc = send_request(worker, take_idle(worker), due_ns);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The requests that were due and not sent, once all is over. */
static void count_backlog(struct nl_load_worker *worker)
{
	const struct nl_load_shared *shared = worker->shared;
	struct nl_load_tally *tally = &worker->tally;
	uint64_t end_ns = worker->now_ns < shared->end_ns ? worker->now_ns : shared->end_ns;
	uint64_t first_ns = nl_schedule_next_ns(&worker->schedule);
	uint64_t due;

	if (worker->counted >= worker->quota || first_ns >= end_ns)
		return;
	tally->backlog = nl_schedule_skip(&worker->schedule, shared->begin_ns);
	due = nl_schedule_skip(&worker->schedule, end_ns);
	tally->backlog += due;
	tally->due += due;
	tally->backlog_oldest_ns = end_ns - first_ns;
}

/* ---- the loop ---- */

/*
 * Closed loop: once the replies at hand are taken, so that a server that is woken by the first of these
 * requests finds the others too. Against nginx with 16 connections: 0.82 of wrk's requests/s one after the
 * other, 0.90 so, and 1.14 with POLL_NS.
 */
static int send_idle(struct nl_load_worker *worker)
{
	int rc = 0;

	while (rc == 0 && worker->idle_first && !is_over(worker))
		rc = send_request(worker, take_idle(worker), 0);
	return rc;
}

/* The connection can take a request: in an open loop at once, where one is due. */
static int use(struct nl_load_worker *worker, struct nl_load_connection *connection)
{
	list_idle(worker, connection);
	return is_open_loop(worker) ? send_due(worker) : 0;
}

static int handle(struct nl_load_worker *worker, const struct epoll_event *event)
{
	struct nl_load_connection *connection = event->data.ptr;
	enum nl_load_event what;
	int rc = nl_load_connection_handle(&worker->io, connection, event->events, &what,
	                                   &worker->err);

	if (rc < 0 || what == NL_LOAD_NOTHING)
		return rc;
	worker->now_ns = np_now_ns();
	if (what == NL_LOAD_REPLIED) {
		worker->outstanding--;
		count_reply(worker, connection);
	}
	/* Opened anew after that reply: it is of use when that is done. */
	if (connection->is_connecting)
		return 0;
	if (!connection->is_listed)
		connection->since_ns = worker->now_ns;
	return use(worker, connection);
}

static int check_deadlines(struct nl_load_worker *worker)
{
	const struct nl_target *target = worker->shared->plan->target;
	uint64_t deadline_ns = target->deadline_ms * UINT64_C(1000000);
	uint64_t every_ns = deadline_ns / 10 < SECOND_NS ? deadline_ns / 10 : SECOND_NS;

	worker->next_deadline_ns = worker->now_ns + every_ns;
	for (unsigned i = 0; i < worker->connection_count; i++) {
		const struct nl_load_connection *connection = &worker->connections[i];
		bool connects = connection->is_connecting;
		uint64_t since_ns = connects ? connection->since_ns : connection->request.sent_ns;

		if ((connects || connection->is_busy) && worker->now_ns > since_ns + deadline_ns)
			return np_error_set(&worker->err, ETIMEDOUT,
			                    "%s: no %s within %u.%03u s (--deadline)",
			                    worker->io.where, connects ? "connection" : "reply",
			                    target->deadline_ms / 1000, target->deadline_ms % 1000);
	}
	return 0;
}

/* What need not be seen at once. */
static int look_around(struct nl_load_worker *worker)
{
	uint64_t due_ns =
		is_open_loop(worker) ? nl_schedule_next_ns(&worker->schedule) : UINT64_MAX;
	uint64_t behind_ns = worker->now_ns > due_ns ? worker->now_ns - due_ns : 0;

	worker->next_look_ns = worker->now_ns + LOOK_NS;
	worker->stops = atomic_load_explicit(&worker->shared->stops, memory_order_relaxed);
	atomic_store_explicit(&worker->live.behind_ns, behind_ns, memory_order_relaxed);
	return worker->now_ns >= worker->next_deadline_ns ? check_deadlines(worker) : 0;
}

/* For how long there is nothing to do but wait for replies. */
static uint64_t spare_ns(const struct nl_load_worker *worker)
{
	uint64_t until_ns = worker->next_look_ns;

	if (!is_open_loop(worker) && worker->now_ns - worker->last_event_ns < POLL_NS)
		return 0;
	if (is_open_loop(worker) && worker->idle_first && !is_schedule_over(worker)) {
		uint64_t due_ns = nl_schedule_next_ns(&worker->schedule);

		due_ns = due_ns > SPIN_NS ? due_ns - SPIN_NS : 0;
		until_ns = due_ns < until_ns ? due_ns : until_ns;
	}
	return until_ns > worker->now_ns ? until_ns - worker->now_ns : 0;
}

static int wait_for_events(struct nl_load_worker *worker, struct epoll_event *events)
{
	uint64_t ns = spare_ns(worker);
	struct timespec timeout = {
		.tv_sec = (time_t)(ns / SECOND_NS),
		.tv_nsec = (long)(ns % SECOND_NS),
	};
	int count = -1;

	if (!worker->lacks_pwait2) {
		count = epoll_pwait2(worker->io.epoll_fd, events, EVENTS_MAX, &timeout, NULL);
		worker->lacks_pwait2 = count < 0 && errno == ENOSYS;
	}
	/* Milliseconds, rounded down: the rest is spun. */
	if (worker->lacks_pwait2)
		count = epoll_wait(worker->io.epoll_fd, events, EVENTS_MAX, (int)(ns / 1000000));
	if (count < 0 && errno != EINTR)
		return np_error_sys(&worker->err, errno, "load: epoll_wait");
	return count < 0 ? 0 : count;
}

static bool is_done(const struct nl_load_worker *worker)
{
	bool sends_no_more;

	if (is_open_loop(worker))
		sends_no_more =
			is_schedule_over(worker) || worker->now_ns >= worker->shared->end_ns;
	else
		sends_no_more = is_over(worker);
	return worker->stops || (sends_no_more && worker->outstanding == 0);
}

static int begin(struct nl_load_worker *worker)
{
	const struct nl_load_shared *shared = worker->shared;
	const struct nl_load_plan *plan = shared->plan;
	int rc = 0;

	worker->quota = plan->requests ? nl_load_part(plan->requests, plan->threads, worker->index)
	                               : UINT64_MAX;
	worker->now_ns = np_now_ns();
	worker->next_look_ns = worker->now_ns;
	np_rng_seed(&worker->rng, nl_load_part_seed(plan, worker->index, 0));
	if (is_open_loop(worker))
		nl_schedule_begin(&worker->schedule, plan->arrivals,
		                  nl_load_part_rate(plan, worker->index), shared->start_ns,
		                  nl_load_part_seed(plan, worker->index, 1));
	for (unsigned i = 0; i < worker->connection_count && rc == 0; i++)
		rc = use(worker, &worker->connections[i]);
	return rc == 0 && !is_open_loop(worker) ? send_idle(worker) : rc;
}

static int loop(struct nl_load_worker *worker)
{
	struct epoll_event events[EVENTS_MAX];
	int rc = begin(worker);

	while (rc == 0 && !is_done(worker)) {
		int count = wait_for_events(worker, events);

		rc = count < 0 ? count : 0;
		worker->now_ns = np_now_ns();
		if (count > 0)
			worker->last_event_ns = worker->now_ns;
		for (int i = 0; i < count && rc == 0; i++)
			rc = handle(worker, &events[i]);
		if (rc == 0)
			rc = is_open_loop(worker) ? send_due(worker) : send_idle(worker);
		if (rc == 0 && worker->now_ns >= worker->next_look_ns)
			rc = look_around(worker);
	}
	if (is_open_loop(worker))
		count_backlog(worker);
	worker->tally.reconnects = worker->io.reconnects;
	return rc;
}

/* ---- the thread ---- */

static int pin(struct nl_load_worker *worker)
{
	int cpu = nl_load_part_cpu(worker->shared->plan, worker->index);
	struct np_bitmap wanted = { 0 };
	struct np_bitmap found = { 0 };
	int rc;

	if (cpu < 0)
		return 0;
	rc = np_bitmap_add(&wanted, (unsigned)cpu);
	if (rc < 0)
		return np_error_sys(&worker->err, -rc, "--cpus");
	rc = nr_affinity_set(&wanted, &worker->err);
	if (rc == 0)
		rc = nr_affinity_get(&found, &worker->err);
	if (rc == 0 && !np_bitmap_equal(&wanted, &found))
		rc = np_error_set(&worker->err, EXDEV, "the kernel did not keep the thread on it");
	np_bitmap_release(&wanted);
	np_bitmap_release(&found);
	return rc < 0 ? np_error_wrap(&worker->err, rc, "--cpus: CPU %d", cpu) : 0;
}

static int open_connections(struct nl_load_worker *worker)
{
	const struct nl_load_plan *plan = worker->shared->plan;
	size_t wanted = nl_load_part(plan->connections, plan->threads, worker->index);

	worker->connections = calloc(wanted, sizeof(*worker->connections));
	worker->held = calloc(wanted, NL_HEAD_MAX);
	if (!worker->connections || !worker->held)
		return np_error_sys(&worker->err, ENOMEM, "load: %zu connections", wanted);
	for (size_t i = 0; i < wanted; i++) {
		int rc = nl_load_connection_open(&worker->io, worker->held + i * NL_HEAD_MAX,
		                                 &worker->connections[i], &worker->err);

		if (rc < 0)
			return np_error_wrap(&worker->err, rc, "connection %zu of %zu", i + 1,
			                     wanted);
		worker->connection_count++;
	}
	return 0;
}

static int prepare(struct nl_load_worker *worker)
{
	const struct nl_load_plan *plan = worker->shared->plan;
	int rc = pin(worker);

	if (rc == 0)
		rc = nl_load_tally_init(&worker->tally, plan, &worker->err);
	if (rc == 0)
		rc = nl_load_io_open(plan, &worker->io, &worker->err);
	if (rc == 0)
		rc = open_connections(worker);
	/* Timers would be up to 50 us late, so that the kernel can wake several threads at once. */
	prctl(PR_SET_TIMERSLACK, 1);
	return rc;
}

static void wait_for(sem_t *semaphore)
{
	while (sem_wait(semaphore) < 0 && errno == EINTR)
		;
}

void *nl_load_worker_run(void *worker_data)
{
	struct nl_load_worker *worker = worker_data;
	struct nl_load_shared *shared = worker->shared;
	const uint64_t one = 1;
	int rc = prepare(worker);

	if (rc < 0)
		worker->failed_ns = np_now_ns();
	sem_post(&shared->ready);
	wait_for(&shared->go);
	if (!atomic_load(&shared->stops) && loop(worker) < 0) {
		worker->failed_ns = np_now_ns();
		atomic_store(&shared->stops, true);
	}
	/* An eventfd takes far more than there are threads. */
	if (write(shared->done_fd, &one, sizeof(one)) < 0)
		return NULL;
	return worker;
}

void nl_load_worker_release(struct nl_load_worker *worker)
{
	for (unsigned i = 0; i < worker->connection_count; i++)
		nl_load_connection_close(&worker->connections[i]);
	free(worker->connections);
	free(worker->held);
	nl_load_io_close(&worker->io);
	nl_load_tally_release(&worker->tally);
}
