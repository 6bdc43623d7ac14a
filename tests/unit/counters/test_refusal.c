/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why perf_event_open(2) says no: what is said for each errno on machines made up, and what the
 * kernel here answers under a filter and to an ordinary user.
 */
#include "host.h"
#include "loaded.h"

#include "../../../counters/lib/backend.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <numaprobe/cpulist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

#define NO_RIGHTS "CapEff:\t0000000000000000\n"
#define ALL_RIGHTS "CapEff:\t000001ffffffffff\n"
#define PERFMON "CapEff:\t0000004000000000\n"
#define SYS_ADMIN "CapEff:\t0000000000200000\n"
#define FREE "Seccomp:\t0\n"
#define FILTERED "Seccomp:\t2\n"
#define FIRST_NAMESPACE "         0          0 4294967295\n"
#define OWN_NAMESPACE "         0       1000          1\n"

static const struct machine {
	const char *name;
	int code;
	const char *paranoid; /* NULL = no such file */
	const char *status;
	const char *uid_map;
	const char *lockdown;
	const char *last_cap;
	const char *reason;
	const char *reason_too; /* "" = nothing more */
	const char *remedy;
} machines[] = {
	{ "an ordinary user", EACCES, "2", NO_RIGHTS FREE, FIRST_NAMESPACE, NULL, "40",
	  "perf_event_paranoid is 2", "needs 0 or CAP_PERFMON",
	  "sysctl kernel.perf_event_paranoid=0" },
	{ "an ordinary user who is told EPERM", EPERM, "1", NO_RIGHTS FREE, FIRST_NAMESPACE, NULL,
	  "40", "perf_event_paranoid is 1", "CAP_PERFMON", "cap_perfmon+ep" },
	{ "Debian's own level", EACCES, "3", NO_RIGHTS FREE, FIRST_NAMESPACE, NULL, "40",
	  "perf_event_paranoid is 3", "needs 0", "as root" },
	{ "a kernel before 5.8", EACCES, "2", NO_RIGHTS FREE, FIRST_NAMESPACE, NULL, "37",
	  "needs 0 or CAP_SYS_ADMIN", "", "cap_sys_admin+ep" },
	{ "root in a container", EPERM, "2", ALL_RIGHTS FILTERED, FIRST_NAMESPACE, NULL, "40",
	  "a seccomp filter", "refuses perf_event_open", "--cap-add PERFMON" },
	{ "a container that drops capabilities", EPERM, "2", NO_RIGHTS FILTERED, FIRST_NAMESPACE,
	  NULL, "40", "a seccomp filter", "perf_event_paranoid is 2 and would want CAP_PERFMON",
	  "seccomp profile" },
	{ "a container where paranoid permits", EPERM, "-1", NO_RIGHTS FILTERED, FIRST_NAMESPACE,
	  NULL, "40", "a seccomp filter", "", "--cap-add PERFMON" },
	{ "a filter that lets it through to the kernel", EACCES, "2", NO_RIGHTS FILTERED,
	  FIRST_NAMESPACE, NULL, "40", "perf_event_paranoid is 2", "", "sysctl" },
	{ "a filter that says EACCES", EACCES, "2", PERFMON FILTERED, FIRST_NAMESPACE, NULL, "40",
	  "a seccomp filter", "", "--cap-add" },
	{ "a filter that says ENOSYS", ENOSYS, "2", ALL_RIGHTS FILTERED, FIRST_NAMESPACE, NULL,
	  "40", "a seccomp filter", "", "--cap-add SYS_ADMIN" },
	{ "a kernel without perf", ENOSYS, NULL, ALL_RIGHTS FILTERED, FIRST_NAMESPACE, NULL, "40",
	  "the kernel has no perf_event_open", "", "CONFIG_PERF_EVENTS" },
	{ "an emulator", ENOSYS, "2", ALL_RIGHTS FREE, FIRST_NAMESPACE, NULL, "40", "qemu-user", "",
	  "outside" },
	{ "root of a rootless container", EACCES, "2", ALL_RIGHTS FREE, OWN_NAMESPACE, NULL, "40",
	  "user namespace", "perf_event_paranoid is 2", "outside of the user namespace" },
	{ "a user of a rootless container", EACCES, "2", NO_RIGHTS FREE, OWN_NAMESPACE, NULL, "40",
	  "perf_event_paranoid is 2", "", "on the host: sysctl" },
	{ "a locked-down kernel", EPERM, "2", SYS_ADMIN FREE, FIRST_NAMESPACE,
	  "none integrity [confidentiality]", "40", "locked down (confidentiality)", "",
	  "lockdown=confidentiality" },
	{ "a kernel that is not locked down", EACCES, "0", NO_RIGHTS FREE, FIRST_NAMESPACE,
	  "[none] integrity confidentiality", "40", "a security module", "", "audit log" },
	{ "nothing to go by", EACCES, NULL, "", NULL, NULL, NULL, "a security module", "", "" },
};

