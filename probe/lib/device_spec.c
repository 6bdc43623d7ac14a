/* SPDX-License-Identifier: BSD-3-Clause */
#include "device_spec.h"

#include "topology_data.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define PCI_DIR "sys/bus/pci/devices"

enum { QUOTE_SIZE = 96, CANDIDATES_SIZE = 280 };

static int bad_spec(const char *text, const char *why, struct np_error *err)
{
	char quoted[QUOTE_SIZE];

	return np_error_set(err, EINVAL, "device '%s': %s",
	                    np_error_quote(text, quoted, sizeof(quoted)), why);
}

int np_device_not_found(const char *name, const char *candidates, struct np_error *err)
{
	char quoted[QUOTE_SIZE];
	char others[CANDIDATES_SIZE];

	np_error_quote(candidates, others, sizeof(others));
	np_error_set(err, ENOENT, "no network interface '%s'; there %s%s",
	             np_error_quote(name, quoted, sizeof(quoted)), *others ? "are: " : "are none",
	             others);
	return -ENOENT;
}

void np_device_spec_release(struct np_device_spec *spec)
{
	free(spec->name);
	free(spec->entry);
	*spec = (struct np_device_spec){ 0 };
}

static int fill(struct np_device_spec *ret, enum np_device_kind kind, const char *dir,
                const char *name, const char *entry, struct np_error *err)
{
	ret->kind = kind;
	ret->dir = dir;
	ret->name = strdup(name);
	ret->entry = strdup(entry);
	if (ret->name && ret->entry)
		return 0;
	np_device_spec_release(ret);
	return np_error_sys(err, ENOMEM, "device '%s'", name);
}

/* A name that becomes a part of a path must be one part. */
static bool is_entry_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/*
 * A PCI address with its domain and function optional: [seg:]bus:dev[.func], hexadecimal, as lspci
 * prints it and numactl takes it.
 */
static bool parse_pci(const char *text, char *ret, size_t size)
{
	unsigned domain = 0;
	unsigned bus;
	unsigned device;
	unsigned function = 0;
	int used = 0;

	if (strspn(text, "0123456789abcdefABCDEF:.") != strlen(text))
		return false;
	if ((sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
	     text[used]) &&
	    /* numactl's help writes the function behind a colon. */
	    (sscanf(text, "%8x:%2x:%2x:%1x%n", &domain, &bus, &device, &function, &used) != 4 ||
	     text[used])) {
		domain = 0;
		if (sscanf(text, "%2x:%2x.%1x%n", &bus, &device, &function, &used) != 3 ||
		    text[used])
			return false;
	}
	snprintf(ret, size, "%04x:%02x:%02x.%x", domain, bus, device, function);
	return true;
}

static int parse_pci_spec(const char *text, const char *address, struct np_device_spec *ret,
                          struct np_error *err)
{
	char with_function[32];
	char normal[32];

	/* numactl takes the function 0 as given. */
	snprintf(with_function, sizeof(with_function), "%.24s.0", address);
	if (!parse_pci(address, normal, sizeof(normal)) &&
	    !parse_pci(with_function, normal, sizeof(normal)))
		return bad_spec(text, "not a PCI address like 0000:c1:00.1", err);
	return fill(ret, NP_DEVICE_PCI, PCI_DIR, normal, normal, err);
}

/* The local address that packets to @host would carry, found by connecting a UDP socket. */
static int find_source(const char *host, struct sockaddr_storage *ret)
{
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	socklen_t len = sizeof(*ret);
	struct addrinfo *found;
	int rc = -ENOENT;

	/* Port 9 (discard): connect() of a datagram socket sends nothing. */
	if (getaddrinfo(host, "9", &hints, &found) != 0)
		return -ENOENT;
	for (const struct addrinfo *ai = found; ai && rc < 0; ai = ai->ai_next) {
		int fd = socket(ai->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			continue;
		if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
		    getsockname(fd, (struct sockaddr *)ret, &len) == 0)
			rc = 0;
		close(fd);
	}
	freeaddrinfo(found);
	return rc;
}

