/* SPDX-License-Identifier: BSD-3-Clause */
#include <numarun/death.h>

#include "capacity.h"
#include "cgroup.h"
#include "fields.h"
#include "stock.h"

#include <errno.h>
#include <inttypes.h>
#include <numaprobe/cpulist.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { BRIEF_SIZE = 96, SENTENCE_SIZE = 256, SIZE_SIZE = 32 };

/* One of the memory cgroups from the program's own up to the mount point. */
struct level {
	bool has_kills;
	uint64_t kills; /* of its processes, by whatever out-of-memory killer */
	bool has_hits;
	uint64_t hits; /* how often it reached its limit in vain (v2), or at all (v1) */
};

/* The huge pages of one size. */
struct huge {
	struct nr_stock stock;
	bool has_hits;
	uint64_t hits; /* of the limit of the program's own cgroup */
};

struct nr_vitals {
	struct np_bitmap nodes; /* that may be allocated from */
	struct nr_stock memory;
	bool has_kills;
	uint64_t kills; /* on the whole host */
	struct nr_cgroup memory_group;
	struct level levels[NR_CGROUP_DEPTH_MAX];
	size_t level_count;
	struct nr_cgroup huge_group;
	struct nr_page_sizes sizes;
	struct huge huge[NR_PAGE_SIZES_MAX];
};

void nr_vitals_free(struct nr_vitals *vitals)
{
	if (!vitals)
		return;
	np_bitmap_release(&vitals->nodes);
	nr_stock_release(&vitals->memory);
	nr_cgroup_release(&vitals->memory_group);
	nr_cgroup_release(&vitals->huge_group);
	for (size_t i = 0; i < vitals->sizes.count; i++)
		nr_stock_release(&vitals->huge[i].stock);
	free(vitals);
}

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "vitals");
}

/* ---- reading ---- */

/* The number behind @key in a file of the cgroup; with @key NULL the file's one number. */
static int read_counter(const struct np_sysroot *root, const struct nr_cgroup *group,
                        const char *file, const char *key, struct nr_field *ret,
                        struct np_error *err)
{
	char *path = nr_cgroup_path(group, file);
	int rc;

	*ret = (struct nr_field){ .key = key };
	if (!path)
		return no_memory(err);
	rc = key ? nr_fields_read(root, path, ret, 1, err)
	         : nr_number_read(root, path, &ret->found, &ret->value, err);
	free(path);
	return rc;
}

static int read_level(const struct np_sysroot *root, const struct nr_cgroup *group,
                      struct level *ret, struct np_error *err)
{
	struct nr_field kills;
	struct nr_field hits = { 0 };
	int rc = read_counter(root, group, group->v2 ? "memory.events" : "memory.oom_control",
	                      "oom_kill", &kills, err);

	if (rc == 0 && group->v2)
		rc = read_counter(root, group, "memory.events", "oom", &hits, err);
	else if (rc == 0)
		rc = read_counter(root, group, "memory.failcnt", NULL, &hits, err);
	*ret = (struct level){
		.has_kills = kills.found,
		.kills = kills.value,
		.has_hits = hits.found,
		.hits = hits.value,
	};
	return rc;
}

static int read_levels(const struct np_sysroot *root, struct nr_vitals *vitals,
                       struct np_error *err)
{
	struct nr_cgroup at = vitals->memory_group;
	int rc = 0;

	if (!at.dir)
		return 0;
	at.dir = strdup(at.dir);
	if (!at.dir)
		return no_memory(err);
	do
		rc = read_level(root, &at, &vitals->levels[vitals->level_count++], err);
	while (rc == 0 && vitals->level_count < NR_CGROUP_DEPTH_MAX && nr_cgroup_ascend(&at));
	free(at.dir);
	return rc;
}

static const char *print_huge_file(const struct nr_vitals *vitals, uint64_t page_kb,
                                   const char *v2_file, const char *v1_file, char *buf)
{
	char page[SIZE_SIZE];

	snprintf(buf, BRIEF_SIZE, "hugetlb.%s.%s", nr_page_size_name(page_kb, page, sizeof(page)),
	         vitals->huge_group.v2 ? v2_file : v1_file);
	return buf;
}

static int read_huge(const struct np_sysroot *root, struct nr_vitals *vitals, uint64_t page_kb,
                     struct huge *ret, struct np_error *err)
{
	struct nr_field hits = { 0 };
	char file[BRIEF_SIZE];
	int rc = nr_stock_read_pages(root, &vitals->nodes, page_kb, &ret->stock, err);

