/* SPDX-License-Identifier: BSD-3-Clause */
#include <numarun/preflight.h>

#include "capacity.h"
#include "fields.h"
#include "near.h"
#include "survey.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>

enum { BRIEF_SIZE = 96, SIZE_SIZE = 32, SENTENCE_SIZE = 256 };

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "preflight");
}

/* ---- what is compared with what ---- */

static bool policy_has_nodes(const struct nr_policy *policy)
{
	return policy->mode != NR_POLICY_KEEP && policy->mode != NR_POLICY_DEFAULT &&
	       policy->mode != NR_POLICY_LOCAL;
}

static int find_targets(struct nr_survey *survey)
{
	const struct np_bitmap *allowed = np_topology_nodes(survey->topology, NP_NODES_ALLOWED);
	const struct nr_plan *plan = survey->plan;
	const struct np_bitmap *wanted =
		policy_has_nodes(&plan->policy) ? &plan->policy.nodes : &plan->nodes;

	if (np_bitmap_copy(&survey->targets, wanted) < 0 ||
	    np_bitmap_copy(&survey->others, allowed) < 0)
		return -ENOMEM;
	/* The kernel drops the rest without a word, and what is left is what counts. */
	np_bitmap_and(&survey->targets, allowed);
	if (np_bitmap_is_empty(&survey->targets) && np_bitmap_copy(&survey->targets, allowed) < 0)
		return -ENOMEM;
	np_bitmap_and_not(&survey->others, &survey->targets);
	return 0;
}

/* "--membind allows no other: --preferred 2 uses it first and goes on elsewhere", or what is so. */
static const char *print_remedy(const struct nr_survey *survey, char *buf, size_t size)
{
	bool is_one = np_bitmap_count(&survey->targets) == 1;
	char nodes[BRIEF_SIZE];

	if (np_bitmap_is_empty(&survey->others))
		snprintf(buf, size, "no other node may be used");
	else
		snprintf(buf, size, "%s allows no other: %s %s uses %s first and goes on elsewhere",
		         survey->plan->has_far_distance ? "--far" : "--membind",
		         is_one ? "--preferred" : "--preferred-many",
		         np_cpulist_brief(&survey->targets, nodes, sizeof(nodes)),
		         is_one ? "it" : "them");
	return buf;
}

/* ---- policies that go on elsewhere ---- */

/* The kernel's weight of a node, 1 to 255 (ABI/testing/sysfs-kernel-mm-mempolicy-…). */
static int read_weight(const struct nr_survey *survey, unsigned node, uint64_t *ret,
                       struct np_error *err)
{
	char path[BRIEF_SIZE];
	bool found = false;
	int rc = 0;

	*ret = 1;
	snprintf(path, sizeof(path), "sys/kernel/mm/mempolicy/weighted_interleave/node%u", node);
	if (survey->plan->policy.mode == NR_POLICY_WEIGHTED)
		rc = nr_number_read(survey->root, path, &found, ret, err);
	if (rc == 0 && (*ret == 0 || *ret > UINT8_MAX))
		return np_error_set(err, EINVAL, "%s/%s: %" PRIu64 " is not a weight in 1..255",
		                    survey->root->path, path, *ret);
	return rc;
}

static int sum_weights(const struct nr_survey *survey, uint64_t *ret, struct np_error *err)
{
	*ret = 0;
	np_bitmap_for_each (node, &survey->targets) {
		uint64_t weight;
		int rc = read_weight(survey, node, &weight, err);

		if (rc < 0)
			return rc;
		*ret += weight;
	}
	return 0;
}

/* The part of @wanted that a node of that weight gets; rounded, as a page more or less is nothing. */
static uint64_t share_of(uint64_t wanted, uint64_t weight, uint64_t sum)
{
	return (uint64_t)((long double)wanted * (long double)weight / (long double)sum);
}

/* Adds to *ret the nodes that have less than their share, and the share of the first of them. */
static int find_short(const struct nr_survey *survey, const struct nr_stock *stock, uint64_t wanted,
                      struct np_bitmap *ret, uint64_t *ret_share, struct np_error *err)
{
	uint64_t sum;
	int rc = sum_weights(survey, &sum, err);

	if (rc < 0)
		return rc;
	np_bitmap_for_each (node, &survey->targets) {
		uint64_t weight;
		uint64_t share;

		rc = read_weight(survey, node, &weight, err);
		if (rc < 0)
			return rc;
		share = share_of(wanted, weight, sum);
		if (stock->nodes[node].free >= share)
			continue;
		if (np_bitmap_is_empty(ret))
			*ret_share = share;
		if (np_bitmap_add(ret, node) < 0)
			return no_memory(err);
	}
	return 0;
}

