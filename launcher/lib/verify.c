/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A look costs a system call for each thread's CPUs and three for its policy; causes are sought only
 * where something is wrong.
 */
#include "../../probe/base/clock.h"
#include "numa_maps.h"
#include "pages.h"
#include "verify_parts.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One thread in so many is asked for what is dear to know. */
enum { TURNS = 8 };

/* ---- life ---- */

int nr_verify_begin(const struct nr_plan *plan, pid_t program, struct nr_verification *ret,
                    struct np_error *err)
{
	struct nr_verification v = {
		.program = program,
		.checks_cpus = plan->binds_cpus,
		.policy = { .mode = plan->policy.mode, .balancing = plan->policy.balancing },
		.begin_ns = np_now_ns(),
		.begin_time_ns = np_time_ns(),
		.state = calloc(1, sizeof(*v.state)),
	};
	int rc;

	if (!v.state || np_bitmap_copy(&v.cpus, &plan->cpus) < 0 ||
	    np_bitmap_copy(&v.policy.nodes, &plan->policy.nodes) < 0) {
		nr_verify_end(&v);
		return np_error_sys(err, ENOMEM, "verification");
	}
	v.state->root.fd = -1;
	rc = np_sysroot_open(NULL, &v.state->root, err);
	if (rc < 0) {
		nr_verify_end(&v);
		return rc;
	}
	*ret = v;
	return 0;
}

void nr_verify_adopt(struct nr_verification *v, pid_t adopter, const char *mark)
{
	v->state->adopter = adopter;
	v->state->mark = mark;
}

static void release_thread(struct nr_thread *thread)
{
	free(thread->cpus);
	free(thread->policy);
}

void nr_verify_end(struct nr_verification *v)
{
	for (size_t i = 0; i < v->thread_count; i++)
		release_thread(&v->threads[i]);
	free(v->threads);
	free(v->events);
	np_bitmap_release(&v->cpus);
	nr_policy_release(&v->policy);
	nr_pages_release(&v->pages);
	if (v->state) {
		nr_task_list_release(&v->state->family);
		nr_task_list_release(&v->state->thread_ids);
		np_bitmap_release(&v->state->available.cpus);
		np_sysroot_close(&v->state->root);
		free(v->state);
	}
	*v = (struct nr_verification){ 0 };
}

bool nr_verify_is_ok(const struct nr_verification *v)
{
	for (size_t i = 0; i < v->thread_count; i++)
		if (v->threads[i].cpus_lost || v->threads[i].policy_lost)
			return false;
	return !v->pages_lost;
}

/* ---- CPUs ---- */

/* The thread's mask, a view into the state; -ESRCH when it has ended. */
static int read_mask(struct nr_verify_state *state, pid_t thread, struct np_bitmap *ret)
{
	/* The system call tells how much it wrote, which the C library's wrapper does not. */
	long len = syscall(SYS_sched_getaffinity, thread, sizeof(state->mask), state->mask);

	if (len < 0)
		return -errno;
	*ret = (struct np_bitmap){ .words = state->mask, .word_count = (size_t)len / 8 };
	return 0;
}

static int find_available(struct nr_verification *v, pid_t process)
{
	struct nr_verify_state *state = v->state;

	if (state->available_of == process)
		return 0;
	np_bitmap_release(&state->available.cpus);
	state->available_of = process;
	return nr_cause_of_cpus(&state->root, process, &v->cpus, &state->available);
}

/* Notes the mask of a thread; false when it is what was noted before. */
static bool note_cpus(struct nr_thread *thread, char *cpus)
{
	bool same = thread->cpus && cpus && strcmp(thread->cpus, cpus) == 0;

	free(thread->cpus);
	thread->cpus = cpus;
	return !same;
}

static void cpus_are_back(struct nr_verification *v, struct nr_thread *thread,
                          const struct np_bitmap *mask)
{
	if (thread->cpus_lost)
		nr_event_add_cpus(v, NR_CHANGE_BACK, thread, mask);
	thread->cpus_lost = false;
	thread->cpus_narrowed = false;
	note_cpus(thread, NULL);
}

