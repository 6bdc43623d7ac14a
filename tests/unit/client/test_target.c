/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include "../../../server/client/target.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- servers ---- */

static const struct {
	const char *text;
	enum nl_protocol protocol;
	const char *host;
	const char *port; /* NULL = a unix socket */
	const char *shown;
} servers[] = {
	{ "127.0.0.1", NL_MEMCACHE, "127.0.0.1", "11211", "127.0.0.1:11211" },
	{ "127.0.0.1", NL_HTTP, "127.0.0.1", "8080", "127.0.0.1:8080" },
	{ "db-1.example:1", NL_MEMCACHE, "db-1.example", "1", "db-1.example:1" },
	{ "localhost:65535", NL_HTTP, "localhost", "65535", "localhost:65535" },
	{ "[::1]", NL_MEMCACHE, "::1", "11211", "[::1]:11211" },
	{ "[fe80::1%eth0]:80", NL_HTTP, "fe80::1%eth0", "80", "[fe80::1%eth0]:80" },
	{ "unix:/run/m.sock", NL_MEMCACHE, "/run/m.sock", NULL, "unix:/run/m.sock" },
	{ "unix:a:b", NL_HTTP, "a:b", NULL, "unix:a:b" },
};

static void servers_are_read_and_shown(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		struct nl_server server = { 0 };
		struct np_error err = { 0 };
		char shown[300];

		check_case("'%s'", servers[i].text);
		assert_np_ok(nl_server_parse("--server", servers[i].text, servers[i].protocol,
		                             &server, &err),
		             &err);
		assert_text(server.host, servers[i].host);
		assert_text(server.port, servers[i].port);
		assert_text(nl_server_text(&server, shown, sizeof(shown)), servers[i].shown);
		nl_server_release(&server);
		nl_server_release(&server);
	}
}

static const struct {
	const char *text;
	const char *why;
} bad_servers[] = {
	{ "", "--server: '': no name or address of a host" },
	{ ":11211", "no name" },
	{ "a b", "no name" },
	{ "a/b", "no name" },
	{ "a\n", "'a\\x0a': no name" },
	{ "a:", "the port is not a number in 1..65535" },
	{ "a:0", "the port" },
	{ "a:65536", "the port" },
	{ "a:18446744073709551617", "the port" },
	{ "a:80x", "the port" },
	{ "a:+80", "the port" },
	{ "::1", "an IPv6 address stands in brackets" },
	{ "::1:80", "brackets" },
	{ "[::1", "not closed" },
	{ "[]:80", "no name" },
	{ "[::1]80", "the port" },
	{ "[::1]:", "the port" },
	{ "unix:", "which path?" },
};

static void what_is_no_server_is_refused(void **state)
{
	char longest[300];

	(void)state;
	for (size_t i = 0; i < sizeof(bad_servers) / sizeof(bad_servers[0]); i++) {
		struct nl_server server = { 0 };
		struct np_error err = { 0 };

		check_case("'%s'", bad_servers[i].text);
		assert_fails(nl_server_parse("--server", bad_servers[i].text, NL_MEMCACHE, &server,
		                             &err),
		             -EINVAL, &err, bad_servers[i].why);
		assert_null(server.host);
	}
	for (unsigned is_unix = 0; is_unix < 2; is_unix++) {
		struct nl_server server = { 0 };
		struct np_error err = { 0 };

		memset(longest, 'a', sizeof(longest));
		longest[sizeof(longest) - 1] = '\0';
		if (is_unix)
			memcpy(longest, "unix:", 5);
		assert_fails(nl_server_parse("-s", longest, NL_MEMCACHE, &server, &err), -EINVAL,
		             &err, is_unix ? "too long for a unix socket" : "no name");
	}
}

/* ---- sizes ---- */

static void a_size_alone_is_every_objects(void **state)
{
	struct nl_sizes sizes = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nl_sizes_parse("--size", "256K", &sizes, &err), &err);
	assert_number(nl_sizes_of(&sizes, 0), 262144);
	assert_number(nl_sizes_of(&sizes, UINT32_MAX), 262144);
	assert_number(nl_sizes_greatest(&sizes), 262144);
}

