/* SPDX-License-Identifier: BSD-3-Clause */
#include "samples.h"

#include <numarun/policy.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pages whose node is asked for: enough to see a part of a percent that is elsewhere. */
enum { LOOKED_MAX = 4096 };

#define MB 1000000u

/* What the kernel can give without swapping; false where it does not tell. */
static bool read_available(const struct np_sysroot *root, uint64_t *ret_bytes)
{
	static const char label[] = "MemAvailable:";
	char *text = NULL;
	const char *line;
	bool found;

	if (np_sysroot_read_optional(root, "proc/meminfo", &text, NULL) < 0 || !text)
		return false;
	line = strstr(text, label);
	found = line != NULL;
	if (found)
		*ret_bytes = strtoull(line + strlen(label), NULL, 10) * 1024;
	free(text);
	return found;
}

static int refuse(uint64_t requests, uint64_t bytes, const char *why, struct np_error *err)
{
	return np_error_set(err, ENOMEM,
	                    "%" PRIu64 " requests need %" PRIu64
	                    " MB of memory for their rows: %s; fewer requests, or a larger machine",
	                    requests, (bytes + MB - 1) / MB, why);
}

/* Touching more than there is would end the program, or another one. */
static int check_available(const struct np_sysroot *root, uint64_t requests, uint64_t bytes,
                           struct np_error *err)
{
	uint64_t available = 0;
	char why[64];

	if (!read_available(root, &available) || bytes <= available)
		return 0;
	snprintf(why, sizeof(why), "%" PRIu64 " MB are available", available / MB);
	return refuse(requests, bytes, why, err);
}

static int map(uint64_t requests, size_t bytes, void **ret, struct np_error *err)
{
	void *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	char why[96];

	if (memory != MAP_FAILED) {
		*ret = memory;
		return 0;
	}
	getrlimit(RLIMIT_AS, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return refuse(requests, bytes, "the kernel does not give as much", err);
	snprintf(why, sizeof(why), "ulimit -v is %" PRIu64 " MB", (uint64_t)limit.rlim_cur / MB);
	return refuse(requests, bytes, why, err);
}

/*
 * Prefers the node for the pages to come. Refused (a container's filter) or failed, they lie where
 * the touching thread is, which is the same node as a rule; where they are is looked at afterwards.
 */
static void prefer_node(const struct nl_samples *samples, int node)
{
	struct nr_policy policy = { .mode = NR_POLICY_PREFERRED };

	if (node >= 0 && np_bitmap_add(&policy.nodes, (unsigned)node) == 0)
		nr_policy_set_at(samples->rows, samples->bytes, &policy, false, NULL);
	nr_policy_release(&policy);
}

static void touch(const struct nl_samples *samples, size_t page_bytes)
{
	volatile char *bytes = (volatile char *)samples->rows;

	for (size_t at = 0; at < samples->bytes; at += page_bytes)
		bytes[at] = 0;
}

static void lock(struct nl_samples *samples)
{
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	int code;

	samples->is_locked = mlock(samples->rows, samples->bytes) == 0;
	if (samples->is_locked)
		return;
	code = errno;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (limit.rlim_cur < samples->bytes)
		np_error_set(&samples->unlocked, code,
		             "the rows' %" PRIu64
		             " MB of memory are not locked and could be swapped out: ulimit -l is "
		             "%" PRIu64 " KiB; raise it, or give CAP_IPC_LOCK",
		             ((uint64_t)samples->bytes + MB - 1) / MB,
		             (uint64_t)limit.rlim_cur / 1024);
	else
		np_error_sys(&samples->unlocked, code,
		             "the rows' memory is not locked and could be swapped out");
}

/* Asks the kernel where some of the pages are, evenly over all (move_pages(2) without nodes). */
static void look(struct nl_samples *samples, size_t page_bytes, int node)
{
	size_t pages = samples->bytes / page_bytes;
	size_t count = pages < LOOKED_MAX ? pages : LOOKED_MAX;
	void **addresses = count > 0 ? calloc(count, sizeof(*addresses)) : NULL;
	int *found = count > 0 ? calloc(count, sizeof(*found)) : NULL;

	for (size_t i = 0; addresses && found && i < count; i++)
		addresses[i] = (char *)samples->rows + i * pages / count * page_bytes;
	if (addresses && found &&
	    syscall(SYS_move_pages, 0, count, addresses, NULL, found, 0) == 0) {
		for (size_t i = 0; i < count; i++) {
			if (found[i] < 0 || np_bitmap_add(&samples->nodes, (unsigned)found[i]) < 0)
				continue;
			samples->looked++;
			samples->elsewhere += node >= 0 && found[i] != node;
		}
	}
	free(addresses);
	free(found);
}

int nl_samples_create(const struct np_sysroot *root, uint64_t capacity, int node,
                      struct nl_samples *ret, struct np_error *err)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct nl_samples samples = { .capacity = capacity };
	uint64_t bytes = capacity * sizeof(*samples.rows);
	void *memory = NULL;
	int rc;

	samples.bytes = (bytes + page_bytes - 1) / page_bytes * page_bytes;
	rc = check_available(root, capacity, samples.bytes, err);
	if (rc == 0)
		rc = map(capacity, samples.bytes, &memory, err);
	if (rc < 0)
		return rc;
	samples.rows = memory;
	prefer_node(&samples, node);
	touch(&samples, page_bytes);
	lock(&samples);
	look(&samples, page_bytes, node);
	*ret = samples;
	return 0;
}

void nl_samples_release(struct nl_samples *samples)
{
	if (samples->rows)
		munmap(samples->rows, samples->bytes);
	np_bitmap_release(&samples->nodes);
	*samples = (struct nl_samples){ 0 };
}

struct nl_row nl_samples_get(const struct nl_samples *samples, uint64_t i)
{
	const struct nl_sample *sample = &samples->rows[i];

	return (struct nl_row){
		.start_ns = sample->start_ns,
		.response_ns = sample->response_arm & NL_SAMPLE_TIME_MAX,
		.payload_ns = sample->payload_key_low & NL_SAMPLE_TIME_MAX,
		.total_ns = sample->total_key_high & NL_SAMPLE_TIME_MAX,
		.key = (uint32_t)(sample->total_key_high >> NL_SAMPLE_TIME_BITS << 16 |
		                  sample->payload_key_low >> NL_SAMPLE_TIME_BITS),
		.arm = (uint8_t)(sample->response_arm >> NL_SAMPLE_TIME_BITS),
	};
}
