/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steering interrupts: on a made-up host whose card has four queues, as the emulated machine "mq"
 * has it. Plain files keep what is written into them, as the kernel's do when they obey.
 */
#include "../../launcher/lib/irq_parts.h"
#include "host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PCI_FOLDER "sys/devices/pci0000:41/0000:41:00.0"
#define NIC_FOLDER PCI_FOLDER "/virtio0/net/eth0"

enum { HOLDER = 4711, FIRST_IRQ = 25, QUEUES = 4, NOBODY = 65534 };

/* ---- orders that are refused ---- */

/* The end of the path that write(2) refuses, with which errno, and how often. */
static struct {
	const char *suffix;
	int code;
	unsigned count;
} refusal;

enum { ONCE = 1, ALWAYS = 1000 };

ssize_t __real_write(int fd, const void *buf, size_t count);
ssize_t __wrap_write(int fd, const void *buf, size_t count);

ssize_t __wrap_write(int fd, const void *buf, size_t count)
{
	char link[64];
	char path[PATH_MAX];
	ssize_t len;

	if (!refusal.suffix || refusal.count == 0)
		return __real_write(fd, buf, count);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len > 0 ? len : 0] = '\0';
	if (strlen(path) < strlen(refusal.suffix) ||
	    strcmp(path + strlen(path) - strlen(refusal.suffix), refusal.suffix) != 0)
		return __real_write(fd, buf, count);
	refusal.count--;
	errno = refusal.code;
	return -1;
}

static void refuse(const char *suffix, int code, unsigned count)
{
	refusal.suffix = suffix;
	refusal.code = code;
	refusal.count = count;
}

/* ---- the host ---- */

static void write_irq(const struct host *host, unsigned irq, const char *file, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "proc/irq/%u/%s", irq, file);
	host_write(host, path, text);
}

static void add_irq(const struct host *host, unsigned irq, const char *name, const char *affinity,
                    const char *effective)
{
	char path[160];

	write_irq(host, irq, "smp_affinity_list", affinity);
	write_irq(host, irq, "effective_affinity_list", effective);
	write_irq(host, irq, "affinity_hint", "00\n");
	snprintf(path, sizeof(path), "proc/irq/%u/%s", irq, name);
	host_mkdir(host, path);
}

static void add_msi(const struct host *host, const char *folder, unsigned irq)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/msi_irqs/%u", folder, irq);
	host_write(host, path, "msix\n");
}

static void add_process(const struct host *host, int pid, const char *state, unsigned start)
{
	char path[64];
	char text[256];

	snprintf(path, sizeof(path), "proc/%d/stat", pid);
	snprintf(text, sizeof(text),
	         "%d (num) a (run)) %s 1 2 3 0 -1 4194560 10 0 0 0 1 2 0 0 20 0 1 0 %u 100 20 30\n",
	         pid, state, start);
	host_write(host, path, text);
}

/* Interrupts 25 (config), 26 (input.0), 27 (output.0) … 33 (output.3), and another card's 40. */
static void build_irqs(const struct host *host)
{
	static const char *const before[] = { "0-1\n", "2-3\n", "4-5\n", "6-7\n" };
	static const char *const effective[] = { "0\n", "2\n", "4\n", "6\n" };
	static const char *const masks[] = { "03\n", "0c\n", "30\n", "c0\n" };
	char name[128];

	add_msi(host, PCI_FOLDER, FIRST_IRQ);
	add_irq(host, FIRST_IRQ, "virtio0-config", "4-7\n", "5\n");
	for (unsigned q = 0; q < QUEUES; q++) {
		for (unsigned way = 0; way < 2; way++) {
			unsigned irq = FIRST_IRQ + 1 + 2 * q + way;

			add_msi(host, PCI_FOLDER, irq);
			snprintf(name, sizeof(name), "virtio0-%s.%u", way ? "output" : "input", q);
			add_irq(host, irq, name, before[q], effective[q]);
		}
		snprintf(name, sizeof(name), NIC_FOLDER "/queues/tx-%u/xps_cpus", q);
		host_write(host, name, masks[q]);
	}
	add_msi(host, "sys/devices/pci0000:41/0000:41:00.1", 40);
	add_irq(host, 40, "virtio1-input.0", "0-7\n", "3\n");
}

static int mq_create(void **state)
{
	static const struct host_shape shape = {
		.node_count = 2,
		.cores_per_node = 4,
		.nics = { { .name = "eth0", .pci = "0000:41:00.0", .numa_node = 1 },
		          { .name = "eth1", .pci = "0000:41:00.1", .numa_node = 1 } },
	};
	int rc = host_create(state);
	const struct host *host = *state;

	refuse(NULL, 0, 0);
	host_build(host, &shape);
	host_write(host, NIC_FOLDER "/operstate", "up\n");
	host_link(host, NIC_FOLDER "/device", "../../../virtio0");
	host_link(host, "sys/class/net/eth0",
	          "../../devices/pci0000:41/0000:41:00.0/virtio0/net/eth0");
	build_irqs(host);
	add_process(host, HOLDER, "S", 1000);
	host_mkdir(host, "run");
	return rc;
}

