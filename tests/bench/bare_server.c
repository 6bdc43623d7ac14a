/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bare_server BYTES OBJECTS: what an answer costs that nothing is looked up for. Takes one connection
 * after the other on a free port of loopback, which it prints; for every line one recv(2), and one
 * sendmsg(2) of a memcache reply with the object whose number ends the key. store.py runs it.
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
#include <unistd.h>

enum { LINE_SIZE = 1024, HEAD_SIZE = 400 };

struct objects {
	uint64_t bytes; /* of each */
	uint64_t count;
	char *values;
};

static int listen_somewhere(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, size) < 0 || listen(fd, 16) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static bool send_all(int fd, struct iovec *pieces, size_t count)
{
	while (count > 0) {
		const struct msghdr message = { .msg_iov = pieces, .msg_iovlen = count };
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		for (; count > 0 && (size_t)sent >= pieces->iov_len; pieces++, count--)
			sent -= (ssize_t)pieces->iov_len;
		if (count > 0) {
			pieces->iov_base = (char *)pieces->iov_base + sent;
			pieces->iov_len -= (size_t)sent;
		}
	}
	return true;
}

/* @line: "get PREFIX<number>" */
static bool answer(const struct objects *objects, int fd, char *line)
{
	char *key = line + strlen("get ");
	char *digits = key + strlen(key);
	char head[HEAD_SIZE];
	struct iovec pieces[3] = { { .iov_base = head }, { 0 }, { "\r\nEND\r\n", 7 } };

	while (digits > key && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	pieces[0].iov_len = (size_t)snprintf(head, sizeof(head), "VALUE %s 0 %" PRIu64 "\r\n", key,
	                                     objects->bytes);
	pieces[1].iov_base =
		objects->values + strtoull(digits, NULL, 10) % objects->count * objects->bytes;
	pieces[1].iov_len = objects->bytes;
	return send_all(fd, pieces, 3);
}

static void serve(const struct objects *objects, int fd)
{
	const int one = 1;
	char line[LINE_SIZE];
	ssize_t got;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while ((got = recv(fd, line, sizeof(line) - 1, 0)) > 2) {
		line[got - 2] = '\0'; /* its CR LF */
		if (strncmp(line, "get ", 4) != 0 || !answer(objects, fd, line))
			break;
	}
	close(fd);
}

int main(int argc, char **argv)
{
	struct objects objects = { 0 };
	int fd;
	int peer;

	if (argc != 3) {
		fprintf(stderr, "usage: bare_server BYTES OBJECTS\n");
		return 2;
	}
	objects.bytes = strtoull(argv[1], NULL, 10);
	objects.count = strtoull(argv[2], NULL, 10);
	objects.values = malloc(objects.bytes * objects.count);
	fd = listen_somewhere();
	if (!objects.values || objects.count == 0 || fd < 0) {
		perror("bare_server");
		return 1;
	}
	memset(objects.values, 'x', objects.bytes * objects.count);
	while ((peer = accept(fd, NULL, NULL)) >= 0)
		serve(&objects, peer);
	return 1;
}
