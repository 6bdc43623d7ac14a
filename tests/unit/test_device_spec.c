/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../probe/lib/device_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *text;
	enum np_device_kind kind;
	const char *dir;
	const char *name; /* and the entry of the folder */
} good[] = {
	{ "eth0", NP_DEVICE_NET, "sys/class/net", "eth0" },
	{ "enp193s0f1np1", NP_DEVICE_NET, "sys/class/net", "enp193s0f1np1" },
	{ "eth0.100", NP_DEVICE_NET, "sys/class/net", "eth0.100" },
	{ "br-1f2e", NP_DEVICE_NET, "sys/class/net", "br-1f2e" },
	{ "c1", NP_DEVICE_NET, "sys/class/net", "c1" }, /* hexadecimal, but no address */
	{ "00.1", NP_DEVICE_NET, "sys/class/net", "00.1" },
	{ "netdev:eth0", NP_DEVICE_NET, "sys/class/net", "eth0" },
	{ "netdev:pci", NP_DEVICE_NET, "sys/class/net", "pci" },
	{ "pci", NP_DEVICE_NET, "sys/class/net", "pci" },
	{ "block:sda", NP_DEVICE_BLOCK, "sys/class/block", "sda" },
	{ "block:nvme0n1", NP_DEVICE_BLOCK, "sys/class/block", "nvme0n1" },
	{ "0000:c1:00.1", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.1" },
	{ "c1:00.1", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.1" },
	{ "C1:00.1", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.1" },
	{ "1:2.3", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:01:02.3" },
	{ "5:c1:1f.7", NP_DEVICE_PCI, "sys/bus/pci/devices", "0005:c1:1f.7" },
	{ "10000:e1:00.0", NP_DEVICE_PCI, "sys/bus/pci/devices", "10000:e1:00.0" },
	{ "pci:0000:c1:00.1", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.1" },
	{ "pci:c1:00.1", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.1" },
	{ "pci:c1:00", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.0" },
	{ "pci:0000:c1:00", NP_DEVICE_PCI, "sys/bus/pci/devices", "0000:c1:00.0" },
};

static void good_names_become_a_place_in_sysfs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct np_device_spec spec = { 0 };
		struct np_error err = { 0 };

		check_case("%s", good[i].text);
		assert_np_ok(np_device_spec_parse(good[i].text, false, &spec, &err), &err);
		assert_text(np_device_kind_name(spec.kind), np_device_kind_name(good[i].kind));
		assert_text(spec.dir, good[i].dir);
		assert_text(spec.name, good[i].name);
		assert_text(spec.entry, good[i].name);
		np_device_spec_release(&spec);
		assert_null(spec.name);
	}
}

/* None of these may become a path: they lead elsewhere, or nowhere. */
static const char *const bad[] = {
	"",
	".",
	"..",
	"/",
	"a/b",
	"../../etc",
	"/dev/sda",
	"netdev:",
	"netdev:.",
	"netdev:..",
	"netdev:a/b",
	"netdev:/etc/passwd",
	"block:",
	"block:..",
	"block:../net/eth0",
	"pci:",
	"pci:eth0",
	"pci:..",
	"pci:c1",
	"pci:c1:00.1/../..",
	"pci:c1:00.g",
	"pci:c1:00.10",
	"pci:c1:00.1 ",
	"pci: c1:00.1",
	"pci:-1:00.1",
	"pci:0xc1:00.1",
	"pci:c1:00.1c1:00.1",
	"pci:123456789:c1:00.1",
	"pci:0000:c1:00.1:2",
	"pci:0000:123:00.1",
	"pci:00000000000000000000000000000000000000c1:00.1",
	"c1:00",
	"c1:00.",
	"c1:.1",
	":00.1",
	"::.",
	"0000:c1:00.1.",
	"eth0:1",
	"eth0:",
	":",
	":eth0",
	"usb:1",
	"netdevx:eth0",
	"NETDEV:eth0",
};

static void bad_names_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct np_device_spec spec = { 0 };
		struct np_error err = { 0 };
		int rc;

		check_case("'%s'", bad[i]);
		rc = np_device_spec_parse(bad[i], false, &spec, &err);
		assert_fails(rc, -EINVAL, &err, "device '");
		assert_has(err.text, bad[i]);
		assert_null(spec.name);
		assert_null(spec.entry);
	}
}

static void names_that_are_no_text_are_quoted_safely(void **state)
{
	struct np_device_spec spec = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_fails(np_device_spec_parse("a/\033[31m\n", false, &spec, &err), -EINVAL, &err,
	             "a/\\x1b[31m\\x0a");
}

static void what_is_looked_up_here_is_refused_for_another_machine(void **state)
{
	static const char *const texts[] = { "ip:127.0.0.1", "file:/", "ip:", "file:" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct np_device_spec spec = { 0 };
		struct np_error err = { 0 };

		check_case("%s", texts[i]);
		assert_fails(np_device_spec_parse(texts[i], false, &spec, &err), -EINVAL, &err,
		             "on this machine");
	}
}

static void the_loopback_address_is_on_the_loopback_interface(void **state)
{
	struct np_device_spec spec = { 0 };
	struct np_error err = { 0 };

	(void)state;
	if (access("/sys/class/net/lo", F_OK) < 0) {
		print_message("skipped: no loopback interface here\n");
		skip();
	}
	assert_np_ok(np_device_spec_parse("ip:127.0.0.1", true, &spec, &err), &err);
	assert_text(spec.name, "lo");
	assert_text(spec.dir, "sys/class/net");
	np_device_spec_release(&spec);
}

/* Names that no resolver is asked for: an empty one, and one with a part of over 63 letters. */
static void a_host_that_is_none_has_no_route(void **state)
{
	static const char *const texts[] = {
		"ip:",
		"ip:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"ip:\n\033[1maaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct np_device_spec spec = { 0 };
		struct np_error err = { 0 };

		check_case("%s", texts[i]);
		assert_fails(np_device_spec_parse(texts[i], true, &spec, &err), -ENOENT, &err,
		             "no route to that address");
	}
}

static void a_file_is_looked_up_and_its_absence_named(void **state)
{
	struct np_device_spec spec = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_fails(np_device_spec_parse("file:/missing/file", true, &spec, &err), -ENOENT, &err,
	             "file:/missing/file");
	assert_fails(np_device_spec_parse("file:\n\033[1m", true, &spec, &err), -ENOENT, &err,
	             "file:");
	/* proc stands on no block device. */
	assert_fails(np_device_spec_parse("file:/proc/self/status", true, &spec, &err), -ENODEV,
	             &err, "no single block device");
}

static void a_file_on_a_disk_is_on_its_block_device(void **state)
{
	char device[64];
	struct np_device_spec spec = { 0 };
	struct np_error err = { 0 };
	int rc;

	(void)state;
	rc = np_device_spec_parse("file:/", true, &spec, &err);
	if (rc == -ENODEV) {
		print_message("skipped: %s\n", err.text);
		skip();
	}
	assert_np_ok(rc, &err);
	assert_text(spec.dir, "sys/dev/block");
	snprintf(device, sizeof(device), "/sys/dev/block/%s", spec.entry);
	np_device_spec_release(&spec);
	if (access("/sys/dev/block", F_OK) == 0)
		assert_number(access(device, F_OK), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_names_become_a_place_in_sysfs),
		cmocka_unit_test(bad_names_are_refused),
		cmocka_unit_test(names_that_are_no_text_are_quoted_safely),
		cmocka_unit_test(what_is_looked_up_here_is_refused_for_another_machine),
		cmocka_unit_test(the_loopback_address_is_on_the_loopback_interface),
		cmocka_unit_test(a_host_that_is_none_has_no_route),
		cmocka_unit_test(a_file_is_looked_up_and_its_absence_named),
		cmocka_unit_test(a_file_on_a_disk_is_on_its_block_device),
	};

	return cmocka_run_group_tests_name("device_spec", tests, NULL, NULL);
}
