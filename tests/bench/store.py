#!/usr/bin/env python3
"""numastore beside memcached, nginx and a server that does nothing but answer.

  tests/bench/store.py [--numastore FILE] [--rounds N] [--requests N] [--seconds S] [--only CELL,...]

All servers are on one CPU with one thread, the client is on another; all of them stand through the whole
run and are asked in turns, in a new order each round. A ratio is the median of the rounds' ratios.

  get256k   serial GET of 256 KiB, by memcache and by HTTP, 1024 objects      targets: >= 1.00 x memcached,
            (serial: one connection, one request at a time, tests/bench/      >= 1.00 x nginx,
            pingpong.c)                                                       <= 1.10 x the time of the bare loop
  get1k     serial GET of 1 KiB, 100 000 objects                              >= 1.15 x memcached, <= 1.10 x bare
  set1k     serial SET of 1 KiB                                               >= 1.10 x memcached
  shared1k  serial GET of 1 KiB, the client on the server's own CPU           >= 1.00 x memcached
  http16    1 KiB by HTTP, wrk with 16 connections                            >= 1.10 x nginx
  memory    10 000 000 objects of 100 bytes: resident memory                  <= 1.10 x memcached's
            16 000 objects of 256 KiB in an arena of 4 GiB                    none is evicted

numastore is as it is started without options, and also as one that never polls (--poll-us 0), as the others.
A serial rate is by the mean of all requests. bare is tests/bench/bare_server.c: one recv(2) and one sendmsg(2)
for each request. Memory is what the kernel says is resident, of processes that hold nothing else; numastore's
includes its whole arena, which is populated when it starts and is made as large as the objects need it.

Needs memcached, nginx, wrk, two CPUs, and: cmake --build --preset dev --target pingpong bare_server
numastore_program. The exit status is 0 however it comes out: these are measurements, no tests.
"""
import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile

import peers

PREFIX = "/object-"
KIB = 1024


def start_numastore(args, cpu, memory, *options):
    port, http = peers.free_port(), peers.free_port()
    command = [args.numastore, *peers.as_root(), "-p", str(port), "--http-port", str(http), "--memory", memory,
               "--cores", "1", *options]
    return port, http, peers.start_server(command, cpu, port)


def start_bare(args, cpu, size, keys):
    server = subprocess.Popen([args.bare, str(size), str(keys)], preexec_fn=peers.pin_to(cpu), stdout=subprocess.PIPE,
                              text=True)
    return int(server.stdout.readline()), server