	if (rc == 0 && vitals->huge_group.dir)
		rc = read_counter(root, &vitals->huge_group,
		                  print_huge_file(vitals, page_kb, "events", "failcnt", file),
		                  vitals->huge_group.v2 ? "max" : NULL, &hits, err);
	ret->has_hits = hits.found;
	ret->hits = hits.value;
	return rc;
}

/* All that changes; the nodes and the cgroups are given. */
static int read_vitals(const struct np_sysroot *root, struct nr_vitals *vitals,
                       struct np_error *err)
{
	struct nr_field kills = { .key = "oom_kill" };
	struct np_bitmap silent = { 0 };
	struct nr_page_sizes sizes;
	int rc = nr_fields_read(root, "proc/vmstat", &kills, 1, err);

	vitals->has_kills = kills.found;
	vitals->kills = kills.value;
	if (rc == 0)
		rc = nr_stock_read_memory(root, &vitals->nodes, &vitals->memory, &silent, err);
	np_bitmap_release(&silent);
	if (rc == 0)
		rc = read_levels(root, vitals, err);
	if (rc == 0)
		rc = nr_page_sizes_read(root, &sizes, err);
	for (size_t i = 0; rc == 0 && i < sizes.count; i++) {
		vitals->sizes.kb[i] = sizes.kb[i];
		vitals->sizes.count = i + 1;
		rc = read_huge(root, vitals, sizes.kb[i], &vitals->huge[i], err);
	}
	return rc;
}

int nr_vitals_load(const char *root, const struct np_topology *topology, pid_t pid,
                   struct nr_vitals **ret, struct np_error *err)
{
	struct nr_vitals *vitals = calloc(1, sizeof(*vitals));
	struct np_sysroot opened;
	int rc;

	if (!vitals)
		return no_memory(err);
	rc = np_sysroot_open(root, &opened, err);
	if (rc < 0) {
		nr_vitals_free(vitals);
		return rc;
	}
	if (np_bitmap_copy(&vitals->nodes, np_topology_nodes(topology, NP_NODES_ALLOWED)) < 0)
		rc = no_memory(err);
	if (rc == 0)
		rc = nr_cgroup_find(&opened, pid, "memory", &vitals->memory_group, err);
	if (rc == 0)
		rc = nr_cgroup_find(&opened, pid, "hugetlb", &vitals->huge_group, err);
	if (rc == 0)
		rc = read_vitals(&opened, vitals, err);
	np_sysroot_close(&opened);
	if (rc < 0)
		nr_vitals_free(vitals);
	else
		*ret = vitals;
	return rc;
}

static int copy_group(const struct nr_cgroup *from, struct nr_cgroup *to)
{
	*to = *from;
	to->dir = from->dir ? strdup(from->dir) : NULL;
	return from->dir && !to->dir ? -ENOMEM : 0;
}

/* The same of now: the process is gone, but its cgroup is where it was. */
static int read_again(const struct np_sysroot *root, const struct nr_vitals *before,
                      struct nr_vitals **ret, struct np_error *err)
{
	struct nr_vitals *vitals = calloc(1, sizeof(*vitals));
	int rc;

	if (!vitals)
		return no_memory(err);
	rc = np_bitmap_copy(&vitals->nodes, &before->nodes);
	if (copy_group(&before->memory_group, &vitals->memory_group) < 0 ||
	    copy_group(&before->huge_group, &vitals->huge_group) < 0)
		rc = -ENOMEM;
	rc = rc < 0 ? no_memory(err) : read_vitals(root, vitals, err);
	if (rc < 0)
		nr_vitals_free(vitals);
	else
		*ret = vitals;
	return rc;
}

/* ---- explaining ---- */

struct death {
	const struct np_sysroot *root;
	const struct nr_vitals *before;
	const struct nr_vitals *now;
	const struct nr_plan *plan;
	struct np_bitmap bound;  /* the nodes that it could use alone; empty = all */
	struct np_bitmap others; /* the rest of those allowed */
};

static uint64_t risen(bool known, uint64_t before, uint64_t now)
{
	return known && now > before ? now - before : 0;
}

/* Where the counter of kills rose, such as proc/vmstat, in @buf; 0 when it did not. */
static uint64_t count_kills(const struct death *death, char *buf, size_t size)
{
	const struct nr_vitals *before = death->before;
	const struct nr_vitals *now = death->now;

	/*
	 * The cgroup counts its own dead, whoever killed them, so that its word is better: others
	 * die on a host too.
	 */
	if (before->level_count > 0 && before->levels[0].has_kills && now->levels[0].has_kills) {
		snprintf(buf, size, "%s/%s/%s", death->root->path, before->memory_group.dir,
		         before->memory_group.v2 ? "memory.events" : "memory.oom_control");
		return risen(true, before->levels[0].kills, now->levels[0].kills);
	}
	snprintf(buf, size, "%s/proc/vmstat", death->root->path);
	return risen(before->has_kills && now->has_kills, before->kills, now->kills);
}

