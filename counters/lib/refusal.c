/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why perf_event_open(2) says no, in words, with what would help on this machine.
 *
 * Counting a whole CPU needs perf_event_paranoid <= 0 or CAP_PERFMON, CAP_SYS_ADMIN before Linux 5.8
 * (kernel/events/core.c, perf_allow_cpu()): the kernel itself then says EACCES. Container engines
 * refuse the call by a seccomp filter: EPERM, and some of them ENOSYS, before the kernel looks at
 * anything else.
 */
#include "backend.h"
#include "machine.h"
#include "sources.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Debian and Ubuntu have levels of their own above 2, all of them stricter. */
#define SYSCTL_REMEDY "sysctl kernel.perf_event_paranoid=0"

/*
 * Docker and containerd lift their filter for CAP_PERFMON since 2022, Podman for that together with
 * CAP_SYS_ADMIN (moby#43987, containers/common#2534).
 */
#define CONTAINER_REMEDY                                                                             \
	"start the container with --cap-add PERFMON --cap-add SYS_ADMIN, or with a seccomp profile " \
	"that allows perf_event_open"

enum { PATH_SIZE = 256, REASON_SIZE = 512, REMEDY_SIZE = 256, SENTENCE_SIZE = 160 };

struct words {
	char *reason;
	char *remedy;
};

static void NP_PRINTF(2, 3) say_reason(struct words *words, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(words->reason, REASON_SIZE, fmt, args);
	va_end(args);
}

static void NP_PRINTF(2, 3) say_remedy(struct words *words, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(words->remedy, REMEDY_SIZE, fmt, args);
	va_end(args);
}

static const char *capability_name(const struct nc_rights *rights)
{
	return rights->knows_perfmon ? "CAP_PERFMON" : "CAP_SYS_ADMIN";
}

static bool is_paranoid(const struct nc_rights *rights)
{
	return rights->has_paranoid && rights->paranoid > 0;
}

static void explain_filter(const struct nc_rights *rights, struct words *words)
{
	char more[SENTENCE_SIZE] = "";

	if (is_paranoid(rights) && !rights->is_capable)
		snprintf(more, sizeof(more),
		         "; behind it, perf_event_paranoid is %ld and would want %s, too",
		         rights->paranoid, capability_name(rights));
	say_reason(words, "a seccomp filter, as containers have it, refuses perf_event_open(2)%s",
	           more);
	say_remedy(words, CONTAINER_REMEDY);
}

static void explain_paranoid(const struct nc_rights *rights, struct words *words)
{
	const char *name = capability_name(rights);

	if (rights->is_capable) {
		say_reason(
			words,
			"perf_event_paranoid is %ld, and counting whole CPUs needs 0 or %s: this "
			"process has it in a user namespace alone, where it does not count",
			rights->paranoid, name);
		say_remedy(words,
		           "run outside of the user namespace (no rootless container), or on the "
		           "host: " SYSCTL_REMEDY);
		return;
	}
	say_reason(words, "perf_event_paranoid is %ld, and counting whole CPUs needs 0 or %s",
	           rights->paranoid, name);
	if (rights->in_user_namespace)
		say_remedy(words, "on the host: " SYSCTL_REMEDY);
	else
		say_remedy(
			words,
			"run as root, or give the program %s (setcap %s+ep FILE), or as root: " SYSCTL_REMEDY,
			name, rights->knows_perfmon ? "cap_perfmon" : "cap_sys_admin");
}

/* EACCES and EPERM. */
static void explain_rights(int code, const struct nc_rights *rights, struct words *words)
{
	bool would_be_refused =
		is_paranoid(rights) && (!rights->is_capable || rights->in_user_namespace);

	/* The kernel says EACCES itself; EPERM comes from a filter where there is one. */
	if (rights->is_filtered && (code == EPERM || !would_be_refused)) {
		explain_filter(rights, words);
	} else if (would_be_refused) {
		explain_paranoid(rights, words);
	} else if (*rights->lockdown) {
		say_reason(words, "the kernel is locked down (%s) and refuses perf_event_open(2)",
		           rights->lockdown);
		say_remedy(words,
		           "boot without lockdown=%s, or without Secure Boot where that "
		           "switches it on",
		           rights->lockdown);
	} else {
		say_reason(words,
		           "the kernel refuses perf_event_open(2) although perf_event_paranoid and "
		           "capabilities would permit it (%s): a security module, SELinux for one, "
		           "does",
		           strerrordesc_np(code));
		say_remedy(words, "permit perf_event in its policy; the audit log names the rule");
	}
}

static void explain_absent_call(const struct nc_rights *rights, struct words *words)
{
	if (!rights->has_paranoid) {
		say_reason(words, "the kernel has no perf_event_open(2): there is no "
		                  "perf_event_paranoid among its settings");
		say_remedy(words, "boot a kernel built with CONFIG_PERF_EVENTS");
	} else if (rights->is_filtered) {
		explain_filter(rights, words);
	} else {
		say_reason(words, "perf_event_open(2) is not there, though the kernel has it: "
		                  "this runs under an emulator such as qemu-user, or a sandbox");
		say_remedy(words, "run it outside");
	}
}

