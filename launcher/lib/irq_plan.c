/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which interrupts and queues a card has, and where each is to go. Reads, and changes nothing.
 */
#include "irq_parts.h"
#include "process.h"

#include <errno.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PCI_DIR "sys/bus/pci/devices"

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "interrupts");
}

/* ---- CPUs to steer to ---- */

/* Those that share an L3 with @cpu, or where none is told its node. -ENOMEM. */
static int add_neighbours(const struct np_topology *topology, unsigned cpu, struct np_bitmap *ret)
{
	const struct np_group *cache = np_topology_group_of(topology, NP_LEVEL_L3, cpu);
	const struct np_bitmap *nodes = np_topology_nodes(topology, NP_NODES_WITH_CPUS);

	if (cache)
		return np_bitmap_or(ret, &cache->cpus);
	np_bitmap_for_each (node, nodes) {
		const struct np_node *home = np_topology_node(topology, node);

		if (np_bitmap_has(&home->cpus, cpu) && np_bitmap_or(ret, &home->cpus) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int choose_beside(const struct np_topology *topology, const struct np_bitmap *cpus,
                         struct np_bitmap *ret)
{
	np_bitmap_for_each (cpu, cpus)
		if (add_neighbours(topology, cpu, ret) < 0)
			return -ENOMEM;
	np_bitmap_for_each (cpu, cpus) {
		const struct np_group *core = np_topology_group_of(topology, NP_LEVEL_CORE, cpu);

		if (core)
			np_bitmap_and_not(ret, &core->cpus);
		np_bitmap_remove(ret, cpu);
	}
	np_bitmap_and(ret, np_topology_cpus(topology, NP_CPUS_USABLE));
	return 0;
}

int nr_irq_choose(const struct np_topology *topology, const struct np_bitmap *cpus,
                  enum nr_irq_mode mode, struct np_bitmap *ret, struct np_error *err)
{
	struct np_bitmap chosen = { 0 };
	char list[NR_IRQ_LIST_SIZE];
	int rc = mode == NR_IRQ_BESIDE ? choose_beside(topology, cpus, &chosen)
	                               : np_bitmap_copy(&chosen, cpus);

	np_bitmap_and(&chosen, np_topology_cpus(topology, NP_CPUS_ONLINE));
	if (rc == 0 && !np_bitmap_is_empty(&chosen))
		rc = np_bitmap_or(ret, &chosen);
	else if (rc == 0 && mode == NR_IRQ_BESIDE)
		rc = np_error_set(err, ERANGE,
		                  "interrupts beside %s: no other core of their L3 cache can be "
		                  "used; take fewer CPUs (--count), or --irq without =beside",
		                  np_cpulist_named("CPU", cpus, list, sizeof(list)));
	else if (rc == 0)
		rc = np_error_set(err, EINVAL, "interrupts: no CPU to steer to is online");
	np_bitmap_release(&chosen);
	return rc == -ENOMEM ? no_memory(err) : rc;
}

/* ---- the card's interrupts ---- */

/* The cards that a bond, a bridge or a VLAN stands on, "eth0, eth1", from its lower_* links. */
static void name_lower(const struct np_sysroot *root, const char *device, char *buf, size_t size)
{
	static const char prefix[] = "lower_";
	char path[NR_IRQ_PATH_SIZE];
	size_t used = 0;
	char **names;
	int count;

	buf[0] = '\0';
	snprintf(path, sizeof(path), NR_IRQ_NET_DIR "/%s", device);
	count = np_sysroot_list(root, path, &names, NULL);
	if (count < 0)
		return;
	for (int i = 0; i < count && used < size; i++)
		if (strncmp(names[i], prefix, strlen(prefix)) == 0)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
			                         names[i] + strlen(prefix));
	free(names);
}

/* @folder has interrupts of message type, or else one by wire, which is 0 when there is none. */
static int find_in(const struct np_sysroot *root, const char *folder, struct np_bitmap *ret,
                   struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];
	long irq = 0;
	int rc = 0;

	snprintf(path, sizeof(path), "%s/msi_irqs", folder);
	if (np_sysroot_has(root, path))
		rc = np_sysroot_list_indexes(root, path, "", ret, err);
	if (rc < 0 || !np_bitmap_is_empty(ret))
		return rc;
	snprintf(path, sizeof(path), "%s/irq", folder);
	if (np_sysroot_has(root, path))
		rc = np_sysroot_read_long(root, path, 0, NP_BITMAP_INDEX_MAX, &irq, err);
	if (rc == 0 && irq > 0 && np_bitmap_add(ret, (unsigned)irq) < 0)
		rc = no_memory(err);
	return rc;
}

/* A virtio card has no interrupts of its own, but the PCI function above it has. */
static int find_interrupts(const struct np_sysroot *root, const struct np_device *device,
                           struct np_bitmap *ret, struct np_error *err)
{
	char folder[NR_IRQ_PATH_SIZE];
	char lower[NR_IRQ_LIST_SIZE];
	int rc;

	snprintf(folder, sizeof(folder), NR_IRQ_NET_DIR "/%s", device->name);
	if (!np_sysroot_has(root, folder))
		return np_error_sys(err, ENOENT, "%s: %s/%s", device->name, root->path, folder);
	snprintf(folder, sizeof(folder), NR_IRQ_NET_DIR "/%s/device", device->name);
	rc = find_in(root, folder, ret, err);
	if (rc == 0 && np_bitmap_is_empty(ret) && device->pci) {
		snprintf(folder, sizeof(folder), PCI_DIR "/%s", device->pci);
		rc = find_in(root, folder, ret, err);
	}
	if (rc < 0 || !np_bitmap_is_empty(ret))
		return rc;
	name_lower(root, device->name, lower, sizeof(lower));
	if (*lower)
		return np_error_set(err, ENODEV,
		                    "%s: it has no interrupts of its own; steer those of the cards "
		                    "under it: %s",
		                    device->name, lower);
	return np_error_set(err, ENODEV, "%s: sysfs tells no interrupts of it, so none to steer",
	                    device->name);
}

/* Takes interrupt @number in, unless no driver handles it. */
static int add_interrupt(const struct np_sysroot *root, unsigned number,
                         struct nr_irq_steering *steering, struct np_error *err)
{
	struct nr_irq *irq;
	char *name;
	int rc = nr_irq_name_read(root, number, steering->device, &name, err);

	if (rc < 0 || !name)
		return rc;
	irq = nr_irq_add(steering);
	if (!irq) {
		free(name);
		return no_memory(err);
	}
	irq->irq = number;
	irq->name = name;
	irq->role = nr_irq_role_of(name, steering->device, &irq->queue);
	return 0;
}

static int add_interrupts(const struct np_sysroot *root, const struct np_device *device,
                          struct nr_irq_steering *steering, struct np_error *err)
{
	struct np_bitmap numbers = { 0 };
	int rc = find_interrupts(root, device, &numbers, err);

	if (rc == 0 && np_bitmap_count(&numbers) > NR_IRQ_COUNT_MAX)
		rc = np_error_set(err, E2BIG, "%s: %u interrupts, more than the %u of PCI",
		                  device->name, np_bitmap_count(&numbers), NR_IRQ_COUNT_MAX);
	np_bitmap_for_each (number, &numbers)
		if (rc == 0)
			rc = add_interrupt(root, number, steering, err);
	np_bitmap_release(&numbers);
	if (rc == 0 && steering->irq_count == 0)
		rc = np_error_set(err, ENOENT,
		                  "%s: none of its interrupts is in use; is it down? (ip link set "
		                  "%s up)",
		                  device->name, device->name);
	return rc;
}

/* A card may share its PCI function with others (ports, representors), and so its interrupts. */
static void note_sharing(const struct np_sysroot *root, const struct np_device *device,
                         struct nr_irq_steering *steering)
{
	char path[NR_IRQ_PATH_SIZE];
	char **names;
	int count;

	if (!device->pci)
		return;
	snprintf(path, sizeof(path), PCI_DIR "/%s/net", device->pci);
	count = np_sysroot_list(root, path, &names, NULL);
	if (count < 0)
		return;
	if (count > 1)
		nr_irq_note(&steering->notes,
		            "%s: %d interfaces share the interrupts of %s, all are steered",
		            device->name, count, device->pci);
	free(names);
}

static int add_queues(const struct np_sysroot *root, struct nr_irq_steering *steering,
                      struct np_error *err)
{
	struct np_bitmap numbers = { 0 };
	char path[NR_IRQ_PATH_SIZE];
	int rc = 0;

	snprintf(path, sizeof(path), NR_IRQ_NET_DIR "/%s/queues", steering->device);
	if (np_sysroot_has(root, path))
		rc = np_sysroot_list_indexes(root, path, "tx-", &numbers, err);
	/* With a single queue there is nothing to choose, and its xps_cpus cannot be read. */
	if (np_bitmap_count(&numbers) < 2)
		np_bitmap_release(&numbers);
	np_bitmap_for_each (number, &numbers) {
		struct nr_irq_xps *queue;

		/* Kernels without CONFIG_XPS have no such file. */
		if (rc < 0 || number >= NR_IRQ_QUEUE_MAX ||
		    !np_sysroot_has(root, nr_irq_xps_path(path, steering->device, number)))
			continue;
		queue = nr_irq_add_queue(steering);
		if (!queue)
			rc = no_memory(err);
		else
			queue->queue = number;
	}
	np_bitmap_release(&numbers);
	return rc;
}

/* ---- where they go ---- */

/* CPUs in their order, at least one, and the queues that share them. */
struct seats {
	unsigned *cpus;
	size_t cpu_count;
	struct np_bitmap queues; /* numbers that interrupts have */
};

/* The place of @queue among the queues that have interrupts. */
static size_t rank_of(const struct seats *seats, unsigned queue)
{
	size_t rank = 0;

	if (!np_bitmap_has(&seats->queues, queue))
		return queue % np_bitmap_count(&seats->queues);
	np_bitmap_for_each (other, &seats->queues)
		rank += other < queue;
	return rank;
}

static unsigned cpu_of(const struct seats *seats, size_t rank)
{
	/* check_request() has seen to it that there is one. */
	return seats->cpus[rank % seats->cpu_count]; // NOLINT(clang-analyzer-core.DivideZero)
}

/* With more CPUs than queues, queue i sends for the CPUs i, i + n, i + 2n …: each has one queue. */
static int assign_queue(const struct seats *seats, struct nr_irq_xps *queue)
{
	size_t step = np_bitmap_count(&seats->queues);
	size_t rank = rank_of(seats, queue->queue);
	int rc = np_bitmap_add(&queue->cpus, cpu_of(seats, rank));

	for (size_t i = rank + step; i < seats->cpu_count && rc == 0; i += step)
		rc = np_bitmap_add(&queue->cpus, seats->cpus[i]);
	return rc;
}

/* CPUs that send but get no interrupts have a queue each too, round-robin. */
static int assign_senders(const struct nr_irq_request *request, struct nr_irq_steering *steering)
{
	size_t i = 0;
	int rc = 0;

	if (!request->senders || steering->queue_count == 0)
		return 0;
	np_bitmap_for_each (cpu, request->senders)
		if (rc == 0 && !np_bitmap_has(request->cpus, cpu))
			rc = np_bitmap_add(&steering->queues[i++ % steering->queue_count].cpus,
			                   cpu);
	return rc;
}

static int assign_interrupts(const struct seats *seats, struct nr_irq_steering *steering)
{
	bool only_control = np_bitmap_is_empty(&seats->queues);
	size_t next = 0;
	int rc = 0;

	for (size_t i = 0; i < steering->irq_count && rc == 0; i++) {
		struct nr_irq *irq = &steering->irqs[i];
		size_t rank;

		irq->is_wanted = only_control || irq->role != NR_IRQ_CONTROL;
		if (!irq->is_wanted)
			continue;
		rank = only_control ? next++ : rank_of(seats, irq->queue);
		rc = np_bitmap_add(&irq->cpus, cpu_of(seats, rank));
	}
	return rc;
}

static int find_queues(const struct nr_irq_steering *steering, struct np_bitmap *ret)
{
	int rc = 0;

	for (size_t i = 0; i < steering->irq_count && rc == 0; i++)
		if (steering->irqs[i].role != NR_IRQ_CONTROL)
			rc = np_bitmap_add(ret, steering->irqs[i].queue);
	return rc;
}

static int assign(const struct nr_irq_request *request, struct nr_irq_steering *steering,
                  struct np_error *err)
{
	struct seats seats = { 0 };
	int rc = find_queues(steering, &seats.queues);

	seats.cpus = calloc(np_bitmap_count(request->cpus) + 1, sizeof(*seats.cpus));
	if (!seats.cpus) {
		np_bitmap_release(&seats.queues);
		return no_memory(err);
	}
	np_bitmap_for_each (cpu, request->cpus)
		seats.cpus[seats.cpu_count++] = cpu;
	if (rc == 0)
		rc = assign_interrupts(&seats, steering);
	/* Queues whose interrupts cannot be told apart: nothing says which of them serves which. */
	if (np_bitmap_is_empty(&seats.queues))
		steering->queue_count = 0;
	for (size_t i = 0; i < steering->queue_count && rc == 0; i++)
		rc = assign_queue(&seats, &steering->queues[i]);
	if (rc == 0)
		rc = assign_senders(request, steering);
	np_bitmap_release(&seats.queues);
	free(seats.cpus);
	return rc < 0 ? no_memory(err) : 0;
}

/* ---- who would move them again ---- */

static void note_balancer(const struct np_sysroot *root, struct nr_irq_steering *steering)
{
	char path[NR_IRQ_PATH_SIZE];
	char **names;
	int count = np_sysroot_list(root, "proc", &names, NULL);
	bool found = false;

	for (int i = 0; i < count && !found; i++) {
		char *comm = NULL;

		if (strspn(names[i], "0123456789") != strlen(names[i]))
			continue;
		snprintf(path, sizeof(path), "proc/%.20s/comm", names[i]);
		/* A process that ended meanwhile is none that moves interrupts. */
		found = np_sysroot_read(root, path, &comm, NULL) >= 0 &&
		        strcmp(comm, "irqbalance") == 0;
		if (found)
			nr_irq_note(
				&steering->notes,
				"irqbalance (process %s) may move the interrupts again within "
				"10 s: stop it meanwhile, or run it with --banirq=NUMBER for each",
				names[i]);
		free(comm);
	}
	if (count >= 0)
		free(names);
}

/* ---- the plan ---- */

static int begin(const struct nr_irq_site *site, const struct nr_irq_request *request,
                 struct nr_irq_steering *ret, struct np_error *err)
{
	const char *dir = site->state_dir ? site->state_dir : NR_IRQ_STATE_DIR;

	*ret = (struct nr_irq_steering){
		.device = strdup(request->device->name),
		.root = site->root ? strdup(site->root) : NULL,
		.state_dir = strdup(dir),
		.holder = site->holder ? site->holder : getpid(),
	};
	return ret->device && ret->state_dir && (ret->root || !site->root) ? 0 : no_memory(err);
}

static int check_request(const struct nr_irq_request *request, struct np_error *err)
{
	const struct np_device *device = request->device;

	if (device->kind != NP_DEVICE_NET)
		return np_error_set(err, ENOTSUP,
		                    "%s: a %s device, but only the interrupts of network "
		                    "interfaces are steered",
		                    device->name, np_device_kind_name(device->kind));
	/* It stands in paths; the kernel allows neither, nor more than 15 bytes. */
	if (!*device->name || *device->name == '.' || strchr(device->name, '/') ||
	    strlen(device->name) > 60)
		return np_error_set(err, EINVAL, "'%.60s' is no network interface", device->name);
	if (np_bitmap_is_empty(request->cpus))
		return np_error_set(err, EINVAL, "%s: no CPU to steer its interrupts to",
		                    device->name);
	return 0;
}

int nr_irq_plan(const struct nr_irq_site *site, const struct nr_irq_request *request,
                struct nr_irq_steering *ret, struct np_error *err)
{
	struct nr_process holder;
	struct nr_irq_steering steering = { 0 };
	struct np_sysroot root;
	int rc = check_request(request, err);

	if (rc == 0)
		rc = np_sysroot_open(site->root, &root, err);
	if (rc < 0)
		return rc;
	rc = begin(site, request, &steering, err);
	if (rc == 0)
		rc = add_interrupts(&root, request->device, &steering, err);
	if (rc == 0)
		rc = add_queues(&root, &steering, err);
	if (rc == 0)
		rc = assign(request, &steering, err);
	if (rc == 0)
		rc = nr_process_read(&root, steering.holder, &holder, err);
	if (rc == 0) {
		steering.holder_start_ticks = holder.start_ticks;
		note_sharing(&root, request->device, &steering);
		note_balancer(&root, &steering);
		*ret = steering;
	} else {
		nr_irq_steering_release(&steering);
	}
	np_sysroot_close(&root);
	return rc;
}