/* Sets a thread's CPUs again as far as they can be had. */
static int repin(struct nr_verification *v, struct nr_thread *thread, const struct np_bitmap *mask)
{
	const struct np_bitmap *available = &v->state->available.cpus;
	struct np_bitmap now;
	char *list;

	if (np_bitmap_is_empty(available) || np_bitmap_equal(mask, available))
		return 0;
	/* All that was asked for, so that a kernel since 6.2 gives the rest back by itself. */
	if (syscall(SYS_sched_setaffinity, thread->thread, v->cpus.word_count * 8, v->cpus.words) <
	            0 ||
	    read_mask(v->state, thread->thread, &now) < 0)
		return 0;
	list = np_cpulist_print(&now);
	if (!list)
		return -ENOMEM;
	nr_event_add_cpus(v, NR_CHANGE_REPINNED, thread, &now);
	note_cpus(thread, list);
	if (np_bitmap_equal(&now, &v->cpus)) {
		thread->cpus_lost = false;
		note_cpus(thread, NULL);
	}
	return 0;
}

static int check_cpus(struct nr_verification *v, struct nr_thread *thread, unsigned flags)
{
	struct np_bitmap mask;
	bool is_new;
	bool inside;
	char *list;
	int rc = read_mask(v->state, thread->thread, &mask);

	if (rc < 0)
		return rc;
	if (np_bitmap_equal(&mask, &v->cpus)) {
		cpus_are_back(v, thread, &mask);
		return 0;
	}
	rc = find_available(v, thread->process);
	list = np_cpulist_print(&mask);
	if (rc < 0 || !list) {
		free(list);
		return -ENOMEM;
	}
	is_new = note_cpus(thread, list);
	/* A thread's own choice among the CPUs of the plan breaks no promise. */
	inside = v->state->available.cause == NR_CAUSE_OWN && np_bitmap_is_subset(&mask, &v->cpus);
	if (inside && thread->cpus_lost)
		nr_event_add_cpus(v, NR_CHANGE_BACK, thread, &mask);
	else if (is_new || (!inside && !thread->cpus_lost))
		/* The kernel takes a CPU out of masks some time before it says that it is offline. */
		nr_event_add_cpus(v, inside ? NR_CHANGE_NARROWED : NR_CHANGE_LOST, thread, &mask);
	thread->cpus_lost = !inside;
	thread->cpus_narrowed = inside;
	return inside || !(flags & NR_VERIFY_REPIN) ? 0 : repin(v, thread, &mask);
}

/* ---- the memory policy ---- */

static bool is_asked(const struct nr_verification *v, const char *text, size_t len)
{
	struct nr_policy policy = { 0 };
	bool same = nr_numa_policy_parse(text, len, &policy) == 0 &&
	            policy.mode == v->policy.mode &&
	            np_bitmap_equal(&policy.nodes, &v->policy.nodes);

	nr_policy_release(&policy);
	return same;
}

static int check_policy(struct nr_verification *v, struct nr_thread *thread)
{
	struct nr_verify_state *state = v->state;
	char text[NR_VERIFY_POLICY_SIZE];
	bool is_new;
	int len = nr_pages_thread_policy(&state->root, thread->process, thread->thread, text,
	                                 sizeof(text));

	thread->policy_is_known = len >= 0;
	if (len < 0)
		return len == -ESRCH ? len : 0;
	if (strcmp(text, state->good_policy) == 0 || is_asked(v, text, (size_t)len)) {
		memcpy(state->good_policy, text, (size_t)len + 1);
		if (thread->policy_lost)
			nr_event_add_policy(v, NR_CHANGE_BACK, thread, text);
		thread->policy_lost = false;
		free(thread->policy);
		thread->policy = NULL;
		return 0;
	}
	is_new = !thread->policy || strcmp(thread->policy, text) != 0;
	thread->policy_lost = true;
	if (!is_new)
		return 0;
	free(thread->policy);
	thread->policy = strdup(text);
	nr_event_add_policy(v, NR_CHANGE_LOST, thread, text);
	return thread->policy ? 0 : -ENOMEM;
}

