/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * perf_read PMU CPU CONFIG[,CONFIG...] [MS [SAMPLES]]
 *
 * Counts one group of events by perf_event_open(2) and nothing else: what the guests' checks compare
 * numacount with, and what takes counters away from it. Prints a line for the start and one for each
 * sample, MS milliseconds apart (1000), SAMPLES of them (1; 0 = without end):
 *
 *   MONOTONIC_NS ENABLED_NS RUNNING_NS COUNT...
 *
 * or "end" when a read gives nothing, as of events in the error state. Status 1 with the error's name
 * when an event cannot be opened.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_MAX 16
#define NS_PER_MS 1000000ULL

/* What read(2) gives of a group. */
struct group_reading {
	uint64_t count, enabled_ns, running_ns;
	uint64_t values[EVENTS_MAX];
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 * NS_PER_MS + (uint64_t)now.tv_nsec;
}

static bool pmu_type(const char *pmu, unsigned *ret)
{
	char path[256];
	FILE *file;
	bool ok;

	(void)snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	file = fopen(path, "r");
	if (!file)
		return false;
	ok = fscanf(file, "%u", ret) == 1;
	(void)fclose(file);
	return ok;
}

static int open_event(unsigned type, uint64_t config, int cpu, int leader)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.disabled = leader < 0,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
		               PERF_FORMAT_TOTAL_TIME_RUNNING,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

/* Opens all events of the list @configs; the leader, or -1. */
static int open_group(unsigned type, int cpu, const char *configs)
{
	int leader = -1, fd;
	char *end;

	do {
		fd = open_event(type, strtoull(configs, &end, 0), cpu, leader);
		if (fd < 0) {
			(void)fprintf(stderr, "perf_read: %s: %s\n", configs,
			              strerrorname_np(errno));
			return -1;
		}
		if (leader < 0)
			leader = fd;
		configs = end + 1;
	} while (*end == ',');
	return leader;
}

/* False at the end of what can be read. */
static bool print_sample(int leader)
{
	struct group_reading reading = { 0 };
	uint64_t before_ns = now_ns(), time_ns;

	if (read(leader, &reading, sizeof(reading)) <= 0) {
		puts("end");
		return false;
	}
	time_ns = before_ns + (now_ns() - before_ns) / 2;
	printf("%llu %llu %llu", (unsigned long long)time_ns,
	       (unsigned long long)reading.enabled_ns, (unsigned long long)reading.running_ns);
	for (uint64_t i = 0; i < reading.count; i++)
		printf(" %llu", (unsigned long long)reading.values[i]);
	putchar('\n');
	(void)fflush(stdout);
	return true;
}

int main(int argc, char **argv)
{
	uint64_t interval_ns = (argc > 4 ? strtoull(argv[4], NULL, 0) : 1000) * NS_PER_MS;
	unsigned long samples = argc > 5 ? strtoul(argv[5], NULL, 0) : 1;
	struct timespec pause = { .tv_sec = (time_t)(interval_ns / (1000 * NS_PER_MS)),
		                  .tv_nsec = (long)(interval_ns % (1000 * NS_PER_MS)) };
	unsigned type;
	int leader;

	if (argc < 4 || argc > 6) {
		(void)fprintf(stderr,
		              "usage: perf_read PMU CPU CONFIG[,CONFIG...] [MS [SAMPLES]]\n");
		return 2;
	}
	if (!pmu_type(argv[1], &type)) {
		(void)fprintf(stderr, "perf_read: %s: no such PMU\n", argv[1]);
		return 1;
	}
	leader = open_group(type, atoi(argv[2]), argv[3]);
	if (leader < 0)
		return 1;

	(void)ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	for (unsigned long i = 0; print_sample(leader) && (samples == 0 || i < samples); i++)
		(void)nanosleep(&pause, NULL);
	return 0;
}
