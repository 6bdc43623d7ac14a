/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints where it runs: the CPUs it may use, the CPU and node it is on, its memory policy and, with
 * --touch, on which nodes its pages landed. Run it under a launcher to see what a program started
 * that way would get:
 *
 *	numarun --near eth0 -- where --touch 64
 *
 * It asks the kernel about itself by plain system calls and needs no library, so that its answer
 * does not pass through the code that placed it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORD_BITS (CHAR_BIT * sizeof(unsigned long))

/* sched_getaffinity takes any size; get_mempolicy refuses node masks of more than one page. */
#define MASK_BITS_MIN 1024
#define MASK_BITS_MAX 32768

/* Pages asked about in one move_pages(2). */
#define CHUNK_PAGES 1024

/* Newer than the linux/mempolicy.h of Debian 12; the number is ABI (Linux 6.9). */
#define POLICY_WEIGHTED_INTERLEAVE 6

/* Node counts are printed for nodes below this; Linux has at most 1024 (MAX_NUMNODES). */
#define NODES_MAX 1024

struct args {
	size_t touch_bytes; /* 0: touch nothing */
	bool huge;          /* leave transparent huge pages as the system has them */
	bool hugetlb;       /* take the memory from the pools of huge pages */
	bool hold;
};

struct mask {
	unsigned long words[MASK_BITS_MAX / WORD_BITS];
	size_t bits; /* of words, how many the kernel was offered */
};

struct page_counts {
	size_t on_node[NODES_MAX];
	size_t absent; /* pages that are on no node: swapped out, or never touched */
};

static void fail(const char *what)
{
	fprintf(stderr, "where: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static bool mask_has(const struct mask *mask, size_t bit)
{
	return bit < mask->bits && (mask->words[bit / WORD_BITS] >> (bit % WORD_BITS)) & 1;
}

static bool mask_empty(const struct mask *mask)
{
	for (size_t bit = 0; bit < mask->bits; bit++) {
		if (mask_has(mask, bit))
			return false;
	}
	return true;
}

/* As the kernel writes lists: "0-3,8". */
static void mask_print(const struct mask *mask)
{
	const char *separator = "";

	for (size_t first = 0; first < mask->bits; first++) {
		size_t last = first;

		if (!mask_has(mask, first))
			continue;
		while (mask_has(mask, last + 1))
			last++;
		printf("%s%zu", separator, first);
		if (last > first)
			printf("-%zu", last);
		separator = ",";
		first = last;
	}
}

/* EINVAL from either call means that the kernel knows more CPUs or nodes than the mask holds. */
static void read_cpus(struct mask *ret)
{
	for (size_t bits = MASK_BITS_MIN; bits <= MASK_BITS_MAX; bits *= 2) {
		*ret = (struct mask){ .bits = bits };
		if (syscall(SYS_sched_getaffinity, 0, bits / CHAR_BIT, ret->words) >= 0)
			return;
		if (errno != EINVAL)
			break;
	}
	fail("sched_getaffinity");
}

static int read_policy(int *ret_mode, struct mask *ret_nodes)
{
	for (size_t bits = MASK_BITS_MIN; bits <= MASK_BITS_MAX; bits *= 2) {
		*ret_nodes = (struct mask){ .bits = bits };
		if (syscall(SYS_get_mempolicy, ret_mode, ret_nodes->words, bits, NULL, 0UL) == 0)
			return 0;
		if (errno != EINVAL)
			break;
	}
	return -errno;
}

static void print_policy_flags(int flags)
{
	static const struct {
		int flag;
		const char *name;
	} names[] = {
		{ MPOL_F_NUMA_BALANCING, "numa-balancing" },
		{ MPOL_F_RELATIVE_NODES, "relative-nodes" },
		{ MPOL_F_STATIC_NODES, "static-nodes" },
	};
	const char *separator = "flags: ";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & names[i].flag))
			continue;
		printf("%s%s", separator, names[i].name);
		separator = ",";
	}
	putchar('\n');
}

static void print_policy(void)
{
	static const char *const names[] = {
		[MPOL_DEFAULT] = "default",
		[MPOL_PREFERRED] = "preferred",
		[MPOL_BIND] = "bind",
		[MPOL_INTERLEAVE] = "interleave",
		[MPOL_LOCAL] = "local",
		[MPOL_PREFERRED_MANY] = "preferred-many",
		[POLICY_WEIGHTED_INTERLEAVE] = "weighted-interleave",
	};
	struct mask nodes;
	int flags, mode, rc;

	rc = read_policy(&mode, &nodes);
	if (rc < 0) {
		printf("policy: unknown (get_mempolicy: %s)\n", strerror(-rc));
		return;
	}

	flags = mode & MPOL_MODE_FLAGS;
	mode &= ~MPOL_MODE_FLAGS;
	/* Before Linux 5.14 "local" was told as preferred without a node. */
	if (mode == MPOL_PREFERRED && mask_empty(&nodes))
		mode = MPOL_LOCAL;

	if (mode >= 0 && (size_t)mode < sizeof(names) / sizeof(names[0]))
		printf("policy: %s", names[mode]);
	else
		printf("policy: mode-%d", mode);
	if (!mask_empty(&nodes)) {
		putchar(':');
		mask_print(&nodes);
	}
	putchar('\n');
	if (flags)
		print_policy_flags(flags);
}

