#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# numacount serve under a real Prometheus for a minute: what Prometheus has stored then is what
# `numacount record` wrote in the same minute, within 0.5 %. What is counted is the kernel's cpu-clock,
# 10^9 for each CPU and second, which every host has.
#
# usage: prometheus.sh        (NUMACOUNT names the program)

set -euo pipefail

: "${NUMACOUNT:?names the program}"
export LC_ALL=C
python=/usr/bin/python3
[[ -x $python ]] || python=python3

skip() {
	echo "skipped: $*"
	exit 77
}

for tool in prometheus promtool "$python"; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done

dir=$(mktemp -d)
pids=()

clean_up() {
	local pid

	for pid in "${pids[@]}"; do
		kill -TERM "$pid" 2>/dev/null || true
	done
	wait
	rm -rf "$dir"
}
trap clean_up EXIT

fail() {
	local log

	printf 'failed: %s\n' "$*" >&2
	for log in "$dir"/*.log; do
		printf -- '--- %s\n' "${log##*/}"
		tail -n 20 "$log"
	done >&2
	exit 1
}

# eventually COMMAND...: it succeeds, within twenty seconds.
eventually() {
	local end=$((SECONDS + 20))

	while [[ $SECONDS -le $end ]]; do
		! "$@" 2>/dev/null || return 0
		sleep 0.05
	done
	fail "never came true: $*"
}

# fetch URL [ACCEPT]: the answer's text.
fetch() {
	"$python" - "$@" <<-'EOT'
		import sys, urllib.request
		headers = {"Accept": sys.argv[2]} if len(sys.argv) > 2 else {}
		request = urllib.request.Request(sys.argv[1], headers=headers)
		sys.stdout.write(urllib.request.urlopen(request, timeout=5).read().decode())
	EOT
}

cat >"$dir/software.ini" <<'EOT'
[family software]
title = The kernel's software events
cpu = GenuineIntel 6/0

[event cpu_clock]
class = other
pmu = software
terms = config=0x0
EOT
counts=(--events "$dir/software.ini" --family software)

# ---- serve ----

"$NUMACOUNT" serve "${counts[@]}" --listen 127.0.0.1:0 2>"$dir/serve.log" &
serve=$!
pids+=("$serve")

is_ready_or_gone() {
	grep -q '^numacount: serving on ' "$dir/serve.log" || ! kill -0 "$serve"
}
eventually is_ready_or_gone
! grep -qE 'perf_event_paranoid|CAP_PERFMON' "$dir/serve.log" || skip "$(cat "$dir/serve.log")"
url=$(sed -n 's|^numacount: serving on \(http://[^,]*\), .*|\1|p' "$dir/serve.log")
[[ -n $url ]] || fail "serve is not ready"

# ---- the page itself, in both formats ----

fetch "$url" >"$dir/classic"
promtool check metrics <"$dir/classic" >"$dir/promtool.log" 2>&1 || fail "promtool check metrics"
[[ ! -s $dir/promtool.log ]] || fail "promtool check metrics has something to say"
grep -q '^numacount_events_total{event="cpu_clock",' "$dir/classic" || fail "nothing is counted"

# promtool reads the classic format alone, so the other one goes to the parser of Prometheus' own
# Python client, where that is installed; Prometheus itself reads it below in any case.
fetch "$url" 'application/openmetrics-text; version=1.0.0' >"$dir/openmetrics"
[[ $(tail -n 1 "$dir/openmetrics") == '# EOF' ]] || fail "OpenMetrics does not end in # EOF"
if "$python" -c 'import prometheus_client.openmetrics.parser' 2>/dev/null; then
	"$python" -c 'import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
list(parse(sys.stdin.read()))' <"$dir/openmetrics" 2>"$dir/parser.log" ||
		fail "the OpenMetrics page is none"
else
	echo "note: no python3-prometheus-client, the OpenMetrics page was not checked by it"
fi

# ---- Prometheus and record, for a minute ----

cat >"$dir/prometheus.yml" <<EOT
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: numacount
    static_configs: [{targets: ["${url#http://}"]}]
EOT
sed -i 's|/metrics"|"|' "$dir/prometheus.yml"

