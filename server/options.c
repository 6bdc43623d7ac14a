/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include "../probe/base/cli.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <numarun/preflight.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

const char *argp_program_version = "numastore " NUMAKIT_VERSION;

enum {
	OPT_NUMA = 0x100,
	OPT_MEMORY,
	OPT_SUB_MEMORY,
	OPT_BLOCK,
	OPT_RAM_HEAD,
	OPT_CORES,
	OPT_NO_PROMOTION,
	OPT_INCREMENT,
	OPT_DECAY,
	OPT_PROMOTION_RATE,
	OPT_PERVERSE,
	OPT_PLACE,
	OPT_REQUIRE_HUGE,
	OPT_MAX_OBJECT,
	OPT_MAX_OBJECTS,
	OPT_SSD_DIR,
	OPT_PREPARE_POOL,
	OPT_IO,
	OPT_DEADLINE,
	OPT_HTTP_PORT,
	OPT_ADMIN_PORT,
	OPT_READ_ONLY,
	OPT_DRY_RUN,
	OPT_ROOT,
	OPT_XML,
	OPT_STEER,
	OPT_POLL_US,
};

enum { ITEM_BYTES_MIN = 1 << 10, ITEM_BYTES_MAX = 1 << 30 }; /* memcached's for -I */
enum {
	PORT_MAX = 65535,
	WORKERS_MAX = 1024,
	CONNECTIONS_MAX = 1 << 20,
	TIMEOUT_MAX_S = 86400,
	POLL_MAX_US = 10000,
	SOCKET_PATH_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1,
};

