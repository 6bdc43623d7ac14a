/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-only */
/*
 * What uncore_test.c registers: the PMUs of each layout, what their files say, and what each event
 * counts. All data is from the kernel's own drivers (arch/x86/events/intel/uncore_snbep.c,
 * arch/x86/events/amd/uncore.c) and Intel's and AMD's event lists.
 *
 * Rates. All are whole numbers of lines of 64 bytes, in 10^6 lines a second. S is the socket, D the
 * die's position in it, J the position of the PMU among its kind in a socket (for amd_df: of the
 * channel), L the link: the position of its PMU, or, in amd_df, of its event.
 *
 *   memory read    20 (S + 1) + 3 J + D
 *   memory write    8 (S + 1) + 2 J + D
 *   both together  28 (S + 1) + 5 J + 2 D
 *   link out, L even, to socket S + 1   10 (S + 1) + L / 2 + D
 *   link out, L odd, to socket S - 1     5 (S + 1) + L / 2 + D + 2
 *   link in        what the neighbour's link sends
 *   home reads     of remote sockets  4 (S + 1) + J + D, of the own: memory read less that
 *   home writes    of remote sockets  2 (S + 1) + J + D, of the own: memory write less that
 *
 * Sockets form a ring: a link with an even L ends at the one with L + 1 of the next socket, at the
 * die of the same position.
 */
#ifndef UNCORE_TEST_LAYOUTS_H
#define UNCORE_TEST_LAYOUTS_H

#include <linux/types.h>

enum ut_quantity {
	UT_END, /* of a list of codes */
	UT_CLOCK,
	UT_READ,
	UT_WRITE,
	UT_ANY,
	UT_OUT,
	UT_IN,
	UT_HOME_READ_LOCAL,
	UT_HOME_READ_REMOTE,
	UT_HOME_WRITE_LOCAL,
	UT_HOME_WRITE_REMOTE,
};

/* An event and what it counts. */
struct ut_code {
	u64 config;
	enum ut_quantity what;
	u32 counts;         /* for 10^6 lines; of UT_CLOCK: a second */
	unsigned int place; /* amd_df: the link or the channel */
};

/* A file below the PMU's folder. */
struct ut_file {
	const char *folder;
	const char *name;
	const char *text;
};

#define UT_NUMBERS_MAX 4

/* PMUs of one name, with consecutive or other numbers. */
struct ut_kind {
	const char *name; /* without the number */
	unsigned int numbers[UT_NUMBERS_MAX];
	unsigned int number_count; /* 0: one PMU, without a number */
	unsigned int stride;       /* 0: each PMU is in every socket; else each is in one, and the
				numbers of the next socket are higher by this */
	bool has_map;              /* its dieN files tell where the links end */
	const struct ut_file *files;
	const struct ut_code *codes; /* any other code counts UT_ODD_RATE */
};

/* What an event that is not in the tables counts in a second: too much to be overlooked. */
#define UT_ODD_RATE 777777777777ULL

static const struct ut_file intel_files[] = {
	{ "format", "event", "config:0-7" },    { "format", "umask", "config:8-15" },
	{ "format", "edge", "config:18" },      { "format", "inv", "config:23" },
	{ "format", "thresh", "config:24-31" }, {},
};

static const struct ut_file imc_files[] = {
	{ "format", "event", "config:0-7" },
	{ "format", "umask", "config:8-15" },
	{ "format", "edge", "config:18" },
	{ "format", "inv", "config:23" },
	{ "format", "thresh", "config:24-31" },
	{ "events", "clockticks", "event=0x00,umask=0x00" },
	{ "events", "cas_count_read", "event=0x04,umask=0x03" },
	{ "events", "cas_count_read.scale", "6.103515625e-5" },
	{ "events", "cas_count_read.unit", "MiB" },
	{ "events", "cas_count_write", "event=0x04,umask=0x0c" },
	{ "events", "cas_count_write.scale", "6.103515625e-5" },
	{ "events", "cas_count_write.unit", "MiB" },
	{},
};

static const struct ut_file upi_files[] = {
	{ "format", "event", "config:0-7" },    { "format", "umask", "config:8-15,32-43,45-55" },
	{ "format", "edge", "config:18" },      { "format", "inv", "config:23" },
	{ "format", "thresh", "config:24-31" }, {},
};

