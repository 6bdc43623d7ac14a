/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net_loop [ROUNDS]: epoll against io_uring for a server's one connection: requests of 16 bytes, one at a time,
 * answered by a head and a value in one sendmsg. The server is on the first CPU that may be used, the client on
 * the second. Each round has each of the loops once, for each size; a line for each round and loop: size, loop,
 * requests a second, and for each request the server's CPU time in ns and its instructions (- where the host
 * does not count them).
 *
 * docs/decisions/epoll-for-the-network.md has what was seen.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	REQUEST = 16,
	HEAD = 32,
	INPUT = 16384,
	BUFFERS = 8,
	ROUND_MS = 100,
	PAUSE_US = 200000,
	WARM_UP = 50
};

struct reply {
	struct iovec pieces[2];
	size_t bytes;
};

static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(1);
}

static int64_t now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * INT64_C(1000000000) + at.tv_nsec;
}

/* ---- the loops ---- */

/* What is left when so many bytes went. */
static void cut(struct msghdr *message, size_t sent)
{
	while (message->msg_iovlen > 0 && sent >= message->msg_iov->iov_len) {
		sent -= message->msg_iov->iov_len;
		message->msg_iov++;
		message->msg_iovlen--;
	}
	if (message->msg_iovlen > 0) {
		message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + sent;
		message->msg_iov->iov_len -= sent;
	}
}

/* As in worker.c: edges, a wait, one recv, one sendmsg as long as the socket takes it all. */
static void serve_epoll(int fd, const struct reply *reply)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	int epoll_fd = epoll_create1(0);
	static char input[INPUT];

	if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		give_up("epoll");
	for (;;) {
		struct iovec pieces[2] = { reply->pieces[0], reply->pieces[1] };
		struct msghdr message = { .msg_iov = pieces, .msg_iovlen = 2 };
		ssize_t got = recv(fd, input, sizeof(input), MSG_DONTWAIT);

		if (got == 0)
			break;
		while (got > 0 && message.msg_iovlen > 0) {
			ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

			if (sent >= 0)
				cut(&message, (size_t)sent);
			else if (errno == EAGAIN)
				epoll_wait(epoll_fd, &event, 1, -1);
			else
				return;
		}
		epoll_wait(epoll_fd, &event, 1, -1);
	}
	close(epoll_fd);
}

enum tag { RECEIVED = 1, SENT };

static void ask_recv(struct io_uring *ring, int fd)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_recv_multishot(sqe, fd, NULL, 0, 0);
	sqe->flags |= IOSQE_BUFFER_SELECT;
	sqe->buf_group = 0;
	io_uring_sqe_set_data64(sqe, RECEIVED);
}

static void ask_send(struct io_uring *ring, int fd, const struct msghdr *message)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	io_uring_prep_sendmsg(sqe, fd, message, MSG_NOSIGNAL | MSG_WAITALL);
	io_uring_sqe_set_data64(sqe, SENT);
}

static struct io_uring_buf_ring *give_buffers(struct io_uring *ring, char *input)
{
	struct io_uring_buf_reg reg = { .ring_entries = BUFFERS };
	struct io_uring_buf_ring *buffers = aligned_alloc(4096, 4096);

	if (!buffers)
		give_up("buffers");
	io_uring_buf_ring_init(buffers);
	reg.ring_addr = (uintptr_t)buffers;
	if (io_uring_register_buf_ring(ring, &reg, 0) < 0)
		give_up("io_uring_register_buf_ring");
	for (unsigned i = 0; i < BUFFERS; i++)
		io_uring_buf_ring_add(buffers, input + (size_t)i * INPUT, INPUT, (unsigned short)i,
		                      io_uring_buf_ring_mask(BUFFERS), (int)i);
	io_uring_buf_ring_advance(buffers, BUFFERS);
	return buffers;
}

/* One io_uring_enter() a request: it submits the answer and waits for the next request. */
static void serve_uring(int fd, const struct reply *reply)
{
	struct io_uring_params params = { .flags = IORING_SETUP_SINGLE_ISSUER |
		                                   IORING_SETUP_DEFER_TASKRUN };
	static char input[BUFFERS * INPUT];
	struct iovec pieces[2] = { reply->pieces[0], reply->pieces[1] };
	struct msghdr message = { .msg_iov = pieces, .msg_iovlen = 2 };
	struct io_uring_buf_ring *buffers;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	bool is_over = false;

	if (io_uring_queue_init_params(64, &ring, &params) < 0)
		give_up("io_uring");
	buffers = give_buffers(&ring, input);
	ask_recv(&ring, fd);
	while (!is_over) {
		unsigned head;
		unsigned seen = 0;

		io_uring_submit_and_wait(&ring, 1);
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			seen++;
			if (cqe->user_data == SENT)
				continue;
			if (cqe->res <= 0) {
				is_over = true;
				continue;
			}
			unsigned short buffer =
				(unsigned short)(cqe->flags >> IORING_CQE_BUFFER_SHIFT);

			io_uring_buf_ring_add(buffers, input + (size_t)buffer * INPUT, INPUT,
			                      buffer, io_uring_buf_ring_mask(BUFFERS), 0);
			io_uring_buf_ring_advance(buffers, 1);
			if (!(cqe->flags & IORING_CQE_F_MORE))
				ask_recv(&ring, fd);
			ask_send(&ring, fd, &message);
		}
		io_uring_cq_advance(&ring, seen);
	}
	io_uring_queue_exit(&ring);
	free(buffers);
}

