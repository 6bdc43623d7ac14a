/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the values of a role mean. Each reader gets the text of one key.
 */
#include "role_draft.h"
#include "words.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <numaprobe/bitmap.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#define BLANKS " \t\r\v\f"
#define OWN_VARIABLES "NUMARUN_"

enum {
	CORES_MAX = NP_BITMAP_INDEX_MAX + 1,
	PORT_MAX = 65535,
	HOST_LENGTH_MAX = 253, /* of a name in the DNS (RFC 1035, 2.3.4) */
	UNIX_PATH_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1,
	MS_PER_S = 1000,
	TIMEOUT_MS_MIN = 100,
	TIMEOUT_MS_MAX = 3600 * MS_PER_S,
	READY_TIMEOUT_MS = 30 * MS_PER_S,
	STOP_TIMEOUT_MS = 5 * MS_PER_S,
	SIGNAL_NAME_MAX = 16,
};

typedef int read_fn(const char *text, struct nr_role *role, struct np_error *err);

static int no_memory(struct np_error *err)
{
	return np_error_sys(err, ENOMEM, "role");
}

static int copy_text(const char *text, size_t length, char **ret, struct np_error *err)
{
	*ret = strndup(text, length);
	return *ret ? 0 : no_memory(err);
}

/* ---- numbers and words ---- */

static int read_number(const char *text, unsigned max, unsigned *ret, struct np_error *err)
{
	unsigned value = 0;
	const char *c = text;

	for (; isdigit((unsigned char)*c) && value <= max; c++)
		value = value * 10 + (unsigned)(*c - '0');
	if (*c || c == text || value < 1 || value > max)
		return np_error_set(err, EINVAL, "'%s' is not a number in 1..%u", text, max);
	*ret = value;
	return 0;
}

static int read_bool(const char *text, bool *ret, struct np_error *err)
{
	bool yes = strcmp(text, "yes") == 0;

	if (!yes && strcmp(text, "no") != 0)
		return np_error_set(err, EINVAL, "'%s' is neither yes nor no", text);
	*ret = yes;
	return 0;
}

/* Seconds, with up to three digits behind a point. False: not that, or more than an hour. */
static bool read_ms(const char *text, unsigned *ret)
{
	unsigned ms = 0;
	unsigned unit = MS_PER_S;
	const char *c = text;

	for (; isdigit((unsigned char)*c) && ms <= TIMEOUT_MS_MAX; c++)
		ms = ms * 10 + (unsigned)(*c - '0') * MS_PER_S;
	if (c == text || ms > TIMEOUT_MS_MAX)
		return false;
	if (*c == '.' && isdigit((unsigned char)c[1]))
		for (c++; isdigit((unsigned char)*c) && unit > 1; c++)
			ms += (unsigned)(*c - '0') * (unit /= 10);
	*ret = ms;
	return !*c && ms <= TIMEOUT_MS_MAX;
}

static int read_timeout(const char *text, unsigned *ret, struct np_error *err)
{
	unsigned ms = 0;

	if (!read_ms(text, &ms) || ms < TIMEOUT_MS_MIN)
		return np_error_set(err, EINVAL, "'%s' is not a time of 0.1 to 3600 seconds", text);
	*ret = ms;
	return 0;
}

/*
 * Splits "TEXT, SECONDS" at its last comma; *ret_length is that of TEXT. Without a comma *ret_ms
 * stays.
 */
static int split_timeout(const char *text, size_t *ret_length, unsigned *ret_ms,
                         struct np_error *err)
{
	const char *comma = strrchr(text, ',');
	size_t length = comma ? (size_t)(comma - text) : strlen(text);

	while (length > 0 && strchr(BLANKS, text[length - 1]))
		length--;
	*ret_length = length;
	if (!comma)
		return 0;
	comma++;
	return read_timeout(comma + strspn(comma, BLANKS), ret_ms, err);
}

bool nr_next_item(const char **list, struct nr_item *ret)
{
	const char *text = *list;
	const char *end;

	if (!text)
		return false;
	text += strspn(text, BLANKS);
	end = text + strcspn(text, ",");
	*list = *end ? end + 1 : NULL;
	while (end > text && strchr(BLANKS, end[-1]))
		end--;
	*ret = (struct nr_item){ text, (size_t)(end - text) };
	return true;
}

/* ---- where ---- */

static int read_near(const char *text, struct nr_role *role, struct np_error *err)
{
	if (strpbrk(text, BLANKS "#"))
		return np_error_set(err, EINVAL,
		                    "'%s' is not the name of a device; a comment behind a value "
		                    "begins with ' ;'",
		                    text);
	return copy_text(text, strlen(text), &role->near, err);
}

