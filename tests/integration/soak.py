#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Mixed load on numastore that evicts, expires and overwrites; nothing wrong may be read, memory stays flat.

    soak.py [--seconds S] [--memory SIZE] [--pool] [-- NUMASTORE-OPTION...]

Four clients, two over memcache and two over HTTP, each with keys of its own and shared ones, store objects that
tell what they are: key, length, a number that grows, and bytes that follow from these. They read them whole and
by ranges, overwrite, append, touch, delete, let them expire. What is read must be an object that was stored
under that key, whole. With --pool most objects are larger than the head that stays in RAM.

Memory is looked at each second; behind the first third it may grow by 10 % and 8 MiB. In the end the server is
told to stop and must exit with 0, which with a sanitizer means that it found nothing.

NUMASTORE names the program. Status: 0, 1 failed, 77 cannot run here.
"""
import argparse
import hashlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

HEAD = 64 << 10
SHARED_KEYS = 400
OWN_KEYS = 400


class Wrong(Exception):
    """The server did what it must not."""


def body_of(key, number, size):
    """A value of @size bytes, at least 64, that tells what it is."""
    head = b"%s %d %d " % (key, number, size)
    pattern = hashlib.sha256(head).digest()
    return (head + pattern * (size // len(pattern) + 1))[:size]


def check(key, value):
    """@value: all of it, with whatever was appended"""
    words = value.split(b" ", 3)
    if len(words) < 4 or words[0] != key:
        raise Wrong(f"{key}: a value of another key: {value[:80]!r}")
    size = int(words[2])
    if value[:size] != body_of(key, int(words[1]), size) or value[size:].strip(b"+"):
        raise Wrong(f"{key}: {len(value)} bytes that were not stored: {value[:80]!r}")


class Memcache:
    """A connection, and what is done over it."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.replies = self.socket.makefile("rb")

    def line(self):
        line = self.replies.readline()
        if not line.endswith(b"\r\n"):
            raise Wrong(f"the connection ended: {line!r}")
        return line[:-2]

    def ask(self, command, allowed):
        self.socket.sendall(command)
        answer = self.line()
        if answer.split(b" ")[0] not in allowed:
            raise Wrong(f"{command[:80]!r}: {answer!r}")
        return answer

    def set(self, key, value, seconds):
        self.ask(b"set %s 0 %d %d\r\n%s\r\n" % (key, seconds, len(value), value), (b"STORED", b"SERVER_ERROR"))

    def get(self, key, rng):
        self.socket.sendall(b"get %s\r\n" % key)
        answer = self.line()
        if answer == b"END":
            return None
        size = int(answer.split(b" ")[3])
        value = self.replies.read(size)
        if self.replies.read(7) != b"\r\nEND\r\n":
            raise Wrong(f"{key}: out of step behind a value of {size} bytes")
        return value

    def other(self, key, rng):
        choice = rng.randrange(4)
        if choice == 0:
            self.ask(b"delete %s\r\n" % key, (b"DELETED", b"NOT_FOUND"))
        elif choice == 1:
            self.ask(b"touch %s %d\r\n" % (key, rng.choice((0, 1, 100))), (b"TOUCHED", b"NOT_FOUND"))
        elif choice == 2:
            self.ask(b"append %s 0 0 3\r\n+++\r\n" % key, (b"STORED", b"NOT_STORED", b"SERVER_ERROR"))
        else:
            self.ask(b"mg %s s t c\r\n" % key, (b"HD", b"EN"))


class Http:
    """The same objects."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.replies = self.socket.makefile("rb")

    def ask(self, method, key, fields=b"", value=b""):
        self.socket.sendall(b"%s %s HTTP/1.1\r\nHost: soak\r\n%s\r\n" % (method, key, fields) + value)
        status = self.replies.readline().split(b" ", 2)
        if len(status) < 2:
            raise Wrong(f"{method} {key}: the connection ended")
        length = 0
        while (line := self.replies.readline()) != b"\r\n":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        code = int(status[1])
        if method == b"HEAD" or code in (204, 304):
            length = 0
        answer = self.replies.read(length)
        if len(answer) < length:
            raise Wrong(f"{method} {key}: {len(answer)} of {length} bytes")
        return code, answer

    def set(self, key, value, seconds):
        code, words = self.ask(b"PUT", key, b"Content-Length: %d\r\n" % len(value), value)
        if code not in (201, 204, 507):
            raise Wrong(f"PUT {key}: {code} {words!r}")

    def get(self, key, rng):
        code, value = self.ask(b"GET", key)
        if code == 404:
            return None
        if code != 200:
            raise Wrong(f"GET {key}: {code} {value!r}")
        return value

    def other(self, key, rng):
        choice = rng.randrange(3)
        if choice == 0:
            code, _ = self.ask(b"DELETE", key)
        elif choice == 1:
            code, _ = self.ask(b"HEAD", key)
        else:
            first = rng.randrange(200000)
            code, _ = self.ask(b"GET", key, b"Range: bytes=%d-%d\r\n" % (first, first + rng.randrange(70000)))
        if code not in (200, 204, 206, 404, 416):
            raise Wrong(f"{key}: {code}")


def size_of(rng, with_tails):
    if with_tails and rng.random() < 0.3:
        return rng.randrange(HEAD, 20 * HEAD)
    return int(64 * (HEAD / 64) ** rng.random())


class Client(threading.Thread):
    """One connection's worth of random work."""

    def __init__(self, number, make, end, with_tails):
        super().__init__()
        self.number, self.make, self.end, self.with_tails = number, make, end, with_tails
        self.counts = {"set": 0, "hit": 0, "miss": 0, "other": 0}
        self.failure = None

    def step(self, peer, rng):
        shared = rng.random() < 0.5
        key = b"/s%d" % rng.randrange(SHARED_KEYS) if shared else b"/o%d-%d" % (self.number, rng.randrange(OWN_KEYS))
        what = rng.random()
        if what < 0.35:
            value = body_of(key, self.counts["set"] * 10 + self.number, size_of(rng, self.with_tails))
            peer.set(key, value, rng.choice((0, 0, 0, 1, 2, 1000)))
            self.counts["set"] += 1
        elif what < 0.9:
            value = peer.get(key, rng)
            if value is not None:
                check(key, value)
            self.counts["hit" if value is not None else "miss"] += 1
        else:
            peer.other(key, rng)
            self.counts["other"] += 1

    def run(self):
        rng = random.Random(self.number)
        try:
            while time.monotonic() < self.end:
                peer = self.make()
                for _ in range(2000):
                    if time.monotonic() >= self.end:
                        break
                    self.step(peer, rng)
                peer.replies.close()
                peer.socket.close()
        except (OSError, Wrong, ValueError) as failure:
            self.failure = f"client {self.number}: {failure}"