static const struct ut_file qpi_files[] = {
	{ "format", "event", "config:0-7,21" },
	{ "format", "umask", "config:8-15" },
	{ "format", "edge", "config:18" },
	{ "format", "thresh", "config:24-31" },
	{ "format", "match_rds", "config1:48-51" },
	{ "format", "mask_rds", "config2:48-51" },
	{},
};

static const struct ut_file df_zen3_files[] = {
	{ "format", "event", "config:0-7,32-35,59-60" },
	{ "format", "umask", "config:8-15" },
	{},
};

static const struct ut_file df_zen4_files[] = {
	{ "format", "event", "config:0-7,32-37" },
	{ "format", "umask", "config:8-15,24-27" },
	{},
};

static const struct ut_file umc_files[] = {
	{ "format", "event", "config:0-7" },
	{ "format", "rdwrmask", "config:8-9" },
	{},
};

static const struct ut_code imc_codes[] = {
	{ 0x0000, UT_CLOCK, 1200000000 },
	{ 0x0304, UT_READ, 1000000 },
	{ 0x0c04, UT_WRITE, 1000000 },
	{},
};

/* Nine slots a line; half as many again without data. 10.4 GT/s are 1.3 GHz. */
static const struct ut_code upi_codes[] = {
	{ 0x0001, UT_CLOCK, 1300000000 }, { 0x0f02, UT_OUT, 9000000 }, { 0x0f03, UT_IN, 9000000 },
	{ 0x9702, UT_OUT, 4500000 },      { 0x9703, UT_IN, 4500000 },  {},
};

/* Eight flits a line; half as many again without data. 8.0 GT/s are 1.0 GHz. */
static const struct ut_code qpi_codes[] = {
	{ 0x0014, UT_CLOCK, 1000000000 },
	{ 0x0200, UT_OUT, 8000000 },
	{ 0x0201, UT_IN, 8000000 },
	{ 0x0400, UT_OUT, 4000000 },
	{ 0x0600, UT_OUT, 12000000 },
	{ 0x200802, UT_IN, 6000000 }, /* DRS.DATA */
	{ 0x200403, UT_IN, 2000000 }, /* NCB.DATA */
	{},
};

static const struct ut_code ha_codes[] = {
	{ 0x0101, UT_HOME_READ_LOCAL, 1000000 },
	{ 0x0201, UT_HOME_READ_REMOTE, 1000000 },
	{ 0x0401, UT_HOME_WRITE_LOCAL, 1000000 },
	{ 0x0801, UT_HOME_WRITE_REMOTE, 1000000 },
	{},
};

static const struct ut_code cha_codes[] = {
	{ 0x0150, UT_HOME_READ_LOCAL, 1000000 },
	{ 0x0250, UT_HOME_READ_REMOTE, 1000000 },
	{ 0x0450, UT_HOME_WRITE_LOCAL, 1000000 },
	{ 0x0850, UT_HOME_WRITE_REMOTE, 1000000 },
	{},
};

/* An AMD event: bits 0-7 of its number stay, those above go to 32 and on; so does the umask. */
#define UT_DF(event, umask)                                                                        \
	(((event)&0xffULL) | (((event)&0xf00ULL) << 24) | (((umask)&0xffULL) << 8) |               \
	 (((umask)&0xf00ULL) << 16))

/* Data leaves in pieces of 32 bytes, a channel moves 64. */
static const struct ut_code df_zen3_codes[] = {
	{ UT_DF(0x7c7, 0x02), UT_OUT, 2000000, 0 },
	{ UT_DF(0x807, 0x02), UT_OUT, 2000000, 1 },
	{ UT_DF(0x847, 0x02), UT_OUT, 2000000, 2 },
	{ UT_DF(0x887, 0x02), UT_OUT, 2000000, 3 },
	{ UT_DF(0x007, 0x38), UT_ANY, 1000000, 0 },
	{ UT_DF(0x047, 0x38), UT_ANY, 1000000, 1 },
	{ UT_DF(0x087, 0x38), UT_ANY, 1000000, 2 },
	{ UT_DF(0x0c7, 0x38), UT_ANY, 1000000, 3 },
	{ UT_DF(0x107, 0x38), UT_ANY, 1000000, 4 },
	{ UT_DF(0x147, 0x38), UT_ANY, 1000000, 5 },
	{ UT_DF(0x187, 0x38), UT_ANY, 1000000, 6 },
	{ UT_DF(0x1c7, 0x38), UT_ANY, 1000000, 7 },
	{},
};