#define mq_test(f) cmocka_unit_test_setup_teardown(f, mq_create, host_destroy)

static char *read_file(const struct host *host, const char *path)
{
	struct np_error err = { 0 };
	char *text = NULL;

	assert_np_ok(np_sysroot_read(&host->root, path, &text, &err), &err);
	return text;
}

static bool exists(const struct host *host, const char *path)
{
	return np_sysroot_has(&host->root, path);
}

static void assert_file(const struct host *host, const char *path, const char *text)
{
	char *found = read_file(host, path);

	check_case("%s", path);
	assert_text(found, text);
	free(found);
}

static void assert_affinity(const struct host *host, unsigned irq, const char *list)
{
	char path[64];

	snprintf(path, sizeof(path), "proc/irq/%u/smp_affinity_list", irq);
	assert_file(host, path, list);
}

static void assert_xps(const struct host *host, unsigned queue, const char *mask)
{
	char path[128];

	snprintf(path, sizeof(path), NIC_FOLDER "/queues/tx-%u/xps_cpus", queue);
	assert_file(host, path, mask);
}

/* All as mq_create() has made it, in lists and masks as we write them. */
static void assert_as_before(const struct host *host)
{
	static const char *const before[] = { "0-1", "2-3", "4-5", "6-7" };
	static const char *const masks[] = { "00000003", "0000000c", "00000030", "000000c0" };

	assert_affinity(host, FIRST_IRQ, "4-7");
	for (unsigned q = 0; q < QUEUES; q++) {
		char *mask;
		char path[128];

		assert_affinity(host, FIRST_IRQ + 1 + 2 * q, before[q]);
		assert_affinity(host, FIRST_IRQ + 2 + 2 * q, before[q]);
		/* Untouched masks are still as short as the kernel prints them. */
		snprintf(path, sizeof(path), NIC_FOLDER "/queues/tx-%u/xps_cpus", q);
		mask = read_file(host, path);
		assert_has(masks[q], mask);
		free(mask);
	}
	assert_affinity(host, 40, "0-7");
}

/* ---- a steering ---- */

struct bench {
	const struct host *host;
	char state_dir[300];
	struct nr_irq_site site;
	struct np_topology *topology;
};

static struct bench bench_of(void **state, const char *device)
{
	struct bench bench = { .host = *state };
	const char *const devices[] = { device, NULL };

	snprintf(bench.state_dir, sizeof(bench.state_dir), "%s/run/numarun", bench.host->dir);
	bench.site.root = bench.host->dir;
	bench.site.holder = HOLDER;
	bench.topology = host_load(bench.host, NP_TOPOLOGY_GROUPS, devices);
	return bench;
}

static int plan(struct bench *bench, const char *cpus, const char *senders,
                struct nr_irq_steering *ret, struct np_error *err)
{
	struct np_bitmap to = set_of(cpus);
	struct np_bitmap from = set_of(senders);
	struct nr_irq_request request = {
		.device = np_topology_device(bench->topology, 0),
		.cpus = &to,
		.senders = &from,
	};
	int rc;

	bench->site.state_dir = bench->state_dir;
	rc = nr_irq_plan(&bench->site, &request, ret, err);
	np_bitmap_release(&to);
	np_bitmap_release(&from);
	return rc;
}

static struct nr_irq_steering planned(struct bench *bench, const char *cpus)
{
	struct nr_irq_steering steering = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(plan(bench, cpus, "", &steering, &err), &err);
	return steering;
}

/* Steers eth0 to @cpus and forgets it, as a run that is killed does. */
static void steer_and_die(struct bench *bench, const char *cpus)
{
	struct nr_irq_steering steering = planned(bench, cpus);
	struct np_error err = { 0 };

	assert_np_ok(nr_irq_apply(&steering, &err), &err);
	nr_irq_steering_release(&steering);
}

static const struct nr_irq *find_irq(const struct nr_irq_steering *steering, unsigned irq)
{
	for (size_t i = 0; i < steering->irq_count; i++)
		if (steering->irqs[i].irq == irq)
			return &steering->irqs[i];
	fail_msg("interrupt %u is not among those found", irq);
	return NULL;
}

static void assert_noted(const struct nr_irq_notes *notes, const char *part)
{
	for (size_t i = 0; i < notes->count; i++)
		if (strstr(notes->lines[i], part))
			return;
	fail_msg("none of %zu notes has '%s' in it; the first: '%s'", notes->count, part,
	         notes->count ? notes->lines[0] : "");
}

/* ---- names ---- */