/* ---- threads ---- */

static int compare_threads(const void *a, const void *b)
{
	const struct nr_thread *left = a;
	const struct nr_thread *right = b;

	return (left->thread > right->thread) - (left->thread < right->thread);
}

/* The thread among those that were there before this look, of which there are @count. */
static struct nr_thread *find_thread(struct nr_verification *v, size_t count, pid_t id)
{
	struct nr_thread key = { .thread = id };

	return count == 0 ? NULL : bsearch(&key, v->threads, count, sizeof(key), compare_threads);
}

static struct nr_thread *add_thread(struct nr_verification *v, pid_t process, pid_t id)
{
	struct nr_verify_state *state = v->state;
	struct nr_thread *thread;

	if (v->thread_count == state->thread_room) {
		size_t room = state->thread_room ? 2 * state->thread_room : 8;
		struct nr_thread *grown = realloc(v->threads, room * sizeof(*grown));

		if (!grown)
			return NULL;
		v->threads = grown;
		state->thread_room = room;
	}
	thread = &v->threads[v->thread_count++];
	*thread = (struct nr_thread){ .process = process, .thread = id };
	nr_tasks_name(&state->root, id, thread->name, sizeof(thread->name));
	return thread;
}

static int check_thread(struct nr_verification *v, struct nr_thread *thread, bool is_turn,
                        unsigned flags)
{
	int rc = 0;

	if (v->policy.mode != NR_POLICY_KEEP && (is_turn || thread->policy_lost))
		rc = check_policy(v, thread);
	if (rc == 0 && v->checks_cpus)
		rc = check_cpus(v, thread, flags);
	if (rc == 0)
		thread->seen = v->check_count;
	return rc == -ENOMEM ? rc : 0;
}

static bool has_seen(const struct nr_verification *v)
{
	for (size_t i = 0; i < v->thread_count; i++)
		if (v->threads[i].seen == v->check_count)
			return true;
	return false;
}

/* Drops the threads that this look did not see, and brings the rest in order. */
static void sort_threads(struct nr_verification *v)
{
	size_t kept = 0;

	for (size_t i = 0; i < v->thread_count; i++) {
		if (v->threads[i].seen == v->check_count)
			v->threads[kept++] = v->threads[i];
		else
			release_thread(&v->threads[i]);
	}
	v->thread_count = kept;
	if (kept > 0)
		qsort(v->threads, kept, sizeof(*v->threads), compare_threads);
}

/* The host's newest process or thread: when it is the same as before, nothing was started. */
static unsigned long read_last_pid(const struct np_sysroot *root)
{
	char *text;
	char *last;
	unsigned long pid = 0;

	if (np_sysroot_read(root, "proc/loadavg", &text, NULL) < 0)
		return 0;
	last = strrchr(text, ' ');
	if (last)
		pid = strtoul(last, NULL, 10);
	free(text);
	return pid;
}

/*
 * Whether the threads have to be listed: not as long as the host has started nothing since all of
 * them were asked what they have started.
 */
static bool may_have_grown(struct nr_verify_state *state)
{
	unsigned long last_pid = read_last_pid(&state->root);
	bool grown = last_pid == 0 || last_pid != state->last_pid || state->turn.count == 1;

	if (state->turn.count == 1) {
		state->last_pid = last_pid;
		state->round_pid = last_pid;
	} else if (state->turn.which % TURNS == 0) {
		/* Since then all threads have had their turn. */
		state->last_pid = state->round_pid;
		state->round_pid = last_pid;
	}
	return grown;
}

/*
 * Looks at all threads of a process, and for what those have started whose turn it is.
 * @known_count threads were there before this look. -ESRCH: it has ended.
 */