static void a_mixture_has_the_shares_of_its_weights(void **state)
{
	static const uint64_t wanted[] = { 64, 1024, 65536 };
	static const unsigned shares[] = { 50000, 40000, 10000 };
	unsigned counts[3] = { 0 };
	struct nl_sizes sizes = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nl_sizes_parse("--size", "64:50,1K:40,64K:10", &sizes, &err), &err);
	assert_number(sizes.count, 3);
	assert_number(sizes.weight, 100);
	assert_number(nl_sizes_greatest(&sizes), 65536);

	for (uint32_t key = 0; key < 100000; key++) {
		unsigned part = 0;

		while (part < 2 && wanted[part] != nl_sizes_of(&sizes, key))
			part++;
		assert_number(nl_sizes_of(&sizes, key), wanted[part]);
		counts[part]++;
	}
	/* Three standard deviations of a fair draw. */
	for (unsigned part = 0; part < 3; part++)
		assert_true(counts[part] > shares[part] - 480 && counts[part] < shares[part] + 480);
}

static void weights_may_be_left_out(void **state)
{
	struct nl_sizes sizes = { 0 };
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nl_sizes_parse("--size", "1,2:3", &sizes, &err), &err);
	assert_number(sizes.parts[0].weight, 1);
	assert_number(sizes.parts[1].weight, 3);
	assert_number(sizes.weight, 4);
}

static const struct {
	const char *text;
	const char *why;
} bad_sizes[] = {
	{ "", "--size: '' is not a size" },
	{ "0", "'0' is not a size in 1..1073741824 bytes" },
	{ "2G", "'2G' is not a size" },
	{ "1K,", "'' is not a size" },
	{ ",1K", "'' is not a size" },
	{ "1K:", "--size: '' is not a number in 1..1000000" },
	{ "1K:0", "'0' is not a number" },
	{ "1K:1000001", "is not a number" },
	{ "1K:1:1", "'1:1' is not a number" },
	{ "-1", "'-1' is not a size" },
	{ "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "more than 16 sizes" },
	{ "11111111111111111111111111111111111111111111111111111", "53 letters are no SIZE" },
};

static void what_is_no_size_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_sizes) / sizeof(bad_sizes[0]); i++) {
		struct nl_sizes sizes = { .count = 77 };
		struct np_error err = { 0 };

		check_case("'%s'", bad_sizes[i].text);
		assert_fails(nl_sizes_parse("--size", bad_sizes[i].text, &sizes, &err), -EINVAL,
		             &err, bad_sizes[i].why);
		assert_number(sizes.count, 77);
	}
}

/* ---- keys ---- */

static void keys_are_prefix_and_index(void **state)
{
	char key[NL_KEY_MAX + 1];
	char prefix[NL_PREFIX_MAX + 1];

	(void)state;
	assert_number(nl_key_format(NL_MEMCACHE, "numalat-", 17, key), 10);
	assert_text(key, "numalat-17");
	nl_key_format(NL_HTTP, "numalat-", 0, key);
	assert_text(key, "/numalat-0");
	nl_key_format(NL_HTTP, "/a/b", UINT32_MAX, key);
	assert_text(key, "/a/b4294967295");
	nl_key_format(NL_MEMCACHE, "", 5, key);
	assert_text(key, "5");

	memset(prefix, 'p', NL_PREFIX_MAX);
	prefix[NL_PREFIX_MAX] = '\0';
	assert_number(nl_key_format(NL_HTTP, prefix, UINT32_MAX, key), NL_PREFIX_MAX + 11);
}