static void the_name_tells_queue_and_direction(void **state)
{
	static const struct {
		const char *name;
		enum nr_irq_role role;
		unsigned queue;
	} cases[] = {
		{ "virtio0-config", NR_IRQ_CONTROL, 0 },
		{ "virtio0-input.0", NR_IRQ_RX, 0 },
		{ "virtio0-output.13", NR_IRQ_TX, 13 },
		{ "virtio0", NR_IRQ_CONTROL, 0 },
		{ "eth0", NR_IRQ_CONTROL, 0 },
		{ "eth0-TxRx-7", NR_IRQ_RX_TX, 7 },
		{ "i40e-eth0-TxRx-12", NR_IRQ_RX_TX, 12 },
		{ "i40e-0000:41:00.0:misc", NR_IRQ_CONTROL, 0 },
		{ "i40e-0000:41:00.0:fdir-TxRx-0", NR_IRQ_CONTROL, 0 },
		{ "ice-0000:41:00.0", NR_IRQ_CONTROL, 0 },
		{ "eth0-rx-3", NR_IRQ_RX, 3 },
		{ "eth0-tx-3", NR_IRQ_TX, 3 },
		{ "eth0-Tx-Rx-5", NR_IRQ_RX_TX, 5 },
		{ "ena-mgmnt@pci:0000:00:05.0", NR_IRQ_CONTROL, 0 },
		{ "eth0-rxtx-2", NR_IRQ_RX_TX, 2 },
		{ "eth0-event-3", NR_IRQ_CONTROL, 0 },
		{ "mlx5_comp3@pci:0000:41:00.0", NR_IRQ_RX_TX, 3 },
		{ "mlx5_async0@pci:0000:41:00.0", NR_IRQ_CONTROL, 0 },
		{ "mlx5_cmd_eq@pci:0000:41:00.0", NR_IRQ_CONTROL, 0 },
		{ "eth0-fp-1", NR_IRQ_RX_TX, 1 },
		{ "eth0-q2-tx", NR_IRQ_TX, 2 },
		{ "eth0-q2-rx", NR_IRQ_RX, 2 },
		{ "eth2-Rx6", NR_IRQ_RX, 6 },
		{ "eth0-3", NR_IRQ_RX_TX, 3 },
		{ "eth0[4]", NR_IRQ_RX_TX, 4 },
		{ "eth0 (queue 1)", NR_IRQ_RX_TX, 1 },
		{ "eth0:lsc", NR_IRQ_CONTROL, 0 },
		{ "eth0-TxRx-99999999999999999999", NR_IRQ_CONTROL, 0 },
		{ "", NR_IRQ_CONTROL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		unsigned queue = 0;

		check_case("'%s'", cases[i].name);
		assert_text(nr_irq_role_name(nr_irq_role_of(cases[i].name, "eth0", &queue)),
		            nr_irq_role_name(cases[i].role));
		if (cases[i].role != NR_IRQ_CONTROL)
			assert_number(queue, cases[i].queue);
	}
}

static void a_name_comes_from_proc_interrupts_where_it_has_no_folder(void **state)
{
	static const struct {
		unsigned irq;
		const char *name;
	} cases[] = {
		{ 50, "a/b-TxRx-0" }, { 51, NULL }, { 52, "first" }, { 53, NULL }, { 5, NULL },
	};
	const struct host *host = *state;
	struct np_error err = { 0 };

	host_write(host, "proc/interrupts",
	           "           CPU0       CPU1\n"
	           " 50:          0          4  PCI-MSIX-0000:41:00.0   0-edge      a/b-TxRx-0\n"
	           " 51:          0          0  PCI-MSIX-0000:41:00.0   1-edge    \n"
	           " 52:          0          0   IO-APIC  16-fasteoi   first, second\n"
	           "NMI:          0          0   Non-maskable interrupts\n");
	for (unsigned irq = 50; irq <= 53; irq++)
		write_irq(host, irq, "smp_affinity_list", "0\n");
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *name = NULL;

		check_case("interrupt %u", cases[i].irq);
		assert_np_ok(nr_irq_name_read(&host->root, cases[i].irq, "eth0", &name, &err),
		             &err);
		assert_text(name, cases[i].name);
		free(name);
	}
}

static void of_a_shared_interrupt_the_cards_name_is_taken(void **state)
{
	const struct host *host = *state;
	struct np_error err = { 0 };
	char *name = NULL;

	add_irq(host, 60, "ahci", "0\n", "0\n");
	host_mkdir(host, "proc/irq/60/eth0");
	host_mkdir(host, "proc/irq/60/uhci_hcd");

	assert_np_ok(nr_irq_name_read(&host->root, 60, "eth0", &name, &err), &err);
	assert_text(name, "eth0");
	free(name);
}

