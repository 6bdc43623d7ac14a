/* SPDX-License-Identifier: BSD-3-Clause */
#include "noise.h"

#include "../../probe/base/clock.h"
#include "../../probe/base/json.h"
#include "histogram.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CALIBRATION_READS = 16384, THRESHOLD_READS = 10 };

#define SECOND_NS UINT64_C(1000000000)
#define STEP_NS UINT64_C(1000000)
#define THRESHOLD_LEAST_NS UINT64_C(1000)

/* The column of proc/stat's cpu lines that is steal, after the name (Documentation/filesystems/proc.rst). */
enum { STEAL_COLUMN = 8 };

static const struct np_share p50 = { 1, 2 };
static const struct np_share p99 = { 99, 100 };

struct measuring {
	const volatile sig_atomic_t *stop; /* may be NULL */
	struct nl_histogram *gaps;
	struct nl_histogram *late;
	uint32_t *reads; /* CALIBRATION_READS */
	struct nl_noise noise;
};

static bool is_stopped(const struct measuring *m)
{
	return m->stop && *m->stop;
}

/* A thread that was moved has no CPU of its own to tell of. */
static void watch_cpu(struct measuring *m)
{
	if (m->noise.cpu >= 0 && sched_getcpu() != m->noise.cpu)
		m->noise.cpu = -1;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* What reading the clock takes by itself. */
static void calibrate(struct measuring *m)
{
	uint64_t last = np_raw_ns();
	uint64_t threshold;

	for (unsigned i = 0; i < CALIBRATION_READS; i++) {
		uint64_t now = np_raw_ns();

		m->reads[i] = now - last > UINT32_MAX ? UINT32_MAX : (uint32_t)(now - last);
		last = now;
	}
	qsort(m->reads, CALIBRATION_READS, sizeof(*m->reads), compare);
	m->noise.read_ns = m->reads[CALIBRATION_READS / 2];
	threshold = THRESHOLD_READS * m->noise.read_ns;
	m->noise.threshold_ns = threshold > THRESHOLD_LEAST_NS ? threshold : THRESHOLD_LEAST_NS;
}

static void spin(struct measuring *m, uint64_t duration_ns)
{
	uint64_t last = np_raw_ns();
	uint64_t end = last + duration_ns;

	while (last < end && !is_stopped(m)) {
		uint64_t now = np_raw_ns();

		m->noise.reads++;
		if (now - last > m->noise.threshold_ns) {
			nl_histogram_add(m->gaps, now - last);
			m->noise.gap_ns += now - last;
			/* What we do about a gap is none. */
			now = np_raw_ns();
		}
		last = now;
	}
	watch_cpu(m);
}

static void doze(struct measuring *m, uint64_t duration_ns)
{
	uint64_t wake_ns = np_now_ns();
	uint64_t end_ns = wake_ns + duration_ns;

	for (wake_ns += STEP_NS; wake_ns <= end_ns && !is_stopped(m); wake_ns += STEP_NS) {
		struct timespec wake = { .tv_sec = (time_t)(wake_ns / SECOND_NS),
			                 .tv_nsec = (long)(wake_ns % SECOND_NS) };
		uint64_t now;

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL) != 0)
			continue;
		now = np_now_ns();
		nl_histogram_add(m->late, now - wake_ns);
		watch_cpu(m);
		/* Steps that were slept through are not late ones of their own. */
		while (wake_ns + STEP_NS <= now)
			wake_ns += STEP_NS;
	}
}

/* The time that a hypervisor took from that CPU up to now. */
static bool read_steal(const struct np_sysroot *root, int cpu, uint64_t *ret_ns)
{
	long ticks_per_s = sysconf(_SC_CLK_TCK);
	char *text = NULL;
	char name[24];
	char *at;

	if (cpu < 0 || ticks_per_s <= 0 ||
	    np_sysroot_read_optional(root, "proc/stat", &text, NULL) < 0 || !text)
		return false;
	/* The line of all CPUs together comes first. */
	snprintf(name, sizeof(name), "\ncpu%d ", cpu);
	at = strstr(text, name);
	if (at)
		at += strlen(name);
	for (unsigned i = 1; at && i < STEAL_COLUMN; i++) {
		at += strspn(at, " ");
		at += strspn(at, "0123456789");
		at = *at == ' ' ? at : NULL;
	}
	if (at)
		*ret_ns = strtoull(at, NULL, 10) * (SECOND_NS / (uint64_t)ticks_per_s);
	free(text);
	return at != NULL;
}

