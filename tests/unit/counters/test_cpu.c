/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which processor /proc/cpuinfo tells of, and how it is named in messages.
 */
#include "../../../counters/lib/cpu.h"
#include "../host.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CPUINFO "proc/cpuinfo"

static const struct {
	const char *file;
	struct nc_cpu cpu;
	const char *text;
} cases[] = {
	{ "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 62\n"
	  "model name\t: Intel(R) Xeon(R) CPU E5-4657L v2 @ 2.40GHz\nstepping\t: 4\n"
	  "microcode\t: 0x42e\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n"
	  "model\t\t: 85\nstepping\t: 7\n",
	  { NC_VENDOR_INTEL, 6, 62, 4, "Intel(R) Xeon(R) CPU E5-4657L v2 @ 2.40GHz" },
	  "GenuineIntel 6/62/4 (Intel(R) Xeon(R) CPU E5-4657L v2 @ 2.40GHz)" },
	{ "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
	  "model name\t: AMD EPYC 7763 64-Core Processor   \nstepping\t: 1\n",
	  { NC_VENDOR_AMD, 25, 1, 1, "AMD EPYC 7763 64-Core Processor" },
	  "AuthenticAMD 25/1/1 (AMD EPYC 7763 64-Core Processor)" },
	{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nstepping\t: unknown\n",
	  { NC_VENDOR_INTEL, 6, 85, 0, "" },
	  "GenuineIntel 6/85/0" },
	{ "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n"
	  "CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
	  { NC_VENDOR_ARM, 0x41, 0xd0c, 3, "" },
	  "Arm 0x41/0xd0c/3" },
	{ "processor\t: 0\ncpu\t\t: POWER9 (raw), altivec supported\nclock\t\t: 2166.000000MHz\n"
	  "revision\t: 2.2 (pvr 004e 1202)\n",
	  { NC_VENDOR_POWER, 9, 0, 0, "POWER9 (raw), altivec supported" },
	  "POWER9 (POWER9 (raw), altivec supported)" },
	{ "cpu\t\t: POWER10 (architected), altivec supported\n",
	  { NC_VENDOR_POWER, 10, 0, 0, "POWER10 (architected), altivec supported" },
	  "POWER10 (POWER10 (architected), altivec supported)" },
	/* What is not known keeps its title. */
	{ "vendor_id\t: HygonGenuine\ncpu family\t: 24\nmodel\t\t: 1\nmodel name\t: Hygon C86\n",
	  { NC_VENDOR_UNKNOWN, 24, 1, 0, "Hygon C86" },
	  "unknown processor (Hygon C86)" },
	{ "cpu\t\t: 970MP, altivec supported\n",
	  { NC_VENDOR_UNKNOWN, 0, 0, 0, "970MP, altivec supported" },
	  "unknown processor (970MP, altivec supported)" },
	/* Strange files. */
	{ "", { 0 }, "unknown processor" },
	{ "\n:\n : \nx\nmodel name", { 0 }, "unknown processor" },
	{ "vendor_id\t: GenuineIntel\n", { 0 }, "unknown processor" },
	{ "vendor_id\t: GenuineIntel\ncpu family\t: six\nmodel\t\t: 85\n",
	  { 0 },
	  "unknown processor" },
	{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 99999999999\n",
	  { 0 },
	  "unknown processor" },
	{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: -1\n",
	  { 0 },
	  "unknown processor" },
	{ "CPU implementer\t: 0x41\n", { 0 }, "unknown processor" },
	{ "cpu\t: POWER\n", { .title = "POWER" }, "unknown processor (POWER)" },
	{ "cpu\t: POWER+9\n", { .title = "POWER+9" }, "unknown processor (POWER+9)" },
	{ "model name\t: \x1b[31mred\n",
	  { .title = "\\x1b[31mred" },
	  "unknown processor (\\x1b[31mred)" },
};

static struct nc_cpu read_cpu(const struct host *host)
{
	struct nc_cpu cpu = { .vendor = NC_VENDOR_POWER, .title = "untouched" };
	struct np_error err = { 0 };

	assert_np_ok(nc_cpu_read(&host->root, &cpu, &err), &err);
	return cpu;
}

static void the_first_processor_of_the_file_is_taken(void **state)
{
	struct host *host = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct nc_cpu cpu;
		char text[256];

		check_case("%s", cases[i].file);
		host_write(host, CPUINFO, cases[i].file);
		cpu = read_cpu(host);
		assert_number(cpu.vendor, cases[i].cpu.vendor);
		assert_text(cpu.title, cases[i].cpu.title);
		assert_text(nc_cpu_text(&cpu, text, sizeof(text)), cases[i].text);
		if (cpu.vendor == NC_VENDOR_UNKNOWN)
			continue;
		assert_number(cpu.family, cases[i].cpu.family);
		assert_number(cpu.model, cases[i].cpu.model);
		assert_number(cpu.stepping, cases[i].cpu.stepping);
	}
}

static void a_file_that_cannot_be_read_is_an_unknown_processor(void **state)
{
	struct host *host = *state;

	assert_number(read_cpu(host).vendor, NC_VENDOR_UNKNOWN);
	assert_text(read_cpu(host).title, "");
	host_mkdir(host, CPUINFO);
	assert_number(read_cpu(host).vendor, NC_VENDOR_UNKNOWN);
	host_remove(host, CPUINFO);
	host_fifo(host, CPUINFO);
	assert_number(read_cpu(host).vendor, NC_VENDOR_UNKNOWN);
	host_remove(host, CPUINFO);
	host_write_bytes(host, CPUINFO, "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 85\n\0",
	                 52);
	assert_number(read_cpu(host).vendor, NC_VENDOR_UNKNOWN);
}

/* 1024 CPUs: more than is read of any other file. */
static void the_file_of_a_large_machine_is_read(void **state)
{
	static const char first[] = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 207\n"
				    "stepping : 2\nflags :";
	struct host *host = *state;
	size_t size = 2 * NP_SYSROOT_FILE_BYTES_MAX;
	char *text = malloc(size);

	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, first, strlen(first));
	host_write_bytes(host, CPUINFO, text, size);
	free(text);

	assert_number(read_cpu(host).vendor, NC_VENDOR_INTEL);
	assert_number(read_cpu(host).model, 207);
}

static void a_long_title_is_cut(void **state)
{
	struct host *host = *state;
	struct nc_cpu cpu;
	char line[300] = "model name : ";
	char text[16];

	memset(line + strlen(line), 'x', 200);
	host_write(host, CPUINFO, line);
	cpu = read_cpu(host);

	assert_number(strlen(cpu.title), sizeof(cpu.title) - 1);
	assert_has(cpu.title, "xx...");
	assert_text(nc_cpu_text(&cpu, text, sizeof(text)), "unknown process");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		host_test(the_first_processor_of_the_file_is_taken),
		host_test(a_file_that_cannot_be_read_is_an_unknown_processor),
		host_test(the_file_of_a_large_machine_is_read),
		host_test(a_long_title_is_cut),
	};

	return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}