static bool same_address(const struct sockaddr *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const void *)a;
	const struct sockaddr_in *b4 = (const void *)b;
	const struct sockaddr_in6 *a6 = (const void *)a;
	const struct sockaddr_in6 *b6 = (const void *)b;

	if (!a || a->sa_family != b->ss_family)
		return false;
	if (a->sa_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	if (a->sa_family == AF_INET6)
		return memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
	return false;
}

static int parse_ip(const char *text, const char *host, struct np_device_spec *ret,
                    struct np_error *err)
{
	struct sockaddr_storage source = { 0 };
	struct ifaddrs *interfaces;
	int rc = -ENOENT;

	if (find_source(host, &source) < 0 || getifaddrs(&interfaces) < 0)
		return np_error_set(err, ENOENT, "device '%s': no route to that address", text);
	for (const struct ifaddrs *i = interfaces; i && rc == -ENOENT; i = i->ifa_next)
		if (same_address(i->ifa_addr, &source))
			rc = fill(ret, NP_DEVICE_NET, "sys/class/net", i->ifa_name, i->ifa_name,
			          err);
	freeifaddrs(interfaces);
	if (rc == -ENOENT)
		np_error_set(err, ENOENT, "device '%s': no interface holds the route's address",
		             text);
	return rc;
}

static int parse_file(const char *text, const char *path, struct np_device_spec *ret,
                      struct np_error *err)
{
	char entry[32];
	struct stat st;
	dev_t device;

	if (stat(path, &st) < 0)
		return np_error_sys(err, errno, "device '%s'", text);
	device = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;
	/* Major 0 is for file systems without a device (tmpfs, overlay, btrfs, NFS). */
	if (major(device) == 0)
		return np_error_set(err, ENODEV,
		                    "device '%s': its file system stands on no single block device",
		                    text);
	snprintf(entry, sizeof(entry), "%u:%u", major(device), minor(device));
	return fill(ret, NP_DEVICE_BLOCK, "sys/dev/block", path, entry, err);
}

int np_device_spec_parse(const char *text, bool live, struct np_device_spec *ret,
                         struct np_error *err)
{
	const char *colon = strchr(text, ':');
	size_t prefix = colon ? (size_t)(colon - text) : 0;
	const char *rest = colon ? colon + 1 : text;
	char pci[32];
	bool is_host = prefix == 2 && strncmp(text, "ip", 2) == 0;
	bool is_file = prefix == 4 && strncmp(text, "file", 4) == 0;

	if ((is_host || is_file) && !live)
		return bad_spec(text, "is looked up on this machine, but another one is described",
		                err);
	if (is_host)
		return parse_ip(text, rest, ret, err);
	if (is_file)
		return parse_file(text, rest, ret, err);
	if (prefix == 3 && strncmp(text, "pci", 3) == 0)
		return parse_pci_spec(text, rest, ret, err);
	if (parse_pci(text, pci, sizeof(pci)))
		return fill(ret, NP_DEVICE_PCI, PCI_DIR, pci, pci, err);

	if (prefix == 5 && strncmp(text, "block", 5) == 0 && is_entry_name(rest))
		return fill(ret, NP_DEVICE_BLOCK, "sys/class/block", rest, rest, err);
	if (prefix == 6 && strncmp(text, "netdev", 6) == 0 && is_entry_name(rest))
		return fill(ret, NP_DEVICE_NET, "sys/class/net", rest, rest, err);
	if (colon || !is_entry_name(text))
		return bad_spec(text,
		                "not an interface, a PCI address, or one of netdev: pci: block: "
		                "file: ip:",
		                err);
	return fill(ret, NP_DEVICE_NET, "sys/class/net", text, text, err);
}
