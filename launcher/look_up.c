/* SPDX-License-Identifier: BSD-3-Clause */
#include "look_up.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child answers. */
struct answer {
	char problem[128]; /* "" = none */
	struct nr_addresses addresses;
};

static void ask(const char *host, const char *port, struct answer *ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int rc = getaddrinfo(host, port, &hints, &found);

	if (rc != 0) {
		snprintf(ret->problem, sizeof(ret->problem), "%s", gai_strerror(rc));
		return;
	}
	for (const struct addrinfo *a = found; a; a = a->ai_next) {
		struct nr_addresses *list = &ret->addresses;

		if (list->count == NR_ADDRESSES_MAX)
			break;
		list->list[list->count].len = a->ai_addrlen;
		memcpy(&list->list[list->count++].address, a->ai_addr, a->ai_addrlen);
	}
	freeaddrinfo(found);
}

/* All of it, or false. */
static bool read_answer(int fd, struct answer *ret)
{
	size_t len = 0;
	ssize_t n;

	while (len < sizeof(*ret)) {
		n = read(fd, (char *)ret + len, sizeof(*ret) - len);
		if (n == 0 || (n < 0 && errno != EINTR))
			return false;
		len += n > 0 ? (size_t)n : 0;
	}
	return true;
}

int nr_look_up(const char *host, const char *port, struct nr_addresses *ret, struct np_error *err)
{
	struct answer answer = { 0 };
	bool is_answered;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return np_error_sys(err, errno, "%s: pipe", host);
	pid = fork();
	if (pid == 0) {
		ask(host, port, &answer);
		_exit(write(ends[1], &answer, sizeof(answer)) == sizeof(answer) ? 0 : 1);
	}
	if (pid < 0)
		np_error_sys(err, errno, "%s: fork", host);
	close(ends[1]);
	is_answered = pid > 0 && read_answer(ends[0], &answer);
	close(ends[0]);
	if (pid < 0)
		return -EAGAIN;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (!is_answered || *answer.problem || answer.addresses.count == 0)
		return np_error_set(err, EINVAL, "%s: no address: %s", host,
		                    *answer.problem ? answer.problem : "no answer");
	*ret = answer.addresses;
	return 0;
}