static void masks_are_printed_in_full_groups(void **state)
{
	static const struct {
		const char *cpus;
		unsigned groups;
		const char *mask;
	} cases[] = {
		{ "", 1, "00000000" },
		{ "", 3, "00000000,00000000,00000000" },
		{ "5", 1, "00000020" },
		{ "0,31", 1, "80000001" },
		{ "32", 1, "00000001,00000000" },
		{ "1,95", 4, "00000000,80000000,00000000,00000002" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct np_bitmap set = set_of(cases[i].cpus);
		char *mask = nr_irq_mask_print(&set, cases[i].groups);

		check_case("'%s'", cases[i].cpus);
		assert_text(mask, cases[i].mask);
		free(mask);
		np_bitmap_release(&set);
	}
}

/* ---- choosing CPUs ---- */

static void choosing(void **state, const struct host_shape *shape, const char *cpus,
                     enum nr_irq_mode mode, const char *wanted)
{
	const struct host *host = *state;
	struct np_topology *topology;
	struct np_bitmap from = set_of(cpus);
	struct np_bitmap got = { 0 };
	struct np_error err = { 0 };
	int rc;

	if (shape)
		host_build(host, shape);
	topology = host_load(host, NP_TOPOLOGY_GROUPS, NULL);
	rc = nr_irq_choose(topology, &from, mode, &got, &err);
	if (wanted) {
		assert_np_ok(rc, &err);
		assert_set(&got, wanted);
	} else {
		assert_fails(rc, -ERANGE, &err, "--irq without =beside");
		assert_has(err.text, cpus);
		assert_set(&got, "");
	}
	np_bitmap_release(&from);
	np_bitmap_release(&got);
	np_topology_free(topology);
}

static void on_takes_the_cpus_themselves(void **state)
{
	choosing(state, NULL, "4-5", NR_IRQ_ON, "4-5");
}

static void beside_takes_other_cores_of_the_same_cache(void **state)
{
	choosing(state, NULL, "4-5", NR_IRQ_BESIDE, "6-7");
	choosing(state, NULL, "1,6", NR_IRQ_BESIDE, "0,2-5,7");
	choosing(state, NULL, "4-7", NR_IRQ_BESIDE, NULL);
}

static void beside_leaves_siblings_isolated_and_offline_cpus_out(void **state)
{
	static const struct host_shape smt = {
		.node_count = 1,
		.cores_per_node = 4,
		.threads_per_core = 2,
	};
	const struct host *host = *state;

	host_remove(host, "sys/devices");
	choosing(state, &smt, "0", NR_IRQ_BESIDE, "1-3,5-7");
	host_write(host, CPU_DIR "/isolated", "1,5\n");
	host_write(host, CPU_DIR "/online", "0-2,4-7\n");
	choosing(state, NULL, "0", NR_IRQ_BESIDE, "2,6-7");
}

static void beside_takes_the_node_where_no_cache_is_told(void **state)
{
	char path[64];

	for (unsigned cpu = 0; cpu < 8; cpu++) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%u/cache", cpu);
		host_remove(*state, path);
	}
	choosing(state, NULL, "4", NR_IRQ_BESIDE, "5-7");
}

/* ---- planning ---- */