/* The lowest cgroup that reached its limit meanwhile, in words with the file. False: none did. */
static bool find_limit(const struct death *death, char *buf, size_t size)
{
	const struct nr_vitals *before = death->before;
	struct nr_cgroup at;
	bool found = false;

	if (copy_group(&before->memory_group, &at) < 0 || !at.dir)
		return false;
	for (size_t i = 0; i < before->level_count && i < death->now->level_count && !found; i++) {
		const struct level *was = &before->levels[i];
		const struct level *is = &death->now->levels[i];
		const char *file = at.v2 ? "memory.max" : "memory.limit_in_bytes";
		struct nr_field limit = { 0 };
		char text[SIZE_SIZE];

		if (risen(was->has_hits && is->has_hits, was->hits, is->hits) > 0 &&
		    read_counter(death->root, &at, file, NULL, &limit, NULL) == 0 && limit.found &&
		    limit.value != UINT64_MAX) {
			found = true;
			snprintf(buf, size, "%s/%s/%s is %s", death->root->path, at.dir, file,
			         nr_bytes_print(limit.value, text, sizeof(text)));
		}
		if (!nr_cgroup_ascend(&at))
			break;
	}
	free(at.dir);
	return found;
}

/* What was free when the program began: what it used has been given back since. */
static void print_nodes(const struct death *death, FILE *out)
{
	const struct nr_vitals *before = death->before;
	bool is_bound = !np_bitmap_is_empty(&death->bound);
	const struct np_bitmap *nodes = is_bound ? &death->bound : &before->nodes;
	char list[BRIEF_SIZE];
	char free_text[SIZE_SIZE];
	char total_text[SIZE_SIZE];
	char *policy = nr_policy_print(&death->plan->policy);

	np_cpulist_named("node", nodes, list, sizeof(list));
	nr_bytes_print(nr_stock_free(&before->memory, nodes), free_text, sizeof(free_text));
	nr_bytes_print(nr_stock_total(&before->memory, nodes), total_text, sizeof(total_text));
	if (is_bound)
		fprintf(out, "%s allows %s only, which had %s free of %s at the start",
		        policy ? policy : "bind", list, free_text, total_text);
	else
		fprintf(out, "%s had %s free of %s at the start", list, free_text, total_text);
	free(policy);
	if (!is_bound || nr_stock_free(&death->now->memory, &death->others) == 0)
		return;
	fprintf(out, ", while %s %s %s free: %s %s goes on there",
	        np_cpulist_named("node", &death->others, list, sizeof(list)),
	        np_bitmap_count(&death->others) == 1 ? "has" : "have",
	        nr_bytes_print(nr_stock_free(&death->now->memory, &death->others), free_text,
	                       sizeof(free_text)),
	        np_bitmap_count(nodes) == 1 ? "--preferred" : "--preferred-many",
	        np_cpulist_brief(nodes, total_text, sizeof(total_text)));
}

static void explain_kill(const struct death *death, FILE *out)
{
	char where[SENTENCE_SIZE];
	char limit[SENTENCE_SIZE];
	uint64_t kills = count_kills(death, where, sizeof(where));

	/* Anybody may have sent it. */
	if (kills == 0)
		return;
	fprintf(out,
	        "killed by SIGKILL, probably by the kernel for lack of memory (oom_kill of %s rose "
	        "by %" PRIu64 "): ",
	        where, kills);
	if (find_limit(death, limit, sizeof(limit)))
		fprintf(out, "the cgroup reached its limit, %s", limit);
	else
		print_nodes(death, out);
}

/* Did the program's cgroup reach its limit of huge pages meanwhile? */
static bool explain_huge_limit(const struct death *death, size_t i, FILE *out)
{
	const struct nr_vitals *before = death->before;
	const struct huge *was = &before->huge[i];
	const struct huge *is = &death->now->huge[i];
	uint64_t hits = risen(was->has_hits && is->has_hits, was->hits, is->hits);
	char file[BRIEF_SIZE];

	if (hits == 0)
		return false;
	fprintf(out,
	        "killed by SIGBUS, probably for its cgroup's limit of huge pages: %s/%s/%s was "
	        "reached %" PRIu64 " time%s",
	        death->root->path, before->huge_group.dir,
	        print_huge_file(before, before->sizes.kb[i], "max", "limit_in_bytes", file), hits,
	        hits == 1 ? "" : "s");
	return true;
}

