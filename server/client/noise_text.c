/* SPDX-License-Identifier: BSD-3-Clause */
#include "noise_text.h"

#include <inttypes.h>
#include <string.h>

enum { RATE_SIZE = 40, TIME_SIZE = 24 };

const char *nl_ns_text(uint64_t ns, char *buf, size_t size)
{
	static const struct {
		uint64_t from_ns;
		const char *unit;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	snprintf(buf, size, "%" PRIu64 " ns", ns);
	for (unsigned i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = (double)ns / (double)units[i].from_ns;

		if (ns < units[i].from_ns)
			continue;
		snprintf(buf, size, "%.*f %s", value < 10 ? 2 : 1, value, units[i].unit);
		break;
	}
	return buf;
}

/* How long it spun: the greater part of the duration. */
static double spin_s(const struct nl_noise *noise)
{
	return ((double)noise->reads * (double)noise->read_ns + (double)noise->gap_ns) / 1e9;
}

static const char *rate_text(const struct nl_noise *noise, char buf[RATE_SIZE])
{
	double seconds = spin_s(noise);
	double rate = seconds > 0 ? (double)noise->gaps / seconds : 0;

	if (noise->gaps == 1)
		snprintf(buf, RATE_SIZE, "once in %.2g s", seconds);
	else
		snprintf(buf, RATE_SIZE, "%.*f times a second", rate < 10 ? 1 : 0, rate);
	return buf;
}

const char *nl_noise_brief(const struct nl_noise *noise, char *buf, size_t size)
{
	char time[TIME_SIZE];
	char rate[RATE_SIZE];
	size_t used;

	if (noise->gaps > 0)
		snprintf(buf, size, "taken away %s, for up to %s", rate_text(noise, rate),
		         nl_ns_text(noise->gap_max_ns, time, sizeof(time)));
	else
		snprintf(buf, size, "never taken away in %.2g s", spin_s(noise));
	used = strlen(buf);
	if (noise->wakeups > 0)
		snprintf(buf + used, size - used, "; wakes up to %s late",
		         nl_ns_text(noise->late_max_ns, time, sizeof(time)));
	return buf;
}

static void print_gaps(const struct nl_noise *noise, FILE *out)
{
	char times[4][TIME_SIZE];
	char rate[RATE_SIZE];

	fprintf(out, "taken away  ");
	if (noise->gaps == 0) {
		fprintf(out, "never for more than %s in %.2g s\n",
		        nl_ns_text(noise->threshold_ns, times[0], TIME_SIZE), spin_s(noise));
		return;
	}
	fprintf(out, "%s for more than %s: p50 %s, p99 %s, at most %s; %.2g %% of the time\n",
	        rate_text(noise, rate), nl_ns_text(noise->threshold_ns, times[0], TIME_SIZE),
	        nl_ns_text(noise->gap_p50_ns, times[1], TIME_SIZE),
	        nl_ns_text(noise->gap_p99_ns, times[2], TIME_SIZE),
	        nl_ns_text(noise->gap_max_ns, times[3], TIME_SIZE),
	        100 * (double)noise->gap_ns / 1e9 / spin_s(noise));
}

static void print_wakeups(const struct nl_noise *noise, FILE *out)
{
	char times[3][TIME_SIZE];

	if (noise->wakeups == 0)
		return;
	fprintf(out, "waking      late by p50 %s, p99 %s, at most %s (%" PRIu64 " times)\n",
	        nl_ns_text(noise->late_p50_ns, times[0], TIME_SIZE),
	        nl_ns_text(noise->late_p99_ns, times[1], TIME_SIZE),
	        nl_ns_text(noise->late_max_ns, times[2], TIME_SIZE), noise->wakeups);
}

static void print_causes(const struct nl_noise *noise, FILE *out)
{
	char time[TIME_SIZE];

	fprintf(out, "by others   %" PRIu64 " times for another program; by the hypervisor: ",
	        noise->switches);
	if (noise->knows_steal)
		fprintf(out, "%s\n", nl_ns_text(noise->steal_ns, time, sizeof(time)));
	else
		fprintf(out, "not known\n");
}

void nl_noise_print(const struct nl_noise *noise, FILE *out)
{
	char times[2][TIME_SIZE];
	char rate[RATE_SIZE];

	if (noise->cpu >= 0)
		fprintf(out, "CPU %d", noise->cpu);
	else
		fprintf(out, "several CPUs, as the thread was moved");
	fprintf(out, ", %s; one reading of the clock takes %s\n",
	        nl_ns_text(noise->duration_ns, times[0], TIME_SIZE),
	        nl_ns_text(noise->read_ns, times[1], TIME_SIZE));
	print_gaps(noise, out);
	print_wakeups(noise, out);
	print_causes(noise, out);
	if (noise->gaps > 0)
		fprintf(out,
		        "\nThe host takes this CPU away %s, for up to %s: differences below that "
		        "cannot be told in the tail.\n",
		        rate_text(noise, rate), nl_ns_text(noise->gap_max_ns, times[0], TIME_SIZE));
	else
		fprintf(out,
		        "\nThe host left this CPU alone: what is in the tail of latencies is not "
		        "this CPU's doing.\n");
}
