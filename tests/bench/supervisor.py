#!/usr/bin/env python3
"""What the parent that stays costs: memory and CPU time of numarun --verify.

  tests/bench/supervisor.py [--numarun FILE] [--threads N] [--every SECONDS] [--seconds S]

Runs a program of N threads under numarun, which looks at the placement of each every SECONDS, and
after S seconds prints

  private memory of numarun   Private_Clean + Private_Dirty of /proc/PID/smaps_rollup
  CPU time of numarun         user + system, in per cent of one CPU, from its second second on

Targets: less than 1 MiB, less than 0.1 %. The exit status is 0 however it comes out: these are
measurements, no tests.
"""
import argparse
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# A program of many threads that does nothing, so that nothing else is measured.
THREADS = """
import threading, time
for _ in range({count} - 1):
    threading.Thread(target=time.sleep, args=(86400,), daemon=True).start()
print("holding", flush=True)
time.sleep(86400)
"""


def find(name):
    for preset in ("release", "dev"):
        path = os.path.join(ROOT, "build", preset, name)
        if os.access(path, os.X_OK):
            return path
    return None


def private_kib(pid):
    total = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
        for line in rollup:
            if line.startswith("Private_"):
                name, value = line.split(":")
                total[name] = int(value.split()[0])
    return total


def cpu_seconds(pid):
    """From schedstat, in nanoseconds: stat counts in ticks of 10 ms, too coarse here."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as schedstat:
        return int(schedstat.read().split()[0]) / 1e9


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numarun", default=find("launcher/numarun"))
    parser.add_argument("--threads", type=int, default=64)
    parser.add_argument("--every", type=float, default=1)
    parser.add_argument("--seconds", type=int, default=30)
    args = parser.parse_args()
    if not args.numarun:
        sys.exit("supervisor.py: cannot run here: no numarun in build/release or build/dev")
    command = [args.numarun, "-C", "0", "-m", "0", "--verify=/dev/null", "--verify-every",
               str(args.every), "--", sys.executable, "-c", THREADS.format(count=args.threads)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        try:
            if run.stdout.readline() != "holding\n":
                sys.exit("supervisor.py: the program did not start")
            time.sleep(2)
            begin, cpu_begin = time.monotonic(), cpu_seconds(run.pid)
            time.sleep(args.seconds)
            elapsed, cpu = time.monotonic() - begin, cpu_seconds(run.pid) - cpu_begin
            memory = private_kib(run.pid)
        finally:
            run.terminate()
    print(f"{args.threads} threads, a look every {args.every} s, {elapsed:.0f} s, {os.uname().release}")
    print(f"private memory: {sum(memory.values())} KiB "
          f"({', '.join(f'{name} {value}' for name, value in memory.items())}); target < 1024")
    print(f"CPU time: {100 * cpu / elapsed:.4f} % of one CPU "
          f"({1e6 * cpu / elapsed * args.every:.0f} us a look); target < 0.1 %")


if __name__ == "__main__":
    main()
