/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker.h"

#include "../../probe/base/clock.h"
#include "date.h"
#include "poll.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <numarun/apply.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
	EVENTS_MAX = 64,
	ACCEPTS_A_TURN = 64,
	LAST_ACCEPTS_MAX = 64, /* turns of these, at the end */
	LAST_WORDS_MAX = 16,   /* pieces of what one who is turned away had to say */
	TICK_MS = 1000,        /* the longest sleep */
	SWEEP_EVERY_MS = 10,   /* or later: when there is a turn */
	SWEEP_AT_ONCE = 512,   /* objects looked at */
	SWEEP_A_TICK = 4096,
};

/* One list for each kind of waiting. */
enum { IDLE_MEMCACHE, IDLE_HTTP, HEAD, BODY, WRITING, STORAGE, LINGERING, LIST_COUNT };

struct worker {
	const struct ns_worker_setup *setup;
	struct ns_session_context context;
	int epoll_fd;
	int64_t now_ns;
	int64_t tick_ns; /* when the date was last set and the long sweep was done */
	int64_t sweep_ns;
	bool may_accept_more; /* without waiting */
	struct ns_deadlines deadlines[LIST_COUNT];
	struct ns_connection *connections;
	struct ns_connection *queue; /* for another turn, first to last */
	struct ns_connection *queue_last;
	struct ns_connection *dead;
	enum ns_source stop;
	enum ns_source storage;
	enum ns_source inbox;
	bool has_mail; /* connections may have been handed over */
	struct ns_poll poll;
	bool is_stopping;
	int64_t stop_by_ns;
};

/* ---- deadlines ---- */

static void init_deadlines(struct worker *worker)
{
	const int64_t ms = 1000000;
	int64_t idle_ms = worker->setup->state->config->idle_timeout_ms;
	int64_t deadline_ms = worker->setup->state->config->deadline_ms;
	struct ns_deadlines *lists = worker->deadlines;

	ns_deadlines_init(&lists[IDLE_MEMCACHE], idle_ms * ms);
	ns_deadlines_init(&lists[IDLE_HTTP], (idle_ms ? idle_ms : NS_HTTP_IDLE_MS) * ms);
	ns_deadlines_init(&lists[HEAD], deadline_ms * ms);
	ns_deadlines_init(&lists[BODY], deadline_ms * ms);
	ns_deadlines_init(&lists[WRITING], deadline_ms * ms);
	ns_deadlines_init(&lists[STORAGE], NS_STORAGE_MS * ms);
	ns_deadlines_init(&lists[LINGERING], NS_LINGER_MS * ms);
}

static unsigned list_of(const struct ns_connection *connection, enum ns_waiting waiting)
{
	if (connection->is_lingering)
		return LINGERING;
	switch (waiting) {
	case NS_IN_HEAD:
		return HEAD;
	case NS_IN_BODY:
		return BODY;
	case NS_SENDING:
		return WRITING;
	case NS_IN_STORAGE:
		return STORAGE;
	case NS_IDLE:
		break;
	}
	return connection->kind == NS_SESSION_MEMCACHE ? IDLE_MEMCACHE : IDLE_HTTP;
}

/* Whether what it waits for has gone on enough for a new deadline. */
static bool has_gone_on(const struct ns_connection *connection, enum ns_waiting waiting)
{
	switch (waiting) {
	case NS_IN_BODY:
		return connection->got_bytes >= NS_DEADLINE_STEP_BYTES;
	case NS_SENDING:
		return connection->gave_bytes >= NS_DEADLINE_STEP_BYTES;
	case NS_IN_HEAD:
		/* Another head, where one was answered in between, or (noreply) it would be too long. */
		return connection->gave_bytes > 0 ||
		       connection->got_bytes >= NS_DEADLINE_STEP_BYTES;
	default:
		return connection->got_bytes > 0 || connection->gave_bytes > 0;
	}
}

/* Who does not read is who is waited for, whatever a pool would do next. */
static enum ns_waiting waiting_of(const struct ns_connection *connection)
{
	if (!connection->can_write && ns_session_has_output(connection->session))
		return NS_SENDING;
	return ns_session_waiting(connection->session);
}