/*
 * A mapping takes its huge pages from the whole host's count, and finds out at the first touch that
 * the nodes it may use have none left.
 */
static bool explain_pool(const struct death *death, size_t i, FILE *out)
{
	const struct nr_stock *was = &death->before->huge[i].stock;
	const struct nr_stock *is = &death->now->huge[i].stock;
	uint64_t total = nr_stock_total(is, &death->bound);
	uint64_t elsewhere = nr_stock_free(is, &death->others);
	uint64_t free_now = nr_stock_free(is, &death->bound);
	uint64_t free_before = nr_stock_free(was, &death->bound);
	uint64_t had = free_now < free_before ? free_now : free_before;
	const char *verb = np_bitmap_count(&death->bound) == 1 ? "has" : "have";
	char bound[BRIEF_SIZE];
	char others[BRIEF_SIZE];

	if (np_bitmap_is_empty(&death->bound) || elsewhere == 0)
		return false;
	np_cpulist_named("node", &death->bound, bound, sizeof(bound));
	np_cpulist_named("node", &death->others, others, sizeof(others));
	if (had == 0)
		fprintf(out, "killed by SIGBUS: %s %s no free huge page", bound, verb);
	else
		fprintf(out, "killed by SIGBUS: %s %s only %" PRIu64 " free huge page%s", bound,
		        verb, had, had == 1 ? "" : "s");
	fprintf(out,
	        " of %" PRIu64 " kB (%" PRIu64 " of %" PRIu64 "; %s %s %" PRIu64
	        "), and one more that is touched there ends so; else ",
	        is->page_kb, had, total, others,
	        np_bitmap_count(&death->others) == 1 ? "has" : "have", elsewhere);
	return true;
}

static void explain_bus(const struct death *death, FILE *out)
{
	size_t count = death->before->sizes.count;
	bool has_pool = false;

	if (death->now->sizes.count < count)
		count = death->now->sizes.count;
	for (size_t i = 0; i < count; i++)
		if (explain_huge_limit(death, i, out))
			return;
	for (size_t i = 0; i < count && !has_pool; i++)
		has_pool = explain_pool(death, i, out);
	fprintf(out, "%sa file was cut short under its mapping, or a tmpfs had no room left",
	        has_pool ? "" : "killed by SIGBUS: ");
}

static int find_bound(struct death *death)
{
	const struct nr_policy *policy = &death->plan->policy;

	if (policy->mode != NR_POLICY_BIND)
		return 0;
	if (np_bitmap_copy(&death->bound, &policy->nodes) < 0 ||
	    np_bitmap_copy(&death->others, &death->before->nodes) < 0)
		return -ENOMEM;
	np_bitmap_and(&death->bound, &death->before->nodes);
	np_bitmap_and_not(&death->others, &death->bound);
	return 0;
}

/* The sentence, "" for none. */
static int print_death(const struct death *death, int signal_number, char **ret,
                       struct np_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int rc = 0;

	if (!out)
		return no_memory(err);
	if (signal_number == SIGKILL)
		explain_kill(death, out);
	else
		explain_bus(death, out);
	if (fclose(out) == EOF)
		rc = no_memory(err);
	if (rc < 0 || !*text)
		free(text);
	else
		*ret = text;
	return rc;
}

static int compare_vitals(const char *root, const struct nr_vitals *before,
                          const struct nr_plan *plan, int signal_number, char **ret,
                          struct np_error *err)
{
	struct death death = { .before = before, .plan = plan };
	struct nr_vitals *now = NULL;
	struct np_sysroot opened;
	int rc = np_sysroot_open(root, &opened, err);

	if (rc < 0)
		return rc;
	rc = read_again(&opened, before, &now, err);
	death.root = &opened;
	death.now = now;
	if (rc == 0 && find_bound(&death) < 0)
		rc = no_memory(err);
	if (rc == 0)
		rc = print_death(&death, signal_number, ret, err);
	np_bitmap_release(&death.bound);
	np_bitmap_release(&death.others);
	nr_vitals_free(now);
	np_sysroot_close(&opened);
	return rc;
}

int nr_death_explain(const char *root, const struct nr_vitals *before, const struct nr_plan *plan,
                     int wait_status, char **ret, struct np_error *err)
{
	int signal_number = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;

	*ret = NULL;
	if (signal_number == SIGSYS) {
		*ret = strdup("killed by SIGSYS, which a seccomp filter sends for a system call "
		              "that it does not allow");
		return *ret ? 0 : no_memory(err);
	}
	if (signal_number != SIGKILL && signal_number != SIGBUS)
		return 0;
	return compare_vitals(root, before, plan, signal_number, ret, err);
}
