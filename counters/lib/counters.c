/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a host's counters: by PMU, within it by CPU, within that by event. Each PMU's events are
 * encoded once.
 */
#include "../../probe/base/array.h"
#include "encode.h"
#include "host_data.h"
#include "libpfm4.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libpfm4's state is one for the process, and it has no lock of its own. */
static pthread_mutex_t libpfm4_lock = PTHREAD_MUTEX_INITIALIZER;

enum {
	NAMED_MAX = 3, /* events that a message names, before it counts the rest */
	/* The largest machines have some 10^4; a captured tree may hold anything. */
	COUNTERS_MAX = 1 << 18,
};

/* An event of the table and what became of it. */
struct wanted {
	const struct nc_event *event;
	bool is_wanted;
	bool runs_over_sockets; /* its PMUs' numbers do: a link's number is the place in its socket */
	bool has_pfm;
	uint64_t pfm[NC_LIBPFM4_CONFIGS];
	size_t found;                 /* PMUs that have it */
	size_t failed;                /* those that it could not be encoded for */
	bool differs;                 /* libpfm4 and a PMU's files */
	char why[NP_ERROR_TEXT_SIZE]; /* of the first failure or difference */
};

/* An event as one PMU has it. */
struct coded {
	const struct wanted *wanted;
	struct nc_code code;
	enum nc_encoder encoder;
	unsigned number; /* in the PMU's name */
};

struct finder {
	const struct nc_host *host;
	const struct nc_family *family;
	struct wanted *wanted; /* by the table's events */
	struct coded *coded;   /* of one PMU */
	struct nc_counter *items;
	size_t count;
	unsigned next_group;
	struct nc_notes problems;
};

const char *nc_encoder_name(enum nc_encoder encoder)
{
	return encoder == NC_ENCODER_LIBPFM4 ? "libpfm4" : "format";
}

static bool is_link(enum nc_class what)
{
	return what == NC_CLASS_INTERCONNECT_OUT || what == NC_CLASS_INTERCONNECT_IN ||
	       what == NC_CLASS_INTERCONNECT_OUT_FLITS || what == NC_CLASS_INTERCONNECT_CLOCK;
}

/*
 * Loads are counted by core PMUs, all else by boxes. A PMU without a mask of any kind is either: its
 * events, of a table of the user's, are counted on every CPU.
 */
static bool pmu_has(const struct nc_pmu *pmu, const struct nc_event *event, unsigned *ret_number)
{
	bool is_of_loads = (NC_CLASS_BIT(event->what) & NC_CLASSES_LOADS) != 0;

	if (is_of_loads ? !pmu->is_core : pmu->is_core && pmu->has_cpus)
		return false;
	return nc_pmu_is_of(pmu, event->pmu, ret_number);
}

static bool host_has(const struct nc_host *host, const char *pattern)
{
	unsigned number;

	for (size_t i = 0; i < host->pmu_count; i++)
		if (nc_pmu_is_of(&host->pmus[i], pattern, &number))
			return true;
	return false;
}

/* The one socket that all CPUs of the PMU's mask are of. */
static bool only_socket(const struct nc_host *host, const struct nc_pmu *pmu, unsigned *ret)
{
	bool is_first = true;

	np_bitmap_for_each (cpu, &pmu->cpus) {
		const struct nc_place *place = nc_places_of(&host->places, cpu);

		if (!place || (!is_first && place->socket != *ret))
			return false;
		*ret = place->socket;
		is_first = false;
	}
	return !is_first;
}

/*
 * Intel's uncore_upi_1 is the second link of every socket, and its mask has a CPU of each. AMD's,
 * NVIDIA's and HiSilicon's numbers run on from socket to socket, and so each has CPUs of one alone.
 */
static bool numbers_run_over_sockets(const struct nc_host *host, const struct nc_event *event)
{
	struct {
		bool is_known;
		unsigned id;
	} first = { false, 0 };
	bool differ = false;
	unsigned number;

	for (size_t i = 0; i < host->pmu_count; i++) {
		unsigned socket = 0;

		if (!pmu_has(&host->pmus[i], event, &number))
			continue;
		if (!only_socket(host, &host->pmus[i], &socket))
			return false;
		differ = differ || (first.is_known && socket != first.id);
		first.is_known = true;
		first.id = socket;
	}
	return differ;
}