def serial(args, verb, port, keys, size, cpu=None):
    """Requests a second and the median in microseconds, of requests one after the other."""
    requests = max(1000, args.requests if size < 64 * KIB else args.requests // 5)
    done = subprocess.run([args.pingpong, verb, str(port), PREFIX, str(keys), str(size), str(requests)],
                          preexec_fn=peers.pin_to(args.client_cpu if cpu is None else cpu), stdout=subprocess.PIPE, text=True, check=True)
    median_ns, sum_ns = map(int, done.stdout.split())
    return 1e9 * requests / sum_ns, median_ns / 1000


def wrk(args, port):
    done = subprocess.run(["wrk", "-t1", "-c16", f"-d{args.seconds}s", f"http://127.0.0.1:{port}{PREFIX}0"],
                          preexec_fn=peers.pin_to(args.client_cpu), stdout=subprocess.PIPE, text=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        peers.fail(f"wrk: {done.stdout}")
    return float(re.search(r"Requests/sec:\s*([\d.]+)", done.stdout).group(1)), None


def interleave(args, title, runs):
    """@runs: name -> function that gives a rate and a median time; gives name -> rates of the rounds"""
    rates = {name: [] for name in runs}
    medians = {name: [] for name in runs}
    order = random.Random(1)
    for _ in range(args.rounds):
        for name in order.sample(list(runs), len(runs)):
            rate, median_us = runs[name]()
            rates[name].append(rate)
            medians[name].append(median_us)
    print(f"\n{title}, {args.rounds} rounds: median [least, greatest]")
    for name, series in rates.items():
        p50 = f", p50 {statistics.median(medians[name]):.1f} us" if medians[name][0] else ""
        print(f"  {statistics.median(series):9.0f} requests/s [{min(series):.0f} {max(series):.0f}]{p50}  {name}")
    return rates


def judge(rates, ours, peer, target, is_time=False):
    ratios = [b / a if is_time else a / b for a, b in zip(rates[ours], rates[peer])]
    ratio = statistics.median(ratios)
    met = ratio <= target if is_time else ratio >= target
    sign = "<=" if is_time else ">="
    print(f"  {ours} / {peer}: {ratio:.3f} [{min(ratios):.3f} {max(ratios):.3f}]  target {sign} {target:.2f}"
          f"{' of the time' if is_time else ''}: {'met' if met else 'MISSED'}")


def end(*servers):
    for server in servers:
        server.terminate()
    for server in servers:
        server.wait()


def bench_get256k(args, folder):
    size, keys = 256 * KIB, 1024
    cpu = args.server_cpu
    port, http, ours = start_numastore(args, cpu, "320M")
    mport, memcached = peers.start_memcached(cpu, 512)
    nport, nginx = peers.start_nginx(cpu, folder, [f"{PREFIX[1:]}{key}" for key in range(keys)], size)
    bport, bare = start_bare(args, cpu, size, keys)
    try:
        for store_port in (port, mport):
            peers.store(store_port, PREFIX, keys, size)
        rates = interleave(args, "serial GET of 256 KiB", {
            "numastore": lambda: serial(args, "get", port, keys, size),
            "memcached": lambda: serial(args, "get", mport, keys, size),
            "bare loop": lambda: serial(args, "get", bport, keys, size),
            "numastore by HTTP": lambda: serial(args, "http", http, keys, size),
            "nginx": lambda: serial(args, "http", nport, keys, size),
        })
        judge(rates, "numastore", "memcached", 1)
        judge(rates, "numastore by HTTP", "nginx", 1)
        judge(rates, "numastore", "bare loop", 1.1, is_time=True)
    finally:
        end(ours, memcached, nginx, bare)


def bench_1k(args, wanted):
    size, keys = KIB, 100000
    cpu = args.server_cpu
    port, _, server = start_numastore(args, cpu, "256M")
    sport, _, sleeper = start_numastore(args, cpu, "256M", "--poll-us", "0")
    mport, memcached = peers.start_memcached(cpu)
    bport, bare = start_bare(args, cpu, size, keys)
    try:
        for store_port in (port, sport, mport):
            peers.store(store_port, PREFIX, keys, size)
        if "get1k" in wanted:
            rates = interleave(args, "serial GET of 1 KiB", {
                "numastore": lambda: serial(args, "get", port, keys, size),
                "numastore, never polling": lambda: serial(args, "get", sport, keys, size),
                "memcached": lambda: serial(args, "get", mport, keys, size),
                "bare loop": lambda: serial(args, "get", bport, keys, size),
            })
            for ours in ("numastore", "numastore, never polling"):
                judge(rates, ours, "memcached", 1.15)
                judge(rates, ours, "bare loop", 1.1, is_time=True)
        if "set1k" in wanted:
            rates = interleave(args, "serial SET of 1 KiB", {
                "numastore": lambda: serial(args, "set", port, keys, size),
                "numastore, never polling": lambda: serial(args, "set", sport, keys, size),
                "memcached": lambda: serial(args, "set", mport, keys, size),
            })
            for ours in ("numastore", "numastore, never polling"):
                judge(rates, ours, "memcached", 1.1)
        if "shared1k" in wanted:
            rates = interleave(args, "serial GET of 1 KiB, client and server on one CPU", {
                "numastore": lambda: serial(args, "get", port, keys, size, cpu),
                "numastore, never polling": lambda: serial(args, "get", sport, keys, size, cpu),
                "memcached": lambda: serial(args, "get", mport, keys, size, cpu),
            })
            judge(rates, "numastore", "memcached", 1)
            judge(rates, "numastore", "numastore, never polling", 1)
    finally:
        end(server, sleeper, memcached, bare)


def bench_http16(args, folder):
    cpu = args.server_cpu
    port, http, ours = start_numastore(args, cpu, "64M")
    nport, nginx = peers.start_nginx(cpu, folder, [f"{PREFIX[1:]}0"], KIB)
    try:
        peers.store(port, PREFIX, 1, KIB)
        rates = interleave(args, "1 KiB by HTTP, 16 connections", {
            "numastore": lambda: wrk(args, http),
            "nginx": lambda: wrk(args, nport),
        })
        judge(rates, "numastore", "nginx", 1.1)
    finally:
        end(ours, nginx)


def resident_bytes(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * KIB
    return peers.fail("no VmRSS")


def huge_bytes(process):
    """HugeTLB pages are not in VmRSS."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) * KIB for line in status if line.startswith("HugetlbPages:"))


def bench_memory(args):
    keys, size = args.objects, 100
    arena = f"{(keys * 106 // (1 << 20)) + 16}M"  # a packed head of 100 bytes takes 104
    resident, items = {}, {}
    for name in ("numastore", "memcached"):
        if name == "numastore":
            port, _, server = start_numastore(args, args.server_cpu, arena)
        else:
            port, server = peers.start_memcached(args.server_cpu, 8192)
        try:
            peers.store(port, "k", keys, size)
            resident[name] = resident_bytes(server) + huge_bytes(server)
            stats = peers.memcached_stats(port)
            items[name] = int(stats["curr_items"])
            if int(stats["evictions"]):
                print(f"  {name} has evicted {stats['evictions']} objects")
        finally:
            end(server)
    print(f"\n{keys} objects of {size} bytes, keys of {len(str(keys))} or so: resident memory")
    for name, count in resident.items():
        print(f"  {count / (1 << 20):9.1f} MiB, {count / items[name]:6.1f} bytes an object  {name}")
    ratio = resident["numastore"] / items["numastore"] / (resident["memcached"] / items["memcached"])
    print(f"  numastore / memcached: {ratio:.3f}  target <= 1.10: {'met' if ratio <= 1.1 else 'MISSED'}")


def bench_fit(args):
    port, _, server = start_numastore(args, args.server_cpu, "4G")
    try:
        peers.store(port, PREFIX, 16000, 256 * KIB)
        stats = peers.memcached_stats(port)
        print(f"\n16000 objects of 256 KiB in an arena of 4 GiB: {stats['curr_items']} are there, "
              f"{stats['evictions']} evicted")
    finally:
        end(server)


CELLS = ("get256k", "get1k", "set1k", "shared1k", "http16", "memory")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numastore", default=peers.find("server/numastore"))
    parser.add_argument("--pingpong", default=peers.find("tests/pingpong"))
    parser.add_argument("--bare", default=peers.find("tests/bare_server"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=50000)
    parser.add_argument("--objects", type=int, default=10000000)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CELLS))
    args = parser.parse_args()
    wanted = args.only.split(",")
    missing = [name for name in ("memcached", "nginx", "wrk") if not shutil.which(name)]
    cpus = sorted(os.sched_getaffinity(0))
    if missing or len(cpus) < 2 or not (args.numastore and args.pingpong and args.bare) or set(wanted) - set(CELLS):
        peers.fail(f"cannot run here: missing {missing}, {len(cpus)} CPUs, numastore {args.numastore}, "
                   f"pingpong {args.pingpong}, bare_server {args.bare}; cells are {', '.join(CELLS)}")
    args.server_cpu, args.client_cpu = cpus[:2]
    print(f"Linux {os.uname().release}, servers on CPU {args.server_cpu}, client on CPU {args.client_cpu}")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        os.chmod(folder, 0o755)  # nginx' worker is somebody else
        if "get256k" in wanted:
            os.mkdir(f"{folder}/256k")
            bench_get256k(args, f"{folder}/256k")
        if {"get1k", "set1k", "shared1k"} & set(wanted):
            bench_1k(args, wanted)
        if "http16" in wanted:
            os.mkdir(f"{folder}/16")
            bench_http16(args, f"{folder}/16")
    if "memory" in wanted:
        bench_fit(args)
        bench_memory(args)


if __name__ == "__main__":
    main()
