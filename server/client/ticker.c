/* SPDX-License-Identifier: BSD-3-Clause */
#include "ticker.h"

#include "../../launcher/lib/affinity.h"
#include "../../probe/base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#define SECOND_NS UINT64_C(1000000000)

struct nl_ticker {
	const struct nl_counter *counter;
	uint64_t total;
	FILE *out;
	struct np_bitmap cpus;
	uint64_t began_ns;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool is_over; /* under the lock */
};

const char *nl_clock_text(uint64_t seconds, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
	         seconds / 60 % 60, seconds % 60);
	return buf;
}

static void show(const struct nl_ticker *ticker)
{
	uint64_t done = atomic_load_explicit(&ticker->counter->done, memory_order_relaxed);
	double seconds = (double)(np_now_ns() - ticker->began_ns) / 1e9;
	double rate = (double)done / seconds;
	char left[32] = "-";

	if (done > 0)
		nl_clock_text((uint64_t)((double)(ticker->total - done) / rate), left,
		              sizeof(left));
	fprintf(ticker->out, "\r%5.1f %% of %" PRIu64 " requests, %.0f requests/s, %s left\033[K",
	        100 * (double)done / (double)ticker->total, ticker->total, rate, left);
	fflush(ticker->out);
}

/* Waits for a second, or for the end, which it answers. */
static bool wait_for_end(struct nl_ticker *ticker)
{
	struct timespec until;
	bool is_over;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_mutex_lock(&ticker->lock);
	while (!ticker->is_over &&
	       pthread_cond_timedwait(&ticker->wake, &ticker->lock, &until) != ETIMEDOUT)
		;
	is_over = ticker->is_over;
	pthread_mutex_unlock(&ticker->lock);
	return is_over;
}

static void *tick(void *data)
{
	struct nl_ticker *ticker = data;

	nr_affinity_write(0, &ticker->cpus);
	while (!wait_for_end(ticker))
		show(ticker);
	return NULL;
}

static void free_ticker(struct nl_ticker *ticker)
{
	pthread_mutex_destroy(&ticker->lock);
	pthread_cond_destroy(&ticker->wake);
	np_bitmap_release(&ticker->cpus);
	free(ticker);
}

static int start_thread(struct nl_ticker *ticker)
{
	sigset_t all;
	sigset_t before;
	int code;

	/* Signals are the measured thread's, whose waiting they shall end. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&ticker->thread, NULL, tick, ticker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

int nl_ticker_start(const struct nl_counter *counter, uint64_t total, const struct np_bitmap *cpus,
                    FILE *out, struct nl_ticker **ret, struct np_error *err)
{
	struct nl_ticker *ticker = calloc(1, sizeof(*ticker));
	pthread_condattr_t monotonic;
	int code;

	if (!ticker)
		return np_error_sys(err, ENOMEM, "progress");
	ticker->counter = counter;
	ticker->total = total;
	ticker->out = out;
	ticker->began_ns = np_now_ns();
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&ticker->lock, NULL);
	pthread_cond_init(&ticker->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	code = np_bitmap_copy(&ticker->cpus, cpus) < 0 ? ENOMEM : start_thread(ticker);
	if (code) {
		free_ticker(ticker);
		return np_error_sys(err, code, "progress");
	}
	*ret = ticker;
	return 0;
}

void nl_ticker_stop(struct nl_ticker *ticker)
{
	if (!ticker)
		return;
	pthread_mutex_lock(&ticker->lock);
	ticker->is_over = true;
	pthread_cond_signal(&ticker->wake);
	pthread_mutex_unlock(&ticker->lock);
	pthread_join(ticker->thread, NULL);
	fputs("\r\033[K", ticker->out);
	fflush(ticker->out);
	free_ticker(ticker);
}