/* How many PMUs of the event's kind come before this one in its socket. */
static unsigned place_in_socket(const struct nc_host *host, const struct nc_pmu *pmu,
                                const struct nc_event *event)
{
	unsigned socket = 0;
	unsigned place = 0;
	unsigned number;

	only_socket(host, pmu, &socket);
	for (const struct nc_pmu *other = host->pmus; other < pmu; other++) {
		unsigned others = 0;

		if (pmu_has(other, event, &number) && only_socket(host, other, &others) &&
		    others == socket)
			place++;
	}
	return place;
}

/* Asks libpfm4 for all wanted events; on this machine alone, as it looks at no other. */
static void ask_libpfm4(struct finder *finder)
{
	struct nc_libpfm4 pfm;
	bool is_needed = false;

	for (size_t i = 0; i < finder->family->event_count; i++)
		is_needed =
			is_needed || (finder->wanted[i].is_wanted && finder->wanted[i].event->pfm);
	if (!is_needed || !finder->host->root.live)
		return;
	pthread_mutex_lock(&libpfm4_lock);
	nc_libpfm4_open(&pfm);
	for (size_t i = 0; i < finder->family->event_count; i++) {
		struct wanted *wanted = &finder->wanted[i];

		if (wanted->is_wanted && wanted->event->pfm)
			wanted->has_pfm = nc_libpfm4_encode(&pfm, wanted->event->pfm, wanted->pfm);
	}
	nc_libpfm4_close(&pfm);
	pthread_mutex_unlock(&libpfm4_lock);
}

static int choose_wanted(struct finder *finder, nc_classes what, struct np_error *err)
{
	const struct nc_family *family = finder->family;

	finder->wanted = calloc(family->event_count + 1, sizeof(*finder->wanted));
	finder->coded = calloc(family->event_count + 1, sizeof(*finder->coded));
	if (!finder->wanted || !finder->coded)
		return np_error_sys(err, ENOMEM, "counters");
	for (size_t i = 0; i < family->event_count; i++) {
		const struct nc_event *event = &family->events[i];
		struct wanted *wanted = &finder->wanted[i];

		wanted->event = event;
		wanted->is_wanted =
			(what & NC_CLASS_BIT(event->what)) &&
			!(event->unless_pmu && host_has(finder->host, event->unless_pmu));
		wanted->runs_over_sockets = wanted->is_wanted && is_link(event->what) &&
		                            numbers_run_over_sockets(finder->host, event);
	}
	ask_libpfm4(finder);
	return 0;
}

static void remember_difference(struct wanted *wanted, const struct nc_pmu *pmu,
                                const struct nc_code *code)
{
	if (!wanted->why[0])
		snprintf(wanted->why, sizeof(wanted->why),
		         "%s: config=0x%" PRIx64 ",config1=0x%" PRIx64
		         " by its format files is taken; libpfm4 says config=0x%" PRIx64
		         ",config1=0x%" PRIx64,
		         pmu->name, code->config[0], code->config[1], wanted->pfm[0],
		         wanted->pfm[1]);
	wanted->differs = true;
}

/*
 * libpfm4 answers where it knows the event and its answer is that of the PMU's own files, or where
 * these have none. Where the two differ the files are believed: they are this kernel's, and the
 * table's terms were checked against the makers' documents.
 */
static bool encode(struct wanted *wanted, const struct nc_host *host, const struct nc_pmu *pmu,
                   struct coded *ret)
{
	struct np_error why = { 0 };
	int rc = nc_encode(&host->root, pmu, wanted->event->terms, &ret->code, &why);

	ret->encoder = NC_ENCODER_FORMAT;
	if (rc < 0 && !wanted->has_pfm) {
		if (wanted->failed++ == 0)
			snprintf(wanted->why, sizeof(wanted->why), "%.100s: %.400s", pmu->name,
			         why.text);
		return false;
	}
	if (!wanted->has_pfm)
		return true;
	if (rc < 0) {
		ret->code = (struct nc_code){ .type = pmu->type };
		memcpy(ret->code.config, wanted->pfm, sizeof(wanted->pfm));
	}
	if (memcmp(ret->code.config, wanted->pfm, sizeof(wanted->pfm)) == 0)
		ret->encoder = NC_ENCODER_LIBPFM4;
	else
		remember_difference(wanted, pmu, &ret->code);
	return true;
}

