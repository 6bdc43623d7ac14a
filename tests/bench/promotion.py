#!/usr/bin/env python3
"""What a GET waits longer for while heads move: latency with and without promotion, at full rate.

  tests/bench/promotion.py [--numalat FILE] [--server FILE] [--rounds N] [--reads N] [--head KIB]
                           [--hot MIB] [--connections N]

tests/bench/promotion_server.c has two arenas on one node, so this runs on any host: it is about what
moving costs, not about what it gains. The first arena is filled with objects that nobody reads, the second has the
hot ones; numalat load reads these at random, in a closed loop, and looks at their stamps. Each hot head
changes places with a cold one: two copies. Server, worker and promotion together are on one CPU, which is the worst
that can be, numalat is on another. Arms, interleaved, in a new order each round, with a new server for each:

  off        --no-numa-promotion
  default    --promotion-rate 256M
  unlimited  --promotion-rate 0

Printed are p50, p99 and p99.9, medians over the rounds, their ratios to "off" as medians of each round's own, and how
much was moved meanwhile. "off" is there twice: how much of a ratio is chance. Target: p99 of "default" at
most 1.5 of "off".

At last all objects of a server that has moved heads are read back and compared, byte by byte.

Needs two CPUs, and: cmake --build --preset dev --target promotion_server numalat_program. The exit
status is 0 however the latencies come out: these are measurements, no tests. It is 1 if a byte was wrong.
"""
import argparse
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ARMS = {"off": -1, "off again": -1, "default": 256, "unlimited": 0}
PERCENTILES = (("p50", "p50_ns"), ("p99", "p99_ns"), ("p99.9", "p99_9_ns"))


def find(name):
    for preset in ("release", "dev"):
        path = os.path.join(ROOT, "build", preset, name)
        if os.access(path, os.X_OK):
            return path
    return None


def stats(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"stats\r\nquit\r\n")
        return {name: value for _, name, value in
                (line.split() for line in connection.makefile() if line.startswith("STAT "))}


class Bench:
    def __init__(self, args, cpus):
        self.args = args
        self.server_cpu, self.client_cpu = cpus[:2]
        self.keys = (args.hot << 10) // args.head
        # A sixteenth is free in the second arena, where those that make room go first.
        self.arena_mib = args.hot + max(args.hot // 16, 4)

    def numalat(self, port, *options):
        command = [self.args.numalat, *options, "-s", f"127.0.0.1:{port}", "--json"]
        done = subprocess.run(command, preexec_fn=lambda: os.sched_setaffinity(0, {self.client_cpu}),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"promotion.py: {' '.join(command)}: exit status {done.returncode}: {done.stdout}")
        return json.loads(done.stdout)

    @contextlib.contextmanager
    def server(self, rate_mib):
        args = self.args
        command = [args.server, str(self.server_cpu), str(self.arena_mib), str(args.head), str(rate_mib)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            port = int(process.stdout.readline())
            self.fill(port, "cold-", (self.arena_mib << 10) // args.head)
            self.fill(port, "hot-", self.keys)
            yield port
            process.stdin.close()

    def fill(self, port, prefix, keys):
        self.numalat(port, "populate", "-k", str(keys), "--prefix", prefix, "--size", f"{self.args.head}K")

    def load(self, port):
        args = self.args
        return self.numalat(port, "load", "-k", str(self.keys), "--prefix", "hot-", "--size", f"{args.head}K",
                            "-c", str(args.connections), "--requests", str(args.reads * self.keys), "--warmup", "0",
                            "--verify", "stamp")

    def run(self, rate_mib):
        with self.server(rate_mib) as port:
            load = self.load(port)
            after = stats(port)
        latency = load["verbs"][0]["latency"]
        if after["get_misses"] != "0" or after["evictions"] != "0":
            sys.exit(f"promotion.py: {after['get_misses']} misses, {after['evictions']} evictions")
        return {
            **{name: latency[key] for name, key in PERCENTILES},
            "rate": load["rate_achieved_per_s"],
            "seconds": load["requests"] / load["rate_achieved_per_s"],
            "copied": int(after["promoted_bytes"]) + int(after["demoted_bytes"]),
            "copying": int(after["promotion_ns"]),
            "blocks": int(after["promotion_blocks"]),
            "heads": int(after["promotions"]),
            "longest": int(after["promotion_max_ns"]),
        }

    def check_bytes(self):
        """Heads move while they are read; then stored and read back while they move on."""
        with self.server(0) as port:
            self.load(port)
            moved = int(stats(port)["promotions"])
            self.numalat(port, "populate", "-k", str(self.keys), "--prefix", "hot-",
                         "--size", f"{self.args.head}K", "--check")
        print(f"{moved} heads moved, {self.keys} objects compared: every byte is right")


def show(args, results):
    print(f"GET of {args.head} KiB, {args.connections} connections, {args.rounds} rounds, {args.reads} reads of each of "
          f"{(args.hot << 10) // args.head} objects: medians, ratios to off")
    for name, rounds in results.items():
        cells = []
        for label, _ in PERCENTILES:
            ratio = statistics.median(run[label] / off[label] for run, off in zip(rounds, results["off"]))
            cells.append(f"{label} {statistics.median(run[label] for run in rounds) / 1000:8.1f} us ({ratio:.2f})")
        middle = {key: statistics.median(run[key] for run in rounds)
                  for key in ("seconds", "copied", "copying", "heads", "blocks", "longest")}
        print(f"{name:9s} {'  '.join(cells)}")
        if middle["heads"] > 0:
            print(f"          in {middle['seconds']:.2f} s {middle['heads']:.0f} heads moved, {middle['copied'] / (1 << 20):.0f} "
                  f"MiB copied in {middle['copying'] / 1e9:.2f} s, {middle['blocks']:.0f} blocks as a whole, "
                  f"longest move {middle['longest'] / 1000:.0f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numalat", default=find("server/client/numalat"))
    parser.add_argument("--server", default=find("tests/promotion_server"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--reads", type=int, default=8, help="of each hot object, on average (8)")
    parser.add_argument("--head", type=int, default=64, help="KiB of an object, all of it in its head (64)")
    parser.add_argument("--hot", type=int, default=128, help="MiB of objects that are read (128)")
    parser.add_argument("--connections", type=int, default=1)
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if not args.numalat or not args.server or len(cpus) < 2:
        sys.exit(f"promotion.py: cannot run here: numalat {args.numalat}, server {args.server}, {len(cpus)} CPUs")
    bench = Bench(args, cpus)
    print(f"Linux {os.uname().release}, server on CPU {cpus[0]}, numalat on CPU {cpus[1]}")
    results = {name: [] for name in ARMS}
    order = random.Random(1)
    for _ in range(args.rounds):
        for name in order.sample(list(ARMS), len(ARMS)):
            results[name].append(bench.run(ARMS[name]))
    show(args, results)
    bench.check_bytes()


if __name__ == "__main__":
    main()
