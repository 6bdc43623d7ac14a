/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pingpong PORT PREFIX KEYS BYTES REQUESTS: what a request costs that nothing is done about. The
 * request is made before, sent with one send(2), and its reply received until all its bytes are there;
 * nobody looks at them. On standard output the median in nanoseconds. overhead.py runs it.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

enum { REQUEST_SIZE = 300, HEAD_SIZE = 400, WARMUP_SHARE = 10 };

struct pingpong {
	int fd;
	const char *prefix;
	uint64_t keys;
	uint64_t bytes;
	uint64_t random; /* xorshift64 */
	char *buffer;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t next_key(struct pingpong *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random % p->keys;
}

static bool connect_to(struct pingpong *p, uint16_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		                             .sin_port = htons(port),
		                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int one = 1;

	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return p->fd >= 0 && setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0 &&
	       connect(p->fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
}

/* One request's nanoseconds; 0 = it failed. */
static uint64_t ask(struct pingpong *p)
{
	char request[REQUEST_SIZE];
	char head[HEAD_SIZE];
	uint64_t key = next_key(p);
	int length = snprintf(request, sizeof(request), "get %s%" PRIu64 "\r\n", p->prefix, key);
	size_t wanted = (size_t)snprintf(head, sizeof(head),
	                                 "VALUE %s%" PRIu64 " 0 %" PRIu64 "\r\n\r\nEND\r\n",
	                                 p->prefix, key, p->bytes) +
	                p->bytes;
	uint64_t start = now_ns();

	if (send(p->fd, request, (size_t)length, MSG_NOSIGNAL) != length)
		return 0;
	for (size_t got = 0; got < wanted;) {
		ssize_t count = recv(p->fd, p->buffer + got, wanted - got, 0);

		if (count <= 0)
			return 0;
		got += (size_t)count;
	}
	return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int run(struct pingpong *p, uint64_t requests)
{
	uint64_t *times = calloc(requests, sizeof(*times));
	uint64_t warmup = requests / WARMUP_SHARE;
	int status = 1;

	p->buffer = malloc(p->bytes + HEAD_SIZE);
	if (!times || !p->buffer)
		goto out;
	memset(p->buffer, 1, p->bytes + HEAD_SIZE);
	memset(times, 1, requests * sizeof(*times));
	for (uint64_t i = 0; i < warmup + requests; i++) {
		uint64_t took = ask(p);

		if (took == 0)
			goto out;
		if (i >= warmup)
			times[i - warmup] = took;
	}
	qsort(times, requests, sizeof(*times), compare);
	printf("%" PRIu64 "\n", times[(requests + 1) / 2 - 1]);
	status = 0;
out:
	free(times);
	free(p->buffer);
	return status;
}

int main(int argc, char **argv)
{
	struct pingpong p = { .random = UINT64_C(0x9e3779b97f4a7c15) };
	uint64_t requests;
	int status;

	if (argc != 6) {
		fprintf(stderr, "usage: pingpong PORT PREFIX KEYS BYTES REQUESTS\n");
		return 2;
	}
	p.prefix = argv[2];
	p.keys = strtoull(argv[3], NULL, 10);
	p.bytes = strtoull(argv[4], NULL, 10);
	requests = strtoull(argv[5], NULL, 10);
	if (p.keys == 0 || requests == 0 || strlen(p.prefix) > 200 ||
	    !connect_to(&p, (uint16_t)strtoul(argv[1], NULL, 10))) {
		perror("pingpong");
		return 1;
	}
	status = run(&p, requests);
	if (status)
		fprintf(stderr, "pingpong: no memory, or no reply of that size\n");
	return status;
}