static void receive_and_transmit_of_a_queue_get_the_same_cpu(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-6");
	static const char *const cpus[] = { "4", "5", "6", "4" };

	assert_number(steering.irq_count, 9);
	assert_number(find_irq(&steering, 25)->is_wanted, false);
	for (unsigned q = 0; q < QUEUES; q++) {
		check_case("queue %u", q);
		assert_set(&find_irq(&steering, 26 + 2 * q)->cpus, cpus[q]);
		assert_set(&find_irq(&steering, 27 + 2 * q)->cpus, cpus[q]);
		assert_number(steering.queues[q].queue, q);
		assert_set(&steering.queues[q].cpus, cpus[q]);
	}
	assert_number(steering.notes.count, 0);
	assert_as_before(bench.host);

	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void more_cpus_than_queues_each_have_one_queue(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "1-7");
	static const char *const cpus[] = { "1,5", "2,6", "3,7", "4" };
	static const char *const first[] = { "1", "2", "3", "4" };

	for (unsigned q = 0; q < QUEUES; q++) {
		assert_set(&steering.queues[q].cpus, cpus[q]);
		assert_set(&find_irq(&steering, 26 + 2 * q)->cpus, first[q]);
	}
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void cpus_that_only_send_have_a_queue_too(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = { 0 };
	struct np_error err = { 0 };
	static const char *const cpus[] = { "4,6", "5,7", "6", "7" };

	assert_np_ok(plan(&bench, "6-7", "4-6", &steering, &err), &err);

	for (unsigned q = 0; q < QUEUES; q++)
		assert_set(&steering.queues[q].cpus, cpus[q]);
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void a_card_with_one_interrupt_has_that_one_steered(void **state)
{
	struct bench bench = bench_of(state, "eth1");
	struct nr_irq_steering steering;

	host_remove(bench.host, "sys/devices/pci0000:41/0000:41:00.1/msi_irqs");
	host_write(bench.host, "sys/devices/pci0000:41/0000:41:00.1/irq", "11\n");
	add_irq(bench.host, 11, "eth1", "0-7\n", "0\n");

	steering = planned(&bench, "4-5");

	assert_number(steering.irq_count, 1);
	assert_set(&find_irq(&steering, 11)->cpus, "4");
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void what_cannot_be_steered_is_refused_with_the_reason(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = { 0 };
	struct np_error err = { 0 };

	assert_fails(plan(&bench, "", "", &steering, &err), -EINVAL, &err, "no CPU");

	for (unsigned irq = 25; irq <= 33; irq++) {
		char path[64];

		snprintf(path, sizeof(path), "proc/irq/%u", irq);
		host_remove(bench.host, path);
	}
	assert_fails(plan(&bench, "4", "", &steering, &err), -ENOENT, &err, "ip link set eth0 up");

	host_remove(bench.host, PCI_FOLDER "/msi_irqs");
	assert_fails(plan(&bench, "4", "", &steering, &err), -ENODEV, &err, "no interrupts");

	host_link(bench.host, NIC_FOLDER "/lower_eth1", "../eth1");
	host_link(bench.host, NIC_FOLDER "/lower_eth2", "../eth2");
	assert_fails(plan(&bench, "4", "", &steering, &err), -ENODEV, &err, "eth1, eth2");

	host_remove(bench.host, "sys/class/net/eth0");
	assert_fails(plan(&bench, "4", "", &steering, &err), -ENOENT, &err, "eth0");
	np_topology_free(bench.topology);
}

static void a_running_irqbalance_is_noted(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering;

	host_write(bench.host, "proc/77/comm", "irqbalance\n");

	steering = planned(&bench, "4-5");

	assert_noted(&steering.notes, "irqbalance (process 77)");
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

/* ---- applying and putting back ---- */

static void applying_saves_steers_and_restoring_puts_back(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-5");
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_irq_apply(&steering, &err), &err);

	assert_affinity(bench.host, 26, "4");
	assert_affinity(bench.host, 27, "4");
	assert_affinity(bench.host, 29, "5");
	assert_affinity(bench.host, 25, "4-7");
	assert_affinity(bench.host, 40, "0-7");
	assert_xps(bench.host, 0, "00000010");
	assert_xps(bench.host, 3, "00000020");
	assert_text(steering.state_file, "irq-eth0-4711");
	assert_file(bench.host, "run/numarun/irq-eth0-4711",
	            "numarun-irq 1\nholder 4711 1000\ndevice eth0\n"
	            "irq 26 0-1 4 virtio0-input.0\nirq 27 0-1 4 virtio0-output.0\n"
	            "irq 28 2-3 5 virtio0-input.1\nirq 29 2-3 5 virtio0-output.1\n"
	            "irq 30 4-5 4 virtio0-input.2\nirq 31 4-5 4 virtio0-output.2\n"
	            "irq 32 6-7 5 virtio0-input.3\nirq 33 6-7 5 virtio0-output.3\n"
	            "xps 0 00000003 00000010\nxps 1 0000000c 00000020\n"
	            "xps 2 00000030 00000010\nxps 3 000000c0 00000020\nend");

	assert_np_ok(nr_irq_restore(&steering, &report, &err), &err);

	assert_number(report.restored_count, 12);
	assert_number(report.left_count + report.gone_count + report.failed_count, 0);
	assert_as_before(bench.host);
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), false);
	assert_np_ok(nr_irq_restore(&steering, &report, &err), &err);
	assert_number(report.restored_count, 12);

	nr_irq_report_release(&report);
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void where_the_kernel_delivers_is_told(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-5");
	struct np_error err = { 0 };

	host_remove(bench.host, "proc/irq/29/effective_affinity_list");

	assert_np_ok(nr_irq_apply(&steering, &err), &err);

	assert_text(nr_irq_result_name(find_irq(&steering, 25)->result), "untouched");
	/* Still on CPU 0: it moves when it next fires. */
	assert_text(nr_irq_result_name(find_irq(&steering, 26)->result), "pending");
	assert_text(nr_irq_result_name(find_irq(&steering, 30)->result), "steered");
	assert_text(nr_irq_result_name(find_irq(&steering, 29)->result), "untold");

	write_irq(bench.host, 26, "effective_affinity_list", "4\n");
	write_irq(bench.host, 27, "effective_affinity_list", "1\n");
	write_irq(bench.host, 30, "smp_affinity_list", "0-7\n");
	host_remove(bench.host, "proc/irq/33");
	assert_number(nr_irq_verify(&steering, &err), 3);
	assert_text(nr_irq_result_name(find_irq(&steering, 26)->result), "steered");
	assert_text(nr_irq_result_name(find_irq(&steering, 27)->result), "moved");
	assert_text(nr_irq_result_name(find_irq(&steering, 28)->result), "pending");
	assert_text(nr_irq_result_name(find_irq(&steering, 30)->result), "moved");
	assert_set(&find_irq(&steering, 30)->now, "0-7");
	assert_text(nr_irq_result_name(find_irq(&steering, 33)->result), "gone");

	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void what_somebody_else_has_set_since_is_left(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-5");
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };

	assert_np_ok(nr_irq_apply(&steering, &err), &err);
	write_irq(bench.host, 26, "smp_affinity_list", "3\n");
	host_write(bench.host, NIC_FOLDER "/queues/tx-1/xps_cpus", "ff\n");
	host_remove(bench.host, "proc/irq/33");
	add_irq(bench.host, 33, "nvme0q1", "5\n", "5\n");

	assert_np_ok(nr_irq_restore(&steering, &report, &err), &err);

	assert_number(report.restored_count, 9);
	assert_number(report.left_count, 2);
	assert_number(report.gone_count, 1);
	assert_noted(&report.notes, "interrupt 26 (virtio0-input.0): left at CPU 3");
	assert_noted(&report.notes, "transmit queue 1: left");
	assert_affinity(bench.host, 26, "3");
	assert_affinity(bench.host, 33, "5");
	assert_affinity(bench.host, 27, "0-1");
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), false);

	nr_irq_report_release(&report);
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void a_failure_halfway_leaves_nothing_changed(void **state)
{
	static const struct {
		const char *suffix;
		int code;
		const char *part;
	} cases[] = {
		{ "irq/33/smp_affinity_list", ENOSPC, "no interrupt vector left" },
		{ "irq/28/smp_affinity_list", EINVAL, "Invalid argument" },
		{ "tx-2/xps_cpus", EPERM, "needs root" },
		{ "numarun/.irq.new", ENOSPC, "state file" },
	};
	struct bench bench = bench_of(state, "eth0");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nr_irq_steering steering = planned(&bench, "4-5");
		struct np_error err = { 0 };

		check_case("%s", cases[i].suffix);
		refuse(cases[i].suffix, cases[i].code, ONCE);
		assert_fails(nr_irq_apply(&steering, &err), -cases[i].code, &err, cases[i].part);

		assert_as_before(bench.host);
		assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), false);
		assert_text(steering.state_file, NULL);
		nr_irq_steering_release(&steering);
	}
	np_topology_free(bench.topology);
}

