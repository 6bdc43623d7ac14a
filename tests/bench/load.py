#!/usr/bin/env python3
"""numalat load beside public generators, and a stall that a closed loop hides.

  tests/bench/load.py [--numalat FILE] [--seconds S] [--rounds N] [--connections N]

The server is on one CPU, the generator on another; closed loop, one thread, 1 KiB values, nothing but
GETs, interleaved, in a new order each round:

  numalat load                  against memcached -t 1
  memcaslap -T 1                the same, with as many objects, which it stores first
  numalat load -P http          against nginx, one worker, one file
  wrk -t1                       the same

Requests/s of the first two are by memcached's own count of GETs, from half of the time on, when memcaslap
has stored its objects (its own rate counts those too), and all of them must be hits.

Target: requests/s of numalat at least 0.95 of the peer's. Beside it CPU time (user and system) of the
generator for each request, which other programs on the machine disturb less.

Then memcached is stopped by SIGSTOP for 100 ms while requests are made in a closed loop, and in an open
one: the stall stands in p99 of the open loop, where all requests that were due meanwhile have it, and
in the closed loop in one request of each connection.

Needs memcached, memcaslap, nginx, wrk and two CPUs; what is not there is left out. The exit status is
0 however it comes out: these are measurements, no tests.
"""
import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import peers

SIZE = 1024
WINDOW = 1024  # objects of each of memcaslap's connections, the least that it takes
STALL_S = 0.1

MEMCASLAP = f"key\n16 16 1\nvalue\n{SIZE} {SIZE} 1\ncmd\n0 0.0\n1 1.0\n"