static void keep_deadline(struct worker *worker, struct ns_connection *connection)
{
	enum ns_waiting waiting = waiting_of(connection);
	bool is_set = connection->deadline.next != NULL;

	if (connection->is_lingering) {
		/* Once only: last words do not prolong it. */
		if (!connection->has_last_deadline)
			ns_deadline_set(&worker->deadlines[LINGERING], &connection->deadline,
			                worker->now_ns);
		connection->has_last_deadline = true;
		return;
	}
	if (is_set && waiting == connection->waiting && !has_gone_on(connection, waiting))
		return;
	connection->waiting = waiting;
	connection->got_bytes = 0;
	connection->gave_bytes = 0;
	ns_deadline_set(&worker->deadlines[list_of(connection, waiting)], &connection->deadline,
	                worker->now_ns);
}

static int64_t next_deadline_ns(const struct worker *worker)
{
	int64_t first_ns = worker->is_stopping ? worker->stop_by_ns : INT64_MAX;

	for (unsigned i = 0; i < LIST_COUNT; i++) {
		int64_t at_ns = ns_deadlines_first_ns(&worker->deadlines[i]);

		if (at_ns < first_ns)
			first_ns = at_ns;
	}
	return first_ns;
}

/* ---- connections ---- */

/* What connections of a kind are counted in, against their limit. */
static uint32_t *count_of(const struct ns_worker_setup *setup, enum ns_session_kind kind)
{
	return kind == NS_SESSION_ADMIN ? setup->admin_connections : setup->connections;
}

static uint32_t limit_of(const struct ns_worker_setup *setup, enum ns_session_kind kind)
{
	return kind == NS_SESSION_ADMIN ? NS_ADMIN_CONNECTIONS_MAX
	                                : setup->state->config->connections_max;
}

/* Events of this round may still name it: it is freed at the end. */
static void bury(struct worker *worker, struct ns_connection *connection)
{
	if (connection->is_dead)
		return;
	connection->is_dead = true;
	ns_deadline_clear(&connection->deadline);
	if (connection->previous)
		connection->previous->next = connection->next;
	else
		worker->connections = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	connection->next = worker->dead;
	worker->dead = connection;
}

static void free_dead(struct worker *worker)
{
	struct ns_worker_counts *counts = worker->context.counts;

	struct ns_connection *connection = worker->dead;
	struct ns_connection *next;

	worker->dead = NULL;
	for (; connection; connection = next) {
		next = connection->next;
		/* The queue still names it: in the next round. */
		if (connection->is_queued) {
			connection->next = worker->dead;
			worker->dead = connection;
			continue;
		}
		__atomic_sub_fetch(count_of(worker->setup, connection->kind), 1, __ATOMIC_RELAXED);
		ns_connection_free(connection);
		__atomic_store_n(&counts->connections,
		                 __atomic_load_n(&counts->connections, __ATOMIC_RELAXED) - 1,
		                 __ATOMIC_RELAXED);
	}
}

static void queue(struct worker *worker, struct ns_connection *connection)
{
	if (connection->is_queued || connection->is_dead)
		return;
	connection->is_queued = true;
	connection->queue_next = NULL;
	if (worker->queue)
		worker->queue_last->queue_next = connection;
	else
		worker->queue = connection;
	worker->queue_last = connection;
}

/* A pool has gone on with what it waited for. */
static void wake(void *arg)
{
	struct ns_connection *connection = arg;

	queue(connection->worker, connection);
}

static void take_turn(struct worker *worker, struct ns_connection *connection)
{
	enum ns_turn turn = ns_connection_turn(connection);

	if (worker->is_stopping && turn == NS_TURN_WAIT && ns_connection_is_idle(connection))
		turn = ns_connection_end(connection);
	if (turn == NS_TURN_END) {
		bury(worker, connection);
		return;
	}
	keep_deadline(worker, connection);
	if (turn == NS_TURN_AGAIN)
		queue(worker, connection);
}

/* Who is in the queue now gets one turn. */
static void take_turns(struct worker *worker)
{
	struct ns_connection *connection = worker->queue;

	worker->queue = NULL;
	while (connection) {
		struct ns_connection *next = connection->queue_next;

		connection->is_queued = false;
		if (!connection->is_dead)
			take_turn(worker, connection);
		connection = next;
	}
}