static const char *box_of(const struct nc_counter *counter)
{
	return counter->pmu ? counter->pmu->name : "the PMU";
}

static const char *name_of(const struct nc_counter *counter)
{
	return counter->name ? counter->name : "the event";
}

static void explain_unknown_event(const struct np_sysroot *root, const struct nc_counter *counter,
                                  struct words *words)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", box_of(counter));
	if (counter->pmu && !np_sysroot_has(root, path)) {
		say_reason(words, "PMU %s is not there any more: its driver was unloaded",
		           box_of(counter));
		say_remedy(words, "load the driver again");
		return;
	}
	say_reason(words,
	           "PMU %s does not know the event %s (type %" PRIu32 ", config 0x%" PRIx64 ")",
	           box_of(counter), name_of(counter), counter->code.type, counter->code.config[0]);
	say_remedy(words, "--events FILE with an encoding that this kernel knows");
}

static void explain_no_box(const struct nc_host *host, const struct nc_counter *counter,
                           struct words *words)
{
	if (!np_bitmap_has(nc_host_online(host), counter->cpu)) {
		say_reason(words, "CPU %u, which PMU %s is read on, is offline", counter->cpu,
		           box_of(counter));
		say_remedy(words, "as root: chcpu -e %u", counter->cpu);
		return;
	}
	say_reason(words,
	           "PMU %s has nothing to count with on CPU %u: the CPU went offline, or "
	           "the device is switched off",
	           box_of(counter), counter->cpu);
	say_remedy(words, "try again");
}

static void explain_invalid(const struct nc_counter *counter, struct words *words)
{
	say_reason(words,
	           "PMU %s refuses the encoding of %s (type %" PRIu32 ", config 0x%" PRIx64
	           ", 0x%" PRIx64 ", 0x%" PRIx64 ") on CPU %u",
	           box_of(counter), name_of(counter), counter->code.type, counter->code.config[0],
	           counter->code.config[1], counter->code.config[2], counter->cpu);
	say_remedy(words, "--events FILE with an encoding that this kernel takes");
}

static void explain_files(int code, struct words *words)
{
	struct rlimit limit = { 0 };

	if (code == ENFILE) {
		say_reason(words, "the whole system has as many files open as fs.file-max permits");
		say_remedy(words, "as root: raise sysctl fs.file-max");
		return;
	}
	getrlimit(RLIMIT_NOFILE, &limit);
	say_reason(words,
	           "this process may have %ju files open (RLIMIT_NOFILE), and each counter "
	           "is one",
	           (uintmax_t)limit.rlim_cur);
	say_remedy(words, "ulimit -n with a larger number (up to %ju without being root)",
	           (uintmax_t)limit.rlim_max);
}

/* What is wrong with the event or its PMU, not with who asks. */
static void explain_event(const struct np_sysroot *root, const struct nc_host *host, int code,
                          const struct nc_counter *counter, struct words *words)
{
	switch (code) {
	case ENOENT:
		explain_unknown_event(root, counter, words);
		break;
	case ENODEV:
	case ENXIO:
		explain_no_box(host, counter, words);
		break;
	case EINVAL:
		explain_invalid(counter, words);
		break;
	case E2BIG:
		say_reason(words,
		           "the kernel is older than what the event %s needs (config3: "
		           "Linux 6.3)",
		           name_of(counter));
		say_remedy(words, "a newer kernel");
		break;
	case EOPNOTSUPP:
		say_reason(words, "PMU %s cannot count %s: the hardware or its driver lacks it",
		           box_of(counter), name_of(counter));
		break;
	default:
		say_reason(words, "perf_event_open(2) of %s on PMU %s, CPU %u: %s",
		           name_of(counter), box_of(counter), counter->cpu, strerrordesc_np(code));
	}
}

void nc_perf_explain(const struct nc_host *host, int code, const struct nc_counter *counter,
                     char reason[512], char remedy[256])
{
	struct words words = { .reason = reason, .remedy = remedy };
	struct nc_rights rights;
	struct np_sysroot root;

	*reason = *remedy = '\0';
	if (np_sysroot_open(nc_host_root(host), &root, NULL) < 0)
		root = (struct np_sysroot){ .fd = -1, .path = "" };
	nc_machine_rights(&root, &rights);
	switch (code) {
	case EACCES:
	case EPERM:
		explain_rights(code, &rights, &words);
		break;
	case ENOSYS:
		explain_absent_call(&rights, &words);
		break;
	case EBUSY:
		say_reason(&words, "others hold the counters of PMU %s for themselves",
		           box_of(counter));
		say_remedy(&words, "end the other profiler (perf, PCM, likwid, a watchdog)");
		break;
	case EMFILE:
	case ENFILE:
		explain_files(code, &words);
		break;
	default:
		explain_event(&root, host, code, counter, &words);
	}
	np_sysroot_close(&root);
}

int nc_perf_try(const struct nc_counter *counter)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = counter->code.type,
		.config = counter->code.config[0],
		.config1 = counter->code.config[1],
		.config2 = counter->code.config[2],
		.disabled = 1,
	};
	int fd;

#ifdef PERF_ATTR_SIZE_VER8
	attr.config3 = counter->code.config[3];
#endif
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)counter->cpu, -1,
	                  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