static void a_prefix_is_what_can_stand_in_a_key(void **state)
{
	static const char *const bad[] = { "a b", "a\tb", "a\r\nget b", "\x7f", "\xc3\xa9", " " };
	char prefix[NL_PREFIX_MAX + 2];
	struct np_error err = { 0 };

	(void)state;
	assert_np_ok(nl_prefix_check("--prefix", "", &err), &err);
	assert_np_ok(nl_prefix_check("--prefix", "/a/%41?b=~", &err), &err);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct np_error why = { 0 };

		check_case("%zu", i);
		assert_fails(nl_prefix_check("--prefix", bad[i], &why), -EINVAL, &why,
		             "cannot stand in a key");
	}
	memset(prefix, 'p', sizeof(prefix));
	prefix[NL_PREFIX_MAX] = '\0';
	assert_np_ok(nl_prefix_check("--prefix", prefix, &err), &err);
	prefix[NL_PREFIX_MAX] = 'p';
	prefix[NL_PREFIX_MAX + 1] = '\0';
	assert_fails(nl_prefix_check("--prefix", prefix, &err), -EINVAL, &err,
	             "has 231 bytes, and 230 are the most");
}

/* ---- options ---- */

static int parse_options(struct nl_target *target, struct nl_common *common, char *const words[])
{
	char *argv[16] = { (char *)(uintptr_t) "numalat" };
	int argc = 1;
	int rc;

	while (words[argc - 1]) {
		argv[argc] = words[argc - 1];
		argc++;
	}
	*common = (struct nl_common){ 0 };
	nl_target_default(target, common);
	rc = np_cli_parse(&nl_target_argp, argc, argv, 0, target, &common->err);
	return rc < 0 ? rc : nl_target_check(target);
}

static void options_stand_for_what_they_say(void **state)
{
	char *none[] = { NULL };
	char *all[] = { (char[]){ "-P" },
		        (char[]){ "http" },
		        (char[]){ "-s" },
		        (char[]){ "[::1]:81" },
		        (char[]){ "-k" },
		        (char[]){ "4294967295" },
		        (char[]){ "--prefix" },
		        (char[]){ "x/" },
		        (char[]){ "--size=2K" },
		        (char[]){ "--deadline=0.0015" },
		        NULL };
	struct nl_common common;
	struct nl_target target;

	(void)state;
	assert_np_ok(parse_options(&target, &common, none), &common.err);
	assert_text(nl_protocol_name(target.protocol), "memcache");
	assert_text(target.server.host, "127.0.0.1");
	assert_text(target.server.port, "11211");
	assert_text(target.prefix, "numalat-");
	assert_number(target.keys, 16000);
	assert_number(nl_sizes_of(&target.sizes, 3), 1024);
	assert_number(target.deadline_ms, 10000);
	nl_target_release(&target);

	assert_np_ok(parse_options(&target, &common, all), &common.err);
	assert_text(nl_protocol_name(target.protocol), "http");
	assert_text(target.server.host, "::1");
	assert_text(target.server.port, "81");
	assert_text(target.prefix, "x/");
	assert_number(target.keys, UINT32_MAX);
	assert_number(nl_sizes_of(&target.sizes, 3), 2048);
	assert_number(target.deadline_ms, 2);
	nl_target_release(&target);
}

static const struct {
	const char *option;
	const char *why;
} bad_options[] = {
	{ "--protocol=ftp", "--protocol: 'ftp' is not memcache or http" },
	{ "--keys=0", "--keys: '0' is not a number in 1..4294967295" },
	{ "--keys=4294967296", "is not a number in 1..4294967295" },
	{ "--size=1X", "--size: '1X' is not a size" },
	{ "--prefix=a b", "--prefix: 'a b' cannot stand in a key" },
	{ "--deadline=0", "--deadline: '0' is not a number of seconds in 0.001..3600" },
	{ "--deadline=nan", "'nan' is not a number of seconds" },
	{ "--server=a:b", "--server: 'a:b': the port" },
};

static void wrong_options_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_options) / sizeof(bad_options[0]); i++) {
		char *words[] = { strdup(bad_options[i].option), NULL };
		struct nl_common common;
		struct nl_target target;

		check_case("%s", bad_options[i].option);
		assert_fails(parse_options(&target, &common, words), -EINVAL, &common.err,
		             bad_options[i].why);
		nl_target_release(&target);
		free(words[0]);
	}
}

