/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a preflight that is about huge pages: a mapping takes them from the whole host's
 * count, and learns of an empty node at the first touch, by SIGBUS.
 */
#include "capacity.h"
#include "fields.h"
#include "near.h"
#include "survey.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>

enum { BRIEF_SIZE = 96, SIZE_SIZE = 32, SENTENCE_SIZE = 256, BYTES_PER_KB = 1024 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "preflight");
}

/* "1 is", "8 are". */
static const char *verb_of(uint64_t count)
{
	return count == 1 ? "is" : "are";
}

static int check_huge_limit(const struct nr_survey *survey, const struct nr_cgroup *group,
                            const struct nr_limit_files *files, uint64_t wanted_bytes,
                            struct np_error *err)
{
	struct nr_limit smallest = { 0 };
	struct nr_limit fullest = { 0 };
	int rc = nr_cgroup_limits(survey->root, group, files, &smallest, &fullest, err);

	/* Huge pages in use are not given back for the asking. */
	if (rc == 0 && fullest.path && wanted_bytes > fullest.room_bytes)
		rc = nr_survey_refuse_limit(survey, &fullest, wanted_bytes, err);
	free(smallest.path);
	free(fullest.path);
	return rc;
}

static int check_huge_cgroup(const struct nr_survey *survey, uint64_t page_kb, struct np_error *err)
{
	/* Pages touched, and those only reserved (Linux 5.7). */
	static const char *const kinds[] = { "", "rsvd." };
	uint64_t wanted_bytes = nr_multiply(survey->need->huge_count, page_kb * BYTES_PER_KB);
	struct nr_cgroup group = { 0 };
	char page[SIZE_SIZE];
	int rc = nr_cgroup_find(survey->root, 0, "hugetlb", &group, err);

	nr_page_size_name(page_kb, page, sizeof(page));
	for (size_t i = 0; i < 2 && rc == 0; i++) {
		char limit[BRIEF_SIZE];
		char used[BRIEF_SIZE];
		struct nr_limit_files files = { .limit = limit, .used = used };

		snprintf(limit, sizeof(limit), "hugetlb.%s.%s%s", page, kinds[i],
		         group.v2 ? "max" : "limit_in_bytes");
		snprintf(used, sizeof(used), "hugetlb.%s.%s%s", page, kinds[i],
		         group.v2 ? "current" : "usage_in_bytes");
		rc = check_huge_limit(survey, &group, &files, wanted_bytes, err);
	}
	nr_cgroup_release(&group);
	return rc;
}

/* The page size that is asked for, if the host has it. */
static int find_page_size(const struct nr_survey *survey, uint64_t *ret_kb, struct np_error *err)
{
	struct nr_field standard = { .key = "Hugepagesize" };
	struct nr_page_sizes sizes;
	uint64_t wanted = survey->need->huge_bytes;
	char list[BRIEF_SIZE] = "none";
	size_t used = 0;
	int rc = nr_page_sizes_read(survey->root, &sizes, err);

	if (rc == 0 && !wanted)
		rc = nr_fields_read(survey->root, "proc/meminfo", &standard, 1, err);
	if (rc < 0)
		return rc;
	if (!wanted && !standard.found)
		return np_error_set(err, EINVAL,
		                    "%s/proc/meminfo tells no Hugepagesize: this kernel has no "
		                    "huge pages",
		                    survey->root->path);
	wanted = wanted ? wanted : standard.value;
	for (size_t i = 0; i < sizes.count; i++) {
		if (nr_multiply(sizes.kb[i], BYTES_PER_KB) == wanted) {
			*ret_kb = sizes.kb[i];
			return 0;
		}
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used,
			                         "%s%" PRIu64 " kB", i ? ", " : "", sizes.kb[i]);
	}
	return np_error_set(err, EINVAL, "this host has no huge pages of %" PRIu64 " kB; it has %s",
	                    wanted / BYTES_PER_KB, list);
}

/* What a pool has to be set to, so that it holds @lacking more than it does. */
struct pool_order {
	char path[BRIEF_SIZE];
	uint64_t count;
};

static struct pool_order order_pages(const struct nr_survey *survey, uint64_t page_kb, bool on_node,
                                     uint64_t lacking, uint64_t total)
{
	struct pool_order order = { .count = total + lacking };

	if (on_node)
		snprintf(order.path, sizeof(order.path),
		         "sys/devices/system/node/node%u/hugepages/hugepages-%" PRIu64 "kB",
		         np_bitmap_next(&survey->targets, 0), page_kb);
	else
		snprintf(order.path, sizeof(order.path), NR_HUGE_DIR "/hugepages-%" PRIu64 "kB",
		         page_kb);
	return order;
}

