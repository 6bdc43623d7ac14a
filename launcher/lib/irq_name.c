/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What interrupts are called, and what their names say. Drivers name them as they like, so this
 * knows the habits of the common ones; a name that it does not understand is a control interrupt's,
 * which is left alone.
 */
#include "irq_parts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 128 };

/* Interrupts for events, mailboxes and errors. i40e and ice say "misc", ixgbe has the bare name. */
static const char *const control_words[] = {
	"config", "async", "ctrl",  "control", "cmd", "mgmnt", "mgmt", "misc", "lsc", "fdir",
	"admin",  "pages", "event", "mailbox", "mbx", "other", "err",  "ptp",  "aeq", "ceq",
};

/* What stands right before the number of a queue, besides a separator: mlx5_comp3, eth2-Rx0. */
static const char *const queue_words[] = {
	"comp", "rx", "tx", "q", "queue", "fp", "ring", "ch", "input", "output",
};

static bool has_word(const char *text, const char *const words[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(text, words[i]))
			return true;
	return false;
}

static bool ends_in_word(const char *text, size_t len, const char *const words[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t word_len = strlen(words[i]);

		if (len >= word_len && memcmp(text + len - word_len, words[i], word_len) == 0)
			return true;
	}
	return false;
}

/* The name in small letters, without the bus address behind "@" and without the device's name. */
static void reduce(const char *name, const char *device, char buf[NAME_SIZE])
{
	const char *own = *device ? strstr(name, device) : NULL;
	size_t used = 0;

	for (const char *c = name; *c && *c != '@' && used < NAME_SIZE - 1; c++) {
		if (c == own) {
			c += strlen(device) - 1;
			/* So that "eth1" in "eth1-0" leaves no number, and "eth1" in "eth10-0" none. */
			if (isdigit((unsigned char)c[1]))
				c += strspn(c + 1, "0123456789");
			continue;
		}
		buf[used++] = (char)tolower((unsigned char)*c);
	}
	buf[used] = '\0';
}

/* Does the text end in ":41:00.0", a PCI address whose last number is no queue's? */
static bool ends_in_pci_address(const char *text, size_t len)
{
	static const char form[] = ":xx:xx.x";
	const char *tail = text + len - (sizeof(form) - 1);

	if (len < sizeof(form) - 1)
		return false;
	for (size_t i = 0; i < sizeof(form) - 1; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)tail[i]) : tail[i] != form[i])
			return false;
	return true;
}

/* The number at the end of @text, when it stands where the number of a queue would. */
static bool parse_queue(const char *text, unsigned *ret)
{
	size_t len = strlen(text);
	unsigned long queue;
	size_t digits;

	/* eth0[3], "eth0 (queue 3)", eth0-q3-tx */
	if (len > 3 && (strcmp(text + len - 3, "-tx") == 0 || strcmp(text + len - 3, "-rx") == 0))
		len -= 3;
	while (len > 0 && (text[len - 1] == ']' || text[len - 1] == ')'))
		len--;
	for (digits = 0; digits < len && isdigit((unsigned char)text[len - 1 - digits]); digits++)
		;
	if (digits == 0 || digits > 5 || ends_in_pci_address(text, len))
		return false;
	queue = strtoul(text + len - digits, NULL, 10);
	len -= digits;
	if (queue > NR_IRQ_QUEUE_MAX ||
	    (len > 0 && !strchr("-._:[( ", text[len - 1]) &&
	     !ends_in_word(text, len, queue_words, sizeof(queue_words) / sizeof(*queue_words))))
		return false;
	*ret = (unsigned)queue;
	return len > 0;
}

enum nr_irq_role nr_irq_role_of(const char *name, const char *device, unsigned *ret_queue)
{
	char text[NAME_SIZE];
	bool rx;
	bool tx;