static void build_machine(const struct host *host, const struct machine *machine)
{
	host_remove(host, "proc");
	host_remove(host, "sys");
	host_build(host, &(struct host_shape){ .node_count = 1, .cores_per_node = 2 });
	host_write(host, "proc/self/status", machine->status);
	if (machine->paranoid)
		host_write(host, "proc/sys/kernel/perf_event_paranoid", machine->paranoid);
	if (machine->last_cap)
		host_write(host, "proc/sys/kernel/cap_last_cap", machine->last_cap);
	if (machine->uid_map)
		host_write(host, "proc/self/uid_map", machine->uid_map);
	if (machine->lockdown)
		host_write(host, "sys/kernel/security/lockdown", machine->lockdown);
}

static void who_refuses_is_found_out(void **state)
{
	static const struct nc_counter counter = { .name = "clockticks" };
	const struct host *host = *state;

	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
		const struct machine *machine = &machines[i];
		char reason[512];
		char remedy[256];
		struct nc_host *loaded;

		check_case("%s", machine->name);
		build_machine(host, machine);
		loaded = load(host->dir);
		nc_perf_explain(loaded, machine->code, &counter, reason, remedy);
		nc_host_free(loaded);

		assert_true(is_printable_line(reason));
		assert_has(reason, machine->reason);
		assert_has(reason, machine->reason_too);
		assert_has(remedy, machine->remedy);
		if (machine->code != ENOSYS && !strstr(machine->reason, "filter"))
			assert_has_not(reason, "seccomp");
	}
}

static const struct answer {
	const char *name;
	int code;
	unsigned cpu;
	const char *pmu;
	const char *reason;
	const char *remedy; /* "" = any */
} answers[] = {
	{ "an unknown event", ENOENT, 0, "uncore_upi_0",
	  "PMU uncore_upi_0 does not know the event txl (type 14, config 0xf02)", "--events FILE" },
	{ "a PMU that went", ENOENT, 0, "uncore_upi_9", "uncore_upi_9 is not there any more",
	  "driver" },
	{ "an offline CPU", ENODEV, 7, "uncore_upi_0", "CPU 7, which PMU uncore_upi_0",
	  "chcpu -e 7" },
	{ "no box", ENODEV, 1, "uncore_upi_0", "nothing to count with on CPU 1", "" },
	{ "bits that the PMU refuses", EINVAL, 0, "uncore_upi_0",
	  "refuses the encoding of txl (type 14, config 0xf02, 0x1, 0x2) on CPU 0", "--events" },
	{ "counters in use", EBUSY, 0, "uncore_upi_0",
	  "others hold the counters of PMU uncore_upi_0", "profiler" },
	{ "too many files", EMFILE, 0, "uncore_upi_0", "RLIMIT_NOFILE", "ulimit -n" },
	{ "too many files in all", ENFILE, 0, "uncore_upi_0", "fs.file-max", "fs.file-max" },
	{ "what the hardware lacks", EOPNOTSUPP, 0, "uncore_upi_0", "cannot count txl", "" },
	{ "an old kernel", E2BIG, 0, "uncore_upi_0", "older", "newer kernel" },
	{ "anything else", EIO, 0, "uncore_upi_0", "Input/output error", "" },
	{ "no PMU by name", EINVAL, 0, NULL, "the PMU", "" },
};

static void what_is_wrong_with_the_event_is_told(void **state)
{
	const struct host *host = *state;
	struct nc_host *loaded;

	build_machine(host, &machines[0]);
	host_write(host, "sys/bus/event_source/devices/uncore_upi_0/type", "14\n");
	loaded = load(host->dir);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		const struct nc_pmu pmu = { .name = answers[i].pmu };
		const struct nc_counter counter = {
			.name = "txl",
			.pmu = answers[i].pmu ? &pmu : NULL,
			.cpu = answers[i].cpu,
			.code = { .type = 14, .config = { 0xf02, 1, 2 } },
		};
		char reason[512];
		char remedy[256];

		check_case("%s", answers[i].name);
		nc_perf_explain(loaded, answers[i].code, &counter, reason, remedy);
		assert_true(is_printable_line(reason));
		assert_has(reason, answers[i].reason);
		assert_has(remedy, answers[i].remedy);
	}
	nc_host_free(loaded);
}

/* ---- this kernel ---- */

