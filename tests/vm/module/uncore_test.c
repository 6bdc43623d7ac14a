// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only
/*
 * Uncore PMUs whose rates are known, for emulated machines, which have none: under the names, with
 * the files and for the event codes of the real drivers (layouts.h has them and the rates).
 *
 * A count is rate times time, exactly: of CLOCK_MONOTONIC, rounded down at each reading, so that two
 * readings differ by what the rate and the time between them say. It passes through a register of 48
 * bits as in the real boxes.
 *
 *   layout=skx|ivbep|zen3|zen4
 *   map=0       the links' ends are not told (as kernels before 6.3 or so)
 *   counters=N  registers of a box; when all are in use an event has to wait, and the kernel
 *               multiplexes. A group of more is refused with EINVAL, as the real drivers do
 *   taken=N     so many of them are in somebody else's hands; may be written at any time
 *   wrap=fold   registers start wrap_ms before the end of 48 bits, and the driver folds them
 *   wrap=raw    the same, and the driver passes the register on as it is
 *   migrate=0   nobody takes over from an owner that goes offline
 *   refuse=N    to open an event fails with this errno; may be written at any time
 *   unregister  write a PMU's name: it goes, even with events open
 *   register    write its name: it comes back
 *
 * Linux 6.12 frees a PMU's memory in perf_pmu_unregister() whether or not events are open, and these
 * then write to it. So here a PMU that is to go loses its device at once and its events are put into
 * the error state (a read gives 0 bytes, a new open ENOENT), while its memory stays until the module
 * goes, which open events prevent.
 */
#include "layouts.h"

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include <linux/device.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#define UT_DIES_MAX 64
#define UT_FILES_MAX 16 /* of one folder */
#define UT_COUNTERS_MAX 64
#define UT_REGISTER_MASK ((1ULL << 48) - 1)

enum ut_folder { UT_FORMAT, UT_EVENTS, UT_ROOT, UT_FOLDER_COUNT };

static const char *const folder_names[UT_FOLDER_COUNT] = { "format", "events", NULL };

struct ut_files {
	struct dev_ext_attribute items[UT_FILES_MAX + UT_DIES_MAX];
	struct attribute *list[UT_FILES_MAX + UT_DIES_MAX + 1];
	unsigned int count;
	struct attribute_group group;
};

struct ut_pmu {
	struct list_head entry;
	struct pmu pmu;
	char name[32];
	const struct ut_kind *kind;
	unsigned int index; /* its position among its kind in a socket */
	int socket;         /* the only one that has it; -1: all do */
	bool is_gone;

	struct ut_files files[UT_FOLDER_COUNT];
	const struct attribute_group *groups[UT_FOLDER_COUNT + 1];

	int owners[UT_DIES_MAX]; /* the CPU that counts for a die; -1: none does */
	raw_spinlock_t lock;     /* of in_use */
	unsigned long in_use[UT_DIES_MAX];
	struct list_head events; /* all that are open */
};

struct ut_event {
	struct list_head entry;
	struct perf_event *event;
	struct ut_pmu *pmu;
	unsigned int die;
	u64 rate; /* counts a second */
	u64 first_value;
	u64 first_ns; /* when the register was first_value; 0: it never ran */
	u64 last_value;
	u64 counted;
};

/* A die of this machine, by its logical number, which runs over all sockets. */
struct ut_die {
	unsigned int socket;
	unsigned int position;
};

static struct ut_die dies[UT_DIES_MAX];
static unsigned int die_count;
static unsigned int socket_count;
static enum cpuhp_state hotplug_state;
static LIST_HEAD(ut_pmus);
static DEFINE_MUTEX(ut_lock); /* of the list, owners, is_gone and the events of all PMUs */

static char *layout = "skx";
module_param(layout, charp, 0444);
static bool map = true;
module_param(map, bool, 0444);
static unsigned int counters = 4;
module_param(counters, uint, 0444);
static unsigned int taken;
module_param(taken, uint, 0644);
static char *wrap = "";
module_param(wrap, charp, 0444);
static unsigned int wrap_ms = 700;
module_param(wrap_ms, uint, 0444);
static bool migrate = true;
module_param(migrate, bool, 0444);
static unsigned int refuse;
module_param(refuse, uint, 0644);

static bool wraps_raw;

/* --- counting ------------------------------------------------------------------------------------- */

static u64 counts_in(u64 rate, u64 ns)
{
	return mul_u64_u64_div_u64(rate, ns, NSEC_PER_SEC);
}

static u64 register_now(struct ut_event *own)
{
	u64 now = ktime_get_mono_fast_ns();

	if (own->first_ns == 0)
		own->first_ns = now;
	return (own->first_value + counts_in(own->rate, now - own->first_ns)) & UT_REGISTER_MASK;
}

