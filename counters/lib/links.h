/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the UPI links end, where the kernel tells it: Linux newer than 6.1 on Skylake-SP (but not
 * Cooper Lake), Ice Lake-SP and Sapphire Rapids.
 *
 * uncore_upi_X/dieY holds "upi_Z,die_W": link X of die Y is wired to link Z of die W. Source:
 * skx_upi_mapping_show() and upi_fill_topology() in Linux's arch/x86/events/intel/uncore_snbep.c,
 * Documentation/ABI/testing/sysfs-devices-mapping. Y is the kernel's own number of the die, over all
 * sockets; W is what the hardware calls the other end (the node id of register KTILP0), which is the
 * same number where the firmware numbers sockets as the kernel does. So a link is believed only
 * where the other end says the same of it.
 */
#ifndef NC_LINKS_H
#define NC_LINKS_H

#include "pmu.h"

#include <numacount/counter.h>

struct nc_die {
	unsigned socket;
	unsigned die; /* in its socket */
	unsigned first_cpu;
};

struct nc_link {
	unsigned die, link; /* dies by their place in struct nc_links */
	unsigned peer_die, peer_link;
};

struct nc_links {
	struct nc_die *dies; /* as the kernel numbers them */
	size_t die_count;
	struct nc_link *items;
	size_t count;
};

/* @pmu_count PMUs of one host. What does not add up makes a note, and the links in question have no
 * peer. The caller ends *ret with nc_links_release(), also after a failure.
 *
 *   -ENOMEM
 */
int nc_links_read(const struct np_sysroot *root, const struct nc_places *places,
                  const struct nc_pmu *pmus, size_t pmu_count, struct nc_notes *notes,
                  struct nc_links *ret);
void nc_links_release(struct nc_links *links);

/* Where a link of a socket's die ends; false where that is not known. */
bool nc_links_find(const struct nc_links *links, const struct nc_place *place, unsigned link,
                   struct nc_place *ret_place, unsigned *ret_link);

/*
 * Numbers the links of sockets with several dies, which each PMU counts once a die, so that no two
 * of a socket have the same number: those of the second die go on behind the first one's, at the
 * same distance in every socket. Links of sockets with one die keep their PMU's number.
 */
void nc_links_number(const struct nc_places *places, struct nc_counter *counters, size_t count);

#endif