static uint64_t forced_switches(void)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return (uint64_t)usage.ru_nivcsw;
}

static void summarize(struct measuring *m)
{
	struct nl_noise *noise = &m->noise;

	noise->gaps = nl_histogram_count(m->gaps);
	noise->gap_p50_ns = nl_histogram_at(m->gaps, p50);
	noise->gap_p99_ns = nl_histogram_at(m->gaps, p99);
	noise->gap_max_ns = nl_histogram_max(m->gaps);
	noise->wakeups = nl_histogram_count(m->late);
	noise->late_p50_ns = nl_histogram_at(m->late, p50);
	noise->late_p99_ns = nl_histogram_at(m->late, p99);
	noise->late_max_ns = nl_histogram_max(m->late);
}

static void measure(struct measuring *m, const struct np_sysroot *root, uint64_t duration_ns)
{
	int slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
	struct nl_noise *noise = &m->noise;
	uint64_t began_ns = np_raw_ns();
	uint64_t switches = forced_switches();
	uint64_t steal_before = 0;
	uint64_t steal_after = 0;
	int cpu = sched_getcpu();

	noise->cpu = cpu;
	noise->knows_steal = read_steal(root, cpu, &steal_before);
	calibrate(m);
	spin(m, duration_ns / 3 * 2);
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	doze(m, duration_ns / 3);
	if (slack_ns > 0)
		prctl(PR_SET_TIMERSLACK, (unsigned long)slack_ns, 0, 0, 0);
	noise->duration_ns = np_raw_ns() - began_ns;
	noise->switches = forced_switches() - switches;
	noise->knows_steal = noise->knows_steal && noise->cpu >= 0 &&
	                     read_steal(root, cpu, &steal_after) && steal_after >= steal_before;
	noise->steal_ns = noise->knows_steal ? steal_after - steal_before : 0;
	summarize(m);
}

int nl_noise_measure(const struct np_sysroot *root, uint64_t duration_ns,
                     const volatile sig_atomic_t *stop, struct nl_noise *ret, struct np_error *err)
{
	struct measuring m = { .stop = stop,
		               .gaps = nl_histogram_create(),
		               .late = nl_histogram_create(),
		               .reads = calloc(CALIBRATION_READS, sizeof(*m.reads)) };
	int rc = 0;

	if (!m.gaps || !m.late || !m.reads)
		rc = np_error_sys(err, ENOMEM, "noise");
	else
		measure(&m, root, duration_ns);
	if (rc == 0 && m.noise.reads == 0)
		rc = np_error_set(err, EINTR, "noise: stopped before anything was measured");
	if (rc == 0)
		*ret = m.noise;
	nl_histogram_free(m.gaps);
	nl_histogram_free(m.late);
	free(m.reads);
	return rc;
}

json_t *nl_noise_json(const struct nl_noise *noise)
{
	bool has_gaps = noise->gaps > 0;
	bool woke = noise->wakeups > 0;
	json_t *object = json_object();

	np_json_set_member(&object, "cpu", np_json_number(noise->cpu >= 0, (uint64_t)noise->cpu));
	np_json_set_member(&object, "duration_ns", np_json_number(true, noise->duration_ns));
	np_json_set_member(&object, "reads", np_json_number(true, noise->reads));
	np_json_set_member(&object, "read_ns", np_json_number(true, noise->read_ns));
	np_json_set_member(&object, "threshold_ns", np_json_number(true, noise->threshold_ns));
	np_json_set_member(&object, "gaps", np_json_number(true, noise->gaps));
	np_json_set_member(&object, "gap_ns", np_json_number(true, noise->gap_ns));
	np_json_set_member(&object, "gap_p50_ns", np_json_number(has_gaps, noise->gap_p50_ns));
	np_json_set_member(&object, "gap_p99_ns", np_json_number(has_gaps, noise->gap_p99_ns));
	np_json_set_member(&object, "gap_max_ns", np_json_number(has_gaps, noise->gap_max_ns));
	np_json_set_member(&object, "wakeups", np_json_number(true, noise->wakeups));
	np_json_set_member(&object, "late_p50_ns", np_json_number(woke, noise->late_p50_ns));
	np_json_set_member(&object, "late_p99_ns", np_json_number(woke, noise->late_p99_ns));
	np_json_set_member(&object, "late_max_ns", np_json_number(woke, noise->late_max_ns));
	np_json_set_member(&object, "switches", np_json_number(true, noise->switches));
	np_json_set_member(&object, "steal_ns",
	                   np_json_number(noise->knows_steal, noise->steal_ns));
	return object;
}
