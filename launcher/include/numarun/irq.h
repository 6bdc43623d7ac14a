/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steers a network card's interrupts and its choice of transmit queues (XPS) to chosen CPUs, proves
 * that the kernel obeyed, and puts everything back.
 *
 * This changes the host for everybody, so what was there before is on disk before anything is
 * changed: a run that is killed leaves a state file, and nr_irq_restore_left() repairs by it.
 *
 * Only interrupts of queues are steered, those of configuration and error events stay where they
 * are, unless the card has no others. The interrupts of receive queue N and transmit queue N get the
 * same CPU, queue after queue round-robin.
 *
 * A steering is used by one thread at a time. Sources: Documentation/core-api/irq/irq-affinity.rst,
 * Documentation/networking/scaling.rst, Documentation/ABI/testing/sysfs-bus-pci (msi_irqs) and
 * sysfs-class-net-queues of the kernel.
 */
#ifndef NUMARUN_IRQ_H
#define NUMARUN_IRQ_H

#include <numaprobe/topology.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NR_IRQ_STATE_DIR "/run/numarun"

/* A PCI function has at most 2048 interrupts (PCI 3.0, 6.8.2), a card in Linux 4096 queues. */
#define NR_IRQ_COUNT_MAX 2048u
#define NR_IRQ_QUEUE_MAX 4096u

enum nr_irq_mode {
	NR_IRQ_ON,     /* interrupts on the CPUs that the program runs on */
	NR_IRQ_BESIDE, /* on other cores that share their L3 */
};

/*
 * The CPUs to steer to, for a program on @cpus, added to *ret. For BESIDE, where no L3 is told,
 * those of the same node; only CPUs that a ranking would choose. Pure; @topology needs
 * NP_TOPOLOGY_GROUPS for BESIDE.
 *
 *   -EINVAL  no CPU of @cpus is online
 *   -ERANGE  there is no CPU beside them
 *   -ENOMEM
 */
int nr_irq_choose(const struct np_topology *topology, const struct np_bitmap *cpus,
                  enum nr_irq_mode mode, struct np_bitmap *ret, struct np_error *err);

/* Whose interrupts, and in whose name. Zero-initialised: this machine's, in that of this process. */
struct nr_irq_site {
	const char *root;      /* directory that stands for "/"; NULL = "/" */
	const char *state_dir; /* for state files, made when absent; NULL = NR_IRQ_STATE_DIR */
	pid_t holder; /* the process whose death makes a state file stale; 0 = the caller */
};

struct nr_irq_request {
	const struct np_device *device;
	const struct np_bitmap *cpus; /* to steer to */
	/*
	 * CPUs that transmit besides @cpus, or NULL; XPS gives each of them a queue too. With
	 * BESIDE those of the program; with a plan that spilled, those of its farther tiers, as
	 * interrupts go to the lowest CPUs first where there are more CPUs than queues.
	 */
	const struct np_bitmap *senders;
};

enum nr_irq_role { NR_IRQ_CONTROL, NR_IRQ_RX, NR_IRQ_TX, NR_IRQ_RX_TX };

/* What became of an interrupt that was to be steered. */
enum nr_irq_result {
	NR_IRQ_UNTOUCHED, /* not steered: a control interrupt, or nothing was applied yet */
	NR_IRQ_STEERED,   /* the kernel delivers it where it was asked to */
	/*
	 * The kernel took the order and carries it out when the interrupt next fires: x86 without
	 * interrupt remapping moves it only then. An idle queue can stay like this for ever.
	 */
	NR_IRQ_PENDING,
	NR_IRQ_UNTOLD,  /* the order is there; this kernel does not tell what became of it */
	NR_IRQ_MANAGED, /* the kernel places it itself and refuses orders */
	NR_IRQ_MOVED,   /* nr_irq_verify(): somebody moved it away since */
	NR_IRQ_GONE,    /* nr_irq_verify(): its driver has given it up */
};

/* "steered" and so on: words for JSON and tables. Never NULL. */
const char *nr_irq_role_name(enum nr_irq_role role);
const char *nr_irq_result_name(enum nr_irq_result result);

struct nr_irq {
	unsigned irq; /* N of proc/irq/N */
	char *name;   /* its driver's word for it, "virtio0-input.0" */
	enum nr_irq_role role;
	unsigned queue; /* unless role is CONTROL */
	bool is_wanted; /* to be steered */
	bool is_written;
	struct np_bitmap before;    /* smp_affinity_list as it was; empty until applied */
	struct np_bitmap cpus;      /* asked for */
	struct np_bitmap now;       /* as last read */
	struct np_bitmap effective; /* where it is delivered, as last read; empty = not told */
	enum nr_irq_result result;
};

