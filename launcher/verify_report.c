/* SPDX-License-Identifier: BSD-3-Clause */
#include "verify_report.h"

#include "../probe/base/json.h"
#include "tell.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECOND_NS = 1000000000, STAMP_SIZE = 40, TEXT_SIZE = 256 };

/* ---- in words ---- */

static void print_pages(const struct nr_pages *pages, char *buf, size_t size)
{
	size_t len = 0;

	buf[0] = '\0';
	for (size_t node = 0; node < pages->node_count && len < size; node++)
		if (pages->node_bytes[node] > 0)
			len += (size_t)snprintf(buf + len, size - len, ", %.1f MiB on node %zu",
			                        (double)pages->node_bytes[node] / (1 << 20), node);
}

void nr_verify_tell(const struct nr_job *job)
{
	const struct nr_verification *v = job->verification;
	char cpus[TEXT_SIZE] = "CPUs as inherited";
	char pages[TEXT_SIZE];
	char *policy = nr_policy_print(&v->policy);
	const char *word = v->was_lost ? "was lost meanwhile" : "verified";

	if (v->check_count == 0) {
		free(policy);
		nr_tell(job->label, "not verified: it ended before the first look");
		return;
	}
	if (v->checks_cpus)
		np_cpulist_named("CPU", &v->cpus, cpus, sizeof(cpus));
	print_pages(&v->pages, pages, sizeof(pages));
	nr_tell(job->label, "%s: %s, memory %s; %u look%s, at last %zu thread%s%s",
	        nr_verify_is_ok(v) ? word : "not as asked at the last look", cpus,
	        policy ? policy : "?", v->check_count, v->check_count == 1 ? "" : "s",
	        v->thread_count, v->thread_count == 1 ? "" : "s", pages);
	free(policy);
}

/* ---- JSON ---- */

static json_t *time_json(int64_t time_ns)
{
	char stamp[STAMP_SIZE];
	time_t seconds = (time_t)(time_ns / SECOND_NS);
	struct tm utc;
	size_t len;

	gmtime_r(&seconds, &utc);
	len = strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(stamp + len, sizeof(stamp) - len, ".%03dZ",
	         (int)(time_ns % SECOND_NS / (SECOND_NS / 1000)));
	return json_string(stamp);
}

static json_t *seconds_json(uint64_t ns)
{
	/* Whole milliseconds, so that the text stays short. */
	uint64_t ms = ns / 1000000;

	return json_real((double)ms / 1000);
}

/* An item that was asked for: what the kernel has, and whether that is so. */
static json_t *item_json(const char *asked, const char *kernel, bool is_known, bool ok)
{
	return json_pack("{s:o, s:o, s:o}", "asked", np_json_text(asked), "kernel",
	                 np_json_text(is_known ? kernel : NULL), "ok",
	                 is_known ? json_boolean(ok) : json_null());
}

static json_t *threads_json(const struct nr_verification *v, const char *cpus, const char *policy)
{
	json_t *array = json_array();

	for (size_t i = 0; i < v->thread_count; i++) {
		const struct nr_thread *thread = &v->threads[i];
		json_t *cpus_item = v->checks_cpus
		                            ? item_json(cpus, thread->cpus ? thread->cpus : cpus,
		                                        true, !thread->cpus_lost)
		                            : json_null();
		json_t *policy_item =
			policy ? item_json(policy, thread->policy ? thread->policy : policy,
		                           thread->policy_is_known, !thread->policy_lost)
			       : json_null();

		np_json_append(&array, json_pack("{s:i, s:i, s:o, s:o, s:o}", "process",
		                                 thread->process, "thread", thread->thread, "name",
		                                 np_json_text(thread->name), "cpus", cpus_item,
		                                 "policy", policy_item));
	}
	return array;
}

static json_t *pages_json(const struct nr_verification *v)
{
	json_t *nodes = json_array();

	if (!v->has_pages) {
		json_decref(nodes);
		return json_null();
	}
	for (size_t node = 0; node < v->pages.node_count; node++)
		if (v->pages.node_bytes[node] > 0)
			np_json_append(&nodes, json_pack("{s:i, s:I}", "node", (int)node, "bytes",
			                                 (json_int_t)v->pages.node_bytes[node]));
	return json_pack("{s:b, s:o, s:I, s:I, s:I, s:I}", "ok", !v->pages_lost, "nodes", nodes,
	                 "policy_bytes", (json_int_t)v->pages.judged_bytes, "outside_bytes",
	                 (json_int_t)v->pages.outside_bytes, "own_policy_bytes",
	                 (json_int_t)v->pages.own_bytes, "file_bytes",
	                 (json_int_t)v->pages.file_bytes);
}