static const struct argp_option option_table[] = {
	{ NULL, 0, NULL, 0, "Where the data lives:", 1 },
	{ "numa", OPT_NUMA, "NODE|DEV|auto", 0,
	  "serve from this node, or that of this card; auto, the default: of the card that has the "
	  "listening address",
	  1 },
	{ "memory", OPT_MEMORY, "SIZE", 0,
	  "memory for heads on the preferred node, which is the serving one but for --perverse; 1G "
	  "unless given",
	  1 },
	{ "sub-memory", OPT_SUB_MEMORY, "SIZE", 0,
	  "memory for heads on each other node that has some, 0 unless given", 1 },
	{ "block", OPT_BLOCK, "SIZE", 0,
	  "the pieces that memory is cut into, a power of two from 64K; 2M unless given", 1 },
	{ "ram-head", OPT_RAM_HEAD, "SIZE", 0,
	  "how much of an object stays in memory, a power of two from 4K; 256K unless given", 1 },
	{ "place", OPT_PLACE, "PREFIX=WHERE", 0,
	  "keys that begin with PREFIX live on local, far or node:N (repeatable)", 1 },
	{ "perverse", OPT_PERVERSE, NULL, 0,
	  "prefer the farthest node with memory for heads; all else stays, for comparing", 1 },
	{ "require-huge", OPT_REQUIRE_HUGE, NULL, 0,
	  "refuse to start unless all of it is of HugeTLB pages", 1 },
	{ "no-numa-promotion", OPT_NO_PROMOTION, NULL, 0, "leave heads where they are", 1 },
	{ "increment", OPT_INCREMENT, "F", 0,
	  "what a read adds to a head's score: how many more reads are expected for it; 1 unless "
	  "given",
	  1 },
	{ "decay", OPT_DECAY, "F", 0,
	  "what a minute leaves of scores, above 0 and below 1; 0.5 unless given", 1 },
	{ "promotion-rate", OPT_PROMOTION_RATE, "SIZE", 0,
	  "copy at most so many bytes a second to move heads; 256M unless given, 0 = any number",
	  1 },

	{ NULL, 0, NULL, 0, "Limits:", 2 },
	{ "cores", OPT_CORES, "N", 0, "workers, one for each CPU of the node unless given", 2 },
	{ "threads", 't', "N", 0, "as --cores", 2 },
	{ "steer", OPT_STEER, "HOW", 0,
	  "which worker gets a connection: none, as the kernel deals them out; cpu: that of the CPU "
	  "its packets come to; napi: that of its receive queue",
	  2 },
	{ "poll-us", OPT_POLL_US, "N", 0,
	  "look so many microseconds for the next request before sleeping, while requests mostly "
	  "come that fast; 20 unless given, 0: never. Wants a CPU for each worker",
	  2 },
	{ "max-object-size", OPT_MAX_OBJECT, "SIZE", 0,
	  "the longest object; as long as a head unless given, with --ssd-dir 1G", 2 },
	{ "max-objects", OPT_MAX_OBJECTS, "N", 0,
	  "how many objects at most; as many as fit unless given", 2 },
	{ "deadline", OPT_DEADLINE, "SECONDS", 0,
	  "close a connection whose peer takes longer for the head of a request, or for 16K of it, of a "
	  "value or of an answer; 30 unless given",
	  2 },
	{ "ssd-dir", OPT_SSD_DIR, "DIR", 0,
	  "what of an object is longer than its head lies in this pool, which is wiped first "
	  "(repeatable)",
	  2 },
	{ "prepare-pool", OPT_PREPARE_POOL, "DIR", 0,
	  "make an empty or new directory one for --ssd-dir, and end", 2 },
	{ "io", OPT_IO, "uring|threads|auto", 0,
	  "how pools are read and written; auto, the default: by io_uring where there is one", 2 },
	{ "memory-limit", 'm', "MIB", 0, "as --memory, in MiB", 2 },
	{ "max-item-size", 'I', "SIZE", 0,
	  "as --max-object-size, 1K to 1G; heads and blocks become as long as needed", 2 },
	{ "disable-evictions", 'M', NULL, 0,
	  "when memory is full, refuse a new object and evict none", 2 },
	{ "conn-limit", 'c', "N", 0, "connections at a time, 1024 unless given", 2 },
	{ "extended", 'o', "idle_timeout=SECONDS", 0,
	  "close connections that nothing came from for so long; 0 and unless given: never, of HTTP "
	  "after 60",
	  2 },

	{ NULL, 0, NULL, 0, "Where it listens:", 3 },
	{ "listen", 'l', "HOST[:PORT]", 0,
	  "addresses, apart by commas or repeated, 127.0.0.1 unless given, * is all; a port is "
	  "memcache's, IPv6 with one is [ADDRESS]:PORT",
	  3 },
	{ "port", 'p', "PORT", 0,
	  "memcache, 11211 unless given; of each port 0 = off, -1 = any that is free", 3 },
	{ "udp-port", 'U', "PORT", 0, "UDP: only 0, which is off", 3 },
	{ "unix-socket", 's', "PATH", 0,
	  "a unix socket instead of the memcache port; HTTP stays on its own", 3 },
	{ "unix-mask", 'a', "MODE", 0, "mode of the socket of -s, in octal, 700 unless given", 3 },
	{ "http-port", OPT_HTTP_PORT, "PORT", 0, "HTTP, 8080 unless given", 3 },
	{ "admin-port", OPT_ADMIN_PORT, "PORT", 0,
	  "/metrics and /healthz over HTTP; off unless given", 3 },
	{ "auth-file", 'Y', "FILE", 0,
	  "memcache asks for a user:password of FILE; HTTP stays open to all", 3 },
	{ "http-read-only", OPT_READ_ONLY, NULL, 0, "no PUT, no DELETE", 3 },
	{ "user", 'u', "USER", 0,
	  "root becomes this user once memory and ports are had; nobody unless given, root stays root",
	  3 },

	{ NULL, 0, NULL, 0, "Instead of serving:", 4 },
	{ "dry-run", OPT_DRY_RUN, NULL, 0, "print the plan of memory and workers as JSON", 4 },
	{ "root", OPT_ROOT, "DIR", 0, "with --dry-run: plan for the host captured under DIR", 4 },
	{ "xml", OPT_XML, "FILE", 0, "the same for an hwloc XML export", 4 },

	{ NULL, 'h', NULL, 0, "as --help", -1 },
	{ NULL, 'V', NULL, 0, "as --version", -1 },

	/* Of memcached, without effect or refused: parse_foreign() knows them. */
	{ "verbose", 'v', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "lock-memory", 'k', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "enable-largepages", 'L', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "disable-cas", 'C', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "disable-dumping", 'X', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "disable-watch", 'W', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "max-reqs-per-event", 'R', "N", OPTION_HIDDEN, NULL, 5 },
	{ "listen-backlog", 'b', "N", OPTION_HIDDEN, NULL, 5 },
	{ "slab-growth-factor", 'f', "FACTOR", OPTION_HIDDEN, NULL, 5 },
	{ "slab-min-size", 'n', "BYTES", OPTION_HIDDEN, NULL, 5 },
	{ "protocol", 'B', "PROTOCOL", OPTION_HIDDEN, NULL, 5 },
	{ "daemon", 'd', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "pidfile", 'P', "FILE", OPTION_HIDDEN, NULL, 5 },
	{ "enable-shutdown", 'A', NULL, OPTION_HIDDEN, NULL, 5 },
	{ NULL, 'D', "CHAR", OPTION_HIDDEN, NULL, 5 },
	{ "disable-flush-all", 'F', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "enable-sasl", 'S', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "enable-ssl", 'Z', NULL, OPTION_HIDDEN, NULL, 5 },
	{ "memory-file", 'e', "FILE", OPTION_HIDDEN, NULL, 5 },
	{ "enable-coredumps", 'r', NULL, OPTION_HIDDEN, NULL, 5 },
	{ 0 },
};