static void end_overdue(struct worker *worker)
{
	for (unsigned i = 0; i < LIST_COUNT; i++) {
		struct ns_deadline *due;

		while ((due = ns_deadlines_due(&worker->deadlines[i], worker->now_ns)) != NULL) {
			char *at = (char *)due - offsetof(struct ns_connection, deadline);

			if (i != LINGERING)
				ns_count(&worker->context.counts->connections_timed_out, 1);
			bury(worker, (struct ns_connection *)(void *)at);
		}
	}
}

/* ---- accepting ---- */

static int add_to_epoll(const struct worker *worker, int fd, uint32_t events, void *source)
{
	struct epoll_event event = { .events = events | EPOLLET, .data.ptr = source };

	/* What is left of it for later is told again. */
	if (source == &worker->storage)
		event.events = events;

	return epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* There are too many. The words are those of memcached, or HTTP's. */
static void turn_away(struct worker *worker, int fd, enum ns_session_kind kind)
{
	static const char memcache[] = "ERROR Too many open connections\r\n";
	static const char http[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
				   "Content-Length: 0\r\n\r\n";
	const char *text = kind == NS_SESSION_MEMCACHE ? memcache : http;
	char words[4096];

	ns_count(&worker->context.counts->connections_rejected, 1);
	(void)send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	(void)shutdown(fd, SHUT_WR);
	/* Closing with bytes unread would reset what the peer has not read yet. */
	for (unsigned i = 0; i < LAST_WORDS_MAX && recv(fd, words, sizeof(words), MSG_DONTWAIT) > 0;
	     i++)
		;
	close(fd);
}

static void admit(struct worker *worker, int fd, enum ns_session_kind kind)
{
	const struct ns_worker_setup *setup = worker->setup;
	struct ns_connection *connection;
	uint32_t *count = count_of(setup, kind);
	uint32_t others = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);

	ns_count(&worker->context.counts->connections_total, 1);
	connection = others < limit_of(setup, kind)
	                     ? ns_connection_create(fd, kind, &worker->context)
	                     : NULL;
	if (connection && add_to_epoll(worker, fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP, connection)) {
		ns_connection_free(connection);
		fd = -1;
		connection = NULL;
	}
	if (!connection) {
		__atomic_sub_fetch(count, 1, __ATOMIC_RELAXED);
		if (fd >= 0)
			turn_away(worker, fd, kind);
		return;
	}
	ns_count(&worker->context.counts->connections, 1);
	connection->worker = worker;
	ns_session_on_wake(connection->session,
	                   (struct ns_tail_waiter){ .wake = wake, .arg = connection });
	connection->next = worker->connections;
	if (worker->connections)
		worker->connections->previous = connection;
	worker->connections = connection;
	/* It may have sent something already; if not, it costs one call. */
	connection->can_read = true;
	queue(worker, connection);
}

/* Whether packets come in on the CPU of this worker. */
static bool comes_in_here(const struct worker *worker, int fd)
{
	int cpu = -1;
	socklen_t size = sizeof(cpu);

	return getsockopt(fd, SOL_SOCKET, SO_INCOMING_CPU, &cpu, &size) == 0 &&
	       cpu == (int)worker->setup->cpu;
}

/* To another worker, when its queue is that one's. */
static bool hand_over(struct worker *worker, int fd, enum ns_session_kind kind)
{
	const struct ns_worker_setup *setup = worker->setup;
	struct ns_handed handed = { .fd = fd, .kind = kind };
	bool is_known;
	unsigned to = ns_steering_worker_of(setup->steering, fd, setup->index, &is_known);

	if (!is_known)
		ns_count(&worker->context.counts->connections_unsteered, 1);
	if (to == setup->index || ns_steering_give(setup->steering, to, handed) < 0)
		return false;
	ns_count(&worker->context.counts->connections_handed, 1);
	return true;
}

static void receive_connection(struct worker *worker, int fd, const struct ns_listener *listener)
{
	if (!listener->is_shared && worker->setup->steering &&
	    hand_over(worker, fd, listener->kind))
		return;
	if (!listener->is_shared && worker->setup->state->config->steer == NS_STEER_CPU &&
	    !comes_in_here(worker, fd))
		ns_count(&worker->context.counts->connections_unsteered, 1);
	admit(worker, fd, listener->kind);
}

static void take_mail(struct worker *worker)
{
	struct ns_handed handed;

	if (!worker->has_mail)
		return;
	worker->has_mail = false;
	while (ns_steering_take(worker->setup->steering, worker->setup->index, &handed))
		admit(worker, handed.fd, handed.kind);
}

/* Until there is none left, or others have to get their turn. */
static void accept_some(struct worker *worker, struct ns_listener *listener)
{
	for (unsigned i = 0; i < ACCEPTS_A_TURN; i++) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			receive_connection(worker, fd, listener);
		} else if (errno == EAGAIN) {
			listener->may_have_more = false;
			return;
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		           errno == ENOMEM) {
			return; /* once more when somebody has gone, or after a tick */
		}
	}
	worker->may_accept_more = true;
}

