/* SPDX-License-Identifier: BSD-3-Clause */
#include "notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int nc_notify_ready(struct np_error *err)
{
	return nc_notify("READY=1", err);
}

int nc_notify(const char *message, struct np_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t len = path ? strlen(path) : 0;
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	int fd;
	int rc = 0;

	if (len == 0)
		return 0;
	if (len >= sizeof(address.sun_path))
		return np_error_set(err, EINVAL, "NOTIFY_SOCKET: longer than a socket's name");
	memcpy(address.sun_path, path, len);
	if (address.sun_path[0] == '@')
		address.sun_path[0] = '\0'; /* the abstract name space */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return np_error_sys(err, errno, "NOTIFY_SOCKET");
	if (sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&address, size) <
	    0)
		rc = np_error_sys(err, errno, "NOTIFY_SOCKET %s", path);
	close(fd);
	return rc;
}
