/* SPDX-License-Identifier: BSD-3-Clause */
#include <numacount/class.h>

#include <stddef.h>
#include <string.h>

static const struct class_words {
	const char *name;
	const char *unit;
} classes[NC_CLASS_COUNT] = {
	[NC_CLASS_MEMORY_READ] = { "memory_read", "bytes" },
	[NC_CLASS_MEMORY_WRITE] = { "memory_write", "bytes" },
	[NC_CLASS_MEMORY_ANY] = { "memory_any", "bytes" },
	[NC_CLASS_INTERCONNECT_OUT] = { "interconnect_out", "bytes" },
	[NC_CLASS_INTERCONNECT_IN] = { "interconnect_in", "bytes" },
	[NC_CLASS_INTERCONNECT_OUT_FLITS] = { "interconnect_out_flits", "flits" },
	[NC_CLASS_INTERCONNECT_CLOCK] = { "interconnect_clock", "clocks" },
	[NC_CLASS_HOME_READ_LOCAL] = { "home_read_local", "bytes" },
	[NC_CLASS_HOME_READ_REMOTE] = { "home_read_remote", "bytes" },
	[NC_CLASS_HOME_WRITE_LOCAL] = { "home_write_local", "bytes" },
	[NC_CLASS_HOME_WRITE_REMOTE] = { "home_write_remote", "bytes" },
	[NC_CLASS_LOADS_LOCAL] = { "loads_local", "loads" },
	[NC_CLASS_LOADS_REMOTE] = { "loads_remote", "loads" },
	[NC_CLASS_CPU_MEMORY_TOTAL] = { "cpu_memory_total", "bytes" },
	[NC_CLASS_CPU_MEMORY_LOCAL] = { "cpu_memory_local", "bytes" },
	[NC_CLASS_CPU_MEMORY_REMOTE] = { "cpu_memory_remote", "bytes" },
	[NC_CLASS_PAGES_LOCAL] = { "pages_local", "pages" },
	[NC_CLASS_PAGES_REMOTE] = { "pages_remote", "pages" },
	[NC_CLASS_OTHER] = { "other", "counts" },
};

const char *nc_class_name(enum nc_class what)
{
	return what < NC_CLASS_COUNT ? classes[what].name : "none";
}

const char *nc_class_unit(enum nc_class what)
{
	return what < NC_CLASS_COUNT ? classes[what].unit : "";
}

enum nc_class nc_class_find(const char *name)
{
	unsigned i = 0;

	while (i < NC_CLASS_COUNT && strcmp(classes[i].name, name) != 0)
		i++;
	return (enum nc_class)i;
}