/* Interleaving gives each node its share; where one is full the kernel takes another. */
static int warn_shares(const struct nr_survey *survey, const struct nr_stock *stock,
                       uint64_t wanted, struct np_error *err)
{
	struct np_bitmap lacking = { 0 };
	struct np_bitmap first = { 0 };
	char has[SENTENCE_SIZE];
	char share_text[SIZE_SIZE];
	char wanted_text[SIZE_SIZE];
	char more[BRIEF_SIZE] = "";
	char list[BRIEF_SIZE];
	uint64_t share = 0;
	int rc = find_short(survey, stock, wanted, &lacking, &share, err);

	if (rc == 0 && !np_bitmap_is_empty(&lacking)) {
		rc = np_bitmap_add(&first, np_bitmap_next(&lacking, 0));
		np_bitmap_and_not(&lacking, &first);
		if (!np_bitmap_is_empty(&lacking))
			snprintf(more, sizeof(more), " (%s lack%s too)",
			         np_cpulist_named("node", &lacking, list, sizeof(list) / 2),
			         np_bitmap_count(&lacking) == 1 ? "s" : "");
		if (rc == 0)
			rc = nr_plan_warn(
				survey->plan,
				"%s: %s, its share of %s is %s%s: the rest comes from other nodes",
				nr_policy_mode_name(survey->plan->policy.mode),
				nr_stock_describe(stock, &first, has, sizeof(has)),
				nr_stock_amount(stock, wanted, wanted_text, sizeof(wanted_text)),
				nr_stock_amount(stock, share, share_text, sizeof(share_text)),
				more);
		if (rc < 0)
			rc = no_memory(err);
	}
	np_bitmap_release(&lacking);
	np_bitmap_release(&first);
	return rc;
}

/* Says which nodes the rest comes from when the plan's have too little. */
static int warn_spill(const struct nr_survey *survey, const struct nr_stock *stock, uint64_t wanted,
                      struct np_error *err)
{
	uint64_t has = nr_stock_free(stock, &survey->targets);
	char have[SENTENCE_SIZE];
	char wanted_text[SIZE_SIZE];
	char rest_text[SIZE_SIZE];
	char *donors;
	char *policy;
	int rc = -ENOMEM;

	if (has >= wanted)
		return 0;
	donors = nr_stock_donors(stock, survey->topology, &survey->targets, &survey->others,
	                         wanted - has);
	policy = nr_policy_print(&survey->plan->policy);
	if (donors && policy)
		rc = nr_plan_warn(
			survey->plan, "memory %s: %s, %s are asked for: %s %s", policy,
			nr_stock_describe(stock, &survey->targets, have, sizeof(have)),
			nr_stock_amount(stock, wanted, wanted_text, sizeof(wanted_text)),
			nr_stock_amount(stock, wanted - has, rest_text, sizeof(rest_text)), donors);
	free(donors);
	free(policy);
	return rc < 0 ? no_memory(err) : 0;
}

int nr_survey_warn_elsewhere(const struct nr_survey *survey, const struct nr_stock *stock,
                             uint64_t wanted, struct np_error *err)
{
	enum nr_policy_mode mode = survey->plan->policy.mode;

	if (mode == NR_POLICY_INTERLEAVE || mode == NR_POLICY_WEIGHTED)
		return warn_shares(survey, stock, wanted, err);
	return warn_spill(survey, stock, wanted, err);
}

/* ---- memory ---- */

static int refuse_memory(const struct nr_survey *survey, const struct nr_stock *stock,
                         const struct np_bitmap *nodes, const char *remedy, struct np_error *err)
{
	uint64_t wanted = survey->need->memory_bytes;
	uint64_t total = nr_stock_total(stock, nodes);
	char wanted_text[SIZE_SIZE];
	char total_text[SIZE_SIZE];
	char has[SENTENCE_SIZE];
	char list[BRIEF_SIZE];

	if (wanted > total)
		snprintf(has, sizeof(has), "%s %s %s",
		         np_cpulist_named("node", nodes, list, sizeof(list)),
		         np_bitmap_count(nodes) == 1 ? "has" : "have",
		         nr_bytes_print(total, total_text, sizeof(total_text)));
	else
		nr_stock_describe(stock, nodes, has, sizeof(has));
	return np_error_set(err, EXDEV, "%s, %s are asked for and %s", has,
	                    nr_bytes_print(wanted, wanted_text, sizeof(wanted_text)), remedy);
}

/* On these nodes, which may be all there are. */
static int compare_memory(const struct nr_survey *survey, const struct nr_stock *stock,
                          struct np_error *err)
{
	const struct np_bitmap *allowed = np_topology_nodes(survey->topology, NP_NODES_ALLOWED);
	uint64_t wanted = survey->need->memory_bytes;
	char remedy[SENTENCE_SIZE];

	if (survey->plan->policy.mode == NR_POLICY_BIND) {
		if (wanted <= nr_stock_free(stock, &survey->targets))
			return 0;
		return refuse_memory(survey, stock, &survey->targets,
		                     print_remedy(survey, remedy, sizeof(remedy)), err);
	}
	if (wanted > nr_stock_total(stock, allowed))
		return refuse_memory(survey, stock, allowed, "no other node may be used", err);
	return nr_survey_warn_elsewhere(survey, stock, wanted, err);
}

