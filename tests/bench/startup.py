#!/usr/bin/env python3
"""What a launcher costs: wall time of the whole process, from its start to the end of `true`.

  tests/bench/startup.py [--numarun FILE] [--runs N] [--nic NAME]

Times, interleaved in one run, in a new random order each round, so that a change of the machine's
speed and what the command before left in the caches meet all four alike:

  numarun -N 0 -m 0 -- true      against   numactl -N 0 -m 0 -- true
  numarun --near NIC -- true     against   hwloc-bind os=NIC -- true

and prints the medians, their spread and the two ratios. Targets: at most 1.25 and 0.5. The exit
status is 0 however it comes out: these are measurements, no tests.
"""
import argparse
import os
import random
import shutil
import statistics
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def first_nic():
    """The first interface that stands on hardware."""
    base = "/sys/class/net"
    for name in sorted(os.listdir(base)):
        if "/virtual/" not in os.path.realpath(os.path.join(base, name)):
            return name
    return None


def find_numarun():
    for preset in ("release", "dev"):
        path = os.path.join(ROOT, "build", preset, "launcher", "numarun")
        if os.access(path, os.X_OK):
            return path
    return None


def run_once(command, quiet):
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ,
                         file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 1), (os.POSIX_SPAWN_DUP2, quiet, 2)])
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return time.perf_counter() - start, status


def measure(commands, runs):
    times = [[] for _ in commands]
    quiet = os.open(os.devnull, os.O_WRONLY)
    order = random.Random(1)
    for number in range(runs + 5):  # the first five warm the caches
        for i in order.sample(range(len(commands)), len(commands)):
            command = commands[i]
            seconds, status = run_once(command, quiet)
            if status != 0:
                sys.exit(f"startup.py: {' '.join(command)}: exit status {status}")
            if number >= 5:
                times[i].append(seconds * 1e3)
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--numarun", default=find_numarun())
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--nic", default=first_nic())
    args = parser.parse_args()
    tools = {name: shutil.which(name) for name in ("numactl", "hwloc-bind")}
    missing = [name for name, path in tools.items() if not path]
    if missing or not args.numarun or not args.nic:
        sys.exit(f"startup.py: cannot run here: numarun {args.numarun}, nic {args.nic}, "
                 f"not installed: {', '.join(missing) or 'none'}")
    true = shutil.which("true", path="/usr/bin:/bin")
    commands = [
        [args.numarun, "-N", "0", "-m", "0", "--", true],
        [tools["numactl"], "-N", "0", "-m", "0", "--", true],
        [args.numarun, "--near", args.nic, "--", true],
        [tools["hwloc-bind"], f"os={args.nic}", "--", true],
    ]
    times = measure(commands, args.runs)
    print(f"{args.runs} interleaved runs, milliseconds: median [quartiles]")
    for command, series in zip(commands, times):
        low, median, high = statistics.quantiles(series, n=4)
        name = os.path.basename(command[0])
        print(f"{median:8.2f} [{low:.2f} {high:.2f}]  {name} {' '.join(command[1:-2])} -- true")
    medians = [statistics.median(series) for series in times]
    print(f"numarun -N 0 -m 0 / numactl:  {medians[0] / medians[1]:.2f}  (target <= 1.25)")
    print(f"numarun --near / hwloc-bind:  {medians[2] / medians[3]:.2f}  (target <= 0.50)")


main()