def run(command, cpu):
    """Output, and user + system time."""
    before = os.times()
    done = subprocess.run(command, preexec_fn=peers.pin_to(cpu), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    after = os.times()
    if done.returncode != 0:
        peers.fail(f"{' '.join(command)}: exit status {done.returncode}: {done.stdout}")
    return done.stdout, (after.children_user + after.children_system
                         - before.children_user - before.children_system)


def run_watched(command, cpu, port, seconds):
    """The same, with the rate of GETs in the second half of the time between."""
    before = os.times()
    with subprocess.Popen(command, preexec_fn=peers.pin_to(cpu), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True) as process:
        begun = time.monotonic()
        looks = []
        for share in (0.5, 0.95):
            time.sleep(begun + share * seconds - time.monotonic())
            looks.append((time.monotonic(), peers.memcached_stats(port)))
        output = process.communicate()[0]
    after = os.times()
    if process.returncode != 0:
        peers.fail(f"{' '.join(command)}: exit status {process.returncode}: {output}")
    (start, first), (end, last) = looks
    gets, hits, sets = (int(last[name]) - int(first[name]) for name in ("cmd_get", "get_hits", "cmd_set"))
    if gets != hits or sets != 0:
        peers.fail(f"{command[0]}: {hits} of {gets} GETs were hits, {sets} SETs: try more --seconds")
    return output, gets / (end - start), (after.children_user + after.children_system
                                          - before.children_user - before.children_system)


def numalat_command(args, options):
    # No warm-up: the peers have none either, and CPU time is of all requests.
    return [args.numalat, "load", "--json", "--warmup", "0", "-c", str(args.connections),
            "--duration", str(args.seconds), *options]


def run_numalat_http(args, port, cpu):
    output, cpu_s = run(numalat_command(args, ["-P", "http", "-s", f"127.0.0.1:{port}", "-k", "1"]), cpu)
    load = json.loads(output)
    return load["rate_achieved_per_s"], cpu_s / load["requests"]


def run_numalat(args, port, keys, cpu):
    command = numalat_command(args, ["-s", f"127.0.0.1:{port}", "-k", str(keys)])
    output, rate, cpu_s = run_watched(command, cpu, port, args.seconds)
    return rate, cpu_s / json.loads(output)["requests"]


def run_memcaslap(args, port, config, cpu):
    command = ["memcaslap", "-s", f"127.0.0.1:{port}", "-T", "1", "-c", str(args.connections),
               "-t", f"{args.seconds}s", "-F", config, "-w", f"{WINDOW // 1024}k"]
    output, rate, cpu_s = run_watched(command, cpu, port, args.seconds)
    return rate, cpu_s / int(re.search(r"Ops: (\d+)", output).group(1))


def run_wrk(args, port, cpu):
    output, cpu_s = run(["wrk", "-t1", f"-c{args.connections}", f"-d{args.seconds}s",
                         f"http://127.0.0.1:{port}/numalat-0"], cpu)
    requests = int(re.search(r"(\d+) requests in", output).group(1))
    return float(re.search(r"Requests/sec:\s*([\d.]+)", output).group(1)), cpu_s / requests


def compare(args, title, ours, peer_name, peer):
    results = {"numalat load": [], peer_name: []}
    runs = {"numalat load": ours, peer_name: peer}
    order = random.Random(1)
    for _ in range(args.rounds):
        for name in order.sample(list(runs), len(runs)):
            results[name].append(runs[name]())
    print(f"{title}, {args.connections} connections, {args.rounds} rounds of {args.seconds} s: "
          f"median [least, greatest]")
    medians = {}
    for name, series in results.items():
        rates = [rate for rate, _ in series]
        cpu_us = statistics.median(1e6 * cpu for _, cpu in series)
        medians[name] = statistics.median(rates), cpu_us
        print(f"{medians[name][0]:9.0f} requests/s [{min(rates):.0f} {max(rates):.0f}], "
              f"{cpu_us:.2f} us of CPU each  {name}")
    pairs = statistics.median(a[0] / b[0] for a, b in zip(*results.values()))
    print(f"numalat / {peer_name}: {medians['numalat load'][0] / medians[peer_name][0]:.3f}  (target >= 0.95); "
          f"median of the rounds' ratios {pairs:.3f}; "
          f"CPU time {medians['numalat load'][1] / medians[peer_name][1]:.2f}\n")


def show_stall(args, port, keys, server, cpu):
    print(f"memcached is stopped for {1000 * STALL_S:.0f} ms within 2 s:")
    base = [args.numalat, "load", "-s", f"127.0.0.1:{port}", "-k", str(keys), "--json", "--warmup", "0",
            "-c", str(args.connections), "--duration", "2"]
    for name, options in (("closed loop", []), ("open loop, 5000 requests/s", ["--rate", "5K"])):
        with subprocess.Popen(base + options, preexec_fn=peers.pin_to(cpu), stdout=subprocess.PIPE,
                              text=True) as load:
            time.sleep(1)
            server.send_signal(signal.SIGSTOP)
            time.sleep(STALL_S)
            server.send_signal(signal.SIGCONT)
            latency = json.loads(load.communicate()[0])["verbs"][0]["latency"]
        print("  ".join(f"{label} {latency[key] / 1e6:8.3f} ms" for label, key in
                        (("p50", "p50_ns"), ("p99", "p99_ns"), ("p99.9", "p99_9_ns"), ("max", "max_ns")))
              + f"  {name}")


def bench_memcached(args, server_cpu, cpu, folder):
    keys = WINDOW * args.connections
    port, server = peers.start_memcached(server_cpu)
    try:
        peers.store(port, "numalat-", keys, SIZE)
        config = f"{folder}/memcaslap.cf"
        with open(config, "w", encoding="ascii") as file:
            file.write(MEMCASLAP)
        if shutil.which("memcaslap"):
            compare(args, "memcached, GET of 1 KiB",
                    lambda: run_numalat(args, port, keys, cpu),
                    "memcaslap", lambda: run_memcaslap(args, port, config, cpu))
        show_stall(args, port, keys, server, cpu)
    finally:
        server.send_signal(signal.SIGCONT)
        server.terminate()
        server.wait()


def bench_nginx(args, server_cpu, cpu, folder):
    port, server = peers.start_nginx(server_cpu, folder, ["numalat-0"], SIZE)
    try:
        compare(args, "nginx, GET of 1 KiB",
                lambda: run_numalat_http(args, port, cpu),
                "wrk", lambda: run_wrk(args, port, cpu))
    finally:
        server.terminate()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numalat", default=peers.find("server/client/numalat"))
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--connections", type=int, default=16)
    args = parser.parse_args()
    cpus = sorted(os.sched_getaffinity(0))
    if not args.numalat or len(cpus) < 2:
        peers.fail(f"cannot run here: numalat {args.numalat}, {len(cpus)} CPUs")
    print(f"Linux {os.uname().release}, server on CPU {cpus[0]}, generator on CPU {cpus[1]}")
    with tempfile.TemporaryDirectory() as folder:
        if shutil.which("nginx") and shutil.which("wrk"):
            bench_nginx(args, cpus[0], cpus[1], folder)
        if shutil.which("memcached"):
            bench_memcached(args, cpus[0], cpus[1], folder)


if __name__ == "__main__":
    main()