struct outcome {
	bool is_ready; /* the child could become what it was to be */
	int rc;
	char reason[512];
	char remedy[256];
};

/* Makes perf_event_open(2) fail with @code from now on. */
static bool refuse_perf(int code)
{
	struct sock_filter code_of_filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {
		.len = sizeof(code_of_filter) / sizeof(code_of_filter[0]),
		.filter = code_of_filter,
	};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static bool become_nobody(int unused)
{
	(void)unused;
	return setresgid(NOBODY, NOBODY, NOBODY) == 0 && setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

/* A counter of the kernel's own that every kernel with perf has. */
static struct nc_counter cpu_clock(const struct nc_host *host)
{
	return (struct nc_counter){
		.name = "cpu-clock",
		.cpu = np_bitmap_next(nc_host_online(host), 0),
		.code = { .type = PERF_TYPE_SOFTWARE, .config = { PERF_COUNT_SW_CPU_CLOCK } },
	};
}

/* Tries to count in a child that @become made, and explains what came of it. */
static struct outcome try_as(bool (*become)(int), int argument)
{
	struct nc_host *host = load(NULL);
	struct nc_counter counter = cpu_clock(host);
	struct outcome outcome = { 0 };
	int ends[2];
	int status = 0;
	pid_t pid;

	assert_number(pipe(ends), 0);
	pid = fork_child();
	if (pid == 0) {
		outcome.is_ready = become(argument);
		if (outcome.is_ready)
			outcome.rc = nc_perf_try(&counter);
		if (outcome.rc < 0)
			nc_perf_explain(host, -outcome.rc, &counter, outcome.reason,
			                outcome.remedy);
		_exit(write(ends[1], &outcome, sizeof(outcome)) == sizeof(outcome) ? 0 : 1);
	}
	close(ends[1]);
	assert_number(read(ends[0], &outcome, sizeof(outcome)), sizeof(outcome));
	close(ends[0]);
	assert_number(waitpid(pid, &status, 0), pid);
	assert_number(status, 0);
	nc_host_free(host);
	return outcome;
}

static void a_filter_of_this_kernel_is_named(void **state)
{
	static const int codes[] = { EPERM, ENOSYS };

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		struct outcome outcome = try_as(refuse_perf, codes[i]);

		check_case("%s", strerrorname_np(codes[i]));
		if (!outcome.is_ready) {
			print_message("skipped: no seccomp filter can be set here\n");
			skip();
		}
		assert_number(outcome.rc, -codes[i]);
		assert_has(outcome.reason, "a seccomp filter");
		assert_has(outcome.remedy, "--cap-add PERFMON");
	}
}

static void an_ordinary_user_is_told_the_level_and_the_capability(void **state)
{
	struct outcome outcome = try_as(become_nobody, 0);

	(void)state;
	if (!outcome.is_ready) {
		print_message("skipped: not root, cannot become another user\n");
		skip();
	}
	if (outcome.rc == 0) {
		print_message("skipped: perf_event_paranoid permits it to everybody here\n");
		skip();
	}
	if (outcome.rc != -EACCES) {
		print_message("skipped: no perf here: %s\n", strerrorname_np(-outcome.rc));
		skip();
	}
	assert_has(outcome.reason, "perf_event_paranoid is ");
	assert_has(outcome.reason, "CAP_PERFMON");
	assert_has(outcome.remedy, "kernel.perf_event_paranoid=0");
}

static bool stay(int unused)
{
	(void)unused;
	return true;
}

/* The number that the next file to be opened gets. */
static int next_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

static void what_no_kernel_knows_is_told_and_nothing_stays_open(void **state)
{
	struct nc_host *host = load(NULL);
	struct nc_counter counter = cpu_clock(host);
	char reason[512];
	char remedy[256];
	int before;
	int rc;

	(void)state;
	if (try_as(stay, 0).rc != 0) {
		nc_host_free(host);
		print_message("skipped: this process may not count here\n");
		skip();
	}
	before = next_fd();
	assert_number(nc_perf_try(&counter), 0);
	counter.code.type = 0x7ffffff0;
	rc = nc_perf_try(&counter);
	nc_perf_explain(host, -rc, &counter, reason, remedy);

	assert_number(rc, -ENOENT);
	assert_has(reason, "does not know the event cpu-clock");
	assert_number(next_fd(), before);
	nc_host_free(host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(who_refuses_is_found_out),
		host_test(what_is_wrong_with_the_event_is_told),
		cmocka_unit_test(a_filter_of_this_kernel_is_named),
		cmocka_unit_test(an_ordinary_user_is_told_the_level_and_the_capability),
		cmocka_unit_test(what_no_kernel_knows_is_told_and_nothing_stays_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