static void managed_interrupts_are_left_to_the_kernel(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-5");
	struct np_error err = { 0 };

	/* Up to Linux 6.9 EIO, then EPERM. */
	refuse("irq/26/smp_affinity_list", EIO, ALWAYS);
	assert_np_ok(nr_irq_apply(&steering, &err), &err);
	assert_text(nr_irq_result_name(find_irq(&steering, 26)->result), "managed");
	assert_noted(&steering.notes, "manages 1 of its 8 interrupts");
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

static void a_card_whose_interrupts_are_all_managed_is_refused(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-5");
	struct np_error err = { 0 };

	refuse("/smp_affinity_list", EPERM, ALWAYS);
	assert_fails(nr_irq_apply(&steering, &err), -ENOTSUP, &err,
	             "manages the CPUs of all its 8");
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), false);
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

/* As a user who may not write; his exit status is the errno. */
static int apply_unprivileged(struct nr_irq_steering *steering, int out)
{
	struct np_error err = { 0 };
	pid_t child = fork_child();
	int status;

	if (child == 0) {
		int rc;

		if (geteuid() == 0 && setuid(NOBODY) < 0)
			_exit(255);
		rc = nr_irq_apply(steering, &err);
		if (write(out, err.text, strlen(err.text)) < 0)
			_exit(254);
		_exit(-rc);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void without_privilege_nothing_is_changed(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-5");
	char path[PATH_MAX];
	char *text;
	int out;

	/* The folders can be entered; the file can be read. */
	assert_int_equal(chmod(bench.host->dir, 0755), 0);
	snprintf(path, sizeof(path), "%s/proc/irq/26/smp_affinity_list", bench.host->dir);
	assert_int_equal(chmod(path, 0444), 0);
	snprintf(path, sizeof(path), "%s/message", bench.host->dir);
	out = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(out >= 0);

	assert_number(apply_unprivileged(&steering, out), EACCES);

	close(out);
	text = read_file(bench.host, "message");
	assert_has(text, "needs root (CAP_DAC_OVERRIDE");
	free(text);
	assert_as_before(bench.host);
	assert_number(exists(bench.host, "run/numarun"), false);
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

/* ---- runs that were killed, and others that live ---- */

static void a_second_run_on_the_same_card_is_refused(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering second;
	struct np_error err = { 0 };

	steer_and_die(&bench, "4-5");
	add_process(bench.host, 4712, "S", 2000);
	bench.site.holder = 4712;
	second = planned(&bench, "6-7");

	assert_fails(nr_irq_apply(&second, &err), -EBUSY, &err, "process 4711");

	assert_affinity(bench.host, 26, "4");
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), true);
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4712"), false);
	nr_irq_steering_release(&second);
	np_topology_free(bench.topology);
}

static void a_dead_holder_is_known_by_its_start_time(void **state)
{
	static const struct {
		const char *name;
		const char *state;
		unsigned start;
		bool lives;
	} cases[] = {
		{ "runs", "S", 1000, true },        { "not reaped", "Z", 1000, false },
		{ "pid reused", "S", 1001, false }, { "no such process", NULL, 0, false },
		{ "unreadable", "", 0, true },
	};
	struct bench bench = bench_of(state, "eth0");

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nr_irq_report report = { 0 };
		struct np_error err = { 0 };

		check_case("%s", cases[i].name);
		add_process(bench.host, HOLDER, "S", 1000);
		build_irqs(bench.host);
		host_remove(bench.host, "run/numarun");
		steer_and_die(&bench, "4-5");
		if (!cases[i].state)
			host_remove(bench.host, "proc/4711");
		else if (!*cases[i].state)
			host_write(bench.host, "proc/4711/stat", "garbage\n");
		else
			add_process(bench.host, HOLDER, cases[i].state, cases[i].start);

		assert_np_ok(nr_irq_restore_left(&bench.site, &report, &err), &err);

		assert_number(report.held_count, cases[i].lives);
		assert_number(report.restored_count, cases[i].lives ? 0 : 12);
		assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), cases[i].lives);
		if (cases[i].lives) {
			assert_affinity(bench.host, 26, "4");
			assert_noted(&report.notes, "process 4711, which runs");
		} else {
			assert_as_before(bench.host);
			assert_noted(&report.notes, "put back 12 settings that process 4711");
		}
		nr_irq_report_release(&report);
	}
	np_topology_free(bench.topology);
}