static void set_count(struct ut_event *own)
{
	struct perf_event *event = own->event;

	if (wraps_raw)
		local64_set(&event->count, (own->first_value + own->counted) & UT_REGISTER_MASK);
	else
		local64_set(&event->count, (s64)own->counted);
}

static void prepare_register(struct ut_event *own)
{
	if (*wrap != '\0')
		own->first_value = 0 - counts_in(own->rate, wrap_ms * NSEC_PER_MSEC);
	set_count(own);
}

static void ut_read(struct perf_event *event)
{
	struct ut_event *own = event->pmu_private;
	u64 value = register_now(own);

	own->counted += (value - own->last_value) & UT_REGISTER_MASK;
	own->last_value = value;
	set_count(own);
}

static void ut_start(struct perf_event *event, int flags)
{
	struct ut_event *own = event->pmu_private;

	own->last_value = register_now(own);
	event->hw.state = 0;
}

static void ut_stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	ut_read(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int ut_add(struct perf_event *event, int flags)
{
	struct ut_event *own = event->pmu_private;
	struct ut_pmu *pmu = own->pmu;
	unsigned int others = READ_ONCE(taken);
	unsigned int limit = counters > others ? counters - others : 0;
	unsigned long irq_flags;
	int slot = -EAGAIN;

	raw_spin_lock_irqsave(&pmu->lock, irq_flags);
	if (!pmu->is_gone && hweight_long(pmu->in_use[own->die]) < limit) {
		slot = (int)find_first_zero_bit(&pmu->in_use[own->die], counters);
		__set_bit(slot, &pmu->in_use[own->die]);
	}
	raw_spin_unlock_irqrestore(&pmu->lock, irq_flags);
	if (slot < 0)
		return slot;

	event->hw.idx = slot;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		ut_start(event, 0);
	return 0;
}

static void ut_del(struct perf_event *event, int flags)
{
	struct ut_event *own = event->pmu_private;
	struct ut_pmu *pmu = own->pmu;
	unsigned long irq_flags;

	ut_stop(event, 0);
	raw_spin_lock_irqsave(&pmu->lock, irq_flags);
	__clear_bit(event->hw.idx, &pmu->in_use[own->die]);
	raw_spin_unlock_irqrestore(&pmu->lock, irq_flags);
}

/* --- opening -------------------------------------------------------------------------------------- */

static u64 rate_of(const struct ut_pmu *pmu, u64 config, unsigned int die)
{
	const struct ut_code *code = pmu->kind->codes;
	struct ut_place at = {
		.socket = dies[die].socket,
		.die = dies[die].position,
		.index = pmu->index,
		.socket_count = socket_count,
	};

	while (code->what != UT_END && code->config != config)
		code++;
	if (code->what == UT_END)
		return UT_ODD_RATE;
	if (code->what == UT_CLOCK)
		return code->counts;
	if (pmu->kind->number_count == 0)
		at.index = code->place;
	return ut_lines(code->what, &at) * code->counts;
}

/* How many registers of its box an event's group needs, with the event itself. */
static unsigned int group_needs(struct perf_event *event)
{
	struct perf_event *leader = event->group_leader, *sibling;
	unsigned int count = 1;

	if (leader == event)
		return count;
	if (leader->pmu == event->pmu)
		count++;
	for_each_sibling_event(sibling, leader)
	{
		if (sibling->pmu == event->pmu)
			count++;
	}
	return count;
}

static void ut_destroy(struct perf_event *event)
{
	struct ut_event *own = event->pmu_private;

	mutex_lock(&ut_lock);
	list_del(&own->entry);
	mutex_unlock(&ut_lock);
	kfree(own);
}

/* Hands the event over to the CPU that counts for its die. */
static int event_join(struct perf_event *event, struct ut_event *own)
{
	int owner = -1;

	mutex_lock(&ut_lock);
	own->die = topology_logical_die_id((unsigned int)event->cpu);
	if (own->die < die_count)
		owner = own->pmu->owners[own->die];
	if (owner >= 0) {
		own->rate = rate_of(own->pmu, event->attr.config, own->die);
		prepare_register(own);
		event->cpu = owner;
		event->pmu_private = own;
		event->destroy = ut_destroy;
		list_add_tail(&own->entry, &own->pmu->events);
	}
	mutex_unlock(&ut_lock);
	return owner >= 0 ? 0 : -ENODEV;
}

static int ut_event_init(struct perf_event *event)
{
	struct ut_pmu *pmu = container_of(event->pmu, struct ut_pmu, pmu);
	struct ut_event *own;
	int rc;

	if (event->attr.type != event->pmu->type || READ_ONCE(pmu->is_gone))
		return -ENOENT;
	if (is_sampling_event(event) || event->attach_state & PERF_ATTACH_TASK || event->cpu < 0)
		return -EINVAL;
	if (refuse)
		return -(int)refuse;
	if (group_needs(event) > counters)
		return -EINVAL;

	own = kzalloc(sizeof(*own), GFP_KERNEL);
	if (!own)
		return -ENOMEM;
	own->event = event;
	own->pmu = pmu;
	rc = event_join(event, own);
	if (rc < 0)
		kfree(own);
	return rc;
}

/* --- files ---------------------------------------------------------------------------------------- */

static ssize_t text_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dev_ext_attribute *file = container_of(attr, struct dev_ext_attribute, attr);

	return sysfs_emit(buf, "%s\n", (const char *)file->var);
}

