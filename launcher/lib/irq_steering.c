/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The steering as a thing that owns memory: its tables, its sentences and its end.
 */
#include "irq_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void nr_irq_note(struct nr_irq_notes *notes, const char *fmt, ...)
{
	char **grown = realloc(notes->lines, (notes->count + 1) * sizeof(*grown));
	va_list args;
	int len;

	if (!grown)
		return;
	notes->lines = grown;
	va_start(args, fmt);
	len = vasprintf(&grown[notes->count], fmt, args);
	va_end(args);
	if (len >= 0)
		notes->count++;
}

void nr_irq_notes_release(struct nr_irq_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++)
		free(notes->lines[i]);
	free(notes->lines);
	*notes = (struct nr_irq_notes){ 0 };
}

void nr_irq_report_release(struct nr_irq_report *report)
{
	nr_irq_notes_release(&report->notes);
	*report = (struct nr_irq_report){ 0 };
}

/* One more element at the end of a table that has room for powers of two. */
static void *grow(void *table, size_t count, size_t size)
{
	bool is_full = (count & (count - 1)) == 0;

	return is_full ? realloc(table, (count ? 2 * count : 1) * size) : table;
}

struct nr_irq *nr_irq_add(struct nr_irq_steering *steering)
{
	struct nr_irq *irqs = grow(steering->irqs, steering->irq_count, sizeof(*irqs));

	if (!irqs)
		return NULL;
	steering->irqs = irqs;
	irqs[steering->irq_count] = (struct nr_irq){ 0 };
	return &irqs[steering->irq_count++];
}

struct nr_irq_xps *nr_irq_add_queue(struct nr_irq_steering *steering)
{
	struct nr_irq_xps *queues = grow(steering->queues, steering->queue_count, sizeof(*queues));

	if (!queues)
		return NULL;
	steering->queues = queues;
	queues[steering->queue_count] = (struct nr_irq_xps){ 0 };
	return &queues[steering->queue_count++];
}

void nr_irq_steering_release(struct nr_irq_steering *steering)
{
	for (size_t i = 0; i < steering->irq_count; i++) {
		struct nr_irq *irq = &steering->irqs[i];

		free(irq->name);
		np_bitmap_release(&irq->before);
		np_bitmap_release(&irq->cpus);
		np_bitmap_release(&irq->now);
		np_bitmap_release(&irq->effective);
	}
	for (size_t i = 0; i < steering->queue_count; i++) {
		np_bitmap_release(&steering->queues[i].before);
		np_bitmap_release(&steering->queues[i].cpus);
	}
	free(steering->irqs);
	free(steering->queues);
	free(steering->device);
	free(steering->root);
	free(steering->state_dir);
	free(steering->state_file);
	nr_irq_notes_release(&steering->notes);
	*steering = (struct nr_irq_steering){ 0 };
}

char *nr_irq_mask_print(const struct np_bitmap *set, unsigned group_count)
{
	unsigned last = np_bitmap_last(set);
	unsigned groups = last == NP_BITMAP_END ? 1 : last / 32 + 1;
	size_t size;
	char *text;
	size_t used = 0;

	if (groups < group_count)
		groups = group_count;
	size = 9 * (size_t)groups + 1;
	text = malloc(size);
	for (unsigned g = groups; text && g-- > 0;) {
		uint32_t bits = 0;

		for (unsigned b = 0; b < 32; b++)
			bits |= (uint32_t)np_bitmap_has(set, 32 * g + b) << b;
		used += (size_t)snprintf(text + used, size - used, "%08x%s", bits, g ? "," : "");
	}
	return text;
}
