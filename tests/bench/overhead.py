#!/usr/bin/env python3
"""What numalat adds to the latency that it measures: the medians of numalat run and of a bare program.

  tests/bench/overhead.py [--numalat FILE] [--pingpong FILE] [--rounds N] [--requests N] [--sizes A,B]
                          [--server-cpu N] [--client-cpu N]

A memcached with one thread on one CPU, objects of 1 KiB and 256 KiB, one connection, one request after
the other, on another CPU:

  numalat run --cpu N -o FILE.nlt --noise 0      every request timed, verified, kept
  pingpong (tests/bench/pingpong.c)              send, receive until all bytes are there

interleaved, in a new order each round. Both take the median over the requests of a round; printed are
the medians over the rounds, their range, and the ratio: of the medians, and the median of each round's
own. Target at 1 KiB: at most 1.03. From a segment of Ethernet on (1448 bytes) numalat receives the head of a reply
by itself, a system call more: at 256 KiB the ratio is told without a target.

"second" is the same bare program once more: how much of the ratio is chance.

Needs memcached, two CPUs, and: cmake --build --preset dev --target pingpong numalat_program. The exit
status is 0 however it comes out: these are measurements, no tests.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile

import peers

PREFIX = "numalat-"


def keys_of(size):
    """Objects of 16 MiB in all, so that both sizes are in the same caches; 64 at least."""
    return max(64, (16 << 20) // size)


def output(command, cpu=None):
    pin = (lambda: os.sched_setaffinity(0, {cpu})) if cpu is not None else None
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=pin,
                         check=False)
    if run.returncode != 0:
        sys.exit(f"overhead.py: {' '.join(command)}: {run.stderr.strip()}")
    return run.stdout


def nearest_rank(values, share):
    return sorted(values)[max(1, -(-len(values) * share // 100)) - 1]


def median_of_trace(numalat, trace, csv):
    """The exact median total time of a trace: out of its rows, as pingpong takes it out of its own."""
    output([numalat, "convert", "--force", trace, csv])
    with open(csv, encoding="ascii") as rows:
        column = next(rows).strip().split(",").index("complete_ns")
        return nearest_rank([int(row.split(",")[column]) for row in rows], 50)


def commands_of(args, port, size, folder):
    keys = keys_of(size)
    bare = [args.pingpong, "get", str(port), PREFIX, str(keys), str(size), str(args.requests)]
    trace = os.path.join(folder, "run.nlt")
    timed = [args.numalat, "run", "-s", f"127.0.0.1:{port}", "-k", str(keys), "--size", str(size), "-n",
             str(args.requests), "--cpu", str(args.client_cpu), "--noise", "0", "--force", "--json", "-o", trace]

    def run_numalat():
        if not json.loads(output(timed))["complete"]:
            sys.exit("overhead.py: the run was cut short")
        return median_of_trace(args.numalat, trace, os.path.join(folder, "run.csv"))

    def run_bare():
        return int(output(bare, args.client_cpu).split()[0])

    return {"pingpong": run_bare, "numalat run": run_numalat, "second": run_bare}


def compare(args, port, size, folder):
    commands = commands_of(args, port, size, folder)
    output([args.numalat, "populate", "-s", f"127.0.0.1:{port}", "-k", str(keys_of(size)), "--size", str(size)])
    p50 = {name: [] for name in commands}
    order = random.Random(1)
    for _ in range(args.rounds):
        for name in order.sample(list(commands), len(commands)):
            p50[name].append(commands[name]())
    print(f"{size} bytes, {keys_of(size)} objects, {args.requests} requests, {args.rounds} interleaved rounds: "
          f"p50 of the total, median [least, greatest]")
    for name, series in p50.items():
        print(f"{statistics.median(series) / 1e3:10.3f} us [{min(series) / 1e3:.3f} {max(series) / 1e3:.3f}]  {name}")
    base = statistics.median(p50["pingpong"])
    for name in ("numalat run", "second"):
        ratios = [a / b for a, b in zip(p50[name], p50["pingpong"])]
        target = "  (target <= 1.03)" if name == "numalat run" and size <= 1024 else ""
        print(f"{name} / pingpong: {statistics.median(p50[name]) / base:.4f}, of each round "
              f"{statistics.median(ratios):.4f} [{min(ratios):.4f} {max(ratios):.4f}]{target}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numalat", default=peers.find("server/client/numalat"))
    parser.add_argument("--pingpong", default=peers.find("tests/pingpong"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=50000)
    parser.add_argument("--sizes", default="1024,262144")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--client-cpu", type=int, default=1)
    args = parser.parse_args()
    if not args.numalat or not args.pingpong or not shutil.which("memcached"):
        sys.exit(f"overhead.py: cannot run here: numalat {args.numalat}, pingpong {args.pingpong}, memcached "
                 f"{shutil.which('memcached')}")
    print(f"Linux {os.uname().release}, server on CPU {args.server_cpu}, client on CPU {args.client_cpu}")
    port, server = peers.start_memcached(args.server_cpu)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for size in map(int, args.sizes.split(",")):
                compare(args, port, size, folder)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