static ssize_t cpumask_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct dev_ext_attribute *file = container_of(attr, struct dev_ext_attribute, attr);
	const struct ut_pmu *pmu = file->var;
	cpumask_var_t mask;
	unsigned int die;
	ssize_t size;

	if (!zalloc_cpumask_var(&mask, GFP_KERNEL))
		return -ENOMEM;
	mutex_lock(&ut_lock);
	for (die = 0; die < die_count; die++) {
		if (pmu->owners[die] >= 0)
			cpumask_set_cpu((unsigned int)pmu->owners[die], mask);
	}
	mutex_unlock(&ut_lock);
	size = sysfs_emit(buf, "%*pbl\n", cpumask_pr_args(mask));
	free_cpumask_var(mask);
	return size;
}

static void add_file(struct ut_files *files, const char *name, void *var,
                     ssize_t (*show)(struct device *, struct device_attribute *, char *))
{
	struct dev_ext_attribute *file = &files->items[files->count];

	sysfs_attr_init(&file->attr.attr);
	file->attr.attr.name = name;
	file->attr.attr.mode = 0444;
	file->attr.show = show;
	file->var = var;
	files->list[files->count++] = &file->attr.attr;
}

static void free_map(struct ut_pmu *pmu)
{
	struct ut_files *files = &pmu->files[UT_ROOT];

	while (files->count > 1) {
		files->count--;
		kfree(files->items[files->count].attr.attr.name);
		kfree(files->items[files->count].var);
	}
}

static unsigned int find_die(unsigned int socket, unsigned int position)
{
	unsigned int die = 0;

	while (die < die_count - 1 &&
	       (dies[die].socket != socket || dies[die].position != position))
		die++;
	return die;
}

/* The files dieN: where the link of logical die N ends. */
static int add_map(struct ut_pmu *pmu)
{
	const char *short_name = pmu->kind->name + strlen("uncore_");
	unsigned int far_number = pmu->kind->numbers[pmu->index ^ 1];
	unsigned int step = pmu->index % 2 == 0 ? 1 : socket_count - 1;
	unsigned int die, far;
	char *name, *text;

	for (die = 0; die < die_count; die++) {
		far = find_die((dies[die].socket + step) % socket_count, dies[die].position);
		name = kasprintf(GFP_KERNEL, "die%u", die);
		text = kasprintf(GFP_KERNEL, "%s_%u,die_%u", short_name, far_number, far);
		if (!name || !text) {
			kfree(name);
			kfree(text);
			return -ENOMEM;
		}
		add_file(&pmu->files[UT_ROOT], name, text, text_show);
	}
	return 0;
}

static int add_files(struct ut_pmu *pmu)
{
	const struct ut_file *file;
	unsigned int folder, count = 0;
	int rc = 0;

	for (file = pmu->kind->files; file->name; file++) {
		folder = strcmp(file->folder, "format") == 0 ? UT_FORMAT : UT_EVENTS;
		add_file(&pmu->files[folder], file->name, (void *)file->text, text_show);
	}
	add_file(&pmu->files[UT_ROOT], "cpumask", pmu, cpumask_show);
	if (map && pmu->kind->has_map)
		rc = add_map(pmu);

	for (folder = 0; folder < UT_FOLDER_COUNT; folder++) {
		pmu->files[folder].group.name = folder_names[folder];
		pmu->files[folder].group.attrs = pmu->files[folder].list;
		if (pmu->files[folder].count > 0)
			pmu->groups[count++] = &pmu->files[folder].group;
	}
	return rc;
}

/* --- PMUs that come and go ------------------------------------------------------------------------ */

