/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process to be moved: threads that tick, memory that they touch, and a record of how long each
 * was kept from it. Like examples/where.c it uses plain system calls and no library of ours.
 *
 * Each thread sleeps until its next tick is due, then touches some pages of the region. Two things
 * are told, in milliseconds, both the worst since the start or the last report:
 *
 *   gap_max_ms   between the ends of two ticks, less the sleep that was asked for. All that can
 *                delay a thread is in it: the queue for a CPU, interrupts and, in an emulated
 *                machine, the turns of its other CPUs, so it is to be compared with a report from
 *                before.
 *   held_max_ms  of the touching, the time in which the thread neither ran nor waited for a CPU
 *                (wall clock, less its CPU time, less run_delay of schedstat). The kernel lets a
 *                thread that touches a page under migration sleep, so this is what a move costs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	COUNT_MAX = 1024,
	TICK_NS = 5000000,       /* with --gap */
	SLOW_TICK_NS = 50000000, /* without: alive, but no load */
	PAGES_A_TICK = 32,
	CPUS_MAX = 8192,
};

struct args {
	unsigned count;
	size_t touch_bytes;
	bool hold;
	bool gap;
	bool hugetlb;
	bool noreserve;
	uint64_t reset_after_ns; /* 0: never */
};

struct worker {
	pthread_t thread;
	const struct args *args;
	volatile char *region;
	bool resets;
	int schedstat;
	atomic_int tid;
	/* The worker writes; the reporter takes with an exchange. */
	atomic_uint_fast64_t ticks;
	atomic_uint_fast64_t gap_ns;
	atomic_uint_fast64_t held_ns;
	atomic_bool was_reset;
};

static atomic_bool stop;