static json_t *events_json(const struct nr_verification *v)
{
	json_t *array = json_array();

	for (size_t i = 0; i < v->event_count; i++) {
		const struct nr_event *event = &v->events[i];
		bool has_cause = event->cause != NR_CAUSE_NONE;

		np_json_append(
			&array,
			json_pack("{s:o, s:o, s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o}", "time",
		                  time_json(event->time_ns), "after_s",
		                  seconds_json(event->after_ns), "change",
		                  nr_change_name(event->change), "item", nr_item_name(event->item),
		                  "thread",
		                  np_json_number(event->thread != 0, (uint64_t)event->thread),
		                  "name", np_json_text(event->thread ? event->name : NULL), "asked",
		                  event->asked, "kernel", event->kernel, "cause",
		                  np_json_text(has_cause ? nr_cause_name(event->cause) : NULL),
		                  "detail", np_json_text(*event->detail ? event->detail : NULL)));
	}
	return array;
}

static json_t *end_json(const struct nr_job *job)
{
	bool by_signal = job->has_ended && WIFSIGNALED(job->wait_status);

	if (!job->has_ended && !job->start_status)
		return json_null();
	return json_pack("{s:o, s:o, s:o}", "exit_status",
	                 np_json_number(!by_signal, (uint64_t)nr_job_status(job)), "signal",
	                 np_json_number(by_signal, by_signal ? WTERMSIG(job->wait_status) : 0),
	                 "reason", np_json_text(job->reason.code ? job->reason.text : job->death));
}

static json_t *command_json(const struct nr_job *job)
{
	json_t *array = json_array();

	for (char *const *word = job->command; *word; word++)
		np_json_append(&array, np_json_text(*word));
	return array;
}

static json_t *job_json(const struct nr_job *job)
{
	const struct nr_verification *v = job->verification;
	bool has_policy = v->policy.mode != NR_POLICY_KEEP;
	bool was_seen = v->check_count > 0;
	char *cpus = np_cpulist_print(&v->cpus);
	char *policy = has_policy ? nr_policy_print(&v->policy) : NULL;
	json_t *object = NULL;

	if (cpus && (policy || !has_policy))
		object = json_pack(
			"{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i, s:o, s:o, s:o, s:o, s:o, s:i, s:o}",
			"role", np_json_text(job->label), "pid",
			np_json_number(job->pid > 0, (uint64_t)job->pid), "command",
			command_json(job), "started",
			v->begin_time_ns ? time_json(v->begin_time_ns) : json_null(), "asked",
			json_pack("{s:o, s:o}", "cpus", np_json_text(v->checks_cpus ? cpus : NULL),
		                  "policy", np_json_text(policy)),
			"ok", was_seen ? json_boolean(nr_verify_is_ok(v)) : json_null(), "was_lost",
			v->was_lost, "looks", (int)v->check_count, "last_look_s",
			was_seen ? seconds_json(v->last_check_ns - v->begin_ns) : json_null(),
			"processes", json_integer((json_int_t)v->process_count), "threads",
			threads_json(v, cpus, policy), "pages", pages_json(v), "events",
			events_json(v), "events_dropped", (int)v->events_dropped, "end",
			end_json(job));
	free(cpus);
	free(policy);
	return object;
}

/* The kernel's own moving of pages between nodes: 0 off, 1 on; null where it has none. */
static json_t *balancing_json(void)
{
	FILE *file = fopen("/proc/sys/kernel/numa_balancing", "re");
	int value = 0;
	bool known = file && fscanf(file, "%d", &value) == 1;

	if (file)
		fclose(file);
	return np_json_number(known, (uint64_t)value);
}

json_t *nr_verify_json(const struct nr_job *jobs, size_t count)
{
	json_t *programs = json_array();
	bool ok = true;

	for (size_t i = 0; i < count; i++) {
		const struct nr_verification *v = jobs[i].verification;

		ok = ok && v->check_count > 0 && nr_verify_is_ok(v) && !v->was_lost;
		np_json_append(&programs, job_json(&jobs[i]));
	}
	return json_pack("{s:s, s:b, s:o, s:o}", "schema", "numakit/verify/1", "ok", ok,
	                 "numa_balancing", balancing_json(), "programs", programs);
}