static void find_owners(struct ut_pmu *pmu)
{
	unsigned int cpu, die;

	for (die = 0; die < UT_DIES_MAX; die++)
		pmu->owners[die] = -1;
	for_each_online_cpu(cpu)
	{
		die = topology_logical_die_id(cpu);
		if (pmu->owners[die] < 0 &&
		    (pmu->socket < 0 || dies[die].socket == (unsigned int)pmu->socket))
			pmu->owners[die] = (int)cpu;
	}
}

static void free_pmu(struct ut_pmu *pmu)
{
	free_map(pmu);
	kfree(pmu);
}

/* Registers a PMU; with ut_lock and the CPUs' lock. */
static int add_pmu(const struct ut_kind *kind, unsigned int index, int socket)
{
	struct ut_pmu *pmu = kzalloc(sizeof(*pmu), GFP_KERNEL);
	unsigned int number = kind->numbers[index] + (socket > 0 ? kind->stride * socket : 0);
	int rc;

	if (!pmu)
		return -ENOMEM;
	if (kind->number_count == 0)
		strscpy(pmu->name, kind->name, sizeof(pmu->name));
	else
		snprintf(pmu->name, sizeof(pmu->name), "%s_%u", kind->name, number);
	pmu->kind = kind;
	pmu->index = index;
	pmu->socket = socket;
	raw_spin_lock_init(&pmu->lock);
	INIT_LIST_HEAD(&pmu->events);
	find_owners(pmu);
	rc = add_files(pmu);
	if (rc < 0)
		goto out_free;

	pmu->pmu = (struct pmu){
		.module = THIS_MODULE,
		.task_ctx_nr = perf_invalid_context,
		.capabilities = PERF_PMU_CAP_NO_EXCLUDE,
		.attr_groups = pmu->groups,
		.event_init = ut_event_init,
		.add = ut_add,
		.del = ut_del,
		.start = ut_start,
		.stop = ut_stop,
		.read = ut_read,
	};
	rc = perf_pmu_register(&pmu->pmu, pmu->name, -1);
	if (rc < 0)
		goto out_free;
	list_add_tail(&pmu->entry, &ut_pmus);
	return 0;

out_free:
	free_pmu(pmu);
	return rc;
}

static void remove_pmus(void)
{
	struct ut_pmu *pmu, *next;

	list_for_each_entry_safe(pmu, next, &ut_pmus, entry)
	{
		perf_pmu_unregister(&pmu->pmu);
		list_del(&pmu->entry);
		free_pmu(pmu);
	}
}

static struct ut_pmu *find_pmu(const char *name)
{
	struct ut_pmu *pmu;

	list_for_each_entry(pmu, &ut_pmus, entry)
	{
		if (!pmu->is_gone && sysfs_streq(name, pmu->name))
			return pmu;
	}
	return NULL;
}

/* Ends an event for good. One that is still being opened has no context yet; ut_add refuses it. */
static void fail_event(struct perf_event *event)
{
	struct perf_event_context *ctx;

	if (!READ_ONCE(event->ctx))
		return;
	perf_event_disable(event);
	ctx = event->ctx;
	raw_spin_lock_irq(&ctx->lock);
	if (event->state == PERF_EVENT_STATE_OFF)
		event->state = PERF_EVENT_STATE_ERROR;
	raw_spin_unlock_irq(&ctx->lock);
}

static int unregister_set(const char *name, const struct kernel_param *param)
{
	struct ut_event *own;
	struct device *dev;
	struct ut_pmu *pmu;

	mutex_lock(&ut_lock);
	pmu = find_pmu(name);
	if (!pmu) {
		mutex_unlock(&ut_lock);
		return -ENOENT;
	}
	WRITE_ONCE(pmu->is_gone, true);
	list_for_each_entry(own, &pmu->events, entry) fail_event(own->event);
	dev = pmu->pmu.dev;
	pmu->pmu.dev = NULL; /* perf_pmu_unregister() then leaves it alone */
	mutex_unlock(&ut_lock);

	/* It waits for readers of the files, and these for ut_lock. */
	device_del(dev);
	put_device(dev);
	return 0;
}

static int register_set(const char *name, const struct kernel_param *param)
{
	const struct ut_kind *kind = NULL;
	struct ut_pmu *pmu;
	unsigned int index = 0;
	int socket = 0, rc = -ENOENT;

	cpus_read_lock();
	mutex_lock(&ut_lock);
	if (find_pmu(name)) {
		rc = -EEXIST;
		goto out_unlock;
	}
	list_for_each_entry(pmu, &ut_pmus, entry)
	{
		if (sysfs_streq(name, pmu->name)) {
			kind = pmu->kind;
			index = pmu->index;
			socket = pmu->socket;
		}
	}
	if (kind)
		rc = add_pmu(kind, index, socket);

out_unlock:
	mutex_unlock(&ut_lock);
	cpus_read_unlock();
	return rc;
}