/* Fills finder->coded with the events that this PMU has; their number. */
static size_t code_events(struct finder *finder, const struct nc_pmu *pmu)
{
	size_t count = 0;

	for (size_t i = 0; i < finder->family->event_count; i++) {
		struct wanted *wanted = &finder->wanted[i];
		struct coded *coded = &finder->coded[count];

		if (!wanted->is_wanted || !pmu_has(pmu, wanted->event, &coded->number))
			continue;
		wanted->found++;
		coded->wanted = wanted;
		if (np_bitmap_is_empty(&pmu->cpus)) {
			if (wanted->failed++ == 0)
				snprintf(wanted->why, sizeof(wanted->why),
				         "%s: no CPU of its mask is online", pmu->name);
		} else if (encode(wanted, finder->host, pmu, coded)) {
			count++;
		}
	}
	return count;
}

static struct nc_counter *add(struct finder *finder)
{
	void *items = finder->items;
	int rc = np_array_grow(&items, finder->count, sizeof(*finder->items));

	finder->items = items;
	return rc < 0 ? NULL : &finder->items[finder->count++];
}

static void find_peer(const struct nc_host *host, const struct nc_place *place,
                      struct nc_counter *counter)
{
	struct nc_place peer;

	counter->has_peer =
		nc_links_find(&host->links, place, counter->link, &peer, &counter->peer_link);
	if (!counter->has_peer)
		return;
	counter->peer = peer.socket;
	counter->peer_die = peer.die;
}

static void fill_link(const struct nc_host *host, const struct coded *coded,
                      const struct nc_place *place, struct nc_counter *counter)
{
	const struct nc_event *event = coded->wanted->event;

	if (!is_link(event->what))
		return;
	counter->has_link = true;
	counter->link = coded->number;
	if (event->has_link)
		counter->link = event->link;
	else if (coded->wanted->runs_over_sockets)
		counter->link = place_in_socket(host, counter->pmu, event);
	/* The kernel's map is of uncore_upi_N alone, which counts one link a die. */
	if (place && !event->has_link &&
	    nc_pmu_matches("uncore_upi_#", counter->pmu->name, &(unsigned){ 0 }))
		find_peer(host, place, counter);
}

static int add_counter(struct finder *finder, const struct nc_pmu *pmu, unsigned cpu,
                       const struct coded *coded, unsigned group)
{
	const struct nc_place *place = nc_places_of(&finder->host->places, cpu);
	const struct nc_event *event = coded->wanted->event;
	struct nc_counter *counter = add(finder);

	if (!counter)
		return -errno;
	*counter = (struct nc_counter){
		.what = event->what,
		.name = event->name,
		.box = pmu->name,
		.units = event->units,
		.per = event->per,
		.has_socket = place != NULL,
		.socket = place ? place->socket : 0,
		.die = place ? place->die : 0,
		.event = event,
		.pmu = pmu,
		.cpu = cpu,
		.code = coded->code,
		.encoder = coded->encoder,
		.group = group,
	};
	fill_link(finder->host, coded, place, counter);
	return 0;
}

