/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_ready.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MS_NS = 1000000 };

int nr_probe_prepare(const struct nr_ready *ready, struct nr_probe *ret, struct np_error *err)
{
	int rc;

	if (ready->kind != NR_READY_TCP)
		return 0;
	rc = nr_look_up(ready->host, ready->port, &ret->addresses, err);
	return rc < 0 ? np_error_wrap(err, rc, "ready") : 0;
}

void nr_probe_begin(const struct nr_ready *ready, uint64_t now_ns, struct nr_probe *probe)
{
	probe->ready = ready;
	probe->begin_ns = now_ns;
	probe->fd = -1;
	probe->was_there = ready->kind == NR_READY_FILE && stat(ready->path, &probe->before) == 0;
}

void nr_probe_end(struct nr_probe *probe)
{
	if (probe->ready && probe->fd >= 0)
		close(probe->fd);
	probe->ready = NULL;
}

/* The outcome of a connection being made: 1 made, 0 not yet, -1 refused. */
static int connection_state(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
	int code = 0;
	socklen_t len = sizeof(code);

	if (poll(&poll_fd, 1, 0) < 1)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code != 0)
		return -1;
	return 1;
}

static bool try_address(struct nr_probe *probe)
{
	size_t i = probe->next;
	const struct sockaddr *address = (const struct sockaddr *)&probe->addresses.list[i].address;

	probe->next = (i + 1) % probe->addresses.count;
	probe->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	return probe->fd >= 0 && connect(probe->fd, address, probe->addresses.list[i].len) == 0;
}

static bool is_connectable(struct nr_probe *probe)
{
	int state = 0;

	if (probe->fd < 0 && try_address(probe))
		return true;
	if (probe->fd >= 0)
		state = connection_state(probe->fd);
	if (state < 0) {
		close(probe->fd);
		probe->fd = -1;
	}
	return state > 0;
}

static bool takes_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	bool connected;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	/* EAGAIN: it listens and is busy. EPROTOTYPE: it is of datagrams, which listen at once. */
	connected = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
	            errno == EAGAIN || errno == EPROTOTYPE;
	close(fd);
	return connected;
}

/* By what changes when a file is made or written, even to the same size. */
static bool is_made(const struct nr_probe *probe)
{
	const struct stat *before = &probe->before;
	struct stat now;

	if (stat(probe->ready->path, &now) < 0)
		return false;
	return !probe->was_there || now.st_ino != before->st_ino || now.st_dev != before->st_dev ||
	       now.st_ctim.tv_sec != before->st_ctim.tv_sec ||
	       now.st_ctim.tv_nsec != before->st_ctim.tv_nsec;
}

bool nr_probe_is_ready(struct nr_probe *probe, uint64_t now_ns)
{
	const struct nr_ready *ready = probe->ready;

	switch (ready->kind) {
	case NR_READY_TCP:
		return is_connectable(probe);
	case NR_READY_UNIX:
		return takes_unix(ready->path);
	case NR_READY_FILE:
		return is_made(probe);
	case NR_READY_DELAY:
		return now_ns - probe->begin_ns >= (uint64_t)ready->delay_ms * MS_NS;
	case NR_READY_AT_ONCE:
		break;
	}
	return true;
}

uint64_t nr_probe_deadline(const struct nr_probe *probe)
{
	unsigned timeout_ms = probe->ready->timeout_ms;

	return timeout_ms ? probe->begin_ns + (uint64_t)timeout_ms * MS_NS : UINT64_MAX;
}

const char *nr_probe_name(const struct nr_probe *probe, char *buf, size_t size)
{
	const struct nr_ready *ready = probe->ready;

	if (ready->kind == NR_READY_TCP)
		snprintf(buf, size, "tcp:%s:%s", ready->host, ready->port);
	else
		snprintf(buf, size, "%s:%s", ready->kind == NR_READY_UNIX ? "unix" : "file",
		         ready->path ? ready->path : "");
	return buf;
}