static const struct kernel_param_ops unregister_ops = { .set = unregister_set };
module_param_cb(unregister, &unregister_ops, NULL, 0200);
static const struct kernel_param_ops register_ops = { .set = register_set };
module_param_cb(register, &register_ops, NULL, 0200);

/* --- CPUs that come and go ------------------------------------------------------------------------ */

static int other_cpu(unsigned int leaving, unsigned int die)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
	{
		if (cpu != leaving && topology_logical_die_id(cpu) == die)
			return (int)cpu;
	}
	return -1;
}

static int cpu_leaves(unsigned int cpu)
{
	unsigned int die = topology_logical_die_id(cpu);
	int heir = other_cpu(cpu, die);
	struct ut_pmu *pmu;

	mutex_lock(&ut_lock);
	list_for_each_entry(pmu, &ut_pmus, entry)
	{
		if (pmu->owners[die] != (int)cpu)
			continue;
		pmu->owners[die] = heir;
		if (heir >= 0)
			perf_pmu_migrate_context(&pmu->pmu, (int)cpu, heir);
	}
	mutex_unlock(&ut_lock);
	return 0;
}

static int cpu_comes(unsigned int cpu)
{
	unsigned int die = topology_logical_die_id(cpu);
	struct ut_pmu *pmu;

	mutex_lock(&ut_lock);
	list_for_each_entry(pmu, &ut_pmus, entry)
	{
		if (pmu->owners[die] < 0 &&
		    (pmu->socket < 0 || dies[die].socket == (unsigned int)pmu->socket))
			pmu->owners[die] = (int)cpu;
	}
	mutex_unlock(&ut_lock);
	return 0;
}

/* --- the module ----------------------------------------------------------------------------------- */

static int find_dies(void)
{
	unsigned int cpu, die, socket, other;

	for_each_online_cpu(cpu)
	{
		die = topology_logical_die_id(cpu);
		socket = topology_physical_package_id(cpu);
		if (die >= UT_DIES_MAX)
			return -E2BIG;
		dies[die].socket = socket;
		die_count = max(die_count, die + 1);
		socket_count = max(socket_count, socket + 1);
	}
	for (die = 0; die < die_count; die++) {
		for (other = 0; other < die; other++) {
			if (dies[other].socket == dies[die].socket)
				dies[die].position++;
		}
	}
	return 0;
}

static int add_kind(const struct ut_kind *kind)
{
	unsigned int index, count = max(kind->number_count, 1U);
	int socket, rc = 0;

	for (socket = 0; socket < (int)socket_count && rc == 0; socket++) {
		for (index = 0; index < count && rc == 0; index++)
			rc = add_pmu(kind, index, kind->stride > 0 ? socket : -1);
		if (kind->stride == 0)
			break;
	}
	return rc;
}

static const struct ut_kind *find_layout(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ut_layouts); i++) {
		if (strcmp(layout, ut_layouts[i].name) == 0)
			return ut_layouts[i].kinds;
	}
	return NULL;
}

static int __init ut_init(void)
{
	const struct ut_kind *kind = find_layout();
	int rc;

	if (!kind || counters < 1 || counters > UT_COUNTERS_MAX)
		return -EINVAL;
	if (*wrap != '\0' && strcmp(wrap, "fold") != 0 && strcmp(wrap, "raw") != 0)
		return -EINVAL;
	wraps_raw = strcmp(wrap, "raw") == 0;

	cpus_read_lock();
	mutex_lock(&ut_lock);
	rc = find_dies();
	for (; rc == 0 && kind->name; kind++)
		rc = add_kind(kind);
	mutex_unlock(&ut_lock);
	if (rc == 0 && migrate) {
		rc = cpuhp_setup_state_nocalls_cpuslocked(CPUHP_AP_ONLINE_DYN, "uncore_test:online",
		                                          cpu_comes, cpu_leaves);
		hotplug_state = rc > 0 ? (enum cpuhp_state)rc : 0;
	}
	cpus_read_unlock();
	if (rc < 0) {
		remove_pmus();
		return rc;
	}
	return 0;
}

static void __exit ut_exit(void)
{
	if (hotplug_state)
		cpuhp_remove_state_nocalls(hotplug_state);
	remove_pmus();
}

module_init(ut_init);
module_exit(ut_exit);
MODULE_DESCRIPTION("Uncore PMUs with known rates, for tests");
MODULE_LICENSE("Dual BSD/GPL");