def resident_kib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return sum(int(line.split()[1]) for line in status if line.startswith(("VmRSS:", "HugetlbPages:")))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(args, folder, program):
    ports = free_port(), free_port()
    command = [program, "-p", str(ports[0]), "--http-port", str(ports[1]), "--memory", args.memory,
               "--ram-head", str(HEAD), "--cores", "2", *args.options]
    if os.getuid() == 0:
        command += ["-u", "root"]
    if args.pool:
        pool = os.path.join(folder, "pool")
        subprocess.run([program, "--prepare-pool", pool], check=True, stdout=subprocess.DEVNULL)
        command += ["--ssd-dir", pool]
    # The address sanitizer keeps up to 256 MiB of what was freed, which is not what is measured here.
    environment = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"}
    with open(os.path.join(folder, "log"), "wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
    while True:
        try:
            socket.create_connection(("127.0.0.1", ports[0])).close()
            return server, ports
        except OSError:
            if server.poll() is not None:
                raise Wrong(f"{' '.join(command)} ended with status {server.returncode}") from None
            time.sleep(0.05)


def stats(port):
    peer = Memcache(port)
    peer.socket.sendall(b"stats\r\n")
    found = {}
    while (line := peer.line()) != b"END":
        found[line.split(b" ")[1].decode()] = line.split(b" ", 2)[2].decode()
    return found


def watch(server, clients, end):
    memory = []
    while time.monotonic() < end and server.poll() is None and not any(client.failure for client in clients):
        time.sleep(min(1.0, max(0.05, end - time.monotonic())))
        if server.poll() is None:
            memory.append(resident_kib(server.pid))
    return memory


def soak(args, folder, program):
    server, (port, http) = start(args, folder, program)
    end = time.monotonic() + args.seconds
    clients = [Client(i, (lambda: Memcache(port)) if i % 2 == 0 else (lambda: Http(http)), end, args.pool)
               for i in range(4)]
    try:
        for client in clients:
            client.start()
        memory = watch(server, clients, end)
        for client in clients:
            client.join()
        for client in clients:
            if client.failure:
                raise Wrong(client.failure)
        found = stats(port)
        server.send_signal(signal.SIGTERM)
        if server.wait(60) != 0:
            raise Wrong(f"the server's exit status is {server.returncode}")
    finally:
        server.kill()
        server.wait()
    for client in clients:
        print(f"client {client.number}: {client.counts}")
    print("server: " + ", ".join(f"{name} {found[name]}" for name in ("curr_items", "evictions", "expired_unfetched",
                                                                      "get_hits", "get_misses") if name in found))
    third = len(memory) // 3
    early, late = max(memory[:third + 1]), max(memory[third + 1:] or [0])
    print(f"resident memory: at most {early} KiB in the first third, {late} KiB later")
    if int(found["evictions"]) == 0:
        raise Wrong("nothing was evicted: too little was stored to tell anything")
    if late > early * 1.1 + 8192:
        raise Wrong("memory grows")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--memory", default="16M")
    parser.add_argument("--pool", action="store_true")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    program = os.environ.get("NUMASTORE")
    if not program or not os.access(program, os.X_OK):
        print("skipped: NUMASTORE is not set")
        return 77
    folder = tempfile.mkdtemp(prefix="numastore-soak.")
    try:
        soak(args, folder, program)
        return 0
    except Wrong as wrong:
        print(f"soak.py: {wrong}")
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
            print("".join(log.readlines()[-60:]))
        return 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