static const char doc[] =
	"Serves objects over memcache text and HTTP from memory whose place is chosen and "
	"verified.";

/* ---- options that only set a member ---- */

enum kind { FLAG, TEXT, SIZE, NUMBER };

#define MEMBER(name) offsetof(struct ns_options, config.name)

static const struct plain {
	int key;
	enum kind kind;
	size_t offset;
	const char *option;
	unsigned min;
	unsigned max;
} plain_options[] = {
	{ OPT_NUMA, TEXT, MEMBER(numa), NULL, 0, 0 },
	{ OPT_MEMORY, SIZE, MEMBER(memory_bytes), "--memory", 0, 0 },
	{ OPT_SUB_MEMORY, SIZE, MEMBER(sub_memory_bytes), "--sub-memory", 0, 0 },
	{ OPT_BLOCK, SIZE, MEMBER(block_bytes), "--block", 0, 0 },
	{ OPT_RAM_HEAD, SIZE, MEMBER(head_bytes), "--ram-head", 0, 0 },
	{ OPT_CORES, NUMBER, MEMBER(workers), "--cores", 1, WORKERS_MAX },
	{ 't', NUMBER, MEMBER(workers), "-t", 1, WORKERS_MAX },
	{ OPT_NO_PROMOTION, FLAG, MEMBER(no_promotion), NULL, 0, 0 },
	{ OPT_PERVERSE, FLAG, MEMBER(perverse), NULL, 0, 0 },
	{ OPT_REQUIRE_HUGE, FLAG, MEMBER(require_huge), NULL, 0, 0 },
	{ OPT_MAX_OBJECT, SIZE, MEMBER(object_bytes_max), "--max-object-size", 0, 0 },
	{ 'M', FLAG, MEMBER(no_evict), NULL, 0, 0 },
	{ 'c', NUMBER, MEMBER(connections_max), "-c", 1, CONNECTIONS_MAX },
	{ 's', TEXT, MEMBER(memcache_socket), NULL, 0, 0 },
	{ 'Y', TEXT, MEMBER(auth_file), NULL, 0, 0 },
	{ OPT_POLL_US, NUMBER, MEMBER(poll_us), "--poll-us", 0, POLL_MAX_US },
	{ OPT_READ_ONLY, FLAG, MEMBER(http_read_only), NULL, 0, 0 },
	{ 'u', TEXT, offsetof(struct ns_options, user), NULL, 0, 0 },
	{ OPT_PREPARE_POOL, TEXT, offsetof(struct ns_options, prepare_pool), NULL, 0, 0 },
	{ OPT_DRY_RUN, FLAG, offsetof(struct ns_options, is_dry_run), NULL, 0, 0 },
	{ OPT_ROOT, TEXT, MEMBER(root), NULL, 0, 0 },
	{ OPT_XML, TEXT, MEMBER(xml), NULL, 0, 0 },
};