static int read_tier(const char *text, struct nr_role *role, struct np_error *err)
{
	return read_number(text, CORES_MAX, &role->tier, err);
}

static int read_count(const char *text, struct nr_role *role, struct np_error *err)
{
	return read_number(text, CORES_MAX, &role->count, err);
}

static int read_smt(const char *text, struct nr_role *role, struct np_error *err)
{
	return read_bool(text, &role->smt, err);
}

static int read_far(const char *text, struct nr_role *role, struct np_error *err)
{
	return read_bool(text, &role->far, err);
}

static int read_instances(const char *text, struct nr_role *role, struct np_error *err)
{
	return read_number(text, NR_INSTANCES_MAX, &role->instances, err);
}

static const enum nr_policy_mode memory_modes[] = {
	NR_POLICY_BIND,       NR_POLICY_PREFERRED, NR_POLICY_PREFERRED_MANY,
	NR_POLICY_INTERLEAVE, NR_POLICY_WEIGHTED,
};

/* Could it be a set of nodes, as set.h has them? Whether it is one the host decides. */
static bool is_set(const char *text)
{
	if (strspn(text, "0123456789,-+!" BLANKS) == strlen(text))
		return true;
	return strcmp(text + (*text == '!'), "all") == 0;
}

static int refuse_memory(const char *text, const char *nodes, struct np_error *err)
{
	static const char *const devices[] = { "netdev:", "pci:", "block:", "file:", "ip:" };

	nodes += *nodes == '!';
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
		if (strncmp(nodes, devices[i], strlen(devices[i])) == 0)
			return np_error_set(err, EINVAL,
			                    "'%s': a device does not stand for its nodes here; "
			                    "write their numbers, or near = DEVICE and mem = local",
			                    text);
	return np_error_set(err, EINVAL,
	                    "'%s' is not local, NODES, bind:NODES, preferred:NODE, "
	                    "preferred-many:NODES, interleave:NODES or weighted-interleave:NODES",
	                    text);
}

int nr_role_memory(const char *text, enum nr_policy_mode *ret_mode, const char **ret_nodes,
                   struct np_error *err)
{
	size_t length = strcspn(text, ":");
	const char *nodes = text;

	*ret_nodes = NULL;
	*ret_mode = NR_POLICY_LOCAL;
	if (strcmp(text, nr_policy_mode_name(NR_POLICY_LOCAL)) == 0)
		return 0;
	*ret_mode = NR_POLICY_BIND;
	for (size_t i = 0; i < sizeof(memory_modes) / sizeof(memory_modes[0]); i++) {
		const char *name = nr_policy_mode_name(memory_modes[i]);

		if (text[length] && strncmp(text, name, length) == 0 && !name[length]) {
			*ret_mode = memory_modes[i];
			nodes = text + length + 1;
		}
	}
	if (!*nodes || !is_set(nodes))
		return refuse_memory(text, nodes, err);
	*ret_nodes = nodes;
	return 0;
}

static int read_mem(const char *text, struct nr_role *role, struct np_error *err)
{
	enum nr_policy_mode mode;
	const char *nodes;
	int rc = nr_role_memory(text, &mode, &nodes, err);

	return rc < 0 ? rc : copy_text(text, strlen(text), &role->mem, err);
}

/* ---- when ---- */

static int refuse_tcp(const char *text, struct np_error *err)
{
	return np_error_set(err, EINVAL,
	                    "'tcp:%s' is not tcp:HOST:PORT, with a port of 1 to %d and an address "
	                    "of IPv6 in brackets",
	                    text, PORT_MAX);
}

static int read_tcp(const char *text, size_t length, struct nr_ready *ready, struct np_error *err)
{
	bool in_brackets = *text == '[';
	const char *host = text + in_brackets;
	size_t host_length = strcspn(host, in_brackets ? "]" : ":");
	const char *port = host + host_length + in_brackets;
	unsigned number = 0;
	int rc;

	if (host_length == 0 || host_length > HOST_LENGTH_MAX || port >= text + length ||
	    *port++ != ':' || strcspn(host, BLANKS ",/[") < host_length)
		return refuse_tcp(text, err);
	rc = copy_text(port, length - (size_t)(port - text), &ready->port, err);
	if (rc == 0 && read_number(ready->port, PORT_MAX, &number, NULL) < 0)
		rc = refuse_tcp(text, err);
	return rc < 0 ? rc : copy_text(host, host_length, &ready->host, err);
}

