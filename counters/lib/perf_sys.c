/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf_sys.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CONFIG3_WORD = 16, ATTR_SIZE_CONFIG3 = 136 };

void nc_perf_attr_fill(const struct nc_code *code, uint32_t type, bool leads,
                       union nc_perf_attr *ret)
{
	*ret = (union nc_perf_attr){ .words = { 0 } };
	ret->attr.type = type;
	/* A kernel without config3 takes the size it knows, and no other code needs more. */
	ret->attr.size = code->config[3] ? ATTR_SIZE_CONFIG3 : PERF_ATTR_SIZE_VER5;
	ret->attr.config = code->config[0];
	ret->attr.config1 = code->config[1];
	ret->attr.config2 = code->config[2];
	ret->words[CONFIG3_WORD] = code->config[3];
	ret->attr.disabled = leads;
	ret->attr.read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

int nc_perf_sys_open(union nc_perf_attr *attr, unsigned cpu, int leader)
{
	long fd = syscall(SYS_perf_event_open, &attr->attr, -1, (int)cpu, leader,
	                  PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : (int)fd;
}

int nc_perf_sys_enable(int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 ? -errno : 0;
}

ssize_t nc_perf_sys_read(int fd, uint64_t *buf, size_t size)
{
	ssize_t n = read(fd, buf, size);

	return n < 0 ? -errno : n;
}

ssize_t nc_perf_sys_look(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size, 0);

	return n < 0 ? -errno : n;
}
