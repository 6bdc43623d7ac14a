/* SPDX-License-Identifier: BSD-3-Clause */
#include "steer.h"

#include "tell.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <unistd.h>

enum { BRIEF_SIZE = 64, STATUS_NO = 1 };

static void tell_notes(const struct nr_irq_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		nr_tell(NULL, "%s", notes->lines[i]);
}

static void explain(const struct nr_irq_steering *steering)
{
	char cpus[BRIEF_SIZE];

	for (size_t i = 0; i < steering->irq_count; i++) {
		const struct nr_irq *irq = &steering->irqs[i];

		if (irq->is_wanted)
			fprintf(stderr, "  interrupt %u (%s): %s, %s\n", irq->irq, irq->name,
			        np_cpulist_named("CPU", &irq->cpus, cpus, sizeof(cpus)),
			        nr_irq_result_name(irq->result));
	}
}

int nr_steer_begin(const struct nr_args *args, const struct np_topology *topology,
                   const struct nr_plan *plan, struct nr_steer *ret, struct np_error *err)
{
	struct nr_irq_site site = { .state_dir = args->registry };
	struct np_bitmap cpus = { 0 };
	struct nr_irq_request request = {
		.device = plan->near,
		.cpus = &cpus,
		.senders = args->irq_mode == NR_IRQ_BESIDE ? &plan->cpus : NULL,
	};
	int rc;

	if (!args->steers_irqs)
		return 0;
	if (args->registry && access(args->registry, F_OK) < 0)
		return np_error_sys(err, errno, "--registry: %s", args->registry);
	rc = nr_irq_choose(topology, &plan->cpus, args->irq_mode, &cpus, err);
	if (rc == 0)
		rc = nr_irq_plan(&site, &request, &ret->steering, err);
	if (rc == 0) {
		rc = nr_irq_apply(&ret->steering, err);
		ret->is_applied = rc == 0;
		if (rc < 0)
			nr_irq_steering_release(&ret->steering);
	}
	np_bitmap_release(&cpus);
	if (rc < 0)
		return np_error_wrap(err, rc, "--irq");
	tell_notes(&ret->steering.notes);
	if (args->explain)
		explain(&ret->steering);
	return 0;
}

void nr_steer_check(struct nr_steer *steer)
{
	struct np_error err = { 0 };
	int count;

	if (!steer->is_applied)
		return;
	count = nr_irq_verify(&steer->steering, &err);
	if (count < 0)
		nr_tell(NULL, "%s", err.text);
	if (count > steer->moved_count)
		nr_tell(NULL,
		        "%s: %d interrupt%s no longer where --irq put %s: somebody else "
		        "moved %s (irqbalance?)",
		        steer->steering.device, count, count == 1 ? " is" : "s are",
		        count == 1 ? "it" : "them", count == 1 ? "it" : "them");
	if (count >= 0)
		steer->moved_count = count;
}

void nr_steer_end(struct nr_steer *steer)
{
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };

	if (!steer->is_applied)
		return;
	if (nr_irq_restore(&steer->steering, &report, &err) < 0)
		nr_tell(NULL, "%s", err.text);
	tell_notes(&report.notes);
	nr_irq_report_release(&report);
	nr_irq_steering_release(&steer->steering);
	steer->is_applied = false;
}

int nr_steer_restore_left(const struct nr_args *args)
{
	struct nr_irq_site site = { .state_dir = args->registry };
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };
	int rc = nr_irq_restore_left(&site, &report, &err);
	int status = 0;

	for (size_t i = 0; i < report.notes.count; i++)
		puts(report.notes.lines[i]);
	if (rc < 0)
		status = nr_fail(&err, rc == -EXDEV ? STATUS_NO : NR_EXIT_FAILED);
	nr_irq_report_release(&report);
	return nr_written(0) ? NR_EXIT_FAILED : status;
}