static int parse_size(const char *option, const char *text, uint64_t *ret, struct np_error *err)
{
	int rc = nr_need_parse_size(text, ret, err);

	return rc < 0 ? np_error_wrap(err, rc, "%s", option) : 0;
}

static error_t parse_plain(int key, const char *arg, struct ns_options *options)
{
	for (size_t i = 0; i < sizeof(plain_options) / sizeof(plain_options[0]); i++) {
		const struct plain *plain = &plain_options[i];
		char *member = (char *)options + plain->offset;

		if (plain->key != key)
			continue;
		switch (plain->kind) {
		case FLAG:
			*(bool *)member = true;
			return 0;
		case TEXT:
			*(const char **)member = arg;
			return 0;
		case SIZE:
			return -parse_size(plain->option, arg, (uint64_t *)(void *)member,
			                   &options->err);
		case NUMBER:
			return -np_cli_number(plain->option, arg, plain->min, plain->max,
			                      (unsigned *)(void *)member, &options->err);
		}
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- memcached's that we do not have ---- */

static const struct foreign {
	char key;
	const char *why; /* NULL: taken, and without effect */
} foreign_options[] = {
	{ 'v', NULL },
	{ 'k', NULL },
	{ 'L', NULL },
	{ 'C', NULL },
	{ 'X', NULL },
	{ 'W', NULL },
	{ 'f', NULL },
	{ 'd', "it stays in the foreground: let systemd run it (numastore.service), or end the "
	       "command with &" },
	{ 'P', "there is no background process whose number would be worth a file: systemd and "
	       "shells know it" },
	{ 'A', "there is no shutdown command: SIGTERM ends it" },
	{ 'D', "there are no statistics by prefix" },
	{ 'F', "flush_all cannot be turned off: --auth-file lets in whom you know" },
	{ 'S', "there is no SASL: --auth-file asks for a password in memcache's text protocol" },
	{ 'Z', "there is no TLS: let a proxy have it" },
	{ 'e', "memory is not kept in a file" },
	{ 'r', "core files are the shell's: ulimit -c" },
};

/* Numbers are checked for all that. */
static error_t parse_foreign(int key, const char *arg, struct ns_options *options)
{
	struct np_error *err = &options->err;
	const char option[] = { '-', (char)key, '\0' };
	unsigned number;

	if (key == 'R' || key == 'b' || key == 'n')
		return -np_cli_number(option, arg, 1, INT32_MAX, &number, err);
	if (key == 'B')
		return strcmp(arg, "ascii") == 0 || strcmp(arg, "auto") == 0
		               ? 0
		               : -np_error_set(err, EINVAL,
		                               "-B: '%s': only memcache's text protocol is "
		                               "spoken here, ascii",
		                               arg);
	for (size_t i = 0; i < sizeof(foreign_options) / sizeof(foreign_options[0]); i++) {
		const struct foreign *foreign = &foreign_options[i];

		if (foreign->key != key)
			continue;
		return foreign->why ? -np_error_set(err, EINVAL, "%s: %s", option, foreign->why)
		                    : 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- the others ---- */

static int parse_port(const char *option, const char *text, int *ret, struct np_error *err)
{
	unsigned port = 0;
	int rc;

	if (strcmp(text, "-1") == 0) {
		*ret = NS_ANY_PORT;
		return 0;
	}
	rc = np_cli_number(option, text, 0, PORT_MAX, &port, err);
	if (rc == 0)
		*ret = (int)port;
	return rc;
}

/* memcached's: at most that long, and the whole of it in memory. */
static int parse_item_size(const char *text, struct ns_options *options)
{
	struct ns_config *config = &options->config;
	int rc = parse_size("-I", text, &config->object_bytes_max, &options->err);

	if (rc < 0)
		return rc;
	if (config->object_bytes_max < ITEM_BYTES_MIN || config->object_bytes_max > ITEM_BYTES_MAX)
		return np_error_set(&options->err, EINVAL, "-I: '%s' is not in 1K..1G", text);
	while (!options->has_head && config->head_bytes < config->object_bytes_max)
		config->head_bytes *= 2;
	while (!options->has_block && config->block_bytes < config->head_bytes)
		config->block_bytes *= 2;
	return 0;
}

static int parse_place(const char *text, struct ns_options *options)
{
	struct ns_config *config = &options->config;
	struct ns_place_rule *rule = &options->rules[config->rule_count];
	const char *equals = strrchr(text, '=');
	const char *where = equals ? equals + 1 : "";
	int rc = 0;

	if (config->rule_count == NS_PLACES_MAX)
		return np_error_set(&options->err, EINVAL, "--place: at most %d times",
		                    NS_PLACES_MAX);
	if (strcmp(where, "local") == 0)
		rule->place = NS_PLACE_LOCAL;
	else if (strcmp(where, "far") == 0)
		rule->place = NS_PLACE_FAR;
	else if (strncmp(where, "node:", 5) == 0 &&
	         np_cli_number("", where + 5, 0, NP_BITMAP_INDEX_MAX, &rule->node, NULL) == 0)
		rule->place = NS_PLACE_NODE;
	else
		rc = np_error_set(
			&options->err, EINVAL,
			"--place: '%s' is not PREFIX=local, PREFIX=far or PREFIX=node:N, N "
			"being a node's number",
			text);
	if (rc < 0)
		return rc;
	options->prefixes[config->rule_count] = strndup(text, (size_t)(equals - text));
	rule->prefix = options->prefixes[config->rule_count];
	if (!rule->prefix)
		return np_error_sys(&options->err, ENOMEM, "--place");
	config->rules = options->rules;
	config->rule_count++;
	return 0;
}

static int parse_pool(const char *text, struct ns_options *options)
{
	struct ns_config *config = &options->config;

	if (config->pool_count == NS_POOLS_MAX)
		return np_error_set(&options->err, EINVAL, "--ssd-dir: at most %d times",
		                    NS_POOLS_MAX);
	options->pools[config->pool_count++] = text;
	config->pools = options->pools;
	return 0;
}

static int parse_deadline(const char *text, struct ns_options *options)
{
	unsigned seconds;
	int rc = np_cli_number("--deadline", text, 1, TIMEOUT_MAX_S, &seconds, &options->err);

	if (rc == 0)
		options->config.deadline_ms = seconds * 1000;
	return rc;
}

static int parse_io(const char *text, struct ns_options *options)
{
	if (strcmp(text, "uring") != 0 && strcmp(text, "threads") != 0 && strcmp(text, "auto") != 0)
		return np_error_set(&options->err, EINVAL,
		                    "--io: '%s' is none of uring, threads and auto", text);
	options->config.io = text;
	return 0;
}

static int parse_float(const char *option, const char *text, double *ret, struct np_error *err)
{
	char *end;
	double number = strtod(text, &end);

	/* Blanks, hexadecimal and words are not ours. */
	if (end == text || *end != '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
		return np_error_set(err, EINVAL, "%s: '%s' is no number", option, text);
	*ret = number;
	return 0;
}

static int parse_promotion(int key, const char *text, struct ns_options *options)
{
	struct ns_config *config = &options->config;
	struct np_error *err = &options->err;
	int rc;

	switch (key) {
	case OPT_INCREMENT:
		rc = parse_float("--increment", text, &config->increment, err);
		if (rc == 0 && !(isfinite(config->increment) && config->increment > 0))
			return np_error_set(err, EINVAL,
			                    "--increment: '%s' is not a finite number above 0",
			                    text);
		return rc;
	case OPT_DECAY:
		rc = parse_float("--decay", text, &config->decay, err);
		if (rc == 0 && !(config->decay > 0 && config->decay < 1))
			return np_error_set(err, EINVAL,
			                    "--decay: '%s' is not a number above 0 and below 1",
			                    text);
		return rc;
	default:
		config->promotion_rate = 0;
		if (strcmp(text, "0") == 0)
			return 0;
		return parse_size("--promotion-rate", text, &config->promotion_rate, err);
	}
}

static int parse_steer(const char *text, struct ns_options *options)
{
	static const char *const names[] = {
		[NS_STEER_NONE] = "none",
		[NS_STEER_CPU] = "cpu",
		[NS_STEER_NAPI] = "napi",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		options->config.steer = (enum ns_steer)i;
		return 0;
	}
	return np_error_set(&options->err, EINVAL, "--steer: '%s' is not none, cpu or napi", text);
}

/* An address of IPv6 in front of a port, and no brackets to tell them apart: "::1:11211", "fe80::1%eth0:80". */
static bool lacks_brackets(const char *entry)
{
	char address[INET6_ADDRSTRLEN];
	const char *last = strrchr(entry, ':');
	size_t len = strcspn(entry, "%");
	struct in6_addr bytes;

	if (*entry == '[' || last == strchr(entry, ':') || len >= sizeof(address))
		return false;
	memcpy(address, entry, len);
	address[len] = '\0';
	return inet_pton(AF_INET6, address, &bytes) != 1 || last > entry + len;
}

static int check_listen(const char *text, struct np_error *err)
{
	char *entries = strdup(text);
	char *rest = entries;
	const char *entry;
	int rc = 0;

	if (!entries)
		return np_error_sys(err, ENOMEM, "-l");
	while (rc == 0 && (entry = strsep(&rest, ",")) != NULL) {
		if (*entry == '\0')
			rc = np_error_set(err, EINVAL,
			                  "-l: an empty address; * stands for all there are");
		else if (lacks_brackets(entry))
			rc = np_error_set(err, EINVAL,
			                  "-l: '%s' is no address: IPv6 with a port is "
			                  "[ADDRESS]:PORT, as [::1]:11211",
			                  entry);
	}
	free(entries);
	return rc;
}

/* Given again it adds to what was given, as memcached's does. */
static int parse_listen(const char *text, struct ns_options *options)
{
	const char *before = options->listen;
	char *all;
	int rc = check_listen(text, &options->err);

	if (rc < 0)
		return rc;
	if (asprintf(&all, "%s%s%s", before ? before : "", before ? "," : "", text) < 0)
		return np_error_sys(&options->err, ENOMEM, "-l");
	free(options->listen);
	options->listen = all;
	options->config.listen_address = all;
	return 0;
}

static int parse_mode(const char *text, struct ns_options *options)
{
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (*text < '0' || *text > '7' || *end != '\0' || mode > 0777)
		return np_error_set(&options->err, EINVAL,
		                    "-a: '%s' is no mode in 0..777, in octal", text);
	options->config.memcache_socket_mode = (unsigned)mode;
	return 0;
}

static int parse_extended(const char *text, struct ns_options *options)
{
	static const char idle[] = "idle_timeout=";
	unsigned seconds = 0;
	int rc;

	if (strncmp(text, idle, sizeof(idle) - 1) != 0)
		return np_error_set(&options->err, EINVAL,
		                    "-o: '%s' is unknown: there is idle_timeout=SECONDS alone",
		                    text);
	rc = np_cli_number("-o idle_timeout", text + sizeof(idle) - 1, 0, TIMEOUT_MAX_S, &seconds,
	                   &options->err);
	options->config.idle_timeout_ms = seconds * 1000;
	return rc;
}

static int parse_number(int key, const char *arg, struct ns_options *options)
{
	struct np_error *err = &options->err;
	unsigned number = 0;
	int rc;

	switch (key) {
	case 'm':
		rc = np_cli_number("-m", arg, 1, INT32_MAX, &number, err);
		options->config.memory_bytes = (uint64_t)number << 20;
		return rc;
	case OPT_MAX_OBJECTS:
		rc = np_cli_number("--max-objects", arg, 1, UINT32_MAX, &number, err);
		options->config.objects_max = number;
		return rc;
	default:
		return np_cli_number("-U", arg, 0, 0, &number, err) < 0
		               ? np_error_set(err, EINVAL, "-U %s: there is no UDP here, only -U 0",
		                              arg)
		               : 0;
	}
}

static error_t parse_other(int key, const char *arg, struct ns_options *options)
{
	struct ns_config *config = &options->config;
	struct np_error *err = &options->err;

	switch (key) {
	case 'p':
		return -parse_port("-p", arg, &config->memcache_port, err);
	case OPT_HTTP_PORT:
		return -parse_port("--http-port", arg, &config->http_port, err);
	case OPT_ADMIN_PORT:
		return -parse_port("--admin-port", arg, &config->admin_port, err);
	case 'I':
		return -parse_item_size(arg, options);
	case OPT_PLACE:
		return -parse_place(arg, options);
	case OPT_INCREMENT:
	case OPT_DECAY:
	case OPT_PROMOTION_RATE:
		return -parse_promotion(key, arg, options);
	case OPT_STEER:
		return -parse_steer(arg, options);
	case 'l':
		return -parse_listen(arg, options);
	case 'a':
		return -parse_mode(arg, options);
	case 'o':
		return -parse_extended(arg, options);
	case 'm':
	case 'U':
	case OPT_MAX_OBJECTS:
		return -parse_number(key, arg, options);
	case OPT_SSD_DIR:
		return -parse_pool(arg, options);
	case OPT_DEADLINE:
		return -parse_deadline(arg, options);
	case OPT_IO:
		return -parse_io(arg, options);
	default:
		return parse_foreign(key, arg, options);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct ns_options *options = state->input;
	error_t rc;

	if (key == ARGP_KEY_ERROR) {
		np_cli_bad_option(state, &options->err);
		return 0;
	}
	if (key == 'h')
		np_cli_show_help(state);
	if (key == 'V')
		np_cli_show_version();
	if (key == ARGP_KEY_ARG)
		return -np_error_set(&options->err, EINVAL, "'%s': it takes options alone", arg);
	options->has_head = options->has_head || key == OPT_RAM_HEAD;
	options->has_block = options->has_block || key == OPT_BLOCK;
	rc = parse_plain(key, arg, options);
	return rc == ARGP_ERR_UNKNOWN ? parse_other(key, arg, options) : rc;
}

/* Nothing could be stored, nor asked for. */
static bool serves_nobody(const struct ns_config *config)
{
	return config->memcache_port == 0 && config->http_port == 0 && !config->memcache_socket;
}

static int check(struct ns_options *options)
{
	const struct ns_config *config = &options->config;
	const char *path = config->memcache_socket;

	if (*config->numa == '\0')
		return np_error_set(
			&options->err, EINVAL,
			"--numa: an empty name: a node's number, a network card or auto");
	if (path && (*path == '\0' || strlen(path) > SOCKET_PATH_MAX))
		return np_error_set(&options->err, EINVAL,
		                    "-s: a path of %zu bytes: a unix socket's has 1 to %d",
		                    strlen(path), SOCKET_PATH_MAX);
	if (serves_nobody(config) && !options->prepare_pool)
		return np_error_set(&options->err, EINVAL,
		                    "-p 0 and --http-port 0: nobody could be served, leave one of "
		                    "them on, or give -s");
	if (config->root && config->xml)
		return np_error_set(&options->err, EINVAL, "--root contradicts --xml");
	if ((config->root || config->xml) && !options->is_dry_run)
		return np_error_set(&options->err, EINVAL,
		                    "%s wants --dry-run: a captured host cannot serve",
		                    config->root ? "--root" : "--xml");
	return 0;
}

int ns_options_parse(int argc, char **argv, struct ns_options *ret)
{
	static const struct argp argp = { .options = option_table, .parser = parse, .doc = doc };
	int rc;

	*ret = (struct ns_options){ 0 };
	ns_config_default(&ret->config);
	rc = np_cli_parse(&argp, argc, argv, 0, ret, &ret->err);
	return rc < 0 ? rc : check(ret);
}

void ns_options_release(struct ns_options *options)
{
	for (size_t i = 0; i < NS_PLACES_MAX; i++)
		free(options->prefixes[i]);
	free(options->listen);
}
