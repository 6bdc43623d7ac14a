#!/usr/bin/env python3
"""How fast numalat analyze is, and how much memory it takes, beside numpy and scipy on the same data.

  tests/bench/analysis.py [--numalat FILE] [--make FILE] [--rows N] [--metrics N] [--runs N] [--folder DIR]

make_traces (cmake --build --preset dev --target make_traces) writes a run directory of 4 traces of
17 166 137 requests each, 3 metrics. Then, on one and the same CPU, and in turns:

  numalat analyze RUN_DIR    all of it: 4 traces are checked row by row and their keys hashed, 3 metrics
                             of 2 pairs are compared
  numpy and scipy            a metric of a pair, from arrays of 64-bit integers that need no parsing:
                             5 percentiles of each side by numpy.partition; A by
                             scipy.stats.mannwhitneyu; A of 96 blocks by numpy.searchsorted; pairs;
                             20 000 bootstrap means of both, by numpy

scipy takes about a minute a metric, so that --metrics (2) of the 6 are measured; what all 6 would take is
told as what it is, scaled. Nothing is in it of the checks, the shift, the permutation tests or the
drift, which numalat has besides. The figures that both have are compared: they must be the same.

Where others use the machine too, CPU time says more than wall time.

Targets: numalat at most 10 s and 1 GiB, and 10 times as fast. Takes 3 GB of disk in DIR (a
temporary folder in /var/tmp). The exit status is 1 when figures differ, else
0 however it comes out: these are measurements, no tests.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ROWS = 17_166_137
BYTES_PER_ROW = 4 * (3 * 8 + 20)
PAIRS = {"memcache": ("01-normal-memcache", "03-perverse-memcache"),
         "http": ("02-normal-http", "04-perverse-http")}
METRICS = ("response_ttfb", "payload_ttfb", "complete")
PERCENTILES = {"p50": (1, 2), "p90": (9, 10), "p99": (99, 100), "p99.9": (999, 1000), "p99.99": (9999, 10000)}
BLOCKS, REPETITIONS = 96, 20_000


def find(name):
    for preset in ("release", "dev"):
        path = os.path.join(ROOT, "build", preset, name)
        if os.access(path, os.X_OK):
            return path
    return None


def measure(command, cpu):
    """Wall and CPU seconds and the greatest resident set, in bytes, of a command on that CPU alone."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, {cpu}))
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    if child.returncode != 0:
        sys.exit(f"analysis.py: {' '.join(command)}: status {child.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, output


# ---- the other route ----

def block_values(numpy, local, remote):
    edges = numpy.linspace(0, len(local), BLOCKS + 1).astype(numpy.int64)
    superiority, paired = [], []
    for first, end in zip(edges[:-1], edges[1:]):
        a, b = local[first:end], remote[first:end]
        ordered = numpy.sort(b)
        left = numpy.searchsorted(ordered, a, side="left")
        right = numpy.searchsorted(ordered, a, side="right")
        wins = 2 * (len(b) - right).sum() + (right - left).sum()
        superiority.append(wins / (2 * len(a) * len(b)))
        paired.append(((a < b).sum() + 0.5 * (a == b).sum()) / len(a))
    return numpy.array(superiority), numpy.array(paired)


def bootstrap(numpy, rng, values):
    means = [values[rng.integers(0, len(values), (min(512, REPETITIONS - i), len(values)))].mean(axis=1)
             for i in range(0, REPETITIONS, 512)]
    return numpy.percentile(numpy.concatenate(means), [2.5, 97.5]).tolist()


def other_route(folder, protocol, metric):
    import numpy
    from scipy.stats import mannwhitneyu

    start = time.monotonic()
    sides = [numpy.fromfile(f"{folder}/{case}/{metric}.i64", dtype=numpy.int64) for case in PAIRS[protocol]]
    ranks = {name: max(1, -(-len(sides[0]) * top // bottom)) for name, (top, bottom) in PERCENTILES.items()}
    percentiles = []
    for side in sides:
        parted = numpy.partition(side, [rank - 1 for rank in ranks.values()])
        percentiles.append({name: int(parted[rank - 1]) for name, rank in ranks.items()})
    # U of the first is the number of pairs in which it is greater.
    result = mannwhitneyu(sides[0], sides[1], method="asymptotic")
    superiority, paired = block_values(numpy, *sides)
    rng = numpy.random.default_rng(0x9E3779B97F4A7C15)
    return {"A": 1 - float(result.statistic) / (len(sides[0]) * len(sides[1])), "percentiles": percentiles,
            "blocked": float(superiority.mean()), "interval": bootstrap(numpy, rng, superiority),
            "paired": float(((sides[0] < sides[1]).sum() + 0.5 * (sides[0] == sides[1]).sum()) / len(sides[0])),
            "paired_interval": bootstrap(numpy, rng, paired), "seconds": time.monotonic() - start}


def run_other(folder, index, cpu):
    protocol, metric = list(PAIRS)[index // len(METRICS)], METRICS[index % len(METRICS)]
    command = [sys.executable, os.path.abspath(__file__), "--other", folder, protocol, metric]
    seconds, used, memory, output = measure(command, cpu)
    return protocol, metric, (seconds, used), memory, json.loads(output)


# ---- both ----

def compare_figures(ours, theirs, protocol, metric):
    """The differences between the two routes' figures, as lines."""
    figures = ours["protocols"][protocol]["metrics"][metric]
    pairs = [(name, figures["percentiles"][name][key], side[name]) for name in PERCENTILES
             for key, side in zip(("local_ns", "remote_ns"), theirs["percentiles"])]
    pairs += [("A", figures["A_local_faster"], theirs["A"]),
              ("mean of the blocks' A", figures["blocked_A_mean"], theirs["blocked"]),
              ("paired", figures["paired_local_faster_probability"], theirs["paired"])]
    return [f"{protocol} {metric}: {name} is {mine}, by numpy and scipy {other}" for name, mine, other in pairs
            if abs(mine - other) > 1e-9]


def bench(args, folder, cpu):
    make = subprocess.run([args.make, folder, str(args.rows), "1"], check=False)
    if make.returncode != 0:
        sys.exit(f"analysis.py: make_traces: status {make.returncode}")
    command = [args.numalat, "analyze", folder, "--json", "--output-dir", os.path.join(folder, "analysis")]
    ours, memories, others, lines = [], [], [], []
    for turn in range(max(args.runs, args.metrics)):
        if turn < args.runs:
            wall, used, memory, output = measure(command, cpu)
            ours.append((wall, used))
            memories.append(memory)
            print(f"numalat analyze, all 6 metrics: {wall:.2f} s ({used:.2f} s of CPU), {memory / 2**20:.0f} MiB",
                  flush=True)
        if turn < args.metrics:
            protocol, metric, times, memory, theirs = run_other(folder, turn, cpu)
            others.append(times)
            lines += compare_figures(json.loads(output), theirs, protocol, metric)
            print(f"numpy and scipy, {protocol} {metric}: {times[0]:.2f} s ({times[1]:.2f} s of CPU), {memory / 2**20:.0f} MiB", flush=True)
    print(f"numalat: greatest memory {max(memories) / 2**20:.0f} MiB (target <= 1024)")
    for place, what in enumerate(("wall time", "CPU time")):
        mine = statistics.median(times[place] for times in ours)
        line = f"{what}: numalat {mine:.2f} s, median of {len(ours)} (target <= 10)"
        if others:
            theirs = sum(times[place] for times in others)
            how = "measured" if len(others) == 6 else f"scaled from the {len(others)} measured, x 6/{len(others)}"
            line += (f"; numpy and scipy {theirs * 6 / len(others):.1f} s for all 6 metrics, {how}: ratio "
                     f"{theirs * 6 / len(others) / mine:.1f} (target >= 10); the {len(others)} measured alone "
                     f"against numalat's all: ratio {theirs / mine:.1f}")
        print(line)
    print("\n".join(lines) if lines else "percentiles, A, the blocks' A and pairs: the same by both")
    return 1 if lines else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numalat", default=find("server/client/numalat"))
    parser.add_argument("--make", default=find("tests/make_traces"))
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--metrics", type=int, default=2, choices=range(7))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", default="/var/tmp")
    parser.add_argument("--other", nargs=3, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.other:
        print(json.dumps(other_route(*args.other)))
        return 0
    if not args.numalat or not args.make:
        sys.exit(f"analysis.py: cannot run here: numalat {args.numalat}, make_traces {args.make}")
    need, free = args.rows * BYTES_PER_ROW, shutil.disk_usage(args.folder).free
    if free < 1.2 * need:
        sys.exit(f"analysis.py: {args.folder} has {free / 1e9:.1f} GB free: {1.2 * need / 1e9:.1f} GB are needed")
    cpu = max(os.sched_getaffinity(0))
    print(f"Linux {os.uname().release}, 4 traces of {args.rows} requests, all on CPU {cpu}")
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        return bench(args, folder, cpu)


if __name__ == "__main__":
    sys.exit(main())