static void print_place(void)
{
	struct mask cpus;
	unsigned cpu, node;

	read_cpus(&cpus);
	printf("cpus: ");
	mask_print(&cpus);
	putchar('\n');

	if (getcpu(&cpu, &node) < 0)
		fail("getcpu");
	printf("running on: cpu %u, node %u\n", cpu, node);
}

/* Maps and writes the region; it stays mapped, so that --hold can show it. */
static char *touch(const struct args *args, size_t page_bytes)
{
	int pool = args->hugetlb ? MAP_HUGETLB : 0;
	char *region = mmap(NULL, args->touch_bytes, PROT_READ | PROT_WRITE,
	                    MAP_PRIVATE | MAP_ANONYMOUS | pool, -1, 0);

	if (region == MAP_FAILED)
		fail("mmap");

	/* A huge page counts as one allocation and blurs the shares of interleaved pages. */
	if (!args->huge && !args->hugetlb &&
	    madvise(region, args->touch_bytes, MADV_NOHUGEPAGE) < 0 && errno != EINVAL)
		fail("madvise");

	for (size_t at = 0; at < args->touch_bytes; at += page_bytes)
		((volatile char *)region)[at] = 1;
	return region;
}

static void count_pages(char *region, size_t pages, size_t page_bytes, struct page_counts *ret)
{
	void *addresses[CHUNK_PAGES];
	int nodes[CHUNK_PAGES];

	for (size_t done = 0; done < pages;) {
		size_t count = pages - done < CHUNK_PAGES ? pages - done : CHUNK_PAGES;

		for (size_t i = 0; i < count; i++)
			addresses[i] = region + (done + i) * page_bytes;

		/* Without target nodes move_pages moves nothing and reports each page's node. */
		if (syscall(SYS_move_pages, 0, count, addresses, NULL, nodes, 0) < 0)
			fail("move_pages");

		for (size_t i = 0; i < count; i++) {
			if (nodes[i] >= 0 && nodes[i] < NODES_MAX)
				ret->on_node[nodes[i]]++;
			else
				ret->absent++;
		}
		done += count;
	}
}

static void print_pages(const struct args *args)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	static struct page_counts counts;
	char *region = touch(args, page_bytes);

	count_pages(region, args->touch_bytes / page_bytes, page_bytes, &counts);

	printf("pages:");
	for (size_t node = 0; node < NODES_MAX; node++) {
		if (counts.on_node[node] > 0)
			printf(" N%zu=%zu", node, counts.on_node[node]);
	}
	if (counts.absent > 0)
		printf(" absent=%zu", counts.absent);
	putchar('\n');
}

static void usage(FILE *stream)
{
	fputs("Usage: where [--touch MIB [--huge|--hugetlb]] [--hold]\n"
	      "Print the CPUs, node and memory policy this process runs with.\n"
	      "\n"
	      "  --touch MIB  write MIB mebibytes of new memory, count its pages per node\n"
	      "  --huge       leave transparent huge pages on for that memory\n"
	      "  --hugetlb    take that memory from the pools of huge pages\n"
	      "  --hold       then wait for a signal, so that others can look at the process\n"
	      "  --help       print this text\n",
	      stream);
}

static size_t parse_mebibytes(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end != '\0' || value == 0 ||
	    value > SIZE_MAX >> 20) {
		fprintf(stderr, "where: --touch: '%s' is not a number of mebibytes above 0\n",
		        text);
		exit(2);
	}
	return (size_t)value << 20;
}

static struct args parse_args(int argc, char **argv)
{
	static const struct option options[] = {
		{ "touch", required_argument, NULL, 't' }, { "huge", no_argument, NULL, 'u' },
		{ "hugetlb", no_argument, NULL, 'g' },     { "hold", no_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },        { NULL, 0, NULL, 0 },
	};
	struct args args = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 't':
			args.touch_bytes = parse_mebibytes(optarg);
			break;
		case 'u':
			args.huge = true;
			break;
		case 'g':
			args.hugetlb = true;
			break;
		case 'o':
			args.hold = true;
			break;
		case 'h':
			usage(stdout);
			exit(EXIT_SUCCESS);
		default: /* getopt_long has said what is wrong */
			exit(2);
		}
	}

	if (optind < argc) {
		fprintf(stderr, "where: unexpected argument '%s'\n", argv[optind]);
		exit(2);
	}
	if ((args.huge || args.hugetlb) && args.touch_bytes == 0) {
		fputs("where: --huge and --hugetlb need --touch\n", stderr);
		exit(2);
	}
	return args;
}

int main(int argc, char **argv)
{
	struct args args = parse_args(argc, argv);

	print_place();
	print_policy();
	if (args.touch_bytes > 0)
		print_pages(&args);
	if (args.hold)
		puts("holding");

	if (fflush(stdout) == EOF)
		fail("stdout");
	if (args.hold)
		pause();
	return EXIT_SUCCESS;
}