/* Those that events named, and those that were left in the middle. */
static void accept_all(struct worker *worker)
{
	worker->may_accept_more = false;
	for (size_t i = 0; i < worker->setup->listener_count && !worker->is_stopping; i++) {
		if (worker->setup->listeners[i].may_have_more)
			accept_some(worker, &worker->setup->listeners[i]);
	}
}

/* ---- stopping ---- */

/* To the kernel they are connected already, and to close the listener would reset them. */
static void accept_last(struct worker *worker)
{
	const struct ns_worker_setup *setup = worker->setup;

	for (size_t i = 0; i < setup->listener_count; i++) {
		struct ns_listener *listener = &setup->listeners[i];

		listener->may_have_more = true;
		for (unsigned turn = 0; turn < LAST_ACCEPTS_MAX && listener->may_have_more; turn++)
			accept_some(worker, listener);
	}
	worker->may_accept_more = false;
}

static void begin_stopping(struct worker *worker)
{
	const struct ns_worker_setup *setup = worker->setup;
	struct ns_connection *next;

	if (__atomic_load_n(&setup->state->is_ending, __ATOMIC_RELAXED))
		worker->stop_by_ns = worker->now_ns;
	else if (!worker->is_stopping)
		worker->stop_by_ns = worker->now_ns + NS_DRAIN_MS * INT64_C(1000000);
	if (worker->is_stopping)
		return;
	accept_last(worker);
	worker->is_stopping = true;
	if (setup->steering) {
		ns_steering_end(setup->steering, setup->index);
		worker->has_mail = true;
	}
	for (size_t i = 0; i < setup->listener_count; i++) {
		struct ns_listener *listener = &setup->listeners[i];

		(void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_DEL, listener->fd, NULL);
		if (listener->is_shared) {
			(void)shutdown(listener->fd, SHUT_RDWR);
			continue;
		}
		close(listener->fd);
		listener->fd = -1;
	}
	for (struct ns_connection *at = worker->connections; at; at = next) {
		next = at->next;
		/* A request may lie in the socket, unseen. */
		at->can_read = true;
		queue(worker, at);
	}
}

/* ---- the loop ---- */

static void see_connection(struct worker *worker, struct ns_connection *connection, uint32_t events)
{
	if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		connection->can_read = true;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		connection->has_hung_up = true;
	if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		connection->can_write = true;
	queue(worker, connection);
}

/* Whoever has not read for a while holds no buffers that others wait for. */
static void pause_slow_readers(struct worker *worker)
{
	if (!worker->context.tails)
		return;
	for (struct ns_connection *at = worker->connections; at; at = at->next) {
		if (!at->can_write && !at->has_given)
			ns_session_pause(at->session);
		at->has_given = false;
	}
}

static void see(struct worker *worker, const struct epoll_event *event)
{
	enum ns_source *source = event->data.ptr;

	switch (*source) {
	case NS_SOURCE_STOP:
		begin_stopping(worker);
		break;
	case NS_SOURCE_LISTENER:
		((struct ns_listener *)event->data.ptr)->may_have_more = true;
		break;
	case NS_SOURCE_CONNECTION:
		see_connection(worker, event->data.ptr, event->events);
		break;
	case NS_SOURCE_STORAGE:
		ns_tail_io_reap(worker->context.tails);
		break;
	case NS_SOURCE_INBOX:
		worker->has_mail = true;
		break;
	}
}