static void the_next_run_repairs_what_a_killed_one_has_left(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_report report = { 0 };
	struct nr_irq_steering second;
	struct np_error err = { 0 };

	steer_and_die(&bench, "4-5");
	host_remove(bench.host, "proc/4711");
	add_process(bench.host, 4712, "S", 2000);
	bench.site.holder = 4712;
	second = planned(&bench, "6-7");

	assert_np_ok(nr_irq_apply(&second, &err), &err);
	assert_noted(&second.notes, "put back 12 settings that process 4711");
	assert_affinity(bench.host, 26, "6");
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), false);
	assert_np_ok(nr_irq_restore(&second, &report, &err), &err);

	assert_as_before(bench.host);
	nr_irq_report_release(&report);
	nr_irq_steering_release(&second);
	np_topology_free(bench.topology);
}

static void nothing_left_is_no_error(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };

	bench.site.state_dir = bench.state_dir;
	assert_np_ok(nr_irq_restore_left(&bench.site, &report, &err), &err);
	assert_number(report.notes.count, 0);
	nr_irq_report_release(&report);
	np_topology_free(bench.topology);
}

static void a_card_that_is_gone_is_passed_over(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };

	steer_and_die(&bench, "4-5");
	host_remove(bench.host, "proc/4711");
	host_remove(bench.host, "proc/irq");
	host_remove(bench.host, "sys/class/net/eth0");

	assert_np_ok(nr_irq_restore_left(&bench.site, &report, &err), &err);

	assert_number(report.gone_count, 12);
	assert_noted(&report.notes, "12 interrupts and queues are no longer there");
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), false);
	nr_irq_report_release(&report);
	np_topology_free(bench.topology);
}

static void what_cannot_be_put_back_stays_for_the_next_try(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };

	steer_and_die(&bench, "4-5");
	host_remove(bench.host, "proc/4711");
	refuse("irq/28/smp_affinity_list", EINVAL, ALWAYS);

	assert_fails(nr_irq_restore_left(&bench.site, &report, &err), -EXDEV, &err, "1 settings");

	refuse(NULL, 0, 0);
	assert_number(report.restored_count, 11);
	assert_number(report.failed_count, 1);
	assert_affinity(bench.host, 33, "6-7");
	assert_noted(&report.notes, "irq/28/smp_affinity_list");
	assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), true);
	nr_irq_report_release(&report);
	np_topology_free(bench.topology);
}

#define HEAD "numarun-irq 1\nholder 4711 1000\ndevice eth0\n"

static void damaged_state_files_are_named_and_left(void **state)
{
	static const struct {
		const char *text;
		const char *part;
	} cases[] = {
		{ "", "line 1" },
		{ "numarun-irq 2\n", "line 1" },
		{ "numarun-irq 1\nholder x 1\n", "line 2" },
		{ "numarun-irq 1\nholder 0 1\n", "line 2" },
		{ "numarun-irq 1\nholder 4711\n", "line 2" },
		{ "numarun-irq 1\nholder 99999999999 1\n", "line 2" },
		{ "numarun-irq 1\nholder 1 1\ndevice ../../x\nend\n", "line 3" },
		{ "numarun-irq 1\nholder 1 1\ndevice \nend\n", "line 3" },
		{ HEAD, "line 4" },
		{ HEAD "irq 26 0-1 4 virtio0-input.0\n", "line 5" },
		{ HEAD "irq 26 0-1 4 virtio0-input.0\nend", "line 5" },
		{ HEAD "irq 26 0-1 4\nend\n", "line 4" },
		{ HEAD "irq 26 0-1 4 \nend\n", "line 4" },
		{ HEAD "irq x 0-1 4 n\nend\n", "line 4" },
		{ HEAD "irq 26 0-x 4 n\nend\n", "line 4" },
		{ HEAD "irq 26 0-1  n\nend\n", "line 4" },
		{ HEAD "irq\nend\n", "line 4" },
		{ HEAD "xps 0 3\nend\n", "line 4" },
		{ HEAD "xps 0 3 g\nend\n", "line 4" },
		{ HEAD "xps 0 3 4 5\nend\n", "line 4" },
		{ HEAD "what\nend\n", "line 4" },
		{ HEAD "end\nirq 26 0 1 n\n", "line 4" },
	};
	struct bench bench = bench_of(state, "eth0");

	steer_and_die(&bench, "4-5");
	host_remove(bench.host, "proc/4711");
	bench.site.state_dir = bench.state_dir;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nr_irq_report report = { 0 };
		struct np_error err = { 0 };

		check_case("%zu: '%s'", i, cases[i].text);
		host_write(bench.host, "run/numarun/irq-eth0-4711", cases[i].text);
		assert_fails(nr_irq_restore_left(&bench.site, &report, &err), -EXDEV, &err,
		             "1 state files");
		assert_number(report.damaged_count, 1);
		assert_noted(&report.notes, "irq-eth0-4711");
		assert_noted(&report.notes, cases[i].part);
		assert_number(exists(bench.host, "run/numarun/irq-eth0-4711"), true);
		assert_affinity(bench.host, 26, "4");
		nr_irq_report_release(&report);
	}
	np_topology_free(bench.topology);
}