static const struct ut_code df_zen4_codes[] = {
	{ UT_DF(0xb5f, 0xf3e), UT_OUT, 1000000, 0 },
	{ UT_DF(0xb9f, 0xf3e), UT_OUT, 1000000, 1 },
	{ UT_DF(0xbdf, 0xf3e), UT_OUT, 1000000, 2 },
	{ UT_DF(0xc1f, 0xf3e), UT_OUT, 1000000, 3 },
	{ UT_DF(0xc5f, 0xf3e), UT_OUT, 1000000, 4 },
	{ UT_DF(0xc9f, 0xf3e), UT_OUT, 1000000, 5 },
	{ UT_DF(0xcdf, 0xf3e), UT_OUT, 1000000, 6 },
	{ UT_DF(0xd1f, 0xf3e), UT_OUT, 1000000, 7 },
	{},
};

static const struct ut_code umc_codes[] = {
	{ 0x000, UT_CLOCK, 2400000000U },
	{ 0x10a, UT_READ, 1000000 },
	{ 0x20a, UT_WRITE, 1000000 },
	{},
};

static const struct ut_code no_codes[] = { {} };

/* The links are those of a board that leaves the middle one out. */
static const struct ut_kind skx_kinds[] = {
	{ "uncore_upi", { 0, 2 }, 2, 0, true, upi_files, upi_codes },
	{ "uncore_imc", { 0, 1, 4 }, 3, 0, false, imc_files, imc_codes },
	{ "uncore_cha", { 0, 1 }, 2, 0, false, intel_files, cha_codes },
	{ "uncore_m3upi", { 0 }, 1, 0, false, intel_files, no_codes },
	{},
};

static const struct ut_kind ivbep_kinds[] = {
	{ "uncore_qpi", { 0, 1 }, 2, 0, false, qpi_files, qpi_codes },
	{ "uncore_imc", { 0, 4 }, 2, 0, false, imc_files, imc_codes },
	{ "uncore_ha", { 0, 1 }, 2, 0, false, intel_files, ha_codes },
	{ "uncore_r3qpi", { 0 }, 1, 0, false, intel_files, no_codes },
	{},
};

static const struct ut_kind zen3_kinds[] = {
	{ "amd_df", { 0 }, 0, 0, false, df_zen3_files, df_zen3_codes },
	{},
};

static const struct ut_kind zen4_kinds[] = {
	{ "amd_df", { 0 }, 0, 0, false, df_zen4_files, df_zen4_codes },
	{ "amd_umc", { 0, 1 }, 2, 12, false, umc_files, umc_codes },
	{},
};

static const struct {
	const char *name;
	const struct ut_kind *kinds;
} ut_layouts[] = {
	{ "skx", skx_kinds },
	{ "ivbep", ivbep_kinds },
	{ "zen3", zen3_kinds },
	{ "zen4", zen4_kinds },
};

/* Where an event counts. */
struct ut_place {
	unsigned int socket;
	unsigned int die;   /* the position in its socket */
	unsigned int index; /* J or L above */
	unsigned int socket_count;
};

static inline u64 ut_link_out(unsigned int socket, unsigned int link, unsigned int die)
{
	u64 one = socket + 1;

	return (link % 2 == 0 ? 10 * one : 5 * one + 2) + link / 2 + die;
}

/* The neighbour's link L ^ 1, so that what is received is what is sent. */
static inline u64 ut_link_in(const struct ut_place *at)
{
	unsigned int step = at->index % 2 == 0 ? 1 : at->socket_count - 1;

	return ut_link_out((at->socket + step) % at->socket_count, at->index ^ 1, at->die);
}

/* In 10^6 lines a second, by the table at the head of this file. */
static inline u64 ut_lines(enum ut_quantity what, const struct ut_place *at)
{
	u64 one = at->socket + 1, j = at->index, d = at->die;
	u64 read = 20 * one + 3 * j + d, write = 8 * one + 2 * j + d;
	u64 remote_read = 4 * one + j + d, remote_write = 2 * one + j + d;

	switch (what) {
	case UT_READ:
		return read;
	case UT_WRITE:
		return write;
	case UT_ANY:
		return read + write;
	case UT_OUT:
		return ut_link_out(at->socket, at->index, at->die);
	case UT_IN:
		return ut_link_in(at);
	case UT_HOME_READ_LOCAL:
		return read - remote_read;
	case UT_HOME_READ_REMOTE:
		return remote_read;
	case UT_HOME_WRITE_LOCAL:
		return write - remote_write;
	case UT_HOME_WRITE_REMOTE:
		return remote_write;
	default:
		return 0;
	}
}

#endif