static const struct loop {
	const char *name;
	void (*serve)(int fd, const struct reply *reply);
} loops[] = { { "epoll", serve_epoll }, { "io_uring", serve_uring } };

/* ---- what is measured ---- */

struct result {
	double cpu_ns;          /* of the whole round */
	long long instructions; /* -1: not counted */
};

static int count_instructions(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_HARDWARE,
		                        .size = sizeof(attr),
		                        .config = PERF_COUNT_HW_INSTRUCTIONS };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static double spent_ns(const struct timeval *time)
{
	return (double)time->tv_sec * 1e9 + (double)time->tv_usec * 1e3;
}

static void pin(unsigned nth)
{
	cpu_set_t all;
	cpu_set_t one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		give_up("sched_getaffinity");
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &all) && nth-- == 0)
			CPU_SET(cpu, &one);
	}
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		give_up("two CPUs are needed");
}

/* The child's side: serves one connection to its end, and tells on @out what it took. */
static void run_server(const struct loop *loop, int listener, int out, const struct reply *reply)
{
	struct result result = { .instructions = -1 };
	struct rusage usage;
	int counter;
	int fd;

	pin(0);
	counter = count_instructions();
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		give_up("accept");
	loop->serve(fd, reply);
	getrusage(RUSAGE_SELF, &usage);
	result.cpu_ns = spent_ns(&usage.ru_utime) + spent_ns(&usage.ru_stime);
	if (counter >= 0 && read(counter, &result.instructions, 8) != 8)
		result.instructions = -1;
	if (write(out, &result, sizeof(result)) != sizeof(result))
		give_up("write");
	_exit(0);
}

static void ask(int fd, char *to, size_t bytes)
{
	char request[REQUEST] = "get something\r\n";
	size_t got = 0;

	if (send(fd, request, sizeof(request), MSG_NOSIGNAL) != sizeof(request))
		give_up("send");
	while (got < bytes) {
		ssize_t part = recv(fd, to, bytes - got, 0);

		if (part <= 0)
			give_up("recv");
		got += (size_t)part;
	}
}

static long run_client(const struct sockaddr_in *address, size_t bytes, double *ret_seconds)
{
	const int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char *to = malloc(bytes);
	long requests = 0;
	int64_t from_ns;

	if (!to || connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		give_up("connect");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	for (unsigned i = 0; i < WARM_UP; i++)
		ask(fd, to, bytes);
	from_ns = now_ns();
	while (now_ns() - from_ns < ROUND_MS * INT64_C(1000000)) {
		ask(fd, to, bytes);
		requests++;
	}
	*ret_seconds = (double)(now_ns() - from_ns) / 1e9;
	close(fd);
	free(to);
	return requests;
}

static void run(const struct loop *loop, const struct reply *reply)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	const int on = 1;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	struct result result;
	double seconds;
	long requests;
	int pipe_fds[2];
	pid_t pid;

	setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0 || pipe(pipe_fds) < 0)
		give_up("listen");
	pid = fork();
	if (pid == 0)
		run_server(loop, listener, pipe_fds[1], reply);
	if (pid < 0)
		give_up("fork");
	pin(1);
	requests = run_client(&address, reply->bytes, &seconds);
	if (read(pipe_fds[0], &result, sizeof(result)) != sizeof(result))
		give_up("read");
	waitpid(pid, NULL, 0);
	printf("%zu %s %.0f %.0f ", reply->pieces[1].iov_len, loop->name,
	       (double)requests / seconds, result.cpu_ns / (double)(requests + WARM_UP));
	if (result.instructions < 0)
		puts("-");
	else
		printf("%lld\n", result.instructions / (requests + WARM_UP));
	fflush(stdout);
	close(listener);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

int main(int argc, char **argv)
{
	static const size_t sizes[] = { 1024, 262144 };
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 7;
	static char head[HEAD];
	cpu_set_t all;
	char *value = malloc(262144);

	if (!value || sched_getaffinity(0, sizeof(all), &all) < 0)
		give_up("start");
	memset(value, 'v', 262144);
	for (long round = 0; round < rounds; round++) {
		for (size_t i = 0; i < 4; i++) {
			struct reply reply = { .pieces = { { head, HEAD },
				                           { value, sizes[i / 2] } } };

			reply.bytes = HEAD + sizes[i / 2];
			/* The child pins itself too, among all. */
			sched_setaffinity(0, sizeof(all), &all);
			run(&loops[(i + (size_t)round) % 2], &reply);
			/* With a real-time priority, as for a busy host, others would starve. */
			usleep(PAUSE_US);
		}
	}
	free(value);
	return 0;
}
