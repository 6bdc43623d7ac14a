#!/usr/bin/env python3
"""What counting costs: CPU time of numacount record against perf stat, and memory over a long run.

  tests/bench/counters.py [--numacount FILE] [--loop FILE] [--seconds S] [--runs N] [--counters N]
                          [--intervals N] [--idle]

Software events of the kernel, which any machine has, each on every CPU, 42 counters in all (the
kernel has a dozen: they are taken again and again), read ten times a second:

  numacount record -I 100 -o FILE.csv --events TABLE --duration S
  perf stat -a -I 100 -x, -o FILE -e EVENTS -- sleep S       sums over CPUs, as numacount's
  perf stat -a -A ...                                        a line for each CPU

interleaved, in a new order each round; user and system time of the process and its children, with
all that it does at start and end. Target: at most 0.5 of perf's.

The CPUs are kept busy meanwhile, by programs of the lowest priority, as those are of which one counts
something: an idle CPU of a virtual machine may take milliseconds to answer whoever reads its counters,
which is then most of what either of the two costs. --idle leaves the CPUs alone.

Then session_loop (cmake --build --preset dev --target session_loop) reads as many intervals as fast as
it can and makes their rows, to look at its memory: target flat over 10^6.

Needs perf, and the right to count CPU-wide. The exit status is 0 however it comes out: these are
measurements, no tests.
"""
import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# PERF_COUNT_SW_* of include/uapi/linux/perf_event.h, by perf's names.
EVENTS = {"cpu-clock": 0, "task-clock": 1, "page-faults": 2, "context-switches": 3, "cpu-migrations": 4,
          "minor-faults": 5, "major-faults": 6, "alignment-faults": 7, "emulation-faults": 8, "dummy": 9}


def find(name):
    for preset in ("release", "dev"):
        path = os.path.join(ROOT, "build", preset, name)
        if os.access(path, os.X_OK):
            return path
    return None


def choose_events(counters):
    """As many events as make that many counters on the CPUs that are online."""
    names = list(EVENTS)
    count = max(1, counters // os.sysconf("SC_NPROCESSORS_ONLN"))
    return [names[i % len(names)] for i in range(count)]


def write_table(path, events):
    source = "include/uapi/linux/perf_event.h"
    with open(path, "w", encoding="ascii") as table:
        # A processor that there is not: the family is asked for by name.
        print("[family software]", "title = software events", "cpu = GenuineIntel 255/255",
              "counters = 64", f"source = {source}", sep="\n", file=table)
        for i, name in enumerate(events):
            print("", f"[event {name}-{i}]", "class = other", "pmu = software",
                  f"terms = config={EVENTS[name]:#x}", "units = 1/1", f"source = {source}",
                  sep="\n", file=table)


def cpu_seconds(command):
    """user + system of the command and the children that it waited for."""
    quiet = os.open(os.devnull, os.O_RDWR)
    pid = os.posix_spawnp(command[0], command, os.environ,
                          file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 0), (os.POSIX_SPAWN_DUP2, quiet, 1)])
    os.close(quiet)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        sys.exit(f"counters.py: {' '.join(command)}: exit status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def keep_busy(cpu):
    def become():
        os.sched_setaffinity(0, {cpu})
        os.nice(19)

    return subprocess.Popen([sys.executable, "-c", "while True: pass"], preexec_fn=become)


def compare(args, folder, table, events):
    seconds = str(args.seconds)
    perf = ["perf", "stat", "-a", "-I", "100", "-x,", "-o", f"{folder}/perf.csv", "-e", ",".join(events)]
    commands = {
        "numacount record": [args.numacount, "record", "-I", "100", "-o", f"{folder}/record.csv", "--events",
                             table, "--family", "software", "--duration", seconds],
        "perf stat": perf + ["--", "sleep", seconds],
        "perf stat -A": perf + ["-A", "--", "sleep", seconds],
    }
    times = {name: [] for name in commands}
    order = random.Random(1)
    busy = [] if args.idle else [keep_busy(cpu) for cpu in os.sched_getaffinity(0)]
    try:
        for _ in range(args.runs):
            for name in order.sample(list(commands), len(commands)):
                times[name].append(cpu_seconds(commands[name]))
    finally:
        for spinner in busy:
            spinner.kill()
            spinner.wait()
    state = "idle" if args.idle else "busy"
    print(f"CPU time of {args.seconds} s, {len(events)} events, 10 Hz, {state} CPUs, {args.runs} interleaved runs: "
          f"median [least, greatest]")
    for name, series in times.items():
        print(f"{1e3 * statistics.median(series):9.1f} ms [{1e3 * min(series):.1f} {1e3 * max(series):.1f}]"
              f"  {name}")
    ours = statistics.median(times["numacount record"])
    for name in ("perf stat", "perf stat -A"):
        print(f"numacount / {name}: {ours / statistics.median(times[name]):.2f}  (target <= 0.50)")


def watch_memory(args, folder, table):
    rows = os.path.join(folder, "loop.csv")
    os.symlink(os.devnull, rows)  # 10^6 intervals would be gigabytes
    run = subprocess.run([args.loop, str(args.intervals), table, "software", rows],
                         stdout=subprocess.PIPE, text=True, check=True)
    points = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    at = {place: points[index] for place, index in (("start", 0), ("1 %", 1), ("middle", len(points) // 2),
                                                    ("end", -1))}
    print(f"resident memory over {points[-1][0]} intervals: "
          + ", ".join(f"{place} {kib} KiB" for place, (_, kib) in at.items()))
    print(f"growth from 1 % on: {at['end'][1] - at['1 %'][1]} KiB  (target 0)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numacount", default=find("counters/numacount"))
    parser.add_argument("--loop", default=find("tests/session_loop"))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--counters", type=int, default=42)
    parser.add_argument("--intervals", type=int, default=10**6)
    parser.add_argument("--idle", action="store_true")
    args = parser.parse_args()
    if not args.numacount or not shutil.which("perf"):
        sys.exit(f"counters.py: cannot run here: numacount {args.numacount}, perf {shutil.which('perf')}")
    events = choose_events(args.counters)
    with tempfile.TemporaryDirectory() as folder:
        table = os.path.join(folder, "software.ini")
        write_table(table, events)
        print(f"Linux {os.uname().release}, {os.sysconf('SC_NPROCESSORS_ONLN')} CPUs, "
              f"{len(events) * os.sysconf('SC_NPROCESSORS_ONLN')} counters")
        if args.runs > 0:
            compare(args, folder, table, events)
        if args.loop and args.intervals > 0:
            watch_memory(args, folder, table)
        else:
            print("memory: not looked at: session_loop is not built")


if __name__ == "__main__":
    main()
