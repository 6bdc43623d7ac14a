/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which events count what, by CPU family: data, read from text (counters/events/, one file a
 * family, built into the library; and a file of the user's). Immutable once loaded.
 */
#ifndef NUMACOUNT_TABLES_H
#define NUMACOUNT_TABLES_H

#include <numacount/class.h>
#include <numaprobe/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A processor as /proc/cpuinfo has it. */
enum nc_vendor {
	NC_VENDOR_UNKNOWN,
	NC_VENDOR_INTEL,
	NC_VENDOR_AMD,
	NC_VENDOR_ARM,
	NC_VENDOR_POWER
};

struct nc_cpu {
	enum nc_vendor vendor;
	unsigned family;   /* x86 family; Arm: implementer; POWER: 9 for POWER9 */
	unsigned model;    /* x86 model; Arm: part */
	unsigned stepping; /* x86 stepping; Arm: variant */
	char title[128];   /* as the file names it, for messages; "" = it does not */
};

/* "GenuineIntel 6/85/4 (Intel(R) Xeon(R) ...)", for messages. Returns @buf. */
const char *nc_cpu_text(const struct nc_cpu *cpu, char *buf, size_t size);

struct nc_event {
	const char *name; /* unique in its family, "txl_flits_all_data" */
	enum nc_class what;
	/*
	 * The PMUs that have it, by name or by alias file: "#" stands for a decimal number, "#x"
	 * for a hexadecimal one, and a "_#" at the end may be lacking, as the kernel leaves it out
	 * where there is one box alone. "uncore_upi_#" is uncore_upi, uncore_upi_0, uncore_upi_12,
	 * and not uncore_m3upi_0. Several patterns stand between commas: any of them will do.
	 */
	const char *pmu;
	/*
	 * "event=0x2,umask=0xf": names of the PMU's format/ files, or config, config1, config2; or
	 * "@cas_count_read", what the PMU's events/ file of that name says, behind which terms may
	 * follow.
	 */
	const char *terms;
	const char *pfm;        /* the same event in libpfm4's words, or NULL */
	const char *unless_pmu; /* only where no PMU matches this; NULL = always */
	bool has_link;          /* one PMU counts several links, each by an event of its own */
	unsigned link;
	uint32_t units; /* @units of the class's unit for every @per counts: 64 bytes for 9 slots */
	uint32_t per;
	const char *source; /* where encoding and units come from; "" = it does not say */
};

/* Which processors a family is. Ranges are inclusive. */
struct nc_cpu_rule {
	enum nc_vendor vendor;
	unsigned family;
	unsigned model_first, model_last;
	unsigned stepping_first, stepping_last;
};

struct nc_family {
	const char *name;  /* "skx" */
	const char *title; /* "Skylake-SP, Cascade Lake-SP, Cooper Lake" */
	bool is_untested;  /* known from documents alone */
	const struct nc_cpu_rule *rules;
	size_t rule_count;
	const struct nc_event *events;
	size_t event_count; /* 0 = the processor is known, and so is that it has nothing for us */
	unsigned counters;  /* of one box: how many events are counted at once */
	const char *link_name; /* "UPI"; NULL = no links are counted */
	/* What one end counts as sent is not all of what the other counts as received. */
	bool link_ends_differ;
	/*
	 * The nominal peak of a link in one direction is transfers/s times bytes; transfers/s are
	 * read off the clock (transfers_per_clock times its rate, snapped to @link_rates), or, of a
	 * family without a clock, the only rate there is. 0 and none = unknown.
	 */
	uint32_t link_transfers_per_clock;
	uint32_t link_bytes_per_transfer;
	const uint32_t *link_rates_mt; /* ascending, in 10^6 transfers/s */
	size_t link_rate_count;
	const char *misses; /* what the numbers do not show, in some sentences; or "" */
	const char *source; /* of the peak; or "" */
	const char *file;   /* "built in", or the user's file */
};

struct nc_tables; /* opaque */

/*
 * The families built in, preceded by those of @file, NULL = none; a family there replaces the one
 * of the same name. The caller ends *ret with nc_tables_free().
 *
 *   -EINVAL  the file is wrong; err says "FILE:LINE:COLUMN: what, why"
 *   -ENOENT, -EACCES ...  of open(2)
 *   -E2BIG   a file of more than 1 MiB
 *   -ENOMEM
 */
int nc_tables_load(const char *file, struct nc_tables **ret, struct np_error *err);

/*
 * The families of a text alone, without those built in; @name stands for the file in messages.
 * Errors as above.
 */
int nc_tables_parse(const char *name, const char *text, size_t size, struct nc_tables **ret,
                    struct np_error *err);

/* Accepts NULL. */
void nc_tables_free(struct nc_tables *tables);

size_t nc_tables_count(const struct nc_tables *tables);
const struct nc_family *nc_tables_family(const struct nc_tables *tables, size_t index);

/* The first family with a rule for that processor, or of that name; NULL when there is none. */
const struct nc_family *nc_tables_find_cpu(const struct nc_tables *tables,
                                           const struct nc_cpu *cpu);
const struct nc_family *nc_tables_find_name(const struct nc_tables *tables, const char *name);

/*
 * Whether a PMU's name is of the kind of a pattern (see struct nc_event). *ret_number is what stands
 * for the last "#", and untouched where there is none.
 */
bool nc_pmu_matches(const char *pattern, const char *name, unsigned *ret_number);

#ifdef __cplusplus
}
#endif

#endif