/* A transmit queue: which CPUs send through it. */
struct nr_irq_xps {
	unsigned queue;
	unsigned group_count; /* of 8 hex digits, that the mask has */
	bool is_written;
	struct np_bitmap before;
	struct np_bitmap cpus;
};

/* Sentences for the user; they are the owner's to release. */
struct nr_irq_notes {
	char **lines;
	size_t count;
};

struct nr_irq_steering {
	char *device;
	struct nr_irq *irqs; /* by number */
	size_t irq_count;
	struct nr_irq_xps *queues; /* none where the card has a single queue */
	size_t queue_count;
	struct nr_irq_notes notes; /* that irqbalance runs, what a killed run had left … */
	/* The rest is for the functions below. */
	char *root; /* NULL = "/" */
	char *state_dir;
	char *state_file; /* its name in state_dir, NULL while nothing is changed */
	pid_t holder;
	uint64_t holder_start_ticks; /* proc/PID/stat, field 22 */
};

/*
 * Finds the card's interrupts and transmit queues and decides where each goes. Changes nothing. The
 * caller ends *ret with nr_irq_steering_release(), which does not put anything back.
 *
 *   -ENOTSUP  no network card
 *   -ENODEV   it has no interrupts of its own: a bond, whose cards err names, or it is virtual
 *   -ENOENT   it is gone, or no interrupt of it is in use, as with some cards that are down
 *   -EINVAL   no CPU to steer to
 *   other     of reading sysfs; err names the file
 */
int nr_irq_plan(const struct nr_irq_site *site, const struct nr_irq_request *request,
                struct nr_irq_steering *ret, struct np_error *err);
void nr_irq_steering_release(struct nr_irq_steering *steering);

/*
 * Writes the state file, then steers, then reads back. Interrupts that the kernel manages itself are
 * left to it (NR_IRQ_MANAGED, and a note). What a killed run has left on this card is repaired
 * first, which a note says. On failure all is as it was before, and there is no state file; should
 * putting back fail too, err says so and the state file stays.
 *
 *   -EACCES, -EPERM, -EROFS  not root, or a container's read-only /proc; nothing was changed
 *   -EBUSY    a running process steers this card's interrupts already; err names it
 *   -ENOTSUP  the kernel manages all of them
 *   -EXDEV    the kernel kept something else than what it was told
 *   other     of writing; err names the file
 */
int nr_irq_apply(struct nr_irq_steering *steering, struct np_error *err);

/*
 * Reads all steered interrupts again and updates their results. Returns how many are no longer as
 * asked (MOVED or GONE), 0 when all are.
 *
 *   other  of reading; err names the file
 */
int nr_irq_verify(struct nr_irq_steering *steering, struct np_error *err);

/* What putting back came to, in interrupts and queues. Zero-initialised before its first use. */
struct nr_irq_report {
	unsigned restored_count; /* put back */
	unsigned left_count;     /* somebody else has changed them since: left so */
	unsigned gone_count;     /* no longer the card's, or the card is gone */
	unsigned failed_count;
	unsigned damaged_count; /* state files that cannot be read: left */
	unsigned held_count;    /* state files of processes that run: left */
	struct nr_irq_notes notes;
};

void nr_irq_report_release(struct nr_irq_report *report);

/*
 * Puts back what nr_irq_apply() changed and removes the state file; goes on after a failure. What
 * somebody else has changed since stays as it is. Does nothing when nothing was applied or all was
 * put back already. Adds to *report.
 *
 *   -EXDEV  some could not be put back; err counts them, and the state file stays for the next try
 *   other   the root or the state directory cannot be opened; the state file stays
 */
int nr_irq_restore(struct nr_irq_steering *steering, struct nr_irq_report *report,
                   struct np_error *err);

/*
 * The same for every state file whose holder is dead; one note a file, and one for each thing that
 * could not be put back. Files of living holders are left and named. Damaged files, and those of
 * other users, which could make us write what they like, are left and named.
 *
 *   -EACCES   not root
 *   -EXDEV    some could not be put back, or a file is damaged; err counts them
 *   other     the directory cannot be read; its absence is not an error
 */
int nr_irq_restore_left(const struct nr_irq_site *site, struct nr_irq_report *report,
                        struct np_error *err);

#ifdef __cplusplus
}
#endif

#endif