	reduce(name, device, text);
	if (has_word(text, control_words, sizeof(control_words) / sizeof(*control_words)) ||
	    !parse_queue(text, ret_queue))
		return NR_IRQ_CONTROL;
	rx = strstr(text, "rx") || strstr(text, "input");
	tx = strstr(text, "tx") || strstr(text, "output");
	if (rx == tx)
		return NR_IRQ_RX_TX;
	return rx ? NR_IRQ_RX : NR_IRQ_TX;
}

const char *nr_irq_role_name(enum nr_irq_role role)
{
	static const char *const names[] = {
		[NR_IRQ_CONTROL] = "control",
		[NR_IRQ_RX] = "rx",
		[NR_IRQ_TX] = "tx",
		[NR_IRQ_RX_TX] = "rx+tx",
	};

	return names[role];
}

const char *nr_irq_result_name(enum nr_irq_result result)
{
	static const char *const names[] = {
		[NR_IRQ_UNTOUCHED] = "untouched", [NR_IRQ_STEERED] = "steered",
		[NR_IRQ_PENDING] = "pending",     [NR_IRQ_UNTOLD] = "untold",
		[NR_IRQ_MANAGED] = "managed",     [NR_IRQ_MOVED] = "moved",
		[NR_IRQ_GONE] = "gone",
	};

	return names[result];
}

/* ---- reading ---- */

/* Each handler of an interrupt has a folder proc/irq/N/NAME, unless its name has a slash in it. */
static int read_folder(const struct np_sysroot *root, unsigned irq, const char *device, char **ret,
                       struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];
	struct np_error why = { 0 };
	const char *found = NULL;
	char **names;
	int count = np_sysroot_list(root, nr_irq_path(path, irq, ""), &names, &why);

	if (count == -ENOENT || count == -ENOTDIR)
		return 0;
	if (count < 0) {
		if (err)
			*err = why;
		return count;
	}
	for (int i = 0; i < count; i++) {
		char *inner;

		/* The others are files, which have no entries. */
		snprintf(path, sizeof(path), "proc/irq/%u/%.200s/.", irq, names[i]);
		if (!np_sysroot_has(root, path))
			continue;
		inner = strstr(names[i], device);
		if (!found || (inner && !strstr(found, device)))
			found = names[i];
	}
	if (found)
		*ret = strdup(found);
	free(names);
	return found && !*ret ? np_error_sys(err, ENOMEM, "interrupt %u", irq) : 0;
}

/*
 * From the line " 26:  4  0  PCI-MSIX-0000:41:00.0   1-edge      virtio0-input.0" of
 * proc/interrupts: what is behind the last two spaces. A line that ends in a space names nobody.
 */
static char *name_in_line(const char *line, size_t len)
{
	size_t begin = len;

	if (len == 0 || line[len - 1] == ' ')
		return NULL;
	while (begin > 1 && !(line[begin - 1] == ' ' && line[begin - 2] == ' '))
		begin--;
	if (begin <= 1)
		return NULL;
	len -= begin;
	/* Several handlers stand there with commas between them. */
	return strndup(line + begin,
	               memchr(line + begin, ',', len) ? strcspn(line + begin, ",") : len);
}

static int read_interrupts(const struct np_sysroot *root, unsigned irq, char **ret,
                           struct np_error *err)
{
	char *text;
	int rc = np_sysroot_read_optional(root, "proc/interrupts", &text, err);

	if (rc < 0 || !text)
		return rc;
	for (char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		char *end;

		if (strtoul(line, &end, 10) == irq && end > line && *end == ':') {
			*ret = name_in_line(line, len);
			break;
		}
		line += len + (line[len] == '\n');
	}
	free(text);
	return 0;
}

int nr_irq_name_read(const struct np_sysroot *root, unsigned irq, const char *device, char **ret,
                     struct np_error *err)
{
	char path[NR_IRQ_PATH_SIZE];
	int rc;

	*ret = NULL;
	if (!np_sysroot_has(root, nr_irq_path(path, irq, "smp_affinity_list")))
		return 0;
	rc = read_folder(root, irq, device, ret, err);
	if (rc == 0 && !*ret)
		rc = read_interrupts(root, irq, ret, err);
	return rc;
}