/* The host has them, perhaps, but not on the nodes that the memory is bound to. */
static int refuse_bound_pages(const struct nr_survey *survey, const struct nr_stock *stock,
                              uint64_t page_kb, struct np_error *err)
{
	uint64_t wanted = survey->need->huge_count;
	uint64_t has = nr_stock_free(stock, &survey->targets);
	uint64_t elsewhere = nr_stock_free(stock, &survey->others);
	struct np_bitmap first = { 0 };
	char text[SENTENCE_SIZE];
	char list[BRIEF_SIZE];
	char others[SENTENCE_SIZE] = "";
	struct pool_order order;

	if (np_bitmap_add(&first, np_bitmap_next(&survey->targets, 0)) < 0)
		return no_memory(err);
	order = order_pages(survey, page_kb, true, wanted - has, nr_stock_total(stock, &first));
	np_bitmap_release(&first);
	if (elsewhere > 0)
		snprintf(others, sizeof(others), "; %s %s %" PRIu64 "%s",
		         np_cpulist_named("node", &survey->others, list, sizeof(list)),
		         np_bitmap_count(&survey->others) == 1 ? "has" : "have", elsewhere,
		         has + elsewhere >= wanted ? " (the host's total looks fine)" : "");
	return np_error_set(err, EXDEV,
	                    "%s, %" PRIu64 " %s asked for and %s allows no other%s: as root, "
	                    "echo %" PRIu64 " > /%s/nr_hugepages",
	                    nr_stock_describe(stock, &survey->targets, text, sizeof(text)), wanted,
	                    verb_of(wanted), survey->plan->has_far_distance ? "--far" : "--membind",
	                    others, order.count, order.path);
}

static int refuse_pages(const struct nr_survey *survey, const struct nr_host_pool *host,
                        uint64_t page_kb, uint64_t has, struct np_error *err)
{
	uint64_t wanted = survey->need->huge_count;
	struct pool_order order =
		order_pages(survey, page_kb, false, wanted - has, host->pool.total_count);
	char reserved[BRIEF_SIZE] = "";

	if (host->reserved_count > 0)
		snprintf(reserved, sizeof(reserved), " (%" PRIu64 " more are promised to others)",
		         host->reserved_count);
	return np_error_set(
		err, EXDEV,
		"the nodes that may be used have %" PRIu64 " free huge pages of %" PRIu64
		" kB%s, %" PRIu64 " %s asked for: as root, echo %" PRIu64 " > /%s/nr_hugepages",
		has, page_kb, reserved, wanted, verb_of(wanted), order.count, order.path);
}

static int warn_overcommit(const struct nr_survey *survey, const struct nr_host_pool *host,
                           uint64_t page_kb, uint64_t has, struct np_error *err)
{
	if (nr_plan_warn(survey->plan,
	                 "%" PRIu64 " free huge pages of %" PRIu64 " kB, %" PRIu64
	                 " are asked for: the rest only if the kernel finds room for them on "
	                 "demand (nr_overcommit_hugepages allows %" PRIu64 ")",
	                 has, page_kb, survey->need->huge_count, host->spare_count) < 0)
		return no_memory(err);
	return 0;
}

static int compare_pages(const struct nr_survey *survey, const struct nr_stock *stock,
                         const struct nr_host_pool *host, uint64_t page_kb, struct np_error *err)
{
	bool binds = survey->plan->policy.mode == NR_POLICY_BIND;
	uint64_t wanted = survey->need->huge_count;
	uint64_t here = nr_stock_free(stock, &survey->targets);
	uint64_t usable = binds ? here : here + nr_stock_free(stock, &survey->others);
	uint64_t unpromised = host->pool.free_count > host->reserved_count
	                              ? host->pool.free_count - host->reserved_count
	                              : 0;
	uint64_t has = usable < unpromised ? usable : unpromised;

	if (wanted > has && wanted - has <= host->spare_count)
		return warn_overcommit(survey, host, page_kb, has, err);
	if (binds && wanted > here)
		return refuse_bound_pages(survey, stock, page_kb, err);
	if (wanted > has)
		return refuse_pages(survey, host, page_kb, has, err);
	return binds ? 0 : nr_survey_warn_elsewhere(survey, stock, wanted, err);
}

int nr_survey_check_huge(const struct nr_survey *survey, struct np_error *err)
{
	struct nr_host_pool host = { 0 };
	struct nr_stock stock = { 0 };
	uint64_t page_kb = 0;
	int rc = find_page_size(survey, &page_kb, err);

	if (rc == 0)
		rc = nr_host_pool_read(survey->root, page_kb, &host, err);
	if (rc == 0)
		rc = nr_stock_read_pages(survey->root,
		                         np_topology_nodes(survey->topology, NP_NODES_ALLOWED),
		                         page_kb, &stock, err);
	if (rc == 0)
		rc = compare_pages(survey, &stock, &host, page_kb, err);
	if (rc == 0)
		rc = check_huge_cgroup(survey, page_kb, err);
	nr_stock_release(&stock);
	return rc;
}