/* All events of a PMU on one CPU, in groups that its counters can hold at once. */
static int add_cpu(struct finder *finder, const struct nc_pmu *pmu, unsigned cpu, size_t events)
{
	unsigned fit = finder->family->counters > 0 ? finder->family->counters : 1;

	for (size_t i = 0; i < events; i++) {
		int rc;

		if (i % fit == 0)
			finder->next_group++;
		rc = add_counter(finder, pmu, cpu, &finder->coded[i], finder->next_group - 1);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Adds a PMU's counters, sockets ascending. CPUs of no known socket come last. */
static int add_pmu(struct finder *finder, const struct nc_pmu *pmu, size_t events)
{
	const struct nc_places *places = &finder->host->places;
	int rc = 0;

	np_bitmap_for_each (socket, &places->sockets) {
		np_bitmap_for_each (cpu, &pmu->cpus) {
			const struct nc_place *place = nc_places_of(places, cpu);

			if (rc == 0 && place && place->socket == socket)
				rc = add_cpu(finder, pmu, cpu, events);
		}
	}
	np_bitmap_for_each (cpu, &pmu->cpus) {
		if (rc == 0 && !nc_places_of(places, cpu))
			rc = add_cpu(finder, pmu, cpu, events);
	}
	return rc;
}

static bool lacks_pmu(const struct wanted *wanted, const char *pmu)
{
	return wanted->is_wanted && wanted->found == 0 && strcmp(wanted->event->pmu, pmu) == 0;
}

/* One sentence for all events that lack the same PMU, with the names of the first few. */
static int tell_missing(struct finder *finder, size_t first, struct np_error *err)
{
	const char *pmu = finder->wanted[first].event->pmu;
	char names[256] = "";
	size_t count = 0;

	for (size_t i = 0; i < finder->family->event_count; i++) {
		size_t used = strlen(names);

		if (!lacks_pmu(&finder->wanted[i], pmu))
			continue;
		if (i < first)
			return 0; /* told then */
		if (count++ < NAMED_MAX)
			snprintf(names + used, sizeof(names) - used, "%s%.60s", used ? ", " : "",
			         finder->wanted[i].event->name);
	}
	if (count > NAMED_MAX)
		return nc_notes_add(&finder->problems, err,
		                    "no PMU '%s' here: not counted: %s and %zu more", pmu, names,
		                    count - NAMED_MAX);
	return nc_notes_add(&finder->problems, err, "no PMU '%s' here: not counted: %s", pmu,
	                    names);
}

static int tell_problems(struct finder *finder, struct np_error *err)
{
	int rc = 0;

	for (size_t i = 0; i < finder->family->event_count && rc == 0; i++) {
		const struct wanted *wanted = &finder->wanted[i];

		if (!wanted->is_wanted)
			continue;
		if (wanted->found == 0)
			rc = tell_missing(finder, i, err);
		else if (wanted->failed > 1)
			rc = nc_notes_add(&finder->problems, err, "%s: %s (and %zu more such PMUs)",
			                  wanted->event->name, wanted->why, wanted->failed - 1);
		else if (wanted->failed > 0 || wanted->differs)
			rc = nc_notes_add(&finder->problems, err, "%s: %s", wanted->event->name,
			                  wanted->why);
	}
	return rc;
}

static int find(struct finder *finder, nc_classes what, struct np_error *err)
{
	const struct nc_host *host = finder->host;
	char text[256];
	int rc;

	if (!finder->family)
		return nc_notes_add(&finder->problems, err,
		                    "no table knows this processor, %s: name a family that is like "
		                    "it (--family), or events of your own (--events)",
		                    nc_cpu_text(&host->cpu, text, sizeof(text)));
	if (finder->family->event_count == 0)
		return nc_notes_add(&finder->problems, err,
		                    "family %s: no PMU of these processors is known to count "
		                    "memory or links",
		                    finder->family->name);
	rc = choose_wanted(finder, what, err);
	for (size_t i = 0; i < host->pmu_count && rc == 0; i++) {
		rc = add_pmu(finder, &host->pmus[i], code_events(finder, &host->pmus[i]));
		if (rc == -E2BIG)
			np_error_set(err, E2BIG, "this host has more than %d counters",
			             COUNTERS_MAX);
		else if (rc < 0)
			np_error_sys(err, -rc, "counters");
	}
	nc_links_number(&host->places, finder->items, finder->count);
	return rc < 0 ? rc : tell_problems(finder, err);
}

int nc_counters_find(const struct nc_host *host, nc_classes what, struct nc_counters *ret,
                     struct np_error *err)
{
	struct finder finder = { .host = host, .family = host->family };
	int rc = find(&finder, what, err);
	struct nc_counters found = {
		.items = finder.items,
		.count = finder.count,
		.problems = finder.problems.items,
		.problem_count = finder.problems.count,
	};

	free(finder.wanted);
	free(finder.coded);
	if (rc < 0)
		nc_counters_release(&found);
	else
		*ret = found;
	return rc;
}

void nc_counters_release(struct nc_counters *counters)
{
	struct nc_notes problems = { counters->problems, counters->problem_count };

	nc_notes_release(&problems);
	free(counters->items);
	*counters = (struct nc_counters){ 0 };
}
