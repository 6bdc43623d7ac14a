/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pingpong VERB PORT PREFIX KEYS BYTES REQUESTS: what a request costs that nothing is done about. The
 * request is made before, sent with one call, and its reply received until all its bytes are there;
 * nobody looks at them. VERB is get or set (memcache) or http (GET). On standard output the median and
 * the sum of all, in nanoseconds. overhead.py and store.py run it.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

enum { REQUEST_SIZE = 300, HEAD_SIZE = 400, WARMUP_SHARE = 10 };

enum verb { GET, SET, HTTP };

struct pingpong {
	enum verb verb;
	int fd;
	const char *prefix;
	uint64_t keys;
	uint64_t bytes;
	uint64_t random; /* xorshift64 */
	char *buffer;
	char *value; /* of a set, with its line end */
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

/* Sends it in one piece, and a value behind it where there is one to be stored. */
static bool say(struct pingpong *p, char *request, size_t length)
{
	struct iovec pieces[] = { { request, length }, { p->value, p->bytes + 2 } };
	bool has_value = p->verb == SET;
	const struct msghdr message = { .msg_iov = pieces, .msg_iovlen = has_value ? 2 : 1 };
	size_t all = length + (has_value ? pieces[1].iov_len : 0);
	size_t sent = 0;

	while (sent < all) {
		ssize_t count = sent == 0 ? sendmsg(p->fd, &message, MSG_NOSIGNAL)
		                          : send(p->fd, p->value + (sent - length), all - sent,
		                                 MSG_NOSIGNAL);

		if (count <= 0 || (sent == 0 && (size_t)count < length))
			return false;
		sent += (size_t)count;
	}
	return true;
}

/* An HTTP head is as long as the server likes: up to its blank line. 0 = it has not come whole */
static size_t head_of(const struct pingpong *p, size_t got)
{
	const char *end = memmem(p->buffer, got, "\r\n\r\n", 4);

	return end ? (size_t)(end - p->buffer) + 4 : 0;
}

static bool hear(struct pingpong *p, size_t wanted)
{
	for (size_t got = 0; wanted == 0 || got < wanted;) {
		size_t room = wanted > 0 ? wanted : p->bytes + HEAD_SIZE;
		ssize_t count = recv(p->fd, p->buffer + got, room - got, 0);
		size_t head;

		if (count <= 0)
			return false;
		got += (size_t)count;
		if (wanted == 0 && (head = head_of(p, got)) > 0)
			wanted = head + p->bytes;
	}
	return true;
}

static int put_request(const struct pingpong *p, uint64_t key, char request[REQUEST_SIZE])
{
	switch (p->verb) {
	case GET:
		return snprintf(request, REQUEST_SIZE, "get %s%" PRIu64 "\r\n", p->prefix, key);
	case SET:
		return snprintf(request, REQUEST_SIZE, "set %s%" PRIu64 " 0 0 %" PRIu64 "\r\n",
		                p->prefix, key, p->bytes);
	case HTTP:
		break;
	}
	return snprintf(request, REQUEST_SIZE, "GET %s%" PRIu64 " HTTP/1.1\r\nHost: bench\r\n\r\n",
	                p->prefix, key);
}

/* One request's nanoseconds; 0 = it failed. */
static uint64_t ask(struct pingpong *p)
{
	char request[REQUEST_SIZE];
	char head[HEAD_SIZE];
	uint64_t key = next_key(p);
	int length = put_request(p, key, request);
	size_t wanted = 0;
	uint64_t start;

	if (p->verb == GET)
		wanted = (size_t)snprintf(head, sizeof(head),
		                          "VALUE %s%" PRIu64 " 0 %" PRIu64 "\r\n\r\nEND\r\n",
		                          p->prefix, key, p->bytes) +
		         p->bytes;
	else if (p->verb == SET)
		wanted = strlen("STORED\r\n");
	start = now_ns();
	if (!say(p, request, (size_t)length) || !hear(p, wanted))
		return 0;
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
	uint64_t sum = 0;
	int status = 1;

	p->buffer = malloc(p->bytes + HEAD_SIZE);
	p->value = malloc(p->bytes + 3);
	if (!times || !p->buffer || !p->value)
		goto out;
	memset(p->value, 'x', p->bytes);
	memcpy(p->value + p->bytes, "\r\n", 3);
	memset(p->buffer, 1, p->bytes + HEAD_SIZE);
	memset(times, 1, requests * sizeof(*times));
	for (uint64_t i = 0; i < warmup + requests; i++) {
		uint64_t took = ask(p);

		if (took == 0)
			goto out;
		if (i >= warmup)
			times[i - warmup] = took;
	}
	for (uint64_t i = 0; i < requests; i++)
		sum += times[i];
	qsort(times, requests, sizeof(*times), compare);
	printf("%" PRIu64 " %" PRIu64 "\n", times[(requests + 1) / 2 - 1], sum);
	status = 0;
out:
	free(times);
	free(p->buffer);
	free(p->value);
	return status;
}

int main(int argc, char **argv)
{
	struct pingpong p = { .random = UINT64_C(0x9e3779b97f4a7c15) };
	const char *const verbs[] = { "get", "set", "http" };
	unsigned verb = 0;
	uint64_t requests;
	int status;

	while (argc == 7 && verb < 3 && strcmp(argv[1], verbs[verb]) != 0)
		verb++;
	if (argc != 7 || verb == 3) {
		fprintf(stderr, "usage: pingpong get|set|http PORT PREFIX KEYS BYTES REQUESTS\n");
		return 2;
	}
	p.verb = (enum verb)verb;
	p.prefix = argv[3];
	p.keys = strtoull(argv[4], NULL, 10);
	p.bytes = strtoull(argv[5], NULL, 10);
	requests = strtoull(argv[6], NULL, 10);
	if (p.keys == 0 || requests == 0 || strlen(p.prefix) > 200 ||
	    !connect_to(&p, (uint16_t)strtoul(argv[2], NULL, 10))) {
		perror("pingpong");
		return 1;
	}
	status = run(&p, requests);
	if (status)
		fprintf(stderr, "pingpong: no memory, or no reply of that size\n");
	return status;
}