static int read_path(const char *text, size_t length, size_t max, struct nr_ready *ready,
                     struct np_error *err)
{
	if (length == 0 || length > max)
		return np_error_set(err, EINVAL, "a path has 1 to %zu bytes, this one %zu", max,
		                    length);
	return copy_text(text, length, &ready->path, err);
}

static int read_delay(const char *text, struct nr_ready *ready, struct np_error *err)
{
	if (!read_ms(text, &ready->delay_ms))
		return np_error_set(err, EINVAL,
		                    "'delay:%s' is not delay:SECONDS, 0 to 3600 without a limit "
		                    "behind it",
		                    text);
	return 0;
}

static int read_ready(const char *text, struct nr_role *role, struct np_error *err)
{
	static const char *const kinds[] = {
		[NR_READY_TCP] = "tcp:",
		[NR_READY_UNIX] = "unix:",
		[NR_READY_FILE] = "file:",
		[NR_READY_DELAY] = "delay:",
	};
	struct nr_ready *ready = &role->ready;
	unsigned kind = NR_READY_TCP;
	size_t length;
	int rc;

	while (kind <= NR_READY_DELAY && strncmp(text, kinds[kind], strlen(kinds[kind])) != 0)
		kind++;
	if (kind > NR_READY_DELAY)
		return np_error_set(
			err, EINVAL,
			"'%s' is not tcp:HOST:PORT, unix:PATH, file:PATH or delay:SECONDS", text);
	text += strlen(kinds[kind]);
	ready->kind = (enum nr_ready_kind)kind;
	if (kind == NR_READY_DELAY)
		return read_delay(text, ready, err);
	ready->timeout_ms = READY_TIMEOUT_MS;
	rc = split_timeout(text, &length, &ready->timeout_ms, err);
	if (rc < 0)
		return np_error_wrap(err, rc, "behind the last ','");
	if (kind == NR_READY_TCP)
		return read_tcp(text, length, ready, err);
	return read_path(text, length, kind == NR_READY_UNIX ? UNIX_PATH_MAX : PATH_MAX - 1, ready,
	                 err);
}

/* "TERM", "SIGTERM", "term" or "15"; 0 when there is no such signal. */
static int find_signal(const char *name)
{
	unsigned number = 0;

	if (read_number(name, (unsigned)SIGRTMAX, &number, NULL) == 0)
		return (int)number;
	if (strncasecmp(name, "SIG", 3) == 0)
		name += 3;
	for (int signal = 1; signal < SIGRTMIN; signal++) {
		const char *known = sigabbrev_np(signal);

		if (known && strcasecmp(known, name) == 0)
			return signal;
	}
	return 0;
}

/* Those that stop a program for a while, and the one that wakes it. */
static bool ends_nothing(int signal)
{
	return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU ||
	       signal == SIGCONT;
}

static int read_stop(const char *text, struct nr_role *role, struct np_error *err)
{
	char name[SIGNAL_NAME_MAX] = "";
	size_t length;
	int rc = split_timeout(text, &length, &role->stop_timeout_ms, err);

	if (rc < 0)
		return rc;
	if (length < sizeof(name))
		memcpy(name, text, length);
	role->stop_signal = find_signal(name);
	if (role->stop_signal == 0)
		return np_error_set(err, EINVAL, "'%.*s' is not a signal, as TERM, INT or 15",
		                    (int)length, text);
	if (ends_nothing(role->stop_signal))
		return np_error_set(err, EINVAL, "SIG%s ends no program",
		                    sigabbrev_np(role->stop_signal));
	return 0;
}

/* ---- what ---- */

/* The length of the NAME in "NAME=VALUE"; 0 when it is not that. */
static size_t variable_length(const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				      "0123456789";
	size_t length = strspn(word, letters);

	return isdigit((unsigned char)*word) || word[length] != '=' ? 0 : length;
}

static int check_variable(char *const words[], size_t index, struct np_error *err)
{
	const char *word = words[index];
	size_t length = variable_length(word);

	if (length == 0)
		return np_error_set(err, EINVAL,
		                    "'%s' is not NAME=VALUE; a value with blanks is quoted, "
		                    "NAME='a b'",
		                    word);
	if (strncmp(word, OWN_VARIABLES, strlen(OWN_VARIABLES)) == 0)
		return np_error_set(err, EINVAL, "%.*s is set by numarun itself", (int)length,
		                    word);
	for (size_t i = 0; i < index; i++)
		if (strncmp(words[i], word, length + 1) == 0)
			return np_error_set(err, EINVAL, "%.*s is there twice", (int)length, word);
	return 0;
}