static int check_process(struct nr_verification *v, size_t known_count, pid_t process,
                         unsigned flags)
{
	struct nr_verify_state *state = v->state;
	struct nr_task_list *ids = &state->thread_ids;
	int rc;

	ids->count = 0;
	rc = nr_tasks_of(&state->root, process, ids);
	for (size_t i = 0; rc == 0 && i < ids->count; i++) {
		bool is_turn = nr_turn_has(state->turn, i);
		struct nr_thread *thread = find_thread(v, known_count, ids->ids[i]);
		bool is_new = !thread;

		if (is_new)
			thread = add_thread(v, process, ids->ids[i]);
		rc = thread ? check_thread(v, thread, is_turn || is_new, flags) : -ENOMEM;
		if (rc == 0 && is_turn)
			rc = nr_tasks_children(&state->root, process, ids->ids[i], &state->family);
	}
	return rc;
}

/* All processes, also those that are found on the way. */
static int check_family(struct nr_verification *v, unsigned flags)
{
	struct nr_verify_state *state = v->state;
	struct nr_task_list *family = &state->family;
	size_t known_count = v->thread_count;
	size_t kept = 0;
	int rc = family->count == 0 ? nr_task_list_add(family, v->program) : 0;

	if (rc == 0 && state->adopter)
		rc = nr_tasks_adopt(&state->root, state->adopter, state->mark, family);
	for (size_t i = 0; rc != -ENOMEM && i < family->count; i++) {
		rc = check_process(v, known_count, family->ids[i], flags);
		/* What has ended, or cannot be seen any more, is out. */
		if (rc == 0)
			family->ids[kept++] = family->ids[i];
	}
	if (rc == -ENOMEM)
		return rc;
	family->count = kept;
	return 0;
}

/* The threads that were there before: there can be no others. */
static int check_known(struct nr_verification *v, unsigned flags)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < v->thread_count; i++) {
		struct nr_thread *thread = &v->threads[i];
		bool is_first = thread->process == thread->thread;

		rc = check_thread(v, thread, is_first || nr_turn_has(v->state->turn, i), flags);
	}
	return rc;
}

/* ---- pages ---- */

static int check_pages(struct nr_verification *v)
{
	struct nr_pages pages = { 0 };
	uint64_t begin = np_now_ns();
	bool found = false;
	bool lost;

	for (size_t i = 0; i < v->state->family.count; i++) {
		int rc = nr_pages_add(&v->state->root, v->state->family.ids[i], &v->policy, &pages);

		if (rc == -ENOMEM) {
			nr_pages_release(&pages);
			return rc;
		}
		found = found || rc == 0;
	}
	/* All have ended, or none may be looked into: what was seen before stands. */
	if (!found || pages.node_count == 0) {
		nr_pages_release(&pages);
		return 0;
	}
	nr_pages_release(&v->pages);
	v->pages = pages;
	v->has_pages = true;
	v->pages_cost_ns = np_now_ns() - begin;
	lost = pages.outside_bytes > 0;
	if (lost != v->pages_lost)
		nr_event_add_pages(v, lost ? NR_CHANGE_LOST : NR_CHANGE_BACK);
	v->pages_lost = lost;
	return 0;
}

/* ---- a look ---- */

static int check_all(struct nr_verification *v, unsigned flags)
{
	struct nr_verify_state *state = v->state;
	int rc;

	state->turn.which++;
	state->turn.count = flags & NR_VERIFY_ALL ? 1 : TURNS;
	state->available_of = 0;
	rc = may_have_grown(state) ? check_family(v, flags) : check_known(v, flags);
	if (rc == 0 && flags & NR_VERIFY_PAGES)
		rc = check_pages(v);
	if (rc == 0 && state->family.count > 0)
		v->process_count = state->family.count;
	return rc;
}

int nr_verify_check(struct nr_verification *v, unsigned flags, struct np_error *err)
{
	int rc;

	v->check_count++;
	rc = check_all(v, flags);
	if (rc < 0)
		return np_error_sys(err, -rc, "verify process %d", v->program);
	if (!has_seen(v)) {
		/* What was seen before, and in what check, stands. */
		v->check_count--;
		return np_error_set(err, ESRCH, "process %d has ended", v->program);
	}
	v->last_check_ns = np_now_ns();
	sort_threads(v);
	return 0;
}