static int check_memory(const struct nr_survey *survey, struct np_error *err)
{
	struct np_bitmap silent = { 0 };
	struct nr_stock stock = { 0 };
	char list[BRIEF_SIZE];
	int rc = nr_stock_read_memory(survey->root,
	                              np_topology_nodes(survey->topology, NP_NODES_ALLOWED), &stock,
	                              &silent, err);

	/* Unknown is not zero. */
	if (rc == 0 && !np_bitmap_is_empty(&silent))
		rc = nr_plan_warn(survey->plan,
		                  "%s: the host does not tell the memory there: what is asked for "
		                  "was not compared with it",
		                  np_cpulist_named("node", &silent, list, sizeof(list))) < 0
		             ? no_memory(err)
		             : 0;
	else if (rc == 0)
		rc = compare_memory(survey, &stock, err);
	nr_stock_release(&stock);
	np_bitmap_release(&silent);
	return rc;
}

/* ---- cgroups ---- */

static const struct nr_limit_files memory_files[] = {
	{ "memory.limit_in_bytes",
	  "memory.usage_in_bytes",
	  "memory.stat",
	  { "total_active_file", "total_inactive_file", NULL } },
	{ "memory.max",
	  "memory.current",
	  "memory.stat",
	  { "active_file", "inactive_file", "slab_reclaimable" } },
};

int nr_survey_refuse_limit(const struct nr_survey *survey, const struct nr_limit *limit,
                           uint64_t wanted, struct np_error *err)
{
	char allows[SIZE_SIZE];
	char room[SIZE_SIZE];
	char asked[SIZE_SIZE];
	char rest[BRIEF_SIZE] = "";

	nr_bytes_print(limit->limit_bytes, allows, sizeof(allows));
	nr_bytes_print(limit->room_bytes, room, sizeof(room));
	nr_bytes_print(wanted, asked, sizeof(asked));
	if (wanted <= limit->limit_bytes)
		snprintf(rest, sizeof(rest), ", of which %s are left", room);
	return np_error_set(err, EXDEV,
	                    "this cgroup may have %s (%s/%s)%s, %s are asked for: raise that limit "
	                    "or ask for less",
	                    allows, survey->root->path, limit->path, rest, asked);
}

/* What is used of a cgroup's memory can shrink, so that too little room is a warning only. */
static int compare_limits(const struct nr_survey *survey, const struct nr_limit *smallest,
                          const struct nr_limit *fullest, struct np_error *err)
{
	uint64_t wanted = survey->need->memory_bytes;
	char allows[SIZE_SIZE];
	char room[SIZE_SIZE];
	char asked[SIZE_SIZE];

	if (smallest->path && wanted > smallest->limit_bytes)
		return nr_survey_refuse_limit(survey, smallest, wanted, err);
	if (!fullest->path || wanted <= fullest->room_bytes)
		return 0;
	if (nr_plan_warn(
		    survey->plan,
		    "this cgroup may have %s (%s/%s), of which %s are left now, and %s are asked "
		    "for",
		    nr_bytes_print(fullest->limit_bytes, allows, sizeof(allows)),
		    survey->root->path, fullest->path,
		    nr_bytes_print(fullest->room_bytes, room, sizeof(room)),
		    nr_bytes_print(wanted, asked, sizeof(asked))) < 0)
		return no_memory(err);
	return 0;
}

static int check_memory_cgroup(const struct nr_survey *survey, struct np_error *err)
{
	struct nr_cgroup group = { 0 };
	struct nr_limit smallest = { 0 };
	struct nr_limit fullest = { 0 };
	int rc = nr_cgroup_find(survey->root, 0, "memory", &group, err);

	if (rc == 0)
		rc = nr_cgroup_limits(survey->root, &group, &memory_files[group.v2], &smallest,
		                      &fullest, err);
	if (rc == 0)
		rc = compare_limits(survey, &smallest, &fullest, err);
	free(smallest.path);
	free(fullest.path);
	nr_cgroup_release(&group);
	return rc;
}

int nr_preflight(const char *root, const struct np_topology *topology, const struct nr_need *need,
                 struct nr_plan *plan, struct np_error *err)
{
	struct nr_survey survey = { .topology = topology, .need = need, .plan = plan };
	struct np_sysroot opened;
	int rc = np_sysroot_open(root, &opened, err);

	if (rc < 0)
		return rc;
	survey.root = &opened;
	rc = find_targets(&survey) < 0 ? no_memory(err) : 0;
	if (rc == 0 && need->memory_bytes > 0)
		rc = check_memory(&survey, err);
	if (rc == 0 && need->memory_bytes > 0)
		rc = check_memory_cgroup(&survey, err);
	if (rc == 0 && need->huge_count > 0)
		rc = nr_survey_check_huge(&survey, err);
	np_bitmap_release(&survey.targets);
	np_bitmap_release(&survey.others);
	np_sysroot_close(&opened);
	return rc;
}