static int read_env(const char *text, struct nr_role *role, struct np_error *err)
{
	int count = nr_words_split(text, &role->env, err);
	int rc = count < 0 ? count : 0;

	for (int i = 0; i < count && rc == 0; i++)
		rc = check_variable(role->env, (size_t)i, err);
	return rc;
}

static int read_command(const char *text, struct nr_role *role, struct np_error *err)
{
	int count = nr_words_split(text, &role->command, err);

	if (count < 0)
		return count;
	if (count == 0 || !*role->command[0])
		return np_error_set(err, EINVAL, "the program's name is empty");
	return 0;
}

/* ---- all of them ---- */

static read_fn *const readers[NR_KEYS] = {
	[NR_KEY_NEAR] = read_near,
	[NR_KEY_TIER] = read_tier,
	[NR_KEY_COUNT] = read_count,
	[NR_KEY_SMT] = read_smt,
	[NR_KEY_MEM] = read_mem,
	[NR_KEY_FAR] = read_far,
	[NR_KEY_INSTANCES] = read_instances,
	[NR_KEY_READY] = read_ready,
	[NR_KEY_STOP] = read_stop,
	[NR_KEY_ENV] = read_env,
	[NR_KEY_COMMAND] = read_command,
};

/* A key that means nothing without another one, or beside it. */
static const struct {
	enum nr_role_key key;
	enum nr_role_key other;
	bool excludes;
	const char *why;
} pairs[] = {
	{ NR_KEY_TIER, NR_KEY_NEAR, false, "tiers are those of a device" },
	{ NR_KEY_SMT, NR_KEY_COUNT, false, "it says which CPUs of the cores counted are taken" },
	{ NR_KEY_FAR, NR_KEY_MEM, true, "both say where memory comes from" },
};

static int check_pairs(const struct nr_role_draft *draft, unsigned *ret_line, struct np_error *err)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		const struct nr_role_value *value = &draft->values[pairs[i].key];
		bool has_other = draft->values[pairs[i].other].text;

		if (!value->text || has_other != pairs[i].excludes)
			continue;
		*ret_line = value->line;
		return np_error_set(err, EINVAL, "'%s' %s '%s': %s",
		                    nr_role_key_names[pairs[i].key],
		                    has_other ? "together with" : "without",
		                    nr_role_key_names[pairs[i].other], pairs[i].why);
	}
	return 0;
}

/* What shows in several values together. */
static int check_role(const struct nr_role *role, const struct nr_role_draft *draft,
                      unsigned *ret_line, struct np_error *err)
{
	int rc = check_pairs(draft, ret_line, err);

	if (rc < 0)
		return rc;
	*ret_line = draft->values[NR_KEY_INSTANCES].line;
	if (role->instances > 1 && role->near && role->count == 0)
		return np_error_set(err, EINVAL,
		                    "%u instances near %s without 'count': the first would take "
		                    "all of its tier",
		                    role->instances, role->near);
	if ((uint64_t)role->instances * (role->count ? role->count : 1) > CORES_MAX)
		return np_error_set(err, EINVAL,
		                    "%u instances of %u cores are more than the %d that any host "
		                    "has",
		                    role->instances, role->count, CORES_MAX);
	*ret_line = role->line;
	if (!role->command)
		return np_error_set(err, EINVAL, "role %s has no 'command'", role->name);
	return 0;
}

static int read_values(const struct nr_role_draft *draft, struct nr_role *role, unsigned *ret_line,
                       struct np_error *err)
{
	for (unsigned key = 0; key < NR_KEYS; key++) {
		const struct nr_role_value *value = &draft->values[key];
		int rc = 0;

		if (!value->text)
			continue;
		*ret_line = value->line;
		if (!*value->text)
			rc = np_error_set(err, EINVAL, "no value");
		else if (readers[key])
			rc = readers[key](value->text, role, err);
		if (rc < 0)
			return np_error_wrap(err, rc, "%s", nr_role_key_names[key]);
	}
	return check_role(role, draft, ret_line, err);
}

int nr_role_read(const struct nr_role_file *file, size_t index, struct np_error *err)
{
	struct nr_role *role = &file->roles.roles[index];
	unsigned line = role->line;
	int rc;

	role->instances = 1;
	role->stop_signal = SIGTERM;
	role->stop_timeout_ms = STOP_TIMEOUT_MS;
	rc = read_values(&file->drafts[index], role, &line, err);
	return rc < 0 ? nr_role_file_wrap(file, line, rc, err) : 0;
}