static void files_that_others_could_have_written_are_not_trusted(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_report report = { 0 };
	struct np_error err = { 0 };
	char path[PATH_MAX];

	steer_and_die(&bench, "4-5");
	host_remove(bench.host, "proc/4711");
	snprintf(path, sizeof(path), "%s/irq-eth0-4711", bench.state_dir);
	assert_int_equal(chmod(path, 0666), 0);
	host_link(bench.host, "run/numarun/irq-eth0-1", "irq-eth0-4711");
	host_fifo(bench.host, "run/numarun/irq-eth0-2");

	assert_fails(nr_irq_restore_left(&bench.site, &report, &err), -EXDEV, &err,
	             "3 state files");

	assert_noted(&report.notes, "others can write it");
	assert_noted(&report.notes, "not a plain file");
	assert_affinity(bench.host, 26, "4");
	nr_irq_report_release(&report);
	np_topology_free(bench.topology);
}

static void a_state_file_is_read_as_it_was_written(void **state)
{
	struct bench bench = bench_of(state, "eth0");
	struct nr_irq_steering steering = planned(&bench, "4-7");
	struct nr_irq_steering got = { 0 };
	struct nr_irq_store store;
	struct np_error err = { 0 };
	char *written;
	char *again;

	assert_np_ok(nr_irq_apply(&steering, &err), &err);
	assert_np_ok(nr_irq_store_open(bench.state_dir, false, &store, &err), &err);
	assert_np_ok(nr_irq_state_read(&store, steering.state_file, &got, &err), &err);
	nr_irq_store_close(&store);

	written = nr_irq_state_print(&steering);
	again = nr_irq_state_print(&got);
	assert_text(again, written);
	free(written);
	free(again);
	nr_irq_steering_release(&got);
	nr_irq_steering_release(&steering);
	np_topology_free(bench.topology);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_tells_queue_and_direction),
		cmocka_unit_test(masks_are_printed_in_full_groups),
		mq_test(a_name_comes_from_proc_interrupts_where_it_has_no_folder),
		mq_test(of_a_shared_interrupt_the_cards_name_is_taken),
		mq_test(on_takes_the_cpus_themselves),
		mq_test(beside_takes_other_cores_of_the_same_cache),
		mq_test(beside_leaves_siblings_isolated_and_offline_cpus_out),
		mq_test(beside_takes_the_node_where_no_cache_is_told),
		mq_test(receive_and_transmit_of_a_queue_get_the_same_cpu),
		mq_test(more_cpus_than_queues_each_have_one_queue),
		mq_test(cpus_that_only_send_have_a_queue_too),
		mq_test(a_card_with_one_interrupt_has_that_one_steered),
		mq_test(what_cannot_be_steered_is_refused_with_the_reason),
		mq_test(a_running_irqbalance_is_noted),
		mq_test(applying_saves_steers_and_restoring_puts_back),
		mq_test(where_the_kernel_delivers_is_told),
		mq_test(what_somebody_else_has_set_since_is_left),
		mq_test(a_failure_halfway_leaves_nothing_changed),
		mq_test(managed_interrupts_are_left_to_the_kernel),
		mq_test(a_card_whose_interrupts_are_all_managed_is_refused),
		mq_test(without_privilege_nothing_is_changed),
		mq_test(a_second_run_on_the_same_card_is_refused),
		mq_test(a_dead_holder_is_known_by_its_start_time),
		mq_test(the_next_run_repairs_what_a_killed_one_has_left),
		mq_test(nothing_left_is_no_error),
		mq_test(a_card_that_is_gone_is_passed_over),
		mq_test(what_cannot_be_put_back_stays_for_the_next_try),
		mq_test(damaged_state_files_are_named_and_left),
		mq_test(files_that_others_could_have_written_are_not_trusted),
		mq_test(a_state_file_is_read_as_it_was_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