port=$("$python" -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" \
	--web.listen-address="127.0.0.1:$port" --log.level=warn >"$dir/prometheus.log" 2>&1 &
prometheus=$!
pids+=("$prometheus")

"$NUMACOUNT" record "${counts[@]}" -I 1000 --duration 75 -o "$dir/rows.csv" 2>"$dir/record.log" &
record=$!
pids+=("$record")

# More samples than a minute has seconds, as a scrape can be late.
has_scraped() {
	fetch "http://127.0.0.1:$port/api/v1/query?query=count_over_time(up%5B90s%5D)" |
		grep -qE '"6[2-9]"|"7[0-9]"'
}
end=$((SECONDS + 100))
until has_scraped 2>/dev/null; do
	[[ $SECONDS -lt $end ]] || fail "Prometheus has not scraped for a minute"
	kill -0 "$prometheus" || fail "Prometheus ended"
	kill -0 "$serve" || fail "serve ended"
	sleep 0.5
done

"$python" - "http://127.0.0.1:$port" "$dir/samples.json" <<'EOT' || fail "no answer"
import json, sys, urllib.parse, urllib.request

def query(text):
    url = sys.argv[1] + "/api/v1/query?" + urllib.parse.urlencode({"query": text})
    answer = json.load(urllib.request.urlopen(url, timeout=10))
    assert answer["status"] == "success", answer
    return answer["data"]["result"]

queries = ("numacount_events_total[60s]", "rate(numacount_events_total[30s])",
           "min_over_time(up[60s])", "numacount_events_created",
           "rate(numacount_counted_seconds_total[30s])", "numacount_unknown")
json.dump({text: query(text) for text in queries}, open(sys.argv[2], "w"))
EOT

kill -TERM "$record"
wait "$record" || fail "record ended with status $?"

# ---- are they the same? ----

"$python" - "$dir/samples.json" "$dir/rows.csv" <<'EOT' || fail "Prometheus and record differ"
import csv, json, sys

LIMIT = 0.005
answers = json.load(open(sys.argv[1]))
rows = {}
for row in csv.DictReader(open(sys.argv[2])):
    rows.setdefault((row["socket"], row["name"]), []).append((int(row["time_ns"]) / 1e9, int(row["total"])))

def total_at(series, t):
    """The total at a time between two rows."""
    for (t0, v0), (t1, v1) in zip(series, series[1:]):
        if t0 <= t <= t1:
            return v0 + (v1 - v0) * (t - t0) / (t1 - t0)
    sys.exit(f"record has no rows around {t}")

def same(what, found, wanted):
    difference = found / wanted - 1
    print(f"{what}: {found:.6g}, wanted {wanted:.6g}, difference {difference:+.4%}")
    return abs(difference) <= LIMIT

ok = True
series = answers["numacount_events_total[60s]"]
assert series, "Prometheus has no samples"
for entry in series:
    labels, values = entry["metric"], entry["values"]
    mine = rows[labels["socket"], labels["event"]]
    # Prometheus' samples that lie within record's time.
    inside = [(t, float(v)) for t, v in values if mine[0][0] <= t <= mine[-1][0]]
    (t0, v0), (t1, v1) = inside[0], inside[-1]
    assert t1 - t0 > 50, f"only {t1 - t0} s in common"
    what = f"socket {labels['socket']}, {labels['event']}, increase over {t1 - t0:.1f} s"
    ok &= same(what, v1 - v0, total_at(mine, t1) - total_at(mine, t0))
    assert all(float(a) <= float(b) for (_, a), (_, b) in zip(values, values[1:])), "a total fell"

# By the clock: 10^9 for each CPU and second, whatever record says.
cpus = sum(1 for line in open("/proc/cpuinfo") if line.startswith("processor"))
rates = answers["rate(numacount_events_total[30s])"]
ok &= same("rate over all sockets", sum(float(r["value"][1]) for r in rates), cpus * 1e9)

for entry in answers["rate(numacount_counted_seconds_total[30s])"]:
    ok &= same("coverage", float(entry["value"][1]), 1.0)
up = answers["min_over_time(up[60s])"]
assert len(up) == 1 and up[0]["value"][1] == "1", f"a scrape failed: {up}"
# Only OpenMetrics has these, so that is what Prometheus took.
assert answers["numacount_events_created"], "Prometheus did not read OpenMetrics"
assert not answers["numacount_unknown"], answers["numacount_unknown"]
sys.exit(0 if ok else 1)
EOT

# ---- and it ends as it should ----

kill -TERM "$serve"
wait "$serve" || fail "serve ended with status $?"
[[ $(wc -l <"$dir/serve.log") -eq 1 ]] || fail "serve said more than that it is ready"