/* ---- values ---- */

enum { OBJECT = 200 };

static void a_value_begins_with_its_index_and_size(void **state)
{
	static const unsigned char wanted[16] = { 4, 3, 2, 1, 0, 0, 0, 0, OBJECT };
	char value[OBJECT];

	(void)state;
	nl_value_fill(value, OBJECT, 0x01020304, OBJECT, 0);
	assert_memory_equal(value, wanted, sizeof(wanted));
}

/* Any part is the same as that part of the whole. */
static void values_are_made_and_checked_in_any_parts(void **state)
{
	char whole[OBJECT];

	(void)state;
	nl_value_fill(whole, OBJECT, 9, OBJECT, 0);
	for (size_t offset = 0; offset <= 40; offset++) {
		for (size_t size = 0; offset + size <= OBJECT; size++) {
			/* Of just that size, so that a step beyond is found. */
			char *part = malloc(size + 1);

			part[size] = 'x';
			nl_value_fill(part, size, 9, OBJECT, offset);
			check_case("offset %zu, size %zu", offset, size);
			assert_memory_equal(part, whole + offset, size);
			assert_number(part[size], 'x');
			assert_number(nl_value_check(part, size, 9, OBJECT, offset), -1);
			free(part);
		}
	}
}

static void the_first_wrong_byte_is_found(void **state)
{
	char value[OBJECT];

	(void)state;
	for (size_t offset = 0; offset < 20; offset++) {
		for (size_t wrong = 0; wrong < OBJECT; wrong++) {
			nl_value_fill(value, OBJECT, 9, 1000, offset);
			value[wrong] ^= 0x40;
			value[OBJECT - 1] ^= 1;
			check_case("offset %zu, byte %zu", offset, wrong);
			assert_number(nl_value_check(value, OBJECT, 9, 1000, offset), (int)wrong);
		}
	}
}

static void another_objects_value_is_told_from_it(void **state)
{
	char value[OBJECT];

	(void)state;
	for (uint32_t key = 0; key < 1000; key++) {
		nl_value_fill(value, OBJECT, key, OBJECT, 64);
		check_case("key %u", key);
		assert_number(nl_value_check(value, OBJECT, key + 1, OBJECT, 64) < 8, true);
		assert_number(nl_value_check(value, OBJECT, key, OBJECT, 72) < 8, true);
	}
	nl_value_fill(value, OBJECT, 1, OBJECT, 0);
	assert_number(nl_value_check(value, OBJECT, 1, OBJECT + 1, 0), 8);
}

static void places_far_out_are_right_too(void **state)
{
	char a[64];
	char b[64];

	(void)state;
	nl_value_fill(a, 64, UINT32_MAX, NL_OBJECT_MAX, NL_OBJECT_MAX - 64);
	nl_value_fill(b, 61, UINT32_MAX, NL_OBJECT_MAX, NL_OBJECT_MAX - 61);
	assert_memory_equal(a + 3, b, 61);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_are_read_and_shown),
		cmocka_unit_test(what_is_no_server_is_refused),
		cmocka_unit_test(a_size_alone_is_every_objects),
		cmocka_unit_test(a_mixture_has_the_shares_of_its_weights),
		cmocka_unit_test(weights_may_be_left_out),
		cmocka_unit_test(what_is_no_size_is_refused),
		cmocka_unit_test(keys_are_prefix_and_index),
		cmocka_unit_test(a_prefix_is_what_can_stand_in_a_key),
		cmocka_unit_test(options_stand_for_what_they_say),
		cmocka_unit_test(wrong_options_are_named),
		cmocka_unit_test(a_value_begins_with_its_index_and_size),
		cmocka_unit_test(values_are_made_and_checked_in_any_parts),
		cmocka_unit_test(the_first_wrong_byte_is_found),
		cmocka_unit_test(another_objects_value_is_told_from_it),
		cmocka_unit_test(places_far_out_are_right_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
