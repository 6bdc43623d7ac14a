/* SPDX-License-Identifier: BSD-3-Clause */
#include "../probe/base/sysroot.h"
#include "numactl.h"
#include "request.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BRIEF_SIZE = 128 };

/* The size of the huge pages that --huge stands for, the kernel's default. */
static int default_huge_page_bytes(uint64_t *ret, struct np_error *err)
{
	static const char file[] = "proc/meminfo";
	struct np_sysroot root = { .fd = -1 };
	char *text = NULL;
	const char *line;
	uint64_t kilobytes = 0;
	int rc = np_sysroot_open(NULL, &root, err);

	if (rc == 0)
		rc = np_sysroot_read(&root, file, &text, err);
	np_sysroot_close(&root);
	if (rc < 0)
		return rc;
	line = text ? strstr(text, "\nHugepagesize:") : NULL;
	if (line)
		kilobytes = strtoull(line + strlen("\nHugepagesize:"), NULL, 10);
	free(text);
	if (kilobytes == 0 || (kilobytes & (kilobytes - 1)) || kilobytes > UINT32_MAX)
		return np_error_set(err, ENODATA, "--huge: this kernel has no huge pages");
	*ret = kilobytes * 1024;
	return 0;
}

/* ---- what is said and printed ---- */

static void say_made(const struct nr_shared *shared)
{
	const struct nr_shared_request *request = &shared->request;

	if (shared->made_key_file)
		fprintf(stderr, "numactl: made the key file %s, mode %04o\n", request->path,
		        request->mode);
	if (shared->made_memory && request->kind == NR_SHARED_SYSV)
		fprintf(stderr,
		        "numactl: made a segment of %" PRIu64 " bytes for %s, id %d, mode %04o\n",
		        shared->size_bytes, request->path, request->id, request->mode);
}

static void say_kept(const struct nr_policy *wanted, const struct nr_policy *kept)
{
	char planned[BRIEF_SIZE];
	char left[BRIEF_SIZE];

	if (!np_bitmap_equal(&wanted->nodes, &kept->nodes))
		fprintf(stderr,
		        "numactl: the kernel kept %s of %s for memory, the others are outside "
		        "Mems_allowed\n",
		        np_cpulist_named("node", &kept->nodes, left, sizeof(left)),
		        np_cpulist_brief(&wanted->nodes, planned, sizeof(planned)));
}

/* Offsets in hexadecimal as numactl prints them, for scripts that read them. */
static void print_range(const struct nr_shared *shared, uint64_t at_bytes, uint64_t end_bytes)
{
	printf("%016" PRIx64 "-%016" PRIx64 ": ", shared->request.offset_bytes + at_bytes,
	       shared->request.offset_bytes + end_bytes);
}

/* As in numactl, ranges without a policy of their own are left out. */
static int dump_policies(const struct nr_shared *shared, struct np_error *err)
{
	uint64_t end;

	for (uint64_t at = 0; at < shared->length_bytes; at = end) {
		struct nr_policy policy = { 0 };
		int rc = nr_shared_next_policy(shared, at, &end, &policy, err);

		if (rc < 0)
			return rc;
		if (policy.mode != NR_POLICY_DEFAULT) {
			print_range(shared, at, end);
			printf("%s : ", nr_policy_mode_name(policy.mode));
			np_bitmap_for_each (node, &policy.nodes)
				printf("%u ", node);
			putchar('\n');
		}
		nr_policy_release(&policy);
	}
	return 0;
}

static int dump_nodes(const struct nr_shared *shared, struct np_error *err)
{
	uint64_t end;
	unsigned node;

	for (uint64_t at = 0; at < shared->length_bytes; at = end) {
		int rc = nr_shared_next_node(shared, at, &end, &node, err);

		if (rc < 0)
			return rc;
		print_range(shared, at, end);
		printf("%u\n", node);
	}
	return 0;
}

/* ---- steps ---- */

static int verify_nodes(const struct nr_shared *shared, const struct nr_policy *policy,
                        struct np_error *err)
{
	char nodes[BRIEF_SIZE];
	uint64_t end;
	unsigned node;