/* How long to sleep: not at all while somebody waits for another turn. */
static int sleep_ms(const struct worker *worker)
{
	int64_t until_ns = next_deadline_ns(worker);
	int64_t left_ms;

	if (worker->queue || worker->may_accept_more)
		return 0;
	left_ms = (until_ns - worker->now_ns) / 1000000 + 1;
	if (until_ns == INT64_MAX || left_ms > TICK_MS)
		return TICK_MS;
	return left_ms > 0 ? (int)left_ms : 0;
}

/* The clocks of this round, and what is to be done by them. */
static void keep_time(struct worker *worker)
{
	const int64_t ms = 1000000;
	struct ns_session_context *context = &worker->context;

	context->now_s = ns_store_now_s(context->store);
	worker->now_ns = (int64_t)np_now_ns();
	if (worker->now_ns - worker->sweep_ns < SWEEP_EVERY_MS * ms)
		return;
	worker->sweep_ns = worker->now_ns;
	(void)ns_store_sweep(context->thread, context->now_s, SWEEP_AT_ONCE);
	if (worker->now_ns - worker->tick_ns < TICK_MS * ms)
		return;
	worker->tick_ns = worker->now_ns;
	ns_date_write((int64_t)time(NULL), context->date);
	pause_slow_readers(worker);
	ns_sessions_hurry(context);
	(void)ns_store_sweep(context->thread, context->now_s, SWEEP_A_TICK);
}

/* Looks again and again instead of sleeping, as waking up takes longer than many a peer does to ask again. */
static int poll_for_events(struct worker *worker, struct epoll_event *events)
{
	int64_t until_ns = (int64_t)np_now_ns() + worker->setup->state->config->poll_us * 1000LL;
	int count;

	do
		count = epoll_wait(worker->epoll_fd, events, EVENTS_MAX, 0);
	while (count == 0 && (int64_t)np_now_ns() < until_ns);
	ns_poll_ended(&worker->poll, count > 0);
	return count;
}

/* As long as it takes, and whether it would have paid to poll. */
static int sleep_for_events(struct worker *worker, struct epoll_event *events, int timeout_ms)
{
	int64_t poll_ns = worker->setup->state->config->poll_us * 1000LL;
	int64_t from_ns = poll_ns > 0 ? (int64_t)np_now_ns() : 0;
	int count = epoll_wait(worker->epoll_fd, events, EVENTS_MAX, timeout_ms);

	if (poll_ns > 0)
		ns_poll_slept(&worker->poll,
		              count > 0 && (int64_t)np_now_ns() - from_ns <= poll_ns);
	return count;
}

static int wait_for_events(struct worker *worker, struct epoll_event *events)
{
	int timeout_ms = sleep_ms(worker);
	int count = 0;

	if (timeout_ms > 0 && ns_poll_pays(&worker->poll)) {
		count = poll_for_events(worker, events);
		if (count > 0)
			return count;
	}
	if (timeout_ms > 0)
		ns_thread_go(worker->context.thread);
	if (timeout_ms > 0)
		count = sleep_for_events(worker, events, timeout_ms);
	else
		count = epoll_wait(worker->epoll_fd, events, EVENTS_MAX, 0);
	if (count < 0)
		count = errno == EINTR ? 0 : -errno;
	if (timeout_ms > 0)
		ns_thread_come(worker->context.thread);
	return count;
}

static bool is_done(const struct worker *worker)
{
	return worker->is_stopping &&
	       (!worker->connections || worker->now_ns >= worker->stop_by_ns);
}

static int loop(struct worker *worker, struct np_error *err)
{
	struct epoll_event events[EVENTS_MAX];

	while (!is_done(worker)) {
		int count = wait_for_events(worker, events);

		if (count < 0)
			return np_error_sys(err, -count, "worker %u: epoll_wait",
			                    worker->setup->index);
		keep_time(worker);
		for (int i = 0; i < count; i++)
			see(worker, &events[i]);
		accept_all(worker);
		take_mail(worker);
		take_turns(worker);
		end_overdue(worker);
		free_dead(worker);
		ns_thread_rest(worker->context.thread);
	}
	return 0;
}

/* ---- beginning and end ---- */