static void fail(const char *what)
{
	fprintf(stderr, "threads: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec time;

	if (clock_gettime(id, &time) < 0)
		fail("clock_gettime");
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* How long this thread has waited for a CPU so far: the second number of its schedstat. */
static uint64_t run_delay_ns(const struct worker *worker)
{
	char text[96];
	unsigned long long ran = 0;
	unsigned long long waited = 0;
	ssize_t len = pread(worker->schedstat, text, sizeof(text) - 1, 0);

	if (len <= 0)
		return 0;
	text[len] = '\0';
	return sscanf(text, "%llu %llu", &ran, &waited) == 2 ? waited : 0;
}

static void raise_to(atomic_uint_fast64_t *most, uint64_t value)
{
	uint64_t old = atomic_load(most);

	while (value > old && !atomic_compare_exchange_weak(most, &old, value))
		;
}

/* Pages here and there, so that some are always in whatever part is being moved. */
static void touch_some(struct worker *worker, uint64_t *seed)
{
	size_t pages = worker->args->touch_bytes / 4096;

	for (int i = 0; pages > 0 && i < PAGES_A_TICK; i++) {
		*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		worker->region[(*seed >> 33) % pages * 4096] += 1;
	}
}

/* Touches, and returns how long the kernel made it sleep over that. */
static uint64_t touch_timed(struct worker *worker, uint64_t *seed)
{
	uint64_t delay = run_delay_ns(worker);
	uint64_t wall = clock_ns(CLOCK_MONOTONIC);
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t used;

	touch_some(worker, seed);
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	wall = clock_ns(CLOCK_MONOTONIC) - wall;
	used += run_delay_ns(worker) - delay;
	return wall > used ? wall - used : 0;
}

static void reset_affinity(struct worker *worker)
{
	cpu_set_t *all = CPU_ALLOC(CPUS_MAX);

	if (!all)
		fail("CPU_ALLOC");
	memset(all, 0xff, CPU_ALLOC_SIZE(CPUS_MAX));
	if (sched_setaffinity(0, CPU_ALLOC_SIZE(CPUS_MAX), all) < 0)
		fail("sched_setaffinity");
	CPU_FREE(all);
	atomic_store(&worker->was_reset, true);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	uint64_t tick_ns = worker->args->gap ? TICK_NS : SLOW_TICK_NS;
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	uint64_t seed = start + (uintptr_t)worker;
	uint64_t end = start;

	worker->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	atomic_store(&worker->tid, (int)syscall(SYS_gettid));
	while (!atomic_load(&stop)) {
		const struct timespec pause = { .tv_nsec = (long)tick_ns };
		uint64_t last = end;

		nanosleep(&pause, NULL);
		raise_to(&worker->held_ns, touch_timed(worker, &seed));
		end = clock_ns(CLOCK_MONOTONIC);
		raise_to(&worker->gap_ns, end - last > tick_ns ? end - last - tick_ns : 0);
		atomic_fetch_add(&worker->ticks, 1);
		if (worker->resets && !atomic_load(&worker->was_reset) &&
		    end - start >= worker->args->reset_after_ns)
			reset_affinity(worker);
	}
	return NULL;
}

static volatile char *touch(const struct args *args)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (args->hugetlb ? MAP_HUGETLB : 0) |
	            (args->noreserve ? MAP_NORESERVE : 0);
	char *region;

	if (args->touch_bytes == 0)
		return NULL;
	region = mmap(NULL, args->touch_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (region == MAP_FAILED)
		fail("mmap");
	if (!args->hugetlb && madvise(region, args->touch_bytes, MADV_NOHUGEPAGE) < 0 &&
	    errno != EINVAL)
		fail("madvise");
	for (size_t at = 0; at < args->touch_bytes; at += 4096)
		region[at] = 1;
	return region;
}

static double to_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

/* Prints the worst since the last report, and starts anew. */
static void report(struct worker *workers, const struct args *args)
{
	uint64_t gap_max = 0;
	uint64_t held_max = 0;

	for (unsigned i = 0; i < args->count; i++) {
		struct worker *worker = &workers[i];
		uint64_t gap = atomic_exchange(&worker->gap_ns, 0);
		uint64_t held = atomic_exchange(&worker->held_ns, 0);

		printf("thread %u: tid %d ticks %ju gap_max_ms %.1f held_max_ms %.1f%s\n", i,
		       atomic_load(&worker->tid), (uintmax_t)atomic_exchange(&worker->ticks, 0),
		       to_ms(gap), to_ms(held), atomic_load(&worker->was_reset) ? " reset" : "");
		gap_max = gap > gap_max ? gap : gap_max;
		held_max = held > held_max ? held : held_max;
	}
	printf("gap_max_ms: %.1f\n", to_ms(gap_max));
	printf("held_max_ms: %.1f\n", to_ms(held_max));
	fflush(stdout);
}

static void start_workers(struct worker *workers, const struct args *args, volatile char *region)
{
	for (unsigned i = 0; i < args->count; i++) {
		struct worker *worker = &workers[i];

		worker->args = args;
		worker->region = region;
		worker->resets = args->reset_after_ns > 0 && i + 1 == args->count;
		errno = pthread_create(&worker->thread, NULL, work, worker);
		if (errno)
			fail("pthread_create");
	}
	for (unsigned i = 0; i < args->count; i++)
		while (atomic_load(&workers[i].tid) == 0)
			sched_yield();
}

static void hold(struct worker *workers, const struct args *args, const sigset_t *signals)
{
	int signal;

	puts("holding");
	fflush(stdout);
	do {
		errno = sigwait(signals, &signal);
		if (errno)
			fail("sigwait");
		report(workers, args);
	} while (signal == SIGUSR1);
}

static void usage(FILE *stream)
{
	fputs("Usage: threads [--count N] [--touch MIB [--hugetlb [--noreserve]]] [--gap]\n"
	      "               [--reset-after MS] [--hold]\n"
	      "Run threads that tick and touch memory, and tell how long each was kept from it.\n"
	      "\n"
	      "  --count N         so many threads beside the first one (8)\n"
	      "  --touch MIB       write MIB mebibytes of new memory, which all of them touch\n"
	      "  --hugetlb         from the pool of huge pages, of the default size\n"
	      "  --noreserve       and find out only when touching that there are too few\n"
	      "  --gap             tick every 5 ms, to measure; else every 50 ms\n"
	      "  --reset-after MS  the last thread then allows itself all CPUs\n"
	      "  --hold            go on until a signal: SIGUSR1 reports, SIGTERM and SIGINT report\n"
	      "                    and end it; without --hold it reports at once and ends\n"
	      "  --help            print this text\n",
	      stream);
}

static unsigned long parse_number(const char *option, const char *text, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end != '\0' || value == 0 || value > max) {
		fprintf(stderr, "threads: %s: '%s' is not a number in 1..%lu\n", option, text, max);
		exit(2);
	}
	return value;
}

static struct args parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "touch", required_argument, NULL, 't' },
		{ "hugetlb", no_argument, NULL, 'u' },
		{ "noreserve", no_argument, NULL, 'n' },
		{ "gap", no_argument, NULL, 'g' },
		{ "reset-after", required_argument, NULL, 'r' },
		{ "hold", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct args args = { .count = 8 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			args.count = (unsigned)parse_number("--count", optarg, COUNT_MAX);
			break;
		case 't':
			args.touch_bytes = parse_number("--touch", optarg, SIZE_MAX >> 21) << 20;
			break;
		case 'u':
			args.hugetlb = true;
			break;
		case 'n':
			args.noreserve = true;
			break;
		case 'g':
			args.gap = true;
			break;
		case 'r':
			args.reset_after_ns =
				parse_number("--reset-after", optarg, 86400000) * 1000000;
			break;
		case 'o':
			args.hold = true;
			break;
		case 'h':
			usage(stdout);
			exit(EXIT_SUCCESS);
		default: /* getopt_long has said what is wrong */
			exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "threads: unexpected argument '%s'\n", argv[optind]);
		exit(2);
	}
	return args;
}

int main(int argc, char **argv)
{
	struct args args = parse_args(argc, argv);
	struct worker *workers = calloc(args.count, sizeof(*workers));
	volatile char *region = touch(&args);
	sigset_t signals;

	if (!workers)
		fail("calloc");
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	errno = pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (errno)
		fail("pthread_sigmask");
	start_workers(workers, &args, region);
	if (args.hold)
		hold(workers, &args, &signals);
	else
		report(workers, &args);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < args.count; i++)
		pthread_join(workers[i].thread, NULL);
	free(workers);
	return EXIT_SUCCESS;
}