	for (uint64_t at = 0; at < shared->length_bytes; at = end) {
		int rc = nr_shared_next_node(shared, at, &end, &node, err);

		if (rc < 0)
			return rc;
		if (!np_bitmap_has(&policy->nodes, node))
			return np_error_set(
				err, EXDEV,
				"%s: --verify: the pages from offset %" PRIu64 " to %" PRIu64
				" are on node %u, not on %s",
				shared->request.path, shared->request.offset_bytes + at,
				shared->request.offset_bytes + end, node,
				np_cpulist_named("node", &policy->nodes, nodes, sizeof(nodes)));
	}
	return 0;
}

static bool has_step(const struct nr_numactl_args *args, enum nr_numactl_step step)
{
	for (size_t i = 0; i < args->step_count; i++)
		if (args->steps[i] == step)
			return true;
	return false;
}

static int set_policy(const struct nr_numactl_args *args, const struct nr_shared *shared,
                      const struct nr_request *request, struct np_error *err)
{
	unsigned flags = (args->policy_is_strict ? NR_SHARED_STRICT : 0u) |
	                 (request->policy_may_shrink ? NR_SHARED_MAY_SHRINK : 0u);
	struct nr_policy kept = { 0 };
	int rc = nr_shared_set_policy(shared, &request->policy, flags, &kept, err);

	if (rc < 0)
		return rc;
	say_kept(&request->policy, &kept);
	nr_policy_release(&kept);
	if (shared->is_huge && !has_step(args, NR_STEP_TOUCH) && !has_step(args, NR_STEP_VERIFY))
		fputs("numactl: the kernel keeps no policy with huge pages: without --touch behind "
		      "it, it has no effect\n",
		      stderr);
	return 0;
}

static int run_step(const struct nr_numactl_args *args, enum nr_numactl_step step,
                    const struct nr_shared *shared, const struct nr_request *request,
                    struct np_error *err)
{
	switch (step) {
	case NR_STEP_POLICY:
		return set_policy(args, shared, request, err);
	case NR_STEP_TOUCH:
		return nr_shared_touch(shared, err);
	case NR_STEP_VERIFY:
		return verify_nodes(shared, &request->policy, err);
	case NR_STEP_DUMP:
		return dump_policies(shared, err);
	case NR_STEP_DUMP_NODES:
		return dump_nodes(shared, err);
	}
	return 0;
}

/*
 * What was made is removed again when the policy could not be set; once it is, the memory is as
 * asked for, and stays even if it cannot be filled.
 */
static int run_steps(const struct nr_numactl_args *args, const struct nr_request *request,
                     struct nr_shared *shared, struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < args->step_count && rc == 0; i++) {
		rc = run_step(args, args->steps[i], shared, request, err);
		if (rc < 0 && args->steps[i] == NR_STEP_POLICY)
			nr_shared_undo(shared);
	}
	if (rc == 0 && fflush(stdout) == EOF)
		rc = np_error_sys(err, errno, "standard output");
	say_made(shared);
	return rc;
}

/* The policy's nodes, checked before anything is made. */
static int read_request(const struct nr_numactl_args *args, struct nr_request *ret,
                        struct np_error *err)
{
	struct np_topology *topology = NULL;
	int rc = nr_args_load(&args->base, &topology, err);

	if (rc == 0)
		rc = nr_args_request(&args->base, topology, ret, err);
	np_topology_free(topology);
	return rc;
}

int nr_numactl_shared(const struct nr_numactl_args *args, struct np_error *err)
{
	struct nr_shared_request wanted = args->shared;
	struct nr_request request = { 0 };
	struct nr_shared shared = { .fd = -1 };
	int rc = read_request(args, &request, err);

	if (rc == 0 && args->huge && wanted.kind == NR_SHARED_SYSV)
		rc = default_huge_page_bytes(&wanted.huge_page_bytes, err);
	if (rc == 0)
		rc = nr_shared_open(&wanted, &shared, err);
	if (rc == 0) {
		rc = run_steps(args, &request, &shared, err);
		nr_shared_close(&shared);
	}
	nr_request_release(&request);
	return rc;
}