/* Success does not mean obeyed: the mask is read back. */
static int pin(unsigned cpu, struct np_error *err)
{
	struct np_bitmap wanted = { 0 };
	struct np_bitmap found = { 0 };
	char list[96];
	int rc = np_bitmap_add(&wanted, cpu);

	if (rc < 0)
		rc = np_error_sys(err, ENOMEM, "CPU %u", cpu);
	if (rc == 0)
		rc = nr_affinity_set(&wanted, err);
	if (rc == 0)
		rc = nr_affinity_get(&found, err);
	if (rc == 0 && !np_bitmap_equal(&wanted, &found))
		rc = np_error_set(err, EXDEV, "the kernel keeps the worker of CPU %u on %s", cpu,
		                  np_cpulist_named("CPU", &found, list, sizeof(list)));
	np_bitmap_release(&wanted);
	np_bitmap_release(&found);
	return rc;
}

static int register_sources(struct worker *worker, struct np_error *err)
{
	const struct ns_worker_setup *setup = worker->setup;
	int rc;

	worker->stop = NS_SOURCE_STOP;
	worker->inbox = NS_SOURCE_INBOX;
	rc = add_to_epoll(worker, setup->stop_fd, EPOLLIN, &worker->stop);
	if (rc == 0 && setup->steering)
		rc = add_to_epoll(worker, ns_steering_fd(setup->steering, setup->index), EPOLLIN,
		                  &worker->inbox);
	for (size_t i = 0; i < setup->listener_count && rc == 0; i++) {
		struct ns_listener *listener = &setup->listeners[i];
		uint32_t exclusive = listener->is_shared ? EPOLLEXCLUSIVE : 0;

		rc = add_to_epoll(worker, listener->fd, EPOLLIN | exclusive, listener);
	}
	if (rc == 0 && worker->context.tails) {
		worker->storage = NS_SOURCE_STORAGE;
		rc = add_to_epoll(worker, ns_tail_io_fd(worker->context.tails), EPOLLIN,
		                  &worker->storage);
	}
	return rc < 0 ? np_error_sys(err, -rc, "worker %u: epoll_ctl", setup->index) : 0;
}

/* On this thread, so that the buffers are of its node. */
static int open_tails(struct worker *worker, struct np_error *err)
{
	struct ns_session_context *context = &worker->context;
	struct ns_tails *tails = ns_store_tails(context->store);
	int rc;

	if (!tails)
		return 0;
	rc = ns_tail_io_create(tails, worker->setup->engine, NS_TAIL_BUFFERS, &context->tails, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "worker %u", worker->setup->index);
	__atomic_store_n(&context->server->engine, ns_tail_io_engine(context->tails),
	                 __ATOMIC_RELAXED);
	return 0;
}

static int serve(struct worker *worker, struct np_error *err)
{
	struct ns_session_context *context = &worker->context;
	int rc;

	worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (worker->epoll_fd < 0)
		return np_error_sys(err, errno, "worker %u: epoll_create1", worker->setup->index);
	context->thread = ns_thread_join(context->store, worker->setup->node);
	if (!context->thread) {
		close(worker->epoll_fd);
		return np_error_sys(err, ENOMEM, "worker %u: joining the store",
		                    worker->setup->index);
	}
	rc = open_tails(worker, err);
	if (rc == 0)
		rc = register_sources(worker, err);
	if (rc == 0)
		rc = loop(worker, err);
	while (worker->connections)
		bury(worker, worker->connections);
	take_turns(worker); /* nobody's: it empties the queue */
	free_dead(worker);
	ns_tail_io_free(context->tails);
	ns_thread_leave(context->thread);
	close(worker->epoll_fd);
	return rc;
}

int ns_worker_run(const struct ns_worker_setup *setup, struct np_error *err)
{
	struct worker *worker;
	int rc = pin(setup->cpu, err);

	if (rc < 0)
		return rc;
	worker = calloc(1, sizeof(*worker));
	if (!worker)
		return np_error_sys(err, ENOMEM, "worker %u", setup->index);
	worker->setup = setup;
	worker->context = (struct ns_session_context){
		.server = setup->state,
		.counts = &setup->state->workers[setup->index],
		.config = setup->state->config,
		.store = setup->state->store,
		.auth = setup->auth,
	};
	init_deadlines(worker);
	rc = serve(worker, err);
	free(worker);
	return rc;
}
